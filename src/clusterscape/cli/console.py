"""Messages on stderr, errors as one sentence, exit codes, and the options of groups."""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_type_hints

import typer

from clusterscape._core.progress import showing
from clusterscape.cli import signals

if TYPE_CHECKING:
    from clusterscape._core.store import AnotherRunError

F = TypeVar("F", bound=Callable[..., None])

# Options that are not called as the argument of the library that they set.
_OPTIONS = {
    "n_base_clusters": "--base-clusters",
    "n_competitors": "--competitors",
    "n_components": "--components",
    "n_vectors": "--vectors",
    "n_clusters": "--clusters",
    "n_partitions": "--partitions",
    "n_references": "--references",
    "n_jobs": "--jobs",
    "overwrite": "--force",
    "random_state": "--seed",
    "store": "--resume",
}

# What a store records of its run, in the words of the command line.
_RECORDED = {
    "n_clusters": "the number of clusters of the members (from --clusters)",
    "n_partitions": "--partitions",
    "n_points": "the number of points",
    "seed": "the seed (from --seed)",
    "algorithm": "the base clusterer (from --generator and --algorithm)",
    "columns": "the choice of columns (from --generator)",
    "rows": "the choice of rows (from --generator)",
}


def say(text: str, *, quiet: bool = False) -> None:
    """Write a message to stderr."""
    if not quiet:
        typer.echo(text, err=True)


# ---- verbs ----------------------------------------------------------------------------------


def verb(function: F) -> F:
    """Make a command of a function: groups become options, and errors one sentence each."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {
        name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)
    }
    parameters = list(_flat(function, hints))
    if "like" in hints:  # which options were given is known to the command alone
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("context", kind, annotation=typer.Context))

    @functools.wraps(function)
    def wrapper(**options: Any) -> None:
        arguments = dict(options)
        if options.get("like") is not None:
            arguments = _like(arguments)
        arguments.pop("context", None)
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            arguments[name] = group(**{field: arguments.pop(field) for field in fields})
        try:
            if options.get("quiet"):  # of a folder for its cache that cannot be written
                logging.getLogger("matplotlib").setLevel(logging.ERROR)
            with warnings.catch_warnings(), showing(not options.get("quiet")):
                warnings.simplefilter("ignore" if options.get("quiet") else "default")
                for of_programmers in (DeprecationWarning, ResourceWarning):
                    warnings.filterwarnings("ignore", category=of_programmers)
                warnings.showwarning = functools.partial(_show_warning, options)
                function(**arguments)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:
            # The reader of our output has ended; Python would complain when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            signals.said.append(signals.INTERRUPTED)
            _stop(signals.INTERRUPTED, 130)
        except Exception as error:
            if options.get("debug") or signals.caught:
                raise
            _stop(sentence(error, options), 1)

    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapper  # type: ignore[return-value]


def _like(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with those of an earlier run (--like)."""
    from clusterscape.cli.like import with_options_of

    try:
        return with_options_of(options["like"], options, options["context"])
    except ValueError as error:
        _stop(str(error), 1)


def _flat(function: Callable[..., None], hints: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a verb, with the fields of a group in its place."""
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if not dataclasses.is_dataclass(hint):
            kind = inspect.Parameter.KEYWORD_ONLY
            yield parameter.replace(kind=kind, annotation=hint)
            continue
        inner = get_type_hints(hint, include_extras=True)
        for field in dataclasses.fields(hint):
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=inner[field.name],
            )


def _stop(text: str, code: int) -> NoReturn:
    typer.echo(f"clusterscape: {text}", err=True)
    raise typer.Exit(code) from None


def _show_warning(options: Collection[str], message: Warning | str, *_: Any, **__: Any) -> None:
    from clusterscape._core.errors import ParameterWarning

    text = str(message)
    if isinstance(message, ParameterWarning):
        text = message.worded(lambda name, *value: option_words(name, *value, options=options))
    say(f"clusterscape: note: {text}")


# ---- errors ---------------------------------------------------------------------------------


def sentence(error: Exception, options: Collection[str] = ()) -> str:
    """Return one sentence on an error of a verb that has these options.

    Errors that keep their parts as fields are worded from them.
    """
    from clusterscape._core.errors import MemoryLimitError, ParameterError
    from clusterscape._core.store import AnotherRunError
    from clusterscape.io import TableError

    def spell(name: str, *value: Any) -> str | None:
        return option_words(name, *value, options=options)

    if isinstance(error, TableError):
        return error.for_shell()
    if isinstance(error, AnotherRunError):
        return _another_run(error)
    if isinstance(error, ParameterError):
        return error.worded(spell)
    if isinstance(error, MemoryLimitError):
        return f"there is not enough memory. {error.worded(spell)}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {error}".strip()
    if isinstance(error, OSError) and error.strerror:
        # An error of writing, to stdout too, does not hold the name of the file.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        unnamed = "the output cannot be written" if full else "reading or writing failed"
        return f"{error.filename or unnamed}: {error.strerror}."
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error)
    return (
        f"unexpected error ({type(error).__name__}: {error}); run the command again with --debug "
        "and report what it shows."
    )


def option_words(name: str, *value: Any, options: Collection[str]) -> str | None:
    """Spell an argument of the library as an option, or return None where the verb has none.

    Examples
    --------
    >>> option_words("n_clusters", 5, options=["clusters"])
    '--clusters 5'
    >>> option_words("max_gb", 4.0, options=["clusters"])

    A flag has no value; nor is one shown that the library derived, such as a range of numbers.

    >>> option_words("overwrite", True, options=["force"])
    '--force'
    """
    option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
    if option.removeprefix("--").replace("-", "_") not in options:
        return None
    shown = [v for v in value if not isinstance(v, (bool, tuple, list))]
    return " ".join([option, *(f"{v:g}" if isinstance(v, float) else str(v) for v in shown)])


def _another_run(error: AnotherRunError) -> str:
    """Say how the run that began a store differs from this one."""
    key, _, part = error.name.partition(".")
    if key == "X (sha256)":
        difference = "the data differ (the table, its columns, or --scale)"
    else:
        what = f"the version of {part}" if key == "versions" else _RECORDED.get(key, error.name)
        difference = f"{what} was {_value(error.then)} there and is {_value(error.now)} now"
    return (
        f"the store {error.directory} belongs to another run: {difference}. Repeat the command "
        "with the table and the options that it was begun with, or name another place with "
        "--output."
    )


def _value(value: Any) -> str:
    """Return a value of a store's plan in words: a pair is a range."""
    value = value.get("pair", value) if isinstance(value, dict) else value
    if isinstance(value, list) and value and isinstance(value[0], str):
        text = ", ".join(map(str, value))
    elif isinstance(value, list) and len(value) == 2:
        text = " to ".join("the root of n" if end == "sqrt" else str(end) for end in value)
    else:
        text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
