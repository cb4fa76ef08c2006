"""The features of points whose clusterings are combined, matched by their ids."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import typer

from clusterscape.cli._console import say

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.io import Table


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


class Labels(Protocol):
    """What is known of the files of labels."""

    title: str

    @property
    def given_ids(self) -> str | None:
        """The column of ids that was asked for and found."""

    def id_column(self) -> str | None:
        """Return the name of the column of ids."""


def arranged(table: Table, ensemble: Ensemble, labels: Labels, *, quiet: bool) -> Any:
    """Return the features in the order of the ensemble's points."""
    n = ensemble.n_points
    ids = None if ensemble.index is None else [str(name) for name in ensemble.index]
    if ids is None:
        # Ids that only count the points are not kept; the table may count in another order.
        counted = [str(i) for i in range(n)]
        named = set(_names(table)) >= set(counted)
        if (named or _holding(table, counted)) and labels.id_column() is not None:
            ids = counted
    if ids is not None and table.ids is not None:
        return _by_id(table, ids)
    if ids is not None:
        _refuse_hidden_ids(table, ids, labels)
    if table.ids is not None:
        _refuse_ids_as_clusters(table, ensemble, labels)
    if table.n_points != n:
        raise typer.BadParameter(
            f"{table.source} has {table.n_points:,} rows and the clusterings {n:,} "
            "points; without ids in both they must be the same points in the same order.",
            param_hint="--features",
        )
    if (ids is None) != (table.ids is None):
        sides = (table.source, labels.title)
        have, lack = sides if ids is None else sides[::-1]
        say(
            f"matched by position: {have} has ids and {lack} none, so the first row of "
            f"{table.source} is taken for the first point of {labels.title}, and so on.",
            quiet=quiet,
        )
    return table.X


def scaled(X: Any, how: str) -> Any:
    """Return the features of the points, in the units in which distances are taken."""
    from clusterscape.cli import _work

    return _work.scaled(X, how)[0]


def _names(table: Table) -> list[str]:
    return [] if table.ids is None else [str(name) for name in table.ids]


def _by_id(table: Table, ids: list[str]) -> Any:
    """Return the rows that belong to the ids."""
    place = {name: i for i, name in enumerate(_names(table))}
    absent = [name for name in ids if name not in place]
    if absent:
        raise typer.BadParameter(
            f"{table.source} has no row for {len(absent):,} of the {len(ids):,} points, the first "
            f"of them {absent[0]!r}.",
            param_hint="--features",
        )
    return table.X[np.array([place[name] for name in ids])]


def _refuse_hidden_ids(table: Table, ids: list[str], labels: Labels) -> None:
    """Refuse a feature that holds the ids: rows in another order would be matched wrongly."""
    column = _holding(table, ids)
    if column is None:
        return
    if labels.given_ids is None:
        remedy = f"if it names the rows, say --id-column {shlex.quote(column)}"
    else:
        remedy = f"if it names the rows, call it {labels.given_ids!r} in both files"
    own = labels.id_column()
    if own is not None:
        remedy += (
            "; if it is a measurement, match the rows by position with "
            f"--exclude {shlex.quote(own)}"
        )
    raise typer.BadParameter(
        f"the column {column!r} of {table.source} holds the ids of the points of {labels.title}, "
        f"but was not read as ids; {remedy}.",
        param_hint="--features",
    )


def _refuse_ids_as_clusters(table: Table, ensemble: Ensemble, labels: Labels) -> None:
    """Refuse a clustering whose clusters are the ids of the features, one a point."""
    known = set(_names(table))
    for i, name in enumerate(ensemble.names):
        if i in ensemble.soft:
            continue
        found = {str(label) for label in ensemble.partition(i)}
        if len(found) == ensemble.n_points > 1 and found <= known:
            raise typer.BadParameter(
                f"the column {name!r} of {labels.title} holds the ids of the rows of "
                f"{table.source}, but was not read as ids; if it names the points, say "
                f"--id-column {shlex.quote(name)}, otherwise leave it out with --exclude "
                f"{shlex.quote(name)}.",
                param_hint="--features",
            )


def _holding(table: Table, ids: list[str]) -> str | None:
    """Return the name of a feature whose values differ in every row and hold all the ids."""
    try:
        wanted = np.sort(np.array(ids, dtype=np.float64).astype(table.X.dtype))
    except ValueError:
        return None  # the ids are words, and features are numbers
    if len(ids) < 2 or table.n_points < len(ids) or not np.isfinite(wanted).all():
        return None
    low, high = (_dense(ends) for ends in (table.X.min(axis=0), table.X.max(axis=0)))
    for j in np.flatnonzero((low <= wanted[0]) & (high >= wanted[-1])):
        values = np.unique(_dense(table.X[:, [j]]))
        if values.size == table.n_points and np.isin(wanted, values).all():
            return table.feature_names[j]
    return None


def _dense(values: Any) -> np.ndarray:
    return np.ravel(values.toarray() if hasattr(values, "toarray") else np.asarray(values))
