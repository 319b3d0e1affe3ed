"""Fading matrices of ns-3 (``.fad``): text, a row a resource block, a column a moment, in dB.

The file says neither how far apart its moments are nor how much is lost on the way: its
values vary around 0 dB. Both are told.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.importers.importer import Blocks, Recording, Settings
from netsim.traces.importers.policy import Ledger
from netsim.traces.importers.quantity import Quantity, scale_of
from netsim.traces.importers.table import lines_of, number
from netsim.units import gains_to_linear, ratios_to_db


def read_ns3_fading(path: Path, settings: Settings, _ledger: Ledger) -> list[Recording]:
    """Read a matrix: each block as a device, or the mean of their powers as one.

    Raises:
        TraceError: The file is no matrix of numbers, or a setting is missing.
    """
    file = str(path)
    settings.need(file, "step_s", "how far apart the columns are in time")
    settings.need(file, "mean_gain", "the gain that the fading is around, path loss included")
    settings.need(file, "blocks", f"what becomes of resource blocks: {' or '.join(Blocks)}")
    scale = scale_of(file, Quantity.GAIN_DB, settings.stated)
    matrix_db, lines = _matrix(path)
    if settings.blocks is Blocks.MEAN:
        with np.errstate(over="ignore"):
            matrix_db = ratios_to_db(gains_to_linear(matrix_db).mean(axis=0, keepdims=True))
    step_s = settings.step_s or np.nan
    stamps = np.arange(matrix_db.shape[1], dtype=np.float64) * step_s
    return [
        Recording(stamps, row_db, np.full(len(stamps), line), scale, step_s=step_s)
        for row_db, line in zip(matrix_db, lines, strict=False)  # the mean is of the first line on
    ]


def _matrix(path: Path) -> tuple[NDArray[np.float64], list[int]]:
    rows: list[list[float]] = []
    lines: list[int] = []
    for line, text in enumerate(lines_of(path), 1):
        cells = text.split()
        if not cells:
            continue
        if rows and len(cells) != len(rows[0]):
            raise TraceError(
                f"{path}: line {line}: has {len(cells)} values, line {lines[0]} {len(rows[0])}; "
                "all resource blocks need as many"
            )
        try:
            rows.append([number(cell) for cell in cells])
        except ValueError as error:
            raise TraceError(f"{path}: line {line}: {str(error)[:40]!r} is no number") from None
        lines.append(line)
    if not rows:
        raise TraceError(f"{path}: is empty; must hold a row of decibels a resource block")
    return np.array(rows), lines
