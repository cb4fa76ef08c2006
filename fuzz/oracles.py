"""Metamorphic oracles: what must not change when the input changes in a way that means nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn

from calls import MEASURES, METHODS, Finding, judged
from clusterscape import Ensemble, compare
from clusterscape.generate import EnsembleGenerator
from inputs import ensemble, labels, matrix


def check(draw: np.random.Generator, only: str = "") -> str:
    """Check one relation on a drawn input."""
    known = [(name, test) for name, test in ORACLES.items() if only in name] or list(
        ORACLES.items()
    )
    name, test = known[int(draw.integers(len(known)))]
    with judged(name):
        test(draw)
    return name


def same(left: np.ndarray, right: np.ndarray) -> bool:
    """Say whether two label vectors are one partition."""
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    noise = np.array_equal(left == -1, right == -1)
    return noise and len(pairs) == len(set(left.tolist())) == len(set(right.tolist()))


# ---- measures -----------------------------------------------------------------------------------


def _measure(draw: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any], int]:
    known = [m for m in MEASURES.values() if not m.needs_features]
    measure = known[int(draw.integers(len(known)))]
    n = int(draw.choice([1, 2, 3, 6, 15]))
    a, b = labels(draw, n), labels(draw, n)
    return measure, a, b, {}, n


def _value(measure: Any, a: Any, b: Any) -> float:
    return float(getattr(compare, measure.name)(a, b))


def bounds_of_measures(draw: np.random.Generator) -> None:
    """A value stays in its bounds, and the single call gives what ``pairwise`` gives."""
    measure, a, b, _, _ = _measure(draw)
    value = _value(measure, a, b)
    low, high = measure.bounds
    if np.isfinite(value) and not low - 1e-9 <= value <= high + 1e-9:
        raise Finding(f"{measure.name} = {value} outside of {measure.bounds}")
    both = compare.pairwise(Ensemble.from_labels([a, b]), measure.name)
    found = float(both.matrices[measure.name][0, 1])
    if not np.isclose(found, value, rtol=1e-9, atol=1e-9, equal_nan=True):
        raise Finding(f"{measure.name}: pairwise gives {found} and the single call {value}")


def points_of_measures(draw: np.random.Generator) -> None:
    """The order of the points and the names of the clusters do not matter."""
    measure, _, _, _, _ = _measure(draw)
    n = int(draw.integers(2, 15))
    a, b = draw.integers(-1, 4, n), draw.integers(-1, 4, n)
    order, names = draw.permutation(n), np.append(draw.permutation(4), -1)
    before, after = _value(measure, a, b), _value(measure, names[a][order], b[order])
    if not np.isclose(before, after, rtol=1e-9, atol=1e-9, equal_nan=True):
        raise Finding(f"{measure.name}: {before} and, permuted and renamed, {after}")


# ---- consensus ----------------------------------------------------------------------------------

# Methods that draw lots, or break ties by the order of the points (docs/guide/limits.md).
_ORDERED = {
    "bagclust",
    "consensus_choice",
    "cspa",
    "eac",
    "gcc",
    "hbgf",
    "hgpa",
    "ikl",
    "kcc",
    "lift_hac",
    "lift_km",
    "lsce",
    "lwea",
    "lwgp",
    "mcla",
    "median_partition",
    "nsce",
    "random_projection",
    "rce",
    "sca",
    "sec",
    "spectral",
}


def _method(draw: np.random.Generator, *, exact: bool = False) -> tuple[str, Any]:
    known = sorted(name for name, m in METHODS.items() if m.features != "needed")
    if exact:
        known = [name for name in known if name not in _ORDERED]
    name = known[int(draw.integers(len(known)))]
    return name, METHODS[name].estimator


def _fitted(cls: Any, given: Any, k: int, **more: Any) -> np.ndarray:
    return _made(cls, given, k, **more).labels_


def _made(cls: Any, given: Any, k: int, **more: Any) -> Any:
    made = cls()
    params = made.get_params()
    if "n_clusters" in params:
        made.set_params(n_clusters=k)
    if "random_state" in params:
        made.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return made.fit(given, **more)


def _hangs_on_a_tie(
    name: str, given: Ensemble, k: int, found: np.ndarray, other: Any = None
) -> bool:
    """Say whether a method that breaks ties anyhow had one: weights changed by 1e-6 show it.

    A method that ends when its cost changes by less than its tolerance has one, too, where the
    costs of ``given`` and of ``other``, the same in other words, differ by no more.

    Renamed clusters and other units are added up and rooted to other last digits. Each change is
    made in both directions, because a tie between two answers goes one way in each.
    """
    inner: Any = METHODS[name].estimator
    if name == "consensus_choice" and _made(inner, given, k).chosen_.endswith(", lwgp"):
        inner = METHODS["lwgp"].estimator
    if "eigenvalues_" in (inner.__doc__ or "") and k < given.n_points:
        values = _made(inner, given, k + 1).eigenvalues_
        if len(values) > k and values[k - 1] - values[k] < 1e-9:
            return True  # which of the vectors of equal values are taken is left to rounding
    tolerance = METHODS[name].estimator().get_params().get("tol")
    if tolerance is not None and other is not None:
        costs = [_made(METHODS[name].estimator, one, k).cost_ for one in (given, other)]
        if abs(costs[0] - costs[1]) <= tolerance * abs(costs[0]):
            return True
    rng = np.random.default_rng(0)
    for _ in range(3 if name in _ORDERED else 0):
        off = [1e-6 * rng.random(n) for n in (given.n_partitions, given.n_points)]
        for sign in (1, -1):
            weights = given.weights * (1 + sign * off[0])
            near = given.with_weights(weights=weights, sample_weight=1 + sign * off[1])
            if not same(found, _fitted(METHODS[name].estimator, near, k)):
                return True
    return False


def _plain_ensemble(draw: np.random.Generator) -> tuple[Ensemble, int]:
    found = ensemble(draw, extreme=False)
    return found, int(draw.integers(1, min(found.n_points, 4) + 1))


def names_of_clusters(draw: np.random.Generator) -> None:
    """Renaming the clusters of the partitions changes nothing."""
    given, k = _plain_ensemble(draw)
    if given.is_soft:
        return
    name, cls = _method(draw)
    names = np.concatenate([draw.permutation(int(given.n_clusters.max())), [-2, -1]])
    renamed, before = names[given.labels.astype(int)], _fitted(cls, given, k)
    after = _fitted(cls, renamed, k)
    if not same(before, after) and not _hangs_on_a_tie(name, given, k, before, renamed):
        raise Finding(f"{name}: other clusters after the clusters were renamed")


def order_of_points(draw: np.random.Generator) -> None:
    """Permuting the points permutes the answer of methods without lots."""
    given, k = _plain_ensemble(draw)
    name, cls = _method(draw, exact=True)
    order = draw.permutation(given.n_points)
    if not same(_fitted(cls, given, k)[order], _fitted(cls, given.subset(order), k)):
        raise Finding(f"{name}: other clusters after the points were permuted")


def copies_of_points(draw: np.random.Generator) -> None:
    """Points that no partition tells apart are in one cluster."""
    given, k = _plain_ensemble(draw)
    if given.is_soft or given.has_noise:
        return
    name, cls = _method(draw)
    if name in ("cspa", "hgpa", "hbgf", "mcla"):  # balanced cuts may split a group
        return
    twice = given.subset(np.r_[np.arange(given.n_points), np.arange(given.n_points)])
    found = _fitted(cls, twice, k)
    half = given.n_points
    if not np.array_equal(found[:half], found[half:]):
        raise Finding(f"{name}: copies of points are in different clusters")


def weight_of_labels(draw: np.random.Generator) -> None:
    """Labels are numbered by decreasing weight, 0 the heaviest."""
    given, k = _plain_ensemble(draw)
    mass = draw.integers(1, 5, given.n_points).astype(float)
    name, cls = _method(draw)
    found = _fitted(cls, given, k, sample_weight=mass)
    inside = found >= 0
    heavy = np.bincount(found[inside], weights=mass[inside])
    if (np.diff(heavy) > 1e-9).any():
        raise Finding(f"{name}: labels are not numbered by weight: {heavy.tolist()}")


def unit_of_weights(draw: np.random.Generator) -> None:
    """Weights of partitions, and of points, in another unit are the same weights."""
    given, k = _plain_ensemble(draw)
    name, cls = _method(draw)
    # Powers of four: the roots that normalise a graph are exact, and ties break as before.
    unit = float(draw.choice([4.0, 2.0**40, 2.0**-40, 2.0**160, 2.0**-160]))
    w = draw.integers(1, 4, given.n_partitions).astype(float)
    weighted, other = given.with_weights(weights=w), given.with_weights(weights=w * unit)
    left, right = _fitted(cls, weighted, k), _fitted(cls, other, k)
    if not same(left, right) and not _hangs_on_a_tie(name, weighted, k, left, other):
        raise Finding(f"{name}: other clusters with the weights times {unit:g}")


def order_of_partitions(draw: np.random.Generator) -> None:
    """Permuting the partitions changes neither the co-association nor what only counts."""
    given, k = _plain_ensemble(draw)
    given = given.with_weights(weights=draw.integers(1, 4, given.n_partitions).astype(float))
    other = given.select(draw.permutation(given.n_partitions))
    _same_evidence(given, other, "after the partitions were permuted")
    name, cls = _method(draw, exact=True)
    if not same(_fitted(cls, given, k), _fitted(cls, other, k)):
        raise Finding(f"{name}: other clusters after the partitions were permuted")


def halves_of_partitions(draw: np.random.Generator) -> None:
    """A partition given twice with half its weight is the partition given once."""
    given, k = _plain_ensemble(draw)
    w = draw.integers(1, 4, given.n_partitions).astype(float)
    twice = given.select(np.repeat(np.arange(given.n_partitions), 2))
    one, two = given.with_weights(weights=w), twice.with_weights(weights=np.repeat(w / 2, 2))
    _same_evidence(one, two, "with every partition twice at half its weight")
    name, cls = _method(draw, exact=True)
    if not same(_fitted(cls, one, k), _fitted(cls, two, k)):
        raise Finding(f"{name}: other clusters with every partition twice at half its weight")


def halves_of_points(draw: np.random.Generator) -> None:
    """A point given twice with half its weight is the point given once."""
    given, _ = _plain_ensemble(draw)
    mass = draw.integers(1, 4, given.n_points).astype(float)
    twice = given.subset(np.repeat(np.arange(given.n_points), 2))
    one = given.with_weights(sample_weight=mass)
    two = twice.with_weights(sample_weight=np.repeat(mass / 2, 2))
    if not np.allclose(one.cluster_sizes(), two.cluster_sizes()):
        raise Finding("other sizes of clusters with every point twice at half its weight")
    small = [e.compress().ensemble for e in (one, two)]
    if not np.allclose(*(np.sort(e.sample_weight) for e in small)):
        raise Finding("other distinct rows with every point twice at half its weight")


def _same_evidence(left: Ensemble, right: Ensemble, how: str) -> None:
    rows = [e.coassociation().rows(0, e.n_points) for e in (left, right)]
    if not np.allclose(*rows, rtol=1e-9, atol=1e-9, equal_nan=True):
        raise Finding(f"another co-association {how}")


# ---- generation, files --------------------------------------------------------------------------


def workers_and_types(draw: np.random.Generator) -> None:
    """The number of workers, the order of memory and a store change no byte."""
    X = matrix(draw, plain=True)
    if X.shape[0] < 3:
        return
    settings: dict[str, Any] = {"n_clusters": 2, "random_state": int(draw.integers(50))}
    algorithm = str(draw.choice(["kmeans", "single", "ward", "genie", "gmm"]))

    def made(data: Any, jobs: int) -> Ensemble:
        return EnsembleGenerator(4, algorithm=algorithm, n_jobs=jobs, **settings).generate(data)

    first = made(X, 1)
    for other in (made(X, 2), made(np.asfortranarray(X), 1)):
        if not np.array_equal(first.labels, other.labels):
            raise Finding(f"{algorithm}: other members with two workers or another order")


def single_and_double(draw: np.random.Generator) -> None:
    """Groups that are far apart are the same groups in single precision, and in small blocks."""
    truth = np.repeat(np.arange(3), int(draw.integers(4, 12)))
    X = 64.0 * truth[:, None] + draw.integers(0, 5, size=(truth.size, 2))
    algorithm = str(draw.choice(["kmeans", "hartigan", "single", "average", "ward", "genie"]))
    seed = int(draw.integers(50))

    def made(data: np.ndarray) -> np.ndarray:
        generator = EnsembleGenerator(
            3, algorithm=algorithm, n_clusters=3, random_state=seed, n_init=5
        )
        return generator.generate(data).labels

    double = made(X)
    with sklearn.config_context(working_memory=0.001):
        if not np.array_equal(double, made(X)):
            raise Finding(f"{algorithm}: other members in small blocks")
        blocks = compare.pairwise(Ensemble.from_labels(double), "vi").matrices["vi"]
    whole = compare.pairwise(Ensemble.from_labels(double), "vi").matrices["vi"]
    if not np.array_equal(blocks, whole):
        raise Finding("other distances in small blocks")
    single = made(X.astype(np.float32))
    if not all(same(a, b) for a, b in zip(double.T, single.T, strict=True)):
        raise Finding(f"{algorithm}: other members in single precision")


def way_through_files(draw: np.random.Generator) -> None:
    """An ensemble survives every format; its labels survive CSV."""
    import tempfile
    from pathlib import Path

    given = ensemble(draw)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("npz", "parquet"):
            path = Path(folder) / f"x.{kind}"
            getattr(given, f"to_{kind}")(path)
            if getattr(Ensemble, f"from_{kind}")(path) != given:
                raise Finding(f"another ensemble came back from {kind}")
        path = Path(folder) / "x.csv"
        given.to_csv(path)
        back = Ensemble.from_csv(path)
        for i in range(given.n_partitions):
            if not same(np.asarray(given.labels[:, i]), np.asarray(back.labels[:, i])):
                raise Finding("other labels came back from CSV")


ORACLES: dict[str, Callable[[np.random.Generator], None]] = {
    test.__name__: test
    for test in (
        bounds_of_measures,
        points_of_measures,
        names_of_clusters,
        order_of_points,
        copies_of_points,
        weight_of_labels,
        unit_of_weights,
        order_of_partitions,
        halves_of_partitions,
        halves_of_points,
        single_and_double,
        workers_and_types,
        way_through_files,
    )
}
