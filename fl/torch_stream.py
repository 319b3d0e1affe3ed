"""Torch's own generator, seeded out of a named stream.

Layers draw their first weights, and dropout its zeros, from torch's global generator, and
take no other. So it is seeded here, for a while, and put back as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def torch_seeded(stream: np.random.Generator) -> Iterator[None]:
    """Let torch draw from *stream* within the block, and leave no trace of it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream.integers(2**63)))
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread within the block.

    How a sum is divided among threads decides how it is rounded, so whatever is to give the
    same bits everywhere runs on one.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
