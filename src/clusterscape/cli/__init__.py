"""The command line: one thin file a verb. Nothing heavy is loaded before a verb is at work."""

from __future__ import annotations


def main() -> None:
    """Run the command ``clusterscape``."""
    import gc

    # The imports make a million objects that live to the end, and looking through them for garbage
    # takes a tenth of a short run.
    gc.set_threshold(50_000, 20, 20)
    from clusterscape.cli._app import app

    app()
