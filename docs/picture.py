"""Draws the pictures of the README from runs of two scenarios: python docs/picture.py."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fl

COLOURS = {
    "personal": "#4477aa",
    "warmup": "#66ccee",
    "global": "#228833",
    "upload": "#ee6677",
    "wait": "#dddddd",
}
ROUND = 3
DEADLINE_MS = 40


def draw_round(axes: plt.Axes, run: fl.Run) -> None:
    """Draw what each device did in one round."""
    start_s = run.rounds["start_s"][ROUND].as_py()
    for event in run.events.to_pylist():
        if event["round"] == ROUND:
            begin, end = ((event[key] - start_s) * 1e3 for key in ("start_s", "end_s"))
            colour = COLOURS[event["phase"]]
            axes.barh(event["device"], end - begin, left=begin, color=colour, height=0.7)
    for phase, colour in COLOURS.items():
        axes.barh(0, 0, color=colour, label=phase)
    axes.axvline(DEADLINE_MS, color="black", linestyle="--", linewidth=1)
    axes.text(DEADLINE_MS + 0.5, -0.6, "deadline")
    axes.set(xlabel="ms since the start of the round", ylabel="device", title=f"Round {ROUND}")
    axes.set_yticks(range(10))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.38), ncols=5, frameon=False)


def draw_latencies(axes: plt.Axes, run: fl.Run) -> None:
    """Draw how the latencies of all devices and rounds are distributed."""
    for column, label, style in (
        ("predicted_latency_s", "predicted", {"color": "#4477aa"}),
        ("latency_s", "emergent", {"color": "#ee6677"}),
    ):
        latency_ms = np.sort(run.devices[column].to_numpy()) * 1e3
        portion = np.arange(1, len(latency_ms) + 1) / len(latency_ms)
        axes.step(latency_ms, portion, label=label, linewidth=2, **style)
    axes.set(xlabel="latency of a device in a round, ms", ylabel="portion", title="All 200 rounds")
    axes.legend(loc="upper left", frameon=False)


def draw_learning() -> None:
    """Draw how the devices of the learning scenario get better, over simulated time."""
    every = {"learning": {"evaluate_every": 1}}
    run = fl.run("scenarios/fashion-mnist.yaml", engine="processes", **every)
    at_s = run.rounds["end_s"].to_numpy()
    each = run.devices["test_accuracy"].to_numpy().reshape(len(at_s), -1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2))
    left.plot(at_s, each * 100, color="#bbbbbb", linewidth=0.8)
    left.plot(at_s, each.mean(axis=1) * 100, color="#4477aa", linewidth=2, label="mean")
    left.plot([], [], color="#bbbbbb", linewidth=0.8, label="one device")
    left.set(xlabel="simulated time, s", ylabel="test accuracy, %", title="Own model, own labels")
    left.legend(frameon=False, loc="lower right")
    for column, colour in (("train_loss", "#ee6677"), ("test_loss", "#4477aa")):
        right.plot(at_s, run.rounds[column].to_numpy(), color=colour, label=column)
    right.set(xlabel="simulated time, s", ylabel="loss, Eq. (3)", title="All devices", yscale="log")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("learning.png"), dpi=110, bbox_inches="tight")


def main() -> None:
    """Draw the quickstart, one round beside all latencies; then what is learnt."""
    draw_learning()
    run = fl.run("scenarios/quickstart.yaml")
    plt.rcParams["svg.hashsalt"] = "straggler"
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), width_ratios=(1.4, 1))
    draw_round(left, run)
    draw_latencies(right, run)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("quickstart.png"), dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
