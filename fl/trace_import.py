"""The command ``straggler trace import``: files of others become a trace."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fl.trace_commands import refuse_overwriting, write_new
from netsim.errors import InputError
from netsim.traces import Trace
from netsim.traces.importers import (
    ACTIONS,
    FORMATS,
    Blocks,
    CqiTable,
    Delimiter,
    Policy,
    Problem,
    Quantity,
    Settings,
    TimeUnit,
    Trouble,
    import_files,
)
from netsim.units import FREQUENCY, GAIN, POWER, TIME, Dimension


def _choice(trouble: Trouble, what: str) -> typer.models.OptionInfo:
    actions = "; ".join(f"{action}: {meaning}" for action, meaning in ACTIONS[trouble].items())
    return typer.Option(metavar="ACTION", help=f"{what}: refuse; {actions}.")


def import_command(  # noqa: PLR0913, PLR0917 -- an option for each thing not guessed
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="A device each.")],
    out: Annotated[Path, typer.Option(help="The trace to write; it must not exist.")],
    format_name: Annotated[
        str | None,
        typer.Option("--format", help=f"One of {', '.join(FORMATS)}; guessed where that is safe."),
    ] = None,
    time_column: Annotated[str | None, typer.Option(help="The column of times.")] = None,
    time_unit: Annotated[TimeUnit | None, typer.Option(help="Their unit.")] = None,
    value_column: Annotated[str | None, typer.Option(help="The column of values.")] = None,
    quantity: Annotated[Quantity | None, typer.Option(help="What the values are.")] = None,
    delimiter: Annotated[
        Delimiter | None, typer.Option(help="Between cells; by default as .csv or .tsv says.")
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(help="The band that rates were had on, as '20 MHz'.")
    ] = None,
    transmit_power: Annotated[
        str | None,
        typer.Option(help="Of the reference signal per resource element, as '15 dBm', for RSRP."),
    ] = None,
    mean_gain: Annotated[
        str | None, typer.Option(help="Added to gains around 0 dB, as '-100 dB'.")
    ] = None,
    cqi_table: Annotated[CqiTable | None, typer.Option(help="What CQI counts through.")] = None,
    step: Annotated[
        str | None, typer.Option(help="Between samples that carry no time, as '1 ms'.")
    ] = None,
    bin_width: Annotated[
        str | None, typer.Option("--bin", help="In which packets are counted; by default 100 ms.")
    ] = None,
    blocks: Annotated[
        Blocks | None, typer.Option(help="Resource blocks: a device each, or their mean power.")
    ] = None,
    align: Annotated[bool, typer.Option("--align", help="Let each file begin at time 0.")] = False,
    unreadable: Annotated[str, _choice(Trouble.UNREADABLE, "Rows that cannot be read")] = "refuse",
    extra: Annotated[str, _choice(Trouble.EXTRA, "Rows with extra columns")] = "refuse",
    sentinel: Annotated[str, _choice(Trouble.SENTINEL, "Values that mean none")] = "refuse",
    sentinel_value: Annotated[
        list[float] | None,
        typer.Option(help="Which values mean none; by default -200, -999, -9999, 2147483647."),
    ] = None,
    implausible: Annotated[str, _choice(Trouble.IMPLAUSIBLE, "Values out of range")] = "refuse",
    missing: Annotated[str, _choice(Trouble.MISSING, "Rows without a value")] = "refuse",
    backward: Annotated[str, _choice(Trouble.BACKWARD, "Times that go back")] = "refuse",
    repeated: Annotated[str, _choice(Trouble.REPEATED, "Times that come again")] = "refuse",
    gap: Annotated[str, _choice(Trouble.GAP, "Times far apart")] = "refuse",
    gap_longer_than: Annotated[
        str | None, typer.Option(help="What is far apart, as '2 s'; by default 10 median steps.")
    ] = None,
) -> None:
    """Make a trace of files of others: measurements, or channels of other simulators."""
    refuse_overwriting(out)
    policy = Policy(
        unreadable=unreadable,
        extra=extra,
        sentinel=sentinel,
        implausible=implausible,
        missing=missing,
        backward=backward,
        repeated=repeated,
        gap=gap,
        sentinels=tuple(sentinel_value) if sentinel_value else Policy.sentinels,
        gap_s=_parsed("--gap-longer-than", TIME, gap_longer_than),
    )
    settings = Settings(
        time_column=time_column,
        time_unit=time_unit,
        value_column=value_column,
        quantity=quantity,
        delimiter=delimiter,
        bandwidth_hz=_parsed("--bandwidth", FREQUENCY, bandwidth),
        transmit_power_w=_parsed("--transmit-power", POWER, transmit_power),
        mean_gain=_parsed("--mean-gain", GAIN, mean_gain),
        cqi_table=cqi_table,
        step_s=_parsed("--step", TIME, step),
        bin_s=_parsed("--bin", TIME, bin_width),
        blocks=blocks,
        align=align,
        policy=policy,
    )
    trace, problems = import_files(files, format_name, settings)
    write_new(out, trace)
    _report(files, problems, trace, out)


def _parsed(option: str, dimension: Dimension, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return dimension.parse(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}; is {text!r}") from None


def _report(
    files: Sequence[Path], problems: Sequence[Sequence[Problem]], trace: Trace, out: Path
) -> None:
    for file, of_file in zip(files, problems, strict=True):
        for problem in of_file:
            typer.echo(f"{file}: {problem}: {problem.action}")
    latest_s = max(float(device.times_s[0]) for device in trace.devices)
    if latest_s > 0:
        typer.echo(f"{out}: the last device begins at {latest_s:g} s; --align begins each at 0")
    samples = sum(len(device.times_s) for device in trace.devices)
    typer.echo(f"{out}: {len(trace.devices)} devices, {samples} samples of {trace.kind}")
