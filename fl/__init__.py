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
round           one round as a chain of events; read this first
learner         what a round asks of whatever its devices learn
learning        what is learnt, round by round, beside the clock
enrolment       what a scenario says of learning, to devices with data and weights
generation      what a scenario says of its channel, to a trace
radio           what a scenario says of its radio, to channels
experiment      a run: the cell of a scenario on one clock
tables          what came of the rounds, as Arrow tables
results         the run directory
summary         a run in a few numbers
interval        means over seeds, with how far they can be trusted
report          what happened in a run, to look at
reproduction    the paper's experiments, run and compared with what it says
tensorboard     rounds as they come, for TensorBoard
cli             the command ``straggler``
report_command  straggler report
timeline_command  straggler timeline
data_commands   straggler data: list, fetch, partition
worker_pool     processes that work for this one
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

from fl.experiment import Experiment
from fl.results import InMemory, Run, run_directory
from fl.scenario import Scenario, load_scenario
from fl.training.engine import EngineChoice

__all__ = ["Run", "Scenario", "load_scenario", "run"]


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    out: str | Path | None = None,
    engine: str = "inline",
    workers: int | None = None,
    **overrides: Any,  # noqa: ANN401 -- whatever a scenario may say
) -> Run:
    """Run a scenario and return its results.

    Args:
        scenario: The path of a YAML file, the mapping it would hold, or a loaded scenario.
        out: The run directory to leave; by default nothing is written.
        engine: What computes what devices learn: ``inline``, or ``processes`` beside this one. A
            script that uses these needs the usual ``if __name__ == "__main__":``. The results
            are the same.
        workers: How many processes; by default one for each core.
        overrides: Values laid over the scenario's, as ``rounds=5`` or, within a block,
            ``uplink={"bandwidth": "10 MHz"}``.

    Raises:
        InputError: Something in the scenario, or in what it names, is wrong.
    """
    if isinstance(scenario, Scenario):
        scenario = scenario.written()
    experiment = Experiment(load_scenario(scenario, overrides=overrides))
    choice = EngineChoice.of(engine, workers)
    if out is None:
        tables = InMemory()
        experiment.run(tables, engine=choice)
        return tables.run(experiment.enrolment and experiment.enrolment.partition)
    with run_directory(Path(out), experiment, choice) as directory:
        experiment.run(directory, engine=choice)
    return Run.open(out)
