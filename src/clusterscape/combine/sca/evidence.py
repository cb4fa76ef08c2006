"""What SCA reads: similarities between points, zeroed where they blur the blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from clusterscape import kernels
from clusterscape._core.labels import NOISE
from clusterscape.combine.eci import with_weighted_columns
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.coassociation import Coassociation, Normalize
from clusterscape.linalg.components import linked_components, shared_components
from clusterscape.linalg.markov import (
    away_sums,
    separate_noise,
    weighted_median,
    zeta_by_lookups,
)
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.sinkhorn import PointMatrix

_SPARSE_BELOW = 0.2  # share of positive entries under which a zeroed matrix is kept sparse


@dataclass(frozen=True)
class Evidence:
    """Similarities of distinct rows, and what is known of their blocks.

    Attributes
    ----------
    points : PointMatrix
        The similarity over points.
    component : (m,) array
        Connected component of each row.
    largest : float
        Largest similarity of two points (of those looked at).
    zeta : (r,) array
        zeta of each input partition, after zeroing.
    zeta_before : float
        Median of zeta before zeroing.
    zeta_after : float
        Median of zeta after zeroing.
    cutoff : float
        Similarities below it are zeroed; 0 if none is.
    n_rows : int
        Rows on which zeta was computed.
    positive : bool
        Whether the similarity is a Gram matrix, up to the diagonal that is taken off.
    """

    points: PointMatrix
    component: np.ndarray
    largest: float
    zeta: np.ndarray
    zeta_before: float
    zeta_after: float
    cutoff: float
    n_rows: int
    positive: bool

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.component.max()) + 1


@dataclass(frozen=True)
class Reading:
    """How similarities are read off an ensemble, and when they are zeroed."""

    similarity: Normalize
    diagonal: str
    zeroing: bool
    threshold: float
    step: float
    max_components: int | None
    column: np.ndarray | None = None  # weights of the columns of B, where they have some

    def operator(self, ensemble: Ensemble, normalize: Normalize | None = None) -> Coassociation:
        """Return the similarity of the rows of an ensemble."""
        return with_weighted_columns(ensemble, self.column, normalize or self.similarity)

    def is_low(self, zeta: float) -> bool:
        """Say whether zeta is below the threshold, and not only by rounding."""
        return zeta < self.threshold - 1e-9

    def is_implicit(self, ensemble: Ensemble) -> bool:
        """Say whether products with the similarity cost O(n r)."""
        return self.similarity == "counts" or ensemble.is_complete

    def removed(self, operator: Coassociation, ensemble: Ensemble) -> np.ndarray:
        """Return what is taken off the diagonal of every point."""
        if self.diagonal == "keep":
            return np.zeros(ensemble.n_points)
        return own_similarity(operator, ensemble)


def explicit_evidence(ensemble: Ensemble, reading: Reading) -> Evidence:
    """Form all similarities of an ensemble's rows, and zero small ones if that helps."""
    operator = reading.operator(ensemble)
    dense = _dense(operator, ensemble)
    weights, removed = ensemble.sample_weight, reading.removed(operator, ensemble)
    nearest = _largest_elsewhere(dense, weights)
    away = away_sums(dense, ensemble.labels, weights)
    totals = dense @ weights - removed
    zeta = _ratios(away, totals)
    known = _Known(float(nearest.max()), zeta, weighted_median(zeta, ensemble.weights))
    # Similarities that fall into pieces already need no zeroing: it would only break the pieces.
    whole = linked_components(dense)[0] == 1
    if reading.zeroing and whole and not reading.is_low(known.median) and known.largest > 0:
        thinned, cutoff = _zero_small(dense, (totals, away), nearest, ensemble, reading)
        component = linked_components(dense)[1]
        limit = reading.max_components
        if cutoff > 0 and (limit is None or component.max() < limit):
            after = weighted_median(thinned, ensemble.weights)
            points = _explicit_points(dense, weights, removed)
            return Evidence(
                points,
                component,
                known.largest,
                zeta=thinned,
                zeta_before=known.median,
                zeta_after=after,
                cutoff=cutoff,
                n_rows=ensemble.n_points,
                positive=False,
            )
        # What was asked for cannot be had from so many pieces: zero nothing.
        if cutoff > 0 and not reading.is_implicit(ensemble):
            dense = _dense(operator, ensemble)
    if reading.is_implicit(ensemble):
        points, component = operator_points(operator, ensemble, reading)
    else:
        points = _explicit_points(dense, weights, removed)
        component = linked_components(dense)[1]
    return _unzeroed(points, component, known, ensemble.n_points, reading.is_implicit(ensemble))


@dataclass(frozen=True)
class _Known:
    """What is known of similarities before any is zeroed."""

    largest: float
    zeta: np.ndarray
    median: float


def _unzeroed(
    points: PointMatrix, component: np.ndarray, known: _Known, n_rows: int, positive: bool
) -> Evidence:
    return Evidence(
        points,
        component,
        known.largest,
        zeta=known.zeta,
        zeta_before=known.median,
        zeta_after=known.median,
        cutoff=0.0,
        n_rows=n_rows,
        positive=positive,
    )


def implicit_evidence(ensemble: Ensemble, reading: Reading, sample: Evidence | None) -> Evidence:
    """Leave the similarities unformed; zeta is the sample's, or computed on all rows."""
    operator = reading.operator(ensemble)
    points, component = operator_points(operator, ensemble, reading)
    if sample is not None:
        known = _Known(sample.largest, sample.zeta, sample.zeta_before)
        return _unzeroed(points, component, known, sample.n_rows, True)
    zeta = lookup_zeta(ensemble, reading)
    # The largest of all pairs is no more than a point has with itself; a bound is enough here.
    bound = float(operator.diagonal().max())
    known = _Known(bound, zeta, weighted_median(zeta, ensemble.weights))
    return _unzeroed(points, component, known, ensemble.n_points, True)


def operator_points(
    operator: Coassociation, ensemble: Ensemble, reading: Reading
) -> tuple[PointMatrix, np.ndarray]:
    """Return the similarity as an operator, and the connected components of the rows."""
    removed = reading.removed(operator, ensemble)
    points = _with_loops(PointMatrix(operator, ensemble.sample_weight, removed))
    return points, _implicit_components(ensemble)


def _explicit_points(dense: np.ndarray, weights: np.ndarray, removed: np.ndarray) -> PointMatrix:
    thin = np.count_nonzero(dense) < _SPARSE_BELOW * dense.size
    matrix = sparse.csr_matrix(dense) if thin else dense
    return _with_loops(PointMatrix(aslinearoperator(matrix), weights, removed))


def _ratios(away: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return zeta of each clustering from the sums outside of its blocks and the row sums."""
    largest = float(totals.max())
    return np.maximum(away.max(axis=0), 0.0) / largest if largest > 0 else np.zeros(away.shape[1])


def lookup_zeta(ensemble: Ensemble, reading: Reading) -> np.ndarray:
    """Return zeta of every partition by look-ups, which costs O(n r) each."""
    counts = reading.operator(ensemble, "counts")
    return zeta_by_lookups(
        RowSpace.of(ensemble),
        ensemble.labels,
        ensemble.sample_weight,
        column_weights=counts.column_weights,
        own=own_similarity(counts, ensemble),
        keep_own=reading.diagonal == "keep",
    )


def own_similarity(operator: Coassociation, ensemble: Ensemble) -> np.ndarray:
    """Return what each point has with itself; of a weight below 1, only that much is there."""
    return np.minimum(ensemble.sample_weight, 1.0) * operator.diagonal()


def _zero_small(
    dense: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray],
    nearest: np.ndarray,
    ensemble: Ensemble,
    reading: Reading,
) -> tuple[np.ndarray, float]:
    """Raise the cut-off until the median of zeta is low enough, and zero what is below it.

    ``sums`` are the row sums and those outside of the blocks; they are overwritten. Returns zeta of
    the partitions and the cut-off, 0 if none gets there (nothing is zeroed then). Every row keeps
    its largest entries. A pair's removal changes the sums of two points only, so all cut-offs
    together cost one pass over the pairs.
    """
    totals, away = sums
    unit = reading.step * float(nearest.max())
    n_steps = int(np.ceil(1.0 / reading.step - 1e-9))
    kept = nearest * (1.0 - 1e-12)
    rows, columns, bounds = kernels.markov.sorted_pairs(dense, kept, unit, n_steps)
    codes = separate_noise(ensemble.labels)
    for step in range(1, n_steps + 1):
        part = slice(bounds[step - 1], bounds[step])
        kernels.markov.remove_pairs(
            dense, rows[part], columns[part], codes, ensemble.sample_weight, totals, away
        )
        zeta = _ratios(away, totals)
        if reading.is_low(weighted_median(zeta, ensemble.weights)):
            gone = slice(bounds[step])
            kernels.markov.erase_pairs(dense, rows[gone], columns[gone])
            return zeta, step * unit
    return zeta, 0.0


def _dense(operator: Coassociation, ensemble: Ensemble) -> np.ndarray:
    dense = operator.toarray()
    if ensemble.is_soft:  # products are rounded differently on the two sides of the diagonal
        dense = (dense + dense.T) / 2
    return dense


def _largest_elsewhere(dense: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return each point's largest similarity to another point, its copies included."""
    own = np.diag(dense).copy()
    np.fill_diagonal(dense, np.where(weights > 1, own, 0.0))
    nearest = dense.max(axis=1)
    np.fill_diagonal(dense, own)
    return nearest


def _with_loops(points: PointMatrix) -> PointMatrix:
    """Let a point that is together with nobody stay where it is, in a block of its own."""
    total = points.product(np.ones((points.weights.size, 1))).ravel()
    alone = total <= 1e-12 * max(float(total.max()), 1e-300)
    if not alone.any():
        return points
    removed = np.where(alone, 0.0, points.removed)
    return PointMatrix(points.similarity, points.weights, removed)


def _implicit_components(ensemble: Ensemble) -> np.ndarray:
    """Return the component of each point in the graph of points that share a cluster."""
    if ensemble.is_soft:
        return shared_components(ensemble.membership().matrix)[1]
    linked = kernels.markov.linked_clusters(ensemble.labels, ensemble.offsets)
    some = (ensemble.labels > NOISE).argmax(axis=1)
    codes = ensemble.labels[np.arange(ensemble.n_points), some].astype(np.int64)
    found = linked[ensemble.offsets[some] + codes]
    return np.unique(found, return_inverse=True)[1].reshape(-1)


def describe(evidence: Evidence) -> dict[str, Any]:
    """Return the fitted attributes that come from the evidence."""
    return {
        "zeta_": evidence.zeta_after,
        "zeta_before_": evidence.zeta_before,
        "zetas_": evidence.zeta,
        "cutoff_": evidence.cutoff,
        "n_components_": evidence.n_components,
        "n_zeta_rows_": evidence.n_rows,
    }
