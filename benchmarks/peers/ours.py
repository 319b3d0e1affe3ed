"""The work in Straggler: a whole run, with clock, uplink and run directory."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from work import Laps, answer, work_of_command

from fl.directory import run_directory
from fl.enrolment import Enrolment
from fl.experiment import Experiment
from fl.learning import Learning
from fl.scenario import load_scenario
from fl.training.engine import EngineChoice


class Keeping:
    """An enrolment that keeps the global weights with which its devices end."""

    weights: np.ndarray

    def __init__(self, enrolment: Enrolment) -> None:
        self._enrolment = enrolment

    def __getattr__(self, name: str) -> object:
        """Return what the enrolment has."""
        return getattr(self._enrolment, name)

    @contextmanager
    def learning(self, *args: object, **more: object) -> Iterator[Learning]:
        """Begin; in the end, look at the global part."""
        with self._enrolment.learning(*args, **more) as learning:
            yield learning
            self.weights = learning.cohort.shared.numpy().copy()


def main() -> None:
    """Run, and tell."""
    work, laps = work_of_command(), Laps()
    experiment = Experiment(load_scenario(work.scenario))
    assert experiment.enrolment is not None
    kept = Keeping(experiment.enrolment)
    experiment.enrolment = kept
    choice = EngineChoice.of(work.engine, work.cores if work.engine == "processes" else None)
    with (
        tempfile.TemporaryDirectory() as folder,
        run_directory(Path(folder) / "run", experiment, choice) as directory,
    ):
        laps.stamp()
        experiment.run(directory, lambda _outcome: laps.stamp(), choice)
    steps = work.rounds * work.devices * work.iterations  # workers do not count: see the weights
    answer(work, laps, kept.weights, steps, ("straggler", "torch"))


if __name__ == "__main__":
    main()
