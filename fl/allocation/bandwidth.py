"""Who gets which share of the band: the rules that a scheme may name.

A rule is asked at the start of each round. One of your own is a class without arguments that
has the method `Bandwidth.shares`; a scenario names it ``module:Class``.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fl.allocation.deadline import deadline_problem
from fl.allocation.noise import Noise
from fl.allocation.problem import Problem
from fl.allocation.sharing import channel_inversion, max_min
from fl.models import Cost
from fl.own_code import at_fault, load_class
from netsim.errors import InputError


@dataclass(frozen=True)
class Situation:
    """What the server knows at the start of a round; arrays are of those who take part."""

    round: int
    devices: NDArray[np.int64]
    """The numbers of those who take part, in increasing order; by default, all there are."""
    noise: Noise
    """The channel state: ``noise.rate_bps(shares)`` is the rate at these shares."""
    problem: Problem | None
    """What the deadline asks for; None, if nothing is pruned for one."""
    cost: Cost
    """What a round takes of each device."""


class Bandwidth(Protocol):
    """A rule."""

    def shares(self, situation: Situation) -> ArrayLike:
        """Return the share of each who takes part: not negative, and no more than 1 in all."""


class MaxMin:
    """All keep the same part of the global part, as much as fits."""

    def shares(self, situation: Situation) -> ArrayLike:
        """Return the shares with which they do."""
        assert situation.problem is not None  # a scenario without is refused
        return max_min(situation.problem, situation.noise).shares


class ChannelInversion:
    """All would finish together, if they kept the same part."""

    def __init__(self, kept: float) -> None:
        self._kept = kept
        self._cost: Cost | None = None
        self._head_starts: Problem | None = None

    def shares(self, situation: Situation) -> ArrayLike:
        """Return the shares with which they would."""
        if self._head_starts is None or situation.cost is not self._cost:
            # Whatever the deadline, the head starts are the same.
            self._cost = situation.cost
            self._head_starts = deadline_problem(situation.cost, 0.0, count_warmup=True)
        return channel_inversion(self._head_starts, situation.noise, self._kept).shares


@dataclass(frozen=True)
class OwnRule:
    """A rule that somebody else has written: what it returns is checked."""

    name: str
    rule: Bandwidth

    @classmethod
    def load(cls, name: str) -> "OwnRule":
        """Return the rule ``module:Class``.

        Raises:
            InputError: There is none, or it cannot be made.
        """
        own = load_class(name, "scheme.bandwidth")
        if not callable(getattr(own, "shares", None)):
            raise InputError(f"scheme.bandwidth: {name}: must have a method shares(situation)")
        try:
            return cls(name, own())
        except Exception as error:
            raise InputError(
                f"scheme.bandwidth: {name}: cannot be made without arguments: {at_fault(error)}"
            ) from error

    def shares(self, situation: Situation) -> NDArray[np.float64]:
        """Return its shares.

        Raises:
            InputError: These are no shares.
        """
        count = len(situation.cost.frequency_hz)
        place = f"scheme.bandwidth: {self.name}: round {situation.round}"
        try:
            returned = self.rule.shares(situation)
        except Exception as error:
            raise InputError(f"{place}: {at_fault(error)}") from error
        try:
            shares = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{place}: must return numbers: {error}") from error
        if shares.shape != (count,):
            raise InputError(f"{place}: must return {count} shares, gave shape {shares.shape}")
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise InputError(f"{place}: shares must be >= 0, gave {shares}")
        if shares.sum() > 1 + 1e-9:
            raise InputError(f"{place}: shares must sum to at most 1, gave {shares.sum():g}")
        return shares
