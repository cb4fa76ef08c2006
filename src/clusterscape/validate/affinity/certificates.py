"""The certificates table: what can be said of every point, every cluster and all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape.linalg.cells import Shares


@dataclass(frozen=True, eq=False)
class Certificates:
    """For every point the shares of its cell by cluster, and what follows from them.

    Attributes
    ----------
    shares : (n, k) array
        The affinity vector of each point; rows sum to one.
    standard_error : (n, k) array
        Of the shares, where they were sampled; 0 where they are exact.
    clusters : (k,) array
        The label of each column of ``shares``.
    codes : (n,) array
        The column of each point's own cluster; -1 for noise and -2 for a point that the clustering
        did not see. Neither counts in the aggregates.
    off_hull : (n,) array
        Distance of the point from the affine hull of the representatives, in which its cell is
        measured: a point far off is not well described by its shares.
    outside : (n,) bool array
        Whether the point lies outside of the convex hull of the representatives, so that the rule
        for unbounded cells decided.
    clipped : (n,) bool array
        Whether its cell was cut by a box.
    empty : (n,) bool array
        Whether its cell is empty, which weights can do; its cluster has all of it then.
    samples : (n,) array
        Samples that its shares come from; 0 where they are exact.
    confidence : (n,) array or None
        The ensemble's confidence, where a model was given that has one.
    consistency : (n,) array or None
        How far the partitions of the model's ensemble agree about the point's company
        (:func:`clusterscape.compare.element_consistency`).
    threshold : float
        A point is stable when its stability is above it.
    ids : pandas.Index
        The points' ids.

    See Also
    --------
    Affinity : Make one.
    """

    shares: np.ndarray
    standard_error: np.ndarray
    clusters: np.ndarray
    codes: np.ndarray
    off_hull: np.ndarray
    outside: np.ndarray
    clipped: np.ndarray
    empty: np.ndarray
    samples: np.ndarray
    confidence: np.ndarray | None
    consistency: np.ndarray | None
    threshold: float
    ids: pd.Index

    def __repr__(self) -> str:
        """Say how many points and clusters there are; ``to_frame`` has a row per point."""
        n, k = self.shares.shape
        unstable = int((self.inside & ~self.stable).sum())
        return (
            f"Certificates({n} points, {k} clusters, mean stability {self.aggregate:.3f}, "
            f"{unstable} unstable)"
        )

    @classmethod
    def of(
        cls,
        found: Shares,
        *,
        clusters: np.ndarray,
        codes: np.ndarray,
        off_hull: np.ndarray,
        threshold: float,
        ids: pd.Index | None,
        confidence: np.ndarray | None = None,
        consistency: np.ndarray | None = None,
    ) -> Certificates:
        """Return the certificates of points whose shares are known."""
        index = pd.RangeIndex(len(codes)) if ids is None else ids
        if not isinstance(index, pd.MultiIndex) and index.name is None:
            index = index.rename("id")
        return cls(
            found.shares,
            found.errors,
            clusters,
            codes,
            off_hull,
            found.outside,
            found.clipped,
            found.empty,
            found.samples,
            confidence,
            consistency,
            threshold,
            index,
        )

    @property
    def stability(self) -> np.ndarray:
        """The largest share of each point: sigma, from 1/k to 1."""
        return self.shares.max(axis=1)

    @property
    def entropy(self) -> np.ndarray:
        """Entropy of each point's shares, in nats."""
        return entr(self.shares).sum(axis=1)

    @property
    def inside(self) -> np.ndarray:
        """Whether each point is in a cluster."""
        return self.codes >= 0

    @property
    def stable(self) -> np.ndarray:
        """Whether each point is in a cluster and its stability above the threshold."""
        return self.inside & (self.stability > self.threshold)

    @property
    def aggregate(self) -> float:
        """Mean stability of the points in clusters; at least 1/k, whatever the data."""
        return float(self.stability[self.inside].mean())

    @property
    def chance_corrected(self) -> float:
        """Mean stability on a scale on which 1/k, the least possible, is 0; NaN for one cluster."""
        return chance_corrected(self.aggregate, self.shares.shape[1])

    def to_frame(self, *, shares: bool = False) -> pd.DataFrame:
        """Return one row per point.

        Parameters
        ----------
        shares : bool
            Add a column ``share_<cluster>`` for each cluster.

        Returns
        -------
        pandas.DataFrame
            The index holds the points' ids. The columns:

            - ``cluster``: as given, -1 for noise and -2 for points that the clustering did not see;
              for new points the cluster with the largest share.
            - ``stability``: the largest share.
            - ``strongest``: the cluster that has it; ``own_share``: that of the point's cluster.
            - ``runner_up``, ``runner_up_share``: the second largest share and its cluster, missing
              where no other cluster has any.
            - ``entropy``: of the shares, in nats.
            - ``stable``: whether the point is in a cluster and its stability above the threshold.
            - ``confidence``, ``consistency``: where a model was given.
            - ``off_hull``, ``outside``, ``clipped``, ``empty``: see the attributes.
            - ``standard_error``: the largest of the point's shares, where they were sampled.
        """
        n, k = self.shares.shape
        order = np.argsort(-self.shares, axis=1, kind="stable")
        rows = np.arange(n)
        best = order[:, 0]
        second = order[:, 1] if k > 1 else best
        share = self.shares[rows, second] if k > 1 else np.zeros(n)
        inside = self.inside
        own = np.where(inside, self.shares[rows, np.maximum(self.codes, 0)], np.nan)
        names = pd.Series(self.clusters)
        cluster = names.to_numpy()[np.maximum(self.codes, 0)]
        if not inside.all():
            missing = self.codes.astype(object)
            if self.clusters.dtype.kind in "OU":
                missing = missing.astype(str)
            mixed = np.where(inside, cluster.astype(object), missing)
            cluster = mixed.astype(np.int64) if self.clusters.dtype.kind in "iu" else mixed
        runner = names.to_numpy()[second].astype(object)
        runner[share <= 0] = None
        columns: dict[str, Any] = {
            "cluster": cluster,
            "stability": self.stability,
            "strongest": names.to_numpy()[best],
            "own_share": own,
            "runner_up": pd.array(runner, dtype="Int64") if names.dtype.kind in "iu" else runner,
            "runner_up_share": share,
            "entropy": self.entropy,
            "stable": self.stable,
        }
        if self.confidence is not None:
            columns["confidence"] = self.confidence
        if self.consistency is not None:
            columns["consistency"] = self.consistency
        columns |= {
            "off_hull": self.off_hull,
            "outside": self.outside,
            "clipped": self.clipped,
            "empty": self.empty,
            "standard_error": self.standard_error.max(axis=1),
        }
        if shares:
            columns |= {f"share_{name}": self.shares[:, c] for c, name in enumerate(self.clusters)}
        return pd.DataFrame(columns, index=self.ids)

    def per_cluster(self) -> pd.DataFrame:
        """Return one row per cluster.

        Returns
        -------
        pandas.DataFrame
            Columns ``size``, ``stability`` (mean of the members), ``chance_corrected`` (NaN for one
            cluster), ``stable_share`` (of the members), ``own_share`` (mean share of the cluster
            itself), ``outside_share`` (members outside of the hull).
        """
        return self.sums().per_cluster(self.clusters)

    def summary(self) -> dict[str, Any]:
        """Return the figures of all points together, as plain values.

        Returns
        -------
        dict
            Points and clusters, the points that are noise and those that the clustering did not
            see; of the points in clusters the mean stability, the same corrected for chance, the
            share of stable ones and the number of unstable ones; the share of all points outside
            of the hull, the numbers of clipped and empty cells, and the largest standard error.
        """
        return self.sums().summary() | {
            "stability": self.aggregate,
            "chance_corrected": self.chance_corrected,
        }

    def sums(self) -> Sums:
        """Return what is counted over all points."""
        k, inside = self.shares.shape[1], self.inside
        codes = self.codes[inside]

        def total(values: np.ndarray) -> np.ndarray:
            return np.bincount(codes, weights=values, minlength=k)

        by_cluster = [
            np.bincount(codes, minlength=k),
            total(self.stability[inside]),
            total(self.stable[inside]),
            total(self.shares[inside, codes]),
            total(self.outside[inside]),
        ]
        missing = [(self.codes == code).sum() for code in (NOISE, UNSAMPLED)]
        found = [part.sum() for part in (self.outside, self.clipped, self.empty)]
        counts = np.array([len(self.codes), *missing, *found], dtype=np.int64)
        return Sums(np.array(by_cluster), counts, float(self.standard_error.max(initial=0.0)))


def chance_corrected(stability: float, k: int) -> float:
    """Return a mean stability on a scale on which 1/k is 0; NaN for one cluster."""
    return float("nan") if k == 1 else (stability - 1.0 / k) / (1.0 - 1.0 / k)


@dataclass(frozen=True)
class Sums:
    """Sums over points with certificates; those of several blocks are added.

    Attributes
    ----------
    by_cluster : (5, k) array
        Of the points in clusters: their number, and the sums of stability, of stable ones, of the
        share of the own cluster, of those outside of the hull.
    counts : (6,) array
        Points; noise and unsampled ones; those outside, with clipped and with empty cells.
    largest_error : float
        Of all shares.
    """

    by_cluster: np.ndarray
    counts: np.ndarray
    largest_error: float

    def __add__(self, other: Sums) -> Sums:
        largest = max(self.largest_error, other.largest_error)
        return Sums(self.by_cluster + other.by_cluster, self.counts + other.counts, largest)

    def per_cluster(self, clusters: np.ndarray) -> pd.DataFrame:
        """Return the table of :meth:`Certificates.per_cluster`."""
        size, *totals = self.by_cluster
        k = len(clusters)
        sigma, stable, own, outside = (
            np.divide(total, size, out=np.full(k, np.nan), where=size > 0) for total in totals
        )
        chance = np.nan if k == 1 else 1.0 / k
        return pd.DataFrame(
            {
                "size": size.astype(np.int64),
                "stability": sigma,
                "chance_corrected": (sigma - chance) / (1.0 - chance),
                "stable_share": stable,
                "own_share": own,
                "outside_share": outside,
            },
            index=pd.Index(clusters, name="cluster"),
        )

    def summary(self) -> dict[str, Any]:
        """Return the figures of :meth:`Certificates.summary`."""
        n, noise, unsampled, outside, clipped, empty = self.counts.tolist()
        inside, stability, stable = self.by_cluster[:3].sum(axis=1).tolist()
        k = self.by_cluster.shape[1]
        return {
            "n_points": n,
            "n_clusters": k,
            "n_noise": noise,
            "n_unsampled": unsampled,
            "stability": stability / inside,
            "chance_corrected": chance_corrected(stability / inside, k),
            "stable_share": stable / inside,
            "n_unstable": int(inside - stable),
            "outside_share": outside / n,
            "n_clipped": clipped,
            "n_empty": empty,
            "largest_standard_error": self.largest_error,
        }
