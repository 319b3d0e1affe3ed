"""Pages in a real browser, opened from disk; their numbers against those of the tables."""

import json
import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import fl
from fl.cli import app
from fl.report.page import script_safe, table_html
from netsim.errors import InputError


def straggler(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "quickstart"
    fl.run("scenarios/quickstart.yaml", rounds=30, out=folder)
    assert straggler("report", folder).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """Two arms that learn, with two seeds each."""
    folder = tmp_path_factory.mktemp("learnt")
    for scheme in ("equal-resource", "personalization"):
        for seed in (1, 2):
            fl.run(
                "scenarios/quickstart.yaml", rounds=4, scheme=scheme, seed=seed,
                model={"name": "cnn", "kernel_size": 3}, out=folder / f"{scheme}-{seed}",
                learning={
                    "dataset": "synthetic", "partition": {"by": "iid"}, "evaluate_every": 1,
                    "batch_size": 4, "test_samples": 20,
                },
            )  # fmt: skip
    return folder


def opened(page, path):
    page.goto(path.resolve().as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'", timeout=60_000)
    return page


def headline(page):
    names = page.locator(".headline dt").all_inner_texts()
    return dict(zip(names, page.locator(".headline dd").all_inner_texts(), strict=True))


def test_the_page_of_a_run_has_marks_in_every_chart(quickstart, browser_page):
    page = opened(browser_page, quickstart / "report.html")
    charts = page.locator(".chart").all()
    assert len(charts) == 6  # none of learning
    for chart in charts:
        assert chart.locator("svg.main-svg").count() > 0
        assert chart.locator("path.js-line, path.point, .point path, path.step").count() > 0
    assert page.locator("canvas").count() >= 1
    assert "Learning" not in page.locator("h2").all_inner_texts()


def test_its_numbers_are_those_of_the_tables(quickstart, browser_page):
    page = opened(browser_page, quickstart / "report.html")
    run = fl.Run.open(quickstart)
    latency_ms = sorted(1e3 * value for value in run.rounds["latency_s"].to_pylist())
    numbers = headline(page)
    median_ms = (latency_ms[14] + latency_ms[15]) / 2
    assert numbers["round latency, p50"] == f"{median_ms:.4g} ms"
    late = np.mean([value > 0.04 * (1 + 1e-9) for value in run.devices["latency_s"].to_pylist()])
    assert numbers["uploads that missed it"] == f"{late:.1%}"
    shown = page.evaluate(
        "Array.from(document.getElementById('chart-latency')._fullData[0].y, Number)"
    )
    np.testing.assert_allclose(shown, 1e3 * run.rounds["latency_s"].to_numpy(), rtol=1e-9)
    rows = page.locator("#stragglers table tbody tr").all()
    board = [[cell.text_content() for cell in row.locator("td").all()] for row in rows]
    last = run.rounds["straggler"].to_pylist()
    assert {int(row[0]): int(row[1]) for row in board} == {d: last.count(d) for d in set(last)}


def test_hovering_over_a_round_tells_its_latency(quickstart, browser_page):
    page = opened(browser_page, quickstart / "report.html")
    chart = page.locator("#chart-latency")
    chart.scroll_into_view_if_needed()
    point = chart.locator("path.point").nth(7).bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    told = chart.locator("g.hovertext").first
    told.wait_for(timeout=10_000)
    number, latency_ms, device = re.match(
        r"round (\d+): ([\d.]+) ms, last was device (\d+)", told.text_content()
    ).groups()
    row = fl.Run.open(quickstart).rounds.slice(int(number), 1).to_pylist()[0]
    assert float(latency_ms) == pytest.approx(1e3 * row["latency_s"], abs=5e-4)
    assert int(device) == row["straggler"]


def test_dark_and_light_and_narrow(quickstart, browser_page):
    page = opened(browser_page, quickstart / "report.html")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_nothing_moves_while_it_loads(quickstart, browser_page):
    page = browser_page
    page.add_init_script(
        "window.shifts = 0; new PerformanceObserver(list => { for (const one of list.getEntries())"
        " window.shifts += one.value; }).observe({type: 'layout-shift', buffered: true});"
    )
    opened(page, quickstart / "report.html")
    page.wait_for_timeout(500)
    assert page.evaluate("window.shifts") < 0.02


def test_the_page_is_small_enough_to_send(quickstart):
    assert (quickstart / "report.html").stat().st_size < 6e6


def test_a_run_that_has_learnt_shows_it(learnt, browser_page):
    folder = learnt / "equal-resource-1"
    straggler("report", folder, "--out", learnt / "one.html")
    page = opened(browser_page, learnt / "one.html")
    assert page.locator("#learning-time").count() == 1
    tested = fl.Run.open(folder).rounds
    shown = page.evaluate(
        "Array.from(document.getElementById('chart-learning-time')._fullData[0].y, Number)"
    )
    np.testing.assert_allclose(shown, 100 * tested["test_accuracy"].to_numpy(), rtol=1e-9)
    at_s = page.evaluate(
        "Array.from(document.getElementById('chart-learning-time')._fullData[0].x, Number)"
    )
    np.testing.assert_allclose(at_s, tested["end_s"].to_numpy(), rtol=1e-9)


def test_several_runs_are_compared_by_arm(learnt, browser_page):
    done = straggler("report", learnt, "--out", learnt / "compared.html")
    assert done.exit_code == 0
    page = opened(browser_page, learnt / "compared.html")
    assert page.locator("h1").inner_text() == "2 arms, 4 runs"
    rows = page.locator("#arms tbody tr").all()
    assert len(rows) == 2
    for row in rows:
        cells = row.locator("td").all_inner_texts()
        scheme = cells[0].removeprefix("quickstart, scheme ")
        means = [
            1e3 * np.mean(fl.Run.open(learnt / f"{scheme}-{seed}").rounds["latency_s"].to_pylist())
            for seed in (1, 2)
        ]
        assert float(cells[2].split(" ±")[0]) == pytest.approx(np.mean(means), rel=0.02)
    assert page.locator("#pareto").count() == 1
    for chart in page.locator(".chart").all():
        assert chart.locator("path.js-line, path.point, .point path").count() > 0


HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=window.hacked=1>"


def test_what_a_run_says_of_itself_cannot_run_in_the_page(quickstart, tmp_path, browser_page):
    copy = tmp_path / "copy"
    shutil.copytree(quickstart, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest |= {"status": "failed", "reason": HOSTILE, "started": HOSTILE}
    manifest["versions"] = {HOSTILE: HOSTILE}
    manifest["sha256"] = {HOSTILE: "0"}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert straggler("report", copy).exit_code == 0
    page = opened(browser_page, copy / "report.html")
    assert page.evaluate("window.hacked") is None
    assert "This run did not finish" in page.locator("header").inner_text()
    assert page.locator("#run td", has_text="</script>").count() > 0


def test_text_in_scripts_and_tables_is_escaped():
    assert "<" not in script_safe(json.dumps({"name": HOSTILE}))
    assert json.loads(script_safe(json.dumps(HOSTILE))) == HOSTILE
    assert "<img" not in table_html(["a"], [[HOSTILE]])


def test_figures_and_timeline_by_command(quickstart, tmp_path):
    done = straggler(
        "report", quickstart, "--out", tmp_path / "a.html", "--figures", tmp_path / "f"
    )
    assert done.exit_code == 0
    assert {path.suffix for path in (tmp_path / "f").iterdir()} == {".svg", ".pdf", ".png", ".csv"}
    assert straggler("timeline", quickstart, "--out", tmp_path / "t.json").exit_code == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_bad_input_is_one_message(tmp_path, quickstart):
    with pytest.raises(InputError, match="holds no run"):
        straggler("report", tmp_path)
    with pytest.raises(InputError, match="holds no results"):
        straggler("timeline", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/page.html: cannot be written: "):
        straggler("report", quickstart, "--out", tmp_path / "file" / "page.html")
