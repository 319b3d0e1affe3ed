"""The channels of many devices out of one trace."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.channel.channel import Channel, shannon_efficiency
from netsim.channel.noise_density import replay_in_noise
from netsim.channel.playback import AtEnd, S
from netsim.channel.replayed import replay
from netsim.channel.segments import Segments
from netsim.channel.walked import SegmentsInNoise
from netsim.errors import TraceError
from netsim.traces import Kind, Trace
from netsim.units import gains_to_linear

#: Bit/s/Hz that need a signal-to-noise ratio of 3000 dB.
_BEYOND_ALL = 1000.0

_Array = NDArray[np.float64]
#: Starts, values and span of a device's samples, and its SNR at unit gain, to segments.
_LayOut = Callable[[_Array, _Array, float, float], S]
_Replay = Callable[[S, AtEnd, float, str], Channel]


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

    def lay_out(starts_s: _Array, values: _Array, span_s: float, snr: float) -> Segments:
        return Segments(starts_s, _efficiency(trace.kind, values, snr), span_s)

    return _replay_each(trace, at_end, devices, offsets_s, snr_of_unit_gain, lay_out, replay)


def replay_trace_in_noise(
    trace: Trace,
    at_end: AtEnd,
    devices: Sequence[int],
    offsets_s: Sequence[float],
    whole_band_snr_of_unit_gain: Sequence[float],
) -> list[Channel]:
    """Return the channel of each simulated device, in noise of a fixed density.

    The same as `replay_trace`, but for the last argument and the kind of trace.

    Args:
        trace: What the gains of the channels did.
        at_end: What follows its end.
        devices: Which of the trace's devices each simulated one replays.
        offsets_s: The trace's time, for each device, at which the simulation begins.
        whole_band_snr_of_unit_gain: Transmit power of each device over the noise power of
            the whole band.

    Raises:
        TraceError: The trace is none of gains, has too few devices, or begins after an offset.
    """
    if trace.kind is not Kind.GAIN_DB:
        raise TraceError(
            f"{trace.name}: holds {trace.kind}, which has some noise in it already; noise that "
            f"depends on the share of the band needs a trace of {Kind.GAIN_DB}"
        )
    return _replay_each(
        trace,
        at_end,
        devices,
        offsets_s,
        whole_band_snr_of_unit_gain,
        _lay_out_in_noise,
        replay_in_noise,
    )


def _replay_each(
    trace: Trace,
    at_end: AtEnd,
    devices: Sequence[int],
    offsets_s: Sequence[float],
    snr_of_unit_gain: Sequence[float],
    lay_out: _LayOut[S],
    replay: _Replay[S],
) -> list[Channel]:
    if len(trace.devices) <= max(devices):
        raise TraceError(
            f"{trace.name}: has {len(trace.devices)} devices, numbered from 0; device "
            f"{max(devices)} is asked for; let several share one with devices: random or a list"
        )
    laid_out: dict[tuple[int, float], tuple[str, float, S]] = {}
    channels = []
    for number, offset_s, snr in zip(devices, offsets_s, snr_of_unit_gain, strict=True):
        key = number, snr
        if key not in laid_out:
            name = f"{trace.name}: device {number}"
            laid_out[key] = (name, *_lay_out(trace, number, snr, lay_out, name))
        who, begins_s, segments = laid_out[key]
        if begins_s > offset_s:
            raise TraceError(
                f"{who} begins at {begins_s:g} s, the simulation at {offset_s:g} s of the trace; "
                f"say offset: {begins_s:g} s"
            )
        if at_end is AtEnd.ERROR and offset_s - begins_s >= segments.span_s:
            raise TraceError(f"{who} ends before the offset of {offset_s:g} s")
        channels.append(replay(segments, at_end, offset_s - begins_s, who))
    return channels


def _lay_out(
    trace: Trace, number: int, snr: float, lay_out: _LayOut[S], who: str
) -> tuple[float, S]:
    """Return when the trace of a device begins, and its segments."""
    samples = trace.devices[number]
    begins_s = float(samples.times_s[0])
    starts_s = samples.times_s - begins_s
    try:
        segments = lay_out(starts_s, samples.values, trace.span_s(samples), snr)
    except ValueError:
        raise TraceError(f"{who} has samples too close in time to tell apart") from None
    if not segments.peak < _BEYOND_ALL:
        raise TraceError(f"{who} reaches {samples.values.max():g} {trace.kind}: no channel does")
    return begins_s, segments


def _lay_out_in_noise(
    starts_s: _Array, gains_db: _Array, span_s: float, snr: float
) -> SegmentsInNoise:
    return SegmentsInNoise(starts_s, _snr(gains_db, snr), span_s)


def _efficiency(kind: Kind, values: _Array, snr_of_unit_gain: float) -> _Array:
    if kind is Kind.SPECTRAL_EFFICIENCY:
        return values
    return shannon_efficiency(_snr(values, snr_of_unit_gain if kind is Kind.GAIN_DB else 1.0))


def _snr(values_db: _Array, factor: float) -> _Array:
    with np.errstate(over="ignore"):
        return gains_to_linear(values_db) * factor
