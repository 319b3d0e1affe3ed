"""Runs to be made, and how far they are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from fl.directory import run_directory
from fl.experiment import Experiment
from fl.own_code import at_fault
from fl.scenario import Scenario
from fl.training.engine import EngineChoice
from netsim.errors import InputError

#: How much more a device that learns takes than one that does not; only to guess what is left.
_LEARNING = 2000


@dataclass(frozen=True)
class Job:
    """A run to be made, and where."""

    scenario: Scenario
    folder: Path
    allow_code: bool = False
    """Whether classes that the scenario names may be imported, and run."""

    @property
    def weight(self) -> float:
        """How long it takes, compared with others."""
        device_rounds = self.scenario.rounds * self.scenario.num_participants
        return device_rounds * (1 if self.scenario.learning is None else _LEARNING)


class Ended(NamedTuple):
    """A run that is over."""

    job: Job
    error: str | None
    """Why it failed; None, if it did not."""

    @property
    def told(self) -> str:
        """Where and why it failed, for people."""
        said, place = str(self.error), str(self.job.folder)
        return said if said.startswith(place) else f"{place}: {said}"


class Workplace(Protocol):
    """Where runs are made."""

    workers: int
    """How many at a time."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Ended]:
        """Make all runs, and tell of each when it is over, in whatever order.

        A run whose process dies is made again, a few times.
        """


def make_run(job: Job) -> str | None:
    """Make one run in this process, on one core, and return why it failed, if it did.

    One that was interrupted goes on where it was.
    """
    try:
        experiment = Experiment(job.scenario, allow_code=job.allow_code)
        choice = EngineChoice()
        with run_directory(job.folder, experiment, choice, resume=True) as directory:
            experiment.run(directory, engine=choice)
    except InputError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or job.folder}: {error.strerror or error}"
    except Exception as error:  # noqa: BLE001 -- whatever it is, the other runs go on
        return at_fault(error)
    return None
