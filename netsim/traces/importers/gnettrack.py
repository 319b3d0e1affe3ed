"""Logs of G-NetTrack: a CSV line a second, stamped like ``2019.11.28_07.27.58``.

``-`` stands for no value, -200 does too, and a second may come twice; what to do about
these is for the policy. Stamps are the clock on the wall: a change to summer time shows
as a gap, one to winter time as times that go backward.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from netsim.errors import TraceError
from netsim.traces.importers.delimited import delimiter_of
from netsim.traces.importers.importer import Recording, Settings
from netsim.traces.importers.policy import Ledger
from netsim.traces.importers.quantity import Quantity, scale_of
from netsim.traces.importers.table import record, table_of

TIME_COLUMN = "Timestamp"
#: The columns that say something of the channel.
COLUMNS = {
    "SNR": Quantity.SNR_DB,
    "RSRP": Quantity.RSRP_DBM,
    "CQI": Quantity.CQI,
    "DL_bitrate": Quantity.KBIT_S,
    "UL_bitrate": Quantity.KBIT_S,
}
STAMP = re.compile(r"(\d{4})\.(\d\d)\.(\d\d)_(\d\d)\.(\d\d)\.(\d\d)", re.ASCII)


def read_gnettrack(path: Path, settings: Settings, ledger: Ledger) -> list[Recording]:
    """Read one column of a log.

    Raises:
        TraceError: The file is no such log, or it is not stated which column.
    """
    column = settings.value_column or ""
    if column not in COLUMNS:
        raise TraceError(f"{path}: needs --value-column: one of {', '.join(COLUMNS)}")
    scale = scale_of(str(path), COLUMNS[column], settings.stated)
    table = table_of(path, delimiter_of(path, settings))
    where = (table.index(TIME_COLUMN), table.index(column))
    return [record(table, where, scale, ledger, stamp=_seconds)]


def _seconds(cell: str) -> float:
    match = STAMP.fullmatch(cell.strip())
    if match is None:
        return np.nan
    year, month, day, hour, minute, second = map(int, match.groups())
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
