"""The command ``straggler report``: pages and figures from runs."""

from pathlib import Path
from typing import Annotated

import typer

from fl.files import write_atomically
from netsim.errors import InputError


def report_command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Run directories, folders with some below, or a study's directory.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The page; by default report.html in the first DIR.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write figures for a paper, too, and their numbers."),
    ] = None,
) -> None:
    """Make a page that shows what happened in a run, or compares several."""
    # Plotly and matplotlib take a while to import, and no other command needs both.
    from fl.report.comparison import arms_of, find_runs  # noqa: PLC0415
    from fl.report.comparison_page import comparison_page  # noqa: PLC0415
    from fl.report.figures import write_figures  # noqa: PLC0415
    from fl.report.run_page import run_page  # noqa: PLC0415
    from fl.report.study_page import study_page  # noqa: PLC0415
    from fl.report.study_results import FILE, StudyResults  # noqa: PLC0415

    path = out if out is not None else directories[0] / "report.html"
    if len(directories) == 1 and (directories[0] / FILE).is_file():
        if figures is not None:
            raise InputError(f"{directories[0]}: is a study; figures are of its runs: name some")
        _write(path, study_page(StudyResults.open(directories[0])))
        return
    runs = find_runs(directories)
    html = run_page(runs[0]) if len(runs) == 1 else comparison_page(arms_of(runs))
    _write(path, html)
    if figures is not None:
        for index, run in enumerate(runs):
            below = figures if len(runs) == 1 else figures / f"{index}-{run.scenario.name}"
            written = write_figures(run, below)
            typer.echo(f"{len(written)} files in {below}")


def _write(path: Path, html: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, html)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    typer.echo(f"The page is {path} ({path.stat().st_size / 1e6:.1f} MB)")
