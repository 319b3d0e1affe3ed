"""A run: the cell that a scenario describes, on one clock, for all its rounds."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from simpy import Environment

from fl.allocation import Decision, Policy
from fl.estimate import check_memory
from fl.faults import Misfortune
from fl.models import Cost
from fl.own_code import refuse_code
from fl.participants import Participants, Seats
from fl.phases import PHASES
from fl.radio import Radio, check_finite
from fl.round import Device
from fl.scenario import (
    GivenSizes,
    PerDevice,
    Scenario,
)
from fl.server import Outcome, Rules, Server
from fl.tables import Collector, Sink
from fl.training.engine import EngineChoice
from netsim.errors import StalledError
from netsim.redistribution import RedistributedUplink
from netsim.streams import Streams
from netsim.timeline import Timeline
from netsim.topology import Link, Topology
from netsim.traces import Trace
from netsim.uplink import HeldUplink
from netsim.wire import Wire

if TYPE_CHECKING:  # torch takes seconds to import, and most runs do without it
    from fl.enrolment import Enrolment
    from fl.learning import Learning

#: Of the images of the paper, and how many labels they have.
_PAPER_IMAGES = (1, 28, 28), 10


class Experiment:
    """A scenario with everything it names read and checked, ready to run once or often."""

    def __init__(self, scenario: Scenario, *, allow_code: bool = False) -> None:
        """Draw what is drawn per device, and read the trace and the data.

        Args:
            scenario: What is run.
            allow_code: Whether classes of somebody's own that it names may be imported, and run.

        Raises:
            InputError: The trace, the data or the model do not fit the scenario, or it all does not
                fit into memory.
        """
        if not allow_code:
            refuse_code(scenario.name, scenario.own_code)
        check_memory(scenario)
        self.scenario = scenario
        self._streams = Streams(scenario.seed)
        self.enrolment = _enrolment(scenario, self._streams)
        self._radio = Radio(scenario, self._streams)
        self._participants = Participants(
            scenario.devices.count, scenario.num_participants, self._streams
        )
        self._topology = _topology(scenario)
        self.cost = self._make_cost()
        """What a round takes of each device."""
        with np.errstate(over="ignore"):
            costs = {
                "personal part": self.cost.personal_s,
                "warm-up": self.cost.warmup_s,
                "global part": self.cost.global_part_s,
            }
        for what, seconds in costs.items():
            check_finite(scenario.name, f"the time for the {what}", seconds)
        self._misfortune = None
        if scenario.faults is not None:
            self._misfortune = Misfortune(
                scenario.faults, self._streams, self.cost, scenario.devices.count
            )
        self.policy = Policy(
            scenario.scheme,
            self.cost,
            self._radio.noise_at,
            scenario.deadline,
            count_warmup=scenario.count_warmup,
            count_unpruned=scenario.count_unpruned,
        )

    @property
    def trace(self) -> Trace | None:
        """What the channels replay; None, if they stand still."""
        return self._radio.trace

    def run(
        self,
        sink: Sink,
        progress: Callable[[Outcome], None] = lambda _outcome: None,
        engine: EngineChoice = EngineChoice(),  # noqa: B008 -- it is frozen
    ) -> None:
        """Run all rounds that the sink does not have yet.

        Args:
            sink: Takes the results.
            progress: Told of each round that is over.
            engine: What computes what the devices learn; it makes no difference to the results.

        Raises:
            InputError: The run cannot go on: the trace has ended, an upload never will, or
                training has diverged.
        """
        if self.enrolment is None:
            self._run(sink, progress)
            return
        with self.enrolment.learning(engine) as learning:
            sink.facts["workers"] = learning.engine.workers
            constants = self.enrolment.constants(learning.cohort)  # of the first weights
            try:
                sink.restore(learning)
                self._run(sink, progress, learning=learning)
            finally:
                sink.facts["training_seconds"] = learning.effort.training_s
                sink.facts["evaluation_seconds"] = learning.effort.evaluation_s
            if constants is not None:
                sink.facts["bound"] = learning.bound(constants)

    def replay(self, sink: Sink) -> None:
        """Run one round, at which the sink stands, on the clock alone: nothing is learnt."""
        self._run(sink, lambda _outcome: None, sink.position.round + 1)

    def _run(
        self,
        sink: Sink,
        progress: Callable[[Outcome], None],
        until: int | None = None,
        learning: "Learning | None" = None,
    ) -> None:
        scenario = self.scenario
        env = Environment(sink.position.now_s)
        timeline = Timeline(PHASES)
        kind = HeldUplink if scenario.uplink.release == "hold" else RedistributedUplink
        seats = Seats(self._participants, self.cost, self._radio.channels)
        uplink = kind(env, self._radio.bandwidth_hz, seats.channels)
        links = [self._topology.wireless(0), *self._topology.backhaul()]
        backhaul = [Wire(env, link) for link in links if not link.is_free]
        server = Server(env, uplink, backhaul, timeline, self._rules(), learning, self._misfortune)
        devices = seats.devices(server)
        tables = Collector(sink, timeline, self.cost, scenario.deadline)

        def decide(now_s: float) -> Decision:
            who = seats.call(server.round, devices, uplink)
            known = self._radio.known_efficiency(now_s, seats.channels)
            return self.policy.decide(server.round, known, who)

        def report(outcome: Outcome) -> None:
            tables.append(outcome)
            progress(outcome)
            if sink.is_due:
                tables.flush()
                sink.keep(learning)

        last = scenario.rounds if until is None else until
        rounds = server.run(devices, last, decide, report, sink.position.round)
        whole_run = env.process(rounds)
        # What trains leaves cycles for the collector, what only waits does not.
        with _no_garbage_collection() if learning is None else nullcontext():
            try:
                env.run(whole_run)
                tables.flush()
            except BaseException as error:
                if learning is not None:
                    learning.settle()
                with suppress(OSError):  # the disk may be what failed
                    tables.flush()
                    sink.keep(learning)
                stalled = isinstance(error, RuntimeError) and env.peek() == float("inf")
                if stalled and whole_run.is_alive:
                    raise self._stalled(server, devices) from None
                raise

    def _rules(self) -> Rules:
        scenario = self.scenario
        cut_after_s = scenario.deadline if scenario.late == "drop" else None
        return Rules(scenario.network.broadcast, cut_after_s, scenario.network.aggregation)

    def _make_cost(self) -> Cost:
        scenario = self.scenario
        personal, shared, unpruned = self._count_weights()
        cycles = self._each("devices.cycles_per_weight", scenario.devices.cycles_per_weight)
        ranking = self._each(
            "devices.pruning_cycles_per_weight", scenario.devices.pruning_cycles_per_weight
        )
        # Warm-up serves only to rank the weights: where none is pruned there is none.
        prunes = scenario.scheme.pruning != "none"
        wires = self._topology.backhaul()
        return Cost(
            frequency_hz=self._each("devices.cpu_frequency", scenario.devices.cpu_frequency),
            personal_cycles=cycles * personal * scenario.iterations.personal,
            warmup_cycles=cycles * shared * scenario.iterations.warmup * prunes,
            prune_cycles=ranking * shared * prunes,
            global_cycles_per_weight=cycles * scenario.iterations.global_,
            bits_per_weight=scenario.uplink.bits_per_weight,
            global_weights=shared,
            unpruned_weights=unpruned,
            broadcast_s=scenario.network.broadcast,
            delivery_s=scenario.uplink.latency + sum(wire.latency_s for wire in wires),
            delivery_s_per_bit=sum(1 / wire.capacity_bps for wire in wires),
            joint=scenario.scheme.update == "simultaneous",
        )

    def _count_weights(self) -> tuple[int, int, int]:
        """Return N_v, N_u, and how many of the latter must not be pruned."""
        model, scheme = self.scenario.model, self.scenario.scheme
        if isinstance(model, GivenSizes):
            personal, shared = model.personal_weights, model.global_weights
            if scheme.split == "conv":
                return personal, shared, 0
            return 0, personal + shared, personal if scheme.split == "unpruned-conv" else 0
        if self.enrolment is not None:
            network = self.enrolment.network
        else:
            from fl.models.building import build_network  # noqa: PLC0415 -- imports torch

            network = build_network(
                model, scheme, *_PAPER_IMAGES, self._streams("learning.weights")
            )
        unpruned = int(network.unpruned.sum())
        return network.personal.num_weights, network.shared.num_weights, unpruned

    def _each(self, purpose: str, value: PerDevice) -> NDArray[np.float64]:
        return value.values(self.scenario.devices.count, lambda: self._streams(purpose))

    def _stalled(self, server: Server, devices: list[Device]) -> StalledError:
        waiting = [device.index for device in devices if not server.is_done(device)]
        shown = ", ".join(map(str, waiting[:5])) + (", ..." if len(waiting) > 5 else "")
        return StalledError(
            f"{self.scenario.name}: round {server.round} can never end: the upload of device "
            f"{shown} has no share of the band, or a channel that stays silent for ever; give "
            "it a share, prune it whole, or say late: drop"
        )


def _enrolment(scenario: Scenario, streams: Streams) -> "Enrolment | None":
    if scenario.learning is None:
        return None
    from fl.enrolment import Enrolment  # noqa: PLC0415 -- imports torch

    return Enrolment(scenario, streams)


def _topology(scenario: Scenario) -> Topology:
    hops = [
        Link(hop.capacity if hop.capacity is not None else float("inf"), hop.latency)
        for hop in scenario.network.backhaul
    ]
    # All devices have the same edge to the base station, so one stands for all: a node and an
    # edge for each of a million would take a gigabyte, and nobody would look at them.
    return Topology.star(1, scenario.uplink.latency, hops)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep the cycle collector from walking all devices again and again.

    A city of devices is millions of objects that live as long as the run, and the events
    between them leave no cycles; walking them took half of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
