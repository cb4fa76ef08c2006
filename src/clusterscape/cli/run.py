"""``clusterscape run``: from a table to labels with a confidence for every point."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    from clusterscape.generate import EnsembleGenerator
    from clusterscape.io import Table
    from clusterscape.model import ConsensusClustering


@verb
def run(
    data: opt.Data,
    *,
    output: opt.Folder = Path("clusterscape-output"),
    clusters: opt.ClustersOrRange = None,
    partitions: opt.Partitions = 100,
    generator: opt.Generator = None,
    algorithm: opt.Algorithm = None,
    consensus: opt.Consensus = "auto",
    scale: opt.Scale = "auto",
    references: opt.References = 10,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    resume: Annotated[
        bool,
        opt.work_option(
            "--resume",
            help="Keep finished clusterings in DIR/store, and continue from those found there.",
        ),
    ] = False,
    like: Annotated[
        Path | None,
        opt.work_option(
            "--like",
            metavar="RUN",
            help="run.json of an earlier run, or its folder: every option that is not given here "
            "is taken from it, except --output, --jobs, --resume and --force.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        opt.work_option(
            "--dask",
            metavar="ADDRESS",
            help="Work on a Dask cluster, at the address of its scheduler or 'local' (one worker "
            "for each of --jobs). TABLE is then read in blocks of rows and never whole: an NPY or "
            "h5ad file, Parquet files, or a Zarr folder.",
        ),
    ] = None,
    reference: opt.Reference = None,
    write_h5ad: opt.WriteH5ad = None,
    force: opt.Force = False,
    reading: opt.Reading,
    preparing: opt.Preparing,
    printing: opt.Printing,
) -> None:
    """Cluster a table many times and write one answer with a confidence for every point.

    Writes into DIR, all of them or none: report.html (everything on one page, for a browser),
    labels.csv, ensemble.npz (all clusterings), model.npz (for 'clusterscape predict'; it holds
    points of the data), consensus.png, k_selection.csv and k_selection.png (every candidate, when
    the number of clusters was chosen) and run.json (the columns used, every parameter, seed,
    version and finding; it records --jobs, so it alone differs between numbers of workers).

    The columns of labels.csv: id (numbered from 0 where the points have none), label (-1: in no
    cluster), confidence (0 to 1; empty where the clusterings are all the same, which is no
    evidence), runner_up (the cluster that comes next for the point) and runner_up_share (its share
    of the point's votes).

    With --dask the answer is DIR/labels, one Parquet file with the same columns for each block of
    rows, and run.json; there is no report, and 'clusterscape predict' does not read it. With
    --resume a run whose scheduler died goes on with the blocks that are finished.

    Example: `clusterscape run wine.csv --clusters 2-8 --reference class -o result`

    Example: `clusterscape run survey.xlsx --missing impute --categories one-hot -o result`

    Example: `clusterscape run new.csv --like result/run.json -o new-result`
    """
    from clusterscape.cli import blocks, gaps, inputs
    from clusterscape.cli import output as out
    from clusterscape.cli.generate import choose_algorithm
    from clusterscape.cli.like import id_column_of_file, read_with_ids
    from clusterscape.model import ConsensusClustering
    from clusterscape.report import findings

    quiet = printing.quiet
    present = gaps.on_present_columns(reading, preparing, generator=generator, resume=resume)
    generator = opt.chosen_generator(generator, algorithm)
    consensus = opt.checked_consensus(consensus, clusters)
    model = ConsensusClustering(
        clusters,
        generator=generator,
        n_partitions=partitions,
        consensus=consensus,
        metric=gaps.metric(reading),
        n_references=references,
        random_state=seed,
        progress=False if quiet else None,
        store=str(output / out.STORE) if resume else None,
    )
    if dask is not None:
        beside = {"algorithm": algorithm, "reference": reference, "write_h5ad": write_h5ad}
        blocks.refuse_beside(beside | {"like": like}, preparing, reading)
        blocks.run_in_blocks(data, output, model, blocks.How(dask, scale, jobs, force, printing))
        return
    _check_outputs(data, output, write_h5ad, force=force)
    ids = None if like is None else id_column_of_file(like)
    how: Any = {"keep": True, "done": inputs.tried(scale, preparing), "quiet": quiet}
    table, origin = read_with_ids(data, reading, ids, reference=reference, **how)
    done = inputs.scaling_of(table, reading, scale, algorithm)
    sparse = hasattr(table.X, "tocsr") and preparing.pca is None
    if present:
        generator = None
        made = gaps.generator_of(clusters, algorithm)
        how = {"scale": done, "seed": seed, "jobs": jobs, "quiet": quiet}
        whole: Any = _fitted_on_parts(model, table, made, **how)
    else:
        before = inputs.steps(table, reading, preparing, scale=done, seed=seed, quiet=quiet)
        choose_algorithm(model, algorithm, table)
        say(_announced(table, model, generator, scale=done), quiet=quiet)
        embedded = reading.obsm is not None and scale == "none"
        whole = inputs.fitted(model, table, before, jobs=jobs, embedded=embedded)
    parameters: dict[str, Any] = {
        "clusters": clusters, "partitions": partitions, "generator": generator,
        "algorithm": algorithm, "consensus": consensus, "scale": scale, "scaled": done,
        "references": references, "seed": seed, "jobs": jobs, "resume": resume,
        "reference": reference, "like": None if like is None else like.name,
        **dataclasses.asdict(preparing), **reading.recorded(data),
    }  # fmt: skip
    found = findings.of_model(model, reference=table.labels)
    report = out.run_report(
        model, command="run", origin=origin, parameters=parameters, result=found, sparse=sparse
    )
    report = _written(output, whole, table, report, force=force)
    if write_h5ad is not None:
        used = {name: parameters[name] for name in ("obsm", "layer") if parameters[name]}
        out.write_h5ad(write_h5ad, data, model, params=used, quiet=quiet)
    out.show_run(report, output, json=printing.json, quiet=quiet)


def _written(
    output: Path, whole: Any, table: Table, report: dict[str, Any], *, force: bool
) -> dict[str, Any]:
    """Write all files of a run, and return what run.json holds."""
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.io import save_results
    from clusterscape.io.models import last_step

    X = inputs.framed(table.X, table)
    page = out.page(whole, X, run=report, reference=table.labels)
    files = out.pictures(last_step(whole)) | page
    return save_results(output, whole, run=report, files=files, overwrite=force)


def _check_outputs(data: str, output: Path, h5ad: Path | None, *, force: bool) -> None:
    """Refuse places that cannot be written, or whose content would be lost."""
    from clusterscape.cli import output as out
    from clusterscape.io import check_results_folder

    check_results_folder(output, names=list(out.FILES), overwrite=force)
    out.keep_inputs([output / name for name in out.FILES], [data])
    out.check_h5ad(h5ad, [data], force=force)


def _fitted_on_parts(
    model: ConsensusClustering,
    table: Table,
    generator: EnsembleGenerator,
    *,
    scale: str,
    seed: int,
    jobs: int,
    quiet: bool,
) -> ConsensusClustering:
    """Combine clusterings that were each made on columns that many points have."""
    import joblib

    from clusterscape.cli import gaps

    said = _announced(table, model, "each on columns that many points have", scale=scale)
    say(said, quiet=quiet)
    count = model.n_partitions
    votes = gaps.clusterings(
        table, generator, count, scale=scale, seed=seed, jobs=jobs, quiet=quiet
    )
    with joblib.parallel_config(n_jobs=jobs):
        model.set_params(generator=generator).fit_ensemble(votes)
    return model.set_params(progress=None, store=None)


def _announced(table: Table, model: ConsensusClustering, how: str, *, scale: str) -> str:
    """Return what is said before the work."""
    searched = how == "diverse" and not isinstance(model.n_clusters, int) and model.metric is None
    more = ", and a fifth as often again with the number of clusters found" if searched else ""
    done = f"scaling: {scale}" if model.metric is None else "Gower's distances"
    points = "point" if table.n_points == 1 else "points"
    features = "feature" if table.n_features == 1 else "features"
    return (
        f"clustering {table.n_points:,} {points} with {table.n_features:,} {features} "
        f"{model.n_partitions:,} times{more} ({how}, {done})."
    )
