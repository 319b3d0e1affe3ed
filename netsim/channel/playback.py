"""A trace on the clock: where in it a time lies, and what follows its end."""

from enum import StrEnum
from typing import Generic, TypeVar

from netsim.channel.channel import Channel
from netsim.channel.segments import Segments
from netsim.errors import TraceError

#: The clock may round the end of an upload to just beyond the end of the trace.
ROUNDED_UP = 1 + 1e-12

#: What is replayed.
S = TypeVar("S", bound=Segments)


class AtEnd(StrEnum):
    """What follows the end of a trace."""

    REPEAT = "repeat"
    HOLD = "hold"
    ERROR = "error"


class Playback(Channel, Generic[S]):
    """One device's trace on absolute simulated time."""

    __slots__ = ("_at_end", "_offset_s", "_repeats", "_segments", "_who")

    def __init__(
        self, segments: S, at_end: AtEnd, offset_s: float = 0.0, who: str = "the trace"
    ) -> None:
        """Replay *segments*.

        Args:
            segments: What the channel did.
            at_end: What follows their end.
            offset_s: Where in them the simulation begins.
            who: How an error calls this trace.
        """
        if not offset_s >= 0:
            raise ValueError(f"offset_s must be >= 0, got {offset_s}")
        self._segments = segments
        self._at_end = at_end
        self._repeats = at_end is AtEnd.REPEAT
        self._offset_s = offset_s
        self._who = who

    @property
    def is_constant(self) -> bool:
        """Never: a trace that does not move is replayed by a channel that does not either."""
        return False

    def _past_end(self, position: float) -> tuple[float, float]:
        """Return how often the trace has been played by *position*, and where that leads."""
        span_s = self._segments.span_s
        if self._at_end is AtEnd.REPEAT:
            return divmod(position, span_s)
        if self._at_end is AtEnd.HOLD:
            return 0.0, position
        if position > span_s * ROUNDED_UP:
            raise self._too_short()
        return 0.0, span_s

    def _too_short(self) -> TraceError:
        ends_at_s = self._segments.span_s - self._offset_s
        return TraceError(
            f"{self._who} ends at {ends_at_s:g} s of simulated time, and the simulation goes on; "
            "give a longer trace, or say at_end: repeat or hold"
        )
