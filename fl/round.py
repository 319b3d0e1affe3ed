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

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import simpy
from simpy import Event

from fl.faults import UNHARMED, Mishap
from fl.models import Workload
from fl.phases import (
    ARRIVED,
    BACKHAUL,
    BROADCAST,
    CUT,
    GIVEN_UP,
    GLOBAL,
    GONE,
    LOST,
    PERSONAL,
    PHASES,
    PRUNE,
    UPLOAD,
    WAIT,
    WARMUP,
)
from netsim.cpu import Cpu

if TYPE_CHECKING:  # it gives the devices their rounds
    from fl.server import Server


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

    def _live(self) -> Generator[Event, Any, None]:
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
            cpu.slow_down(mishap.slowdown, server.misfortune.slow_spells(self.index))
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
