"""What must hold of the rows of a trace file; the first row that breaks it is named."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.trace import Kind, Samples


def check_devices(path: Path, device: NDArray[np.float64]) -> None:
    """Refuse a file whose devices are not numbered from 0, in order and without a gap."""
    if not len(device):
        raise TraceError(f"{path}: has no rows")
    steps = np.diff(device)
    if device[0] != 0 or ((steps != 0) & (steps != 1)).any():
        raise TraceError(
            f"{path}: devices must be numbered from 0 without a gap, and rows sorted by "
            "device, then time"
        )


def check_samples(
    path: Path, device: int, samples: Samples, kind: Kind, first_row: int, *, needs_two: bool
) -> None:
    """Refuse samples that are not numbers, or not in order of time.

    Args:
        path: How the message calls the file.
        device: Whose samples they are.
        samples: What to check.
        kind: What the values are.
        first_row: The row of the file at which they begin.
        needs_two: Whether the length of the last one is that of the one before it.
    """
    times_s, values = samples.times_s, samples.values

    def refuse(bad: NDArray[np.bool_], condition: str, found: NDArray[np.float64]) -> None:
        if bad.any():
            row = int(bad.argmax())
            more = f" ({bad.sum() - 1} more such rows)" if bad.sum() > 1 else ""
            raise TraceError(
                f"{path}: row {first_row + row} (device {device}): {condition}, is "
                f"{found[row]}{more}"
            )

    usable = np.isfinite(values)
    if kind is not Kind.SPECTRAL_EFFICIENCY:
        usable |= np.isneginf(values)  # no power at all
    refuse(~np.isfinite(times_s), "time_s must be a number", times_s)
    refuse(~usable, f"{kind} must be a number", values)
    if kind is Kind.SPECTRAL_EFFICIENCY:
        refuse(values < 0, f"{kind} must be >= 0", values)
    refuse(np.diff(times_s, prepend=-np.inf) <= 0, "time_s must increase", times_s)
    if needs_two and len(times_s) < 2:
        raise TraceError(
            f"{path}: device {device} has one sample, and the metadata has no step: how long "
            "it holds is not known"
        )
