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
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import simpy
from simpy import Environment, Event

from fl.allocation import Decision
from fl.learner import Learner, Learnt
from fl.models import SAME, Workload
from netsim.cpu import Cpu
from netsim.last_call import LastCall
from netsim.timeline import Timeline
from netsim.uplink import Uplink
from netsim.wire import Wire

Process = Generator[Event, Any, None]

#: What a device does in a round, in this order.
PHASES = ("broadcast", "personal", "warmup", "prune", "global", "upload", "backhaul", "wait")
BROADCAST, PERSONAL, WARMUP, PRUNE, GLOBAL, UPLOAD, BACKHAUL, WAIT = range(len(PHASES))


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
    """From the start of the round until the device had arrived, or was cut."""
    sent_bits: Sequence[float]
    cut: Sequence[int]
    """The places, among those who took part, of the devices that were cut."""
    learnt: Learnt | None
    """None in a run without learning."""


class Device:
    """One device: a CPU, what a round asks of it, and a place in the cell.

    Where only some of many devices take part in a round, this is whichever of them sits in its
    place: between two rounds another one may take it.
    """

    __slots__ = (
        "_cpu",
        "_server",
        "_work",
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
        """Of the last round, until the device had arrived or was cut."""
        self.sent_bits = 0.0
        """In the last round."""
        self.reached = WAIT
        """The phase that it came to in the last round: that in which it was cut, or waiting."""
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
            has_arrived = yield from self._round(kept, spent)
            self.latency_s = sum(spent)
            server.timeline.record(server.round, self.place, server.round_began_at_s, spent)
            if has_arrived:
                server.receive()

    def _round(self, kept: int, spent: list[float]) -> Generator[Event, Any, bool]:
        """Do one round, as far as it takes time; return whether the upload has arrived.

        Args:
            kept: How many weights of the global part to train and to send.
            spent: Takes the seconds of each phase.
        """
        cpu, work, server = self._cpu, self._work, self._server
        bits = self.sent_bits = kept * work.bits_per_weight
        self.reached = WAIT
        phase = PERSONAL
        try:
            # Lines 4 to 6 of Algorithm 1: update the personal part.
            if work.personal_cycles:
                spent[PERSONAL] = yield cpu.run(work.personal_cycles)
            # Line 7: update the whole global part, to see which weights move; mask the rest.
            phase = WARMUP
            if work.warmup_cycles:
                spent[WARMUP] = yield cpu.run(work.warmup_cycles)
            phase = PRUNE
            if work.prune_cycles:
                spent[PRUNE] = yield cpu.run(work.prune_cycles)
            # Lines 8 to 11: update what is left of the global part. Where both parts are updated
            # at once, the personal one's cycles are spent here, too.
            phase = GLOBAL
            cycles = work.joint_cycles + kept * work.global_cycles_per_weight
            if cycles:
                spent[GLOBAL] = yield cpu.run(cycles)
            # Line 13: send it. Nothing to send is said, too: others may use the share.
            phase = UPLOAD
            spent[UPLOAD] = yield server.uplink.send(self.place, bits)
            if bits:
                phase = BACKHAUL
                for wire in server.backhaul:
                    spent[BACKHAUL] += yield wire.send(bits)
        except simpy.Interrupt:  # the server does not wait any longer
            began_at_s = server.round_began_at_s + sum(spent[:phase])
            spent[phase] = max(server.env.now - began_at_s, 0.0)
            self.reached = phase
            cpu.abandon()
            # Who has arrived is through: all that the wires still carry is of those cut.
            for wire in server.backhaul:
                wire.abandon()
            if phase < UPLOAD:
                self.sent_bits = 0
            elif phase == UPLOAD:
                self.sent_bits = server.uplink.cut(self.place)
            return False
        return True


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
    ) -> None:
        self.env = env
        self.uplink = uplink
        self.backhaul = backhaul
        """What an upload passes behind the radio."""
        self.timeline = timeline
        self.rules = rules
        self._learning = learning
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
        for self.round in range(first, rounds):
            self.round_began_at_s = start_s = self.env.now
            decision = decide(start_s)
            self.uplink.allot(decision.shares.tolist())
            kept = decision.kept.tolist()
            if self._learning is not None:
                self._learning.begin(self.round, kept, decision.devices.tolist())
            if self.rules.broadcast_s:
                yield self.env.timeout(self.rules.broadcast_s)
            cut = yield from self._collect(devices, kept)
            if self.rules.aggregation_s:
                yield self.env.timeout(self.rules.aggregation_s)
            latencies_s = [device.latency_s for device in devices]
            latency_s = self.rules.cut_after_s if cut else max(latencies_s)
            assert latency_s is not None  # nobody is cut without a rule
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
                    latencies_s,
                    [device.sent_bits for device in devices],
                    cut,
                    learnt,
                )
            )

    def receive(self) -> None:
        """Take note that one more upload has arrived."""
        self._missing -= 1
        if not self._missing and not self._enough.triggered:
            self._enough.succeed()

    def _collect(
        self, devices: Sequence[Device], kept: Sequence[int]
    ) -> Generator[Event, Any, list[int]]:
        """Tell the devices to begin, wait for the uploads, and return who was cut."""
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
        if self.rules.cut_after_s is None:
            yield enough
            return []

        def cut(_event: Event) -> None:
            if not enough.triggered:
                enough.succeed()

        # An upload that ends at the deadline is in time, whichever way its sum was rounded;
        # late in a long run, the clock itself rounds to more than that.
        cut_after_s = self.rules.cut_after_s
        rounding_s = cut_after_s * SAME + 8 * math.ulp(self.env.now + cut_after_s)
        left_s = cut_after_s - self.rules.broadcast_s + rounding_s
        LastCall(self.env, left_s).callbacks.append(cut)
        yield enough
        late = [device for device in devices if not self.has_arrived(device)]
        for device in late:
            device.process.interrupt()
        yield self.env.timeout(0)  # the interrupted put down their work
        return [device.place for device in late]

    def has_arrived(self, device: Device) -> bool:
        """Return whether *device* is done with the round, and waits for the next."""
        return device.process.target is self.broadcast
