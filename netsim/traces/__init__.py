"""Channel traces on disk.

trace     the format: what a trace is, reading with every check, writing
"""

from netsim.traces.trace import Kind, Samples, Trace, read_trace, write_trace

__all__ = ["Kind", "Samples", "Trace", "read_trace", "write_trace"]
