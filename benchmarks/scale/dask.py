"""The main job on a Dask cluster of two workers with 1.5 GB each, against one process without Dask.

``ConsensusClustering(10, n_partitions=50)`` on float32 points with 16 columns in a Zarr array: ten
blobs of unequal sizes and widths. The cluster (two processes of one thread each) is started here.

The bars: labels and confidences of a part of 200,000 rows are the same bytes as those of one
process without Dask on the same blocks; also when a worker is killed in the middle; the CPU
seconds of client and workers together are at most 1.5 times those of the one process; no worker
needs more than its memory. What a process spends on loading the package and its compiled kernels
is measured apart (two small fits before) and not counted, on either side.

``--check`` looks at the part alone. ``--full`` fits all rows (10,000,000, or ``--rows``) on the
cluster as well, and compares CPU seconds per point with the one process on the part.
"""

from __future__ import annotations

import sys

# This file must not stand for the package of its name.
sys.path.pop(0)

import hashlib
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common

K, COLUMNS, MEMBERS, ROWS, PART = 10, 16, 50, 10_000_000, 200_000
CHUNK = 16_384
MEMORY, RATIO = "1.5GB", 1.5
_SIZES = np.array([24, 20, 16, 12, 10, 8, 5, 3, 1.5, 0.5]) / 100.0


def make(path: Path, rows: int, chunk: int) -> Any:
    """Write points to a Zarr array in chunks, and return it."""
    import zarr

    array = zarr.create_array(
        str(path), shape=(rows, COLUMNS), chunks=(chunk, COLUMNS), dtype="float32"
    )
    fixed = np.random.default_rng(12)
    centers, width = fixed.normal(size=(K, COLUMNS)), fixed.uniform(0.4, 1.1, K)
    for start in range(0, rows, chunk):
        rng = np.random.default_rng([rows, start])
        part = rng.choice(K, size=min(chunk, rows - start), p=_SIZES)
        noise = rng.standard_normal((part.size, COLUMNS), dtype=np.float32)
        array[start : start + chunk] = (centers[part] + width[part, None] * noise).astype("f4")
    return array


def model(store: str | None = None) -> Any:
    """Return the job."""
    from clusterscape import ConsensusClustering

    return ConsensusClustering(K, n_partitions=MEMBERS, random_state=0, progress=False, store=store)


def digest(found: Any) -> str:
    """Return a hash of labels and confidences, block by block."""
    total = hashlib.sha256()
    for array in (found.labels_, found.confidence_):
        for part in array.workers.map(_bytes_of, array):
            total.update(part)
    return total.hexdigest()


def _bytes_of(i: int, block: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(block)).digest()


def alone(path: str, warm: str) -> tuple[str, float, float]:
    """Return the digest of one process without Dask, its CPU seconds, and those of a warm-up."""
    from clusterscape.io import open_rows

    warnings.simplefilter("ignore")
    digest(model().fit(open_rows(warm)))
    digest(model().fit(open_rows(warm)))
    first = time.process_time()
    found = model().fit(open_rows(path))
    return digest(found), time.process_time() - first, first


def cpu_of(client: Any) -> float:
    """Return the CPU seconds of this process and of the workers that live."""
    return time.process_time() + sum(client.run(time.process_time).values())


def on_cluster(path: str, warm: str | None, *, kill: bool = False) -> dict[str, Any]:
    """Return the digest of a fit on a cluster, its CPU seconds, and what the workers needed."""
    from clusterscape._core.workers import local_cluster
    from clusterscape.io import open_rows

    warnings.simplefilter("ignore")
    with local_cluster(2, memory_limit=MEMORY) as client:
        for _ in range(0 if warm is None else 2):  # so that both workers meet every kernel
            digest(model().fit(_dask(open_rows(warm))))
        before, started = cpu_of(client), time.perf_counter()
        store = f"{path}.store" if kill else None
        killer = threading.Thread(target=_kill, args=(client, store), daemon=True)
        if kill:
            killer.start()
        found = model(store).fit(_dask(open_rows(path)))
        text = digest(found)
        if kill:
            killer.join()
        spent, seconds = cpu_of(client) - before, time.perf_counter() - started
        peak = max(client.run(_common.peak_memory_mb).values())
        return {"digest": text, "cpu": spent, "seconds": seconds, "peak": peak}


def _dask(rows: Any) -> Any:
    """Return a Dask array of the same blocks, which workers read themselves."""
    return rows.to_dask()


def _kill(client: Any, store: str | None) -> None:
    """Kill a worker as soon as some blocks are labelled, and others are not."""
    pids = client.run(os.getpid)
    while len(list(Path(str(store)).glob("blocks/labels-*/member-*.npz"))) < 3:
        time.sleep(0.01)
    os.kill(next(iter(pids.values())), 9)


def main() -> None:
    """Run the comparison."""
    parser = _common.parser(__doc__)
    parser.add_argument("--full", action="store_true", help="fit all rows on the cluster, too")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of --full")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        part, warm = Path(folder) / "part.zarr", Path(folder) / "warm.zarr"
        make(part, PART, CHUNK)
        make(warm, 96_000, CHUNK)
        one = _common.in_fresh_process(alone, str(part), str(warm))
        same, cpu, first = one.result
        two = on_cluster(str(part), str(warm))
        hurt = on_cluster(str(part), None, kill=True)
        rows = [
            ["one process", f"{PART:,}", f"{cpu:.1f}", "", f"{one.peak_mb:.0f}", same[:12]],
            _row("two workers", PART, two),
            _row("one killed", PART, hurt),
        ]
        ratio = two["cpu"] / cpu
        if options.full:
            full = Path(folder) / "full.zarr"
            make(full, options.rows, 65_536)
            whole = on_cluster(str(full), str(warm))
            rows.append(_row("two workers", options.rows, whole))
        print(_common.versions())
        _common.show_table(["", "rows", "CPU s", "s", "MB", "sha256"], rows)
        print(f"before, in the one process: {first:.1f} CPU s (not counted)")
        equal = same == two["digest"] == hurt["digest"]
        ok = equal and ratio <= RATIO
        if options.full:
            share = whole["cpu"] / options.rows / (cpu / PART)
            print(f"all rows: {share:.2f} times the CPU seconds per point of one process")
            ok &= share <= RATIO
        figure = f"same bytes: {equal}, CPU {ratio:.2f}x of one process (bar {RATIO}x)"
        _common.finish(figure, ok, options.check)


def _row(name: str, rows: int, found: dict[str, Any]) -> list[str]:
    return [
        name,
        f"{rows:,}",
        f"{found['cpu']:.1f}",
        f"{found['seconds']:.1f}",
        f"{found['peak']:.0f}",
        found["digest"][:12],
    ]


if __name__ == "__main__":
    main()
