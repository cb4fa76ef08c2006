"""``clusterscape landscape``: the few good clusterings of a table that differ from one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    from clusterscape.explore import Landscape
    from clusterscape.io import Table


@verb
def landscape(
    data: opt.Data,
    *,
    output: Annotated[
        Path | None,
        opt.output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the representatives, one column each (.csv or .parquet); stdout when "
            "not given.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        opt.output_option(
            "--map",
            metavar="FILE",
            help="Picture of the map of all sampled clusterings (.png, .pdf or .svg).",
        ),
    ] = None,
    clusters: Annotated[
        list[Any] | None,
        opt.work_option(
            "--clusters",
            "-k",
            metavar="K",
            parser=opt.numbers,
            help="Number of clusters: 3, or 2-4 for each from 2 to 4; may be repeated.",
            show_default="3",
        ),
    ] = None,
    samples: Annotated[
        int,
        opt.work_option(
            "--samples",
            metavar="M",
            min=1,
            help="Number of clusterings to sample.",
        ),
    ] = 1000,
    representatives: Annotated[
        int,
        opt.work_option(
            "--representatives",
            metavar="N",
            min=1,
            help="Number of groups of clusterings, and so of clusterings to show.",
        ),
    ] = 10,
    quality: Annotated[
        str,
        opt.work_option(
            "--quality",
            metavar="NAME",
            help="What makes a clustering good: weighted_kernel, kmeans, variance_ratio, "
            "centroid_silhouette, centroid_dunn, kernel, separation.",
        ),
    ] = "weighted_kernel",
    distance: Annotated[
        str,
        opt.work_option(
            "--distance",
            metavar="NAME",
            help="What makes two clusterings different: lift_emd, any other measure "
            "('clusterscape info --list measures'), or density.",
        ),
    ] = "lift_emd",
    grouping: Annotated[
        str,
        opt.work_option(
            "--grouping",
            metavar="average|gonzalez",
            help="How clusterings are grouped: average linkage, or far centres.",
        ),
    ] = "average",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Sample good clusterings of a table, and show a few that are good and different.

    Writes one column of labels for each representative clustering; `clusterscape compare` and
    `clusterscape combine` read such a file. The table on the console says how many of the sampled
    clusterings each one stands for, and how good it is.

    Example: `clusterscape landscape wine.csv -k 3 -o alternatives.csv`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.compare import MEASURES
    from clusterscape.explore import QUALITIES, Landscape

    quiet = printing.quiet
    opt.choose("--quality", quality, list(QUALITIES))
    opt.choose("--distance", distance, ["density", *MEASURES])
    opt.choose("--grouping", grouping, ("average", "gonzalez"))
    if output is not None:
        out.check_file(output, [data], out.LABELS, force=force)
    if picture is not None:
        out.check_file(picture, [data], out.PICTURES, force=force, option="--map")
        out.keep_apart({"--output": output, "--map": picture})
    table, _ = inputs.read_table(data, reading, reference=None, quiet=quiet)
    X, done = inputs.scaled(table.X, scale, reading)
    counts = list(dict.fromkeys(k for several in clusters or [[3]] for k in several))
    say(
        f"sampling {samples:,} clusterings of {table.n_points:,} points with "
        f"{table.n_features:,} features (scaling: {done}).",
        quiet=quiet,
    )
    # grouping is a word that was checked above, which a type checker cannot see.
    model = Landscape(
        counts[0] if len(counts) == 1 else counts,
        n_samples=samples,
        n_representatives=representatives,
        quality=quality,  # type: ignore[arg-type]
        distance=distance,
        grouping=grouping,  # type: ignore[arg-type]
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
    ).fit(inputs.framed(X, table))
    _write(model, table, output=output, picture=picture, printing=printing)


def _write(
    model: Landscape,
    table: Table,
    *,
    output: Path | None,
    picture: Path | None,
    printing: opt.Printing,
) -> None:
    """Write the files that were asked for, all or none, and say what was found."""
    from clusterscape.cli import output as out
    from clusterscape.io.results import frame_bytes, json_text, labels_csv

    frame = model.to_frame()
    labels = model.representatives_.with_index(table.ids).to_frame()
    labels.columns = [f"representative_{g}" for g in frame["group"]]
    labels = labels.rename_axis("id").reset_index()
    told = frame.to_dict("records")
    contents = {}
    if picture is not None:
        from clusterscape.plot import LandscapeDisplay

        drawn = LandscapeDisplay.from_estimator(model).figure_
        contents[picture] = out.picture_bytes(drawn, picture.suffix.lower())
    if output is not None:
        contents[output] = frame_bytes(labels, output.suffix.lower())
    out.write_all(contents)
    if printing.json:
        typer.echo(json_text({"representatives": told, "n_compared": model.n_compared_}))
    elif output is None:
        typer.echo(labels_csv(labels), nl=False)
    _tell(told, model, quiet=printing.quiet or printing.json)


def _tell(told: list[dict[Any, Any]], model: Landscape, *, quiet: bool) -> None:
    """Say what each representative stands for."""
    say("  group  share  clusters  quality  of the best", quiet=quiet)
    for row in told:
        say(
            f"  {row['group']:>5}  {row['share']:>5.0%}  {row['n_clusters']:>8}  "
            f"{row['quality']:>7.4g}  {row['relative_quality']:>11.1%}",
            quiet=quiet,
        )
    for view, kind in enumerate(model.view_kinds_):
        about = [str(row["group"]) for row in told if row["view"] == view]
        if about:
            words = "group" if len(about) == 1 else "groups"
            where = "what is left without the directions of clearer clusterings"
            if kind == "columns":
                named = _named(model, model.views_[view])
                where = f"{named} alone, which do not depend on the other columns"
            say(f"  {words} {', '.join(about)}: best on {where}.", quiet=quiet)
    assert model.sampler_ is not None
    if not all(d.agrees for d in model.sampler_.diagnostics_.values()):
        say(
            "Chains from different starts stayed in different regions: the shares say where they "
            "started, not which region is the larger.",
            quiet=quiet,
        )


def _named(model: Landscape, columns: Any) -> str:
    """Return the names of some columns, the first ones of many."""
    names = getattr(model, "feature_names_in_", None)
    shown = [f"column {j + 1}" if names is None else str(names[j]) for j in columns[:6]]
    more = f" and {len(columns) - 6} more" if len(columns) > 6 else ""
    return ", ".join(shown) + more
