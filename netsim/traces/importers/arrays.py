"""Arrays of NumPy in an ``.npz``: one of times, or a step, and one of values.

Values in two dimensions are a row a device. Times in one dimension are those of all of
them.
"""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.importers.delimited import column_map
from netsim.traces.importers.importer import Recording, Settings, TimeUnit
from netsim.traces.importers.policy import Ledger
from netsim.traces.importers.quantity import Quantity, check_label, scale_of

# All that a damaged archive, or a damaged array in it, makes NumPy raise.
_DAMAGES = (
    *(OSError, ValueError, TypeError, KeyError, EOFError, SyntaxError, MemoryError),
    *(OverflowError, RuntimeError, zipfile.BadZipFile, zlib.error),
)

#: Of one array: a few bytes of an archive can stand for any number of zeros.
_MOST_BYTES = 2 * 10**9


def read_arrays(path: Path, settings: Settings, ledger: Ledger) -> list[Recording]:
    """Read arrays by their names.

    Raises:
        TraceError: There are no such arrays, or the map is not complete.
    """
    ledger.place = "row"
    names, unit, quantity = _array_map(path, settings)
    scale = scale_of(str(path), quantity, settings.stated)
    *times, values = _arrays(path, names)
    if values.ndim not in (1, 2) or not values.size:
        raise TraceError(
            f"{path}: array {names[-1]!r} must be (time) or (device, time), is {values.shape}"
        )
    values = np.atleast_2d(values)
    step_s = settings.step_s if not times else None
    stamps = times[0] if times else np.arange(values.shape[1]) * (step_s or np.nan)
    if stamps.shape not in (values.shape, values.shape[1:]):
        raise TraceError(
            f"{path}: {names[0]!r} is {stamps.shape}, {names[-1]!r} {values.shape}: there must "
            "be a time for each value of a device"
        )
    stamps = np.broadcast_to(np.atleast_2d(stamps), values.shape)
    lines = np.arange(values.shape[1])
    return [
        Recording(times_of_one, values_of_one, lines, scale, unit.per_second, step_s)
        for times_of_one, values_of_one in zip(stamps, values, strict=True)
    ]


def _array_map(path: Path, settings: Settings) -> tuple[Sequence[str], TimeUnit, Quantity]:
    if settings.step_s is None:
        return column_map(path, settings)
    if settings.time_column is not None or settings.time_unit is not None:
        raise TraceError(f"{path}: has times either from --step or from --time-column, not both")
    if settings.value_column is None or settings.quantity is None:
        raise TraceError(f"{path}: needs --value-column, and --quantity: {', '.join(Quantity)}")
    check_label(str(path), settings.value_column, settings.quantity)
    return [settings.value_column], TimeUnit.S, settings.quantity


def _arrays(path: Path, names: Sequence[str]) -> list[NDArray[np.float64]]:
    try:
        # Reading objects would run whatever code they bring along.
        with path.open("rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
            there = archive.files
            assert archive.zip is not None  # it is open
            largest = max((info.file_size for info in archive.zip.infolist()), default=0)
            if largest > _MOST_BYTES:
                raise ValueError(f"an array of {largest} bytes is more than {_MOST_BYTES}")
            arrays = [np.asarray(archive[name]) for name in names if name in there]
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such file") from None
    except _DAMAGES as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise TraceError(f"{path}: cannot be read as an .npz archive: {reason}") from None
    for name in names:
        if name not in there:
            raise TraceError(f"{path}: has no array {name!r}; its arrays are {', '.join(there)}")
    return [_real(path, *named) for named in zip(names, arrays, strict=True)]


def _real(path: Path, name: str, array: NDArray[np.generic]) -> NDArray[np.float64]:
    if array.dtype.kind not in "iuf":
        hint = "; of complex coefficients save abs(h)**2, a gain" if array.dtype.kind == "c" else ""
        raise TraceError(f"{path}: array {name!r} must hold numbers, holds {array.dtype}{hint}")
    return array.astype(np.float64)
