"""Show on a class page the members written in this house, not those of scikit-learn.

scikit-learn's docstrings refer to pages of its own site, which do not exist here.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Skip members of other libraries; leave the rest to autodoc."""
    function = getattr(obj, "fget", obj)
    function = getattr(function, "__func__", function)
    home = getattr(function, "__module__", None) or "clusterscape"
    if not home.startswith("clusterscape"):
        return True
    # scikit-learn hangs these on every estimator for its metadata routing.
    if name.startswith("set_") and name.endswith("_request"):
        return True
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the filter."""
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
