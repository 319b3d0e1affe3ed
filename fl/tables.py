"""From what came of each round to the three tables of a run.

Rounds are collected and turned into Arrow tables many at a time: at ten devices a round,
one by one would cost more than simulating them; at a hundred thousand, keeping them all
would not fit. The tables go to a sink as they come, so memory stays bounded.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fl.allocation import Status
from fl.columns import DEVICES, EVENTS, ROUNDS
from fl.learner import Learnt
from fl.models import SAME, Cost
from fl.phases import (
    ARRIVED,
    CUT,
    GLOBAL,
    GONE,
    OFFLINE,
    OUTCOMES,
    PERSONAL,
    PHASES,
    PRUNE,
    WAIT,
    WARMUP,
)
from fl.server import Outcome
from netsim.channel import snr_of_efficiency
from netsim.timeline import Timeline, clock_times
from netsim.units import ratios_to_db

if TYPE_CHECKING:  # torch takes seconds to import, and most runs do without it
    from fl.learning import Learning

STATUSES = tuple(status.name.lower() for status in Status)
_ROWS_AT_ONCE = 1 << 17


class Position(NamedTuple):
    """A point of a run between two rounds."""

    round: int = 0
    """The next one."""
    now_s: float = 0.0
    """When it begins."""


class Sink(Protocol):
    """Where the tables go, batch by batch."""

    facts: dict[str, object]
    """Takes what is known of the whole run, beside its rounds."""

    @property
    def position(self) -> Position:
        """Where the run begins, or goes on: the rounds before have been written."""

    @property
    def is_due(self) -> bool:
        """Whether it is time to make sure of the rounds that are over."""

    def write(self, rounds: pa.Table, devices: pa.Table, events: pa.Table) -> None:
        """Take the next rounds."""

    def keep(self, learning: "Learning | None") -> None:
        """Make sure that the rounds written so far are never lost, and what they have led to."""

    def restore(self, learning: "Learning") -> None:
        """Give back what the rounds before the position have led to."""


class Collector:
    """Collects the rounds of a run and hands them on as tables."""

    def __init__(
        self,
        sink: Sink,
        timeline: Timeline,
        cost: Cost,
        deadline_s: float | None,
    ) -> None:
        self._sink = sink
        self._timeline = timeline
        self._cost = cost
        self._deadline_s = deadline_s
        self._outcomes: list[Outcome] = []

    def append(self, outcome: Outcome) -> None:
        """Take what came of one round."""
        self._outcomes.append(outcome)
        if len(self._outcomes) * len(outcome.sent_bits) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Hand on the rounds collected so far."""
        # Both at first: if this is interrupted, what is asked for again must not be there by half.
        outcomes, self._outcomes = self._outcomes, []
        chains = self._timeline.take()
        if not outcomes:
            return
        batch = _Batch(outcomes, chains, self._cost)
        self._sink.write(batch.rounds(self._deadline_s), batch.devices(), batch.events())


class _Batch:
    """Some consecutive rounds as arrays; [R, K] is rounds by those who take part in one."""

    def __init__(self, outcomes: Sequence[Outcome], chains: NDArray[np.void], cost: Cost) -> None:
        self._devices = np.stack([o.decision.devices for o in outcomes])  # [R, K]
        takes_all = self._devices.shape[1] == len(cost.frequency_hz)
        self._cost = cost if takes_all else cost.only(self._devices)
        self._learnt = [o.learnt for o in outcomes if o.learnt is not None]
        self._round = np.array([o.round for o in outcomes], dtype=np.int32)
        self._start_s = np.array([o.start_s for o in outcomes])
        self._end_s = np.array([o.end_s for o in outcomes])
        self._round_latency_s = np.array([o.latency_s for o in outcomes])
        self._latency_s = np.array([o.device_latency_s for o in outcomes])  # [R, K]
        self._sent_bits = np.array([o.sent_bits for o in outcomes]).astype(np.int64)  # [R, K]
        self._shares = np.stack([o.decision.shares for o in outcomes])  # [R, K]
        self._status = np.stack([o.decision.status for o in outcomes])  # [R, K]
        self._kept = np.stack([o.decision.kept for o in outcomes])  # [R, K]
        self._pruning_ratio = (cost.global_weights - self._kept) / cost.global_weights
        self._efficiency = np.stack([o.decision.efficiency for o in outcomes])  # [R, K]
        self._rate_bps = np.stack([o.decision.rate_bps for o in outcomes])  # [R, K]
        self._attempts = np.array([o.attempts for o in outcomes], dtype=np.int16)  # [R, K]
        self._ends = np.array([o.ends for o in outcomes], dtype=np.int8)  # [R, K]
        self._arrived = self._ends == ARRIVED
        # Chains stand in the order in which they ended. A run that failed within a round has
        # some of that round, too, which is not over.
        if chains["round"].max() > self._round[-1]:
            chains = chains[chains["round"] <= self._round[-1]]
        position = (chains["round"] - self._round[0]).astype(np.int64) * self._kept.shape[1]
        self._chains = np.empty_like(chains)
        self._chains[position + chains["device"]] = chains
        self._chains["device"] = self._devices.ravel()  # for their places
        idle_s, is_gone = self._idle_s().ravel(), (self._ends == GONE).ravel()
        self._chains["seconds"][:, WAIT] = np.where(is_gone, 0.0, idle_s)
        self._chains["seconds"][:, OFFLINE] = np.where(is_gone, idle_s, 0.0)
        self._slowed_s = self._slowed()

    def rounds(self, deadline_s: float | None) -> pa.Table:
        columns: dict[str, object] = {
            "round": self._round,
            "start_s": self._start_s,
            "end_s": self._end_s,
            "latency_s": self._round_latency_s,
            "straggler": self._stragglers(),
            "arrived": self._arrived.sum(axis=1),
            "uplink_bits": self._sent_bits.sum(axis=1),
            "mean_pruning_ratio": self._pruning_ratio.mean(axis=1),
        }
        if deadline_s is not None:
            over = self._latency_s > deadline_s * (1 + SAME)
            columns["deadline_s"] = np.full(len(self._round), deadline_s)
            columns["deadline_missed"] = (over | ~self._arrived).any(axis=1)
        if self._learnt:
            rows = [learnt_over_devices(learnt) for learnt in self._learnt]
            columns |= {name: _known([row[name] for row in rows]) for name in rows[0]}
            columns["fewest_keepers"] = [learnt.fewest_keepers for learnt in self._learnt]
        return _table(columns, ROUNDS, len(self._round))

    def devices(self) -> pa.Table:
        columns: dict[str, object] = {
            "round": np.repeat(self._round, self._kept.shape[1]),
            "device": self._devices,
            "bandwidth_fraction": self._shares,
            "pruning_ratio": self._pruning_ratio,
            "snr_db": ratios_to_db(snr_of_efficiency(self._efficiency)),
            "status": _dictionary(self._status.ravel(), STATUSES),
            "predicted_latency_s": self._predicted_s(),
            "latency_s": pa.array(self._latency_s.ravel(), mask=~self._arrived.ravel()),
            "slowed_s": sum(self._slowed_s.values(), np.zeros(self._kept.shape)),
            "attempts": self._attempts,
            "upload_bits": self._sent_bits,
            "arrived": self._arrived,
            "outcome": _dictionary(self._ends.ravel(), OUTCOMES),
        }
        for phase, seconds in zip(PHASES, self._chains["seconds"].T, strict=True):
            columns[f"{phase}_s"] = np.ascontiguousarray(seconds)
        if self._learnt:
            unknown = np.full(len(self._learnt[0].samples), np.nan)
            for name in ("train_loss", "test_loss", "test_accuracy"):
                values = [getattr(learnt, name) for learnt in self._learnt]
                pairs = zip(values, self._devices, strict=True)
                rows = [(unknown if value is None else value)[who] for value, who in pairs]
                columns[name] = _known(np.concatenate(rows))
        return _table(columns, DEVICES, self._arrived.size)

    def events(self) -> pa.Table:
        """Return the phases that took time, each with its begin and end."""
        times_s = clock_times(self._chains)
        chain, phase = np.nonzero(self._chains["seconds"] > 0)
        end_s = times_s[chain, phase + 1]
        # Who waits, waits for the end of the round, to the last digit.
        waits = phase >= OFFLINE
        end_s[waits] = self._end_s[self._chains["round"][chain[waits]] - self._round[0]]
        slowed_s = np.zeros(len(chain))
        for slow, seconds in self._slowed_s.items():
            slowed_s[phase == slow] = seconds.ravel()[chain[phase == slow]]
        columns: dict[str, object] = {
            "round": self._chains["round"][chain],
            "device": self._chains["device"][chain],
            "phase": _dictionary(phase.astype(np.int8), PHASES),
            "start_s": times_s[chain, phase],
            "end_s": end_s,
            "slowed_s": slowed_s,
        }
        return _table(columns, EVENTS, len(chain))

    def _stragglers(self) -> NDArray[np.int64]:
        """Return who came last; of those cut, who was furthest from the end of its upload.

        Of equals it is the one predicted to take longest, then the one of lowest number.
        """
        sent = self._sent_bits / np.maximum(self._cost.upload_bits(self._kept), 1)
        last = self._latency_s.argmax(axis=1)
        is_cut = self._ends == CUT
        unsent = np.where(is_cut, sent, np.inf)
        least = unsent == unsent.min(axis=1, keepdims=True)
        furthest = np.where(least, self._predicted_s(), -np.inf).argmax(axis=1)
        place = np.where(is_cut.any(axis=1), furthest, last)
        stragglers: NDArray[np.int64] = self._devices[np.arange(len(place)), place]
        return stragglers

    def _slowed(self) -> dict[int, NDArray[np.float64]]:
        """Return by how much each was slower in computing than its processor can be, by phase."""
        cost, seconds = self._cost, self._chains["seconds"].reshape(*self._kept.shape, -1)
        nothing = np.zeros(self._kept.shape)
        personal, joint = cost.personal_cycles, nothing
        if cost.joint:
            personal, joint = joint, personal
        cycles = {
            PERSONAL: personal,
            WARMUP: cost.warmup_cycles,
            PRUNE: cost.prune_cycles,
            GLOBAL: joint + cost.global_cycles(self._kept),
        }
        slowed = {}
        for phase, number in cycles.items():
            more_s = seconds[..., phase] - number / cost.frequency_hz
            slowed[phase] = np.where(more_s > SAME * seconds[..., phase], more_s, 0.0)
        return slowed

    def _predicted_s(self) -> NDArray[np.float64]:
        return self._cost.latency_s(self._kept, self._rate_bps)

    def _idle_s(self) -> NDArray[np.float64]:
        """Return how long each device was idle at the end of each round."""
        idle: NDArray[np.float64] = self._round_latency_s[:, None] - self._latency_s
        # Who came last did not wait; sums rounded differently may seem to say it did.
        idle[idle <= SAME * self._round_latency_s[:, None]] = 0.0
        return idle


def learnt_over_devices(learnt: Learnt) -> dict[str, float]:
    """Return what the learning of a round comes to over all devices, NaN where it is not known."""
    tested = learnt.test_accuracy if learnt.test_accuracy is not None else np.empty(0)
    accuracy = tested[~np.isnan(tested)]
    return {
        "train_loss": _global_loss(learnt.train_loss, learnt.samples),
        "test_loss": _global_loss(learnt.test_loss, learnt.samples),
        "test_accuracy": accuracy.mean() if len(accuracy) else np.nan,
        "test_accuracy_std": accuracy.std() if len(accuracy) else np.nan,
    }


def _global_loss(losses: NDArray[np.float64] | None, samples: NDArray[np.int64]) -> float:
    r"""Return the loss of all devices whose own is known, Eq. (3).

    .. math:: F = \sum_k \frac{D_k}{D} F_k
    """
    if losses is None or np.isnan(losses).all():
        return np.nan
    known = ~np.isnan(losses)
    return float(np.average(losses[known], weights=samples[known]))


def _known(values: Sequence[float] | NDArray[np.float64]) -> pa.Array:
    """Return *values* with null for NaN."""
    return pa.array(np.asarray(values), from_pandas=True)


def _dictionary(codes: NDArray[np.int8], names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(names))


def _table(columns: dict[str, object], schema: pa.Schema, size: int) -> pa.Table:
    """Return *columns* as a table, in the order of the schema; what is not there is null."""
    arrays = []
    for field in schema:
        column = columns.get(field.name)
        if column is None:
            arrays.append(pa.nulls(size, field.type))
            continue
        flat = column.ravel() if isinstance(column, np.ndarray) else column
        arrays.append(pa.array(flat).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
