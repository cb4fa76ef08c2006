"""Constraints: closure, contradictions, counts and products, against pairs written out."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from clusterscape.semisupervised import Constraints, ContradictionError, COPKMeans


@st.composite
def constraint_sets(draw, *, max_points=8, consistent=True):
    """Small sets of labels and pairs; consistent ones agree with some planted classes."""
    n = draw(st.integers(2, max_points))
    truth = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    pairs = draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.booleans()), max_size=8)
    )
    must, cannot = [], []
    for i, j, flip in pairs:
        if i != j:
            together = (truth[i] == truth[j]) if consistent else flip
            (must if together else cannot).append((i, j))
    known = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    labels = [t if k else -1 for t, k in zip(truth, known, strict=True)]
    return n, must, cannot, labels, np.array(truth)


def written_out(n, must, cannot, labels):
    """Return the certain pairs as a set of must-links and one of cannot-links."""
    together = {tuple(sorted(p)) for p in must}
    apart = {tuple(sorted(p)) for p in cannot}
    for i, j in itertools.combinations(range(n), 2):
        if labels[i] >= 0 and labels[j] >= 0:
            (together if labels[i] == labels[j] else apart).add((i, j))
    return together, apart


def satisfiable(n, together, apart) -> bool:
    """Say whether any partition respects the pairs, by looking at all of them."""
    for labels in itertools.product(range(n), repeat=n):
        if all(labels[i] == labels[j] for i, j in together) and all(
            labels[i] != labels[j] for i, j in apart
        ):
            return True
    return False


def build(n, must, cannot, labels):
    """Return the constraints of pairs and labels together."""
    made = Constraints(n, must_link=must or None, cannot_link=cannot or None)
    return made.merge(Constraints.from_labels(labels))


@given(constraint_sets())
def test_closure_is_what_the_pairs_imply(case) -> None:
    n, must, cannot, labels, truth = case
    made = build(n, must, cannot, labels)
    together, apart = written_out(n, must, cannot, labels)
    reach = np.eye(n, dtype=bool)
    for i, j in together:
        reach[i, j] = reach[j, i] = True
    for middle in range(n):
        reach |= reach[:, [middle]] & reach[[middle], :]
    component = made.closure.component
    assert (reach == (component[:, None] == component[None, :])).all()
    excluded = made.closure.exclusions().toarray() > 0
    wanted = np.zeros_like(excluded)
    for i, j in apart:
        wanted[component[i], component[j]] = wanted[component[j], component[i]] = True
    assert (excluded == wanted).all()
    left, right = np.indices(wanted.shape).reshape(2, -1)
    assert (made.closure.excludes(left, right) == wanted.ravel()).all()
    assert made.violations(truth).count == 0
    assert made.closure.least_clusters() <= len(set(truth.tolist()))


@settings(max_examples=60)
@given(constraint_sets(max_points=4, consistent=False))
def test_contradictions_are_found_and_named(case) -> None:
    n, must, cannot, labels, _ = case
    together, apart = written_out(n, must, cannot, labels)
    if satisfiable(n, together, apart):
        build(n, must, cannot, labels)
        return
    with pytest.raises(ContradictionError, match="cannot be together") as caught:
        build(n, must, cannot, labels)
    error = caught.value
    assert tuple(sorted(error.pair)) in apart
    assert (error.chain[0], error.chain[-1]) == error.pair
    for link in itertools.pairwise(error.chain):
        assert tuple(sorted(link)) in together
    assert error.count >= 1


def test_a_contradiction_of_unsure_constraints_is_allowed() -> None:
    made = Constraints(3, must_link=[(0, 1)], cannot_link=[(0, 1)], cannot_weight=0.4)
    assert made.closure.n_components == 2
    assert made.violations([0, 0, 1]).weight == pytest.approx(0.4)
    with pytest.raises(ContradictionError, match=r"\(ann - bob\)"):
        Constraints(2, must_link=[(0, 1)], cannot_link=[(0, 1)], index=["ann", "bob"])


@given(constraint_sets(), st.data())
def test_violations_and_counts_equal_those_of_the_pairs(case, data) -> None:
    n, must, cannot, labels, _ = case
    made = Constraints.from_labels(labels)
    assume(len(made))
    found = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    together, apart = written_out(n, [], [], labels)
    assert (made.n_must_link, made.n_cannot_link) == (len(together), len(apart))

    def same(i, j):
        return found[i] == found[j] >= 0

    split = {p for p in together if not same(*p)}
    mixed = {p for p in apart if same(*p)}
    seen = made.violations(found)
    assert {tuple(p) for p in seen.must_pairs.tolist()} == split
    assert {tuple(p) for p in seen.cannot_pairs.tolist()} == mixed
    assert (seen.must_link, seen.cannot_link) == (len(split), len(mixed))
    assert seen.satisfied == pytest.approx(1 - (len(split) + len(mixed)) / len(made))


def test_pairs_with_a_point_that_was_not_seen_count_on_neither_side() -> None:
    made = Constraints.from_labels([0, 0, 0, 1, 1]).merge(
        Constraints(5, cannot_link=[(0, 4)], cannot_weight=0.5)
    )
    seen = made.violations([0, 0, -2, 0, -2])
    assert seen.must_pairs.tolist() == []
    assert seen.cannot_pairs.tolist() == [[0, 3], [1, 3]]
    assert (seen.weight, seen.total_weight) == (2.0, 3.0)
    assert made._tally([0, 0, -2, 0, -2]).count == seen.count
    # Noise was seen, and is with nobody.
    assert made.violations([0, -1, -2, 1, -2]).must_pairs.tolist() == [[0, 1]]


def test_few_violations_among_many_labels_are_listed_at_once() -> None:
    labels = np.arange(100_000) % 2
    labels[-10:] = 2
    found = labels.copy()
    found[-1] = 3
    made = Constraints.from_labels(labels)
    begun = time.process_time()
    seen = made.violations(found)
    assert time.process_time() - begun < 1.0
    assert seen.must_pairs.tolist() == [[i, 99_999] for i in range(99_990, 99_999)]
    assert len(seen.cannot_pairs) == 0


@given(constraint_sets(), st.integers(0, 2**31))
def test_products_equal_those_with_the_pairs_written_out(case, seed) -> None:
    n, must, cannot, labels, _ = case
    rng = np.random.default_rng(seed)
    soft = rng.uniform(0.1, 1.0, size=len(must))
    made = Constraints(
        n, must_link=must or None, cannot_link=cannot or None, must_weight=soft if must else None
    ).merge(Constraints.from_labels(labels, weight=0.5))
    Z = sparse.random(n, 4, density=0.6, random_state=rng, format="csr")
    dense = Z.toarray()
    # A pair that is both given and implied by labels counts twice, here as in the products.
    pairs = Constraints._of(n, made.must, made.cannot, [], None).matrix().toarray()
    classes = Constraints.from_labels(labels, weight=0.5).matrix().toarray()
    parts = {
        "must": np.maximum(pairs, 0) + np.maximum(classes, 0),
        "cannot": np.maximum(-pairs, 0) + np.maximum(-classes, 0),
    }
    for link, W in parts.items():
        L = np.diag(W.sum(axis=1)) - W
        assert np.allclose(made.laplacian_product(Z, link), dense.T @ L @ dense)
        assert np.allclose(made.laplacian_apply(dense, link), L @ dense)
    Q = pairs + classes
    assert np.allclose(made.matrix().toarray(), Q)
    assert np.allclose(made.signed_product(Z), dense.T @ Q @ dense)


def test_many_labels_take_no_pairs() -> None:
    rng = np.random.default_rng(0)
    labels = np.full(200_000, -1)
    chosen = rng.choice(200_000, 100_000, replace=False)
    labels[chosen] = rng.integers(0, 10, 100_000)
    made = Constraints.from_labels(labels)
    assert len(made) == 100_000 * 99_999 // 2
    flipped = labels.copy()
    flipped[chosen[0]] = (flipped[chosen[0]] + 1) % 10
    sizes = np.bincount(labels[labels >= 0])
    seen = made.violations(np.where(flipped < 0, 0, flipped))
    assert seen.must_link == sizes[labels[chosen[0]]] - 1
    assert seen.cannot_link == sizes[flipped[chosen[0]]]
    assert len(seen.must_pairs) == 1000


def test_matrix_and_file_give_back_the_constraints(tmp_path) -> None:
    made = Constraints(4, must_link=[(0, 1), (1, 0)], cannot_link=[(3, 0)], must_weight=[0.3, 0.6])
    again = Constraints.from_matrix(made.matrix())
    assert (again.must.ends == [[0, 1]]).all()
    assert again.must.weight == pytest.approx([0.6])
    assert (again.cannot.ends == [[0, 3]]).all()
    file = tmp_path / "pairs.csv"
    file.write_text("a,b,link,weight\nx,y,must,0.6\nz, x,cannot,1\n")
    read = Constraints.from_csv(file, index=["x", "y", "w", "z"])
    assert (read.matrix() != made.matrix()).nnz == 0
    file.write_text("a,b\n0,1\n")
    assert Constraints.from_csv(file, n_points=2, link="cannot").n_cannot_link == 1
    file.write_text("p,c,weight\n0,red,0.5\n1,blue,0.5\n0,red,0.5\n2,,0.1\n")
    classes = Constraints.from_csv(file, n_points=3, link="labels")
    assert (classes.n_cannot_link, classes.label_sets[0].weight) == (1, 0.5)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n0,1\n", {"n_points": 2}, "no column 'link'"),
        ("a,b,link\n0,1,maybe\n", {"n_points": 2}, "row 2 has the link 'maybe'"),
        ("a,b,link\n0,9,must\n", {"n_points": 2}, "row 2 has '9'"),
        ("a,b,link\nx,q,must\n", {"index": ["x", "y"]}, "'q', which is not in the data"),
        ("a,b,link,weight\n0,1,must,2\n", {"n_points": 2}, r"weight 2 is not in \(0, 1\]"),
        ("a\n0\n", {"n_points": 2}, "two columns"),
        ("a,b\n0,1\n", {"n_points": 2, "link": "ml"}, "link must be .*'must'.*got 'ml'"),
        (
            "a,b,link\n0,1,must\n",
            {"n_points": 2, "link": "labels"},
            "has a column 'link', as files of pairs have",
        ),
        (
            "p,c\nx,red\ny,red\nx,blue\n",
            {"index": ["x", "y"], "link": "labels"},
            "the point x has two classes, 'red' and 'blue'",
        ),
        (
            "p,c,weight\n0,red,0.5\n1,red,1\n",
            {"n_points": 2, "link": "labels"},
            "values from 0.5 to 1",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path, text, options, message) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        Constraints.from_csv(file, **options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"must_link": [(0, 0)]}, "with itself"),
        ({"must_link": [(0, 5)]}, "names the point 5"),
        ({"must_link": [(0, 1, 2)]}, r"shape \(m, 2\)"),
        ({"cannot_link": [(0, 1)], "cannot_weight": 0.0}, "weight 0"),
        ({"cannot_link": [(0, 1)], "cannot_weight": [1, 1]}, "2 weights"),
        ({"must_link": [(0, 1)], "must_weight": [[1]]}, r"weights of shape \(1, 1\)"),
        ({"must_link": [(0, 1), (1,)]}, "rows of different lengths"),
    ],
)
def test_bad_pairs_are_refused(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        Constraints(3, **settings)


def test_a_matrix_without_values_is_refused_by_its_own_name() -> None:
    with pytest.raises(ValueError, match=r"Q has nan at \(0, 1\)"):
        Constraints.from_matrix(np.array([[0.0, np.nan], [0.0, 0.0]]))


def test_split_divides_without_loss() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 40)
    made = Constraints.from_labels(labels).merge(
        Constraints(40, must_weight=0.5, must_link=[(0, 1)])
    )
    kept, held = made.split(0.3, random_state=0)
    points = [c.label_sets[0].points for c in (kept, held)]
    assert sorted(np.concatenate(points)) == list(range(40))
    assert 4 < points[1].size < 22
    assert kept.n_must_link + held.n_must_link < made.n_must_link
    with pytest.raises(ValueError, match="merged"):
        made.merge(Constraints(3))


def test_a_file_without_a_header_is_refused(tmp_path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("0,25\n")
    with pytest.raises(ValueError, match="put a row of names before it"):
        Constraints.from_csv(file, n_points=40, link="must")
    file.write_text("ann,bob\ncid,bob\n")
    with pytest.raises(ValueError, match="put a row of names before it"):
        Constraints.from_csv(file, index=["ann", "bob", "cid"], link="must")


def test_more_clusters_than_groups_of_points() -> None:
    X = [[0.0, 0.5], [0.4, -0.6], [0.2, 0.9], [-0.9, -0.7]]
    known = Constraints(4, must_link=[(1, 2), (1, 3)])
    labels = COPKMeans(4, random_state=0).fit(X, constraints=known).labels_
    assert labels[1] == labels[2] == labels[3] != labels[0]


@pytest.mark.parametrize("n", [2.5, 0, True, "4"])
def test_the_number_of_points_is_a_positive_integer(n: object) -> None:
    with pytest.raises((TypeError, ValueError), match="n_points"):
        Constraints(n)
    with pytest.raises((TypeError, ValueError), match="n_points"):
        Constraints.from_csv("none.csv", n_points=n, link="must")  # refused before it is read


def test_files_that_hold_no_table_are_refused_in_our_words(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(ValueError, match="is empty; it needs a header.*one pair per line"):
        Constraints.from_csv(empty, n_points=3, link="must")
    with pytest.raises(ValueError, match="is empty; it needs a header.*one point per line"):
        Constraints.from_csv(empty, n_points=3, link="labels")
    narrow = tmp_path / "narrow.csv"
    narrow.write_text("a\n0\n")
    with pytest.raises(ValueError, match="separate a point and its class by a comma"):
        Constraints.from_csv(narrow, n_points=3, link="labels")
    holes = tmp_path / "holes.csv"
    holes.write_text("a,b\n0,1\n0,\n")
    with pytest.raises(ValueError, match="row 3 has an empty cell"):
        Constraints.from_csv(holes, n_points=3, link="must")
    table = tmp_path / "table.csv"
    table.write_text("id,height,class\n0,1,u\n1,1.75,v\n")
    with pytest.raises(
        ValueError, match=r"row 3, column 'height': 1\.75 is no class; the first two"
    ):
        Constraints.from_csv(table, n_points=3, link="labels")
    with pytest.raises(
        FileNotFoundError, match="there is no file none.csv; name a CSV file with a"
    ):
        Constraints.from_csv("none.csv", n_points=3, link="must")
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n0,1\n0,1,2,3\n")
    with pytest.raises(ValueError, match=r"ragged\.csv is no table of pairs"):
        Constraints.from_csv(ragged, n_points=3, link="must")


def test_the_mean_degree_is_that_of_the_matrix() -> None:
    known = Constraints(9, must_link=[(0, 1)], cannot_link=[(1, 2), (0, 8)], cannot_weight=0.5)
    known = known.merge(Constraints.from_labels([-1, -1, -1, 0, 0, 1, 1, 1, -1]))
    Q = known.matrix().toarray()
    size = known.points.size
    assert known.mean_degree("must") == pytest.approx(np.maximum(Q, 0).sum() / size)
    assert known.mean_degree("cannot") == pytest.approx(np.maximum(-Q, 0).sum() / size)
    assert Constraints(3).mean_degree("must") == 0


def test_rows_longer_than_the_header_are_refused(tmp_path: Path) -> None:
    """Read as pandas reads it, the first column would be row names, and the pairs others."""
    file = tmp_path / "pairs.csv"
    file.write_text("first,second\n0,1,5\n1,3,5\n")
    with pytest.raises(ValueError, match="rows have more columns than the header has names"):
        Constraints.from_csv(file, n_points=6, link="must")


def test_rows_without_a_class_count_in_messages(tmp_path: Path) -> None:
    file = tmp_path / "classes.csv"
    file.write_text("point,class,weight\na,,1\nzz,red,1\n")
    with pytest.raises(ValueError, match="row 3 names the point 'zz'"):
        Constraints.from_csv(file, index=["a", "b"], link="labels")
    file.write_text("point,class,weight\na,,1\nb,red,sure\n")
    with pytest.raises(ValueError, match="row 3 has no number in the column 'weight'"):
        Constraints.from_csv(file, index=["a", "b"], link="labels")


def test_violations_are_counted_for_labels_of_any_kind() -> None:
    known = Constraints.from_labels([0, 0, 1, 1])
    assert known.violations(["a", "b", "b", "b"]).count == known.violations([0, 1, 1, 1]).count == 3
    assert known.violations(np.array([0.0, np.nan, 1.0, 1.0])).count == 0  # a point not seen


def test_the_share_held_back_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"share must be a number in \[0, 1\]; got 2"):
        Constraints.from_labels([0, 1]).split(2)


def test_the_same_labels_merged_count_once() -> None:
    known = Constraints.from_labels([0, 0, 1, 1, -1])
    same = known.merge(Constraints.from_labels(["b", "b", "c", "c", None]))
    assert (same.matrix() != known.matrix()).nnz == 0
    assert same.n_must_link == known.n_must_link
    with pytest.raises(TypeError, match="others must be Constraints"):
        known.merge([0, 0, 1, 1, -1])
    more = known.merge(Constraints.from_labels([0, 0, 1, 1, 1]))
    assert more.n_must_link == known.n_must_link + 4


@pytest.mark.parametrize(
    "make",
    [
        lambda names: Constraints(5, must_link=[(0, 4)], index=names),
        lambda names: Constraints.from_labels([0, 0, 1, 1, -1], index=names),
        lambda names: Constraints.from_matrix(np.zeros((5, 5)), index=names),
    ],
)
def test_there_is_a_name_for_every_point(make) -> None:
    assert list(make(list("abcde")).index) == list("abcde")
    with pytest.raises(ValueError, match="index has 3 names, but there are 5 points"):
        make(list("abc"))


def test_entries_stored_twice_are_added() -> None:
    """Of a matrix in triplets, as of any other in scipy: the largest of them is not the weight."""
    place = ([0, 0, 2, 2], [1, 1, 3, 3])
    made = Constraints.from_matrix(sparse.coo_matrix(([0.25, 0.5, 1.0, -1.0], place), shape=(4, 4)))
    assert made.must.weight == pytest.approx([0.75])
    assert len(made) == 1
    small = sparse.coo_matrix((np.array([100, -99, 1, -2], dtype=np.int8), place), shape=(4, 4))
    assert (Constraints.from_matrix(small).matrix().tocoo().data == [1, 1, -1, -1]).all()
    with pytest.raises(ValueError, match=r"Q has 1.5 at \(2, 3\)"):
        Constraints.from_matrix(sparse.coo_matrix(([1, 0, 1, 0.5], place), shape=(4, 4)))


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        (None, r"Q must be square.*shape \(\)"),
        (3, r"Q must be square.*shape \(\)"),
        (np.zeros((0, 0)), r"Q must be square.*shape \(0, 0\)"),
        (np.zeros((2, 2, 2)), r"Q must be square.*shape \(2, 2, 2\)"),
        (np.array([["0", "1"], ["1", "0"]]), "Q must hold numbers.*<U1"),
        (np.array([[0, 1 + 1j], [0, 0]]), "Q must hold numbers.*complex"),
    ],
)
def test_what_is_no_matrix_of_points_is_refused(Q, message) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Constraints.from_matrix(Q)


def test_names_of_a_series_and_of_a_frame_are_names_of_the_points() -> None:
    names = list("abc")
    labels = pd.Series([0, -1, 1], index=names)
    assert list(Constraints.from_labels(labels).index) == names
    assert list(Constraints.from_labels(labels, index=list("xyz")).index) == list("xyz")
    Q = pd.DataFrame(np.diag([1.0, 0.5], 1), index=names, columns=names)
    assert list(Constraints.from_matrix(Q).index) == names
    assert Constraints.from_matrix(Q.to_numpy()).index is None
    with pytest.raises(ValueError, match="rows and columns of Q have different row names"):
        Constraints.from_matrix(Q[["b", "a", "c"]])


def test_columns_of_a_file_are_known_in_any_case_of_letters(tmp_path: Path) -> None:
    """Unread, a column of weights would leave every pair certain."""
    file = tmp_path / "pairs.csv"
    file.write_text("a,b,Link,WEIGHT \n0,1,must,0.5\n")
    assert Constraints.from_csv(file, n_points=2).must.weight == pytest.approx([0.5])
    with pytest.raises(ValueError, match="has other links than 'cannot'"):
        Constraints.from_csv(file, n_points=2, link="cannot")
    file.write_text("a,b,weight,Weight\n0,1,1,0.5\n")
    with pytest.raises(ValueError, match="has several columns 'weight'"):
        Constraints.from_csv(file, n_points=2, link="must")


def test_points_may_be_called_as_missing_values_are_written(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("a,b\nNA,None\n")
    known = Constraints.from_csv(file, index=["None", "x", "NA"], link="must")
    assert known.must.ends.tolist() == [[0, 2]]
    file.write_text("a,b\nNA,red\nx,NA\nNone,\n")
    known = Constraints.from_csv(file, index=["None", "x", "NA"], link="labels")
    assert known.points.tolist() == [2]


def test_a_kind_of_links_is_must_or_cannot() -> None:
    known = Constraints.from_labels([0, 0, 1])
    for ask in (known.mean_degree, lambda link: known.laplacian_apply(np.eye(3), link)):
        with pytest.raises(ValueError, match=r"link must be .*'must'.*got 'maybe'"):
            ask("maybe")
    with pytest.raises(ValueError, match="4 rows, but the constraints are about 3 points"):
        known.laplacian_product(sparse.eye(4, format="csr"), "must")


def test_labels_of_any_size_are_compared() -> None:
    known = Constraints.from_labels([0, 0, 1, 1])
    for largest in (np.int64(2**63 - 1), np.uint64(2**64 - 1)):
        found = np.array([0, 0, largest, 0], dtype=largest.dtype)
        assert known.violations(found).cannot_pairs.tolist() == [[0, 3], [1, 3]]
    with pytest.raises(ValueError, match="the label -5 in row 1 is negative"):
        known.violations(np.array([0, -5, 1, 1]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "labels is empty"),
        (([0, 1], "sure"), r"weight must be a number in \(0, 1\]; got 'sure'"),
        (([0, 1], 0.0), r"weight must be a number in \(0, 1\]; got 0"),
    ],
)
def test_bad_labels_are_refused(arguments, message) -> None:
    labels, weight = arguments if len(arguments) == 2 else (*arguments, 1.0)
    with pytest.raises((TypeError, ValueError), match=message):
        Constraints.from_labels(labels, weight=weight)


def test_weights_are_numbers() -> None:
    with pytest.raises(TypeError, match="must_link: weights must be numbers"):
        Constraints(2, must_link=[(0, 1)], must_weight="high")


def test_as_many_classes_as_points_are_asked_about_or_refused() -> None:
    """Their pairs are not written out where a question needs a few; else the memory is named."""
    known = Constraints.from_labels(np.arange(50_000))
    first, second = np.array([0, 7, 7]), np.array([1, 7, 49_999])
    assert known.closure.excludes(first, second).tolist() == [True, False, True]
    with pytest.raises(
        MemoryError, match=r"the pairs of 50,000 known classes would take 187\.5 GB"
    ):
        known.closure.exclusions()
