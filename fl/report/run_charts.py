"""The charts of one run."""

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from fl.phases import PHASES
from fl.report.chart import COLOURS, PHASE_COLOURS, PHASE_PATTERNS, Chart, plain, thinned
from fl.report.recording import Recording
from fl.report.stragglers import Cause, Straggler

_MOST_POINTS = 4000
_MOST_BARS = 40


def run_charts(recording: Recording, board: Sequence[Straggler]) -> Iterator[Chart]:
    """Yield the charts of a run; those of learning only if it has learnt something."""
    yield latency(recording)
    yield distribution(recording)
    yield phases(recording)
    yield prediction(recording)
    yield straggling(board)
    yield allocation(recording)
    if recording.has_learnt:
        yield from learning(recording)


def latency(recording: Recording) -> Chart:
    """Return the latency of each round, with the deadline."""
    rounds = recording.rounds
    chosen = thinned(recording.num_rounds, _MOST_POINTS)
    number, latency_ms = rounds["round"].to_numpy()[chosen], _ms(rounds["latency_s"])[chosen]
    last = rounds["straggler"].to_numpy()[chosen]
    figure = go.Figure()
    figure.add_scatter(
        x=number, y=latency_ms, customdata=last, mode="lines+markers", name="emergent",
        marker={"size": 4}, line={"width": 1, "color": COLOURS[0]},
        hovertemplate="round %{x}: %{y:.3f} ms, last was device %{customdata}<extra></extra>",
    )  # fmt: skip
    if recording.scenario.deadline is not None:
        figure.add_hline(
            y=recording.scenario.deadline * 1e3,
            line_dash="dash",
            line_color="#888888",
            annotation_text="deadline",
        )
    plain(figure, xaxis_title="round", yaxis_title="ms", showlegend=False)
    columns = {"round": number, "latency_ms": latency_ms, "straggler": last}
    return Chart("latency", "Latency of each round", "", figure, columns)


def distribution(recording: Recording) -> Chart:
    """Return how the latencies of rounds are distributed, and their tail."""
    latency_ms = np.sort(_ms(recording.rounds["latency_s"]))
    below = np.arange(1, len(latency_ms) + 1) / len(latency_ms)
    chosen = thinned(len(latency_ms), _MOST_POINTS)
    figure = make_subplots(
        1, 2, subplot_titles=("rounds at most so long", "rounds longer than that")
    )
    for column, values in ((1, below), (2, 1 - below)):
        figure.add_scatter(
            x=latency_ms[chosen], y=values[chosen], mode="lines", line={"shape": "hv"},
            marker_color=COLOURS[0], row=1, col=column,
            hovertemplate="%{x:.3f} ms: %{y:.4f}<extra></extra>",
        )  # fmt: skip
    for percent, dash in ((50, "solid"), (95, "dash"), (99, "dot")):
        at_ms = float(np.percentile(latency_ms, percent))
        figure.add_vline(
            x=at_ms,
            line_dash=dash,
            line_width=1,
            line_color="#888888",
            annotation_text=f"p{percent}",
            row=1,
            col=1,
        )
    figure.update_xaxes(title="ms")
    figure.update_yaxes(type="log", row=1, col=2)
    note = "p50, p95 and p99 are marked; the right half shows the tail on a logarithmic scale."
    columns = {"latency_ms": latency_ms[chosen], "fraction_of_rounds": below[chosen]}
    plain(figure, showlegend=False)
    return Chart("distribution", "Distribution of round latency", note, figure, columns)


def phases(recording: Recording) -> Chart:
    """Return where the time of each device went."""
    devices = recording.some_devices(_MOST_BARS)
    names = [f"{phase}_s" for phase in PHASES]
    seconds = recording.grids(names, devices)
    mean_ms = {
        phase: np.nanmean(seconds[name], axis=0) * 1e3
        for phase, name in zip(PHASES, names, strict=True)
    }
    figure = go.Figure()
    for phase, values in mean_ms.items():
        if values.any():
            figure.add_bar(
                y=[str(device) for device in devices], x=values, name=phase, orientation="h",
                marker={"color": PHASE_COLOURS[phase],
                        "pattern": {"shape": PHASE_PATTERNS.get(phase, "x"), "solidity": 0.3}},
                hovertemplate=f"device %{{y}}: {phase} %{{x:.3f}} ms<extra></extra>",
            )  # fmt: skip
    plain(figure, barmode="stack", xaxis_title="ms, mean over rounds", yaxis_title="device")
    figure.update_yaxes(autorange="reversed", type="category")
    note = _some(recording, len(devices))
    columns = {"device": devices, **{f"{name}_ms": values for name, values in mean_ms.items()}}
    return Chart("phases", "Where the time goes", note, figure, columns)


def prediction(recording: Recording) -> Chart:
    """Return what was predicted for each device and round against what emerged."""
    every = max(1, recording.num_rounds * recording.num_participants // _MOST_POINTS)
    predicted_ms, emergent_ms = np.concatenate(
        [both[:, ::every] for both in _predictions_ms(recording)], axis=1
    )
    counts, edges = _gap_histogram(recording)
    middle = (edges[1:] + edges[:-1]) / 2
    titles = "a point a device and round", "emergent over predicted"
    figure = make_subplots(1, 2, subplot_titles=titles)
    figure.add_scatter(
        x=predicted_ms, y=emergent_ms, mode="markers", row=1, col=1,
        marker={"size": 4, "opacity": 0.5, "color": COLOURS[0]},
        hovertemplate="predicted %{x:.3f} ms, emergent %{y:.3f} ms<extra></extra>",
    )  # fmt: skip
    # The same scale both ways: a prediction that is the same for all is a line upright.
    both = np.concatenate([predicted_ms, emergent_ms, [0.0]])
    ends = [float(both.min()), float(both.max()) * 1.05]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line={"dash": "dash", "color": "gray"}, row=1, col=1,
        hoverinfo="skip",
    )  # fmt: skip
    figure.add_bar(
        x=middle, y=counts, marker_color=COLOURS[1], row=1, col=2,
        hovertemplate="%{x:.2f} %: %{y} uploads<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="predicted, ms", range=ends, row=1, col=1)
    figure.update_yaxes(title="emergent, ms", range=ends, row=1, col=1)
    figure.update_xaxes(title="%", row=1, col=2)
    plain(figure, showlegend=False, bargap=0)
    note = "Predicted is Eq. (28) at the channel state of the decision." + (
        f" One point in {every} is drawn; the histogram counts all." if every > 1 else ""
    )
    columns = {"gap_percent": middle, "uploads": counts}
    return Chart("prediction", "Predicted and emergent latency", note, figure, columns)


def _predictions_ms(recording: Recording) -> Iterator[NDArray[np.float64]]:
    """Yield predicted and emergent latencies of those who arrived, [2, uploads] at a time."""
    for chunk in recording.in_chunks(("predicted_latency_s", "latency_s")):
        both = np.array([chunk["predicted_latency_s"].ravel(), chunk["latency_s"].ravel()]) * 1e3
        yield both[:, np.isfinite(both).all(axis=0) & (both[0] > 0)]


def _gap_histogram(recording: Recording) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many uploads were off by how many percent, and the edges of the bins."""
    low, high = 0.0, 0.0
    for both in _predictions_ms(recording):
        gap = (both[1] / both[0] - 1) * 100
        low, high = min(gap.min(initial=low), low), max(gap.max(initial=high), high)
    edges = np.linspace(low, high if high > low else low + 1, 61)
    counts = np.zeros(60, dtype=np.int64)
    for both in _predictions_ms(recording):
        counts += np.histogram((both[1] / both[0] - 1) * 100, edges)[0]
    return counts, edges


def straggling(board: Sequence[Straggler]) -> Chart:
    """Return who was last, how often, and why."""
    shown = board[:_MOST_BARS]
    names = [f"device {one.device}" for one in shown]
    figure = go.Figure()
    for cause, colour in zip(Cause, COLOURS, strict=False):
        counts = [one.causes.get(cause, 0) for one in shown]
        if any(counts):
            figure.add_bar(
                y=names, x=counts, name=cause, orientation="h", marker_color=colour,
                hovertemplate=f"%{{y}}: {cause} in %{{x}} rounds<extra></extra>",
            )  # fmt: skip
    plain(figure, barmode="stack", xaxis_title="rounds", showlegend=True)
    figure.update_yaxes(autorange="reversed", type="category")
    columns: dict[str, Sequence[object]] = {
        "device": [one.device for one in shown],
        "rounds": [one.rounds for one in shown],
        **{str(cause): [one.causes.get(cause, 0) for one in shown] for cause in Cause},
        "saved_ms_a_round": [one.saved_s / one.rounds * 1e3 for one in shown],
    }
    note = (
        "Who was last, and what it was further off in than the median of its round. The table says, too, how much shorter "
        "such a round would have been without this device, the others' shares left as they were."
    )
    return Chart("stragglers", "Who was last, and why", note, figure, columns)


def allocation(recording: Recording) -> Chart:
    """Return the share of the band and the pruning ratio of each device."""
    devices = recording.some_devices(_MOST_BARS)
    titles = {"bandwidth_fraction": "share of the band, %", "pruning_ratio": "pruning ratio, %"}
    given = recording.grids(list(titles), devices)
    figure = make_subplots(1, 2, subplot_titles=list(titles.values()))
    columns: dict[str, Sequence[object] | NDArray[np.generic]] = {"device": devices}
    for place, name in enumerate(titles, 1):
        values = given[name] * 100
        low, middle, high = np.nanpercentile(values, [5, 50, 95], axis=0)
        figure.add_scatter(
            x=[str(device) for device in devices], y=middle, mode="markers", row=1, col=place,
            error_y={"array": high - middle, "arrayminus": middle - low},
            marker={"color": COLOURS[place - 1], "size": 7},
            hovertemplate="device %{x}: %{y:.2f} %<extra></extra>",
        )  # fmt: skip
        columns |= {f"{name}_p{p}": v for p, v in ((5, low), (50, middle), (95, high))}
    figure.update_xaxes(title="device", type="category")
    figure.update_yaxes(rangemode="tozero")
    plain(figure, showlegend=False)
    note = (
        f"Median over rounds, from the 5th to the 95th percentile. {_some(recording, len(devices))}"
    )
    return Chart("allocation", "What each device was given", note, figure, columns)


def learning(recording: Recording) -> Iterator[Chart]:
    """Yield accuracy and loss against rounds, and against simulated time."""
    tested = recording.rounds.filter(recording.rounds["test_accuracy"].is_valid())
    accuracy, loss = tested["test_accuracy"].to_numpy() * 100, tested["test_loss"].to_numpy()
    for key, axis, at in (
        ("rounds", "rounds", tested["round"].to_numpy() + 1),
        ("time", "simulated time, s", tested["end_s"].to_numpy()),
    ):
        figure = make_subplots(1, 2, subplot_titles=("test accuracy, %", "test loss"))
        for place, values in ((1, accuracy), (2, loss)):
            figure.add_scatter(
                x=at, y=values, mode="lines+markers", marker={"color": COLOURS[place - 1]},
                row=1, col=place, hovertemplate="%{x}: %{y:.4f}<extra></extra>",
            )  # fmt: skip
        figure.update_xaxes(title=axis)
        plain(figure, showlegend=False)
        columns = {axis: at, "test_accuracy_percent": accuracy, "test_loss": loss}
        note = "Of each device's own model on its own test samples, over all devices."
        yield Chart(f"learning-{key}", f"What is learnt, over {key}", note, figure, columns)


def _ms(column: object) -> NDArray[np.float64]:
    return np.asarray(column) * 1e3


def _some(recording: Recording, shown: int) -> str:
    seen = len(recording.seen)
    if shown == seen:
        return ""
    return f"{shown} of {seen} devices are shown: those who straggled most, and others."
