"""Runs of the CICV5G data set: text with a row about every 55 ms, separated by blanks.

The header names what each row begins with; some rows go on beyond it. What the header
calls ``rsrp(db)`` is a received power in dBm.
"""

from pathlib import Path

from netsim.errors import TraceError
from netsim.traces.importers.importer import Recording, Settings, TimeUnit
from netsim.traces.importers.policy import Ledger
from netsim.traces.importers.quantity import Quantity, scale_of
from netsim.traces.importers.table import record, table_of

TIME_COLUMN = "pub_time(ms)"
#: The columns that say something of the channel.
COLUMNS = {"sinr(db)": Quantity.SNR_DB, "rsrp(db)": Quantity.RSRP_DBM}


def read_cicv5g(path: Path, settings: Settings, ledger: Ledger) -> list[Recording]:
    """Read one column of a run.

    Raises:
        TraceError: The file is no such run, or it is not stated which column.
    """
    column = settings.value_column or ""
    column = column if "(" in column else f"{column}(db)"
    if column not in COLUMNS:
        raise TraceError(f"{path}: needs --value-column: one of {', '.join(COLUMNS)}")
    scale = scale_of(str(path), COLUMNS[column], settings.stated)
    table = table_of(path, None)
    where = (table.index(TIME_COLUMN), table.index(column))
    return [record(table, where, scale, ledger, per_second=TimeUnit.MS.per_second)]
