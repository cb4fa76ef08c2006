"""The compiled loops, and nothing else.

Modules here are imported on first use (``kernels.labels.contingency(...)``), because importing
numba costs half a second. Import this package, never one of its modules, at the top of a file.
Every kernel is sequential and releases the GIL; parallelism is one joblib call above them.
"""

from __future__ import annotations

from clusterscape._core.lazy import modules_of_folder

__getattr__, __dir__, __all__ = modules_of_folder(__name__, __path__)
