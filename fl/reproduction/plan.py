"""Which runs each table and figure is made of.

Arms with the same seed share data, first weights and channel. Arms that two figures need are
run once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from fl.reproduction.published import DEADLINE_MS, DEADLINES_MS
from fl.scenario import Scenario, load_scenario
from netsim.errors import InputError

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "paper"
SPEEDS_KMH = (3, 30, 120)
RATIOS = (0.0, 0.3, 0.6, 0.9)
DATASETS = ("mnist", "fashion-mnist")

EACH = "-each"
READINGS: dict[str, dict[str, Any]] = {
    "proposed": {"scheme": "proposed"},
    "equal-resource": {"scheme": "equal-resource-common"},
    "equal-resource" + EACH: {"scheme": "equal-resource"},
    "pruning-only": {
        "scheme": {"split": "unpruned-conv", "pruning": "deadline-common", "bandwidth": "equal"},
        "count_unpruned": False,
    },
    "pruning-only" + EACH: {"scheme": "pruning-only"},
    "personalization": {"scheme": "personalization"},
}
"""Of the schemes of Table I. Two of them can be read in two ways: with one ratio for all, so that
the slowest device sets the round, or with a ratio for each, which meets the deadline."""
TITLES = {
    "proposed": "proposed",
    "equal-resource": "equal resources, one ratio",
    "equal-resource" + EACH: "equal resources, a ratio each",
    "pruning-only": "pruning only, one ratio",
    "pruning-only" + EACH: "pruning only, a ratio each",
    "personalization": "personalization only",
}
"""Of the readings, for people."""
COMPARED = tuple(name for name in READINGS if name != "pruning-only" + EACH)
"""The readings that Fig. 5 is made of."""
STATED_RATE = 0.001
"""The learning rate that the paper states."""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    name: str
    seeds: int
    """Of runs that learn."""
    latency_seeds: int
    """Of runs that do not."""
    ratios: tuple[float, ...]
    overrides: Mapping[str, Any]
    """Laid over every run that learns."""

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are meant to be believed."""
        return self is FULL


FULL = Size("full", 4, 10, RATIOS, {})
QUICK = Size("quick", 2, 3, (0.0, 0.6, 0.9), {"rounds": 8, "learning": {"test_samples": 100}})


@dataclass(frozen=True)
class Arm:
    """One setting of an experiment, to be run with several seeds."""

    experiment: str
    name: str
    file: str
    overrides: Mapping[str, Any]
    num_seeds: int

    @property
    def seeds(self) -> range:
        """The seeds it is run with."""
        return range(1, self.num_seeds + 1)

    def folder(self, seed: int) -> Path:
        """Return where a run of it goes, below the folder of all runs."""
        return Path(self.experiment, self.name, f"seed-{seed}")

    def scenario(self, seed: int) -> Scenario:
        """Return what is run."""
        return load_scenario(SCENARIOS / self.file, overrides={**self.overrides, "seed": seed})


def plan(size: Size) -> list[Arm]:
    """Return all arms: first those that only tell latencies, which are quick.

    Raises:
        InputError: The scenarios of the paper are not there.
    """
    if not SCENARIOS.is_dir():
        raise InputError(
            f"{SCENARIOS}: is not there; the paper's scenarios come with the project's source, "
            "so run this from a clone of it"
        )
    return [*_table_1(size), *_figures(size)]


def _table_1(size: Size) -> Iterator[Arm]:
    for reading, overrides in READINGS.items():
        yield Arm("stated", reading, "stated.yaml", overrides, 1)  # nothing is drawn in it
        yield Arm("calibrated", reading, "table-1.yaml", overrides, size.latency_seeds)
    for speed in SPEEDS_KMH:
        mobility = {"generate": {"mobility": {"speed": f"{speed} km/h"}}}
        moving = {"uplink": {"channel": mobility}}
        for reading, overrides in READINGS.items():
            name = moving_name(reading, speed)
            file, laid_over = "table-1-moving.yaml", overrides | moving
            yield Arm("moving", name, file, laid_over, size.latency_seeds)


def moving_name(reading: str, speed_kmh: int) -> str:
    """Return how the arm of a reading at a speed is called."""
    return f"{reading}-at-{speed_kmh}-kmh"


def _figures(size: Size) -> Iterator[Arm]:
    def arm(name: str, file: str, dataset: str = "fashion-mnist", **said: Any) -> Arm:  # noqa: ANN401
        learning = {**size.overrides.get("learning", {}), **said.pop("learning", {})}
        laid_over = {**size.overrides, **said, "learning": learning | {"dataset": dataset}}
        return Arm(dataset, name, file, laid_over, size.seeds)

    for reading in COMPARED:
        yield arm(reading, "figure-5.yaml", **READINGS[reading])
    yield arm("simultaneous", "figure-4.yaml")
    for deadline_ms in DEADLINES_MS:
        if deadline_ms != DEADLINE_MS:  # that is the proposed scheme
            said = {"deadline": f"{deadline_ms:g} ms"}
            yield arm(deadline_name(deadline_ms), "figure-6.yaml", **said)
    for dataset, ratio in product(DATASETS, size.ratios):
        name = ratio_name(ratio)
        if ratio > 0:
            yield arm(name, "figure-3.yaml", dataset, scheme={"pruning": {"fixed": ratio}})
        elif dataset != "fashion-mnist":  # there it is among the schemes already
            yield arm(name, "figure-5.yaml", dataset, **READINGS[name])
    rates = {"personal": STATED_RATE, "global": STATED_RATE}
    slow = arm("stated-rate", "figure-5.yaml", learning={"learning_rate": rates})
    yield replace(slow, num_seeds=1)  # one is enough to see that it does not move


def deadline_name(deadline_ms: float) -> str:
    """Return how the arm of the proposed scheme with a deadline is called."""
    return "proposed" if deadline_ms == DEADLINE_MS else f"deadline-{deadline_ms:g}-ms"


def ratio_name(ratio: float) -> str:
    """Return how the arm with a fixed pruning ratio is called."""
    return f"ratio-{ratio:g}" if ratio > 0 else "personalization"
