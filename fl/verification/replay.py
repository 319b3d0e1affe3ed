"""Rounds that are simulated again: a round depends on the seed, its number and its time alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fl.columns import TABLES
from fl.experiment import Experiment
from fl.results import InMemory
from fl.tables import Position
from netsim.errors import InputError
from netsim.streams import Streams

#: What is learnt depends on all rounds before, and is not replayed.
LEARNT = ("train_loss", "test_loss", "test_accuracy", "test_accuracy_std", "fewest_keepers")


def sampled_rounds(num_rounds: int, number: int, seed: int) -> list[int]:
    """Return so many rounds: the first, the last, and others drawn."""
    if number >= num_rounds:
        return list(range(num_rounds))
    some = {0, num_rounds - 1} if number > 1 else {num_rounds - 1}
    others = Streams(seed)("verification").permutation(num_rounds).tolist()
    return sorted((list(some) + [one for one in others if one not in some])[:number])


def replay_problems(
    folder: Path, experiment: Experiment, rounds: pa.Table, numbers: Sequence[int]
) -> Iterator[str]:
    """Yield where rounds come out otherwise than they are recorded, to the last digit."""
    for number in numbers:
        sink = InMemory(Position(number, rounds["start_s"][number].as_py()))
        try:
            experiment.replay(sink)
        except InputError as error:
            yield f"round {number}: cannot be run again: {error}"
            continue
        again = sink.run()
        for name in TABLES:
            recorded = pq.read_table(folder / f"{name}.parquet", filters=[("round", "=", number)])
            made: pa.Table = getattr(again, name)
            if recorded.num_rows != made.num_rows:
                yield f"round {number}: {name} has {recorded.num_rows} rows, and must have {made.num_rows}"
                continue
            for column in TABLES[name].names:
                if column not in LEARNT:
                    yield from _differences(f"round {number}: {name}", column, recorded, made)


def _differences(place: str, column: str, recorded: pa.Table, made: pa.Table) -> Iterator[str]:
    old, new = recorded[column], made[column]
    if pa.types.is_dictionary(old.type):
        old, new = old.cast(pa.string()), new.cast(pa.string())
    old, new = old.combine_chunks(), new.combine_chunks()
    if old.equals(new):
        return
    pairs = zip(old.to_pylist(), new.to_pylist(), strict=True)
    row = next((index for index, (one, other) in enumerate(pairs) if not _alike(one, other)), None)
    if row is not None:
        whose = f", device {made['device'][row]}" if "device" in made.column_names else ""
        yield f"{place}{whose}: {column} is {old[row]}, and comes out as {new[row]} again"


def _alike(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float) and np.isnan(one) and np.isnan(other):
        return True
    return one == other
