"""Transductive support vector machines as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from scipy.linalg import solve
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import one_thread
from clusterscape._core.params import (
    Choice,
    Flag,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    Such,
    check_params,
)
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.generate.features import validated_features
from clusterscape.semisupervised.advice import chance_of_loss, expected_loss, left_out
from clusterscape.semisupervised.kernel_rows import KernelData, KernelFunction, KernelRows
from clusterscape.semisupervised.labels import labelled_codes
from clusterscape.semisupervised.machine import Machine, weights_of_rounds
from clusterscape.semisupervised.platt import class_probabilities, platt_scaling
from clusterscape.semisupervised.subsampling import (
    MEMBERSHIPS,
    SIZE,
    STRATEGIES,
    Strategy,
    cluster_entropy,
    inverse_weights,
    label_uncertainty,
    membership_of,
    sample_size,
    scores_of,
    weighted_sample,
)

# Unlabelled points over which the mean of the kernel is taken, and where only some of the points
# are in the machine (their mean would be that of a sample near the boundary).
_BALANCE_POINTS = 20_000
_BALANCE_SAMPLED = 1_000
# Above so many unlabelled points their scores are by landmarks, which are fitted with a ridge and
# tried on probes.
_EXACT_SCORES, _LANDMARKS, _PROBES, _RIDGE = 5_000, 300, 200, 1e-6
_SEEN = 2_000  # unlabelled points that the advice compares, where some are drawn
_FIRST_WEIGHT = 1e-5
# A warning is given above this expected loss, unless folds make a loss unlikely, and where they
# make it likely.
_EXPECTED, _UNLIKELY, _LIKELY = 0.02, 0.2, 0.8
_SHARE_RULE = Such(
    lambda v: isinstance(v, Mapping) or (isinstance(v, (list, tuple, np.ndarray)) and len(v) > 1),
    "a mapping from classes to shares, or a list of shares",
    refused=[[0.5]],
)


class TransductionWarning(UserWarning):
    """The unlabelled points may make a classifier worse."""


@dataclass(frozen=True)
class _Task:
    """The points in the order of the machines: labelled ones first."""

    data: KernelData
    order: np.ndarray
    codes: np.ndarray  # of the labelled points
    targets: np.ndarray | None  # share of each class among the unlabelled points
    pool: np.ndarray  # positions of the points that make the balance
    balance: tuple[np.ndarray, float] | None

    @property
    def n_labelled(self) -> int:
        return self.codes.size

    @property
    def rest(self) -> np.ndarray:
        return np.arange(self.n_labelled, self.order.size)


@dataclass(frozen=True)
class _Fitted:
    """Machines, the points that they hold, and decision values of all points."""

    machines: list[Machine]
    held: np.ndarray
    decision: np.ndarray
    seen: np.ndarray  # some of the unlabelled points, by their place among these
    first: np.ndarray  # their decision values by the labelled points alone
    membership: np.ndarray | None = None  # of the unlabelled points, where they were drawn by it


def _has_probability(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba is available with probability=True only.")
    return True


class TransductiveSVC(ClassifierMixin, BaseEstimator):
    """Support vector classifier that also learns from unlabelled points.

    The boundary keeps a margin from the unlabelled points too, so that it passes where they are
    sparse: it minimises half the squared norm of w, C times the hinge losses of the labelled points
    and C* times the ramp losses of the unlabelled ones, whose mean decision value is held to that
    of the class shares. Several classes are one against the rest. With two classes and no
    unlabelled point it is ``sklearn.svm.SVC`` (which takes several classes one against one).

    **It can hurt.** Where classes overlap, or clusters are not classes, the boundary moves into a
    gap that means nothing. ``advice_`` and a warning say when the signs of that are there; they do
    not see every case. With many hundreds of labels, ``check="folds"`` sees more.

    Parameters
    ----------
    C : float
        Weight of a labelled point's loss.
    C_unlabelled : float or None
        Weight C* of an unlabelled point's loss; by default ``C * labelled / unlabelled``, the
        latter as many as the machine holds, so that both parts weigh the same. With
        ``weights="inverse"`` drawn points have at most this weight, and their part less in all.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        As for ``sklearn.svm.SVC``. With "precomputed" X is the kernel of all points, labelled and
        unlabelled.
    gamma : {"scale", "auto"} or float
        Of the kernels "rbf", "poly" and "sigmoid".
    degree : int
        Of the kernel "poly".
    coef0 : float
        Of the kernels "poly" and "sigmoid".
    loop : {"cccp", "joachims"}
        "cccp" minimises the ramp loss by the concave-convex procedure [1]_. "joachims" gives the
        unlabelled points labels in the class shares, fits, gives them anew, and raises C* from
        ``start`` by ``factor`` [2]_.
    ramp : float
        Where the ramp ends, s in (-1, 0]: losses are at most 1 - s.
    class_balance : "labelled", None, float, mapping or list
        Shares of the classes among the unlabelled points: those of the labelled points, no
        constraint (not with "joachims"), the share of the second class, or the share of each.
    subsample : None, float or int
        Unlabelled points that the machine holds: all, a fraction, or a number. They are drawn by
        the ``strategy``, and anew in every round where C* rises from ``start`` [3]_.
    strategy : {"adaptive", "entropy", "uncertainty", "uniform"}
        What points are drawn by: how undecided they are between clusters and how uncertain their
        label is, one of both, or neither. The uncertainty is by Platt scaling on decision values
        of the labelled points that the machine was fitted to, hence too low where it overfits.
    memberships : None, array, Ensemble or estimator
        Where the memberships of points in clusters come from; see :class:`AdaptiveSubsampler`.
        With a precomputed kernel, estimators (and the default) see its rows as features; give an
        array or an ensemble where these are not what points should be clustered by.
    n_clusters : int
        Clusters of the default, fuzzy c-means.
    weights : {"inverse", "equal"}
        "inverse" weighs a drawn point's loss by the points it stands for, one over its chance to
        be drawn (but no more than in a uniform sample). With "equal", as printed in [3]_, the
        points near the boundary, which are drawn more often, push it with more weight than they
        have.
    form : {"uncertainty", "as_printed"}
        See :func:`label_uncertainty`.
    scores : {"auto", "exact", "landmarks"}
        How the uncertainty of all unlabelled points is found between the rounds: by the machine, or
        by a combination of kernels with 300 landmarks that fits its decision values on the points
        it holds. "auto" is "exact" up to 5,000 unlabelled points and for the kernels "linear" and
        "precomputed". It decides which points are drawn; the answer is by the machine in any case.
    start : float or None
        C* of the first round. None: with "joachims" 1e-5, or 1/16 of the last with ``subsample``;
        otherwise there is one round. There is one round, with the last C*, also where ``start`` is
        no less than that. With ``subsample`` the points of the first round are scored by the
        machine of the labelled points (with ``form="as_printed"`` by the clusters alone), those of
        each later one by the machine before.
    factor : float
        C* grows by it from round to round.
    probability : bool
        Whether to fit Platt scaling for ``predict_proba``, on decision values of five-fold
        cross-validation over the labelled points: six fits in place of one.
    check : {"quick", "folds"}
        How the warning that unlabelled points may hurt is found: by the probabilities of the
        labelled points' machine, or also by fits with and without unlabelled points on five folds
        of the labelled ones, which say much with many hundreds of labels and little with a hundred
        (six fits in place of one, as ``probability``).
    tol : float
        Largest violation of the optimality conditions.
    max_iter : int
        Convex problems of one round at most.
    cache_mb : float
        Memory for kernel rows.
    random_state : int, generator or None
        Seed of the samples, the clustering and the folds.

    Attributes
    ----------
    classes_ : (k,) array
        The labels, without -1.
    transduction_ : (n,) array
        The label of every point of ``fit``: the given one, or the predicted one.
    decision_ : (n,) or (n, k) array
        Decision values of the points of ``fit``.
    support_ : array
        Rows with a variable that is not zero, ascending.
    dual_coef_ : (machines, n_support) array
        Their signed variables.
    balance_rows_ : array
        Unlabelled rows whose mean the balance is about: all of them up to 20,000, with
        ``subsample`` up to 1,000, and a sample of that size otherwise. Empty without balance.
    balance_coef_ : (machines,) array
        The variable of the balance.
    intercept_ : (machines,) array
        Intercepts.
    objective_ : list of arrays
        For each machine the objective after each convex problem of the last round.
    n_iter_ : int
        Convex problems solved, of all machines.
    C_unlabelled_ : float
        C* of the last round.
    sample_indices_ : array
        Unlabelled rows that the last round held.
    entropy_, uncertainty_ : arrays or None
        Scores of the unlabelled rows in the last round, with ``subsample``.
    score_error_ : float or None
        Root of the mean squared error of the decision values that the last scores are by, on 200
        unlabelled points; None where they are exact.
    advice_ : dict
        Signs that the unlabelled points may hurt; see Notes.

    See Also
    --------
    sklearn.svm.SVC : The same without unlabelled points.
    sklearn.semi_supervised.SelfTrainingClassifier : Labels what it is sure of.
    AdaptiveSubsampler : The sampling alone, for other methods.

    Notes
    -----
    Time grows with the number of points times the number of support vectors, many of which are
    unlabelled points inside of the margin. Memory is that of ``cache_mb`` and of the features.

    The printed objective of [3]_ has the squared norm in place of half of it: its C is twice this
    one.

    ``advice_`` needs no label of the unlabelled points. It holds "changed" (share of them whose
    label differs from that by the labelled points' machine), "error_before" (error of that machine
    on labelled points left out, by five folds over at most 400), "expected_loss" (fall of accuracy
    that these changes mean by the calibrated probabilities of that machine; both NaN with fewer
    than 20 labels or a class with one label) and "may_hurt": a :class:`TransductionWarning` was
    given, because the expected loss is above .02. With ``check="folds"`` also "gained" and "lost"
    (labelled points that, left out, became right and wrong by the unlabelled ones) and
    "chance_of_loss" (that changes are wrong more often than right): there is a warning above .8,
    and none for the expected loss below .2.

    The kernel "sigmoid" is in general not positive definite: then the convex problems are not
    convex, solutions are not unique (``SVC``'s neither), and the objective may rise.

    References
    ----------
    .. [1] R. Collobert, F. Sinz, J. Weston and L. Bottou. Large scale transductive SVMs. Journal of
       Machine Learning Research 7, 1687-1712, 2006.
    .. [2] T. Joachims. Transductive inference for text classification using support vector
       machines. International Conference on Machine Learning, 200-209, 1999.
    .. [3] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import TransductiveSVC
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 1, size=(200, 2)) for c in (0, 5)])
    >>> truth = np.repeat([0, 1], 200)
    >>> y = np.full(400, -1)
    >>> y[[0, 1, 200, 201]] = 0, 0, 1, 1
    >>> model = TransductiveSVC(random_state=0).fit(X, y)
    >>> float((model.transduction_ == truth).mean()) > 0.99
    True
    """

    _parameter_rules: ClassVar[Rules] = {
        "C": [Number(0, open_low=True)],
        "C_unlabelled": [Null(), Number(0, open_low=True)],
        "kernel": [
            Choice("rbf", "linear", "poly", "sigmoid", "precomputed"),
            Such(callable, "a function of two blocks of rows", refused=[3]),
        ],
        "gamma": [Choice("scale", "auto"), Number(0, open_low=True)],
        "degree": [Integer(1)],
        "coef0": [Number()],
        "loop": [Choice("cccp", "joachims")],
        "ramp": [
            Such(
                lambda v: Number(-1, 0).allows(v) and v > -1,
                "a number in (-1, 0]",
                refused=[-1.0, 0.5],
            )
        ],
        "class_balance": [Null(), Choice("labelled"), Number(0, 1), _SHARE_RULE],
        "subsample": [Null(), *SIZE],
        "strategy": [STRATEGIES],
        "memberships": MEMBERSHIPS,
        "n_clusters": [Integer(1)],
        "weights": [Choice("inverse", "equal")],
        "form": [Choice("uncertainty", "as_printed")],
        "scores": [Choice("auto", "exact", "landmarks")],
        "start": [Null(), Number(0, open_low=True)],
        "factor": [Number(1, open_low=True)],
        "probability": [Flag()],
        "check": [Choice("quick", "folds")],
        "tol": [Number(0, open_low=True)],
        "max_iter": [Integer(1)],
        "cache_mb": [Number(1)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabelled: float | None = None,
        kernel: str | Callable[[Any, Any], np.ndarray] = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loop: Literal["cccp", "joachims"] = "cccp",
        ramp: float = 0.0,
        class_balance: Any = "labelled",
        subsample: float | None = None,
        strategy: Strategy = "adaptive",
        memberships: Any = None,
        n_clusters: int = 2,
        weights: Literal["inverse", "equal"] = "inverse",
        form: Literal["uncertainty", "as_printed"] = "uncertainty",
        scores: Literal["auto", "exact", "landmarks"] = "auto",
        start: float | None = None,
        factor: float = 2.0,
        probability: bool = False,
        check: Literal["quick", "folds"] = "quick",
        tol: float = 1e-3,
        max_iter: int = 50,
        cache_mb: float = 400.0,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.C_unlabelled = C_unlabelled
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loop = loop
        self.ramp = ramp
        self.class_balance = class_balance
        self.subsample = subsample
        self.strategy = strategy
        self.memberships = memberships
        self.n_clusters = n_clusters
        self.weights = weights
        self.form = form
        self.scores = scores
        self.start = start
        self.factor = factor
        self.probability = probability
        self.check = check
        self.tol = tol
        self.max_iter = max_iter
        self.cache_mb = cache_mb
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the labelled and the unlabelled points.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame; (n, n) array with kernel="precomputed"
            Features of all points.
        y : (n,) array
            Labels, numbers or text; -1 (in an array of text "-1") or None marks an unlabelled
            point.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        X = validated_features(self, X)
        codes, self.classes_ = labelled_codes(y, X.shape[0])
        self._check_data(X, codes)
        with one_thread():  # sums in the same order on every machine
            self._fit(X, codes)
        return self

    def _fit(self, X: Any, codes: np.ndarray) -> None:
        """Fit checked data."""
        seeds = spawn(self.random_state, 6)
        drawing, clustering, folding, balancing, advising, scoring = seeds
        task = self._task(X, codes, np.random.default_rng(balancing))
        self.entropy_: np.ndarray | None = None
        self.uncertainty_: np.ndarray | None = None
        self.score_error_: float | None = None
        if self.subsample is None or task.rest.size == 0:
            found = self._fit_all(task)
        else:
            found = self._fit_sampled(task, X, (drawing, clustering, scoring))
        self._keep(task, X, found)
        decision = np.empty_like(found.decision)
        decision[task.order] = found.decision
        self.decision_ = decision[:, 0] if decision.shape[1] == 1 else decision
        self.transduction_ = self.classes_[np.where(codes >= 0, codes, self._chosen(decision))]
        counts = None
        if self.probability or (self.check == "folds" and task.rest.size):
            counts = self._fit_folds(X, codes, found.membership, folding)
        self._advise(task, found, advising, counts)

    def _check_data(self, X: Any, codes: np.ndarray) -> None:
        if self.classes_.size < 2:
            raise ValueError(
                f"y has one class only among its labels, {self.classes_[0]!r}; a classifier needs "
                "at least two."
            )
        if self.kernel == "precomputed" and (sparse.issparse(X) or X.shape[0] != X.shape[1]):
            raise ParameterError(
                f"{{kernel}} needs the dense (n, n) kernel of all points; X has shape {X.shape}.",
                kernel=self.kernel,
            )
        if self.check == "folds" and np.bincount(codes[codes >= 0]).min() < 2:
            raise ParameterError(
                "{check} needs two labelled points of every class; label more, or take 'quick'.",
                check=self.check,
            )
        if self.loop == "joachims" and self.class_balance is None and (codes < 0).any():
            raise ParameterError(
                "{loop} gives labels in the shares of {class_balance.name}, which is None; take "
                "'labelled' or give the shares.",
                loop=self.loop,
            )

    def _function(self, X: Any) -> KernelFunction:
        if isinstance(self.gamma, str):
            gamma = 1.0 / X.shape[1]
            if self.gamma == "scale":
                square = X.multiply(X).mean() if sparse.issparse(X) else np.mean(X * X)
                spread = float(square) - float(X.mean()) ** 2
                gamma = gamma / spread if spread > 0 else 1.0
        else:
            gamma = float(self.gamma)
        return KernelFunction(self.kernel, gamma, self.degree, self.coef0)

    def _task(self, X: Any, codes: np.ndarray, rng: np.random.Generator) -> _Task:
        """Put the labelled points first, settle the kernel, and find the balance."""
        order = np.argsort(codes < 0, kind="stable")
        pre = self.kernel == "precomputed"
        data = KernelData(self._function(X), X[np.ix_(order, order)] if pre else X[order])
        known = codes[order][: int((codes >= 0).sum())]
        rest = np.arange(known.size, order.size)
        targets, pool, balance = None, np.empty(0, dtype=np.int64), None
        if rest.size:
            targets = self._shares(known)
        if targets is not None and self.loop == "cccp":
            most = _BALANCE_POINTS if self.subsample is None else _BALANCE_SAMPLED
            pool = rest if rest.size <= most else np.sort(rng.choice(rest, most, replace=False))
            means = data.means(pool)
            balance = means, float(means[pool].mean())
        return _Task(data, order, known, targets, pool, balance)

    def _shares(self, known: np.ndarray) -> np.ndarray | None:
        """Return the share of each class among the unlabelled points."""
        given, k = self.class_balance, self.classes_.size
        if given is None:
            return None
        if isinstance(given, str):
            return np.bincount(known, minlength=k) / known.size
        if isinstance(given, Mapping):
            given = [given.get(label, np.nan) for label in self.classes_.tolist()]
        elif np.ndim(given) == 0:
            given = [1.0 - given, given]
        shares = np.asarray(given, dtype=np.float64)
        if shares.shape != (k,) or not (shares >= 0).all() or abs(shares.sum() - 1.0) > 1e-6:
            raise ParameterError(
                f"{{class_balance}} must give a share >= 0 of each of the {k} classes that sum to "
                "one (one number is the share of the second of two classes).",
                class_balance=self.class_balance,
            )
        return shares

    def _signs(self, codes: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return for each machine its class and the signs of the labelled points."""
        classes = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return [(c, np.where(codes == c, 1.0, -1.0)) for c in classes]

    def _machine(self, task: _Task, rows: KernelRows, c: int, signs: np.ndarray) -> Machine:
        target = None
        if task.balance is not None and task.targets is not None:
            target = 2.0 * float(task.targets[c]) - 1.0
        weights = np.full(signs.size, float(self.C))
        return Machine(rows, signs, weights, self.ramp, target, self.tol, self.max_iter)

    def _final(self, task: _Task, held: int) -> float:
        if self.C_unlabelled is not None:
            return float(self.C_unlabelled)
        return self.C * task.n_labelled / max(held, 1)

    def _fit_all(self, task: _Task) -> _Fitted:
        """Fit machines that hold all points."""
        rows = KernelRows(task.data, int(self.cache_mb * 1e6), task.balance)
        self.C_unlabelled_ = self._final(task, task.rest.size)
        machines, first = [], []
        for c, signs in self._signs(task.codes):
            machine = self._machine(task, rows, c, signs)
            machine.start()
            first.append(machine.decision)
            if task.rest.size:
                self._loop(task, machine, c, machine.decision[task.n_labelled :])
            machines.append(machine)
        self.sample_indices_ = task.order[task.rest]
        decision = np.stack([m.decision for m in machines], axis=1)
        seen, rest = np.arange(task.rest.size), np.stack(first, axis=1)[task.n_labelled :]
        return _Fitted(machines, np.arange(task.order.size), decision, seen, rest)

    def _loop(self, task: _Task, machine: Machine, c: int, f: np.ndarray) -> None:
        """Run the rounds of one machine whose points stay the same."""
        final = self.C_unlabelled_
        first = self.start
        if first is None:
            first = final if self.loop == "cccp" else _FIRST_WEIGHT
        for weight in weights_of_rounds(first, final, self.factor):
            machine.history.clear()
            if self.loop == "cccp":
                machine.concave_convex(weight, f)
            else:
                self._label(task, machine, c, weight, last=weight == final)
            f = machine.decision[task.n_labelled :]

    def _label(self, task: _Task, machine: Machine, c: int, weight: Any, *, last: bool) -> None:
        assert task.targets is not None
        positives = round(float(task.targets[c]) * (machine.alpha.size - task.n_labelled))
        for _ in range(self.max_iter if last else 1):
            if machine.label_switching(weight, positives):
                return
        machine.converged = not last

    def _fit_sampled(
        self, task: _Task, X: Any, seeds: tuple[SeedSequence, SeedSequence, SeedSequence]
    ) -> _Fitted:
        """Fit machines that hold a new sample of the unlabelled points in every round."""
        drawing, clustering, scoring = seeds
        rest, rng = task.rest, np.random.default_rng(drawing)
        entropy, uncertainty = np.ones(rest.size), np.ones(rest.size)
        membership = None
        if self.strategy in ("adaptive", "entropy"):
            k = min(self.n_clusters, rest.size)
            source = task.data.X if self.memberships is None else X
            rows = rest if self.memberships is None else task.order[rest]
            membership = membership_of(self.memberships, source, rows, k, clustering)
            entropy = cluster_entropy(membership)
        assert self.subsample is not None
        size = sample_size(self.subsample, rest.size)
        self.C_unlabelled_ = self._final(task, size)
        start = self.start
        if start is None:
            start = self.C_unlabelled_ / (16.0 if self.loop == "joachims" else 1.0)
        rounds = _Rounds(self, task, scoring)
        seen = _evenly(rest.size, _SEEN)
        first = rounds.before(rest[seen])
        is_scored = self.strategy in ("adaptive", "uncertainty")
        if is_scored and self.form != "as_printed":
            uncertainty = label_uncertainty(rounds.probability(), form=self.form)
        for weight in weights_of_rounds(start, self.C_unlabelled_, self.factor):
            scores = scores_of(self.strategy, entropy, uncertainty)
            drawn = weighted_sample(scores, size, rng)
            share = np.ones(size)
            if self.weights == "inverse":
                share = inverse_weights(scores, size, drawn) * (size / rest.size)
            rounds.run(rest[drawn], weight, share)
            if is_scored and weight < self.C_unlabelled_:  # for the next round
                uncertainty = label_uncertainty(rounds.probability(), form=self.form)
        self.entropy_, self.uncertainty_ = entropy, uncertainty
        self.score_error_ = rounds.score_error
        self.sample_indices_ = task.order[rest[drawn]]
        decision = rounds.everywhere()
        return _Fitted(rounds.machines, rounds.held, decision, seen, first, membership)

    def _keep(self, task: _Task, X: Any, found: _Fitted) -> None:
        """Store what predictions need."""
        machines = found.machines
        alpha = np.zeros((task.order.size, len(machines)))
        alpha[found.held] = np.stack([m.alpha for m in machines], axis=1)
        inside = np.flatnonzero(alpha.any(axis=1))
        inside = inside[np.argsort(task.order[inside])]
        self.support_, self.dual_coef_ = task.order[inside], alpha[inside].T
        self.balance_rows_ = np.sort(task.order[task.pool])
        self.balance_coef_ = np.array([m.balance_weight for m in machines])
        self.intercept_ = np.array([m.dual.intercept for m in machines])
        self.objective_ = [np.array(m.history) for m in machines]
        self.n_iter_ = max(1, sum(m.n_iter for m in machines))
        if not all(m.converged for m in machines):
            warnings.warn(
                f"the rounds stopped at max_iter={self.max_iter} while points still changed "
                "sides; raise max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if task.pool.size:
            alpha[task.pool] += self.balance_coef_ / task.pool.size
        used = np.flatnonzero(alpha.any(axis=1))
        self._used_rows = task.order[used]
        self._weights = alpha[used]
        pre = self.kernel == "precomputed"
        # Double precision: predictions must not depend on what is predicted beside them.
        part = X if pre else X[self._used_rows]
        self._data = KernelData(task.data.function, part, single=False)

    def _advise(
        self, task: _Task, found: _Fitted, seed: SeedSequence, counts: tuple[int, int] | None
    ) -> None:
        """Look for signs that the unlabelled points made it worse."""
        before, now = found.first, found.decision[task.rest[found.seen]]
        self.advice_: dict[str, Any] = {}
        if not len(now):
            return
        labels = self._chosen(before), self._chosen(now)
        changed = float((labels[0] != labels[1]).mean())
        tried = left_out(task.data, task.codes, self.C, seed)
        loss = float("nan") if tried is None else expected_loss(before, tried.curves, *labels)
        self.advice_ = {
            "changed": changed,
            "error_before": float("nan") if tried is None else tried.error,
            "expected_loss": loss,
            "may_hurt": loss > _EXPECTED,
        }
        reason = (
            f"they changed {changed:.0%} of the labels, and by what the labelled points say these "
            f"changes cost {loss:.1%} of accuracy"
        )
        if self.check == "folds" and counts is not None:
            chance = chance_of_loss(*counts)
            self.advice_ |= {"gained": counts[0], "lost": counts[1], "chance_of_loss": chance}
            self.advice_["may_hurt"] = chance > (_UNLIKELY if loss > _EXPECTED else _LIKELY)
            if chance > _LIKELY:
                reason = (
                    f"of labelled points that were left out they turned {counts[1]} to a wrong "
                    f"label and {counts[0]} to the right one"
                )
        if self.advice_["may_hurt"]:
            warnings.warn(
                f"the unlabelled points may hurt: {reason}. Compare with SVC; see advice_.",
                TransductionWarning,
                stacklevel=4,
            )

    def _chosen(self, decision: np.ndarray) -> np.ndarray:
        """Return the class of each row of decision values."""
        if decision.ndim == 2 and decision.shape[1] == 1:
            decision = decision[:, 0]
        return decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(np.int64)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values of points.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame; (m, n) array with kernel="precomputed"
            Features.

        Returns
        -------
        (m,) array for two classes, (m, k) array for more
        """
        check_is_fitted(self, "intercept_")
        X = validated_features(self, X, reset=False)
        rows = self._used_rows if self.kernel == "precomputed" else np.arange(self._data.n)
        f = self._data.weighted(X, rows, self._weights) + self.intercept_
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of points.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame; (m, n) array with kernel="precomputed"
            Features.

        Returns
        -------
        (m,) array
        """
        found = self._chosen(self.decision_function(X))
        return self.classes_[found]

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the labels by Platt scaling.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame; (m, n) array with kernel="precomputed"
            Features.

        Returns
        -------
        (m, k) array
            Columns in the order of ``classes_``; rows sum to one.
        """
        check_is_fitted(self, "intercept_")
        return class_probabilities(self.decision_function(X), self.platt_)

    def _fit_folds(
        self, X: Any, codes: np.ndarray, membership: np.ndarray | None, seed: SeedSequence
    ) -> tuple[int, int]:
        """Fit without a fifth of the labelled points at a time, and look at these.

        Fits the curves of the probabilities; returns how many became right, and how many wrong,
        in comparison with a machine of the labelled points.
        """
        labelled = np.flatnonzero(codes >= 0)
        known = codes[labelled]
        folds = int(min(5, np.bincount(known).min()))
        f = self.decision_.reshape(codes.size, -1)[labelled].copy()
        alone = known.copy()
        # Folds know classes by their codes, and hold the same unlabelled points in the same order.
        more: dict[str, Any] = {"probability": False, "check": "quick", "memberships": membership}
        if isinstance(self.class_balance, Mapping) and labelled.size < codes.size:
            more["class_balance"] = self._shares(known)
        if folds > 1:
            split = StratifiedKFold(folds, shuffle=True, random_state=sklearn_seed(seed))
            for _, out in split.split(labelled, known):
                keep = np.setdiff1d(np.arange(codes.size), labelled[out])
                part, new = self._parts(X, keep, labelled[out])
                model = clone(self).set_params(**more)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", TransductionWarning)
                    model.fit(part, codes[keep])
                f[out] = model.decision_function(new).reshape(len(out), -1)
                if self.check == "folds":
                    alone[out] = self._alone(X, codes, np.setdiff1d(labelled, labelled[out]), out)
        if self.probability:
            self.platt_folds_ = folds if folds > 1 else 0
            self.platt_ = [
                platt_scaling(f[:, i], signs > 0) for i, (_, signs) in enumerate(self._signs(known))
            ]
        right, was = self._chosen(f) == known, alone == known
        return int((right & ~was).sum()), int((was & ~right).sum())

    def _parts(self, X: Any, keep: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
        """Return what a machine of some rows is fitted to, and what it predicts others by."""
        if self.kernel == "precomputed":
            return X[np.ix_(keep, keep)], X[np.ix_(out, keep)]
        return X[keep], X[out]

    def _alone(self, X: Any, codes: np.ndarray, keep: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Return the labels of labelled points by a machine of others, without unlabelled ones."""
        part, new = self._parts(X, keep, np.flatnonzero(codes >= 0)[out])
        kernel = self._function(X)
        given = {"gamma": kernel.gamma, "degree": self.degree, "coef0": self.coef0}
        return SVC(C=self.C, kernel=self.kernel, **given).fit(part, codes[keep]).predict(new)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _evenly(n: int, most: int) -> np.ndarray:
    """Return at most so many of n places, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


class _Rounds:
    """Rounds over samples: machines of the last one, and decision values of other points."""

    def __init__(self, model: TransductiveSVC, task: _Task, seed: SeedSequence) -> None:
        self.model, self.task = model, task
        self.signs = model._signs(task.codes)
        self.alpha = np.zeros((task.order.size, len(self.signs)))
        self.machines: list[Machine] = []
        self.held = np.arange(task.n_labelled)
        self.score_error: float | None = None
        rng = np.random.default_rng(seed)
        size = min(_LANDMARKS, task.order.size)
        self.landmarks = np.sort(rng.choice(task.order.size, size, replace=False))
        self.probes = np.sort(rng.choice(task.rest, min(_PROBES, task.rest.size), replace=False))

    def before(self, rows: np.ndarray) -> np.ndarray:
        """Fit the labelled points alone; return the decision values of some points."""
        self._fit(np.empty(0, dtype=np.int64), 0.0)
        return self.at(rows)

    def run(self, drawn: np.ndarray, weight: float, share: np.ndarray) -> None:
        """Fit the labelled points and a sample whose points have weight C* times their share."""
        self._fit(drawn, weight, share)

    def _fit(self, drawn: np.ndarray, weight: float, share: Any = 1.0) -> None:
        task, model = self.task, self.model
        values = self.at(drawn) if drawn.size else np.empty((0, len(self.signs)))
        self.held = np.concatenate([np.arange(task.n_labelled), drawn])
        data = task.data.subset(self.held)
        balance = None
        if task.balance is not None and drawn.size:
            balance = task.balance[0][self.held], task.balance[1]
        rows = KernelRows(data, int(model.cache_mb * 1e6), balance)
        before, self.machines = self.machines, []
        for i, (c, signs) in enumerate(self.signs):
            machine = model._machine(task, rows, c, signs)
            if not drawn.size:
                machine.start()
            else:
                warm = np.append(self.alpha[self.held, i], before[i].balance_weight)
                machine.start(warm)
                if model.loop == "cccp":
                    machine.concave_convex(weight * share, values[:, i])
                else:
                    machine.dual.intercept = before[i].dual.intercept
                    last = weight == model.C_unlabelled_
                    model._label(task, machine, c, weight * share, last=last)
                machine.n_iter += before[i].n_iter
            self.machines.append(machine)
        self.alpha[:] = 0.0
        self.alpha[self.held] = np.stack([m.alpha for m in self.machines], axis=1)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the decision values of some points."""
        task = self.task
        used = np.flatnonzero(self.alpha.any(axis=1))
        found = task.data.at(rows, used, self.alpha[used])
        if task.balance is not None:
            found += task.balance[0][rows, None] * [m.balance_weight for m in self.machines]
        return found + [m.dual.intercept for m in self.machines]

    def everywhere(self) -> np.ndarray:
        """Return the decision values of all points."""
        f = np.empty((self.task.order.size, len(self.machines)))
        f[self.held] = self._held()
        others = np.setdiff1d(np.arange(len(f)), self.held, assume_unique=True)
        f[others] = self.at(others)
        return f

    def _held(self) -> np.ndarray:
        return np.stack([m.decision for m in self.machines], axis=1)

    def probability(self) -> np.ndarray:
        """Return probabilities for the unlabelled points, by curves on the labelled ones."""
        labelled, rest = self.task.n_labelled, self.task.rest
        known = self._held()[:labelled]
        curves = [platt_scaling(known[:, i], signs > 0) for i, (_, signs) in enumerate(self.signs)]
        if self._is_exact():
            return class_probabilities(self.at(rest), curves)
        return class_probabilities(self._about(rest), curves)

    def _is_exact(self) -> bool:
        """Say whether scores are by the machine itself: it is cheap, or asked for."""
        if self.model.scores != "auto":
            return self.model.scores == "exact"
        few = self.task.rest.size <= _EXACT_SCORES
        return few or self.model.kernel in ("linear", "precomputed")

    def _about(self, rows: np.ndarray) -> np.ndarray:
        """Return decision values by kernels with a few landmarks, fitted to the held points."""
        data, some = self.task.data, self.landmarks
        held = self._held()
        middle = held.mean(axis=0)
        kernel = np.asarray(data.block(self.held, some), dtype=np.float64)
        square = kernel.T @ kernel
        square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
        weights = solve(square, kernel.T @ (held - middle), assume_a="pos")
        found = data.at(rows, some, weights) + middle
        at_probes = found[np.searchsorted(rows, self.probes)]
        self.score_error = float(np.sqrt(np.mean((at_probes - self.at(self.probes)) ** 2)))
        return found
