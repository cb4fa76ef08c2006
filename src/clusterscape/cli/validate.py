"""``clusterscape validate``: a certificate for every point of a clustering."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    from clusterscape.validate import Certificates


@verb
def validate(
    data: opt.Data,
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="File with the clustering: one column of labels, and ids where there are any.",
        ),
    ],
    *,
    output: opt.OutputFile = None,
    clustering: Annotated[
        str | None,
        opt.work_option(
            "--clustering",
            metavar="NAME",
            help="The clustering to certify, where the file holds several; the others then say "
            "how consistent each point is.",
        ),
    ] = None,
    representative: Annotated[
        str,
        opt.work_option(
            "--representative",
            metavar="mean|median|medoid",
            help="What stands for a cluster.",
        ),
    ] = "mean",
    bound: Annotated[
        str,
        opt.work_option(
            "--bound",
            metavar="project|limit|box|nearest",
            help="What is done about points outside of the hull of the representatives.",
        ),
    ] = "project",
    threshold: Annotated[
        float,
        opt.work_option(
            "--threshold",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Points with a larger stability are stable.",
        ),
    ] = 0.5,
    plot: Annotated[
        Path | None,
        opt.output_option(
            "--plot",
            metavar="FILE",
            help="Picture of the stabilities (.png, .pdf, .svg).",
        ),
    ] = None,
    join: opt.Join = "same",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Say for every point of a clustering how firmly it belongs to its cluster.

    Writes a row per point as CSV: id, cluster, stability (the largest share of the point's cell),
    the cluster that has it, the share of the point's own cluster, the runner-up and its share, the
    entropy of the shares, and flags. With --json the figures of all points and of every cluster
    are printed as JSON, and the points too where no file is written.

    Example: `clusterscape validate wine.csv labels.csv -o certificates.csv`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.validate import Affinity

    opt.choose("--representative", representative, ("mean", "median", "medoid"))
    opt.choose("--bound", bound, ("project", "limit", "box", "nearest"))
    here = {"files": "LABELS", "features": "TABLE"}
    with inputs.as_arguments(**here):
        read = inputs.all_inputs([labels], data)
    for option, path, endings in (
        ("--output", output, (".csv",)),
        ("--plot", plot, out.PICTURES),
    ):
        if path is not None:
            out.check_file(path, read, endings, force=force, option=option)
    out.keep_apart({"--output": output, "--plot": plot})
    quiet = printing.quiet
    with inputs.as_arguments(**here):
        ensemble, names, X = inputs.read_clusterings(
            [labels], data, reading, join=join, scale=scale, quiet=quiet
        )
    at = _chosen(names, clustering, labels)
    made = Affinity(
        representative=representative,
        bound=bound,  # type: ignore[arg-type]
        threshold=threshold,
        random_state=seed,
        n_jobs=jobs,
    )
    found = made.fit(X, ensemble.partition(at), model=_Others(ensemble)).certificates_
    frame = found.to_frame()
    frame.index = _ids(ensemble)
    text = frame.to_csv(float_format="%.6g", lineterminator="\n")
    contents: dict[Path, bytes] = {}
    if output is not None:
        contents[output] = text.encode()
    if plot is not None:
        contents[plot] = _picture(made, plot.suffix.lower())
    out.write_all(contents)
    if printing.json:
        _print_json(found, frame, names[at], output)
    elif output is None:
        typer.echo(text, nl=False)
    _tell(found, names[at], {output: "a row per point", plot: "a picture"}, quiet=quiet)


class _Others:
    """The clusterings of the file, as what a model offers; of one alone there is nothing to say."""

    def __init__(self, ensemble: Any) -> None:
        if ensemble.n_partitions > 1:
            self.ensemble_ = ensemble


def _chosen(names: list[str], given: str | None, file: str) -> int:
    if given is not None:
        return names.index(opt.choose("--clustering", given, names))
    if len(names) > 1:
        some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise typer.BadParameter(
            f"{file} holds {len(names)} clusterings ({some}); name the one to certify.",
            param_hint="--clustering",
        )
    return 0


def _ids(ensemble: Any) -> Any:
    import pandas as pd

    index = ensemble.index
    return (pd.RangeIndex(ensemble.n_points) if index is None else pd.Index(index)).rename("id")


def _picture(made: Any, ending: str) -> bytes:
    from matplotlib.figure import Figure

    from clusterscape.cli import output as out
    from clusterscape.plot import StabilityDisplay

    # A figure of our own: pyplot would look for a screen.
    figure = Figure(figsize=(6.0, 4.2), layout="constrained")
    StabilityDisplay.from_estimator(made, ax=figure.subplots())
    return out.picture_bytes(figure, ending)


def _print_json(found: Certificates, frame: Any, name: str, output: Path | None) -> None:
    from clusterscape.io.results import json_text

    clusters = found.per_cluster().reset_index().to_dict(orient="list")
    report: dict[str, Any] = {"clustering": name, **found.summary(), "clusters": clusters}
    if output is None:
        report["points"] = frame.reset_index().astype(object).where(
            frame.reset_index().notna(), None
        ).to_dict(orient="list")  # fmt: skip
    else:
        report["output"] = str(output)
    typer.echo(json_text(report))


def _tell(found: Certificates, name: str, written: dict[Path | None, str], *, quiet: bool) -> None:
    summary = found.summary()
    text = (
        f"mean stability {summary['stability']:.3f} ({summary['chance_corrected']:.3f} "
        f"corrected for chance), {summary['n_unstable']:,} of {int(found.inside.sum()):,} points "
        f"unstable, {summary['outside_share']:.0%} outside of the hull of the representatives."
    )
    for name_of, count in (("noise", "n_noise"), ("not clustered", "n_unsampled")):
        if summary[count]:
            text += f" {summary[count]:,} points are {name_of} and do not count."
    if found.shares.shape[1] == 1:
        text = "one cluster; there is nothing that points could move to."
    say(f"{name}: {text}", quiet=quiet)
    for path, what in written.items():
        if path is not None:
            say(f"{path}: {what}.", quiet=quiet)
