"""Whether the data have clusters: a test against reference data without clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from scipy.sparse.linalg import svds
from scipy.stats import t as student_t
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Integer, Seed, checked
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.generate import EnsembleGenerator
from clusterscape.validate.eigengap import select_k

_COMPONENTS = 50
_FEWEST = 10
_LEVEL = 0.05


@dataclass(frozen=True)
class StructureVerdict:
    """Whether the data have more cluster structure than data without clusters.

    Attributes
    ----------
    found : bool
        Whether ``p_value`` is at most 0.05.
    p_value : float
        Chance that data of one Gaussian or of one box, whichever is likelier, score as high.
    score : float
        Best eigengap for two or more clusters, less the eigengap for one.
    reference_scores : (m, 2) array
        The same for each reference, Gaussian in the first column and uniform in the second.
    message : str
        The verdict in words.

    See Also
    --------
    structure_test : Make one.
    """

    found: bool
    p_value: float
    score: float
    reference_scores: np.ndarray
    message: str


@checked(
    {
        "n_references": [Integer(3)],
        "n_partitions": [Integer(5)],
        "max_points": [Integer(20)],
        "metric": [Choice("euclidean", "cosine")],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }
)
def structure_test(
    X: Any,
    *,
    n_references: int = 10,
    n_partitions: int = 30,
    max_points: int = 300,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> StructureVerdict:
    """Test whether the data have clusters, against references that have none.

    Consensus over many runs looks stable even on noise. So the same ensemble of fine k-means
    partitions is made of the data and of reference data with the same principal axes but no
    clusters: some Gaussian with the same variances, some uniform over the same box [1]_. The score
    of a dataset is its best eigengap for two or more clusters less its eigengap for one. The
    p-value of each kind of reference is that of one more draw from a normal distribution with the
    references' mean and standard deviation (Student's t); the larger of the two counts.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        The data.
    n_references : int
        Reference datasets of each kind.
    n_partitions : int
        Partitions of each dataset.
    max_points : int
        A random sample of this many points is tested.
    metric : {"euclidean", "cosine"}
        "cosine" scales rows to unit length first.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        References are scored in parallel; the result does not depend on it.

    Returns
    -------
    StructureVerdict

    See Also
    --------
    select_k : The number of clusters, by the same eigengaps.

    Notes
    -----
    At most 50 principal components are used. Long tails and strong skewness are structure to
    this test: it separates clusters from one Gaussian or one box, not from every single shape. Few
    points, or clusters smaller than a few per cent of the sample, may go unnoticed.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set
       via the gap statistic", Journal of the Royal Statistical Society B 63, 411-423, 2001.
       doi:10.1111/1467-9868.00293

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.validate import structure_test
    >>> rng = np.random.default_rng(0)
    >>> three = np.concatenate([rng.normal(c, 0.3, size=(40, 2)) for c in (0, 3, 6)])
    >>> structure_test(three, random_state=0).found
    True
    >>> structure_test(rng.normal(size=(120, 2)), random_state=0).found
    False
    """
    refuse_repeated_columns(X, "X")
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1)
    picker, own, *seeds = spawn(random_state, 2 * n_references + 2)
    sample = _principal_scores(X, metric, max_points, np.random.default_rng(picker))
    n = sample.shape[0]
    if n < _FEWEST or sample.shape[1] == 0:
        why = f"there are only {n} points" if n < _FEWEST else "all points are equal"
        message = f"No cluster structure can be shown: {why}."
        return StructureVerdict(False, 1.0, 0.0, np.empty((0, 2)), message)
    tasks = [_Task(sample, n_partitions, None, own)]
    for i, seed in enumerate(seeds):
        tasks.append(_Task(sample, n_partitions, _uniform if i % 2 else _gaussian, seed))
    score, *rest = parallel_map(_score, tasks, n_jobs=n_jobs, prefer="threads")
    references = np.array(rest).reshape(n_references, 2)
    deviation = references.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n_references) + 1e-9
    distance = (score - references.mean(axis=0)) / deviation
    p_value = float(student_t.sf(distance, df=n_references - 1).max())
    found = p_value <= _LEVEL
    if found:
        message = (
            "The data have cluster structure: data without clusters (one Gaussian, one box) "
            f"hardly ever give eigengaps like theirs (p = {p_value:.2g})."
        )
    else:
        message = (
            "No cluster structure found: data without clusters (one Gaussian, one box) give "
            f"eigengaps like these too (p = {p_value:.2g}). Any division into groups is a cut "
            "through one continuous cloud."
        )
    return StructureVerdict(found, p_value, score, references, message)


@dataclass(frozen=True)
class _Task:
    sample: np.ndarray
    n_partitions: int
    draw: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None
    seed: SeedSequence


def _principal_scores(X: Any, metric: str, max_points: int, rng: np.random.Generator) -> np.ndarray:
    """Return a sample of the points on its principal axes, in order of variance."""
    n = X.shape[0]
    if n > max_points:
        X = X[np.sort(rng.choice(n, size=max_points, replace=False))]
    if metric == "cosine":
        X = normalize(X)
    if sparse.issparse(X) and min(X.shape) > _COMPONENTS + 1:
        left, size, _ = svds(X.astype(np.float64), k=_COMPONENTS, rng=rng)
        centred = left * size
        centred = centred - centred.mean(axis=0)
    else:
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        centred = dense - dense.mean(axis=0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    kept = size[:_COMPONENTS] > 1e-10 * max(float(size.max(initial=0.0)), 1e-300)
    return (left[:, :_COMPONENTS] * size[:_COMPONENTS])[:, kept]


def _gaussian(sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(sample.shape) * sample.std(axis=0)


def _uniform(sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(sample.min(axis=0), sample.max(axis=0), size=sample.shape)


def _score(task: _Task) -> float:
    drawing, making = task.seed.spawn(2)
    data = task.sample
    if task.draw is not None:
        data = task.draw(data, np.random.default_rng(drawing))
    high = int(np.ceil(np.sqrt(len(data))))
    low = max(2, high // 2)
    generator = EnsembleGenerator(
        task.n_partitions, n_clusters=(low, high), random_state=making, progress=False
    )
    gaps = select_k(generator.generate(data), max_clusters=low + 1).gaps
    return float(gaps[1:].max() - gaps[0])
