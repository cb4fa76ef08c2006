"""Ensemble: n points by r partitions, and the products with its membership matrix B."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.frames import Library, in_library
from clusterscape._core.labels import NOISE, UNSAMPLED, decode, smallest_type
from clusterscape._core.params import shown
from clusterscape._core.weights import checked_weights, computable_weights
from clusterscape.ensemble import files
from clusterscape.ensemble.distinct import distinct_partitions
from clusterscape.ensemble.inputs import (
    Orient,
    Partition,
    common_length,
    first_difference,
    frozen,
    may_be_joined,
    read_partition,
    read_partitions,
    shared_index,
)
from clusterscape.ensemble.records import PartitionRecord
from clusterscape.linalg.coassociation import Coassociation, Normalize

__all__ = ["Compressed", "Ensemble", "Membership", "as_ensemble"]


_BLOCK = 2**22  # labels looked at in one go
_PROBE = 2000  # points on which it is first looked whether partitions differ


class Membership(NamedTuple):
    """The membership matrix B, and where each partition's columns begin.

    Parameters
    ----------
    matrix : (n, D) sparse matrix
        The weight of each point in each cluster of each partition.
    offsets : (r + 1,) array
        Columns ``offsets[i]:offsets[i + 1]`` belong to partition i.

    See Also
    --------
    Ensemble.membership : Make one.
    """

    matrix: sparse.csr_matrix
    offsets: np.ndarray


class Compressed(NamedTuple):
    """Weighted unique rows, and the way back: ``result[inverse]`` has one entry per point.

    Parameters
    ----------
    ensemble : Ensemble
        One point for each distinct row, weighted by how many points have that row.
    inverse : (n,) array
        The row of each point.

    See Also
    --------
    Ensemble.compress : Make one.
    """

    ensemble: Any
    inverse: np.ndarray


class Ensemble:
    """Many clusterings of the same points; immutable.

    Make one with :meth:`from_labels`, with a generator, or from a file. Hard partitions are columns
    of an integer label matrix in which -1 is noise (seen, in no cluster) and -2 is unsampled (not
    seen: counted neither for nor against). A partition may be soft.

    ``ensemble["name"]``, ``ensemble[3]`` and iteration give label vectors; slices, lists and masks
    of partitions give ensembles; ``numpy.asarray(ensemble)`` gives :attr:`labels`.

    Attributes
    ----------
    labels : (n, r) array
        Codes 0..k_i-1, -1 or -2, in the smallest integer type; the argmax of soft partitions.
    n_clusters : (r,) array
        Clusters of each partition; 0 for a failed one.
    offsets : (r + 1,) array
        Columns ``offsets[i]:offsets[i + 1]`` of B belong to partition i.
    weights, sample_weight : (r,) and (n,) arrays
        Weights of the partitions and of the points; ones unless given.
    soft : mapping
        CSR membership of each soft partition, by position.
    categories : tuple
        Per partition, None or the original label of each code.
    names, records : tuple
        Per partition, its name and its :class:`PartitionRecord`.
    index : pandas.Index or None
        The points' ids; None where there are none, and where a ``RangeIndex`` only counts the
        points.

    See Also
    --------
    clusterscape.generate.EnsembleGenerator : Clusters the same points many times.
    clusterscape.io.read_labels : Reads labels from files of several formats.
    clusterscape.ConsensusClustering : Combines an ensemble into one clustering.

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
        labels: np.ndarray | None = None,
    ) -> None:
        n = common_length(partitions)
        kind = smallest_type(max(1, *(p.n_clusters for p in partitions)))
        if labels is None:
            labels = np.empty((n, len(partitions)), dtype=kind)
            for i, partition in enumerate(partitions):
                labels[:, i] = partition.codes
        elif labels.dtype != kind:
            labels = labels.astype(kind)
        self.labels = frozen(labels)
        self.n_clusters = frozen(np.array([p.n_clusters for p in partitions], dtype=np.int64))
        self.offsets = frozen(np.concatenate([[0], np.cumsum(self.n_clusters)]))
        soft = {i: p.soft for i, p in enumerate(partitions) if p.soft is not None}
        self.soft: Mapping[int, sparse.csr_matrix] = MappingProxyType(soft)
        self.categories = tuple(p.categories for p in partitions)
        self.names = _unique_names([p.name for p in partitions])
        self.weights = frozen(
            checked_weights(weights, len(partitions), name="weights", each="partition")
        )
        self.sample_weight = frozen(checked_weights(sample_weight, n))
        self.records = _checked_records(records, self.n_clusters)
        ids = None if index is None else pd.Index(index)
        if ids is not None and len(ids) != n:
            raise ValueError(f"index has {len(ids)} entries for {n} points.")
        # Row numbers name no points, but other data may hold the same numbers in another order.
        self._counted = isinstance(ids, pd.RangeIndex) and ids.equals(pd.RangeIndex(n))
        self.index = None if self._counted else ids
        self._built = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_built", False):
            raise AttributeError(
                f"an Ensemble is immutable, so {name} cannot be set; with_weights, with_index, "
                "select, subset, concat and add return new ones."
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"soft": dict(self.soft)}  # a proxy cannot be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = ("labels", "n_clusters", "offsets", "weights", "sample_weight")
        for array in [state[name] for name in arrays]:
            frozen(array)  # arrays come back writable
        self.__dict__.update(state | {"soft": MappingProxyType(state["soft"])})

    # -- making one ---------------------------------------------------------------------------

    @classmethod
    def from_labels(
        cls,
        data: Any,
        *,
        columns: Sequence[str] | str | None = None,
        id_column: str | None = None,
        orient: Orient = "auto",
        names: Sequence[str] | None = None,
        records: Sequence[PartitionRecord] | None = None,
        weights: Any = None,
        sample_weight: Any = None,
        index: Any = None,
    ) -> Self:
        """Build an ensemble from clusterings that exist already.

        Parameters
        ----------
        data : array, list, dict, data frame or AnnData
            One of

            - an (n, r) array: one row per point, one column per clustering;
            - a list of r label vectors, or a dictionary of them by name. The labels may be of any
              hashable type. A vector may be replaced by a soft partition: an (n, k) array or
              sparse matrix with rows that sum to one (a row of zeros is noise, a row of NaN
              unsampled);
            - a pandas or polars frame with one clustering per column. The index is kept as the
              points' ids; a frame without one may hold them in a column (see ``id_column``);
            - an AnnData-like object whose ``.obs`` has the ``columns``.

            Missing labels (None, NaN) are unsampled.
        columns : str or list of str, optional
            The columns of a frame that are clusterings; None takes all but the ids, and refuses a
            column that is different in every row: text from three rows on and numbers from ten
            on, because a few points may well be clusters of their own. Columns called p0, p1...,
            the names of clusterings that were given none, are never refused.
        id_column : str, optional
            The column of a frame that holds the points' ids. Without it, and where the frame's
            index only counts the rows, a column called id, ids or index is taken, or one called
            name or names in which no value repeats (upper or lower case).
        orient : {"auto", "columns", "rows"}
            Whether the columns or the rows of an array, list or frame are the clusterings. "auto"
            takes the columns of arrays and frames and the elements of lists, and refuses what is
            mostly the wrong way round: an array, or a frame without column names, of ten or more
            columns that has three times as many columns as rows, and a list of a hundred or more
            lists that are shorter than it.
        names, records : list, optional
            A name and a record for each partition.
        weights, sample_weight : array, optional
            Non-negative weights of the partitions and of the points.
        index : array, optional
            The points' ids; they replace those of ``data``.

        Returns
        -------
        Ensemble

        Examples
        --------
        >>> import numpy as np
        >>> from clusterscape import Ensemble
        >>> Ensemble.from_labels(np.array([[0, 5], [0, 9], [1, 9]])).n_clusters
        array([2, 2])
        >>> Ensemble.from_labels({"kmeans": [0, 0, 1], "expert": ["a", "b", "b"]}).names
        ('kmeans', 'expert')
        """
        if isinstance(data, Ensemble):
            raise TypeError(
                "data is an Ensemble already; with_weights, with_index, select and subset return "
                "changed ones."
            )
        partitions, found = read_partitions(
            data, columns=columns, id_column=id_column, orient=orient
        )
        if not partitions:
            raise ValueError("labels hold no partition; at least one is needed.")
        if names is not None:
            if len(names) != len(partitions):
                raise ValueError(
                    f"names has {len(names)} entries for {len(partitions)} partitions."
                )
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

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.labels.shape[0])

    @property
    def n_partitions(self) -> int:
        """Number of partitions, failed ones included."""
        return int(self.labels.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Points by partitions."""
        return self.n_points, self.n_partitions

    @property
    def is_soft(self) -> bool:
        """Whether any partition is soft."""
        return bool(self.soft)

    @property
    def has_noise(self) -> bool:
        """Whether any point is noise in any partition."""
        if self.labels.min(initial=0) >= 0:  # most ensembles: nothing is copied
            return False
        return any(bool((self.labels[part] == NOISE).any()) for part in self._row_blocks())

    @property
    def is_complete(self) -> bool:
        """Whether every partition sampled every point."""
        return bool(self.labels.min(initial=0) > UNSAMPLED)

    def saw_points(self) -> np.ndarray:
        """Say for each partition whether it sampled any point; a failed one did not."""
        seen = np.zeros(self.n_partitions, dtype=bool)
        for part in self._row_blocks():
            seen |= (self.labels[part] != UNSAMPLED).any(axis=0)
            if seen.all():
                break
        return seen

    def in_clusters(self) -> np.ndarray:
        """Say for each point whether any partition put it in a cluster."""
        if self.n_partitions == 0:
            return np.zeros(self.n_points, dtype=bool)
        found = self.labels[:, 0] >= 0
        rest = np.flatnonzero(~found)
        step = max(1, _BLOCK // self.n_partitions)
        for start in range(0, rest.size, step):
            part = rest[start : start + step]
            found[part] = (self.labels[part] >= 0).any(axis=1)
        return found

    def _row_blocks(self) -> Iterator[slice]:
        step = max(1, _BLOCK // max(self.n_partitions, 1))
        for start in range(0, self.n_points, step):
            yield slice(start, min(start + step, self.n_points))

    @property
    def is_weighted(self) -> bool:
        """Whether points or partitions have weights other than one."""
        return bool((self.weights != 1).any() or (self.sample_weight != 1).any())

    @property
    def n_distinct(self) -> int:
        """How many partitions differ by more than the names of their clusters.

        Partitions that saw no point or have no weight are not counted: with fewer than two distinct
        partitions there is only one opinion, and agreement is meaningless.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> Ensemble.from_labels([[0, 0, 1], ["b", "b", "a"], [0, 1, 1]]).n_distinct
        2
        """
        first, groups = self.distinct()
        heard = self.saw_points() & (self.weights > 0)
        return int(np.count_nonzero(np.bincount(groups[heard], minlength=first.size)))

    @property
    def has_several_opinions(self) -> bool:
        """Whether at least two partitions differ: ``n_distinct > 1``, often found far sooner."""
        heard = np.flatnonzero(self.weights > 0)
        if self.n_points > _PROBE and heard.size > 1:
            # Partitions that differ on some points differ.
            rows = np.linspace(0, self.n_points - 1, _PROBE).astype(np.int64)
            some = self.labels[rows][:, heard]
            seen = heard[(some != UNSAMPLED).any(axis=0)]
            hard = [i for i in seen.tolist() if i not in self.soft]
            if distinct_partitions(self.labels[rows][:, hard], {})[0].size > 1:
                return True
        return self.n_distinct > 1

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Group the partitions that are equal up to the names of their clusters.

        Two partitions are equal when they join the same points, and have the same points as noise
        and as unsampled. The time is O(n r).

        Returns
        -------
        first : array
            The position of the first partition of each group.
        groups : (r,) array
            The group of every partition.
        """
        return distinct_partitions(self.labels, self.soft)

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Position and reason of every member that failed."""
        return [(i, r.error) for i, r in enumerate(self.records) if r.error is not None]

    def __repr__(self) -> str:
        return f"Ensemble({self.describe()})"

    def describe(self) -> str:
        """Return one line that says what the ensemble holds."""
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        clusters = _count(low, "cluster") if low == high else f"{low} to {high} clusters"
        facts = [
            _count(len(self.labels), "point"),
            f"{_count(len(self.names), 'partition')} with {clusters}",
        ]
        flags = {
            "soft": bool(self.soft),
            "noise": self.has_noise,
            "incomplete": not self.is_complete,
            "weighted": self.is_weighted,
            f"{len(self.failures)} failed": bool(self.failures),
        }
        return ", ".join(facts + [word for word, holds in flags.items() if holds])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{t}</th>" for t in ("", "algorithm", "clusters", "cost", "error"))
        rows = []
        for name, record in list(zip(self.names, self.records, strict=True))[:10]:
            cost = "" if record.cost is None else f"{record.cost:.4g}"
            cells = (name, record.algorithm, record.n_clusters, cost, record.error or "")
            rows.append("".join(f"<td>{html.escape(str(c))}</td>" for c in cells))
        more = len(self.names) - len(rows)
        tail = f"<p>and {more:,} more partitions</p>" if more > 0 else ""
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        title = html.escape(self.describe())
        return f"<p><b>Ensemble</b>: {title}</p><table><tr>{head}</tr>{body}</table>{tail}"

    def __len__(self) -> int:
        return self.n_partitions

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the label matrix; without a change of type it is not copied, and read-only.

        Codes are names of clusters and not quantities, so they do not become floats by themselves:
        an ensemble passed by mistake where features belong is refused, not clustered.
        """
        if dtype is not None and np.dtype(dtype).kind in "fc":
            refuse_ensemble(self)
        if copy:
            return np.array(self.labels, dtype=dtype)
        found = np.asarray(self.labels, dtype=dtype)
        if copy is False and found is not self.labels:
            raise ValueError(f"the labels are {self.labels.dtype}; {found.dtype} needs a copy.")
        return found

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

    def partition(self, which: int | str) -> np.ndarray:
        """Return one partition, by position or name, with its original labels.

        Noise is -1 and unsampled -2; of a soft partition it is the most likely cluster.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> ensemble = Ensemble.from_labels({"km": [0, 0, 1], "expert": ["a", "b", "b"]})
        >>> ensemble.partition("km"), ensemble.partition(-1)
        (array([0, 0, 1]), array(['a', 'b', 'b'], dtype=object))
        """
        i = self._position(which)
        return decode(self.labels[:, i], self.categories[i])

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):
            raise IndexError(
                "an Ensemble is indexed by partitions alone; for points use ensemble.subset(rows), "
                "for single labels ensemble.labels[row, partition]."
            )
        one = isinstance(which, (str, int, np.integer)) and not isinstance(which, bool)
        return self.partition(which) if one else self.select(which)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.partition(i) for i in range(self.n_partitions))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.names

    def _position(self, which: int | str) -> int:
        """Return the position of the partition that a name or a position means."""
        if isinstance(which, str):
            if which not in self.names:
                known = ", ".join(map(repr, self.names[:10])) + ", ..." * (len(self) > 10)
                raise KeyError(f"there is no partition called {which!r}; there are {known}.")
            return self.names.index(which)
        if isinstance(which, bool) or not isinstance(which, (int, np.integer)):
            raise TypeError(f"a partition is named by its position or name; got {shown(which)}.")
        if not -self.n_partitions <= which < self.n_partitions:
            raise IndexError(
                f"there is no partition {which}; the ensemble has {self.n_partitions}, numbered "
                "from 0 (or backwards from -1)."
            )
        return int(which) % self.n_partitions

    def _parts(self) -> list[Partition]:
        columns = zip(self.names, self.labels.T, self.n_clusters, self.categories, strict=True)
        return [
            Partition(name, codes, int(k), categories, self.soft.get(i))
            for i, (name, codes, k, categories) in enumerate(columns)
        ]

    def _with(self, **changes: Any) -> Ensemble:
        """Return the ensemble with other arguments of the constructor."""
        given: dict[str, Any] = {
            "records": self.records,
            "weights": self.weights,
            "sample_weight": self.sample_weight,
            "index": ids_or_count(self),
            **changes,
        }
        partitions = given.pop("partitions", None)
        return Ensemble(self._parts() if partitions is None else partitions, **given)

    def select(self, which: Any) -> Ensemble:
        """Return some partitions as an ensemble.

        Parameters
        ----------
        which : list, slice, mask, str or int
            Positions or names of partitions, a slice of positions, or one boolean per partition.

        Returns
        -------
        Ensemble
        """
        positions = self._places(which).tolist()
        parts = self._parts()
        return self._with(
            partitions=[parts[i] for i in positions],
            records=[self.records[i] for i in positions],
            weights=self.weights[positions],
            labels=np.ascontiguousarray(self.labels[:, positions]),
        )

    def _places(self, which: Any) -> np.ndarray:
        """Return the positions of the partitions that :meth:`select` is asked for."""
        if isinstance(which, (str, int, np.integer)) and not isinstance(which, bool):
            which = [which]
        if isinstance(which, (np.ndarray, pd.Index, pd.Series)):
            which = which.tolist()
        if isinstance(which, (list, tuple)) and any(isinstance(w, str) for w in which):
            which = [self._position(w) for w in which]
        return _chosen(which, self.n_partitions, "which", "partition")

    def _take(self, rows: np.ndarray, sample_weight: np.ndarray) -> Ensemble:
        """Return chosen points; clusters keep their codes, so B keeps its columns."""
        labels = self.labels[rows]  # row by row; column by column takes far longer
        return self._with(
            partitions=[
                replace(part, codes=codes, soft=None if part.soft is None else part.soft[rows])
                for part, codes in zip(self._parts(), labels.T, strict=True)
            ],
            labels=labels,
            sample_weight=sample_weight,
            index=None if self.index is None else self.index[rows],
        )

    def subset(self, rows: Any, *, keep_empty: bool = False) -> Ensemble:
        """Return some points as an ensemble; clusters without points are left out.

        Parameters
        ----------
        rows : list, slice or mask
            Positions of points, a slice of them, or one boolean per point.
        keep_empty : bool
            Keep clusters without points, so that labels and the columns of B stay as they are.

        Returns
        -------
        Ensemble
        """
        chosen = _chosen(rows, self.n_points, "rows", "point")
        taken = self._take(chosen, self.sample_weight[chosen])
        if keep_empty:
            return taken
        parts = [part.without_empty() for part in taken._parts()]
        sizes = zip(self.records, parts, strict=True)
        records = [record.replace(n_clusters=part.n_clusters) for record, part in sizes]
        return taken._with(partitions=parts, records=records)

    def concat(*ensembles: Ensemble | Iterable[Ensemble]) -> Ensemble:
        """Return the partitions of several ensembles over the same points.

        Call it as ``first.concat(second, ...)`` or as ``Ensemble.concat([first, second, ...])``.

        Parameters
        ----------
        *ensembles : Ensemble, or list of Ensemble
            What to join, in this order. Names that repeat get a number.

        Returns
        -------
        Ensemble

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> a, b = Ensemble.from_labels([[0, 1, 1]]), Ensemble.from_labels([[0, 0, 1]])
        >>> Ensemble.concat([a, b]) == a.concat(b)
        True
        """
        every = _listed(ensembles)
        named = next((e for e in every if e.index is not None), every[0])
        for other in every:
            _check_same_points(named, other)
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
            index=ids_or_count(named),
        )

    def add(
        self,
        labels: Any,
        *,
        name: str | None = None,
        record: PartitionRecord | None = None,
        weight: float = 1.0,
    ) -> Ensemble:
        """Return the ensemble with one more partition.

        Parameters
        ----------
        labels : (n,) labels or (n, k) membership
            The partition.
        name : str, optional
            Its name; "p" and its position by default.
        record : PartitionRecord, optional
            How it was made.
        weight : float
            Its weight.

        Returns
        -------
        Ensemble
        """
        part = read_partition(labels, name or f"p{self.n_partitions}")
        records = None if record is None else [record]
        single = Ensemble([part], records=records, weights=[weight], index=shared_index([labels]))
        return self.concat(single)

    def with_weights(self, *, weights: Any = None, sample_weight: Any = None) -> Ensemble:
        """Return the ensemble with other weights; None keeps the present ones."""
        given = {"weights": weights, "sample_weight": sample_weight}
        return self._with(**{name: value for name, value in given.items() if value is not None})

    def with_index(self, index: Any) -> Ensemble:
        """Return the ensemble with other ids of the points; None removes them."""
        return self._with(index=index)

    # -- matrices -----------------------------------------------------------------------------

    def membership(self, *, dtype: Any = np.float64) -> Membership:
        """Return the sparse n x D membership matrix B and its group offsets.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> Ensemble.from_labels([[0, 1, -1], [0, 0, 0]]).membership().matrix.toarray()
        array([[1., 0., 1.],
               [0., 1., 1.],
               [0., 0., 1.]])
        """
        n, width = self.n_points, int(self.offsets[-1])
        if self.is_soft:
            blocks = [self._block(i, dtype) for i in range(self.n_partitions)]
            return Membership(sparse.csr_matrix(sparse.hstack(blocks, format="csr")), self.offsets)
        inside = self.labels >= 0
        pointers = np.concatenate([[0], np.cumsum(inside.sum(axis=1, dtype=np.int64))])
        index_type = np.int32 if max(pointers[-1], width) < 2**31 else np.int64
        indices = (self.labels + self.offsets[:-1].astype(index_type))[inside]
        ones = np.ones(indices.size, dtype=dtype)
        matrix = sparse.csr_matrix((ones, indices, pointers.astype(index_type)), shape=(n, width))
        return Membership(matrix, self.offsets)

    def _block(self, i: int, dtype: Any = np.float64) -> sparse.csr_matrix:
        """Return the columns of B that belong to partition i."""
        if i in self.soft:
            return self.soft[i].astype(dtype)
        codes = self.labels[:, i]
        rows = np.flatnonzero(codes >= 0)
        ones = np.ones(rows.size, dtype=dtype)
        shape = (self.n_points, int(self.n_clusters[i]))
        return sparse.csr_matrix((ones, (rows, codes[rows])), shape=shape)

    def contingency(self, i: int | str, j: int | str) -> np.ndarray:
        """Return the table of two partitions: the point weight that each two clusters share.

        Points that are noise or unsampled in either are in no cell.

        Parameters
        ----------
        i, j : int or str
            The partitions, by position or name.

        Returns
        -------
        (k_i, k_j) array
        """
        left = self._block(self._position(i)).multiply(self.sample_weight[:, None])
        return np.asarray((left.T @ self._block(self._position(j))).todense(), dtype=np.float64)

    def cluster_sizes(self) -> np.ndarray:
        """Return the point weight of every cluster, in the order of B's columns."""
        if self.is_soft:
            return np.asarray(self.membership().matrix.T @ self.sample_weight)
        total = np.zeros(int(self.offsets[-1]))
        kernels.labels.sizes(self.labels, self.offsets, self.sample_weight, total)
        return total

    def coassociation(self, *, normalize: Normalize = "pairs") -> Coassociation:
        """Return co-association as a linear operator: co-occurrences over co-samplings.

        Parameters
        ----------
        normalize : {"pairs", "counts"}
            "pairs" divides by the weight of the partitions that sampled both points, "counts" does
            not divide.

        Returns
        -------
        Coassociation
            A scipy ``LinearOperator`` with ``.toarray()``.
        """
        return Coassociation(
            self.labels, self.offsets, self.weights, soft=self.soft, normalize=normalize
        )

    def compress(self, *, keep_noise_apart: bool = False) -> Compressed:
        """Merge the points that have the same row in every partition into weighted points.

        Parameters
        ----------
        keep_noise_apart : bool
            Never merge points that are noise (or soft) in some partition. Two such points have
            equal rows of B and yet are not together, which matters to methods that use
            similarities.

        Returns
        -------
        Compressed
            The ensemble of unique rows, whose ``sample_weight`` counts the points merged, and
            ``inverse``, the row of each point.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> small, inverse = Ensemble.from_labels([[0, 0, 1], [2, 2, 2]]).compress()
        >>> small.sample_weight, inverse
        (array([2., 1.]), array([0, 0, 1]))
        """
        rows = self.labels
        apart = np.zeros(self.n_points, dtype=bool)
        if keep_noise_apart:
            apart = (self.labels == NOISE).any(axis=1)
            for membership in self.soft.values():
                apart |= np.diff(membership.indptr) > 1
        if self.is_soft:
            rows = np.column_stack([rows.astype(np.int64), *map(_row_codes, self.soft.values())])
        first, inverse = kernels.rows.unique_rows(np.ascontiguousarray(rows), apart)
        weight = np.bincount(inverse, weights=self.sample_weight, minlength=first.size)
        return Compressed(self._take(first, weight), inverse)

    # -- frames and files ---------------------------------------------------------------------

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """Return one column per partition with the original labels, and the ids as index.

        A soft partition becomes the columns ``name[0]``, ``name[1]``, ... (zeros are noise, NaN is
        unsampled). Records and weights are not in the frame. :meth:`from_labels` reads it back.
        With ``library="polars"`` it is a frame of polars, and the ids are its first column, ``id``.
        """
        columns: dict[str, np.ndarray] = {}
        for i, name in enumerate(self.names):
            if i not in self.soft:
                columns[name] = self.partition(i)
                continue
            dense = self.soft[i].toarray()
            dense[self.labels[:, i] == UNSAMPLED] = np.nan
            columns |= {f"{name}[{c}]": dense[:, c] for c in range(dense.shape[1])}
        return in_library(pd.DataFrame(columns, index=self.index), library)

    def to_csv(self, path: str | os.PathLike[str], *, for_spreadsheet: bool = False) -> None:
        """Write ``id`` and one column per partition; records, weights and label types are lost.

        A named partition in which every point is a cluster of its own looks like ids when it is
        read again: name the columns then, ``from_csv(path, columns=[...])``.

        ``for_spreadsheet`` puts an apostrophe before text that a spreadsheet would run as a
        formula (it begins with =, +, -, @, a tab or a line end). Such text does not come back as
        it was.
        """
        frame = self.to_frame()
        files.write_csv(path, files.inert(frame) if for_spreadsheet else frame, self.categories)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        id_column: str | None = None,
    ) -> Self:
        """Read labels from a CSV file with a header and commas.

        A column of whole numbers is read as integers, unless one has a leading zero; any other
        column is text. An empty cell is unsampled.

        Parameters
        ----------
        path : str or path
            The file.
        columns, id_column : optional
            As in :meth:`from_labels`: the columns that are clusterings, and the one with the ids.

        Returns
        -------
        Ensemble

        See Also
        --------
        clusterscape.io.read_labels : Reads other delimiters and formats, too.
        """
        frame = files.read_csv(path, refuse_fractions=columns is None)
        return cls.from_labels(frame, columns=columns, id_column=id_column)

    def _content(self) -> files.Content:
        return files.to_content(
            files.Parts(
                self._parts(), list(self.records), self.weights, self.sample_weight, self.index
            )
        )

    @classmethod
    def _of_content(cls, content: files.Content, path: str | os.PathLike[str]) -> Self:
        return cls(**vars(files.from_content(content, path)))

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write everything but timings to an NPZ file; the same ensemble gives the same bytes."""
        files.write_npz(path, self._content())

    @classmethod
    def from_npz(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`to_npz` wrote; a damaged file raises :class:`NotAnEnsembleFile`."""
        return cls._of_content(files.read_npz(path), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write codes as columns, and everything else but timings in the schema's metadata."""
        files.write_parquet(path, self._content())

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`to_parquet` wrote; a damaged file raises :class:`NotAnEnsembleFile`."""
        return cls._of_content(files.read_parquet(path), path)


def as_ensemble(data: Any, name: str = "ensemble") -> Ensemble:
    """Return ``data`` itself if it is an Ensemble, otherwise ``Ensemble.from_labels(data)``.

    Parameters
    ----------
    data : Ensemble or labels
        An ensemble, or what :meth:`Ensemble.from_labels` takes.
    name : str
        The argument, as messages name it.

    Returns
    -------
    Ensemble

    See Also
    --------
    Ensemble.from_labels : What it calls, with all its options.

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


def ids_or_count(ensemble: Ensemble) -> pd.Index | None:
    """Return the points' ids, or the row numbers where the labels came with an index of these."""
    return pd.RangeIndex(ensemble.n_points) if ensemble._counted else ensemble.index


def with_computable_weights(ensemble: Ensemble) -> Ensemble:
    """Return an ensemble whose weights sums and products can take, itself where they are so.

    See :func:`~clusterscape._core.weights.computable_weights`.
    """
    weights = computable_weights(ensemble.weights)
    mass = computable_weights(ensemble.sample_weight)
    if weights is ensemble.weights and mass is ensemble.sample_weight:
        return ensemble
    return ensemble.with_weights(weights=weights, sample_weight=mass)


def refuse_ensemble(X: Any, name: str = "X") -> None:
    """Refuse an Ensemble where features belong."""
    if isinstance(X, Ensemble):
        raise TypeError(
            f"{name} is an Ensemble, which holds labels and not features. Combine it with "
            "ConsensusClustering.fit_ensemble or a method of clusterscape.combine; "
            "ensemble.labels.astype(float) makes numbers of the labels where that is meant."
        )


def _chosen(which: Any, size: int, name: str, thing: str) -> np.ndarray:
    """Return the positions that a list, slice or mask selects, at least one."""
    if isinstance(which, tuple):
        which = list(which)
    try:
        if which is None or isinstance(which, (bool, np.bool_)):
            raise IndexError
        if not isinstance(which, slice):
            which = np.asarray(which)
            which = which.astype(np.int64) if which.size == 0 else which
        chosen = np.arange(size)[which].reshape(-1)
    except IndexError:
        raise IndexError(
            f"{name} must be positions below {size}, a slice, or a mask with one entry per "
            f"{thing}, {size} in all; got {shown(which)}."
        ) from None
    if chosen.size == 0:
        raise ValueError(f"{name} selects no {thing}; at least one is needed.")
    return chosen


def _listed(given: Sequence[Any]) -> list[Ensemble]:
    """Return ensembles that were given one by one or in lists."""
    every: list[Ensemble] = []
    for one in given:
        several = [one] if isinstance(one, Ensemble) or not hasattr(one, "__iter__") else list(one)
        for other in several:
            if not isinstance(other, Ensemble):
                raise TypeError(
                    f"concat joins ensembles; got {type(other).__name__}. Use add for a label "
                    "vector, or Ensemble.from_labels first."
                )
        every += several
    if not every:
        raise ValueError("concat needs at least one ensemble.")
    return every


def _check_same_points(first: Ensemble, other: Ensemble) -> None:
    if other.n_points != first.n_points:
        raise ValueError(
            f"the ensembles have {first.n_points} and {other.n_points} points; only clusterings of "
            "the same points can be joined."
        )
    left, right = ids_or_count(first), ids_or_count(other)
    if left is not None and right is not None and not may_be_joined(left, right):
        row, mine, theirs = first_difference(left, right)
        raise ValueError(
            f"the ensembles have different point ids: at row {row} one has {mine} and another "
            f"{theirs}; reorder one of them with subset, or remove the ids of one with "
            "with_index(None) where the order is right."
        )


def _checked_records(
    records: Sequence[PartitionRecord] | None, n_clusters: np.ndarray
) -> tuple[PartitionRecord, ...]:
    if records is None:
        return tuple(PartitionRecord(n_clusters=int(k)) for k in n_clusters)
    if len(records) != n_clusters.size:
        raise ValueError(f"records has {len(records)} entries for {n_clusters.size} partitions.")
    if not all(isinstance(record, PartitionRecord) for record in records):
        raise TypeError("records must be PartitionRecord objects, one per partition.")
    return tuple(records)


def _same_index(left: pd.Index | None, right: pd.Index | None) -> bool:
    if left is None or right is None:
        return left is right
    return bool(left.equals(right))


def _unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Number the names that repeat: a, a.1, a.2."""
    seen: dict[str, int] = {}
    result = []
    taken = set(names)
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique = name
        while count and unique in taken:
            unique = f"{name}.{count}"
            count += 1
        taken.add(unique)
        result.append(unique)
    return tuple(result)


def _row_codes(matrix: sparse.csr_matrix) -> np.ndarray:
    """Number the distinct rows of a soft membership."""
    canonical = matrix.sorted_indices()
    pointers, data, indices = canonical.indptr, canonical.data, canonical.indices
    codes: dict[bytes, int] = {}
    keys = (
        indices[a:b].tobytes() + data[a:b].tobytes()
        for a, b in zip(pointers[:-1], pointers[1:], strict=True)
    )
    return np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.int64)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
