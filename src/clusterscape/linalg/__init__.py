"""Operators and numerical methods: arrays in, arrays out.

The public names are listed once, in ``__init__.pyi``, and loaded on first use, so that an Ensemble
does not wait for what it does not need.
"""

from __future__ import annotations

from clusterscape._core.lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
