"""How far the runs are, on a terminal or in lines."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from fl.study.runner import Progress

#: Where nobody looks at a terminal, a line comes no more often than this.
_LINE_S = 60.0


@contextmanager
def shown() -> Iterator[Callable[[Progress], None]]:
    """Show how far the runs are: as a bar, or in lines where there is no terminal."""
    console = Console(stderr=True)
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task("running", total=1.0, told="")
        told_at = -_LINE_S

        def watch(progress: Progress) -> None:
            nonlocal told_at
            told = _told(progress)
            bar.update(task, completed=progress.fraction, told=told)
            due = time.monotonic() - told_at > _LINE_S or progress.done == progress.total
            if due and not console.is_terminal:
                typer.echo(told, err=True)
                told_at = time.monotonic()

        yield watch


def _told(progress: Progress) -> str:
    parts = [f"{progress.done} of {progress.total} runs"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.running:
        parts.append(f"{progress.running} running")
    if progress.left_s is not None and progress.done < progress.total:
        parts.append(f"{_minutes(progress.left_s)} left")
    return ", ".join(parts)


def _minutes(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
