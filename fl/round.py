"""One federated round as a chain of events (Algorithm 1). Read this file first.

::

    edge server                          device k
    decide shares and pruning ratios
    broadcast the global part   ------>  personal update       tau_v C N_v cycles
                                         warm-up update        tau-hat_u C N_u cycles
                                         prune
                                         global update         (1 - rho) tau_u C N_u cycles
    wait for all, or until the  <------  upload                (1 - rho) q N_u bits
    deadline; aggregate

A device is one SimPy process that lives as long as the run; the server is another. Each
arrow, and each line on the right, is an event on their common clock. Nothing here
computes a latency: it is what the clock has come to when the last upload arrives.

What the devices learn meanwhile takes no time here. It depends on what is broadcast and on the
pruning, not on the clock, so it begins with the broadcast, and is asked for at the end.

Where the scenario has faults, a device may go offline at any moment before its upload is through,
and lose its upload at its end. The server waits no longer for who is offline or has given up.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import simpy
from simpy import Environment, Event

from fl.allocation import Decision
from fl.faults import UNHARMED, Misfortune, Mishap
from fl.learner import Learner, Learnt
from fl.models import SAME, Workload
from netsim.cpu import Cpu
from netsim.last_call import LastCall, seconds_until
from netsim.timeline import Timeline
from netsim.uplink import Uplink
from netsim.wire import Wire

Process = Generator[Event, Any, None]

#: What a device does in a round, in this order. What it sends in vain comes before what arrives.
PHASES = (
    *("broadcast", "personal", "warmup", "prune", "global"),
    *("lost", "upload", "backhaul", "offline", "wait"),
)
BROADCAST, PERSONAL, WARMUP, PRUNE, GLOBAL, LOST, UPLOAD, BACKHAUL, OFFLINE, WAIT = range(
    len(PHASES)
)


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
    """How each came out of the round: `ARRIVED`, `CUT`, `GONE` or `GIVEN_UP`."""
    learnt: Learnt | None
    """None in a run without learning."""


#: How a device comes out of a round: it has arrived; the server did not wait for it any longer; it
#: went offline; it has lost its upload too often.
ARRIVED, CUT, GONE, GIVEN_UP = range(4)


class Device:
    """One device: a CPU, what a round asks of it, and a place in the cell.

    Where only some of many devices take part in a round, this is whichever of them sits in its
    place: between two rounds another one may take it.
    """

    __slots__ = (
        "_cpu",
        "_server",
        "_work",
        "attempts",
        "end",
        "index",
        "latency_s",
        "place",
        "process",
        "reached",
        "sent_bits",
    )

    def __init__(self, place: int, cpu: Cpu, work: Workload, server: "Server") -> None:
        self.place = place
        """Among those who take part in a round."""
        self.index = place
        """Among all devices."""
        self._cpu = cpu
        self._work = work
        self._server = server
        self.latency_s = 0.0
        """Of the last round, until the device had arrived, was cut, or was out of it."""
        self.sent_bits = 0.0
        """In the last round."""
        self.attempts = 0
        """How often it has begun to send, in the last round."""
        self.reached = WAIT
        """The phase that it has come to: in the end that in which it was cut, or waiting."""
        self.end = ARRIVED
        """How it came out of the last round."""
        self.process = server.env.process(self._live())

    def become(self, index: int, frequency_hz: float, work: Workload) -> None:
        """Be another device from the next round on."""
        self.index = index
        self._cpu.frequency_hz = frequency_hz
        self._work = work

    def _live(self) -> Process:
        """Take part in one round after the other."""
        server = self._server
        while True:
            kept = (yield server.broadcast)[self.place]
            spent = [0.0] * len(PHASES)
            spent[BROADCAST] = server.rules.broadcast_s
            self.end = yield from self._round(kept, spent)
            self.latency_s = sum(spent)
            server.timeline.record(server.round, self.place, server.round_began_at_s, spent)
            server.wait_no_longer()

    def _round(self, kept: int, spent: list[float]) -> Generator[Event, Any, int]:
        """Do one round, as far as it takes time; return how that ended.

        Args:
            kept: How many weights of the global part to train and to send.
            spent: Takes the seconds of each phase.
        """
        cpu, work, server = self._cpu, self._work, self._server
        bits = kept * work.bits_per_weight
        self.sent_bits = self.attempts = 0
        mishap = None
        if server.misfortune is not None:
            mishap = server.mishaps.get(self.place, UNHARMED)
            cpu.slowdown = mishap.slowdown
            cpu.spells = server.misfortune.slow_spells(self.index)
            if mishap.offline_after_s <= server.rules.broadcast_s:
                self.reached, spent[BROADCAST] = BROADCAST, mishap.offline_after_s
                return GONE
        try:
            # Lines 4 to 6 of Algorithm 1: update the personal part.
            self.reached = PERSONAL
            if work.personal_cycles:
                spent[PERSONAL] = yield cpu.run(work.personal_cycles)
            # Line 7: update the whole global part, to see which weights move; mask the rest.
            self.reached = WARMUP
            if work.warmup_cycles:
                spent[WARMUP] = yield cpu.run(work.warmup_cycles)
            self.reached = PRUNE
            if work.prune_cycles:
                spent[PRUNE] = yield cpu.run(work.prune_cycles)
            # Lines 8 to 11: update what is left of the global part. Where both parts are updated
            # at once, the personal one's cycles are spent here, too.
            self.reached = GLOBAL
            cycles = work.joint_cycles + kept * work.global_cycles_per_weight
            if cycles:
                spent[GLOBAL] = yield cpu.run(cycles)
            # Line 13: send it. Nothing to send is said, too: others may use the share.
            self.reached = UPLOAD
            self.attempts = 1 if bits else 0
            spent[UPLOAD] = yield server.uplink.send(self.place, bits)
            self.sent_bits = bits
            if bits:
                if mishap is not None and not (yield from self._get_through(bits, mishap, spent)):
                    return GIVEN_UP
                self.reached = BACKHAUL
                for wire in server.backhaul:
                    spent[BACKHAUL] += yield wire.send(bits)
        except simpy.Interrupt as interrupt:
            end = GONE if interrupt.cause == GONE else CUT
            self._put_down(end, spent)
            return end
        self.reached = WAIT
        return ARRIVED

    def _put_down(self, end: int, spent: list[float]) -> None:
        """Leave everything as it is: the server does not wait any longer, or cannot."""
        server, phase = self._server, self.reached
        began_at_s = server.round_began_at_s + sum(spent[:phase])
        spent[phase] = max(server.env.now - began_at_s, 0.0)
        self._cpu.abandon()
        if phase == UPLOAD:
            self.sent_bits += server.uplink.cut(self.place)
        if end == CUT:
            # Who has arrived is through: all that the wires still carry is of those cut.
            for wire in server.backhaul:
                wire.abandon()

    def _get_through(
        self, bits: float, mishap: Mishap, spent: list[float]
    ) -> Generator[Event, Any, bool]:
        """Send again what was lost, until it gets through or there have been enough attempts."""
        server = self._server
        misfortune = server.misfortune
        assert misfortune is not None
        while self.attempts <= mishap.losses or misfortune.is_lost(self.index, server.env.now):
            spent[LOST] += spent[UPLOAD]
            spent[UPLOAD] = 0.0
            self.reached = LOST
            if self.attempts > misfortune.retries:
                return False
            if misfortune.pause_s:
                yield server.env.timeout(misfortune.pause_s)
                spent[LOST] += misfortune.pause_s
            self.reached = UPLOAD
            self.attempts += 1
            spent[UPLOAD] = yield server.uplink.send(self.place, bits)
            self.sent_bits += bits
        return True

    def go_offline(self) -> None:
        """Be out of the round, unless the upload is through, or the round over for this device."""
        if self.reached < BACKHAUL and not self._server.is_done(self):
            self.process.interrupt(GONE)


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
