"""The timeline of a run: a lane per device, what it did when, and its channel meanwhile.

The page draws it on a canvas (``assets/timeline.js``) from arrays that stand in it as base64. A
device's phases follow one another from the start of the round, so their lengths are enough.
"""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fl.phases import PHASES
from fl.report.page import asset, script_safe
from fl.report.recording import Recording
from netsim.channel import Channel, snr_of_efficiency
from netsim.units import ratios_to_db

MOST_DEVICES = 100
MOST_ROUNDS = 200
STRETCHES = 24
"""Into how many equal parts an upload is cut, to tell what its channel did."""
SILENT = 0
"""The byte of a stretch in which nothing passed; the others, from 1 on, are levels in dB."""

_LETTERS = dict(zip(PHASES, "BPWRGLUHO", strict=False))
_SENDING = PHASES.index("upload")


@dataclass(frozen=True)
class Excerpt:
    """The rounds and devices of a run that its timeline shows."""

    recording: Recording
    rows: NDArray[np.int64]
    """Of the table of rounds."""
    devices: Sequence[int]

    @classmethod
    def of(cls, recording: Recording) -> "Excerpt":
        """Choose what is shown: all of it, if that is not too much."""
        rows = some_rounds(recording.rounds["latency_s"].to_numpy(), MOST_ROUNDS)
        return cls(recording, rows, recording.some_devices(MOST_DEVICES))

    @property
    def rounds(self) -> pa.Table:
        """What is known of the chosen rounds."""
        return self.recording.rounds.take(pa.array(self.rows))

    def columns(self, names: Sequence[str]) -> list[NDArray[np.float64]]:
        """Return columns of the table of devices, each [rounds, devices].

        All is NaN of a device in a round in which it did not take part.
        """
        grids = self.recording.grids(names, self.devices)
        return [grid[self.rows] for grid in grids.values()]


def timeline_section(recording: Recording) -> str:
    """Return the timeline as a fragment of HTML, to go with `timeline_assets`."""
    excerpt = Excerpt.of(recording)
    data = pack(excerpt)
    numbers = excerpt.rounds["round"].to_pylist()
    slowest = numbers[int(np.argmax(excerpt.rounds["latency_s"].to_numpy()))]
    return Template(asset("timeline.html")).substitute(
        name=html.escape(recording.scenario.name),
        note=html.escape(_note(excerpt)),
        first=numbers[0],
        last=numbers[-1],
        slowest=slowest,
        legend=_legend(excerpt, data),
        data=script_safe(json.dumps(data | {"open_at": slowest}, allow_nan=False)),
    )


def timeline_assets() -> tuple[str, str]:
    """Return the style sheet and the script that a page with a timeline needs."""
    scripts = [asset(f"timeline{name}.js") for name in ("-view", "-painter", "")]
    # In one function, so that no name of theirs meets one of another script of the page.
    return asset("timeline.css"), "\n".join(['(() => {\n"use strict";\n', *scripts, "})();\n"])


def some_rounds(latency_s: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return all rounds or, if there are more than *most*, the slowest and others evenly spread."""
    if len(latency_s) <= most:
        return np.arange(len(latency_s))
    slowest = np.argsort(-latency_s, kind="stable")[: most // 2]
    spread = np.linspace(0, len(latency_s) - 1, most - len(slowest)).round().astype(np.int64)
    return np.union1d(slowest, spread)


def pack(excerpt: Excerpt) -> dict[str, Any]:
    """Return what the page draws: arrays as base64, by round, then device, then phase.

    Times are doubles, as in the tables, so that what the page shows of them is right to the
    last digit. Phases that took no time in any round are left out.
    """
    rounds = excerpt.rounds
    *lengths, ratio, share, snr_db, outcome = excerpt.columns(
        [
            *(f"{phase}_s" for phase in PHASES),
            *("pruning_ratio", "bandwidth_fraction", "snr_db", "outcome"),
        ]
    )
    seconds = np.nan_to_num(np.stack(lengths, axis=-1))  # who does not take part spends none
    used = np.flatnonzero(seconds.any(axis=(0, 1))).tolist()
    start_s = rounds["start_s"].to_numpy()
    return {
        "phases": [{"name": PHASES[p], "letter": _LETTERS.get(PHASES[p], "")} for p in used],
        "devices": list(excerpt.devices),
        "round": _base64(rounds["round"].to_numpy(), "<i4"),
        "start": _base64(start_s, "<f8"),
        "end": _base64(rounds["end_s"].to_numpy(), "<f8"),
        "deadline": _base64(rounds["deadline_s"].to_numpy(zero_copy_only=False), "<f8"),
        "straggler": _base64(rounds["straggler"].to_numpy(), "<i4"),
        "seconds": _base64(seconds[..., used], "<f8"),
        "ratio": _base64(ratio, "<f4"),
        "share": _base64(share, "<f4"),
        "snr": _base64(snr_db, "<f4"),
        "outcome": _base64(np.nan_to_num(outcome), "u1"),
        "curve": _pack_curves(excerpt, start_s, seconds, snr_db),
    }


def _pack_curves(
    excerpt: Excerpt,
    start_s: NDArray[np.float64],
    seconds: NDArray[np.float64],
    decided_db: NDArray[np.float64],
) -> dict[str, object] | None:
    """Return the SNR during each upload, in levels of its device; None, if it is not known.

    Args:
        excerpt: What is shown.
        start_s: Of each round.
        seconds: Of each phase of each device, [rounds, devices, phases].
        decided_db: What the server decided on, [rounds, devices]; the levels span it, too.
    """
    channels = excerpt.recording.channels
    if channels is None:
        return None
    from_s = start_s[:, None] + seconds[..., :_SENDING].sum(axis=-1)
    snr_db = np.stack(
        [
            mean_snr_db(channels[device], from_s[:, k], seconds[:, k, _SENDING])
            for k, device in enumerate(excerpt.devices)
        ],
        axis=1,
    )
    scales = [
        _scale(np.append(snr_db[:, k], decided_db[:, k])) for k in range(len(excerpt.devices))
    ]
    low_db, step_db = np.array(scales).T[..., None]
    levels = np.where(np.isfinite(snr_db), 1 + np.rint((snr_db - low_db) / step_db), SILENT)
    return {
        "stretches": STRETCHES,
        "low": low_db.ravel().tolist(),
        "step": step_db.ravel().tolist(),
        "levels": _base64(levels, "u1"),
    }


def _scale(db: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least of some levels, and the step by which 254 lead to the greatest."""
    known = db[np.isfinite(db)]
    if not len(known):
        return 0.0, 1.0
    # A channel that stands still is a flat line: its rounding is not blown up.
    span = max(known.max() - known.min(), 1.0)
    return (known.max() + known.min() - span) / 2, span / 254


def mean_snr_db(
    channel: Channel, from_s: NDArray[np.float64], seconds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the SNR in each stretch of some uploads, [uploads, stretches].

    It is that at which Shannon allows the mean efficiency of the stretch; -inf dB where nothing
    passed, or nothing was sent.
    """
    efficiency = np.zeros((len(from_s), STRETCHES))
    edges_s = np.linspace(from_s, from_s + seconds, STRETCHES + 1, axis=1)
    for row in np.flatnonzero(seconds > 0).tolist():
        edges = edges_s[row].tolist()
        carried = list(map(channel.carried, edges[:-1], edges[1:]))
        efficiency[row] = np.array(carried) * STRETCHES / seconds[row]
    # The difference of two nearly equal sums may come out below nothing.
    return ratios_to_db(snr_of_efficiency(np.maximum(efficiency, 0.0)))


def _base64(values: NDArray[np.generic], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _note(excerpt: Excerpt) -> str:
    recording = excerpt.recording
    words = ["A lane per device; it opens at the slowest round."]
    if recording.num_participants < recording.num_devices:
        words.append(
            f"Of {recording.num_devices} devices, {recording.num_participants} take part in a "
            "round; in the others a lane is empty."
        )
    seen = len(recording.seen)
    if len(excerpt.devices) < seen:
        words.append(
            f"Of {seen} devices, {len(excerpt.devices)} are shown: those who "
            "straggled most often, and others evenly spread."
        )
    if len(excerpt.rows) < recording.num_rounds:
        words.append(
            f"Of {recording.num_rounds} rounds, {len(excerpt.rows)} are shown: the slowest, and "
            "others evenly spread; the rest of the time is left blank."
        )
    if recording.channels is None:
        words.append("The channel's trace cannot be had any more, so no SNR is drawn.")
    return " ".join(words)


def _legend(excerpt: Excerpt, data: Mapping[str, Any]) -> str:
    """Return the entries of the legend: the phases that occur, then the marks and lines."""
    entries = [
        f'<span class="timeline-swatch timeline-{phase["name"]}">{phase["letter"]}</span> '
        f"{phase['name']}"
        for phase in data["phases"]
    ]
    entries.append('<span class="timeline-mark">&#9656;</span> last of its round')
    if not excerpt.rounds["deadline_s"].null_count:
        entries.append('<span class="timeline-swatch timeline-deadline"></span> deadline')
    if data["curve"]:
        entries.append(
            '<span class="timeline-swatch timeline-curve"></span> SNR under its upload, from the '
            "device's least to its greatest; dotted: as decided on"
        )
    return "".join(f"<li>{entry}</li>" for entry in entries)
