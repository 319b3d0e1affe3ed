"""Work on a Ray cluster: real nodes, real workers, really killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import ray_work
from ray_nodes import free_port

from fl import ray_address as ray_address_module
from fl import ray_cluster
from fl.ray_address import check_address, check_status
from fl.ray_cluster import check_cluster, cluster
from fl.worker_pool import WorkerError
from netsim.errors import InputError

on_ray = [pytest.mark.ray, pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def running(ray_nodes):
    """A connection for all tests of this file; each takes a second."""
    with cluster(ray_nodes[0]) as connected:
        yield connected


class TestWork:
    pytestmark = on_ray

    def test_each_node_is_counted(self, running):
        assert running.num_cpus == running.workers == 2

    def test_results_are_those_of_the_work(self, running):
        handles = [running.submit(ray_work.square, n, retries=0) for n in range(5)]
        assert [running.result(handle) for handle in handles] == [0, 1, 4, 9, 16]

    def test_what_is_done_is_told_and_what_is_not_is_not_waited_for(self, running):
        quick, slow = (running.submit(ray_work.sleep, s, retries=0) for s in (0.0, 600.0))
        assert running.wait([slow], timeout_s=0.1) == []
        assert running.wait([slow, quick], timeout_s=60) == [quick]
        assert running.wait([]) == []
        running.cancel([slow])
        with pytest.raises(WorkerError, match="called off"):
            running.result(slow)

    def test_an_error_of_the_work_is_raised_as_it_was(self, running):
        handle = running.submit(ray_work.refuse, "devices.count: too many", retries=3)
        with pytest.raises(InputError) as raised:
            running.result(handle)
        assert type(raised.value) is InputError
        assert str(raised.value) == "devices.count: too many"

    def test_work_of_a_worker_that_is_killed_is_begun_again(self, running, tmp_path, capfd):
        handle = running.submit(ray_work.survive_once, str(tmp_path), retries=2)
        deadline = time.monotonic() + 60
        while not (tmp_path / "0").exists() or not (tmp_path / "0").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(int((tmp_path / "0").read_text()), signal.SIGKILL)
        assert running.result(handle) == "1"
        assert capfd.readouterr() == ("", "")

    def test_but_not_for_ever(self, running):
        handle = running.submit(ray_work.die, retries=1)
        with pytest.raises(WorkerError, match="gone: killed by a signal or for want of memory"):
            running.result(handle)

    def test_what_is_stored_is_read_without_a_copy(self, running):
        numbers = np.arange(100_000)
        kept = running.store(numbers)
        handle = running.submit(ray_work.total_of_stored, kept, retries=0)
        assert running.result(handle) == (numbers.sum(), False)

    def test_workers_find_the_modules_that_this_process_finds_in_the_same_order(self, running):
        theirs = running.result(running.submit(ray_work.places, retries=0))
        paths = [str(Path(path).resolve()) for path in sys.path]
        ours = [path for path in paths if not path.startswith((sys.prefix, sys.base_prefix))]
        places = [theirs.index(path) for path in dict.fromkeys(ours) if path != str(Path.cwd())]
        assert places == sorted(places)

    def test_a_connection_is_shared_within_a_process(self, running, ray_address):
        with cluster() as same:
            assert same.result(same.submit(ray_work.square, 3, retries=0)) == 9
        assert running.result(running.submit(ray_work.square, 4, retries=0)) == 16
        with pytest.raises(InputError, match="connected to Ray already"), cluster(ray_address):
            pass


@contextmanager
def listening(answer):
    """Yield the address of a server that says *answer* to everybody, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve():
            while True:
                try:
                    held.append(server.accept()[0])
                    if answer:
                        held[-1].sendall(answer)
                        held[-1].shutdown(socket.SHUT_WR)
                except OSError:
                    return  # closed, here or there

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"OK", b"\0" * 30])
def test_something_else_that_answers_is_told_in_time(answer, monkeypatch):
    monkeypatch.setattr(ray_address_module, "_TIMEOUT_S", 0.5)
    with listening(answer) as address, pytest.raises(InputError, match="not the head of a cluster"):
        check_address(address, "--address")


def test_a_server_that_drips_is_not_listened_to_for_ever(monkeypatch):
    monkeypatch.setattr(ray_address_module, "_TIMEOUT_S", 0.5)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def drip():
            connection, _ = server.accept()
            with connection, suppress(OSError):  # nobody listens any more
                while not stop.wait(0.2):
                    connection.send(b"\0")

        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(InputError, match="not the head of a cluster"):
            check_address(f"127.0.0.1:{server.getsockname()[1]}", "--address")
        stop.set()
        thread.join()
    assert time.monotonic() - began < 30  # it would drip for ever


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "must be HOST:PORT"),
        ("head", "must be HOST:PORT"),
        (":6379", "must be HOST:PORT"),
        ("head:0", "must be HOST:PORT"),
        ("head:65536", "must be HOST:PORT"),
        ("head:sixty", "must be HOST:PORT"),
        ("ray://head:10001", "must be HOST:PORT"),
        ("head.invalid:6379", "cannot be reached: "),
        ("a" * 70 + ".invalid:6379", "cannot be reached: "),
        ("[::1]:1", "cannot be reached: "),
    ],
)
def test_an_address_that_is_none_is_refused(address, message):
    with pytest.raises(InputError, match=f"^--address: .*{message}"):
        check_address(address, "--address")


class TestStatus:
    pytestmark = on_ray

    def test_a_cluster_that_asks_for_a_token_says_so(self, ray_address, monkeypatch):
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.delenv(name)
        with pytest.raises(InputError, match="asks for a token; set RAY_AUTH_MODE=token"):
            check_status(ray_address)

    @pytest.mark.usefixtures("ray_settings")
    def test_one_that_never_answers_is_not_waited_for(self, monkeypatch):
        monkeypatch.setattr(ray_address_module, "_STATUS_TIMEOUT_S", 3.0)
        # The first frame of a server of HTTP/2, which need not be Ray.
        with listening(b"\0\0\0\4\0\0\0\0\0") as address:
            check_address(address, "--address")
            with pytest.raises(InputError, match="has answered within 3 s"):
                check_status(address)


@pytest.mark.ray
@pytest.mark.usefixtures("ray_settings")
def test_an_address_of_the_environment_is_looked_at_too(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port()}")
    with pytest.raises(InputError, match=r"^RAY_ADDRESS: 127\.0\.0\.1:\d+: cannot be reached"):
        check_cluster(None)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"pip install 'straggler\[ray\]'"):
        check_cluster(None)


def test_everything_else_works_without_it():
    code = """
import sys
sys.modules["ray"] = None  # any import of it fails
import fl, fl.cli, fl.enrolment
print(fl.run("scenarios/frozen-channel.yaml", rounds=1).rounds.num_rows)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "1\n"
