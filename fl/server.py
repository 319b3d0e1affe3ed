"""The edge server: the other side of a round (see `fl.round`), for as many rounds as there are."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simpy import Environment, Event

from fl.allocation import Decision
from fl.faults import Misfortune, Mishap
from fl.learner import Learner, Learnt
from fl.models import SAME
from fl.phases import CUT, GONE
from fl.round import Device
from netsim.last_call import LastCall, seconds_until
from netsim.timeline import Timeline
from netsim.uplink import Uplink
from netsim.wire import Wire

Process = Generator[Event, Any, None]


@dataclass(frozen=True)
class Rules:
    """How long the server takes, and waits."""

    broadcast_s: float
    """From the decision until the devices have the global part."""
    cut_after_s: float | None
    """When the round is cut, with whoever has arrived; None: it waits for all."""
    aggregation_s: float
    """From the last upload, or the cut, to the new global part."""


class Outcome(NamedTuple):
    """What came of one round; sequences have one entry for each device that took part."""

    round: int
    decision: Decision
    start_s: float
    end_s: float
    latency_s: float
    """Of the round: until the server had all it waited for, and had aggregated it."""
    device_latency_s: Sequence[float]
    """From the start of the round until the device had arrived, was cut, or was out of it."""
    sent_bits: Sequence[float]
    """In all attempts."""
    attempts: Sequence[int]
    """How often each has begun to send."""
    ends: Sequence[int]
    """How each came out of the round: a place in `OUTCOMES`."""
    learnt: Learnt | None
    """None in a run without learning."""


class Server:
    """The edge server: decides, broadcasts, waits, aggregates."""

    def __init__(
        self,
        env: Environment,
        uplink: Uplink,
        backhaul: Sequence[Wire],
        timeline: Timeline,
        rules: Rules,
        learning: Learner | None = None,
        misfortune: Misfortune | None = None,
    ) -> None:
        self.env = env
        self.uplink = uplink
        self.backhaul = backhaul
        """What an upload passes behind the radio."""
        self.timeline = timeline
        self.rules = rules
        self._learning = learning
        self.misfortune = misfortune
        """None, if nothing goes wrong."""
        self.mishaps: Mapping[int, Mishap] = {}
        """What befalls whom in this round, by place."""
        self.round = -1
        self.round_began_at_s = 0.0
        self.broadcast = Event(env)
        """Of the next round: says each device how many weights to keep."""
        self._missing = 0
        self._enough = Event(env)

    def run(
        self,
        devices: Sequence[Device],
        rounds: int,
        decide: Callable[[float], Decision],
        report: Callable[[Outcome], None],
        first: int = 0,
    ) -> Process:
        """Run the rounds, and report each.

        Args:
            devices: As many as take part in a round.
            rounds: How many.
            decide: Says who they are, and gives shares and pruning for a round that begins at
                this time.
            report: Takes what came of it.
            first: The first one, if those before are over.
        """
        if self.misfortune is not None:
            self.env.process(self._begin_outages(devices))
        for self.round in range(first, rounds):
            self.round_began_at_s = start_s = self.env.now
            decision = decide(start_s)
            self.uplink.allot(decision.shares.tolist())
            kept = decision.kept.tolist()
            if self._learning is not None:
                self._learning.begin(self.round, kept, decision.devices.tolist())
            if self.misfortune is not None:
                self.mishaps = self.misfortune.draw(self.round, start_s, decision)
            if self.rules.broadcast_s:
                yield self.env.timeout(self.rules.broadcast_s)
            latency_s = yield from self._collect(devices, kept)
            if self.misfortune is not None:
                latency_s += yield from self._await_anybody(devices)
            if self.rules.aggregation_s:
                yield self.env.timeout(self.rules.aggregation_s)
            learnt = None
            if self._learning is not None:
                learnt = self._learning.aggregate([device.reached for device in devices])
            report(
                Outcome(
                    self.round,
                    decision,
                    start_s,
                    self.env.now,
                    latency_s + self.rules.aggregation_s,
                    [device.latency_s for device in devices],
                    [device.sent_bits for device in devices],
                    [device.attempts for device in devices],
                    [device.end for device in devices],
                    learnt,
                )
            )

    def wait_no_longer(self) -> None:
        """Take note that one more upload has arrived, or never will."""
        self._missing -= 1
        if not self._missing and not self._enough.triggered:
            self._enough.succeed()

    def is_done(self, device: Device) -> bool:
        """Return whether *device* is done with the round, and waits for the next."""
        return device.process.target is self.broadcast

    def _collect(
        self, devices: Sequence[Device], kept: Sequence[int]
    ) -> Generator[Event, Any, float]:
        """Tell the devices to begin, wait for the uploads, and return the seconds since the start."""
        self._missing = len(devices)
        self._enough = enough = Event(self.env)
        broadcast, self.broadcast = self.broadcast, Event(self.env)
        # They wait in the order in which they finished the round before. A round must not depend
        # on that: of equals, the one of lowest number is served first.
        numbers = {device.process: device.index for device in devices}
        broadcast.callbacks.sort(
            key=lambda resume: numbers[resume.__self__]  # type: ignore[attr-defined]  # a method
        )
        broadcast.succeed(kept)
        for place, mishap in self.mishaps.items():
            self._plan_to_go(devices[place], mishap)
        if self.rules.cut_after_s is not None:
            self._plan_to_cut(self.rules.cut_after_s)
        yield enough
        late = [device for device in devices if not self.is_done(device)]
        if not late:
            last_s = max(device.latency_s for device in devices)
            return max(last_s, self.rules.broadcast_s)  # there may have been nobody to hear it
        for device in late:
            device.process.interrupt(CUT)
        yield self.env.timeout(0)  # the interrupted put down their work
        assert self.rules.cut_after_s is not None  # nobody is cut without a rule
        return self.rules.cut_after_s

    def _plan_to_cut(self, cut_after_s: float) -> None:
        """Wait for uploads no longer than until the deadline."""
        enough = self._enough

        def cut(_event: Event) -> None:
            if not enough.triggered:
                enough.succeed()

        # An upload that ends at the deadline is in time, whichever way its sum was rounded;
        # late in a long run, the clock itself rounds to more than that.
        rounding_s = cut_after_s * SAME + 8 * math.ulp(self.env.now + cut_after_s)
        left_s = cut_after_s - self.rules.broadcast_s + rounding_s
        LastCall(self.env, left_s).callbacks.append(cut)

    def _plan_to_go(self, device: Device, mishap: Mishap) -> None:
        """Let a device go offline at the moment that was drawn, if it is still at it then."""
        left_s, round_ = mishap.offline_after_s - self.rules.broadcast_s, self.round

        def go(_event: Event) -> None:
            if self.round == round_:
                device.go_offline()

        if 0 < left_s < math.inf:
            LastCall(self.env, left_s).callbacks.append(go)

    def _begin_outages(self, devices: Sequence[Device]) -> Process:
        """Let devices go offline when their scheduled outages begin."""
        assert self.misfortune is not None
        for at_s, numbers in self.misfortune.outages_from(self.env.now):
            yield LastCall(self.env, seconds_until(self.env, at_s))
            for device in devices:
                if not numbers or device.index in numbers:
                    device.go_offline()

    def _await_anybody(self, devices: Sequence[Device]) -> Generator[Event, Any, float]:
        """Wait until the first of them is back, where all are offline by schedule.

        A round without them would take no time at all, and so would those after it.
        """
        assert self.misfortune is not None
        if any(device.end != GONE for device in devices):
            return 0.0
        back_at_s = self.misfortune.back_at_s((device.index for device in devices), self.env.now)
        if back_at_s == self.env.now:
            return 0.0
        absent_s = seconds_until(self.env, back_at_s)
        yield self.env.timeout(absent_s)
        return absent_s
