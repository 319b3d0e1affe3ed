"""Pictures of a trace: a figure, or lines of blocks for the terminal."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.traces import Samples, Trace

_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60
_MOST_POINTS = 4000


def sparklines(trace: Trace, devices: Sequence[int], unit: str) -> str:
    """Return a line for each device: its values over time, lowest to highest of them all."""
    read = {number: trace.devices[number] for number in devices}
    columns = {number: _lowest_in_time(trace, samples, _WIDTH) for number, samples in read.items()}
    known = np.concatenate([column[np.isfinite(column)] for column in columns.values()])
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    span_s = max(trace.span_s(samples) for samples in read.values())
    lines = [f"{trace.name}: {low:.1f} to {high:.1f} {unit} over {span_s:g} s; the lowest shown"]
    lines += [f"{number:>6} {_line(column, low, high)}" for number, column in columns.items()]
    return "\n".join(lines)


def draw_trace(trace: Trace, devices: Sequence[int], unit: str, out: Path) -> None:
    """Draw values over time beside their distribution, to a PNG or SVG file."""
    # Only here: it takes a second to import, and no other command draws.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 4), layout="constrained")
    over_time, distribution = figure.subplots(1, 2, width_ratios=(2, 1))
    for number in devices:
        samples = trace.devices[number]
        thin = max(len(samples.times_s) // _MOST_POINTS, 1)
        over_time.step(samples.times_s[::thin], samples.values[::thin], where="post", linewidth=0.8)
        ordered = np.sort(samples.values)
        portion = np.arange(1, len(ordered) + 1) / len(ordered)
        distribution.step(ordered, portion, linewidth=1.0, label=f"device {number}")
    label = f"{trace.kind.removesuffix('_db').replace('_', ' ')}, {unit}"
    over_time.set(xlabel="time, s", ylabel=label)
    distribution.set(xlabel=label, ylabel="portion below")
    distribution.set_yscale("log")
    distribution.set_ylim(1e-3, 1.2)
    if len(devices) <= 10:
        distribution.legend(fontsize="x-small", frameon=False)
    figure.suptitle(Path(trace.name).name)
    partial = out.with_name(f".{out.name}.partial")
    try:
        figure.savefig(partial, format=out.suffix[1:], dpi=120)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def _lowest_in_time(trace: Trace, samples: Samples, parts: int) -> NDArray[np.float64]:
    """Return the lowest value in each part of the time: fades are what matters."""
    span_s = trace.span_s(samples)
    part = np.minimum((samples.times_s - samples.times_s[0]) / span_s * parts, parts - 1)
    lowest = np.full(parts, np.inf)
    np.minimum.at(lowest, part.astype(int), samples.values)
    # A part without a sample goes on with the value before it.
    source = np.maximum.accumulate(np.where(np.isposinf(lowest), 0, np.arange(parts)))
    return lowest[source]


def _line(column: NDArray[np.float64], low: float, high: float) -> str:
    scaled = (np.maximum(column, low) - low) / (high - low) if high > low else np.ones(len(column))
    heights = 1 + np.minimum(scaled * (len(_BLOCKS) - 1), len(_BLOCKS) - 2).astype(int)
    return "".join(
        _BLOCKS[height] if np.isfinite(value) else _BLOCKS[0]
        for height, value in zip(heights, column, strict=True)
    )
