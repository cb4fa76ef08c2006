"""Many clusterings of one dataset: generate, compare, combine and validate them.

The public names are listed once, in ``__init__.pyi``. The subpackages are imported on first use, so
that ``import clusterscape`` stays light:

>>> import clusterscape as cs
>>> ensemble = cs.Ensemble.from_labels([[0, 0, 1, 1], ["a", "a", "a", "b"]])
>>> ensemble.n_partitions
2
"""

from __future__ import annotations

from clusterscape._core.lazy import names_of_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
__all__ += ["__version__"]
