"""The channels of many devices out of one trace."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.channel.channel import Channel, shannon_efficiency
from netsim.channel.replayed import AtEnd, Segments, replay
from netsim.errors import TraceError
from netsim.traces import Kind, Trace
from netsim.units import gains_to_linear


def replay_trace(
    trace: Trace,
    at_end: AtEnd,
    offsets_s: Sequence[float],
    snr_of_unit_gain: Sequence[float],
) -> list[Channel]:
    """Return the channel of each device: device k replays what the trace says of k.

    Args:
        trace: What the channels did.
        at_end: What follows its end.
        offsets_s: The trace's time, for each device, at which the simulation begins.
        snr_of_unit_gain: Transmit power over noise power of each device. Only a trace of
            gains needs it; the other kinds say themselves what arrives.

    Raises:
        TraceError: The trace has too few devices, or begins after an offset.
    """
    if len(trace.devices) < len(offsets_s):
        raise TraceError(
            f"{trace.name}: has {len(trace.devices)} devices, the scenario {len(offsets_s)}"
        )
    channels = []
    for device, offset_s in enumerate(offsets_s):
        samples = trace.devices[device]
        begins_s = float(samples.times_s[0])
        if begins_s > offset_s:
            raise TraceError(
                f"{trace.name}: device {device} begins at {begins_s:g} s, the simulation at "
                f"{offset_s:g} s of the trace; say offset: {begins_s:g} s"
            )
        efficiency = _efficiency(trace.kind, samples.values, snr_of_unit_gain[device])
        who = f"{trace.name}: device {device}"
        if at_end is AtEnd.ERROR and offset_s - begins_s >= trace.span_s(device):
            raise TraceError(f"{who} ends before the offset of {offset_s:g} s")
        if not np.isfinite(efficiency).all():
            raise TraceError(f"{who} reaches {samples.values.max():g} dB: no channel does")
        try:
            segments = Segments(samples.times_s - begins_s, efficiency, trace.span_s(device))
        except ValueError:
            raise TraceError(f"{who} has samples too close in time to tell apart") from None
        channels.append(replay(segments, at_end, offset_s - begins_s, who))
    return channels


def _efficiency(
    kind: Kind, values: NDArray[np.float64], snr_of_unit_gain: float
) -> NDArray[np.float64]:
    if kind is Kind.SPECTRAL_EFFICIENCY:
        return values
    factor = snr_of_unit_gain if kind is Kind.GAIN_DB else 1.0
    with np.errstate(over="ignore"):
        return shannon_efficiency(gains_to_linear(values) * factor)
