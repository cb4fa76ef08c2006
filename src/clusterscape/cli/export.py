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
    import pandas as pd

    from clusterscape.io import FORMATS

    given = {name: v[0] if isinstance(v, list) else v for name, v in layout.items()}
    stem = data.lower().removesuffix(".gz")
    known = [kind for kind, endings in FORMATS.items() if stem.endswith(endings)]
    kind = given.get("format") or next(iter(known), "csv")
    if kind not in ("csv", "tsv", "txt", "xlsx"):
        raise ValueError(
            f"{data} is a {kind} file, and labels are joined to CSV, TSV and xlsx; save it as CSV "
            "(UTF-8), or leave TABLE out."
        )
    read = _sheet_cells if kind == "xlsx" else _text_cells
    whole = read(data, given)
    if given.get("header") is False:
        return whole.set_axis([str(j + 1) for j in range(whole.shape[1])], axis=1)
    table = whole.iloc[1:].reset_index(drop=True)
    table.columns = pd.Index(whole.iloc[0].tolist())
    return table


def _text_cells(data: str, given: dict[str, Any]) -> Any:
    """Return the rows of a file of text, the names of the columns among them."""
    import pandas as pd

    marks = {"tab": "\t", "\\t": "\t", "space": r"\s+", "whitespace": r"\s+", " ": r"\s+"}
    mark = given.get("delimiter")
    encoding = given.get("encoding")
    try:
        return pd.read_csv(
            data,
            sep=None if mark is None else marks.get(mark, mark),
            engine="python",
            encoding=encoding,
            skiprows=int(given.get("skip", 0)),
            dtype=str,
            keep_default_na=False,
            header=None,
        )
    except UnicodeDecodeError:
        raise ValueError(
            f"{data} is not text in the encoding {encoding or 'UTF-8'}; save it again as CSV in "
            "UTF-8, or give the run the --encoding of its table: it is used here too."
        ) from None
    except pd.errors.ParserError as error:
        reason = str(error).strip().splitlines()[-1].rstrip(".")
        raise ValueError(
            f"{data} cannot be read as a table ({reason}); save it as CSV whose first line holds "
            "the names of the columns."
        ) from None


def _sheet_cells(data: str, given: dict[str, Any]) -> Any:
    """Return the rows of a spreadsheet that hold something, as :func:`_text_cells` does."""
    import zipfile

    import pandas as pd

    try:
        rows = pd.read_excel(
            data,
            sheet_name=given.get("sheet", 0),
            engine="openpyxl",
            header=None,
            dtype=object,
            na_filter=False,
        )
    except (ImportError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = str(error).strip().rstrip(".")
        raise ValueError(f"{data} cannot be read ({reason}); save it as CSV in UTF-8.") from None
    rows = rows.iloc[int(given.get("skip", 0)) :].map(str)
    rows = rows.loc[(rows != "").any(axis=1), (rows != "").any(axis=0)]
    if rows.empty:
        raise ValueError(f"{data}: the sheet holds nothing; save the table as CSV in UTF-8.")
    return rows.reset_index(drop=True)


def _joined(frame: Any, table: Any, data: str, *, has_ids: bool) -> Any:
    """Return the columns of a table, as they stand in the file, and the labels of its rows."""
    import pandas as pd

    if len(table) != len(frame):
        raise ValueError(
            f"{data} has {len(table):,} rows and the run {len(frame):,} points; give the table "
            "that was clustered."
        )
    if has_ids:
        ids = frame["id"].astype(str).tolist()
        if not any(table.iloc[:, j].tolist() == ids for j in range(table.shape[1])):
            raise ValueError(
                f"no column of {data} holds the ids of the run in their order; give the table that "
                "was clustered."
            )
    added = frame.drop(columns="id")
    taken = [name for name in added if name in list(table.columns)]
    added = added.rename(columns={name: f"clusterscape_{name}" for name in taken})
    return pd.concat([table, added.reset_index(drop=True)], axis=1)
