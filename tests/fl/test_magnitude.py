"""Files that are far too much are refused in bounded time and memory."""

import resource
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from fl.scenario import ScenarioError, load_scenario
from fl.scenario.magnitude import LONGEST

LETTERS = "abcdefghijklmnopqrst"
LAUGHS = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{inner}'] * 9)}]\n" for inner, name in pairwise(LETTERS[:10])
)
MERGED = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{p: *{inner}, q: *{inner}, <<: *{inner}}}\n"
    for inner, name in pairwise(LETTERS)
)
HOSTILE = {
    "billion laughs": (LAUGHS, "stands for more than"),
    "repeated text": (f"a: &a {'x' * 10**6}\nb: [{'*a, ' * 10**4}]", "stands for more than"),
    "merged": (MERGED, ""),
    "twice": ("a: &a 1\nb: &a 2", "found duplicate anchor"),
    "deep list": ("[" * 10**6, "nested too deeply"),
    "deep mapping": ("{a: " * 10**5, "nested too deeply"),
    "deep blocks": ("\n".join(" " * depth + "a:" for depth in range(1500)), "nested too deeply"),
    "deep dashes": ("- " * 10**5, "nested too deeply"),
    "long": ("# " + "x" * 10**8, f"is longer than {LONGEST} characters"),
    "long number": (f"rounds: {'9' * 10**5}", "is not valid YAML"),
    "long hexadecimal": (f"rounds: 0x{'f' * 10**5}", "number of more than 4200 digits"),
    "NUL": ("name: a\0b", "is not valid YAML"),
    "escaped NUL": ('name: "a\\0b"', "NUL character"),
    "many keys": ("\n".join(f"key{i}: 1" for i in range(3000)), "and 29"),
    "code": ("name: !!python/object/apply:os.system [true]", ""),
    "itself": ("a: &a [*a]", ""),
    "many digits": (f"deadline: {'1' * 10**6} x y", "must be a number with its unit"),
    "many spaces": (f"deadline: '1{' ' * 10**6}a b'", "must be a number with its unit"),
    "long unit": (f"deadline: 1 {'x' * 10**6}", "is not a time"),
    "long key": (f"? {'x' * 10**6}\n: 1", "a key is longer than 200 characters"),
    "long item": (f"devices: {{cpu_frequency: [{'x' * 10**6}]}}", "device 0 must be a number"),
    "long path": (f"extends: [{'x' * 10**6}]", "must be the path of a scenario"),
    "long name": (f"extends: {'x' * 10**6}", "there is no file"),
}
#: What a hostile file may take, beside what Python and its libraries do.
MEGABYTES, SECONDS = 250, 20


@pytest.fixture(params=HOSTILE)
def hostile(request, tmp_path):
    text, said = HOSTILE[request.param]
    path = tmp_path / "hostile.yaml"
    path.write_text(text, encoding="utf-8")
    return path, said


def test_a_hostile_file_is_refused(hostile):
    path, said = hostile
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ScenarioError) as raised:
        load_scenario(path)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 10_000
    assert time.process_time() - began < SECONDS
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert taken < MEGABYTES * 1024


def test_a_bomb_ends_the_command_like_any_bad_input(tmp_path):
    path = tmp_path / "bomb.yaml"
    path.write_text(LAUGHS)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9,) * 2)

    command = [sys.executable, "-m", "fl", "scenario", "show", str(path)]
    done = subprocess.run(
        command, preexec_fn=limit, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"straggler: {path}: stands for more than")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "setting",
    [
        ".".join(["a"] * 10_000) + "=1",
        f"rounds={'[' * 1000}",
        "devices.count=0x" + "f" * 1000,
        'name="a\\0b"',
        "rounds=" + "9" * 10_000,
        "uplink.channel={trace: '" + "x" * 10_000 + "'}",
    ],
)
def test_settings_of_a_command_line_are_held_to_the_same(paper_cell, setting):
    with pytest.raises(ScenarioError) as raised:
        load_scenario(paper_cell | {"rounds": -1}, [setting])
    assert len(str(raised.value)) < 1_000


def test_aliases_are_welcome_where_they_are_few(paper_cell, tmp_path):
    path = tmp_path / "aliases.yaml"
    path.write_text("devices: {count: &n 3}\nrounds: *n\n")
    with pytest.raises(ScenarioError, match="is missing"):
        load_scenario(path)
    del paper_cell["rounds"], paper_cell["devices"]["count"]
    assert load_scenario(path, overrides=paper_cell).rounds == 3


def test_files_that_extend_each_other_have_an_end(tmp_path):
    for number in range(100):
        (tmp_path / f"{number}.yaml").write_text(f"extends: {number + 1}.yaml\n")
    (tmp_path / "100.yaml").write_text("rounds: 1\n")
    with pytest.raises(ScenarioError, match="too many"):
        load_scenario(tmp_path / "0.yaml")


def test_a_device_that_never_ends_is_no_file():
    with pytest.raises(ScenarioError, match="is longer than"):
        load_scenario("/dev/zero")
