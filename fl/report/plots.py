"""The figures of a run: ``run.plot.latency()`` and the others.

Each is drawn from one table and from nothing else, and keeps it: ``run.plot.latency().table``.
"""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.ticker import MaxNLocator

from fl.report.plot_panels import (
    draw_accuracy,
    draw_boxes,
    draw_losses,
    draw_phases,
    draw_prediction,
    draw_rounds,
    draw_steps,
    numbers,
)
from fl.report.plot_style import (
    BLUE,
    DOUBLE_COLUMN_IN,
    GREEN,
    SINGLE_COLUMN_IN,
    Plot,
    legend_above,
    panels,
    time_unit,
)
from fl.report.plot_tables import (
    Columns,
    NothingToShowError,
    allocated,
    latency_distribution,
    latency_over_time,
    learnt,
    predicted_and_emergent,
    time_by_phase,
)

FIGURES = ("latency", "distribution", "phases", "prediction", "allocation", "learning")


class Plots:
    """Draws a run.

    Args:
        rounds: Its table of rounds.
        devices: Its table of devices.
    """

    def __init__(self, rounds: pa.Table, devices: Columns) -> None:
        self._rounds = rounds
        self._devices = devices

    def every(self) -> dict[str, Plot]:
        """Return all figures that have something to show, by name."""
        drawn = {}
        for name in FIGURES:
            try:
                drawn[name] = getattr(self, name)()
            except NothingToShowError:
                continue
        return drawn

    def latency(self) -> Plot:
        """Return round latency over simulated time: the deadline, and how it drifts."""
        shown = latency_over_time(self._rounds)
        with panels(shown, DOUBLE_COLUMN_IN, 2.4, 1, 1) as (plot, (panel,)):
            draw_rounds(panel, shown.table)
            legend_above(panel, 5)
        return plot

    def distribution(self) -> Plot:
        """Return the distribution of round latency and its tail, with p50, p95 and p99."""
        shown = latency_distribution(self._rounds)
        _, unit = time_unit(numbers(shown.table, "latency_s"))
        portions = numbers(shown.table, "ccdf")
        with panels(shown, DOUBLE_COLUMN_IN, 2.5, 1, 2) as (plot, (whole, tail)):
            for panel, portion in ((whole, "cdf"), (tail, "ccdf")):
                draw_steps(panel, shown.table, "latency_s", portion, unit)
                panel.set(xlabel=f"round latency, {unit}")
            whole.set(ylabel="portion of rounds not longer", ylim=(0, 1.04))
            whole.legend(loc="lower right")
            # The last step goes to zero, which a logarithmic axis does not have: out of the panel.
            lowest = min(portions[portions > 0])
            tail.set(ylabel="portion of rounds longer", yscale="log", ylim=(lowest / 2, 1.3))
        return plot

    def phases(self) -> Plot:
        """Return the mean time of each device in each phase of a round, waiting hatched."""
        shown = time_by_phase(self._rounds, self._devices)
        wide = shown.table.num_rows > 12
        width_in = DOUBLE_COLUMN_IN if wide else SINGLE_COLUMN_IN
        with panels(shown, width_in, 2.8, 1, 1) as (plot, (panel,)):
            draw_phases(panel, shown.table)
            legend_above(panel, 8 if wide else 4)
        return plot

    def prediction(self) -> Plot:
        """Return predicted against emergent latency, and the distribution of the gap.

        Raises:
            NothingToShowError: No upload has arrived.
        """
        shown = predicted_and_emergent(self._devices)
        points, gaps = (
            shown.table.filter(pc.equal(shown.table["panel"], name)) for name in ("scatter", "gap")
        )
        with panels(shown, DOUBLE_COLUMN_IN, 3.1, 1, 2) as (plot, (scatter, gap)):
            draw_prediction(scatter, points)
            legend_above(scatter, 2)
            draw_steps(gap, gaps, "gap", "cdf", "%")
            gap.axvline(0.0, color="black", linestyle="--", linewidth=1, label="as predicted")
            gap.set(xlabel="emergent over predicted latency, %", ylim=(0, 1.04))
            gap.set(ylabel="portion of uploads not above")
            gap.legend(loc="best")
        return plot

    def allocation(self) -> Plot:
        """Return each device's share of the band and pruning ratio, as boxes over the rounds."""
        shown = allocated(self._rounds, self._devices)
        with panels(shown, DOUBLE_COLUMN_IN, 2.6, 1, 2) as (plot, (shares, ratios)):
            for panel, quantity, colour in (
                (shares, "bandwidth_fraction", BLUE),
                (ratios, "pruning_ratio", GREEN),
            ):
                of_it = shown.table.filter(pc.equal(shown.table["quantity"], quantity))
                draw_boxes(panel, of_it, colour)
            shares.set(ylabel="share of the band")
            ratios.set(ylabel="pruning ratio")
        return plot

    def learning(self) -> Plot:
        """Return accuracy and loss, against rounds and against simulated time.

        Raises:
            NothingToShowError: The run was one of latencies only.
        """
        shown = learnt(self._rounds)
        with panels(shown, DOUBLE_COLUMN_IN, 4.0, 2, 2) as (plot, axes):
            for column, at in enumerate(("round", "end_s")):
                draw_accuracy(axes[column], shown.table, at)
                draw_losses(axes[2 + column], shown.table, at)
            axes[0].set(ylabel="test accuracy, %")
            axes[2].set(xlabel="round", ylabel="loss")
            axes[2].xaxis.set_major_locator(MaxNLocator(integer=True))
            axes[3].set(xlabel="simulated time, s")
            for panel in (axes[0], axes[2]):
                panel.legend(loc="best")
        return plot
