"""Random Fourier features of shift-invariant kernels, and their sums over clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import ndtri
from sklearn.utils.extmath import row_norms

from clusterscape._core.parallel import one_thread, parallel_map
from clusterscape._core.rows import RowSource
from clusterscape.lifting._members import Members
from clusterscape.linalg.distances import centre_of

# The phases of a chunk of points and a block of frequencies stay in the cache.
_CHUNK = 1024
_BLOCK = 256
_STRETCH = 16 * _CHUNK  # points that one worker takes at least
_PARTIAL = 2**23  # elements of the sums that all stretches may hold together
_FEW = 16  # dimensions in which a Sobol sequence does better than orthogonal directions
_WIDE = 2**23  # elements of a group of orthogonal directions
_SINGLE = 1e3  # bandwidths from the centre up to which single precision is enough for phases
_DOUBLE = 1e12  # and double precision
_WIDEST = 1e30  # bandwidth, so that neither its inverse nor the points leave single precision


@dataclass(frozen=True, eq=False)
class FourierMap:
    """The map of a point to the cosines and sines of its products with random frequencies.

    Inner products of the features approach the kernel, and every feature vector has length 1.

    Attributes
    ----------
    blocks : list of (d, b) arrays
        The frequencies in single precision, some at a time; the features of a block are its
        cosines followed by its sines.
    centre : (d,) array or None
        Subtracted from dense data first: kernel values stay the same, and phases more precise.
    bandwidth : float
        Of the kernel.
    order : int
        1 if the kernel depends on sums of absolute differences, otherwise 2.
    """

    blocks: list[np.ndarray]
    centre: np.ndarray | None
    bandwidth: float
    order: int

    @property
    def edges(self) -> np.ndarray:
        """The first feature of each block, and the number of features."""
        return np.concatenate([[0], np.cumsum([2 * block.shape[1] for block in self.blocks])])

    def sums(self, X: Any, members: Members, n_jobs: int | None) -> np.ndarray:
        """Return the sums of the features over each row of ``members``.

        The points are cut into stretches by their number alone, and the blocks do not mix, so
        every figure comes from the same operations for any ``n_jobs``.
        """
        if isinstance(X, RowSource):
            return self._sums_of_blocks(X, members)
        n, edges = X.shape[0], self.edges
        width = int(edges[-1])
        stretches = min(16, n // _STRETCH, _PARTIAL // max(1, members.n_rows * width))
        stretches = max(1, stretches)
        points = np.linspace(0, n, stretches + 1).astype(int)
        groups = min(len(self.blocks), -(-effective_n_jobs(n_jobs) // stretches))
        cuts = np.linspace(0, len(self.blocks), groups + 1).astype(int)
        tasks = [
            (self, X, members, tuple(points[s : s + 2]), tuple(cuts[g : g + 2]))
            for s in range(stretches)
            for g in range(groups)
        ]
        parts = parallel_map(_partial_sums, tasks, n_jobs=n_jobs)
        if len(parts) == 1:
            total = parts[0]
        else:
            total = np.zeros((members.n_rows, width))
            for (*_, (begin, end)), part in zip(tasks, parts, strict=True):
                total[:, edges[begin] : edges[end]] += part
        total *= np.sqrt(2.0 / width)
        return total

    def _sums_of_blocks(self, X: RowSource, members: Members) -> np.ndarray:
        """Return the sums over points in blocks, added in the order of the blocks."""
        width = int(self.edges[-1])
        total = np.zeros((members.n_rows, width))
        step = max(1, _PARTIAL // max(total.size, 1))
        for start in range(0, X.n_blocks, step):
            which = list(range(start, min(start + step, X.n_blocks)))
            for part in X.workers.map(_block_sums, X, (self, members), which=which):
                total += part
        total *= np.sqrt(2.0 / width)
        return total

    def scores(self, X: Any, table: np.ndarray) -> np.ndarray:
        """Return the inner products of the points' features with the columns of ``table``."""
        out = np.zeros((X.shape[0], table.shape[1]))
        edges = self.edges
        table = (table * np.sqrt(2.0 / edges[-1])).astype(np.float32)
        with one_thread():
            for start in range(0, X.shape[0], _CHUNK):
                part = slice(start, start + _CHUNK)
                rows = self.prepared(X[part], start)
                for block, begin in zip(self.blocks, edges[:-1], strict=True):
                    middle = begin + block.shape[1]
                    phases = rows.phases(block)
                    out[part] += np.cos(phases) @ table[begin:middle]
                    out[part] += np.sin(phases) @ table[middle : middle + block.shape[1]]
        return out

    def prepared(self, rows: Any, first: int) -> Rows:
        """Return some rows of the data, from row ``first`` on, ready for the frequencies."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.centre is not None:
                rows = rows - self.centre
            near = rows.astype(np.float32, copy=False)
            # A sum of absolute values is at most sqrt(d) times as large as the length.
            wide = 1.0 if self.order == 2 else np.sqrt(rows.shape[1])
            length = np.sqrt(row_norms(rows, squared=True).astype(np.float64))
            far = np.flatnonzero(~(length * wide <= _SINGLE * self.bandwidth))
            if far.size == 0:
                return Rows(near, far, None)
            exact = rows[far].astype(np.float64)
            parts = abs(exact / self.bandwidth)
            reach = row_norms(parts) if self.order == 2 else np.asarray(parts.sum(axis=1)).ravel()
        if not (reach <= _DOUBLE).all():
            x = int(np.argmax(~(reach <= _DOUBLE)))
            where = "the origin" if self.centre is None else "the middle of the data"
            raise ValueError(
                f"features: point {first + far[x]} lies {reach[x]:.3g} bandwidths of "
                f"{self.bandwidth:.4g} from {where}, where random features have no digits left. "
                "Leave such points out or bring them nearer, take a larger bandwidth, or sum "
                "kernel values exactly (n_components=None)."
            )
        beyond = reach > _SINGLE
        return Rows(near, far[beyond], exact[beyond] if beyond.any() else None)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of the data in single precision, and those far away in double."""

    near: Any
    far: np.ndarray
    exact: Any

    def phases(self, block: np.ndarray) -> np.ndarray:
        """Return the products with some frequencies, up to whole turns."""
        with np.errstate(over="ignore", invalid="ignore"):
            phases = np.asarray(self.near @ block)
            if self.exact is not None:
                turns = np.asarray(self.exact @ block.astype(np.float64))
                phases[self.far] = np.remainder(turns, 2.0 * np.pi)
        return phases


def fourier_map(
    X: Any,
    kernel: str,
    bandwidth: float,
    *,
    n_components: int,
    independent: bool,
    rng: np.random.Generator,
) -> FourierMap:
    """Draw a map with ``n_components`` features.

    The frequencies follow the kernel's spectral measure. Where they need not be independent they
    are distributed evenly, which lowers the error: by a Sobol sequence in few dimensions (at 1,000
    features in the plane some 10 times for the Gaussian, 6 for the Cauchy and 3 for the Laplacian
    kernel), in more, for the Gaussian, as orthogonal directions (2 to 3 times with as many
    frequencies as dimensions, 1.2 to 1.6 times with half as many, nothing below a quarter).
    """
    out_of_range = ValueError(
        f"features: with a bandwidth of {bandwidth:.4g} random features leave the range of "
        "single precision. Scale the features, or sum kernel values exactly (n_components=None)."
    )
    if bandwidth > _WIDEST:
        raise out_of_range
    d, m = X.shape[1], n_components // 2
    starts = range(0, m, _BLOCK)
    if not independent and d <= min(m, _FEW if kernel == "gaussian" else 4 * _FEW):
        whole = _sobol(m, d, kernel, rng)
        parts = (whole[s : s + _BLOCK] for s in starts)
    elif not independent and kernel == "gaussian" and _group(m, d) > 0:
        whole = _orthogonal(m, d, rng)
        parts = (whole[s : s + _BLOCK] for s in starts)
    else:  # drawn a block at a time: with many columns all of them would take much memory
        parts = (_drawn(kernel, (min(_BLOCK, m - s), d), rng) for s in starts)
    with np.errstate(over="ignore"):
        blocks = [np.ascontiguousarray((part / bandwidth).T, dtype=np.float32) for part in parts]
    if not all(np.isfinite(block).all() for block in blocks):
        raise out_of_range
    return FourierMap(blocks, centre_of(X), bandwidth, 1 if kernel == "laplacian" else 2)


def _drawn(kernel: str, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return independent frequencies."""
    if kernel == "gaussian":
        return rng.standard_normal(size)
    return rng.standard_cauchy(size) if kernel == "laplacian" else rng.laplace(size=size)


def _sobol(m: int, d: int, kernel: str, rng: np.random.Generator) -> np.ndarray:
    """Return m frequencies from a scrambled Sobol sequence in d dimensions."""
    from scipy.stats.qmc import Sobol  # slow to load

    level = max(1, (m - 1).bit_length())
    # The figures are multiples of 2^-30; half a step up none of them is 0 or 1.
    u = Sobol(d, scramble=True, bits=30, seed=rng).random_base2(level)[:m] + 2.0**-31
    if kernel == "gaussian":
        return ndtri(u)
    if kernel == "laplacian":
        return np.tan(np.pi * (u - 0.5))
    return -np.sign(u - 0.5) * np.log1p(-2.0 * np.abs(u - 0.5))


def _group(m: int, d: int) -> int:
    """Return how many directions are made orthogonal at a time; 0 if none are.

    They are fewer where fewer are drawn, or where there are so many dimensions that a group would
    be large. Few directions of many dimensions are nearly orthogonal as they are drawn.
    """
    width = min(d, m, _WIDE // d)
    return 0 if 4 * width < d else width


def _orthogonal(m: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Return m directions of R^d, orthogonal in groups, as long as normal vectors are."""
    width = _group(m, d)
    parts = []
    for start in range(0, m, width):
        directions, triangle = np.linalg.qr(rng.standard_normal((d, width)))
        directions *= np.where(np.diagonal(triangle) < 0, -1.0, 1.0)  # uniform over rotations
        lengths = np.sqrt(rng.chisquare(d, size=width))
        parts.append((directions * lengths).T[: m - start])
    return np.concatenate(parts)


def _block_sums(i: int, X: np.ndarray, lift: FourierMap, members: Members) -> np.ndarray:
    """Return the sums over the points of a block, whose labels are read beside them."""
    here = replace(members, labels=members.labels.block(i))
    return _partial_sums((lift, X, here, (0, len(X)), (0, len(lift.blocks))))


def _partial_sums(task: tuple[FourierMap, Any, Members, Any, Any]) -> np.ndarray:
    """Return the sums over a stretch of points for some blocks of frequencies."""
    lift, X, members, (begin, end), (low, high) = task
    blocks = lift.blocks[low:high]
    edges = lift.edges[low : high + 1] - lift.edges[low]
    out = np.zeros((members.n_rows, int(edges[-1])))
    for start in range(begin, end, _CHUNK):
        stop = min(start + _CHUNK, end)
        rows, chunk = lift.prepared(X[start:stop], start), members.chunk(start, stop)
        weight = (
            None if members.weight is None else members.weight[start:stop, None].astype(np.float32)
        )
        for block, column in zip(blocks, edges[:-1], strict=True):
            phases = rows.phases(block)
            with np.errstate(invalid="ignore"):
                waves = np.cos(phases), np.sin(phases)
            for values, place in zip(waves, (column, column + block.shape[1]), strict=True):
                if weight is not None:
                    values *= weight
                chunk.add(values, out, int(place))
    return out
