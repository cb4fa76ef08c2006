"""Constraints: which points must be together and which cannot be, from labels or from pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.frames import numbers_in
from clusterscape._core.labels import UNSAMPLED, encode
from clusterscape._core.params import Choice, Integer, Null, Number, Rules, check_params, shown
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape.ensemble.inputs import refuse_other_names
from clusterscape.semisupervised.closure import Closure, LabelSet, closure_of

Link = Literal["must", "cannot"]

_WORDS = {
    "must": "must", "must-link": "must", "must_link": "must", "ml": "must", "1": "must",
    "+1": "must", "cannot": "cannot", "cannot-link": "cannot", "cannot_link": "cannot",
    "cl": "cannot", "-1": "cannot",
}  # fmt: skip
_KNOWN = ("link", "weight")  # columns of a file that mean something, in any case of letters
_LISTED = 1000  # violated pairs of labelled points that are listed, at most
_LARGEST = 2**31  # clusters with larger numbers are numbered anew before they are compared
_LINK: Rules = {"link": [Choice("must", "cannot")]}
_WEIGHT: Rules = {"weight": [Number(0, 1, open_low=True)]}
# Cells of a column of classes that say that there is none, as other programs write them.
_NO_CLASS = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]


@dataclass(frozen=True)
class Violations:
    """Which constraints a partition does not respect; by default there are no constraints.

    Attributes
    ----------
    must_link, cannot_link : int
        Pairs that are violated, all of them counted.
    must_pairs, cannot_pairs : (m, 2) array
        The pairs. Of labelled points, whose pairs may be very many, the first 1000 are listed.
    weight : float
        Sum of the weights of the violated pairs.
    total_weight : float
        Sum of the weights of all pairs.

    See Also
    --------
    Constraints.violations : Count them.
    """

    must_link: int = 0
    cannot_link: int = 0
    must_pairs: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    cannot_pairs: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    weight: float = 0.0
    total_weight: float = 0.0

    @property
    def count(self) -> int:
        """All violated pairs."""
        return self.must_link + self.cannot_link

    @property
    def satisfied(self) -> float:
        """Share of the constraints, by weight, that are respected; 1 where there are none."""
        return 1.0 - self.weight / self.total_weight if self.total_weight > 0 else 1.0


@dataclass(frozen=True)
class Tally:
    """How many pairs there are among the points that a partition placed, and how many it violates.

    Attributes
    ----------
    must_link, cannot_link : int
        Pairs that are violated.
    weight : float
        Sum of their weights.
    must_weight, cannot_weight : float
        Sums of the weights of all pairs, violated or not.
    """

    must_link: int
    cannot_link: int
    weight: float
    must_weight: float
    cannot_weight: float

    @property
    def count(self) -> int:
        """All violated pairs."""
        return self.must_link + self.cannot_link

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all pairs."""
        return self.must_weight + self.cannot_weight


@dataclass(frozen=True)
class _Pairs:
    """Pairs of points with weights, each pair once, with the smaller point first."""

    ends: np.ndarray
    weight: np.ndarray

    @classmethod
    def checked(cls, pairs: Any, weight: Any, n_points: int, name: str) -> _Pairs:
        try:
            ends = np.asarray([] if pairs is None else pairs)
        except ValueError:  # rows of different lengths
            raise ValueError(
                f"{name} must be pairs of points, an array of shape (m, 2); got rows of different "
                "lengths."
            ) from None
        ends = ends.reshape(-1, 2) if ends.size == 0 else ends
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise ValueError(
                f"{name} must be pairs of points, an array of shape (m, 2); got shape {ends.shape}."
            )
        if ends.size and ends.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold row numbers; got the type {ends.dtype}.")
        ends = ends.astype(np.int64)
        if ends.size and (ends.min() < 0 or ends.max() >= n_points):
            wrong = int(ends.min() if ends.min() < 0 else ends.max())
            raise ValueError(
                f"{name} names the point {wrong}, but there are {n_points} points, 0 to "
                f"{n_points - 1}."
            )
        same = np.flatnonzero(ends[:, 0] == ends[:, 1])
        if same.size:
            raise ValueError(
                f"{name}: pair {int(same[0])} joins the point {int(ends[same[0], 0])} with itself; "
                "leave it out."
            )
        return cls._unique(np.sort(ends, axis=1), _checked_weight(weight, len(ends), name))

    @classmethod
    def _unique(cls, ends: np.ndarray, weight: np.ndarray) -> _Pairs:
        """Keep each pair once, with the largest of its weights."""
        codes = ends[:, 0] * (int(ends.max(initial=0)) + 1) + ends[:, 1]
        if (weight == 1.0).all():  # one number per pair: several times as fast
            first = np.unique(codes, return_index=True)[1]
            return cls(ends[first], weight[first])
        order = np.lexsort((-weight, codes))
        ends, weight = ends[order], weight[order]
        first = np.ones(len(ends), dtype=bool)
        first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
        return cls(ends[first], weight[first])

    @property
    def certain(self) -> np.ndarray:
        sure = self.weight == 1.0
        return self.ends if sure.all() else self.ends[sure]

    def joined(self, other: _Pairs) -> _Pairs:
        ends = np.concatenate([self.ends, other.ends])
        return self._unique(ends, np.concatenate([self.weight, other.weight]))

    def take(self, chosen: np.ndarray) -> _Pairs:
        return _Pairs(self.ends[chosen], self.weight[chosen])

    def among(self, chosen: np.ndarray) -> _Pairs:
        """Return the pairs of which both points are chosen, by a mask of all points."""
        return self if chosen.all() else self.take(chosen[self.ends].all(axis=1))

    def adjacency(self, n_points: int) -> sparse.csr_matrix:
        both = np.concatenate([self.ends, self.ends[:, ::-1]])
        values = np.concatenate([self.weight, self.weight])
        return sparse.csr_matrix((values, (both[:, 0], both[:, 1])), shape=(n_points, n_points))


def _table_of(path: str | os.PathLike[str], *, classes: bool) -> pd.DataFrame:
    """Read a CSV file of text: pairs of points, or points and their classes."""
    header, line = ("point,class", "point") if classes else ("first,second", "pair")
    # No other cell is missing by decree: "NA" is a fine name of a point.
    missing: Any = {0: [""], 1: _NO_CLASS if classes else [""]}
    try:
        table = pd.read_csv(
            path, dtype=str, skipinitialspace=True, keep_default_na=False, na_values=missing
        )
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no file {path}; name a CSV file with a header, as {header}, and one {line} "
            "per line."
        ) from None
    except pd.errors.EmptyDataError:
        raise ValueError(
            f"{path} is empty; it needs a header, as {header}, and one {line} per line."
        ) from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is no table of {line}s separated by commas: {str(error).strip()}"
        ) from None
    if not isinstance(table.index, pd.RangeIndex):  # the first column was taken for row names
        raise ValueError(
            f"{path}: the rows have more columns than the header has names; give every column a "
            "name, and end no row with a comma."
        )
    # " Weight" is no other column: unread, all pairs of the file would be certain.
    names = [str(name).strip() for name in table.columns]
    names[2:] = [name.lower() if name.lower() in _KNOWN else name for name in names[2:]]
    table.columns = pd.Index(names)
    twice = [name for name in _KNOWN if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path} has several columns {twice[0]!r}; leave one of them.")
    if table.shape[1] < 2:
        what = "a point and its class" if classes else "the two points"
        raise ValueError(
            f"{path}: two columns are needed, but there is {table.shape[1]}; separate {what} by a "
            "comma."
        )
    if classes:
        _refuse_measurements(table.iloc[:, 1], path)
    return table


def _refuse_measurements(classes: pd.Series, path: str | os.PathLike[str]) -> None:
    """Refuse decimal numbers where classes stand, as in a table of features."""
    numbers = pd.to_numeric(classes, errors="coerce")
    wrong = (numbers.notna() & np.isfinite(numbers) & (numbers % 1 != 0)).to_numpy()
    if wrong.any():
        raise ValueError(
            f"{path}, row {int(wrong.argmax()) + 2}, column {classes.name!r}: "
            f"{classes.iloc[int(wrong.argmax())]} is no class; the first two columns must be the "
            "points and their classes, so leave the others out of the file."
        )


def _checked_weight(weight: Any, size: int, name: str) -> np.ndarray:
    try:
        given = np.ones(size) if weight is None else np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: weights must be numbers in (0, 1]; got {shown(weight)}."
        ) from None
    given = np.full(size, float(given)) if given.ndim == 0 else given
    if given.shape != (size,):
        many = f"{given.size} weights" if given.ndim == 1 else f"weights of shape {given.shape}"
        raise ValueError(f"{name} has {size} pairs, but {many}; give one per pair.")
    bad = ~((given > 0) & (given <= 1))
    if bad.any():
        raise ValueError(
            f"{name}: the weight {given[bad][0]:g} is not in (0, 1]; 1 means certain, less a "
            "confidence. Leave pairs of weight 0 out."
        )
    return given


def _entries(Q: Any) -> sparse.coo_matrix:
    """Return the entries of a square matrix of real numbers, each place once."""
    given = Q if sparse.issparse(Q) else np.asarray(Q)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise ValueError(f"Q must be square, points x points; got shape {given.shape}.")
    if given.dtype.kind not in "biuf":
        raise TypeError(f"Q must hold numbers between -1 and 1; got the type {given.dtype}.")
    entries = sparse.coo_matrix(given.astype(np.float64))  # in small integers sums are cut off
    entries.sum_duplicates()
    return entries


def _names_of_frame(Q: pd.DataFrame) -> pd.Index | None:
    """Return the names of the points of a matrix, which rows and columns must agree on."""
    refuse_other_names(Q.index, Q.columns, "rows and columns of Q")
    return Q.columns if isinstance(Q.index, pd.RangeIndex) else Q.index


def _checked_index(index: Any, n_points: int) -> pd.Index | None:
    if index is None:
        return None
    names = pd.Index(index)
    if len(names) != n_points:
        raise ValueError(
            f"index has {len(names)} names, but there are {n_points} points; give one per point."
        )
    return names


class Constraints:
    """Which points must be together and which cannot be.

    A constraint has a weight in (0, 1], the confidence in it. Those of weight 1 are certain: what
    they imply together is computed at once (:attr:`closure`), and a contradiction among them is an
    error that names the points and the chain of must-links. Those below 1 may contradict each
    other. Labelled points are kept as classes, never as pairs, so that 100,000 of them take no more
    memory than their labels.

    Parameters
    ----------
    n_points : int
        Points of the data.
    must_link, cannot_link : (m, 2) array, optional
        Pairs of row numbers. A pair that is given twice counts once, with the larger weight.
    must_weight, cannot_weight : float or (m,) array, optional
        Weights of the pairs in (0, 1]; 1 by default.
    index : sequence, optional
        Names of all points, for messages; estimators refuse data whose rows have other names.

    Attributes
    ----------
    n_points : int
        As given.
    closure : Closure
        What the certain constraints imply.
    n_must_link, n_cannot_link : int
        Pairs, those of labelled points included.

    Raises
    ------
    ContradictionError
        Where certain constraints contradict each other.

    See Also
    --------
    COPKMeans : Respects certain constraints always.
    FastConstrainedSpectral : Spectral clustering with constraints, linear in the points.

    Notes
    -----
    A constraint is knowledge about two points only. Random pairs of many classes are nearly all
    cannot-links and say little; labels of the same points say far more.

    References
    ----------
    .. [1] K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, "Constrained k-means clustering with
       background knowledge", International Conference on Machine Learning, 577-584, 2001.

    Examples
    --------
    >>> from clusterscape.semisupervised import Constraints
    >>> known = Constraints.from_labels([0, 0, -1, 1, -1])
    >>> known.n_must_link, known.n_cannot_link
    (1, 2)
    >>> both = known.merge(Constraints(5, must_link=[(2, 3)]))
    >>> both.violations([0, 0, 0, 1, 1]).must_pairs
    array([[2, 3]])
    """

    def __init__(
        self,
        n_points: int,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        must_weight: Any = None,
        cannot_weight: Any = None,
        index: Any = None,
    ) -> None:
        check_params("Constraints", {"n_points": n_points}, {"n_points": [Integer(1)]})
        self.n_points = int(n_points)
        self.must = _Pairs.checked(must_link, must_weight, self.n_points, "must_link")
        self.cannot = _Pairs.checked(cannot_link, cannot_weight, self.n_points, "cannot_link")
        self.label_sets: tuple[LabelSet, ...] = ()
        self.index = _checked_index(index, self.n_points)
        self._close()

    @classmethod
    def _of(
        cls, n_points: int, must: _Pairs, cannot: _Pairs, sets: Sequence[LabelSet], index: Any
    ) -> Constraints:
        made = cls.__new__(cls)
        made.n_points, made.must, made.cannot = n_points, must, cannot
        made.label_sets, made.index = tuple(sets), index
        made._close()
        return made

    def _close(self) -> None:
        certain = [s for s in self.label_sets if s.weight == 1.0]
        self.closure: Closure = closure_of(
            self.n_points, self.must.certain, self.cannot.certain, certain, self.index
        )

    @classmethod
    def from_labels(cls, labels: Any, *, weight: float = 1.0, index: Any = None) -> Constraints:
        """Return the constraints of labelled points: a class is together, two classes are not.

        Parameters
        ----------
        labels : (n,) array
            Integers or strings; -1 (and a missing value) where the class is not known.
        weight : float
            Confidence in the labels, in (0, 1].
        index : sequence, optional
            Names of all points; by default those of a pandas Series.

        Returns
        -------
        Constraints
        """
        check_params("Constraints.from_labels", {"weight": weight}, _WEIGHT)
        codes = encode(labels, "labels")[0]
        if len(codes) == 0:
            raise ValueError("labels is empty; give one label per point, -1 where it is not known.")
        points = np.flatnonzero(codes >= 0)
        n = len(codes)
        none = _Pairs.checked(None, None, n, "")
        classes = LabelSet(points, codes[points].astype(np.int64), float(weight))
        given = labels.index if index is None and isinstance(labels, pd.Series) else index
        index = _checked_index(given, n)
        return cls._of(n, none, none, [classes] if points.size else [], index)

    @classmethod
    def from_matrix(cls, Q: Any, *, index: Any = None) -> Constraints:
        """Return the constraints of a symmetric matrix: positive must-link, negative cannot-link.

        Parameters
        ----------
        Q : (n, n) sparse matrix, array or data frame
            The absolute value of an entry is its weight, at most 1. The diagonal is not read, and
            one triangle is enough. Entries of a sparse matrix that are stored twice are added, as
            everywhere in scipy. A frame has the same names of rows and columns.
        index : sequence, optional
            Names of all points; by default those of a data frame.

        Returns
        -------
        Constraints
        """
        if isinstance(Q, pd.DataFrame):
            index, Q = _names_of_frame(Q) if index is None else index, Q.to_numpy()
        entries = _entries(Q)
        n = entries.shape[0]
        off = (entries.row != entries.col) & (entries.data != 0)
        ends = np.column_stack([entries.row[off], entries.col[off]]).astype(np.int64)
        value = entries.data[off]
        fine = np.abs(value) <= 1.0
        if not fine.all():
            first = int(np.argmin(fine))
            i, j = ends[first]
            raise ValueError(
                f"Q has {value[first]:.12g} at ({i}, {j}); entries are weights between -1 and 1."
            )
        plus = value > 0
        return cls(
            n,
            must_link=ends[plus],
            cannot_link=ends[~plus],
            must_weight=value[plus],
            cannot_weight=-value[~plus],
            index=index,
        )

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        n_points: int | None = None,
        index: Any = None,
        link: Link | Literal["labels"] | None = None,
    ) -> Constraints:
        """Read pairs, or labels, from a CSV file with a header.

        Parameters
        ----------
        path : path
            The first two columns hold the points of a pair. A column ``link`` says "must" or
            "cannot" (or 1 and -1), a column ``weight`` the confidence; both may be absent.
        n_points : int, optional
            Points of the data; the file then holds row numbers from 0.
        index : sequence, optional
            Names of all points, in the order of the data; the file then holds names.
        link : {"must", "cannot", "labels"}, optional
            What all pairs are, where the file has no column ``link``. With "labels" the file holds
            points and their classes instead, in its first two columns; a column ``weight`` then
            has one value for all, as labels have one confidence.

        Returns
        -------
        Constraints
        """
        if (n_points is None) == (index is None):
            raise ValueError("from_csv needs either n_points or index, to know the points.")
        rules = {
            "n_points": [Null(), Integer(1)],
            "link": [Null(), Choice("must", "cannot", "labels")],
        }
        check_params("Constraints.from_csv", {"n_points": n_points, "link": link}, rules)
        table = _table_of(path, classes=link == "labels")
        names = None if index is None else pd.Index(index)
        size = int(n_points) if names is None else len(names)  # type: ignore[arg-type]
        _refuse_missing_header(table, size, names, path, 1 if link == "labels" else 2)
        if link == "labels":
            _refuse_links(table, path)
            labels, sure = _classes(table, size, names, path)
            return cls.from_labels(labels, weight=sure, index=names)
        ends = np.column_stack([_rows(table.iloc[:, j], size, names, path) for j in (0, 1)])
        kinds = _kinds(table, link, path)
        weight = _weights(table, path)
        must = kinds == "must"
        return cls(
            size,
            must_link=ends[must],
            cannot_link=ends[~must],
            must_weight=weight[must],
            cannot_weight=weight[~must],
            index=names,
        )

    def merge(self, *others: Constraints) -> Constraints:
        """Return all constraints of this and of others over the same points.

        Pairs and sets of labels that several of them have count once. A pair that follows from two
        different sets of labels, or from labels and a pair, counts in each.

        Parameters
        ----------
        *others : Constraints
            Over as many points.

        Returns
        -------
        Constraints
        """
        must, cannot, sets, index = self.must, self.cannot, self.label_sets, self.index
        for other in others:
            if not isinstance(other, Constraints):
                raise TypeError(
                    "others must be Constraints, such as Constraints.from_labels(y); got "
                    f"{shown(other)}."
                )
            if other.n_points != self.n_points:
                raise ValueError(
                    f"constraints over {self.n_points} and over {other.n_points} points cannot be "
                    "merged; they must be about the same points."
                )
            if index is not None and other.index is not None:
                refuse_other_names(index, other.index, "constraints that are merged")
            must, cannot = must.joined(other.must), cannot.joined(other.cannot)
            sets += tuple(s for s in other.label_sets if not any(s.equals(t) for t in sets))
            index = other.index if index is None else index
        return self._of(self.n_points, must, cannot, sets, index)

    # -- what there is -----------------------------------------------------------------------------

    @property
    def n_must_link(self) -> int:
        """Pairs that must be together, those of labelled points included."""
        return len(self.must.ends) + sum(_pairs_within(s) for s in self.label_sets)

    @property
    def n_cannot_link(self) -> int:
        """Pairs that cannot be together, those of labelled points included."""
        return len(self.cannot.ends) + sum(_pairs_between(s) for s in self.label_sets)

    def __len__(self) -> int:
        return self.n_must_link + self.n_cannot_link

    def __repr__(self) -> str:
        return (
            f"Constraints({self.n_points:,} points, {self.points.size:,} of them constrained: "
            f"{self.n_must_link:,} must-links, {self.n_cannot_link:,} cannot-links)"
        )

    @cached_property
    def points(self) -> np.ndarray:
        """The points that have a constraint, ascending."""
        parts = [self.must.ends.ravel(), self.cannot.ends.ravel()]
        return np.unique(np.concatenate([*parts, *(s.points for s in self.label_sets)]))

    def mean_degree(self, link: Link) -> float:
        """Return the weight of the must-links, or cannot-links, of a constrained point, on average.

        Parameters
        ----------
        link : {"must", "cannot"}
            Which of them.

        Returns
        -------
        float
            0 where nothing is constrained.
        """
        check_params("Constraints.mean_degree", {"link": link}, _LINK)
        pairs, count = (
            (self.must, _pairs_within) if link == "must" else (self.cannot, _pairs_between)
        )
        total = float(pairs.weight.sum()) + sum(s.weight * count(s) for s in self.label_sets)
        return 2.0 * total / max(self.points.size, 1)

    def matrix(self) -> sparse.csr_matrix:
        """Return the symmetric matrix Q of all pairs: positive must-link, negative cannot-link.

        Pairs of labelled points are written out here, which takes memory of the order of their
        number squared; the estimators do without.

        Returns
        -------
        (n, n) CSR matrix
        """
        total = self.must.adjacency(self.n_points) - self.cannot.adjacency(self.n_points)
        for s in self.label_sets:
            same = s.codes[:, None] == s.codes[None, :]
            block = np.where(same, s.weight, -s.weight)
            np.fill_diagonal(block, 0.0)
            rows = np.repeat(s.points, s.points.size)
            columns = np.tile(s.points, s.points.size)
            total = total + sparse.csr_matrix((block.ravel(), (rows, columns)), shape=total.shape)
        return sparse.csr_matrix(total)

    # -- what a partition makes of them ------------------------------------------------------------

    def violations(self, labels: Any) -> Violations:
        """Return which constraints a partition does not respect.

        Parameters
        ----------
        labels : (n,) array
            Clusters, as integers or strings; -1 is a cluster of that point alone. Pairs with a
            point of label -2 or without a label, which the partition did not see, count neither
            for nor against.

        Returns
        -------
        Violations
        """
        seen = self._tally(labels)
        found, placed = self._found(labels)
        must, cannot = self.must.among(placed).ends, self.cannot.among(placed).ends
        musts = [must[found[must[:, 0]] != found[must[:, 1]]]]
        cannots = [cannot[found[cannot[:, 0]] == found[cannot[:, 1]]]]
        for s in self.label_sets:
            part = s.among(placed)
            musts.append(_listed_pairs(part, found, "must"))
            cannots.append(_listed_pairs(part, found, "cannot"))
        return Violations(
            seen.must_link,
            seen.cannot_link,
            np.concatenate(musts),
            np.concatenate(cannots),
            seen.weight,
            seen.total_weight,
        )

    def _tally(self, labels: Any) -> Tally:
        """Return how many constraints a partition does not respect, without a list of them.

        Parameters
        ----------
        labels : (n,) array
            As in :meth:`violations`.

        Returns
        -------
        Tally
        """
        found, placed = self._found(labels)
        must, cannot = self.must.among(placed), self.cannot.among(placed)
        apart = found[must.ends[:, 0]] != found[must.ends[:, 1]]
        joint = found[cannot.ends[:, 0]] == found[cannot.ends[:, 1]]
        counts = np.array([apart.sum(), joint.sum()], dtype=np.int64)
        weight = float(must.weight[apart].sum() + cannot.weight[joint].sum())
        totals = np.array([must.weight.sum(), cannot.weight.sum()])
        for s in self.label_sets:
            part = s.among(placed)
            wrong = np.array(_label_violations(part, found), dtype=np.int64)
            counts += wrong
            weight += s.weight * float(wrong.sum())
            totals += s.weight * np.array([_pairs_within(part), _pairs_between(part)], dtype=float)
        return Tally(int(counts[0]), int(counts[1]), weight, float(totals[0]), float(totals[1]))

    def _found(self, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return clusters, those of noise its own, and which points the partition has seen."""
        found = np.asarray(labels)
        if found.ndim == 1 and (found.dtype.kind not in "iu" or _is_odd(found)):
            found = encode(labels, "labels")[0]
        if found.shape != (self.n_points,):
            raise ValueError(
                f"labels has shape {found.shape}, but the constraints are about {self.n_points} "
                "points; give one label per point."
            )
        alone = found < 0
        own = int(found.max(initial=0)) + 1 + np.arange(found.size)
        return np.where(alone, own, found), found != UNSAMPLED

    def split(
        self, share: float = 0.2, *, random_state: RandomState = None
    ) -> tuple[Constraints, Constraints]:
        """Divide the constraints at random: some to use, the others to judge by.

        Labelled points are divided as points, pairs as pairs.

        Parameters
        ----------
        share : float
            Share of the constraints that are held back, in [0, 1].
        random_state : int, generator or None
            Seed.

        Returns
        -------
        kept, held : Constraints
        """
        check_params("Constraints.split", {"share": share}, {"share": [Number(0, 1)]})
        rng = np.random.default_rng(root_sequence(random_state))
        parts: list[Constraints] = []
        held = [rng.random(len(p.ends)) < share for p in (self.must, self.cannot)]
        held_points = [rng.random(s.points.size) < share for s in self.label_sets]
        for back in (False, True):
            pairs = [p.take(h == back) for p, h in zip((self.must, self.cannot), held, strict=True)]
            sets = []
            for s, h in zip(self.label_sets, held_points, strict=True):
                codes = s.codes[h == back]
                if codes.size:
                    renamed = np.unique(codes, return_inverse=True)[1]
                    sets.append(LabelSet(s.points[h == back], renamed, s.weight))
            parts.append(self._of(self.n_points, pairs[0], pairs[1], sets, self.index))
        return parts[0], parts[1]

    # -- products, without writing pairs of labelled points out ------------------------------------

    def _linked(self, who: str, link: Link, n: int) -> _Pairs:
        """Return the pairs of a kind; refuse other kinds, and rows of other points."""
        check_params(f"Constraints.{who}", {"link": link}, _LINK)
        if n != self.n_points:
            raise ValueError(
                f"there are {n:,} rows, but the constraints are about {self.n_points:,} points."
            )
        return self.must if link == "must" else self.cannot

    def laplacian_apply(self, values: np.ndarray, link: Link) -> np.ndarray:
        """Return the Laplacian of the must-link or cannot-link graph times the columns of values.

        Parameters
        ----------
        values : (n, m) array
            Columns.
        link : {"must", "cannot"}
            Which graph.

        Returns
        -------
        (n, m) array
        """
        pairs = self._linked("laplacian_apply", link, values.shape[0])
        out = np.zeros(values.shape)
        if len(pairs.ends):
            gap = (values[pairs.ends[:, 0]] - values[pairs.ends[:, 1]]) * pairs.weight[:, None]
            np.add.at(out, pairs.ends[:, 0], gap)
            np.subtract.at(out, pairs.ends[:, 1], gap)
        for s in self.label_sets:
            own = values[s.points]
            sums = _indicator(s).T @ own
            within = s.sizes[s.codes][:, None] * own - sums[s.codes]
            every = s.points.size * own - sums.sum(axis=0)
            np.add.at(out, s.points, s.weight * (within if link == "must" else every - within))
        return out

    def laplacian_product(self, Z: sparse.csr_matrix, link: Link) -> np.ndarray:
        """Return Z^T L Z for the Laplacian of the must-link or cannot-link graph.

        Parameters
        ----------
        Z : (n, p) CSR matrix
            Sparse rows, as of a landmark graph.
        link : {"must", "cannot"}
            Which graph.

        Returns
        -------
        (p, p) array
        """
        pairs = self._linked("laplacian_product", link, Z.shape[0])
        total = np.zeros((Z.shape[1], Z.shape[1]))
        if len(pairs.ends):
            gap = Z[pairs.ends[:, 0]] - Z[pairs.ends[:, 1]]
            total += _dense(gap.T @ sparse.diags(pairs.weight) @ gap)
        for s in self.label_sets:
            rows = Z[s.points]
            sums = _dense(_indicator(s).T @ rows)
            within = _dense(rows.T @ sparse.diags(s.sizes[s.codes].astype(float)) @ rows)
            within -= sums.T @ sums
            if link == "cannot":
                whole = sums.sum(axis=0)
                every = s.points.size * _dense(rows.T @ rows) - np.outer(whole, whole)
                within = every - within
            total += s.weight * within
        return (total + total.T) / 2.0

    def signed_product(self, Z: sparse.csr_matrix) -> np.ndarray:
        """Return Z^T Q Z, with Q as in :meth:`matrix`.

        Parameters
        ----------
        Z : (n, p) CSR matrix
            Sparse rows.

        Returns
        -------
        (p, p) array
        """
        Q = self.must.adjacency(self.n_points) - self.cannot.adjacency(self.n_points)
        total = _dense(Z.T @ (Q @ Z)) if Q.nnz else np.zeros((Z.shape[1], Z.shape[1]))
        for s in self.label_sets:
            rows = Z[s.points]
            sums = _dense(_indicator(s).T @ rows)
            whole = sums.sum(axis=0)
            own = _dense(rows.T @ rows)
            total += s.weight * (2.0 * sums.T @ sums - np.outer(whole, whole) - own)
        return (total + total.T) / 2.0


def _is_odd(labels: np.ndarray) -> bool:
    """Say whether integers are too large to be counted on from, or negative without a meaning."""
    if labels.size == 0:
        return False
    return bool(labels.max() >= _LARGEST or labels.min() < UNSAMPLED)


def _indicator(s: LabelSet) -> sparse.csr_matrix:
    """Return the (points, classes) matrix of ones."""
    c = s.points.size
    return sparse.csr_matrix((np.ones(c), s.codes, np.arange(c + 1)), shape=(c, s.sizes.size))


def _dense(product: Any) -> np.ndarray:
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def _pairs_within(s: LabelSet) -> int:
    sizes = s.sizes.astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _pairs_between(s: LabelSet) -> int:
    c = int(s.points.size)
    return c * (c - 1) // 2 - _pairs_within(s)


def _label_violations(s: LabelSet, found: np.ndarray) -> tuple[int, int]:
    """Return how many pairs of a class are apart, and how many of two classes together."""
    table, own = _table(s, found)

    def pairs(counts: np.ndarray) -> int:
        return int((counts * (counts - 1) // 2).sum())

    both = pairs(table.data)
    return pairs(s.sizes.astype(np.int64)) - both, pairs(np.bincount(own)) - both


def _table(s: LabelSet, found: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return the numbers of points by class and cluster, and the clusters as 0..m-1."""
    clusters, own = np.unique(found[s.points], return_inverse=True)
    table = sparse.csr_matrix(
        (np.ones(own.size, np.int64), (s.codes, own)), shape=(s.sizes.size, clusters.size)
    )
    table.sum_duplicates()
    return table, own


def _listed_pairs(s: LabelSet, found: np.ndarray, link: Link) -> np.ndarray:
    """Return the first violated pairs of labelled points."""
    none = np.empty((0, 2), np.int64)
    if s.points.size == 0:
        return none
    table, own = _table(s, found)
    together = np.asarray(table[s.codes, own]).ravel()
    every = s.sizes[s.codes] if link == "must" else np.bincount(own)[own]
    # Only points with a violated pair: each either begins a pair that is listed or ends one that
    # was, so that the loop is as long as the list at most twice.
    bad = np.flatnonzero(every > together)
    points, codes, own = s.points[bad], s.codes[bad], own[bad]
    rows = [none]
    missing = _LISTED
    for i in range(bad.size):
        later = slice(i + 1, None)
        same_class, same_cluster = codes[later] == codes[i], own[later] == own[i]
        wrong = same_class & ~same_cluster if link == "must" else ~same_class & same_cluster
        others = points[later][wrong][:missing]
        missing -= others.size
        rows.append(np.column_stack([np.full(others.size, points[i]), others]))
        if missing == 0:
            break
    return np.concatenate(rows)


# -- files -----------------------------------------------------------------------------------------


def _rows(column: pd.Series, size: int, names: pd.Index | None, path: Any) -> np.ndarray:
    """Return the row numbers that a column of a file of pairs means."""
    if names is not None:
        places = pd.Index(names.astype(str))
        if places.has_duplicates:
            raise ValueError("index: several points have the same name; names must be different.")
        found = places.get_indexer(column.str.strip())
        missing = np.flatnonzero(found < 0)
        if missing.size:
            raise ValueError(
                f"{path}: row {_line(column, missing[0])} names the point "
                f"{_cell(column, missing[0])}, which is not in the data; name points as the table "
                "does."
            )
        return found
    numbers = numbers_in(column)
    bad = ~np.isfinite(numbers) | (numbers != np.rint(numbers)) | (numbers < 0) | (numbers >= size)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{path}: row {_line(column, row)} has {_cell(column, row)}, which is not a row number "
            f"from 0 to {size - 1}; give index= where the points have names."
        )
    return numbers.astype(np.int64)


def _line(table: pd.Series | pd.DataFrame, row: Any) -> int:
    """Return the line of the file on which a row is, of which the header is the first."""
    return int(table.index[row]) + 2


def _cell(column: pd.Series, row: Any) -> str:
    """Return a cell as messages show it."""
    return "an empty cell" if pd.isna(column.iloc[row]) else repr(column.iloc[row])


def _classes(
    table: pd.DataFrame, size: int, names: pd.Index | None, path: Any
) -> tuple[np.ndarray, float]:
    """Return the class of every point, None where it has none, and the confidence in them."""
    table = table[table.iloc[:, 1].notna()]
    rows = _rows(table.iloc[:, 0], size, names, path)
    classes = table.iloc[:, 1].str.strip().to_numpy(dtype=object)
    labels = np.full(size, None, dtype=object)
    labels[rows] = classes
    other = np.flatnonzero(labels[rows] != classes)
    if other.size:
        row = rows[other[0]]
        raise ValueError(
            f"{path}: the point {row if names is None else names[row]} has two classes, "
            f"{classes[other[0]]!r} and {labels[row]!r}; leave one of them."
        )
    weight = np.unique(_weights(table, path))
    if weight.size > 1:
        raise ValueError(
            f"{path}: the column 'weight' has values from {weight[0]:g} to {weight[-1]:g}, but "
            "labels have one confidence; write a file for each and merge them."
        )
    return labels, float(weight[0]) if weight.size else 1.0


def _refuse_missing_header(
    table: pd.DataFrame, size: int, names: pd.Index | None, path: Any, columns: int
) -> None:
    """Refuse a file whose first row names points: taken for a header, it would be lost."""
    first = [str(name) for name in table.columns[:columns]]
    if names is None:
        points = all(name.isdecimal() and int(name) < size for name in first)
    else:
        points = set(first) <= set(names.astype(str))
    if points:
        raise ValueError(
            f"{path}: the first row ({', '.join(first)}) names points, but it is read as the names "
            "of the columns; put a row of names before it, such as point_1,point_2."
        )


def _refuse_links(table: pd.DataFrame, path: Any) -> None:
    """Refuse a file of pairs where points and their classes are read: points would be classes."""
    if "link" in table.columns[2:]:
        raise ValueError(
            f"{path} has a column 'link', as files of pairs have, but is read as points and their "
            "classes; give it as a file of pairs, or leave the column out."
        )


def _kinds(table: pd.DataFrame, link: Link | None, path: Any) -> np.ndarray:
    if "link" not in table.columns[2:]:
        if link is None:
            raise ValueError(
                f"{path} has no column 'link' that says must or cannot; add one, or pass link=."
            )
        return np.full(len(table), link)
    given = table["link"].str.strip().str.lower()
    kinds = given.map(_WORDS)
    if kinds.isna().any():
        row = int(np.argmax(kinds.isna().to_numpy()))
        raise ValueError(
            f"{path}: row {_line(table, row)} has the link {table['link'].iloc[row]!r}; it must be "
            "'must' or 'cannot'."
        )
    if link is not None and (kinds != link).any():
        raise ValueError(f"{path} has other links than {link!r} in its column 'link'.")
    return kinds.to_numpy()


def _weights(table: pd.DataFrame, path: Any) -> np.ndarray:
    if "weight" not in table.columns[2:]:
        return np.ones(len(table))
    numbers = numbers_in(table["weight"])
    if np.isnan(numbers).any():
        row = int(np.argmax(np.isnan(numbers)))
        raise ValueError(f"{path}: row {_line(table, row)} has no number in the column 'weight'.")
    return numbers
