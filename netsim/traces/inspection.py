"""What is in a trace: its shape, its distribution, how fast it changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.traces.trace import Kind, Samples, Trace
from netsim.units import gains_to_linear

QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)
#: Devices that the slower figures look at, evenly over the trace.
_LOOKED_AT = 50
#: Samples in which fading is told from what is slower.
_SHORTEST_WINDOW = 256
_MOST_GRID_POINTS = 1 << 20


@dataclass(frozen=True)
class TraceInfo:
    """A trace in a few numbers."""

    kind: Kind
    num_devices: int
    num_samples: int
    """Of the first device."""
    span_s: float
    """Of the first device."""
    steps_s: tuple[float, float, float]
    """Shortest, median and longest time between samples."""
    quantiles: dict[float, float]
    """Of the values."""
    outage: float
    """The portion of time without any signal."""
    coherence_s: float
    """The lag at which the autocorrelation of the power (of the efficiency, in a trace of
    that) falls to a quarter. Under Rayleigh fading that of the field is then a half, the
    usual measure. inf if it never falls."""
    looked_at: int
    """How many devices the figures are from."""

    @property
    def too_coarse(self) -> bool:
        """Whether the channel changes faster than it was sampled."""
        return self.coherence_s < 2 * self.steps_s[1]


def trace_info(trace: Trace) -> TraceInfo:
    """Look at a trace, or at some devices of a large one, one at a time."""
    count = len(trace.devices)
    chosen = np.unique(np.linspace(0, count - 1, min(count, _LOOKED_AT)).astype(int)).tolist()
    steps, values, spans_s, silent_s = [], [], [], 0.0
    levels: dict[float, list[NDArray[np.float64]]] = {}  # by the step of the device
    for number in chosen:
        samples = trace.devices[number]
        span_s = trace.span_s(samples)
        lengths_s = np.diff(samples.times_s - samples.times_s[0], append=span_s)
        steps.append(lengths_s)
        values.append(samples.values)
        spans_s.append(span_s)
        silent_s += float(lengths_s[_silent(trace.kind, samples)].sum())
        step_s = float(np.median(lengths_s)) or span_s / len(lengths_s)
        levels.setdefault(step_s, []).append(_on_grid(trace.kind, samples, span_s, step_s))
    all_steps, all_values = np.concatenate(steps), np.concatenate(values)
    median_s = float(np.median(all_steps))
    return TraceInfo(
        kind=trace.kind,
        num_devices=count,
        num_samples=len(values[0]),
        span_s=spans_s[0],
        steps_s=(float(all_steps.min()), median_s, float(all_steps.max())),
        quantiles={q: float(np.quantile(all_values, q, method="nearest")) for q in QUANTILES},
        outage=silent_s / sum(spans_s),
        coherence_s=_median_coherence_s(levels),
        looked_at=len(chosen),
    )


def _silent(kind: Kind, samples: Samples) -> NDArray[np.bool_]:
    nothing = 0.0 if kind is Kind.SPECTRAL_EFFICIENCY else -np.inf
    return samples.values == nothing


def _on_grid(kind: Kind, samples: Samples, span_s: float, step_s: float) -> NDArray[np.float64]:
    """Return the linear values on a regular grid."""
    count = max(round(min(span_s / step_s, _MOST_GRID_POINTS)), 1)
    grid_s = samples.times_s[0] + np.arange(count) * step_s
    index = np.searchsorted(samples.times_s, grid_s + 1e-9 * step_s, side="right") - 1
    values = samples.values[index]
    return values if kind is Kind.SPECTRAL_EFFICIENCY else gains_to_linear(values)


def _median_coherence_s(levels: Mapping[float, Sequence[NDArray[np.float64]]]) -> float:
    """Return the median over devices; those of one step are measured together."""
    each = [(_coherence(of_step) * step_s, len(of_step)) for step_s, of_step in levels.items()]
    times_s, counts = zip(*sorted(each), strict=True)
    return float(times_s[int(np.searchsorted(np.cumsum(counts), sum(counts) / 2))])


def _coherence(levels: Sequence[NDArray[np.float64]]) -> float:
    """Return the coherence time in steps.

    Path loss and shadowing change slowly, and by more than fading does; they would hide it.
    So short windows are measured against their own mean first, then longer ones, until a
    window is much longer than what is found in it. At last the trace is taken whole.
    """
    window = _SHORTEST_WINDOW
    while window <= max(map(len, levels)):
        windows = [
            level[start : start + window]
            for level in levels
            for start in range(0, len(level) - window + 1, window)
        ]
        found = _falls_to_quarter(_autocorrelation(windows))
        if found <= window / 32:
            return found
        window *= 4
    shortest = min(map(len, levels))
    return _falls_to_quarter(_autocorrelation([level[:shortest] for level in levels]))


def _autocorrelation(stretches: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean autocorrelation by lag of stretches of one length, up to half of it."""
    length = len(stretches[0])
    total = np.zeros(max(length // 2, 1))
    for stretch in stretches:
        mean = stretch.mean()
        if mean > 0:
            spectrum = np.abs(np.fft.rfft(stretch / mean - 1.0, 2 * length)) ** 2
            total += np.fft.irfft(spectrum)[: len(total)]
    total /= length - np.arange(len(total))  # as many products as there were
    # Rounding of a trace that stands still is no change.
    return total / total[0] if total[0] > 1e-12 * len(stretches) else np.ones(len(total))


def _falls_to_quarter(correlation: NDArray[np.float64]) -> float:
    """Return the lag, in samples, at which it first falls to a quarter, interpolated."""
    below = np.flatnonzero(correlation <= 0.25)
    if not len(below):
        return float("inf")
    after = int(below[0])
    high, low = correlation[after - 1], correlation[after]
    return float(after - 1 + (high - 0.25) / (high - low))
