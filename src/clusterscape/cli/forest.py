"""``clusterscape forest``: clusters by a cluster forest, and the columns that carry them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import choose, say, verb

if TYPE_CHECKING:
    import pandas as pd

    from clusterscape.forest.estimator import ClusterForest

_SHOWN = 10  # columns on the console
_WIDE = 32  # characters of a name there


@verb
def forest(
    data: opt.Data,
    output: opt.OutputFile = None,
    clusters: opt.Clusters = None,
    importances: opt.Importances = None,
    vectors: opt.Vectors = 100,
    competitors: opt.Competitors = 1,
    patience: opt.Patience = 1,
    base_clusters: opt.BaseClusters = None,
    kappa: Annotated[
        str,
        typer.Option(
            "--kappa",
            metavar="anova|pairs",
            help="How a vector is judged: an analysis of variance, or sums over pairs of points.",
            rich_help_panel="The work",
        ),
    ] = "anova",
    ncut: Annotated[
        str,
        typer.Option(
            "--ncut",
            metavar="recursive|kway",
            help="How the vectors' agreement is cut: in two again and again, or at once.",
            rich_help_panel="The work",
        ),
    ] = "recursive",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    id_column: opt.IdColumn = None,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    reference: opt.Reference = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster a table by a cluster forest, and say which columns carry the clusters.

    For tables with many columns of which few matter: every clustering vector is grown on few
    columns and keeps those that divide the points cleanly. Writes id, label and confidence of
    every point (.csv or .parquet), and with --importances the share of the vectors that use each
    column. With --scale none one column of large numbers can decide everything; a note then says
    so.
    """
    from clusterscape.cli import _files, _labels, _work

    choose("--kappa", kappa, ("anova", "pairs"))
    choose("--ncut", ncut, ("recursive", "kway"))
    if output is not None:
        _files.check(output, [data], _labels.LABELS)
    if importances is not None:
        _files.check(importances, [data], (".csv",), option="--importances")
        _files.keep_apart({"--output": output, "--importances": importances})
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    table, _ = _work.read(data, reading, reference=reference, quiet=quiet)
    X, done = _work.scaled(table.X, scale)
    say(
        f"growing {vectors:,} clustering vectors of {table.n_points:,} points with "
        f"{table.n_features:,} features (scaling: {done}).",
        quiet=quiet,
    )
    from clusterscape.forest.estimator import ClusterForest

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
    ).fit(_named(X, table.feature_names))
    found = _result(model, table)
    _write(model, table, output=output, importances=importances, found=found, json=json)
    _tell(found, table.n_points, quiet=quiet or json)
    if output is not None:
        say(f"{output}: the cluster and the confidence (0 to 1) of every point.", quiet=quiet)
    if importances is not None:
        say(f"{importances}: how much every column counts.", quiet=quiet)


def _named(X: Any, names: Any) -> Any:
    """Return a dense table with its names, so that a warning can name a column."""
    import pandas as pd
    from scipy import sparse

    return X if sparse.issparse(X) else pd.DataFrame(X, columns=[str(name) for name in names])


def importance_frame(model: ClusterForest, names: Any) -> pd.DataFrame:
    """Return how much every column counts, the most important first."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "column": list(names),
            "share": model.feature_share_,
            "importance": model.feature_importances_,
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def _result(model: ClusterForest, table: Any) -> dict[str, Any]:
    """Return what was found as plain values, in the words of the other verbs."""
    import numpy as np

    from clusterscape.cli import _words
    from clusterscape.combine import consensus_scores

    scores = consensus_scores(model.ensemble_, model.labels_)
    # A forest in the shape of the main job's model, of which the words read these attributes only.
    seen = SimpleNamespace(
        labels_=model.labels_,
        n_clusters=model.n_clusters,
        n_clusters_=model.n_clusters_,
        ensemble_=model.ensemble_,
        confidence_=scores.confidence,
        cluster_consensus_=scores.cluster_consensus,
        consensus_=None,
        structure_=None,
        k_selection_=_selection(model),
    )
    found = _words.result(seen, ids=table.ids, reference=table.labels)  # type: ignore[arg-type]
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
    found["points"] = {"labels": model.labels_, "point_confidence": scores.confidence}
    return found


def _selection(model: ClusterForest) -> Any:
    """Return how the forest found its number of clusters, where it was not told."""
    if model.n_clusters is not None or model.eigenvalues_ is None:
        return None
    import numpy as np

    from clusterscape.linalg.ncut import log_gaps
    from clusterscape.validate import KSelection

    k = model.n_clusters_
    values = np.append(model.eigenvalues_, 0.0)  # the rest of a short spectrum is zero
    return KSelection(
        k,
        "largest eigengap of fine partitions on the columns that a forest prefers",
        model.eigenvalues_,
        log_gaps(np.clip(values, 0.0, 1.0)),
        f"Eigenvalue {k} is {values[k - 1]:.3f} and the next one {values[k]:.3f}.",
    )


def _write(
    model: ClusterForest,
    table: Any,
    *,
    output: Path | None,
    importances: Path | None,
    found: dict[str, Any],
    json: bool,
) -> None:
    """Write the files that were asked for, and to stdout what was not."""
    from clusterscape._core.atomic import write_bytes
    from clusterscape.io.results import json_text, labels_csv, labels_frame, write_labels

    points = found.pop("points")
    confidence = points["point_confidence"]
    if importances is not None:
        frame = importance_frame(model, table.feature_names)
        write_bytes(importances, labels_csv(frame).encode())
    if output is not None:
        write_labels(output, table.ids, model.labels_, confidence=confidence)
    if json:
        ids = None if table.ids is None else list(table.ids)
        where = {"output": str(output)} if output is not None else {"ids": ids, **points}
        if importances is not None:
            where["importances"] = str(importances)
        typer.echo(json_text(found | where))
    elif output is None:
        frame = labels_frame(table.ids, model.labels_, confidence=confidence)
        typer.echo(labels_csv(frame), nl=False)


def _tell(found: dict[str, Any], n_points: int, *, quiet: bool) -> None:
    """Say what was found, and show the columns that count most."""
    from clusterscape.cli import _words

    for line in _words.sentences(found, n_points):
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
