"""Whether chains have walked long enough: autocorrelation, effective samples, split R-hat."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.params import Integer, Null, checked, shown

_PAIRS = 500  # pairs of points whose co-membership is followed


def _in_range(values: np.ndarray) -> np.ndarray:
    """Return values in a unit in which their squares are numbers; nothing here depends on it."""
    largest = float(np.abs(values).max(initial=0.0))
    return values / largest if np.isfinite(largest) and largest > 1e100 else values


@checked({"max_lag": (Null(), Integer(1))})
def autocorrelation(values: Any, *, max_lag: int | None = None) -> np.ndarray:
    """Autocorrelation of a series, by fast Fourier transform.

    Parameters
    ----------
    values : (m,) array
        The series.
    max_lag : int, optional
        Largest lag; by default m - 1.

    Returns
    -------
    (max_lag + 1,) array
        1 at lag 0; a constant series has the value 1 at every lag.

    See Also
    --------
    effective_sample_size : How many independent draws a series is worth.

    Examples
    --------
    >>> from clusterscape.explore import autocorrelation
    >>> autocorrelation([1.0, -1.0, 1.0, -1.0], max_lag=2)
    array([ 1.  , -0.75,  0.5 ])
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or series.size == 0 or not np.isfinite(series).all():
        raise ValueError(f"values must be a series of finite numbers; got {shown(values)}.")
    series = _in_range(series)
    m = series.size
    last = m - 1 if max_lag is None else min(int(max_lag), m - 1)
    centred = series - series.mean()
    square = float(centred @ centred)
    if square <= 1e-24 * max(float(series @ series), 1e-300):
        return np.ones(last + 1)
    spectrum = np.abs(np.fft.rfft(centred, 2 * m)) ** 2
    found: np.ndarray = np.fft.irfft(spectrum)[: last + 1] / square
    return found


@checked({})
def effective_sample_size(chains: Any) -> float:
    """Number of independent draws that correlated chains are worth.

    Autocorrelations are summed as long as those of neighbouring lags have a positive sum (Geyer's
    initial sequence); differences between chains count as correlation.

    Parameters
    ----------
    chains : (c, m) or (m,) array
        One row per chain.

    Returns
    -------
    float
        At most c * m * log10(c * m); nan for fewer than four draws. Chains that never change are
        worth one draw each.

    See Also
    --------
    split_rhat : Whether chains agree.

    References
    ----------
    .. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Burkner. Rank-normalization,
       folding, and localization: an improved R-hat for assessing convergence of MCMC. Bayesian
       Analysis 16(2), 667-718, 2021. doi:10.1214/20-BA1221

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.explore import effective_sample_size
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> 1500 < effective_sample_size(draws) < 3000
    True
    >>> effective_sample_size(np.repeat(draws[:, :50], 10, axis=1)) < 300
    True
    """
    table = _in_range(np.atleast_2d(np.asarray(chains, dtype=np.float64)))
    c, m = table.shape
    if m < 4 or c == 0 or not np.isfinite(table).all():
        return float("nan")
    within = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1) if c > 1 else 0.0
    total = within * (m - 1) / m + between
    if total <= 0:
        return float(c)
    biased = np.array([row.var() for row in table])
    lagged = np.mean([autocorrelation(row) * v for row, v in zip(table, biased, strict=True)], 0)
    rho = 1.0 - (within - lagged * m / (m - 1)) / total
    pairs = rho[: 2 * (m // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if negative.size else pairs.size])
    draws = float(c * m)
    length = max(2.0 * pairs.sum() - 1.0, 1.0 / np.log10(max(draws, 10.0)))
    return float(draws / length)


@checked({})
def split_rhat(chains: Any) -> float:
    """Ratio of the deviation of all draws to that within the halves of chains.

    Near 1 when the halves of all chains look alike; above about 1.01 they do not, and more sweeps,
    more temperatures or other moves are needed.

    Parameters
    ----------
    chains : (c, m) array
        One row per chain, four draws at least.

    Returns
    -------
    float
        1 where nothing ever changes; infinity where chains stand still at different values.

    See Also
    --------
    effective_sample_size : How many independent draws the chains are worth.

    References
    ----------
    .. [1] A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari and D. B. Rubin. Bayesian
       data analysis, third edition, section 11.4. CRC Press, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.explore import split_rhat
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> split_rhat(draws) < 1.01
    True
    >>> split_rhat(draws + np.arange(4)[:, None]) > 1.5
    True
    """
    table = _in_range(np.atleast_2d(np.asarray(chains, dtype=np.float64)))
    half = table.shape[1] // 2
    if half < 2 or len(table) == 0 or not np.isfinite(table).all():
        return float("nan")
    halves = np.concatenate([table[:, :half], table[:, half : 2 * half]])
    return float(_rhat(halves[None])[0])


def _rhat(halves: np.ndarray) -> np.ndarray:
    """Return R-hat of quantities (q, halves, m)."""
    m = halves.shape[2]
    within = halves.var(axis=2, ddof=1).mean(axis=1)
    between = halves.mean(axis=2).var(axis=1, ddof=1)
    total = within * (m - 1) / m + between
    still = within <= 1e-24 * np.maximum((halves**2).mean(axis=(1, 2)), 1e-300)
    apart = between > 1e-20 * np.maximum((halves**2).mean(axis=(1, 2)), 1e-300)
    found = np.sqrt(total / np.where(still, 1.0, within))
    found[still] = np.where(apart[still], np.inf, 1.0)
    return found


@dataclass(frozen=True)
class SamplingDiagnostics:
    """How far the chains of one number of clusters can be trusted.

    Attributes
    ----------
    n_clusters, n_chains, n_samples : int
        Clusters; chains; samples of all chains.
    n_distinct : int
        Different partitions among the samples.
    rhat_quality : float
        Split R-hat of the quality.
    ess_quality : float
        Independent draws that the samples are worth, by the quality.
    rhat_pairs, rhat_pairs_largest : float
        Split R-hat of whether two points are together, over up to 500 pairs of points: the 90 %
        quantile and the largest.
    disagreement : float
        Mean difference between two chains in how often two points are together, from 0 to 1.
    moved : float
        Share of the points that change their cluster in a sweep.
    uniform : int
        Points whose candidates all had weight zero, so that one was drawn evenly.
    merge_split, subset : float
        Accepted shares of merge-split proposals and of subsets; nan where there were none.
    swaps : tuple of float
        Accepted exchanges between neighbouring powers.

    See Also
    --------
    PartitionSampler : Makes them.
    """

    n_clusters: int
    n_chains: int
    n_samples: int
    n_distinct: int
    rhat_quality: float
    ess_quality: float
    rhat_pairs: float
    rhat_pairs_largest: float
    disagreement: float
    moved: float
    uniform: int
    merge_split: float
    subset: float
    swaps: tuple[float, ...]

    @property
    def agrees(self) -> bool:
        """Whether chains from different starts look alike: both R-hats are at most 1.05."""
        return bool(self.rhat_quality <= 1.05 and self.rhat_pairs <= 1.05)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a data frame with one row."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row["swaps"] = min(self.swaps, default=float("nan"))
        return pd.DataFrame([row])


def diagnosed(
    samples: np.ndarray,
    quality: np.ndarray,
    counts: np.ndarray,
    swaps: np.ndarray,
    *,
    sweeps: int,
    n_clusters: int,
    n_distinct: int,
    rng: np.random.Generator,
) -> SamplingDiagnostics:
    """Return the diagnostics of samples (c, m, n) with their quality (c, m).

    ``counts`` and ``swaps`` are the sums over chains of what the rounds counted.
    """
    c, m, n = samples.shape
    pairs = rng.integers(n, size=(_PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    together = samples[:, :, pairs[:, 0]] == samples[:, :, pairs[:, 1]]
    rhats = np.array([float("nan")])
    half = m // 2
    if half >= 2 and len(pairs):
        moving = np.moveaxis(together, 2, 0).astype(np.float64)
        rhats = _rhat(np.concatenate([moving[..., :half], moving[..., half : 2 * half]], axis=1))
    shares = together.mean(axis=1)
    some = range(c if len(pairs) else 0)  # a single point has no pairs
    between = [np.abs(shares[i] - shares[j]).mean() for i in some for j in range(i)]
    first = counts[0]
    return SamplingDiagnostics(
        n_clusters=n_clusters,
        n_chains=c,
        n_samples=c * m,
        n_distinct=n_distinct,
        rhat_quality=split_rhat(quality),
        ess_quality=effective_sample_size(quality),
        rhat_pairs=float(np.quantile(rhats, 0.9, method="lower")),
        rhat_pairs_largest=float(rhats.max()),
        disagreement=float(np.mean(between)) if between else float("nan"),
        moved=float(first[0]) / (c * sweeps * n),
        uniform=int(first[1]),
        merge_split=_share(first[3], first[2]),
        subset=_share(first[5], first[4]),
        swaps=tuple(_share(made, asked) for asked, made in swaps[:-1]),
    )


def _share(made: Any, asked: Any) -> float:
    return float(made) / float(asked) if asked else float("nan")
