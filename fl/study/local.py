"""Runs in processes on this machine, one process each.

A process of its own costs a run some milliseconds: it is forked from a server that has imported
all it needs. If it dies, nothing else does; and what it held goes with it.
"""

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fl.study.jobs import Ended, Job, make_run
from fl.worker_pool import begin_work

ATTEMPTS = 3
"""So often a run is begun whose process dies."""
#: How long a process that was asked to end may take.
_PATIENCE_S = 5.0


@dataclass
class _Running:
    """A run under way."""

    job: Job
    attempt: int
    process: BaseProcess
    answer: "Connection[None, str | None]"


class Local:
    """Makes runs on the cores of this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Ended]:
        """Make all runs, and tell of each when it is over."""
        crew = _Crew(self.workers, jobs)
        try:
            while crew.fill():
                ended = crew.wait()
                crew.fill()  # before anybody is told, which may take a while
                yield from ended
        finally:
            crew.stop()


class _Crew:
    """The processes of the moment."""

    def __init__(self, workers: int, jobs: Sequence[Job]) -> None:
        self._workers = workers
        self._waiting = deque((job, 1) for job in jobs)
        self._running: dict[int, _Running] = {}
        learns = any(job.scenario.learning is not None for job in jobs)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fl.enrolment" if learns else "fl.study.jobs"])

    def fill(self) -> bool:
        """Begin as many runs as there is room for, and return whether any are under way."""
        while self._waiting and len(self._running) < self._workers:
            job, attempt = self._waiting.popleft()
            answer, write = self._context.Pipe(duplex=False)
            process = self._context.Process(target=_work, args=(job, write))
            process.start()
            write.close()  # so that the answer ends with the process
            self._running[process.sentinel] = _Running(job, attempt, process, answer)
        return bool(self._running)

    def wait(self) -> list[Ended]:
        """Wait until some process is over, and return the runs that are."""
        ended = []
        for sentinel in wait(list(self._running)):
            assert isinstance(sentinel, int)
            one = self._running.pop(sentinel)
            one.process.join()
            try:
                ended.append(Ended(one.job, one.answer.recv()))
            except EOFError:  # it died
                if one.attempt < ATTEMPTS:
                    self._waiting.appendleft((one.job, one.attempt + 1))
                else:
                    ended.append(Ended(one.job, _death(one.process)))
        return ended

    def stop(self) -> None:
        """End whatever is under way."""
        for one in self._running.values():
            one.process.terminate()
        for one in self._running.values():
            one.process.join(_PATIENCE_S)
            one.process.kill()
            one.process.join()


def _work(job: Job, answer: "Connection[str | None, None]") -> None:
    """Make a run, in a process of its own."""
    begin_work()
    answer.send(make_run(job))


def _death(process: BaseProcess) -> str:
    code = process.exitcode or 0
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return (
        f"its process was {how}, {ATTEMPTS} times; if memory was short, run again with fewer "
        "--workers"
    )
