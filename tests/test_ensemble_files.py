"""Files of ensembles: what is damaged or made up is refused with a sentence, never believed."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clusterscape import Ensemble, PartitionRecord
from clusterscape.ensemble import NotAnEnsembleFile, files


def example() -> Ensemble:
    soft = np.array([[0.25, 0.75], [1, 0], [0, 0], [np.nan, np.nan]])
    return Ensemble.from_labels(
        {"hard": [0, 1, -1, -2], "text": ["a", "b", "c", "a"], "soft": soft},
        records=[
            PartitionRecord("random_k", "kmeans", {"k": 2}, columns=[0, 2], n_clusters=2),
            PartitionRecord(n_clusters=3, cost=np.inf),
            PartitionRecord(n_clusters=2, seed={"entropy": 2**100, "spawn_key": [1]}),
        ],
        weights=[1, 2, 0.5],
        sample_weight=[1, 1, 2, 3],
        index=["w", "x", "y", "z"],
    )


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_an_infinite_cost_and_a_partly_seen_soft_partition_come_back(tmp_path, kind):
    path = tmp_path / f"e.{kind}"
    getattr(example(), f"to_{kind}")(path)
    back = getattr(Ensemble, f"from_{kind}")(path)
    assert back == example()
    assert back.records[1].cost == np.inf
    assert back.soft[2].data.flags.writeable is False


# -- what a file claims -------------------------------------------------------------------------

CLAIMS: list[tuple[str, Any, str]] = [
    # (what is changed, its new value, the words of the refusal)
    ("labels", lambda a: np.where(a == 1, 7, a), "labels of partition 0 go from -2 to 7"),
    ("labels", lambda a: np.where(a == -2, -3, a), "labels of partition 0 go from -3"),
    ("labels", lambda a: a.astype(float), "labels is not a matrix of integers"),
    ("labels", lambda a: a[:, 0], "labels is not a matrix of integers"),
    ("labels", lambda a: a[:0], "labels is empty"),
    ("labels", lambda a: a[:, :2], "names has 3 entries for 2 partitions"),
    ("labels", lambda a: a[:3], "soft.*|membership of partition 2 has parts|sample_weight must"),
    ("weights", lambda a: a[:2], "weights must have one entry per partition, 3 in all"),
    ("weights", lambda a: a * np.nan, "weights must be finite numbers >= 0; entry 0 is nan"),
    ("sample_weight", lambda a: -a, "sample_weight must be finite numbers >= 0; entry 0 is -1"),
    ("sample_weight", lambda a: np.array(["a"] * 4), "sample_weight must be numbers"),
    ("soft_2_indices", lambda a: a + 1, "membership of partition 2 points outside"),
    ("soft_2_indices", lambda a: a - 1, "membership of partition 2 points outside"),
    ("soft_2_indices", lambda a: a.astype(float), "membership of partition 2 has parts"),
    ("soft_2_indptr", lambda a: a[:-1], "membership of partition 2 has parts"),
    ("soft_2_indptr", lambda a: a[::-1], "membership of partition 2 points outside"),
    ("soft_2_indptr", lambda a: np.array([0, 2, 9, 3, 3]), "membership of partition 2 points out"),
    ("soft_2_data", lambda a: a * np.nan, "membership of partition 2 is not finite"),
    ("soft_2_data", lambda a: -a, "negative or infinite entry"),
    ("soft_2_data", lambda a: a / 2, "sums to 0.5, not to 1"),
    ("soft_2_data", lambda a: np.array([0.75, 0.25, 1.0]), "partition 2 contradicts its labels"),
    ("soft_2_data", lambda a: None, "'soft_2_data' is missing"),
    ("labels", lambda a: None, "'labels' is missing"),
    ("columns_0", lambda a: -a - 1, "columns of a record are not positions"),
    ("columns_0", lambda a: a.astype(float), "columns of a record are not positions"),
]

META: list[tuple[str, Any, str]] = [
    ("names", ["a", "b"], "names has 2 entries for 3 partitions"),
    ("names", "abc", "names is not a list"),
    ("names", ["a", "b", 3], "a name is not text"),
    ("n_clusters", [2, 3, -1], "n_clusters has an entry that is no count"),
    ("n_clusters", [2, 3, "2"], "n_clusters has an entry that is no count"),
    ("n_clusters", [2, 3, True], "n_clusters has an entry that is no count"),
    ("n_clusters", [1, 3, 2], "labels of partition 0 go from -2 to 1"),
    ("n_clusters", [2, 4, 2], "partition 1 has 3 categories, not 4"),
    ("categories", [None, ["a", "a", "b"], None], "a category of partition 1 is repeated"),
    ("categories", [None, [["a"], ["b"], ["c"]], None], "unhashable"),
    ("categories", [None, "abc", None], "categories of partition 1 are not a list"),
    ("categories", [None, [{"other": []}, "b", "c"], None], "'tuple' is missing"),
    ("records", [{}, {}, {}], "'generator' is missing"),
    ("records", [1, 2, 3], "a record is not a dictionary"),
    ("soft", [5], "soft is not a list of partitions"),
    ("soft", [2, 2], "soft is not a list of partitions"),
    ("soft", 2, "soft is not a list of partitions"),
    ("index", ["w", "x"], "the index has not 4 entries"),
    ("index", 4, "the index has not 4 entries"),
    ("index_name", ["a", "b"], "index_name is"),
]


@pytest.mark.parametrize(("name", "change", "words"), CLAIMS)
def test_impossible_arrays_are_refused(tmp_path, name, change, words):
    arrays, meta = example()._content()
    changed = change(arrays[name])
    given = {k: v for k, v in arrays.items() if k != name}
    given |= {} if changed is None else {name: changed}
    path = tmp_path / "x.npz"
    files.write_npz(path, files.Content(given, meta))
    with pytest.raises(NotAnEnsembleFile, match=rf"x\.npz: damaged: .*({words})"):
        Ensemble.from_npz(path)


@pytest.mark.parametrize(("name", "value", "words"), META)
def test_impossible_values_are_refused(tmp_path, name, value, words):
    arrays, meta = example()._content()
    path = tmp_path / "x.npz"
    files.write_npz(path, files.Content(arrays, copy.deepcopy(meta) | {name: value}))
    with pytest.raises(NotAnEnsembleFile, match=rf"x\.npz: damaged: .*{words}"):
        Ensemble.from_npz(path)


@pytest.mark.parametrize("name", sorted(example()._content().meta.keys() - {"index"}))
def test_values_that_are_absent_are_named(tmp_path, name):
    arrays, meta = example()._content()
    path = tmp_path / "x.npz"
    files.write_npz(path, files.Content(arrays, {k: v for k, v in meta.items() if k != name}))
    with pytest.raises(NotAnEnsembleFile, match=f"damaged: '{name}' is missing"):
        Ensemble.from_npz(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("generator", 3),
        ("params", []),
        ("seed", "x"),
        ("cost", "much"),
        ("n_clusters", None),
        ("error", 1),
    ],
)
def test_impossible_records_are_refused(tmp_path, field, value):
    arrays, meta = example()._content()
    meta["records"][1][field] = value
    path = tmp_path / "x.npz"
    files.write_npz(path, files.Content(arrays, meta))
    with pytest.raises(NotAnEnsembleFile, match=f"damaged: {field} of a record is"):
        Ensemble.from_npz(path)
    meta["records"][1] = example().records[1].as_dict() | {"surprise": 1}
    files.write_npz(path, files.Content(arrays, meta))
    with pytest.raises(NotAnEnsembleFile, match=r"unknown fields \['surprise'\]"):
        Ensemble.from_npz(path)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("codes_0", 9, "labels of partition 0 go from 9 to 9"),
        ("codes_0", None, "'codes_0' is missing"),
        ("codes_1", 0.5, "labels is not a matrix of integers"),
        ("sample_weight", np.nan, "sample_weight must be finite"),
        ("sample_weight", None, "'sample_weight' is missing"),
        ("soft_2_0", 2.0, "sums to 2"),
        ("soft_2_0", np.nan, "is not finite"),
        ("soft_2_1", None, "soft_2_1"),
    ],
)
def test_impossible_parquet_columns_are_refused(tmp_path, column, value, words):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    example().to_parquet(path)
    table = parquet.read_table(path)
    frame = table.to_pandas()
    frame = frame.drop(columns=column) if value is None else frame.assign(**{column: value})
    made = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(made.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(NotAnEnsembleFile, match=f"damaged: .*{words}"):
        Ensemble.from_parquet(path)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"format": files.FORMAT}, "damaged: its header has no version or no content"),
        ({"format": files.FORMAT, "version": "1", "meta": {}}, "no version"),
        ({"format": files.FORMAT, "version": 1, "meta": []}, "no content"),
        ({"format": files.FORMAT, "version": 99, "meta": {}}, "written in format 99.*newer"),
        ({"format": "another"}, "not a clusterscape ensemble"),
        ([1, 2], "not a clusterscape ensemble"),
        (3, "not a clusterscape ensemble"),
    ],
)
def test_impossible_headers_are_refused(tmp_path, header, words):
    path = tmp_path / "x.npz"
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, meta=text, **example()._content().arrays)
    with pytest.raises(NotAnEnsembleFile, match=words):
        Ensemble.from_npz(path)


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_changed_bytes_never_give_another_ensemble_or_another_error(tmp_path, kind, seed):
    path = tmp_path / f"x.{kind}"
    getattr(example(), f"to_{kind}")(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(150):
        content = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            content[place] ^= int(rng.integers(1, 256))
        if rng.random() < 0.2:
            content = content[: rng.integers(0, len(whole))]
        path.write_bytes(bytes(content))
        try:
            back = getattr(Ensemble, f"from_{kind}")(path)
        except NotAnEnsembleFile:
            refused += 1
        else:  # what was changed is no part of the content, or still a sound ensemble
            assert back.shape == (4, 3)
            assert (back.labels.max(axis=0) < back.n_clusters).all()
            assert back.labels.min() >= -2
    assert refused > 30


def test_missing_files_and_folders_are_what_they_are(tmp_path):
    for read in (Ensemble.from_npz, Ensemble.from_parquet):
        with pytest.raises(FileNotFoundError, match="none"):
            read(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="directory"):
        Ensemble.from_npz(tmp_path)


def test_the_largest_soft_ties_are_no_contradiction(tmp_path):
    tied = np.array([[0.5, 0.5], [0.5, 0.5], [0, 1]])
    ensemble = Ensemble.from_labels([tied, sparse.csr_matrix(tied[:, ::-1])])
    ensemble.to_npz(tmp_path / "x.npz")
    assert Ensemble.from_npz(tmp_path / "x.npz") == ensemble


# -- CSV ----------------------------------------------------------------------------------------


def test_csv_of_labels_with_confidence_and_other_columns(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,label,confidence\na,0,0.93\nb,0,1.0\nc,1,0.5\n")
    with pytest.raises(ValueError, match=r"'confidence' holds fractions, such as 0.93.*columns="):
        Ensemble.from_csv(path)
    read = Ensemble.from_csv(path, columns=["label"])
    assert read.names == ("label",)
    assert list(read.index) == ["a", "b", "c"]
    path.write_text("gene,km\ng1,0\ng2,0\ng3,1\n")
    with pytest.raises(ValueError, match="'gene' is different in every row"):
        Ensemble.from_csv(path)
    assert list(Ensemble.from_csv(path, id_column="gene").index) == ["g1", "g2", "g3"]


def test_csv_written_by_pandas_with_missing_labels(tmp_path):
    path = tmp_path / "labels.csv"
    pd.DataFrame({"id": ["a", "b", "c", "d"], "km": [1.0, np.nan, 0.0, 1.0]}).to_csv(
        path, index=False
    )
    assert Ensemble.from_csv(path).labels[:, 0].tolist() == [1, -2, 0, 1]


def test_csv_keeps_distinct_text_when_asked(tmp_path):
    path = tmp_path / "x.csv"
    source = Ensemble.from_labels({"own": ["p", "q", "r"]}, index=["a", "a", "b"])
    source.to_csv(path)
    back = Ensemble.from_csv(path, columns=["own"])
    assert back["own"].tolist() == ["p", "q", "r"]
    assert list(back.index) == ["a", "a", "b"]


def test_a_record_has_one_order_wherever_it_comes_from():
    made = PartitionRecord(params={"n_clusters": 3, "init": "k-means++", "b": {"z": 1, "a": 2}})
    read = PartitionRecord(**json.loads(json.dumps(made.as_dict(), sort_keys=True)))
    assert json.dumps(made.as_dict()["params"]) == json.dumps(read.as_dict()["params"])
