"""Distances and similarities between partitions, one pair at a time or all pairs of an ensemble.

Every measure is a function ``measure(a, b)`` of two partitions and an entry of ``MEASURES``, which
says whether it is symmetric, a metric, bounded or corrected for chance. ``register_measure`` adds
one of your own.
"""

from __future__ import annotations

from clusterscape.compare.all_pairs import PairwiseResult, pairwise
from clusterscape.compare.density import density_distance, density_distances
from clusterscape.compare.element import element_centric, element_consistency
from clusterscape.compare.explanation import Explanation, explain
from clusterscape.compare.information import (
    ami,
    average_nmi,
    information_distance,
    mutual_information,
    nmi,
    nvi,
    vi,
)
from clusterscape.compare.lift import lift_emd, lift_hausdorff, lift_kernel
from clusterscape.compare.matching import accuracy, purity
from clusterscape.compare.pair_counting import (
    adjusted_rand,
    fowlkes_mallows,
    jaccard_distance,
    mirkin,
    pair_accuracy,
    rand_distance,
)
from clusterscape.compare.registry import (
    MEASURES,
    Measure,
    register_measure,
    unregister_measure,
)
from clusterscape.compare.spatial import adco, cc_distance, cdistance
from clusterscape.compare.tables import contingency_table
from clusterscape.compare.utilities import category_utility, ensemble_utility, utility

__all__ = [
    "MEASURES",
    "Explanation",
    "Measure",
    "PairwiseResult",
    "accuracy",
    "adco",
    "adjusted_rand",
    "ami",
    "average_nmi",
    "category_utility",
    "cc_distance",
    "cdistance",
    "contingency_table",
    "density_distance",
    "density_distances",
    "element_centric",
    "element_consistency",
    "ensemble_utility",
    "explain",
    "fowlkes_mallows",
    "jaccard_distance",
    "lift_emd",
    "lift_hausdorff",
    "lift_kernel",
    "mirkin",
    "mutual_information",
    "nmi",
    "information_distance",
    "nvi",
    "pair_accuracy",
    "pairwise",
    "purity",
    "rand_distance",
    "register_measure",
    "unregister_measure",
    "utility",
    "vi",
]
