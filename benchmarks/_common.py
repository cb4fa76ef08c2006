"""What the benchmark programs share: arguments, measuring, tables, and the last line."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every program has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--check", action="store_true", help="exit with 1 when the bar is missed")
    made.add_argument("--data-home", type=Path, help="folder of the datasets (<name>.npz)")
    return made


def arguments(description: str) -> argparse.Namespace:
    """Read the command line of a program that has only the common options."""
    return parser(description).parse_args()


def data_home(chosen: Path | None = None) -> Path | None:
    """Return the folder of the datasets: as chosen, from the environment, or one nearby."""
    if chosen is not None:
        return chosen
    if os.environ.get("CLUSTERSCAPE_DATA"):
        return Path(os.environ["CLUSTERSCAPE_DATA"])
    nearby = (ROOT / "data", ROOT.parent / "data", ROOT.parent / "shared" / "data")
    return next((folder for folder in nearby if (folder / "MANIFEST.csv").exists()), None)


def load(name: str, home: Path | None = None) -> Any:
    """Load a dataset by name, or stop with the sentence that says where to get it."""
    from clusterscape import datasets

    try:
        return datasets.load(name, data_home=data_home(home))
    except FileNotFoundError as error:
        sys.exit(str(error))


@dataclass
class Measured:
    """CPU seconds of this process, all threads together, and seconds on the wall."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def measure() -> Iterator[Measured]:
    """Measure the block; the figures are there when it has ended."""
    taken = Measured()
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        yield taken
    finally:
        taken.cpu = time.process_time() - cpu
        taken.wall = time.perf_counter() - wall


@dataclass
class Run:
    """What a function returned in a process of its own, and what it took."""

    result: Any
    cpu: float
    wall: float
    peak_mb: float


# Most processes are short, and importing would be half of their work: where the system can, they
# come from one that has imported what they need and done nothing else.
_FORKED = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT = multiprocessing.get_context("forkserver" if _FORKED else "spawn")
if _FORKED:
    _CONTEXT.set_forkserver_preload(["clusterscape.combine", "clusterscape.compare"])


def in_fresh_process(function: Callable[..., Any], *args: Any) -> Run:
    """Run a function of a module in a new process, so that its peak memory is its own.

    The time is that of the function alone; the peak includes the interpreter and its imports.
    """
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_child, args=(theirs, function, args))
    process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        process.join()
        sys.exit(f"{function.__name__} died with exit code {process.exitcode}.")
    process.join()
    if isinstance(answer, str):
        sys.exit(f"{function.__name__} failed: {answer}")
    return Run(*answer)


def _child(pipe: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    inherited = _inherited_mb()
    try:
        with measure() as taken:
            result = function(*args)
        pipe.send((result, taken.cpu, taken.wall, peak_memory_mb() + inherited))
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def _inherited_mb() -> float:
    """Return what the system does not count of the imports of the process that this one is from.

    Code of libraries that a forked process has not run yet is not part of its size, though a
    process that imports them itself has it.
    """
    if not _FORKED:
        return 0.0
    before, now = _status_mb(os.getppid(), "VmRSS"), _status_mb("self", "VmRSS")
    return 0.0 if before is None or now is None else max(before - now, 0.0)


def _status_mb(process: int | str, field: str) -> float | None:
    """Return a size that Linux knows of a process, in MB (10^6 bytes); None elsewhere."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024 / 1e6
    return None


def peak_memory_mb() -> float:
    """Return the largest resident size of this process so far, in MB (10^6 bytes)."""
    # Not getrusage: there a new process starts from the size of the one that made it.
    peak = _status_mb("self", "VmHWM")
    if peak is not None:
        return peak
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def versions() -> str:
    """Return one line that says what was run on what."""
    names = ("clusterscape", "numpy", "scipy", "scikit-learn", "numba")
    parts = [f"Python {platform.python_version()}", *(f"{n} {version(n)}" for n in names)]
    return f"{', '.join(parts)}; {os.cpu_count()} x {platform.machine()}"


def show_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a header: the first column to the left, the others to the right."""
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(header))]
    for i, line in enumerate(cells):
        first, *rest = (
            cell.rjust(width) if j else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
        if i == 0:
            print("  ".join("-" * width for width in widths))


def finish(figure: str, ok: bool, check: bool) -> NoReturn:
    """Print the figure last; with ``check``, exit with 1 when the bar is missed."""
    print(f"{figure}: {'reached' if ok else 'MISSED'}", flush=True)
    sys.exit(1 if check and not ok else 0)
