"""Reference data without clusters: what data are compared with before clusters are believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import f as f_law
from scipy.stats import rankdata

_TAILS = (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class Shape:
    """A sample of the data, and what its references keep of it."""

    table: np.ndarray
    ordered: np.ndarray  # every column's values in order
    root: np.ndarray  # of the correlation matrix of the normal scores
    tails: (
        float  # degrees of freedom of the multivariate t nearest to the distances from the middle
    )

    @classmethod
    def of(cls, table: np.ndarray) -> Shape:
        """Measure centred columns, none of them constant."""
        normal = normal_scores(table) / table.std(axis=0)
        values, vectors = np.linalg.eigh(normal.T @ normal / len(table))
        kept = values > 1e-8 * values.max()
        size = np.sqrt(values[kept])
        middle = np.median(table, axis=0)
        width = np.subtract(*np.percentile(table, [75, 25], axis=0)) / 1.349
        width = np.where(width > 0, width, table.std(axis=0))
        radii = np.linalg.norm((table - middle) / width @ (vectors[:, kept] / size), axis=1)
        tails = _tails(radii**2, size.size)
        return cls(table, np.sort(table, axis=0), vectors[:, kept] * size, tails)

    def reference(self, kind: str, rng: np.random.Generator) -> np.ndarray:
        """Return data with the same columns and no clusters.

        "gaussian" has the rank correlations of the data, "elliptic" in addition their tails.
        """
        drawn = rng.standard_normal((len(self.table), self.root.shape[1]))
        if kind == "elliptic":
            drawn /= np.sqrt(rng.chisquare(self.tails, len(drawn)) / self.tails)[:, None]
        places = (drawn @ self.root.T).argsort(axis=0).argsort(axis=0)
        return np.take_along_axis(self.ordered, places, axis=0)


def normal_scores(table: np.ndarray) -> np.ndarray:
    """Return the columns with their values replaced by normal ones of the same ranks and scale.

    References then have no clusters even where columns have several modes: products of such
    columns would have some in the corners.
    """
    normal = ndtri((rankdata(table, axis=0) - 0.5) / len(table))
    return normal * table.std(axis=0)


def covariance_factor(X: np.ndarray) -> np.ndarray:
    """Return a matrix F such that standard normal rows times F have the covariance of X."""
    centred = np.asarray(X, dtype=np.float64) - X.mean(axis=0)
    values, axes = np.linalg.svd(centred, full_matrices=False)[1:]
    return values[:, None] * axes / np.sqrt(len(X))


def _tails(squares: np.ndarray, d: int) -> float:
    """Return the likeliest degrees of freedom of a multivariate t, by its squared distances.

    The distances themselves are not kept: those of concentric rings are their clusters.
    """
    fits = {}
    for tails in _TAILS:
        law = f_law(d, tails)
        scale = max(float(np.median(squares)), 1e-300) / law.median()
        fits[tails] = (law.logpdf(np.maximum(squares, 1e-300) / scale) - np.log(scale)).sum()
    return max(fits, key=lambda tails: fits[tails])
