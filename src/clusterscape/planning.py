"""What the main job on many rows in blocks will cost: seconds, memory and bytes moved."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.params import Integer, Null, Seed, checked
from clusterscape._core.rows import ArrayRows, RowSource, blocks_of, even_bounds
from clusterscape._core.seeds import RandomState
from clusterscape.model import ConsensusClustering

SIZES = (48_000, 144_000)  # rows on which seconds are measured
_BLOCK = 8_192  # rows of their blocks

# Measured by benchmarks/scale/plan.py with two workers of one thread each.
_PER_TASK = 0.004  # CPU seconds of a task on a cluster, all processes together
_PASSES = 9  # tasks for each block of rows: looking, drawing rows, labelling, counting
_CLUSTER = 0.5  # CPU seconds of a fit on a cluster that do not depend on the rows
_COPIES = 3  # of a block of features that a worker holds: as read, as computed, temporary
_BUNDLES = 3  # of members for each worker


@dataclass(frozen=True)
class CostModel:
    """Seconds, memory and bytes of the main job, as functions of rows and workers.

    Attributes
    ----------
    members : float
        CPU seconds of all members, on samples: shared among the workers.
    alone : float
        CPU seconds of what one process does: samples, choice of k, consensus of the sample.
    per_row : float
        CPU seconds of a row: shared among the workers.
    start : float
        CPU seconds in which a process loads the package and its compiled kernels.
    base_mb : float
        Memory of a process without rows.
    n_features, n_members, n_clusters, n_columns, item : int
        Columns of the data; members; clusters asked for; clusters of all members together; bytes of
        a number of the data.

    See Also
    --------
    measure_cost : Makes one.
    """

    members: float
    alone: float
    per_row: float
    start: float
    base_mb: float
    n_features: int
    n_members: int
    n_clusters: int
    n_columns: int
    item: int

    def blocks(self, n: int) -> int:
        """Return the number of blocks of so many rows."""
        return even_bounds(n, self.n_features).size - 1

    def cpu(self, n: int, workers: int = 0) -> float:
        """Return CPU seconds, all processes together; ``workers=0`` is one process without Dask."""
        work = self.members + self.alone + self.per_row * n
        if workers == 0:
            return work
        return work + _CLUSTER + _PER_TASK * _PASSES * self.blocks(n)

    def seconds(self, n: int, workers: int = 0) -> float:
        """Return seconds on the wall, where every process has a core, from its start."""
        if workers == 0:
            return self.start + self.cpu(n)
        spread = (self.members + self.per_row * n) / workers
        messages = _PER_TASK * _PASSES * self.blocks(n) / 2  # by the scheduler, one after the other
        return self.start + self.alone + spread + _CLUSTER + messages

    def memory_mb(self, n: int) -> float:
        """Return the memory that a worker needs, in MB."""
        rows = int(np.diff(even_bounds(n, self.n_features)).max())
        block = rows * (_COPIES * self.n_features * self.item + 3 * self.n_members)
        answer = rows * 8 * (2 * self.n_clusters + 6)
        tables = 8 * self.n_columns * (self.n_clusters + 2) * 2
        return self.base_mb + (block + answer + tables) / 1e6

    def moved_mb(self, n: int, workers: int) -> float:
        """Return what travels between the processes, in MB: samples, and sums over blocks."""
        if workers == 0:
            return 0.0
        samples = 4 * (20_000 + 2_000) * self.n_features * self.item
        sent = samples * (1 + _BUNDLES * workers / 4)
        sums = self.blocks(n) * 8 * self.n_columns * (self.n_clusters + 2)
        return (min(sent, 8.0 * n * self.n_features * self.item) + sums) / 1e6

    def table(self, sizes: Any, workers: Any) -> pd.DataFrame:
        """Return one row for each number of rows and of workers.

        Parameters
        ----------
        sizes, workers : list of int
            Numbers of rows, and of workers (0 is one process without Dask).

        Returns
        -------
        pandas.DataFrame
        """
        found = [
            {
                "rows": int(n),
                "workers": int(w),
                "seconds": self.seconds(int(n), int(w)),
                "cpu_seconds": self.cpu(int(n), int(w)),
                "worker_mb": self.memory_mb(int(n)),
                "moved_mb": self.moved_mb(int(n), int(w)),
                "store_mb": n * self.n_members / 1e6,
            }
            for n in sizes
            for w in workers
        ]
        return pd.DataFrame(found)


@checked(
    {"n_clusters": [Null(), Integer(1)], "n_partitions": [Integer(1)], "random_state": [Seed()]}
)
def measure_cost(
    X: Any,
    n_clusters: int | None = None,
    *,
    n_partitions: int = 100,
    random_state: RandomState = 0,
) -> CostModel:
    """Measure on this machine what the main job costs, by fits of 48,000 and 144,000 rows.

    Rows of X are repeated where it has fewer. The fits take some ten seconds.

    Parameters
    ----------
    X : array, or rows in blocks
        The data, or some like it: see :func:`clusterscape.io.open_rows`.
    n_clusters : int, optional
        As in :class:`~clusterscape.ConsensusClustering`.
    n_partitions : int
        Members.
    random_state : int, generator or None
        Seed.

    Returns
    -------
    CostModel

    See Also
    --------
    clusterscape.ConsensusClustering : The main job.

    Notes
    -----
    CPU seconds grow linearly with the rows, because members are fitted on samples of a fixed
    size. Seconds on the wall assume a core for every worker and a disk that keeps up.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.planning import measure_cost
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> cost = measure_cost(X, 3, n_partitions=20)  # doctest: +SKIP
    >>> cost.table([10**6, 10**8], [0, 8])  # doctest: +SKIP
    """
    source = X if isinstance(X, RowSource) else blocks_of(X, None)
    some = source[: min(len(source), SIZES[1])]
    warm, began = time.process_time(), None
    taken: list[tuple[float, float]] = []
    for n in (SIZES[0], *SIZES):
        rows = ArrayRows(np.resize(some, (n, some.shape[1])), np.append(np.arange(0, n, _BLOCK), n))
        model = ConsensusClustering(
            n_clusters, n_partitions=n_partitions, random_state=random_state, progress=False
        )
        taken.append(_timed(model, rows))
        if began is None:
            began = time.process_time() - warm
    (first, whole), (small, all_small), (large, all_large) = taken
    width = SIZES[1] - SIZES[0]
    made, other = (large - small) / width, ((all_large - large) - (all_small - small)) / width
    members = max(small - made * SIZES[0], 0.0)
    alone = max(all_small - small - other * SIZES[0], 0.0)
    ensemble = model.ensemble_
    return CostModel(
        members=members,
        alone=alone,
        per_row=max(made, 0.0) + max(other, 0.0),
        start=max(first + whole - small - all_small, 0.0) / 2 + _imports(),
        base_mb=_resident_mb(),
        n_features=int(some.shape[1]),
        n_members=ensemble.n_partitions,
        n_clusters=model.n_clusters_,
        n_columns=int(ensemble.offsets[-1]),
        item=source.dtype.itemsize,
    )


def _timed(model: ConsensusClustering, rows: RowSource) -> tuple[float, float]:
    """Return CPU seconds of the generation, and of the whole fit with its confidences."""
    generator = model.make_generator(len(rows), rows.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        generator.generate(rows)
        made = time.process_time() - start
        start = time.process_time()
        model.fit(rows)
        confidence: Any = model.confidence_
        confidence.gather()
        return made, time.process_time() - start


def _imports() -> float:
    """Return the CPU seconds in which a process imports the package, about."""
    return 1.5


def _resident_mb() -> float:
    """Return the memory of this process, in MB."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return float(line.split()[1]) * 1024 / 1e6
    except (OSError, StopIteration):  # not Linux
        return 400.0
