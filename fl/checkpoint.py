"""Where a run that was interrupted goes on.

A checkpoint belongs to the rounds before it: their tables are in the journal up to so many bytes,
and the weights they have led to in a file of their own. It is written after these, and appears
whole: so the last one that is there is good, whatever happened to the process that wrote it.
"""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fl.files import write_atomically
from fl.journal import End
from fl.tables import Position
from netsim.errors import InputError

_FILE = "checkpoint.json"
#: A round's fewest keepers take a few characters each; nothing else grows.
_MOST_BYTES = 1 << 26

Count = Annotated[int, Field(ge=0, lt=2**63)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class CheckpointError(InputError):
    """A checkpoint with which nothing can go on."""


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LearningState(_Block):
    """What learning knows of the rounds before, beside the weights."""

    pruned: Annotated[int, Field(ge=0)]
    fewest_keepers: tuple[Count, ...]
    training_seconds: Seconds
    evaluation_seconds: Seconds


class Lengths(_Block):
    """Bytes of the journal's files that count."""

    rounds: Count
    devices: Count
    events: Count


class Checkpoint(_Block):
    """What a run needs to go on."""

    round: Count
    """The first that is still to be run."""
    now_s: Seconds
    """When that begins."""
    lengths: Lengths
    weights: Annotated[str, Field(pattern=r"^weights-[0-9]{1,10}\.pt$")] | None
    """The file with the weights at its beginning; None, if nothing is learnt."""
    learning: LearningState | None
    wall_seconds: Seconds
    """That were spent so far."""

    @property
    def end(self) -> End:
        """How far the journal goes."""
        return End(Position(self.round, self.now_s), self.lengths.model_dump())


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Put a checkpoint in the place of the one before."""
    write_atomically(folder / _FILE, checkpoint.model_dump_json(indent=2) + "\n")


def read_checkpoint(folder: Path, rounds: int, *, learns: bool) -> Checkpoint | None:
    """Return the last checkpoint; None, if there was none yet.

    Args:
        folder: Where it is, and what belongs to it.
        rounds: How many the run has.
        learns: Whether anything is learnt in it.

    Raises:
        CheckpointError: It is none, or what belongs to it is not there.
    """
    path = folder / _FILE
    try:
        with path.open("rb") as file:
            checkpoint = Checkpoint.model_validate_json(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"])) or "it"
        raise CheckpointError(f"{path}: is not a checkpoint: {key}: {first['msg']}") from None
    for problem in _problems(checkpoint, folder, rounds, learns):
        raise CheckpointError(f"{path}: does not belong to this run: {problem}")
    return checkpoint


def _problems(checkpoint: Checkpoint, folder: Path, rounds: int, learns: bool) -> list[str]:
    problems = []
    if checkpoint.round > rounds:
        problems.append(f"round is {checkpoint.round}, and there are {rounds}")
    if learns is (checkpoint.learning is None) or learns is (checkpoint.weights is None):
        problems.append("learning and weights are there just where something is learnt")
    elif checkpoint.learning and len(checkpoint.learning.fewest_keepers) != checkpoint.round:
        problems.append("learning.fewest_keepers must have one value for each round before")
    for name, length in checkpoint.lengths.model_dump().items():
        file = folder / f"{name}.arrows"
        size = file.stat().st_size if file.is_file() else 0
        if length > size:
            problems.append(f"lengths.{name} is {length}, and {file.name} has {size} bytes")
    return problems
