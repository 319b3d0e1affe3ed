"""Code that a scenario names runs only where somebody has allowed it."""

import subprocess
import sys

import pytest
from ruamel.yaml import YAML

import fl
from fl.own_code import OwnCodeError
from fl.scenario import load_scenario

STRAGGLER = [sys.executable, "-P", "-m", "fl"]  # -P: as if installed, the folder is not on the path
CANARY = "from pathlib import Path\n\nPath('canary').touch()\n"
MODULES = {
    "rule": """
import numpy as np

class Rule:
    def shares(self, situation):
        return np.full(len(situation.cost.frequency_hz), 1 / len(situation.cost.frequency_hz))
""",
    "network": """
import torch

class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 2, 3, stride=9)
        self.fc = torch.nn.Linear(18, 10)

    def forward(self, images):
        return self.fc(self.conv1(images).flatten(1))
""",
}
LEARNING = {"dataset": "synthetic", "partition": {"by": "iid"}, "batch_size": 8}
KEYS = {
    "scheme.bandwidth": {"scheme": {"bandwidth": "rule:Rule"}},
    "model.name": {"model": {"name": "network:Network"}, "learning": LEARNING},
}
NAMES = {"scheme.bandwidth": "rule:Rule", "model.name": "network:Network"}
FILES = {*(f"{name}.py" for name in MODULES), *(f"{key}.yaml" for key in KEYS)}


@pytest.fixture
def folder(paper_cell, tmp_path):
    """A folder from a stranger: modules, and for each key a scenario that names one."""
    for name, code in MODULES.items():
        (tmp_path / f"{name}.py").write_text(CANARY + code, encoding="utf-8")
    for key, said in KEYS.items():
        YAML().dump(paper_cell | {"name": key, "rounds": 1} | said, tmp_path / f"{key}.yaml")
    return tmp_path


def straggler(folder, *arguments):
    done = subprocess.run(
        [*STRAGGLER, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr, (folder / "canary").exists()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "command", [("run",), ("scenario", "check"), ("data", "partition")], ids=" ".join
)
def test_it_is_refused_before_it_is_imported(folder, key, command):
    status, said, has_run = straggler(folder, *command, f"{key}.yaml")
    assert (status, has_run) == (2, False)
    assert f"{key}: {NAMES[key]} is code that is not part of Straggler" in said
    assert "--allow-code" in said
    assert {path.name for path in folder.iterdir()} == FILES


@pytest.mark.parametrize("key", KEYS)
def test_who_only_looks_needs_no_permission_and_runs_nothing(folder, key):
    status, said, has_run = straggler(folder, "run", f"{key}.yaml", "--allow-code", "--out", "run")
    assert (status, has_run) == (0, True), said
    (folder / "canary").unlink()
    for command in (("scenario", "show", f"{key}.yaml"), ("report", "run"), ("timeline", "run")):
        assert straggler(folder, *command) == (0, "", False), command


def test_a_check_that_is_allowed_imports(folder):
    check = ("scenario", "check", "scheme.bandwidth.yaml", "--allow-code")
    assert straggler(folder, *check) == (0, "", True)


def test_all_that_is_named_is_listed(paper_cell):
    both = paper_cell | {"scheme": {"bandwidth": "a:B"}, "model": {"name": "c.d:E"}}
    assert load_scenario(both).own_code == {"scheme.bandwidth": "a:B", "model.name": "c.d:E"}
    with pytest.raises(OwnCodeError) as raised:
        fl.run(both)
    assert len(str(raised.value).splitlines()) == 2
    assert load_scenario(paper_cell | {"model": {"name": "cnn"}}).own_code == {}


def test_the_current_folder_joins_the_path_only_with_permission(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    with pytest.raises(OwnCodeError, match="allow_code=True"):
        fl.run("scheme.bandwidth.yaml")
    assert str(folder) not in sys.path
    assert "rule" not in sys.modules
    fl.run("scheme.bandwidth.yaml", allow_code=True)
    assert str(folder) in sys.path
    del sys.modules["rule"]
