"""Datasets by name, and synthetic data with a known answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import adjusted_rand_score

from clusterscape import datasets
from clusterscape.datasets import (
    list_available,
    load,
    make_no_structure,
    make_overlapping_blobs,
    make_planted_ensemble,
)


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch) -> None:
    monkeypatch.delenv("CLUSTERSCAPE_DATA", raising=False)


def test_bundled() -> None:
    assert list_available() == ["digits", "iris", "wdbc", "wine"]
    for name, shape in {"digits": (1797, 64), "iris": (150, 4)}.items():
        found = load(name)
        assert found.data.shape == shape
        assert found.data.dtype == np.float64
        assert found.name == name
        assert len(found.feature_names) == shape[1]
    assert np.array_equal(load("wdbc").data, load_breast_cancer().data)
    assert np.array_equal(load("wine").target, load_wine().target)
    assert load("wine").source == "bundled with scikit-learn"


def save(folder: Path) -> None:
    np.savez(folder / "wine.npz", X=np.eye(3, dtype=np.uint8), y=[0, 1, 1])
    np.savez(
        folder / "single.npz", X=np.eye(3, dtype=np.float32), y=[0, 1, 1], class_names=["a", "b"]
    )
    text = sparse.csr_matrix(np.array([[0, 2], [1, 0]], dtype=np.uint8))
    parts = {"data": text.data, "indices": text.indices, "indptr": text.indptr}
    np.savez(folder / "text.npz", shape=text.shape, y=[0, 1], **parts)


def test_a_folder_comes_first(tmp_path: Path, monkeypatch) -> None:
    save(tmp_path)
    monkeypatch.setenv("CLUSTERSCAPE_DATA", str(tmp_path))
    assert list_available() == ["digits", "iris", "single", "text", "wdbc", "wine"]
    wine = load("wine")
    assert wine.data.tolist() == np.eye(3).tolist()
    assert wine.data.dtype == np.float64
    assert wine.target.tolist() == [0, 1, 1]
    assert wine.source == str(tmp_path / "wine.npz")
    single = load("single")
    assert single.data.dtype == np.float32
    assert list(single.target_names) == ["a", "b"]
    text = load("text")
    assert text.data.format == "csr"
    assert text.data.dtype == np.float64
    assert text.data.toarray().tolist() == [[0, 2], [1, 0]]
    (tmp_path / "other").mkdir()
    assert load("wine", data_home=tmp_path / "other").data.shape == (178, 13)


def test_what_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"la1\.npz: no data folder is set.*CLUTO"
    ) as caught:
        load("la1")
    assert "CLUSTERSCAPE_DATA" in str(caught.value)
    with pytest.raises(FileNotFoundError, match=f"it is not in {tmp_path}.*UCI"):
        load("glass", data_home=tmp_path)
    for name in ("", "../wine", 3):
        with pytest.raises(ValueError, match="name must be the name of a dataset"):
            load(name)


def test_files_that_are_no_datasets(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"no")
    np.savez(tmp_path / "odd.npz", A=np.eye(2))
    np.savez(tmp_path / "objects.npz", X=np.array([[None]]))
    with pytest.raises(ValueError, match="not a dataset, or a damaged one"):
        load("bad", data_home=tmp_path)
    with pytest.raises(ValueError, match="not a dataset, or a damaged one"):
        load("objects", data_home=tmp_path)
    with pytest.raises(ValueError, match="holds A; a dataset holds y and either X or data"):
        load("odd", data_home=tmp_path)


def test_planted_partitions_refine_the_planted_clusters(seed: int) -> None:
    ensemble, planted = make_planted_ensemble(
        3000, 8, n_clusters=4, k_range=(2, 20), noise=0.0, random_state=seed
    )
    assert ensemble.labels.dtype == np.int8
    assert (ensemble.n_clusters >= 4).all()
    assert (ensemble.n_clusters <= 20).all()
    assert len(set(ensemble.n_clusters.tolist())) > 1
    for i in range(8):
        # Every cell lies in one planted cluster.
        pairs = set(zip(ensemble.labels[:, i].tolist(), planted.tolist(), strict=True))
        assert len(pairs) == ensemble.n_clusters[i]


def test_planted_clusters_can_be_found(seed: int) -> None:
    ensemble, planted = make_planted_ensemble(
        1000, 30, n_clusters=5, k_range=(5, 20), random_state=seed
    )
    found = KMeans(5, n_init=5, random_state=seed).fit_predict(
        ensemble.membership().matrix.toarray()
    )
    assert adjusted_rand_score(planted, found) > 0.95


def test_planted_noise_and_unsampled(seed: int) -> None:
    ensemble, planted = make_planted_ensemble(
        20000, 3, n_clusters=2, k_range=(2, 2), noise=0.2, unsampled=0.1, random_state=seed
    )
    seen = ensemble.labels != -2
    assert 0.08 < 1 - seen.mean() < 0.12
    right = (ensemble.labels == planted[:, None])[seen].mean()
    # Half of the randomly placed points land in the right one of two cells, in either numbering.
    assert 0.88 < max(right, 1 - right) < 0.92


def test_planted_is_reproducible(seed: int) -> None:
    first, planted = make_planted_ensemble(500, 4, random_state=seed)
    second, again = make_planted_ensemble(500, 4, random_state=seed)
    assert first == second
    assert np.array_equal(planted, again)
    assert make_planted_ensemble(500, 4, random_state=seed + 1)[0] != first


def test_planted_types_and_chunks(seed: int, monkeypatch) -> None:
    wide, _ = make_planted_ensemble(2000, 1, k_range=(300, 300), random_state=seed)
    assert wide.labels.dtype == np.int16
    monkeypatch.setattr(datasets.synthetic, "_CHUNK", 64)
    ensemble, planted = make_planted_ensemble(
        500, 2, n_clusters=3, k_range=(6, 9), noise=0.0, random_state=seed
    )
    for i in range(2):
        pairs = set(zip(ensemble.labels[:, i].tolist(), planted.tolist(), strict=True))
        assert len(pairs) == ensemble.n_clusters[i]


def test_overlapping_blobs_are_hard_but_not_hopeless() -> None:
    scores = []
    for seed in range(3):
        X, y = make_overlapping_blobs(1000, random_state=seed)
        assert X.shape == (1000, 16)
        assert len(np.unique(y)) == 10
        scores.append(adjusted_rand_score(y, KMeans(10, n_init=3, random_state=0).fit_predict(X)))
    assert 0.65 < np.mean(scores) < 0.9


def test_no_structure(seed: int) -> None:
    cube = make_no_structure(1000, 3, random_state=seed)
    assert cube.min() >= 0
    assert cube.max() <= 1
    cloud = make_no_structure(1000, 3, kind="gaussian", random_state=seed)
    assert abs(cloud.mean()) < 0.1
    assert cloud.min() < -1
    with pytest.raises(ValueError, match="kind must be one of 'uniform', 'gaussian'"):
        make_no_structure(10, 2, kind="ring")
    with pytest.raises(ValueError, match="k_range must be two integers"):
        make_planted_ensemble(10, 2, k_range=(5, 2))


def test_made_up_tables_are_the_same_for_the_same_seed(seed: int) -> None:
    one, kinds = datasets.make_customers(200, random_state=seed)
    two, again = datasets.make_customers(200, random_state=seed)
    assert one.equals(two)
    assert kinds.tolist() == again.tolist()
    assert one["customer"].is_unique
    assert set(kinds) <= {"occasional", "regular", "big spender", "student", "between"}
    assert 0 < one["age"].isna().sum() < 20
    assert not datasets.make_customers(50, missing=0, random_state=seed)[0].isna().any(axis=None)
    spent = one["spent"] / one["visits"]
    assert spent[kinds == "big spender"].median() > 4 * spent[kinds == "regular"].median()
    counts, cells = datasets.make_cells(60, 100, n_kinds=3, random_state=seed)
    assert counts.equals(datasets.make_cells(60, 100, n_kinds=3, random_state=seed)[0])
    assert counts.shape == (60, 100)
    assert (counts.to_numpy() >= 0).all()
    assert set(cells) == {"kind 1", "kind 2", "kind 3"}
