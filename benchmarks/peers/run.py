"""The same federated work in other frameworks and in ours, in turns, as ratios.

    python benchmarks/peers/run.py                              three turns of all
    python benchmarks/peers/run.py --rounds 1 --devices 2 --turns 1     does it work at all?
    python benchmarks/peers/run.py --only Flower --only pfl     these

See README.md beside it for what is compared. Nothing passes or fails by seconds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(PROJECT)]

from environments import LeftOutError, environment, last_words
from frameworks import CLOCKS, LEARNING, OUR_CLOCK, OURS, Framework
from order import Size, variant, write_latency, write_learning
from ratios import CLOCK_HEAD, LEARNING_HEAD, Measured, Pair, clock_row, learning_row

PATIENCE_S = 600
Judge = Callable[[np.ndarray], tuple[float, float | None]]
"""From a result to how far it is from that of ours, and its accuracy."""


class Contest:
    """Runs frameworks on one order, each in its own environment."""

    def __init__(self, order: Path, environments: Path, cores: int) -> None:
        self._order = order
        self._environments = environments
        self._cores = cores

    def python(self, framework: Framework) -> Path:
        """Return the Python that runs it.

        Raises:
            LeftOutError: It cannot be installed.
        """
        name = Path(framework.script).stem
        return environment(self._environments, name, framework.requirements)

    def run(self, framework: Framework, judge: Judge) -> Measured:
        """Let a framework do the work in a process of its own.

        Raises:
            LeftOutError: It cannot be installed, or fails.
        """
        order = (
            variant(self._order, **dict(framework.changes)) if framework.changes else self._order
        )
        python = self.python(framework)
        launcher = [part.format(cores=self._cores) for part in framework.launcher]
        result = Path(json.loads(order.read_text(encoding="utf-8"))["result"])
        result.unlink(missing_ok=True)  # nobody is to be taken at the word of the one before
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [str(python), *launcher, str(HERE / framework.script), str(order)],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
                env=_variables(framework),
            )
        except subprocess.TimeoutExpired:
            raise LeftOutError(f"is not done after {PATIENCE_S} s") from None
        process_s = time.perf_counter() - began
        told = [line for line in done.stdout.splitlines() if line.startswith('{"round_s"')]
        if done.returncode or not told or not result.exists():
            raise LeftOutError(f"does not run: {last_words(done.stderr)}")
        return Measured(
            **json.loads(told[-1]),
            process_s=process_s,
            **dict(zip(("apart", "accuracy"), judge(np.load(result)), strict=True)),
        )

    def in_turns(
        self, ours: Framework, others: Sequence[Framework], judge: Judge, turns: int
    ) -> dict[Framework, list[Pair]]:
        """Run ours before each of the others, *turns* times; who fails once is left out."""
        pairs: dict[Framework, list[Pair]] = {other: [] for other in (ours, *others)}
        for turn in range(turns):
            for other in [name for name in pairs if name is not ours]:
                print(f"turn {turn + 1}: {other.name}", file=sys.stderr, flush=True)
                try:
                    self.python(other)  # before ours: making it may take minutes
                    mine = self.run(ours, judge)
                    pairs[other].append(Pair(mine, self.run(other, judge)))
                except LeftOutError as reason:
                    print(f"left out: {other.name} {reason}", flush=True)
                    del pairs[other]
                else:
                    pairs[ours].append(Pair(mine, mine))
        return pairs


def _variables(framework: Framework) -> dict[str, str]:
    """Return the variables of a process: how many threads there are, each says for itself."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    kept = {name: value for name, value in os.environ.items() if name not in threads}
    path = [HERE] if framework.requirements else [HERE, PROJECT]
    return kept | {
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "FLWR_TELEMETRY_ENABLED": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def learning_judge(order: Path) -> Judge:
    """Return who compares weights: the first to come are ours."""
    from torch_work import accuracy_of  # noqa: PLC0415 -- takes seconds
    from work import read_work  # noqa: PLC0415

    work = read_work(str(order))
    first: list[np.ndarray] = []

    def judge(weights: np.ndarray) -> tuple[float, float]:
        first.append(weights)
        way = np.linalg.norm(first[0] - work.arrays["weights"])
        return float(np.linalg.norm(weights - first[0]) / way), accuracy_of(work, weights)

    return judge


def clock_judge() -> Judge:
    """Return who compares the latencies of rounds: the first to come are ours."""
    first: list[np.ndarray] = []

    def judge(latency_s: np.ndarray) -> tuple[float, None]:
        first.append(latency_s)
        return float(np.max(np.abs(latency_s / first[0] - 1))), None

    return judge


def compare_learning(options: argparse.Namespace, folder: Path) -> None:
    """Print the table of learning work."""
    size = Size(options.rounds, options.devices, options.iterations, options.cores, options.dataset)
    order = write_learning(folder, size)
    contest = Contest(order, options.environments, options.cores)
    others = [one for one in LEARNING if not options.only or one.name in options.only]
    pairs = contest.in_turns(OURS, others, learning_judge(order), options.turns)
    print(f"\n{size}\n\n{LEARNING_HEAD}")
    for framework, some in pairs.items():
        if some:
            print(learning_row(framework.name, framework.cores, some), flush=True)


def compare_clocks(options: argparse.Namespace, folder: Path) -> None:
    """Print the table of latency-only work."""
    others = [one for one in CLOCKS if not options.only or one.name in options.only]
    if not others:
        return
    print(f"\n{CLOCK_HEAD}")
    for devices in (10, 1000):
        order = write_latency(folder, max(40_000 // devices, 1), devices)
        contest = Contest(order, options.environments, options.cores)
        pairs = contest.in_turns(OUR_CLOCK, others, clock_judge(), options.turns)
        for framework, some in pairs.items():
            if some:
                print(clock_row(framework.name, devices, some), flush=True)


def main() -> None:
    """Compare, in turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--devices", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=5, help="of a device in a round")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dataset", default="synthetic", help="or one that was fetched")
    parser.add_argument("--only", action="append", help="the name of one that takes part")
    parser.add_argument("--environments", type=Path, default=PROJECT / ".venv-peers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare_learning(options, Path(folder))
        compare_clocks(options, Path(folder))


if __name__ == "__main__":
    main()
