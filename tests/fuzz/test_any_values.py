"""Whatever a well-formed file says, it is read or refused in words, soon: nothing else."""

import pytest
from fuzz import sound
from fuzz.contents import journal_files, json_files, parquet_files, settings_of, yaml_files
from fuzz.law import inputs, read_or_refused
from fuzz.readers import READERS
from hypothesis import given
from hypothesis import strategies as st

from fl.scenario import load_scenario

#: For each reader.
INPUTS = {
    "scenario": 500,
    "study": 150,
    "trace": 200,
    "checkpoint": 150,
    "rounds": 60,
    "devices": 60,
    "events": 60,
    "manifest": 150,
}
SETTINGS = 400
QUICKSTART = load_scenario(sound.ROOT / "scenarios/quickstart.yaml").written()


def contents(name):
    texts = READERS[name].sound()
    if name in ("scenario", "study"):
        return yaml_files(texts)
    if name in ("checkpoint", "manifest"):
        return json_files(texts)
    return parquet_files() if name == "trace" else journal_files(READERS[name].sound)


@pytest.mark.parametrize("name", INPUTS)
def test_a_file_that_says_something_else_is_read_or_refused(folder_of, name):
    reader, folder = READERS[name], folder_of(name)

    @given(contents(name))
    @inputs(INPUTS[name])
    def check(content):
        reader.check(folder, content)

    check()


@given(st.lists(settings_of(sound.scenarios()), min_size=1, max_size=3))
@inputs(SETTINGS)
def test_any_setting_is_taken_or_refused(settings):
    read_or_refused(lambda: load_scenario(QUICKSTART, settings), ":")
