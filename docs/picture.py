"""Draws the picture of the README from a run of the quickstart: python docs/picture.py."""

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


def main() -> None:
    """Draw both, side by side."""
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
