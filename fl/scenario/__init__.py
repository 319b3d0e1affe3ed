"""Scenario files: what is run.

errors          what a scenario that cannot be used is
magnitude       files that are too much to read
document        YAML as plain data, with the place of each value; extends and --set
quantity        values with their unit, one or one a device
channel         what a scenario may say of the channel
faults          what a scenario may say of faults
learning        what a scenario may say of what is trained
scenario        what a scenario may say: every key, its meaning, its default
contradictions  what no key alone is guilty of
loading         from a file to a checked scenario, and back to text
reference       every key in a table, out of the model
"""

from fl.scenario.channel import ConstantChannel, Generate, GeneratedChannel, TraceChannel
from fl.scenario.errors import ScenarioError
from fl.scenario.faults import Faults, Lost
from fl.scenario.learning import BoundConstants, GivenSizes, Learning, NamedModel, Partition
from fl.scenario.loading import load_generate, load_scenario, write_scenario
from fl.scenario.quantity import PerDevice, Quantity
from fl.scenario.reference import json_schema, reference
from fl.scenario.scenario import BYTES_A_DEVICE, Scenario

__all__ = [
    "BYTES_A_DEVICE",
    "BoundConstants",
    "ConstantChannel",
    "Faults",
    "Generate",
    "GeneratedChannel",
    "GivenSizes",
    "Learning",
    "Lost",
    "NamedModel",
    "Partition",
    "PerDevice",
    "Quantity",
    "Scenario",
    "ScenarioError",
    "TraceChannel",
    "json_schema",
    "load_generate",
    "load_scenario",
    "reference",
    "write_scenario",
]
