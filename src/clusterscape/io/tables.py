"""Tables of numbers and of labels, from the files that people have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from clusterscape.ensemble import Ensemble
from clusterscape.io._columns import Table, Wanted, numbered_rows, pick_columns
from clusterscape.io._delimited import Read, read_delimited, read_plain
from clusterscape.io._describe import TableSummary, summary_of_frame, summary_of_table
from clusterscape.io._errors import TableError, UnknownColumn, no_rows
from clusterscape.io._features import (
    CATEGORY_CHOICES,
    MISSING_CHOICES,
    settle_missing,
    table_of_frame,
)
from clusterscape.io._label_columns import LabelTable, labels_of_frame
from clusterscape.io._layout import Header, Layout
from clusterscape.io._matrices import (
    h5ad_labels,
    h5ad_parts,
    is_ensemble_file,
    label_matrix,
    parquet_frame,
    read_h5ad,
    read_libsvm,
    read_npy,
    read_npz,
    read_parquet,
)
from clusterscape.io._numbers import Marks, is_missing
from clusterscape.io._sheets import sheet_frame
from clusterscape.io._source import FORMATS, TEXT, PathOrStream, Source, open_source

_FEWEST_SUMMED = 4  # rows, below which a last row may be the sum of the others by chance

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
    encoding: str | None = None,
    na: str | Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
    skip: int = 0,
    missing: str = "refuse",
    categories: str = "refuse",
    transpose: bool = False,
    obsm: str | None = None,
    layer: str | None = None,
) -> Table:
    r"""Read a table of numbers: one row per point, one column per feature.

    Parameters
    ----------
    path : str, path or binary stream
        A file in CSV, TSV or other text (also ``.gz``), xlsx (the first sheet), Parquet, Arrow,
        NPZ, NPY, LIBSVM or h5ad; ``"-"`` reads standard input.
    id_column : str, optional
        The column that names the rows. Without it a column is taken as the ids only where nothing
        else can be meant: a column called ``id``; a first column without a name; or a first column
        that holds text, different in every row, while all other columns are numbers (or words,
        where ``categories`` allows them). ``Table.notes`` says so. NPZ files may hold ``ids`` or
        ``sample_names``.
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
        What separates the fields of a file of text; ``"tab"`` and ``"space"`` are understood. By
        default the mark by which all rows are equally long, of ``, ; tab |``, and spaces in
        ``.txt`` files.
    header : bool or "auto"
        Whether the first row holds the column names. ``"auto"`` says yes when no field is a number
        and no when all are; anything between is refused, since guessing could lose a row.
    encoding : str, optional
        Encoding of text; by default what a byte order mark says, and UTF-8 without one.
    na : str or list of str
        Cells that stand for a missing value, beside empty ones, NA, n/a, NaN, null, None and #N/A.
    decimal : {".", ","}, optional
        The decimal mark of text; found by default, and refused where it cannot be known.
    thousands : str, optional
        The mark between thousands in text. Spaces and apostrophes there are understood by
        themselves, commas and points where they can be nothing else.
    sheet : str, optional
        The sheet of an xlsx file.
    skip : int
        Lines before the table that are not read. Lines before it that begin with ``#`` are
        left out by themselves.
    missing : {"refuse", "drop", "impute", "keep"}
        What is done with missing values: an error that says how many there are and where; their
        rows are left out; the median of the column, or its most frequent word, stands for them;
        they stay NaN.
    categories : {"refuse", "drop", "one-hot", "keep"}
        What is done with columns of words: an error; they are left out (dates too); one column of 0
        and 1 for each word; or they stay words, and ``X`` is a data frame
        (:class:`~clusterscape.preprocess.TableEncoder` and
        :func:`~clusterscape.preprocess.gower_distances` take it). Words that differ in most rows,
        or more than 100, are refused: they are names or free text.
    transpose : bool
        The file has one column per point and one row per feature.
    obsm, layer : str, optional
        Of an h5ad file, the matrix of ``obsm`` (X itself is not read then) or the layer to read in
        place of ``X``.

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
        Infinite values are always refused.

    See Also
    --------
    clusterscape.io.suspicious_columns : Columns that may be no features.
    clusterscape.io.open_rows : Tables that do not fit in memory.

    Notes
    -----
    A column counts as numbers only where all its cells say the same kind of thing: plain numbers,
    numbers with one unit or with marks between thousands, percentages (12 % is 12), or a pair such
    as yes and no (1 and 0). ``Table.notes`` says what was understood. Dates are no measurements
    and are refused, and so are columns with several units.

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
    for name, value, known in (
        ("missing", missing, MISSING_CHOICES),
        ("categories", categories, CATEGORY_CHOICES),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}.")
    source = open_source(path, format, encoding)
    _refuse_elsewhere(source, obsm, layer)
    layout = Layout(delimiter, header, decimal, thousands, _tokens(na), sheet, skip).checked()
    place: Any = {"obsm": obsm, "layer": layer, "na": layout.na}
    if transpose:
        wanted = Wanted(id_column, columns, exclude, label_column, missing="keep", **place)
        table = transposed(_table(source, layout, wanted))
        return settle_missing(table, Wanted(missing=missing), numbered_rows(source.name))
    wanted = Wanted(id_column, columns, exclude, label_column, missing, categories, **place)
    return _without_class(_total_said(_table(source, layout, wanted)), label_column, layout.na)


def _total_said(table: Table) -> Table:
    """Warn of a last row that holds the sums of all others."""
    X = table.X
    if not isinstance(X, np.ndarray) or len(X) < _FEWEST_SUMMED or not np.isfinite(X[-1]).all():
        return table
    if (X[-1] != 0).sum() < 2:
        return table
    for last, column in zip(X[-1], X[:-1].T, strict=True):  # a sum without NaN copies what it sums
        with np.errstate(all="ignore"):
            total = np.nansum(column, dtype=np.float64)
        if not np.isclose(total, last, rtol=1e-9, atol=0):
            return table
    name = "" if table.ids is None else f" ({str(table.ids[-1])!r})"
    return replace(
        table,
        notes=(
            *table.notes,
            f"warning: the last row{name} holds the sums of all others; if it is no point, delete "
            "it from the file.",
        ),
    )


def _without_class(table: Table, column: str | None, na: Sequence[str]) -> Table:
    """Empty the cells of the classes that stand for a missing value, as those of features do."""
    if table.labels is None or np.asarray(table.labels).dtype.kind != "O":
        return table
    absent = np.array([is_missing(cell, na) for cell in table.labels], dtype=bool)
    words = {str(v).strip() for v in table.labels[absent] if isinstance(v, str) and v.strip()}
    if not words:
        return table
    labels = table.labels.copy()
    labels[absent] = ""
    shown = ", ".join(repr(word) for word in sorted(words)[:3])
    note = f"column {column!r}: {absent.sum():,} cells ({shown}) stand for no class."
    return replace(table, labels=labels, notes=(*table.notes, note))


def _refuse_elsewhere(source: Source, obsm: str | None, layer: str | None) -> None:
    """Refuse the options of h5ad files for others."""
    if source.format == "h5ad" or (obsm is None and layer is None):
        return
    option = {"obsm": obsm} if obsm is not None else {"layer": layer}
    name = next(iter(option))
    raise TableError(
        f"{source.name} is no h5ad file, and only these hold obsm and layers",
        f"leave out {{{name}}}",
        **option,
    )


def _tokens(na: str | Sequence[str]) -> tuple[str, ...]:
    return (na,) if isinstance(na, str) else tuple(na)


def _table(source: Source, layout: Layout, wanted: Wanted) -> Table:
    if source.format in _READERS:
        return _READERS[source.format](source, wanted)
    if source.format in TEXT and layout.sheet is None:
        plain = read_plain(source, layout=layout, wanted=wanted)
        if plain is not None:
            return plain
    if source.format == "parquet" and layout.sheet is None:
        plain = read_parquet(source, wanted)
        if plain is not None:
            return plain
    read = _read_frame(source, layout, wanted)
    table = table_of_frame(
        read.frame, read.names, wanted=wanted, where=read.where, marks=read.marks, na=layout.na
    )
    codes = tuple(name for name in read.codes if name in table.feature_names)
    return replace(table, codes=codes).noting(*read.notes)


def _read_frame(source: Source, layout: Layout, wanted: Wanted, *, text: bool = False) -> Read:
    """Read a file whose columns may be anything."""
    if layout.sheet is not None and source.format != "xlsx":
        raise TableError(
            f"{source.name} is no xlsx file, and has no sheets",
            "leave out {sheet}",
            sheet=layout.sheet,
        )
    if source.format in TEXT:
        return read_delimited(source, layout=layout, wanted=wanted, text=text)
    if source.format == "xlsx":
        frame, names, where, notes = sheet_frame(source, layout, numbers=not text)
        # Numbers are numbers there; marks are those of numbers that are kept as text.
        marks = Marks(layout.decimal or ".", layout.thousands)
        return Read(frame, names, where, marks, tuple(notes))
    frame = parquet_frame(source)
    return Read(frame, [str(c) for c in frame.columns], numbered_rows(source.name), Marks())


def read_text(
    path: PathOrStream,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: Header = "auto",
    encoding: str | None = None,
    sheet: str | None = None,
    skip: int = 0,
) -> pd.DataFrame:
    r"""Read a table with every cell as the text that stands in the file.

    Parameters
    ----------
    path, format, delimiter, header, encoding, sheet, skip
        As in :func:`read_table`; of the formats CSV, TSV, other text and xlsx.

    Returns
    -------
    pandas.DataFrame
        With the rows and columns that :func:`read_table` would read, ids included. Names of columns
        may repeat.

    See Also
    --------
    read_table : Reads the numbers of a table.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import read_text
    >>> read_text(io.BytesIO(b"id;x\n007;1,50\n")).to_dict("list")
    {'id': ['007'], 'x': ['1,50']}
    """
    source = open_source(path, format, encoding)
    if source.format not in (*TEXT, "xlsx"):
        raise TableError(
            f"{source.name} is a {source.format} file, which holds no text",
            "save it as CSV (UTF-8)",
        )
    layout = Layout(delimiter, header, ".", None, (), sheet, skip).checked()
    read = _read_frame(source, layout, Wanted(), text=True)
    cells = read.frame.map(lambda cell: "" if cell is None or cell != cell else str(cell))
    filled = np.flatnonzero((cells.map(str.strip) != "").any(axis=1).to_numpy())
    cells = cells.iloc[: filled.max(initial=-1) + 1]
    return cells.set_axis(read.names, axis=1).reset_index(drop=True)


def transposed(table: Table) -> Table:
    """Return the table with rows and columns exchanged."""
    names = [str(i + 1) for i in range(table.n_points)] if table.ids is None else table.ids
    if table.labels is not None:
        raise TableError(
            f"{table.source}: columns are points in a transposed table, and cannot be classes",
            "leave out {label_column}",
            label_column="...",
        )
    numbered = [str(i + 1) for i in range(table.n_features)]
    ids = list(table.feature_names)
    again = next((name for i, name in enumerate(ids) if name in ids[:i]), None)
    if again is not None:
        raise TableError(
            f"{table.source}: two columns are called {again!r}, and columns are points here",
            "give them different names",
        )
    X = table.X.T.tocsr() if hasattr(table.X, "tocsr") else np.ascontiguousarray(table.X.T)
    return replace(
        table,
        X=X,
        ids=None if ids == numbered else np.array(ids, dtype=object),
        feature_names=tuple(str(name) for name in names),
        id_column=None,
        left_out=(),
        codes=(),
        notes=(
            *table.notes,
            "rows and columns are exchanged: every column of the file is a point.",
        ),
    )


def read_labels(
    path: PathOrStream,
    *,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: Header = "auto",
    encoding: str | None = None,
    na: str | Sequence[str] = (),
    sheet: str | None = None,
    skip: int = 0,
) -> Ensemble:
    r"""Read clusterings that exist already: one row per point, one column per clustering.

    Parameters
    ----------
    path : str, path or binary stream
        An ensemble written by :meth:`Ensemble.to_npz` or :meth:`Ensemble.to_parquet`; a CSV, TSV
        or Parquet table of labels; an NPY or NPZ file with an array of integer labels; or an h5ad
        file, of which ``columns`` names columns of ``obs``. ``"-"`` reads CSV from standard input.
        In a table the labels may be numbers or text; -1 is noise, and an empty cell or -2 means
        that this clustering did not see the point.
    id_column : str, optional
        The column that names the points; a column called ``id``, or a first column without a
        name, is taken without being asked for.
    columns, exclude : str or list of str, optional
        The columns to take, or to leave out. A column called ``confidence`` is left out. Of an
        h5ad file, patterns such as ``"leiden_*"`` are understood.
    format, delimiter, header, encoding, sheet, skip
        As in :func:`read_table`.
    na : str or list of str
        Cells that mean that the clustering did not see the point, beside empty ones.

    Returns
    -------
    Ensemble

    Raises
    ------
    TableError
        When a column cannot be labels: fractions, or text that differs in every row.

    See Also
    --------
    read_label_table : Several clusterings out of one file.

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
        encoding=encoding,
        na=na,
        sheet=sheet,
        skip=skip,
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
    encoding: str | None = None,
    na: str | Sequence[str] = (),
    sheet: str | None = None,
    skip: int = 0,
) -> LabelTable:
    r"""Read clusterings as :func:`read_labels` does, with their ids and the name of their column.

    Parameters
    ----------
    path, id_column, columns, exclude, format, delimiter, header, encoding, na, sheet, skip
        As in :func:`read_labels`.

    Returns
    -------
    LabelTable
        With ``ensemble``, ``ids``, ``id_column`` and ``source``.

    See Also
    --------
    read_labels : One clustering.
    clusterscape.Ensemble : Its ``from_labels`` takes labels that are in memory.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import read_label_table
    >>> read = read_label_table(io.BytesIO(b"id,a\n0,x\n1,x\n2,y\n"))
    >>> read.id_column, list(read.ids), read.ensemble.index
    ('id', ['0', '1', '2'], None)
    """
    source = open_source(path, format, encoding)
    layout = Layout(delimiter, header, ".", None, _tokens(na), sheet, skip).checked()
    wanted = Wanted(id_column, columns, exclude)
    if source.path is not None and is_ensemble_file(source.path):
        return _ensemble_file(source, wanted)
    if source.format in ("npz", "npy"):
        return LabelTable(label_matrix(source, wanted), source.name)
    if source.format == "h5ad":
        cells = h5ad_labels(source, wanted)
        ids = np.asarray(cells.index).astype(str).astype(object)
        return LabelTable(cells, source.name, ids)
    if source.format in _READERS:
        raise TableError(
            f"{source.name}: labels are not read from {source.format} files",
            "save them as CSV with one column per clustering",
        )
    read = _read_frame(source, layout, wanted, text=True)
    return labels_of_frame(read.frame, read.names, wanted=wanted, where=read.where, na=layout.na)


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
    encoding: str | None = None,
    na: str | Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
    skip: int = 0,
    obsm: str | None = None,
    layer: str | None = None,
) -> TableSummary:
    r"""Say what a table holds, also one with text or missing values, which cannot be clustered.

    Parameters
    ----------
    path, id_column, columns, exclude, format, delimiter, header
        As in :func:`read_table`.
    encoding, na, decimal, thousands, sheet, skip, obsm, layer
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
    source = open_source(path, format, encoding)
    layout = Layout(delimiter, header, decimal, thousands, _tokens(na), sheet, skip).checked()
    _refuse_elsewhere(source, obsm, layer)
    place: Any = {"obsm": obsm, "layer": layer, "na": layout.na}
    wanted = Wanted(id_column, columns, exclude, missing="keep", **place)
    if source.format in _READERS:
        found = summary_of_table(_READERS[source.format](source, wanted))
        return replace(found, parts=h5ad_parts(source)) if source.format == "h5ad" else found
    read = _read_frame(source, layout, wanted)
    if len(read.frame) == 0:
        raise no_rows(read.where.name)
    found = summary_of_frame(read, wanted=wanted, na=layout.na)
    return replace(found, notes=read.notes + found.notes)
