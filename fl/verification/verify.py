"""A run directory, checked again."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fl.columns import TABLES
from fl.directory import file_hashes
from fl.experiment import Experiment
from fl.manifest import MANIFEST, check_over, seal
from fl.provenance import differences, provenance
from fl.scenario import Scenario, load_scenario
from fl.verification.check import Check
from fl.verification.devices import DeviceLaws
from fl.verification.events import Events
from fl.verification.excerpt import Excerpt, excerpts
from fl.verification.replay import replay_problems, sampled_rounds
from fl.verification.rounds import round_problems
from netsim.errors import InputError

REPLAYED = 3
"""So many rounds are simulated again, unless said otherwise."""


def verify(folder: Path, *, replayed: int = REPLAYED, allow_code: bool = False) -> list[Check]:
    """Look at a run directory: its files, the laws of its tables, and some of its rounds again.

    Args:
        folder: Of a run that is over.
        replayed: How many rounds are simulated again.
        allow_code: Whether classes that the scenario names may be imported for that, and run.

    Raises:
        InputError: There is no run that is over.
    """
    manifest = check_over(folder)
    checks = [
        Check.of("files", "every file is as it was written", _file_problems(folder, manifest)),
        Check.of("tables", "every column is there, with its type", _table_problems(folder)),
    ]
    if checks[-1].problems:
        return checks
    try:
        scenario = load_scenario(folder / "scenario.yaml")
    except InputError as error:
        return [*checks, Check("scenario", "it can be read", (str(error),))]
    rounds = pq.read_table(folder / "rounds.parquet")
    is_finished = manifest.get("status") == "finished"
    checks.append(
        Check.of(
            "rounds",
            "rounds are numbered, follow each other, and last as long as they say",
            round_problems(rounds, scenario, is_finished=is_finished),
        )
    )
    try:
        experiment = Experiment(scenario, allow_code=allow_code)
    except InputError as error:
        checks += _device_checks(folder, scenario, rounds, None)
        return [*checks, Check("replay", "rounds come out the same again", left_out=str(error))]
    checks += _device_checks(folder, scenario, rounds, experiment)
    return [*checks, _replay(folder, rounds, experiment, manifest, replayed)]


def _file_problems(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    if manifest.get("seal") != seal(manifest):
        yield f"{MANIFEST}: is not what was written"
    recorded, found = manifest.get("files"), file_hashes(folder)
    if not isinstance(recorded, dict):
        yield f"{MANIFEST}: does not say what the files were"
        return
    for name in dict.fromkeys([*recorded, *found]):
        if name not in found:
            yield f"{name}: is missing"
        elif recorded.get(name) != found[name]:
            yield f"{name}: is not what was written: its sha256 is {found[name]}"


def _table_problems(folder: Path) -> Iterator[str]:
    for name, schema in TABLES.items():
        path = folder / f"{name}.parquet"
        try:
            found = pq.read_schema(path)
            for _batch in pq.ParquetFile(path).iter_batches():
                pass  # all of it can be read
        except (OSError, ValueError, pa.ArrowException) as error:
            yield f"{path.name}: cannot be read: {str(error).splitlines()[0]}"
            continue
        for field in schema:
            index = found.get_field_index(field.name)
            if index < 0:
                yield f"{path.name}: has no column {field.name}"
            elif not found.field(index).type.equals(field.type):
                yield f"{path.name}: {field.name} is {found.field(index).type}, not {field.type}"


def _device_checks(
    folder: Path, scenario: Scenario, rounds: pa.Table, experiment: Experiment | None
) -> list[Check]:
    """Look at the tables of devices and events, some rounds at a time."""
    number = scenario.num_participants
    rows = pq.read_metadata(folder / "devices.parquet").num_rows
    if rows != number * rounds.num_rows:
        told = f"there are {rows} rows, and must be {number} for each of {rounds.num_rows} rounds"
        return [Check("devices", "every round has its devices", (told,))]
    events = Events(folder / "events.parquet")
    laws: dict[tuple[str, str], Callable[[Excerpt], Iterator[str]]] = {
        ("devices", "phases add up, and rounds are what their devices make of them"): (
            lambda excerpt: DeviceLaws(excerpt, scenario).problems()
        ),
        ("events", "events are the phases that took time"): events.problems,
    }
    if experiment is not None:
        cost = experiment.cost
        laws["bits", "what was sent is what was kept, attempt by attempt"] = lambda excerpt: (
            DeviceLaws(excerpt, scenario).bits(cost)
        )
    problems: dict[tuple[str, str], list[str]] = {law: [] for law in laws}
    for excerpt in excerpts(folder, rounds, number):
        for law, look in laws.items():
            if not problems[law]:
                problems[law] += Check.of(*law, look(excerpt)).problems
    found = problems["events", "events are the phases that took time"]
    found += [] if found else list(events.rest())
    return [Check(*law, tuple(told)) for law, told in problems.items()]


def _replay(
    folder: Path,
    rounds: pa.Table,
    experiment: Experiment,
    manifest: Mapping[str, Any],
    number: int,
) -> Check:
    now = provenance(experiment)
    changes = differences({key: manifest.get(key) for key in now}, now)
    reason = f"made with something else than there is now: {'; '.join(changes[:3])}"
    if changes or not number:
        left_out = reason if changes else "no round was asked for"
        return Check("replay", "rounds come out the same again", left_out=left_out)
    numbers = sampled_rounds(rounds.num_rows, number, experiment.scenario.seed)
    told = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    what = "round" if len(numbers) == 1 else "rounds"
    law = f"{what} {told} on the clock again: the same to the last digit"
    return Check.of("replay", law, replay_problems(folder, experiment, rounds, numbers))
