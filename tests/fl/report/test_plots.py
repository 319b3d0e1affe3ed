"""Figures show the numbers of the run: all of them, or a fair choice that says so."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import fl
from fl.phases import PHASES
from fl.report.plot_tables import MOST_DEVICES, MOST_POINTS, MOST_STEPS, thinned
from fl.report.plots import FIGURES, Plots

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.fixture(scope="module")
def quickstart():
    return fl.run(SCENARIOS / "quickstart.yaml", rounds=20)


@pytest.fixture(scope="module")
def dropping():
    return fl.run(SCENARIOS / "drop-late.yaml", rounds=20)


@pytest.fixture(scope="module")
def learning():
    return fl.run(
        SCENARIOS / "fashion-mnist.yaml",
        rounds=3,
        devices={"count": 3},
        allow_code=True,
        model={"name": "tiny_models:TinyCnn"},
        learning={"dataset": "synthetic", "batch_size": 16, "evaluate_every": 2},
    )


def plots_of(run):
    return Plots(run.rounds, run.devices)


def large(num_rounds, num_devices, seed=3):
    """Return the tables of a run that nobody had the time to make."""
    rng = np.random.default_rng(seed)
    latency_s = rng.lognormal(-3, 0.3, (num_rounds, num_devices))
    longest_s = latency_s.max(axis=1)
    end_s = np.cumsum(longest_s)
    rounds = pa.table(
        {
            "round": np.arange(num_rounds),
            "start_s": end_s - longest_s,
            "latency_s": longest_s,
            "deadline_s": np.full(num_rounds, 0.06),
            "deadline_missed": longest_s > 0.06,
        }
    )
    columns = {f"{phase}_s": np.zeros(latency_s.size) for phase in PHASES}
    columns |= {
        "round": np.repeat(np.arange(num_rounds), num_devices),
        "device": np.tile(np.arange(num_devices), num_rounds),
        "latency_s": latency_s.ravel(),
        "predicted_latency_s": rng.lognormal(-3, 0.1, latency_s.size),
        "upload_s": latency_s.ravel(),
        "wait_s": (longest_s[:, None] - latency_s).ravel(),
        "bandwidth_fraction": rng.random(latency_s.size),
        "pruning_ratio": rng.random(latency_s.size),
    }
    return rounds, pa.table(columns)


def percentile(values, q):
    """Return a percentile by sorting, with a straight line between two ranks."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * q / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def marks(figure):
    """Return how many points the lines and scatters of each panel have."""
    return [
        sum(len(line.get_xdata()) for line in panel.lines)
        + sum(len(points.get_offsets()) for points in panel.collections)
        for panel in figure.axes
    ]


def legend(panel):
    return [text.get_text() for text in panel.get_legend().get_texts()]


def notes(figure):
    return figure.get_supxlabel()


def test_rounds_are_drawn_in_time_with_what_was_rolling_and_the_deadline(quickstart):
    figure = plots_of(quickstart).latency()
    table, latency_s = figure.table, quickstart.rounds["latency_s"].to_pylist()
    assert isinstance(figure, Figure)
    assert table["latency_s"].to_pylist() == latency_s
    assert table["start_s"].to_pylist() == quickstart.rounds["start_s"].to_pylist()
    for q in (50, 95):
        rolling = table[f"rolling_p{q}_s"].to_pylist()
        assert rolling[:4] == [None] * 4
        for at in range(4, 20):
            assert rolling[at] == pytest.approx(percentile(latency_s[at - 4 : at + 1], q))
    (panel,) = figure.axes
    drawn = np.concatenate([points.get_offsets() for points in panel.collections])
    assert sorted(drawn[:, 1]) == pytest.approx(sorted(np.array(latency_s) * 1e3))
    missed = sum(quickstart.rounds["deadline_missed"].to_pylist())
    assert len(panel.collections[-1].get_offsets()) == missed > 0
    assert {"rolling p50", "rolling p95", "deadline"} <= set(legend(panel))
    assert panel.get_ylabel() == "round latency, ms"
    assert "last 5 rounds" in notes(figure)


def test_the_distribution_is_that_of_all_rounds(quickstart):
    figure = plots_of(quickstart).distribution()
    latency_s = quickstart.rounds["latency_s"].to_pylist()
    rows = figure.table.to_pylist()
    steps = [row for row in rows if row["percentile"] is None]
    for row in steps:
        assert row["cdf"] == sum(each <= row["latency_s"] for each in latency_s) / 20
    for row in rows:
        assert row["ccdf"] == pytest.approx(1 - row["cdf"])
    portions = [row["cdf"] for row in steps]
    assert portions == sorted(portions)
    assert portions[0] > 0
    assert portions[-1] == 1
    marked = {row["percentile"]: row["latency_s"] for row in rows if row["percentile"]}
    assert marked == pytest.approx({q: percentile(latency_s, q) for q in (50, 95, 99)})
    whole, tail = figure.axes
    assert legend(whole) == [f"p{q}  {marked[q] * 1e3:.4g} ms" for q in (50, 95, 99)]
    assert tail.get_yscale() == "log"
    # A step more than the table has, from nothing to the first; and the three marks.
    assert marks(figure) == [len(steps) + 1 + 3] * 2


@pytest.mark.parametrize("name", ["quickstart", "dropping"])
def test_phases_add_up_to_the_latency_of_the_round(name, request):
    run = request.getfixturevalue(name)
    figure = plots_of(run).phases()
    rows = figure.table.to_pylist()
    assert [row["device"] for row in rows] == list(range(10))
    mean_s = np.mean(run.rounds["latency_s"].to_pylist())
    devices = run.devices.to_pylist()
    for row in rows:
        own = [each for each in devices if each["device"] == row["device"]]
        for phase in PHASES:
            assert row[f"{phase}_s"] == pytest.approx(np.mean([e[f"{phase}_s"] for e in own]))
        assert sum(row[f"{phase}_s"] for phase in PHASES) == pytest.approx(mean_s)
    (panel,) = figure.axes
    took_time = [phase for phase in PHASES if any(row[f"{phase}_s"] for row in rows)]
    assert legend(panel) == took_time
    bars = {bar.get_label(): bar.patches for bar in panel.containers}
    assert all(bar.get_hatch() for bar in bars["wait"])
    for phase in took_time:
        heights = [bar.get_height() for bar in bars[phase]]
        assert heights == pytest.approx([row[f"{phase}_s"] * 1e3 for row in rows])


@pytest.mark.parametrize("name", ["quickstart", "dropping"])
def test_predictions_stand_beside_what_arrived(name, request):
    run = request.getfixturevalue(name)
    figure = plots_of(run).prediction()
    arrived = [row for row in run.devices.to_pylist() if row["latency_s"] is not None]
    rows = figure.table.to_pylist()
    columns = ("round", "device", "predicted_latency_s", "latency_s")
    scatter = [row for row in rows if row["panel"] == "scatter"]
    assert [[row[c] for c in columns] for row in scatter] == [
        [row[c] for c in columns] for row in arrived
    ]
    gaps = [row["latency_s"] / row["predicted_latency_s"] - 1 for row in arrived]
    marked = {row["percentile"]: row["gap"] for row in rows if row["percentile"]}
    assert marked == pytest.approx({q: percentile(gaps, q) for q in (5, 50, 95)})
    points, gap = figure.axes
    drawn = points.collections[0].get_offsets()
    expected = np.array([[row["predicted_latency_s"], row["latency_s"]] for row in arrived])
    np.testing.assert_allclose(drawn, expected * 1e3)
    assert points.get_xlim() == points.get_ylim()
    assert legend(points) == ["a device in a round", "as predicted"]
    assert len(legend(gap)) == 4
    cut = run.devices.num_rows - len(arrived)
    assert (cut > 0) == (name == "dropping")
    assert (f"{cut} uploads that were cut" in notes(figure)) == (cut > 0)


def test_where_nothing_arrived_there_is_nothing_to_compare(dropping):
    nobody = pa.nulls(dropping.devices.num_rows, pa.float64())
    at = dropping.devices.schema.get_field_index("latency_s")
    plots = Plots(dropping.rounds, dropping.devices.set_column(at, "latency_s", nobody))
    with pytest.raises(ValueError, match="no upload of the run has arrived"):
        plots.prediction()
    assert "prediction" not in plots.every()


def test_boxes_have_the_quartiles_of_each_device(quickstart):
    figure = plots_of(quickstart).allocation()
    devices = quickstart.devices.to_pylist()
    names = {"lowest": 0, "quartile_1": 25, "median": 50, "quartile_3": 75, "highest": 100}
    rows = figure.table.to_pylist()
    assert len(rows) == 20
    for row in rows:
        own = [each[row["quantity"]] for each in devices if each["device"] == row["device"]]
        for name, q in names.items():
            assert row[name] == pytest.approx(percentile(own, q))
    assert [panel.get_ylabel() for panel in figure.axes] == ["share of the band", "pruning ratio"]
    assert [len(panel.patches) for panel in figure.axes] == [10, 10]


def test_curves_go_through_what_was_learnt_over_rounds_and_over_time(learning):
    figure = plots_of(learning).learning()
    rounds = learning.rounds
    for name in ("round", "end_s", "train_loss", "test_loss", "test_accuracy"):
        assert figure.table[name].to_pylist() == rounds[name].to_pylist()
    tested = rounds.filter(rounds["test_accuracy"].is_valid())
    assert tested.num_rows == 2
    for column, at in enumerate(("round", "end_s")):
        (accuracy,) = figure.axes[column].lines
        assert list(accuracy.get_xdata()) == tested[at].to_pylist()
        np.testing.assert_allclose(accuracy.get_ydata(), tested["test_accuracy"].to_numpy() * 100)
        train, test = figure.axes[2 + column].lines
        assert list(train.get_ydata()) == rounds["train_loss"].to_pylist()
        assert list(test.get_ydata()) == tested["test_loss"].to_pylist()
        assert train.get_linestyle() != test.get_linestyle()
        assert train.get_marker() != test.get_marker()
    assert list(plots_of(learning).every()) == list(FIGURES)


def test_a_run_of_latencies_says_which_key_it_lacks_to_learn(quickstart):
    with pytest.raises(ValueError, match="no `learning` block"):
        plots_of(quickstart).learning()
    assert list(plots_of(quickstart).every()) == [n for n in FIGURES if n != "learning"]


@pytest.mark.parametrize("changes", [{"rounds": 1}, {"rounds": 8, "devices": {"count": 1}}])
def test_the_smallest_runs_have_all_figures(changes):
    run = fl.run(SCENARIOS / "quickstart.yaml", **changes)
    every = plots_of(run).every()
    assert list(every) == [name for name in FIGURES if name != "learning"]
    for figure in every.values():
        assert figure._repr_png_().startswith(b"\x89PNG")
        for panel in figure.axes:
            for low, high in (panel.get_xlim(), panel.get_ylim()):
                assert high - low > 1e-3  # not stretched over rounding errors
    assert all(marks(every["latency"]))


def test_without_a_deadline_none_is_drawn(paper_cell):
    figure = plots_of(fl.run(paper_cell)).latency()
    assert legend(figure.axes[0]) == ["round"]
    assert figure.table["deadline_s"].null_count == 2


def test_of_a_large_run_some_is_drawn_and_all_is_counted():
    rounds, devices = large(30_000, 2)
    plots = Plots(rounds, devices)
    latency, prediction = plots.latency(), plots.prediction()
    assert latency.table.num_rows <= MOST_POINTS
    assert f"{latency.table.num_rows:,} of 30,000 rounds" in notes(latency)
    assert "of 60,000 uploads" in notes(prediction)
    assert marks(prediction)[0] <= MOST_POINTS + 2  # and the diagonal
    for figure in (latency, prediction):
        assert figure.axes[0].collections[0].get_rasterized()
    distribution = plots.distribution().table.to_pylist()
    assert len(distribution) <= MOST_STEPS + 3
    latency_s = rounds["latency_s"].to_numpy()
    marked = {row["percentile"]: row["latency_s"] for row in distribution if row["percentile"]}
    assert marked == pytest.approx({q: percentile(latency_s, q) for q in (50, 95, 99)})
    curve = [row for row in distribution if row["percentile"] is None]
    for row in curve[::50]:
        assert row["cdf"] == pytest.approx((latency_s <= row["latency_s"]).mean())
    # The tail is what the figure is for: its last steps are all there.
    assert [row["latency_s"] for row in curve[-10:]] == sorted(latency_s)[-10:]


def test_of_many_devices_the_extreme_ones_are_among_the_drawn():
    rounds, devices = large(3, 1000)
    figure = Plots(rounds, devices).phases()
    busy_s = devices["upload_s"].to_numpy().reshape(3, -1).mean(axis=0)
    drawn = figure.table["device"].to_pylist()
    assert len(drawn) <= MOST_DEVICES
    assert {busy_s.argmin(), busy_s.argmax()} <= set(drawn)
    assert "of 1,000 devices" in notes(figure)
    assert "of 1,000 devices" in notes(Plots(rounds, devices).allocation())


@given(
    st.lists(st.tuples(*[st.floats(-5, 5)] * 3), min_size=1, max_size=60),
    st.integers(7, 50),
)
def test_thinning_keeps_the_ends_and_no_more_rows_than_it_may(rows, most):
    columns = list(np.array(rows).T)
    chosen = thinned(columns, most)
    assert len(chosen) <= most
    assert list(chosen) == sorted(set(chosen))
    assert list(thinned(columns, most)) == list(chosen)
    for column in columns:
        assert column[chosen].min() == column.min()
        assert column[chosen].max() == column.max()
    if len(rows) <= most:
        assert len(chosen) == len(rows)


def test_thinning_takes_all_devices_alike():
    of_device = np.tile(np.arange(10), 1000)
    values = np.random.default_rng(5).normal(size=10_000)
    kept = of_device[thinned([values], 1000)]
    assert np.bincount(kept).min() > 60
