"""Scenario files: what is run.

document   YAML as plain data, with the place of each value; extends and --set
quantity   values with their unit, one or one a device
scenario   what a scenario may say: every key, its meaning, its default
loading    from a file to a checked scenario, and back to text
reference  every key in a table, out of the model
"""

from fl.scenario.document import ScenarioError
from fl.scenario.loading import load_scenario, write_scenario
from fl.scenario.quantity import PerDevice, Quantity
from fl.scenario.reference import reference
from fl.scenario.scenario import ConstantChannel, Scenario, TraceChannel

__all__ = [
    "ConstantChannel",
    "PerDevice",
    "Quantity",
    "Scenario",
    "ScenarioError",
    "TraceChannel",
    "load_scenario",
    "reference",
    "write_scenario",
]
