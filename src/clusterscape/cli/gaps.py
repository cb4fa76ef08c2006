"""Tables with gaps and words: members on the columns that points have, and Gower's distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.generate import EnsembleGenerator
    from clusterscape.io import Table


def metric(reading: opt.Reading) -> Literal["precomputed"] | None:
    """Return what the clusterer is given: distances with --categories gower, else features."""
    return "precomputed" if reading.categories == "gower" else None


def on_present_columns(
    reading: opt.Reading, preparing: opt.Preparing, *, generator: str | None, resume: bool
) -> bool:
    """Say whether members are made on columns that many points have, which excludes other options.

    Distances (--categories gower) pass over gaps, and need no such members.
    """
    if reading.missing != "members" or reading.categories == "gower":
        return False
    if resume or generator is not None or preparing != opt.Preparing():
        raise typer.BadParameter(
            "clusterings on the columns that points have take no --generator, --resume, --log, "
            "--top-variable and --pca; leave these out.",
            param_hint="--missing",
        )
    return True


def generator_of(clusters: Any, algorithm: str | None) -> EnsembleGenerator:
    """Return how each member clusters its part of the table."""
    from clusterscape.generate import EnsembleGenerator

    least = clusters[0] if isinstance(clusters, tuple) else clusters
    least = least if isinstance(least, int) else 2
    return EnsembleGenerator(algorithm=algorithm or "kmeans", n_clusters=(max(least, 2), "sqrt"))


def clusterings(
    table: Table,
    generator: EnsembleGenerator,
    partitions: int,
    *,
    scale: str,
    seed: int,
    jobs: int,
    quiet: bool,
) -> Ensemble:
    """Return clusterings on columns that many points have, and say how many see each point."""
    import pandas as pd

    from clusterscape.cli import inputs
    from clusterscape.generate import present_columns

    if isinstance(table.X, pd.DataFrame):  # words among them
        raise typer.BadParameter(
            "clusterings on the columns that points have need numbers; add --categories gower, "
            "which compares words too, or --categories drop.",
            param_hint="--missing",
        )
    # There are no words, so that "auto" is read as without them.
    X = inputs.framed(table.X, table)
    X, _ = inputs.scaled(X, scale, opt.Reading(), str(generator.algorithm))
    ensemble = present_columns(
        X,
        partitions,
        generator=generator,
        index=table.ids,
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
    )
    seen = (ensemble.labels != -2).sum(axis=1)
    say(
        f"{table.source}: every point is in {seen.min():,} to {seen.max():,} of the "
        f"{partitions:,} clusterings.",
        quiet=quiet,
    )
    return ensemble
