"""Thousands of devices have their personal parts in memory once."""

import json
import subprocess
import sys

import pytest

MEASURE = """
import json, resource, sys
from fl.enrolment import Enrolment
from fl.phases import WAIT
from fl.scenario import load_scenario
from fl.training.engine import EngineChoice
from netsim.streams import Streams

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

if __name__ == "__main__":
    cell, name = json.loads(sys.argv[1]), sys.argv[2]
    enrolment = Enrolment(load_scenario(cell), Streams(1))
    before = megabytes()
    with enrolment.learning(EngineChoice.of(name, 1)) as learning:
        learning.begin(0, [500] * 1000)
        learning.aggregate([WAIT] * 1000)
        print(learning.cohort.personal.nbytes / 2**20, megabytes() - before)
"""


@pytest.mark.parametrize("engine", ["inline", "processes"])
def test_a_thousand_personal_parts_are_held_once(paper_cell, tmp_path, engine):
    cell = paper_cell | {
        "scheme": {"split": {"personal": ["fc1.*"]}, "pruning": "none"},
        "devices": paper_cell["devices"] | {"count": 1000},
        "model": {"name": "mlp"},
        "learning": {"dataset": "synthetic", "partition": {"by": "iid"}, "test_samples": 1},
    }
    script = tmp_path / "measure.py"
    script.write_text(MEASURE)
    command = [sys.executable, str(script), json.dumps(cell), engine]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    held, taken = map(float, done.stdout.split())
    assert held > 380
    assert taken < 1.25 * held
