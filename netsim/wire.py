"""Bits over a wired link: the backhaul between base station and edge server."""

from simpy import Environment
from simpy.events import Timeout

from netsim.topology import Link


class Wire:
    """A link that sends one message after another, in order of arrival.

    A message occupies the wire for bits / capacity, and arrives a latency after its last
    bit has left. It is stored and forwarded whole: packets are not modelled.
    """

    __slots__ = ("_env", "_free_at_s", "_link")

    def __init__(self, env: Environment, link: Link) -> None:
        self._env = env
        self._link = link
        self._free_at_s = env.now

    def send(self, bits: float) -> Timeout:
        """Return the event of *bits* having arrived; its value is the seconds until then."""
        now = self._env.now
        queued = max(self._free_at_s - now, 0.0)
        occupied = bits / self._link.capacity_bps
        self._free_at_s = now + queued + occupied
        seconds = queued + occupied + self._link.latency_s
        return Timeout(self._env, seconds, seconds)

    def abandon(self) -> None:
        """Drop what is under way and all that is queued; its events no longer matter."""
        self._free_at_s = self._env.now
