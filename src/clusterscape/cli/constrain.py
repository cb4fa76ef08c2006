"""``clusterscape constrain``: clusters that respect what is known of some points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    from clusterscape.io import Table
    from clusterscape.semisupervised import Constraints

_BASES = ("ccs", "cop", "scacs")


def _file(option: str, what: str) -> Any:
    return opt.work_option(
        option,
        metavar="FILE",
        help=what,
    )


@verb
def constrain(
    data: opt.Data,
    *,
    output: opt.OutputFile = None,
    clusters: opt.Clusters = None,
    must_link: Annotated[
        Path | None,
        _file(
            "--must-link",
            "CSV file of pairs that must be together, with a header: two ids (or "
            "row numbers from 0), and a weight below 1 in a column `weight` where not certain.",
        ),
    ] = None,
    cannot_link: Annotated[
        Path | None, _file("--cannot-link", "CSV file of pairs that cannot be together.")
    ] = None,
    labels: Annotated[
        Path | None,
        _file("--labels", "CSV file of known classes, with a header: id (or row number), class."),
    ] = None,
    choices: Annotated[
        Path | None,
        _file("--choices", "Pairs answered in 'clusterscape explore' (choices.json)."),
    ] = None,
    base: Annotated[
        str,
        opt.work_option(
            "--base",
            metavar="ccs|cop|scacs",
            help="What makes the clusterings: constrained spectral clustering by landmarks, "
            "COP-KMeans, or SCACS.",
        ),
    ] = "ccs",
    partitions: Annotated[
        int,
        opt.work_option(
            "--partitions",
            metavar="R",
            min=1,
            help="Number of clusterings to make and combine.",
        ),
    ] = 50,
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    reference: opt.Reference = None,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Cluster a table, given pairs that must or cannot be together, or some classes.

    Makes many constrained clusterings and combines them; certain constraints hold in the answer.
    Writes id, label, confidence, runner_up and runner_up_share of every point (.csv or .parquet).
    Without --clusters there are as many as known classes. Constraints that contradict each other
    are an error that names the points.

    Example: `clusterscape constrain cells.csv --labels known.csv -o labels.csv`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.semisupervised import ConstrainedEnsemble

    quiet = printing.quiet
    opt.choose("--base", base, _BASES)
    files = {"must": must_link, "cannot": cannot_link, "labels": labels, "choices": choices}
    if not any(files.values()):
        raise typer.BadParameter("give --must-link, --cannot-link, --labels or --choices.")
    if output is not None:
        taken = [data, *(str(f) for f in files.values() if f is not None)]
        out.check_file(output, taken, out.LABELS, force=force)
    table, _ = inputs.read_table(data, reading, reference=reference, quiet=quiet)
    known = _known(files, table)
    # Pairs do not say how many clusters there are: a triangle of cannot-links needs three.
    classes = max((s.sizes.size for s in known.label_sets), default=0)
    k = classes if clusters is None else clusters
    if k < 2:
        raise typer.BadParameter("without known classes, give the number of clusters: --clusters.")
    X, done = inputs.scaled(table.X, scale, reading)
    say(
        f"{known!r}; combining {partitions:,} clusterings of {table.n_features:,} features "
        f"(scaling: {done}).",
        quiet=quiet,
    )
    model = ConstrainedEnsemble(
        k, base=base, n_partitions=partitions, random_state=seed, n_jobs=jobs
    ).fit(inputs.framed(X, table), constraints=known)
    if table.ids is not None:
        model.ensemble_ = model.ensemble_.with_index(table.ids)
    found = _result(model, table)
    out.write_points(output, model, json=found if printing.json else None)
    _tell(found, quiet=quiet or printing.json)
    if output is not None:
        say(f"{output}: {out.FILES['labels.csv']}.", quiet=quiet)


def _known(files: dict[str, Path | None], table: Table) -> Constraints:
    """Read all files of constraints, by ids where the table has them."""
    from clusterscape.semisupervised import Constraints

    chosen = files.pop("choices")
    where: dict[str, Any] = {"n_points": table.n_points}
    if table.ids is not None:
        where = {"index": table.ids}
    made = [
        Constraints.from_csv(path, link=link, **where)  # type: ignore[arg-type]
        for link, path in files.items()
        if path is not None
    ]
    if chosen is not None:
        made.append(_pairs(chosen, table))
    known = made[0].merge(*made[1:])
    if len(known) == 0:
        given = ", ".join(str(path) for path in [*files.values(), chosen] if path is not None)
        raise ValueError(f"nothing is known from {given}: no pair, no two points with classes.")
    return known


def _pairs(file: Path, table: Table) -> Constraints:
    """Read the pairs that were answered while exploring."""
    from clusterscape.report import Choices
    from clusterscape.semisupervised import Constraints

    ids = range(table.n_points) if table.ids is None else table.ids
    must, cannot = Choices.read(file).links(ids)
    if not len(must) and not len(cannot):
        raise ValueError(f"{file} holds no pairs; answer some in 'clusterscape explore'.")
    named = {} if table.ids is None else {"index": table.ids}
    return Constraints(table.n_points, must_link=must, cannot_link=cannot, **named)


def _result(model: Any, table: Table) -> dict[str, Any]:
    """Return what was found as plain values."""
    import numpy as np

    from clusterscape.report import findings

    seen = model.violations_
    found = {
        "n_clusters": model.n_clusters_,
        "cluster_sizes": np.bincount(model.labels_).tolist(),
        "violated_must_links": seen.must_link,
        "violated_cannot_links": seen.cannot_link,
        "satisfied": seen.satisfied,
    }
    if table.labels is not None:
        found["reference"] = findings.agreement(model.labels_, table.labels)
    return found


def _tell(found: dict[str, Any], *, quiet: bool) -> None:
    sizes = ", ".join(f"{size:,}" for size in found["cluster_sizes"])
    say(f"{found['n_clusters']} clusters ({sizes} points).", quiet=quiet)
    wrong = found["violated_must_links"] + found["violated_cannot_links"]
    words = "all constraints hold." if wrong == 0 else f"{wrong:,} unsure constraints do not hold."
    say(words, quiet=quiet)
