"""A virtual environment for each peer, made when it is first needed."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


class LeftOutError(Exception):
    """A peer cannot take part here; the message says why."""


def environment(folder: Path, name: str, requirements: tuple[str, ...]) -> Path:
    """Return the Python of an environment with these requirements; without any, this one.

    It is made anew only when what it is made of has changed.

    Raises:
        LeftOutError: It cannot be installed.
    """
    if not requirements:
        return Path(sys.executable)
    place = folder / name
    python, stamp = place / "bin" / "python", place / "requirements.sha256"
    wanted = hashlib.sha256(repr(requirements).encode() + CONSTRAINTS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making an environment for {name} in {place}", file=sys.stderr, flush=True)
    venv.create(place, clear=True, with_pip=True)
    # What is pinned comes first: a range in a peer's own requirements would take another build.
    pinned = [one for one in requirements if one.startswith(("torch==", "torchvision=="))]
    for some in filter(None, (pinned, requirements)):
        _install(python, some)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _install(python: Path, requirements: tuple[str, ...] | list[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--constraint", str(CONSTRAINTS), *requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LeftOutError(f"does not install: {last_words(done.stderr)}")


def last_words(stderr: str) -> str:
    """Return the last line of an output that says what went wrong."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or line.startswith("ERROR")]
    # A launcher only says that its child has failed; the child has said why.
    errors = [line for line in errors if "ChildFailedError" not in line] or errors
    return (errors or lines or ["no reason was given"])[-1]
