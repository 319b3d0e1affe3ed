"""The frame of every page: one HTML file that needs nothing else, and lets nothing in."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from plotly.offline import get_plotlyjs

from fl.report.chart import Chart

#: Scripts and styles of the page itself and nothing from anywhere else, whatever a name may hold.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
Section = tuple[str, str, str]
"""Its key, its heading, and its HTML."""


def page(title: str, lead: str, sections: Sequence[Section], styles: str, scripts: str) -> str:
    """Return a whole page.

    Args:
        title: Of the page, as plain text.
        lead: HTML that stands before the first section.
        sections: What it shows.
        styles: CSS beside the frame's own.
        scripts: JavaScript that runs after the charts are on their way.
    """
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in sections)
    body = "".join(
        f'<section id="{key}"><h2>{escape(name)}</h2>{html}</section>\n'
        for key, name, html in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{asset('page.css')}{styles}</style></head>\n"
        f"<body><header><h1>{escape(title)}</h1>{lead}</header>\n"
        f'<nav aria-label="On this page"><ul>{links}</ul></nav>\n<main>{body}</main>\n'
        f"<script>{get_plotlyjs()}</script>\n<script>{asset('page.js')}{scripts}</script>\n"
        "</body></html>\n"
    )


def asset(name: str) -> str:
    """Return a file of the folder ``assets``."""
    return files("fl.report").joinpath("assets", name).read_text(encoding="utf-8")


def chart_html(chart: Chart) -> str:
    """Return a chart, and the table behind it."""
    data = script_safe(chart.figure.to_json())
    left_out = " (some of the rows)" if chart.is_thinned else ""
    return (
        f'<figure id="{chart.key}"><h3>{escape(chart.title)}</h3>'
        # The height is there before the chart is: nothing moves when it is drawn.
        f'<div class="chart" style="height: {chart.figure.layout.height}px" id="chart-{chart.key}" '
        f'role="img" aria-label="{escape(chart.title)}">'
        f"</div><figcaption>{escape(chart.note)}</figcaption>"
        f'<script type="application/json" class="figure" data-for="chart-{chart.key}">{data}</script>'
        f"<details><summary>Table{left_out}</summary>{table_html(list(chart.columns), chart.rows)}"
        "</details></figure>"
    )


def script_safe(text: str) -> str:
    """Return JSON that may stand in a script: nothing in it can end the element."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def table_html(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; numbers get the digits that people read."""
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(told(value))}</td>' for value in row)}</tr>" for row in rows
    )
    return (
        f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def headline_html(numbers: Mapping[str, str]) -> str:
    """Return a few numbers, large."""
    told_numbers = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in numbers.items()
    )
    return f'<dl class="headline">{"".join(told_numbers)}</dl>'


def details_html(summary: str, text: str) -> str:
    """Return text that is there for those who ask."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def told(value: object) -> str:
    """Return a value for people.

    >>> told(0.123456789), told(3), told(None)
    ('0.12346', '3', '')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value)
