"""The page of one run."""

from html import escape

from fl.report.chart import Chart
from fl.report.page import Section, chart_html, details_html, headline_html, page, table_html
from fl.report.recording import Recording
from fl.report.run_charts import run_charts
from fl.report.stragglers import COLUMNS, straggler_board
from fl.report.timeline import timeline_assets, timeline_section
from fl.scenario import write_scenario
from fl.summary import Summary, summarise_directory, told_gap, told_seconds, told_size


def run_page(recording: Recording) -> str:
    """Return the page of a run as HTML."""
    last = recording.rounds["straggler"].to_numpy()
    board = straggler_board(last, recording.in_chunks(COLUMNS))
    charts = {chart.key: chart for chart in run_charts(recording, board)}
    learnt = [chart for key, chart in charts.items() if key.startswith("learning")]
    sections: list[Section] = [
        ("latencies", "Latency", _shown(charts, "latency", "distribution", "phases")),
        ("predictions", "Predicted and emergent", _shown(charts, "prediction")),
        ("straggling", "Stragglers", _shown(charts, "stragglers")),
        ("given", "Shares and pruning", _shown(charts, "allocation")),
    ]
    if learnt:
        sections.append(("learnt", "Learning", "".join(map(chart_html, learnt))))
    sections += [
        ("timelines", "Timeline", timeline_section(recording)),
        ("run", "What was run", _what_was_run(recording)),
    ]
    styles, scripts = timeline_assets()
    return page(recording.scenario.name, _lead(recording), sections, styles, scripts)


def _shown(charts: dict[str, Chart], *keys: str) -> str:
    return "".join(chart_html(charts[key]) for key in keys)


def _lead(recording: Recording) -> str:
    summary = summarise_directory(recording.folder)
    lead = headline_html(_headline(summary, recording.num_devices))
    if recording.manifest.get("status") != "finished":
        reason = escape(str(recording.manifest.get("reason", "it was interrupted")))
        lead = f"<p><strong>This run did not finish</strong>: {reason}</p>{lead}"
    return lead


def _headline(summary: Summary, num_devices: int) -> dict[str, str]:
    numbers = {
        "rounds x devices": told_size(summary, num_devices),
        "simulated time": told_seconds(summary.simulated_s),
    }
    for percent, latency_s in summary.latency_s.items():
        numbers[f"round latency, p{percent}"] = told_seconds(latency_s)
    if summary.deadline_s is not None:
        uploads = summary.num_rounds * summary.num_devices
        numbers["deadline"] = told_seconds(summary.deadline_s)
        numbers["rounds that missed it"] = f"{summary.missed} of {summary.num_rounds}"
        numbers["uploads that missed it"] = f"{summary.late / uploads:.1%}"
    numbers["emergent over predicted"] = told_gap(summary)
    for what, number in summary.faults.items():
        numbers[what] = str(number)
    if summary.learnt is not None:
        numbers["test accuracy"] = f"{summary.learnt.accuracy:.1%}"
        numbers["test loss"] = f"{summary.learnt.test_loss:.4g}"
    return numbers


def _what_was_run(recording: Recording) -> str:
    manifest = recording.manifest
    wall_s = manifest.get("wall_seconds")
    rows = [
        ("scenario", recording.scenario.name),
        ("seed", recording.scenario.seed),
        ("status", manifest.get("status")),
        ("started", manifest.get("started")),
        ("took", "" if wall_s is None else told_seconds(wall_s)),
        *(manifest.get("versions") or {}).items(),
        *((f"sha256 of {name}", value) for name, value in (manifest.get("sha256") or {}).items()),
    ]
    written = write_scenario(recording.scenario, recording.folder)
    return table_html(("", ""), rows) + details_html("The scenario, with every default", written)
