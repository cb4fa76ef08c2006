"""The parameters that ForestGrower and ClusterForest share: their rules and descriptions."""

from __future__ import annotations

import textwrap
from typing import TypeVar

from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Flag,
    Integer,
    Null,
    Rules,
    Seed,
)

C = TypeVar("C", bound=type)

# How a vector grows; ClusterForest hands these to its ForestGrower as they are.
GROWTH_RULES: Rules = {
    "features_per_draw": (Integer(1),),
    "n_competitors": (Integer(1),),
    "patience": (Integer(1),),
    "kappa": (Choice("pairs", "anova"),),
    "allow_duplicates": (Flag(),),
    "min_distinct": (Null(), Integer(1)),
    "exhaustive": (Flag(),),
    "algorithm": (Choice("lloyd", "hartigan"),),
    "n_init": (Integer(1),),
    "max_iter": (Integer(1),),
}
RUN_RULES: Rules = {"random_state": (Seed(),), "n_jobs": N_JOBS, "progress": PROGRESS}

_GROWTH_WORDS = """\
features_per_draw : int
    Columns drawn at a time, all different (b in the paper); all columns when there are fewer.
n_competitors : int
    Draws that compete to start a vector (q in the paper); the one with the least kappa wins. More
    of them help where most columns are noise, and make the vectors alike.
patience : int
    A vector is finished after this many draws in a row that did not lower kappa (tau_m in the
    paper, where it is 3; then single columns of a large scale decide more often).
kappa : {"anova", "pairs"}
    Sums of squares around the means, or squared distances over pairs of points (within clusters
    over between them), as in the proofs of the paper.
allow_duplicates : bool
    Whether a column that a vector has can be drawn again; it then counts twice in k-means.
min_distinct : int, optional
    Least number of distinct rows on a vector's first columns; by default the number of clusters
    of each vector. Draws with fewer are repeated, at most 1,000 times; if they never suffice, the
    vector begins with the first columns of X that separate enough rows. A draw with as many
    distinct rows as clusters has kappa 0, and the vector ends with it.
exhaustive : bool
    After the first columns try all others once, in random order. ``patience`` and
    ``allow_duplicates`` are then not used.
algorithm : {"lloyd", "hartigan"}
    k-means by batch updates until no label changes, or by exchange of single points (Hartigan and
    Wong).
n_init : int
    Starts of each k-means, from random rows that differ on the first columns. A vector keeps its
    starting rows, and its current partition is one more start.
max_iter : int
    Largest number of iterations of a start."""

_RUN_WORDS = """\
random_state : int, RandomState, Generator, SeedSequence or None
    The same seed gives the same result for any ``n_jobs``.
n_jobs : int or None
    Number of workers; vectors grow independently, in threads.
progress : bool or None
    Show progress on stderr; None shows it only on a terminal."""

_REFERENCES = """\
.. [1] D. Yan, A. Chen and M. I. Jordan, "Cluster Forests", Computational Statistics & Data
   Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010"""


def documented(cls: C) -> C:
    """Put the descriptions of the shared parameters into the docstring of a class."""
    if cls.__doc__ is not None:  # python -OO has none
        for mark, words in (
            ("<growth parameters>", _GROWTH_WORDS),
            ("<run parameters>", _RUN_WORDS),
            ("<references>", _REFERENCES),
        ):
            cls.__doc__ = cls.__doc__.replace("    " + mark, textwrap.indent(words, "    "))
    return cls
