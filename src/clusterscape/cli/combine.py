"""``clusterscape combine``: one clustering out of many that exist already."""

from __future__ import annotations

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb


@verb
def combine(
    files: opt.LabelFiles,
    *,
    output: opt.OutputFile = None,
    clusters: opt.ClustersOrRange = None,
    consensus: opt.Consensus = "auto",
    features: opt.Features = None,
    join: opt.Join = "same",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    write_h5ad: opt.WriteH5ad = None,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Combine clusterings into one, and write the cluster and the confidence of every point.

    The columns written: id, label, confidence, runner_up (the cluster that comes next for the
    point) and runner_up_share (its share of the point's votes). The confidence is empty where the
    clusterings are all the same. The file ends in .csv or .parquet.

    In a table of labels -1 is noise, and an empty cell or -2 a point that the clustering did not
    see; the columns that this command writes beside the labels are left out.

    Example: `clusterscape combine kmeans.csv ward.csv --clusters 4 -o consensus.csv`

    Example: `clusterscape combine cells.h5ad --obs 'leiden_*' --write-h5ad cells-consensus.h5ad`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.model import ConsensusClustering
    from clusterscape.report import findings

    quiet = printing.quiet
    consensus = opt.checked_consensus(consensus, clusters)
    inputs.check_features(consensus, features)
    read = inputs.all_inputs(files, features)
    if output is not None:
        out.check_file(output, read, out.LABELS, force=force)
    out.check_h5ad(write_h5ad, files, force=force)
    ensemble, names, X = inputs.read_clusterings(
        files, features, reading, join=join, scale=scale, quiet=quiet
    )
    model = ConsensusClustering(
        clusters,
        consensus=consensus,
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
    ).fit_ensemble(ensemble, features=X)
    found = findings.of_model(model)
    if write_h5ad is not None:
        cells = next(name for name in files if name.lower().endswith(".h5ad"))
        out.write_h5ad(write_h5ad, cells, model, params={"obs": names}, quiet=quiet)
    out.write_points(output, model, json=found if printing.json else None)
    for line in findings.sentences(found, ensemble.n_points):
        say(line, quiet=quiet or printing.json)
    if output is not None:
        say(f"{output}: {out.FILES['labels.csv']}.", quiet=quiet)
