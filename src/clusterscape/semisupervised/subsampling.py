"""Which unlabelled points matter: those between clusters, and those whose label is in doubt."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import (
    Choice,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    Such,
    check_params,
    checked,
)
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine import MCLA
from clusterscape.ensemble import Ensemble
from clusterscape.generate.features import validated_features
from clusterscape.linalg.distances import check_range
from clusterscape.linalg.kmeans import kmeans
from clusterscape.semisupervised.fuzzy import FuzzyCMeans
from clusterscape.semisupervised.labels import labelled_codes

Strategy = Literal["adaptive", "entropy", "uncertainty", "uniform"]
STRATEGIES = Choice("adaptive", "entropy", "uncertainty", "uniform")
SIZE = (Integer(1), Number(0, 1, open_low=True))
MEMBERSHIPS = (
    Null(),
    Such(
        lambda v: isinstance(v, (Ensemble, np.ndarray)) or hasattr(v, "fit"),
        "an (n, c) array of memberships, an Ensemble, or an estimator with memberships",
        refused=["fuzzy", 3],
    ),
)
_FUZZY_POINTS = 10_000  # on which centres are found at most
_FLOOR = 1e-6  # least score, so that there are always enough points to draw


def cluster_entropy(membership: ArrayLike) -> np.ndarray:
    """Return how undecided each point is between clusters, from 0 to 1.

    The entropy of a row of memberships, divided by its largest value log(c): 0 for a point of one
    cluster, 1 for one that all clusters share alike. Points of high entropy lie between clusters,
    where a good decision boundary may pass; but with clusters that are not the classes, or with
    many columns (where fuzzy memberships are all alike), it says little.

    Parameters
    ----------
    membership : (n, c) array
        Memberships, not negative; rows need not sum to one. A row of zeros is a point of no
        cluster, and as undecided as can be.

    Returns
    -------
    (n,) array
        Entropies; 0 throughout for one cluster.

    See Also
    --------
    FuzzyCMeans : Memberships by the distances from centres.
    AdaptiveSubsampler : Draws points by their entropy.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 6.2.1.

    Examples
    --------
    >>> from clusterscape.semisupervised import cluster_entropy
    >>> cluster_entropy([[1.0, 0.0], [0.5, 0.5]])
    array([0., 1.])
    """
    w = np.asarray(membership, dtype=np.float64)
    if w.ndim != 2 or w.shape[1] == 0 or not np.isfinite(w).all() or (w < 0).any():
        raise ValueError(
            f"membership must be an (n, c) array of finite numbers >= 0; got shape {w.shape}."
        )
    if w.size:
        check_range(w, "membership", smallest=False)
    if w.shape[1] == 1:
        return np.zeros(len(w))
    total = w.sum(axis=1, keepdims=True)
    share = np.divide(w, total, out=np.full_like(w, 1.0 / w.shape[1]), where=total > 0)
    return np.clip(entr(share).sum(axis=1) / np.log(w.shape[1]), 0.0, 1.0)


@checked({"form": (Choice("uncertainty", "as_printed"),)})
def label_uncertainty(
    probability: ArrayLike, *, form: Literal["uncertainty", "as_printed"] = "uncertainty"
) -> np.ndarray:
    """Return how uncertain the label of each point is, from 0 to 1.

    One minus the lead of the most probable label over the next; with two labels this is twice the
    probability of the less probable one.

    Parameters
    ----------
    probability : (n, k) array, or (n,) array
        Probabilities of the labels; of one of two labels if there is one column only.
    form : {"uncertainty", "as_printed"}
        "as_printed" is equation (6.2.2) of [1]_, the probability of the most probable label, which
        is highest for the most certain points, against what its text wants. It is here to be
        compared with.

    Returns
    -------
    (n,) array

    See Also
    --------
    platt_scaling : Probabilities from decision values.
    AdaptiveSubsampler : Draws points by their uncertainty.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 6.2.2.

    Examples
    --------
    >>> from clusterscape.semisupervised import label_uncertainty
    >>> label_uncertainty([0.5, 0.75, 1.0])
    array([1. , 0.5, 0. ])
    """
    p = np.asarray(probability, dtype=np.float64)
    p = np.stack([1.0 - p, p], axis=1) if p.ndim == 1 else p
    if p.ndim != 2 or p.shape[1] < 2 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            "probability must hold numbers in [0, 1], one column for each of two or more labels."
        )
    top = np.partition(p, -2, axis=1)[:, -2:]
    return top[:, 1] if form == "as_printed" else 1.0 - (top[:, 1] - top[:, 0])


def scores_of(strategy: str, entropy: np.ndarray, uncertainty: np.ndarray) -> np.ndarray:
    """Return the score in proportion to which points are drawn."""
    if strategy == "uniform":
        return np.ones_like(entropy)
    if strategy == "entropy":
        return entropy
    return uncertainty if strategy == "uncertainty" else uncertainty * entropy


def weighted_sample(scores: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw positions without replacement, each next one in proportion to its score, ascending.

    The keys of Efraimidis and Spirakis: the largest u^(1 / score) are what drawing one after the
    other would give. Scores of zero count as a very small one, so that there are always enough.
    """
    if size >= scores.size:
        return np.arange(scores.size)
    keys = np.log(rng.random(scores.size)) / np.maximum(scores, _FLOOR)
    return np.sort(np.argpartition(-keys, size - 1)[:size])


def inverse_weights(scores: np.ndarray, size: int, drawn: np.ndarray) -> np.ndarray:
    """Return for how many points each drawn one stands: one over its chance to be drawn.

    At most as many as in a uniform sample: the few drawn in spite of a low score would stand for
    very many, and their accident would decide. The chance of being among the drawn is that of an
    exponential clock of rate ``score`` to ring before a time at which as many rang as are drawn.
    """
    n = scores.size
    if size >= n:
        return np.ones(drawn.size)
    rates = np.maximum(scores, _FLOOR)
    low, high = 0.0, 1.0
    while -np.expm1(-rates * high).sum() < size:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if -np.expm1(-rates * middle).sum() < size:
            low = middle
        else:
            high = middle
    chance = -np.expm1(-rates[drawn] * high)
    return np.minimum(1.0 / chance, n / size)


def sample_size(subsample: float, n: int) -> int:
    """Return how many of n points a fraction or a number stands for."""
    if isinstance(subsample, (int, np.integer)) and not isinstance(subsample, bool):
        return int(min(subsample, n))
    return int(min(n, max(1, round(subsample * n))))


def membership_of(
    source: Any, X: Any, rows: np.ndarray, n_clusters: int, seed: np.random.SeedSequence
) -> np.ndarray:
    """Return the memberships of some rows of X, by whatever they come from."""
    if source is None:
        return _fuzzy(X[rows], n_clusters, seed)
    if isinstance(source, Ensemble):
        found = MCLA(n_clusters, random_state=seed).fit(source).membership_
    elif isinstance(source, np.ndarray):
        found = source
    else:
        return _of_estimator(source, X[rows], n_clusters, seed)
    if found.ndim != 2 or len(found) not in (X.shape[0], rows.size):
        raise ParameterError(
            f"{{memberships.name}} has shape {found.shape}; give one row per row of X "
            f"({X.shape[0]}), or per unlabelled row ({rows.size})."
        )
    return found[rows] if len(found) == X.shape[0] else found


def _fuzzy(X: Any, n_clusters: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Return memberships by fuzzy c-means; its centres are found on a sample of many points."""
    model = FuzzyCMeans(n_clusters, random_state=seed)
    n = X.shape[0]
    if n <= _FUZZY_POINTS:
        return model.fit(X).membership_
    rng = np.random.default_rng(seed.spawn(1)[0])
    some = np.sort(rng.choice(n, _FUZZY_POINTS, replace=False))
    return model.fit(X[some]).predict_membership(X)


def _of_estimator(source: Any, X: Any, n_clusters: int, seed: np.random.SeedSequence) -> np.ndarray:
    made = clone(source)
    if "random_state" in made.get_params(deep=False):
        made.set_params(random_state=sklearn_seed(seed))
    # A certificate (validate.Affinity) needs the clusters that it certifies.
    if hasattr(made, "fit_predict"):
        made.fit(X)
    else:
        made.fit(X, kmeans(X, n_clusters, n_init=3, seed=seed).labels)
    for read in (lambda m: m.membership_, lambda m: m.certificates_.shares):
        try:
            return np.asarray(read(made))
        except AttributeError:
            continue
    raise ParameterError(
        f"{{memberships.name}}: a fitted {type(made).__name__} has neither membership_ nor "
        "certificates_; give FuzzyCMeans, Affinity, ConsensusClustering or an array."
    )


class AdaptiveSubsampler(BaseEstimator):
    """Shrink the unlabelled part of a problem to the points that matter for the boundary.

    Semi-supervised methods take time that grows with the square of the unlabelled points or worse.
    Points are drawn without replacement in proportion to two scores: how undecided they are between
    the clusters of the unlabelled points, and how uncertain their label is under a classifier of
    the labelled ones [1]_. What is left can be given to any semi-supervised method of scikit-learn.

    Parameters
    ----------
    n_samples : float or int
        Unlabelled points to keep: a fraction in (0, 1], or a number.
    strategy : {"adaptive", "entropy", "uncertainty", "uniform"}
        Product of both scores, one of them, or neither.
    estimator : classifier or None
        With ``predict_proba``; by default a support vector machine with Gaussian kernel and
        cross-validated Platt scaling. It is fitted to the labelled points.
    memberships : None, array, Ensemble or estimator
        Where memberships come from: fuzzy c-means of the unlabelled points by default (its centres
        are found on 10,000 of them at most); an array with one row per point (or per unlabelled
        point); an ensemble, whose memberships :class:`~clusterscape.combine.MCLA` makes; or an
        estimator with ``membership_`` or, as :class:`~clusterscape.validate.Affinity`,
        ``certificates_``, which is fitted to the unlabelled points.
    n_clusters : int
        Clusters of fuzzy c-means, of MCLA, or of the k-means that Affinity certifies.
    form : {"uncertainty", "as_printed"}
        See :func:`label_uncertainty`.
    random_state : int, generator or None
        Seed.

    Attributes
    ----------
    sample_indices_ : array
        Rows that are kept, ascending: all labelled ones and the drawn unlabelled ones.
    unlabelled_indices_ : (u,) array
        The unlabelled rows.
    entropy_, uncertainty_, score_ : (u,) arrays
        Of the unlabelled rows.

    See Also
    --------
    TransductiveSVC : Draws anew in every round, by its own classifier.
    cluster_entropy, label_uncertainty : The scores.

    Notes
    -----
    The sample is not distributed as the data: its class shares and densities are those near the
    boundary. Methods that estimate densities from it (label spreading) see a thinned inside of
    clusters.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 6.2.
    .. [2] P. S. Efraimidis and P. G. Spirakis. Weighted random sampling with a reservoir.
       Information Processing Letters 97(5), 181-185, 2006. doi:10.1016/j.ipl.2005.11.003

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from clusterscape.semisupervised import AdaptiveSubsampler
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> y[20:] = -1
    >>> few, labels = AdaptiveSubsampler(0.1, random_state=0).fit_resample(X, y)
    >>> few.shape, int((labels == -1).sum())
    ((118, 2), 98)
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_samples": SIZE,
        "strategy": [STRATEGIES],
        "estimator": [
            Null(),
            Such(
                lambda v: hasattr(v, "fit") and hasattr(v, "predict_proba"),
                "a classifier with predict_proba",
                refused=["svc"],
            ),
        ],
        "memberships": MEMBERSHIPS,
        "n_clusters": [Integer(1)],
        "form": [Choice("uncertainty", "as_printed")],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_samples: float = 0.1,
        *,
        strategy: Strategy = "adaptive",
        estimator: Any = None,
        memberships: Any = None,
        n_clusters: int = 2,
        form: Literal["uncertainty", "as_printed"] = "uncertainty",
        random_state: RandomState = None,
    ) -> None:
        self.n_samples = n_samples
        self.strategy = strategy
        self.estimator = estimator
        self.memberships = memberships
        self.n_clusters = n_clusters
        self.form = form
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the unlabelled points and draw some of them.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features.
        y : (n,) array
            Labels; -1 marks an unlabelled point.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        X = validated_features(self, X)
        codes, _ = labelled_codes(y, X.shape[0])
        labelled, rest = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        self.unlabelled_indices_ = rest
        clustering, drawing = spawn(self.random_state, 2)
        self.entropy_, self.uncertainty_ = np.ones(rest.size), np.ones(rest.size)
        if rest.size and self.strategy in ("adaptive", "entropy"):
            k = min(self.n_clusters, rest.size)
            w = membership_of(self.memberships, X, rest, k, clustering)
            self.entropy_ = cluster_entropy(w)
        if rest.size and self.strategy in ("adaptive", "uncertainty"):
            model = self._classifier(codes[labelled]).fit(X[labelled], codes[labelled])
            self.uncertainty_ = label_uncertainty(model.predict_proba(X[rest]), form=self.form)
        self.score_ = scores_of(self.strategy, self.entropy_, self.uncertainty_)
        size = sample_size(self.n_samples, rest.size)
        drawn = weighted_sample(self.score_, size, np.random.default_rng(drawing))
        self.sample_indices_ = np.sort(np.concatenate([labelled, rest[drawn]]))
        return self

    def _classifier(self, codes: np.ndarray) -> Any:
        if codes.max() == 0:
            raise ParameterError(
                "{strategy} needs labels of two classes at least, but y has one class only; label "
                "more, or draw by {strategy.name}='entropy' or 'uniform'.",
                strategy=self.strategy,
            )
        if self.estimator is not None:
            return clone(self.estimator)
        folds = int(min(5, np.bincount(codes).min()))
        if folds < 2:
            raise ParameterError(
                "{strategy} needs two labelled points of every class for cross-validated "
                "probabilities; label more, or give an {estimator.name} with predict_proba.",
                strategy=self.strategy,
            )
        return CalibratedClassifierCV(SVC(), method="sigmoid", cv=folds)

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return the rows that are kept, and their labels.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features.
        y : (n,) array
            Labels; -1 marks an unlabelled point.

        Returns
        -------
        X, y : of the kept rows
            In the order of the rows of X; X is an array or a CSR matrix.
        """
        self.fit(X, y)
        rows = self.sample_indices_
        matrix = validated_features(self, X, reset=False)
        return matrix[rows], np.asarray(y)[rows]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
