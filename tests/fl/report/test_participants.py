"""What is shown of a run in which each round has other devices."""

import base64
import json

import numpy as np
import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

import fl
from fl.cli import app
from fl.report.recording import Recording
from fl.report.run_charts import allocation, phases
from fl.report.stragglers import COLUMNS, straggler_board
from fl.report.timeline import Excerpt, pack

COUNT, NUMBER, ROUNDS = 500, 12, 15


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "sampled"
    fl.run(
        "scenarios/quickstart.yaml", rounds=ROUNDS, participants=NUMBER, devices={"count": COUNT},
        uplink={"channel": {"devices": "random"}}, out=folder,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def recording(folder):
    return Recording.open(folder)


def command(*words):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_page_and_the_figures_are_made(folder, tmp_path, browser_page):
    command("report", folder, "--out", tmp_path / "page.html", "--figures", tmp_path / "figures")
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 5
    browser_page.goto((tmp_path / "page.html").resolve().as_uri())
    browser_page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
    for chart in browser_page.locator(".chart").all():
        assert chart.locator("path.js-line, path.point, .point path, path.step").count() > 0
    assert f"{ROUNDS} x {NUMBER} of {COUNT}" in browser_page.locator(".headline").inner_text()
    assert browser_page.evaluate("() => window.stragglerTimeline.drawnCount()") > 0


def test_charts_show_means_over_the_rounds_of_each_device(folder, recording):
    shown = phases(recording).columns
    table = fl.Run.open(folder).devices
    assert len(shown["device"]) == 40
    assert set(shown["device"]) <= set(table["device"].to_pylist())
    for device, upload_ms in zip(shown["device"], shown["upload_ms"], strict=True):
        mine = table.filter(pc.equal(table["device"], device))
        assert upload_ms == pytest.approx(mine["upload_s"].to_numpy().mean() * 1e3)
    given = allocation(recording).columns
    for device, share in zip(given["device"], given["bandwidth_fraction_p50"], strict=True):
        mine = table.filter(pc.equal(table["device"], device))
        assert share == pytest.approx(np.median(mine["bandwidth_fraction"].to_numpy()) * 100)


def test_figures_show_means_over_the_rounds_of_each_device(folder):
    run = fl.Run.open(folder)
    shown = run.plot.phases().table.to_pylist()
    boxes = run.plot.allocation().table.to_pylist()
    assert len(shown) == 40
    for row in (*shown, *boxes):
        mine = run.devices.filter(pc.equal(run.devices["device"], row["device"]))
        if "quantity" in row:
            values = mine[row["quantity"]].to_numpy()
            assert row["median"] == pytest.approx(np.median(values))
            assert (row["lowest"], row["highest"]) == (values.min(), values.max())
        else:
            assert row["upload_s"] == pytest.approx(mine["upload_s"].to_numpy().mean())


def test_the_board_of_stragglers_is_by_number(folder, recording):
    run = fl.Run.open(folder)
    last = run.rounds["straggler"].to_numpy()
    board = straggler_board(last, recording.in_chunks(COLUMNS))
    numbers, times = np.unique(last, return_counts=True)
    assert {one.device: one.rounds for one in board} == dict(
        zip(numbers.tolist(), times.tolist(), strict=True)
    )
    latencies = np.sort(run.devices["latency_s"].to_numpy().reshape(ROUNDS, NUMBER))
    saved = (latencies[:, -1] - latencies[:, -2]).sum()
    assert sum(one.saved_s for one in board) == pytest.approx(saved)


def test_a_lane_is_empty_in_rounds_without_its_device(folder, recording):
    excerpt = Excerpt.of(recording)
    packed = pack(excerpt)
    shape = (ROUNDS, len(packed["devices"]), len(packed["phases"]))
    seconds = np.frombuffer(base64.b64decode(packed["seconds"]), "<f8").reshape(shape)
    rows = {(r["round"], r["device"]): r for r in fl.Run.open(folder).devices.to_pylist()}
    names = [phase["name"] for phase in packed["phases"]]
    for round_ in range(ROUNDS):
        for lane, device in enumerate(packed["devices"]):
            row = rows.get((round_, device))
            expected = [row[f"{name}_s"] if row else 0.0 for name in names]
            assert seconds[round_, lane].tolist() == expected


def test_perfetto_has_a_slice_for_each_round_of_a_device(folder, tmp_path):
    command("timeline", folder, "--out", tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    tracks = {
        event["tid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event.get("name") == "thread_name"
    }
    slices = {
        (tracks[event["tid"]], event["name"])
        for event in trace["traceEvents"]
        if event["ph"] == "B" and event["name"].startswith("round") and event["tid"] > 1
    }
    rows = fl.Run.open(folder).devices.to_pylist()
    assert slices == {(f"device {row['device']}", f"round {row['round']}") for row in rows}
    assert (
        trace["otherData"]["participants of a round"]
        == f"{NUMBER} of {COUNT}, drawn anew each time"
    )
