"""``clusterscape export``: the labels of a run, with your choices, beside a table's columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb
from clusterscape.cli.report import Results, note_positions


@verb
def export(
    results: Results,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help="A table with the same rows (CSV, TSV or xlsx): all its columns are kept, and "
            "those of the labels added.",
        ),
    ] = None,
    *,
    choices: opt.Choices = None,
    for_spreadsheet: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheet",
            help="Put an apostrophe before text that a spreadsheet would run as a formula.",
        ),
    ] = False,
    output: opt.OutputFile = None,
    force: opt.ForceFile = False,
    printing: opt.Printing,
) -> None:
    """Write the labels of a run as a table, joined to the original one if it is given.

    The columns added: label, confidence, runner_up and runner_up_share; with --choices also
    cluster (the name that was given to it) and marked. Where another clustering was taken or
    clusters were merged, they are numbered from 0 without gaps, as in the report and the pictures
    of the choices, and confidences are the votes for them.

    Example: `clusterscape export result wine.csv --choices result/choices.json -o wine-labels.csv`
    """
    from clusterscape.cli import output as out
    from clusterscape.cli.like import layout_of
    from clusterscape.ensemble.files import inert
    from clusterscape.io import load_results
    from clusterscape.io.results import json_text, labels_csv, with_ids, write_frame
    from clusterscape.report import Choices

    if output is not None:
        read = [str(path) for path in (data, choices) if path is not None]
        out.check_file(output, read, out.LABELS, force=force)
    found = load_results(results)
    chosen = None if choices is None else Choices.read(choices)
    frame = with_ids(_labels(found, chosen))
    if data is not None:
        note_positions(found, data, quiet=printing.quiet)
        table = _cells(data, layout_of(found.run, data))
        frame = _joined(frame, table, data, has_ids=found.ensemble.index is not None)
    if for_spreadsheet:
        frame = inert(frame)
    if output is not None:
        write_frame(output, frame)
        say(f"{output}: {len(frame):,} points.", quiet=printing.quiet)
    elif printing.json:
        typer.echo(json_text({name: frame[name].tolist() for name in frame}))
    else:
        typer.echo(labels_csv(frame), nl=False)


def _labels(found: Any, chosen: Any) -> Any:
    """Return the points' table after the choices."""
    frame = found.labels
    if chosen is None:
        return frame
    taken = chosen.applied_to(
        SimpleNamespace(ensemble_=found.ensemble, labels_=frame["label"].to_numpy())
    )
    if chosen.partition or chosen.merged:
        frame = taken.to_frame()
    marked = set(chosen.marked)
    return frame.assign(
        cluster=taken.called(frame["label"]), marked=[str(i) in marked for i in frame.index]
    )


def _cells(data: str, layout: dict[str, Any]) -> Any:
    """Return the cells of a file as text, so that nothing changes; names of columns may repeat.

    ``layout`` are the options that the run was given for its table.
    """
    from clusterscape.io import TableError, read_text

    given = {name: v[0] if isinstance(v, list) else v for name, v in layout.items()}
    taken = ("format", "delimiter", "header", "encoding", "sheet", "skip")
    arguments = {name: given[name] for name in taken if name in given}
    if "skip" in arguments:
        arguments["skip"] = int(arguments["skip"])
    try:
        return read_text(data, **arguments)
    except TableError as error:
        if not error.options:
            raise
        # This command has no options for tables.
        raise ValueError(
            f"{error.problem}; save it again as CSV in UTF-8, or give the run the options that its "
            "table needs: they are used here too."
        ) from None


def _joined(frame: Any, table: Any, data: str, *, has_ids: bool) -> Any:
    """Return the columns of a table, as they stand in the file, and the labels of its rows."""
    import pandas as pd

    if has_ids:
        frame = _by_id(frame, table, data)
    elif len(table) != len(frame):
        raise ValueError(
            f"{data} has {len(table):,} rows and the run {len(frame):,} points; give the table "
            "that was clustered."
        )
    added = frame.drop(columns="id")
    taken = [name for name in added if name in list(table.columns)]
    added = added.rename(columns={name: f"clusterscape_{name}" for name in taken})
    return pd.concat([table, added.reset_index(drop=True)], axis=1)


def _by_id(frame: Any, table: Any, data: str) -> Any:
    """Return the labels in the order of a table's rows; rows that the run left out have none."""
    ids = frame["id"].astype(str).tolist()
    for j in range(table.shape[1]):
        cells = table.iloc[:, j].tolist()
        if cells == ids:
            return frame
        if set(ids) <= set(cells) and len(set(cells)) == len(cells):
            place = {name: i for i, name in enumerate(ids)}
            rows = frame.iloc[[place.get(cell, -1) for cell in cells]].reset_index(drop=True)
            rows = rows.assign(label=rows["label"].astype("Int64")).astype(object)
            rows.loc[[cell not in place for cell in cells], :] = None
            return rows
    raise ValueError(
        f"no column of {data} holds the ids of the run, each once; give the table that was "
        "clustered."
    )
