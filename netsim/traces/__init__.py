"""Channel traces: what they are, and where they come from.

trace       what a trace is
checks      what must hold of the rows of a file
file        traces in Parquet files
generator   traces made from the laws of propagation
importers   traces out of the files people have
inspection  what is in a trace: its distribution, and how fast it changes
"""

from netsim.traces.file import read_trace, write_trace
from netsim.traces.generator import Generated, Propagation
from netsim.traces.inspection import TraceInfo, trace_info
from netsim.traces.trace import Kind, OnDemand, Samples, Trace

__all__ = [
    "Generated",
    "Kind",
    "OnDemand",
    "Propagation",
    "Samples",
    "Trace",
    "TraceInfo",
    "read_trace",
    "trace_info",
    "write_trace",
]
