"""AnnData in and out: a consensus beside the cells, clusterings of obs, and the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

import clusterscape as cs
from clusterscape.cli.app import app
from clusterscape.io import TableError, read_labels, read_table
from clusterscape.plot import cluster_colors

anndata = pytest.importorskip("anndata")
QUICK = {"n_clusters": 2, "n_partitions": 8, "n_references": 0}


@pytest.fixture
def cells():
    """Return forty cells of two kinds, with clusterings of several resolutions."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1, (20, 5)) for c in (0, 8)]).astype(np.float32)
    made = anndata.AnnData(sparse.csr_matrix(np.abs(X)))
    made.obs_names = [f"cell{i}" for i in range(40)]
    made.obsm["X_pca"] = X[:, :3]
    made.layers["counts"] = np.abs(np.rint(X))
    kind = np.repeat(["t", "b"], 20)
    made.obs["kind"] = pd.Categorical(kind)
    made.obs["leiden_0.5"] = pd.Categorical(kind)
    made.obs["leiden_1.0"] = pd.Categorical([f"{k}{i % 2}" for i, k in enumerate(kind)])
    made.obs["leiden_2.0"] = pd.Categorical([None if i == 3 else k for i, k in enumerate(kind)])
    return made


def test_consensus_writes_what_scanpy_shows(cells, tmp_path) -> None:
    model = cs.anndata.consensus(cells, key_added="cc", **QUICK)
    assert isinstance(cells.obs["cc"].dtype, pd.CategoricalDtype)
    assert list(cells.obs["cc"].cat.categories) == ["0", "1"]
    assert list(cells.obs["cc"].astype(int)) == model.labels_.tolist()
    assert np.array_equal(cells.obs["cc_confidence"], model.confidence_)
    assert np.array_equal(cells.obsm["cc_membership"], model.membership_)
    assert list(cells.uns["cc_colors"]) == cluster_colors([0, 1])
    assert cells.uns["cc"]["params"]["use_rep"] == "X_pca"
    assert cells.uns["cc"]["params"]["n_clusters"] == 2
    assert list(model.ensemble_.index) == list(cells.obs_names)
    cells.write_h5ad(tmp_path / "t.h5ad")
    again = anndata.read_h5ad(tmp_path / "t.h5ad")
    assert list(again.obs["cc"]) == list(cells.obs["cc"])
    assert again.uns["cc"]["params"]["generator"] == "diverse"


def test_other_matrices(cells) -> None:
    twin = cs.ConsensusClustering(random_state=0, **QUICK).fit(cells.layers["counts"])
    model = cs.anndata.consensus(cells, use_rep="X", layer="counts", **QUICK)
    assert np.array_equal(model.labels_, twin.labels_)
    for options, words in (
        ({"use_rep": "X_umap"}, "obsm has no 'X_umap'; it holds 'X_pca'"),
        ({"layer": "counts"}, "use it with use_rep='X'"),
        ({"use_rep": "X", "layer": "raw"}, "no layer 'raw'; there are 'counts'"),
        ({"obs": "louvain_*"}, "obs has no column 'louvain_\\*'; it has kind"),
    ):
        with pytest.raises(ValueError, match=words):
            cs.anndata.consensus(cells, **options)
    with pytest.raises(ValueError, match="the model has 40 points and the object 10 cells"):
        cs.anndata.write_result(cells[:10].copy(), model)


def test_clusterings_that_are_there(cells) -> None:
    runs = cs.anndata.ensemble(cells, "leiden_*")
    assert runs.names == ("leiden_0.5", "leiden_1.0", "leiden_2.0")
    assert list(runs.index) == list(cells.obs_names)
    assert runs.labels[3, 2] == -2
    cs.anndata.consensus(cells, obs=["leiden_*"], key_added="joined", n_clusters=2)
    assert pd.crosstab(cells.obs["joined"], cells.obs["kind"]).to_numpy().tolist() in (
        [[20, 0], [0, 20]],
        [[0, 20], [20, 0]],
    )
    assert list(cells.uns["joined"]["params"]["obs"]) == list(runs.names)


def test_files(cells, tmp_path) -> None:
    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    pca = read_table(path, obsm="X_pca", label_column="kind")
    assert np.array_equal(pca.X, cells.obsm["X_pca"])
    assert pca.feature_names == ("pca_1", "pca_2", "pca_3")
    assert list(pca.ids)[:2] == ["cell0", "cell1"]
    assert np.array_equal(read_table(path, layer="counts").X, cells.layers["counts"])
    assert read_labels(path, columns="leiden_*").names == ("leiden_0.5", "leiden_1.0", "leiden_2.0")
    for options, words in (
        ({"obsm": "X_umap"}, "has no obsm 'X_umap'; it has X_pca"),
        ({"layer": "raw"}, "has no layer 'raw'; it has counts"),
        ({"layer": "counts", "obsm": "X_pca"}, "not both"),
    ):
        with pytest.raises(TableError, match=words):
            read_table(path, **options)
    with pytest.raises(TableError, match="which columns of obs are clusterings.*columns='leiden_"):
        read_labels(path)
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match="only these hold obsm"):
        read_table(tmp_path / "t.csv", obsm="X_pca")


def test_the_command_line(cells, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells.write_h5ad("cells.h5ad")
    words = ["combine", "cells.h5ad", "--obs", "leiden_*", "-k", "2", "--write-h5ad", "new.h5ad"]
    done = CliRunner().invoke(app, [*words, "-o", "labels.csv"])
    assert done.exit_code == 0, done.stderr
    new = anndata.read_h5ad("new.h5ad")
    assert list(new.obs["consensus"]) == pd.read_csv("labels.csv")["label"].astype(str).tolist()
    assert set(cells.obs) < set(new.obs)
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 1
    assert "new.h5ad exists already" in again.stderr
    run = ["run", "cells.h5ad", "--obsm", "X_pca", "-k", "2", "-r", "8", "--references", "0", "-q"]
    done = CliRunner().invoke(app, [*run, "-o", "out", "--write-h5ad", "run.h5ad"])
    assert done.exit_code == 0, done.stderr
    assert anndata.read_h5ad("run.h5ad").uns["consensus"]["params"]["obsm"] == "X_pca"
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    refused = CliRunner().invoke(app, ["run", "t.csv", "--write-h5ad", "x.h5ad"])
    assert refused.exit_code == 2
    assert "no h5ad file is read" in refused.stderr


def test_options_without_effect_are_refused(cells) -> None:
    for options, words in (
        ({"n_partitions": 5}, r"n_partitions=5: nothing is clustered where obs='leiden_\*'"),
        ({"generator": "random_k", "n_references": 0}, "generator='random_k', n_references=0: "),
        ({"layer": "counts"}, "layer='counts': nothing"),
    ):
        with pytest.raises(ValueError, match=words):
            cs.anndata.consensus(cells, obs="leiden_*", **options)
    assert "consensus" not in cells.obs
    X = cells.obsm["X_pca"]
    model = cs.anndata.consensus(cells, obs="leiden_*", n_clusters=2, max_clusters=4)
    for call in (
        lambda: cs.anndata.consensus(X),
        lambda: cs.anndata.ensemble(X, "leiden_*"),
        lambda: cs.anndata.write_result(X, model),
    ):
        with pytest.raises(TypeError, match="adata must be an AnnData object; got ndarray"):
            call()


def test_an_answer_is_no_member_of_the_next_ensemble(cells) -> None:
    names = cs.anndata.ensemble(cells, "leiden_*").names
    cs.anndata.consensus(cells, obs="leiden_*", n_clusters=2, key_added="leiden_answer")
    assert cs.anndata.ensemble(cells, "leiden_*").names == names
    assert cs.anndata.ensemble(cells, ["leiden_*", "leiden_answer"]).names[-1] == "leiden_answer"


def test_a_column_that_is_written_over_is_named():
    cells = anndata.AnnData(np.zeros((4, 1)))
    cells.obs["kind"] = ["a", "a", "b", "b"]
    model = cs.combine.EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    with pytest.warns(UserWarning, match=r"obs\['kind'\] was there already.*key_added"):
        cs.anndata.write_result(cells, model, key_added="kind")
    cs.anndata.write_result(
        cells, model, key_added="kind"
    )  # our own answer is replaced without a word
    cs.anndata.write_result(cells, model, key_added="other")


def test_describe_asks_for_one_matrix():
    cells = anndata.AnnData(np.zeros((4, 1)))
    with pytest.raises(TypeError, match="AnnData, which holds several matrices; give one of them"):
        cs.validate.describe_clusters(cells, [0, 0, 1, 1])
