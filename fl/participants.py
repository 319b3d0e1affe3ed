"""Who takes part in a round: all devices of the cell, or some of them, drawn anew each time.

A process is made for each who takes part, not for each there is: it is a seat that another
device takes in the next round. So time and memory of a round go with its participants.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fl.models import Cost
from fl.round import Device
from fl.server import Server
from netsim.channel import Channel
from netsim.cpu import Cpu
from netsim.streams import Streams
from netsim.uplink import Uplink


class Participants:
    """Draws who takes part: so many of all devices, each as likely as any other.

    The draw depends on the seed and the round alone.
    """

    def __init__(self, num_devices: int, number: int, streams: Streams) -> None:
        if not 1 <= number <= num_devices:
            raise ValueError(f"number must be from 1 to {num_devices}, got {number}")
        self.num_devices = num_devices
        self.number = number
        """How many take part in a round."""
        self._streams = streams

    @property
    def are_all(self) -> bool:
        """Whether everybody takes part in every round."""
        return self.number == self.num_devices

    def of(self, round_: int) -> NDArray[np.int64]:
        """Return the numbers of those who take part in a round, in increasing order."""
        if self.are_all:
            return np.arange(self.num_devices)
        stream = self._streams("participants", round_)
        return np.sort(stream.choice(self.num_devices, self.number, replace=False, shuffle=False))


class Seats:
    """The places of those who take part in a round, and who sits in them."""

    def __init__(self, participants: Participants, cost: Cost, channels: Sequence[Channel]) -> None:
        """Give the first devices a seat; others may be called before the first round.

        Args:
            participants: Who is to be called.
            cost: What a round takes of each device there is.
            channels: Of each device there is.
        """
        self._participants = participants
        self._cost = cost
        self._all_channels = channels
        self.channels: Sequence[Channel] = list(channels[: participants.number])
        """Of those who sit in the places now."""

    def devices(self, server: Server) -> list[Device]:
        """Return a device for each place."""
        first = self._cost.only(np.arange(self._participants.number))
        return [
            Device(place, Cpu(server.env, frequency_hz), work, server)
            for place, (frequency_hz, work) in enumerate(
                zip(first.frequency_hz.tolist(), first.workloads(), strict=True)
            )
        ]

    def call(
        self, round_: int, devices: Sequence[Device], uplink: Uplink
    ) -> NDArray[np.int64] | None:
        """Let those who take part in a round take their places; None: everybody, as ever."""
        if self._participants.are_all:
            return None
        who = self._participants.of(round_)
        cost, numbers = self._cost.only(who), who.tolist()
        taken = zip(devices, numbers, cost.frequency_hz.tolist(), cost.workloads(), strict=True)
        for device, number, frequency_hz, work in taken:
            device.become(number, frequency_hz, work)
        self.channels = [self._all_channels[number] for number in numbers]
        uplink.connect(self.channels)
        return who
