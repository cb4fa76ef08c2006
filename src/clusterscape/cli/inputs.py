"""What a command reads: tables, clusterings joined by their ids, and features matched to them."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import typer

from clusterscape.cli.console import say
from clusterscape.cli.options import MOST_GOWER, SCALES, Preparing, ReadArguments, Reading, choose

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.io import LabelTable, Suspicion, Table, UnknownColumn
    from clusterscape.model import ConsensusClustering

T = TypeVar("T")

JOINS = ("same", "inner", "outer", "order")
_SHOWN = 20  # names of columns in a message
_WARNED = 5  # columns of one kind that are warned of one by one
_FEWEST_ROWS = 5  # below, clusters of one point each are nothing strange


# ---- one table of features ------------------------------------------------------------------


def read_table(
    data: str,
    reading: Reading,
    *,
    reference: str | None = None,
    compares: bool = True,
    keep: bool = False,
    done: Sequence[str] = (),
    quiet: bool = False,
) -> tuple[Table, dict[str, Any]]:
    """Read the features, say which columns are used, and return them with their origin.

    The origin is what ``run.json`` says of the input. ``compares`` says that the verb has
    the option --reference. ``keep`` leaves gaps that are to be filled, and words that are to
    become columns, to the first of the :func:`steps`. ``done`` are remedies against values that
    are far from all others which the command was given already.
    """
    from clusterscape import io as tables
    from clusterscape.io.results import file_digest

    reading.refuse(
        "columns of obs are clusterings, which this command does not read ('clusterscape combine' "
        "does)",
        "obs",
    )
    arguments = (reading.kept() if keep else reading).table_arguments(data)
    if keep and arguments["missing"] == "impute":
        arguments["missing"] = "keep"
    if keep and arguments["categories"] == "one-hot":
        arguments["categories"] = "keep"
    if data == "-":
        content = sys.stdin.buffer.read()
        digest = hashlib.sha256(content).hexdigest()
        table = tables.read_table(io.BytesIO(content), label_column=reference, **arguments)
    else:
        table = tables.read_table(data, label_column=reference, **arguments)
        digest = file_digest(data)
    _refuse_tiny(table)
    suspicious = [] if arguments["columns"] else tables.suspicious_columns(table)
    suspicious.sort(key=lambda one: one.kind == "outlier")  # of which there may be very many
    _tell_columns(table, suspicious, compares=compares, done=done, quiet=quiet)
    odd = _suspicious(suspicious)
    origin = {
        "file": os.path.basename(table.source),
        "sha256": digest,
        "n_points": table.n_points,
        "n_features": table.n_features,
        "feature_names": list(table.feature_names),
        "id_column": table.id_column,
        "left_out": list(table.left_out),
        "suspicious": odd,
        "n_dropped": table.n_dropped,
        "notes": [*table.notes, *odd],
    }
    return table, origin


def tried(scale: str, preparing: Preparing) -> list[str]:
    """Return the remedies against far values that the options hold."""
    return ["--scale robust"] * (scale == "robust") + ["--log"] * preparing.log


_TINY = 1e-150  # the squares of smaller numbers are 0


def _refuse_tiny(table: Table) -> None:
    """Refuse columns of numbers so small that scaling takes them for constant."""
    X = table.X
    if not isinstance(X, np.ndarray) or X.dtype != np.float64:
        return
    largest = np.maximum(np.nanmax(X, axis=0, initial=0.0), -np.nanmin(X, axis=0, initial=0.0))
    tiny = np.flatnonzero((largest > 0) & (largest < _TINY))
    if tiny.size:
        name = str(table.feature_names[tiny[0]])
        raise ValueError(
            f"{table.source}: the column {name!r} holds numbers of at most "
            f"{largest[tiny[0]]:.3g}, whose squares are 0 in a computer; write them in other units "
            f"(multiplied), or leave the column out with --exclude {shlex.quote(name)}."
        )


_SCALERS = {"standard": "StandardScaler", "robust": "RobustScaler", "minmax": "MinMaxScaler"}


def scaling(X: Any, how: str, reading: Reading, algorithm: str | None = None) -> str:
    """Return what --scale means for these features: the name of a scaling, or "none"."""
    from scipy import sparse

    choose("--scale", how, SCALES)
    if algorithm is not None and how not in ("none", "minmax"):
        from clusterscape.generate.algorithms import named

        if named(algorithm).nonnegative:
            if how == "auto":
                return "none"
            raise ValueError(
                f"--algorithm {algorithm} needs data without negative values, and --scale {how} "
                "makes columns with them; use --scale none or minmax."
            )
    if how == "none" or (how == "auto" and sparse.issparse(X)):
        return "none"
    if sparse.issparse(X):
        words = {"standard": "standardised"}.get(how, f"scaled ({how})")
        raise ValueError(
            f"a sparse table cannot be {words}, it would become dense; use --scale none."
        )
    return how if how != "auto" else "mixed" if reading.categories == "one-hot" else "standard"


def scaler(how: str) -> Any:
    """Return the transformer for a scaling."""
    from sklearn import preprocessing

    if how == "mixed":
        from clusterscape.preprocess import MixedScaler

        return MixedScaler()
    return getattr(preprocessing, _SCALERS[how])()


def scaled(X: Any, how: str, reading: Reading, algorithm: str | None = None) -> tuple[Any, str]:
    """Return the features as they are clustered, and what was done to them."""
    done = scaling(X, how, reading, algorithm)
    return (X, done) if done == "none" else (scaler(done).fit_transform(X), done)


def steps(
    table: Table,
    reading: Reading,
    preparing: Preparing,
    *,
    scale: str,
    seed: int,
    quiet: bool = False,
) -> list[Any]:
    """Return the transformers that come before the clusterer; ``scale`` is a scaling or "none"."""
    import pandas as pd
    from scipy import sparse
    from sklearn.decomposition import PCA, TruncatedSVD

    from clusterscape.preprocess import LogTransformer, TableEncoder, TopVariable

    if reading.categories == "gower":
        return [_gower(table, reading, preparing, scale)]
    made: list[Any] = []
    impute = reading.missing == "impute"
    if impute and sparse.issparse(table.X):
        raise ValueError(
            "a sparse table has no missing values to fill; leave --missing impute out."
        )
    if impute or isinstance(table.X, pd.DataFrame):
        encoder = TableEncoder(missing="impute" if impute else "refuse").fit(framed(table.X, table))
        for note in encoder.notes():
            say(f"{table.source}: {note}", quiet=quiet)
        made.append(encoder)
    width = len(made[0].get_feature_names_out()) if made else table.n_features
    if preparing.log:
        made.append(LogTransformer())
    if preparing.top_variable is not None:
        _at_most("--top-variable", preparing.top_variable, width, "columns")
        width = preparing.top_variable
        made.append(TopVariable(width))
    if scale != "none":
        made.append(scaler(scale))
    if preparing.pca is not None:
        _at_most("--pca", preparing.pca, min(width, table.n_points), "columns and points")
        svd = sparse.issparse(table.X)
        made.append((TruncatedSVD if svd else PCA)(preparing.pca, random_state=seed))
    return made


def scaling_of(table: Table, reading: Reading, how: str, algorithm: str | None) -> str:
    """Return what is scaled: nothing where distances take every column over its range."""
    if reading.categories == "gower" and how == "auto":
        return "none"
    return scaling(table.X, how, reading, algorithm)


def _gower(table: Table, reading: Reading, preparing: Preparing, scale: str) -> Any:
    """Return the step to Gower's distances, which leaves nothing else to prepare."""
    from scipy import sparse

    from clusterscape.preprocess import GowerDistances

    if preparing != Preparing() or scale != "none" or reading.missing == "impute":
        raise typer.BadParameter(
            "Gower's distance takes every column over its range, and passes over gaps; leave "
            "--scale, --log, --top-variable, --pca and --missing impute out (--missing members "
            "keeps the gaps).",
            param_hint="--categories",
        )
    if sparse.issparse(table.X):
        raise ValueError("a sparse table holds no words; leave --categories gower out.")
    if table.n_points > MOST_GOWER:
        raise ValueError(
            f"{table.source} has {table.n_points:,} rows, and Gower's distances between them would "
            f"take {8e-9 * table.n_points**2:.1f} GB (at most {MOST_GOWER:,} rows); use "
            "--categories one-hot."
        )
    return GowerDistances()


def _at_most(option: str, given: int, most: int, what: str) -> None:
    if given > most:
        raise typer.BadParameter(
            f"{given:,} is more than there are {what} ({most:,}).", param_hint=option
        )


def framed(X: Any, table: Table) -> Any:
    """Return dense features with the ids of the rows and, where they differ, the columns' names."""
    import pandas as pd
    from scipy import sparse

    if sparse.issparse(X):
        return X
    names = [str(name) for name in table.feature_names]
    columns = names if len(set(names)) == len(names) else range(len(names))
    if isinstance(X, pd.DataFrame):
        return X.set_axis(pd.Index(columns), axis=1).set_axis(
            pd.RangeIndex(len(X)) if table.ids is None else pd.Index(table.ids), axis=0
        )
    named = columns is names
    return pd.DataFrame(X, index=table.ids, columns=names if named else None)


def fitted(
    model: ConsensusClustering, table: Table, before: Any, *, jobs: int, embedded: bool = False
) -> Any:
    """Fit the model to a table, and return it, or the pipeline of ``before`` and it.

    ``before`` are the steps before the model, or the name of a scaling; ``embedded`` says that the
    table holds coordinates whose scales are taken as they are. What only says how the work
    is done is not left in the model: its file then has the same bytes for any number of workers,
    and fitting it again does not go on in this run's store.
    """
    import joblib
    from scipy import sparse
    from sklearn.pipeline import make_pipeline

    from clusterscape.generate.scales import accepted_scales
    from clusterscape.preprocess import MixedScaler

    X = framed(table.X, table)
    if isinstance(before, str):
        before = [] if before == "none" else [scaler(before)]
    embedded = embedded or any(type(step) is MixedScaler for step in before)
    with joblib.parallel_config(n_jobs=jobs), accepted_scales() if embedded else nullcontext():
        if not before:
            whole = model.fit(X, index=table.ids)
        elif sparse.issparse(X):
            whole = make_pipeline(*before, model)
            whole.fit(X, **{f"{whole.steps[-1][0]}__index": table.ids})
        else:
            # Their output keeps the ids and the names of the columns.
            named = [step.set_output(transform="pandas") for step in before]
            whole = make_pipeline(*named, model).fit(X)
    model.set_params(progress=None, store=None)
    return whole


def as_in_run(reading: Reading, fitted: Any, run: Mapping[str, Any]) -> Reading:
    """Return how the table of a fitted model is read: gaps, words and direction as in its run."""
    from clusterscape.preprocess import GowerDistances, TableEncoder

    first = fitted.steps[0][1] if hasattr(fitted, "steps") else fitted
    changes: dict[str, Any] = {}
    fills = isinstance(first, TableEncoder) and first.missing == "impute"
    if reading.missing == "impute" and not fills:
        raise typer.BadParameter(
            "the run filled no missing values, so that it is not known what to fill in; use "
            "--missing drop.",
            param_hint="--missing",
        )
    done = run.get("parameters")
    done = done if isinstance(done, dict) else {}
    distances = isinstance(first, GowerDistances)
    for option, value, same in (
        ("missing", "members", done.get("missing") == "members"),
        ("categories", "gower", distances),
    ):
        if getattr(reading, option) == value and not same:
            raise typer.BadParameter(
                f"the run was not made with {value!r}; leave the option out.",
                param_hint=f"--{option}",
            )
    if distances:
        changes["categories"] = "gower"
    if reading.missing == "refuse" and done.get("missing") == "members":
        changes["missing"] = "members"
    if reading.missing == "refuse" and (fills or done.get("missing") == "drop"):
        changes["missing"] = "impute" if fills else "drop"
    if isinstance(first, TableEncoder) and any(w is not None for w in first.categories_):
        changes["categories"] = "one-hot"
    if done.get("transpose") is True and reading.transpose is None:
        changes["transpose"] = True
    return dataclasses.replace(reading, **changes)


def transformed(table: Table, before: Sequence[Any]) -> Any:
    """Return the features after the steps, as an array or sparse matrix."""
    if not before:
        return table.X
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*before).fit_transform(framed(table.X, table))


def _tell_columns(
    table: Table,
    suspicious: Sequence[Suspicion],
    *,
    file: str = "",
    compares: bool = False,
    done: Sequence[str] = (),
    quiet: bool = False,
) -> None:
    """Say which columns are used, and which of them may be no measurements.

    ``file`` is the table as options name it, where a command reads several files.
    """
    for note in table.notes:
        say(f"{table.source}: {note}", quiet=quiet)
    names = [str(name) for name in table.feature_names]
    again = [(name, count) for name, count in Counter(names).items() if count > 1]
    for name, count in again[:3]:
        say(
            f"{table.source}: warning: {count} columns are called {name!r}; all of "
            "them are used, and columns go by position. If one is a copy, delete it from the file; "
            "else give them different names.",
            quiet=quiet,
        )
    shown = ", ".join(names[:_SHOWN])
    more = f", and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    columns = "1 column is used" if len(names) == 1 else f"{len(names):,} columns are used"
    say(f"{table.source}: {columns}: {shown}{more}.", quiet=quiet)
    prefix = f"{file}=" if file else ""
    seen = Counter(one.kind for one in suspicious)
    told: Counter[str] = Counter()
    for one in suspicious:
        told[one.kind] += 1
        if told[one.kind] > _WARNED:
            continue
        name = shlex.quote(prefix + one.column)
        say(
            f"{table.source}: warning: column {one.column!r} {one.reason}. "
            f"{_advice(one, name, compares=compares, done=done)}",
            quiet=quiet,
        )
        rest = seen[one.kind] - _WARNED
        if told[one.kind] == _WARNED and rest:
            columns = "1 more column is" if rest == 1 else f"{rest:,} more columns are"
            say(f"{table.source}: warning: {columns} like that.", quiet=quiet)


def _suspicious(found: Sequence[Suspicion]) -> list[str]:
    """Return one sentence per column; where many are alike, one for all of them."""
    counts = Counter(one.kind for one in found)
    said, told = [], set()
    for one in found:
        rest = counts[one.kind] - 1
        if rest < _WARNED or one.kind not in told:
            more = f" {rest:,} more columns are like that." if rest >= _WARNED else ""
            said.append(f"Column {one.column!r} {one.reason}.{more}")
        told.add(one.kind)
    return said


def _advice(one: Suspicion, name: str, *, compares: bool, done: Sequence[str]) -> str:
    """Say what can be done about a column that may be no measurement."""
    if one.kind == "outlier":
        mistake = "If it is a mistake, correct the cell: it may decide the clusters."
        left = [remedy for remedy in ("--scale robust", "--log") if remedy not in done]
        return f"{mistake} If not, consider {' or '.join(left)}." if left else mistake
    if one.kind == "sentinel":
        return f"If so, say --na {one.value:g} and what to do with it: --missing drop or impute."
    text = f"If it is not a measurement, leave it out with --exclude {name}"
    if one.kind == "classes":
        return text + (f", or compare the result with it: --reference {name}." if compares else ".")
    if one.kind in ("counter", "ids"):
        return text + f", or use it as the ids with --id-column {name}."
    return text + "."


# ---- clusterings, with features or without ---------------------------------------------------


@dataclass(frozen=True)
class Clusterings:
    """The clusterings of all files over one set of points."""

    ensemble: Ensemble
    names: list[str]
    ids: np.ndarray | None  # as text; also those that only count the points
    id_column: str | None  # where the ids of the first file came from
    title: str  # the files, for messages


def read_clusterings(
    files: Sequence[str],
    features: str | None,
    reading: Reading,
    *,
    join: str = "same",
    scale: str = "auto",
    quiet: bool = False,
) -> tuple[Ensemble, list[str], Any]:
    """Return the clusterings, their names, and the scaled features in the order of the points."""
    from clusterscape import io as tables

    choose("--join", join, JOINS)
    if features is None:
        why = "it says how a table of features is read, and none is given"
        reading.refuse(why, "decimal", "thousands", "missing", "categories", "transpose")
        reading.refuse(why, "obsm", "layer")
        if scale != "auto":
            raise typer.BadParameter(f"{why}; leave it out.", param_hint="--scale")
    reader = _Reader(reading, all_inputs(files, features))
    labels = [reader.read(name, tables.read_label_table) for name in files]
    reader.check(files)
    found = _joined(labels, files, join)
    _tell_clusterings(found, quiet=quiet)
    if features is None:
        return found.ensemble, found.names, None
    try:
        table = reader.read(features, tables.read_table)
    except tables.TableError:
        reader.check_names()  # a mistyped name is the reason for what else is wrong
        raise
    reader.check_names()
    chosen = bool(reading.given("columns", features))
    suspicious = [] if chosen else tables.suspicious_columns(table)
    _tell_columns(table, suspicious, file=features, quiet=quiet)
    X = _matched(table, found, features, by_order=join == "order", quiet=quiet)
    return found.ensemble, found.names, scaled(X, scale, reading)[0]


@contextmanager
def as_arguments(**names: str) -> Iterator[None]:
    """Name what is wrong as the verb does, where it takes ``files`` or ``features`` differently."""
    spelled = {"FILES": names.get("files", "FILES")}
    spelled["--features"] = names.get("features", "--features")
    try:
        yield
    except typer.BadParameter as error:
        if isinstance(error.param_hint, str):
            parts = error.param_hint.split(", ")
            error.param_hint = ", ".join(spelled.get(part, part) for part in parts)
        raise


def all_inputs(files: Sequence[str], features: str | None) -> list[str]:
    """Return everything that is read; only one of them can be stdin."""
    found = [*files, *([] if features is None else [features])]
    if found.count("-") > 1:
        raise typer.BadParameter("'-' (stdin) can be given once.", param_hint="FILES, --features")
    places: dict[str, str] = {}
    for file in files:
        place = os.path.realpath(file)
        if place in places:
            also = "" if places[place] == file else f", as {places[place]}"
            raise typer.BadParameter(
                f"{file} is given already{also}, and its clusterings would count twice; name "
                "every file once.",
                param_hint="FILES",
            )
        places[place] = file
    return found


class _Reader:
    """Reads several files with one group of options.

    A name of a column that is given for all files goes to those that have it; one must have it.
    """

    def __init__(self, reading: Reading, files: Sequence[str]) -> None:
        self.reading = reading
        self.files = files
        self.id_columns = reading.given("id_column", None, files)
        given = reading.given("exclude", None, files)
        parts = [part.strip() for value in given for part in value.split(",")]
        self.names = dict.fromkeys([*given, *parts, *self.id_columns])
        self.missing: dict[str, dict[str, UnknownColumn]] = {}
        self.named_by: dict[str, str | None] = {}  # the column of ids that was asked for
        self.with_ids: set[str] = set()
        self._stdin: bytes | None = None

    def read(self, file: str, read: Callable[..., T]) -> T:
        """Read one file without the names that it does not have."""
        from clusterscape.io import UnknownColumn, read_table

        own = self.reading.given("id_column", file)
        names = [] if own else list(self.id_columns)  # one after the other, until one is there
        of_file = [f"{file}={name}" for name in own]
        reading = dataclasses.replace(self.reading, id_column=of_file or None)
        arguments: Any = reading.arguments(file, self.files)
        if read is read_table:
            arguments = reading.table_arguments(file, self.files)
            arguments["columns"] = reading.given("columns", file) or None
        missing = self.missing.setdefault(file, {})
        while True:
            if names:
                arguments["id_column"] = names[0]
            try:
                found = read(self._content(file), **arguments)
            except UnknownColumn as error:
                if error.column not in self.names or error.column in missing:
                    raise
                missing[error.column] = error
                names = [name for name in names if name != error.column]
                arguments = _without(arguments, error.column)
            else:
                self.named_by[file] = names[0] if names else None
                if getattr(found, "ids", None) is not None:
                    self.with_ids.add(file)
                return found

    def _content(self, file: str) -> Any:
        if file != "-":
            return file
        if self._stdin is None:  # a pipe can be read only once
            self._stdin = sys.stdin.buffer.read()
        return io.BytesIO(self._stdin)

    def check(self, files: Sequence[str]) -> None:
        """Refuse ids in some files of labels only, and names that no file has."""
        from clusterscape.io import is_ensemble_file

        if set(self.files) == set(files):
            self.check_names()
        tables = [file for file in files if not is_ensemble_file(file)]
        lacking = [file for file in tables if file not in self.with_ids]
        if not self.id_columns or not 0 < len(lacking) < len(tables):
            return
        error = self.missing[lacking[0]][self.id_columns[0]]
        raise ValueError(
            f"{error.for_shell()} Name the column of ids of one file alone with --id-column "
            f"{shlex.quote(lacking[0])}=NAME."
        )

    def check_names(self) -> None:
        """Refuse a name that none of the files has."""
        for name in self.names:
            errors = [missing.get(name) for missing in self.missing.values()]
            sentences = [error.for_shell() for error in errors if error is not None]
            if errors and len(sentences) == len(errors):
                raise ValueError(" ".join(dict.fromkeys(sentences)))
        idle = [name for name in self.id_columns if name not in self.named_by.values()]
        if idle and set(self.named_by) == set(self.files):
            raise typer.BadParameter(
                f"{idle[0]!r} names the points of no file, because another name was found in each; "
                "leave it out, or say FILE=NAME.",
                param_hint="--id-column",
            )


def _without(arguments: ReadArguments, name: str) -> ReadArguments:
    """Return the arguments without the name of a column."""
    left: list[str] = []
    for entry in arguments["exclude"] or ():
        parts = [part.strip() for part in entry.split(",")]
        if entry != name:
            left += [entry] if name not in parts else [p for p in parts if p != name]
    reduced = arguments.copy()
    reduced["exclude"] = left or None
    if arguments["id_column"] == name:
        reduced["id_column"] = None
    return reduced


def _tell_clusterings(found: Clusterings, *, quiet: bool) -> None:
    """Say what was read, and which clusterings may be ids."""
    ensemble = found.ensemble
    shown = ", ".join(found.names[:_SHOWN])
    more = f", and {len(found.names) - _SHOWN:,} more" if len(found.names) > _SHOWN else ""
    say(f"{found.title}: {ensemble.describe()}: {shown}{more}.", quiet=quiet)
    if ensemble.n_points < _FEWEST_ROWS:
        return
    for i in np.flatnonzero(ensemble.n_clusters == ensemble.n_points):
        name = ensemble.names[i]
        say(
            f"{found.title}: warning: in {found.names[i]!r} every point is a cluster of its own. "
            f"If it holds ids, say --id-column {shlex.quote(name)}, or leave it out with --exclude "
            f"{shlex.quote(name)}.",
            quiet=quiet,
        )


# ---- joining several files of clusterings ----------------------------------------------------


def _joined(tables: Sequence[LabelTable], files: Sequence[str], how: str) -> Clusterings:
    """Put the clusterings of all files over one set of points."""
    title = ", ".join("stdin" if name == "-" else name for name in files)
    first = tables[0]
    if len(tables) == 1:
        return Clusterings(
            first.ensemble, list(first.ensemble.names), first.ids, first.id_column, title
        )
    every = [None] * len(tables) if how == "order" else _usable_ids(tables)
    if all(ids is None for ids in every):
        if how in ("inner", "outer"):
            raise ValueError(
                f"--join {how} joins files by their ids, and {title} have none; name their columns "
                "of ids with --id-column, or leave --join out if the rows are in the same order."
            )
        parts, ids = _by_order(tables)
    elif any(ids is None for ids in every):
        _refuse_mixed(tables, every)
    else:
        parts, ids = _by_id(tables, cast(list[np.ndarray], every), how)
    index = None if ids is None or _counts(ids) else ids
    whole, *others = (part.with_index(index) for part in parts)
    return Clusterings(whole.concat(*others), _names(parts, files), ids, first.id_column, title)


def _usable_ids(tables: Sequence[LabelTable]) -> list[np.ndarray | None]:
    """Return the ids of each file; those that only count its rows serve where others count too."""
    named: set[str] = set()
    for table in tables:
        if table.ids is not None and not table.ids_count_rows:
            named.update(table.ids)
    if not named:
        # Rows that are counted are in order, as rows without ids are.
        alike = all(table.ids is not None for table in tables)
        return [table.ids if alike else None for table in tables]
    return [
        None if table.ids_count_rows and named.isdisjoint(table.ids) else table.ids  # type: ignore[arg-type]
        for table in tables
    ]


def _counts(ids: np.ndarray) -> bool:
    return bool(ids.tolist() == [str(i) for i in range(len(ids))])


def _refuse_mixed(tables: Sequence[LabelTable], every: Sequence[np.ndarray | None]) -> None:
    have = next(t.source for t, ids in zip(tables, every, strict=True) if ids is not None)
    lacking = next(t for t, ids in zip(tables, every, strict=True) if ids is None)
    what = "has none" if lacking.ids is None else "has only row numbers"
    name = shlex.quote(lacking.source)
    raise ValueError(
        f"{have} has ids and {lacking.source} {what}, so it is not known which rows belong "
        f"together; name the column of ids with --id-column {name}=NAME, or say --join order if "
        "the rows are in the same order."
    )


def _by_order(tables: Sequence[LabelTable]) -> tuple[list[Ensemble], np.ndarray | None]:
    """Return the clusterings with the ids of the first file that has any."""
    first = tables[0]
    for other in tables[1:]:
        if other.ensemble.n_points != first.ensemble.n_points:
            raise ValueError(
                f"{other.source} has {other.ensemble.n_points:,} points and {first.source} "
                f"{first.ensemble.n_points:,}; files can be joined by position only when they "
                "hold the same points in the same order."
            )
    ids = [table.ids for table in tables if table.ids is not None and not table.ids_count_rows]
    return [table.ensemble for table in tables], ids[0] if ids else None


def _by_id(
    tables: Sequence[LabelTable], every: Sequence[np.ndarray], how: str
) -> tuple[list[Ensemble], np.ndarray]:
    """Return the clusterings over the points that all files hold, or that any holds."""
    places = [_places(table, ids) for table, ids in zip(tables, every, strict=True)]
    if how == "outer":
        wanted = list(dict.fromkeys(name for ids in every for name in ids))
        parts = [
            _over_all_points(t.ensemble, p, wanted) for t, p in zip(tables, places, strict=True)
        ]
        return parts, np.array(wanted, dtype=object)
    if how == "same":
        _refuse_different(tables, places)
    wanted = [name for name in every[0] if all(name in place for place in places)]
    if not wanted:
        titles = ", ".join(table.source for table in tables)
        raise ValueError(f"{titles} have no id in common; look at their columns of ids.")
    parts = [
        _taken(t.ensemble, [place[name] for name in wanted])
        for t, place in zip(tables, places, strict=True)
    ]
    return parts, np.array(wanted, dtype=object)


def _places(table: LabelTable, ids: np.ndarray) -> dict[str, int]:
    """Return the row of each id; an ensemble's index may hold one twice."""
    places = {name: row for row, name in enumerate(ids)}
    if len(places) < len(ids):
        again = next(name for row, name in enumerate(ids) if places[name] != row)
        raise ValueError(f"{table.source} holds the id {again!r} twice; ids must differ.")
    return places


def _refuse_different(tables: Sequence[LabelTable], places: Sequence[dict[str, int]]) -> None:
    """Refuse files that do not hold the same ids."""
    for table, place in zip(tables[1:], places[1:], strict=True):
        for (one, here), (two, there) in (
            ((tables[0].source, places[0]), (table.source, place)),
            ((table.source, place), (tables[0].source, places[0])),
        ):
            absent = [name for name in here if name not in there]
            if len(absent) == len(here):
                raise ValueError(
                    f"{one} and {two} have no id in common ({absent[0]!r} and "
                    f"{next(iter(there))!r}, for example); look at their columns of ids, and name "
                    "others with --id-column FILE=NAME."
                )
            if absent:
                raise ValueError(
                    f"the point {absent[0]!r} of {one} is not in {two} ({len(absent):,} of its "
                    f"{len(here):,} points are not); --join inner keeps the points that all files "
                    "hold, --join outer all points."
                )


def _taken(ensemble: Ensemble, rows: list[int]) -> Ensemble:
    in_order = rows == list(range(ensemble.n_points))
    return ensemble if in_order else ensemble.subset(rows)


def _over_all_points(ensemble: Ensemble, places: dict[str, int], wanted: list[str]) -> Ensemble:
    """Return the ensemble over more points, those that it does not hold being unsampled."""
    from scipy import sparse

    from clusterscape.ensemble import Ensemble

    rows = np.array([i for i, name in enumerate(wanted) if name in places])
    own = np.array([places[wanted[i]] for i in rows])
    parts: list[Any] = []
    for i in range(ensemble.n_partitions):
        soft = ensemble.soft.get(i)
        if soft is None:
            labels = ensemble.partition(i)
            words = labels.dtype == object
            full = np.full(len(wanted), None if words else -2, dtype=object if words else int)
            full[rows] = labels[own]
            parts.append(full)
            continue
        # A row of the membership that holds nan is unsampled.
        seen = ensemble.labels[own, i] != -2
        unseen = np.setdiff1d(np.arange(len(wanted)), rows[seen])
        gaps = (np.full(unseen.size, np.nan), (unseen, np.zeros_like(unseen)))
        cells = soft[own[seen]].tocoo()
        placed = (cells.data, (rows[seen][cells.row], cells.col))
        shape = (len(wanted), soft.shape[1])
        parts.append(sparse.csr_matrix(placed, shape=shape) + sparse.csr_matrix(gaps, shape=shape))
    weight = np.ones(len(wanted))
    weight[rows] = ensemble.sample_weight[own]
    return Ensemble.from_labels(
        parts,
        names=ensemble.names,
        records=ensemble.records,
        weights=ensemble.weights,
        sample_weight=weight,
    )


def _names(parts: Sequence[Ensemble], files: Sequence[str]) -> list[str]:
    """Return a name for each clustering: its file, and its column where the file has several."""
    stems = [Path(name).name for name in files]
    titles = stems if len(set(stems)) == len(stems) else list(files)
    found = []
    for title, part in zip(titles, parts, strict=True):
        single = part.n_partitions == 1
        found += [title if single else f"{title}:{name}" for name in part.names]
    return found


# ---- matching features to the points ---------------------------------------------------------


def check_features(consensus: str, features: str | None) -> None:
    """Refuse a missing table of features, and one that the consensus method does not use."""
    from clusterscape.combine import METHODS

    use = "none" if consensus == "auto" else METHODS[consensus].features
    if use == "needed" and features is None:
        raise typer.BadParameter(
            f"{consensus} needs the points' features beside their clusterings; give the table.",
            param_hint="--features",
        )
    if use == "none" and features is not None:
        able = [name for name, method in METHODS.items() if method.features != "none"]
        raise typer.BadParameter(
            f"{consensus} does not use features; leave them out, or choose one of "
            f"{', '.join(able)}.",
            param_hint="--features",
        )


def _matched(table: Table, found: Clusterings, file: str, *, by_order: bool, quiet: bool) -> Any:
    """Return the features in the order of the points."""
    ids, own = found.ids, _texts(table.ids)
    if not by_order:
        if ids is not None and _counts(ids) and not _names_rows(ids, own, table, found):
            ids = None
        if own is not None and ids is None and _counts(own):
            own = None
        if ids is not None and own is not None:
            return _rows_of(table, own, ids)
        if ids is not None:
            _refuse_hidden_ids(table, ids, found, file)
        if own is not None:
            _refuse_ids_as_clusters(table, own, found)
        if ids is not None or own is not None:
            _refuse_unmatched(table, found, file, labels_have=ids is not None)
    n = found.ensemble.n_points
    if table.n_points != n:
        raise typer.BadParameter(
            f"{table.source} has {table.n_points:,} rows and the clusterings {n:,} points; to be "
            "matched by position they must be the same points in the same order.",
            param_hint="--features",
        )
    if by_order:
        say(
            f"matched by position: the first row of {table.source} is taken for the first point of "
            f"{found.title}, and so on.",
            quiet=quiet,
        )
    return table.X


def _texts(ids: np.ndarray | None) -> np.ndarray | None:
    return None if ids is None else np.array([str(name) for name in ids], dtype=object)


def _names_rows(ids: np.ndarray, own: np.ndarray | None, table: Table, found: Clusterings) -> bool:
    """Say whether ids that count the points name rows of the table, which may be in any order."""
    if own is not None:
        return set(own) >= set(ids)
    return found.id_column is not None and _holding(table, ids) is not None


def _rows_of(table: Table, own: np.ndarray, ids: np.ndarray) -> Any:
    """Return the rows that belong to the ids."""
    place = {name: i for i, name in enumerate(own)}
    absent = [name for name in ids if name not in place]
    if absent:
        raise typer.BadParameter(
            f"{table.source} has no row for {len(absent):,} of the {len(ids):,} points, the first "
            f"of them {absent[0]!r}.",
            param_hint="--features",
        )
    return table.X[np.array([place[name] for name in ids])]


def _refuse_unmatched(table: Table, found: Clusterings, file: str, *, labels_have: bool) -> None:
    """Refuse ids on one side only."""
    sides = (found.title, table.source)
    have, lack = sides if labels_have else sides[::-1]
    name = f"{shlex.quote(file)}=NAME" if labels_have else "FILE=NAME"
    raise typer.BadParameter(
        f"{have} has ids and {lack} has none, so it is not known which rows belong together; name "
        f"the column of ids with --id-column {name}, or say --join order if the rows are in the "
        "same order.",
        param_hint="--features",
    )


def _refuse_hidden_ids(table: Table, ids: np.ndarray, found: Clusterings, file: str) -> None:
    """Refuse a feature that holds the ids: rows in another order would be matched wrongly."""
    column = _holding(table, ids)
    if column is None:
        return
    raise typer.BadParameter(
        f"the column {column!r} of {table.source} holds the ids of the points of {found.title}, "
        f"but was not read as ids; if it names the rows, say --id-column "
        f"{shlex.quote(f'{file}={column}')}; if it is a measurement and the rows are in the same "
        "order, say --join order.",
        param_hint="--features",
    )


def _refuse_ids_as_clusters(table: Table, own: np.ndarray, found: Clusterings) -> None:
    """Refuse a clustering whose clusters are the ids of the features, one per point."""
    known = set(own)
    ensemble = found.ensemble
    for i, name in enumerate(ensemble.names):
        if i in ensemble.soft:
            continue
        labels = {str(label) for label in ensemble.partition(i)}
        if len(labels) == ensemble.n_points > 1 and labels <= known:
            raise typer.BadParameter(
                f"the column {name!r} of {found.title} holds the ids of the rows of "
                f"{table.source}, but was not read as ids; if it names the points, say "
                f"--id-column {shlex.quote(name)}, otherwise leave it out with --exclude "
                f"{shlex.quote(name)}.",
                param_hint="--features",
            )


def _holding(table: Table, ids: np.ndarray) -> str | None:
    """Return the name of a feature whose values differ in every row and hold all the ids."""
    try:
        wanted = np.sort(ids.astype(np.float64).astype(table.X.dtype))
    except ValueError:
        return None  # the ids are words, and features are numbers
    if len(ids) < 2 or table.n_points < len(ids) or not np.isfinite(wanted).all():
        return None
    low, high = (_dense(ends) for ends in (table.X.min(axis=0), table.X.max(axis=0)))
    for j in np.flatnonzero((low <= wanted[0]) & (high >= wanted[-1])):
        values = np.unique(_dense(table.X[:, [j]]))
        if values.size == table.n_points and np.isin(wanted, values).all():
            return table.feature_names[j]
    return None


def _dense(values: Any) -> np.ndarray:
    return np.ravel(values.toarray() if hasattr(values, "toarray") else np.asarray(values))
