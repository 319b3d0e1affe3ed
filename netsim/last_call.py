"""A moment that comes after everything else of its time."""

from simpy import Environment, Event
from simpy.events import EventPriority

_AFTER_ALL_OTHERS = EventPriority(2)  # SimPy's own are 0, urgent, and 1, normal


class LastCall(Event):
    """An event at a given time, after whatever happens at that same time.

    SimPy serves events of equal time in the order in which they were scheduled. What
    arrives at a deadline is in time, whenever the deadline was set: it has to wait.
    """

    def __init__(self, env: Environment, delay: float) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, _AFTER_ALL_OTHERS, delay)
