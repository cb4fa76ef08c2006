"""The features of points whose clusterings are combined, matched by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import typer

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble


def check(consensus: str, features: str | None) -> None:
    """Refuse a missing table of features, and one that would be read for nothing."""
    from clusterscape.combine import METHODS

    use = "none" if consensus == "auto" else METHODS[consensus].features
    if use == "needed" and features is None:
        raise typer.BadParameter(
            f"{consensus} needs the points' features beside their clusterings; give the table.",
            param_hint="--features",
        )
    if use == "none" and features is not None:
        able = [name for name, method in METHODS.items() if method.features != "none"]
        raise typer.BadParameter(
            f"{consensus} does not use features; leave them out, or choose one of "
            f"{', '.join(able)}.",
            param_hint="--features",
        )


def read(path: str, ensemble: Ensemble, *, scale: str, quiet: bool) -> Any:
    """Return the features in the order of the ensemble's points."""
    from clusterscape.cli import _work

    # Where the clusterings have ids, the table's column of ids is found as for any table.
    table, _ = _work.read(path, {}, quiet=quiet)
    X, _ = _work.scaled(table.X, scale)
    if table.ids is None or ensemble.index is None:
        if table.n_points != ensemble.n_points:
            raise typer.BadParameter(
                f"{path} has {table.n_points:,} rows and the clusterings {ensemble.n_points:,} "
                "points; without ids in both they must be the same points in the same order.",
                param_hint="--features",
            )
        return X
    place = {str(name): i for i, name in enumerate(table.ids)}
    absent = [name for name in ensemble.index if str(name) not in place]
    if absent:
        raise typer.BadParameter(
            f"{path} has no row for {len(absent):,} of the {ensemble.n_points:,} points, the first "
            f"of them {absent[0]!r}.",
            param_hint="--features",
        )
    return X[np.array([place[str(name)] for name in ensemble.index])]
