"""``clusterscape plot``: one picture of a result, of clusterings or of labels, and its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb


@verb
def plot(
    picture: Annotated[
        str,
        typer.Argument(
            metavar="PICTURE",
            help="Its name, such as consensus_matrix, scatter, dendrogram or description; 'list' "
            "prints all names with what they need, and how others are drawn in Python.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="Folder that 'clusterscape run' wrote, or a file of clusterings: an ensemble "
            "(.npz, .parquet) or a table of labels.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE",
            help="The table of the points, for pictures that need their features.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        opt.output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="The picture: .png, .pdf or .svg; by default PICTURE.png.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        opt.output_option(
            "--table",
            metavar="FILE",
            help="CSV file for the table behind the picture.",
        ),
    ] = None,
    clustering: Annotated[
        str | None,
        opt.work_option(
            "--clustering",
            metavar="NAME",
            help="The clustering to draw; by default the answer of a run, or the only one of a "
            "file.",
        ),
    ] = None,
    other: Annotated[
        str | None,
        opt.work_option(
            "--other",
            metavar="NAME",
            help="A second clustering to compare it with.",
        ),
    ] = None,
    shape: Annotated[
        str | None,
        opt.work_option(
            "--shape",
            metavar="HxW",
            help="Height and width in pixels, as 28x28, where the rows of TABLE are images.",
        ),
    ] = None,
    choices: opt.Choices = None,
    reference: opt.Reference = None,
    join: opt.Join = "same",
    scale: opt.Scale = "auto",
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Draw one picture of a run, of clusterings or of labels, and give the table behind it.

    With --json the table is printed as JSON, beside the picture.

    Example: `clusterscape plot scatter result wine.csv -o wine.svg --table points.csv`
    """
    from clusterscape.cli import output as out
    from clusterscape.cli.pictures import IN_PYTHON, PICTURES

    if picture == "list":
        _print_names(PICTURES, IN_PYTHON, json=printing.json)
        return
    if picture in IN_PYTHON:
        raise typer.BadParameter(
            f"{picture} shows what no folder of results and no file holds; draw it in Python: "
            f"clusterscape.{IN_PYTHON[picture]}.",
            param_hint="PICTURE",
        )
    drawn = PICTURES[opt.choose("PICTURE", picture, list(PICTURES))]
    if source is None:
        raise typer.BadParameter("name a folder of results, or a file.", param_hint="SOURCE")
    file = Path(f"{picture}.png") if output is None else output
    read = [str(path) for path in (source, data, choices) if path is not None]
    out.check_file(file, read, out.PICTURES, force=force)
    if table is not None:
        out.check_file(table, read, (".csv",), force=force, option="--table")
    asked = _Asked(source, data, clustering, other, choices, reference, scale, join)
    pixels = None if shape is None else _pixels(shape)
    sources = replace(_gathered(asked, drawn, reading, quiet=printing.quiet), shape=pixels)
    missing = drawn.missing(sources)
    if missing:
        raise ValueError(f"{picture} needs {missing}.")
    display, content = _drawn(drawn.draw, sources, file.suffix.lower())
    frame = _with_ids(display.to_frame(), sources.ensemble.index)
    contents = {file: content}
    if table is not None:
        contents[table] = frame.to_csv(
            index=_names_rows(frame), lineterminator="\n", float_format="%.6g"
        ).encode()
    out.write_all(contents)
    if printing.json:
        _print_table(frame, file)
    say(f"{file}: {drawn.what}.", quiet=printing.quiet or printing.json)
    if table is not None:
        say(f"{table}: the table behind it.", quiet=printing.quiet or printing.json)


@dataclass(frozen=True)
class _Asked:
    source: str
    data: str | None
    clustering: str | None
    other: str | None
    choices: Path | None
    reference: str | None
    scale: str
    join: str


def _pixels(shape: str) -> tuple[int, int]:
    """Read the height and width of images."""
    parts = shape.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise typer.BadParameter(
            f"must be two numbers such as 28x28; got {shape!r}.", param_hint="--shape"
        )
    return int(parts[0]), int(parts[1])


def _print_names(pictures: dict[str, Any], others: dict[str, str], *, json: bool) -> None:
    from clusterscape.io.results import json_text

    if json:
        typer.echo(json_text({name: [p.what, *p.needs] for name, p in pictures.items()}))
        return
    wide = max(map(len, pictures))
    for name, picture in pictures.items():
        typer.echo(f"{name:<{wide}}  {picture.what}; needs {picture.needed()}.")
    typer.echo("Only in Python:")
    for name, how in others.items():
        typer.echo(f"{name:<{wide}}  clusterscape.{how}.")


def _gathered(asked: _Asked, drawn: Any, reading: opt.Reading, *, quiet: bool) -> Any:
    """Read the folder of a run, or files of clusterings and of features."""
    if Path(asked.source).is_dir():
        return _of_run(asked, reading, quiet=quiet)
    if asked.choices is not None:
        raise typer.BadParameter(
            "choices belong to the folder of a run; name it as SOURCE.", param_hint="--choices"
        )
    return _of_files(asked, drawn, reading, quiet=quiet)


def _of_run(asked: _Asked, reading: opt.Reading, *, quiet: bool) -> Any:
    from clusterscape.cli.pictures import Sources
    from clusterscape.cli.report import gathered
    from clusterscape.io.models import last_step
    from clusterscape.report import Choices

    model, X, known = gathered(
        Path(asked.source), asked.data, asked.reference, reading, quiet=quiet
    )
    own = last_step(model)
    names: dict[int, str] = {}
    if asked.choices is not None:
        own = Choices.read(asked.choices).applied_to(own)
        names = own.names_
    seen = X if X is None or own is model or len(getattr(model, "steps", ())) < 2 else None
    if seen is None and X is not None:
        seen = model[:-1].transform(X)
    ensemble = own.ensemble_
    pair = [
        None if name is None else _named(ensemble, name, option)
        for option, name in (("--clustering", asked.clustering), ("--other", asked.other))
    ]
    labels = own.labels_ if pair[0] is None else pair[0]
    return Sources(
        model=own,
        ensemble=ensemble,
        labels=labels,
        is_answer=pair[0] is None,
        other=pair[1],
        features=seen,
        table=X,
        reference=known.get("reference"),
        names=names,
        titles=(asked.clustering or "answer", asked.other or "other"),
    )


def _of_files(asked: _Asked, drawn: Any, reading: opt.Reading, *, quiet: bool) -> Any:
    from clusterscape.cli import inputs
    from clusterscape.cli.pictures import Sources

    if asked.reference is not None:
        raise typer.BadParameter(
            "known classes are read from the TABLE of a run; of files give them as one of the "
            "clusterings, and name it with --other.",
            param_hint="--reference",
        )
    with inputs.as_arguments(files="SOURCE", features="TABLE"):
        ensemble, names, X = inputs.read_clusterings(
            [asked.source], asked.data, reading, join=asked.join, scale=asked.scale, quiet=quiet
        )
    at = [
        None if name is None else names.index(opt.choose(option, name, names))
        for option, name in (("--clustering", asked.clustering), ("--other", asked.other))
    ]
    compares = not {"pair", "classes"}.isdisjoint(drawn.needs)
    if at[0] is None and "clustering" in drawn.needs:
        if len(names) > 2 or (len(names) > 1 and not compares):
            some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise typer.BadParameter(
                f"{asked.source} holds {len(names)} clusterings ({some}); name one.",
                param_hint="--clustering",
            )
        at[0] = 0
    if at[1] is None and compares and len(names) == 2 and at[0] is not None:
        at[1] = 1 - at[0]
    codes = [None if i is None else ensemble.labels[:, i].astype("int64") for i in at]
    titles = [names[i] if i is not None else "" for i in at]
    return Sources(
        model=None,
        ensemble=ensemble,
        labels=codes[0],
        is_answer=False,
        other=codes[1],
        features=X,
        table=X,
        reference=None,
        names={},
        titles=(titles[0], titles[1]),
    )


def _named(ensemble: Any, name: str, option: str) -> Any:
    names = [str(given or i) for i, given in enumerate(ensemble.names)]
    return ensemble.labels[:, names.index(opt.choose(option, name, names))].astype("int64")


def _drawn(draw: Callable[[Any, Any], Any], sources: Any, ending: str) -> tuple[Any, bytes]:
    """Draw on a figure of our own, because pyplot would look for a screen."""
    from matplotlib.figure import Figure

    from clusterscape.cli import output as out

    figure = Figure(layout="constrained")
    display = draw(sources, figure)
    if sources.names:
        said = ", ".join(f"{c}: {name}" for c, name in sorted(sources.names.items()))
        figure.supxlabel(said, fontsize=8, parse_math=False)
    return display, out.picture_bytes(figure, ending)


def _with_ids(frame: Any, ids: Any) -> Any:
    """Return a table whose points are named by their ids, where there are any."""
    if frame.index.name != "point" or ids is None:
        return frame
    names = {row: str(name) for row, name in enumerate(ids)}
    # The columns of a matrix of points are named by their positions, other columns by words.
    return frame.rename(index=names, columns=names).rename_axis("id")


def _names_rows(frame: Any) -> bool:
    """Say whether the index of a table names its rows, and does not only count them."""
    return bool(frame.index.name) or frame.index.dtype.kind not in "iu"


def _print_table(frame: Any, file: Path) -> None:
    from clusterscape.io.results import json_text

    flat = frame.reset_index() if _names_rows(frame) else frame
    columns = {str(name): flat.iloc[:, j].tolist() for j, name in enumerate(flat.columns)}
    typer.echo(json_text({"picture": str(file), "table": columns}))
