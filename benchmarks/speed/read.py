"""Reading a large CSV file: clusterscape against both engines of pandas.

A table of normal numbers, written with all their digits, is read by ``clusterscape.io.read_table``
and by ``pandas.read_csv`` with its C engine and with pyarrow's, each in a process of its own and in
turns. The numbers must be the same to the last bit. The bars: at most 1.5 times the seconds of the
faster engine (wall clock: pyarrow uses all cores), and at most 2.5 times the size of the numbers in
memory, beyond what the imports take.

The same numbers as Parquet and as h5ad (dense, with names of the cells) are read in blocks of rows.
The memory that is stated for them: the numbers that are kept, 100 bytes for each name of a row, and
150 MB.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import _common

TIME, MEMORY = 1.5, 2.5
BESIDE, NAME = 150.0, 100e-6  # MB beside the numbers, and for each name of a row
COLUMNS = 50


def ours(path: str) -> tuple[float, float, float]:
    """Read with clusterscape; return a checksum, the memory that it took, and the seconds."""
    import pyarrow.csv  # noqa: F401  (imports are not counted)

    from clusterscape.io import read_table

    before = _common.peak_memory_mb()
    with _common.measure() as taken:
        X = read_table(path).X
    return _digest(X), _common.peak_memory_mb() - before, taken.wall


def pandas_c(path: str) -> tuple[float, float, float]:
    """Read with the C engine, exactly as ours: to the last bit."""
    return _pandas(path, {"engine": "c", "float_precision": "round_trip"})


def pandas_c_default(path: str) -> tuple[float, float, float]:
    """Read with the C engine as it is by default: the last bit may differ."""
    return _pandas(path, {"engine": "c"})


def pandas_pyarrow(path: str) -> tuple[float, float, float]:
    """Read with pyarrow's engine."""
    return _pandas(path, {"engine": "pyarrow"})


def blocks(path: str) -> tuple[float, float, float]:
    """Read Parquet or h5ad with clusterscape."""
    import anndata  # noqa: F401
    import h5py  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    return ours(path)


def _pandas(path: str, options: dict[str, str]) -> tuple[float, float, float]:
    import pandas as pd
    import pyarrow.csv  # noqa: F401

    before = _common.peak_memory_mb()
    with _common.measure() as taken:
        X = pd.read_csv(path, **options).to_numpy()
    return _digest(X), _common.peak_memory_mb() - before, taken.wall


def _digest(X: np.ndarray) -> float:
    """Return a number that depends on every bit of every value."""
    bits = np.ascontiguousarray(X[::7]).view(np.uint64)
    return float(np.bitwise_xor.reduce(bits.ravel())) + float(X.shape[0])


def write(path: Path, n: int) -> np.ndarray:
    """Write normal numbers with all their digits."""
    import pyarrow
    from pyarrow import csv

    X = np.random.default_rng(0).normal(size=(n, COLUMNS))
    table = pyarrow.table({f"c{j}": X[:, j] for j in range(COLUMNS)})
    csv.write_csv(table, path)
    return X


def write_parquet(path: Path, n: int) -> None:
    """Write the same numbers as pandas does."""
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(n, COLUMNS))
    pd.DataFrame(X, columns=[f"c{j}" for j in range(COLUMNS)]).to_parquet(path)


def write_h5ad(path: Path, n: int) -> None:
    """Write the same numbers as anndata does."""
    import anndata

    anndata.AnnData(np.random.default_rng(0).normal(size=(n, COLUMNS))).write_h5ad(path)


STORED = {"parquet": write_parquet, "h5ad": write_h5ad}


def in_blocks(folder: Path, n: int, wanted: float) -> bool:
    """Read Parquet and h5ad; print the memory that it took, and say whether it is as stated."""
    binary, rows, good = n * COLUMNS * 8 / 1e6, [], True
    for kind, write_file in STORED.items():
        path = folder / f"table.{kind}"
        _common.in_fresh_process(write_file, path, n)
        run = _common.in_fresh_process(blocks, str(path))
        path.unlink()
        digest, extra, wall = run.result
        if digest != wanted:
            sys.exit(f"{kind}: other numbers were read than were written.")
        stated = binary + BESIDE + (NAME * n if kind == "h5ad" else 0.0)
        good &= extra <= stated
        rows.append([kind, f"{wall:.2f}", f"{extra:,.0f}", f"{stated:,.0f}"])
    _common.show_table(["", "seconds", "MB beyond imports", "stated"], rows)
    return good


WAYS: dict[str, Callable[[str], tuple[float, float, float]]] = {
    "clusterscape": ours,
    "pandas, pyarrow": pandas_pyarrow,
    "pandas, C": pandas_c_default,
    "pandas, C, exact": pandas_c,
}


def main() -> None:
    made = _common.parser(__doc__.splitlines()[0])
    made.add_argument("--rows", type=int, help="rows (1,000,000; with --check 250,000)")
    made.add_argument("--repeats", type=int, default=3, help="turns")
    options = made.parse_args()
    n = options.rows or (250_000 if options.check else 1_000_000)
    lacking = [name for name in ("anndata", "pyarrow") if find_spec(name) is None]
    if lacking:
        sys.exit(
            f"This program also needs {' and '.join(lacking)}: pip install 'clusterscape[bench]'"
        )
    print(f"{_common.versions()}; pandas {version('pandas')}, pyarrow {version('pyarrow')}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        wanted = _digest(write(path, n))
        binary = n * COLUMNS * 8 / 1e6
        print(f"{n:,} x {COLUMNS}: {path.stat().st_size / 1e6:,.0f} MB of text, {binary:,.0f} MB")
        seconds: dict[str, list[float]] = {name: [] for name in WAYS}
        extra: dict[str, float] = {}
        for _ in range(options.repeats):
            for name, way in WAYS.items():
                run = _common.in_fresh_process(way, str(path))
                digest, grown, wall = run.result
                if digest != wanted and name != "pandas, C":
                    sys.exit(f"{name} read other numbers than were written.")
                seconds[name].append(wall)
                extra[name] = max(extra.get(name, 0.0), grown)
        path.unlink()
        times = {name: statistics.median(taken) for name, taken in seconds.items()}
        _common.show_table(
            ["", "seconds", "MB beyond imports", "x the numbers"],
            [
                [name, f"{times[name]:.2f}", f"{extra[name]:,.0f}", f"{extra[name] / binary:.2f}"]
                for name in WAYS
            ],
        )
        stated = in_blocks(Path(folder), n, wanted)
    best = min(times["pandas, pyarrow"], times["pandas, C"])
    ratio, memory = times["clusterscape"] / best, extra["clusterscape"] / binary
    _common.finish(
        f"{ratio:.2f}x the faster engine of pandas (bar {TIME}), {memory:.2f}x the numbers in "
        f"memory (bar {MEMORY}); Parquet, h5ad {'within' if stated else 'beyond'} what is stated",
        ratio <= TIME and memory <= MEMORY and stated,
        options.check,
    )


if __name__ == "__main__":
    main()
