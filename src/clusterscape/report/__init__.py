"""One page that shows a result: what was found, how far to believe it, and the alternatives."""

from __future__ import annotations

from clusterscape.report.choices import Choices, ChoicesError
from clusterscape.report.contents import collect
from clusterscape.report.page import render, write
from clusterscape.report.server import ReportServer

__all__ = ["Choices", "ChoicesError", "ReportServer", "collect", "render", "write"]
