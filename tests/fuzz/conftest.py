"""Folders in which readers find what belongs to a file."""

import pytest
from fuzz.readers import READERS

collect_ignore = ["campaign.py"]  # a program, which needs the extra fuzz


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory):
    """Return the folder of a reader, prepared once."""
    folders = {}

    def prepared(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            READERS[name].prepare(folders[name])
        return folders[name]

    return prepared
