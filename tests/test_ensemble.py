"""Ensemble: what goes in comes out, and its matrices are what the definitions say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clusterscape import Ensemble, PartitionRecord
from clusterscape.ensemble import as_ensemble
from strategies import brute_force_coassociation, ensembles, rows_of

# -- what goes in -------------------------------------------------------------------------------


def test_labels_of_any_hashable_type_come_back():
    vectors = [
        [3, 3, 9, 9],
        ["b", "b", "a", "c"],
        [True, False, True, True],
        [("x", 1), ("x", 2), ("x", 1), ("y", 0)],
        [10**15, 4, 4, 10**15],
    ]
    ensemble = Ensemble.from_labels(vectors)
    assert ensemble.n_clusters.tolist() == [2, 3, 2, 3, 2]
    for vector, back in zip(vectors, ensemble, strict=True):
        assert list(back) == vector


def test_array_uses_the_smallest_type_and_keeps_contiguous_labels():
    array = np.array([[0, 5], [1, 300], [1, 5]])
    ensemble = Ensemble.from_labels(array)
    assert ensemble.labels.dtype == np.int8
    assert ensemble.categories == (None, (5, 300))
    np.testing.assert_array_equal(np.column_stack(list(ensemble)), array)
    many = Ensemble.from_labels([np.arange(200)])
    assert many.labels.dtype == np.int16


def test_noise_unsampled_and_missing_are_kept_apart():
    ensemble = Ensemble.from_labels(
        [[0, -1, -2, 1], [1.0, np.nan, -1.0, 2.0], ["a", None, "-1", "-2"]]
    )
    assert ensemble.labels.tolist() == [[0, 0, 0], [-1, -2, -2], [-2, -1, -1], [1, 1, -2]]
    assert ensemble.has_noise
    assert not ensemble.is_complete


def test_frames_keep_their_index_and_names():
    frame = pd.DataFrame(
        {"leiden": pd.Categorical(["0", "1", "0"]), "k": [4, 4, 7]}, index=["x", "y", "z"]
    )
    ensemble = Ensemble.from_labels(frame)
    assert ensemble.names == ("leiden", "k")
    pd.testing.assert_index_equal(ensemble.index, frame.index)
    back = ensemble.to_frame()
    assert back["leiden"].tolist() == ["0", "1", "0"]
    assert back["k"].tolist() == [4, 4, 7]
    table = pl.DataFrame({"a": [1, 1, 2], "b": ["u", None, "v"]})
    other = Ensemble.from_labels(table)
    assert other.names == ("a", "b")
    assert other.labels.tolist() == [[0, 0], [0, -2], [1, 1]]


def test_soft_frames_masked_arrays_and_huge_labels():
    soft = pd.DataFrame([[0.9, 0.1, 0.0]] * 3)
    assert Ensemble.from_labels([soft]).soft[0].shape == (3, 3)
    masked = np.ma.array([[0, 1], [1, 1]], mask=[[False, True], [False, False]])
    assert Ensemble.from_labels(masked).labels.tolist() == [[0, -2], [1, 0]]
    huge = Ensemble.from_labels([[2**64, 2**64, 5]])
    assert list(huge.partition(0)) == [2**64, 2**64, 5]


def test_anndata_columns():
    class Annotated:
        obs = pd.DataFrame({"leiden": ["0", "1"], "other": [1, 2]}, index=["c1", "c2"])

    ensemble = Ensemble.from_labels(Annotated(), columns=["leiden"])
    assert ensemble.names == ("leiden",)
    assert list(ensemble.index) == ["c1", "c2"]
    with pytest.raises(ValueError, match=r"columns must name the columns of \.obs"):
        Ensemble.from_labels(Annotated())
    with pytest.raises(ValueError, match="'nope' is not a column of the frame"):
        Ensemble.from_labels(Annotated(), columns=["nope"])


@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        ([], ValueError, "no partition"),
        ([[]], ValueError, "no points"),
        (np.empty((0, 3), int), ValueError, "no points"),
        ([[0, 1], [0, 1, 1]], ValueError, "unequal lengths.*has 2 points.*has 3"),
        ([[0, -3]], ValueError, "label -3 in row 1 is negative"),
        ([[0, "a"]], TypeError, "mixed types, 'a' and 0.*astype"),
        ([[0.5, 1.0]], ValueError, "0.5 in row 0 is not a whole number"),
        ([[0, np.inf]], ValueError, "inf in row 1 is not a whole number"),
        ([[[1], [2]]], TypeError, "hashable.*2-D array"),
        ([0, 0, 1], TypeError, r"got int. For a single clustering pass a list of one: \[labels\]"),
        ([np.array([[np.nan, 1.0], [1, 0]])], ValueError, "row 0 of the membership is NaN in part"),
        (pl.LazyFrame({"a": [1]}), TypeError, "call .collect"),
        (np.array([0, 1, 1]), ValueError, "two-dimensional.*pass a list"),
        ("abc", TypeError, "got str"),
        (np.array([[1j, 2]]), TypeError, "complex128 are not supported"),
        ([np.array([[0.5, 0.4]])], ValueError, "row 0 of the membership sums to 0.9"),
        ([np.array([[1.5, -0.5]])], ValueError, "row 0 of the membership has a negative"),
    ],
)
def test_bad_labels_get_a_sentence(data, error, match):
    with pytest.raises(error, match=match):
        Ensemble.from_labels(data)


def test_bad_weights_and_records_get_a_sentence():
    with pytest.raises(ValueError, match="weights must have one entry per partition, 1 in all"):
        Ensemble.from_labels([[0, 1]], weights=[1, 2])
    with pytest.raises(ValueError, match="sample_weight must be finite numbers >= 0; entry 1"):
        Ensemble.from_labels([[0, 1]], sample_weight=[1, -2])
    with pytest.raises(TypeError, match="weights must be numbers, one per partition; got"):
        Ensemble.from_labels([[0, 1]], weights=["a"])
    with pytest.raises(TypeError, match="records must be PartitionRecord"):
        Ensemble.from_labels([[0, 1]], records=[{}])
    with pytest.raises(ValueError, match="records has 2 entries for 1"):
        Ensemble.from_labels([[0, 1]], records=[PartitionRecord()] * 2)
    with pytest.raises(ValueError, match="names has 2 entries"):
        Ensemble.from_labels([[0, 1]], names=["a", "b"])
    with pytest.raises(ValueError, match="index has 3 entries for 2 points"):
        Ensemble.from_labels([[0, 1]], index=[1, 2, 3])
    with pytest.raises(ValueError, match="votes: labels hold no partition"):
        as_ensemble([], "votes")


def test_it_is_immutable():
    source = np.array([[0, 1], [1, 1]])
    ensemble = Ensemble.from_labels(source)
    source[:] = 0
    assert ensemble.partition(0).tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        ensemble.labels[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        ensemble.weights[0] = 2
    with pytest.raises(AttributeError, match="immutable, so n_clusters cannot be set"):
        ensemble.n_clusters = 3
    membership = sparse.csr_matrix(np.array([[0.5, 0.5], [np.nan, 0], [0, 0]]))
    for _ in range(2):  # the caller's matrix stays as it is
        assert Ensemble.from_labels([membership]).labels[:, 0].tolist() == [0, -2, -1]
    soft = Ensemble.from_labels([membership])
    with pytest.raises(ValueError, match="read-only"):
        soft.soft[0].data[0] = 7
    with pytest.raises(TypeError, match="does not support item assignment"):
        soft.soft[0] = membership
    record = PartitionRecord(params={"a": [1, {"b": 2}]}, seed={"entropy": 1})
    with pytest.raises(TypeError, match="does not support item assignment"):
        record.params["a"][1]["b"] = 3
    with pytest.raises(TypeError, match="does not support item assignment"):
        record.seed["entropy"] = 2


def test_series_bring_their_ids_and_must_agree():
    one = pd.Series([0, 1, 1], index=["a", "b", "c"])
    assert list(Ensemble.from_labels([one, [0, 0, 1]]).index) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="different indexes"):
        Ensemble.from_labels([one, pd.Series([0, 1, 1], index=["c", "a", "b"])])


# -- its matrices -------------------------------------------------------------------------------


@given(ensembles())
def test_coassociation_is_cooccurrences_over_cosamplings(ensemble):
    counts, fractions = brute_force_coassociation(ensemble)
    for normalize, truth in (("counts", counts), ("pairs", fractions)):
        operator = ensemble.coassociation(normalize=normalize)
        np.testing.assert_allclose(operator.toarray(), truth, atol=1e-12)
        vector = np.linspace(-1, 2, ensemble.n_points)
        np.testing.assert_allclose(operator @ vector, truth @ vector, atol=1e-12)
        np.testing.assert_allclose(operator.T @ vector, truth @ vector, atol=1e-12)
        np.testing.assert_allclose(operator @ np.eye(ensemble.n_points), truth, atol=1e-12)
        np.testing.assert_allclose(operator.diagonal(), np.diag(truth), atol=1e-12)


@given(ensembles())
def test_membership_contingency_and_sizes(ensemble):
    blocks = [rows_of(ensemble, i)[0] for i in range(ensemble.n_partitions)]
    matrix, offsets = ensemble.membership()
    np.testing.assert_allclose(matrix.toarray(), np.hstack(blocks), atol=1e-12)
    assert offsets[-1] == matrix.shape[1]
    weight = ensemble.sample_weight
    np.testing.assert_allclose(ensemble.cluster_sizes(), weight @ np.hstack(blocks), atol=1e-12)
    for i, left in enumerate(blocks):
        for j, right in enumerate(blocks):
            expected = (left * weight[:, None]).T @ right
            np.testing.assert_allclose(ensemble.contingency(i, j), expected, atol=1e-12)


@given(ensembles(), st.booleans())
def test_compress_is_exact_for_the_rows_of_b(ensemble, apart):
    small, inverse = ensemble.compress(keep_noise_apart=apart)
    assert inverse.shape == (ensemble.n_points,)
    matrix = ensemble.membership().matrix.toarray()
    np.testing.assert_allclose(small.membership().matrix.toarray()[inverse], matrix)
    np.testing.assert_array_equal(small.labels[inverse], ensemble.labels)
    total = np.zeros(small.n_points)
    np.add.at(total, inverse, ensemble.sample_weight)
    np.testing.assert_allclose(small.sample_weight, total)
    rows = {
        (row.tobytes(), codes.tobytes()) for row, codes in zip(matrix, ensemble.labels, strict=True)
    }
    if not apart:
        assert small.n_points == len(rows)
    else:
        _, fractions = brute_force_coassociation(ensemble)
        merged = inverse[:, None] == inverse[None, :]
        off = merged & ~np.eye(ensemble.n_points, dtype=bool)
        seen = (ensemble.labels != -2).any(axis=1)
        assert np.allclose(fractions[off & seen[:, None] & seen], 1.0)


def test_dense_coassociation_states_its_memory():
    ensemble = Ensemble.from_labels([np.zeros(40_000, dtype=int)])
    with pytest.raises(MemoryError, match=r"40,000 points would take 12\.8 GB, more than max_gb=4"):
        ensemble.coassociation().toarray()
    with pytest.raises(ValueError, match="normalize must be"):
        ensemble.coassociation(normalize="other")


# -- parts and sums -----------------------------------------------------------------------------


@given(ensembles(min_points=2))
def test_select_subset_concat(ensemble):
    rows = np.arange(0, ensemble.n_points, 2)
    part = ensemble.subset(rows)
    _, whole = brute_force_coassociation(ensemble)
    np.testing.assert_allclose(
        part.coassociation().toarray(), whole[np.ix_(rows, rows)], atol=1e-12
    )
    assert (part.cluster_sizes() > 0).all()
    both = ensemble.concat(ensemble)
    assert both.n_partitions == 2 * ensemble.n_partitions
    assert len(set(both.names)) == both.n_partitions
    assert both.select(slice(0, ensemble.n_partitions)) == ensemble
    keep = np.zeros(ensemble.n_points, dtype=bool)
    keep[0] = True
    assert ensemble.subset(keep).n_points == 1


def test_add_concat_and_empty_selections():
    ensemble = Ensemble.from_labels([[0, 1, 1]], index=["a", "b", "c"])
    more = ensemble.add(["x", "y", "y"], name="mine", weight=2.0)
    assert more.names == ("p0", "mine")
    assert more.weights.tolist() == [1.0, 2.0]
    assert list(more.index) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="3 and 2 points"):
        ensemble.add([0, 1])
    heavy = Ensemble.from_labels([[0, 1, 1]], sample_weight=[1, 2, 3])
    assert ensemble.concat(heavy).sample_weight.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="different sample_weight"):
        heavy.concat(heavy.with_weights(sample_weight=[3, 2, 1]))
    other = Ensemble.from_labels([[0, 1, 1]], index=["a", "c", "b"])
    with pytest.raises(ValueError, match="different point ids"):
        ensemble.concat(other)
    assert more.select(["mine"]).names == ("mine",)
    assert more.select((1, 0)).names == ("mine", "p0")
    with pytest.raises(KeyError, match="no partition called 'other'; there are 'p0', 'mine'"):
        more.select(["other"])
    with pytest.raises(IndexError, match="which must be positions below 2, a slice, or a mask"):
        more.select([5])
    with pytest.raises(IndexError, match="rows must be positions below 3"):
        more.subset([True, False])
    with pytest.raises(IndexError, match="which must be"):
        more.select(None)
    with pytest.raises(TypeError, match="concat joins ensembles; got list. Use add"):
        more.concat([[0, 1, 1]])
    with pytest.raises(ValueError, match="different point ids"):
        ensemble.add(pd.Series([0, 1, 1], index=["b", "a", "c"]))
    with pytest.raises(ValueError, match="selects no partition"):
        ensemble.select([])
    with pytest.raises(ValueError, match="selects no point"):
        ensemble.subset([])


# -- files --------------------------------------------------------------------------------------


def example() -> Ensemble:
    records = [
        PartitionRecord("random_k", "kmeans", {"k": 2}, columns=[0, 2], n_clusters=2, cost=1.5),
        PartitionRecord(n_clusters=3, error=None, seconds=3.2),
        PartitionRecord(n_clusters=2, rows="bootstrap"),
        PartitionRecord(error="it broke"),
    ]
    soft = sparse.csr_matrix(np.array([[0.25, 0.75], [1, 0], [0, 0], [0.1, 0.9]]))
    return Ensemble.from_labels(
        [[0, 1, -1, -2], [("a", 1), ("b", 2), ("c", 3), ("a", 1)], soft, [-2, -2, -2, -2]],
        names=["first", "tuples", "soft", "failed"],
        records=records,
        weights=[1, 2, 0.5, 1],
        sample_weight=[1, 1, 2, 3],
        index=pd.Index(["w", "x", "y", "z"], name="cell"),
    )


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_files_keep_everything_byte_for_byte(tmp_path, kind):
    ensemble = example()
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    getattr(ensemble, f"to_{kind}")(first)
    back = getattr(Ensemble, f"from_{kind}")(first)
    assert back == ensemble
    assert back.index.name == "cell"
    assert back.records[0].columns.tolist() == [0, 2]
    assert back.records[1].seconds is None
    assert back.failures == [(3, "it broke")]
    getattr(back, f"to_{kind}")(second)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [first.name, second.name]


@given(ensembles())
def test_frames_and_csv_keep_the_partitions(ensemble):
    import tempfile
    from pathlib import Path

    back = Ensemble.from_labels(ensemble.to_frame())
    np.testing.assert_array_equal(back.labels, ensemble.labels)
    assert back.soft.keys() == ensemble.soft.keys()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        ensemble.to_csv(path)
        again = Ensemble.from_csv(path)
        np.testing.assert_array_equal(again.labels, ensemble.labels)
        for i, matrix in ensemble.soft.items():
            np.testing.assert_array_equal(again.soft[i].toarray(), matrix.toarray())
        first = path.read_bytes()
        again.to_csv(path)
        assert path.read_bytes() == first


def test_csv_keeps_labels_and_ids_apart(tmp_path):
    path = tmp_path / "x.csv"
    source = Ensemble.from_labels(
        [["01", "1", "01"], ["a", "b\r", "a"], [3, 4, 3]], index=["a\rb", "c,d", 'e"']
    )
    source.to_csv(path)
    back = Ensemble.from_csv(path)
    assert list(back.index) == list(source.index)
    assert [list(v) for v in back] == [list(v) for v in source]
    with pytest.raises(ValueError, match="a cluster is called ''"):
        Ensemble.from_labels([["", "a"]]).to_csv(path)
    path.write_text("id,a\n1,x\n2,\n3,x\n")
    assert Ensemble.from_csv(path).labels[:, 0].tolist() == [0, -2, 0]
    path.write_text("id;a\n1;x\n")
    with pytest.raises(ValueError, match="separated by something other than commas"):
        Ensemble.from_csv(path)
    path.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        Ensemble.from_csv(path)


def test_files_say_which_path_and_which_part_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/x.npz cannot be written"):
        example().to_npz(tmp_path / "nowhere" / "x.npz")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        example().to_npz(tmp_path)
    several = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    ensemble = Ensemble.from_labels([[0, 1]], index=several)
    ensemble.to_npz(tmp_path / "x.npz")
    assert Ensemble.from_npz(tmp_path / "x.npz") == ensemble


def test_foreign_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, labels=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="not a clusterscape ensemble"):
        Ensemble.from_npz(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not an NPZ file, or a damaged one"):
        Ensemble.from_npz(path)
    example().to_npz(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="damaged"):
        Ensemble.from_npz(path)
    np.savez(path, labels=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="damaged|not an NPZ"):
        Ensemble.from_npz(path)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="not a clusterscape ensemble"):
        Ensemble.from_parquet(tmp_path / "x.parquet")
    (tmp_path / "y.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a Parquet file"):
        Ensemble.from_parquet(tmp_path / "y.parquet")
    with pytest.raises(FileNotFoundError, match="none.npz"):
        Ensemble.from_npz(tmp_path / "none.npz")


def test_labels_that_files_cannot_hold_leave_no_file(tmp_path):
    ensemble = Ensemble.from_labels([[0, 1]], index=pd.date_range("2026", periods=2))
    with pytest.raises(ValueError, match="the index .*cannot be written to a file.*to str"):
        ensemble.to_npz(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


def test_repr_says_what_is_inside():
    text = repr(example())
    for word in ("4 points", "4 partitions with 0 to 3", "soft", "noise", "incomplete", "1 failed"):
        assert word in text
    page = example()._repr_html_()
    assert "it broke" in page
    assert "<table>" in page
    evil = Ensemble.from_labels([[0, 1]], names=["<script>"])
    assert "<script>" not in evil._repr_html_()


def test_one_and_two_points():
    one = Ensemble.from_labels([[0], ["a"]])
    assert one.coassociation().toarray().tolist() == [[1.0]]
    assert one.compress().ensemble.n_points == 1
    two = Ensemble.from_labels([[0, 1]])
    assert two.coassociation().toarray().tolist() == [[1, 0], [0, 1]]
