"""``clusterscape run``: from a table to labels with a confidence for every point."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb


@verb
def run(
    data: opt.Data,
    *,
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
            help="Keep finished clusterings in DIR/store, and continue from those found there.",
            rich_help_panel=opt.WORK,
        ),
    ] = False,
    reference: opt.Reference = None,
    force: opt.Force = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Cluster a table many times and write one answer with a confidence for every point.

    Writes labels.csv (id, label, confidence), ensemble.npz (all clusterings), consensus.png,
    k_selection.png (when the eigengap chose the number of clusters) and run.json (the columns used,
    every parameter, seed, version and finding) into DIR, all of them or none. run.json records
    --jobs, so it alone differs between numbers of workers. Points without ids are numbered from 0.

    Example: `clusterscape run wine.csv --clusters 3 --reference class -o result`
    """
    from clusterscape.cli import findings, inputs
    from clusterscape.cli import output as out
    from clusterscape.cli.generate import choose_algorithm
    from clusterscape.model import ConsensusClustering

    quiet = printing.quiet
    opt.check_generator(generator, algorithm)
    opt.check_consensus(consensus, clusters)
    out.check_folder(output, force)
    out.keep_inputs([output / name for name in out.FILES], [data])
    table, origin = inputs.read_table(data, reading, reference=reference, quiet=quiet)
    X, done = inputs.scaled(table.X, scale)
    model = ConsensusClustering(
        clusters,
        generator=generator,
        n_partitions=partitions,
        consensus=consensus,
        n_references=references,
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
        store=str(output / out.STORE) if resume else None,
    )
    choose_algorithm(model, algorithm, table)
    say(
        f"clustering {table.n_points:,} points with {table.n_features:,} features "
        f"{partitions:,} times ({generator}, scaling: {done}).",
        quiet=quiet,
    )
    model.fit(X)
    if table.ids is not None:
        model.ensemble_ = model.ensemble_.with_index(table.ids)
    parameters = {
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
        **reading.arguments(data),
    }
    found = findings.of_model(model, ids=table.ids, reference=table.labels)
    report = out.run_report(
        model, command="run", origin=origin, parameters=parameters, result=found
    )
    report = out.save_run(output, model, ids=table.ids, report=report)
    out.show_run(report, output, json=printing.json, quiet=quiet)
