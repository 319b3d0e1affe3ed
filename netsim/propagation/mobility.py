"""Where a device is over time, and how far it has travelled.

The base station stands at the origin. Positions are complex numbers, x + iy, in metres.
Distance to the base station drives path loss; the way travelled drives shadowing and
fading, so a device that pauses has a channel that stands still.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Track:
    """The way of one device; arrays are indexed by sample."""

    times_s: NDArray[np.float64]
    distance_m: NDArray[np.float64]
    """To the base station, on the ground."""
    travelled_m: NDArray[np.float64]
    """Since the first sample."""


def point_in_disc(radius_m: float, rng: np.random.Generator) -> complex:
    """Return a point drawn uniformly from the area of a disc around the base station."""
    return complex(radius_m * np.sqrt(rng.random()) * np.exp(2j * np.pi * rng.random()))


def point_at_distance(distance_m: float, rng: np.random.Generator) -> complex:
    """Return a point at a given distance from the base station, in a direction drawn."""
    return complex(distance_m * np.exp(2j * np.pi * rng.random()))


class Mobility(ABC):
    """How a device moves."""

    @abstractmethod
    def track(
        self, start: complex, times_s: NDArray[np.float64], rng: np.random.Generator
    ) -> Track:
        """Return the way from *start* at the first of *times_s* on."""


@dataclass(frozen=True)
class Straight(Mobility):
    """Constant velocity, in a direction drawn once; at speed 0 it stands still."""

    speed_mps: float = 0.0

    def __post_init__(self) -> None:
        if not self.speed_mps >= 0:
            raise ValueError(f"speed_mps must be >= 0, got {self.speed_mps}")

    def track(
        self, start: complex, times_s: NDArray[np.float64], rng: np.random.Generator
    ) -> Track:
        """Return the straight way from *start*."""
        travelled_m = self.speed_mps * (times_s - times_s[0])
        heading = np.exp(2j * np.pi * rng.random())
        return Track(times_s, np.abs(start + heading * travelled_m), travelled_m)


@dataclass(frozen=True)
class RandomWaypoint(Mobility):
    """Walks straight to a point of the disc, pauses, and walks to another one.

    Targets are uniform in the disc and speeds uniform between two bounds. The lower one is
    above zero: otherwise the mean speed of this model decays to nothing over time.
    """

    radius_m: float
    slowest_mps: float
    fastest_mps: float
    pause_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.slowest_mps <= self.fastest_mps:
            raise ValueError(
                f"speeds must be 0 < slowest <= fastest, got {self.slowest_mps}, {self.fastest_mps}"
            )
        if not self.radius_m > 0:
            raise ValueError(f"radius_m must be > 0, got {self.radius_m}")

    def track(
        self, start: complex, times_s: NDArray[np.float64], rng: np.random.Generator
    ) -> Track:
        """Return the way from *start* over as many waypoints as the time takes."""
        at_s, points, travelled_m = [float(times_s[0])], [start], [0.0]
        while at_s[-1] < times_s[-1]:
            target = point_in_disc(self.radius_m, rng)
            leg_m = abs(target - points[-1])
            arrives_s = at_s[-1] + leg_m / rng.uniform(self.slowest_mps, self.fastest_mps)
            for moment_s in (arrives_s, arrives_s + self.pause_s):
                at_s.append(moment_s)
                points.append(target)
                travelled_m.append(travelled_m[-1] + (leg_m if moment_s is arrives_s else 0.0))
        where = np.interp(times_s, at_s, np.array(points))
        return Track(times_s, np.abs(where), np.interp(times_s, at_s, travelled_m))
