"""What came of the runs, as a table of ratios."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One run of one framework."""

    round_s: Sequence[float]
    """The seconds of each round."""
    process_s: float
    """From start to end of its process: imports, set-up and all."""
    steps: int
    versions: Mapping[str, str]
    apart: float
    """How far its result is from that of ours, relative: see the table's legend."""
    accuracy: float | None = None
    """On the test samples, with its final weights; None, if nothing was learnt."""

    @property
    def seconds(self) -> float:
        """Of a round once all is running: the first one starts workers and compiles."""
        return statistics.median(self.round_s[1:] or self.round_s)


@dataclass(frozen=True)
class Pair:
    """A run of one framework, and the run of ours just before it."""

    ours: Measured
    other: Measured

    @property
    def ratio(self) -> float:
        """How many times as long the other takes."""
        return self.other.seconds / self.ours.seconds


def spread(values: Sequence[float]) -> str:
    """Return the median with the lowest and the highest, as ``1.50 (1.20 to 1.90)``."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.2f} ({low:.2f} to {high:.2f})"


def version_text(versions: Mapping[str, str]) -> str:
    """Return the versions in a few words; local build tags are left out."""
    return ", ".join(f"{name} {number.split('+')[0]}" for name, number in versions.items())


def learning_row(name: str, cores: str, pairs: Sequence[Pair]) -> str:
    """Return one row of the table of learning work."""
    runs = [pair.other for pair in pairs]
    last = runs[-1]
    cells = [
        name,
        version_text(last.versions),
        cores,
        f"{statistics.median(run.seconds for run in runs):.2f}",
        spread([pair.ratio for pair in pairs]),
        f"{statistics.median(run.process_s for run in runs):.0f}",
        f"{last.steps}",
        f"{max(run.apart for run in runs):.0e}",
        f"{last.accuracy:.1%}" if last.accuracy is not None else "",
    ]
    return "| " + " | ".join(cells) + " |"


LEARNING_HEAD = """\
| framework | versions | cores | s a round | ratio to ours | whole process, s | steps | weights apart | accuracy |
|---|---|---|---|---|---|---|---|---|"""


def clock_row(name: str, devices: int, pairs: Sequence[Pair]) -> str:
    """Return one row of the table of latency-only work."""
    runs = [pair.other for pair in pairs]
    last = runs[-1]
    per_second = last.steps / statistics.median(run.seconds for run in runs)
    cells = [
        name,
        version_text(last.versions),
        f"{devices:,}",
        f"{per_second:,.0f}",
        spread([pair.ratio for pair in pairs]),
        f"{max(run.apart for run in runs):.0e}",
    ]
    return "| " + " | ".join(cells) + " |"


CLOCK_HEAD = """\
| clock | versions | devices | device-rounds/s | ratio to ours | latencies apart |
|---|---|---|---|---|---|"""
