"""Machines that work for this process: a Ray cluster, found or started.

Ray is an extra, and takes seconds to import: nothing here needs it before it is asked for.
"""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NewType, TypeVar

from fl.ray_address import check_address, check_status
from fl.worker_pool import WorkerError
from netsim.errors import InputError

if TYPE_CHECKING:
    from ray import ObjectRef

Result = TypeVar("Result")
Stored = NewType("Stored", object)
"""Something that lies in the cluster's memory."""

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # else it prints what it thinks of each lost worker
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns that it will be so one day
}
"""What Ray reads when it is imported: it is to say nothing, here or to its makers."""


class Handle(Generic[Result]):
    """Some work that was begun."""

    __slots__ = ("reference",)

    def __init__(self, reference: "ObjectRef[Result]") -> None:
        self.reference = reference


class Cluster:
    """Hands work to a Ray cluster; each piece has one processor, wherever it is."""

    def __init__(self, ray: Any, workers: int | None) -> None:  # noqa: ANN401 -- the module
        self._ray = ray
        self.num_cpus = int(ray.cluster_resources().get("CPU", 0))
        """How many pieces of work the cluster computes at a time."""
        if not self.num_cpus:
            raise InputError("--engine ray: the cluster has no processors; add nodes to it")
        self.workers = min(workers or self.num_cpus, self.num_cpus)
        """How many of them this process is to have."""

    def store(self, value: object) -> Stored:
        """Put something where all workers can read it; see `stored`.

        Raises:
            WorkerError: There is no room.
        """
        try:
            return Stored(self._ray.put(value))
        except self._ray.exceptions.RayError as error:
            raise WorkerError(f"Ray has no room for the data: {_first_line(error)}") from None

    def submit(
        self, work: Callable[..., Result], *arguments: object, retries: int
    ) -> Handle[Result]:
        """Begin with some work.

        Args:
            work: A function of a module that workers can import.
            arguments: Of *work*; what was stored is handed on as it is.
            retries: How often it is begun again because its worker is gone. What it raises itself
                is a result, and ends it.
        """
        remote = self._ray.remote(num_cpus=1, max_retries=retries)(_perform)
        return Handle(remote.remote(work, list(arguments)))

    def wait(
        self, handles: Sequence[Handle[Result]], timeout_s: float | None = None
    ) -> list[Handle[Result]]:
        """Wait until some work is done, and return all that is; none, if none was in time."""
        by_reference = {handle.reference: handle for handle in handles}
        if not by_reference:
            return []
        references = list(by_reference)
        self._ray.wait(references, num_returns=1, timeout=timeout_s, fetch_local=False)
        done, _ = self._ray.wait(
            references, num_returns=len(references), timeout=0, fetch_local=False
        )
        return [by_reference[reference] for reference in done]

    def result(self, handle: Handle[Result]) -> Result:
        """Return what came of some work, when it is done, or raise what it raised.

        Raises:
            WorkerError: Its worker is gone, as often as it was begun.
        """
        errors = self._ray.exceptions
        try:
            return self._ray.get(handle.reference)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.WorkerCrashedError:
            why = "killed by a signal or for want of memory, each time the work was begun"
        except errors.OutOfMemoryError:
            why = "its machine had no memory left; give the cluster more, or fewer processors"
        except errors.TaskCancelledError:
            why = "it was called off"
        except errors.RayError as error:
            why = _first_line(error)
        raise WorkerError(f"a Ray worker is gone: {why}") from None

    def cancel(self, handles: Sequence[Handle[Any]]) -> None:
        """Call off what is not done, even if it is under way."""
        for handle in handles:
            self._ray.cancel(handle.reference, force=True)


def stored(value: Stored) -> Any:  # noqa: ANN401 -- whatever was stored
    """Return what another process has stored; arrays are not copied, and cannot be written."""
    return _ray().get(value)


def check_cluster(address: str | None) -> None:
    """Look whether a cluster can be had, without connecting to it: this takes moments.

    Raises:
        InputError: Ray is not installed, or nothing that could be Ray is at the address.
    """
    if find_spec("ray") is None:
        raise InputError(
            "--engine ray: Ray is not installed; pip install 'straggler[ray]', or use another engine"
        )
    if address is not None:
        check_address(address, "--address")
    elif (named := os.environ.get("RAY_ADDRESS", "")) not in ("", "auto", "local"):
        check_address(named, "RAY_ADDRESS")


@contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
    """Stay connected to a Ray cluster for as long as the block lasts.

    Args:
        address: Of its head, as HOST:PORT; by default that of the environment variable
            RAY_ADDRESS or the one that runs on this machine. If there is none, one is started for
            as long as the block lasts.
        workers: How many tasks at a time; by default, one for each processor of the cluster.

    Raises:
        InputError: Ray is not installed, or there is no cluster at the address.
        WorkerError: A cluster cannot be started here.
    """
    check_cluster(address)
    ray = _ray()
    with ExitStack() as stack:
        if not ray.is_initialized():
            stack.callback(ray.shutdown)
            found = address or _running(ray)
            if found is None:
                _start(ray, workers, stack)
            else:
                _connect(ray, found)
        elif address is not None:
            raise InputError("--address: this process is connected to Ray already; leave it out")
        yield Cluster(ray, workers)


def _ray() -> Any:  # noqa: ANN401 -- the module; it is not always there to be checked
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray  # noqa: PLC0415 -- takes seconds, and is an extra

    return ray


def _running(ray: Any) -> str | None:  # noqa: ANN401 -- the module
    """Return the address of the cluster that this process would join by itself, if any."""
    named = os.environ.get("RAY_ADDRESS", "")
    if named not in ("", "auto"):
        return None if named == "local" else named
    # What ``ray start`` has noted; ``auto`` would also find one that ends with another process.
    noted: str | None = ray._private.services.find_bootstrap_address(None)
    try:
        if noted is not None:
            check_address(noted, "ray start")
    except InputError:
        return None  # it is gone, and nobody has said ``ray stop``
    return noted


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401 -- the module
    check_status(address)
    try:
        with _signals_kept():
            ray.init(address, **_manners(ray))
    except Exception as error:
        raise InputError(
            f"--address: cannot join the Ray cluster at {address}: {_first_line(error)}; "
            "this machine must be a node of it, with the same versions of Ray and Python"
        ) from error


def _start(ray: Any, workers: int | None, stack: ExitStack) -> None:  # noqa: ANN401 -- the module
    """Start a cluster on this machine, with files of its own that go with it."""
    files = tempfile.TemporaryDirectory(prefix="straggler-", ignore_cleanup_errors=True)
    try:
        with _signals_kept():
            ray.init(
                "local",
                num_cpus=workers,
                include_dashboard=False,
                _temp_dir=files.name,
                **_manners(ray),
            )
    except Exception as error:
        raise WorkerError(f"Ray cannot be started here: {_first_line(error)}") from error
    finally:
        # Ray goes first: the last callback is called first.
        stack.callback(files.cleanup)
        stack.callback(ray.shutdown)


def _manners(ray: Any) -> dict[str, Any]:  # noqa: ANN401 -- the module
    return {
        "logging_level": logging.ERROR,
        "log_to_driver": False,
        "job_config": ray.job_config.JobConfig(_py_driver_sys_path=_own_paths()),
    }


def _own_paths() -> list[str]:
    """Return where this process finds modules that do not come with Python, last one first.

    Workers put each in front of those before.
    """
    paths = [str(Path(path).resolve()) for path in sys.path]
    of_python = tuple({str(Path(prefix).resolve()) for prefix in (sys.prefix, sys.base_prefix)})
    return [path for path in reversed(paths) if not path.startswith(of_python)]


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep what this process does when it is asked to end; Ray would have it another way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, kept)


def _perform(work: Callable[..., Result], arguments: list[object]) -> Result:
    return work(*arguments)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
