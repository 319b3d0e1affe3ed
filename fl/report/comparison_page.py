"""The page that compares several runs."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fl.interval import Interval
from fl.report.chart import COLOURS, DASHES, SYMBOLS, Chart, plain, thinned
from fl.report.comparison import Arm, tests
from fl.report.page import Section, chart_html, page, table_html
from fl.report.recording import Recording

_MOST_POINTS = 1000
_PERCENTILES = (50, 95, 99)


def comparison_page(arms: Sequence[Arm]) -> str:
    """Return the page of several arms as HTML."""
    learnt = [arm for arm in arms if arm.has_learnt]
    target = common_accuracy(learnt) if learnt else None
    sections: list[Section] = [
        ("arms", "Side by side", table_html(*_table(arms, target))),
        ("latencies", "Latency", "".join(map(chart_html, (_means(arms), _distributions(arms))))),
        ("communication", "Communication", chart_html(_sent(arms))),
    ]
    if learnt:
        charts = (_over_time(learnt), _pareto(learnt))
        sections.append(("learnt", "Learning", "".join(map(chart_html, charts))))
    sections.append(("runs", "What was compared", table_html(*_runs(arms))))
    title = f"{len(arms)} arms, {sum(len(arm.runs) for arm in arms)} runs"
    lead = (
        "<p>Runs whose scenarios differ in nothing but the seed are one arm. Intervals of 95 % confidence are over "
        "seeds, by Student's t; an arm with one seed has none.</p>"
    )
    return page(title, lead, sections, "", "")


def common_accuracy(arms: Sequence[Arm]) -> float:
    """Return a target that every run reached: the highest such accuracy in whole percent."""
    best = min(float(tests(run)[1].max()) for arm in arms for run in arm.runs)
    return np.floor(best * 100) / 100


def _table(arms: Sequence[Arm], target: float | None) -> tuple[list[str], list[list[object]]]:
    titles = ["", "runs", "round latency, ms", *(f"p{p}, ms" for p in _PERCENTILES)]
    titles += ["rounds that missed the deadline, %", "sent in a round, Mbit"]
    if target is not None:
        titles += ["accuracy at the end, %", f"simulated seconds to {target:.0%}"]
    rows = []
    for arm in arms:
        missed = arm.missed
        row: list[object] = [arm.label, len(arm.runs), str(arm.latency_ms)]
        row += [float(value) for value in np.percentile(arm.all_latencies_ms, _PERCENTILES)]
        row += ["" if missed is None else str(missed.in_percent), str(arm.sent_megabits)]
        if target is not None and arm.has_learnt:
            row += [str(arm.accuracy.in_percent), str(arm.seconds_to(target))]
        rows.append(row)
    return titles, rows


def _means(arms: Sequence[Arm]) -> Chart:
    found = [arm.latency_ms for arm in arms]
    figure = go.Figure()
    points(figure, [arm.label for arm in arms], found)
    plain(figure, xaxis_title="ms", showlegend=False)
    return Chart("means", "Mean latency of a round", "", figure, _interval_columns(arms, found))


def _sent(arms: Sequence[Arm]) -> Chart:
    found = [arm.sent_megabits for arm in arms]
    figure = go.Figure()
    points(figure, [arm.label for arm in arms], found)
    plain(figure, xaxis_title="Mbit a round, all devices together", showlegend=False)
    figure.update_xaxes(rangemode="tozero")
    return Chart("sent", "Communication cost", "", figure, _interval_columns(arms, found))


def _distributions(arms: Sequence[Arm]) -> Chart:
    figure = make_subplots(
        1, 2, subplot_titles=("rounds at most so long", "rounds longer than that")
    )
    columns: dict[str, list[object]] = {"arm": [], "latency_ms": [], "fraction_of_rounds": []}
    for index, arm in enumerate(arms):
        latency_ms = arm.all_latencies_ms
        chosen = thinned(len(latency_ms), _MOST_POINTS)
        below = np.arange(1, len(latency_ms) + 1) / len(latency_ms)
        for place, values in ((1, below), (2, 1 - below)):
            figure.add_scatter(
                x=latency_ms[chosen], y=values[chosen], mode="lines", name=arm.label,
                line={"shape": "hv", **_line(index)}, row=1, col=place,
                legendgroup=str(index), showlegend=place == 1,
                hovertemplate="%{x:.3f} ms: %{y:.4f}<extra>%{fullData.name}</extra>",
            )  # fmt: skip
        for percent in _PERCENTILES:
            columns["arm"].append(arm.label)
            columns["latency_ms"].append(float(np.percentile(latency_ms, percent)))
            columns["fraction_of_rounds"].append(percent / 100)
    figure.update_xaxes(title="ms")
    figure.update_yaxes(type="log", row=1, col=2)
    plain(figure)
    note = "All rounds of all runs; the right half shows the tail on a logarithmic scale."
    return Chart("distributions", "Distribution of round latency", note, figure, columns)


def _over_time(arms: Sequence[Arm]) -> Chart:
    figure = make_subplots(1, 2, subplot_titles=("test accuracy, %", "test loss"))
    columns: dict[str, list[object]] = {"arm": [], "seed": [], "time_s": [], "accuracy_percent": []}
    for index, arm in enumerate(arms):
        for number, run in enumerate(arm.runs):
            at_s, accuracy, loss = tests(run)
            for place, values in ((1, accuracy * 100), (2, loss)):
                figure.add_scatter(
                    x=at_s, y=values, mode="lines", name=arm.label, line=_line(index),
                    opacity=1.0 if number == 0 else 0.5, row=1, col=place,
                    legendgroup=str(index), showlegend=place == 1 and number == 0,
                    hovertemplate="%{x:.3f} s: %{y:.3f}<extra>%{fullData.name}</extra>",
                )  # fmt: skip
            columns["arm"] += [arm.label] * len(at_s)
            columns["seed"] += [run.scenario.seed] * len(at_s)
            columns["time_s"] += at_s.tolist()
            columns["accuracy_percent"] += (accuracy * 100).tolist()
    figure.update_xaxes(title="simulated time, s")
    plain(figure)
    note = "A line a run."
    return Chart("over-time", "Accuracy and loss over simulated time", note, figure, columns)


def _pareto(arms: Sequence[Arm]) -> Chart:
    """Return latency against accuracy: an arm that none beats in both is marked."""
    latency = [arm.latency_ms.mean for arm in arms]
    accuracy = [arm.accuracy.mean * 100 for arm in arms]
    best = unbeaten(latency, accuracy)
    figure = go.Figure()
    for index, arm in enumerate(arms):
        error = arm.accuracy.in_percent.half_width
        figure.add_scatter(
            x=[latency[index]], y=[accuracy[index]], mode="markers", name=arm.label,
            error_y={"array": [error if np.isfinite(error) else 0.0]},
            marker={"size": 14 if best[index] else 8, "color": COLOURS[index % len(COLOURS)],
                    "symbol": SYMBOLS[index % len(SYMBOLS)]},
            hovertemplate="%{x:.3f} ms, %{y:.2f} %<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    plain(figure, xaxis_title="mean latency of a round, ms", yaxis_title="accuracy at the end, %")
    columns: dict[str, Sequence[object]] = {
        "arm": [arm.label for arm in arms],
        "latency_ms": latency,
        "accuracy_percent": accuracy,
        "beaten": ["no" if one else "yes" for one in best],
    }
    note = "Large marks: no other arm is both faster and more accurate."
    return Chart("pareto", "Latency against accuracy", note, figure, columns)


def unbeaten(latency: Sequence[float], accuracy: Sequence[float]) -> list[bool]:
    """Return who is on the Pareto front: nobody is as good in both, and better in one.

    >>> unbeaten([1.0, 2.0, 3.0], [0.5, 0.9, 0.8])
    [True, True, False]
    """
    points = list(zip(latency, accuracy, strict=True))
    return [
        not any(x <= x0 and y >= y0 and (x, y) != (x0, y0) for x, y in points) for x0, y0 in points
    ]


def _runs(arms: Sequence[Arm]) -> tuple[list[str], list[list[object]]]:
    def row(arm: Arm, run: Recording) -> list[object]:
        status = run.manifest.get("status")
        return [arm.label, run.scenario.seed, run.num_rounds, status, str(run.folder)]

    titles = ["arm", "seed", "rounds", "status", "folder"]
    return titles, [row(arm, run) for arm in arms for run in arm.runs]


def points(figure: go.Figure, labels: Sequence[str], found: Sequence[Interval]) -> None:
    """Draw a mean with its interval for each label, from top to bottom."""
    widths = [one.half_width if np.isfinite(one.half_width) else 0.0 for one in found]
    figure.add_scatter(
        x=[one.mean for one in found], y=list(labels), mode="markers",
        error_x={"array": widths}, marker={"size": 9, "color": COLOURS[0]},
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", type="category")


def _interval_columns(
    arms: Sequence[Arm], found: Sequence[Interval]
) -> dict[str, list[str] | list[float]]:
    return {
        "arm": [arm.label for arm in arms],
        "mean": [one.mean for one in found],
        "half_width": [one.half_width for one in found],
    }


def _line(index: int) -> dict[str, object]:
    """Return the looks of an arm's lines: another colour, and another dash for those who see none."""
    return {"color": COLOURS[index % len(COLOURS)], "dash": DASHES[index % len(DASHES)]}
