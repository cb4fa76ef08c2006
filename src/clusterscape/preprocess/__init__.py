"""Steps before clustering that scikit-learn does not have: mixed tables, logarithms, a selection.

They are scikit-learn transformers, so that a ``Pipeline`` says what was done to a table, and
:func:`clusterscape.io.save_model` keeps them without pickle.
"""

from __future__ import annotations

from clusterscape.preprocess.encoder import TableEncoder, UnknownCategoryWarning
from clusterscape.preprocess.gower import GowerDistances, gower_distances
from clusterscape.preprocess.logarithm import LogTransformer
from clusterscape.preprocess.scaler import MixedScaler
from clusterscape.preprocess.variable import TopVariable

__all__ = [
    "GowerDistances",
    "LogTransformer",
    "MixedScaler",
    "TableEncoder",
    "TopVariable",
    "UnknownCategoryWarning",
    "gower_distances",
]
