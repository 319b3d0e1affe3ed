"""Processes that work for this one, and end with it.

They are forked from a server that has imported what they need once, and used none of it.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import TypeVar

Result = TypeVar("Result")
_GONE = (
    "a worker process is gone, killed by a signal or for want of memory; "
    "run again, with fewer --workers if memory was short"
)


class WorkerError(RuntimeError):
    """Worker processes cannot begin, or one is gone."""


class WorkerPool:
    """Hands work to processes."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor

    def submit(self, work: Callable[..., Result], *arguments: object) -> "Future[Result]":
        """Begin with some work.

        Raises:
            WorkerError: A process is gone.
        """
        try:
            return self._executor.submit(work, *arguments)
        except BrokenProcessPool:
            raise WorkerError(_GONE) from None


def result_of(future: "Future[Result]") -> Result:
    """Return what came of some work, when it is done.

    Raises:
        WorkerError: A process is gone.
    """
    try:
        return future.result()
    except BrokenProcessPool:
        raise WorkerError(_GONE) from None


@contextmanager
def worker_pool(
    workers: int, preload: str, prepare: Callable[..., None] | None = None, *arguments: object
) -> Iterator[WorkerPool]:
    """Keep *workers* processes for as long as the block lasts.

    Args:
        workers: How many.
        preload: The module that their server imports.
        prepare: What each process calls before its first work, with *arguments*, if anything.
        arguments: Of *prepare*.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    others = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(workers, context, _begin_work, (prepare, arguments))
    try:
        yield WorkerPool(executor)
    except BaseException:
        # Whatever they are at, nobody waits for it, and it may take long.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _begin_work(prepare: Callable[..., None] | None, arguments: tuple[object, ...]) -> None:
    begin_work()
    if prepare is not None:
        prepare(*arguments)


def begin_work() -> None:
    """Make this process a worker: it ends when the one that started it does, and not before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who gave it work decides when to stop
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """End this process when the one that started it is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
