"""Progress in one place: lines on stderr, silent when stderr is not a terminal; and the log."""

from __future__ import annotations

import logging
import multiprocessing
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger("clusterscape")
"""What goes on, for those who ask: ``logging.basicConfig(level=logging.INFO)``."""
log.addHandler(logging.NullHandler())

_wish: ContextVar[bool | None] = ContextVar("clusterscape_progress", default=None)
_noted: set[str] = set()


def wish() -> bool | None:
    """Return what the work that is going on was asked to show (see :func:`showing`)."""
    return _wish.get()


@contextmanager
def showing(progress: bool | None) -> Iterator[None]:
    """Let what runs inside follow ``progress``, as in :func:`track`; None changes nothing."""
    token = _wish.set(wish() if progress is None else progress)
    try:
        yield
    finally:
        _wish.reset(token)


def note_once(text: str) -> None:
    """Say a line once in this process: to the log if it is read, else to stderr with progress."""
    # Workers print nothing: every worker would print the same line.
    if text in _noted or multiprocessing.parent_process() is not None:
        return
    if _is_shown(wish()) and not log.isEnabledFor(logging.INFO):
        _noted.add(text)
        sys.stderr.write(f"clusterscape: {text}\n")
        sys.stderr.flush()
    elif log.isEnabledFor(logging.INFO):
        _noted.add(text)
        log.info(text)


def _is_shown(progress: bool | None) -> bool:
    return sys.stderr.isatty() if progress is None else progress


def track(
    items: Iterable[T], total: int, *, label: str, progress: bool | None, done: int = 0
) -> Iterator[T]:
    """Yield ``items`` and show how many of ``total`` have come.

    ``progress=None`` shows the bar only on a terminal, ``False`` never, ``True`` always.
    ``done`` counts what was finished by an earlier run.
    """
    if not label or total == 0 or not _is_shown(progress):
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
