"""The channels of many devices out of one trace."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.channel.channel import Channel, shannon_efficiency
from netsim.channel.replayed import AtEnd, Segments, replay
from netsim.errors import TraceError
from netsim.traces import Kind, Trace
from netsim.units import gains_to_linear

#: Bit/s/Hz that need a signal-to-noise ratio of 3000 dB.
_BEYOND_ALL = 1000.0


def replay_trace(
    trace: Trace,
    at_end: AtEnd,
    devices: Sequence[int],
    offsets_s: Sequence[float],
    snr_of_unit_gain: Sequence[float],
) -> list[Channel]:
    """Return the channel of each simulated device.

    Devices that replay the same one of the trace share its samples in memory, whatever
    their offsets.

    Args:
        trace: What the channels did.
        at_end: What follows its end.
        devices: Which of the trace's devices each simulated one replays.
        offsets_s: The trace's time, for each device, at which the simulation begins.
        snr_of_unit_gain: Transmit power over noise power of each device. Only a trace of
            gains needs it; the other kinds say themselves what arrives.

    Raises:
        TraceError: The trace has too few devices, or begins after an offset.
    """
    if len(trace.devices) <= max(devices):
        raise TraceError(
            f"{trace.name}: has {len(trace.devices)} devices, numbered from 0; device "
            f"{max(devices)} is asked for; let several share one with devices: random or a list"
        )
    laid_out: dict[tuple[int, float], tuple[float, Segments]] = {}
    channels = []
    for number, offset_s, snr in zip(devices, offsets_s, snr_of_unit_gain, strict=True):
        who = f"{trace.name}: device {number}"
        key = number, snr
        if key not in laid_out:
            laid_out[key] = _lay_out(trace, number, snr, who)
        begins_s, segments = laid_out[key]
        if begins_s > offset_s:
            raise TraceError(
                f"{who} begins at {begins_s:g} s, the simulation at {offset_s:g} s of the trace; "
                f"say offset: {begins_s:g} s"
            )
        if at_end is AtEnd.ERROR and offset_s - begins_s >= segments.span_s:
            raise TraceError(f"{who} ends before the offset of {offset_s:g} s")
        channels.append(replay(segments, at_end, offset_s - begins_s, who))
    return channels


def _lay_out(trace: Trace, number: int, snr: float, who: str) -> tuple[float, Segments]:
    """Return when the trace of a device begins, and its segments."""
    samples = trace.devices[number]
    begins_s = float(samples.times_s[0])
    efficiency = _efficiency(trace.kind, samples.values, snr)
    if not (efficiency < _BEYOND_ALL).all():
        raise TraceError(f"{who} reaches {samples.values.max():g} {trace.kind}: no channel does")
    try:
        return begins_s, Segments(samples.times_s - begins_s, efficiency, trace.span_s(samples))
    except ValueError:
        raise TraceError(f"{who} has samples too close in time to tell apart") from None


def _efficiency(
    kind: Kind, values: NDArray[np.float64], snr_of_unit_gain: float
) -> NDArray[np.float64]:
    if kind is Kind.SPECTRAL_EFFICIENCY:
        return values
    factor = snr_of_unit_gain if kind is Kind.GAIN_DB else 1.0
    with np.errstate(over="ignore"):
        return shannon_efficiency(gains_to_linear(values) * factor)
