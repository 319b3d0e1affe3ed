"""A chart of a page: a Plotly figure, and the table behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccaa22", "#aa3377", "#66aacc", "#999999", "#444444")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star", "pentagon")
PHASE_COLOURS = {
    "broadcast": "#aa3377",
    "personal": "#4477aa",
    "warmup": "#66ccee",
    "prune": "#ccbb44",
    "global": "#228833",
    "lost": "#882255",
    "upload": "#ee6677",
    "backhaul": "#996633",
    "offline": "#444444",
    "wait": "#bbbbbb",
}
PHASE_PATTERNS = {
    "personal": "",
    "warmup": ".",
    "global": "",
    "lost": "\\",
    "upload": "",
    "offline": "",
    "wait": "/",
}
HEIGHT_PX = 340
"""Of a chart without a legend."""
_MOST_ROWS = 200


@dataclass(frozen=True)
class Chart:
    """What is drawn, what it means, and the numbers."""

    key: str
    """Names it within its page."""
    title: str
    note: str
    """What to see in it, in a sentence."""
    figure: go.Figure
    columns: Mapping[str, Sequence[object] | NDArray[np.generic]]
    """The numbers: at most so many rows of them are shown as a table."""

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """The table, thinned if it is long."""
        size = len(next(iter(self.columns.values())))
        chosen = thinned(size, _MOST_ROWS)
        return [tuple(column[index] for column in self.columns.values()) for index in chosen]

    @property
    def is_thinned(self) -> bool:
        """Whether the table leaves rows out."""
        return len(next(iter(self.columns.values()))) > _MOST_ROWS


def thinned(size: int, most: int) -> list[int]:
    """Return at most *most* of *size* places, evenly spread, with the first and the last.

    >>> thinned(3, 5), thinned(10, 4)
    ([0, 1, 2], [0, 3, 6, 9])
    """
    if size <= most:
        return list(range(size))
    places: list[int] = np.linspace(0, size - 1, most).round().astype(int).tolist()
    return places


def _legend_entries(figure: go.Figure) -> int:
    return sum(trace.showlegend is not False and bool(trace.name) for trace in figure.data)


def plain(figure: go.Figure, **layout: object) -> go.Figure:
    """Return *figure* in the looks of all: colours of text and lines are the page's."""
    entries = 0 if layout.get("showlegend") is False else _legend_entries(figure)
    legend_px = 24 * -(-entries // 3)  # about three go side by side
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 60, "r": 20, "t": 36, "b": 56 + legend_px},
        height=HEIGHT_PX + legend_px,
        legend={"orientation": "h", "yref": "container", "y": 0.01, "yanchor": "bottom"},
        hoverlabel={"namelength": -1},
        **layout,
    )
    figure.update_xaxes(gridcolor="rgba(128,128,128,0.25)", zeroline=False, automargin=True)
    figure.update_yaxes(gridcolor="rgba(128,128,128,0.25)", zeroline=False, automargin=True)
    return figure
