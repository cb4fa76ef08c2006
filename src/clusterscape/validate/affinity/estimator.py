"""Affinity: certificates for the points of any clustering, by the cells that they would claim."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.labels import encode
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import (
    N_JOBS,
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
from clusterscape._core.rows import RowSource, as_rows
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape.compare import element_consistency
from clusterscape.ensemble.inputs import check_same_rows
from clusterscape.generate.features import point_ids, rows_of, validated_features
from clusterscape.linalg.cells import (
    Bound,
    Method,
    Sampling,
    Shares,
    Sites,
    check_exact,
    natural_neighbors,
)
from clusterscape.linalg.distances import median_distance, squared_distances
from clusterscape.linalg.kmeans import nearest_center
from clusterscape.validate.affinity.blocked import CHUNK, BlockedCertificates, ClusteredRows
from clusterscape.validate.affinity.bregman import BregmanCells
from clusterscape.validate.affinity.certificates import Certificates
from clusterscape.validate.affinity.representatives import (
    representatives,
    site_weights,
    squared_to_own,
)
from clusterscape.validate.affinity.space import KernelSpace, LinearSpace
from clusterscape.validate.description import check_order

_SAME = 1e-12  # of the largest distance of centres: nearer ones are one
_SAMPLE = 1000  # points from which the bandwidth of a kernel is taken

Divergence = Literal["euclidean", "kl", "itakura_saito"]
Kernel = Literal["rbf", "laplacian", "polynomial", "sigmoid", "cosine", "linear"]

_MATRIX = Such(
    lambda v: not isinstance(v, str) and np.ndim(v) == 2,
    "a 2-D array of representatives, one row per cluster",
    refused=[[1.0, 2.0]],
)
_VECTOR = Such(
    lambda v: not isinstance(v, str) and np.ndim(v) == 1,
    "a 1-D array of weights, one per cluster",
    refused=[[[1.0]]],
)


class Affinity(BaseEstimator):
    """Certificates for the points of any clustering: how firmly each belongs where it is.

    Take the Voronoi cells of the clusters' representatives, and add one point as a site of its
    own. The share of its new cell that was cluster i's before is the point's affinity to i, and its
    largest share is its stability [1]_. A point amid a cluster takes its cell from that cluster
    alone; one between clusters takes from each. The shares are Sibson's natural-neighbour
    coordinates [2]_: inside of the hull of the representatives their weighted mean is the point.

    Parameters
    ----------
    representative : {"mean", "median", "medoid"} or (k, d) array
        What stands for a cluster; the medoid is the member nearest to the mean. Rows of an array
        belong to the labels in sorted order.
    bound : {"project", "limit", "box", "nearest"}
        What the cell of a point outside of the convex hull of the representatives is, since it is
        not bounded: that of the nearest point of the hull; the limit of growing balls; its part in
        a box around the data; or all of it goes to the nearest representative. **Most points of
        real data lie outside**: see the guide for a comparison.
    margin : float
        Of ``bound="box"``: share of the data's range that is added on every side.
    method : {"auto", "exact", "sampling"}
        "auto" is exact in up to three dimensions and wherever there is a closed form, which is the
        case inside of the hull of affinely independent representatives (as a rule, when there are
        no more clusters than features plus one), and samples otherwise. "exact" refuses where only
        sampling is possible; "sampling" samples every cell that has a volume.
    eps, delta : float
        Shares that are sampled are within ``eps`` with probability ``1 - delta`` each, as far as
        their standard errors tell, which are returned.
    n_samples : int or None
        Samples of every cell, instead of as many as ``eps`` needs.
    n_chains, thin, burn_in : int
        Chains of hit-and-run per cell; steps between two samples; steps of each chain before the
        first sample, beside those in which the cell is rounded.
    weights : None, "size", "density" or (k,) array
        Weights of the clusters in a power diagram: the larger, the more space. "size" is a
        cluster's share of the points; "density" its points per mean squared distance, as shares. A
        point then weighs 1/n, and 0 with an array.
    weight_scale : float or "auto"
        The weights are multiplied by it: they are compared with squared distances. "auto" is the
        mean squared distance of points from their representative.
    divergence : {"euclidean", "kl", "itakura_saito"}
        How far a place is from a representative. "kl" and "itakura_saito" need positive data of at
        most 20 columns; rows that all have the same sum are treated as histograms by "kl".
    kernel : None or {"rbf", "laplacian", "polynomial", "sigmoid", "cosine", "linear"}
        Measure in the space of a kernel, between the means of the clusters there. Time grows with
        the square of the number of points.
    gamma : float or None
        Of the kernel; by default half the inverse of the squared median distance for "rbf", and
        scikit-learn's default for others.
    leave_one_out : bool
        Take each point out of the mean of its cluster first.
    threshold : float
        Points with a larger stability are stable.
    random_state : int, generator or None
        Seed of the sampling.
    n_jobs : int or None
        Points are scored in parallel; the result does not depend on it.

    Attributes
    ----------
    certificates_ : Certificates
        Of the points: shares, flags, tables per point and per cluster.
    affinity_ : (n, k) array
        The shares.
    stability_ : (n,) array
        The largest share of each point.
    aggregate_stability_ : float
        Their mean over the points in clusters.
    labels_ : (n,) array
        The clustering, as columns of ``affinity_``; -1 for noise, -2 for points that it did not
        see.
    representatives_ : (k, d) array
        One per cluster; not with a kernel.
    clusters_ : (k,) array
        The label of each column.

    See Also
    --------
    stability : The stabilities alone.
    AffinityMap : Stability over the plane.
    clusterscape.combine.consensus_scores : What an ensemble says of each point.
    clusterscape.compare.element_consistency : How far the partitions of an ensemble agree.

    Notes
    -----
    Everything happens in the affine hull of the representatives, of at most k - 1 dimensions, on
    which points are projected; ``off_hull`` is the distance from it. For affinely independent
    representatives the shares of a point in their convex hull are its barycentric coordinates, so
    that nothing needs to be measured or sampled; weights then only decide whether the cell is
    empty.

    It fails where one representative does not describe its cluster: nested, long or bent ones. Its
    stability is about places between representatives, not about density: the middle of a gap and a
    point amid a crowd at the same place have the same one.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, chapter 5.
    .. [2] R. Sibson, "A vector identity for the Dirichlet tessellation", Mathematical Proceedings
       of the Cambridge Philosophical Society 87, 151-155, 1980. doi:10.1017/S0305004100056589
    .. [3] F. Aurenhammer, "Linear combinations from power domains", Geometriae Dedicata 28,
       45-52, 1988. doi:10.1007/BF00147799

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.validate import Affinity
    >>> X = np.array([[0.0, 0], [0, 2], [8, 0], [8, 2], [5, 1]])
    >>> found = Affinity().fit(X, ["a", "a", "b", "b", "b"])
    >>> found.certificates_.to_frame()[["cluster", "stability", "runner_up"]].round(2)
       cluster  stability runner_up
    id
    0        a       1.00      None
    1        a       1.00      None
    2        b       1.00      None
    3        b       1.00      None
    4        b       0.71         a
    >>> found.score([[3.5, 1.0]]).shares
    array([[0.5, 0.5]])
    """

    _space: Any
    _parameter_rules: ClassVar[Rules] = {
        "representative": [Choice("mean", "median", "medoid"), _MATRIX],
        "bound": [Choice("project", "limit", "box", "nearest")],
        "margin": [Number(0, open_low=True)],
        "method": [Choice("auto", "exact", "sampling")],
        "eps": [Number(0, 0.5, open_low=True)],
        "delta": [Number(0, 0.5, open_low=True)],
        "n_samples": [Null(), Integer(16)],
        "n_chains": [Integer(2)],
        "thin": [Integer(1)],
        "burn_in": [Integer(0)],
        "weights": [Null(), Choice("size", "density"), _VECTOR],
        "weight_scale": [Choice("auto"), Number(0)],
        "divergence": [Choice("euclidean", "kl", "itakura_saito")],
        "kernel": [
            Null(),
            Choice("rbf", "laplacian", "polynomial", "sigmoid", "cosine", "linear"),
        ],
        "gamma": [Null(), Number(0, open_low=True)],
        "leave_one_out": [Flag()],
        "threshold": [Number(0, 1)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        representative: Any = "mean",
        bound: Bound = "project",
        margin: float = 0.5,
        method: Method = "auto",
        eps: float = 0.04,
        delta: float = 0.01,
        n_samples: int | None = None,
        n_chains: int = 4,
        thin: int = 1,
        burn_in: int = 0,
        weights: Any = None,
        weight_scale: float | Literal["auto"] = 1.0,
        divergence: Divergence = "euclidean",
        kernel: Kernel | None = None,
        gamma: float | None = None,
        leave_one_out: bool = False,
        threshold: float = 0.5,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.representative = representative
        self.bound = bound
        self.margin = margin
        self.method = method
        self.eps = eps
        self.delta = delta
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.thin = thin
        self.burn_in = burn_in
        self.weights = weights
        self.weight_scale = weight_scale
        self.divergence = divergence
        self.kernel = kernel
        self.gamma = gamma
        self.leave_one_out = leave_one_out
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, labels: Any = None, *, model: Any = None) -> Self:
        """Compute the certificates of the points of a clustering.

        Parameters
        ----------
        X : (n, d) array, sparse matrix, data frame, or rows in blocks
            Features of the points. In blocks (:func:`clusterscape.io.open_rows`, Dask arrays)
            certificates are computed when they are read, and ``representative`` is "mean" or an
            array.
        labels : (n,) array, optional
            The clustering, by any method; -1 and -2 are points in no cluster. Without labels they
            are those of ``model``, or the nearest of the given representatives.
        model : fitted clusterer, optional
            With ``labels_`` where labels are not given; its ``confidence_`` and the consistency of
            its ``ensemble_`` go into the table.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        source = as_rows(X)
        if source is not None:
            self._check_blocks(source)
        rows = rows_of(X if source is None else source, n_jobs=self.n_jobs)
        if rows is not None:
            return self._fit_blocks(rows, labels, model)
        check_same_rows(X, labels)
        ensemble = getattr(model, "ensemble_", None)
        if ensemble is not None:
            check_order(X, ensemble, "X")
        ids = point_ids(X)
        X = validated_features(self, X)
        codes, self.clusters_ = self._codes(X, labels, model)
        self._check_choices(X)
        k = len(self.clusters_)
        self.labels_ = codes
        self._sizes = np.bincount(codes[codes >= 0], minlength=k).astype(np.float64)
        self._seed = root_sequence(self.random_state)
        self._prepare(X, codes, k)
        found, off = self._shares(X, own=codes if self.leave_one_out else None)
        confidence, consistency = _of_model(model, len(codes))
        self.certificates_ = Certificates.of(
            found,
            clusters=self.clusters_,
            codes=codes,
            off_hull=off,
            threshold=self.threshold,
            ids=ids,
            confidence=confidence,
            consistency=consistency,
        )
        self.affinity_ = found.shares
        self.stability_ = self.certificates_.stability
        self.aggregate_stability_ = self.certificates_.aggregate
        return self

    def score(self, X: Any) -> Certificates:
        """Return the certificates of new points.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.

        Returns
        -------
        Certificates
            Their cluster is the one with the largest share.
        """
        check_is_fitted(self, "certificates_")
        ids = point_ids(X)
        X = validated_features(self, X, reset=False)
        if isinstance(self._space, BregmanCells):
            self._space.check(X)
        found, off = self._shares(X, own=None)
        return Certificates.of(
            found,
            clusters=self.clusters_,
            codes=found.shares.argmax(axis=1),
            off_hull=off,
            threshold=self.threshold,
            ids=ids,
        )

    def _fit_blocks(self, X: RowSource, labels: Any, model: Any) -> Self:
        """Fit to rows in blocks: sums over them give the sites, and each is certified alone."""
        self.n_features_in_ = X.shape[1]
        part = ClusteredRows.of(X, labels, model)
        self._check_choices(X)
        k = part.n_clusters
        if not isinstance(self.representative, str) and len(self.representative) != k:
            raise ParameterError(
                f"{{representative.name}} has {len(self.representative)} rows and the labels {k} "
                "clusters; give one row per cluster.",
                representative=np.shape(self.representative),
            )
        self.clusters_ = part.clusters
        self.labels_ = getattr(part.codes, "array", part.codes)
        self._seed = root_sequence(self.random_state)
        self._sizes, sums = part.sums()
        array = self.representative
        if isinstance(array, str):
            self.representatives_ = sums / self._sizes[:, None]
        else:
            self.representatives_ = _checked_centers(np.asarray(array), X.shape[1])
        self._space = LinearSpace.of(self.representatives_)
        total = np.zeros(k)
        if self.weights is not None:
            total = part.squares(self.representatives_)
        self._sites = self._unique(self._space.centers, *self._scaled_weights(total))
        if self.bound == "box":
            self._sites = replace(self._sites, box=self._box(*part.range(self._space)))
        check_exact(self._sites)
        found: Any = BlockedCertificates.of(self._lasting(), part)
        self.certificates_ = found
        self.affinity_, self.stability_ = found.shares, found.stability
        self.aggregate_stability_ = found.aggregate
        return self

    def _check_blocks(self, X: RowSource) -> None:
        """Refuse what needs all points at once, with their memory, before anything is read."""
        kind = self.representative
        wanted = {
            f"representative={kind!r}": isinstance(kind, str) and kind != "mean",
            f"kernel={self.kernel!r}": self.kernel is not None,
            f"divergence={self.divergence!r}": self.divergence != "euclidean",
        }
        for name, needed in wanted.items():
            if needed:
                raise ValueError(
                    f"Affinity with {name} needs all {len(X):,} points in memory "
                    f"({X.nbytes / 2**20:,.0f} MB for X alone), but they are read in blocks. "
                    "X.gather() reads them where there is enough memory."
                )

    def _lasting(self) -> Affinity:
        """Return what scores points, without what is known of those of the fit."""
        made = copy(self)
        made.__dict__.pop("labels_", None)
        made.__dict__.pop("certificates_", None)
        return made

    def _certified(
        self, X: np.ndarray, codes: np.ndarray, *, first: int, start: int, confidence: Any
    ) -> Certificates:
        """Return the certificates of consecutive points, by chunks that are numbered on."""
        own = codes if self.leave_one_out else None
        found, off = self._shares(X, own=own, first=first)
        return Certificates.of(
            found,
            clusters=self.clusters_,
            codes=codes,
            off_hull=off,
            threshold=self.threshold,
            ids=pd.RangeIndex(start, start + len(codes)),
            confidence=confidence,
        )

    # -- what fit is made of ------------------------------------------------------------------

    def _codes(self, X: Any, labels: Any, model: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster of each point as 0..k-1, and the label of each cluster."""
        given = getattr(model, "labels_", None) if labels is None else labels
        array = None if isinstance(self.representative, str) else np.asarray(self.representative)
        if given is None:
            if array is None:
                raise ValueError(
                    "labels: pass the clustering that is to be certified, a fitted model, or an "
                    "array of representatives."
                )
            nearest = nearest_center(X, _checked_centers(array, X.shape[1])).astype(np.int64)
            return nearest, np.arange(len(array))
        codes, categories = encode(given, "labels")
        if codes.shape != (X.shape[0],):
            raise ValueError(f"labels has {codes.size} entries for {X.shape[0]} rows of X.")
        k = int(codes.max(initial=-1)) + 1
        if k == 0:
            raise ValueError("labels: every point is noise or unsampled; there is no cluster.")
        if array is not None and len(array) != k:
            raise ParameterError(
                f"{{representative.name}} has {len(array)} rows and the labels {k} clusters; give "
                "one row per cluster.",
                representative=array.shape,
            )
        names = np.arange(k) if categories is None else np.array(list(categories))
        return codes.astype(np.int64), names

    def _check_choices(self, X: Any) -> None:
        """Refuse combinations that have no meaning."""
        clashes = {
            "divergence": self.divergence != "euclidean",
            "kernel": self.kernel is not None,
        }
        if all(clashes.values()):
            raise ParameterError(
                "{kernel} and {divergence} are two ways to measure; use one of them.",
                kernel=self.kernel,
                divergence=self.divergence,
            )
        for name, other in clashes.items():
            if not other:
                continue
            value = getattr(self, name)
            if name == "kernel" and not _is(self.representative, "mean"):
                raise ParameterError(
                    "{kernel} works with the means of the clusters; leave {representative.name} at "
                    "'mean'.",
                    kernel=value,
                    representative=self.representative,
                )
            if self.leave_one_out or self.weights is not None:
                other_name = "leave_one_out" if self.leave_one_out else "weights"
                raise ParameterError(
                    f"{{{name}}} cannot be combined with {{{other_name}.name}}.",
                    **{name: value, other_name: None},
                )
        if self.leave_one_out and not _is(self.representative, "mean"):
            raise ParameterError(
                "{leave_one_out} takes a point out of a mean; leave {representative.name} at "
                "'mean'.",
                leave_one_out=True,
                representative=self.representative,
            )
        if self.divergence != "euclidean" and not isinstance(X, np.ndarray):
            raise TypeError(f"X: divergence={self.divergence!r} needs a dense array.")

    def _prepare(self, X: Any, codes: np.ndarray, k: int) -> None:
        """Find representatives, the space in which cells are measured, weights and box."""
        if self.kernel is not None:
            self._space = KernelSpace.of(X, codes, self.kernel, self._gamma(X))
            self._sites = self._unique(self._space.centers, np.zeros(k), 0.0)
        else:
            array = self.representative
            kind = array if isinstance(array, str) else None
            self.representatives_ = (
                _checked_centers(np.asarray(array), X.shape[1])
                if kind is None
                else representatives(X, codes, k, kind)
            )
            if self.divergence != "euclidean":
                self._space = BregmanCells.of(
                    self.divergence, self.representatives_, np.asarray(X, float), self.margin
                )
                self._space.check_exact(self.method)
                return
            self._space = LinearSpace.of(self.representatives_)
            self._sites = self._unique(self._space.centers, *self._weights(X, codes, k))
        if self.bound == "box":
            points = self._space.project(X)[0]
            box = self._box(points.min(axis=0), points.max(axis=0))
            self._sites = replace(self._sites, box=box)
        check_exact(self._sites)

    def _box(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the box around points of this range and the centres, with its margin."""
        low = np.minimum(low, self._space.centers.min(axis=0))
        high = np.maximum(high, self._space.centers.max(axis=0))
        span = float(high.max() - low.min()) if low.size else 0.0  # one centre has no directions
        wide = self.margin * np.maximum(high - low, 1e-6 * span)
        return np.stack([low - wide, high + wide])

    def _gamma(self, X: Any) -> float | None:
        if self.gamma is not None or self.kernel != "rbf":
            return self.gamma
        rng = np.random.default_rng(self._seed.spawn(1)[0])
        return 0.5 / median_distance(X, rng, sample=_SAMPLE) ** 2

    def _weights(self, X: Any, codes: np.ndarray, k: int) -> tuple[np.ndarray, float]:
        """Return the weights of the clusters and of a point, in squared distances."""
        if self.weights is None:
            return np.zeros(k), 0.0
        inside = np.flatnonzero(codes >= 0)
        squares = squared_to_own(X[inside], codes[inside], self.representatives_)
        total = np.bincount(codes[inside], weights=squares, minlength=k)
        return self._scaled_weights(total, mean=float(squares.mean()))

    def _scaled_weights(self, total: np.ndarray, mean: float | None = None) -> tuple[Any, float]:
        """Return the weights by the summed squared distances of each cluster, and their mean."""
        if mean is None:
            mean = float(total.sum() / self._sizes.sum())
        spread = total / np.maximum(self._sizes, 1.0)
        weights, own = site_weights(self.weights, self._sizes, spread)
        scale = mean if self.weight_scale == "auto" else float(self.weight_scale)
        return weights * scale, own * scale

    def _unique(self, centers: np.ndarray, weights: np.ndarray, own: float) -> Sites:
        """Return the sites; centres in one place are one site, and share what it gets."""
        k = len(centers)
        square = squared_distances(centers, centers)
        same = square <= _SAME**2 * max(float(square.max()), 1e-300)
        # Of several in one place the heaviest is the site.
        heaviest = np.where(same, weights, -np.inf).max(axis=1)
        first = np.argmax(same & (weights == heaviest[:, None]), axis=1)
        kept = np.unique(first)
        self._column = np.searchsorted(kept, first)
        rivals = same & (weights[None] == heaviest[:, None])
        self._part = np.where(weights == heaviest, 1.0 / rivals.sum(axis=1), 0.0)
        if self.leave_one_out and kept.size < k:
            raise ParameterError(
                "{leave_one_out} needs representatives in different places.", leave_one_out=True
            )
        return Sites(
            centers[kept],
            weights[kept],
            own,
            bound=self.bound,
            method=self.method,
            sampling=self._sampling(),
        )

    def _sampling(self) -> Sampling:
        return Sampling(
            self.eps, self.delta, self.n_samples, self.n_chains, self.thin, self.burn_in
        )

    def _shares(self, X: Any, own: np.ndarray | None, first: int = 0) -> tuple[Shares, np.ndarray]:
        """Return the shares of points, and their distances off the hull.

        ``first`` is the number of the first chunk of points, which seeds it.
        """
        chunks = list(gen_batches(X.shape[0], CHUNK))
        key = (*self._seed.spawn_key, 1)
        seeds = [
            SeedSequence(self._seed.entropy, spawn_key=(*key, first + i))
            for i in range(len(chunks))
        ]
        if isinstance(self._space, BregmanCells):
            values = np.asarray(X, dtype=np.float64)
            tasks: list[Any] = [
                _BregmanTask(self._space, values[rows], self.method, self._sampling(), seed)
                for rows, seed in zip(chunks, seeds, strict=True)
            ]
            parts = parallel_map(_run, tasks, n_jobs=self.n_jobs)
            return Shares.joined(parts), np.zeros(len(values))
        points, off = self._space.project(X)
        centers = [self._sites.centers] * len(chunks)
        if own is not None:
            moved, points, off = self._space.without_own(points, off, own, self._sizes)
            centers = [moved[rows] for rows in chunks]
        tasks = [
            _Task(points[rows], replace(self._sites, centers=c), seed)
            for rows, c, seed in zip(chunks, centers, seeds, strict=True)
        ]
        found = Shares.joined(parallel_map(_run, tasks, n_jobs=self.n_jobs))
        if self._column.size > self._sites.centers.shape[-2]:
            found = replace(
                found,
                shares=found.shares[:, self._column] * self._part,
                errors=found.errors[:, self._column] * self._part,
            )
        return found, off


@dataclass(frozen=True, eq=False)
class _Task:
    """Some points among the sites."""

    points: np.ndarray
    sites: Sites
    seed: SeedSequence

    def run(self) -> Shares:
        return natural_neighbors(self.points, self.sites, self.seed)


@dataclass(frozen=True, eq=False)
class _BregmanTask:
    """Some points among the cells of a divergence."""

    cells: BregmanCells
    points: np.ndarray
    method: Method
    sampling: Sampling
    seed: SeedSequence

    def run(self) -> Shares:
        return self.cells.shares(self.points, self.method, self.sampling, self.seed)


def _run(task: Any) -> Shares:
    found: Shares = task.run()
    return found


def _is(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _checked_centers(array: np.ndarray, width: int) -> np.ndarray:
    centers = np.asarray(array, dtype=np.float64)
    if centers.shape[1] != width or not np.isfinite(centers).all():
        raise ParameterError(
            f"{{representative.name}} must be finite numbers in {width} columns, as X has; got "
            f"an array of shape {centers.shape}.",
            representative=centers.shape,
        )
    return centers


def _of_model(model: Any, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the confidence of a model and the consistency of its ensemble, where it has them."""
    if model is None:
        return None, None
    confidence = getattr(model, "confidence_", None)
    ensemble = getattr(model, "ensemble_", None)
    for name, length in (
        ("confidence_", n if confidence is None else len(confidence)),
        ("ensemble_", n if ensemble is None else ensemble.n_points),
    ):
        if length != n:
            raise ValueError(f"model: its {name} is about {length} points, and X has {n} rows.")
    return confidence, None if ensemble is None else element_consistency(ensemble)


def stability(X: Any, labels: Any, **options: Any) -> np.ndarray:
    """Return the stability of every point of a clustering: its largest affinity.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features.
    labels : (n,) array
        A clustering by any method.
    **options
        Parameters of :class:`Affinity`.

    Returns
    -------
    (n,) array
        From 1/k to 1.

    See Also
    --------
    Affinity : The whole affinity vectors, and tables of them.

    Examples
    --------
    >>> from clusterscape.validate import stability
    >>> stability([[0.0], [1.0], [4.0], [9.0], [10.0]], [0, 0, 0, 1, 1]).round(2)
    array([1.  , 1.  , 0.7 , 0.94, 1.  ])
    """
    return Affinity(**options).fit(X, labels).stability_
