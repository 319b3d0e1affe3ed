"""`straggler reproduce`, from data sets to report, on real data and in small."""

import re

import pytest
from typer.testing import CliRunner

from fl.cli import app
from fl.reproduction import command
from fl.reproduction.plan import READINGS, TITLES, Size, plan
from netsim.errors import InputError

TINY = Size(
    "quick",
    seeds=2,
    latency_seeds=2,
    ratios=(0.0, 0.9),
    overrides={"rounds": 3, "learning": {"batch_size": 8, "test_samples": 10}},
)


def reproduce(folder, *more):
    return CliRunner().invoke(
        app, ["reproduce", "--quick", "--out", str(folder), *more], catch_exceptions=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory, fetched):
    fetched("mnist")
    fetched("fashion-mnist")
    folder = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "QUICK", TINY)
        first, again = reproduce(folder), reproduce(folder)
    return folder, first, again


def test_it_says_what_it_did_and_where_the_report_is(made):
    folder, first, again = made
    assert first.exit_code == again.exit_code == 0
    num_runs = sum(arm.num_seeds for arm in plan(TINY))
    assert f"{num_runs} runs made" in first.output
    assert "All runs are there already" in again.output
    assert str(folder / "reproduction.html") in first.output.replace("\n", "")


def test_the_report_has_every_row_every_figure_and_every_claim(made):
    folder, _, _ = made
    text = (folder / "reproduction.md").read_text(encoding="utf-8")
    assert "This is the quick version**: 3 rounds and 2 seeds" in text
    for reading in READINGS:
        assert text.count(f"| {TITLES[reading]} |") >= 2  # still, and moving
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+\.svg)\)", text)
    assert len(pictures) == 6
    for picture in pictures:
        assert (folder / picture).stat().st_size < 200_000
    for where in ("Table I, order", "Abstract", "Fig. 3, mnist", "Fig. 4", "Fig. 5 (c)", "Fig. 6"):
        assert re.search(
            rf"^\| {re.escape(where)} \| .* \| \*\*[a-z ]+\*\* \| \S", text, re.MULTILINE
        )
    assert "nan" not in re.findall(r"\w+", text)


def test_the_page_needs_no_other_file(made):
    folder, _, _ = made
    page = (folder / "reproduction.html").read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]{0,30})', page)
    assert len(sources) == 6
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "http" not in re.sub(r'src="[^"]+"', "", page)


def test_the_same_runs_give_the_same_report(made, tmp_path):
    folder, _, _ = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "QUICK", TINY)
        (tmp_path / "runs").symlink_to(folder / "runs")
        assert reproduce(tmp_path).exit_code == 0
    for file in ("reproduction.md", "reproduction.html", "reproduction/figure-5.svg"):
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes()


def test_workers_have_to_be_some(tmp_path):
    with pytest.raises(InputError, match="--workers: must be from 1 to 1024, got 0"):
        reproduce(tmp_path, "--workers", "0")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="file/below/runs: cannot be written: Not a directory"):
        reproduce(tmp_path / "file" / "below")
