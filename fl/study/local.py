"""Runs in processes on this machine.

They are forked from a server that has imported all it needs, and make one run after another. If
one dies, its run is made again by another; nothing else is lost.
"""

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fl.study.jobs import Ended, Job, make_run
from fl.worker_pool import begin_work

ATTEMPTS = 3
"""So often a run is begun whose process dies."""
#: How long a process that was asked to end may take.
_PATIENCE_S = 5.0


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


@dataclass(eq=False)
class _Worker:
    """A process, and what it is at."""

    process: BaseProcess
    line: "Connection[Job, str | None]"
    job: Job | None = None
    attempt: int = 0

    def begin(self, job: Job, attempt: int) -> None:
        """Give it something to do."""
        self.job, self.attempt = job, attempt
        with suppress(OSError):  # if it has died meanwhile, who waits for it will see
            self.line.send(job)


class _Crew:
    """The processes of the moment."""

    def __init__(self, workers: int, jobs: Sequence[Job]) -> None:
        self._most = workers
        self._waiting = deque((job, 1) for job in jobs)
        self._workers: list[_Worker] = []
        ready = ["fl.study.readiness"]
        if any(job.scenario.learning is not None for job in jobs):
            ready.append("fl.enrolment")
        # A process runs the script that began all this once more, and so imports what that did.
        ready += [name for name in sys.modules if name.partition(".")[0] == "fl"]
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(ready)

    def fill(self) -> bool:
        """Give everybody something to do, and return whether any runs are under way."""
        while self._waiting:
            idle = next((worker for worker in self._workers if worker.job is None), None)
            if idle is None and len(self._workers) == self._most:
                break
            (idle or self._hire()).begin(*self._waiting.popleft())
        return any(worker.job is not None for worker in self._workers)

    def wait(self) -> list[Ended]:
        """Wait until some run is over, or its process is, and return the runs that are."""
        ended = []
        busy = {worker.line: worker for worker in self._workers if worker.job is not None}
        for line in wait(list(busy)):
            assert isinstance(line, Connection)
            worker = busy[line]
            job, worker.job = worker.job, None
            assert job is not None
            try:
                ended.append(Ended(job, worker.line.recv()))
            except (EOFError, ConnectionResetError):  # it died
                self._workers.remove(worker)
                worker.process.join()
                if worker.attempt < ATTEMPTS:
                    self._waiting.appendleft((job, worker.attempt + 1))
                else:
                    ended.append(Ended(job, _death(worker.process)))
        return ended

    def stop(self) -> None:
        """Let everybody go, whatever it is at."""
        for worker in self._workers:
            worker.line.close()
            if worker.job is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_PATIENCE_S)
            worker.process.kill()
            worker.process.join()

    def _hire(self) -> _Worker:
        line, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs,))
        process.start()
        theirs.close()  # so that the line ends with the process
        worker = _Worker(process, line)
        self._workers.append(worker)
        return worker


def _work(line: "Connection[str | None, Job]") -> None:
    """Make one run after another, in a process of its own."""
    begin_work()
    while True:
        try:
            job = line.recv()
        except EOFError:  # there are no more
            return
        line.send(make_run(job))


def _death(process: BaseProcess) -> str:
    code = process.exitcode or 0
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return (
        f"its process was {how}, {ATTEMPTS} times; if memory was short, run again with fewer "
        "--workers"
    )
