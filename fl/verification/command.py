"""The command ``straggler verify``: is a run directory what it says?"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fl.command_options import AllowCode
from fl.verification.check import Check
from fl.verification.verify import REPLAYED, verify


def verify_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories, or studies.")
    ],
    replay: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many rounds to simulate again.")
    ] = REPLAYED,
    allow_code: AllowCode = False,
) -> None:
    """Check run directories again: hashes, columns, laws of conservation, and some rounds.

    The status is 1 if something is wrong. What cannot be looked at, as a replay whose trace is gone,
    is said, and is not wrong.
    """
    wrong = 0
    for folder in _runs(folders):
        checks = verify(folder, replayed=replay, allow_code=allow_code)
        typer.echo(f"{folder}")
        for line in _lines(checks):
            typer.echo(f"  {line}")
        wrong += any(check.problems for check in checks)
    if wrong:
        told = "something is" if len(folders) == 1 else f"{wrong} of the runs are"
        typer.echo(f"straggler: {told} wrong", err=True)
        raise typer.Exit(1)


def _runs(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield run directories; of a study, those of all its runs."""
    for folder in folders:
        if (folder / "study.yaml").is_file():
            yield from sorted(path.parent for path in folder.glob("runs/*/*/manifest.json"))
        else:
            yield folder


def _lines(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        if check.left_out is not None:
            yield f"left out  {check.name}: {check.left_out}"
        elif not check.problems:
            yield f"ok        {check.name}: {check.law}"
        for problem in check.problems:
            yield f"wrong     {check.name}: {problem}"
