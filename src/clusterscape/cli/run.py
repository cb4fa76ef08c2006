"""``clusterscape run``: from a table to labels with a confidence for every point."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import say, verb


@verb
def run(
    data: opt.Data,
    output: opt.Folder = Path("clusterscape-output"),
    clusters: opt.Clusters = None,
    partitions: opt.Partitions = 100,
    generator: opt.Generator = "random_k",
    algorithm: opt.Algorithm = None,
    consensus: opt.Consensus = "auto",
    scale: opt.Scale = "auto",
    references: opt.References = 10,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Keep finished clusterings in DIR/store, and go on from those found there.",
            rich_help_panel="The work",
        ),
    ] = False,
    id_column: opt.IdColumn = None,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    reference: opt.Reference = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    force: opt.Force = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster a table many times and write one answer with a confidence for every point.

    Writes labels.csv (id, label, confidence), ensemble.npz (all clusterings), consensus.png,
    k_selection.png (when the eigengap chose the number of clusters) and run.json (every parameter,
    seed, version and finding) into DIR, all of them or none. run.json records --jobs, so it alone
    differs between numbers of workers. Points without ids are numbered from 0.
    """
    from clusterscape.cli import _files, _words, _work

    _work.check_generator(generator, algorithm)
    _work.check_consensus(consensus, clusters)
    _work.check_folder(output, force)
    _files.keep_inputs([output / name for name in _words.FILES], [data])
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    table, origin = _work.read(data, reading, reference=reference, quiet=quiet)
    X, done = _work.scaled(table.X, scale)
    model = _work.make_model(
        clusters=clusters,
        generator=generator,
        partitions=partitions,
        consensus=consensus,
        references=references,
        seed=seed,
        jobs=jobs,
        quiet=quiet,
        store=output / _work.STORE if resume else None,
    )
    say(
        f"clustering {table.n_points:,} points with {table.n_features:,} features "
        f"{partitions:,} times ({generator}, scaling: {done}).",
        quiet=quiet,
    )
    _work.choose_algorithm(model, algorithm, table)
    _work.fit(model, X, table.ids)
    asked = {
        "clusters": clusters,
        "partitions": partitions,
        "generator": generator,
        "algorithm": algorithm,
        "consensus": consensus,
        "scale": scale,
        "scaled": done,
        "references": references,
        "seed": seed,
        "jobs": jobs,
        "resume": resume,
        "reference": reference,
        **reading,
    }
    found = _words.result(model, ids=table.ids, reference=table.labels)
    report = _work.report_on(model, command="run", origin=origin, parameters=asked, result=found)
    report = _work.save(output, model, ids=table.ids, report=report)
    _words.show(report, output, json=json, quiet=quiet)
