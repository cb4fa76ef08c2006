"""Constraints and ensembles: members, the main job, queries and the command line."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from typer.testing import CliRunner

from clusterscape import ConsensusClustering, Ensemble
from clusterscape.cli.app import app
from clusterscape.compare import adjusted_rand
from clusterscape.semisupervised import (
    SCACS,
    ConstrainedEnsemble,
    Constraints,
    FastConstrainedSpectral,
    InfeasibleError,
    LandmarkSpectral,
    member_scores,
    suggest_queries,
)
from clusterscape.semisupervised.votes import enforced, weighed
from test_constraints import constraint_sets
from test_semisupervised import some_labels

BASE = FastConstrainedSpectral(n_landmarks=30, n_init=1)


# The labels that the checks pass as y may have more classes than clusters: they are not enforced.
@parametrize_with_checks(
    [ConstrainedEnsemble(3, base=BASE, n_partitions=3, enforce=False, random_state=0)]
)
def test_estimator_contract(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    X, blob = make_blobs(600, centers=8, cluster_std=1.5, n_features=3, random_state=5)
    return X, blob % 4


def test_members_vary_in_clusters_and_landmarks(blobs) -> None:
    X, y = blobs
    known = some_labels(y, 60)
    model = ConstrainedEnsemble(4, base=BASE, n_partitions=18, random_state=0).fit(X, known)
    asked = [record.params["n_clusters"] for record in model.ensemble_.records]
    assert asked == [2, 3, 4, 5, 6, 7, 8] * 2 + [2, 3, 4, 5]
    assert all(record.seconds > 0 for record in model.ensemble_.records)
    first, second = (m._rows.graph.landmarks for m in model._fitted[:2])
    assert not np.array_equal(first, second)
    assert model.violations_.count == 0
    alone = [BASE.set_params(n_clusters=4, random_state=s).fit(X, known) for s in range(5)]
    single = np.mean([adjusted_rand(one.labels_, y) for one in alone])
    assert adjusted_rand(model.labels_, y) > single
    again = ConstrainedEnsemble(4, base=BASE, n_partitions=18, random_state=0, n_jobs=2)
    assert (again.fit(X, known).labels_ == model.labels_).all()
    assert adjusted_rand(model.predict(X), model.labels_) > 0.8
    frame = model.to_frame()
    assert list(frame["label"]) == list(model.labels_)


def test_kinds_take_turns_and_are_judged_by_what_was_held_back(blobs) -> None:
    X, y = blobs
    bad = LandmarkSpectral(n_landmarks=10, nearest=1, n_init=1)
    model = ConstrainedEnsemble(
        4,
        base=[BASE, bad],
        n_partitions=12,
        k_range=(4, 4),
        held_back=0.4,
        keep=0.5,
        random_state=1,
    ).fit(X, some_labels(y, 150))
    kinds = [record.algorithm for record in model.ensemble_.records]
    assert len(kinds) == 6
    assert model.scores_.shape == (12,)
    assert model.scores_[0::2].mean() > model.scores_[1::2].mean() + 0.1
    assert set(kinds) == {"FastConstrainedSpectral"}
    assert model.ensemble_.weights.max() == 1.0
    with pytest.raises(ValueError, match="held_back"):
        ConstrainedEnsemble(4, keep=0.5).fit(X)


@pytest.mark.parametrize("settings_", [{"consensus": "secrp"}, {"base": "cop"}, {"base": "scacs"}])
def test_other_ensembles_of_the_paper(blobs, settings_) -> None:
    X, y = blobs
    model = ConstrainedEnsemble(4, n_partitions=10, random_state=0, **settings_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[:300], some_labels(y[:300], 40))
    assert model.violations_.count == 0
    assert model.n_clusters_ == 4


def test_without_constraints_members_are_those_of_the_unconstrained_method(blobs) -> None:
    X, _ = blobs
    bases = [
        kind(n_landmarks=50, sample_rate=1.0, n_init=1)
        for kind in (FastConstrainedSpectral, LandmarkSpectral)
    ]
    free, plain = (
        ConstrainedEnsemble(4, base=base, n_partitions=8, random_state=0).fit(X) for base in bases
    )
    assert (free.ensemble_.labels == plain.ensemble_.labels).all()
    assert (free.labels_ == plain.labels_).all()


def test_too_few_clusters_are_refused_before_members_are_made(blobs, monkeypatch) -> None:
    X, y = blobs
    monkeypatch.setattr("clusterscape.semisupervised.ensemble.parallel_map", None)
    with pytest.raises(InfeasibleError, match="4 groups.*n_clusters=3.*a weight below 1"):
        ConstrainedEnsemble(3, base=BASE).fit(X, some_labels(y, 60))


def test_points_keep_their_names(blobs) -> None:
    X, y = blobs
    names = [f"p{i}" for i in range(200)]
    frame = pd.DataFrame(X[:200], index=names, columns=["u", "v", "w"])
    model = ConstrainedEnsemble(4, base=BASE, n_partitions=4, held_back=0.3, random_state=0)
    table = model.fit(frame, some_labels(y[:200], 60)).to_frame()
    assert list(table.index) == names
    assert list(model.ensemble_.index) == names


def test_members_keep_only_what_new_points_need(blobs) -> None:
    X, y = blobs
    more = np.tile(X, (5, 1)) + np.random.default_rng(0).normal(0, 0.1, (3000, 3))
    known = some_labels(np.tile(y, 5), 60)
    model = ConstrainedEnsemble(4, base=BASE, n_partitions=2, random_state=0).fit(more, known)
    for member in model._fitted:
        held = (member._rows.matrix, member._rows.graph.matrix, member._sphere.rows)
        assert [part.shape[0] for part in held] == [0, 0, 0]
        assert adjusted_rand(member.predict(more), member.labels_) > 0.9


# ---- votes --------------------------------------------------------------------------------


def test_scores_are_shares_beyond_chance() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 2000)
    random = rng.integers(0, 4, 2000)
    half = np.where(rng.random(2000) < 0.5, truth, random)
    votes = Ensemble.from_labels([truth, random, half, rng.integers(0, 500, 2000)])
    rest = np.full(2000, -1)
    rest[:400] = truth[:400]
    found = member_scores(votes, Constraints.from_labels(rest))
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(0.0, abs=0.05)
    assert 0.1 < found[2] < 0.6
    assert found[3] == pytest.approx(0.0, abs=0.1)
    weights = weighed(votes, Constraints.from_labels(rest)).weights
    assert weights[0] == 1.0
    assert weights[1] == pytest.approx(0.01)
    assert weighed(votes, Constraints(2000)) is votes


def test_a_member_is_judged_by_the_points_it_saw() -> None:
    truth = np.repeat([0, 1, 2], 20)
    part = np.where(np.arange(60) % 4 == 0, -2, truth)
    unseen = np.where(np.arange(60) < 30, -2, 0)
    found = member_scores(
        Ensemble.from_labels([truth, part, unseen]),
        Constraints.from_labels([*truth[:30], *[-1] * 30]),
    )
    assert found == pytest.approx([1.0, 1.0, 0.0])


def test_scores_take_labels_and_refuse_other_points() -> None:
    known = Constraints.from_labels([0, 0, 1, 1])
    labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1]]).T
    assert member_scores(labels, known) == pytest.approx([1.0, -0.5])
    with pytest.raises(ValueError, match="constraints are about 3 points"):
        member_scores(labels, Constraints(3))


def test_scores_weigh_constraints_by_their_confidence() -> None:
    known = Constraints(6, must_link=[(0, 1), (0, 2)], must_weight=[1.0, 0.1], cannot_link=[(0, 3)])
    votes = Ensemble.from_labels([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 2]])
    chance = (1.1 * 0.2 + 1.0 * 0.8) / 2.1  # a fifth of all pairs are together
    right = np.array([2.0, 1.1]) / 2.1
    assert member_scores(votes, known) == pytest.approx((right - chance) / (1 - chance))


@settings(max_examples=60, deadline=None)
@given(constraint_sets())
def test_enforced_labels_respect_everything_and_leave_free_points_alone(case) -> None:
    n, must, cannot, labels, _ = case
    known = Constraints(n, must_link=must or None, cannot_link=cannot or None).merge(
        Constraints.from_labels(labels)
    )
    rng = np.random.default_rng(n)
    shares = rng.dirichlet(np.ones(3), n)
    before = shares.argmax(axis=1)
    after = enforced(shares, before, known, n_clusters=3)
    assert known.violations(after).count == 0
    free = np.setdiff1d(np.arange(n), known.points)
    assert (after[free] == before[free]).all()
    if known.violations(before).count == 0:
        assert (after == before).all()


# ---- the main job -------------------------------------------------------------------------


def quick(**settings_):
    return ConsensusClustering(n_partitions=20, n_references=0, random_state=0, **settings_)


def test_the_main_job_weighs_members_and_respects_constraints(blobs) -> None:
    X, y = blobs
    known = Constraints.from_labels(some_labels(y, 60))
    plain = quick(n_clusters=4, generator="random_k").fit(X)
    model = quick(n_clusters=4, generator="random_k").fit(X, constraints=known)
    assert known.violations(plain.labels_).count > 0
    assert plain.violations_.count == 0  # none were given
    assert model.violations_.count == 0
    assert known.violations(model.labels_).count == 0
    assert np.ptp(model.ensemble_.weights) > 0
    assert (model.ensemble_.labels == plain.ensemble_.labels).all()
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    none = quick(n_clusters=4, generator="random_k").fit(X, constraints=Constraints(len(X)))
    assert (none.labels_ == plain.labels_).all()
    votes = quick(n_clusters=4).fit_ensemble(plain.ensemble_, constraints=known)
    assert (votes.labels_ == model.labels_).all()


def test_the_number_of_clusters_is_at_least_what_the_constraints_need() -> None:
    X, y = make_blobs(150, centers=2, cluster_std=0.5, random_state=0)
    three = Constraints.from_labels([0, 1, 2] + [-1] * 147)
    model = quick(generator="random_k").fit(X, constraints=three)
    assert model.n_clusters_ >= 3
    assert model.violations_.count == 0
    with pytest.raises(InfeasibleError, match="3 groups.*a weight below 1"):
        quick(n_clusters=2, generator="random_k").fit(X, constraints=three)
    with pytest.raises(ValueError, match="3 points, but X has 150"):
        quick(n_clusters=2).fit(X, constraints=Constraints(3))


# ---- queries ------------------------------------------------------------------------------


def test_queries_are_pairs_on_which_the_partitions_disagree() -> None:
    X = StandardScaler().fit_transform(load_wine().data)
    model = quick(n_clusters=3, generator="random_k").fit(X)
    asked = model.suggest_queries(10)
    assert len(asked) == 10
    assert not asked.duplicated(["first", "second"]).any()
    together = model.ensemble_.coassociation().toarray()
    pairs = asked[["first", "second"]].to_numpy()
    assert np.allclose(asked["together"], together[pairs[:, 0], pairs[:, 1]], atol=1e-6)
    own = model.membership_.max(axis=1)
    assert (own[pairs[:, 0]] < np.median(own)).all()
    assert (model.labels_[pairs[:, 0]] != model.labels_[pairs[:, 1]]).all()
    known = Constraints(len(X), must_link=pairs[:5])
    more = model.suggest_queries(10, constraints=known)
    component = known.closure.component
    assert (component[more["first"]] != component[more["second"]]).all()


def test_questions_name_the_points_and_answers_can_be_read_by_name(tmp_path) -> None:
    X = StandardScaler().fit_transform(load_wine().data)
    frame = pd.DataFrame(X, index=[f"w{i}" for i in range(len(X))])
    model = quick(n_clusters=3, generator="random_k").fit(frame)
    asked = model.suggest_queries(5)
    for end in ("first", "second"):
        assert (asked[f"{end}_name"] == frame.index[asked[end]]).all()
    file = tmp_path / "answers.csv"
    asked[["first_name", "second_name"]].assign(link="must").to_csv(file, index=False)
    read = Constraints.from_csv(file, index=frame.index)
    assert read.n_must_link == 5
    assert not model.suggest_queries(5, constraints=read).equals(asked)
    with pytest.raises(ValueError, match="about 5 points, but"):
        model.suggest_queries(5, constraints=Constraints(5))
    with pytest.raises(ValueError, match="different row names"):
        model.suggest_queries(5, constraints=Constraints(len(X), index=frame.index[::-1]))


def test_a_question_is_about_many_points_and_no_two_about_the_same() -> None:
    # Two clusters of 40; ten points of the first move together, ten of the second on their own.
    rng = np.random.default_rng(0)
    rows = np.repeat([[0] * 40 + [1] * 40], 20, axis=0)
    rows[:6, 30:40], rows[6:12, 30:40] = 1, 2
    for point in range(40, 50):
        order = rng.permutation(20)
        rows[order[:6], point], rows[order[6:12], point] = 0, point
    votes = Ensemble.from_labels(list(rows))
    asked = suggest_queries(votes, [0] * 40 + [1] * 40, 4)
    assert asked["first"].between(30, 39).tolist() == [True, False, False, False]
    assert asked["second"].iloc[0] >= 50
    assert asked["together"].iloc[0] == 0.3
    told = Constraints(80, cannot_link=asked[["first", "second"]].to_numpy()[:1])
    again = suggest_queries(votes, [0] * 40 + [1] * 40, 80, constraints=told)
    pair = set(asked[["first", "second"]].iloc[0])
    assert all(set(row) != pair for row in again[["first", "second"]].to_numpy())
    assert not again["first"].duplicated().any()


def test_ten_answers_bind_but_do_not_weigh_members(blobs) -> None:
    X, y = blobs
    plain = quick(n_clusters=4, generator="random_k").fit(X)
    pairs = plain.suggest_queries(10)[["first", "second"]].to_numpy()
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    known = Constraints(len(y), must_link=pairs[same], cannot_link=pairs[~same])
    model = quick(n_clusters=4, generator="random_k").fit(X, constraints=known)
    assert np.ptp(model.ensemble_.weights) == 0
    assert known.violations(plain.labels_).count > 0
    assert model.violations_.count == 0
    assert adjusted_rand(model.labels_, y) > adjusted_rand(plain.labels_, y)


def test_questions_count_only_partitions_that_saw_both_points() -> None:
    rows = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [-2, 0, -2, 1, 1, -2]]
    asked = suggest_queries(Ensemble.from_labels(rows), [0, 0, 1, 1, 1, 1], 1).iloc[0]
    assert asked["first"] == 2
    assert asked["together"] == pytest.approx(1 / 3 if asked["second"] < 2 else 2 / 3)


def test_no_questions_where_all_agree() -> None:
    votes = Ensemble.from_labels([[0, 0, 1, 1]] * 3)
    assert suggest_queries(votes, [0, 0, 1, 1], 5).empty
    assert suggest_queries(votes, [0, 0, 0, 0], 5).empty


# ---- the command line ---------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, blob = make_blobs(120, centers=6, cluster_std=0.7, random_state=0)
    ids = [f"p{i}" for i in range(120)]
    pd.DataFrame({"id": ids, "x": X[:, 0], "y": X[:, 1]}).to_csv("data.csv", index=False)
    y = blob % 3
    pd.DataFrame({"id": ids[:30], "class": [f"c{c}" for c in y[:30]]}).to_csv(
        "known.csv", index=False
    )
    pd.DataFrame({"a": ["p40"], "b": ["p41"]}).to_csv("apart.csv", index=False)
    pd.DataFrame({"a": [], "b": []}).to_csv("none.csv", index=False)
    return y


def call(*words: str):
    return CliRunner().invoke(app, list(words))


def test_constrain_writes_labels_that_respect_the_files(files) -> None:
    words = ("constrain", "data.csv", "--labels", "known.csv", "--cannot-link", "apart.csv")
    done = call(*words, "-o", "out.csv", "--partitions", "8")
    assert done.exit_code == 0, done.output
    table = pd.read_csv("out.csv")
    labels = table["label"].to_numpy()
    assert list(table["id"][:2]) == ["p0", "p1"]
    assert Constraints.from_labels([*files[:30], *[-1] * 90]).violations(labels).count == 0
    assert labels[40] != labels[41]
    told = call(*words, "--partitions", "4", "--json", "-q")
    found = json.loads(told.stdout)
    assert found["n_clusters"] == 3
    assert found["satisfied"] == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--must-link"),
        (("--cannot-link", "apart.csv", "--must-link", "apart.csv"), "p40"),
        (("--labels", "known.csv", "-k", "2"), "3 groups"),
        (("--cannot-link", "apart.csv"), "--clusters"),
        (("--must-link", "none.csv", "-k", "3"), "nothing is known from none.csv"),
    ],
)
def test_constrain_says_what_is_wrong(files, words, message) -> None:
    done = call("constrain", "data.csv", *words, "--partitions", "3")
    assert done.exit_code != 0
    assert message in done.output


def test_a_chosen_number_of_clusters_rises_until_the_constraints_fit() -> None:
    X, _ = make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)
    known = Constraints(60, cannot_link=[(0, 1), (1, 2), (0, 2)])
    model = ConsensusClustering((2, 6), n_partitions=10, n_references=0, random_state=0)
    model.fit(X, constraints=known)
    assert model.n_clusters_ == 3
    assert model.violations_.count == 0


def test_small_tables_get_fewer_landmarks_than_points() -> None:
    X, classes = make_blobs(300, centers=[[0, 0], [10, 0], [0, 10]], random_state=0)
    y = np.full(300, -1)
    y[:15] = classes[:15]
    for model in (LandmarkSpectral(3), FastConstrainedSpectral(3), SCACS(3)):
        labels = model.set_params(random_state=0).fit(X, y).labels_
        assert adjusted_rand(classes, labels) == 1.0
