"""Tables of numbers and of labels, from the files that people have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from clusterscape.ensemble import Ensemble
from clusterscape.io._columns import (
    Table,
    Wanted,
    numbered_rows,
    pick_columns,
    plan_roles,
    table_of_frame,
)
from clusterscape.io._delimited import Header, read_delimited
from clusterscape.io._describe import TableSummary, summary_of_frame, summary_of_table
from clusterscape.io._errors import TableError, UnknownColumn
from clusterscape.io._label_columns import LabelTable, labels_of_frame
from clusterscape.io._matrices import (
    is_ensemble_file,
    label_matrix,
    parquet_frame,
    read_h5ad,
    read_libsvm,
    read_npy,
    read_npz,
)
from clusterscape.io._source import FORMATS, PathOrStream, Source, open_source

# Formats whose numbers are one matrix.
_READERS: dict[str, Callable[[Source, Wanted], Table]] = {
    "npz": read_npz,
    "npy": read_npy,
    "libsvm": read_libsvm,
    "h5ad": read_h5ad,
}


def read_table(
    path: PathOrStream,
    *,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    label_column: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: Header = "auto",
) -> Table:
    r"""Read a table of numbers: one row per point, one column per feature.

    Parameters
    ----------
    path : str, path or binary stream
        A file in CSV, TSV (both also ``.gz``), Parquet, NPZ, NPY, LIBSVM or h5ad; ``"-"`` reads
        standard input.
    id_column : str, optional
        The column that names the rows. Without it a column is taken as the ids only where nothing
        else can be meant: a column called ``id``; a first column without a name; or a first column
        that holds text, different in every row, while all other columns are numbers.
        ``Table.notes`` says so. NPZ files may hold ``ids`` or ``sample_names``.
    columns : str or list of str, optional
        The features to use; all others are left out. Names may be joined by commas.
    exclude : str or list of str, optional
        Columns to leave out.
    label_column : str, optional
        A column of known classes: kept in ``Table.labels`` and not used as a feature. For NPZ and
        LIBSVM files it is ``"y"``, for h5ad a column of ``obs``.
    format : str, optional
        One of the keys of ``FORMATS``; by default the file's ending decides, and CSV for streams.
    delimiter : str, optional
        What separates the fields of a CSV or TSV file; ``"tab"`` is understood.
    header : bool or "auto"
        Whether the first row holds the column names. ``"auto"`` says yes when no field is a number
        and no when all are; anything between is refused, since guessing could lose a row.

    Returns
    -------
    Table
        With ``X`` (dense, or CSR where the file is sparse), ``ids``, ``feature_names``,
        ``labels``, ``source`` and ``notes``.

    Raises
    ------
    TableError
        A ValueError: one sentence with the file, the row, the column and the remedy. Rows of text
        files are counted as an editor numbers lines, header included; rows of other files from 1.
        Missing and infinite values are refused; true and false count as 1 and 0.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import read_table
    >>> table = read_table(io.BytesIO(b"name,x,y\nann,1,2\nbob,3,4\n"))
    >>> table.X
    array([[1., 2.],
           [3., 4.]])
    >>> list(table.ids), table.notes
    (['ann', 'bob'], ("column 'name' holds text, different in every row: it is taken as the ids.",))
    """
    source = open_source(path, format)
    wanted = Wanted(id_column, columns, exclude, label_column)
    if source.format in ("csv", "tsv"):
        mark = _delimiter(source, delimiter)
        frame, names, where, notes = read_delimited(
            source, delimiter=mark, header=header, wanted=wanted
        )
        table = table_of_frame(frame, names, roles=plan_roles(names, wanted, where), where=where)
        return table.noting(*notes)
    if source.format == "parquet":
        frame = parquet_frame(source)
        names, where = [str(c) for c in frame.columns], numbered_rows(source.name)
        return table_of_frame(frame, names, roles=plan_roles(names, wanted, where), where=where)
    return _READERS[source.format](source, wanted)


def _delimiter(source: Source, delimiter: str | None) -> str:
    mark = {None: "," if source.format == "csv" else "\t", "tab": "\t", "\\t": "\t"}.get(
        delimiter, delimiter or ""
    )
    if len(mark) != 1 or mark in '"\r\n':
        raise TableError(
            f"the delimiter must be one character; got {delimiter!r}",
            "for tabs say {delimiter}",
            delimiter="tab",
        )
    return mark


def read_labels(
    path: PathOrStream,
    *,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: Header = "auto",
) -> Ensemble:
    r"""Read clusterings that exist already: one row per point, one column per clustering.

    Parameters
    ----------
    path : str, path or binary stream
        An ensemble written by :meth:`Ensemble.to_npz` or :meth:`Ensemble.to_parquet`; a CSV, TSV
        or Parquet table of labels; or an NPY or NPZ file with an array of integer labels. ``"-"``
        reads CSV from standard input. In a table the labels may be numbers or text; -1 is noise,
        and an empty cell or -2 means that this clustering did not see the point.
    id_column : str, optional
        The column that names the points; a column called ``id``, or a first column without a
        name, is taken without being asked for.
    columns, exclude : str or list of str, optional
        The columns to take, or to leave out. A column called ``confidence`` is left out.
    format, delimiter, header
        As in :func:`read_table`.

    Returns
    -------
    Ensemble

    Raises
    ------
    TableError
        When a column cannot be labels: fractions, or text that differs in every row.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import read_labels
    >>> read_labels(io.BytesIO(b"id,a,b\n1,x,0\n2,x,0\n3,y,1\n"))
    Ensemble(3 points, 2 partitions with 2 clusters)
    """
    return read_label_table(
        path,
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    ).ensemble


def read_label_table(
    path: PathOrStream,
    *,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: Header = "auto",
) -> LabelTable:
    r"""Read clusterings as :func:`read_labels` does, with their ids and the name of their column.

    Parameters
    ----------
    path, id_column, columns, exclude, format, delimiter, header
        As in :func:`read_labels`.

    Returns
    -------
    LabelTable
        With ``ensemble``, ``ids``, ``id_column`` and ``source``.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import read_label_table
    >>> read = read_label_table(io.BytesIO(b"id,a\n0,x\n1,x\n2,y\n"))
    >>> read.id_column, list(read.ids), read.ensemble.index
    ('id', ['0', '1', '2'], None)
    """
    source = open_source(path, format)
    wanted = Wanted(id_column, columns, exclude)
    if source.path is not None and is_ensemble_file(source.path):
        return _ensemble_file(source, wanted)
    if source.format in ("npz", "npy"):
        return LabelTable(label_matrix(source, wanted), source.name)
    if source.format == "parquet":
        frame = parquet_frame(source)
        names, where = [str(c) for c in frame.columns], numbered_rows(source.name)
    elif source.format in ("csv", "tsv"):
        mark = _delimiter(source, delimiter)
        frame, names, where, _ = read_delimited(
            source, delimiter=mark, header=header, wanted=wanted, text=True
        )
    else:
        raise TableError(
            f"{source.name}: labels are not read from {source.format} files",
            "save them as CSV with one column per clustering",
        )
    return labels_of_frame(frame, names, wanted=wanted, where=where)


def _ensemble_file(source: Source, wanted: Wanted) -> LabelTable:
    """Read an ensemble; ``columns`` and ``exclude`` choose partitions."""
    path = cast(Path, source.path)
    npz = path.name.lower().endswith(FORMATS["npz"])
    ensemble = Ensemble.from_npz(path) if npz else Ensemble.from_parquet(path)
    if wanted.id_column is not None:
        raise UnknownColumn(
            wanted.id_column,
            f"{source.name} has no column {wanted.id_column!r}: it is an ensemble, which holds its "
            "ids apart from its columns",
            "leave {id_column} out",
            id_column=wanted.id_column,
        )
    if wanted.columns is not None or wanted.exclude is not None:
        where = numbered_rows(source.name)
        ensemble = ensemble.select(pick_columns(ensemble.names, wanted, where))
    ids = None if ensemble.index is None else np.array([str(i) for i in ensemble.index], object)
    return LabelTable(ensemble, source.name, ids)


def describe_table(
    path: PathOrStream,
    *,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: Header = "auto",
) -> TableSummary:
    r"""Say what a table holds, also one with text or missing values, which cannot be clustered.

    Parameters
    ----------
    path, id_column, columns, exclude, format, delimiter, header
        As in :func:`read_table`.

    Returns
    -------
    TableSummary
        With the kind, the range and the missing cells of every column.

    See Also
    --------
    suspicious_columns : The columns of a table that may be no measurements.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import describe_table
    >>> found = describe_table(io.BytesIO(b"id,x,site\np,1.5,a\nq,,b\n"))
    >>> [(c.name, c.kind, c.n_missing) for c in found.columns]
    [('x', 'numbers', 1), ('site', 'text', 0)]
    """
    source = open_source(path, format)
    wanted = Wanted(id_column, columns, exclude, allow_missing=True)
    if source.format in _READERS:
        return summary_of_table(_READERS[source.format](source, wanted))
    notes: tuple[str, ...] = ()
    if source.format == "parquet":
        frame = parquet_frame(source)
        names, where = [str(c) for c in frame.columns], numbered_rows(source.name)
    else:
        mark = _delimiter(source, delimiter)
        frame, names, where, notes = read_delimited(
            source, delimiter=mark, header=header, wanted=wanted
        )
    if len(frame) == 0:
        raise TableError(f"{where.name} has column names but no rows of data")
    found = summary_of_frame(frame, names, wanted=wanted, where=where)
    return replace(found, notes=notes + found.notes)
