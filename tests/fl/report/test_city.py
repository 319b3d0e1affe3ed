"""A city is looked at in bounded memory."""

import subprocess
import sys

import pytest

import fl

SCRIPT = """
import resource, sys
from fl.cli import app
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
app(["report", sys.argv[1]], standalone_mode=False)
print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    folder = tmp_path_factory.mktemp("city") / "out"
    fl.run("scenarios/city-scale.yaml", rounds=2, out=folder)
    return folder


def test_131072_devices_give_a_page_that_says_it_is_a_sample(city):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(city)], capture_output=True, text=True, check=True
    )
    *_, numbers = done.stdout.splitlines()
    before, after = map(int, numbers.split())
    assert after - before < 800_000  # kB: the tables themselves are 40 MB
    page = (city / "report.html").read_text(encoding="utf-8")
    assert len(page) < 8e6
    assert "of 131072 devices are shown" in page
    assert "2 x 131072" in page
