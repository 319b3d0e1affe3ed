"""A run directory as a report reads it: its tables column by column, and what its channels did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fl.manifest import RunDirectoryError, check_over
from fl.phases import OUTCOMES, PHASES
from fl.radio import Radio
from fl.scenario import Scenario, load_scenario
from netsim.channel import Channel
from netsim.errors import InputError
from netsim.streams import Streams

_ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Recording:
    """A finished run, or the finished rounds of one that failed."""

    folder: Path
    scenario: Scenario
    manifest: Mapping[str, Any]
    rounds: pa.Table

    @classmethod
    def open(cls, folder: Path) -> "Recording":
        """Open a run directory.

        Raises:
            RunDirectoryError: It holds no results.
            InputError: Its scenario cannot be read.
        """
        manifest = check_over(folder)
        try:
            rounds = pq.read_table(folder / "rounds.parquet")
            columns = pq.read_schema(folder / "devices.parquet").names
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise RunDirectoryError(f"{folder}: holds no results: {reason}") from None
        if not rounds.num_rows:
            raise RunDirectoryError(f"{folder}: holds no results: no round was finished")
        if not {"outcome", *(f"{phase}_s" for phase in PHASES)} <= set(columns):
            raise RunDirectoryError(
                f"{folder}: devices.parquet lacks columns: it is of another version; run it again"
            )
        return cls(folder, load_scenario(folder / "scenario.yaml"), manifest, rounds)

    @property
    def num_rounds(self) -> int:
        """How many rounds were finished."""
        return self.rounds.num_rows

    @property
    def num_devices(self) -> int:
        """How many devices there are."""
        return self.scenario.devices.count

    @property
    def num_participants(self) -> int:
        """How many of them took part in each round."""
        return self.scenario.num_participants

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """The numbers of those who took part in some round, in increasing order."""
        if self.num_participants == self.num_devices:
            return np.arange(self.num_devices)
        numbers = np.empty(0, dtype=np.int64)
        for batch in pq.ParquetFile(self.folder / "devices.parquet").iter_batches(
            columns=["device"]
        ):
            numbers = np.union1d(numbers, batch["device"].to_numpy())
        return numbers

    @property
    def has_learnt(self) -> bool:
        """Whether some round was tested."""
        return self.rounds["test_accuracy"].null_count < self.num_rounds

    def devices(self, columns: Sequence[str], of: Sequence[int] | None = None) -> pa.Table:
        """Return columns of the table of devices, by round and device.

        Args:
            columns: Which.
            of: Of these devices only. The others are passed over a few rows at a time, so however
                many there are, they take no memory.
        """
        path = self.folder / "devices.parquet"
        if of is None:
            return pq.read_table(path, columns=list(columns))
        wanted = pa.array(of, pa.int32())
        read = list(dict.fromkeys([*columns, "device"]))
        batches = [
            batch.filter(pc.is_in(batch["device"], value_set=wanted))
            for batch in pq.ParquetFile(path).iter_batches(columns=read)
        ]
        return pa.Table.from_batches(batches).select(list(columns))

    def grids(self, columns: Sequence[str], of: Sequence[int]) -> dict[str, NDArray[np.float64]]:
        """Return columns of the table of devices, each [rounds, devices].

        What is not known is NaN, and so is everything of a device in a round without it. An outcome
        is its place among those there are.

        Args:
            columns: Which.
            of: The devices, in increasing order.
        """
        table = self.devices(list(dict.fromkeys([*columns, "round", "device"])), of)
        row = table["round"].to_numpy() - self.rounds["round"][0].as_py()
        place = np.searchsorted(np.asarray(of), table["device"].to_numpy())
        grids = {}
        for name in columns:
            grids[name] = np.full((self.num_rounds, len(of)), np.nan)
            grids[name][row, place] = _numbers(table, name)
        return grids

    def in_chunks(self, columns: Sequence[str]) -> Iterator[dict[str, NDArray[np.float64]]]:
        """Yield columns of the table of devices some rounds at a time, each [rounds, participants].

        What is not known, as the latency of a device that was cut, is NaN.
        """
        file = pq.ParquetFile(self.folder / "devices.parquet")
        left = file.schema_arrow.empty_table().select(list(columns))
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(columns)):
            left = pa.concat_tables([left, pa.Table.from_batches([batch]).select(list(columns))])
            whole = left.num_rows // self.num_participants
            if whole:
                table = left.slice(0, whole * self.num_participants)
                left = left.slice(whole * self.num_participants)
                yield {name: _numbers(table, name).reshape(whole, -1) for name in columns}

    @cached_property
    def channels(self) -> Sequence[Channel] | None:
        """What the links did over time, device by device; None, if it cannot be had any more."""
        try:
            radio = Radio(self.scenario, Streams(self.scenario.seed))
        except InputError:  # the trace is gone
            return None
        trace, recorded = radio.trace, self.manifest.get("sha256") or {}
        if trace is not None and trace.path and recorded.get(trace.path.name) != trace.sha256():
            return None  # another one lies in its place
        return radio.channels

    def some_devices(self, most: int) -> list[int]:
        """Return all who took part in some round or, if they are more than *most*, so many of them.

        Half of these are the ones who straggled most often, the others are evenly spread.
        """
        if len(self.seen) <= most:
            return self.seen.tolist()
        last, times = np.unique(self.rounds["straggler"].to_numpy(), return_counts=True)
        often = last[np.argsort(-times, kind="stable")][: most // 2].tolist()
        others = np.setdiff1d(self.seen, often)
        spread = np.linspace(0, len(others) - 1, most - len(often)).round().astype(int)
        return sorted([*often, *others[spread].tolist()])


def _numbers(table: pa.Table, name: str) -> NDArray[np.float64]:
    column = table[name]
    if name == "outcome":
        column = pc.index_in(column.cast(pa.string()), value_set=pa.array(OUTCOMES))
    return column.to_numpy().astype(np.float64)
