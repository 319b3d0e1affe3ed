"""The spectral efficiency of one link over time.

channel   the interface, and Shannon's efficiency at a signal-to-noise ratio
constant  a channel that does not move
replayed  a channel replayed from the segments of a trace
traced    the channels of many devices out of one trace
"""

from netsim.channel.channel import Channel, shannon_efficiency, snr_of_efficiency
from netsim.channel.constant import Constant
from netsim.channel.replayed import AtEnd, Replayed, Segments, replay
from netsim.channel.traced import replay_trace

__all__ = [
    "AtEnd",
    "Channel",
    "Constant",
    "Replayed",
    "Segments",
    "replay",
    "replay_trace",
    "shannon_efficiency",
    "snr_of_efficiency",
]
