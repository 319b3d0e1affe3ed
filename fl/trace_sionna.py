"""The command ``straggler trace sionna``: channels of the Sionna library, written as traces.

Sionna simulates what our generator only sums up: the taps of a TDL profile, or the rays of
a street (UMi, UMa) with their delays. What is kept of them is the power gain over the band,
the mean of |H|^2 over resource blocks of 180 kHz. It needs the extra ``sionna``.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fl.scenario import ScenarioError
from fl.trace_commands import refuse_overwriting, write_new
from netsim.propagation.mobility import point_in_disc
from netsim.streams import Streams
from netsim.traces import Kind, OnDemand, Samples, Trace
from netsim.units import DISTANCE, FREQUENCY, LEVEL, SPEED, TIME, Dimension, ratios_to_db

if TYPE_CHECKING:
    import torch

_BLOCK_HZ = 180e3
#: Samples transformed to frequencies at once.
_AT_ONCE = 4096


class Model(StrEnum):
    """A channel model of TR 38.901."""

    TDL_A = "tdl-a"
    TDL_B = "tdl-b"
    TDL_C = "tdl-c"
    TDL_D = "tdl-d"
    TDL_E = "tdl-e"
    UMI = "umi"
    UMA = "uma"


@dataclass(frozen=True)
class SionnaChannels(OnDemand):
    """The channels of many devices, each simulated when it is asked for."""

    model: Model
    num_devices: int
    streams: Streams
    times_s: NDArray[np.float64]
    step_s: float
    carrier_hz: float
    bandwidth_hz: float
    speed_mps: float
    delay_spread_s: float
    loss_db: float
    """Of TDL profiles, which have a mean gain of one."""
    radius_m: float
    """Of the disc in which UMi and UMa place devices."""

    def __len__(self) -> int:
        return self.num_devices

    def samples(self, device: int) -> Samples:
        """Simulate the channel of one device."""
        from sionna.phy import config  # noqa: PLC0415 -- an extra, and slow to import
        from sionna.phy.channel import (  # noqa: PLC0415
            cir_to_ofdm_channel,
            subcarrier_frequencies,
        )

        # Sionna has one seed for all it draws; each device sets its own.
        config.seed = int(self.streams("sionna", device).integers(2**31))
        urban = self.model in (Model.UMI, Model.UMA)
        gains, delays = self._rays(device) if urban else self._taps()
        num_blocks = max(round(self.bandwidth_hz / _BLOCK_HZ), 1)
        frequencies = subcarrier_frequencies(num_blocks, _BLOCK_HZ)
        power = [
            (cir_to_ofdm_channel(frequencies, part, delays).abs() ** 2).mean(dim=-1).flatten()
            for part in gains.split(_AT_ONCE, dim=-1)
        ]
        linear = np.concatenate([part.numpy() for part in power]).astype(np.float64)
        return Samples(self.times_s, ratios_to_db(linear) - (0.0 if urban else self.loss_db))

    def _taps(self) -> tuple["torch.Tensor", "torch.Tensor"]:
        from sionna.phy.channel.tr38901 import TDL  # noqa: PLC0415

        profile = TDL(
            model=self.model[-1].upper(),
            delay_spread=self.delay_spread_s,
            carrier_frequency=self.carrier_hz,
            min_speed=self.speed_mps,
            max_speed=self.speed_mps,
        )
        gains, delays = profile(1, len(self.times_s), 1.0 / self.step_s)
        return gains, delays

    def _rays(self, number: int) -> tuple["torch.Tensor", "torch.Tensor"]:
        import torch  # noqa: PLC0415
        from sionna.phy.channel.tr38901 import PanelArray, UMa, UMi  # noqa: PLC0415

        antenna = PanelArray(
            num_rows_per_panel=1,
            num_cols_per_panel=1,
            polarization="single",
            polarization_type="V",
            antenna_pattern="omni",
            carrier_frequency=self.carrier_hz,
        )
        kind, height_m = (UMi, 10.0) if self.model is Model.UMI else (UMa, 25.0)
        street = kind(
            carrier_frequency=self.carrier_hz,
            o2i_model="low",
            ut_array=antenna,
            bs_array=antenna,
            direction="uplink",
        )
        place = point_in_disc(self.radius_m, self.streams("placement", number))
        way = self.speed_mps * np.exp(2j * np.pi * self.streams("mobility", number).random())
        still = torch.zeros(1, 1, 3)
        street.set_topology(
            torch.tensor([[[place.real, place.imag, 1.5]]], dtype=torch.float32),
            torch.tensor([[[0.0, 0.0, height_m]]]),
            still,
            still,
            torch.tensor([[[way.real, way.imag, 0.0]]], dtype=torch.float32),
            torch.zeros(1, 1, dtype=torch.bool),
        )
        gains, delays = street(len(self.times_s), 1.0 / self.step_s)
        return gains, delays


def _read(option: str, text: str, dimension: Dimension, *, least: float = 0.0) -> float:
    try:
        value = dimension.parse(text)
    except ValueError as error:
        raise ScenarioError(f"--{option} {text}: {error}") from None
    if value < least:
        raise ScenarioError(f"--{option} {text}: must be >= {least:g}")
    return value


def sionna_command(  # noqa: PLR0913, PLR0917 -- one option for each quantity of the model
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The Parquet file to write.")],
    model: Annotated[Model, typer.Option(help="The model of TR 38.901.")],
    devices: Annotated[int, typer.Option(min=1, help="How many devices.")],
    duration: Annotated[str, typer.Option(help="How long the trace is.")],
    step: Annotated[str, typer.Option(help="From sample to sample.")],
    seed: Annotated[int, typer.Option(min=0, help="Of every random draw.")] = 1,
    carrier: Annotated[str, typer.Option(help="Carrier frequency.")] = "3.5 GHz",
    bandwidth: Annotated[str, typer.Option(help="Over which the gain is averaged.")] = "20 MHz",
    speed: Annotated[str, typer.Option(help="Of every device.")] = "3 km/h",
    delay_spread: Annotated[str, typer.Option(help="Of a TDL profile.")] = "100 ns",
    loss: Annotated[str, typer.Option(help="Mean attenuation of a TDL profile.")] = "100 dB",
    disc: Annotated[str, typer.Option(help="Radius in which umi and uma place.")] = "200 m",
) -> None:
    """Write channels of the Sionna library (TDL profiles, UMi, UMa) as a trace."""
    refuse_overwriting(out)
    step_s = _read("step", step, TIME, least=1e-9)
    duration_s = _read("duration", duration, TIME, least=step_s)
    channels = SionnaChannels(
        model,
        devices,
        Streams(seed),
        np.arange(round(duration_s / step_s), dtype=np.float64) * step_s,
        step_s,
        _read("carrier", carrier, FREQUENCY, least=5e8),
        _read("bandwidth", bandwidth, FREQUENCY),
        _read("speed", speed, SPEED),
        _read("delay-spread", delay_spread, TIME),
        _read("loss", loss, LEVEL),
        _read("disc", disc, DISTANCE),
    )
    try:
        import sionna.phy  # noqa: F401, PLC0415 -- only to see whether it is there
    except ImportError:
        raise ScenarioError(
            "trace sionna: needs the extra sionna: pip install -c constraints.txt -e '.[sionna]'"
        ) from None
    settings = {
        "model": model,
        "duration": duration,
        "step": step,
        "carrier": carrier,
        "bandwidth": bandwidth,
        "speed": speed,
        "delay_spread": delay_spread,
        "loss": loss,
        "disc": disc,
    }
    generator = json.dumps(settings, sort_keys=True)
    metadata = {"origin": "straggler trace sionna", "seed": str(seed), "generator": generator}
    write_new(out, Trace(Kind.GAIN_DB, channels, step_s, metadata))
    typer.echo(f"{out}: {devices} devices")
