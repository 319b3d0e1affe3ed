"""Federated learning on a simulated wireless network.

scenario        what is run: YAML files, checked
schemes         named combinations of split, update, pruning and bandwidth
models          what is trained, and what that costs in cycles and bits
allocation      who gets which share of the band, and who prunes how much
data            what is learnt from, and which device holds what of it
pruning         which weights a device prunes
training        what a device learns in a round
aggregation     what the server makes of it
bound           what theory promises of a run: Theorem 1
faults          what goes wrong, with whom, and when
round           one round of a device as a chain of events; read this first
phases          what a device does in a round, and how it comes out of it
server          the other side: decides, broadcasts, waits, aggregates
participants    who takes part in a round, in whose seat
learner         what a round asks of whatever its devices learn
learning        what is learnt, round by round, beside the clock
enrolment       what a scenario says of learning, to devices with data and weights
generation      what a scenario says of its channel, to a trace
radio           what a scenario says of its radio, to channels
experiment      a run: the cell of a scenario on one clock
estimate        what a run will take of memory and disk
columns         the columns of the three tables that a run leaves
tables          what came of the rounds, as Arrow tables
journal         the tables of a run under way
checkpoint      where a run that was interrupted goes on
weights         the weights of a run under way, in a file
unfinished      a run under way: its rounds so far, and what it takes to go on
provenance      what results depend on: scenario, inputs, versions, code
manifest        what a run directory says of itself
directory       the life of a run directory: begun, gone on with, finished or failed
results         what a run leaves, opened again or kept in memory
summary         a run in a few numbers
interval        means over seeds, with how far they can be trusted
study           one question over many runs: grids of arms and seeds
verification    a run directory, checked again
report          what happened in a run, to look at
reproduction    the paper's experiments, run and compared with what it says
tensorboard     rounds as they come, for TensorBoard
cli             the command ``straggler``
command_options  what several commands let one say
report_command  straggler report
timeline_command  straggler timeline
data_commands   straggler data: list, fetch, partition
worker_pool     processes that work for this one
ray_cluster     machines that do
ray_address     whether they are where somebody says they are
lock            one process at a time in a folder
files           files that are there whole, or not at all
room            what memory and disk this computer has left
own_code        classes that a scenario names as module:Class
torch_stream    torch's own generator, seeded out of a named stream
trace_commands  straggler trace: generate, info, plot
trace_import    straggler trace import
trace_plot      pictures of a trace
trace_sionna    straggler trace sionna

>>> import fl
>>> run = fl.run("scenarios/frozen-channel.yaml", rounds=2)
>>> run.rounds.num_rows, run.devices.num_rows
(2, 20)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl.directory import CHECKPOINT_EVERY_S, clear_unfinished, is_finished, run_directory
from fl.estimate import check_kept
from fl.experiment import Experiment
from fl.results import InMemory, Run
from fl.scenario import Scenario, load_scenario
from fl.training.engine import EngineChoice

__all__ = ["Run", "Scenario", "load_scenario", "run"]


def run(  # noqa: PLR0913 -- an option for each thing to say
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    out: str | Path | None = None,
    engine: str = "inline",
    workers: int | None = None,
    address: str | None = None,
    allow_code: bool = False,
    resume: bool = False,
    checkpoint_every_s: float = CHECKPOINT_EVERY_S,
    **overrides: Any,  # noqa: ANN401 -- whatever a scenario may say
) -> Run:
    """Run a scenario and return its results.

    Args:
        scenario: The path of a YAML file, the mapping it would hold, or a loaded scenario.
        out: The run directory to leave; by default nothing is written.
        engine: What computes what devices learn: ``inline``, ``processes`` beside this one, or
            ``ray``. A script that uses processes needs the usual ``if __name__ == "__main__":``.
            The results are the same.
        workers: How many processes; by default one for each core.
        address: HOST:PORT of a Ray cluster; by default one that runs here, or is started.
        allow_code: Whether classes that the scenario names as ``module:Class`` may be imported, and
            run. They may do anything that you may do.
        resume: Go on with the run in *out* that was interrupted. If there is none, it is begun; if
            it is finished, there is nothing to do.
        checkpoint_every_s: How often the rounds that are over are made sure of, in seconds of this
            machine; 0: after each. It takes a twentieth of the time at most, but for 0.
        overrides: Values laid over the scenario's, as ``rounds=5`` or, within a block,
            ``uplink={"bandwidth": "10 MHz"}``.

    Raises:
        InputError: Something in the scenario, or in what it names, is wrong.
    """
    if isinstance(scenario, Scenario):
        scenario = scenario.written()
    experiment = Experiment(load_scenario(scenario, overrides=overrides), allow_code=allow_code)
    choice = EngineChoice.of(engine, workers, address)
    if out is None:
        check_kept(experiment.scenario)
        tables = InMemory()
        experiment.run(tables, engine=choice)
        return tables.run(experiment.enrolment and experiment.enrolment.partition)
    folder = Path(out)
    if resume and is_finished(folder, experiment):
        clear_unfinished(folder)
        return Run.open(folder)
    with run_directory(
        folder, experiment, choice, resume=resume, checkpoint_every_s=checkpoint_every_s
    ) as directory:
        experiment.run(directory, engine=choice)
    return Run.open(out)
