"""The latency-only work in Straggler: a whole run, with run directory."""

import tempfile
from pathlib import Path

from work import Laps, answer, work_of_command

from fl.experiment import Experiment
from fl.results import Run, run_directory
from fl.scenario import load_scenario


def main() -> None:
    """Run, and tell."""
    work, laps = work_of_command(), Laps()
    experiment = Experiment(load_scenario(work.scenario))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        laps.stamp()
        with run_directory(out, experiment) as directory:
            experiment.run(directory)
        laps.stamp()
        latency_s = Run.open(out).rounds["latency_s"].to_numpy()
    answer(work, laps, latency_s, work.rounds * work.devices, ("straggler",))


if __name__ == "__main__":
    main()
