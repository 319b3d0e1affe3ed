"""A long campaign against the readers, guided by what each input reaches; see `make fuzz`.

    python tests/fuzz/campaign.py --inputs 100000 scenario study

Atheris changes bytes, sees which branches of Python an input has taken, and goes on with those that
took a new one. That is of use for scenarios, studies and settings, which Python reads from the first
character on. Checkpoints and manifests are parsed by compiled code, traces and journals by Arrow,
weights by torch: none of these is seen, so there Atheris only changes bytes at random, as the tests
of this folder do, and the odd values of these are the better half.

A target ends with the first input that breaks the law; the last lines say where that was left.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import atheris

#: Readers, and settings of a command line.
TARGETS = (
    *("scenario", "study", "setting", "checkpoint", "manifest"),
    *("trace", "rounds", "devices", "events", "weights"),
)


def main():
    """Run one target after another, each in a process of its own: Atheris ends its process."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of the one target
    said = parser.parse_args()
    if unknown := set(said.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if said.folder is not None:
        _fuzz(said.targets[0], said.folder, said.inputs, said.seed)
    broken = [name for name in said.targets or TARGETS if not _holds(name, said.inputs, said.seed)]
    sys.exit(f"broken: {', '.join(broken)}" if broken else 0)


def _holds(target, inputs, seed):
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        options = [f"--folder={folder}", f"--inputs={inputs}", f"--seed={seed}"]
        done = subprocess.run([sys.executable, __file__, target, *options], check=False)
    lasted_s = time.monotonic() - began
    print(f"{target}: {inputs} inputs at most, {lasted_s:.0f} s", flush=True)  # noqa: T201
    return done.returncode == 0


def _fuzz(target, folder, inputs, seed):
    """Try so many inputs, and end the process."""
    read, seeds, words = _reading(target, folder)
    (folder / "corpus").mkdir()
    for number, content in enumerate(seeds):
        (folder / "corpus" / str(number)).write_bytes(content)
    (folder / "words").write_text("\n".join(words))
    options = {
        "runs": inputs,
        "atheris_runs": inputs,
        "seed": seed,
        "dict": folder / "words",
        "max_len": 2 * max(map(len, seeds)),
        "timeout": 60,
        "artifact_prefix": f"{tempfile.gettempdir()}/straggler-{target}-",
    }
    told = [f"-{key}={value}" for key, value in options.items()]
    atheris.Setup([sys.argv[0], str(folder / "corpus"), *told], read)
    atheris.Fuzz()


def _reading(target, folder):
    """Return what reads some bytes, sound ones to begin with, and words to put into them."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    with atheris.instrument_imports(include=["fl.scenario", "fl.study", "netsim.units", "ruamel"]):
        # Here, and not above: what is imported here is seen by Atheris.
        from fuzz.law import read_or_refused  # noqa: PLC0415
        from fuzz.mutations import PIECES, WORDS  # noqa: PLC0415
        from fuzz.readers import READERS  # noqa: PLC0415
        from fuzz.sound import ROOT  # noqa: PLC0415

        from fl.scenario import load_scenario  # noqa: PLC0415
    short = [word.encode() for word in WORDS + PIECES if len(word.encode()) < 60]
    words = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in short]
    if target != "setting":
        reader = READERS[target]
        reader.prepare(folder)
        return (lambda content: reader.check(folder, content)), reader.sound(), words
    scenario = load_scenario(ROOT / "scenarios/frozen-channel.yaml").written()

    def read(content):
        setting = content.decode(errors="replace")
        read_or_refused(lambda: load_scenario(scenario, [setting]), ":")

    return read, [b"rounds=" + word for word in short], words


if __name__ == "__main__":
    main()
