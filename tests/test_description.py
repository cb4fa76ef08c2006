"""describe_clusters: effects against pairs counted one by one, words, halves, missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from clusterscape import ConsensusClustering
from clusterscape.plot import DescriptionDisplay
from clusterscape.validate import describe_clusters
from clusterscape.validate.description import dominance


def by_pairs(values: np.ndarray, inside: np.ndarray) -> float:
    """Cliff's delta by its definition."""
    ours, others = values[inside], values[~inside]
    ours, others = ours[~np.isnan(ours)], others[~np.isnan(others)]
    if not ours.size or not others.size:
        return 0.0
    return float(np.sign(ours[:, None] - others[None, :]).mean())


@given(
    hnp.arrays(np.float64, (12, 2), elements=st.sampled_from([0.0, 1.0, 2.5, -3.0, np.nan])),
    hnp.arrays(np.int64, 12, elements=st.integers(-1, 2)),
)
def test_effects_are_differences_of_pairs(values: np.ndarray, labels: np.ndarray) -> None:
    found = dominance(values, labels, 3)
    for c in range(3):
        for j in range(2):
            assert found[c, j] == pytest.approx(by_pairs(values[:, j], labels == c), abs=1e-12)


def blobs(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], n)
    X = rng.normal(size=(3 * n, 6))
    X[labels == 1, 2] += 6.0
    X[labels == 2, 4] -= 6.0
    return X, labels


def test_the_planted_columns_are_found() -> None:
    X, labels = blobs()
    table = describe_clusters(X, labels, n_columns=1).table.set_index("cluster")
    assert table.loc[1, "column"] == "column 2"
    assert table.loc[1, "effect"] > 0.95
    assert table.loc[2, "column"] == "column 4"
    assert table.loc[2, "effect"] < -0.95
    assert table.loc[2, "inside"] == pytest.approx(-6.0, abs=0.6)


def test_effects_of_noise_are_those_of_points_held_back() -> None:
    # The largest of 400 effects on the choosing half is far from 0; on the other half it is not.
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(60, 400)), np.repeat([0, 1], 30)
    found = describe_clusters(X, labels, n_columns=20)
    assert found.held_back.all()
    assert abs(found.table["effect"].mean()) < 0.15
    chosen = np.abs(dominance(X, labels, 2)).max()
    assert chosen > 0.35


def test_words_booleans_and_missing_values() -> None:
    table = pd.DataFrame(
        {
            "town": (["Bonn"] * 8 + [None] * 2 + ["Ulm"] * 10) * 2,
            "member": ([True] * 10 + [False] * 10) * 2,
            "age": np.r_[np.full(10, np.nan), np.arange(10.0), np.full(20, np.nan)],
        }
    )
    labels = ([0] * 10 + [1] * 10) * 2
    rows = describe_clusters(table, labels, n_columns=9).table
    mine = rows[rows["cluster"] == 0].set_index(["column", "value"])
    assert mine.loc[("town", "Bonn"), "effect"] == pytest.approx(1.0)
    assert mine.loc[("member", "True"), "inside"] == 1.0
    assert mine.loc[("member", "True"), "outside"] == 0.0
    assert "age" not in set(rows["column"])  # nothing known of it in cluster 0


def test_sparse_columns_equal_dense_ones() -> None:
    X, labels = blobs(20)
    X[np.abs(X) < 0.5] = 0.0
    dense = describe_clusters(X, labels)
    thin = describe_clusters(sparse.csr_array(X), labels)
    pd.testing.assert_frame_equal(dense.table, thin.table)


def test_small_clusters_are_measured_where_they_were_chosen() -> None:
    found = describe_clusters([[0.0], [1.0], [9.0]], [0, 0, 1])
    assert not found.held_back.any()
    assert found.sentences()[1] == "Cluster 1 (1 point): column 0 higher (9, elsewhere 0.5)."


def test_a_small_cluster_does_not_make_the_others_use_points_twice() -> None:
    # Noise: an effect on 15 and 17 other points is 0.165 in the mean, on those that chose 0.36.
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(65, 400)), np.repeat([0, 1, 2], [30, 30, 5])
    found = describe_clusters(X, labels, n_columns=20)
    assert found.held_back.tolist() == [True, True, False]
    chosen = dominance(X, labels, 3)
    for c in (0, 1):
        rows = found.table[found.table["cluster"] == c]
        assert rows["effect"].abs().mean() < 0.65 * np.sort(np.abs(chosen[c]))[-20:].mean()
    # The small one is told by all points, as they choose.
    rows = found.table[found.table["cluster"] == 2]
    best = np.argsort(-np.abs(chosen[2]), kind="stable")[:20]
    assert rows["effect"].abs().to_numpy() == pytest.approx(np.abs(chosen[2][best]))


def test_one_cluster_has_nothing_to_differ_from() -> None:
    found = describe_clusters(np.eye(4), np.zeros(4, dtype=int))
    assert found.table.empty
    assert found.sentences() == ["Cluster 0 (4 points): nothing tells it apart."]


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one entry for each of the 4 rows"):
        describe_clusters(np.eye(4), [0, 1])


def test_a_model_describes_other_columns_than_it_saw() -> None:
    X, labels = blobs(20)
    model = ConsensusClustering(3, n_partitions=10, n_references=0, random_state=0).fit(X)
    words = pd.DataFrame({"kind": np.array(["a", "b", "c"])[labels]})
    rows = model.describe(words, n_columns=1).table
    assert (rows["effect"].abs() > 0.9).all()


def test_of_many_columns_those_with_different_means_are_ranked() -> None:
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(90, 3000)), np.repeat([0, 1, 2], 30)
    X[labels == 1, 2500] += 4.0
    X[::7, 2500] = np.nan
    thin = sparse.csr_array(np.where(np.abs(np.nan_to_num(X)) > 1.0, np.nan_to_num(X), 0.0))
    for columns in (X, thin):
        table = describe_clusters(columns, labels, n_columns=1).table.set_index("cluster")
        assert table.loc[1, "column"] == "column 2500"


def test_odd_columns_and_labels_have_their_answers() -> None:
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=20),
            "nothing": [None] * 20,
            "mass": [np.inf, *range(19)],
            "kind": pd.Categorical(["a"] * 10 + ["b"] * 10),
        }
    )
    rows = describe_clusters(frame, [0] * 10 + [1] * 10).table
    assert set(rows["column"]) == {"mass", "kind"}
    assert describe_clusters(frame[["nothing"]], [0] * 10 + [1] * 10).table.empty
    with pytest.raises(ValueError, match="labels must be integers"):
        describe_clusters(frame, list("ab") * 10)


def test_columns_that_are_mostly_zero_are_described_by_who_has_them() -> None:
    X = sparse.csr_matrix(np.r_[np.ones(8), np.zeros(12), np.ones(2), np.zeros(18)][:, None])
    found = describe_clusters(X, np.repeat([0, 1], 20), n_columns=1, names=["word"])
    row = found.table.iloc[0]
    assert (row["column"], row["measure"]) == ("word", "present")
    assert (row["inside"], row["outside"]) == (0.4, 0.1)
    assert "word not 0 for 40%, elsewhere 10%" in found.sentences()[0]
    with pytest.raises(ValueError, match="names has 2 entries for 1 columns"):
        describe_clusters(X, np.repeat([0, 1], 20), names=["a", "b"])


@pytest.mark.parametrize("ids", [[f"p{i}" for i in range(20)], range(20)])
def test_rows_in_another_order_than_the_fit_are_refused(ids) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, (10, 2)) for c in (0, 5)])
    frame = pd.DataFrame(X, columns=["a", "b"], index=pd.Index(ids))
    model = ConsensusClustering(2, n_partitions=5, n_references=0, random_state=0).fit(frame)
    right = model.describe(frame).table
    shuffled = frame.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=r"in the order of the fit, X\.loc\[") as caught:
        model.describe(shuffled)
    first = shuffled.index.tolist()[0]
    assert f"row 0 of X is {first!r}, and the fit had {ids[0]!r} there" in str(caught.value)
    pd.testing.assert_frame_equal(model.describe(shuffled.loc[list(ids)]).table, right)
    # An index that counts the rows says nothing of other ids.
    pd.testing.assert_frame_equal(model.describe(frame.reset_index(drop=True)).table, right)
    model.describe(shuffled.to_numpy())  # without an index, by position


def test_labels_of_rows_in_another_order_are_refused() -> None:
    X, labels = blobs(10)
    table = pd.DataFrame(X, index=[f"p{i}" for i in range(30)])
    given = pd.Series(labels, index=table.index)
    right = describe_clusters(table, given).table
    with pytest.raises(ValueError, match=r"labels\.loc\[X\.index\]") as caught:
        describe_clusters(table, given.iloc[::-1])
    assert "row 0 of X is 'p0', and of labels 'p29'" in str(caught.value)
    # An index that counts the rows says nothing of other ids, and an array has none.
    pd.testing.assert_frame_equal(describe_clusters(table, pd.Series(labels)).table, right)
    pd.testing.assert_frame_equal(describe_clusters(table, labels).table, right)
    with pytest.raises(ValueError, match="different indexes"):
        DescriptionDisplay.from_predictions(table, given.iloc[::-1])
    model = ConsensusClustering(3, n_partitions=5, n_references=0, random_state=0).fit(table)
    with pytest.raises(ValueError, match="in the order of the fit"):
        DescriptionDisplay.from_estimator(model, table.iloc[::-1])


def test_the_given_numbers_are_not_changed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 2)), columns=["a", "b"])
    frame.loc[0, "a"] = 1e200
    before = frame.copy()
    describe_clusters(frame, np.repeat([0, 1], 6))
    pd.testing.assert_frame_equal(frame, before)
