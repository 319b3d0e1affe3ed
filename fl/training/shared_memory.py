"""Tensors where other processes see them."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from fl.worker_pool import WorkerError

_PLACE = Path("/dev/shm")


def share(tensors: Sequence[Tensor]) -> None:
    """Move the tensors to shared memory.

    Raises:
        WorkerError: There is no room.
    """
    _check_room(sum(tensor.nbytes for tensor in tensors if not tensor.is_shared()))
    for tensor in tensors:
        tensor.share_memory_()


def shared_rows(vector: Tensor, count: int) -> Tensor:
    """Return *count* copies of *vector* in shared memory, and nowhere else.

    Raises:
        WorkerError: There is no room.
    """
    _check_room(vector.nbytes * count)
    rows = torch.empty(count, len(vector), dtype=vector.dtype)  # takes no memory while untouched
    rows.share_memory_()
    return rows.copy_(vector.expand(count, -1))


def _check_room(needed: int) -> None:
    """Say that there is too little; writing there would end the process without a word."""
    if not _PLACE.is_dir():
        return
    free = shutil.disk_usage(_PLACE).free
    if needed > free:
        raise WorkerError(
            f"{_PLACE}: has {free / 1e6:.0f} MB free, data and weights take {needed / 1e6:.0f} MB "
            "more; enlarge it, or use --engine inline"
        )
