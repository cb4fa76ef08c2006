"""``python -m clusterscape`` is the command ``clusterscape``."""

from __future__ import annotations

from clusterscape.cli import main

if __name__ == "__main__":
    main()
