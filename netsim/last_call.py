"""A moment that comes after everything else of its time."""

import math

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


def seconds_until(env: Environment, at_s: float) -> float:
    """Return the delay after which the clock has reached *at_s*, whichever way it rounds."""
    delay_s = at_s - env.now
    return delay_s if env.now + delay_s >= at_s else math.nextafter(at_s, math.inf) - env.now
