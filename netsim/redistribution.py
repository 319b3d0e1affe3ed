"""The uplink on which the share of a device that has finished is given on."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from simpy import Environment, Event
from simpy.events import Timeout

from netsim.channel import Channel
from netsim.uplink import Uplink


def _grains(share: float) -> int:
    """Return *share* in whole parts of the band: what is added and taken away leaves no dust.

    There are 2**1022 of them, so that the share of any float is exact.
    """
    return int(math.ldexp(share, 1022))


_Stretch = tuple[float, float, float]
"""From when, to when, and the multiplier of that time."""


@dataclass(slots=True)
class _Upload:
    """An upload under way; `left` is what it still has to carry, in bits per own hertz."""

    device: int
    done: Event
    began_after_s: float  # since the round began
    bits: float
    left: float
    stretch: int  # the first stretch that `left` does not account for
    settled_at: float  # the virtual time up to which it does


class RedistributedUplink(Uplink):
    r"""When a device has finished, those still sending divide its share in proportion.

    While the senders S have the shares :math:`b_i`, and the finished devices had
    :math:`\varphi` together, everyone in S sends with m times its own share,

    .. math:: m = 1 + \varphi / \sum_{i \in S} b_i,

    so the senders use no more than what senders and finished were given. A device that is
    still computing keeps its share untouched until it sends; that of a device that was cut
    lies idle. Who sends once more in a round takes its share back.

    The multiplier m is common to all, and constant between two changes (a *stretch*).
    Virtual time is its integral. No upload can finish before the virtual time at which its
    channel's peak would have carried the rest of it; so at each change only those whose
    bound comes before the best finish found are asked for theirs. On constant channels
    the bound is the finish, and a change costs the logarithm of the senders, not their
    number. All this rests on efficiencies that are the same on any share.
    """

    def __init__(self, env: Environment, bandwidth_hz: float, channels: Sequence[Channel]) -> None:
        super().__init__(env, bandwidth_hz, channels)
        self._uploads: dict[int, _Upload] = {}
        self.connect(channels)
        self._begin_round()

    def connect(self, channels: Sequence[Channel]) -> None:
        """Put other devices in the places of those before; nobody may be sending."""
        if any(channel.depends_on_share for channel in channels):
            raise ValueError(
                "channels must not depend on the share to have shares given on: the multiplier "
                "common to all senders would change every efficiency at every change; hold them"
            )
        super().connect(channels)

    def allot(self, shares: Sequence[float]) -> None:
        """Give each device its share of the band; nobody may be sending."""
        if self._uploads:
            raise RuntimeError(f"devices still sending: {sorted(self._uploads)}")
        super().allot(shares)
        self._begin_round()

    def send(self, device: int, bits: float) -> Event:
        """Return the event of *bits* having left *device*; its value is the seconds taken."""
        share = self._shares[device]
        done = Event(self._env)
        self._close_stretch()
        if device in self._finished:  # once more: it takes its share back
            self._finished.remove(device)
            self._freed -= _grains(share)
        if bits == 0:
            self._free(device)
            done.succeed(0.0)
        elif _grains(share):
            left = bits / (share * self._bandwidth_hz)
            upload = _Upload(
                device, done, self._elapsed_s, bits, left, len(self._stretches), self._virtual_s
            )
            self._uploads[device] = upload
            self._sending += _grains(share)
            heapq.heappush(self._bounds, (self._bound(upload), device))
        self._open_stretch()
        return done

    def cut(self, device: int) -> float:
        """Stop the upload of *device* and return the bits it has sent."""
        upload = self._uploads.pop(device, None)
        if upload is None:  # no share: it never began
            return 0.0
        left = upload.left - self._carried(upload, self._under_way())
        if self._first is upload:
            self._close_stretch()
            self._open_stretch()
        return upload.bits - max(left, 0.0) * self._shares[device] * self._bandwidth_hz

    def _begin_round(self) -> None:
        self._freed = 0  # the shares of those who have finished, in grains
        self._finished: set[int] = set()
        self._sending = 0  # the shares of those who send, or were cut, in grains
        self._multiplier = 1.0
        self._virtual_s = 0.0
        self._elapsed_s = 0.0  # since the round began; a clock that does not grow stale
        self._since_s = self._env.now  # when the stretch under way began
        self._stretches: list[_Stretch] = []
        self._bounds: list[tuple[float, int]] = []  # heap of (virtual time, device)
        self._first: _Upload | None = None  # to finish, at the event below
        self._next: Timeout | None = None

    def _bound(self, upload: _Upload) -> float:
        """Return the virtual time before which *upload* cannot finish."""
        peak = self._channels[upload.device].peak
        return upload.settled_at + upload.left / peak if peak > 0 else math.inf

    def _close_stretch(self, seconds: float | None = None) -> None:
        """End the stretch under way, which took *seconds*, if these were waited for."""
        if seconds is None:
            seconds = self._env.now - self._since_s
        if seconds:
            self._stretches.append(self._under_way())
            self._virtual_s += seconds * self._multiplier
            self._elapsed_s += seconds
        self._since_s = self._env.now

    def _under_way(self) -> _Stretch:
        """Return the stretch under way, up to now."""
        return self._since_s, self._env.now, self._multiplier

    def _settle(self, upload: _Upload) -> None:
        """Subtract what *upload* has carried in the stretches closed since last time."""
        upload.left = max(upload.left - self._carried(upload), 0.0)
        upload.stretch = len(self._stretches)
        upload.settled_at = self._virtual_s

    def _carried(self, upload: _Upload, *more: _Stretch) -> float:
        """Return what *upload* has carried since it was settled last, in bits per own hertz."""
        channel = self._channels[upload.device]
        if channel.is_constant:
            virtual_s = self._virtual_s + sum((to - since) * m for since, to, m in more)
            return channel.peak * (virtual_s - upload.settled_at)
        return math.fsum(
            multiplier * channel.carried(from_s, to_s)
            for from_s, to_s, multiplier in [*self._stretches[upload.stretch :], *more]
        )

    def _free(self, device: int) -> None:
        """Let the others have the share of *device*."""
        self._finished.add(device)
        self._freed += _grains(self._shares[device])

    def _open_stretch(self) -> None:
        """Begin a stretch with the senders as they are now, and wait for the first to finish."""
        self._first = self._next = None
        if not self._uploads:
            return
        self._multiplier = 1.0 + self._freed / self._sending
        self._first, soonest_s = self._first_to_finish()
        if self._first is not None:
            self._next = Timeout(self._env, soonest_s, soonest_s)
            self._next.callbacks.append(self._finish)

    def _first_to_finish(self) -> tuple[_Upload | None, float]:
        now = self._env.now
        first, soonest_s = None, math.inf
        asked: list[_Upload] = []
        while self._bounds:
            bound, device = self._bounds[0]
            if (bound - self._virtual_s) / self._multiplier >= soonest_s:
                break
            heapq.heappop(self._bounds)
            upload = self._uploads.get(device)
            if upload is None:  # cut meanwhile
                continue
            self._settle(upload)
            channel = self._channels[device]
            seconds = channel.seconds_to_carry(now, upload.left / self._multiplier)
            if seconds < soonest_s:
                first, soonest_s = upload, seconds
            asked.append(upload)
        for upload in asked:
            heapq.heappush(self._bounds, (self._bound(upload), upload.device))
        return first, soonest_s

    def _finish(self, event: Event) -> None:
        upload = self._first
        if event is not self._next or upload is None:  # the senders have changed meanwhile
            return
        del self._uploads[upload.device]
        self._close_stretch(event.value)
        self._sending -= _grains(self._shares[upload.device])
        self._free(upload.device)
        upload.done.succeed(self._elapsed_s - upload.began_after_s)
        self._open_stretch()
