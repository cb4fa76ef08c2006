"""The choice of a forest's settings is the lowest of its table, and repeats with the seed."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from clusterscape.forest import choose as forest_choose
from clusterscape.forest.choose import choose_forest
from clusterscape.forest.estimator import ClusterForest


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    X[:30, :2] += 4
    return X


QUICK = {"n_vectors": 12, "n_init": 3, "random_state": 5}
GRID = {"n_competitors": (4, 1), "patience": (2, 1)}


@pytest.fixture(scope="module")
def choice(X):
    return choose_forest(X, 2, **GRID, **QUICK)


def test_one_row_per_setting(choice):
    table = choice.table
    settings = list(zip(table["n_competitors"], table["patience"], strict=True))
    assert settings == [(1, 1), (1, 2), (4, 1), (4, 2)]
    assert list(table.columns) == [
        "n_competitors",
        "patience",
        "ncut",
        "kappa",
        "vectors",
        "seconds",
        "chosen",
        "error",
    ]
    assert (table["error"] == "").all()
    assert (table["seconds"] > 0).all()
    assert table["vectors"].between(1, 12).all()


@pytest.mark.parametrize("criterion", ["ncut", "kappa"])
def test_the_lowest_is_chosen(X, choice, criterion):
    found = choose_forest(X, 2, criterion=criterion, **GRID, **QUICK)
    shown = found.table.drop(columns=["seconds", "chosen"])
    pd.testing.assert_frame_equal(shown, choice.table.drop(columns=["seconds", "chosen"]))
    best = found.table[criterion].argmin()
    np.testing.assert_array_equal(np.flatnonzero(found.table["chosen"]), [best])
    assert found.n_competitors == found.table["n_competitors"][best]
    assert found.patience == found.table["patience"][best]
    assert found.criterion == criterion


def test_rows_are_those_of_forests_fitted_alone(X, choice):
    for row in choice.table.itertuples():
        forest = ClusterForest(2, n_competitors=row.n_competitors, patience=row.patience, **QUICK)
        forest.fit(X)
        assert forest.cost_ == row.ncut
        assert np.median(forest.kappa_) == row.kappa
        if row.chosen:
            np.testing.assert_array_equal(forest.labels_, choice.forest.labels_)
            assert choice.forest.ensemble_ == forest.ensemble_
    assert clone(choice.forest).n_competitors == choice.n_competitors


def test_workers_and_repeated_settings_change_nothing(X, choice):
    again = choose_forest(X, 2, n_competitors=[1, 4, 4, 1], patience=[1, 2], n_jobs=2, **QUICK)
    pd.testing.assert_frame_equal(
        again.table.drop(columns="seconds"), choice.table.drop(columns="seconds")
    )


def test_a_generator_is_drawn_from_once(X):
    """All settings start from one draw, however many there are."""
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    grid = {"n_competitors": (1, 2), "patience": (1,)}
    both = choose_forest(X, 2, **grid, **(QUICK | {"random_state": first}))
    alone = choose_forest(
        X, 2, **(grid | {"n_competitors": (2,)}), **(QUICK | {"random_state": second})
    )
    assert alone.table["ncut"][0] == both.table["ncut"][1]
    assert first.integers(2**60) == second.integers(2**60)


class FakeForest:
    """A forest with figures of its own making."""

    costs: dict[int, float] = {}

    def __init__(self, n_clusters=None, *, n_competitors=1, patience=3, **_):
        self.q = n_competitors

    def get_params(self, deep=True):
        return {"n_vectors": 1}

    def fit(self, X, sample_weight=None):
        if self.q not in self.costs:
            raise ValueError(f"{self.q} competitors do not work.")
        warnings.warn(f"this is {self.q}", UserWarning, stacklevel=2)
        self.cost_ = self.costs[self.q]
        self.n_clusters_ = 1 if self.q == 8 else 2
        self.kappa_ = np.array([self.cost_])
        from clusterscape import Ensemble

        self.ensemble_ = Ensemble.from_labels([[0, 0, 1], [1, 1, 0], [0, 1, 1]])
        return self


def test_failures_are_rows_and_warnings_those_of_the_choice(monkeypatch):
    monkeypatch.setattr(forest_choose, "ClusterForest", FakeForest)
    FakeForest.costs = {1: 0.5, 3: 0.2, 5: 0.2}
    with pytest.warns(UserWarning, match="this is 3") as caught:
        found = choose_forest(None, 2, n_competitors=(1, 2, 3, 5), patience=(1,))
    assert [str(w.message) for w in caught] == ["this is 3"]
    assert found.n_competitors == 3  # of equal ones the fewest
    assert found.table["error"].tolist() == ["", "2 competitors do not work.", "", ""]
    assert np.isnan(found.table["ncut"][1])
    assert found.table["vectors"].tolist() == [2, 0, 2, 2]
    # One cluster instead of two has no cut at all, and is not chosen for that.
    FakeForest.costs = {1: 0.5, 8: 0.0}
    with pytest.warns(UserWarning, match="this is 1"):
        assert choose_forest(None, 2, n_competitors=(1, 8)).n_competitors == 1
    FakeForest.costs = {}
    with pytest.raises(ValueError, match="7 competitors do not work"):
        choose_forest(None, 2, n_competitors=(7, 8), patience=(1,))


def test_bad_input(X):
    with pytest.raises(ValueError, match="n_competitors must be a sequence of one or more"):
        choose_forest(X, 2, n_competitors=())
    with pytest.raises(ValueError, match="patience must be a sequence"):
        choose_forest(X, 2, patience=3)
    with pytest.raises(ValueError, match="n_clusters must be an integer >= 2"):
        choose_forest(X, None)
    with pytest.raises(ValueError, match="criterion must be one of 'ncut', 'kappa'"):
        choose_forest(X, 2, criterion="gap")
    with pytest.raises(TypeError, match="n_trees is not a parameter of ClusterForest"):
        choose_forest(X, 2, n_trees=5)
    with pytest.raises(ValueError, match="NaN"):
        choose_forest(np.full((5, 2), np.nan), 2, n_competitors=(1,))
