"""How figures look in a paper: sizes, letters, colours and marks; and how they are saved.

Nothing is told by colour alone: what differs in colour differs in marker, dash or hatch, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from typing import IO, Any

import numpy as np
import pyarrow as pa
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fl.report.plot_tables import Shown

SINGLE_COLUMN_IN = 3.5
DOUBLE_COLUMN_IN = 7.2
BLUE, RED, GREEN, PURPLE = "#4477aa", "#ee6677", "#228833", "#aa3377"
#: A colour and a hatch for each phase of a round. Who waits does nothing: only lines.
PHASE_LOOKS = {
    "broadcast": ("#bbbbbb", ""),
    "personal": ("#4477aa", ""),
    "warmup": ("#66ccee", "....."),
    "prune": ("#ccaa22", "xxxxx"),
    "global": ("#228833", "-----"),
    "lost": ("#882255", "\\\\\\\\\\"),
    "upload": ("#ee6677", ""),
    "backhaul": ("#aa3377", "+++++"),
    "offline": ("#555555", ""),
    "wait": ("#ffffff", "/////"),
}
_STYLE: dict[Any, Any] = {
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "figure.dpi": 150,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 8,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "pdf.fonttype": 42,  # publishers take TrueType, and not matplotlib's own Type 3
    "svg.fonttype": "none",  # letters, not outlines of letters: smaller, and can be searched
    "svg.hashsalt": "straggler",  # the same picture, the same bytes
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
}
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


class Plot(Figure):
    """A figure with the numbers it shows.

    Whoever saves it, wherever, gets the same bytes: it carries no date, and takes nothing from
    the settings of matplotlib on that machine.
    """

    table: pa.Table
    """What is drawn, in SI units: the points of the lines, the marks, the ends of the bars."""

    def savefig(
        self,
        fname: str | PathLike[str] | IO[bytes],
        *,
        transparent: bool | None = None,
        **kwargs: Any,  # noqa: ANN401 -- as matplotlib's own
    ) -> None:
        """Save the figure, as matplotlib does."""
        named = str(kwargs.get("format") or fname).rpartition(".")[2].lower()
        kwargs.setdefault("metadata", _UNDATED.get(named))
        with style.context(_STYLE, after_reset=True):
            super().savefig(fname, transparent=transparent, **kwargs)

    def _repr_png_(self) -> bytes:
        """Return what a notebook shows, which knows only the figures of pyplot by itself."""
        shown = BytesIO()
        self.savefig(shown, format="png")
        return shown.getvalue()


@contextmanager
def panels(
    shown: Shown, width_in: float, height_in: float, rows: int, columns: int
) -> Iterator[tuple[Plot, list[Axes]]]:
    """Give a figure and its panels, row by row, to be drawn in the block.

    Args:
        shown: What it shows; under the panels stands what it leaves out.
        width_in: Of the figure, in inches.
        height_in: Likewise.
        rows: Of panels; if there are several, those in line have an axis in common.
        columns: Of panels.
    """
    with style.context(_STYLE, after_reset=True):
        plot = Plot(figsize=(width_in, height_in), layout="constrained")
        plot.table = shown.table
        axes = plot.subplots(
            rows, columns, squeeze=False, sharex="col", sharey="row" if rows > 1 else False
        )
        if shown.notes:
            plot.supxlabel("  ".join(shown.notes), fontsize=7, color="#444444")
        yield plot, axes.ravel().tolist()


def time_unit(*seconds: NDArray[np.float64]) -> tuple[float, str]:
    """Return in which unit to draw times: its number in a second, and its name.

    >>> time_unit(np.array([0.04, 0.05]))
    (1000.0, 'ms')
    """
    # NaN, as of a deadline that there is not, is no more than anything.
    return (1.0, "s") if any((each >= 10).any() for each in seconds) else (1e3, "ms")


def limits(*values: NDArray[np.float64], least: float = 0.0) -> tuple[float, float]:
    """Return where an axis begins and ends that shows *values*, with *least* room at both ends.

    Rounding errors are not spread over the whole axis: it covers some hundredths at least.
    """
    known = np.concatenate(values)
    known = known[np.isfinite(known)]
    low, high = float(known.min()), float(known.max())
    room = max(0.06 * (high - low), 0.02 * max(abs(low), abs(high)), least) or 1.0
    return low - room, high + room


def legend_above(panel: Axes, most_in_line: int) -> None:
    """Put the legend where it covers nothing: in one line, or in lines of about equal length."""
    num_entries = len(panel.get_legend_handles_labels()[0])
    num_lines = -(-num_entries // most_in_line)
    legend = panel.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=-(-num_entries // num_lines),
        borderaxespad=0.2, handlelength=2.2, columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1.0)  # a single point of a faint crowd is hardly seen
