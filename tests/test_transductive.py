"""Transductive support vector machines: the solver, the rounds, the estimator."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_blobs, make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from clusterscape import kernels
from clusterscape._core.seeds import sklearn_seed, spawn
from clusterscape.ensemble import Ensemble
from clusterscape.semisupervised import FuzzyCMeans, TransductionWarning, TransductiveSVC
from clusterscape.semisupervised.advice import chance_of_loss, expected_loss, left_out
from clusterscape.semisupervised.dual import Dual, _fill
from clusterscape.semisupervised.kernel_rows import KernelData, KernelFunction, KernelRows
from clusterscape.semisupervised.machine import Machine, weights_of_rounds
from clusterscape.semisupervised.platt import PlattScaling

# Whether unlabelled points help is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::clusterscape.semisupervised.TransductionWarning")


def expected_failures(estimator: TransductiveSVC) -> dict[str, str]:
    """Return the checks that do not hold, with the reason."""
    failures = {"check_classifiers_classes": "labels -1 and 1: here -1 is no label"}
    if estimator.probability:
        reason = "Platt scaling by class: the likeliest need not have the largest decision value"
        failures["check_classifiers_train"] = reason
    return failures


@parametrize_with_checks(
    [
        TransductiveSVC(random_state=0),
        TransductiveSVC(probability=True, loop="joachims", random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks(estimator, check) -> None:
    check(estimator)


def problem(n: int = 300, labelled: int = 40, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return points of two classes, their classes, and labels that are mostly unknown."""
    X, truth = make_classification(
        n, 6, n_informative=4, n_redundant=0, flip_y=0.05, class_sep=1.2, random_state=seed
    )
    y = truth.copy()
    y[labelled:] = -1
    return X, truth, y


def rows_of(X: np.ndarray, labelled: int, *, budget: float = 1e8, gamma: float = 0.2) -> KernelRows:
    """Return the kernel rows of points, with the balance over the unlabelled ones."""
    data = KernelData(KernelFunction("rbf", gamma), X)
    rest = np.arange(labelled, len(X))
    means = data.means(rest)
    return KernelRows(data, int(budget), (means, float(means[rest].mean())))


# ---- without unlabelled points: scikit-learn's machine --------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "precomputed", "callable"])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_equals_svc_without_unlabelled_points(kernel: str, C: float) -> None:
    X, y, _ = problem(400)
    more = {"coef0": 1.0} if kernel == "poly" else {}
    kind: object = {"callable": rbf_kernel}.get(kernel, kernel)
    new = X[:50] + 0.1
    if kernel == "precomputed":
        X, new = rbf_kernel(X), rbf_kernel(new, X)
    ours = TransductiveSVC(C, kernel=kind, tol=1e-5, **more).fit(X, y)
    theirs = SVC(C=C, kernel=kind, tol=1e-5, **more).fit(X, y)
    for part in (X, new):
        gap = np.abs(ours.decision_function(part) - theirs.decision_function(part)).max()
        assert gap < 1e-3
    assert np.abs(ours.decision_ - theirs.decision_function(X)).max() < 1e-3
    assert len(set(theirs.support_) ^ set(ours.support_)) <= 2


def test_several_classes_are_one_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    ours = TransductiveSVC(tol=1e-5).fit(X, y)
    for c in range(3):
        theirs = SVC(tol=1e-5).fit(X, y == c)
        assert np.abs(ours.decision_[:, c] - theirs.decision_function(X)).max() < 1e-3


def test_sparse_and_dense_features_agree() -> None:
    X, _, y = problem()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = TransductiveSVC(tol=1e-5).fit(X, y)
    thin = TransductiveSVC(tol=1e-5).fit(sparse.csr_matrix(X), y)
    assert np.abs(dense.decision_ - thin.decision_).max() < 2e-3
    assert np.abs(thin.decision_function(sparse.csr_matrix(X)) - thin.decision_).max() < 1e-5


@pytest.mark.parametrize("budget", [1e8, 60_000])
def test_little_memory_and_shrinking_change_nothing(budget: float) -> None:
    X, y, _ = problem(700)
    signs = np.where(y, 1.0, -1.0)
    rows = KernelRows(KernelData(KernelFunction("rbf", 0.2), X), int(budget))
    machine = Machine(rows, signs, np.full(700, 5.0), tol=1e-5)
    machine.start()
    assert rows.fits == (budget > 1e7)
    expected = SVC(C=5.0, gamma=0.2, tol=1e-5).fit(X, y).decision_function(X)
    assert np.abs(machine.decision - expected).max() < 1e-3
    assert 4 * rows.table.size <= budget


def test_the_least_memory_suffices() -> None:
    X, y, _ = problem(150)
    rows = KernelRows(KernelData(KernelFunction("rbf", 0.2), X), 100)
    machine = Machine(rows, np.where(y, 1.0, -1.0), np.full(150, 1.0), tol=1e-4)
    machine.start()
    expected = SVC(gamma=0.2, tol=1e-5).fit(X, y).decision_function(X)
    assert np.abs(machine.decision - expected).max() < 1e-3


@pytest.mark.parametrize("shift", [0.0, 1000.0])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_gaussian_rows_and_sums_are_those_of_the_definition(
    shift: float, *, sparse_rows: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3)) + shift * (not sparse_rows)
    K = rbf_kernel(X, gamma=0.3)
    given = sparse.csr_matrix(X) if sparse_rows else X
    data = KernelData(KernelFunction("rbf", 0.3), given)
    some, others, into = np.arange(5, 300, 3), np.arange(0, 700, 2), rng.permutation(200)[:99]
    assert np.abs(data.block(some, others) - K[np.ix_(some, others)]).max() < 1e-5
    table = np.full((200, 350), -1.0, dtype=np.float32)
    data.write(some, others, table, into)
    assert np.abs(table[into] - K[np.ix_(some, others)]).max() < 1e-5
    assert (np.delete(table, into, axis=0) == -1.0).all()
    weights = rng.normal(size=(350, 2))
    expected = K[np.ix_(some, others)] @ weights
    assert np.abs(data.at(some, others, weights) - expected).max() < 1e-3
    assert np.abs(data.weighted(given[some], others, weights) - expected).max() < 1e-3
    assert np.allclose(data.means(others), K[:, others].mean(axis=1), atol=1e-5)
    part = data.subset(some)
    assert np.abs(part.block(np.arange(3)) - K[np.ix_(some[:3], some)]).max() < 1e-5


@pytest.mark.parametrize("scale", [1e-25, 1e19, 1e30])
def test_units_of_the_features_do_not_matter(scale: float) -> None:
    """Squares of such values do not fit into single precision."""
    X, _, y = problem(200)
    expected = TransductiveSVC(random_state=0).fit(X, y).transduction_
    assert np.array_equal(TransductiveSVC(random_state=0).fit(X * scale, y).transduction_, expected)


def test_leaving_variables_out_takes_no_second_table() -> None:
    X = np.random.default_rng(0).normal(size=(1000, 3))
    rows = KernelRows(KernelData(KernelFunction("rbf", 0.2), X), 2_000_000)
    rows.slots(np.arange(0, 998, 2))
    some = np.flatnonzero(np.random.default_rng(1).random(1001) < 0.6)
    tracemalloc.start()
    rows.set_active(some)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000
    computed = rows.computed
    slots = rows.slots(np.arange(0, 800, 2))
    assert rows.computed == computed  # kept, not computed anew
    points = some[some < 1000]
    expected = rbf_kernel(X[:800:2], X[points], gamma=0.2)
    assert np.abs(rows.table[slots, : points.size] - expected).max() < 1e-5


def test_intercept_is_the_median_over_free_variables() -> None:
    X, y, _ = problem(200)
    signs = np.where(y, 1.0, -1.0)
    rows = KernelRows(KernelData(KernelFunction("rbf", 0.2), X), 10**8)
    machine = Machine(rows, signs, np.ones(200), tol=0.2)
    machine.start()
    free = (np.abs(machine.alpha) > 0) & (np.abs(machine.alpha) < 1)
    lacking = (signs - machine.dual.value[:-1])[free]
    assert abs(np.median(lacking) - lacking.mean()) > 1e-4
    assert machine.dual.intercept == pytest.approx(np.median(lacking), abs=1e-9)


# ---- the dual with two pieces, against a general solver --------------------------------------


def test_block_solver_finds_the_optimum_of_two_pieces() -> None:
    rng = np.random.default_rng(0)
    q = 8
    A = rng.normal(size=(q, q))
    K = A @ A.T + 0.1 * np.eye(q)
    ends = np.sort(rng.normal(size=(q, 3)), axis=1)
    slopes = np.sort(rng.normal(size=(q, 2)), axis=1)[:, ::-1].copy()
    alpha = ends[:, 1].copy()
    total = alpha.sum()
    value = K @ alpha
    kernels.smo.solve_block(K, value, alpha, ends, slopes, 1e-9, 100_000)

    # Both pieces as variables of their own: a smooth concave problem with bounds.
    def cost(v: np.ndarray) -> float:
        a = ends[:, 1] + v[:q] + v[q:]
        return 0.5 * a @ K @ a - v[:q] @ slopes[:, 0] - v[q:] @ slopes[:, 1]

    bounds = [(e[0] - e[1], 0.0) for e in ends] + [(0.0, e[2] - e[1]) for e in ends]
    found = minimize(
        cost,
        np.zeros(2 * q),
        bounds=bounds,
        constraints={"type": "eq", "fun": lambda v: v.sum()},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert np.isclose(alpha.sum(), total)
    assert (alpha >= ends[:, 0]).all()
    assert (alpha <= ends[:, 2]).all()
    assert np.abs(alpha - (ends[:, 1] + found.x[:q] + found.x[q:])).max() < 1e-4
    assert np.allclose(value, K @ alpha)


def test_hinge_of_both_labels_is_the_convex_problem() -> None:
    """With no ramp every unlabelled point costs H(f) + H(-f): the same as two labelled copies."""
    X, _, y = problem(60, 20)
    weight = 0.3
    signs = np.where(y[:20], 1.0, -1.0)
    rows = rows_of(X, 20)
    machine = Machine(rows, signs, np.ones(20), ramp=-np.inf, tol=1e-6)
    machine.start()
    machine.concave_convex(weight)
    doubled = np.concatenate([X, X[20:]])
    labels = np.concatenate([signs, np.ones(40), -np.ones(40)])
    weights = np.concatenate([np.ones(20), np.full(80, weight)])
    expected = SVC(gamma=0.2, tol=1e-6).fit(doubled, labels, sample_weight=weights)
    assert np.abs(machine.decision - expected.decision_function(X)).max() < 1e-3


# ---- the concave-convex procedure ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ramp", [0.0, -0.4])
def test_objective_never_rises_and_balance_holds(seed: int, ramp: float) -> None:
    X, _, y = problem(seed=seed)
    signs = np.where(y[:40], 1.0, -1.0)
    machine = Machine(rows_of(X, 40), signs, np.ones(40), ramp, signs.mean(), tol=1e-6)
    machine.start()
    machine.concave_convex(0.2)
    assert len(machine.history) > 1
    assert np.diff(machine.history).max() < 1e-5
    assert abs(machine.decision[40:].mean() - signs.mean()) < 1e-4
    assert machine.converged


def test_objective_is_that_of_the_definition() -> None:
    X, _, y = problem(80, 20)
    model = TransductiveSVC(gamma=0.2, ramp=-0.2, tol=1e-6).fit(X, y)
    K = rbf_kernel(X, gamma=0.2)
    a = np.zeros(80)
    a[model.support_] = model.dual_coef_[0]
    a[model.balance_rows_] += model.balance_coef_[0] / model.balance_rows_.size
    f = K @ a + model.intercept_[0]
    assert np.abs(f - model.decision_).max() < 1e-4
    signs = np.where(y[:20], 1.0, -1.0)

    def ramps(z: np.ndarray) -> np.ndarray:
        return np.minimum(1.2, np.maximum(0.0, 1.0 - z))

    hinge = np.maximum(0.0, 1.0 - signs * f[:20]).sum()
    both = (ramps(f[20:]) + ramps(-f[20:])).sum()
    expected = 0.5 * a @ K @ a + hinge + model.C_unlabelled_ * both
    assert np.isclose(model.objective_[0][-1], expected, rtol=1e-4)
    assert model.C_unlabelled_ == 20 / 60


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_given_balance_holds(share: float) -> None:
    X, _, y = problem()
    model = TransductiveSVC(class_balance=share, tol=1e-5).fit(X, y)
    assert abs(model.decision_[y == -1].mean() - (2 * share - 1)) < 1e-3
    named = TransductiveSVC(class_balance={0: 1 - share, 1: share}, tol=1e-5).fit(X, y)
    assert np.array_equal(named.decision_, model.decision_)


def test_unlabelled_points_help_where_clusters_are_classes() -> None:
    X, truth = make_blobs([200, 200], 10, centers=[[0.0] * 10, [1.6] * 10], random_state=0)
    y = np.full(400, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:2]] = c
    rest = y == -1
    alone = SVC().fit(X[~rest], y[~rest]).predict(X[rest])
    for loop in ("cccp", "joachims"):
        model = TransductiveSVC(loop=loop, random_state=0).fit(X, y)
        right = (model.transduction_[rest] == truth[rest]).mean()
        assert right > 0.97
        assert right > (alone == truth[rest]).mean()
        assert np.array_equal(model.transduction_[~rest], truth[~rest])


def test_labels_are_given_in_the_shares_asked_for() -> None:
    X, _, y = problem()
    model = TransductiveSVC(loop="joachims", class_balance=0.3).fit(X, y)
    assert abs((model.decision_[y == -1] > 0).mean() - 0.3) < 0.1


def test_rounds_double_up_to_the_last() -> None:
    assert np.allclose(weights_of_rounds(1.0, 10.0, 2.0), [1, 2, 4, 8, 10])
    assert weights_of_rounds(1e-5, 1.0, 2.0).size == 18
    assert np.array_equal(weights_of_rounds(3.0, 1.0, 2.0), [1.0])


# ---- samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["adaptive", "entropy", "uncertainty", "uniform"])
def test_samples_of_the_unlabelled_points(strategy: str) -> None:
    X, truth = make_moons(600, noise=0.15, random_state=0)
    y = truth.copy()
    y[60:] = -1
    model = TransductiveSVC(subsample=0.2, strategy=strategy, random_state=0).fit(X, y)
    assert model.sample_indices_.size == 108
    assert (y[model.sample_indices_] == -1).all()
    again = TransductiveSVC(subsample=108, strategy=strategy, random_state=0).fit(X, y)
    assert np.array_equal(again.decision_, model.decision_)
    assert np.abs(model.decision_function(X) - model.decision_).max() < 1e-4
    assert (model.transduction_[60:] == truth[60:]).mean() > 0.85
    outside = np.setdiff1d(model.support_, np.flatnonzero(y >= 0))
    assert np.isin(outside, model.sample_indices_).all()


def test_a_whole_sample_is_the_whole_problem() -> None:
    X, _, y = problem(200)
    whole = TransductiveSVC(tol=1e-6).fit(X, y)
    sampled = TransductiveSVC(tol=1e-6, subsample=1.0, start=10.0, random_state=0).fit(X, y)
    assert np.abs(whole.decision_ - sampled.decision_).max() < 1e-3


# ---- probabilities, labels, errors -----------------------------------------------------------


def test_probabilities_are_calibrated_on_points_left_out() -> None:
    X, truth, y = problem(600, 200)
    model = TransductiveSVC(probability=True, random_state=0).fit(X, y)
    p = model.predict_proba(X[200:])
    assert np.allclose(p.sum(axis=1), 1.0)
    assert model.platt_folds_ == 5
    likely = p[:, 1] > 0.7
    assert likely.sum() > 50
    assert abs(truth[200:][likely].mean() - p[likely, 1].mean()) < 0.1
    assert not hasattr(TransductiveSVC(), "predict_proba")


def test_probabilities_with_shares_by_label() -> None:
    X, _, y = problem(200, 30)
    y = np.where(y < 0, -1, y + 1)  # labels 1 and 2, whose codes are 0 and 1
    given = {"probability": True, "random_state": 0}
    ours = TransductiveSVC(class_balance={1: 0.7, 2: 0.3}, **given).fit(X, y)
    same = TransductiveSVC(class_balance=[0.7, 0.3], **given).fit(X, y)
    assert np.array_equal(ours.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize("source", [Ensemble, FuzzyCMeans, np.ndarray])
def test_probabilities_with_memberships_of_any_kind(source: type) -> None:
    X, truth, y = problem(200, 30)
    cut = (X[:, 0] > 0).astype(int)
    labelings = [truth, cut, truth ^ (cut & (X[:, 1] > 1))]
    given: object = Ensemble.from_labels(np.stack(labelings, axis=1))
    if source is FuzzyCMeans:
        given = FuzzyCMeans(2)
    elif source is np.ndarray:
        given = np.abs(X[30:, :2])  # one row per unlabelled point
    model = TransductiveSVC(subsample=0.3, memberships=given, probability=True, random_state=0).fit(
        X, y
    )
    assert model.platt_folds_ == 5
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_thread_of_linear_algebra() -> None:
    X, _, y = problem(100, 20)
    seen = []

    def kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        blas = [m for m in threadpool_info() if m["user_api"] == "blas"]
        seen.extend(m["num_threads"] for m in blas)
        return rbf_kernel(left, right)

    with threadpool_limits(2):
        TransductiveSVC(kernel=kernel).fit(X, y)
    assert set(seen) == {1}


def test_text_labels_and_a_number_for_none() -> None:
    X, truth, _ = problem(100)
    names = np.where(truth, "yes", "no").astype(object)
    names[30:] = -1
    model = TransductiveSVC().fit(X, names)
    codes = np.where(np.arange(100) < 30, truth, -1)
    assert model.classes_.tolist() == ["no", "yes"]
    expected = TransductiveSVC().fit(X, codes).transduction_
    assert np.array_equal(model.transduction_ == "yes", expected == 1)


@pytest.mark.parametrize(
    ("y", "more", "message"),
    [
        ([-1] * 4, {}, "has no label"),
        ([1, 1, -1, -1], {}, "one class only"),
        ([0, 1, -1, -1], {"class_balance": [0.2, 0.2]}, "class_balance"),
        ([0, 1, 2, -1], {"class_balance": 0.5}, "each of the 3 classes"),
        ([0, 1, -1, -1], {"loop": "joachims", "class_balance": None}, "class_balance"),
        ([0, 1, -1, -1], {"kernel": "precomputed"}, "precomputed"),
        ([0, 1, -1], {}, "one per row"),
        ([0, 1, 1, -1], {"check": "folds"}, "two labelled points of every class"),
    ],
)
def test_errors_are_sentences(y: list[int], more: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransductiveSVC(**more).fit(np.arange(8.0).reshape(4, 2), y)


def test_a_move_that_breaks_the_sum_is_balanced() -> None:
    rows = KernelRows(KernelData(KernelFunction("linear"), np.eye(3)), 10_000)
    dual = Dual(rows)
    dual.ends[:3] = [[0, 1, 1], [-1, 0, 0], [-2, 0, 0]]
    dual.move(np.array([1.0, 0.0, 0.0, 0.0]))
    assert dual.alpha.sum() == 0
    assert np.allclose(dual.value[:3], dual.alpha[:3])


@pytest.mark.parametrize("short", [2.5, -2.5, 0.0, 100.0])
def test_balancing_begins_with_the_variable_that_can_move_most(short: float) -> None:
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(30, 3)), axis=1)
    target = rng.uniform(ends[:, 0], ends[:, 2])
    expected, left = target.copy(), short
    room = ends[:, 2] - target if short > 0 else target - ends[:, 0]
    for i in np.argsort(-room):
        step = np.sign(left) * min(abs(left), room[i])
        expected[i], left = expected[i] + step, left - step
    _fill(target, ends, short)
    assert np.allclose(target, expected)


# ---- scores of drawn points --------------------------------------------------------------------


def test_scores_by_landmarks_are_near_those_of_the_machine() -> None:
    X, _, y = problem(1500, 80)
    made = {
        how: TransductiveSVC(subsample=0.2, scores=how, random_state=0).fit(X, y)
        for how in ("exact", "landmarks", "auto")
    }
    about, exact = made["landmarks"], made["exact"]
    assert exact.score_error_ is None
    assert np.array_equal(made["auto"].uncertainty_, exact.uncertainty_)  # 1,420 are few
    assert 0 < about.score_error_ < 0.3 * exact.decision_.std()
    assert np.corrcoef(about.uncertainty_, exact.uncertainty_)[0, 1] > 0.9
    # The answer is the machine's own, however points were scored.
    assert np.allclose(about.decision_, about.decision_function(X), atol=1e-4)


def test_the_first_round_is_scored_by_the_machine_of_the_labelled_points() -> None:
    X, _, y = problem(600, 60)
    gamma = 1.0 / (X.shape[1] * X.var())
    alone = SVC(gamma=gamma, tol=1e-5).fit(X[:60], y[:60])
    near = np.abs(alone.decision_function(X[60:]))
    model = TransductiveSVC(gamma=gamma, subsample=0.1, strategy="uncertainty", random_state=0)
    found = model.fit(X, y).uncertainty_
    assert np.corrcoef(found.argsort().argsort(), (-near).argsort().argsort())[0, 1] > 0.95
    printed = model.set_params(form="as_printed").fit(X, y).uncertainty_
    assert (printed == 1.0).all()


# ---- advice ----------------------------------------------------------------------------------


def test_advice_is_what_it_says() -> None:
    X, _, y = problem(400, 80)
    model = TransductiveSVC(random_state=0).fit(X, y)
    rest = y == -1
    gamma = 1.0 / (X.shape[1] * X.var())  # "scale" is that of all points
    alone = SVC(gamma=gamma).fit(X[~rest], y[~rest])
    changed = (alone.predict(X[rest]) != model.transduction_[rest]).mean()
    assert abs(model.advice_["changed"] - changed) < 0.01
    assert 0 < model.advice_["error_before"] < 0.4
    assert -0.02 < model.advice_["expected_loss"] < model.advice_["changed"]
    assert not model.advice_["may_hurt"]
    assert "lost" not in model.advice_
    assert TransductiveSVC().fit(X[~rest], y[~rest]).advice_ == {}
    few = TransductiveSVC().fit(X, np.where(np.arange(400) < 10, y, -1)).advice_
    assert np.isnan(few["expected_loss"])
    assert not few["may_hurt"]


def test_expected_loss_is_what_the_probabilities_say() -> None:
    curve = PlattScaling(-1.0, 0.0)
    f = np.array([[-2.0], [-1.0], [0.5], [3.0]])
    p = 1 / (1 + np.exp(-f[:, 0]))
    found = expected_loss(f, [curve], np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert found == pytest.approx(((1 - 2 * p[1]) + (2 * p[2] - 1)) / 4)


def test_labelled_points_left_out_are_of_every_class() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [900, 600, 2])
    X = rng.normal(size=(1502, 2)) + 6.0 * codes[:, None]
    found = left_out(KernelData(KernelFunction("rbf", 0.5), X), codes, 1.0, SeedSequence(0))
    assert found is not None
    assert len(found.curves) == 3
    assert found.error < 0.02
    assert (
        left_out(KernelData(KernelFunction("rbf", 0.5), X), codes[:-1], 1.0, SeedSequence(0))
        is None
    )


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 4), (7, 2)])
def test_chance_of_loss_is_the_posterior(gained: int, lost: int) -> None:
    q = (np.arange(200_000) + 0.5) / 200_000
    weight = q**gained * (1 - q) ** lost
    assert chance_of_loss(gained, lost) == pytest.approx(weight[q < 0.5].sum() / weight.sum())


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_folds_count_what_unlabelled_points_change(kernel: str) -> None:
    X, _, y = problem(300, 60, seed=1)
    Z = rbf_kernel(X, gamma=0.2) if kernel == "precomputed" else X
    given = {"kernel": kernel, "gamma": 0.2, "random_state": 0}
    model = TransductiveSVC(check="folds", **given).fit(Z, y)
    advice = model.advice_
    assert advice["chance_of_loss"] == chance_of_loss(advice["gained"], advice["lost"])
    least = 0.2 if advice["expected_loss"] > 0.02 else 0.8
    assert advice["may_hurt"] == (advice["chance_of_loss"] > least)
    # By hand, with the folds of the same seed.
    folding = spawn(0, 6)[2]
    split = StratifiedKFold(5, shuffle=True, random_state=sklearn_seed(folding))
    gained = lost = 0
    for keep, out in split.split(X[:60], y[:60]):
        rows = np.concatenate([keep, np.arange(60, 300)])
        few = X[rows], y[rows]
        with_rest = TransductiveSVC(gamma=0.2, random_state=0).fit(*few).predict(X[out])
        alone = SVC(gamma=0.2).fit(X[keep], y[keep]).predict(X[out])
        gained += int(((with_rest == y[out]) & (alone != y[out])).sum())
        lost += int(((with_rest != y[out]) & (alone == y[out])).sum())
    assert (advice["gained"], advice["lost"]) == (gained, lost)
    assert gained + lost > 0
    assert np.array_equal(model.decision_, TransductiveSVC(**given).fit(Z, y).decision_)


def test_folds_that_show_a_loss_are_warned_of() -> None:
    X, _, y = problem(400, 80)
    with pytest.warns(TransductionWarning, match="to a wrong label"):
        model = TransductiveSVC(loop="joachims", class_balance=0.95, check="folds").fit(X, y)
    assert model.advice_["lost"] > model.advice_["gained"]


def test_changes_that_cannot_all_be_right_are_warned_of() -> None:
    """Wrong shares of the classes turn labels of a machine that was nearly always right."""
    X, truth, y = problem(400, 80)
    with pytest.warns(TransductionWarning, match="may hurt"):
        model = TransductiveSVC(loop="joachims", class_balance=0.95).fit(X, y)
    assert model.advice_["may_hurt"]
    plain = TransductiveSVC(random_state=0).fit(X, y)
    wrong, right = ((m.transduction_[80:] == truth[80:]).mean() for m in (model, plain))
    assert wrong < right - 0.05


@pytest.mark.parametrize("unknown", ["-1", -1, None])
def test_points_without_a_label_beside_labels_of_text(unknown: object) -> None:
    X = np.concatenate([np.random.default_rng(0).normal(c, 1, (30, 3)) for c in (0, 3)])
    y = np.array([unknown] * 60, dtype=object)
    y[:2], y[30:32] = "a", "b"
    model = TransductiveSVC(random_state=0).fit(X, y.astype(str) if unknown == "-1" else y)
    assert model.classes_.tolist() == ["a", "b"]
