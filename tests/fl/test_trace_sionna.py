"""Sionna is an extra: the first test runs where it is missing, the others where it is there."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from netsim.traces import read_trace

HAS_SIONNA = importlib.util.find_spec("sionna") is not None
needs_sionna = pytest.mark.skipif(not HAS_SIONNA, reason="the extra sionna is not installed")


def sionna(out, *options):
    command = [sys.executable, "-m", "fl", "trace", "sionna", str(out), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.skipif(HAS_SIONNA, reason="the extra sionna is installed")
def test_without_the_extra_it_says_how_to_get_it(tmp_path):
    out = tmp_path / "t.parquet"
    options = ("--model", "tdl-a", "--devices", "1", "--duration", "1 s", "--step", "1 ms")
    done = sionna(out, *options)
    assert done.returncode == 2
    assert "needs the extra sionna" in done.stderr
    assert not out.exists()


def test_a_bad_quantity_is_refused(tmp_path):
    options = ("--model", "tdl-a", "--devices", "1", "--duration", "1 s", "--step", "1 m")
    done = sionna(tmp_path / "t.parquet", *options)
    assert done.returncode == 2
    assert "--step 1 m: is not a time" in done.stderr


@needs_sionna
def test_a_tdl_profile_has_the_mean_gain_that_was_asked_for_and_repeats(tmp_path):
    options = ("--model", "tdl-a", "--devices", "20", "--duration", "1 s", "--step", "1 ms")
    options += ("--speed", "30 km/h", "--loss", "97 dB")
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    for out in (one, two):
        assert sionna(out, *options).returncode == 0
    assert one.read_bytes() == two.read_bytes()
    gains = np.concatenate([10 ** (s.values / 10) for s in read_trace(one).devices])
    assert 10 * np.log10(gains.mean()) == pytest.approx(-97, abs=0.5)


@needs_sionna
@pytest.mark.parametrize("model", ["umi", "uma"])
def test_a_street_attenuates_as_a_street_does(tmp_path, model):
    out = tmp_path / "t.parquet"
    options = ("--model", model, "--devices", "5", "--duration", "0.2 s", "--step", "1 ms")
    assert sionna(out, *options).returncode == 0
    medians = [np.median(samples.values) for samples in read_trace(out).devices]
    assert -160 < min(medians) < max(medians) < -50
