"""``clusterscape forest``: clusters by a cluster forest, and the columns that matter for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    import pandas as pd

    from clusterscape.forest.estimator import ClusterForest
    from clusterscape.io import Table

_SHOWN = 10  # columns on the console
_WIDE = 32  # characters of a name there


@verb
def forest(
    data: opt.Data,
    *,
    output: opt.OutputFile = None,
    clusters: opt.Clusters = None,
    importances: Annotated[
        Path | None,
        opt.output_option(
            "--importances",
            metavar="FILE",
            help="CSV file for the share of the vectors that use each column, and its importance.",
        ),
    ] = None,
    vectors: Annotated[
        int,
        opt.work_option(
            "--vectors",
            "-r",
            metavar="R",
            min=1,
            help="Number of clustering vectors to grow.",
        ),
    ] = 100,
    competitors: Annotated[
        int,
        opt.work_option(
            "--competitors",
            metavar="Q",
            min=1,
            help="Number of draws of columns that compete to start a vector; more where most "
            "columns are noise.",
        ),
    ] = 1,
    patience: Annotated[
        int,
        opt.work_option(
            "--patience",
            metavar="N",
            min=1,
            help="A vector is finished after this many draws in a row that did not improve it.",
        ),
    ] = 1,
    base_clusters: Annotated[
        int | None,
        opt.work_option(
            "--base-clusters",
            metavar="N",
            min=2,
            help="Number of clusters of each vector; as many as --clusters when not given.",
        ),
    ] = None,
    kappa: Annotated[
        str,
        opt.work_option(
            "--kappa",
            metavar="anova|pairs",
            help="How a vector is judged: an analysis of variance, or sums over pairs of points.",
        ),
    ] = "anova",
    ncut: Annotated[
        str,
        opt.work_option(
            "--ncut",
            metavar="recursive|kway",
            help="How the co-association of the vectors is cut: in two repeatedly, or into all "
            "clusters at once.",
        ),
    ] = "recursive",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    reference: opt.Reference = None,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Cluster a table by a cluster forest, and say which columns matter for the clusters.

    For tables with many columns of which few matter: every clustering vector is grown on few
    columns and keeps those that divide the points cleanly. Writes id, label, confidence, runner_up
    (the cluster that comes next for the point) and runner_up_share of every point (.csv or
    .parquet), and with --importances the share of the vectors that use each column. With --scale
    none a column of large numbers can dominate the others; a note then says so.

    Example: `clusterscape forest genes.csv -k 5 -o labels.csv --importances columns.csv`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.forest.estimator import ClusterForest

    quiet = printing.quiet
    opt.choose("--kappa", kappa, ("anova", "pairs"))
    opt.choose("--ncut", ncut, ("recursive", "kway"))
    if output is not None:
        out.check_file(output, [data], out.LABELS, force=force)
    if importances is not None:
        out.check_file(importances, [data], (".csv",), force=force, option="--importances")
        out.keep_apart({"--output": output, "--importances": importances})
    table, _ = inputs.read_table(data, reading, reference=reference, quiet=quiet)
    X, done = inputs.scaled(table.X, scale, reading)
    say(
        f"growing {vectors:,} clustering vectors of {table.n_points:,} points with "
        f"{table.n_features:,} features (scaling: {done}).",
        quiet=quiet,
    )
    # kappa and ncut are words that were checked above, which a type checker cannot see.
    model = ClusterForest(
        clusters,
        n_vectors=vectors,
        n_base_clusters=base_clusters,
        n_competitors=competitors,
        patience=patience,
        kappa=kappa,  # type: ignore[arg-type]
        ncut=ncut,  # type: ignore[arg-type]
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
    ).fit(inputs.framed(X, table), index=table.ids)
    _write(model, table, output=output, importances=importances, printing=printing)


def importance_frame(model: ClusterForest, names: Any) -> pd.DataFrame:
    """Return the importance of every column, the most important first."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "column": list(names),
            "share": model.feature_share_,
            "importance": model.feature_importances_,
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def _result(model: ClusterForest, table: Table) -> dict[str, Any]:
    """Return what was found as plain values."""
    import numpy as np

    from clusterscape.report import findings

    found = findings.of_result(model, reference=table.labels)
    best = importance_frame(model, table.feature_names).head(_SHOWN)
    found["forest"] = {
        "n_vectors": model.n_vectors,
        "n_competitors": model.n_competitors,
        "patience": model.patience,
        "n_base_clusters": model.n_base_clusters_,
        "kappa": float(np.median(model.kappa_)),
        "ncut": float(model.cost_),
        "n_landmarks": model.n_landmarks_,
        "n_features": table.n_features,
        "n_features_used": int((model.feature_share_ > 0).sum()),
        "top_features": best.to_dict("records"),
    }
    return found


def _write(
    model: ClusterForest,
    table: Table,
    *,
    output: Path | None,
    importances: Path | None,
    printing: opt.Printing,
) -> None:
    """Write the files that were asked for, print the rest, and say what was found."""
    from clusterscape.cli import output as out
    from clusterscape.io.results import frame_bytes

    found = _result(model, table)
    where, beside = {}, {}
    if importances is not None:
        frame = importance_frame(model, table.feature_names)
        beside[importances] = frame_bytes(frame, ".csv")
        where["importances"] = str(importances)
    out.write_points(output, model, json=found | where if printing.json else None, beside=beside)
    _tell(found, table.n_points, quiet=printing.quiet or printing.json)
    if output is not None:
        say(f"{output}: {out.FILES['labels.csv']}.", quiet=printing.quiet)
    if importances is not None:
        say(f"{importances}: how important every column is.", quiet=printing.quiet)


def _tell(found: dict[str, Any], n_points: int, *, quiet: bool) -> None:
    """Say what was found, and show the most important columns."""
    from clusterscape.report import findings

    for line in findings.sentences(found, n_points):
        say(line, quiet=quiet)
    grown = found["forest"]
    say(
        f"{grown['n_features_used']:,} of {grown['n_features']:,} columns are in some of the "
        f"{grown['n_vectors']:,} vectors. The most important:",
        quiet=quiet,
    )
    rows = grown["top_features"]
    names = [str(row["column"]) for row in rows]
    names = [name if len(name) <= _WIDE else f"{name[: _WIDE - 3]}..." for name in names]
    width = max([len("column"), *map(len, names)])
    say(f"  {'column':<{width}}  in vectors  importance", quiet=quiet)
    for name, row in zip(names, rows, strict=True):
        say(f"  {name:<{width}}  {row['share']:>10.0%}  {row['importance']:>10.3f}", quiet=quiet)
