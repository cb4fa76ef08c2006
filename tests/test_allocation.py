"""MedianPartition by allocation: the least sum over all partitions, losses by definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clusterscape import Ensemble
from clusterscape._core.errors import ParameterError
from clusterscape.combine import ConsensusWarning, MedianPartition
from clusterscape.compare import MEASURES, adjusted_rand
from clusterscape.datasets import make_planted_ensemble

LOSSES = ["vi", "mirkin", "rand_distance"]


def some(seed: int, n: int = 6, r: int = 4) -> Ensemble:
    rng = np.random.default_rng(seed)
    return Ensemble.from_labels(list(rng.integers(3, size=(r, n))), weights=rng.uniform(1, 2, r))


def every_partition(n: int, most: int):
    for labels in itertools.product(range(most), repeat=n):
        if labels == tuple(np.unique(labels, return_inverse=True)[1]):
            yield np.array(labels)


def entropy(*labels: np.ndarray) -> float:
    _, counts = np.unique(np.column_stack(labels), axis=0, return_counts=True)
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def loss(labels: np.ndarray, other: np.ndarray, name: str, a: float) -> float:
    """Return the loss with unequal costs, by its definition."""
    if name == "vi":
        both = entropy(labels, other)
        return a * (both - entropy(other)) + (2 - a) * (both - entropy(labels))
    mine, its = (v[:, None] == v[None, :] for v in (labels, other))
    return float(a * (its & ~mine).sum() + (2 - a) * (mine & ~its).sum())


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("a", [1.0, 0.6, 1.5])
def test_the_least_sum_of_all_partitions_is_found(name: str, a: float, seed: int) -> None:
    if name == "rand_distance" and a != 1.0:
        pytest.skip("the same loss as mirkin up to a factor")
    ensemble = some(seed)
    model = MedianPartition(distance=name, search="allocation", split_cost=a, max_clusters=4)
    model.fit(ensemble)
    measure = "vi" if name == "vi" else "mirkin"

    def total(labels: np.ndarray) -> float:
        rows = zip(ensemble.weights, ensemble.labels.T, strict=True)
        return sum(w * loss(labels, other, measure, a) for w, other in rows)

    best = min(total(labels) for labels in every_partition(6, 4))
    assert total(model.labels_) == pytest.approx(best)
    if a == 1.0:
        expected = [MEASURES[name].function(model.labels_, c) for c in ensemble.labels.T]
        assert model.cost_ == pytest.approx(ensemble.weights @ expected)
    else:
        assert model.cost_ == pytest.approx(best)
    assert model.costs_.min() == model.costs_[model.start_]


@pytest.mark.parametrize(
    ("name", "options"),
    [("information_distance", {}), ("nvi", {}), ("nvi", {"norm": "joint"})],
    ids=["ID", "NVI by log n", "NVI by the joint entropy"],
)
def test_the_least_sum_under_normalised_and_information_distances(
    name: str, options: dict, seed: int
) -> None:
    ensemble = some(seed, n=7, r=5)
    counts = np.random.default_rng(seed).integers(1, 4, size=7)

    def total(labels: np.ndarray) -> float:
        mine, sum_ = np.repeat(labels, counts), 0.0
        for w, other in zip(ensemble.weights, ensemble.labels.T, strict=True):
            its = np.repeat(other, counts)
            h, h_its, both = entropy(mine), entropy(its), entropy(mine, its)
            bound = both if options else np.log(mine.size)
            varied = (2 * both - h - h_its) / bound if bound > 0 else 0.0
            sum_ += w * (both - min(h, h_its) if name != "nvi" else varied)
        return sum_

    model = MedianPartition(
        distance=name, distance_params=options, search="allocation", max_clusters=4
    ).fit(ensemble, sample_weight=counts)
    best = min(total(labels) for labels in every_partition(7, 4))
    assert total(model.labels_) == pytest.approx(best)
    assert model.cost_ == pytest.approx(best)
    if name != "nvi" or options:
        assert model.costs_.min() == pytest.approx(best)


def test_unequal_costs_change_the_number_of_clusters() -> None:
    ensemble = make_planted_ensemble(200, n_partitions=12, n_clusters=4, random_state=0)[0]
    how = {"distance": "vi", "search": "allocation", "max_clusters": 30}
    few, many = (MedianPartition(split_cost=a, **how).fit(ensemble).n_clusters_ for a in (1.6, 0.4))
    assert few < many


@pytest.mark.parametrize("name", ["vi", "mirkin"])
def test_no_worse_than_moves_from_the_best_input(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.arange(300) % 5
    columns = [np.where(rng.random(300) < 0.3, rng.integers(6, size=300), truth) for _ in range(15)]
    how = {"distance": name, "max_clusters": 12}
    plain = MedianPartition(**how).fit(columns)
    best = MedianPartition(search="allocation", **how).fit(columns)
    assert best.cost_ <= plain.cost_ + 1e-9
    if name == "vi":  # Binder's loss leaves doubtful points alone
        assert adjusted_rand(best.labels_, truth) > 0.9


@pytest.mark.parametrize("how", [("information_distance", None), ("nvi", {"norm": "joint"})])
def test_partitions_that_agree_have_a_median(how: tuple[str, dict | None]) -> None:
    """All runs end alike then, and rounding says which is the best."""
    truth = np.repeat([0, 1, 2], 25)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        votes = np.tile(truth[:, None], (1, 40))
        for column in votes.T:
            column[rng.integers(75, size=3)] = rng.integers(3, size=3)
        model = MedianPartition(
            distance=how[0], distance_params=how[1], search="allocation", n_init=16,
            random_state=seed,
        ).fit(Ensemble.from_labels(votes))  # fmt: skip
        assert adjusted_rand(model.labels_, truth) == 1.0


def test_rows_with_weights_are_copies() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(20, 5))
    counts = rng.integers(1, 4, size=20)
    copies = np.repeat(np.arange(20), counts)
    how = {"search": "allocation", "distance": "vi", "max_clusters": 5}
    weighted = MedianPartition(**how).fit(labels, sample_weight=counts)
    copied = MedianPartition(**how).fit(labels[copies])
    assert weighted.cost_ == pytest.approx(copied.cost_)


def test_the_same_for_any_number_of_workers_and_as_many_clusters_as_asked_for() -> None:
    labels = np.random.default_rng(1).integers(3, size=(40, 6))
    how = {"search": "allocation", "distance": "vi", "n_init": 8}
    one, two = (MedianPartition(4, n_jobs=j, **how).fit(labels) for j in (1, 2))
    assert (one.labels_ == two.labels_).all()
    assert one.n_clusters_ == 4
    with pytest.warns(ConsensusWarning, match="distinguish only 1 groups"):
        MedianPartition(2, **how).fit(np.zeros((5, 3), dtype=int))


@pytest.mark.parametrize(
    ("labels", "how", "words"),
    [
        ([[0, 0, 1], [0, -1, 1]], {}, "every point is in a cluster"),
        ([[0, 0, 1], [0, 1, 1]], {"distance": "nmi"}, "not distance='nmi'"),
        ([[0, 0, 1], [0, 1, 1]], {"search": "moves", "split_cost": 1.5}, "split_cost=1.5 is for"),
        (
            [[0, 0, 1], [0, 1, 1]],
            {"distance": "information_distance", "split_cost": 1.5},
            "split_cost=1.5 is for the variation",
        ),
        (
            [[0, 0, 1], [0, 1, 1]],
            {"distance": "vi", "distance_params": {"norm": "joint"}},
            "'norm' is no option of distance='vi'; it has none",
        ),
        (
            [[0, 0, 1], [0, 1, 1]],
            {"distance": "nvi", "distance_params": {"norm": "sum"}},
            "not distance='nvi' with",
        ),
    ],
)
def test_what_it_does_not_take_is_refused(labels, how: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        MedianPartition(**({"search": "allocation"} | how)).fit(Ensemble.from_labels(labels))
