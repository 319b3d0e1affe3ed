"""The command ``straggler reproduce``: run the paper's experiments, and compare."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fl.data import fetch
from fl.reproduction.plan import DATASETS, FULL, QUICK, plan
from fl.study.progress import shown
from fl.training.engine import worker_count


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
        with shown() as watch:
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
