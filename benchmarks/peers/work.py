"""The work that every framework is given, as its script reads it: an order, and arrays.

This module runs in the environment of each peer and needs NumPy alone. The order says how many
rounds, devices and iterations; the arrays hold the data, the first weights, and which samples
each iteration of each device sees. So all take the same steps, in whatever order they like.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Work:
    """What is to be done, and the data to do it with."""

    order: Mapping[str, Any]
    """rounds, devices, iterations, batch_size, learning_rate, cores; and file names."""
    arrays: Mapping[str, NDArray[Any]]
    """pixels, labels, mean, deviation; weights, to begin with; chosen, [rounds, devices,
    iterations, batch]: the samples of each step."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- a number, or a path
        """Return an entry of the order."""
        try:
            return self.order[name]
        except KeyError:
            raise AttributeError(name) from None

    def chosen(self, round_: int, device: int) -> NDArray[np.int64]:
        """Return which samples a device sees in a round, [iterations, batch]."""
        return self.arrays["chosen"][round_, device]


@cache
def read_work(path: str) -> Work:
    """Return the work of an order; a process that asks twice gets the same."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    with np.load(order["arrays"]) as arrays:
        return Work(order, dict(arrays))


def work_of_command() -> Work:
    """Return the work whose order is named on the command line."""
    return read_work(sys.argv[1])


class Laps:
    """The seconds of each round: one stamp at the beginning, and one when a round is over."""

    def __init__(self) -> None:
        self._stamps: list[float] = []

    def stamp(self) -> None:
        """Note the time."""
        self._stamps.append(time.perf_counter())

    @property
    def seconds(self) -> list[float]:
        """Of the rounds that are over."""
        return [end - begin for begin, end in zip(self._stamps, self._stamps[1:], strict=False)]


def answer(
    work: Work,
    laps: Laps,
    weights: NDArray[np.float32],
    steps: int,
    packages: tuple[str, ...],
) -> None:
    """Leave the final weights where the order says, and print what it took.

    Args:
        work: What was done.
        laps: The seconds of its rounds.
        weights: All of them, in the order of the network's parameters.
        steps: How many steps of gradient descent the devices counted.
        packages: Whose versions are to be told.
    """
    np.save(work.result, weights)
    versions = {name: version(name) for name in packages}
    print(json.dumps({"round_s": laps.seconds, "steps": steps, "versions": versions}), flush=True)
