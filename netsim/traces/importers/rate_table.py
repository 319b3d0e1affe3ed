"""Two columns of numbers without a header: seconds, and the Mbit/s from then on.

Steps are as long as they are. Columns are separated by blanks, a tab or a comma.
"""

from pathlib import Path

from netsim.traces.importers.importer import Recording, Settings
from netsim.traces.importers.policy import Ledger
from netsim.traces.importers.quantity import Quantity, scale_of
from netsim.traces.importers.table import Table, lines_of, record


def read_rate_table(path: Path, settings: Settings, ledger: Ledger) -> list[Recording]:
    """Read a table of rates; a line that does not hold two numbers is unreadable.

    Raises:
        TraceError: The file is no text, or no bandwidth is stated.
    """
    scale = scale_of(str(path), Quantity.MBIT_S, settings.stated)
    lines, rows = [], []
    for line, text in enumerate(lines_of(path), 1):
        if text.strip():
            lines.append(line)
            rows.append(_cells(text))
    table = Table(str(path), ("seconds", "Mbit/s"), rows, lines)
    return [record(table, (0, 1), scale, ledger)]


def _cells(text: str) -> list[str]:
    return text.split(",") if "," in text else text.split()
