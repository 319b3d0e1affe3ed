"""The command in real processes that begin at once.

They are forked from a server, this file as a program, which has imported all they need. But for that
they are as others: whoever starts them has their process id, their output and their status.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

_PATIENCE_S = 120


@dataclass(frozen=True)
class Place:
    """What a command finds around it."""

    namespaces: tuple[str, ...] = ()
    """Files that stand for the namespaces that it enters."""
    most_bytes: int | None = None
    """Of a file; to write more fails."""


HERE = Place()


class Commands:
    """Begins commands, and ends with the tests those that are not over."""

    def __init__(self, folder):
        self._folder = folder
        self._numbers = count()
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path.cwd())},
        )

    def begin(self, *words, place=HERE):
        """Return a command that goes on beside the test."""
        number = next(self._numbers)
        out, errors = (self._folder / f"{number}.{name}" for name in ("out", "errors"))
        begin = {"words": [*map(str, words)], "out": str(out), "errors": str(errors)}
        return Command(self._ask(begin | asdict(place)), out, errors, self._ask)

    def run(self, *words, place=HERE):
        """Return a command that is over."""
        command = self.begin(*words, place=place)
        command.wait()
        return command

    def close(self):
        self._server.communicate()

    def _ask(self, question):
        self._server.stdin.write(json.dumps(question) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())


class Command:
    """One that was begun."""

    def __init__(self, pid, out, errors, ask):
        self.pid = pid
        self.status = None
        """How it ended: a status, or a signal's number below 0. None: not as far as is known."""
        self._out, self._errors, self._ask = out, errors, ask

    @property
    def out(self):
        return self._out.read_text()

    @property
    def errors(self):
        return self._errors.read_text()

    def is_over(self):
        if self.status is None:
            self.status = self._ask({"over": self.pid})
        return self.status is not None

    def wait(self):
        wait_for(self.is_over)
        return self.status


def wait_for(condition):
    """Wait until something is so; it may take its time, not for ever."""
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "takes too long"
        time.sleep(0.005)


def _serve():
    """Fork a command for each line that asks for one; return in the command."""
    begun = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "over" in asked:
            pid, status = os.waitpid(asked["over"], os.WNOHANG)
            begun.discard(pid)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if not answer:
                _begin(**asked)
                return
            begun.add(answer)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in begun:
        os.kill(pid, 9)
    os._exit(0)


def _begin(words, out, errors, namespaces, most_bytes):
    for stream, path in ((0, os.devnull), (1, out), (2, errors)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666), stream)
    folder = Path.cwd()
    for namespace in namespaces:
        with Path(namespace).open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns", namespace)
    os.chdir(folder)
    if most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    sys.argv = ["straggler", *words]


if __name__ == "__main__":
    import pandas as pd  # noqa: F401 -- Arrow imports it when it makes an array
    import torch._dynamo  # noqa: F401 -- torch imports it with the first optimizer

    import fl.enrolment  # noqa: F401
    from fl.cli import main

    _serve()
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:  # noqa: BLE001 -- as Python would
        traceback.print_exc()
        status = 1
    # To take apart all that the server has imported would take longer than the command.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
