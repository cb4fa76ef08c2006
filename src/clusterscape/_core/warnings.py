"""Warnings of many members, kept with the member that raised them instead of flooding the user.

``warnings.catch_warnings`` belongs to the whole process: two threads that use it at once restore
each other's filters and leave the process changed. Here the first thread in installs one listener,
the last one out takes it away, and every thread keeps its own list.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_entered = 0
_catch: Any = None
_local = threading.local()


@contextmanager
def hear_warnings(only: type[Warning] = Warning) -> Iterator[list[str]]:
    """Collect the distinct warnings of this thread as texts; none is shown or raised.

    With ``only``, other kinds go to an enclosing block of this kind, or are shown.
    """
    global _entered, _catch
    heard: list[str] = []
    with _lock:
        _entered += 1
        if _entered == 1:
            _catch = warnings.catch_warnings()
            _catch.__enter__()
            warnings.simplefilter("always")
            warnings.showwarning = _listen(warnings.showwarning)
    outer = getattr(_local, "listeners", ())
    _local.listeners = ((heard, only), *outer)
    try:
        yield heard
    finally:
        _local.listeners = outer
        with _lock:
            _entered -= 1
            if _entered == 0:
                _catch.__exit__(None, None, None)
                _catch = None


def _listen(show: Any) -> Any:
    """Return a listener; what another thread warns of meanwhile goes where it would have gone."""

    def listener(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        for heard, only in getattr(_local, "listeners", ()):
            if issubclass(category, only):
                text = f"{category.__name__}: {' '.join(str(message).split())}"
                if text not in heard:
                    heard.append(text)
                return
        show(message, category, *place, **more)

    return listener
