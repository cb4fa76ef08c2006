"""Signals that end the command: workers are ended, unfinished files removed, one line is said.

SIGTERM and SIGHUP raise :class:`SystemExit` where the main thread stands, so that everything is
unwound as after an error. A main thread that waits for a worker, or is inside a compiled loop, does
not notice in time: after a grace period a second thread removes what is unfinished and ends the
process. SIGINT is Python's own KeyboardInterrupt, which some verbs turn into a partial answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

GRACE = 5.0  # seconds for the main thread to notice
_NAMES = ("SIGTERM", "SIGHUP")
INTERRUPTED = "interrupted; nothing was written except what --resume keeps."
said: list[str] = []  # what a verb told of its interruption
caught: list[int] = []  # the signal that ends the command; errors while it is unwound are no news


@contextlib.contextmanager
def ended_cleanly() -> Iterator[None]:
    """End the process in good order when a signal asks for it; for the main thread."""
    wanted = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    # What the caller ignores stays ignored: that is how nohup keeps a command alive.
    wanted = [number for number in wanted if signal.getsignal(number) != signal.SIG_IGN]
    inside: list[bool] = []  # whether what is raised would be heard below

    def end(number: int, _: FrameType | None) -> NoReturn:
        if not inside:
            _end_by(number)
        caught.append(number)
        warnings.simplefilter("ignore")  # joblib counts the tasks that are not finished
        raise SystemExit(128 + number)

    try:
        for number in wanted:
            signal.signal(number, end)
        _watch(set(wanted))
        inside.append(True)
        yield
        inside.clear()
    except KeyboardInterrupt:
        _end(130, INTERRUPTED)
    except BaseException as error:
        if caught:
            _end_by(caught[0])
        if isinstance(error, SystemExit) and error.code == 130:
            # Interrupted inside a verb, which has said so, or in typer, which says nothing; workers
            # may still run.
            _end(130, "" if said else INTERRUPTED)
        raise


def _watch(numbers: set[int]) -> None:
    """Start the thread that ends the process when the main thread does not."""
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    # Written by the system's own handler at once, even while the main thread runs compiled code.
    signal.set_wakeup_fd(sink, warn_on_full_buffer=False)

    def wait() -> None:
        while True:
            for number in os.read(source, 1):
                if number in numbers:
                    time.sleep(GRACE)
                    _end_by(number)

    threading.Thread(target=wait, name="signals", daemon=True).start()


def _end_by(number: int) -> NoReturn:
    name = signal.Signals(number).name
    _end(128 + number, f"ended by {name}; nothing was written except what --resume keeps.")


def _end(code: int, text: str) -> NoReturn:
    """End soon: without waiting for work, and leaving neither workers nor unfinished files."""
    warnings.simplefilter("ignore")
    main = threading.current_thread() is threading.main_thread()
    if main:  # a second signal must not stop this one's work
        for name in (*_NAMES, "SIGINT"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    if text:
        with contextlib.suppress(OSError):
            os.write(2, f"clusterscape: {text}\n".encode())
    with_workers = _end_workers()
    atomic: Any = sys.modules.get("clusterscape._core.atomic")
    if atomic is not None:
        atomic.remove_unfinished()
    if main and with_workers:
        # joblib removes what its workers shared when Python ends, which must not take long either.
        threading.Thread(target=_end_after, args=(GRACE, code), daemon=True).start()
        sys.exit(code)
    os._exit(code)


def _end_after(seconds: float, code: int) -> NoReturn:
    time.sleep(seconds)
    os._exit(code)


def _end_workers() -> bool:
    """Kill joblib's worker processes, and say whether there are any."""
    pools: Any = sys.modules.get("joblib.externals.loky.reusable_executor")
    # Shutting the executor down would only ask its own thread to do so, which needs time.
    workers = getattr(getattr(pools, "_executor", None), "_processes", None) or {}
    for worker in list(workers):
        with contextlib.suppress(OSError):
            os.kill(worker, signal.SIGKILL)
    return bool(workers)
