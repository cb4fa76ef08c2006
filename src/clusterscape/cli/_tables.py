"""Labels and features read together: names of columns go to the tables that have them."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from clusterscape.cli import _features, _labels
from clusterscape.cli._console import say
from clusterscape.cli._options import Reading

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.io import TableError

T = TypeVar("T")
Missing = dict[str, str]  # names of columns that a table has not, and the sentence on each


def read(
    files: Sequence[str], features: str | None, options: Reading, *, scale: str, quiet: bool
) -> tuple[Ensemble, list[str], Any]:
    """Return the clusterings, their names, and the features in the order of the points."""
    if features is None:
        return *_labels.read(files, options, quiet=quiet), None
    from clusterscape.io import TableError, read_table

    labels = _LabelFiles(files, options)
    ensemble, names = _labels.read(files, options, quiet=quiet, one=labels.read)
    labels.check()
    content = _opener(features)
    # How the text is laid out is said of the labels; names of columns concern both tables.
    given = Reading(id_column=options.get("id_column"), exclude=options.get("exclude"))
    missing: Missing = {}
    try:
        table = _spared(lambda known: read_table(content(), **known), given, missing)
    except TableError:
        _refuse_unknown([*labels.missing.values(), missing])
        raise
    _refuse_unknown([*labels.missing.values(), missing])
    for note in table.notes:
        say(f"{table.source}: {note}", quiet=quiet)
    X = _features.arranged(table, ensemble, labels, quiet=quiet)
    return ensemble, names, _features.scaled(X, scale)


class _LabelFiles:
    """The files of labels, each read with the names of columns that it has."""

    def __init__(self, files: Sequence[str], options: Reading) -> None:
        self.title = ", ".join("stdin" if name == "-" else name for name in files)
        self.options = options
        self.missing: dict[str, Missing] = {}
        self._errors: list[TableError] = []
        self._first = files[0]
        self._open = {name: _opener(name) for name in dict.fromkeys(files)}

    def read(self, name: str) -> Ensemble:
        """Read one file."""
        from clusterscape.io import is_ensemble_file, read_labels

        missing = self.missing.setdefault(name, {})
        found = _spared(
            lambda known: read_labels(self._open[name](), **known),
            self.options,
            missing,
            self._errors,
        )
        column = self.options.get("id_column")
        if column is not None and is_ensemble_file(name):
            missing[column] = f"{name} is an ensemble, whose ids are no column."
        return found

    def check(self) -> None:
        """Refuse ids in some of the files only: the others would be matched by position."""
        column = self.options.get("id_column")
        lacking = [name for name, missing in self.missing.items() if column in missing]
        if self._errors and column is not None and len(lacking) < len(self.missing):
            for error in self._errors:
                if _is_about(error, column):
                    raise error

    @property
    def given_ids(self) -> str | None:
        """The column of ids that was asked for and found."""
        column = self.options.get("id_column")
        return None if column in self.missing[self._first] else column

    def id_column(self) -> str | None:
        """Return the name of the column of ids in the first file, also where the ids only count."""
        from clusterscape.io import TableError, is_ensemble_file, read_labels

        if is_ensemble_file(self._first):
            return None
        if self.given_ids is not None:
            return self.given_ids
        out = set(_parts(self.options.get("exclude")))
        known = _without(self.options, *self.missing[self._first])
        for column in ("id", "ID", "Id", "unnamed_1"):
            try:
                if column not in out:
                    read_labels(self._open[self._first](), **(known | {"id_column": column}))
                    return column
            except TableError:
                continue
        return None


def _opener(name: str) -> Callable[[], Any]:
    """Return what opens an input as often as needed; a pipe can be read only once."""
    held: list[bytes] = []

    def content() -> Any:
        if name != "-":
            return name
        if not held:
            held.append(sys.stdin.buffer.read())
        return io.BytesIO(held[0])

    return content


def _spared(
    read: Callable[[Reading], T],
    options: Reading,
    missing: Missing,
    errors: list[TableError] | None = None,
) -> T:
    """Read a table without the names that it has not; those are noted in ``missing``."""
    from clusterscape.io import TableError

    while True:
        column = options.get("id_column")
        given = [*([] if column is None else [column]), *_parts(options.get("exclude"))]
        try:
            return read(options)
        except TableError as error:
            nameless = " has no named columns" in error.problem and not options.get("columns")
            absent = [name for name in given if nameless or _is_about(error, name)]
            if not absent:
                raise
            if errors is not None and not nameless:
                errors.append(error)
            missing.update(dict.fromkeys(absent, error.for_shell()))
            options = _without(options, *absent)


def _is_about(error: TableError, name: str) -> bool:
    words = f" has no column {name!r}"
    return error.problem.endswith(words) or f"{words}:" in error.problem


def _parts(names: Sequence[str] | None) -> list[str]:
    """Return the names of columns, those with commas whole and in parts, as tables seek them."""
    found = []
    for name in names or ():
        found += [name, *(part.strip() for part in name.split(",") if "," in name)]
    return [name for name in dict.fromkeys(found) if name]


def _without(options: Reading, *names: str) -> Reading:
    """Return the options without some names of columns."""
    left: list[str] = []
    for entry in options.get("exclude") or ():
        parts = [part.strip() for part in entry.split(",")]
        if entry in names:
            continue
        left += [entry] if not set(parts) & set(names) else [p for p in parts if p not in names]
    reduced = options.copy()
    reduced["exclude"] = left or None
    if options.get("id_column") in names:
        reduced["id_column"] = None
    return reduced


def _refuse_unknown(tables: list[Missing]) -> None:
    """Refuse a name that none of the tables has."""
    for name in tables[0]:
        if all(name in missing for missing in tables):
            raise ValueError(" ".join(dict.fromkeys(missing[name] for missing in tables)))
