"""The command with all its verbs, as one object: for tests and for programs that embed it."""

from __future__ import annotations

from clusterscape.cli.command import command

app = command()
