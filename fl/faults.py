"""What goes wrong: devices offline, uploads lost, processors slow.

A fault comes by chance, drawn for each device and round, or by schedule, at a given time of the
clock. Both are functions of the seed, the round and the time alone: nothing has to be remembered
from round to round. The server knows of no fault before it shows.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fl.allocation import Decision
from fl.models import Cost
from fl.scenario import Faults, Lost, PerDevice
from netsim.spell import Spell, joined, spell_at
from netsim.streams import Streams


class Mishap(NamedTuple):
    """What befalls one device in one round by chance, or from the start."""

    offline_after_s: float = math.inf
    """After the start of the round."""
    losses: int = 0
    """How many attempts to upload are lost, one after the other."""
    slowdown: float = 1.0
    """So many times longer does computing take."""


UNHARMED = Mishap()


class Misfortune:
    """Says what goes wrong with whom, and when."""

    def __init__(self, faults: Faults, streams: Streams, cost: Cost, num_devices: int) -> None:
        """Draw what is drawn per device.

        Args:
            faults: What the scenario says of them.
            streams: Of the run.
            cost: What a round takes of each device.
            num_devices: How many there are.
        """
        self._streams = streams
        self._cost = cost
        self._num_devices = num_devices
        lost = faults.lost or Lost()
        self.retries = lost.retries
        """How often a device tries again that has lost its upload."""
        self.pause_s = float(lost.pause)
        """Before each of these."""
        none = np.zeros(num_devices)
        self._offline, self._slow, self._factor = none, none, none
        self._lost = self._each("lost.probability", lost.probability)
        if faults.offline is not None:
            self._offline = self._each("offline.probability", faults.offline.probability)
        if faults.slow is not None:
            self._slow = self._each("slow.probability", faults.slow.probability)
            self._factor = self._each("slow.factor", faults.slow.factor)
        entries: dict[str, list[tuple[Sequence[int], Spell]]] = {}
        for one in faults.schedule:
            factor = math.inf if one.factor is None else float(one.factor)
            spell = Spell(float(one.from_), float(one.until), factor)
            entries.setdefault(one.fault, []).append((one.numbers, spell))
        self._outages, self._losing, self._slowed = (
            _Calendar(entries.get(fault, [])) for fault in ("offline", "lost", "slow")
        )

    def draw(self, round_: int, start_s: float, decision: Decision) -> Mapping[int, Mishap]:
        """Return what befalls those who take part in a round, by their places.

        Who is not named is unharmed, unless a scheduled fault begins meanwhile. Whom a scheduled
        outage keeps from hearing the broadcast is offline from then on.
        """
        who = decision.devices
        after_s = np.minimum(
            self._drawn_offline(round_, decision), self._kept_away(start_s, who.tolist())
        )
        losses = self._drawn_losses(round_, who)
        slowdown = self._drawn_slowdowns(round_, who)
        harmed = np.flatnonzero((after_s < np.inf) | (losses > 0) | (slowdown > 1))
        columns = zip(after_s[harmed], losses[harmed], slowdown[harmed], strict=True)
        return {
            place: Mishap(float(after), int(number), float(factor))
            for place, (after, number, factor) in zip(harmed.tolist(), columns, strict=True)
        }

    def slow_spells(self, device: int) -> Sequence[Spell]:
        """Return when the processor of a device is slow by schedule."""
        return self._slowed.of(device)

    def is_lost(self, device: int, now_s: float) -> bool:
        """Return whether an upload that ends now is lost by schedule."""
        return spell_at(self._losing.of(device), now_s) is not None

    def back_at_s(self, devices: Iterable[int], now_s: float) -> float:
        """Return when the first of some devices is not in an outage by schedule: now, or later."""
        outages = (spell_at(self._outages.of(device), now_s) for device in devices)
        return min(now_s if outage is None else outage.until_s for outage in outages)

    def outages_from(self, now_s: float) -> Iterator[tuple[float, Sequence[int]]]:
        """Yield the times at which scheduled outages begin, and whom they befall; none are all."""
        starts = ((spell.from_s, who) for who, spell in self._outages.entries)
        return iter(sorted((start_s, tuple(who)) for start_s, who in starts if start_s > now_s))

    def _drawn_offline(self, round_: int, decision: Decision) -> NDArray[np.float64]:
        """Return when each goes offline by chance; infinity for who does not."""
        who = decision.devices
        if not self._offline.any():
            return np.full(len(who), np.inf)
        cost = self._cost.only(who)
        predicted_s = cost.latency_s(decision.kept, decision.rate_bps)
        computing_s = cost.latency_s(decision.kept, np.full(len(who), np.inf))
        lasts_s = np.where(np.isfinite(predicted_s), predicted_s, computing_s)
        draws = self._streams("faults.offline", round_).random((self._num_devices, 2))[who]
        return np.where(draws[:, 0] < self._offline[who], draws[:, 1] * lasts_s, np.inf)

    def _drawn_losses(self, round_: int, who: NDArray[np.int64]) -> NDArray[np.int64]:
        r"""Return how many attempts of each are lost by chance, before one gets through.

        With probability p of each, it is at least n with probability p^n, so

        .. math:: n = \lfloor \ln U / \ln p \rfloor, \quad U \sim (0, 1].
        """
        lost = self._lost[who]
        if not lost.any():
            return np.zeros(len(who), dtype=np.int64)
        draws = 1.0 - self._streams("faults.lost", round_).random(self._num_devices)[who]
        with np.errstate(divide="ignore", invalid="ignore"):
            number = np.floor(np.log(draws) / np.log(lost))
        number[lost == 0] = 0
        number[lost == 1] = np.inf
        return np.minimum(number, self.retries + 1).astype(np.int64)

    def _drawn_slowdowns(self, round_: int, who: NDArray[np.int64]) -> NDArray[np.float64]:
        if not self._slow.any():
            return np.ones(len(who))
        draws = self._streams("faults.slow", round_).random(self._num_devices)[who]
        return np.where(draws < self._slow[who], self._factor[who], 1.0)

    def _kept_away(self, start_s: float, who: Sequence[int]) -> NDArray[np.float64]:
        """Return when scheduled outages take each away before it has heard the broadcast."""
        heard_at_s = start_s + self._cost.broadcast_s
        after_s = np.full(len(who), np.inf)
        for numbers, spell in self._outages.entries:
            if spell.from_s <= heard_at_s and start_s < spell.until_s:
                hit = np.isin(who, numbers) if numbers else slice(None)
                after_s[hit] = np.minimum(after_s[hit], max(spell.from_s - start_s, 0.0))
        return after_s

    def _each(self, key: str, value: PerDevice) -> NDArray[np.float64]:
        return value.values(self._num_devices, lambda: self._streams(f"faults.{key}"))


class _Calendar:
    """The spells of one kind of fault."""

    def __init__(self, entries: Sequence[tuple[Sequence[int], Spell]]) -> None:
        self.entries = entries
        """Whom each befalls, and when; nobody named is everybody."""
        self._everybody = joined(spell for numbers, spell in entries if not numbers)
        own: dict[int, list[Spell]] = {}
        for numbers, spell in entries:
            for device in numbers:
                own.setdefault(device, []).append(spell)
        self._own = {device: joined([*own[device], *self._everybody]) for device in own}

    def of(self, device: int) -> Sequence[Spell]:
        """Return the spells of a device, in order."""
        return self._own.get(device, self._everybody)
