"""Shares of a point's Voronoi or power cell that each of several centres loses to it.

These are the natural-neighbour coordinates of Sibson. A cell is a polyhedron ``{p : A p <= b}`` in
coordinates relative to the point, row j of which belongs to centre j: its slack at p is the lead
of the point over that centre, so the centre that owned p before is the one with the least slack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.stats import t as student_t

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Integer, Seed, checked
from clusterscape._core.seeds import RandomState

Bound = Literal["project", "limit", "box", "nearest"]
Method = Literal["auto", "exact", "sampling"]

_ON_HULL = 1e-9  # of the centres' spread: nearer to the hull than this is inside of it
_SAME = 1e-12  # of the centres' spread: centres or points nearer than this are one
_FACE = 1e-7
_ROUNDING = 4 * np.finfo(np.float64).eps
_PAD = 0.05  # of the box: how far it goes beyond a point that lies outside of it
_DOUBLINGS = 7
_PLANE = 2
_LARGEST = 1e150  # products of smaller numbers are numbers
EXACT_DIMENSIONS = 3  # in which cells are measured; in more they are sampled


def sample_size(eps: float, *, c: float = 0.5) -> int:
    """Return the number of independent samples that give every share within ``eps``.

    ``(c / eps**2) log(1 / eps)``, the size of an eps-sample of a range space of constant dimension.

    Parameters
    ----------
    eps : float
        Largest error of a share, in (0, 1).
    c : float
        The constant of the bound.

    Returns
    -------
    int

    See Also
    --------
    clusterscape.validate.Affinity : Uses it as the first number of samples.

    References
    ----------
    .. [1] S. Har-Peled, "Geometric approximation algorithms", American Mathematical Society, 2011.

    Examples
    --------
    >>> from clusterscape.linalg.cells import sample_size
    >>> sample_size(0.04)
    1006
    """
    return int(np.ceil(c / eps**2 * np.log(1.0 / eps)))


@dataclass(frozen=True)
class Sampling:
    """How cells are sampled: chains, samples of all of them, and when to stop.

    Without ``n_samples`` sampling goes on until the standard errors promise ``eps`` with
    probability ``1 - delta`` for each share, at most 2**7 times the first number.
    """

    eps: float = 0.04
    delta: float = 0.01
    n_samples: int | None = None
    n_chains: int = 4
    thin: int = 1
    burn_in: int = 0

    @property
    def plan(self) -> tuple[int, int, int, int, int, float]:
        """The tuple that the kernel takes."""
        first = sample_size(self.eps) if self.n_samples is None else self.n_samples
        most = first if self.n_samples is not None else first * 2**_DOUBLINGS
        # 16 to 32 batches: their spread has about that many degrees of freedom.
        quantile = float(student_t.ppf(1.0 - self.delta / 2.0, 15))
        chains = min(self.n_chains, max(1, first // 4))
        return chains, first, self.thin, self.burn_in, most, self.eps / quantile


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of many cells, and what is known about each.

    Attributes
    ----------
    shares : (n, k) array
        Rows sum to one.
    errors : (n, k) array
        Standard errors; 0 where the shares are exact.
    distance : (n,) array
        Distance of the point to the hull of the centres, within their affine hull.
    outside : (n,) bool array
        Whether the point lies outside of the hull, so that the rule for unbounded cells decided.
    clipped : (n,) bool array
        Whether its cell was cut by the box.
    empty : (n,) bool array
        Whether its cell is empty: weights only.
    samples : (n,) int array
        Samples taken; 0 where the shares are exact.
    """

    shares: np.ndarray
    errors: np.ndarray
    distance: np.ndarray
    outside: np.ndarray
    clipped: np.ndarray
    empty: np.ndarray
    samples: np.ndarray

    @classmethod
    def none(cls, n: int, k: int) -> Shares:
        """Return the shares of n cells before anything is known."""
        return cls(
            np.zeros((n, k)),
            np.zeros((n, k)),
            np.zeros(n),
            np.zeros(n, dtype=bool),
            np.zeros(n, dtype=bool),
            np.zeros(n, dtype=bool),
            np.zeros(n, dtype=np.int64),
        )

    @classmethod
    def joined(cls, parts: list[Shares]) -> Shares:
        """Return the shares of several parts of the points as one."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


# ---- polyhedra whose rows are given -------------------------------------------------------------


def cell_shares(
    A: np.ndarray,
    b: np.ndarray,
    n_owners: int,
    *,
    method: Method,
    sampling: Sampling,
    seeds: np.ndarray,
    ball: bool = False,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return shares, standard errors, whether each cell is empty, and samples taken.

    ``A`` is (n, m, r), ``b`` (n, m). With ``ball`` the cells are cut by the unit ball. ``start``
    holds interior points; without it one is sought. Exact in at most three dimensions.
    """
    n, _, width = A.shape
    out, errors = np.zeros((n, n_owners)), np.zeros((n, n_owners))
    taken = np.zeros(n, dtype=np.int64)
    if width <= EXACT_DIMENSIONS and method != "sampling" and not ball:
        if width == 1:
            return (*_intervals(A, b, n_owners), taken)
        states = np.empty(n, dtype=np.int64)
        exact = kernels.polygon if width == _PLANE else kernels.polyhedron
        exact.shares(A, b, n_owners, out, states)
        return out, errors, states == kernels.polygon.EMPTY, taken
    if start is None:
        start = np.zeros((n, width))
        kernels.hit_and_run.interiors(A, b, start)
    kernels.hit_and_run.shares(A, b, ball, start, sampling.plan, seeds, out, errors, taken)
    return out, errors, taken == 0, taken


def _intervals(
    A: np.ndarray, b: np.ndarray, n_owners: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what :func:`cell_shares` does of cells on a line."""

    def ends(a: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            at = c / a
        high = np.where(a > 0, at, np.inf).min(axis=-1)
        low = np.where(a < 0, at, -np.inf).max(axis=-1)
        none = ((a == 0) & (c < 0)).any(axis=-1)
        return np.where(none, np.inf, low), np.where(none, -np.inf, high)

    low, high = ends(A[..., 0], b)
    # The limit of a cell that is open to one side is its part far out.
    low, high = np.maximum(low, -1e8), np.minimum(high, 1e8)
    a, c = A[:, :n_owners, 0], b[:, :n_owners]
    left, right = ends(a[:, None, :] - a[:, :, None], c[:, None, :] - c[:, :, None])
    length = np.minimum(right, high[:, None]) - np.maximum(left, low[:, None])
    length = np.maximum(np.nan_to_num(length, neginf=0.0), 0.0)
    total = length.sum(axis=1)
    empty = ~(total > 0)
    shares = length / np.where(empty, 1.0, total)[:, None]
    return shares, np.zeros_like(shares), empty


# ---- Voronoi and power cells ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sites:
    """The centres in their affine hull, and the rules for cells.

    Attributes
    ----------
    centers : (k, r) array, or (n, k, r) with centres of each point's own
        Their affine hull is the whole space.
    weights : (k,) array
        Of the power diagram: squared distances less these are compared.
    point_weight : float
        The weight of a point.
    bound, method, sampling
        As in :class:`clusterscape.validate.Affinity`.
    box : (2, r) array or None
        Corners of the box of ``bound="box"``.
    """

    centers: np.ndarray
    weights: np.ndarray
    point_weight: float = 0.0
    bound: Bound = "project"
    method: Method = "auto"
    sampling: Sampling = Sampling()
    box: np.ndarray | None = None

    @property
    def weighted(self) -> bool:
        """Whether the weights change anything."""
        return bool((self.weights != self.point_weight).any())

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the centres of some points, (1, k, r) where all have the same."""
        return self.centers[None] if self.centers.ndim == 2 else self.centers[rows]


def natural_neighbors(points: np.ndarray, sites: Sites, seed: SeedSequence) -> Shares:
    """Return the shares of the cells of ``points`` (n, r) among the centres of ``sites``.

    Inside of the hull of affinely independent centres the shares are the barycentric coordinates:
    Sibson's identity leaves no other. Other cells are measured in up to three dimensions and
    sampled in more.
    """
    n, width = points.shape
    k = sites.centers.shape[-2]
    found = Shares.none(n, k)
    if k == 1 or width == 0:
        found.shares[:] = 1.0 / k
        return found
    everything = np.arange(n)
    centers = sites.of(everything)
    spread = _spread_of(centers)
    simplex = k == width + 1
    weights, squares = _hull_weights(centers / spread, points / spread, simplex)
    found.distance[:] = np.sqrt(squares) * spread
    found.outside[:] = squares > _ON_HULL**2
    seeds = seed.generate_state(n, np.uint64)
    inside = np.flatnonzero(~found.outside)
    beyond = np.flatnonzero(found.outside)
    work = _Cells(points, sites, spread, weights, seeds, found)
    if simplex and sites.method != "sampling":
        work.take_weights(inside)
    else:
        work.measure(inside)
    {
        "project": work.project,
        "nearest": work.nearest,
        "limit": work.far_out,
        "box": work.measure_boxed,
    }[sites.bound](beyond)
    return found


def _spread_of(centers: np.ndarray) -> float:
    """Return the root mean square distance of centres from their mean."""
    away = centers - centers.mean(axis=1, keepdims=True)
    return float(np.sqrt((away**2).sum(axis=2).mean())) or 1.0


def _hull_weights(
    centers: np.ndarray, points: np.ndarray, simplex: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return convex weights of the nearest point of the hull, and squared distances."""
    n, k = len(points), centers.shape[1]
    start = np.zeros((n, k))
    if simplex:
        ones = np.ones((len(centers), k, 1))
        system = np.concatenate([centers, ones], axis=2).transpose(0, 2, 1)
        target = np.concatenate([points, np.ones((n, 1))], axis=1)
        if len(centers) == 1:
            start = np.linalg.solve(system[0], target.T).T
        else:
            start = np.linalg.solve(system, target[:, :, None])[:, :, 0]
        start = np.maximum(start, 0.0)
    weights, squares = np.empty((n, k)), np.empty(n)
    kernels.hull.nearest(centers, points, start, weights, squares)
    return weights, squares


@dataclass(frozen=True, eq=False)
class _Cells:
    """Points, their centres, and the shares that are being filled in."""

    points: np.ndarray
    sites: Sites
    spread: float
    weights: np.ndarray
    seeds: np.ndarray
    found: Shares

    def rows(self, at: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the half-spaces of cells, relative to ``places`` and in units of the spread."""
        away = (self.sites.of(at) - places[:, None, :]) / self.spread
        lead = (self.sites.weights - self.sites.point_weight) / self.spread**2
        return 2.0 * away, (away**2).sum(axis=2) - lead

    def one_owner(self, at: np.ndarray) -> None:
        """Give all of a cell to the centre whose power distance is least."""
        if at.size:
            owner = self.rows(at, self.points[at])[1].argmin(axis=1)
            self.found.shares[at] = 0.0
            self.found.shares[at, owner] = 1.0

    nearest = one_owner

    def take_weights(self, at: np.ndarray) -> None:
        """Take the weights of the hull for shares; notice the cells that are empty."""
        self.found.shares[at] = self.weights[at]
        if self.sites.weighted and at.size:
            places = self.places(at)
            # The lifted point lies above the hull of the lifted centres: its cell is empty.
            height = (self.weights[at] * self.rows(at, places)[1]).sum(axis=1)
            self.set_empty(at[height <= 0])

    def places(self, at: np.ndarray) -> np.ndarray:
        """Return the points of the hull that are nearest to some points."""
        centers = self.sites.of(at)
        return np.einsum(
            "nk,nkr->nr", self.weights[at], np.broadcast_to(centers, (len(at), *centers.shape[1:]))
        )

    def set_empty(self, at: np.ndarray) -> None:
        """Note that cells are empty; their owner has the least power distance."""
        self.found.empty[at] = True
        self.one_owner(at)

    def measure(self, at: np.ndarray) -> None:
        """Measure bounded cells."""
        if at.size == 0:
            return
        A, b = self.rows(at, self.points[at])
        on = (A**2).sum(axis=2).min(axis=1) <= 4 * _SAME**2
        if not self.sites.weighted and on.any():
            self.one_owner(at[on])
            at, A, b = at[~on], A[~on], b[~on]
        empty = self.store(at, A, b)
        if not self.sites.weighted:
            # A bounded cell is not empty: these lie on the border of the hull.
            for x in at[empty]:
                self.on_border(x)
        else:
            self.set_empty(at[empty])

    def measure_boxed(self, at: np.ndarray) -> None:
        """Measure cells within the box, which is widened to hold the point."""
        if at.size == 0:
            return
        assert self.sites.box is not None
        low, high = self.sites.box
        pad = _PAD * np.maximum(high - low, 1e-3 * self.spread)
        here = self.points[at]
        above = np.maximum(high, here + pad) - here
        below = here - np.minimum(low, here - pad)
        A, b = self.rows(at, here)
        width = here.shape[1]
        sides = np.concatenate([np.eye(width), -np.eye(width)])
        A = np.concatenate([A, np.broadcast_to(sides, (len(at), *sides.shape))], axis=1)
        b = np.concatenate([b, np.concatenate([above, below], axis=1) / self.spread], axis=1)
        self.found.clipped[at] = True
        self.set_empty(at[self.store(at, A, b)])

    def store(self, at: np.ndarray, A: np.ndarray, b: np.ndarray, ball: bool = False) -> np.ndarray:
        """Measure or sample cells and keep the result; return which of them are empty."""
        k = self.weights.shape[1]
        start = None if self.sites.weighted or ball else np.zeros((len(at), A.shape[2]))
        shares, errors, empty, taken = cell_shares(
            A,
            b,
            k,
            method=self.sites.method,
            sampling=self.sites.sampling,
            seeds=self.seeds[at],
            ball=ball,
            start=start,
        )
        found = self.found
        found.shares[at], found.errors[at], found.samples[at] = shares, errors, taken
        return empty

    def far_out(self, at: np.ndarray) -> None:
        """Take the limit of growing balls: shares of the directions in which the cell is open."""
        if at.size == 0:
            return
        A = self.rows(at, self.points[at])[0]
        outwards = (self.points[at] - self.places(at)) / self.spread
        outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
        width, k = A.shape[2], self.weights.shape[1]
        if width == 1:
            self.found.shares[at, (A[:, :, 0] * outwards).argmax(axis=1)] = 1.0
        elif width == _PLANE and self.sites.method != "sampling":
            shares = np.empty((len(at), k))
            kernels.polygon.arcs(A, outwards, k, shares)
            self.found.shares[at] = shares
        else:
            shares, errors, _, taken = cell_shares(
                A,
                np.zeros(A.shape[:2]),
                k,
                method="sampling",
                sampling=self.sites.sampling,
                seeds=self.seeds[at],
                ball=True,
                start=0.5 * outwards,
            )
            self.found.shares[at], self.found.errors[at] = shares, errors
            self.found.samples[at] = taken

    def project(self, at: np.ndarray) -> None:
        """Take the shares of the nearest point of the hull, in the face that it lies in."""
        if at.size == 0:
            return
        self.take_weights(at)
        k, width = self.weights.shape[1], self.points.shape[1]
        if k == width + 1:
            return
        centers = self.sites.of(at)
        places = self.places(at)
        outwards = self.points[at] - places
        outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
        behind = np.einsum("nkr,nr->nk", places[:, None, :] - centers, outwards)
        face = behind <= _FACE * self.spread
        more = face.sum(axis=1) > (self.weights[at] > 0).sum(axis=1)
        self.in_faces(at[more], places[more], face[more])

    def in_faces(self, at: np.ndarray, places: np.ndarray, faces: np.ndarray) -> None:
        """Measure the cells of places among the centres of the face that they lie in.

        A face of more centres than it has dimensions is rare: a generic one is a simplex.
        """
        found = self.found
        groups, which = np.unique(faces, axis=0, return_inverse=True)
        own = self.sites.centers.ndim == 3
        for g, members in enumerate(groups):
            rows = np.flatnonzero(which.ravel() == g)
            for some in ([r] for r in rows) if own else (rows,):
                centers = self.sites.of(at[some])[0][members]
                axes, middle = hull_axes(centers)
                inner = replace(
                    self.sites,
                    centers=(centers - middle) @ axes,
                    weights=self.sites.weights[members],
                    bound="project",
                    box=None,
                )
                seed = SeedSequence(int(self.seeds[at[some[0]]]))
                part = natural_neighbors((places[some] - middle) @ axes, inner, seed)
                spots = np.ix_(at[some], np.flatnonzero(members))
                found.shares[at[some]] = 0.0
                found.shares[spots], found.errors[spots] = part.shares, part.errors
                found.samples[at[some]] = part.samples
                found.empty[at[some]] = part.empty

    def on_border(self, x: int) -> None:
        """Find the face of the hull on which a point lies, and measure its cell there."""
        away = (self.sites.of(np.array([x]))[0] - self.points[x]) / self.spread
        width = away.shape[1]
        # The direction to which the centres lie farthest behind the point.
        program = linprog(
            away.sum(axis=0), A_ub=away, b_ub=np.full(len(away), 1e-12), bounds=(-1, 1)
        )
        face = away @ program.x >= -_FACE
        if face.all() or width == 0:
            raise ArithmeticError(
                f"the cell of point {x} cannot be sampled: its centres are nearly in one place."
            )
        self.in_faces(np.array([x]), self.points[x][None], face[None])


def hull_axes(centers: np.ndarray, tolerance: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal axes (d, r) of the affine hull of centres, and their mean.

    k centres span at most k - 1 dimensions, and none of them is the rounding of large numbers.
    """
    middle = centers.mean(axis=0)
    _, values, axes = np.linalg.svd(centers - middle, full_matrices=False)
    rounding = _ROUNDING * np.abs(centers).max(initial=0.0) * np.sqrt(centers.size)
    least = max(tolerance * values.max(initial=0.0), rounding)
    rank = min(int((values > least).sum()), len(centers) - 1)
    return np.ascontiguousarray(axes[:rank].T), middle


def check_exact(sites: Sites) -> None:
    """Refuse ``method="exact"`` where shares can only be sampled."""
    k, width = sites.centers.shape[-2:]
    if sites.method != "exact" or k == width + 1 and sites.bound in ("project", "nearest"):
        return
    largest = _PLANE if sites.bound == "limit" else EXACT_DIMENSIONS
    if width > largest:
        raise ParameterError(
            f"{{method}}: the cells of {k} centres in {width} dimensions with {{bound}} can only "
            "be sampled; use {method__other}.",
            method="exact",
            bound=sites.bound,
            method__other="auto",
        )


# ---- uniform points of a polytope ---------------------------------------------------------------


@checked(
    {
        "n_samples": [Integer(1)],
        "thin": [Integer(1)],
        "burn_in": [Integer(0)],
        "seed": [Seed()],
    }
)
def sample_polytope(
    A: ArrayLike,
    b: ArrayLike,
    n_samples: int,
    *,
    start: ArrayLike | None = None,
    thin: int = 1,
    burn_in: int = 1000,
    seed: RandomState = None,
) -> np.ndarray:
    """Draw points uniformly from a bounded polytope ``{p : A p <= b}`` by hit-and-run.

    Each step draws a uniform point of the whole chord along an axis of the rounded body: rounded
    first by the Hessian at the analytic centre, then by the covariance of two short walks.

    Parameters
    ----------
    A : (m, r) array
        Normals of the half-spaces.
    b : (m,) array
        Their offsets.
    n_samples : int
        Points to draw.
    start : (r,) array, optional
        A point strictly inside; sought where none is given.
    thin : int
        Steps from one point to the next. Neighbouring points are dependent: about r steps lie
        between nearly independent ones.
    burn_in : int
        Steps before the first point, after those of the rounding.
    seed : int, generator or None
        Seed.

    Returns
    -------
    (n_samples, r) array

    See Also
    --------
    clusterscape.validate.Affinity : Samples the cells of points.

    Notes
    -----
    An empty, flat or unbounded polytope is refused. Very long and thin bodies whose longest axis is
    found by none of the short walks mix slowly.

    References
    ----------
    .. [1] R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly
       distributed over bounded regions", Operations Research 32, 1296-1308, 1984.
       doi:10.1287/opre.32.6.1296
    .. [2] L. Lovász, "Hit-and-run mixes fast", Mathematical Programming 86, 443-461, 1999.
       doi:10.1007/s101070050099

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import sample_polytope
    >>> triangle = np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
    >>> points = sample_polytope(triangle, [0.0, 0.0, 1.0], 5000, thin=4, seed=0)
    >>> points.mean(axis=0).round(1)
    array([0.3, 0.3])
    """
    rows, offsets = np.array(A, dtype=np.float64), np.array(b, dtype=np.float64)
    if rows.ndim != 2 or offsets.shape != rows.shape[:1]:
        raise ValueError(
            f"A must be (m, r) and b (m,); got the shapes {rows.shape} and {offsets.shape}."
        )
    place = np.zeros(rows.shape[1]) if start is None else np.array(start, dtype=np.float64)
    for name, values in (("A", rows), ("b", offsets), ("start", place)):
        if not (np.abs(values) < _LARGEST).all():
            raise ValueError(f"{name} must be numbers below {_LARGEST:g} in size; divide A and b.")
    inside = offsets - rows @ place
    if start is not None and not (inside > 0).all():
        raise ValueError("start is not strictly inside of the polytope.")
    if not (inside > 0).all() and not kernels.hit_and_run.interior(rows, offsets, place) > 0:
        raise ValueError("A, b: the polytope has no interior.")
    out = np.empty((n_samples, rows.shape[1]))
    state = kernels.random.new_state(_seeds.kernel_seed(_seeds.root_sequence(seed)))
    if not kernels.hit_and_run.points(rows, offsets, False, place, thin, burn_in, out, state):
        raise ValueError("A, b: the polytope is not bounded.")
    return out
