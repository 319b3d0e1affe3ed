"""The report: what was run, what came out, and what the paper says, as Markdown and as HTML."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fl.files import write_atomically
from fl.interval import interval
from fl.reproduction.beyond import beyond_the_paper
from fl.reproduction.calibration import Fit, table
from fl.reproduction.claims import Check, Claim
from fl.reproduction.markdown import html_page, markdown_table
from fl.reproduction.measures import Measures
from fl.reproduction.plan import (
    READINGS,
    SCENARIOS,
    TITLES,
    Size,
)
from fl.reproduction.published import DEADLINE_MS, TABLE_1


def write_page(
    folder: Path,
    measures: Measures,
    size: Size,
    claims: Sequence[Claim],
    fits: Sequence[Fit],
    figures: Mapping[str, Path],
) -> Path:
    """Write ``reproduction.md`` and ``reproduction.html`` into *folder*, and return the latter."""
    pictures = {name: file.relative_to(folder) for name, file in figures.items()}
    sections = [
        _opening(size),
        _verdicts(claims),
        _table_1(measures),
        _calibration(fits),
        _figures(claims, pictures),
        beyond_the_paper(measures, pictures),
        _evidence(claims),
        _choices(),
        _runs(measures),
    ]
    text = "\n\n".join(sections) + "\n"
    write_atomically(folder / "reproduction.md", text)
    page = folder / "reproduction.html"
    write_atomically(page, html_page(text, folder))
    return page


def _opening(size: Size) -> str:
    text = (
        "# The paper, reproduced\n\n"
        "X. Liu, T. Ratnarajah, M. Sellathurai and Y. C. Eldar, *Adaptive Model Pruning and Personalization for Federated "
        "Learning over Wireless Networks*: Table I and Figures 3 to 6, simulated event by event, with devices that really "
        "learn. This page is written by `straggler reproduce`; its verdicts are computed from the runs. `±` is the half "
        "width of an interval of 95 % confidence over seeds (Student's t); differences are taken seed by seed."
    )
    if size.is_whole:
        return text
    return (
        f"{text}\n\n> **This is the quick version**: {size.overrides['rounds']} rounds and "
        f"{size.seeds} seeds. It shows that everything works. Nothing has converged in it, and its "
        "verdicts mean little; `straggler reproduce` without `--quick` takes about an hour."
    )


def _verdicts(claims: Sequence[Claim]) -> str:
    rows = [[one.where, one.says, f"**{one.verdict}**", one.why] for one in claims]
    return "## Claim by claim\n\n" + markdown_table(
        [["", "the paper says", "verdict", "why"], *rows]
    )


def _table_1(measures: Measures) -> str:
    titles = ["", "paper", "calibrated, closed form", "calibrated, emergent", "off by"]
    titles += ["over proposed, paper", "ours", "pruned", "stated numbers", "off by"]
    rows = [titles]
    proposed = interval(measures.latency("calibrated", "proposed").emergent_ms).mean
    for reading in READINGS:
        calibrated, stated = (
            measures.latency(experiment, reading) for experiment in ("calibrated", "stated")
        )
        emergent, as_stated = interval(calibrated.emergent_ms), stated.emergent_ms[0]
        paper, off, ratio, stated_off = "", "", "", ""
        if reading in TABLE_1:
            row = TABLE_1[reading]
            spread = "" if row.spread_ms is None else f" ± {row.spread_ms:g}"
            paper, ratio = f"{row.latency_ms:g}{spread}", f"{row.latency_ms / DEADLINE_MS:.2f}"
            off, stated_off = (
                f"{ms / row.latency_ms - 1:+.1%}" for ms in (emergent.mean, as_stated)
            )
        rows.append([
            TITLES[reading], paper, str(interval(calibrated.predicted_ms)), str(emergent), off,
            ratio, f"{emergent.mean / proposed:.2f}",
            f"{interval(calibrated.pruning_ratio).mean:.0%}", f"{as_stated:.1f}", stated_off,
        ])  # fmt: skip
    return (
        "## Table I: latency of a round, ms\n\n" + markdown_table(rows) + "\n\n"
        "Closed form is Eq. (29) on the channel of the round's begin, emergent is what the clock came to; the channel "
        "stands still but for a new draw every half second, and every draw counts once. Equal resources and pruning only can "
        "be read in two ways. With a ratio for each device both meet the deadline, and the paper's numbers cannot be had. With "
        "one ratio for all, computed at the mean rate, the slowest device sets the round; and if the ratio of pruning only is "
        "computed as if the convolutional layers were not sent, its row comes out, too. The stated numbers are taken at their "
        "word: one layer, and a deadline that forgets the warm-up, at a gain of -100 dB, which is ours."
    )


def _calibration(fits: Sequence[Fit]) -> str:
    return (
        "## The calibrated cell\n\n"
        "Four numbers are fitted to four of the paper's: three rows of Table I (the first is met in any cell) and the half "
        "of the weights that Fig. 5 (c) says are sent. For each number of layers this is the nearest cell on a grid, by the "
        "closed forms over 1,000 draws of the channel; the first line is `scenarios/paper/calibrated.yaml`.\n\n"
        + markdown_table(table(fits))
        + "\n\n38, 55 and a half seem to contradict each other, as 38/55 leaves only a third to be pruned. They do not: a "
        "scheme that prunes nothing needs no warm-up, so where computing is slow its 55 ms and the 38 ms differ by less "
        "than what is pruned. What does not fit is the radio: it takes 40 layers at full power each. As many numbers are "
        "set as are met, and readings and kernel size were chosen to fit on top, so this shows that the paper's numbers can be "
        "had at once, and not that its cell was this one."
    )


def _figures(claims: Sequence[Claim], pictures: Mapping[str, Path]) -> str:
    titles = {
        "figure-3": (
            "Fig. 3",
            "loss over rounds with a fixed pruning ratio, and accuracy at the end",
        ),
        "figure-4": ("Fig. 4", "updates in turns (FedAlt) and at the same time (FedSim)"),
        "figure-5": ("Fig. 5", "the schemes on Fashion-MNIST"),
        "figure-6": ("Fig. 6", "the proposed scheme with four deadlines"),
    }
    blocks = [
        "## Figures 3 to 6",
        "Lines are means over seeds, bands go from the lowest to the highest seed.",
    ]
    for name, (where, title) in titles.items():
        blocks.append(f"### {where}: {title}\n\n![{where}]({pictures[name].as_posix()})")
        blocks += [
            f"- {one.where}: {one.says}: **{one.verdict}**."
            for one in claims
            if one.where.startswith(where)
        ]
    return "\n\n".join(blocks).replace(".\n\n- ", ".\n- ")


def _evidence(claims: Sequence[Claim]) -> str:
    rows = [["", "number", "found", "claimed", "so?"]]
    for claim in claims:
        for check in claim.checks:
            found = f"{check.found} {check.unit}".strip()
            rows.append([claim.where, check.what, found, _claimed(check), check.finding])
    return (
        "## The numbers behind the verdicts\n\n"
        "A claim holds if all of its numbers are, with their whole intervals, where it says; it holds partly if some are, and it is undecided "
        "if all that can be said is that the seeds differ by more.\n\n" + markdown_table(rows)
    )


def _claimed(check: Check) -> str:
    if check.low == -float("inf"):
        return f"below {check.high:g}"
    if check.high == float("inf"):
        return f"above {check.low:g}"
    return f"{check.low:g} to {check.high:g}"


def _choices() -> str:
    rows = [["file", "value", "why"], *_marked_lines()]
    return (
        "## What the paper does not state, or what is not followed\n\n"
        "Values of our own choice, as they stand in `scenarios/paper/`; everything else there is the paper's. Two readings "
        "stand in `fl/reproduction/plan.py`: one ratio for all, and a ratio that leaves out what is never pruned.\n\n"
        + markdown_table(rows)
    )


def _marked_lines() -> Iterator[list[str]]:
    for file in sorted(SCENARIOS.glob("*.yaml")):
        lines = file.read_text(encoding="utf-8").splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            marked = re.fullmatch(r"\s*(.*?)\s*# ((?:ours|fitted): .*)", line)
            if marked:
                value = marked[1] or following.strip()  # a long one stands below its reason
                yield [file.name, f"`{value}`", marked[2]]


def _runs(measures: Measures) -> str:
    rows = [["", "runs", "seeds", "rounds each", "computing, min"]]
    manifests = measures.manifests()
    for experiment, made in manifests.items():
        rounds = sorted({one["rounds"] for one in made})
        rows.append([
            experiment, str(len(made)), str(len({one["seed"] for one in made})),
            ", ".join(map(str, rounds)), f"{sum(one['wall_seconds'] for one in made) / 60:.1f}",
        ])  # fmt: skip
    every = [one for made in manifests.values() for one in made]
    versions = sorted({pair for one in every for pair in one["versions"].items()})
    told_versions = ", ".join(f"{name} {text}" for name, text in versions)
    began, ended = (choose(one["started"] for one in every) for choose in (min, max))
    return (
        "## What was run\n\n" + markdown_table(rows) + "\n\n"
        f"The first run began at {began}, the last at {ended}. Versions: {told_versions}."
    )
