"""From what a scenario says of its radio to channels, and to the rates that shares give."""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fl.allocation import FixedNoise, Noise, NoiseDensity
from fl.generation import generated_trace
from fl.scenario import (
    ConstantChannel,
    GeneratedChannel,
    PerDevice,
    Scenario,
    ScenarioError,
    TraceChannel,
)
from fl.scenario.contradictions import gains_need_powers
from netsim.channel import (
    Channel,
    Constant,
    ConstantInNoise,
    replay_trace,
    replay_trace_in_noise,
    shannon_efficiency,
    snr_of_efficiency,
)
from netsim.streams import Streams
from netsim.traces import Kind, Trace, read_trace
from netsim.units import db_to_linear


class Radio:
    """The band of a cell, and the channel of each of its devices."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        """Read or make the trace, and lay out the channels.

        Raises:
            InputError: The trace does not fit the scenario.
        """
        self._scenario = scenario
        self._streams = streams
        self.bandwidth_hz = scenario.uplink.bandwidth * scenario.uplink.spatial_layers
        """Over all spatial layers."""
        check_finite(scenario.name, "uplink.bandwidth", np.array([self.bandwidth_hz]))
        self.trace = _read_trace(scenario)
        self.channels = self._make_channels()

    def noise_at(self, efficiency: NDArray[np.float64]) -> Noise:
        """Return what rates shares give, at these bit/s/Hz on the whole band."""
        if self._scenario.uplink.noise_density is None:
            return FixedNoise(efficiency * self.bandwidth_hz)
        return NoiseDensity(self.bandwidth_hz, snr_of_efficiency(efficiency))

    def known_efficiency(self, now_s: float, channels: Sequence[Channel]) -> NDArray[np.float64]:
        """Return the channel state of a while ago, in bit/s/Hz; before the run there was none.

        Args:
            now_s: When it is asked for.
            channels: Of whom.
        """
        known_at_s = max(now_s - self._scenario.csi_age, 0.0)
        return np.array([channel.efficiency(known_at_s) for channel in channels])

    def _make_channels(self) -> Sequence[Channel]:
        channel = self._scenario.uplink.channel
        snr = self._snr_of_unit_gain()
        in_noise = self._scenario.uplink.noise_density is not None
        if isinstance(channel, ConstantChannel):
            with np.errstate(over="ignore"):
                snr = snr * self._each("uplink.channel.gain", channel.gain)
            check_finite(self._scenario.name, "gain x transmit power / noise power", snr)
            if in_noise:
                return _Standing(ConstantInNoise, snr)
            return _Standing(Constant, shannon_efficiency(snr))
        assert self.trace is not None
        offsets_s = self._each("uplink.channel.offset", channel.offset)
        play = replay_trace_in_noise if in_noise else replay_trace
        return play(
            self.trace, channel.at_end, self._trace_devices(), offsets_s.tolist(), snr.tolist()
        )

    def _trace_devices(self) -> Sequence[int]:
        """Return which of the trace's devices each device replays."""
        channel, count = self._scenario.uplink.channel, self._scenario.devices.count
        if not isinstance(channel, TraceChannel) or channel.devices == "index":
            return range(count)
        if channel.devices == "random":
            assert self.trace is not None
            stream = self._streams("uplink.channel.devices")
            return stream.integers(len(self.trace.devices), size=count).tolist()
        return channel.devices

    def _noise_w(self) -> float | None:
        """Return the noise power: sigma^2, or with a noise density that of the whole band."""
        uplink = self._scenario.uplink
        if uplink.noise_density is None:
            return uplink.noise_power
        assert uplink.noise_figure is not None  # filled in
        figure = db_to_linear(uplink.noise_figure)
        return uplink.noise_density * figure * self.bandwidth_hz

    def _snr_of_unit_gain(self) -> NDArray[np.float64]:
        power_w, noise_w = self._scenario.devices.transmit_power, self._noise_w()
        if power_w is None or noise_w is None:
            return np.ones(self._scenario.devices.count)
        with np.errstate(over="ignore"):
            snr = self._each("devices.transmit_power", power_w) / noise_w
        check_finite(self._scenario.name, "transmit power / noise power", snr)
        return snr

    def _each(self, purpose: str, value: PerDevice) -> NDArray[np.float64]:
        return value.values(self._scenario.devices.count, lambda: self._streams(purpose))


class _Standing(Sequence[Channel]):
    """Channels that stand still, each made when it is asked for: of a million, few may be."""

    def __init__(self, kind: Callable[[float], Channel], values: NDArray[np.float64]) -> None:
        self._kind = kind
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, device: int) -> Channel: ...
    @overload
    def __getitem__(self, device: slice) -> "_Standing": ...
    def __getitem__(self, device: int | slice) -> "Channel | _Standing":
        if isinstance(device, slice):
            return _Standing(self._kind, self._values[device])
        return self._kind(float(self._values[device]))

    def __iter__(self) -> Iterator[Channel]:
        return map(self._kind, self._values.tolist())


def _read_trace(scenario: Scenario) -> Trace | None:
    """Read the trace, and check that powers are given just where they mean something."""
    channel = scenario.uplink.channel
    if isinstance(channel, ConstantChannel):
        return None
    if isinstance(channel, GeneratedChannel):
        return generated_trace(channel.generate, scenario.devices.count, scenario.seed)
    trace = read_trace(channel.trace)
    if trace.kind is Kind.GAIN_DB:
        for path, message in gains_need_powers(scenario):
            raise ScenarioError(f"{scenario.name}: {'.'.join(map(str, path))}: {message}")
        return trace
    uplink = scenario.uplink
    if uplink.noise_density is not None:
        raise ScenarioError(
            f"{scenario.name}: uplink.noise_density needs a channel given as gains, and "
            f"{trace.name} is a trace of {trace.kind}"
        )
    if scenario.devices.transmit_power is not None or uplink.noise_power is not None:
        raise ScenarioError(
            f"{scenario.name}: devices.transmit_power and uplink.noise_power have no effect on "
            f"a trace of {trace.kind} ({trace.name}): leave them out, or set them to null"
        )
    return trace


def check_finite(name: str, what: str, values: NDArray[np.float64]) -> None:
    """Refuse what has overflowed.

    Raises:
        ScenarioError: Some of *values* is no finite number.
    """
    if not np.isfinite(values).all():
        raise ScenarioError(f"{name}: {what} is too large a number")
