"""Clustering with some knowledge: must-links, cannot-links, labels of a few points.

The public names are listed once, in ``__init__.pyi``, and loaded on first use.
"""

from __future__ import annotations

from clusterscape._core.lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
