"""The command ``straggler study``: one question over many runs."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from ruamel.yaml import YAML

from fl.command_options import AllowCode
from fl.files import write_atomically
from fl.lock import locked
from fl.own_code import refuse_code
from fl.ray_cluster import check_cluster, cluster
from fl.study.arms import Plan, load_plan
from fl.study.jobs import Job, Workplace
from fl.study.labels import short_keys, told_value
from fl.study.local import Local
from fl.study.on_ray import OnRay
from fl.study.progress import shown
from fl.study.runner import Made, run_missing
from fl.study.study import Study
from fl.study.tables import Row, differences, mean_of, metric_name, metric_of, write_tables
from fl.training.engine import worker_count
from netsim.errors import InputError

#: Of failed runs, so many are told on the terminal; the files have all.
_MOST_TOLD = 10


def study_command(  # noqa: PLR0913, PLR0917 -- an option for each thing to say
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study YAML file.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value in every run."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The study's directory; by default runs/NAME.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="Where runs are made: processes, on this machine, or ray, on a cluster."),
    ] = "processes",
    workers: Annotated[
        int | None, typer.Option(help="How many runs at a time; by default one for each core.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Of the Ray cluster; by default the running one."),
    ] = None,
    allow_code: AllowCode = False,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Show the arms, and run nothing.")
    ] = False,
) -> None:
    """Make the runs of a study, and summarise them.

    Runs that are finished are not made again: after an interruption, or with more arms or seeds, call
    it once more.
    """
    plan = load_plan(study, settings or [])
    if not allow_code:
        for arm in plan.arms:
            refuse_code(arm.scenario.name, arm.scenario.own_code)
    place = _workplace(engine, workers, address)
    if plan_only:
        _print_plan(plan)
        return
    folder = out or Path("runs", plan.study.name)
    with place as workplace, locked(folder):
        write_atomically(folder / "study.yaml", _written(plan.study, study, folder))
        jobs = _jobs(plan, folder.resolve(), allow_code=allow_code)
        made = _make_runs(jobs, workplace)
        # Before the tables: a disk that was too full for a run may be too full for them.
        for ended in made.failed[:_MOST_TOLD]:
            typer.echo(f"failed: {ended.told}", err=True)
        reasons = {ended.job.folder: ended.error or "" for ended in made.failed}
        rows = write_tables(plan, folder.resolve(), reasons)
    _print_summary(plan, rows)
    _print_differences(plan, rows)
    typer.echo(f"\n{made.runs} runs made, {_rest(plan, made)} were there already")
    typer.echo(f"Results are in {folder}; to look at them: straggler report {folder}")
    if made.failed:
        typer.echo(f"straggler: {len(made.failed)} runs failed; see runs.parquet", err=True)
        raise typer.Exit(1)


def _workplace(
    engine: str, workers: int | None, address: str | None
) -> AbstractContextManager[Workplace]:
    """Return where runs are made; what is wrong with it is told before anything is."""
    count = worker_count(workers)
    if engine == "processes":
        if address is not None:
            raise InputError("--address: belongs to --engine ray, not to --engine processes")
        return nullcontext(Local(count))
    if engine != "ray":
        raise InputError(f"--engine: must be processes or ray, got {engine}")
    check_cluster(address)
    return _on_ray(address, workers)


@contextmanager
def _on_ray(address: str | None, workers: int | None) -> Iterator[Workplace]:
    with cluster(address, workers) as joined:
        yield OnRay(joined)


def _jobs(plan: Plan, folder: Path, *, allow_code: bool) -> list[Job]:
    return [
        Job(arm.with_seed(seed), folder / arm.folder(seed), allow_code)
        for arm in plan.arms
        for seed in arm.seeds
    ]


def _make_runs(jobs: Sequence[Job], workplace: Workplace) -> Made:
    try:
        with shown() as watch:
            return run_missing(jobs, workplace, watch)
    except KeyboardInterrupt:
        typer.echo("Interrupted; the same command goes on where it was", err=True)
        raise


def _rest(plan: Plan, made: Made) -> int:
    return sum(len(arm.seeds) for arm in plan.arms) - made.runs - len(made.failed)


def _written(study: Study, path: Path, folder: Path) -> str:
    """Return the study with every default, as it would stand in *folder*."""
    data = study.model_dump(mode="json", by_alias=True)
    base = os.path.realpath(path.parent / study.base)
    data["base"] = os.path.relpath(base, os.path.realpath(folder))
    stream = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.dump(data, stream)
    return stream.getvalue()


def _print_plan(plan: Plan) -> None:
    table = Table("arm", "runs", "compared with", title=plan.study.name, title_justify="left")
    labels = {arm.name: arm.label for arm in plan.arms}
    for arm in plan.arms:
        other = arm.baseline if arm.baseline not in (None, arm.name) else None
        table.add_row(arm.label, str(len(arm.seeds)), labels[other] if other else "")
    Console(highlight=False).print(table)
    typer.echo(f"{len(plan.arms)} arms, {sum(len(arm.seeds) for arm in plan.arms)} runs")


def _print_summary(plan: Plan, rows: Sequence[Row]) -> None:
    names = [metric_name(metric) for metric in plan.study.metrics]
    keys = short_keys(plan.keys)
    table = Table(title=plan.study.name, title_justify="left")
    for title in keys.values():
        table.add_column(title, overflow="fold")
    for name in names:
        table.add_column(metric_of(name).title, justify="right")
    for arm in plan.arms:
        finished = [row for row in rows if row.arm is arm and row.reason is None]
        values = (told_value(arm.values[key]) for key in keys)
        table.add_row(*values, *(_cell(name, finished) for name in names))
    Console(highlight=False).print(table)


def _print_differences(plan: Plan, rows: Sequence[Row]) -> None:
    """Print how far arms are from their baselines; a star marks what cannot be by chance."""
    names = [metric_name(metric) for metric in plan.study.metrics]
    by_arm: dict[str, dict[str, str]] = {}
    for found in differences(plan, rows):
        if found.metric in names:
            told = found.apart.scaled(metric_of(found.metric).scale).told_with_sign()
            by_arm.setdefault(found.arm.label, {})[found.metric] = told
    if not by_arm:
        return
    how = "seed by seed" if plan.study.common_random_numbers else "without common seeds"
    table = Table(title=f"\nless the baseline, {how}; *: not by chance", title_justify="left")
    table.add_column("arm", overflow="fold")
    for name in names:
        table.add_column(metric_of(name).title, justify="right")
    for label, cells in by_arm.items():
        table.add_row(label, *(cells.get(name, "") for name in names))
    Console(highlight=False).print(table)


def _cell(name: str, rows: Sequence[Row]) -> str:
    found = mean_of(name, rows)
    return "" if found is None else str(found.scaled(metric_of(name).scale))
