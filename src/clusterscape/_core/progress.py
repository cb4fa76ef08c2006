"""Progress in one place: a line on stderr, silent when stderr is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(
    items: Iterable[T], total: int, *, label: str, progress: bool | None, done: int = 0
) -> Iterator[T]:
    """Yield ``items`` and show how many of ``total`` have come.

    ``progress=None`` shows the bar only on a terminal, ``False`` never, ``True`` always.
    ``done`` counts what was finished by an earlier run.
    """
    show = sys.stderr.isatty() if progress is None else progress
    if not show or total == 0:
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, completed=done)
        for item in items:
            yield item
            bar.advance(task)
