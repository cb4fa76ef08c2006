"""Certificates of points that are read in blocks: sums over all of them, and a block at a time."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clusterscape._core.block_files import write_frames
from clusterscape._core.labels import UNSAMPLED, encode
from clusterscape._core.rows import MappedRows, RowSource
from clusterscape.linalg.kmeans_engines import cluster_sums
from clusterscape.validate.affinity.certificates import Certificates, Sums, chance_corrected
from clusterscape.validate.affinity.representatives import squared_to_own

if TYPE_CHECKING:
    from clusterscape.validate.affinity.estimator import Affinity

CHUNK = 1024  # points of one task


@dataclass(frozen=True)
class Codes:
    """Labels in memory, given out in the blocks of the points."""

    array: np.ndarray
    bounds: np.ndarray

    def block(self, i: int) -> np.ndarray:
        """Return the labels of a block."""
        return self.array[int(self.bounds[i]) : int(self.bounds[i + 1])]

    def __len__(self) -> int:
        return len(self.array)


@dataclass(frozen=True)
class ClusteredRows:
    """Points in blocks and the cluster of each.

    Attributes
    ----------
    X : RowSource
        The points.
    codes : Codes or RowSource
        The cluster of each, 0 to k - 1; -1 and -2 are points in none.
    confidence : RowSource or None
        Of the model, where one was given.
    clusters : (k,) array
        What the clusters are called.
    """

    X: RowSource
    codes: Any
    confidence: Any
    clusters: np.ndarray

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.clusters.size

    @classmethod
    def of(cls, X: RowSource, labels: Any, model: Any) -> ClusteredRows:
        """Return points with their labels, in blocks or in memory, or those of a model."""
        given = getattr(model, "labels_", None) if labels is None else labels
        if given is None:
            raise ValueError(
                "labels: pass the clustering that is to be certified, or a fitted model."
            )
        if len(given) != len(X):
            raise ValueError(f"labels has {len(given)} entries for {len(X)} rows of X.")
        confidence, names = getattr(model, "confidence_", None), None
        if not isinstance(given, RowSource):
            codes, names = encode(given, "labels")
            given = Codes(codes.astype(np.int64), X.bounds)
        elif not np.array_equal(given.bounds, X.bounds):
            raise ValueError(
                f"labels are in {given.n_blocks} blocks and X in {X.n_blocks} others; open X with "
                "the blocks that were clustered (block_rows)."
            )
        if confidence is not None and not isinstance(confidence, RowSource):
            confidence = Codes(np.asarray(confidence), X.bounds)
        if isinstance(given, Codes):
            ends = [_ends(0, given.array)]
        else:
            ends = given.workers.map(_ends, given)
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        if high < 0:
            raise ValueError("labels: every point is noise or unsampled; there is no cluster.")
        if low < UNSAMPLED:
            raise ValueError(f"labels: {low} is no cluster; -1 is noise and -2 unsampled.")
        clusters = np.arange(high + 1) if names is None else np.array(list(names))
        return cls(X, given, confidence, clusters)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the size of each cluster, and the sum of its points."""
        parts = self.X.workers.map(_sums, self.X, (self,), label="certifying")
        sizes, sums = (sum(side[1:], side[0]) for side in zip(*parts, strict=True))
        if not sizes.all():
            empty = int(np.flatnonzero(sizes == 0)[0])
            raise ValueError(f"labels: cluster {empty} has no points; number them 0 to k - 1.")
        return sizes, sums

    def squares(self, centers: np.ndarray) -> np.ndarray:
        """Return the summed squared distances of each cluster's points to its representative."""
        return np.sum(self.X.workers.map(_squares, self.X, (self, centers)), axis=0)

    def range(self, space: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest coordinates of the points in the hull."""
        parts = self.X.workers.map(_range, self.X, (space,))
        return np.min([part[0] for part in parts], axis=0), np.max([p[1] for p in parts], axis=0)

    @property
    def chunks(self) -> np.ndarray:
        """The number of the first chunk of each block."""
        return np.concatenate([[0], np.cumsum(-(-np.diff(self.X.bounds) // CHUNK))])


def _ends(i: int, codes: np.ndarray) -> tuple[int, int]:
    return int(codes.min(initial=0)), int(codes.max(initial=-1))


def _sums(i: int, X: np.ndarray, part: ClusteredRows) -> tuple[np.ndarray, np.ndarray]:
    codes = part.codes.block(i)
    inside = np.flatnonzero(codes >= 0)
    own, k = codes[inside], part.n_clusters
    sums = cluster_sums(X[inside], own, np.ones(own.size), k)
    return np.bincount(own, minlength=k).astype(np.float64), sums


def _squares(i: int, X: np.ndarray, part: ClusteredRows, centers: np.ndarray) -> np.ndarray:
    codes = part.codes.block(i)
    inside = np.flatnonzero(codes >= 0)
    squares = squared_to_own(X[inside], codes[inside], centers)
    return np.bincount(codes[inside], weights=squares, minlength=part.n_clusters)


def _range(i: int, X: np.ndarray, space: Any) -> tuple[np.ndarray, np.ndarray]:
    points = space.project(X)[0]
    return points.min(axis=0), points.max(axis=0)


class BlockedCertificates:
    """The certificates of points in blocks: figures of all, and tables of a block at a time.

    Attributes
    ----------
    clusters : (k,) array
        The label of each column of ``shares``.
    shares, stability : RowSource
        (n, k) and (n,): computed block by block when they are read, ``shares[rows]``.
    threshold : float
        A point is stable when its stability is above it.

    See Also
    --------
    Affinity : Makes one of rows in blocks.
    Certificates : Of points in memory; each block has one.
    """

    def __init__(self, scorer: Affinity, part: ClusteredRows, sums: Sums) -> None:
        self.clusters, self.threshold = scorer.clusters_, scorer.threshold
        self._given, self._sums = (scorer, part), sums
        n, k = len(part.X), part.n_clusters
        self.shares = MappedRows(_shares, part.X, self._given, shape=(n, k), dtype=np.float64)
        self.stability = MappedRows(_stability, part.X, self._given, shape=(n,), dtype=np.float64)

    @classmethod
    def of(cls, scorer: Affinity, part: ClusteredRows) -> BlockedCertificates:
        """Score all points once, and keep the sums."""
        parts = part.X.workers.map(_summed, part.X, (scorer, part), label="certifying")
        return cls(scorer, part, sum(parts[1:], parts[0]))

    def block(self, i: int) -> Certificates:
        """Return the certificates of one block."""
        return _certified(i, self._given[1].X.block(i), *self._given)

    @property
    def aggregate(self) -> float:
        """Mean stability of the points in clusters; at least 1/k, whatever the data."""
        return float(self._sums.summary()["stability"])

    @property
    def chance_corrected(self) -> float:
        """Mean stability on a scale on which 1/k, the least possible, is 0; NaN for one cluster."""
        return chance_corrected(self.aggregate, len(self.clusters))

    def per_cluster(self) -> pd.DataFrame:
        """Return one row per cluster, as :meth:`Certificates.per_cluster` does."""
        return self._sums.per_cluster(self.clusters)

    def summary(self) -> dict[str, Any]:
        """Return the figures of all points together, as :meth:`Certificates.summary` does."""
        return self._sums.summary()

    def to_frame(self, *, shares: bool = False) -> pd.DataFrame:
        """Return one row per point, all in memory: :meth:`Certificates.to_frame` of the blocks."""
        blocks = range(self._given[1].X.n_blocks)
        return pd.concat([self.block(i).to_frame(shares=shares) for i in blocks])

    def write_blocks(self, folder: str | os.PathLike[str], *, shares: bool = False) -> int:
        """Write :meth:`to_frame` as Parquet files, one for each block of points.

        The files are ``part-00000.parquet`` and so on. Each is written whole or not at all, by the
        workers that read the blocks; the same call after an interruption writes what is missing.

        Parameters
        ----------
        folder : path
            Made if it does not exist. It must be empty, or hold files of the same certificates.
        shares : bool
            Add a column for each cluster.

        Returns
        -------
        int
            Files that were written now.
        """
        scorer, part = self._given
        seed = scorer._seed.entropy
        digest = hashlib.sha256(f"{part.X.survey.digest} {shares} {scorer} {seed};".encode())
        for array in (self._sums.by_cluster, self._sums.counts, scorer.representatives_):
            digest.update(np.ascontiguousarray(array).tobytes())
        return write_frames(part.X, folder, digest.hexdigest(), _frame, (*self._given, shares))

    def __repr__(self) -> str:
        X = self._given[1].X
        return (
            f"BlockedCertificates({len(X):,} points in {X.n_blocks} blocks, {len(self.clusters)} "
            f"clusters, mean stability {self.aggregate:.3f})"
        )


def _certified(i: int, X: np.ndarray, scorer: Affinity, part: ClusteredRows) -> Certificates:
    confidence = None if part.confidence is None else part.confidence.block(i)
    place = {"first": int(part.chunks[i]), "start": int(part.X.bounds[i])}
    return scorer._certified(X, part.codes.block(i), confidence=confidence, **place)


def _summed(i: int, X: np.ndarray, *given: Any) -> Sums:
    return _certified(i, X, *given).sums()


def _shares(i: int, X: np.ndarray, *given: Any) -> np.ndarray:
    return _certified(i, X, *given).shares


def _stability(i: int, X: np.ndarray, *given: Any) -> np.ndarray:
    return _certified(i, X, *given).stability


def _frame(i: int, X: np.ndarray, scorer: Affinity, part: ClusteredRows, shares: bool) -> Any:
    return _certified(i, X, scorer, part).to_frame(shares=shares)
