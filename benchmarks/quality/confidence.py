"""Does confidence mean the same for every generator? How often points of a confidence are right.

The main job with the true number of clusters on the sets of ``main_job.py`` (a random 1,500 points
of larger ones), for four generators: k-means with numbers of clusters from a range (the default
of ``random_k``), members of several kinds, subsamples of 80 %, and restarts. A point is right if
its class is the majority of its cluster. All points of all sets are counted together.

The bar: for each generator, points with a confidence of 0.9 and more, 0.8 to 0.9, 0.6 to 0.8 and
less are right more often in that order. ``--check`` takes 400 points of every set at most, so
that few have a middling confidence; there a share may be above the one before it by two standard
errors of their difference.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import main_job

import _common

GENERATORS = {
    "k-means, random k": "random_k",
    "several kinds": "diverse",
    "subsamples": "subsample",
    "restarts": "restarts",
}
BANDS = ((0.9, 1.01), (0.8, 0.9), (0.6, 0.8), (0.0, 0.6))
LARGEST, CHECKED = 1_500, 400  # points of a set


def right_points(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return whether each point has the class of most points of its cluster."""
    right = np.zeros(len(y), dtype=bool)
    for c in range(labels.max() + 1):
        inside = (labels == c) & (y >= 0)
        if inside.any():
            right[inside] = y[inside] == np.bincount(y[inside]).argmax()
    return right


def counted(name: str, generator: str, most: int, home: Path | None) -> np.ndarray:
    """Return the points of each band, and how many of them are right."""
    from clusterscape import ConsensusClustering

    X, y = main_job.data(name, home)
    X, y = X[:most], y[:most]
    y = np.where(y >= 0, np.unique(y, return_inverse=True)[1], -1)
    k = len(np.unique(y[y >= 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ConsensusClustering(k, generator=generator, n_references=0, random_state=0).fit(X)
        confidence = model.confidence_
    right = right_points(model.labels_, y)
    known = (y >= 0) & (model.labels_ >= 0) & np.isfinite(confidence)
    inside = [known & (confidence >= low) & (confidence < high) for low, high in BANDS]
    return np.array([[band.sum(), right[band].sum()] for band in inside])


def main() -> None:
    """Print the table and the bar."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    names = [*(f"shape_{s}" for s in main_job.SHAPES), *main_job.REAL]
    most = CHECKED if options.check else LARGEST
    rows, ordered = [], []
    for shown, generator in GENERATORS.items():
        counts = [counted(name, generator, most, options.data_home) for name in names]
        total = np.sum(counts, axis=0)
        share = total[:, 1] / np.maximum(total[:, 0], 1)
        variance = share * (1 - share) / np.maximum(total[:, 0], 1)
        error = np.sqrt(variance[1:] + variance[:-1]) if options.check else 0.0
        ordered.append(bool((np.diff(share) < 2 * error).all()))
        rows.append([shown, *(f"{s:.3f} ({n})" for s, (n, _) in zip(share, total, strict=True))])
        print(f"  {shown} done", flush=True)
    heads = [f"{low:g} to {min(high, 1):g}" for low, high in BANDS]
    _common.show_table(["right (points)", *heads], rows)
    good = sum(ordered)
    _common.finish(
        f"more confident points are right more often for {good} of {len(ordered)} generators",
        all(ordered),
        options.check,
    )


if __name__ == "__main__":
    main()
