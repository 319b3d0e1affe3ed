"""The weights of a run under way, in a file."""

from pathlib import Path

import torch

from fl.checkpoint import CheckpointError
from fl.files import appearing
from fl.training.cohort import Cohort


def save_weights(path: Path, cohort: Cohort) -> None:
    """Write the global part, and the personal part of every device."""
    with appearing(path) as partial, partial.open("wb") as file:
        try:
            torch.save(_parts(cohort), file)
        except RuntimeError as error:
            if isinstance(error.__context__, OSError):  # torch says only that it could not
                raise error.__context__ from None
            raise


def load_weights(path: Path, cohort: Cohort) -> None:
    """Put back what was saved. Only tensors are read: whatever else is in the file is refused.

    Raises:
        CheckpointError: These are not the weights of such a cohort.
    """
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 -- torch raises whatever comes up as it reads
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise CheckpointError(f"{path}: cannot be read as weights: {reason}") from None
    for name, part in _parts(cohort).items():
        saved = loaded.get(name) if isinstance(loaded, dict) else None
        if not isinstance(saved, torch.Tensor) or saved.layout is not torch.strided:
            raise CheckpointError(f"{path}: has no {name} part")
        if saved.shape != part.shape or saved.dtype != part.dtype:
            raise CheckpointError(
                f"{path}: the {name} part is {list(saved.shape)} of {saved.dtype}, "
                f"and must be {list(part.shape)} of {part.dtype}"
            )
    for name, part in _parts(cohort).items():
        part.copy_(loaded[name])


def _parts(cohort: Cohort) -> dict[str, torch.Tensor]:
    return {"global": cohort.shared, "personal": cohort.personal}
