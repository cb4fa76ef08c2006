"""Class pages: show the members that clusterscape defines, and escape trailing underscores.

scikit-learn's docstrings refer to pages of its own site, which do not exist here.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Skip members of other libraries; leave the rest to autodoc."""
    function = getattr(obj, "fget", obj)
    function = getattr(function, "__func__", function)
    home = getattr(function, "__module__", None) or "clusterscape"
    if not home.startswith("clusterscape"):
        return True
    # scikit-learn adds these to every estimator for its metadata routing.
    if name.startswith("set_") and name.endswith("_request"):
        return True
    return None


# "name : (n, n_clusters_) array": a trailing underscore would be a link in reStructuredText.
_TYPE_LINE = re.compile(r"(\s*[\w*, ]+ : )(.*)")
_TRAILING = re.compile(r"(?<![\w`\\])(\w+)_(?![\w`])")


def escape(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape names of fitted attributes in the types of parameters and attributes."""
    for i, line in enumerate(lines):
        match = _TYPE_LINE.fullmatch(line)
        if match:
            lines[i] = match.group(1) + _TRAILING.sub(r"\1\\_", match.group(2))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both functions."""
    app.connect("autodoc-skip-member", skip)
    # Before numpydoc, which listens with the ordinary priority of 500.
    app.connect("autodoc-process-docstring", escape, priority=400)
    return {"parallel_read_safe": True}
