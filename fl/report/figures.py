"""The figures of a run as files for a paper: SVG, PDF and PNG, and the numbers behind each."""

from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from fl.report.plot_style import Plot
from fl.report.plots import Plots
from fl.report.recording import Recording
from netsim.errors import InputError

_PICTURES = ("svg", "pdf", "png")
_DOTS_PER_INCH = 300


class _DevicesOnDisk:
    """Reads a column when it is asked for: of a large run, all together may not fit."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self._recording.devices([name])[name]


def write_figures(recording: Recording, folder: Path) -> list[Path]:
    """Write the figures that have something to show, and return the files.

    Files are named by figure, whatever the scenario is called; those of an earlier run are
    replaced. The same run gives the same bytes.

    Args:
        recording: Of which run.
        folder: Where to; made, if it is not there.

    Raises:
        InputError: The folder cannot be written.
    """
    plots = Plots(recording.rounds, _DevicesOnDisk(recording)).every()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for name, plot in plots.items() for path in _write(plot, folder / name)]
    except OSError as error:
        raise InputError(f"{folder}: cannot hold figures: {error.strerror}") from None


def _write(plot: Plot, stem: Path) -> list[Path]:
    files = [stem.with_suffix(f".{form}") for form in (*_PICTURES, "csv")]
    for path in files:
        partial = path.with_name(f".{path.name}.partial")
        try:
            if path.suffix == ".csv":
                csv.write_csv(plot.table, partial)
            else:
                plot.savefig(partial, format=path.suffix[1:], dpi=_DOTS_PER_INCH)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return files
