"""``clusterscape predict``: the clusters of other points, by a model that was saved."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    from clusterscape.io import Table, TableError, UnknownColumn

_SHOWN = 12  # names of columns in a message


@verb
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Folder that 'clusterscape run' wrote, or the file model.npz of one.",
        ),
    ],
    data: opt.Data,
    *,
    choices: opt.Choices = None,
    output: opt.OutputFile = None,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Give other points the clusters of an earlier run, and write id, label and confidence.

    The columns are matched to those of the run by name and prepared as they were there (missing
    values, words, logarithms, choice of columns, scaling, components); columns that the run did not
    use are left out, and a message names them. A point gets the cluster that the members of the run
    agree on for it, however far it lies from the points of the run; its confidence is computed as
    for the points of the run. A cluster forest gives no confidence, nor does a run on distances
    (--categories gower), where a point gets the cluster of the nearest one. With --choices points
    get the clusters that were taken and merged, and a column with their names. The file written
    ends in .csv or .parquet.

    Example: `clusterscape predict result new.csv -o labels.csv`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.cli.like import id_column_of, read_with_ids, with_layout_of
    from clusterscape.io import TableError, UnknownColumn
    from clusterscape.io.results import json_text, labels_csv, labels_frame, write_frame

    quiet = printing.quiet
    if output is not None:
        read = [str(path) for path in (data, model, choices) if path is not None]
        out.check_file(output, read, out.LABELS, force=force)
    fitted, names, made = _loaded(model)
    reading = with_layout_of(made, inputs.as_in_run(reading, fitted, made), data, quiet=quiet)
    if names is not None and reading.columns is None and not reading.transpose:
        reading = dataclasses.replace(reading, columns=names)
    try:
        table, _ = read_with_ids(
            data, reading, id_column_of(made), compares=False, keep=True, quiet=quiet
        )
    except UnknownColumn as error:
        raise _lacking(error, names or []) from None
    except TableError as error:
        raise _of_known_columns(error, names or []) from None
    X = matched(table, names, fitted, ids=id_column_of(made), quiet=quiet)
    for note in _filled(fitted, X, table):
        say(f"{table.source}: {note}", quiet=quiet)
    labels, confidence, called = _placed(fitted, X, choices, quiet=quiet)
    frame = labels_frame(table.ids, labels, confidence=confidence)
    if called is not None:
        frame["cluster"] = called
    if output is not None:
        write_frame(output, frame)
        say(f"{output}: the cluster of {table.n_points:,} points.", quiet=quiet)
    if printing.json:
        points = {"ids": table.ids, "labels": labels}
        points |= {} if confidence is None else {"confidence": confidence}
        points |= {} if called is None else {"clusters": called}
        where = points if output is None else {"output": str(output)}
        typer.echo(json_text({"model": str(model), "n_points": table.n_points, **where}))
    elif output is None:
        typer.echo(labels_csv(frame), nl=False)


def _filled(fitted: Any, X: Any, table: Table) -> list[str]:
    """Say how many missing values of each column the first step fills, and with what."""
    import pandas as pd

    from clusterscape.preprocess import TableEncoder

    first = fitted.steps[0][1] if hasattr(fitted, "steps") else fitted
    if not isinstance(first, TableEncoder) or first.missing != "impute":
        return []
    known = getattr(first, "feature_names_in_", table.feature_names)
    made = []
    for name, count, fill, words in zip(
        known, pd.DataFrame(X).isna().sum(), first.fill_, first.categories_, strict=True
    ):
        what = f"median {fill:g}" if words is None else f"most frequent word {fill!r}"
        if count:
            made.append(
                f"column {str(name)!r}: {count:,} of {len(X):,} values are missing and filled with "
                f"the {what} of the run."
            )
    return made


def _placed(
    fitted: Any, X: Any, choices: Path | None, *, quiet: bool
) -> tuple[Any, Any, list[str] | None]:
    """Return the clusters of the points, their confidences, and names where they were chosen.

    A model that gives no confidences has None for them.
    """
    from clusterscape.io.models import last_step
    from clusterscape.report import Choices

    own = last_step(fitted)
    chosen = None if choices is None else Choices.read(choices).applied_to(own)
    if getattr(own, "metric", None) is not None and chosen is not None:
        raise typer.BadParameter(
            "new points of a run on distances take the cluster of the nearest point, not what was "
            "chosen; leave it out.",
            param_hint="--choices",
        )
    if chosen is None and not (hasattr(own, "predict_frame") and own.metric is None):
        return fitted.predict(X), None, None
    unable = own.assigner_.unable if hasattr(own, "assigner_") else ()
    if unable:
        say(
            f"{len(unable):,} of {own.ensemble_.n_partitions:,} members failed in the run and say "
            "nothing of the points.",
            quiet=quiet,
        )
    seen = X if own is fitted else fitted[:-1].transform(X)
    frame = (own if chosen is None else chosen).predict_frame(seen)
    labels = frame["label"].to_numpy()
    return labels, frame["confidence"].to_numpy(), None if chosen is None else chosen.called(labels)


def _loaded(path: Path) -> tuple[Any, list[str] | None, Mapping[str, Any]]:
    """Return the model, the columns that it was fitted on, where known, and its run.json."""
    from clusterscape.io import load_model
    from clusterscape.io.models import last_step
    from clusterscape.io.results import MODEL, read_run

    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        what = f"{path} holds no {MODEL}" if path.is_dir() else f"there is no file {path}"
        raise ValueError(f"{what}; name a folder that 'clusterscape run' wrote, or its {MODEL}.")
    fitted = load_model(file)
    if not hasattr(fitted, "predict"):
        raise ValueError(
            f"{file} holds a model of type {type(last_step(fitted)).__name__}, which combines "
            "clusterings and cannot place other points; give a model that was fitted on features."
        )
    own = last_step(fitted)
    if getattr(own, "metric", "") is None and not hasattr(own, "assigner_"):
        raise ValueError(
            f"{file} holds a consensus of clusterings that say nothing of other points (each was "
            "made on the columns that points have); run again with --missing impute for a model "
            "that places them."
        )
    run = (read_run(path) or {}) if path.is_dir() else {}
    return fitted, column_names(fitted, run), run


def column_names(fitted: Any, run: Mapping[str, Any]) -> list[str] | None:
    """Return the columns that a model was fitted on, None where that is not known.

    A model that was fitted on a sparse table has no names; the run.json beside it has them. Names
    that repeat do not say which column is which.
    """
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        origin = run.get("input")
        names = origin.get("feature_names") if isinstance(origin, dict) else None
    known = None if names is None else [str(name) for name in names]
    return known if known is not None and len(set(known)) == len(known) else None


def _lacking(error: UnknownColumn, names: list[str]) -> Exception:
    """Return an error on a column that the model needs, or that was asked for by an option."""
    from clusterscape.io import UnknownColumn

    if error.column not in names:
        return error
    problem = f"{error.problem}, which the model was fitted on ({_listed(names)})"
    remedy = f"{error.remedy}; a model without that column takes another run, with {{exclude}}"
    return UnknownColumn(error.column, problem, remedy, **error.options, exclude=error.column)


def _of_known_columns(error: TableError, names: list[str]) -> TableError:
    """Return an error on the cells of columns that the model needs: none can be left out."""
    from clusterscape.io import TableError

    excluded = error.options.get("exclude")
    excluded = [excluded] if isinstance(excluded, str) else list(excluded or ())
    needed = [name for name in excluded if name in names]
    if not needed:
        return error
    listed = _listed(needed).replace("{", "{{").replace("}", "}}")
    remedy = f"the run was made with {listed}, which cannot be left out: correct the file"
    if "missing__drop" in error.options:
        return TableError(
            error.problem,
            remedy + ", or leave such rows out with {missing}",
            missing=error.options["missing__drop"],
        )
    return TableError(error.problem, remedy)


def matched(
    table: Table, names: list[str] | None, fitted: Any, *, ids: str | None = None, quiet: bool
) -> Any:
    """Return the features in the order of the model's columns.

    ``ids`` is the column that named the points of the run, of which it is not said that the run
    did not use it.
    """
    from scipy import sparse

    from clusterscape.cli import inputs

    own = list(table.feature_names)
    if names is None:
        if len(own) != fitted.n_features_in_:
            raise ValueError(
                f"{table.source} has {len(own):,} columns and the model was fitted on "
                f"{fitted.n_features_in_:,}; choose them with --columns or --exclude."
            )
        say(
            "the model does not name its columns, or names two alike: they are matched by "
            "position.",
            quiet=quiet,
        )
        return inputs.framed(table.X, table) if hasattr(table.X, "iloc") else table.X
    missing = [name for name in names if name not in own]
    if missing:
        raise ValueError(
            f"the model was fitted on {_listed(names)}, and of these {_listed(missing)} of "
            f"{table.source} would not be used; leave --columns and --exclude out."
        )
    other = [name for name in [*own, *table.left_out] if name not in names and name != ids]
    if other:
        say(f"{table.source}: not used, as in the run: {_listed(other)}.", quiet=quiet)
    order = [own.index(name) for name in names]
    X = table.X.iloc[:, order] if hasattr(table.X, "iloc") else table.X[:, order]
    if not hasattr(fitted, "feature_names_in_"):
        return X
    X = X.toarray() if sparse.issparse(X) else X  # as what the model was fitted on
    return inputs.framed(X, dataclasses.replace(table, feature_names=tuple(names)))


def _listed(names: list[str]) -> str:
    """Return the names of columns, at most so many."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN])}{more}"
