"""Federated learning on a simulated wireless network.

scenario        what is run: YAML files, checked
schemes         named combinations of split, update, pruning and bandwidth
models          what is trained, and what that costs in cycles and bits
allocation      who gets which share of the band, and who prunes how much
round           one round as a chain of events; read this first
generation      what a scenario says of its channel, to a trace
experiment      a run: the cell of a scenario on one clock
tables          what came of the rounds, as Arrow tables
results         the run directory
summary         a run in a few numbers
cli             the command ``straggler``
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

__all__ = ["Run", "Scenario", "load_scenario", "run"]


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    out: str | Path | None = None,
    **overrides: Any,  # noqa: ANN401 -- whatever a scenario may say
) -> Run:
    """Run a scenario and return its results.

    Args:
        scenario: The path of a YAML file, the mapping it would hold, or a loaded scenario.
        out: The run directory to leave; by default nothing is written.
        overrides: Values laid over the scenario's, as ``rounds=5`` or, within a block,
            ``uplink={"bandwidth": "10 MHz"}``.

    Raises:
        InputError: Something in the scenario, or in what it names, is wrong.
    """
    if isinstance(scenario, Scenario):
        scenario = scenario.written()
    experiment = Experiment(load_scenario(scenario, overrides=overrides))
    if out is None:
        tables = InMemory()
        experiment.run(tables)
        return tables.run()
    with run_directory(Path(out), experiment.scenario, experiment.trace) as directory:
        experiment.run(directory)
    return Run.open(out)
