"""What the documentation shows is run, and what it claims is compared."""

import hashlib
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from fl.reproduction.plan import FULL, plan
from fl.study.arms import load_plan
from fl.study.metrics import METRICS
from fl.study.study import Study
from netsim.traces import read_trace

STRAGGLER = Path(sys.executable).with_name("straggler")
README = Path("README.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands():
    lines = [line for block in blocks(README, "console") for line in block.splitlines()]
    shown = [line.removeprefix("$ ") for line in lines if "straggler" in line]
    return [line.replace(".venv/bin/straggler", str(STRAGGLER)) for line in shown]


def test_the_two_commands_are_targets_of_the_makefile():
    makefile = Path("Makefile").read_text(encoding="utf-8")
    made = re.findall(r"^\$ make (\w+)$", README, re.MULTILINE)
    assert made == ["demo", "test"]
    for target in made:
        assert f"\n{target}:" in makefile


@pytest.fixture
def project(tmp_path):
    """A folder that looks like the project to a command run in it."""
    for name in ("scenarios", "traces"):
        shutil.copytree(name, tmp_path / name)
    return tmp_path


def test_the_commands_of_the_readme_work_one_after_the_other(project, fetched):
    assert len(commands()) > 10
    fetched("fashion-mnist")
    for command in commands():
        if "run scenarios/fashion-mnist.yaml" in command:
            command = f"{command} --set rounds=1"  # noqa: PLW2901 -- all of it takes a minute
        done = subprocess.run(
            command, shell=True, cwd=project, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stderr)


def test_the_output_that_the_readme_shows_is_the_output(project):
    done = subprocess.run(
        commands()[0], shell=True, cwd=project, capture_output=True, text=True, check=True
    )
    shown = blocks(README, "text")[0].splitlines()
    assert [line.rstrip() for line in done.stdout.splitlines()][: len(shown)] == shown


PAGES = README + "".join(
    Path(f"docs/{name}.md").read_text(encoding="utf-8") for name in ("allocation", "report")
)


@pytest.mark.parametrize(
    "code", [code for code in blocks(PAGES, "python") if not code.startswith("# ")]
)
def test_each_piece_of_python_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_scenario_of_the_readme_is_the_quickstart():
    yaml = YAML(typ="safe")
    shown = yaml.load(blocks(README, "yaml")[0])
    whole = yaml.load(Path("scenarios/quickstart.yaml"))
    assert shown == {key: value for key, value in whole.items() if key in shown}
    assert set(whole) - set(shown) == {"seed", "late"}  # both at their default


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/clusters.md",
        "docs/learning.md",
        "docs/allocation.md",
        "docs/report.md",
        "docs/reproduction.md",
        "docs/safety.md",
        "docs/scenario.md",
        "docs/studies.md",
        "docs/traces.md",
        "scenarios/README.md",
        "traces/README.md",
    ],
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", Path(page).read_text(encoding="utf-8")):
        assert (Path(page).parent / target).exists(), target


STUDIES = Path("docs/studies.md").read_text(encoding="utf-8")


def test_the_study_that_is_shown_is_the_one_that_comes_with_the_project():
    yaml = YAML(typ="safe")
    shown = yaml.load(blocks(STUDIES, "yaml")[0])
    assert shown == yaml.load(Path("scenarios/studies/deadline-vs-speed.yaml"))


def test_every_study_metric_and_key_is_explained():
    for name, metric in METRICS.items():
        assert f"| `{name}` | {metric.meaning} |" in STUDIES
    for key in (field.alias or name for name, field in Study.model_fields.items()):
        assert f"| `{key}" in STUDIES
    for path in Path("scenarios/studies").iterdir():
        plan = load_plan(path)
        size = f"{len(plan.arms)} x {len(plan.study.seed_list)}"
        assert re.search(rf"^\| `{path.name}` \| .* \| {size} \|", STUDIES, re.MULTILINE)


TRACES = Path("traces/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", re.findall(r"^\$ straggler (.*)$", TRACES, re.MULTILINE))
def test_a_trace_is_what_its_command_makes(tmp_path, command):
    name = command.split()[2]
    subprocess.run(
        f"{STRAGGLER} {command}", shell=True, cwd=tmp_path, check=True, capture_output=True
    )
    committed = Path("traces") / name
    assert f"`{hashlib.sha256(committed.read_bytes()).hexdigest()}`" in TRACES
    made, kept = read_trace(tmp_path / name), read_trace(committed)
    assert made.metadata == kept.metadata
    for one, other in zip(made.devices, kept.devices, strict=True):
        # Another processor may round a cosine the other way; in a deep fade that shows.
        np.testing.assert_allclose(one.values, other.values, atol=1e-6)
        np.testing.assert_array_equal(one.times_s, other.times_s)


def test_every_trace_that_is_shipped_is_listed():
    for path in Path("traces").glob("*.parquet"):
        assert f"`{path.name}`" in TRACES


@pytest.mark.parametrize(
    ("name", "least"),
    [("traces", 6), ("learning", 4), ("allocation", 3), ("report", 6), ("studies", 3)],
)
def test_the_commands_of_a_page_work_one_after_the_other(project, fetched, name, least):
    page = Path(f"docs/{name}.md").read_text(encoding="utf-8")
    for code in blocks(page, "python"):
        named = re.match(r"# (\w+\.py)\n", code)  # else it is run by another test
        if named:
            (project / named[1]).write_text(code, encoding="utf-8")
    if "fashion-mnist" in page:
        fetched("fashion-mnist")
    lines = re.findall(r"^\$ (.*)$", page, re.MULTILINE)
    assert len(lines) >= least
    for line in lines:
        command = re.sub("^straggler", str(STRAGGLER), line)
        done = subprocess.run(
            command, shell=True, cwd=project, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.ray
@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("ray_settings")
def test_the_command_of_the_page_on_clusters_works(project):
    page = Path("docs/clusters.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^\$ straggler (.*)$", page, re.MULTILINE)
    done = subprocess.run(
        f"{STRAGGLER} {line}",
        shell=True,
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"RAY_ADDRESS": "local"},  # whatever cluster is here
    )
    assert (done.returncode, done.stderr) == (0, "")


REPRODUCTION = Path("docs/reproduction.md").read_text(encoding="utf-8")


def table_below(heading, *deeper):
    """Return the rows of the first table below a heading of the reproduction, as cells."""
    below = REPRODUCTION.split(f"\n## {heading}", 1)[1]
    for one in deeper:
        below = below.split(one, 1)[1]
    rows = re.search(r"((?:^\|.*\|\n)+)", below, re.MULTILINE)[1].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_the_reproduction_is_that_of_a_full_run():
    assert "quick version" not in REPRODUCTION
    runs = {row[0]: row[1:4] for row in table_below("What was run")}
    for arm_experiment in {arm.experiment for arm in plan(FULL)}:
        arms = [arm for arm in plan(FULL) if arm.experiment == arm_experiment]
        assert int(runs[arm_experiment][0]) == sum(arm.num_seeds for arm in arms)
        rounds = sorted({arm.scenario(1).rounds for arm in arms})
        assert runs[arm_experiment][2] == ", ".join(map(str, rounds))


def test_its_verdicts_follow_from_its_numbers():
    checks = {}
    for where, _what, found, claimed, so in table_below("The numbers behind the verdicts"):
        mean, _, width = found.partition(" ± ")
        mean, half = (float(text.split()[0]) for text in (mean, width or "0"))
        words = claimed.split()
        low = -math.inf if words[0] == "below" else float(words[1 if words[0] == "above" else 0])
        high = math.inf if words[0] == "above" else float(words[-1])
        if low < mean - half and mean + half < high:
            expected = "yes"
        else:
            expected = "no" if mean + half < low or mean - half > high else "undecided"
        # Numbers are rounded for people: only what rounding cannot have changed is held to it.
        unclear = any(
            abs(edge - end) < 0.02 * (half + abs(mean))
            for edge in (low, high)
            for end in (mean - half, mean + half)
        )
        assert so == expected or unclear, (where, found, claimed)
        checks.setdefault(where, []).append(so)
    verdicts = {}
    for where, _says, verdict, why in table_below("Claim by claim"):
        assert len(why) > 20
        verdicts.setdefault(where, []).append(verdict.strip("*"))
    assert set(verdicts) == set(checks)
    for where, (only, *others) in verdicts.items():
        if not others:
            found = set(checks[where])
            some = "holds" if found == {"yes"} else "holds partly"
            none = "does not hold" if "no" in found else "undecided"
            assert only == (some if "yes" in found else none), where


def test_the_readme_has_the_table_of_the_reproduction():
    measured = {row[0]: row for row in table_below("Table I")}
    moving = {row[0]: row for row in table_below("Beyond the paper", "### Table I on a moving")}
    rows = re.findall(
        r"^\| ([a-z ]+) \| ([\d± .]+) \| ([\d.]+) \| ([\d± .]+) \| (\d+%) → (\d+%) \|$",
        README,
        re.MULTILINE,
    )
    assert len(rows) == 4
    for title, paper, stated, calibrated, still, at_3_kmh in rows:
        name = {
            "equal resources": "equal resources, one ratio",
            "pruning only": "pruning only, one ratio",
        }
        row = measured[name.get(title, title)]
        assert (row[1], row[3], row[8]) == (paper, calibrated, stated)
        assert [moving[row[0]][column].split(" / ")[0] for column in (5, 6)] == [still, at_3_kmh]
