"""The cost model against real runs: CPU seconds and memory at 100,000 and 1,000,000 rows.

``clusterscape.planning.measure_cost`` measures 48,000 and 240,000 rows of float32 points with 16
columns (those of scale/dask.py, 50 members, K = 10) in a process of its own. Its predictions stand
beside runs: one process without Dask, and a cluster of two workers. The bar: CPU seconds and
memory within 30 % of what the runs need. Seconds on the wall are printed, but hold only where every
process has a core. ``--check`` takes 400,000 rows, ``--rows`` others, such as
10000000.

The speed of the machine is measured before and after each run, too
(``planning.reference_seconds``). "slower" is how many times longer the same work then took than
when the costs were measured; what is off beside it would be off with the costs of that moment.
The bar does not know of it.
"""

from __future__ import annotations

import importlib.util
import sys

sys.path.pop(0)  # its files have names of packages

import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common

WITHIN, ROWS, CHECKED = 0.30, (100_000, 1_000_000), (400_000,)


def _scale() -> Any:
    """Return the program that makes the points and runs the cluster."""
    path = Path(__file__).with_name("dask.py")
    spec = importlib.util.spec_from_file_location("scale_dask", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale_dask"] = module
    sys.path.insert(0, "")  # it removes the first entry
    spec.loader.exec_module(module)
    return module


def measured(path: str, members: int, k: int) -> Any:
    """Return the cost model."""
    from clusterscape.io import open_rows
    from clusterscape.planning import measure_cost

    warnings.simplefilter("ignore")
    return measure_cost(open_rows(path).to_dask(), k, n_partitions=members)


def reference() -> float:
    """Return the seconds of the reference work."""
    from clusterscape.planning import reference_seconds

    return reference_seconds()


def alone(path: str, warm: str) -> tuple[str, float, float]:
    """Return what scale/dask.py measures of one process."""
    return _scale().alone(path, warm)


def main() -> None:
    """Compare predictions and runs."""
    parser = _common.parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", help="numbers of rows")
    options = parser.parse_args()
    counts = options.rows or (CHECKED if options.check else ROWS)
    scale = _scale()
    rows, worst = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder) / "warm.zarr"
        scale.make(warm, 150_000, scale.CHUNK)
        cost = _common.in_fresh_process(measured, str(warm), scale.MEMBERS, scale.K).result
        for n in counts:
            path = Path(folder) / f"{n}.zarr"
            scale.make(path, n, 65_536)
            pace = [_common.in_fresh_process(reference).result]
            one = _common.in_fresh_process(alone, str(path), str(warm))
            pace.append(_common.in_fresh_process(reference).result)
            two = scale.on_cluster(str(path), str(warm))
            pace.append(_common.in_fresh_process(reference).result)
            runs = [
                (0, one.result[1], None, one.peak_mb, (pace[0] + pace[1]) / 2),
                (2, two["cpu"], two["seconds"], two["peak"], (pace[1] + pace[2]) / 2),
            ]
            for w, cpu, seconds, peak, now in runs:
                off = cost.cpu(n, w) / cpu - 1, cost.memory_mb(n) / peak - 1
                worst = max(worst, *(abs(o) for o in off))
                wall = "" if seconds is None else f"{seconds:.1f}"
                then = cost.at(now).cpu(n, w) / cpu - 1
                rows.append(
                    [f"{n:,}", w, f"{cpu:.1f}", f"{cost.cpu(n, w):.1f}", f"{off[0]:+.0%}"]
                    + [f"{now / cost.reference:.2f}", f"{then:+.0%}"]
                    + [f"{peak:.0f}", f"{cost.memory_mb(n):.0f}", f"{off[1]:+.0%}"]
                    + [wall, f"{cost.seconds(n, w) - cost.start:.1f}"]
                )
    print(_common.versions())
    header = [
        "rows",
        "workers",
        "CPU s",
        "predicted",
        "off",
        "slower",
        "off",
        "MB",
        "predicted",
        "off",
        "s",
        "predicted",
    ]
    _common.show_table(header, rows)
    print(
        f"members {cost.members:.2f} s, alone {cost.alone:.2f} s, "
        f"a row {1e6 * cost.per_row:.2f} us, "
        f"a task {1e3 * cost.per_task:.1f} ms, crowding {cost.crowding:.2f}, reference "
        f"{1e3 * cost.reference:.2f} ms"
    )
    print(cost.table([10**7, 10**8], [0, 2, 8, 32]).round(1).to_string(index=False))
    figure = f"largest error of CPU seconds and memory {worst:.0%} (bar {WITHIN:.0%})"
    _common.finish(figure, worst <= WITHIN, options.check)


if __name__ == "__main__":
    main()
