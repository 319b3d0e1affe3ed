"""The interface: what an importer is told, and the recording that it makes of a file.

An importer only reads. What is wrong with the recording is found, and mended as the
policy says, in one place for all formats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.importers.policy import Ledger, Policy
from netsim.traces.importers.quantity import CqiTable, Quantity, Scale, Stated


class TimeUnit(StrEnum):
    """What a column of times counts."""

    S = "s"
    MS = "ms"
    US = "us"

    @property
    def per_second(self) -> float:
        """How many of them a second has."""
        return {TimeUnit.S: 1.0, TimeUnit.MS: 1e3, TimeUnit.US: 1e6}[self]


class Delimiter(StrEnum):
    """What stands between the cells of a row."""

    COMMA = "comma"
    TAB = "tab"
    SEMICOLON = "semicolon"
    BLANK = "blank"

    @property
    def mark(self) -> str | None:
        """The character; None: blanks, any number of them."""
        marks = {Delimiter.COMMA: ",", Delimiter.TAB: "\t", Delimiter.SEMICOLON: ";"}
        return marks.get(self)


class Blocks(StrEnum):
    """What becomes of the resource blocks of a fading matrix."""

    DEVICES = "devices"
    MEAN = "mean"


_WORDS: Mapping[str, type[StrEnum]] = {
    "time_unit": TimeUnit,
    "quantity": Quantity,
    "cqi_table": CqiTable,
    "blocks": Blocks,
    "delimiter": Delimiter,
}


@dataclass(frozen=True)
class Settings:
    """What a person says of the files; each format takes some of it, and refuses the rest."""

    time_column: str | None = None
    time_unit: TimeUnit | None = None
    value_column: str | None = None
    quantity: Quantity | None = None
    delimiter: Delimiter | None = None
    bandwidth_hz: float | None = None
    """What rates are divided by."""
    transmit_power_w: float | None = None
    """Of the reference signal of one resource element, which is what RSRP measures."""
    mean_gain: float | None = None
    """What gains that vary around 1 are multiplied by, so that path loss is in them."""
    cqi_table: CqiTable | None = None
    step_s: float | None = None
    """Between the samples of a format that does not say."""
    bin_s: float | None = None
    blocks: Blocks | None = None
    align: bool = False
    """Whether each file begins at 0, instead of the earliest one."""
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        """Take the plain words too, as ``time_unit="ms"``."""
        for name, words in _WORDS.items():
            given = getattr(self, name)
            if given is not None and given not in tuple(words):
                raise TraceError(f"{option(name)}: must be one of {', '.join(words)}; is {given!r}")
            object.__setattr__(self, name, None if given is None else words(given))

    @property
    def stated(self) -> Stated:
        """What values are converted with."""
        return Stated(self.bandwidth_hz, self.transmit_power_w, self.mean_gain, self.cqi_table)

    def given(self) -> dict[str, str]:
        """Return what was said, as text, without the policy."""
        return {
            field.name: str(getattr(self, field.name))
            for field in fields(self)
            if field.name != "policy" and getattr(self, field.name) != field.default
        }

    def need(self, file: str, name: str, why: str) -> None:
        """Raise a TraceError unless setting *name* is given."""
        if getattr(self, name) is None:
            raise TraceError(f"{file}: needs {option(name)}: {why}")


@dataclass(frozen=True)
class Recording:
    """What a file says of one device, before anything is done about its troubles."""

    stamps: NDArray[np.float64]
    """Times in the file's own unit and origin: whole milliseconds stay exact."""
    values: NDArray[np.float64]
    """In the unit of the file; NaN where there is none."""
    lines: NDArray[np.int64]
    """Where each row stands."""
    scale: Scale
    """What the values are."""
    per_second: float = 1.0
    """How many units of the stamps a second has."""
    step_s: float | None = None
    """How long the last value holds, if the format says so."""


class Importer(Protocol):
    """Reads one file of a format."""

    def __call__(self, path: Path, settings: Settings, ledger: Ledger, /) -> Sequence[Recording]:
        """Return the recording of each device in the file at *path*.

        Trouble that only the reader can see is noted in *ledger*.

        Raises:
            TraceError: The file is not of this format, or a setting is missing.
        """


_OPTIONS = {
    "bandwidth_hz": "bandwidth",
    "transmit_power_w": "transmit-power",
    "step_s": "step",
    "bin_s": "bin",
}


def option(name: str) -> str:
    """Return what the command line calls setting *name*.

    >>> option("bandwidth_hz"), option("time_column")
    ('--bandwidth', '--time-column')
    """
    return f"--{_OPTIONS.get(name, name).replace('_', '-')}"
