"""A Ray cluster of two nodes on this machine, each a process tree of its own."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from process_tree import children_of

RAY = Path(sys.executable).with_name("ray")
SETTINGS = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
"""Of this test session, whoever else uses Ray on the machine, and whatever it has in its home."""


@contextmanager
def two_nodes(settings):
    """Start a head and another node with one processor each, and yield their address."""
    # A socket's path must be short, which the folders of pytest are not.
    folder = Path(tempfile.mkdtemp(prefix="nodes-", dir="/tmp"))
    port = free_port()
    address = f"127.0.0.1:{port}"
    head = ["--head", f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=false"]
    nodes = []
    try:
        for options in (head, [f"--address={address}"]):
            nodes.append(start_node(options, settings, folder / f"{len(nodes)}.log"))
            wait_for_node(nodes[-1], folder / f"{len(nodes) - 1}.log")
        yield address, [node.pid for node in nodes]
    finally:
        for node in reversed(nodes):
            stop_node(node)
        shutil.rmtree(folder, ignore_errors=True)


def start_node(options, settings, log):
    command = [RAY, "start", "--block", "--num-cpus=1", "--object-store-memory=200000000"]
    with log.open("w") as output:
        return subprocess.Popen(
            [*command, "--disable-usage-stats", *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | settings,
            start_new_session=True,
        )


def wait_for_node(node, log):
    deadline = time.monotonic() + 90
    while "Ray runtime started" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        assert node.poll() is None, log.read_text()
        time.sleep(0.1)


def stop_node(node):
    """End a node with all its processes."""
    below = children_of(node.pid)
    node.terminate()
    try:
        node.wait(timeout=40)
    except subprocess.TimeoutExpired:
        node.kill()
        node.wait()
    for pid in [pid for pid in below if is_alive(pid)]:
        os.kill(pid, signal.SIGKILL)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def free_port():
    """Return a port that nobody listens at; Ray's workers have others."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def busy_workers(nodes):
    """Return the processes below the nodes that have a task now."""
    found = []
    for node in nodes:
        for pid in children_of(node):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith(b"ray::_perform"):
                found.append(pid)
    return found
