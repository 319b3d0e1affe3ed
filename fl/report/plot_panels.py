"""What stands in the panels of a figure: rounds, steps, bars, points, boxes and curves.

Each function takes an `Axes` and a table of `fl.report.plot_tables`.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fl.report.plot_style import BLUE, GREEN, PHASE_LOOKS, PURPLE, RED, limits, time_unit

_MARKERS = ("o", "s", "D")
_LOSSES = (("train_loss", RED, "s", "--"), ("test_loss", BLUE, "o", "-"))
# Points past this become an image: a page that draws each by itself opens slowly.
_MOST_VECTORS = 2_000


def draw_rounds(panel: Axes, table: pa.Table) -> None:
    """Draw the latency of each round over time, with the lines that belong to it."""
    at_s, latency_s = numbers(table, "start_s"), numbers(table, "latency_s")
    deadline_s = numbers(table, "deadline_s")
    per_s, unit = time_unit(latency_s, deadline_s)
    missed = pc.fill_null(table["deadline_missed"], False).to_numpy()
    looks: tuple[tuple[NDArray[np.bool_], str, dict[str, Any]], ...] = (
        (~missed, "round", {"marker": "o", "edgecolors": BLUE, "facecolors": "none"}),
        (missed, "round, deadline missed", {"marker": "x", "color": BLUE}),
    )
    for those, label, look in looks:
        if those.any():
            panel.scatter(
                at_s[those], latency_s[those] * per_s, s=9, linewidths=0.7, label=label,
                alpha=_alpha(at_s), rasterized=len(at_s) > _MOST_VECTORS, **look,
            )  # fmt: skip
    for name, colour, dashes in (("p50", GREEN, "-"), ("p95", PURPLE, "-.")):
        rolling_s = numbers(table, f"rolling_{name}_s")
        if np.isfinite(rolling_s).any():
            label = f"rolling {name}"
            panel.plot(at_s, rolling_s * per_s, color=colour, linestyle=dashes, label=label)
    if np.isfinite(deadline_s).any():
        panel.axhline(deadline_s[0] * per_s, color="black", ls="--", lw=1, label="deadline")
    panel.set(
        xlabel="start of the round, s of simulated time", ylabel=f"round latency, {unit}",
        xlim=limits(at_s, at_s + latency_s), ylim=limits(latency_s * per_s, deadline_s * per_s),
    )  # fmt: skip


def draw_steps(panel: Axes, table: pa.Table, name: str, portion: str, unit: str) -> None:
    """Draw the distribution of a column: its steps, and a mark for each percentile.

    Args:
        panel: Where.
        table: Has the steps, and the percentiles.
        name: What is distributed.
        portion: ``cdf`` or ``ccdf``.
        unit: To draw it in: ms, s or %.
    """
    scale = {"ms": 1e3, "%": 1e2}.get(unit, 1.0)
    steps = table.filter(table["percentile"].is_null())
    values, portions = numbers(steps, name) * scale, numbers(steps, portion)
    # Short of the first step lies nothing: the curve comes up, or down, from there.
    before = 0.0 if portion == "cdf" else 1.0
    panel.step(
        np.insert(values, 0, values[0]), np.insert(portions, 0, before), where="post", color=BLUE
    )
    marks = table.filter(table["percentile"].is_valid()).to_pylist()
    for mark, marker, colour in zip(marks, _MARKERS, (GREEN, PURPLE, RED), strict=True):
        value = mark[name] * scale
        written = f"{value:+.1f}" if unit == "%" else f"{value:.4g}"
        label = f"p{mark['percentile']}  {written} {unit}"
        panel.plot(value, mark[portion], marker, color=colour, mec="black", mew=0.5, label=label)
    panel.set(xlim=limits(values, least=1.0 if unit == "%" else 0.0))


def draw_phases(panel: Axes, table: pa.Table) -> None:
    """Draw a bar for each device: its phases one upon the other, those that took time."""
    taken_s = {phase: numbers(table, f"{phase}_s") for phase in PHASE_LOOKS}
    per_s, unit = time_unit(np.sum(list(taken_s.values()), axis=0))
    at, bottom_s = np.arange(table.num_rows), np.zeros(table.num_rows)
    for phase, (colour, hatch) in PHASE_LOOKS.items():
        if taken_s[phase].any():
            panel.bar(
                at, taken_s[phase] * per_s, 0.8, bottom_s * per_s, color=colour, hatch=hatch,
                edgecolor="#333333", linewidth=0.4, label=phase,
            )  # fmt: skip
            bottom_s += taken_s[phase]
    panel.set(ylabel=f"mean time in a round, {unit}", ylim=(0, bottom_s.max() * per_s * 1.04))
    _name_devices(panel, table["device"].to_pylist())


def draw_prediction(panel: Axes, table: pa.Table) -> None:
    """Draw emergent against predicted latency, and where they would be equal."""
    predicted_s, emergent_s = numbers(table, "predicted_latency_s"), numbers(table, "latency_s")
    per_s, unit = time_unit(predicted_s, emergent_s)
    panel.scatter(
        predicted_s * per_s, emergent_s * per_s, s=9, marker="o", linewidths=0.6, alpha=_alpha(predicted_s),
        edgecolors=BLUE, facecolors="none", rasterized=len(predicted_s) > _MOST_VECTORS,
        label="a device in a round",
    )  # fmt: skip
    ends = limits(predicted_s * per_s, emergent_s * per_s)
    panel.plot(ends, ends, "k--", linewidth=1, label="as predicted")
    panel.set(
        xlabel=f"predicted latency, {unit}", ylabel=f"emergent latency, {unit}",
        xlim=ends, ylim=ends, aspect="equal",
    )  # fmt: skip


def draw_boxes(panel: Axes, table: pa.Table, colour: str) -> None:
    """Draw a box for each device: from quartile to quartile, whiskers to the ends."""
    rows = table.to_pylist()
    at = np.arange(len(rows))
    boxes = [
        {
            "whislo": row["lowest"],
            "q1": row["quartile_1"],
            "med": row["median"],
            "q3": row["quartile_3"],
            "whishi": row["highest"],
        }
        for row in rows
    ]
    panel.bxp(
        boxes, positions=at, widths=0.6, showfliers=False, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": colour, "alpha": 0.35, "linewidth": 0.6},
        medianprops={"color": "black", "linewidth": 1.4},
        whiskerprops={"linewidth": 0.6}, capprops={"linewidth": 0.6},
    )  # fmt: skip
    top = max(row["highest"] for row in rows) or 1.0
    panel.set_ylim(-0.03 * top, 1.08 * top)
    _name_devices(panel, table["device"].to_pylist())


def draw_accuracy(panel: Axes, table: pa.Table, at: str) -> None:
    """Draw the mean test accuracy over the devices, and how far they are spread."""
    tested = table.filter(table["test_accuracy"].is_valid())
    where, mean = numbers(tested, at), numbers(tested, "test_accuracy") * 100
    spread = numbers(tested, "test_accuracy_std") * 100
    panel.fill_between(
        where, mean - spread, mean + spread, color=BLUE, alpha=0.2, linewidth=0,
        label="one standard deviation",
    )  # fmt: skip
    panel.plot(
        where, mean, color=BLUE, marker="o", markevery=_every(tested), label="mean of the devices"
    )


def draw_losses(panel: Axes, table: pa.Table, at: str) -> None:
    """Draw the losses, each where it is known."""
    for name, colour, marker, dashes in _LOSSES:
        known = table.filter(table[name].is_valid())
        panel.plot(
            numbers(known, at), numbers(known, name), color=colour, linestyle=dashes,
            marker=marker, markevery=_every(known), label=name.replace("_", " "),
        )  # fmt: skip


def numbers(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column with NaN for what is not known."""
    values: NDArray[np.float64] = table[name].to_numpy().astype(np.float64)
    return values


def _every(table: pa.Table) -> int:
    """Return how many points have one marker: some ten markers tell curves apart."""
    return max(1, table.num_rows // 10)


def _alpha(points: NDArray[np.float64]) -> float:
    """Return how dark to draw points: of many, the crowded places look darker."""
    return 0.8 if len(points) <= 500 else 0.3


def _name_devices(panel: Axes, devices: list[int]) -> None:
    """Write the numbers of the devices under their places: of at most twenty, or they touch."""
    places = range(0, len(devices), -(-len(devices) // 20))
    names = [str(devices[place]) for place in places]
    panel.set_xticks(places, names, rotation=90 if len(names) > 12 else 0)
    panel.set(xlabel="device", xlim=(-0.7, len(devices) - 0.3))
