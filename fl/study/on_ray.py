"""Runs as tasks on a Ray cluster, one task each.

The machines of the cluster share the folder that the runs go to, under the same path.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from fl.ray_cluster import Cluster, Handle
from fl.study.jobs import Ended, Job, make_run
from fl.study.local import ATTEMPTS
from fl.worker_pool import WorkerError


class OnRay:
    """Makes runs on the machines of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.workers = cluster.workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Ended]:
        """Make all runs, and tell of each when it is over; Ray begins anew what it has lost."""
        waiting = deque(jobs)
        running: dict[Handle[str | None], Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    job = waiting.popleft()
                    handle = self._cluster.submit(make_run, job, retries=ATTEMPTS - 1)
                    running[handle] = job
                for handle in self._cluster.wait(list(running)):
                    yield Ended(running.pop(handle), self._result(handle))
        finally:
            self._cluster.cancel(list(running))

    def _result(self, handle: Handle[str | None]) -> str | None:
        try:
            return self._cluster.result(handle)
        except WorkerError as error:
            return str(error)
