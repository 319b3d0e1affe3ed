"""The commands ``straggler data ...``: which data sets there are, and how to get them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fl.command_options import AllowCode
from fl.data import CACHE, CATALOGUE, Entry, Kept, cache_folder, entry_of, fetch, kept
from fl.experiment import Experiment
from fl.scenario import ScenarioError, load_scenario

#: Devices that fit on a screen.
_MOST_ROWS = 30

data_app = typer.Typer(
    help="List and fetch data sets, and see how they are divided.", no_args_is_help=True
)


@data_app.command("list")
def list_command() -> None:
    """Print the data sets there are, and which of them are on this computer."""
    folder = cache_folder()
    table = Table("name", "shows", "train + test", "image", "files")
    for entry in CATALOGUE.values():
        size = f"{entry.num_train} + {entry.num_test}"
        image = " x ".join(map(str, entry.image_shape))
        table.add_row(entry.name, entry.shows, size, image, _files(entry, folder))
    Console(highlight=False).print(table)
    typer.echo(f"Files are in {folder}")


@data_app.command("fetch")
def fetch_command(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Of straggler data list.")],
) -> None:
    """Fetch data sets into the cache, from the first source that has them."""
    folder = cache_folder()
    entries = [entry_of(name) for name in names]
    for entry in entries:
        with Console(stderr=True).status(f"fetching {entry.name}"):
            source = fetch(entry.name, folder)
        if not entry.sha256:
            typer.echo(f"{entry.name}: needs no files")
        elif source == CACHE:
            typer.echo(f"{entry.name}: is in {folder / entry.name} already")
        else:
            typer.echo(f"{entry.name}: in {folder / entry.name}, from {source}")


@data_app.command("partition")
def partition_command(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario YAML file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value.")
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Print how many training samples of which label each device of a scenario holds."""
    checked = load_scenario(scenario, settings or [])
    enrolment = Experiment(checked, allow_code=allow_code).enrolment
    if enrolment is None:
        raise ScenarioError(f"{scenario}: learning: is missing; nothing is divided")
    labels = range(enrolment.dataset.num_labels)
    num_devices = len(enrolment.counts)
    table = Table("device", *map(str, labels), "all", "test", title="samples of each label")
    for device in range(min(num_devices, _MOST_ROWS)):
        counts = [str(count) if count else "-" for count in enrolment.counts[device]]
        tested = len(enrolment.held_test[device])
        table.add_row(str(device), *counts, str(enrolment.counts[device].sum()), str(tested))
    Console(highlight=False).print(table)
    if num_devices > _MOST_ROWS:
        typer.echo(f"and {num_devices - _MOST_ROWS} devices more")


def _files(entry: Entry, folder: Path) -> str:
    if not entry.sha256:
        return "needs none"
    match kept(entry, folder):
        case Kept.WHOLE:
            return "fetched"
        case Kept.MISSING:
            return "not fetched yet"
        case Kept.DAMAGED:
            return "damaged: fetch anew"
