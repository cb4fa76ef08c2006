"""``clusterscape generate``: many clusterings of a table, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import verb

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.io import Table
    from clusterscape.model import ConsensusClustering


@verb
def generate(
    data: opt.Data,
    *,
    output: Annotated[
        Path,
        opt.output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .npz or .parquet keep everything, .csv the labels alone.",
        ),
    ] = Path("ensemble.npz"),
    clusters: opt.Clusters = None,
    partitions: opt.Partitions = 100,
    generator: opt.Generator = None,
    algorithm: opt.Algorithm = None,
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    resume: Annotated[
        bool,
        opt.work_option(
            "--resume",
            help="Keep finished clusterings in the folder FILE.store, and continue from those "
            "found there.",
        ),
    ] = False,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    preparing: opt.Preparing,
    printing: opt.Printing,
) -> None:
    """Cluster a table many times and write all the clusterings.

    With the same options and seed these are the clusterings that 'clusterscape run' makes.
    --clusters is the number of clusters of a later consensus: the clusterings have at least as
    many.

    Example: `clusterscape generate wine.csv --exclude class -r 200 -o ensemble.npz`
    """
    from clusterscape.cli import gaps, inputs
    from clusterscape.cli import output as out
    from clusterscape.model import ConsensusClustering

    given, generator = generator, opt.chosen_generator(generator, algorithm)
    out.check_file(output, [data], out.ENSEMBLES, force=force)
    quiet = printing.quiet
    if gaps.on_present_columns(reading, preparing, generator=given, resume=resume):
        table, _ = inputs.read_table(data, reading, compares=False, keep=True, quiet=quiet)
        ensemble = gaps.clusterings(
            table, gaps.generator_of(clusters, algorithm), partitions,
            scale=scale, seed=seed, jobs=jobs, quiet=quiet,
        )  # fmt: skip
        _written(ensemble, output, printing)
        return
    tried = inputs.tried(scale, preparing)
    table, _ = inputs.read_table(data, reading, compares=False, keep=True, done=tried, quiet=quiet)
    done = inputs.scaling_of(table, reading, scale, algorithm)
    X = inputs.transformed(
        table, inputs.steps(table, reading, preparing, scale=done, seed=seed, quiet=quiet)
    )
    model = ConsensusClustering(
        clusters,
        generator=generator,
        metric=gaps.metric(reading),
        n_partitions=partitions,
        random_state=seed,
        n_jobs=jobs,
        progress=False if printing.quiet else None,
        store=str(output.with_name(output.name + ".store")) if resume else None,
    )
    choose_algorithm(model, algorithm, table)
    made = model.make_generator(*X.shape, sparse=hasattr(X, "tocsr"))
    ensemble = made.generate(X, index=table.ids)
    _written(ensemble, output, printing)


def _written(ensemble: Ensemble, output: Path, printing: opt.Printing) -> None:
    """Write the clusterings, and say what they are."""
    from clusterscape.cli import output as out
    from clusterscape.io.results import json_text

    out.write_ensemble(ensemble, output)
    if printing.json:
        typer.echo(json_text({"output": str(output), **out.ensemble_facts(ensemble)}))
    elif not printing.quiet:
        typer.echo(f"{output}: {ensemble.describe()}.")
        for i, why in ensemble.failures[:3]:
            typer.echo(f"Clustering {i} failed and holds no labels: {why}")


def choose_algorithm(model: ConsensusClustering, algorithm: str | None, table: Table) -> None:
    """Give the model the generator that it would make, with another base clusterer."""
    if algorithm is not None:
        made = model.make_generator(table.n_points, table.n_features)
        model.set_params(generator=made.set_params(algorithm=algorithm))
