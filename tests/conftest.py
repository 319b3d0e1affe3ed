"""Fixtures that more than one file uses."""

from importlib.util import find_spec

import numpy as np
import pytest
from commands import Commands
from ray_nodes import SETTINGS, two_nodes
from small_disk import small_disk

from fl.data import DatasetError, fetch
from netsim.traces import Kind, Samples, Trace, write_trace


@pytest.fixture
def paper_cell():
    """The paper's cell with a frozen channel, as a scenario to change at will."""
    return {
        "name": "cell",
        "rounds": 2,
        "scheme": "personalization",
        "devices": {
            "count": 10,
            "cpu_frequency": "3 GHz",
            "cycles_per_weight": 20,
            "transmit_power": "28 dBm",
        },
        "uplink": {
            "bandwidth": "20 MHz",
            "noise_power": "-110 dBm",
            "channel": {"gain": "-100 dB"},
        },
        "model": {"personal_weights": 52_096, "global_weights": 402_826},
    }


@pytest.fixture
def learning_cell(paper_cell):
    """Five devices on a deadline that cuts some, with pruning."""
    return paper_cell | {
        "rounds": 4,
        "scheme": {"split": "conv", "pruning": {"fixed": 0.4}, "bandwidth": "equal"},
        "devices": paper_cell["devices"]
        | {"count": 5, "cpu_frequency": {"uniform": ["1 MHz", "3 MHz"]}},
        "deadline": "14 ms",
        "late": "drop",
        "model": {"name": "tiny_models:TinyCnn"},
        "learning": {
            "dataset": "synthetic",
            "partition": {"by": "dirichlet", "alpha": 0.5},
            "batch_size": 16,
            "learning_rate": {"personal": 0.1, "global": 0.1},
            "evaluate_every": 2,
        },
    }


@pytest.fixture(scope="session")
def fetched():
    """Fetch a data set into the normal cache; where none can be had, leave the test out."""

    def fetch_or_skip(name):
        try:
            fetch(name)
        except DatasetError as error:
            pytest.skip(f"no source can be reached: {error}")

    return fetch_or_skip


@pytest.fixture
def moving_trace(tmp_path):
    """A trace of ten devices with irregular steps, deep fades and silences."""
    rng = np.random.default_rng(7)
    devices = []
    for _ in range(10):
        steps_s = rng.uniform(0.001, 0.02, 300)
        gain_db = rng.uniform(-125.0, -85.0, 300)
        gain_db[:-1][rng.random(299) < 0.1] = -np.inf
        devices.append(Samples(np.cumsum(steps_s) - steps_s[0], gain_db))
    path = tmp_path / "moving.parquet"
    write_trace(path, Trace(Kind.GAIN_DB, devices))
    return path


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """Begins the command in processes of their own."""
    made = Commands(tmp_path_factory.mktemp("commands"))
    yield made
    made.close()


@pytest.fixture
def disk(tmp_path):
    """A disk that is soon full; left out where none can be mounted."""
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


@pytest.fixture(scope="session")
def ray_settings():
    """What Ray needs to know of this test session, for this process and those below it."""
    if find_spec("ray") is None:  # nor imported: it reads settings when it is
        pytest.skip("Ray is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        yield SETTINGS


@pytest.fixture(scope="session")
def ray_nodes(ray_settings):
    """The address of a real Ray cluster of two nodes, and their processes."""
    with two_nodes(ray_settings) as (address, pids):
        yield address, pids


@pytest.fixture
def ray_address(ray_nodes):
    """The address of a real Ray cluster of two nodes, one processor each."""
    return ray_nodes[0]
