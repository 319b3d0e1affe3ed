"""The page of a study in a real browser; its numbers against those of the summary."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from fl.cli import app
from fl.interval import Interval
from fl.manifest import RunDirectoryError
from netsim.errors import InputError


def straggler(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    base = {"extends": str(Path("scenarios/quickstart.yaml").resolve()), "name": "cell", "rounds": 5}  # fmt: skip
    YAML().dump(base, folder / "cell.yaml")
    study = {
        "name": "page",
        "base": "cell.yaml",
        "seeds": 2,
        "vary": {"grid": {"scheme": ["personalization", "fedavg"], "uplink.bandwidth": ["5 MHz", "10 MHz", "20 MHz"]}},
        "metrics": ["latency_mean_s", "uploads_missed"],
    }  # fmt: skip
    YAML().dump(study, folder / "study.yaml")
    out = folder / "out"
    assert straggler("study", folder / "study.yaml", "--out", out).exit_code == 0
    assert straggler("report", out).exit_code == 0
    return out


def opened(page, path):
    page.goto(path.resolve().as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'", timeout=60_000)
    return page


def test_a_chart_for_each_metric_with_a_line_for_each_scheme(made, browser_page):
    page = opened(browser_page, made / "report.html")
    charts = page.locator(".chart").all()
    assert len(charts) == 2
    for chart in charts:
        assert chart.locator(".scatterlayer .trace").count() == 2
        assert chart.locator(".scatterlayer .point").count() == 6
        assert chart.locator(".xtick").all_text_contents() == ["5 MHz", "10 MHz", "20 MHz"]


def test_its_table_has_the_numbers_of_the_summary(made, browser_page):
    page = opened(browser_page, made / "report.html")
    shown = page.locator("#arms tbody tr").all()
    summary = pq.read_table(made / "summary.parquet").to_pylist()
    assert len(shown) == len(summary) == 6
    for row, arm in zip(shown, summary, strict=True):
        cells = row.locator("td").all_inner_texts()
        mean, high = arm["latency_mean_s"] * 1e3, arm["latency_mean_s_high"] * 1e3
        assert cells[:3] == [arm["label"], "2", str(Interval(mean, high - mean))]
    assert page.locator("#differences tbody tr").count() == 3


def test_what_is_no_study_any_more_is_told(made, tmp_path):
    (tmp_path / "study.yaml").write_text((made / "study.yaml").read_text())
    with pytest.raises(RunDirectoryError, match="holds no results of a study"):
        straggler("report", tmp_path)
    with pytest.raises(InputError, match="is a study; figures are of its runs"):
        straggler("report", made, "--figures", tmp_path / "figures")
