"""The spectral efficiency of one link over time.

channel        the interface, and Shannon's efficiency at a signal-to-noise ratio
constant       a channel that does not move
segments       the stretches of a trace, with what has been carried by the end of each
playback       a trace on the clock: offset, repetition, end
replayed       a channel replayed from the segments of a trace
walked         a channel replayed on one share of the band, by walking over the trace
noise_density  channels on which a narrower share of the band holds less noise
traced         the channels of many devices out of one trace
"""

from netsim.channel.channel import Channel, shannon_efficiency, snr_of_efficiency
from netsim.channel.constant import Constant
from netsim.channel.noise_density import ConstantInNoise, ReplayedInNoise, replay_in_noise
from netsim.channel.playback import AtEnd
from netsim.channel.replayed import Replayed, replay
from netsim.channel.segments import Segments
from netsim.channel.traced import replay_trace, replay_trace_in_noise
from netsim.channel.walked import SegmentsInNoise

__all__ = [
    "AtEnd",
    "Channel",
    "Constant",
    "ConstantInNoise",
    "Replayed",
    "ReplayedInNoise",
    "Segments",
    "SegmentsInNoise",
    "replay",
    "replay_in_noise",
    "replay_trace",
    "replay_trace_in_noise",
    "shannon_efficiency",
    "snr_of_efficiency",
]
