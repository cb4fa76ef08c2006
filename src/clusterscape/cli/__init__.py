"""The command line: one file per verb. Nothing heavy is imported before a verb starts to work.

``app`` joins the verbs, ``options`` declares what they share, ``inputs`` reads tables and labels,
``output`` checks and writes files, ``console`` words messages and errors, ``findings`` results.
"""

from __future__ import annotations


def main() -> None:
    """Run the command ``clusterscape``."""
    from clusterscape.cli.app import app

    app()
