"""The commands ``straggler trace ...``: make, look at, and draw channel traces."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fl.estimate import check_trace
from fl.generation import generated_trace
from fl.scenario import GeneratedChannel, ScenarioError, load_generate, load_scenario
from fl.trace_plot import draw_trace, sparklines
from netsim.errors import TraceError
from netsim.traces import Kind, Trace, TraceInfo, read_trace, trace_info, write_trace

trace_app = typer.Typer(help="Make, check and look at channel traces.", no_args_is_help=True)

TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace in Parquet.")]
_UNITS = {Kind.GAIN_DB: "dB", Kind.SNR_DB: "dB", Kind.SPECTRAL_EFFICIENCY: "bit/s/Hz"}


@trace_app.command("generate")
def generate_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The Parquet file to write.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of generate, as step='1 ms'."),
    ] = None,
    devices: Annotated[int | None, typer.Option(min=1, help="How many devices.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of every draw; 1 if not said.")] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="Write what this scenario generates for itself instead.")
    ] = None,
) -> None:
    """Generate a trace from the laws of propagation, and write it."""
    refuse_overwriting(out)
    if scenario is not None:
        if devices is not None or seed is not None:
            raise ScenarioError(f"{scenario}: says itself how many devices, and the seed")
        trace = _of_scenario(scenario, settings or [], out)
    elif devices is None:
        raise ScenarioError("trace generate: say how many --devices, or a --scenario")
    else:
        made = load_generate(settings or [], devices)
        check_trace(made, devices, out)
        trace = generated_trace(made, devices, 1 if seed is None else seed)
    write_new(out, trace)
    typer.echo(f"{out}: {len(trace.devices)} devices")


@trace_app.command("info")
def info_command(trace: TraceFile) -> None:
    """Print what is in a trace, and whether it was sampled finely enough."""
    opened = read_trace(trace)
    info = trace_info(opened)
    console = Console(highlight=False)
    console.print(_table(opened, info))
    if info.too_coarse:
        console.print(
            f"warning: the channel changes within {info.coherence_s:.3g} s, and is sampled every "
            f"{info.steps_s[1]:.3g} s: what happens between two samples is lost"
        )


@trace_app.command("plot")
def plot_command(
    trace: TraceFile,
    out: Annotated[
        Path | None, typer.Option(help="A .png or .svg to draw; without it, in the terminal.")
    ] = None,
    devices: Annotated[
        list[int] | None, typer.Option("--device", min=0, help="Which; the first few if not said.")
    ] = None,
) -> None:
    """Draw the values over time, and their distribution."""
    opened = read_trace(trace)
    shown = 10 if out is None else 4  # more curves than that hide each other
    chosen = devices or list(range(min(len(opened.devices), shown)))
    for number in chosen:
        if number >= len(opened.devices):
            raise TraceError(f"{trace}: has {len(opened.devices)} devices, no number {number}")
    if out is None:
        typer.echo(sparklines(opened, chosen, _UNITS[opened.kind]))
        return
    if out.suffix not in (".png", ".svg"):
        raise TraceError(f"{out}: must end in .png or .svg")
    refuse_overwriting(out)
    try:
        draw_trace(opened, chosen, _UNITS[opened.kind], out)
    except OSError as error:
        raise unwritable(out, error) from None
    typer.echo(f"{out}: {len(chosen)} devices")


def refuse_overwriting(out: Path) -> None:
    """Refuse to write where something stands already."""
    if out.exists():
        raise TraceError(f"{out}: exists already; give another name, or remove it")


def write_new(out: Path, trace: Trace) -> None:
    """Write a trace to a new file, or say why it cannot be."""
    try:
        write_trace(out, trace)
    except OSError as error:
        raise unwritable(out, error) from None


def unwritable(out: Path, error: OSError) -> TraceError:
    """Return the error that says why a file cannot be written."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return TraceError(f"{out}: cannot be written: {reason}")


def _of_scenario(path: Path, settings: list[str], out: Path) -> Trace:
    checked = load_scenario(path, settings)
    channel = checked.uplink.channel
    if not isinstance(channel, GeneratedChannel):
        raise ScenarioError(f"{path}: uplink.channel: has no generate to make a trace from")
    check_trace(channel.generate, checked.devices.count, out)
    return generated_trace(channel.generate, checked.devices.count, checked.seed)


def _table(trace: Trace, info: TraceInfo) -> Table:
    unit = _UNITS[info.kind]
    table = Table(show_header=False, title=trace.name, title_justify="left")
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("kind", str(info.kind))
    table.add_row("devices", str(info.num_devices))
    table.add_row("samples", f"{info.num_samples} over {info.span_s:g} s (device 0)")
    shortest, median, longest = (f"{step:.4g}" for step in info.steps_s)
    table.add_row("step", f"{median} s median, {shortest} to {longest} s")
    for quantile, value in info.quantiles.items():
        table.add_row(f"{quantile:.0%} of values below", f"{value:.2f} {unit}")
    table.add_row("outage", f"{info.outage:.2%} of time")
    table.add_row("coherence time", f"{info.coherence_s:.3g} s")
    if info.looked_at < info.num_devices:
        table.add_row("figures from", f"{info.looked_at} devices, evenly chosen")
    for key in ("origin", "seed", "generator"):
        if key in trace.metadata:
            table.add_row(key, trace.metadata[key])
    table.add_row("sha256", trace.sha256())
    return table
