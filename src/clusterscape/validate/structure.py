"""Whether the data have clusters: a test against reference data without clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from scipy.sparse.linalg import svds
from scipy.special import ndtr
from scipy.stats import t as student_t
from sklearn.preprocessing import normalize

from clusterscape import kernels
from clusterscape._core.labels import smallest_type
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Integer, Seed, checked
from clusterscape._core.rows import RowSource, as_rows
from clusterscape._core.seeds import RandomState, kernel_seed, spawn
from clusterscape.generate.features import read_matrix
from clusterscape.linalg.distances import check_extremes
from clusterscape.linalg.ncut import eigengap
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.transfer_cut import bipartite_spectrum
from clusterscape.validate.references import Shape, normal_scores

_COMPONENTS = 50
_AXIS_COMPONENTS = 10  # in which the references of the first axis vary
_FEWEST = 10
_LEVEL = 0.05
_DOUBT = (0.001, 0.5)  # p-values of the first references after which more are drawn,
_MORE = 4  # so many times as many
_CLOSE = 0.2  # a p-value above the level up to which the message names still more references
_AXIS_SHARE = 0.7  # of the level: one axis has less to go by than all columns together
_COLUMNS_SHARE = 0.2  # of the first question, for single columns
_BOXES = 1000  # uniform samples
_FEW_OUTLIERS, _FEW_FAR_VALUES = 0.03, 0.02  # of the points, and of the values of a column
_AXIS_DRAWS = 20  # references of the first axis, times n_references: they cost next to nothing
_CLUSTERS = (2, 3, 5)  # whose sums of squares are compared
# Shares of the variance of an axis that are between: of two clusters, or of a box's width.
_BETWEEN = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98])
_WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_TRY = (
    "If clusters are expected, scale the columns, log skewed ones or leave out those that only add "
    "noise, and test again; n_references=0 (--references 0) skips the test."
)
_MORE_DRAWS = "It was close: n_references=100 (--references 100) decides with less chance. "


@dataclass(frozen=True)
class StructureVerdict:
    """Whether the data have more cluster structure than data without clusters.

    Attributes
    ----------
    found : bool
        Whether ``p_value`` is at most 0.05.
    p_value : float
        Of both parts together: the smaller of ``p_axis / 0.7`` and ``p_joint / 0.3``, at most 1.
    score : float
        How far the data exceed the references, in standard deviations, of the reference kind that
        they exceed less.
    reference_scores : (m, 2) array
        The same of each reference among the others, by kind.
    message : str
        The verdict in words, and what to try where none was found.
    p_axis : float
        That the first principal axis and every column have a single mode.
    p_joint : float
        That the columns hold together no more than two kinds of data without clusters.

    See Also
    --------
    structure_test : Make one.
    """

    found: bool
    p_value: float
    score: float
    reference_scores: np.ndarray
    message: str
    p_axis: float = 1.0
    p_joint: float = 1.0

    def __repr__(self) -> str:
        """Say what was found; ``message`` says it in words."""
        return (
            f"StructureVerdict(found={self.found}, p_value={self.p_value:.3g}, "
            f"p_axis={self.p_axis:.3g}, p_joint={self.p_joint:.3g})"
        )


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
    n_partitions: int = 20,
    max_points: int = 300,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> StructureVerdict:
    """Test whether the data have clusters, against references that have none.

    Consensus over many runs looks stable even on noise. Two questions are asked, and a small
    p-value of either is structure.

    Has the first principal axis, or one of up to 50 columns, more than one mode? The dip [1]_ of
    the axis is compared with those of Gaussian data of the same variances; if it has the sharp
    edges of a box rather than two groups, with those of uniform samples. The dips of the columns
    are compared with those of uniform samples.

    Do the columns hold together more than data without clusters? Sums of squares of 2, 3 and 5
    clusters, and the best eigengap of fine k-means partitions of the normal scores, are compared
    with those of references in which every column keeps its own values: with a Gaussian dependence
    (of the same rank correlations), and with that of a multivariate t distribution of fitted
    degrees of freedom. So long tails, skewness and correlations are no structure. Every measure has
    the p-value of one more draw from its references (Student's t); the smallest, times their
    number, is that of a kind of references, and the larger of both kinds counts.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        The data.
    n_references : int
        Reference datasets of each kind that are drawn first. Where they leave the answer in doubt
        (p from 0.001 to 0.5), four times as many are drawn besides, and the data are measured
        four times more, because their measures are of random partitions.
    n_partitions : int
        Partitions of each dataset, for the eigengap.
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
    select_k : The number of clusters.

    Notes
    -----
    Of more than 50 columns, 50 principal components are taken, and groups that differ in one column
    alone may not be seen. Points with far values (beyond a quartile by three times the distance of
    the quartiles) are left out where they are at most three per cent; where they are more, up to
    two per cent far values of a column are moved towards the others. Few points, or clusters
    smaller than a few per cent of the sample, may go unnoticed. Independent categories in one-hot
    columns are structure to this test. Rates of errors and the power are in
    ``benchmarks/quality/structure.py``.

    References
    ----------
    .. [1] J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics
       13, 70-84, 1985. doi:10.1214/aos/1176346577
    .. [2] Y. Liu, D. N. Hayes, A. Nobel and J. S. Marron, "Statistical significance of clustering
       for high-dimension, low-sample size data", Journal of the American Statistical Association
       103, 1281-1293, 2008. doi:10.1198/016214508000000454

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
    rows = as_rows(X)
    X = read_matrix(X, contiguous=False).views[0] if rows is None else rows
    picker, axis, own, *seeds = spawn(random_state, 2 * n_references * (1 + _MORE) + _MORE + 3)
    table, scores = _sampled(X, metric, max_points, np.random.default_rng(picker))
    n = table.shape[0]
    if n < _FEWEST or scores.shape[1] == 0:
        few = "there is only 1 point" if n == 1 else f"there are only {n} points"
        why = few if n < _FEWEST else "all points are equal"
        message = f"No cluster structure can be shown: {why}."
        return StructureVerdict(False, 1.0, 0.0, np.empty((0, 2)), message)
    rng = np.random.default_rng(axis)
    smooth, p_columns = _without_steps(table, rng), 1.0
    if X.shape[1] <= _COMPONENTS:
        scores = _principal(smooth)
        p_columns = _columns_p(smooth, rng)
    p_axis = _axis_p(scores, _AXIS_DRAWS * n_references, rng)
    p_axis = float(min(p_axis / (1 - _COLUMNS_SHARE), p_columns / _COLUMNS_SHARE, 1.0))
    by_axis = p_axis / _AXIS_SHARE
    whole = _Task(Shape.of(table), n_partitions, "", own)
    first, drawn = seeds[: 2 * n_references], seeds[2 * n_references :]
    data, measured = np.array(_measure(whole)), _measured(whole, first, n_jobs)
    p_joint, score, references = _joint_p(data, measured)
    if _DOUBT[0] < min(by_axis, p_joint / (1 - _AXIS_SHARE)) < _DOUBT[1]:
        # Its measures are of random partitions, too: one draw of them must not decide.
        again = np.array([_measure(replace(whole, seed=seed)) for seed in drawn[:_MORE]])
        data = np.vstack([data, again]).mean(axis=0)
        measured = np.concatenate([measured, _measured(whole, drawn[_MORE:], n_jobs)])
        p_joint, score, references = _joint_p(data, measured)
    p_value = float(min(by_axis, p_joint / (1 - _AXIS_SHARE), 1.0))
    found = p_value <= _LEVEL
    return StructureVerdict(
        found, p_value, score, references, _message(found, p_value), p_axis, p_joint
    )


def _measured(whole: _Task, seeds: list[SeedSequence], n_jobs: int | None) -> np.ndarray:
    """Return the measures of references of both kinds in turn."""
    kinds = ("gaussian", "elliptic")
    tasks = [replace(whole, kind=kinds[i % 2], seed=seed) for i, seed in enumerate(seeds)]
    return np.array(parallel_map(_measure, tasks, n_jobs=n_jobs, prefer="threads"))


def _message(found: bool, p_value: float) -> str:
    if found:
        return (
            "The data have cluster structure: data without clusters, with columns like theirs, "
            f"hardly ever hold together as they do (p = {p_value:.2g})."
        )
    return (
        "No cluster structure found: data without clusters, with columns like these, look the same "
        f"(p = {p_value:.2g}). Any division into groups may be a cut through one continuous cloud. "
        f"{_MORE_DRAWS if p_value < _CLOSE else ''}{_TRY}"
    )


def _sampled(
    X: Any, metric: str, max_points: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample of the points: few columns as they are, and its principal scores."""
    n = X.shape[0]
    if n > max_points:
        X = X[np.sort(rng.choice(n, size=max_points, replace=False))]
    elif isinstance(X, RowSource):
        X = X.gather()
    check_extremes(float(X.min()), float(X.max()), np.dtype(np.float64), "X")
    if metric == "cosine":
        X = normalize(X)
    if sparse.issparse(X) and min(X.shape) > _COMPONENTS + 1:
        left, size, _ = svds(X.astype(np.float64), k=_COMPONENTS, rng=rng)
        centred = left * size
        centred = centred - centred.mean(axis=0)
    else:
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        fenced = _without_outliers(dense)
        centred = fenced - fenced.mean(axis=0)
    scores = _principal(centred)
    table = centred[:, centred.std(axis=0) > 0] if X.shape[1] <= _COMPONENTS else scores
    return table, scores


def _principal(centred: np.ndarray) -> np.ndarray:
    """Return the leading principal scores of centred columns."""
    left, size, _ = np.linalg.svd(centred - centred.mean(axis=0), full_matrices=False)
    kept = size[:_COMPONENTS] > 1e-10 * max(float(size.max(initial=0.0)), 1e-300)
    return (left[:, :_COMPONENTS] * size[:_COMPONENTS])[:, kept]


def _without_outliers(dense: np.ndarray) -> np.ndarray:
    """Return the points without few far ones, or columns with few far values moved to a fence.

    One wild cell is no structure, and neither are a handful of far points.
    """
    low, high = np.percentile(dense, [25, 75], axis=0)
    width = 3.0 * (high - low)
    fenced = np.clip(dense, low - width, high + width)
    far = (fenced != dense) & (width > 0)
    if 0 < far.any(axis=1).mean() <= _FEW_OUTLIERS:
        return dense[~far.any(axis=1)]
    rare = far.mean(axis=0) <= _FEW_FAR_VALUES
    return np.where(rare & (width > 0), fenced, dense)


def _without_steps(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return columns with values spread over the gaps between them.

    Counts and rounded values have steps, which a dip would take for modes. The gaps of measured
    values are so small that nothing changes.
    """
    out = table.copy()
    for j in range(table.shape[1]):
        gaps = np.diff(np.unique(table[:, j]))
        if gaps.size:
            out[:, j] += (rng.random(len(table)) - 0.5) * np.median(gaps)
    return out


# ---- one axis -------------------------------------------------------------------------------


def _columns_p(table: np.ndarray, rng: np.random.Generator) -> float:
    """Return the p-value of every column having one mode.

    Groups that differ in one column alone are on no principal axis once the columns are scaled.
    Among distributions with one mode the box has the largest dips, so it stands for them all; its
    tail is continued beyond the draws as that of the square of the dip.
    """
    n, d = table.shape
    boxes = np.sort([kernels.dip.dip(np.sort(rng.random(n))) for _ in range(_BOXES)])
    own = max(kernels.dip.dip(np.sort(table[:, j])) for j in range(d))
    middle, far = np.quantile(boxes, [0.95, 0.99])
    if own > far:
        fall = np.log(5.0) / (far**2 - middle**2)
        found = 0.05 * np.exp(-fall * (own**2 - middle**2))
    else:
        found = _share_above(own, list(boxes))
    return float(min(1.0, d * found))


def _axis_p(scores: np.ndarray, draws: int, rng: np.random.Generator) -> float:
    """Return the p-value of the first axis having one mode."""
    own = kernels.dip.dip(np.sort(scores[:, 0]))
    deviation = scores[:, :_AXIS_COMPONENTS].std(axis=0)

    def reference() -> float:
        drawn = rng.standard_normal((len(scores), deviation.size)) * deviation
        drawn -= drawn.mean(axis=0)
        axis = np.linalg.eigh(drawn.T @ drawn)[1][:, -1]  # the largest of its own
        return kernels.dip.dip(np.sort(drawn @ axis))

    found = _share_above(own, [reference() for _ in range(draws)])
    if found > _LEVEL or not _is_flat(scores[:, 0]):
        return found
    boxes = [kernels.dip.dip(np.sort(rng.random(len(scores)))) for _ in range(draws)]
    return max(found, _share_above(own, boxes))


def _share_above(own: float, references: list[float]) -> float:
    return float((1 + np.sum(np.array(references) >= own)) / (1 + len(references)))


def _is_flat(values: np.ndarray) -> bool:
    """Return whether a box with blurred edges is likelier than two equal normal components."""
    z = ((values - values.mean()) / values.std())[:, None]
    width, blur = np.sqrt(3 * _BETWEEN), np.sqrt(1 - _BETWEEN)
    box = (ndtr((z + width) / blur) - ndtr((z - width) / blur)) / (2 * width)
    between, weight = (a.ravel() for a in np.meshgrid(_BETWEEN, _WEIGHTS))
    blur, apart = np.sqrt(1 - between), np.sqrt(between / (weight * (1 - weight)))
    low, high = (z + (1 - weight) * apart) / blur, (z - weight * apart) / blur
    two = weight * np.exp(-(low**2) / 2) + (1 - weight) * np.exp(-(high**2) / 2)
    two /= np.sqrt(2 * np.pi) * blur
    likelihood = [np.log(np.maximum(d, 1e-12)).sum(axis=0).max() for d in (box, two)]
    return bool(likelihood[0] >= likelihood[1])


# ---- all columns ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    shape: Shape
    n_partitions: int
    kind: str  # of the reference; empty for the data
    seed: SeedSequence


def _measure(task: _Task) -> list[float]:
    """Return how far a dataset falls into 2, 3 and 5 clusters, and its eigengap."""
    drawing, making, *starts = task.seed.spawn(2 + len(_CLUSTERS))
    data = task.shape.table
    if task.kind:
        data = task.shape.reference(task.kind, np.random.default_rng(drawing))
    total = ((data - data.mean(axis=0)) ** 2).sum()
    found = []
    for k, seed in zip(_CLUSTERS, starts, strict=True):
        inertia = _fits(data, k, 3, np.array([kernel_seed(seed)], np.uint64)).inertia[0]
        found.append(-np.log(max(float(inertia) / total, 1e-12)))
    return [*found, _fine_gap(normal_scores(data), task.n_partitions, making)]


def _fits(data: np.ndarray, k: int, n_init: int, seeds: np.ndarray) -> Any:
    """Return one k-means for each seed, without the checks of the public function.

    Hundreds of tiny problems are solved in each test, and the checks would take most of the time.
    """
    XT = np.ascontiguousarray(data.T)
    ends = np.arange(seeds.size + 1) * len(XT)
    columns = np.tile(np.arange(len(XT)), seeds.size)
    plan = kernels.kmeans.Plan(int(min(k, len(data))), True, False, False, n_init, 300, 1e-4)
    return kernels.kmeans.fit_many(XT, columns, ends, np.ones(len(data)), plan, seeds)


def _fine_gap(data: np.ndarray, n_partitions: int, seed: SeedSequence) -> float:
    """Return the best eigengap of fine k-means partitions, above that of one cluster."""
    high = int(np.ceil(np.sqrt(len(data))))
    low = max(2, high // 2)
    ks = np.linspace(low, high, n_partitions).round().astype(int)
    seeds = np.array([kernel_seed(s) for s in seed.spawn(n_partitions)], np.uint64)
    labels = np.concatenate([_fits(data, k, 1, seeds[ks == k]).labels for k in np.unique(ks)])
    offsets = np.concatenate([[0], np.cumsum(labels.max(axis=1) + 1)])
    # In the type of the labels of an ensemble: kernels are compiled for each type.
    space = RowSpace(np.ascontiguousarray(labels.T, dtype=smallest_type(high)), offsets)
    values = bipartite_spectrum(space, low + 2, column_weight=np.ones(offsets[-1])).values
    gaps = eigengap(values, max_clusters=low + 1)[1]
    return float(gaps[1:].max() - gaps[0])


def _joint_p(own: np.ndarray, references: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the p-value, the score of the data, and the scores of the references by kind.

    Each measure has the p-value of one more draw, and the smallest counts as often as there are
    measures; the kind of references that the data exceed less decides.
    """
    answers = []
    for drawn in (references[::2], references[1::2]):
        m = len(drawn)
        score = _excess(own, drawn)
        others = [_excess(drawn[i], np.delete(drawn, i, axis=0)) for i in range(m)]
        smallest = student_t.sf(score / np.sqrt(1 + 1 / m), df=m - 1)
        answers.append((min(1.0, own.size * float(smallest)), score, others))
    weaker = max(answers, key=lambda answer: answer[0])
    return weaker[0], weaker[1], np.column_stack([answer[2] for answer in answers])


def _excess(own: np.ndarray, others: np.ndarray) -> float:
    """Return the largest excess of one measure over those of other datasets, in deviations."""
    deviation = others.std(axis=0, ddof=1) if len(others) > 1 else np.ones(own.size)
    return float(((own - others.mean(axis=0)) / (deviation + 1e-9)).max())
