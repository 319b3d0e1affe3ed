"""What holds among the devices of a round, and between them and the round."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fl.models import SAME, Cost
from fl.phases import ARRIVED, CUT, GIVEN_UP, GONE, PHASES
from fl.scenario import Scenario
from fl.verification.excerpt import Excerpt
from fl.verification.rounds import CLOSE, as_long, same

_IDLE = ("offline", "wait")


class DeviceLaws:
    """The laws of some rounds; each yields where it does not hold."""

    def __init__(self, excerpt: Excerpt, scenario: Scenario) -> None:
        self._excerpt = excerpt
        self._rounds = excerpt.rounds
        self._devices = excerpt.devices
        self._scenario = scenario

    def problems(self) -> Iterator[str]:
        """Yield all that is wrong, law by law."""
        yield from self._participants()
        yield from self._phases()
        yield from self._latencies()
        yield from self._round_latency()
        yield from self._sums()
        yield from self._straggler()
        yield from self._deadline()

    def bits(self, cost: Cost) -> Iterator[str]:
        """Yield where what was sent is not what was to be sent, attempt by attempt."""
        devices, outcome = self._devices, self._outcome
        kept = (1 - devices["pruning_ratio"]) * cost.global_weights
        for whose, at in self._excerpt.whose(np.abs(kept - np.rint(kept)) > 1e-6):
            yield f"{whose}: pruning_ratio {devices['pruning_ratio'][at]} leaves no whole weights"
        whole = np.rint(kept) * cost.bits_per_weight
        attempts, sent = devices["attempts"], devices["upload_bits"]
        through = (outcome == ARRIVED) | (outcome == GIVEN_UP)
        least = np.where(through, attempts * whole, np.maximum(attempts - 1, 0) * whole)
        wrong = (sent < least) | (sent > attempts * whole) | (attempts > 0) & (whole == 0)
        for whose, at in self._excerpt.whose(wrong):
            yield (
                f"{whose}: upload_bits is {sent[at]:.0f}, in {attempts[at]:g} attempts of "
                f"{whole[at]:.0f} bits"
            )

    @cached_property
    def _outcome(self) -> NDArray[np.float64]:
        return self._devices["outcome"]

    @cached_property
    def _busy_s(self) -> NDArray[np.float64]:
        """How long each was at it, until it had arrived or was out of it."""
        return np.sum([self._devices[f"{p}_s"] for p in PHASES if p not in _IDLE], axis=0)

    def _each_round(self, of_round: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.broadcast_to(of_round[:, None], self._outcome.shape)

    def _participants(self) -> Iterator[str]:
        number, count = self._devices["device"], self._scenario.devices.count
        wrong = self._devices["round"] != self._each_round(self._rounds["round"])
        for _whose, (row, column) in self._excerpt.whose(wrong):
            yield (
                f"round {self._rounds['round'][row]:g}: the row of device {number[row, column]:g} "
                f"is of round {self._devices['round'][row, column]:g}"
            )
        order = np.diff(number, axis=1, prepend=-1) <= 0
        for whose, _at in self._excerpt.whose(order | (number >= count)):
            yield f"{whose}: is not in its place among the {count} devices"

    def _phases(self) -> Iterator[str]:
        seconds = {phase: self._devices[f"{phase}_s"] for phase in PHASES}
        for phase, spent_s in seconds.items():
            for whose, at in self._excerpt.whose(~(spent_s >= 0)):
                yield f"{whose}: {phase}_s is {spent_s[at]}"
        total_s = np.sum(list(seconds.values()), axis=0)
        latency_s, end_s = (self._each_round(self._rounds[n]) for n in ("latency_s", "end_s"))
        for whose, at in self._excerpt.whose(~as_long(total_s, latency_s, end_s)):
            yield f"{whose}: its phases add up to {total_s[at]} s, and the round took {latency_s[at]} s"

    def _latencies(self) -> Iterator[str]:
        latency_s, arrived = self._devices["latency_s"], self._outcome == ARRIVED
        for whose, _at in self._excerpt.whose(arrived != (self._devices["arrived"] == 1)):
            yield f"{whose}: arrived and outcome disagree"
        for whose, at in self._excerpt.whose(np.isnan(latency_s) == arrived):
            yield f"{whose}: latency_s is {latency_s[at]}, and must be there just for who arrived"
        wrong = arrived & ~as_long(self._busy_s, latency_s, self._each_round(self._rounds["end_s"]))
        for whose, at in self._excerpt.whose(wrong):
            yield (
                f"{whose}: latency_s is {latency_s[at]}, and its phases until then add up to "
                f"{self._busy_s[at]}"
            )

    def _round_latency(self) -> Iterator[str]:
        """The round ends with the last to arrive or to fail, or at the deadline that cuts it."""
        latency_s, rules = self._rounds["latency_s"], self._scenario.network
        waited_s = latency_s - float(rules.aggregation)
        slowest_s = np.maximum(self._busy_s.max(axis=1), float(rules.broadcast))
        is_cut = (self._outcome == CUT).any(axis=1)
        if self._scenario.deadline is not None:
            slowest_s = np.where(is_cut, float(self._scenario.deadline), slowest_s)
        elif is_cut.any():
            yield f"round {self._rounds['round'][is_cut][0]:g}: was cut, and there is no deadline"
        right = as_long(waited_s, slowest_s, self._rounds["end_s"])
        # Where all are offline, it lasts until the first is back.
        nobody = (self._outcome == GONE).all(axis=1) & (waited_s > slowest_s)
        for row in np.flatnonzero(~right & ~nobody):
            yield (
                f"round {self._rounds['round'][row]:g}: latency_s is {latency_s[row]}, and the last "
                f"of its devices was done after {slowest_s[row]} s"
            )

    def _sums(self) -> Iterator[str]:
        devices = self._devices
        sums = {
            "arrived": (self._outcome == ARRIVED).sum(axis=1),
            "uplink_bits": devices["upload_bits"].sum(axis=1),
        }
        for name, wanted in sums.items():
            for row in np.flatnonzero(self._rounds[name] != wanted):
                yield (
                    f"round {self._rounds['round'][row]:g}: {name} is {self._rounds[name][row]:.0f}, "
                    f"and its devices have {wanted[row]:.0f}"
                )
        mean = devices["pruning_ratio"].mean(axis=1)
        for row in np.flatnonzero(np.abs(self._rounds["mean_pruning_ratio"] - mean) > CLOSE):
            yield (
                f"round {self._rounds['round'][row]:g}: mean_pruning_ratio is "
                f"{self._rounds['mean_pruning_ratio'][row]}, and must be {mean[row]}"
            )
        shares = devices["bandwidth_fraction"]
        for row in np.flatnonzero(~((shares.sum(axis=1) <= 1 + SAME) & (shares >= 0).all(axis=1))):
            yield f"round {self._rounds['round'][row]:g}: shares sum to {shares[row].sum()}"

    def _straggler(self) -> Iterator[str]:
        named = self._devices["device"] == self._each_round(self._rounds["straggler"])
        is_cut = self._outcome == CUT
        last_s = self._busy_s.max(axis=1, keepdims=True)
        may_be = np.where(
            is_cut.any(axis=1, keepdims=True), is_cut, self._busy_s >= last_s * (1 - CLOSE)
        )
        for row in np.flatnonzero(~(named & may_be).any(axis=1)):
            yield (
                f"round {self._rounds['round'][row]:g}: straggler is device "
                f"{self._rounds['straggler'][row]:g}, who was not the last"
            )

    def _deadline(self) -> Iterator[str]:
        missed = self._rounds["deadline_missed"]
        wanted = np.full(len(missed), np.nan)
        if self._scenario.deadline is not None:
            over = self._busy_s > float(self._scenario.deadline) * (1 + SAME)
            wanted = (over | (self._outcome != ARRIVED)).any(axis=1).astype(np.float64)
        for row in np.flatnonzero(~same(missed, wanted)):
            yield f"round {self._rounds['round'][row]:g}: deadline_missed is wrong"
