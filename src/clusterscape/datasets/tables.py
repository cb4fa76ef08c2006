"""Made-up tables for the guide: customers with gaps and words, and counts of genes in cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clusterscape._core.params import Integer, Number, Seed, checked
from clusterscape._core.seeds import RandomState, root_sequence

# Kinds of customers: share, age, visits a year, money per visit, share of gold plans.
_KINDS = {
    "occasional": (0.40, 38.0, 3.0, 25.0, 0.05),
    "regular": (0.30, 45.0, 30.0, 30.0, 0.35),
    "big spender": (0.18, 55.0, 10.0, 260.0, 0.8),
    "student": (0.12, 22.0, 48.0, 9.0, 0.0),
}
_BETWEEN = 0.05  # share of customers between two kinds


@checked({"n": [Integer(4)], "missing": [Number(0, 0.9)], "random_state": [Seed()]})
def make_customers(
    n: int = 300, *, missing: float = 0.02, random_state: RandomState = None
) -> tuple[pd.DataFrame, np.ndarray]:
    """Make a table of customers of four kinds, some of them between two kinds.

    Parameters
    ----------
    n : int
        Number of customers.
    missing : float
        Share of the ages and of the plans that are missing.
    random_state : int, generator or None
        The same seed gives the same table.

    Returns
    -------
    pandas.DataFrame
        ``customer`` (an id), ``age``, ``visits``, ``spent``, ``plan`` (a word) and ``newsletter``
        ("yes" or "no").
    (n,) array of str
        The kind of every customer; "between" for those who mix two.

    See Also
    --------
    make_cells : Counts of genes in cells.

    Examples
    --------
    >>> from clusterscape.datasets import make_customers
    >>> frame, kinds = make_customers(5, missing=0, random_state=0)
    >>> list(frame.columns)
    ['customer', 'age', 'visits', 'spent', 'plan', 'newsletter']
    """
    rng = np.random.default_rng(root_sequence(random_state))
    names = list(_KINDS)
    figures = np.array([_KINDS[name][1:] for name in names])
    kind = rng.choice(len(names), size=n, p=[_KINDS[name][0] for name in names])
    between = rng.random(n) < _BETWEEN
    other = (kind + 1 + rng.integers(0, len(names) - 1, size=n)) % len(names)
    # Between two kinds means half of each, on a logarithmic scale for amounts.
    share = np.where(between, 0.5, 0.0)[:, None]
    age, visits, money, gold = np.exp(
        (1 - share) * np.log(figures[kind] + 1e-6) + share * np.log(figures[other] + 1e-6)
    ).T
    visits_made = rng.poisson(visits) + 1
    frame = pd.DataFrame(
        {
            "customer": [f"c{i + 1:04d}" for i in range(n)],
            "age": np.round(rng.normal(age, 4.0).clip(18, 95)),
            "visits": visits_made,
            "spent": np.round(visits_made * money * rng.lognormal(0, 0.25, size=n), 2),
            "plan": np.where(rng.random(n) < gold, "gold", "basic").astype(object),
            "newsletter": np.where(rng.random(n) < 0.5, "yes", "no"),
        }
    )
    frame.loc[rng.random(n) < missing, "age"] = np.nan
    frame.loc[rng.random(n) < missing, "plan"] = None
    return frame, np.where(between, "between", np.array(names)[kind])


@checked(
    {
        "n_cells": [Integer(2)],
        "n_genes": [Integer(10)],
        "n_kinds": [Integer(1)],
        "random_state": [Seed()],
    }
)
def make_cells(
    n_cells: int = 90,
    n_genes: int = 500,
    *,
    n_kinds: int = 6,
    random_state: RandomState = None,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Make counts of genes in single cells of several kinds.

    Every kind has genes of its own that are read more often; counts are negative binomial, and
    cells differ in how much of them was read. A stand-in for real sets such as ``sc_yan``, whose
    file must be downloaded.

    Parameters
    ----------
    n_cells, n_genes : int
        Size of the table.
    n_kinds : int
        Kinds of cells, of unequal size.
    random_state : int, generator or None
        The same seed gives the same counts.

    Returns
    -------
    pandas.DataFrame
        Counts: one row per cell, one column per gene.
    (n_cells,) array of str
        The kind of every cell.

    See Also
    --------
    load : Real sets by name.

    Examples
    --------
    >>> from clusterscape.datasets import make_cells
    >>> counts, kinds = make_cells(20, 50, n_kinds=2, random_state=0)
    >>> counts.shape, sorted(set(kinds.tolist()))
    ((20, 50), ['kind 1', 'kind 2'])
    """
    rng = np.random.default_rng(root_sequence(random_state))
    shares = 1.0 / np.arange(1, n_kinds + 1) ** 0.5
    kind = np.sort(rng.choice(n_kinds, size=n_cells, p=shares / shares.sum()))
    base = rng.lognormal(0.5, 1.2, size=n_genes)
    own = max(1, n_genes // 12)
    rates = np.tile(base, (n_kinds, 1))
    for k in range(n_kinds):
        marked = rng.choice(n_genes, size=own, replace=False)
        rates[k, marked] *= rng.lognormal(1.8, 0.4, size=own)
    depth = rng.lognormal(0, 0.35, size=n_cells)
    mean = rates[kind] * depth[:, None]
    spread = 2.0
    counts = rng.negative_binomial(spread, spread / (spread + mean))
    frame = pd.DataFrame(
        counts,
        index=[f"cell{i + 1}" for i in range(n_cells)],
        columns=[f"gene{j + 1}" for j in range(n_genes)],
    )
    return frame, np.array([f"kind {k + 1}" for k in kind])
