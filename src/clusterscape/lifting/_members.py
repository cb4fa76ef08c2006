"""The clusters of all partitions and their members: what the sums of the lifting map run over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clusterscape import kernels
from clusterscape.ensemble import BlockedEnsemble

_CHUNK = 4096  # points whose labels are widened at a time


@dataclass(frozen=True, eq=False)
class Members:
    """Clusters with some weight, and the points in them.

    Attributes
    ----------
    partition, cluster : (D,) arrays
        Of each cluster; ``cluster`` is -1 for the noise points of a partition.
    size : (D,) array
        Point weight of each cluster, in units.
    row : (D,) array
        Row of the sums that belongs to each cluster; equal clusters share one.
    same : (D,) array
        The first cluster with the same members.
    n_rows : int
        Distinct clusters.
    weight : (n,) array or None
        Of the points, in units; None where all are 1.
    unit : float
        A power of two, the largest not above the largest weight: with it no sum of products of
        weights leaves the range of numbers.
    """

    partition: np.ndarray
    cluster: np.ndarray
    size: np.ndarray
    row: np.ndarray
    same: np.ndarray
    n_rows: int
    weight: np.ndarray | None
    unit: float
    labels: Any  # (n, r) array, or the same in blocks
    soft: Mapping[int, sparse.csr_matrix]
    first: np.ndarray
    column: np.ndarray
    target: np.ndarray
    blended: sparse.csr_matrix | None

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.labels.shape[0])

    def chunk(self, start: int, stop: int) -> Chunk:
        """Return the members among the points ``start`` to ``stop - 1``, sorted by cluster."""
        labels = self.labels[start:stop].astype(np.int32)
        members = np.empty(labels.size, dtype=np.int32)
        most = min(labels.size, int(self.first[-1]))
        bounds = np.empty(most + 1, dtype=np.int64)
        rows = np.empty(most, dtype=np.int64)
        count = kernels.lifting.segments(labels, self.first, self.target, members, bounds, rows)
        blended = None if self.blended is None else self.blended[start:stop]
        filled = int(bounds[count])
        return Chunk(members[:filled], bounds[: count + 1], rows[:count], blended, labels.shape[0])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted sums of the rows of ``values`` over the distinct clusters."""
        out = np.zeros((self.n_rows, values.shape[1]))
        if self.weight is not None:
            values = values * self.weight[:, None]
        for start in range(0, self.n_points, _CHUNK):
            stop = min(start + _CHUNK, self.n_points)
            self.chunk(start, stop).add(values[start:stop], out)
        return out

    def per_point(self, table: np.ndarray) -> np.ndarray:
        """Return, for each point, the sum of the rows of ``table`` (D, k) of its clusters."""
        wide = np.zeros((int(self.first[-1]) + 1, table.shape[1]))  # the last row stays zero
        wide[self.column] = table
        out = np.zeros((self.n_points, table.shape[1]))
        for i in range(self.labels.shape[1]):
            codes = self.labels[:, i].astype(np.int64)
            begin, noise = int(self.first[i]), int(self.first[i + 1]) - 1
            place = np.where(codes == -1, noise, -1)
            if i in self.soft:
                out += self.soft[i] @ wide[begin:noise]
            else:
                place = np.where(codes >= 0, begin + codes, place)
            out += wide[place]
        return out

    def only(self, kept: np.ndarray) -> Members:
        """Return some of the clusters (a mask); the rows of the sums keep their numbers."""
        names = np.cumsum(kept) - 1
        changed = {n: getattr(self, n)[kept] for n in ("partition", "cluster", "size", "row")}
        changed |= {"same": names[self.same[kept]], "column": self.column[kept]}
        return Members(**(self.__dict__ | changed))


@dataclass(frozen=True, eq=False)
class Chunk:
    """The members of all clusters among some consecutive points."""

    members: np.ndarray
    bounds: np.ndarray
    rows: np.ndarray
    blended: sparse.csr_matrix | None
    n_points: int

    def add(self, values: np.ndarray, out: np.ndarray, column: int = 0) -> None:
        """Add the sums of the clusters' rows of ``values`` to the columns of ``out``."""
        kernels.lifting.add_segments(values, self.members, self.bounds, self.rows, out, column)
        if self.blended is not None:
            sums = self.blended.astype(values.dtype).T @ values
            out[:, column : column + values.shape[1]] += sums

    def dense(self, n_rows: int) -> np.ndarray:
        """Return the points' memberships as a dense array with one column per row of sums."""
        table = np.zeros((self.n_points, n_rows))
        table[self.members, np.repeat(self.rows, np.diff(self.bounds))] = 1.0
        return table if self.blended is None else table + self.blended.toarray()


def members_of(ensemble: Any, noise: str) -> Members:
    """Return the clusters of an ensemble that have weight; equal ones are found by a hash.

    Two 64-bit sums over the members must agree, so unequal clusters are taken for equal with a
    probability under 1e-30 per pair.
    """
    soft, r = dict(ensemble.soft), ensemble.n_partitions
    first = np.asarray(ensemble.offsets, dtype=np.int64) + np.arange(r + 1)
    labels: Any
    if isinstance(ensemble, BlockedEnsemble):
        labels, unit, weight = ensemble.blocks, 1.0, np.ones(1)
        parts = labels.workers.map(_measured_block, labels, (labels.bounds, first))
        sizes, hashes = (sum(side[1:], side[0]) for side in zip(*parts, strict=True))
    else:
        labels = ensemble.labels
        given = np.asarray(ensemble.sample_weight, dtype=np.float64)
        unit = 2.0 ** float(np.frexp(given.max())[1] - 1)
        weight = given / unit
        sizes, hashes = _measured(labels, soft, first, weight)
    last = first[1:] - 1
    if noise == "drop":
        sizes[last] = 0.0
    column = np.flatnonzero(sizes > 0)
    partition = np.searchsorted(first, column, side="right") - 1
    cluster = np.where(column == last[partition], -1, column - first[partition])
    _, found, group = np.unique(hashes[column], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(found)  # rows are numbered by first appearance
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    row = rank[np.ravel(group)]
    same = found[order][row]
    is_soft = np.zeros(r, dtype=bool)
    is_soft[list(soft)] = True
    new = same == np.arange(same.size)
    by_labels = ~is_soft[partition] | (cluster == -1)
    target = np.full(int(first[-1]), -1, dtype=np.int64)
    target[column[new & by_labels]] = row[new & by_labels]
    return Members(
        partition=partition,
        cluster=cluster,
        size=sizes[column],
        row=row,
        same=same,
        n_rows=int(found.size),
        weight=None if (weight == 1.0).all() else weight,
        unit=unit,
        labels=labels,
        soft=soft,
        first=first,
        column=column,
        target=target,
        blended=_blended(soft, first, column[new & ~by_labels], row[new & ~by_labels], found.size),
    )


def _measured_block(
    i: int, labels: np.ndarray, bounds: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a block adds to the weights and hashes, points having no weights."""
    return _measured(labels, {}, first, np.ones(len(labels)), int(bounds[i]))


def _measured(
    labels: np.ndarray,
    soft: Mapping[int, Any],
    first: np.ndarray,
    weight: np.ndarray,
    begin: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight and the hash of every column, noise columns included.

    ``begin`` is the number of the first of the points.
    """
    width = int(first[-1])
    sizes, hashes = np.zeros(width), np.zeros((width, 2), dtype=np.uint64)
    numbers = np.arange(2 * begin + 1, 2 * (begin + labels.shape[0]) + 1, dtype=np.uint64)
    marks = _mixed(numbers).reshape(-1, 2)
    for start in range(0, labels.shape[0], _CHUNK):
        part = slice(start, start + _CHUNK)
        codes = labels[part].astype(np.int32)
        for i in soft:
            codes[codes[:, i] >= 0, i] = -2  # read from the memberships below
        kernels.lifting.measure(codes, first, weight[part], marks[part], sizes, hashes)
    one = _mixed(np.ones(1).view(np.uint64))
    for i, membership in soft.items():
        table = membership.tocoo()
        seen = (weight[table.row] > 0) & (table.data > 0)
        x, column, share = table.row[seen], first[i] + table.col[seen], table.data[seen]
        np.add.at(sizes, column, weight[x] * share)
        # A share of exactly 1 counts as a member of a hard cluster does.
        factor = (_mixed(share.astype(np.float64).view(np.uint64)) ^ one) + np.uint64(1)
        np.add.at(hashes, column, marks[x] * factor[:, None])
    return sizes, hashes


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return well-mixed 64-bit numbers, different for different ones (the splitmix finish)."""
    z = values * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _blended(
    soft: Mapping[int, Any], first: np.ndarray, column: np.ndarray, row: np.ndarray, n_rows: int
) -> sparse.csr_matrix | None:
    """Return the memberships in soft clusters, with one column per row of the sums."""
    if column.size == 0:
        return None
    place = np.full(int(first[-1]), -1, dtype=np.int64)
    place[column] = row
    parts = []
    for i, membership in soft.items():
        table = membership.tocoo()
        target = place[first[i] + table.col]
        kept = target >= 0
        parts.append((table.data[kept], table.row[kept], target[kept]))
    data, x, target = (np.concatenate(side) for side in zip(*parts, strict=True))
    n = next(iter(soft.values())).shape[0]
    return sparse.csr_matrix((data, (x, target)), shape=(n, n_rows))
