"""The command ``straggler reproduce``: run the paper's experiments, and compare."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from fl.data import fetch
from fl.reproduction.plan import DATASETS, FULL, QUICK, plan
from fl.training.engine import worker_count

if TYPE_CHECKING:
    from fl.reproduction.runner import Progress as RunProgress

#: Where nobody looks at a terminal, a line comes no more often than this.
_LINE_S = 60.0


def reproduce_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rounds and seeds: minutes, not an hour.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where runs and report go; by default runs/reproduction.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="How many runs at a time; by default one for each core.")
    ] = None,
) -> None:
    """Run the paper's experiments, and write a report: Table I, Figures 3 to 6, claim by claim.

    Runs that are finished are not run again: after an interruption, call it once more.
    """
    # These take a while to import, and no other command needs them.
    from fl.reproduction import calibration, claims, figures, measures, page, runner  # noqa: PLC0415

    size = QUICK if quick else FULL
    folder = out or Path("runs", "reproduction-quick" if quick else "reproduction")
    arms, count = plan(size), worker_count(workers)
    for name in DATASETS:
        with Console(stderr=True).status(f"fetching {name}"):
            fetch(name)
    try:
        with _shown() as watch:
            made = runner.run_arms(arms, folder / "runs", count, watch)
    except KeyboardInterrupt:
        typer.echo("Interrupted; the same command goes on where it was", err=True)
        raise
    typer.echo(f"{made} runs made" if made else "All runs are there already")
    measured = measures.Measures(arms, folder / "runs")
    found = claims.claims(measured, size)
    pictures = figures.draw_all(measured, size, folder / "reproduction")
    fits = calibration.fit()
    written = page.write_page(folder, measured, size, found, fits, pictures)
    table = Table("", "the paper says", "verdict", show_lines=True)
    for claim in found:
        table.add_row(claim.where, claim.says, claim.verdict)
    Console(highlight=False).print(table)
    typer.echo(f"\nThe report is {written}")


@contextmanager
def _shown() -> "Iterator[Callable[[RunProgress], None]]":
    """Show how far the runs are: as a bar, or in lines where there is no terminal."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task("running", total=1.0, told="")

        told_at = -_LINE_S

        def watch(progress: "RunProgress") -> None:
            nonlocal told_at
            told = f"{progress.done} of {progress.total} runs, {_minutes(progress.left_s)} left"
            bar.update(task, completed=progress.fraction, told=told)
            due = time.monotonic() - told_at > _LINE_S or progress.done == progress.total
            if due and not console.is_terminal:
                typer.echo(told, err=True)
                told_at = time.monotonic()

        yield watch


def _minutes(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
