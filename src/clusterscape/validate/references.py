"""Reference data without clusters: what data are compared with before clusters are believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import f as f_law
from scipy.stats import rankdata

_SHARES = np.array([0.25, 0.15, 0.1, 0.05, 0.025])  # of the quantiles that a curve goes through
_NORMAL = -ndtri(_SHARES)
_HEAVY, _LIGHT, _SKEW = 0.6, -0.35, 1.5  # limits of the curves
_TAILS = (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class Shape:
    """A sample of the data, and what its references keep of it.

    Attributes
    ----------
    table : (n, d) array
        The sample.
    ordered : (n, d) array
        The values of every column in order.
    root : (d, r) array
        Root of the correlation matrix of the normal scores.
    tails : float
        Degrees of freedom of the multivariate t whose distances from the middle are most like
        those of the sample.
    """

    table: np.ndarray
    ordered: np.ndarray
    root: np.ndarray
    tails: float

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


@dataclass(frozen=True)
class SmoothShape:
    """Skewness, tails and correlations of the data, for references with one mode in every column.

    Every column is a monotone curve of a normal variable, Tukey's g-and-h distribution [1]_ fitted
    to its quantiles: g is the skewness, and h the weight of the tails. The normal variables have
    the rank correlations of the data.

    References
    ----------
    .. [1] D. C. Hoaglin, "Summarizing shape numerically: the g-and-h distributions", in Exploring
       Data Tables, Trends, and Shapes, Wiley, 1985. doi:10.1002/9781118150702.ch11
    """

    middle: np.ndarray
    scale: np.ndarray
    skew: np.ndarray
    tails: np.ndarray
    root: np.ndarray  # of the correlation matrix of the normal scores

    @classmethod
    def of(cls, X: np.ndarray) -> SmoothShape:
        """Measure the columns."""
        low, high = np.quantile(X, _SHARES, axis=0), np.quantile(X, 1 - _SHARES, axis=0)
        middle, deviation = np.median(X, axis=0), X.std(axis=0)
        above, below = high - middle, middle - low
        stepped = (above <= 0).any(axis=0) | (below <= 0).any(axis=0)  # of counts, say
        above, below = (np.where(stepped, 1.0, part) for part in (above, below))
        z = _NORMAL[:, None]
        skew = np.clip(np.median(np.log(above / below) / z, axis=0), -_SKEW, _SKEW)
        straight = np.abs(skew) < 1e-3
        core = np.where(straight, 2 * z, 2 * np.sinh(skew * z) / np.where(straight, 1.0, skew))
        spread, square = np.log((above + below) / core), z**2 / 2
        centred = square - square.mean()
        slope = (centred * spread).sum(axis=0) / (centred**2).sum()
        tails = np.clip(slope, _LIGHT, _HEAVY)
        scale = np.exp((spread - tails * square).mean(axis=0))
        for array, value in ((skew, 0.0), (tails, 0.0)):
            array[stepped] = value
        scale[stepped], middle[stepped] = deviation[stepped], X.mean(axis=0)[stepped]
        normal = ndtri((rankdata(X, axis=0) - 0.5) / len(X))
        return cls(middle, scale, skew, tails, covariance_factor(normal))

    def reference(
        self, n: int, rng: np.random.Generator, *, same_correlations: bool = False
    ) -> np.ndarray:
        """Return n points without clusters.

        With ``same_correlations`` the normal scores drawn have the very correlations of the data's.
        Otherwise they vary around them, so that round data get references that are less round.
        """
        z = rng.standard_normal((n, len(self.root)))
        if same_correlations:
            left, _, right = np.linalg.svd(z - z.mean(axis=0), full_matrices=False)
            z = np.sqrt(n) * left @ right
        z = z @ self.root
        limit = np.where(self.tails < 0, 1 / np.sqrt(np.maximum(-self.tails, 1e-12)), np.inf)
        z = np.clip(z, -limit, limit)  # beyond, the curve of light tails would turn back
        straight = np.abs(self.skew) < 1e-3
        core = np.where(straight, z, np.expm1(self.skew * z) / np.where(straight, 1.0, self.skew))
        return self.middle + self.scale * core * np.exp(self.tails * z**2 / 2)


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
