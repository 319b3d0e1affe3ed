"""The settings of a study: each a scenario, to be run with several seeds."""

import copy
import json
import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fl.scenario import Scenario
from fl.scenario.document import (
    Document,
    assignments,
    is_there,
    overlay,
    read_document,
    resolve_paths,
)
from fl.scenario.errors import ScenarioError, cut
from fl.scenario.loading import check_scenario, read_block
from fl.scenario.magnitude import MOST, check_values
from fl.scenario.quantity import PerDevice, Quantity
from fl.study.labels import label_of, names_of
from fl.study.samples import RangeError, draw_samples
from fl.study.study import OneOf, Study

#: More would not be run in a year.
_MOST_RUNS = 10**6
#: Apart from the seeds of other arms, where no two runs are to share one.
_SEEDS_APART = 2**31


class StudyError(ScenarioError):
    """A study that cannot be run."""


@dataclass(frozen=True)
class Arm:
    """One setting, run with each seed."""

    name: str
    """Names its folder."""
    label: str
    """What sets it apart, for people."""
    values: Mapping[str, Any]
    """Of each varied key, as it stands in the study."""
    scenario: Scenario
    """With any seed."""
    seeds: Sequence[int]
    baseline: str | None = None
    """The name of the arm that it is compared with."""

    def with_seed(self, seed: int) -> Scenario:
        """Return what is run."""
        return self.scenario.model_copy(update={"seed": seed})

    def folder(self, seed: int) -> Path:
        """Return where a run goes, below the study's folder."""
        return Path("runs", f"arm={self.name}", f"seed={seed}")

    def si(self, key: str) -> float | None:
        """Return the value of a key in SI units; None, if it is no single quantity."""
        here: Any = self.scenario
        for step in key.split("."):
            here = getattr(here, step, None)
        if isinstance(here, PerDevice):
            here = here.numbers[0] if here.law == "all" else None
        return float(here) if isinstance(here, Quantity) else None


@dataclass(frozen=True)
class Plan:
    """A study that was read and checked, with its arms."""

    study: Study
    arms: Sequence[Arm]

    @property
    def keys(self) -> list[str]:
        """The varied keys."""
        return list(self.arms[0].values)


def load_plan(path: Path, settings: Sequence[str] = ()) -> Plan:
    """Read a study and the scenario it is based on, and check every arm.

    Args:
        path: Of the study's YAML file.
        settings: ``path.to.key=value``, laid over the scenario of every run.

    Raises:
        ScenarioError: Something is wrong with one of them; the message names each place.
    """
    document = read_document(path)
    study = read_block(document, Study)
    base = path.parent / study.base
    if not is_there(base):
        raise StudyError(f"{document.place(('base',))}: base: there is no file {cut(str(base))}")
    places = _places(document, ("set",), study.settings)
    under = overlay(read_document(base), _laid_over(places, study.settings, path))
    under = overlay(under, assignments(settings))
    _refuse_too_many(path, study, under)
    combinations = list(_combinations(study, document))
    places = _places(document, ("vary",), combinations[0])
    names = names_of(combinations)
    baselines = _baselines(study, document, combinations, names)
    arms = []
    for index, values in enumerate(combinations):
        scenario = check_scenario(overlay(under, _laid_over(places, values, path)))
        apart = 0 if study.common_random_numbers else _SEEDS_APART * index
        seeds = [seed + apart for seed in study.seed_list]
        arms.append(Arm(names[index], label_of(values), values, scenario, seeds, baselines[index]))
    _refuse_twins(path, arms)
    return Plan(study, arms)


def _refuse_too_many(path: Path, study: Study, under: Document) -> None:
    """Refuse more runs, or more values in all of their scenarios, than can be planned."""
    vary, sample = study.vary, study.vary.sample
    rows = next(iter(vary.zip.values()), (None,))
    num_arms = math.prod(map(len, [*vary.grid.values(), rows])) * (sample.count if sample else 1)
    num_runs = num_arms * len(study.seed_list)
    if num_runs > _MOST_RUNS:
        raise StudyError(f"{path}: vary: makes {num_runs} runs; at most {_MOST_RUNS} are possible")
    drawn = sample.keys.values() if sample else ()
    chosen = [one.choice for one in drawn if isinstance(one, OneOf)]
    # Values stand for as much in each arm as they do on average.
    each = check_values(under.data, MOST, str(path)) + sum(
        check_values(values, MOST, str(path)) / len(values)
        for values in [*vary.grid.values(), *vary.zip.values(), *chosen]
    )
    if num_arms * each > MOST:
        raise StudyError(
            f"{path}: vary: makes {num_arms} scenarios of about {each:.0f} values and characters; "
            f"all of them may stand for {MOST}"
        )


def _laid_over(places: Mapping[str, str], values: Mapping[str, Any], path: Path) -> Document:
    """Return values of dotted keys, which were written at these places, as a document."""
    whole = Document(places={(): str(path)})
    for key, value in values.items():
        steps = tuple(key.split("."))
        if not all(steps) or key in ("extends", "seed"):
            hint = "say seeds" if key == "seed" else "must be a key of a scenario"
            raise StudyError(f"{places[key]}: {key}: {hint}")
        data: Any = copy.deepcopy(value)  # other arms have it as well, and paths are changed
        for step in reversed(steps):
            data = {step: data}
        one = Document(data, {steps: places[key]})
        resolve_paths(one, path.parent)
        whole = overlay(whole, one)
    return whole


def _places(document: Document, block: tuple[str, ...], keys: Iterable[str]) -> dict[str, str]:
    return {key: _place(document, block, key) for key in keys}


def _place(document: Document, block: tuple[str, ...], key: str) -> str:
    """Return where a dotted key was written, somewhere in a block."""
    within = (
        place
        for steps, place in document.places.items()
        if steps[: len(block)] == block and steps[-1] == key
    )
    return next(within, document.place(block))


def _combinations(study: Study, document: Document) -> Iterator[dict[str, Any]]:
    """Yield the values of the varied keys, arm by arm."""
    vary = study.vary
    sampled = list(vary.sample.keys) if vary.sample else []
    keys = [*vary.grid, *vary.zip, *sampled]
    if not keys:
        raise StudyError(
            f"{document.place(('vary',))}: vary: is empty; say grid, zip or sample, with the keys "
            "that differ from arm to arm"
        )
    for key in {key for key in keys if keys.count(key) > 1}:
        raise StudyError(f"{document.place(('vary',))}: vary: {key}: stands there twice")
    lengths = {len(values) for values in vary.zip.values()}
    if len(lengths) > 1:
        told = ", ".join(f"{key} has {len(values)}" for key, values in vary.zip.items())
        place = document.place(("vary", "zip"))
        raise StudyError(f"{place}: vary.zip: lists must be of the same length: {told}")
    rows = [dict(zip(vary.zip, row, strict=True)) for row in zip(*vary.zip.values(), strict=True)]
    try:
        drawn = draw_samples(vary.sample) if vary.sample else [{}]
    except RangeError as error:
        place = document.place(("vary", "sample", "keys"))
        raise StudyError(f"{place}: vary.sample.keys.{cut(str(error))}") from None
    for *chosen, row, draw in product(*vary.grid.values(), rows or [{}], drawn):
        yield dict(zip(vary.grid, chosen, strict=True)) | row | draw


def _baselines(
    study: Study, document: Document, combinations: Sequence[Mapping[str, Any]], names: list[str]
) -> list[str | None]:
    """Return, for each arm, the name of the one that it is compared with."""
    wanted = dict(study.baseline)
    place = document.place(("baseline",))
    for key, value in wanted.items():
        if key not in combinations[0]:
            known = ", ".join(combinations[0])
            raise StudyError(f"{place}: baseline.{key}: is not varied; varied are {known}")
        if all(values[key] != value for values in combinations):
            raise StudyError(f"{place}: baseline.{key}: no arm has {reprlib.repr(value)}")
    if not wanted:
        first = next(iter(combinations[0]))
        wanted = {first: combinations[0][first]}
        if first in study.vary.zip:  # its keys belong together
            wanted = {key: combinations[0][key] for key in study.vary.zip}
        elif study.vary.sample and first in study.vary.sample.keys:
            wanted = dict(combinations[0])
    by_values = {_frozen(values): name for values, name in zip(combinations, names, strict=True)}
    return [by_values.get(_frozen({**values, **wanted})) for values in combinations]


def _frozen(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _refuse_twins(path: Path, arms: Sequence[Arm]) -> None:
    seen: dict[str, Arm] = {}
    for arm in arms:
        said = json.dumps(arm.scenario.written(), sort_keys=True)
        if said in seen:
            raise StudyError(
                f"{path}: vary: two arms are the same run: {cut(seen[said].label)}; "
                f"and {cut(arm.label)}"
            )
        seen[said] = arm
