"""Whatever bytes a file holds, it is read or refused in words, soon: nothing else."""

import pytest
from fuzz.law import inputs
from fuzz.mutations import changed_bytes
from fuzz.readers import READERS
from hypothesis import given
from hypothesis import strategies as st

#: For each reader.
INPUTS = 100


@pytest.mark.parametrize("name", READERS)
def test_sound_files_are_read(folder_of, name):
    reader = READERS[name]
    assert all(reader.check(folder_of(name), content) for content in reader.sound())


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_some_bytes_changed_is_read_or_refused(folder_of, name):
    reader, folder = READERS[name], folder_of(name)

    @given(changed_bytes(reader.sound) | st.binary(max_size=100))
    @inputs(INPUTS)
    def check(content):
        reader.check(folder, content)

    check()
