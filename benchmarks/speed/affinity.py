"""Affinity of points: sampled cells beside hopsy, exact cells beside scipy, and all of MNIST.

1. Ten centres in nine dimensions, points in their hull, 1000 samples of each cell: points per CPU
   second here and with hopsy's coordinate hit-and-run (samples alone, without its rounding; owners
   are not counted there either). Bars: at least 4,000, and at least 4 times hopsy. The exact
   shares are known (barycentric coordinates), so the errors of both are printed.
2. Eight centres in the plane: exact shares here, and by scipy's half-space intersections and convex
   hulls. Bar: at least 100 times, and equal results.
3. MNIST, 70,000 x 784, k = 10: the whole table of certificates, by default and with 1000 samples of
   every cell in a box. Bars: at most twice the CPU time of projecting the points and measuring
   their cells, and a peak under 2,000 MB.

``--check`` takes 1,000 of the 10,000 points in the first part and 20,000 in the third, where the
time per point is what counts. hopsy is named where it is not installed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread

CENTERS, DIMENSIONS, SAMPLES = 10, 9, 1000
RATE, TIMES, TIMES_EXACT, SHARE, MEMORY = 4_000, 4.0, 100.0, 2.0, 2_000.0


def rows_of(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the half-spaces of the points' cells, relative to the points."""
    away = centers - points[:, None]
    return 2 * away, (away**2).sum(axis=2)


def sampled(n: int) -> dict[str, Any]:
    """Sample the cells of n points, here and with hopsy."""
    from numpy.random import SeedSequence

    from clusterscape.linalg.cells import Sampling, Sites, natural_neighbors

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CENTERS, DIMENSIONS))
    exact = rng.dirichlet(np.ones(CENTERS), size=n)
    points = exact @ centers
    plan = Sampling(n_samples=SAMPLES)
    sites = Sites(centers, np.zeros(CENTERS), method="sampling", sampling=plan)
    natural_neighbors(points[:5], sites, SeedSequence(0))
    with one_thread(), _common.measure() as ours:
        found = natural_neighbors(points, sites, SeedSequence(1))
    answer = {
        "rate": n / ours.cpu,
        "error": float(np.abs(found.shares - exact).max(axis=1).mean()),
    }
    if importlib.util.find_spec("hopsy") is not None:
        answer |= by_hopsy(points[:200], exact[:200], centers)
    return answer


def by_hopsy(points: np.ndarray, exact: np.ndarray, centers: np.ndarray) -> dict[str, Any]:
    """Sample cells with hopsy; only its sampling is timed."""
    import hopsy

    A, b = rows_of(points, centers)
    total, errors = 0.0, []
    for x in range(len(points)):
        problem = hopsy.Problem(A[x], b[x], starting_point=np.zeros(DIMENSIONS))
        chain = hopsy.MarkovChain(problem, proposal=hopsy.UniformCoordinateHitAndRunProposal)
        generator = hopsy.RandomNumberGenerator(x)
        with _common.measure() as taken:
            _, states = hopsy.sample(chain, generator, n_samples=SAMPLES, thinning=1)
        total += taken.cpu
        slack = b[x] - states[0] @ A[x].T
        shares = np.bincount(slack.argmin(axis=1), minlength=CENTERS) / SAMPLES
        errors.append(np.abs(shares - exact[x]).max())
    return {"hopsy_rate": len(points) / total, "hopsy_error": float(np.mean(errors))}


def qhull_volume(rows: np.ndarray, offsets: np.ndarray) -> float:
    """Return the volume of a polytope by scipy: an interior point, the corners, their hull."""
    from scipy.optimize import linprog
    from scipy.spatial import ConvexHull, HalfspaceIntersection

    norms = np.linalg.norm(rows, axis=1)
    cost = np.append(np.zeros(rows.shape[1]), -1.0)
    found = linprog(cost, A_ub=np.column_stack([rows, norms]), b_ub=offsets, bounds=(None, None))
    if found.status != 0 or found.x[-1] < 1e-10:
        return 0.0
    corners = HalfspaceIntersection(np.column_stack([rows, -offsets]), found.x[:-1])
    return float(ConvexHull(corners.intersections).volume)


def qhull_shares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shares of one cell by scipy."""
    total = qhull_volume(A, b)
    parts = []
    for i in range(len(A)):
        others = np.arange(len(A)) != i
        rows = np.vstack([A, A[others] - A[i]])
        parts.append(qhull_volume(rows, np.append(b, b[others] - b[i])) / total)
    return np.array(parts)


def exact(n: int, width: int) -> dict[str, float]:
    """Measure cells in the plane or in space, here and with scipy."""
    from numpy.random import SeedSequence

    from clusterscape.linalg.cells import Sites, natural_neighbors

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, width))
    points = rng.dirichlet(np.ones(8), size=n) @ centers
    sites = Sites(centers, np.zeros(8))
    natural_neighbors(points[:5], sites, SeedSequence(0))
    with one_thread(), _common.measure() as ours:
        found = natural_neighbors(points, sites, SeedSequence(0)).shares
    A, b = rows_of(points[:40], centers)
    with one_thread(), _common.measure() as theirs:
        other = np.stack([qhull_shares(*cell) for cell in zip(A, b, strict=True)])
    return {
        "ours": ours.cpu / n,
        "theirs": theirs.cpu / len(A),
        "difference": float(np.abs(found[:40] - other).max()),
    }


def mnist(home: Path | None, n: int, options: dict[str, Any]) -> dict[str, float]:
    """Certify MNIST; return the CPU seconds of the parts and of the whole."""
    from clusterscape.linalg.kmeans import kmeans, nearest_center
    from clusterscape.validate import Affinity

    X = _common.load("mnist", home).data[:n]
    centers = kmeans(X[:10_000], 10, seed=0).centers
    codes = nearest_center(X, centers)
    model = Affinity(random_state=0, **options)
    with one_thread():
        Affinity(random_state=0, representative=centers, **options).fit(X[:64])  # compile
        with _common.measure() as whole:
            table = model.fit(X, codes).certificates_.to_frame()
        with _common.measure() as reduction:
            model._space.project(X)
        with _common.measure() as cells:
            model._shares(X, own=None)
    return {
        "whole": whole.cpu,
        "parts": cells.cpu,
        "reduction": reduction.cpu,
        "stability": float(table["stability"].mean()),
        "outside": float(table["outside"].mean()),
    }


def main() -> None:
    """Run the three parts."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    met = []

    part = sampled(1_000 if options.check else 10_000)
    rows = [["clusterscape", f"{part['rate']:,.0f}", f"{part['error']:.3f}"]]
    met.append(part["rate"] >= RATE)
    ratio = float("nan")
    if "hopsy_rate" in part:
        rows.append(["hopsy", f"{part['hopsy_rate']:,.0f}", f"{part['hopsy_error']:.3f}"])
        ratio = part["rate"] / part["hopsy_rate"]
        met.append(ratio >= TIMES)
    else:
        print("hopsy is not installed: its row is left out, and so is the bar against it.")
    print(f"\n{SAMPLES} samples of cells of {CENTERS} centres in {DIMENSIONS} dimensions")
    _common.show_table(["", "points per CPU s", "mean of largest error"], rows)

    print("\nExact shares, 8 centres: CPU microseconds per point")
    plane, space = exact(20_000, 2), exact(2_000, 3)
    times = plane["theirs"] / plane["ours"]
    _common.show_table(
        ["dimensions", "clusterscape", "scipy", "ratio", "largest difference"],
        [
            [
                f"{w}",
                f"{1e6 * p['ours']:.1f}",
                f"{1e6 * p['theirs']:,.0f}",
                f"{p['theirs'] / p['ours']:,.0f}",
                f"{p['difference']:.1e}",
            ]
            for w, p in ((2, plane), (3, space))
        ],
    )
    met += [times >= TIMES_EXACT, plane["difference"] < 1e-6]

    n = 20_000 if options.check else 70_000
    print(f"\nMNIST, {n:,} x 784, k = 10: CPU seconds and peak memory")
    rows, worst = [], 0.0
    ways: list[tuple[str, dict[str, Any]]] = [("default", {})]
    boxed = {"bound": "box", "method": "sampling", "n_samples": SAMPLES}
    ways.append(("sampled in a box", boxed))
    for name, given in ways:
        run = _common.in_fresh_process(mnist, options.data_home, n, given)
        r = run.result
        share = r["whole"] / r["parts"]
        worst = max(worst, share)
        rows.append(
            [
                name,
                f"{r['whole']:.2f}",
                f"{r['parts']:.2f}",
                f"{r['reduction']:.2f}",
                f"{share:.2f}",
                f"{run.peak_mb:,.0f}",
                f"{r['stability']:.3f}",
                f"{r['outside']:.3f}",
            ]
        )
        met += [share <= SHARE, run.peak_mb < MEMORY]
    _common.show_table(
        ["", "all", "project + cells", "project", "ratio", "MB", "mean stability", "outside"], rows
    )
    _common.finish(
        f"{part['rate']:,.0f} points per CPU s (bar {RATE:,}), {ratio:.1f} times hopsy (bar "
        f"{TIMES:g}), exact {times:,.0f} times scipy (bar {TIMES_EXACT:g}), certificates "
        f"{worst:.2f} times their parts (bar {SHARE:g})",
        all(met),
        options.check,
    )


if __name__ == "__main__":
    main()
