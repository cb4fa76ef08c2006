"""The options of an earlier run, taken from its run.json: for ``--like``, and for its tables."""

from __future__ import annotations

import codecs
import dataclasses
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clusterscape.cli.console import say
from clusterscape.cli.options import Reading

if TYPE_CHECKING:
    from clusterscape.io import Table

# The options that are taken over, by what their values are. --output, --jobs, --resume and --force,
# which say where and how the work is done, are not among them.
_LISTS = (
    "id_column", "format", "delimiter", "encoding", "sheet", "decimal", "thousands", "obsm",
    "layer",
)  # fmt: skip
_MANY = ("columns", "exclude", "na")
_TEXTS = ("generator", "algorithm", "consensus", "scale", "reference", "missing", "categories")
_COUNTS = ("partitions", "references", "seed", "top_variable", "pca")
_FLAGS = ("log", "transpose")

_LOOKED_AT = 1 << 20  # bytes of a file whose encoding is not known


def _list(value: Any) -> list[str] | None:
    return None if value is None else [_text(value)]


def _many(value: Any) -> list[str] | None:
    if value is not None and not isinstance(value, list):
        raise TypeError
    return [_text(one) for one in value] if value else None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _maybe(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _clusters(value: Any) -> Any:
    if isinstance(value, list):
        least, most = (_count(end) for end in value)
        return (least, most)
    return value if value is None or value == "auto" else _count(value)


_TAKEN: dict[str, Callable[[Any], Any]] = {
    "clusters": _clusters,
    "header": lambda value: None if value == "auto" else _flag(value),
    "skip": lambda value: [str(_count(value))] if value else None,
    **dict.fromkeys(_LISTS, _list),
    **dict.fromkeys(_MANY, _many),
    **dict.fromkeys(_TEXTS, _maybe(_text)),
    **dict.fromkeys(_COUNTS, _maybe(_count)),
    **dict.fromkeys(_FLAGS, _flag),
}


def with_options_of(path: Path, options: dict[str, Any], context: typer.Context) -> dict[str, Any]:
    """Return the options, with those of the run in ``path`` where the command gives none."""
    recorded = _recorded(path / "run.json" if path.is_dir() else path)
    made = dict(options)
    for name, convert in _TAKEN.items():
        source = context.get_parameter_source(name)
        if name not in recorded or source is None or source.name != "DEFAULT":
            continue
        try:
            made[name] = convert(recorded[name])
        except (TypeError, ValueError):
            raise ValueError(
                f"{path}: the recorded {name} ({recorded[name]!r}) is not what 'clusterscape run' "
                "writes; name the run.json of a run."
            ) from None
    return made


# How a file is written; taken over for a file of the same kind.
_LAYOUT = (
    "format", "delimiter", "header", "encoding", "sheet", "skip", "decimal", "thousands", "obsm",
    "layer",
)  # fmt: skip


def layout_of(run: Mapping[str, Any], data: str) -> dict[str, Any]:
    """Return the options that say how ``data`` is written, as the run was given them.

    Those of another kind of file are left out, except for the cells that stand for missing values.
    """
    done, origin = run.get("parameters"), run.get("input")
    if run.get("command") != "run" or not isinstance(done, dict) or not isinstance(origin, dict):
        return {}
    same = data == "-" or _ending(data) == _ending(str(origin.get("file")))
    found: dict[str, Any] = {}
    for name in ("na", *(_LAYOUT if same else ())):
        try:
            value = _TAKEN[name](done.get(name, "auto" if name == "header" else None))
        except (TypeError, ValueError):
            continue  # not as this version writes it
        if value is not None:
            found[name] = value
    return found


def _ending(file: str) -> str:
    """Return how the name of a file ends; what came by a pipe is CSV."""
    return Path(file.lower().removesuffix(".gz")).suffix or ".csv"


def with_layout_of(
    run: Mapping[str, Any], reading: Reading, data: str, *, quiet: bool = False
) -> Reading:
    """Return how a table is read, as the table of the run was where the command says nothing."""
    taken = {
        name: value
        for name, value in layout_of(run, data).items()
        if getattr(reading, name) is None and not (name == "encoding" and _says_its_encoding(data))
    }
    if taken:
        words = " ".join(_spelled(name, value) for name, value in taken.items())
        say(f"{data}: read as the table of the run was: {words}.", quiet=quiet)
    return dataclasses.replace(reading, **taken)


def _says_its_encoding(data: str) -> bool:
    """Say whether a text file is UTF-8 beyond ASCII, or begins with a byte order mark.

    Text of another encoding is hardly ever valid UTF-8.
    """
    if data == "-" or data.lower().endswith(".gz"):
        return False
    try:
        with open(data, "rb") as handle:
            head = handle.read(_LOOKED_AT)
    except OSError:
        return False
    if head.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not text.isascii()


def _spelled(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return " ".join(f"--{name} {shlex.quote(one)}" for one in value)


def id_column_of(run: Mapping[str, Any]) -> str | None:
    """Return the column that named the points of a run, given or found, None where there is none.

    Of a transposed table it is the column that named the features, and only where it was given.
    """
    for part in ("parameters", "input"):
        known = run.get(part)
        name = known.get("id_column") if isinstance(known, dict) else None
        if isinstance(name, str):
            return name
    return None


def id_column_of_file(path: Path) -> str | None:
    """Return the column that named the points of the run in ``path``, a run.json or its folder."""
    try:
        run = json.loads((path / "run.json" if path.is_dir() else path).read_bytes())
    except (OSError, ValueError):
        return None
    return id_column_of(run) if isinstance(run, dict) else None


def read_with_ids(
    data: str, reading: Reading, column: str | None, *, quiet: bool = False, **settings: Any
) -> tuple[Table, dict[str, Any]]:
    """Read a table whose points are named by ``column``, as in a run, where it has that column.

    An --id-column that was given goes first. A pipe is read once, so that it cannot be tried
    whether it has the column; a message then names the option.
    """
    from clusterscape.cli import inputs
    from clusterscape.io import TableError, UnknownColumn

    settings |= {"quiet": quiet}
    if column is None or reading.id_column is not None:
        return inputs.read_table(data, reading, **settings)
    failed: TableError | None = None
    if data != "-":
        try:
            named = dataclasses.replace(reading, id_column=[column])
            table, origin = inputs.read_table(data, named, **settings)
        except TableError as error:
            failed = error
        else:
            if table.id_column == column:
                say(f"{data}: the column {column!r} names the points, as in the run.", quiet=quiet)
            return table, origin
    try:
        table, origin = inputs.read_table(data, reading, **settings)
    except TableError:
        if failed is None or (isinstance(failed, UnknownColumn) and failed.column == column):
            raise
        raise failed from None
    reason = "a pipe is read only once" if failed is None else failed.problem
    if table.id_column != column and column in table.left_out:
        say(
            f"{data}: the column {column!r}, which named the points of the run, is not used "
            f"({reason}); say --id-column {shlex.quote(column)} if it names them here.",
            quiet=quiet,
        )
    return table, origin


def _recorded(file: Path) -> dict[str, Any]:
    """Return the parameters in a run.json."""
    try:
        run = json.loads(file.read_bytes())
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror}); name a run.json.") from None
    except ValueError:
        run = None
    parameters = run.get("parameters") if isinstance(run, dict) else None
    if not isinstance(parameters, dict) or run.get("command") != "run":
        raise ValueError(f"{file} was not written by 'clusterscape run'; name a run.json that was.")
    return parameters
