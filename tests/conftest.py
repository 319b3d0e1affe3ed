"""Fixtures that more than one file uses."""

import numpy as np
import pytest

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
