"""From what a scenario says of its channel to a trace: the settings of generators."""

import json
from collections.abc import Callable

import numpy as np

from fl.scenario.channel import (
    AtDistance,
    BlockFading,
    ConstantVelocity,
    Generate,
    GivenLoss,
    Obstacles,
    PowerLaw,
    RicianFading,
    Waypoints,
)
from fl.scenario.quantity import PerDevice
from netsim.propagation import fading, mobility, path_loss, shadowing
from netsim.streams import Streams
from netsim.traces import Generated, Kind, Propagation, Trace
from netsim.units import db_to_linear


def generated_trace(settings: Generate, num_devices: int, seed: int) -> Trace:
    """Return the trace that *settings* describe; devices are made when they are asked for."""
    streams = Streams(seed)

    def each(key: str, value: PerDevice) -> list[float]:
        return value.values(num_devices, lambda: streams(f"generate.{key}")).tolist()

    losses = _path_losses(settings, num_devices, each)
    moves = _mobilities(settings, num_devices, each)
    obstacles, paths = _shadowing(settings), _fading(settings)
    placement = settings.placement
    if isinstance(placement, AtDistance):
        radii, anywhere = each("placement.distance", placement.distance), False
    else:
        radii, anywhere = [float(placement.disc)] * num_devices, True
    devices = [
        Propagation(loss, obstacles, paths, move, radius_m, anywhere)
        for loss, move, radius_m in zip(losses, moves, radii, strict=True)
    ]
    times_s = np.arange(round(settings.duration / settings.step), dtype=np.float64) * float(
        settings.step
    )
    metadata = {
        "origin": "straggler trace generate",
        "seed": str(seed),
        "generator": json.dumps(settings.model_dump(mode="json"), sort_keys=True),
    }
    made = Generated(devices, float(settings.carrier), times_s, streams)
    return Trace(Kind.GAIN_DB, made, float(settings.step), metadata, "generated trace")


def _path_losses(
    settings: Generate, num_devices: int, each: Callable[[str, PerDevice], list[float]]
) -> list[path_loss.PathLoss]:
    law, carrier_hz = settings.path_loss, float(settings.carrier)
    if isinstance(law, GivenLoss):
        return [path_loss.Given(loss) for loss in each("path_loss.loss", law.loss)]
    one: path_loss.PathLoss
    if isinstance(law, PowerLaw):
        one = path_loss.LogDistance(
            law.exponent, float(law.reference_loss), float(law.reference_distance)
        )
    elif law == "free-space":
        one = path_loss.free_space(carrier_hz)
    else:
        kind, usual_m = (
            (path_loss.UrbanMicro, 10.0) if law == "umi" else (path_loss.UrbanMacro, 25.0)
        )
        height_m = settings.base_station_height
        one = kind(
            carrier_hz, usual_m if height_m is None else height_m, float(settings.device_height)
        )
    return [one] * num_devices


def _mobilities(
    settings: Generate, num_devices: int, each: Callable[[str, PerDevice], list[float]]
) -> list[mobility.Mobility]:
    moves = settings.mobility
    if isinstance(moves, ConstantVelocity):
        return [mobility.Straight(speed) for speed in each("mobility.speed", moves.speed)]
    if isinstance(moves, Waypoints):
        assert not isinstance(settings.placement, AtDistance)  # refused in a scenario
        slowest, fastest = moves.waypoint
        radius_m = float(settings.placement.disc)
        walk = mobility.RandomWaypoint(radius_m, slowest, fastest, float(moves.pause))
        return [walk] * num_devices
    return [mobility.Straight()] * num_devices


def _shadowing(settings: Generate) -> shadowing.Shadowing:
    law = settings.shadowing
    if isinstance(law, Obstacles):
        sigma_db, decorrelation_m = float(law.sigma), float(law.decorrelation)
        return shadowing.Shadowing(sigma_db, decorrelation_m, sigma_db, decorrelation_m)
    if law == "none":
        return shadowing.NONE
    return shadowing.URBAN_MICRO if settings.path_loss == "umi" else shadowing.URBAN_MACRO


def _fading(settings: Generate) -> fading.Fading:
    law = settings.fading
    if isinstance(law, RicianFading):
        return fading.Rician(db_to_linear(law.rician))
    if isinstance(law, BlockFading):
        return fading.BlockRayleigh(float(law.block_rayleigh))
    return fading.Clarke() if law == "clarke" else fading.NoFading()
