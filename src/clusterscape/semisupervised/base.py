"""What all clusterers with constraints share: how they are asked, and what they report."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError, ParameterWarning
from clusterscape._core.labels import canonical
from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Rules, check_params
from clusterscape.combine.result import LabelsMixin
from clusterscape.ensemble.inputs import refuse_other_names
from clusterscape.generate.features import point_ids, validated_features
from clusterscape.semisupervised.constraints import Constraints, Tally, Violations


class ViolationWarning(ParameterWarning):
    """Certain constraints are violated by the answer.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.semisupervised import ViolationWarning
    >>> warnings.simplefilter("ignore", ViolationWarning)
    """


def constraints_of(constraints: Any, y: Any, n_points: int, *, names: Any = None) -> Constraints:
    """Return all that is known of the points: the constraints given, and the labels in ``y``.

    Parameters
    ----------
    constraints : Constraints, (n, n) matrix or None
        What is known.
    y : (n,) array or None
        Labels, -1 where unknown.
    n_points : int
        Points of the data.
    names : sequence, optional
        Names of the points; constraints that name the points must have them in this order.

    Returns
    -------
    Constraints
    """
    if constraints is None:
        known = Constraints(n_points)
    elif isinstance(constraints, Constraints):
        known = constraints
    elif _shape(constraints) == (n_points, n_points):
        known = Constraints.from_matrix(constraints)
    else:
        raise TypeError(
            f"constraints must be Constraints, or a matrix of the {n_points} points; got a "
            f"{type(constraints).__name__}. Pairs become Constraints by "
            "Constraints(n_points, must_link=..., cannot_link=...), classes by "
            "Constraints.from_labels(...), a file by Constraints.from_csv(...)."
        )
    if known.n_points != n_points:
        raise ValueError(
            f"constraints are about {known.n_points} points, but X has {n_points} rows; both must "
            "be about the same points in the same order."
        )
    if names is not None and known.index is not None:
        refuse_other_names(known.index, pd.Index(names), "constraints and X")
    if y is None:
        return known
    labels = Constraints.from_labels(y)
    if labels.n_points != n_points:
        raise ValueError(
            f"y has {labels.n_points} labels, but X has {n_points} rows; give one label per row, "
            "-1 where it is not known."
        )
    if names is not None and labels.index is not None:
        refuse_other_names(pd.Index(names), labels.index, "X and y")
    return known.merge(labels)


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, a frame or a sparse matrix; of other things, none."""
    return tuple(getattr(value, "shape", ()))


class BaseConstrainedClusterer(LabelsMixin, ClusterMixin, BaseEstimator):
    """A clusterer of features that takes constraints.

    Subclasses declare ``_parameter_rules`` and find labels, of any numbers, in ``_cluster``; the
    numbers by decreasing size that the caller sees are the positions in ``_order``. Clusters of new
    points are found in ``_assign``.
    """

    _parameter_rules: ClassVar[Rules] = {}

    n_clusters: int
    labels_: np.ndarray
    violations_: Violations

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features.
        y : (n,) array, optional
            Known classes, -1 for points whose class is not known: points of a class must be
            together, those of two classes cannot be.
        constraints : Constraints or (n, n) matrix, optional
            What else is known of the points.

        Returns
        -------
        self
        """
        X, known, _ = self._read(X, y, constraints)
        self._finish(self._cluster(X, known), known)
        return self

    def _read(self, X: Any, y: Any, constraints: Any) -> tuple[Any, Constraints, Any]:
        """Check what ``fit`` was given; return features, constraints, and names of the points."""
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        names = point_ids(X)
        self._keep_ids(names)
        X = validated_features(self, X)
        n = X.shape[0]
        if self.n_clusters > n:
            raise ParameterError(
                f"{{n_clusters}} is more than the {n} samples in X; ask for fewer.",
                n_clusters=self.n_clusters,
            )
        return X, constraints_of(constraints, y, n, names=names), names

    def _cluster(self, X: Any, known: Constraints) -> np.ndarray:
        raise NotImplementedError

    def _finish(self, labels: np.ndarray, known: Constraints) -> None:
        """Number the clusters by decreasing size and count what is violated."""
        self.labels_ = canonical(labels)
        self.n_clusters_ = int(self.labels_.max()) + 1
        # The clusters' own numbers of the points of fit, by which new points are named alike.
        self._order = np.full(int(labels.max()) + 1, -1, dtype=np.int64)
        self._order[labels] = self.labels_
        self.violations_ = known.violations(self.labels_)

    def _forget_points(self) -> None:
        """Drop what is kept of the points of fit, but not what ``predict`` needs."""

    def _renamed(self, labels: np.ndarray) -> np.ndarray:
        """Return labels of new points by the numbers of ``labels_``."""
        return self._order[labels]

    def fit_predict(self, X: Any, y: Any = None, *, constraints: Any = None) -> np.ndarray:
        """Fit, and return ``labels_``; the parameters are those of :meth:`fit`."""
        return self.fit(X, y, constraints=constraints).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of new points, of which no constraints are known.

        By the nearest centre, the landmarks, the nearest point of fit or the votes of the members,
        as the method has them.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.

        Returns
        -------
        (m,) array
        """
        check_is_fitted(self)
        X = validated_features(self, X, reset=False)
        with one_thread():
            return self._assign(X)

    def _assign(self, X: Any) -> np.ndarray:
        """Return the clusters of checked new points."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def warn_of_violations(
    who: str, found: Violations | Tally, why: str, *, stacklevel: int = 3
) -> None:
    """Say that certain constraints are violated."""
    warnings.warn(
        ViolationWarning(
            f"{who}: {found.must_link:,} must-links and {found.cannot_link:,} cannot-links are "
            f"violated: {why} violations_ has the pairs."
        ),
        stacklevel=stacklevel + 1,
    )
