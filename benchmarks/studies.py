"""What a study costs beside its runs, and whether it keeps all cores busy.

The same short runs are made one after the other in one process, which has imported all it needs, and
as a study with one and with two processes, tables included. In turns, so that whatever else the
machine does hits all alike.
"""

import statistics
import tempfile
import time
from pathlib import Path

from fl.scenario import load_scenario
from fl.study.arms import Arm, Plan
from fl.study.jobs import Job, make_run
from fl.study.local import Local
from fl.study.runner import run_missing
from fl.study.study import Study
from fl.study.tables import write_tables

SCHEMES = ("equal-resource", "proposed", "personalization", "fedavg")
SEEDS = 50
TURNS = 3


def plan() -> Plan:
    """Return a study of 200 runs, of about a quarter of a second each."""
    study = Study(name="overhead", base=Path("-"), vary={"grid": {"scheme": SCHEMES}}, seeds=SEEDS)
    arms = []
    for scheme in SCHEMES:
        changes = {"scheme": scheme, "rounds": 300}
        scenario = load_scenario("scenarios/quickstart.yaml", overrides=changes)
        arms.append(Arm(scheme, scheme, {"scheme": scheme}, scenario, study.seed_list, SCHEMES[0]))
    return Plan(study, arms)


def jobs(study: Plan, folder: Path) -> list[Job]:
    """Return its runs."""
    return [
        Job(arm.with_seed(seed), folder / arm.folder(seed))
        for arm in study.arms
        for seed in arm.seeds
    ]


def alone(study: Plan, folder: Path) -> float:
    """Return the seconds that all runs take, one after the other."""
    began = time.perf_counter()
    for job in jobs(study, folder):
        assert make_run(job) is None
    return time.perf_counter() - began


def as_study(study: Plan, folder: Path, workers: int) -> float:
    """Return the seconds that the study takes, tables included."""
    began = time.perf_counter()
    made = run_missing(jobs(study, folder), Local(workers), lambda _progress: None)
    assert not made.failed
    write_tables(study, folder, {})
    return time.perf_counter() - began


def main() -> None:
    """Measure, and print ratios."""
    study = plan()
    one, two = [], []
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            alone_s = alone(study, folder / "alone")
            one_s = as_study(study, folder / "one", 1)
            two_s = as_study(study, folder / "two", 2)
        one.append(one_s / alone_s)
        two.append(alone_s / two_s)
        print(f"alone {alone_s:.1f} s, one process {one_s:.1f} s, two processes {two_s:.1f} s")
    print(f"{len(SCHEMES) * SEEDS} runs, {alone_s / len(SCHEMES) / SEEDS * 1e3:.0f} ms each")
    print(f"a study with one process takes {told(one)} of the time alone")
    print(f"with two it is {told(two)} times as fast as alone")


def told(ratios: list[float]) -> str:
    """Return the median, and the range."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


if __name__ == "__main__":
    main()
