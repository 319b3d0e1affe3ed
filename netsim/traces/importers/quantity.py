"""What recorded values measure, in which unit, and the kind of trace they become.

A wrong unit is refused where it shows: by the unit in a column's name, or by values that
no radio link has.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.trace import Kind
from netsim.units import ratios_to_db

#: In bit/s/Hz. Eight layers of the densest modulation in use carry less.
_HIGHEST_EFFICIENCY = 100.0


class Quantity(StrEnum):
    """What values are, with their unit."""

    GAIN_DB = "gain_db"
    GAIN = "gain"
    SNR_DB = "snr_db"
    RSRP_DBM = "rsrp_dbm"
    SPECTRAL_EFFICIENCY = "spectral_efficiency"
    CQI = "cqi"
    BIT_S = "bit/s"
    KBIT_S = "kbit/s"
    MBIT_S = "Mbit/s"


class CqiTable(StrEnum):
    """Which modulations a channel quality indicator counts through."""

    QAM64 = "64qam"
    QAM256 = "256qam"


# Efficiencies of 3GPP TS 38.214, tables 5.2.2.1-2 and 5.2.2.1-3; index 0 is out of range.
_CQI_EFFICIENCY = {
    CqiTable.QAM64: (
        *(0.0, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766),
        *(1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547),
    ),
    CqiTable.QAM256: (
        *(0.0, 0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305),
        *(3.3223, 3.9023, 4.5234, 5.1152, 5.5547, 6.2266, 6.9141, 7.4063),
    ),
}
_BITS_PER_UNIT = {Quantity.BIT_S: 1.0, Quantity.KBIT_S: 1e3, Quantity.MBIT_S: 1e6}
_CONVERTED_WITH = {
    **dict.fromkeys(_BITS_PER_UNIT, "bandwidth_hz"),
    Quantity.RSRP_DBM: "transmit_power_w",
    Quantity.CQI: "cqi_table",
    Quantity.GAIN: "mean_gain",
    Quantity.GAIN_DB: "mean_gain",
}


def _efficiencies(
    bits: float, bandwidth_hz: float, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # an infinite one is refused
        return values * bits / bandwidth_hz


def _shifted(by_db: float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values + by_db


def _decibels(mean_db: float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return ratios_to_db(np.where(values >= 0, values, np.nan)) + mean_db


_GAINS = {
    Quantity.GAIN: ((0.0, 1e6), _decibels),
    Quantity.GAIN_DB: ((-300.0, 60.0), _shifted),
}


@dataclass(frozen=True)
class Stated:
    """What a file does not say, and its values are converted with."""

    bandwidth_hz: float | None = None
    transmit_power_w: float | None = None
    mean_gain: float | None = None
    cqi_table: CqiTable | None = None


@dataclass(frozen=True)
class Scale:
    """How values become those of a trace, and between which bounds they are plausible."""

    kind: Kind
    lowest: float
    highest: float
    convert: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    whole: bool = False
    """Whether a fraction is implausible."""

    def implausible(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where *values* cannot be what they are said to be; NaN is no value."""
        outside = (values < self.lowest) | (values > self.highest)
        if self.kind is not Kind.SPECTRAL_EFFICIENCY:
            outside &= ~np.isneginf(values)  # no power at all
        return outside | (self.whole & np.isfinite(values) & (values != np.rint(values)))


def scale_of(file: str, quantity: Quantity, stated: Stated) -> Scale:
    """Return how values of *quantity* are converted.

    Raises:
        TraceError: What the conversion needs is not stated, or has no meaning for it.
    """
    _check_stated(file, quantity, stated)
    if quantity in _BITS_PER_UNIT:
        bits = _BITS_PER_UNIT[quantity]
        bandwidth_hz = _positive(file, "bandwidth", stated.bandwidth_hz)
        highest = _HIGHEST_EFFICIENCY * bandwidth_hz / bits
        over_band = partial(_efficiencies, bits, bandwidth_hz)
        return Scale(Kind.SPECTRAL_EFFICIENCY, 0.0, highest, over_band)
    if quantity is Quantity.RSRP_DBM:
        power_w = _positive(file, "transmit-power", stated.transmit_power_w)
        sent_dbm = 10.0 * math.log10(power_w) + 30.0
        return Scale(Kind.GAIN_DB, -160.0, -20.0, partial(_shifted, -sent_dbm))
    if quantity is Quantity.CQI:
        efficiencies = np.array(_CQI_EFFICIENCY[stated.cqi_table or CqiTable.QAM64])
        return Scale(Kind.SPECTRAL_EFFICIENCY, 0.0, 15.0, partial(_looked_up, efficiencies), True)
    if quantity in _GAINS:
        (lowest, highest), convert = _GAINS[quantity]
        mean = 1.0 if stated.mean_gain is None else stated.mean_gain
        mean_db = 10.0 * math.log10(_positive(file, "mean-gain", mean))
        return Scale(Kind.GAIN_DB, lowest, highest, partial(convert, mean_db))
    if quantity is Quantity.SNR_DB:
        return Scale(Kind.SNR_DB, -60.0, 100.0, np.copy)
    return Scale(Kind.SPECTRAL_EFFICIENCY, 0.0, _HIGHEST_EFFICIENCY, np.copy)


_NEEDS = {
    "bandwidth_hz": "--bandwidth: a rate becomes spectral efficiency over the band it was had on",
    "transmit_power_w": "--transmit-power: received power becomes gain by the power that was sent",
    "cqi_table": f"--cqi-table: one of {', '.join(CqiTable)}, as the network was set up",
    "mean_gain": "--mean-gain",
}


def _check_stated(file: str, quantity: Quantity, stated: Stated) -> None:
    """Refuse what has no meaning for *quantity*, and the lack of what it needs."""
    wanted = _CONVERTED_WITH.get(quantity)
    for name, need in _NEEDS.items():
        given = getattr(stated, name) is not None
        if given and name != wanted:
            raise TraceError(f"{file}: {need.split(':')[0]} has no meaning for {quantity} values")
        if name == wanted and not given and name != "mean_gain":
            raise TraceError(f"{file}: {quantity} values need {need}")


def _positive(file: str, option: str, value: float | None) -> float:
    if value is None or not 0 < value < np.inf:
        raise TraceError(f"{file}: --{option} must be > 0, is {value}")
    return value


def _looked_up(
    efficiencies: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    known = np.isin(values, np.arange(len(efficiencies)))
    return np.where(known, efficiencies[np.where(known, values, 0).astype(np.int64)], np.nan)


# Units as people write them in the names of columns. The dB of an RSRP is often a dBm.
_LABELS: Mapping[str, tuple[str, ...]] = {
    "db": (Quantity.GAIN_DB, Quantity.SNR_DB, Quantity.RSRP_DBM),
    "dbm": (Quantity.RSRP_DBM,),
    **dict.fromkeys(("bps", "bit/s", "b/s"), (Quantity.BIT_S,)),
    **dict.fromkeys(("kbps", "kbit/s", "kb/s"), (Quantity.KBIT_S,)),
    **dict.fromkeys(("mbps", "mbit/s", "mb/s"), (Quantity.MBIT_S,)),
    **dict.fromkeys(("gbps", "gbit/s", "gb/s"), ()),
}
_TIME_LABELS = ("s", "ms", "us", "ns", "min", "h")
_LABEL = re.compile(r".+[(\[_ ]([a-z/]+)[)\]]?\s*", re.IGNORECASE)
_BYTES = re.compile(r"[kKMG]?B(ps|/s)")


def check_label(file: str, column: str, unit: str) -> None:
    """Refuse a *unit* that the name of the column contradicts.

    >>> check_label("run.csv", "time (ms)", "ms")

    Raises:
        TraceError: The name ends in another unit, as ``time (ms)`` or ``rate_kbps``.
    """
    match = _LABEL.fullmatch(column)
    label = match.group(1) if match else ""
    if unit in _TIME_LABELS:
        contradicts = label.lower() in _TIME_LABELS and label.lower() != unit
    else:
        named = _LABELS.get(label.lower(), (unit,))
        contradicts = unit not in named or _BYTES.fullmatch(label) is not None
    if contradicts:
        raise TraceError(
            f"{file}: column {column!r} says {label}, not {unit}; state the unit it is in"
        )
