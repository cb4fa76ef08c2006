"""Ensembles and labels on the command line: several files in, one file out, and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from clusterscape.cli._console import say

if TYPE_CHECKING:
    from clusterscape.cli._options import Reading
    from clusterscape.ensemble import Ensemble

_ENDINGS = {".npz": "to_npz", ".parquet": "to_parquet", ".pq": "to_parquet", ".csv": "to_csv"}
ENSEMBLES = tuple(_ENDINGS)
LABELS = (".csv", ".parquet", ".pq")


def write(ensemble: Ensemble, path: Path) -> None:
    """Write an ensemble in the format that the name's ending tells."""
    getattr(ensemble, _ENDINGS[path.suffix.lower()])(path)


def read(
    files: Sequence[str],
    options: Reading,
    *,
    quiet: bool,
    one: Callable[[str], Ensemble] | None = None,
) -> tuple[Ensemble, list[str]]:
    """Read labels from files over the same points, joined by their ids; name each partition.

    ``one`` reads a single file, where ``options`` are not for all files alike.
    """
    from clusterscape.io import read_labels

    if list(files).count("-") > 1:
        raise typer.BadParameter("'-' (stdin) can be given once.", param_hint="FILES")
    get = (lambda name: read_labels(name, **options)) if one is None else one
    first, *others = (get(name) for name in files)
    if not others:
        say(f"{files[0]}: {first.describe()}.", quiet=quiet)
        return first, list(first.names)
    aligned = [
        _aligned(other, first, (name, files[0]))
        for other, name in zip(others, files[1:], strict=True)
    ]
    stems = [Path(name).name for name in files]
    titles = stems if len(set(stems)) == len(stems) else list(files)
    names = []
    for title, part in zip(titles, [first, *aligned], strict=True):
        single = part.n_partitions == 1
        names += [title if single else f"{title}:{name}" for name in part.names]
    whole = first.concat(*aligned)
    say(f"{', '.join(files)}: {whole.describe()}.", quiet=quiet)
    return whole, names


def _aligned(other: Ensemble, first: Ensemble, files: tuple[str, str]) -> Ensemble:
    """Return ``other`` with its points in the order of ``first``."""
    if other.n_points != first.n_points:
        raise ValueError(
            f"{files[0]} has {other.n_points:,} points and {files[1]} {first.n_points:,}; only "
            "clusterings of the same points can be put side by side."
        )
    if other.index is None or first.index is None:
        return other  # without ids on both sides the order decides
    mine, theirs = first.index.astype(str), other.index.astype(str)
    order = theirs.get_indexer(mine)
    if (order < 0).any():
        missing = mine[int(np.argmax(order < 0))]
        raise ValueError(
            f"the point {missing!r} of {files[1]} is not in {files[0]}; both files must hold the "
            "same ids."
        )
    return other if np.array_equal(order, np.arange(order.size)) else other.subset(order)


def show(ensemble: Ensemble, path: Path, *, json: bool, quiet: bool) -> None:
    """Print what an ensemble holds and where it is."""
    from clusterscape.io.results import json_text

    if json:
        typer.echo(json_text({"output": str(path), **facts(ensemble)}))
    elif not quiet:
        typer.echo(f"{path}: {ensemble.describe()}.")
        for i, why in ensemble.failures[:3]:
            typer.echo(f"Clustering {i} failed and holds no labels: {why}")


def facts(ensemble: Ensemble) -> dict[str, object]:
    """Return what an ensemble holds as plain values."""
    return {
        "n_points": ensemble.n_points,
        "n_partitions": ensemble.n_partitions,
        "n_clusters": ensemble.n_clusters,
        "names": ensemble.names,
        "algorithms": sorted({r.algorithm for r in ensemble.records if r.algorithm}),
        "has_ids": ensemble.index is not None,
        "has_noise": ensemble.has_noise,
        "is_complete": ensemble.is_complete,
        "is_soft": ensemble.is_soft,
        "failures": [{"partition": i, "reason": why} for i, why in ensemble.failures],
    }
