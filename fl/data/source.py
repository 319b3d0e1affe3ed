"""Somewhere a data set can be had."""

from abc import ABC, abstractmethod
from pathlib import Path

from fl.data.catalogue import Entry


class Source(ABC):
    """Somewhere a data set can be had; as a string, what a person would call it."""

    @abstractmethod
    def files(self, entry: Entry, scratch: Path) -> dict[str, bytes]:
        """Return the idx files of a data set, not yet checked.

        Args:
            entry: Which.
            scratch: An empty folder to download to.

        Raises:
            Exception: Of many kinds; its message says what went wrong.
        """
