"""The weights of a run under way, in a file."""

import zipfile
from pathlib import Path
from typing import TypeGuard

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
        _refuse_compressed(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 -- torch raises whatever comes up as it reads
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise CheckpointError(f"{path}: cannot be read as weights: {reason}") from None
    for name, part in _parts(cohort).items():
        saved = loaded.get(name) if isinstance(loaded, dict) else None
        if not _has_numbers(saved):
            raise CheckpointError(f"{path}: has no {name} part")
        if saved.shape != part.shape or saved.dtype != part.dtype:
            raise CheckpointError(
                f"{path}: the {name} part is {list(saved.shape)} of {saved.dtype}, "
                f"and must be {list(part.shape)} of {part.dtype}"
            )
    for name, part in _parts(cohort).items():
        part.copy_(loaded[name].detach())  # it may ask for gradients, and so would the part


def _refuse_compressed(path: Path) -> None:
    """Refuse an archive that holds more than its own bytes: what we write is not compressed."""
    with zipfile.ZipFile(path) as archive:
        if sum(file.file_size for file in archive.infolist()) > path.stat().st_size:
            raise ValueError("it is compressed")


def _has_numbers(saved: object) -> TypeGuard[torch.Tensor]:
    """Return whether it is a tensor all of whose numbers are there; of some, only the shape is."""
    return (
        type(saved) is torch.Tensor
        and saved.layout is torch.strided
        and not saved.is_nested
        and not saved.is_meta
    )


def _parts(cohort: Cohort) -> dict[str, torch.Tensor]:
    return {"global": cohort.shared, "personal": cohort.personal}
