"""The page of a study: each metric over what was varied, and arms against their baselines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from fl.interval import Interval
from fl.report.chart import COLOURS, DASHES, HEIGHT_PX, SYMBOLS, Chart, plain
from fl.report.comparison_page import points
from fl.report.page import Section, chart_html, details_html, page, table_html
from fl.report.study_results import FILE, StudyResults
from fl.study.tables import metric_of

#: So few values stand side by side, as they were written; more of them, on a scale.
_SIDE_BY_SIDE = 12
#: A scale whose ends are so far apart is better a logarithmic one.
_FAR_APART = 50.0
_ARM_PX = 22


def study_page(results: StudyResults) -> str:
    """Return the page of a study as HTML."""
    charts = [_over_values(results, name) for name in results.metrics]
    sections: list[Section] = [
        ("metrics", "What was found", "".join(map(chart_html, charts))),
        ("arms", "Arm by arm", table_html(*_arms_table(results))),
    ]
    if results.comparisons:
        titles, rows = _differences_table(results)
        sections.append(("differences", "Against the baseline", table_html(titles, rows)))
    if results.failed:
        rows = [[run["arm"], run["seed"], run["reason"]] for run in results.failed]
        failed = table_html(["arm", "seed", "reason"], rows)
        sections.append(("failed", "Runs that failed", failed))
    text = (results.folder / FILE).read_text(encoding="utf-8")
    sections.append(("study", "What was run", details_html("The study", text)))
    return page(results.study.name, _lead(results), sections, "", "")


def _lead(results: StudyResults) -> str:
    paired = (
        "Every arm has the same seeds, so the same channels and data: differences are taken seed by seed."
        if results.study.common_random_numbers
        else "No two runs share a seed."
    )
    told = f"{len(results.arms)} arms, {len(results.runs)} runs, {len(results.failed)} failed."
    return f"<p>{told} Intervals of 95 % confidence are over seeds, by Student's t. {paired}</p>"


def _over_values(results: StudyResults, metric: str) -> Chart:
    """Return a metric over the varied key that has most values; the others make the lines."""
    shown = metric_of(metric)
    across = _axis(results)
    figure = go.Figure()
    if across is None:
        _arm_by_arm(figure, results, metric)
        plain(figure, xaxis_title=shown.title, showlegend=False)
        figure.update_layout(height=max(HEIGHT_PX, 120 + _ARM_PX * len(results.arms)))
    else:
        places = _places(results, across)
        _lines(figure, results, metric, across, places)
        plain(figure, xaxis_title=across, yaxis_title=shown.title)
        _scale(figure, results, across, places)
    found = [results.mean(arm, metric) for arm in results.arms]
    columns: dict[str, Sequence[object]] = {
        "arm": [arm["label"] for arm in results.arms],
        shown.title: ["" if one is None else str(one.scaled(shown.scale)) for one in found],
    }
    return Chart(metric, shown.title, shown.meaning, figure, columns)


def _axis(results: StudyResults) -> str | None:
    """Return the column of numbers with most different values; None, if there is none."""
    counts = {}
    for name in results.keys.values():
        values = {_position(arm, name) for arm in results.arms}
        if None not in values and len(values) > 1:
            counts[name] = len(values)
    return max(counts, key=lambda name: counts[name]) if counts else None


def _position(arm: Mapping[str, Any], name: str) -> float | None:
    """Return where the value of a key lies on an axis."""
    value = arm.get(f"{name}_si", arm[name])
    return float(value) if isinstance(value, int | float) else None


def _places(results: StudyResults, across: str) -> dict[float, float]:
    """Return where each value of the axis is drawn: side by side, if they are few."""
    values = sorted({_position(arm, across) or 0.0 for arm in results.arms})
    if len(values) > _SIDE_BY_SIDE:
        return {value: value for value in values}
    return {value: float(rank) for rank, value in enumerate(values)}


def _lines(
    figure: go.Figure,
    results: StudyResults,
    metric: str,
    across: str,
    places: Mapping[float, float],
) -> None:
    others = [name for name in results.keys.values() if name != across]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for arm in results.arms:
        label = ", ".join(f"{name} {arm[name]}" for name in others)
        groups.setdefault(label, []).append(arm)
    scale = metric_of(metric).scale
    for index, (label, arms) in enumerate(groups.items()):
        known = sorted(
            (
                (places[_position(arm, across) or 0.0], str(arm[across]), found.scaled(scale))
                for arm in arms
                if (found := results.mean(arm, metric)) is not None
            ),
            key=lambda point: point[0],
        )
        figure.add_scatter(
            x=[point[0] for point in known], y=[point[2].mean for point in known],
            error_y={"array": [_width(point[2]) for point in known], "thickness": 1},
            text=[point[1] for point in known], mode="lines+markers", name=label,
            showlegend=bool(label),
            line={"color": COLOURS[index % len(COLOURS)], "dash": DASHES[index % len(DASHES)]},
            marker={"symbol": SYMBOLS[index % len(SYMBOLS)]},
            hovertemplate="%{text}: %{y:.5g}<extra>%{fullData.name}</extra>",
        )  # fmt: skip


def _arm_by_arm(figure: go.Figure, results: StudyResults, metric: str) -> None:
    found = [(arm["label"], results.mean(arm, metric)) for arm in results.arms]
    known = [(label, one) for label, one in found if one is not None]
    scale = metric_of(metric).scale
    points(figure, [label for label, _ in known], [one.scaled(scale) for _, one in known])


def _scale(
    figure: go.Figure, results: StudyResults, across: str, places: Mapping[float, float]
) -> None:
    """Mark the values that stand side by side as they were written, or choose a scale."""
    if len(places) <= _SIDE_BY_SIDE:
        written = {places[_position(arm, across) or 0.0]: str(arm[across]) for arm in results.arms}
        figure.update_xaxes(tickvals=list(written), ticktext=list(written.values()))
        figure.update_xaxes(title=f"{across} (not to scale)")
    elif min(places) > 0 and max(places) / min(places) >= _FAR_APART:
        figure.update_xaxes(type="log")


def _width(found: Interval) -> float:
    return found.half_width if np.isfinite(found.half_width) else 0.0


def _arms_table(results: StudyResults) -> tuple[list[str], list[list[object]]]:
    names = results.metrics
    titles = ["arm", "runs", *(metric_of(name).title for name in names)]
    rows = []
    for arm in results.arms:
        found = [results.mean(arm, name) for name in names]
        told = [
            "" if one is None else str(one.scaled(metric_of(name).scale))
            for name, one in zip(names, found, strict=True)
        ]
        rows.append([arm["label"], arm["runs"], *told])
    return titles, rows


def _differences_table(results: StudyResults) -> tuple[list[str], list[list[object]]]:
    """Return, for each arm and metric, how far it is from its baseline."""
    titles = ["arm", "baseline", "runs", *(metric_of(name).title for name in results.metrics)]
    rows: dict[tuple[str, str], list[object]] = {}
    for place, name in enumerate(results.metrics):
        for label, baseline, count, apart in results.differences(name):
            empty: list[object] = [label, baseline, count, *([""] * len(results.metrics))]
            row = rows.setdefault((label, baseline), empty)
            row[3 + place] = apart.scaled(metric_of(name).scale).told_with_sign()
    return titles, list(rows.values())
