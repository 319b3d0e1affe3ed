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

    __slots__ = ("_env", "_free_at_s", "_is_slow", "_slowdown", "_spells", "frequency_hz")

    def __init__(self, env: Environment, frequency_hz: float) -> None:
        if not frequency_hz > 0:
            raise ValueError(f"frequency_hz must be > 0, got {frequency_hz}")
        self._env = env
        self._free_at_s = env.now
        self.frequency_hz = frequency_hz
        """Cycles a second."""
        self.slow_down()

    def slow_down(self, slowdown: float = 1.0, spells: Sequence[Spell] = ()) -> None:
        """Be slower than usual, for work that is asked for from now on.

        Args:
            slowdown: So many times longer does everything take.
            spells: When it is slower still.
        """
        self._slowdown = slowdown
        self._spells = spells
        self._is_slow = slowdown != 1.0 or bool(spells)

    def run(self, cycles: float) -> Timeout:
        """Return the event of *cycles* being done; its value is the seconds until then.

        These are the work's own seconds, and before them those of the work queued ahead.
        """
        now = self._env.now
        queued_s = self._free_at_s - now
        seconds = cycles / self.frequency_hz
        if self._is_slow:
            begin_s = now + max(queued_s, 0.0)
            seconds = stretched(seconds * self._slowdown, begin_s, self._spells)
        if queued_s > 0:
            seconds += queued_s
        self._free_at_s = now + seconds
        return Timeout(self._env, seconds, seconds)

    def abandon(self) -> None:
        """Drop the work under way and all that is queued; its events no longer matter."""
        self._free_at_s = self._env.now
