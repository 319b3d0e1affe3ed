"""The command ``straggler``."""

import json
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from fl.command_options import AllowCode
from fl.data_commands import data_app
from fl.directory import (
    CHECKPOINT_EVERY_S,
    clear_unfinished,
    is_finished,
    is_unfinished,
    run_directory,
)
from fl.experiment import Experiment
from fl.report_command import report_command
from fl.reproduction.command import reproduce_command
from fl.results import free_directory
from fl.scenario import Scenario, json_schema, load_scenario, reference, write_scenario
from fl.server import Outcome
from fl.study.command import study_command
from fl.summary import Summary, summarise_directory, told_gap, told_seconds, told_size
from fl.tensorboard import Log, tensorboard_log
from fl.timeline_command import timeline_command
from fl.trace_commands import trace_app
from fl.trace_import import import_command
from fl.trace_sionna import sionna_command
from fl.training.engine import EngineChoice
from fl.verification.command import verify_command
from fl.worker_pool import WorkerError
from netsim.errors import InputError

app = typer.Typer(
    help="Federated learning over wireless networks, simulated event by event.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
scenario_app = typer.Typer(help="Check and show scenario files.", no_args_is_help=True)
app.add_typer(scenario_app, name="scenario")
app.add_typer(trace_app, name="trace")
app.add_typer(data_app, name="data")
app.command("study")(study_command)
app.command("report")(report_command)
app.command("timeline")(timeline_command)
app.command("verify")(verify_command)
app.command("reproduce")(reproduce_command)
trace_app.command("import")(import_command)
trace_app.command("sionna")(sionna_command)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario YAML file.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value, as uplink.bandwidth='5 MHz'."),
]


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 -- an option for each thing to say
    scenario: ScenarioFile,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="The run directory; by default runs/NAME.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was interrupted.")
    ] = False,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="How often to make sure of finished rounds; 0: each."
        ),
    ] = CHECKPOINT_EVERY_S,
    engine: Annotated[
        str, typer.Option(help="What computes what devices learn: inline, processes or ray.")
    ] = "processes",
    workers: Annotated[
        int | None, typer.Option(help="How many processes; by default one for each core.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="A Ray cluster; by default one that runs here, or is started for the run.",
        ),
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write events for TensorBoard, too.")
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Run a scenario, and leave a run directory."""
    choice = EngineChoice.of(engine, workers, address)
    experiment = Experiment(load_scenario(scenario, settings or []), allow_code=allow_code)
    checked = experiment.scenario
    folder = out if out is not None else _default_folder(checked.name, resume=resume)
    if resume and is_finished(folder, experiment):
        clear_unfinished(folder)
        typer.echo(f"{folder}: is finished; nothing is left to do\n")
        _print_summary(summarise_directory(folder), checked)
        return
    with (
        _telling_how_to_go_on(scenario, settings or [], folder, allow_code=allow_code),
        run_directory(
            folder, experiment, choice, resume=resume, checkpoint_every_s=checkpoint_every
        ) as directory,
        _log(tensorboard, directory.position.round) as log,
        _progress_bar() as bar,
    ):
        task = bar.add_task(checked.name, total=checked.rounds, completed=directory.position.round)

        def report(outcome: Outcome) -> None:
            bar.update(task, completed=outcome.round + 1)
            if log is not None:
                log.append(outcome)

        experiment.run(directory, report, choice)
    _print_summary(summarise_directory(folder), checked)
    _print_effort(folder, experiment)
    typer.echo(f"\nResults are in {folder}")


def _default_folder(name: str, *, resume: bool) -> Path:
    runs = Path("runs")
    return runs / name if resume else free_directory(runs, name)


def _log(folder: Path | None, first: int) -> AbstractContextManager[Log | None]:
    return nullcontext() if folder is None else tensorboard_log(folder, first)


class _StoppedError(RuntimeError):
    """A run that was stopped by what is not its fault, and can go on."""


@contextmanager
def _telling_how_to_go_on(
    scenario: Path, settings: list[str], folder: Path, *, allow_code: bool
) -> Iterator[None]:
    """Say how to go on with a run that was stopped, if it can."""
    try:
        yield
    except (OSError, WorkerError, KeyboardInterrupt, SystemExit) as error:
        if not is_unfinished(folder):
            raise
        changes = [part for setting in settings for part in ("--set", setting)]
        words = ["straggler", "run", str(scenario), *changes, "--resume", "--out", str(folder)]
        words += ["--allow-code"] * allow_code
        how = f"go on with: {shlex.join(words)}"
        if isinstance(error, OSError):
            raise _StoppedError(f"{_told(error)}; mend that, then {how}") from None
        if isinstance(error, WorkerError):
            raise _StoppedError(f"{error}; {how}") from None
        typer.echo(f"straggler: stopped; {how}", err=True)
        raise


def _told(error: OSError) -> str:
    return f"{error.filename or 'output'}: {error.strerror or error}"


@scenario_app.command("check")
def check_command(
    files: Annotated[list[Path], typer.Argument(metavar="SCENARIO...", help="Scenario files.")],
    settings: Settings = None,
    allow_code: AllowCode = False,
) -> None:
    """Check scenarios, and the traces they name, without running them."""
    for file in files:
        checked = load_scenario(file, settings or [])
        Experiment(checked, allow_code=allow_code)
        typer.echo(f"{file}: {checked.devices.count} devices, {checked.rounds} rounds: good")


@scenario_app.command("show")
def show_command(scenario: ScenarioFile, settings: Settings = None) -> None:
    """Print a scenario with everything it extends and every default filled in."""
    typer.echo(write_scenario(load_scenario(scenario, settings or []), Path()), nl=False)


@scenario_app.command("keys")
def keys_command() -> None:
    """Print every key of a scenario: what it accepts, its default, its meaning."""
    typer.echo(reference())


@scenario_app.command("schema")
def schema_command() -> None:
    """Print the JSON schema of scenario files, for editors."""
    typer.echo(json.dumps(json_schema(), indent=2))


def main() -> None:
    """Run the command; bad input ends it with one message and status 2."""
    # Asked to end, a run keeps its rounds as with Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app()
    except InputError as error:
        typer.echo(f"straggler: {error}", err=True)
        sys.exit(2)
    except (WorkerError, _StoppedError) as error:
        typer.echo(f"straggler: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        typer.echo(f"straggler: {_told(error)}", err=True)
        sys.exit(1)


def _progress_bar() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _print_summary(summary: Summary, scenario: Scenario) -> None:
    console = Console(highlight=False)
    table = Table(show_header=False, title=scenario.name, title_justify="left", min_width=50)
    table.add_row("rounds x devices", told_size(summary, scenario.devices.count))
    table.add_row("simulated time", told_seconds(summary.simulated_s))
    percentiles = " / ".join(told_seconds(value) for value in summary.latency_s.values())
    table.add_row("round latency p50 / p95 / p99", percentiles)
    if summary.deadline_s is not None:
        uploads = summary.num_rounds * summary.num_devices
        missed = (
            f"in {summary.missed} of {summary.num_rounds} rounds, "
            f"by {summary.late / uploads:.1%} of uploads"
        )
        table.add_row(f"deadline {told_seconds(summary.deadline_s)} missed", missed)
    if summary.infeasible:
        table.add_row("deadline out of reach", f"{summary.infeasible} times, at any pruning")
    table.add_row("emergent over predicted latency", told_gap(summary))
    if summary.faults:
        told = ", ".join(f"{number} {what}" for what, number in summary.faults.items())
        table.add_row("faults", told)
    for straggler in summary.stragglers[:3]:
        why = (
            f"{straggler.rounds - straggler.computing} by upload, {straggler.computing} by compute"
        )
        table.add_row(f"straggler: device {straggler.device}", f"{straggler.rounds} rounds, {why}")
    if summary.learnt is not None:
        learnt = summary.learnt
        spread = f"{learnt.accuracy:.1%}, over devices +- {learnt.accuracy_std:.1%}"
        table.add_row("test accuracy", spread)
        losses = (learnt.test_loss, learnt.train_loss)
        told = ", ".join("none" if loss is None else f"{loss:.4g}" for loss in losses)
        table.add_row("test loss, training loss", told)
    console.print(table)


def _print_effort(folder: Path, experiment: Experiment) -> None:
    """Say where the time went, in a run that has learnt something."""
    if experiment.enrolment is None:
        return
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    wall, training, evaluation = (
        told_seconds(manifest[f"{name}_seconds"]) for name in ("wall", "training", "evaluation")
    )
    workers = f"{manifest['workers']} worker{'s' * (manifest['workers'] > 1)}"
    typer.echo(f"\nTook {wall}; {workers} trained for {training}, tested for {evaluation}")
    if manifest.get("bound", {}).get("keepers") == 0:
        typer.echo("Theorem 1 bounds nothing: some weight was kept by nobody in some round")
    elif "bound" in manifest:
        told = {
            name: "infinite" if value is None else f"{value:.3g}"
            for name, value in manifest["bound"].items()
        }
        parts = ", ".join(f"{name} {told[name]}" for name in ("initial", "a1", "pruning"))
        typer.echo(f"Theorem 1 bounds the mean squared gradient by {told['total']} ({parts})")
    short = experiment.enrolment.short_devices
    if short:
        typer.echo(
            f"{short} of {experiment.scenario.devices.count} devices have fewer samples than "
            "learning.batch_size: their batches are all they have"
        )
