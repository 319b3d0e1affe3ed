"""Pictures: Figures 3 to 6, and two that the paper does not have.

A line is the mean over seeds, the band around it goes from the lowest to the highest seed. Lines
differ by colour and by marker.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fl.files import appearing
from fl.interval import Interval, interval
from fl.reproduction.measures import Curves, Measures
from fl.reproduction.plan import (
    COMPARED,
    DATASETS,
    READINGS,
    SPEEDS_KMH,
    TITLES,
    Size,
    deadline_name,
    moving_name,
    ratio_name,
)
from fl.reproduction.published import DEADLINE_MS, DEADLINES_MS

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccaa22", "#66aacc")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_STYLE: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",  # letters, not outlines of letters: smaller, and can be searched
    "svg.hashsalt": "straggler",  # the same picture, the same bytes
    "font.family": ["DejaVu Sans", "sans-serif"],
}


def draw_all(measures: Measures, size: Size, folder: Path) -> dict[str, Path]:
    """Draw every figure into *folder*, and return the files by name."""
    drawings: dict[str, Callable[[Measures, Size], Figure]] = {
        "figure-3": _figure_3,
        "figure-4": _figure_4,
        "figure-5": _figure_5,
        "figure-6": _figure_6,
        "over-time": _over_time,
        "moving": _moving,
    }
    files = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in drawings.items():
        files[name] = folder / f"{name}.svg"
        with mpl.rc_context(_STYLE), appearing(files[name]) as partial:
            draw(measures, size).savefig(
                partial, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.05
            )
    return files


def _panels(count: int) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(3.6 * count + 0.4, 3.1), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(1, count)).tolist()


def _figure_3(measures: Measures, size: Size) -> Figure:
    figure, panels = _panels(3)
    for panel, dataset in zip(panels, DATASETS, strict=False):
        arms = {f"{ratio:g}": measures.curves(dataset, ratio_name(ratio)) for ratio in size.ratios}
        _lines(panel, arms, "loss")
        panel.set(title=f"Test loss, {dataset}", ylabel="loss", yscale="log")
        panel.legend(title="ratio", ncols=2)
        points = [interval(arm.last_accuracy).in_percent for arm in arms.values()]
        _points(panels[2], size.ratios, points, DATASETS.index(dataset), dataset)
    panels[2].set(title="Test accuracy at the end", xlabel="pruning ratio", ylabel="%")
    panels[2].legend()
    return figure


def _figure_4(measures: Measures, _size: Size) -> Figure:
    figure, panels = _panels(1)
    names = {"FedAlt": "proposed", "FedSim": "simultaneous"}
    arms = {title: measures.curves("fashion-mnist", name) for title, name in names.items()}
    _lines(panels[0], arms, "accuracy")
    panels[0].set(title="Test accuracy", ylabel="%")
    panels[0].legend(loc="lower right")
    return figure


def _figure_5(measures: Measures, _size: Size) -> Figure:
    figure, panels = _panels(3)
    arms = {TITLES[name]: measures.curves("fashion-mnist", name) for name in COMPARED}
    _lines(panels[0], arms, "loss")
    panels[0].set(title="(a) Test loss", ylabel="loss", yscale="log")
    panels[0].legend(fontsize=7.5)
    _lines(panels[1], arms, "accuracy")
    panels[1].set(title="(b) Test accuracy", ylabel="%")
    thousands = {title: [w / 1e3 for w in arm.sent_weights] for title, arm in arms.items()}
    _bars(panels[2], thousands, "{:.0f}")
    panels[2].set(title="(c) Sent by a device in a round", xlabel="thousands of weights")
    return figure


def _figure_6(measures: Measures, _size: Size) -> Figure:
    figure, panels = _panels(3)
    arms = {
        f"{deadline_ms:g} ms": measures.curves("fashion-mnist", deadline_name(deadline_ms))
        for deadline_ms in DEADLINES_MS
    }
    _lines(panels[0], arms, "loss")
    panels[0].set(title="(a) Test loss", ylabel="loss", yscale="log")
    panels[0].legend(title="deadline", ncols=2)
    _lines(panels[1], arms, "accuracy")
    panels[1].set(title="(b) Test accuracy", ylabel="%")
    points = [interval(arm.pruning_ratio) for arm in arms.values()]
    _points(panels[2], DEADLINES_MS, points, 0, "")
    panels[2].set(title="(c) Pruning ratio", xlabel="deadline, ms", ylim=(0, 1))
    return figure


def _over_time(measures: Measures, _size: Size) -> Figure:
    figure, panels = _panels(2)
    arms = {TITLES[name]: measures.curves("fashion-mnist", name) for name in COMPARED}
    for panel, column in zip(panels, ("accuracy", "loss"), strict=True):
        _lines(panel, arms, column, over_time=True)
    panels[0].set(title="Test accuracy", ylabel="%")
    panels[1].set(title="Test loss", ylabel="loss", yscale="log")
    panels[1].legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _moving(measures: Measures, _size: Size) -> Figure:
    figure, panels = _panels(2)
    for index, reading in enumerate(READINGS):
        arms = [measures.latency("moving", moving_name(reading, v)) for v in SPEEDS_KMH]
        still = measures.latency("calibrated", reading)
        speeds = range(len(SPEEDS_KMH) + 1)
        latency = [interval(arm.emergent_median_ms) for arm in (still, *arms)]
        late = [interval(arm.late).in_percent for arm in (still, *arms)]
        for panel, points in zip(panels, (latency, late), strict=True):
            _points(panel, speeds, points, index, TITLES[reading])
    panels[0].axhline(DEADLINE_MS, color="black", linestyle=":", linewidth=1)
    panels[0].set(title="Latency of a round, median", ylabel="ms")
    panels[1].set(title="Uploads after the deadline", ylabel="%")
    for panel in panels:
        panel.set(xlabel="km/h")
        panel.set_xticks(speeds, ["0", *map(str, SPEEDS_KMH)])
    panels[1].legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _lines(
    panel: Axes, arms: Mapping[str, Curves], column: str, *, over_time: bool = False
) -> None:
    scale = 100.0 if column == "accuracy" else 1.0
    for index, (title, arm) in enumerate(arms.items()):
        values = getattr(arm, column) * scale
        at = arm.rounds.astype(np.float64)
        if over_time:
            at, values = arm.over_time(values)
        colour = _COLOURS[index]
        every = max(1, len(at) // 6)
        panel.plot(
            at, values.mean(axis=0), color=colour, label=title, linewidth=1.4,
            marker=_MARKERS[index], markersize=4, markevery=(index % every, every),
        )  # fmt: skip
        panel.fill_between(
            at, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, linewidth=0
        )
    panel.set(xlabel="simulated time, s" if over_time else "rounds")


def _points(
    panel: Axes, at: Sequence[float], points: Sequence[Interval], index: int, title: str
) -> None:
    panel.errorbar(
        at,
        [point.mean for point in points],
        # One seed tells nothing of the others.
        yerr=[point.half_width if np.isfinite(point.half_width) else 0.0 for point in points],
        color=_COLOURS[index],
        marker=_MARKERS[index],
        capsize=3,
        linewidth=1.2,
        label=title or None,
    )


def _bars(panel: Axes, values: Mapping[str, Sequence[float]], form: str) -> None:
    means = [interval(each).mean for each in values.values()]
    bars = panel.barh(range(len(means)), means, color=_COLOURS[: len(means)], height=0.6)
    panel.bar_label(bars, [form.format(mean) for mean in means], padding=3)
    panel.set_yticks(range(len(means)), list(values), fontsize=7.5)
    panel.invert_yaxis()
    panel.margins(x=0.15)
