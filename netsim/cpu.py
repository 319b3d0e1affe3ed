"""Cycles to seconds: the processor of one device."""

from collections.abc import Sequence

from simpy import Environment
from simpy.events import Timeout

from netsim.spell import Spell, stretched


class Cpu:
    """One core that does one piece of work after another, in the order asked for.

    Work is never preempted, so the time at which a piece will be done is known when it
    is asked for; no queue has to be walked.
    """

    __slots__ = ("_env", "_free_at_s", "frequency_hz", "slowdown", "spells")

    def __init__(self, env: Environment, frequency_hz: float) -> None:
        if not frequency_hz > 0:
            raise ValueError(f"frequency_hz must be > 0, got {frequency_hz}")
        self._env = env
        self._free_at_s = env.now
        self.frequency_hz = frequency_hz
        """Cycles a second."""
        self.slowdown = 1.0
        """So many times longer does work take that is asked for from now on."""
        self.spells: Sequence[Spell] = ()
        """When it is slower still."""

    def run(self, cycles: float) -> Timeout:
        """Return the event of *cycles* being done; its value is the seconds until then.

        These are the work's own seconds, and before them those of the work queued ahead.
        """
        now = self._env.now
        seconds = cycles * self.slowdown / self.frequency_hz
        queued = self._free_at_s - now if self._free_at_s > now else 0.0
        if self.spells:
            seconds = stretched(seconds, now + queued, self.spells)
        seconds += queued
        self._free_at_s = now + seconds
        return Timeout(self._env, seconds, seconds)

    def abandon(self) -> None:
        """Drop the work under way and all that is queued; its events no longer matter."""
        self._free_at_s = self._env.now
