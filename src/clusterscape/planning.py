"""What the main job on many rows in blocks will cost: seconds, memory and bytes moved."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import cpu_count

from clusterscape._core.parallel import one_thread, parallel_map
from clusterscape._core.params import Integer, Null, Seed, checked
from clusterscape._core.rows import ArrayRows, RowSource, blocks_of, even_bounds
from clusterscape._core.seeds import RandomState
from clusterscape.generate.assign import LandmarkRule
from clusterscape.model import ConsensusClustering

SIZES = (48_000, 240_000)  # rows on which seconds are measured
_BLOCK = 8_192  # rows of their blocks
_ROUNDS = 2  # of measurements, between which a machine may become faster or slower
_REPEATS = 8  # of the reference work

# Measured on a cluster of two workers of one thread each, where the reference work took
# _REFERENCE seconds.
_REFERENCE = 0.0165
# CPU seconds of a task that does nothing, all processes together; a block of a Dask array is one of
# several that Dask makes one of.
_PER_TASK, _PER_DASK_TASK = 0.004, 0.009
_IDLE = 0.02  # CPU seconds of each process in a second on the wall: heartbeats, looks at the memory
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
    reference : float
        CPU seconds of :func:`reference_seconds` when all this was measured.
    crowding : float
        How much longer the same work takes each core when all cores of a machine work: they share
        its memory and its power.
    per_task : float
        CPU seconds of handing a block to a worker and its result back.

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
    reference: float = _REFERENCE
    crowding: float = 1.0
    per_task: float = _PER_TASK

    def at(self, reference: float) -> CostModel:
        """Return the costs on a machine, or at a moment, of another speed.

        Parameters
        ----------
        reference : float
            What :func:`reference_seconds` returns there.

        Returns
        -------
        CostModel
        """
        factor = reference / self.reference
        return replace(
            self,
            members=factor * self.members,
            alone=factor * self.alone,
            per_row=factor * self.per_row,
            start=factor * self.start,
            per_task=factor * self.per_task,
            reference=reference,
        )

    def blocks(self, n: int) -> int:
        """Return the number of blocks of so many rows."""
        return even_bounds(n, self.n_features).size - 1

    def cpu(self, n: int, workers: int = 0) -> float:
        """Return CPU seconds, all processes together; ``workers=0`` is one process without Dask."""
        shared = self.members + self.per_row * n
        if workers == 0:
            return self.alone + shared
        work = self.alone + self._crowded(shared, workers) + self._messages(n) + self._fixed
        waiting = _IDLE * (workers + 1) * (self.seconds(n, workers) - self.start)
        return work + self.reference / _REFERENCE * waiting

    def seconds(self, n: int, workers: int = 0) -> float:
        """Return seconds on the wall, where every process has a core, from its start."""
        if workers == 0:
            return self.start + self.cpu(n)
        spread = self._crowded(self.members + self.per_row * n, workers) / workers
        messages = self._messages(n) / 2  # by the scheduler, one after the other
        return self.start + self.alone + spread + self._fixed + messages

    def _crowded(self, seconds: float, workers: int) -> float:
        """Return the CPU seconds of what workers do beside each other."""
        return seconds * (self.crowding if workers > 1 else 1.0)

    def _messages(self, n: int) -> float:
        """Return the CPU seconds of what the processes of a cluster say to each other."""
        return self.per_task * _PASSES * self.blocks(n)

    @property
    def _fixed(self) -> float:
        return self.reference / _REFERENCE * _CLUSTER

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
    """Measure on this machine what the main job costs, by fits of 48,000 and 240,000 rows.

    Rows of X are repeated where it has fewer. The fits take some twenty seconds.

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

    The speed of a machine changes while it works. Each fit is measured in units of a short work of
    a fixed size before and after it (:func:`reference_seconds`), and so are those of all cores
    together; ``cost.at(...)`` gives the costs on other machines.

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
    model = ConsensusClustering(
        n_clusters, n_partitions=n_partitions, random_state=random_state, progress=False
    )
    first = _timed(model, some, SIZES[0])  # loads the kernels, or compiles them
    rounds = [_timed(model, some, n) for _ in range(_ROUNDS) for n in SIZES]
    reference = float(np.median([one.reference for one in rounds]))
    made, whole = np.array([[one.made, one.whole] for one in rounds]).T / [
        one.reference for one in rounds
    ]
    made, whole = (reference * part.reshape(_ROUNDS, 2).mean(axis=0) for part in (made, whole))
    width = SIZES[1] - SIZES[0]
    members = max(made[0] - (made[1] - made[0]) / width * SIZES[0], 0.0)
    per_row = max(whole[1] - whole[0], 0.0) / width
    ensemble = model.ensemble_
    return CostModel(
        members=float(members),
        alone=float(max(whole[0] - per_row * SIZES[0] - members, 0.0)),
        per_row=float(per_row) + rounds[-1].reads * _reading(source, some),
        start=float(max(first.made + first.whole - made[0] - whole[0], 0.0)) + _imports(),
        base_mb=_resident_mb(),
        n_features=int(some.shape[1]),
        n_members=ensemble.n_partitions,
        n_clusters=model.n_clusters_,
        n_columns=int(ensemble.offsets[-1]),
        item=source.dtype.itemsize,
        reference=reference,
        crowding=crowding(),
        per_task=reference / _REFERENCE * (_PER_DASK_TASK if source.is_dask else _PER_TASK),
    )


@dataclass(frozen=True)
class _Timed:
    """CPU seconds of a generation, of a whole fit, and of the reference work around them.

    ``reads`` is how often the fit reads each block of rows.
    """

    made: float
    whole: float
    reference: float
    reads: float


class _Counted(ArrayRows):
    """Rows that count how often blocks are read."""

    def __init__(self, X: np.ndarray) -> None:
        super().__init__(X, np.append(np.arange(0, len(X), _BLOCK), len(X)))
        self.reads = 0

    def block(self, i: int) -> np.ndarray:
        self.reads += 1
        return super().block(i)


def _timed(model: ConsensusClustering, some: np.ndarray, n: int) -> _Timed:
    """Measure the generation, and the whole fit with its confidences, on ``n`` rows."""
    X = np.resize(some, (n, some.shape[1]))
    generator = model.make_generator(n, some.shape[1])
    before = reference_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        generator.generate(_Counted(X))
        made = time.process_time() - start
        rows = _Counted(X)  # again one that nobody has looked at
        start = time.process_time()
        model.fit(rows)
        confidence: Any = model.confidence_
        confidence.gather()
        whole = time.process_time() - start
    after = reference_seconds()
    return _Timed(made, whole, (before + after) / 2, rows.reads / rows.n_blocks)


def _reading(source: RowSource, some: np.ndarray) -> float:
    """Return the CPU seconds of reading a row of a source, beyond those of an array in memory."""
    known = ArrayRows(some, even_bounds(len(some), some.shape[1]))
    each = []
    for rows in (source, known):
        start, seen = time.process_time(), 0
        for i in range(rows.n_blocks):
            seen += len(rows.block(i))
            if seen >= len(some):
                break
        each.append((time.process_time() - start) / seen)
    return max(each[0] - each[1], 0.0)


def reference_seconds() -> float:
    """Return the CPU seconds that a short work of a fixed size takes here and now.

    The work is that of most rows: 8,192 points are labelled by the nearest of 1,000 landmarks.

    Examples
    --------
    >>> from clusterscape.planning import reference_seconds
    >>> reference_seconds() > 0
    True
    """
    rng = np.random.default_rng(0)
    points = rng.standard_normal((_BLOCK, 16), dtype=np.float32)
    landmarks = rng.standard_normal((1000, 16), dtype=np.float32)
    members = np.arange(20)
    table = rng.integers(0, 10, (1000, members.size)).astype(np.int8)
    rule = LandmarkRule(0, members, landmarks, table, 5, 1.0, "euclidean")
    out = np.empty((_BLOCK, members.size), dtype=np.int8)
    with one_thread():
        rule.write(points, out)  # loads the kernels, and takes the memory
        start = time.thread_time()
        for _ in range(_REPEATS):
            rule.write(points, out)
        return (time.thread_time() - start) / _REPEATS


def crowding() -> float:
    """Return how much longer the reference work takes each core when all cores work.

    Examples
    --------
    >>> from clusterscape.planning import crowding
    >>> crowding() >= 1
    True
    """
    cores = cpu_count()
    found = []
    for _ in range(_ROUNDS):
        alone = reference_seconds()
        together = parallel_map(_reference_of, list(range(cores)), n_jobs=cores)
        found.append(float(np.mean(together)) / alone)
    return max(float(np.mean(found)), 1.0)


def _reference_of(core: int) -> float:
    return reference_seconds()


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
