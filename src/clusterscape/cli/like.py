"""``run --like``: the options of an earlier run, taken from its run.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

# Options that name a place, or say how the work is done, are not taken over.
_LISTS = ("id_column", "format", "delimiter", "encoding", "sheet", "decimal", "thousands")
_PLACES = ("obsm", "layer")
_MANY = ("columns", "exclude", "na")
_TEXTS = ("generator", "algorithm", "consensus", "scale", "reference", "missing", "categories")
_COUNTS = ("partitions", "references", "seed", "top_variable", "pca")
_FLAGS = ("log", "transpose")


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
    **dict.fromkeys((*_LISTS, *_PLACES), _list),
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
