"""The command ``straggler timeline``: a run to look at in Perfetto."""

from pathlib import Path
from typing import Annotated

import typer

from fl.report.perfetto import write_perfetto
from fl.report.recording import Recording
from netsim.errors import InputError


def timeline_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default DIR/timeline.json.")
    ] = None,
) -> None:
    """Write who did what from when to when as a Chrome trace, which opens in Perfetto."""
    # What lies in the directory under that name is of an earlier call. Elsewhere it may be anything.
    if out is not None and out.exists():
        raise InputError(f"{out}: exists already; give another name, or remove it")
    path = directory / "timeline.json" if out is None else out
    num_events = write_perfetto(Recording.open(directory), path)
    typer.echo(f"{path}: {num_events} events")
    typer.echo('To look at it, visit https://ui.perfetto.dev and choose "Open trace file"')
