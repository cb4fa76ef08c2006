"""What every estimator that ends with labels can say of its points, in one shape."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.block_files import write_frames
from clusterscape._core.frames import Library, in_library
from clusterscape.combine.blocked import BlockedLabels, block_scores, scores_in_blocks
from clusterscape.combine.scores import ConsensusScores, scores_of, warn_of_one_opinion
from clusterscape.ensemble import Ensemble


@dataclass(frozen=True)
class KSelection:
    """A number of clusters, and what it was chosen from.

    Attributes
    ----------
    n_clusters : int
        The choice.
    criterion : str
        The rule, in words.
    eigenvalues : (m,) array
        Of the normalised co-association, largest first.
    gaps : (m - 1,) array
        Entry k - 1 is the gap for k clusters.
    reason : str
        The choice in words.
    columns : dict of arrays
        The columns of ``table``; empty where only a spectrum was looked at.
    runner_up : int or None
        The next best number; None where there was no other candidate.
    choices : (m,) array
        What random halves of the partitions chose; empty where none were drawn.
    """

    n_clusters: int
    criterion: str
    eigenvalues: np.ndarray
    gaps: np.ndarray
    reason: str
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    runner_up: int | None = None
    choices: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate ``k``; ``score`` is what decided, the larger the better.

        ``separated`` is the share of near neighbours in other clusters, ``separation_rise`` the
        log ratio by which one more cluster would raise it, ``clearness`` how clear the least clear
        borders are (0 to 4), ``clearness_drop`` by how much one more cluster would lower it,
        ``eigengap`` the log ratio of the spectrum, ``chosen`` how many halves of the partitions
        chose k, ``stability`` the mean adjusted Rand index of their cuts with that of all. Further
        columns are those asked for by ``criteria`` of
        :func:`~clusterscape.validate.select_k`, each followed, where there are
        references, by their mean (``_null``) and a p-value (``_p``).
        """
        return pd.DataFrame(dict(self.columns))


class LabelsMixin:
    """A table of the points, for estimators with ``labels_`` and without votes on them.

    A subclass sets ``labels_`` in ``fit``, ``n_clusters_`` or, where it is soft, ``membership_``,
    and keeps the ids of the points by :meth:`_keep_ids`.
    """

    labels_: np.ndarray
    n_clusters_: int
    # Names and values of the levels of an index, which a file of the model can hold.
    _ids: list[tuple[str | None, np.ndarray]]

    def _keep_ids(self, index: pd.Index | None) -> None:
        """Keep the ids of the points, unless they only count."""
        self._ids = []
        if index is not None and not index.equals(pd.RangeIndex(len(index))):
            for i, name in enumerate(index.names):
                values = index.get_level_values(i).to_numpy()
                self._ids.append((None if name is None else str(name), values))

    def _index(self) -> pd.Index | None:
        """Return the ids of the points; None where they only count."""
        if len(self._ids) > 1:
            names, values = zip(*self._ids, strict=True)
            return pd.MultiIndex.from_arrays(values, names=names)
        return pd.Index(self._ids[0][1], name=self._ids[0][0]) if self._ids else None

    def to_frame(self, *, membership: bool = False, library: Library = "pandas") -> Any:
        """Return one row per point: its cluster, and how far it belongs to it.

        Parameters
        ----------
        membership : bool
            Add a column ``membership_0``, ``membership_1``, ... for each cluster.
        library : {"pandas", "polars"}
            Whose frame is returned; one of polars has the ids as its first column.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The columns of :meth:`clusterscape.ConsensusClustering.to_frame`. There are no votes
            here, so that ``confidence``, ``runner_up`` and ``runner_up_share`` are missing, unless
            the method has memberships of its own: they are then read from these. Without, the
            membership of a point is 1 in its own cluster.
        """
        check_is_fitted(self, "labels_")
        n, shares = len(self.labels_), getattr(self, "membership_", None)
        confidence, message = np.full(n, np.nan), "no votes"
        if shares is not None:
            confidence, message = shares[np.arange(n), self.labels_], ""
        elif membership:
            shares = (self.labels_[:, None] == np.arange(self.n_clusters_)).astype(np.float64)
        else:
            shares = np.zeros((n, 0))
        scores = ConsensusScores(shares, confidence, np.empty(0), message)
        return in_library(
            points_frame(scores, self.labels_, self._index(), membership=membership), library
        )


class ResultMixin:
    """Confidences and a table of the points, for estimators with ``labels_`` and ``ensemble_``.

    A subclass sets ``labels_`` (0 to ``n_clusters_`` - 1, and -1 for a point in no cluster),
    ``n_clusters_`` and ``ensemble_`` in ``fit``. All else is read off these when it is first asked
    for, because it costs about as much as an iteration of k-means over all partitions.
    """

    labels_: np.ndarray
    n_clusters_: int
    ensemble_: Ensemble

    # Labels, ensemble, and the scores of both: computed again when one of them is another.
    _scored: tuple[np.ndarray, Ensemble, ConsensusScores]
    # What can be computed again, and is not saved with the model.
    _derived: ClassVar[tuple[str, ...]] = ("_scored",)

    @property
    def confidence_(self) -> np.ndarray:
        """Share of the ensemble's votes on each point that its own cluster has, in [0, 1].

        0 throughout with one cluster; NaN throughout where the partitions are one opinion. See
        :func:`~clusterscape.combine.consensus_scores`.
        """
        return self._scores().confidence

    @property
    def cluster_consensus_(self) -> np.ndarray:
        """Mean co-association of the pairs within each cluster; NaN for a cluster of one point."""
        return self._scores().cluster_consensus

    def to_frame(self, *, membership: bool = False, library: Library = "pandas") -> Any:
        """Return one row per point: its cluster, and how far it can be believed.

        Parameters
        ----------
        membership : bool
            Add a column ``membership_0``, ``membership_1``, ... for each cluster.
        library : {"pandas", "polars"}
            Whose frame is returned; one of polars has the ids as its first column.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The index holds the points' ids, or counts them from 0. The columns:

            - ``label``: the cluster; -1 for a point in no cluster.
            - ``confidence``: as in ``confidence_``; NaN where the partitions are one opinion.
            - ``runner_up``: of the other clusters, the one with most of the votes on the point;
              missing where there is none, or none has a vote.
            - ``runner_up_share``: the runner-up's share of the votes; missing for
              a point in no cluster, with one cluster, and where the partitions are one opinion.
            - ``membership_c``: the share of cluster c; the shares of a row sum to one, and are
              zeros for a point in no cluster.

        Notes
        -----
        All figures come from the ensemble's votes, counted by
        :func:`~clusterscape.combine.consensus_scores`, and mean the same for every method. Where a
        method has soft memberships of its own, they are in ``membership_``.
        """
        check_is_fitted(self, ("labels_", "ensemble_"))
        index = self.ensemble_.index
        if isinstance(self.labels_, BlockedLabels):
            blocks = range(self.labels_.n_blocks)
            parts = [self.block_frame(i, membership=membership) for i in blocks]
            return in_library(pd.concat(parts), library)
        frame = points_frame(self._scores(), self.labels_, index, membership=membership)
        return in_library(frame, library)

    def block_frame(self, i: int, *, membership: bool = False) -> pd.DataFrame:
        """Return :meth:`to_frame` of one block, where the points were read in blocks.

        Parameters
        ----------
        i : int
            The block.
        membership : bool
            Add a column for each cluster.

        Returns
        -------
        pandas.DataFrame
        """
        check_is_fitted(self, ("labels_", "ensemble_"))
        if not isinstance(self.labels_, BlockedLabels):
            raise ValueError("the points were not read in blocks; use to_frame.")
        given = self._scores().confidence.shared
        return frame_of_block(i, self.labels_.source.block(i), *given, membership)

    def write_blocks(self, folder: str | os.PathLike[str], *, membership: bool = False) -> int:
        """Write :meth:`to_frame` as Parquet files, one for each block of points.

        The files are ``part-00000.parquet`` and so on, with the columns of :meth:`to_frame` and
        ``id``, the number of the point. Each is written whole or not at all, by the workers that
        read the blocks; the same call after an interruption writes what is missing.

        Parameters
        ----------
        folder : path
            Made if it does not exist. It must be empty, or hold files of the same answer.
        membership : bool
            Add a column for each cluster.

        Returns
        -------
        int
            Files that were written now.
        """
        check_is_fitted(self, ("labels_", "ensemble_"))
        if not isinstance(self.labels_, BlockedLabels):
            raise ValueError("the points were not read in blocks; use to_frame().to_parquet(path).")
        given = (*self._scores().confidence.shared, membership)
        digest = answer_digest(self.labels_, membership)
        return write_frames(self.labels_.source, folder, digest, frame_of_block, given)

    def _scores(self, stacklevel: int = 4) -> ConsensusScores:
        """Return the scores of the labels, computed once for each fit.

        ``stacklevel`` is that of the warning, which points at the user's own line.
        """
        check_is_fitted(self, ("labels_", "ensemble_"))
        known = getattr(self, "_scored", None)
        if known is not None and known[0] is self.labels_ and known[1] is self.ensemble_:
            return known[2]
        scores = self._compute_scores()
        self._scored = (self.labels_, self.ensemble_, scores)
        warn_of_one_opinion(scores, stacklevel=stacklevel)
        return scores

    def _compute_scores(self) -> ConsensusScores:
        if isinstance(self.labels_, BlockedLabels):
            return scores_in_blocks(self.ensemble_, self.labels_)
        return scores_of(self.ensemble_, self.labels_)


def answer_digest(labels: BlockedLabels, membership: bool) -> str:
    """Return what tells the files of one answer from those of another.

    Parameters
    ----------
    labels : BlockedLabels
        The answer.
    membership : bool
        Whether memberships are written, too.

    Returns
    -------
    str
    """
    found = labels.tally
    digest = hashlib.sha256(f"{labels.shape} {membership};".encode())
    for array in (labels.bounds, found.counts, found.first, found.totals, found.voted):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def frame_of_block(
    i: int, rows: np.ndarray, ensemble: Any, labels: Any, fixed: float | None, membership: bool
) -> pd.DataFrame:
    """Return the table of the points of one block, numbered on from the blocks before.

    Parameters
    ----------
    i : int
        The block.
    rows : (m, r) array
        Its labels in the members.
    ensemble, labels, fixed
        As :func:`~clusterscape.combine.blocked.block_scores` takes them.
    membership : bool
        Add a column for each cluster.

    Returns
    -------
    pandas.DataFrame
    """
    groups, scores = block_scores(i, rows, ensemble, labels, fixed)
    part = labels.part(i)
    return points_frame(scores, groups, pd.RangeIndex(part.start, part.stop), membership=membership)


def points_frame(
    scores: ConsensusScores, labels: np.ndarray, index: pd.Index | None, *, membership: bool
) -> pd.DataFrame:
    """Return the table of points that :meth:`ResultMixin.to_frame` describes.

    Parameters
    ----------
    scores : ConsensusScores
        Of the points.
    labels : (n,) array
        Their clusters.
    index : pandas.Index or None
        Their ids; None counts them.
    membership : bool
        Add a column for each cluster.

    Returns
    -------
    pandas.DataFrame
    """
    ids = pd.RangeIndex(len(labels)) if index is None else index
    if not isinstance(ids, pd.MultiIndex) and ids.name is None:
        ids = ids.rename("id")
    other, share = _runner_up(scores, labels)
    columns: dict[str, Any] = {
        "label": labels,
        "confidence": scores.confidence,
        "runner_up": pd.array(other, dtype="Int64"),
        "runner_up_share": share,
    }
    if membership:
        columns |= {f"membership_{c}": share for c, share in enumerate(scores.membership.T)}
    return pd.DataFrame(columns, index=ids)


def _runner_up(scores: ConsensusScores, labels: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the best of the other clusters for each point, None where there is none."""
    n, k = scores.membership.shape
    share = np.full(n, np.nan)
    other = np.full(n, -1)
    inside = np.flatnonzero(labels >= 0)
    if k > 1 and not scores.message:
        rest = scores.membership[inside]
        rest[np.arange(inside.size), labels[inside]] = -1.0
        other[inside] = rest.argmax(axis=1)
        share[inside] = rest.max(axis=1)
        other[share == 0] = -1
    return [None if c < 0 else int(c) for c in other], share
