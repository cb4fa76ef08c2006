"""What people are used to from scikit-learn, pandas and polars, asked of the main estimator."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from clusterscape import ConsensusClustering
from clusterscape.generate import (
    ALGORITHMS,
    CLUSTERERS,
    EnsembleGenerator,
    present_columns,
    restarts,
)
from clusterscape.generate.generator import GenerationWarning
from clusterscape.io import load_model

X, y = make_blobs(90, centers=3, random_state=2, cluster_std=0.8, center_box=(-9, 9))


def quick(n_clusters: Any = 3, **changes: Any) -> ConsensusClustering:
    settings = {"n_partitions": 8, "n_references": 0, "generator": "random_k", "random_state": 0}
    return ConsensusClustering(n_clusters, **{**settings, **changes})


def test_score_is_agreement_with_classes_or_mean_confidence():
    model = quick().fit(X)
    assert model.score(X, y) == adjusted_rand_score(y, model.predict(X))
    frame = model.predict_frame(X)
    assert model.score(X) == pytest.approx(frame["confidence"].mean())
    found = GridSearchCV(quick(), {"n_clusters": [2, 3]}, cv=2).fit(X, y)
    assert found.best_params_ == {"n_clusters": 3}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_memberships_as_features_have_names_and_the_frame_that_is_asked_for(library):
    frames = pytest.importorskip(library)
    model = quick().set_output(transform=library)
    made = model.fit_transform(X)
    assert isinstance(made, frames.DataFrame)
    assert list(made.columns) == [f"consensusclustering{i}" for i in range(3)]
    np.testing.assert_allclose(made.to_numpy(), model.predict_membership(X))


def test_results_as_frames_of_polars_keep_the_ids():
    polars = pytest.importorskip("polars")
    names = [f"p{i}" for i in range(len(X))]
    model = quick().fit(pd.DataFrame(X, index=names))
    made = model.to_frame(library="polars", membership=True)
    assert isinstance(made, polars.DataFrame)
    assert made["id"].to_list() == names
    assert made["label"].to_list() == model.labels_.tolist()
    assert made["runner_up"].dtype == polars.Int64
    members = model.ensemble_.to_frame(library="polars")
    assert members.columns[0] == "id"
    assert members.shape == (len(X), 9)
    assert model.predict_frame(X[:3], library="polars").shape == (3, 5)
    again = quick().fit(polars.DataFrame(X, schema=["a", "b"]), index=names)
    assert list(again.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(again.labels_, model.labels_)
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'; got 'arrow'"):
        model.to_frame(library="arrow")


def test_weights_reach_members_and_consensus():
    weight = np.ones(len(X))
    weight[y == 0] = 4.0
    model = quick().fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.ensemble_.sample_weight, weight)
    # k-means with whole weights is k-means of repeated points: the costs are the same.
    made = restarts(1, n_clusters=2, random_state=0).generate(X, sample_weight=weight)
    points = np.repeat(X, weight.astype(int), axis=0)
    labels = np.repeat(made.labels[:, 0], weight.astype(int))
    inside = [((points[labels == c] - points[labels == c].mean(0)) ** 2).sum() for c in (0, 1)]
    assert made.records[0].cost == pytest.approx(sum(inside))
    with pytest.warns(GenerationWarning, match="sample_weight is not used by genie"):
        quick(generator="diverse").fit(X, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight"):
        quick().fit(X, sample_weight=-weight)


def test_metadata_is_routed_through_a_pipeline():
    weight = np.linspace(1, 2, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(sample_weight=True, index=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        made = Pipeline([("scale", scaler), ("cluster", model)])
        made.fit(X, sample_weight=weight, index=np.arange(len(X)) + 100)
    assert made[-1].ensemble_.sample_weight[-1] == 2.0
    assert made[-1].to_frame().index[0] == 100


def test_every_clusterer_of_scikit_learn_goes_by_its_name():
    assert not set(CLUSTERERS) & set(ALGORITHMS)
    named = EnsembleGenerator(2, algorithm="AgglomerativeClustering", n_clusters=3, random_state=0)
    given = EnsembleGenerator(2, algorithm=AgglomerativeClustering(), n_clusters=3, random_state=0)
    np.testing.assert_array_equal(named.generate(X).labels, given.generate(X).labels)
    made = EnsembleGenerator(len(CLUSTERERS), algorithm=list(CLUSTERERS), n_clusters=3)
    ensemble = made.set_params(random_state=0).generate(X)
    assert [record.algorithm for record in ensemble.records] == list(CLUSTERERS)
    assert all(record.error is None for record in ensemble.records)
    with pytest.raises(ValueError, match="'Birch'.*got 'FeatureAgglomeration'"):
        EnsembleGenerator(2, algorithm="FeatureAgglomeration").generate(X)


class Foreign:
    """An array of another library, as the array API has them."""

    def __init__(self, values: np.ndarray, *, on_cpu: bool) -> None:
        self.values, self.on_cpu = values, on_cpu
        self.shape, self.ndim, self.dtype = values.shape, values.ndim, values.dtype

    def __array_namespace__(self, **_: Any) -> Any:
        raise AssertionError("the namespace is not needed")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if not self.on_cpu:
            raise TypeError("implicit conversion is not allowed")
        return self.values if dtype is None else self.values.astype(dtype)


def test_arrays_of_other_libraries_are_taken_or_refused_with_a_remedy():
    np.testing.assert_array_equal(
        quick().fit(Foreign(X, on_cpu=True)).labels_, quick().fit(X).labels_
    )
    for fit in (quick().fit, restarts(2, n_clusters=2).generate):
        with pytest.raises(TypeError, match=r"computes on the CPU, so bring it there first"):
            fit(Foreign(X, on_cpu=False))


def test_a_fit_logs_its_steps(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="clusterscape"):
        quick("auto").fit(X)
    said = "\n".join(caplog.messages)
    assert "Ensemble(90 points, 8 partitions" in said
    assert "number of clusters: " in said
    assert "consensus: " in said
    assert "clusters of 90 points" in said
    caplog.clear()
    quick().fit(X)
    assert not caplog.messages
    assert capsys.readouterr() == ("", "")


def test_members_on_the_columns_that_points_have():
    rng = np.random.default_rng(0)
    whole, classes = make_blobs(120, n_features=6, centers=3, random_state=1, center_box=(-9, 9))
    gaps = np.where(rng.random(whole.shape) < 0.15, np.nan, whole)
    gaps[0, 1:] = np.nan  # one value is enough
    ensemble = present_columns(gaps, 40, random_state=0)
    for labels, record in zip(ensemble.labels.T, ensemble.records, strict=True):
        has = ~np.isnan(gaps[:, record.columns]).any(axis=1)
        np.testing.assert_array_equal(labels != -2, has)
    seen = (ensemble.labels != -2).sum(axis=1)
    assert seen.min() >= 5
    model = ConsensusClustering(3, random_state=0).fit_ensemble(ensemble)
    assert adjusted_rand_score(classes, model.labels_) > 0.9
    again = present_columns(gaps, 40, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.labels, ensemble.labels)
    frame = pd.DataFrame(gaps, index=[f"p{i}" for i in range(120)])
    assert present_columns(frame, 2, random_state=0).index[0] == "p0"
    assert all(len(r.columns) == 6 for r in present_columns(whole, 3, random_state=0).records)


def test_what_members_on_present_columns_cannot_use_is_refused():
    with pytest.raises(ValueError, match=r"1 rows without any value, the first of them row 1;"):
        present_columns(np.array([[1.0, 2.0], [np.nan, np.nan]]))
    with pytest.raises(ValueError, match="infinite in row 0, column 1"):
        present_columns(np.array([[1.0, np.inf]]))


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file .*none.npz; check the name"):
        load_model(tmp_path / "none.npz")
