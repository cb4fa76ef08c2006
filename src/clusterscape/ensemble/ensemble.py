"""Ensemble: n points by r partitions, and the products with its membership matrix B."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.labels import decode, smallest_type
from clusterscape._core.params import shown
from clusterscape.ensemble.files import EnsembleFiles
from clusterscape.ensemble.matrices import Compressed, EnsembleMatrices, Membership
from clusterscape.ensemble.partitions import (
    Partition,
    checked_records,
    checked_weights,
    collect,
    common_length,
    drop_empty,
    frozen,
    one,
    shared_index,
    unique_names,
)
from clusterscape.ensemble.records import PartitionRecord
from clusterscape.ensemble.words import EnsembleWords

__all__ = ["Compressed", "Ensemble", "Membership", "PartitionRecord", "as_ensemble"]


class Ensemble(EnsembleMatrices, EnsembleFiles, EnsembleWords):
    """Many clusterings of the same points; immutable.

    Make one with :meth:`from_labels`, with a generator, or from a file. Hard partitions are columns
    of an integer label matrix in which -1 is noise (seen, in no cluster) and -2 is unsampled (not
    seen: counted neither for nor against). A partition may be soft.

    Attributes
    ----------
    labels : (n, r) array
        Codes 0..k_i-1, -1 or -2, in the smallest integer type; the argmax of soft partitions.
    n_clusters : (r,) array
        Clusters of each partition; 0 for a failed one.
    offsets : (r + 1,) array
        Columns ``offsets[i]:offsets[i + 1]`` of B belong to partition i.
    weights, sample_weight : (r,) and (n,) arrays
        Weights of the partitions and of the points, ones unless given.
    soft : dict
        CSR membership of each soft partition, by position.
    categories : tuple
        Per partition, None or the original label of each code.
    names, records : tuple
        Per partition, its name and its :class:`PartitionRecord`.
    index : pandas.Index or None
        The points' ids.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> ensemble = Ensemble.from_labels([[0, 0, 1, 1], ["a", "a", "b", "c"], [0, 0, -1, -2]])
    >>> ensemble
    Ensemble(4 points, 3 partitions with 1 to 3 clusters, noise, incomplete)
    >>> ensemble.contingency(0, 1)
    array([[2., 0., 0.],
           [0., 1., 1.]])
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        *,
        records: Sequence[PartitionRecord] | None = None,
        weights: Any = None,
        sample_weight: Any = None,
        index: Any = None,
    ) -> None:
        n = common_length(partitions)
        widest = max(p.n_clusters for p in partitions)
        labels = np.empty((n, len(partitions)), dtype=smallest_type(max(widest, 1)))
        for i, partition in enumerate(partitions):
            labels[:, i] = partition.codes
        self.labels = frozen(labels)
        self.n_clusters = frozen(np.array([p.n_clusters for p in partitions], dtype=np.int64))
        self.offsets = frozen(np.concatenate([[0], np.cumsum(self.n_clusters)]))
        soft = {i: p.soft for i, p in enumerate(partitions) if p.soft is not None}
        self.soft: Mapping[int, sparse.csr_matrix] = MappingProxyType(soft)
        self.categories = tuple(p.categories for p in partitions)
        self.names = unique_names([p.name for p in partitions])
        self.weights = checked_weights(weights, len(partitions), "weights", "partition")
        self.sample_weight = checked_weights(sample_weight, n, "sample_weight", "point")
        self.records = checked_records(records, self.n_clusters)
        self.index = None if index is None else pd.Index(index)
        if self.index is not None and len(self.index) != n:
            raise ValueError(f"index has {len(self.index)} entries for {n} points.")
        self._built = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_built", False):
            raise AttributeError(
                f"an Ensemble is immutable, so {name} cannot be set; with_weights, with_index, "
                "select, subset, concat and add return new ones."
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"soft": dict(self.soft)}  # a proxy cannot travel

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = ("labels", "n_clusters", "offsets", "weights", "sample_weight")
        for array in [state[name] for name in arrays]:
            frozen(array)  # which travelling undid
        self.__dict__.update(state | {"soft": MappingProxyType(state["soft"])})

    # -- making one ---------------------------------------------------------------------------

    @classmethod
    def from_labels(
        cls,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        records: Sequence[PartitionRecord] | None = None,
        weights: Any = None,
        sample_weight: Any = None,
        index: Any = None,
    ) -> Ensemble:
        """Build an ensemble from clusterings that exist already.

        Parameters
        ----------
        data : array, list, data frame or AnnData
            An (n, r) array; a list of r label vectors of any hashable type; a pandas or polars
            frame with one clustering a column (the index is kept); an AnnData-like object whose
            ``.obs`` has the ``columns``. An element of a list may be soft: an (n, k) array or
            sparse matrix with rows that sum to one (a zero row is noise, a NaN row unsampled).
            Missing labels (None, NaN) are unsampled.
        columns : list of str, optional
            The columns of a frame to take.
        names, records : list, optional
            A name and a record for each partition.
        weights, sample_weight : array, optional
            Non-negative weights of the partitions and of the points.
        index : array, optional
            The points' ids.

        Returns
        -------
        Ensemble

        Examples
        --------
        >>> import numpy as np
        >>> from clusterscape import Ensemble
        >>> Ensemble.from_labels(np.array([[0, 5], [0, 9], [1, 9]])).n_clusters
        array([2, 2])
        """
        partitions, found = collect(data, columns)
        if not partitions:
            raise ValueError("labels hold no partition; at least one is needed.")
        if names is not None:
            if len(names) != len(partitions):
                raise ValueError(f"names has {len(names)} entries, labels {len(partitions)}.")
            for partition, name in zip(partitions, names, strict=True):
                partition.name = str(name)
        return cls(
            partitions,
            records=records,
            weights=weights,
            sample_weight=sample_weight,
            index=found if index is None else index,
        )

    # -- what it is ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.n_partitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ensemble):
            return NotImplemented
        return (
            self.shape == other.shape
            and self.names == other.names
            and self.categories == other.categories
            and self.records == other.records
            and np.array_equal(self.labels, other.labels)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.sample_weight, other.sample_weight)
            and self.soft.keys() == other.soft.keys()
            and all((self.soft[i] != other.soft[i]).nnz == 0 for i in self.soft)
            and _same_index(self.index, other.index)
        )

    __hash__ = None  # type: ignore[assignment]

    # -- parts and sums -----------------------------------------------------------------------

    def partition(self, i: int) -> np.ndarray:
        """Return partition i with its original labels (noise -1, unsampled -2)."""
        return decode(self.labels[:, i], self.categories[i])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.partition(i) for i in range(self.n_partitions))

    def _parts(self, positions: Sequence[int] | None = None) -> list[Partition]:
        chosen = range(self.n_partitions) if positions is None else positions
        return [
            Partition(
                self.names[i],
                self.labels[:, i],
                int(self.n_clusters[i]),
                self.categories[i],
                self.soft.get(i),
            )
            for i in chosen
        ]

    def _take(self, rows: np.ndarray, *, sample_weight: np.ndarray) -> Ensemble:
        """Return chosen rows; clusters keep their codes, so B keeps its columns."""
        parts = self._parts()
        for part in parts:
            part.codes = part.codes[rows]
            part.soft = None if part.soft is None else part.soft[rows]
        return Ensemble(
            parts,
            records=self.records,
            weights=self.weights,
            sample_weight=sample_weight,
            index=None if self.index is None else self.index[rows],
        )

    def select(self, which: Any) -> Ensemble:
        """Return some partitions: positions, names, a slice, or a boolean mask."""
        if isinstance(which, (list, tuple)) and which and all(isinstance(w, str) for w in which):
            unknown = [name for name in which if name not in self.names]
            if unknown:
                raise ValueError(f"which: there is no partition called {unknown[0]!r}.")
            which = [self.names.index(name) for name in which]
        positions = [int(i) for i in _chosen(which, self.n_partitions, "which", "partition")]
        if not positions:
            raise ValueError("which selects no partition; at least one is needed.")
        return Ensemble(
            self._parts(positions),
            records=[self.records[i] for i in positions],
            weights=self.weights[positions],
            sample_weight=self.sample_weight,
            index=self.index,
        )

    def subset(self, rows: Any) -> Ensemble:
        """Return the given points (a list, slice, or boolean mask); empty clusters disappear."""
        chosen = _chosen(rows, self.n_points, "rows", "point")
        if chosen.size == 0:
            raise ValueError("rows selects no point; at least one is needed.")
        taken = self._take(chosen, sample_weight=self.sample_weight[chosen])
        parts = taken._parts()
        for part in parts:
            drop_empty(part)
        records = [
            r.replace(n_clusters=p.n_clusters) for r, p in zip(self.records, parts, strict=True)
        ]
        return Ensemble(
            parts,
            records=records,
            weights=self.weights,
            sample_weight=taken.sample_weight,
            index=taken.index,
        )

    def concat(self, *others: Ensemble) -> Ensemble:
        """Return the partitions of this and the other ensembles over the same points."""
        for other in others:
            if not isinstance(other, Ensemble):
                raise TypeError(
                    f"concat joins ensembles; got {type(other).__name__}. Give them one by one, or "
                    "use add for a label vector."
                )
            if other.n_points != self.n_points:
                raise ValueError(
                    f"the ensembles have {self.n_points} and {other.n_points} points; only "
                    "clusterings of the same points can be joined."
                )
            mine, theirs = self.index, other.index
            if mine is not None and theirs is not None and not mine.equals(theirs):
                raise ValueError("the ensembles have different point ids; reorder one of them.")
        every = (self, *others)
        weighted = [e.sample_weight for e in every if (e.sample_weight != 1).any()]
        if any(not np.array_equal(weighted[0], w) for w in weighted[1:]):
            raise ValueError(
                "the ensembles give the points different sample_weight; choose one of them with "
                "with_weights first."
            )
        return Ensemble(
            [part for e in every for part in e._parts()],
            records=[record for e in every for record in e.records],
            weights=np.concatenate([e.weights for e in every]),
            sample_weight=weighted[0] if weighted else None,
            index=next((e.index for e in every if e.index is not None), None),
        )

    def add(
        self,
        labels: Any,
        *,
        name: str | None = None,
        record: PartitionRecord | None = None,
        weight: float = 1.0,
    ) -> Ensemble:
        """Return the ensemble with one more partition: a label vector or an (n, k) membership."""
        part = one(labels, name or f"p{self.n_partitions}")
        records = None if record is None else [record]
        single = Ensemble([part], records=records, weights=[weight], index=shared_index([labels]))
        return self.concat(single)

    def with_weights(self, *, weights: Any = None, sample_weight: Any = None) -> Ensemble:
        """Return the ensemble with other weights; None keeps what there is."""
        return Ensemble(
            self._parts(),
            records=self.records,
            weights=self.weights if weights is None else weights,
            sample_weight=self.sample_weight if sample_weight is None else sample_weight,
            index=self.index,
        )

    def with_index(self, index: Any) -> Ensemble:
        """Return the ensemble with other ids of the points."""
        return Ensemble(
            self._parts(),
            records=self.records,
            weights=self.weights,
            sample_weight=self.sample_weight,
            index=index,
        )


def as_ensemble(data: Any, name: str = "ensemble") -> Ensemble:
    """Return ``data`` itself if it is an Ensemble, otherwise ``Ensemble.from_labels(data)``.

    Parameters
    ----------
    data : Ensemble or labels
        What is to be an ensemble.
    name : str
        How a message names it.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from clusterscape.ensemble import as_ensemble
    >>> as_ensemble([[0, 0, 1], [0, 1, 1]]).shape
    (3, 2)
    """
    if isinstance(data, Ensemble):
        return data
    try:
        return Ensemble.from_labels(data)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _chosen(which: Any, size: int, name: str, thing: str) -> np.ndarray:
    """Return the positions that a list, slice or mask selects."""
    if isinstance(which, tuple):
        which = list(which)
    try:
        if which is None:
            raise IndexError
        if not isinstance(which, slice):
            which = np.asarray(which)
            which = which.astype(np.int64) if which.size == 0 else which
        return np.arange(size)[which].reshape(-1)
    except IndexError:
        raise IndexError(
            f"{name} must be positions below {size}, a slice, or a mask with one entry a {thing}, "
            f"{size} in all; got {shown(which)}."
        ) from None


def _same_index(left: pd.Index | None, right: pd.Index | None) -> bool:
    if left is None or right is None:
        return left is right
    return bool(left.equals(right))
