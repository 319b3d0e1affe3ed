"""A study small enough to be run in a test."""

import pytest
from ruamel.yaml import YAML


@pytest.fixture
def study(tmp_path, paper_cell):
    """A study of two arms and three seeds beside its scenario, to change at will."""
    paper_cell["devices"]["cpu_frequency"] = {"uniform": ["1 GHz", "3 GHz"]}
    paper_cell["deadline"] = "300 ms"
    YAML().dump(paper_cell, tmp_path / "cell.yaml")
    return {
        "name": "small",
        "base": "cell.yaml",
        "seeds": 3,
        "vary": {"grid": {"scheme": ["personalization", "equal-resource"]}},
    }


@pytest.fixture
def written(tmp_path, study):
    """Write the study, with other values, and return its path."""

    def write(**changes):
        path = tmp_path / "study.yaml"
        YAML().dump({**study, **changes}, path)
        return path

    return write
