"""``clusterscape generate``: many clusterings of a table, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import verb


@verb
def generate(
    data: opt.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .npz or .parquet keep everything, .csv the labels alone.",
            rich_help_panel="Output",
        ),
    ] = Path("ensemble.npz"),
    clusters: opt.Clusters = None,
    partitions: opt.Partitions = 100,
    generator: opt.Generator = "random_k",
    algorithm: opt.Algorithm = None,
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Keep finished clusterings in the folder FILE.store, and go on from those there.",
            rich_help_panel="The work",
        ),
    ] = False,
    id_column: opt.IdColumn = None,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster a table many times and write all the clusterings.

    With the same options and seed these are the clusterings that 'clusterscape run' makes.
    --clusters is the number that a consensus is to have: members take at least as many.
    """
    from clusterscape.cli import _files, _labels, _work

    _work.check_generator(generator, algorithm)
    _files.check(output, [data], _labels.ENSEMBLES)
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    table, _ = _work.read(data, reading, quiet=quiet)
    X, _ = _work.scaled(table.X, scale)
    model = _work.make_model(
        clusters=clusters,
        generator=generator,
        partitions=partitions,
        seed=seed,
        jobs=jobs,
        quiet=quiet,
        store=output.with_name(output.name + ".store") if resume else None,
    )
    _work.choose_algorithm(model, algorithm, table)
    ensemble = model.make_generator(table.n_points, table.n_features).generate(X, index=table.ids)
    _labels.write(ensemble, output)
    _labels.show(ensemble, output, json=json, quiet=quiet)
