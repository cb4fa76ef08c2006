"""``clusterscape combine``: one clustering out of many that exist already."""

from __future__ import annotations

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb


@verb
def combine(
    files: opt.LabelFiles,
    *,
    output: opt.OutputFile = None,
    clusters: opt.Clusters = None,
    consensus: opt.Consensus = "auto",
    features: opt.Features = None,
    join: opt.Join = "same",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Combine clusterings into one, and write id, label and confidence of every point.

    In a table of labels -1 is noise, and an empty cell or -2 a point that the clustering did not
    see; a column called confidence is left out. The file written ends in .csv or .parquet.

    Example: `clusterscape combine kmeans.csv ward.csv --clusters 4 -o consensus.csv`
    """
    from clusterscape.cli import findings, inputs
    from clusterscape.cli import output as out
    from clusterscape.model import ConsensusClustering

    quiet = printing.quiet
    opt.check_consensus(consensus, clusters)
    inputs.check_features(consensus, features)
    read = inputs.all_inputs(files, features)
    if output is not None:
        out.check_file(output, read, out.LABELS)
    ensemble, _, X = inputs.read_clusterings(
        files, features, reading, join=join, scale=scale, quiet=quiet
    )
    model = ConsensusClustering(
        clusters,
        consensus=consensus,
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
    ).fit_ensemble(ensemble, features=X)
    ids = ensemble.index
    found = findings.of_model(model, ids=ids)
    out.write_points(
        output,
        ids,
        model.labels_,
        confidence=model.confidence_,
        json=found if printing.json else None,
    )
    for line in findings.sentences(found, ensemble.n_points):
        say(line, quiet=quiet or printing.json)
    if output is not None:
        say(f"{output}: {out.FILES['labels.csv']}.", quiet=quiet)
