"""``clusterscape combine``: one clustering out of many that exist already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import say, verb

if TYPE_CHECKING:
    from clusterscape.model import ConsensusClustering


@verb
def combine(
    files: Annotated[
        list[str],
        typer.Argument(
            help="An ensemble (.npz, .parquet), or tables of labels with one column a clustering; "
            "several files are joined by their ids. '-' reads CSV from stdin.",
            show_default=False,
        ),
    ],
    output: opt.OutputFile = None,
    clusters: opt.Clusters = None,
    consensus: opt.Consensus = "auto",
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="FILE",
            help="Table of the points' features, for the methods that use them (lsce, nsce, ikl, "
            "lift_km, lift_hac, bagclust); rows are matched by id where both have ids.",
            rich_help_panel="The work",
        ),
    ] = None,
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
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
    """Combine clusterings into one, and write id, label and confidence of every point.

    In a table of labels -1 is noise, and an empty cell or -2 a point that the clustering did not
    see; a column called confidence is left out. Files end in .csv or .parquet.
    """
    from clusterscape.cli import _features, _files, _labels, _space, _tables, _words, _work
    from clusterscape.io.results import json_text, labels_csv, labels_frame, write_labels

    _work.check_consensus(consensus, clusters)
    _features.check(consensus, features)
    read = _space.inputs(files, features)
    if output is not None:
        _files.check(output, read, _labels.LABELS)
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    ensemble, _, X = _tables.read(files, features, reading, scale=scale, quiet=quiet)
    model = _work.make_model(
        clusters=clusters, consensus=consensus, seed=seed, jobs=jobs, quiet=quiet
    ).fit_ensemble(ensemble, features=X)
    found = _words.result(model, ids=ensemble.index)
    if output is not None:
        write_labels(output, ensemble.index, model.labels_, confidence=model.confidence_)
    if json:
        where = {"output": str(output)} if output is not None else _points(model)
        typer.echo(json_text(found | where))
    elif output is None:
        frame = labels_frame(ensemble.index, model.labels_, confidence=model.confidence_)
        typer.echo(labels_csv(frame), nl=False)
    for line in _words.sentences(found, ensemble.n_points):
        say(line, quiet=quiet or json)
    if output is not None:
        say(f"{output}: the cluster and the confidence (0 to 1) of every point.", quiet=quiet)


def _points(model: ConsensusClustering) -> dict[str, Any]:
    """Return the points themselves, for JSON that goes to stdout alone."""
    index = model.ensemble_.index
    return {
        "ids": None if index is None else index.tolist(),
        "labels": model.labels_,
        "point_confidence": model.confidence_,
    }
