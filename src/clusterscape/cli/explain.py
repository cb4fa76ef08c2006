"""``clusterscape explain``: what makes two clusterings differ in space."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    import pandas as pd

    from clusterscape.compare import Explanation
    from clusterscape.ensemble import Ensemble

_SHOWN = 10  # moves on the console
_WIDE = 28  # characters of a name there
_CONTENTS = {
    "output": "all moves, the costliest first",
    "points": "both clusters of every point, and the distance between them",
    "plot": "a picture of the moves",
}


@verb
def explain(
    files: opt.LabelFiles,
    *,
    features: opt.Features = None,
    first: Annotated[
        str | None,
        opt.work_option(
            "--first",
            metavar="NAME",
            help="The clustering to start from, where the files hold more than two.",
        ),
    ] = None,
    second: Annotated[
        str | None,
        opt.work_option(
            "--second",
            metavar="NAME",
            help="The clustering to compare it with.",
        ),
    ] = None,
    output: opt.OutputFile = None,
    points: Annotated[
        Path | None,
        opt.output_option(
            "--points",
            metavar="FILE",
            help="CSV file for both clusters of every point and the distance between them.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        opt.output_option(
            "--plot",
            metavar="FILE",
            help="Picture of the moves (.png, .pdf, .svg).",
        ),
    ] = None,
    noise: Annotated[
        str,
        opt.work_option(
            "--noise",
            metavar="cluster|drop",
            help="What noise points (-1) are: the members of one more cluster, or left out.",
        ),
    ] = "cluster",
    join: opt.Join = "same",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    spatial: opt.Spatial,
    printing: opt.Printing,
) -> None:
    """Say which clusters of one clustering must move where, and how far, to give another.

    Writes the moves as CSV: from, to, the share of the points that moves, the distance between the
    two clusters, and what the move adds to the distance of the clusterings (LiftEMD), the costliest
    first. With --json everything is printed as JSON.

    Example: `clusterscape explain labels.csv --features X.csv --first kmeans --second ward`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.compare import MEASURES
    from clusterscape.compare import explain as explained

    measure = MEASURES["lift_emd"]
    opt.choose("--noise", noise, measure.noise)
    spatial.check([measure], features)
    wanted = {"--output": output, "--points": points, "--plot": plot}
    _check_files(inputs.all_inputs(files, features), wanted, force=force)
    ensemble, names, X = inputs.read_clusterings(
        files, features, reading, join=join, scale=scale, quiet=printing.quiet
    )
    chosen = _chosen(names, first, second)
    _refuse_empty(ensemble, chosen, names, noise)
    a, b = (_partition(ensemble, i) for i in chosen)
    options = spatial.given() | {"noise": noise, "random_state": seed}
    options["sample_weight"] = ensemble.sample_weight
    pair = (names[chosen[0]], names[chosen[1]])
    found = explained(a, b, X, **options)
    frame = _points_frame(ensemble.index, found)
    contents: dict[Path, bytes] = {}
    if output is not None:
        contents[output] = _csv(found.moves).encode()
    if points is not None:
        contents[points] = _csv(frame).encode()
    if plot is not None:
        contents[plot] = _picture(found, pair, plot.suffix.lower())
    out.write_all(contents)
    written = {"output": output, "points": points, "plot": plot}
    if printing.json:
        _print_json(found, pair, frame, written)
    elif output is None:
        typer.echo(_csv(found.moves), nl=False)
    _tell(found, pair, written, quiet=printing.quiet or printing.json)


def _check_files(inputs: list[str], wanted: dict[str, Path | None], *, force: bool) -> None:
    """Refuse, before the work, files that cannot be written or are needed for something else."""
    from clusterscape.cli import output as out

    for option, path in wanted.items():
        if path is not None:
            endings = out.PICTURES if option == "--plot" else (".csv",)
            out.check_file(path, inputs, endings, force=force, option=option)
    out.keep_apart(wanted)


def _chosen(names: list[str], first: str | None, second: str | None) -> tuple[int, int]:
    """Return the positions of the two clusterings."""
    if len(names) < 2:
        raise ValueError("there is one clustering; give a second column or a second file.")
    given = [
        None if name is None else names.index(opt.choose(option, name, names))
        for option, name in (("--first", first), ("--second", second))
    ]
    if None in given and len(names) > 2:
        some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise typer.BadParameter(
            f"there are {len(names)} clusterings ({some}); name the two to be explained.",
            param_hint="--first, --second",
        )
    a, b = given
    a = (0 if b is None else 1 - b) if a is None else a
    b = 1 - a if b is None else b
    if a == b:
        raise typer.BadParameter(
            f"{names[b]} is the clustering to start from already.", param_hint="--second"
        )
    return a, b


def _refuse_empty(ensemble: Ensemble, which: Sequence[int], names: list[str], noise: str) -> None:
    """Refuse a clustering without a point in a cluster, by its name."""
    lowest = 0 if noise == "drop" else -1
    for i in which:
        if not (ensemble.labels[ensemble.sample_weight > 0, i] >= lowest).any():
            raise ValueError(f"{names[i]} has no cluster with a point in it; choose another one.")


def _partition(ensemble: Ensemble, i: int) -> Any:
    """Return labels, or a membership in which rows that were not seen are nan."""
    import numpy as np
    from scipy import sparse

    membership = ensemble.soft.get(i)
    if membership is None:
        return ensemble.partition(i)
    unseen = np.flatnonzero(ensemble.labels[:, i] == -2)
    missing = (np.full(unseen.size, np.nan), (unseen, np.zeros_like(unseen)))
    return membership + sparse.csr_matrix(missing, shape=membership.shape)


def _points_frame(ids: Any, found: Explanation) -> pd.DataFrame:
    """Return both clusters of every point and the distance between them, the points in order."""
    import numpy as np

    frame = found.labels.set_axis(["from", "to"], axis=1).reset_index(drop=True)
    frame.insert(0, "id", np.arange(len(frame)) if ids is None else np.asarray(ids))
    return frame.assign(distance=found.points)


def _csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _picture(found: Explanation, names: tuple[str, str], ending: str) -> bytes:
    """Return the picture of the moves, the same bytes every time."""
    from matplotlib.figure import Figure

    from clusterscape.cli import output as out
    from clusterscape.plot.transport import TransportDisplay, figure_size

    # A figure of our own: pyplot would look for a screen.
    figure = Figure(figsize=figure_size(found.plan.shape), layout="constrained")
    TransportDisplay.from_explanation(found, names=names, ax=figure.subplots())
    return out.picture_bytes(figure, ending)


def _print_json(
    found: Explanation,
    names: tuple[str, str],
    frame: pd.DataFrame,
    written: dict[str, Path | None],
) -> None:
    """Print the distance, the moves, and the points where no file holds them."""
    from clusterscape.io.results import json_text

    values: dict[str, Any] = {
        "first": names[0],
        "second": names[1],
        "distance": found.distance,
        "moves": found.moves.to_dict("records"),
    }
    if written["points"] is None:
        values["points"] = frame.to_dict("list")
    values |= {name: str(path) for name, path in written.items() if path is not None}
    typer.echo(json_text(values))


def _tell(
    found: Explanation, names: tuple[str, str], written: dict[str, Path | None], *, quiet: bool
) -> None:
    """Say how far apart the two are and, where the moves went to a file, show the costliest."""
    say(
        f"From {names[0]} to {names[1]}: distance {found.distance:.4g} (LiftEMD; 0 means equal, "
        "1.414 nothing in common).",
        quiet=quiet,
    )
    moves = found.moves
    dear = moves[moves["work"] > 0].head(_SHOWN)
    if len(dear) and written["output"] is not None:
        many = "move makes" if len(dear) == 1 else "moves make"
        say(f"{len(dear)} of {len(moves)} {many} up {dear['share'].sum():.0%} of it:", quiet=quiet)
        for line in _table(dear):
            say(line, quiet=quiet)
    for name, path in written.items():
        if path is not None:
            say(f"{path}: {_CONTENTS[name]}.", quiet=quiet)


def _table(moves: pd.DataFrame) -> list[str]:
    """Return moves as lines for the console."""
    sides = [["from", *map(_cell, moves["from"])], ["to", *map(_cell, moves["to"])]]
    numbers = ("mass", "distance", "share")
    rows = [("points", "distance", "share")]
    rows += [(f"{m:.1%}", f"{d:.3f}", f"{s:.0%}") for m, d, s in moves[[*numbers]].to_numpy()]
    left, right = (max(map(len, side)) for side in sides)
    return [
        f"  {a:<{left}}  {b:<{right}}  {mass:>7}  {distance:>8}  {share:>5}"
        for a, b, (mass, distance, share) in zip(*sides, rows, strict=True)
    ]


def _cell(label: Any) -> str:
    text = "noise" if label == -1 else str(label)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."
