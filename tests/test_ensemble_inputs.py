"""What people pass as clusterings: a right answer, or a sentence that says what to do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clusterscape import ConsensusClustering, Ensemble, compare
from clusterscape.combine import IKL, SEC, BagClust, LiftKM
from clusterscape.forest import ClusterForest
from clusterscape.generate import EnsembleGenerator
from clusterscape.io import read_labels
from clusterscape.linalg.neighbors import nearest_neighbors
from clusterscape.validate import structure_test
from strategies import ensembles

# -- ids in a frame -----------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["id", "ID", " Ids", "index", "Unnamed: 0", "name", "Names"])
@pytest.mark.parametrize("where", [0, 1])
def test_a_column_of_ids_is_the_index(column, where):
    frame = pd.DataFrame({"km": [0, 0, 1, 1]})
    frame.insert(where, column, ["w", "x", "y", "z"])
    ensemble = Ensemble.from_labels(frame)
    assert ensemble.names == ("km",)
    assert list(ensemble.index) == ["w", "x", "y", "z"]
    assert list(Ensemble.from_labels(pl.from_pandas(frame)).index) == ["w", "x", "y", "z"]
    chosen = Ensemble.from_labels(frame, columns=["km"])
    assert list(chosen.index) == ["w", "x", "y", "z"]
    insisted = Ensemble.from_labels(frame, columns=[column, "km"])
    assert insisted.names == (column, "km")
    assert insisted.n_clusters.tolist() == [4, 2]


def test_ids_may_repeat_and_names_of_clusters_may_be_called_name():
    frame = pd.DataFrame({"id": ["a", "a", "b"], "name": ["x", "y", "y"]})
    ensemble = Ensemble.from_labels(frame)
    assert ensemble.names == ("name",)
    assert list(ensemble.index) == ["a", "a", "b"]


def test_ids_that_count_the_rows_are_no_ids():
    frame = pd.DataFrame({"id": [0, 1, 2], "km": [0, 0, 1]})
    assert Ensemble.from_labels(frame).index is None
    assert list(Ensemble.from_labels(frame.assign(id=[1, 2, 3])).index) == [1, 2, 3]


@pytest.mark.parametrize(
    "ids",
    [
        ["g1", "g2", "g3"] + [f"h{i}" for i in range(9)],
        pd.Categorical([f"h{i}" for i in range(12)]),
        pd.date_range("2026", periods=12),
        np.arange(101, 113),
        np.arange(12.0),
        pd.array(range(12), dtype="Int64"),
    ],
)
@pytest.mark.parametrize("where", [0, 1])
def test_a_column_different_in_every_row_is_no_clustering(ids, where):
    frame = pd.DataFrame({"km": [0, 1] * 6, "expert": list("aabbccaabbcc")})
    frame.insert(where, "gene", ids)
    with pytest.raises(ValueError, match=r"'gene' is different in every row.*id_column='gene'"):
        Ensemble.from_labels(frame)
    with pytest.raises(ValueError, match=r"such as columns=\['km', 'expert'\]"):
        Ensemble.from_labels(frame)
    named = Ensemble.from_labels(frame, id_column="gene")
    assert named.names == ("km", "expert")
    plainly = Ensemble.from_labels(frame, columns=["gene", "km"])
    assert plainly.n_clusters.tolist() == [12, 2]
    assert Ensemble.from_labels(frame, columns="km", id_column="gene").names == ("km",)


def test_an_index_and_distinct_text_beside_it():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "km": [0, 0, 1]}, index=["x", "y", "z"])
    with pytest.raises(ValueError, match="'id' is different in every row"):
        Ensemble.from_labels(frame)
    assert list(Ensemble.from_labels(frame, id_column="id").index) == ["a", "b", "c"]
    assert list(Ensemble.from_labels(frame, columns=["km"]).index) == ["x", "y", "z"]
    assert list(Ensemble.from_labels(frame, columns=["km"], index=[7, 8, 9]).index) == [7, 8, 9]
    with pytest.raises(ValueError, match="'cell' is not a column of the frame, which has 'id'"):
        Ensemble.from_labels(frame, id_column="cell")
    with pytest.raises(ValueError, match="id_column names columns of a data frame; got list"):
        Ensemble.from_labels([[0, 1]], id_column="id")


@given(ensembles())
def test_frames_of_an_ensemble_come_back(ensemble):
    back = Ensemble.from_labels(ensemble.to_frame())
    np.testing.assert_array_equal(back.labels, ensemble.labels)
    assert back.names == ensemble.names


# -- the wrong way round ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 1000), (1, 150), (20, 150), (50, 150), (3, 10)])
def test_an_array_the_wrong_way_round_is_refused(shape):
    stacked = np.random.default_rng(0).integers(0, 3, shape)
    r, n = shape
    words = rf"shape \({r}, {n}\).*{n} partitions of {r} points.*pass labels\.T.*orient='columns'"
    for data in (stacked, np.ma.array(stacked), pd.DataFrame(stacked)):
        with pytest.raises(ValueError, match=words):
            Ensemble.from_labels(data)
        assert Ensemble.from_labels(data.T).shape == (n, r)
        assert Ensemble.from_labels(data, orient="columns").shape == (r, n)
        by_rows = Ensemble.from_labels(data, orient="rows")
        np.testing.assert_array_equal(by_rows.labels, Ensemble.from_labels(stacked.T).labels)
    with pytest.raises(ValueError, match=r"ensemble: labels has shape .*pass labels\.T"):
        SEC(2).fit(stacked)


def test_a_list_of_points_is_refused():
    table = np.random.default_rng(0).integers(0, 3, (150, 5))
    with pytest.raises(ValueError, match=r"150 vectors of 5 labels.*numpy.array\(labels\).*'rows'"):
        Ensemble.from_labels(table.tolist())
    right = Ensemble.from_labels(table)
    np.testing.assert_array_equal(
        Ensemble.from_labels(table.tolist(), orient="columns").labels, right.labels
    )
    assert Ensemble.from_labels(table.tolist(), orient="rows").shape == (5, 150)
    with pytest.raises(ValueError, match="these rows have different lengths"):
        Ensemble.from_labels([[0, 1], [0]], orient="columns")
    assert Ensemble.from_labels(table[:40].tolist()).shape == (5, 40)  # a worked example
    assert Ensemble.from_labels(list(table)).shape == (5, 150)  # arrays are label vectors


def test_shapes_in_doubt_are_taken_as_they_are():
    assert Ensemble.from_labels(np.zeros((3, 9), int)).shape == (3, 9)  # a small example
    assert Ensemble.from_labels(np.zeros((40, 60), int)).shape == (40, 60)  # many runs
    wide = pd.DataFrame(np.zeros((3, 30), int), columns=[f"run{i}" for i in range(30)])
    assert Ensemble.from_labels(wide).shape == (3, 30)  # its columns have names
    with pytest.raises(ValueError, match="orient must be 'auto', 'columns' or 'rows'; got 'up'"):
        Ensemble.from_labels([[0, 1]], orient="up")


def test_rows_of_a_frame_bring_names_and_ids():
    frame = pd.DataFrame([[0, 0, 1], [0, 1, 1]], index=["km", "ward"], columns=["x", "y", "z"])
    ensemble = Ensemble.from_labels(frame, orient="rows")
    assert ensemble.names == ("km", "ward")
    assert list(ensemble.index) == ["x", "y", "z"]
    assert ensemble["ward"].tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="orient='rows' takes the whole frame"):
        Ensemble.from_labels(frame, orient="rows", columns=["x"])


# -- dictionaries and other containers ----------------------------------------------------------


def test_a_dictionary_names_its_clusterings():
    soft = np.array([[0.5, 0.5], [1, 0], [0, 1]])
    given: dict[Any, Any] = {
        "km": pd.Series([0, 0, 1], index=["x", "y", "z"]),
        2: ["a", None, "b"],
        "s": soft,
    }
    ensemble = Ensemble.from_labels(given)
    assert ensemble.names == ("km", "2", "s")
    assert list(ensemble.index) == ["x", "y", "z"]
    assert ensemble.labels.tolist() == [[0, 0, 0], [0, -2, 0], [1, 1, 1]]
    assert list(ensemble.soft) == [2]
    with pytest.raises(ValueError, match="no partition"):
        Ensemble.from_labels({})
    with pytest.raises(ValueError, match="a dictionary names its clusterings"):
        Ensemble.from_labels(given, orient="rows")


@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        ({"ann": 0, "bob": 1}, TypeError, r"single labels as values, such as 0.*pandas\.Series"),
        ({"ann": "a", "bob": "b"}, TypeError, "single labels as values, such as 'a'"),
        ([{"ann": 0, "bob": 1}], TypeError, r"got dict. pandas\.Series\(labels\) takes its keys"),
        ([{0, 1}], TypeError, "got set"),
        ({0, 1}, TypeError, "got set"),
        (["a", "b", "a"], TypeError, r"got str. For a single clustering pass a list of one"),
        (sparse.csr_matrix(np.eye(3)), TypeError, r"sparse matrix.*\[membership\].*toarray"),
        (pd.Series([0, 1]), ValueError, r"pass a list: \[labels\]"),
        (pl.Series([0, 1]), ValueError, r"pass a list: \[labels\]"),
        (pd.Categorical(["a", "b"]), ValueError, r"pass a list: \[labels\]"),
        (np.zeros((2, 2, 2), int), ValueError, "two-dimensional"),
        (Ensemble.from_labels([[0, 1]]), TypeError, "an Ensemble already"),
        ({"a": [0, 1], "b": [0, 1, 1]}, ValueError, "'a' has 2 points and 'b' has 3"),
        (pd.DataFrame([[0, 1]], columns=["a", "a"]), ValueError, "2 columns named 'a'"),
    ],
)
def test_other_containers_get_a_sentence(data, error, match):
    with pytest.raises(error, match=match):
        Ensemble.from_labels(data)


def test_columns_of_every_kind():
    frame = pd.DataFrame(
        {
            "categorical": pd.Categorical(["u", None, "v", "u"], categories=["v", "u", "unused"]),
            "whole": pd.array([4, None, 9, 4], dtype="Int64"),
            "truth": pd.array([True, None, False, True], dtype="boolean"),
            "text": pd.array(["q", None, "p", "q"], dtype="string"),
            "float": [4.0, np.nan, 9.0, 4.0],
            "numbers": pd.Categorical([9, None, 4, 9]),
            "sparse": pd.arrays.SparseArray([0, 0, 1, 0]),
        }
    )
    ensemble = Ensemble.from_labels(frame)
    assert ensemble.n_clusters.tolist() == [2] * 7
    expected = {
        "categorical": [0, -2, 1, 0],
        "whole": [0, -2, 1, 0],
        "truth": [1, -2, 0, 1],
        "text": [1, -2, 0, 1],
        "float": [0, -2, 1, 0],
        "numbers": [1, -2, 0, 1],
        "sparse": [0, 0, 1, 0],
    }
    assert {n: ensemble.labels[:, i].tolist() for i, n in enumerate(ensemble.names)} == expected
    table = pl.DataFrame(
        {
            "categorical": pl.Series(["u", None, "v", "u"], dtype=pl.Categorical),
            "enum": pl.Series(["u", None, "v", "u"], dtype=pl.Enum(["v", "u"])),
            "whole": pl.Series([4, None, 9, 4], dtype=pl.UInt8),
            "float": pl.Series([4.0, float("nan"), 9.0, None]),
            "truth": [True, None, False, True],
        }
    )
    read = Ensemble.from_labels(table)
    assert read.labels.T.tolist() == [
        [0, -2, 1, 0],
        [0, -2, 1, 0],
        [0, -2, 1, 0],
        [0, -2, 1, -2],
        [1, -2, 0, 1],
    ]
    assert Ensemble.from_labels([pl.Series(["a", None, "b"])]).labels[:, 0].tolist() == [0, -2, 1]


# -- what comes out -----------------------------------------------------------------------------


def three() -> Ensemble:
    return Ensemble.from_labels(
        {"km": [0, 0, 1], "expert": ["a", "b", "b"], "noisy": [0, -1, -2]},
        weights=[1, 2, 3],
        index=["x", "y", "z"],
    )


def test_a_partition_by_name_and_by_position():
    ensemble = three()
    for which in ("expert", 1, -2, np.int8(1)):
        assert ensemble[which].tolist() == ["a", "b", "b"]
        assert ensemble.partition(which).tolist() == ["a", "b", "b"]
    np.testing.assert_array_equal(ensemble.contingency("km", "expert"), ensemble.contingency(0, 1))
    with pytest.raises(KeyError, match="no partition called 'ward'; there are 'km', 'expert'"):
        ensemble["ward"]
    with pytest.raises(KeyError, match="no partition called 'ward'"):
        ensemble.contingency("km", "ward")
    for which in (3, -4):
        with pytest.raises(IndexError, match=f"no partition {which}; the ensemble has 3"):
            ensemble[which]
        with pytest.raises(IndexError, match=f"no partition {which}"):
            ensemble.partition(which)
    with pytest.raises(TypeError, match="by its position or name; got 0.5"):
        ensemble.partition(0.5)


@pytest.mark.parametrize(
    "which",
    [
        slice(0, None, 2),
        [0, 2],
        [0, -1],
        ["km", "noisy"],
        ["km", 2],
        np.array([0, 2]),
        np.array(["km", "noisy"]),
        pd.Index(["km", "noisy"]),
        [True, False, True],
        np.array([True, False, True]),
    ],
)
def test_slices_lists_and_masks_give_ensembles(which):
    some = three()[which]
    assert isinstance(some, Ensemble)
    assert some.names == ("km", "noisy")
    assert some.weights.tolist() == [1, 3]
    assert some == three().select(which)
    assert list(some.index) == ["x", "y", "z"]


def test_selections_that_mean_nothing():
    ensemble = three()
    assert ensemble.select("km").names == ("km",)
    assert ensemble.select(-1).names == ("noisy",)
    for which in (True, None, 0.5, [3], [True, False]):
        with pytest.raises(IndexError, match="which must be positions below 3, a slice, or a mask"):
            ensemble[which]
    with pytest.raises(IndexError, match=r"for points use ensemble\.subset"):
        ensemble[0, 1]
    with pytest.raises(KeyError, match="no partition called 'ward'"):
        ensemble[["km", "ward"]]
    with pytest.raises(ValueError, match="selects no partition"):
        ensemble[3:]


def test_it_is_a_collection_of_label_vectors():
    ensemble = three()
    assert len(ensemble) == 3
    assert "km" in ensemble
    assert "ward" not in ensemble
    assert 0 not in ensemble
    assert [list(v) for v in ensemble] == [[0, 0, 1], ["a", "b", "b"], [0, -1, -2]]
    assert repr(ensemble.select("km")) == "Ensemble(3 points, 1 partition with 2 clusters)"
    assert repr(Ensemble.from_labels([[0, 0]])) == "Ensemble(2 points, 1 partition with 1 cluster)"


def test_it_is_an_array_of_codes():
    ensemble = three()
    assert np.asarray(ensemble) is ensemble.labels
    assert np.asarray(ensemble).tolist() == [[0, 0, 0], [0, 1, -1], [1, 1, -2]]
    copied = np.array(ensemble)
    copied[0, 0] = 5
    assert ensemble.labels[0, 0] == 0
    assert np.asarray(ensemble, dtype=np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="int64 needs a copy"):
        ensemble.__array__(np.int64, copy=False)


@pytest.mark.parametrize(
    "use",
    [
        lambda e: np.asarray(e, dtype=float),
        lambda e: ConsensusClustering(n_clusters=2).fit(e),
        lambda e: EnsembleGenerator(n_clusters=2).generate(e),
        lambda e: BagClust(2).fit(e, features=e),
    ],
)
def test_labels_are_not_taken_for_features(use):
    votes = Ensemble.from_labels(np.random.default_rng(0).integers(0, 3, (30, 4)))
    with pytest.raises(TypeError, match="is an Ensemble, which holds labels and not features"):
        use(votes)


def test_concat_of_a_list_and_of_one_by_one():
    a = three()
    b = Ensemble.from_labels({"ward": [0, 1, 1], "km": [1, 1, 0]})
    joined = a.concat(b)
    assert joined.names == ("km", "expert", "noisy", "ward", "km.1")
    assert list(joined.index) == ["x", "y", "z"]
    for same in (
        Ensemble.concat([a, b]),
        Ensemble.concat(a, b),
        a.concat([b]),
        Ensemble.concat(e for e in (a, b)),
    ):
        assert same == joined
    assert Ensemble.concat([a]) == a
    with pytest.raises(ValueError, match="concat needs at least one ensemble"):
        Ensemble.concat([])
    with pytest.raises(TypeError, match="concat joins ensembles; got int"):
        a.concat(3)
    with pytest.raises(TypeError, match="concat joins ensembles; got ndarray"):
        Ensemble.concat(np.zeros((3, 2)))


# -- how many opinions --------------------------------------------------------------------------


def described(ensemble: Ensemble, i: int) -> Any:
    """Return a partition as a set that does not know the names of clusters."""
    codes = ensemble.labels[:, i]
    missing = tuple(np.minimum(codes, 0).tolist())
    if i in ensemble.soft:
        dense = ensemble.soft[i].toarray()
    else:
        dense = np.equal.outer(codes, range(int(ensemble.n_clusters[i]))).astype(float)
    return tuple(sorted(map(tuple, dense.T[dense.sum(axis=0) > 0].tolist()))), missing


def parts_of(ensemble: Ensemble) -> list[Any]:
    parts: list[Any] = list(ensemble)
    for i in ensemble.soft:
        parts[i] = ensemble.soft[i].toarray()
        parts[i][ensemble.labels[:, i] == -2] = np.nan
    return parts


@given(ensembles(max_points=4, max_partitions=8), st.data())
def test_equal_partitions_are_found(ensemble, data):
    order = data.draw(st.permutations(range(4)))
    renamed = [
        ensemble.soft[i][:, ::-1].toarray()
        if i in ensemble.soft
        else [order[c] if c >= 0 else c for c in ensemble.labels[:, i].tolist()]
        for i in range(ensemble.n_partitions)
    ]
    for i in ensemble.soft:
        renamed[i][ensemble.labels[:, i] == -2] = np.nan
    both = Ensemble.from_labels([*parts_of(ensemble), *renamed], orient="rows")
    first, groups = both.distinct()
    texts = [described(both, i) for i in range(both.n_partitions)]
    assert len(set(texts)) == first.size
    for i, text in enumerate(texts):
        assert first[groups[i]] == texts.index(text)
    seen = {t for i, t in enumerate(texts) if (both.labels[:, i] != -2).any()}
    assert both.n_distinct == ensemble.n_distinct == len(seen)


def test_identical_partitions_count_as_one():
    same = [[0, 0, 1, 1], [1, 1, 0, 0], ["b", "b", "a", "a"], np.eye(2)[[0, 0, 1, 1]]]
    assert Ensemble.from_labels(same).n_distinct == 1
    failed = Ensemble.from_labels([*same, [-2] * 4])
    assert failed.n_distinct == 1
    assert Ensemble.from_labels([[-2, -2]]).n_distinct == 0
    other = Ensemble.from_labels([*same, [0, 0, 0, 1]])
    assert other.n_distinct == 2
    assert other.with_weights(weights=[1, 1, 1, 1, 0]).n_distinct == 1
    for changed in ([0, 0, 1, -1], [0, 0, 1, -2], [0, 0, 1, 2]):
        assert Ensemble.from_labels([[0, 0, 1, 1], changed]).n_distinct == 2
    assert Ensemble.from_labels([[0, 0, 1, -1], [0, 0, 1, 2]]).n_distinct == 2


# -- indexes that disagree ----------------------------------------------------------------------


SHUFFLED = [3, 1, 2, 0]


def test_row_numbers_in_another_order_are_not_joined_by_position():
    a = pd.Series([0, 0, 1, 1], index=SHUFFLED)
    b = pd.Series([0, 1, 1, 1])
    for pair in ([a, b], [b, a], [b, [0, 0, 1, 1], a]):
        with pytest.raises(ValueError, match=r"at row 0 one has 3 and another 0.*to_numpy\(\)"):
            Ensemble.from_labels(pair)
    with pytest.raises(ValueError, match="different indexes"):
        compare.adjusted_rand(a, b)
    aligned = compare.adjusted_rand(a.sort_index(), b)
    assert compare.adjusted_rand(a, b.loc[a.index]) == pytest.approx(aligned)
    whole = Ensemble.from_labels(b.to_frame("b"))
    assert whole.index is None
    with pytest.raises(ValueError, match="different point ids: at row 0 one has 3"):
        whole.add(a)
    with pytest.raises(ValueError, match=r"different point ids.*with_index\(None\)"):
        Ensemble.from_labels([a]).concat(whole.select(["b"]))
    with pytest.raises(ValueError, match="different point ids"):
        Ensemble.concat([whole, Ensemble.from_labels([[0, 0, 1, 1]]), Ensemble.from_labels([a])])
    # A part has other row numbers than the whole, so that it has none.
    assert whole.subset([2, 0, 1]).add(pd.Series([0, 1, 1], index=[1, 0, 2])).n_partitions == 2


def test_row_numbers_join_by_position_with_ids_and_with_arrays():
    numbers, plain = pd.Series([0, 0, 1, 1], index=SHUFFLED), [0, 1, 1, 1]
    assert list(Ensemble.from_labels([numbers, plain]).index) == SHUFFLED
    assert list(Ensemble.from_labels([plain]).add(numbers).index) == SHUFFLED
    named = pd.Series(plain, index=list("wxyz"))
    other = pd.Series(plain, index=[10, 12, 11, 13])
    pairs = pd.Series(plain, index=pd.MultiIndex.from_product([[0, 1], [0, 1]]))
    for ids in (named, other, pairs):
        assert Ensemble.from_labels([pd.Series(plain), ids]).index.equals(ids.index)
        assert Ensemble.from_labels([ids]).concat(whole_of(plain)).index.equals(ids.index)
    assert Ensemble.from_labels([pd.Series(plain)]).with_index(range(4)).index is None


def whole_of(labels: list[int]) -> Ensemble:
    return Ensemble.from_labels(pd.DataFrame({"x": labels}))


def test_features_in_another_order_are_refused_by_measures_and_methods():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 10)
    X = rng.normal(size=(20, 2)) + 8 * truth[:, None]
    labels = np.column_stack([truth, rng.permutation(truth), truth])
    order = rng.permutation(20)
    for ids in (np.array([f"p{i}" for i in range(20)]), np.arange(20)):
        frame = pd.DataFrame(labels, index=ids).add_prefix("m")
        given = Ensemble.from_labels(frame)
        right, wrong = pd.DataFrame(X, index=ids), pd.DataFrame(X, index=ids).iloc[order]
        turned = Ensemble.from_labels(frame.iloc[order])
        for ensemble, features in ((given, wrong), (turned, right)):
            for use in (
                lambda e, f: compare.pairwise(e, "cc_distance", features=f),
                lambda e, f: IKL(2, random_state=0).fit(e, features=f),
                lambda e, f: LiftKM(2, random_state=0).fit(e, features=f),
                lambda e, f: BagClust(2).fit(e, features=f),
                lambda e, f: ConsensusClustering(2, consensus=IKL(2)).fit_ensemble(e, features=f),
            ):
                with pytest.raises(ValueError, match=r"features and the .*features\.loc\[index\]"):
                    use(ensemble, features)
        # An array says nothing of the order, and neither do labels without an index.
        assert IKL(2, random_state=0).fit(given, features=wrong.to_numpy()).n_clusters_ == 2
        assert IKL(2, random_state=0).fit(labels, features=right).n_clusters_ == 2
        assert IKL(2, random_state=0).fit(given, features=right).n_clusters_ == 2


def test_views_and_generated_ensembles_remember_row_numbers():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 2)))
    turned = X.sample(frac=1, random_state=0)
    make = EnsembleGenerator(3, algorithm="kmeans", n_clusters=2, random_state=0)
    with pytest.raises(ValueError, match=r"X\[1\] and X\[0\] have different ids, at row 0"):
        make.generate([X, turned])
    ensemble = make.generate(X)
    assert ensemble.index is None
    with pytest.raises(ValueError, match="features and the partitions have different indexes"):
        IKL(2, random_state=0).fit(ensemble, features=turned)
    with pytest.raises(ValueError, match="features and the partitions have different indexes"):
        IKL(2, random_state=0).fit(make.generate(turned), features=X)


# -- features that cannot be read -----------------------------------------------------------------


def test_columns_of_one_name_get_a_sentence():
    rng = np.random.default_rng(0)
    twice = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "a", "b"])
    labels = rng.integers(0, 2, size=(20, 3))
    for use in (
        ConsensusClustering(3).fit,
        ClusterForest(3).fit,
        structure_test,
        lambda X: IKL(2).fit(labels, features=X),
        lambda X: LiftKM(2).fit(labels, features=X),
        lambda X: BagClust(2).fit(labels, features=X),
        lambda X: compare.cc_distance(labels[:, 0], labels[:, 1], features=X),
        lambda X: compare.lift_emd(labels[:, 0], labels[:, 1], features=X),
    ):
        with pytest.raises(ValueError, match=r"has 2 columns named 'a'.*to_numpy\(\)"):
            use(twice)
    # By position there is no doubt.
    kept = ConsensusClustering(2, n_partitions=3, n_references=0, random_state=0)
    assert kept.fit(twice.to_numpy()).n_clusters_ == 2


@pytest.mark.parametrize("unit", [1e200, 1e306, 1e-200])
@pytest.mark.parametrize("generator", ["random_k", "diverse"])
def test_values_without_squares_are_refused_before_any_work(unit, generator, tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 3)) * unit
    store = tmp_path / "store"
    model = ConsensusClustering(3, generator=generator, n_references=0, store=str(store))
    with pytest.raises(ValueError, match="^X has values up to .* float64; scale the columns first"):
        model.fit(X)
    assert not store.exists()
    with pytest.raises(ValueError, match="^X has values up to .* scale the columns first"):
        nearest_neighbors(X, 3)


def test_new_points_without_squares_are_refused_and_zeros_are_not():
    X = np.random.default_rng(1).normal(size=(30, 2))
    model = ConsensusClustering(2, n_partitions=3, n_references=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X has values up to 1e\+200"):
        model.predict([[1e200, 0.0]])
    assert model.predict([[0.0, 1e-200]]) == model.predict([[0.0, 0.0]])


# -- clusterings that look like ids ---------------------------------------------------------------


@pytest.mark.parametrize("labels", [["-1", "a", "b"], list("abcd"), list(range(12))])
def test_points_on_their_own_are_written_and_read_again(labels, tmp_path):
    file = tmp_path / "labels.csv"
    written = Ensemble.from_labels([labels, [0] * len(labels)])
    written.to_csv(file)
    for read in (Ensemble.from_csv(file), read_labels(file)):
        assert read.names == ("p0", "p1")
        np.testing.assert_array_equal(read.labels, written.labels)
    # Under a name of its own such a column may be ids, and the message says what to do.
    Ensemble.from_labels({"x": labels}).to_csv(file)
    with pytest.raises(
        ValueError, match=r"if every point is a cluster of its own, columns=\['x'\]"
    ):
        Ensemble.from_csv(file)
    named = Ensemble.from_csv(file, columns=["x"])
    np.testing.assert_array_equal(named.labels, written.labels[:, :1])


def test_a_partition_called_id_is_not_written_as_the_ids(tmp_path):
    with pytest.raises(ValueError, match="a partition is called 'id'.* use to_npz"):
        Ensemble.from_labels({"id": [0, 0, 1]}).to_csv(tmp_path / "labels.csv")


@pytest.mark.parametrize(
    ("rows", "kind"), [(9, "numbers"), (10, "numbers"), (2, "text"), (3, "text")]
)
def test_from_how_many_rows_a_column_looks_like_ids(rows, kind):
    gene = [7 * i + 3 for i in range(rows)]
    frame = pd.DataFrame({"gene": gene if kind == "numbers" else list(map(str, gene))})
    frame["k"] = [0, 0, *[1] * (rows - 2)]
    if rows in (9, 2):
        assert Ensemble.from_labels(frame).names == ("gene", "k")
    else:
        with pytest.raises(ValueError, match="'gene' is different in every row"):
            Ensemble.from_labels(frame)


def test_the_text_that_numpy_makes_of_nan_is_a_cluster_with_a_warning():
    made = np.array(["a", "b", np.nan])
    with pytest.warns(UserWarning, match="the text 'nan' is a cluster.*give None"):
        assert Ensemble.from_labels([made]).n_clusters.tolist() == [3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = Ensemble.from_labels([["a", "b", None], ["a", "b", float("nan")]])
    assert known.labels[2].tolist() == [-2, -2]
