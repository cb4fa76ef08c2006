"""Parquet and h5ad in blocks of rows, and the blocks of text that pyarrow reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clusterscape.io import TableError, _blocks, _delimited, _matrices, read_table, tables

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_blocks, "BLOCK", 200)
    monkeypatch.setattr(_blocks, "_PAGES", 64)


def frame(n: int = 23) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d"])
    made["whole"] = np.arange(n)
    return made


def both_ways(path: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any]:
    quick = read_table(path, **options)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "read_parquet", lambda *_: None)
        return quick, read_table(path, **options)


@pytest.mark.parametrize("case", ["plain", "ids", "index", "named index", "float32", "gaps"])
def test_parquet_in_blocks_reads_what_the_frame_reads(tmp_path, monkeypatch, case):
    made = frame()
    options: dict[str, Any] = {}
    if case == "ids":
        made.insert(0, "name", [f"p{i}" for i in range(len(made))])
        made["kind"] = ["x", "y"] * 11 + ["x"]
        options = {"label_column": "kind", "exclude": ["b"]}
    elif case.endswith("index"):
        made.index = pd.Index([f"p{i}" for i in range(len(made))])
        made.index.name = "cell" if case == "named index" else None
    elif case == "float32":
        made = made.drop(columns="whole").astype(np.float32)
    elif case == "gaps":
        made.loc[3, "b"] = np.nan
        options = {"missing": "drop"}
    made.to_parquet(tmp_path / "t.parquet")
    calls = []
    read = tables.read_parquet
    monkeypatch.setattr(
        tables, "read_parquet", lambda *args: calls.append(read(*args)) or calls[-1]
    )
    quick, slow = both_ways(tmp_path / "t.parquet", monkeypatch, **options)
    assert len(calls) == 1
    assert calls[0] is not None
    np.testing.assert_array_equal(quick.X, slow.X)
    assert quick.X.dtype == slow.X.dtype
    for name in ("feature_names", "notes", "id_column", "left_out", "n_dropped"):
        assert getattr(quick, name) == getattr(slow, name), name
    for name in ("ids", "labels"):
        one, two = getattr(quick, name), getattr(slow, name)
        assert (one is None) == (two is None)
        assert one is None or list(one) == list(two)


def test_parquet_of_words_and_damaged_parquet_are_read_as_before(tmp_path):
    made = frame()
    made["word"] = "x"
    made.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="text where numbers are needed"):
        read_table(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match="is not a Parquet file, or a damaged one"):
        read_table(tmp_path / "t.parquet")
    made = frame()
    made.loc[2, "a"] = np.nan
    made.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"row 3 .*column 'a': the value is missing"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("place", ["X", "layer", "obsm", "sparse", "sparse columns"])
def test_h5ad_in_blocks_reads_what_anndata_reads(tmp_path, monkeypatch, place):
    anndata = pytest.importorskip("anndata")
    X = np.round(np.random.default_rng(0).normal(size=(21, 6)), 2)
    form = {"sparse": sparse.csr_matrix, "sparse columns": sparse.csc_matrix}.get(place, np.array)
    cells = anndata.AnnData(form(X))
    cells.obs_names = [f"cell{i}" for i in range(21)]
    cells.layers["counts"] = X + 1
    cells.obsm["X_pca"] = X[:, :3].astype(np.float32)
    cells.write_h5ad(tmp_path / "t.h5ad")
    options: dict[str, Any] = {
        "layer": {"layer": "counts", "exclude": ["1"]},
        "obsm": {"obsm": "X_pca"},
    }.get(place, {"columns": ["4", "2"]})

    def whole(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the whole file was read")

    with monkeypatch.context() as patch:
        patch.setattr(anndata, "read_h5ad", whole)
        quick = read_table(tmp_path / "t.h5ad", **options)
    with monkeypatch.context() as patch:
        patch.setattr(_blocks.H5ad, "__init__", whole)
        patch.setattr(_matrices, "opened_h5ad", _nothing)
        slow = read_table(tmp_path / "t.h5ad", **options)
    assert sparse.issparse(quick.X) == place.startswith("sparse") == sparse.issparse(slow.X)
    one, two = (x.toarray() if sparse.issparse(x) else x for x in (quick.X, slow.X))
    np.testing.assert_array_equal(one, two)
    assert quick.X.dtype == slow.X.dtype
    assert (list(quick.ids), quick.feature_names) == (list(slow.ids), slow.feature_names)


class _nothing:
    def __init__(self, source: Any) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: Any) -> None: ...


def test_a_row_longer_than_a_block_of_text_is_read_at_once(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(4, 20_000))
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    (tmp_path / "wide.csv").write_text(text + "\n")
    monkeypatch.setattr(_delimited, "_parse", None)  # the slower way
    np.testing.assert_array_equal(read_table(tmp_path / "wide.csv").X, X)
