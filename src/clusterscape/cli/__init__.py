"""The command line: one thin file a verb. Nothing heavy is loaded before a verb is at work."""

from __future__ import annotations


def main() -> None:
    """Run the command ``clusterscape``."""
    from clusterscape.cli._app import app

    app()
