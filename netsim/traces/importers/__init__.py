"""Traces out of files that people have: measured, or made by other simulators.

importer    the interface: what an importer is told, and the recording it makes
policy      what can be wrong with a recording, and what is to be done about it
quantity    what values measure, in which unit, and the kind of trace they become
table       tables in text, with the lines their rows stand on
delimited   any CSV, TSV or Parquet, by a map of its columns
rate_table  seconds and Mbit/s in two columns
mahimahi    packet deliveries by the millisecond
gnettrack   logs of G-NetTrack
cicv5g      runs of the CICV5G data set
ns3_fading  fading matrices of ns-3
arrays      arrays of NumPy in an .npz
repair      every trouble found, and mended as the policy says
formats     the formats there are, and files becoming a trace
"""

from netsim.traces.importers.formats import FORMATS, guess_format, import_files
from netsim.traces.importers.importer import Blocks, Delimiter, Settings, TimeUnit
from netsim.traces.importers.policy import ACTIONS, Policy, Problem, Trouble
from netsim.traces.importers.quantity import CqiTable, Quantity

__all__ = [
    "ACTIONS",
    "FORMATS",
    "Blocks",
    "CqiTable",
    "Delimiter",
    "Policy",
    "Problem",
    "Quantity",
    "Settings",
    "TimeUnit",
    "Trouble",
    "guess_format",
    "import_files",
]
