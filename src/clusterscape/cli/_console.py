"""Messages: sentences on stderr, no traceback for what can be expected, and the exit codes."""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn, TypeVar

import typer

from clusterscape._core.progress import showing

F = TypeVar("F", bound=Callable[..., None])

# Names of Python arguments as the command line spells them.
_SPELLING = {
    "n_base_clusters": "--base-clusters",
    "n_competitors": "--competitors",
    "n_components": "--components",
    "n_vectors": "--vectors",
    "n_clusters": "--clusters",
    "n_partitions": "--partitions",
    "n_references": "--references",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "store": "--resume",
}

# What a store remembers of its run, as the command line speaks of it.
_REMEMBERED = {
    "n_clusters": "the number of clusters of the members (from --clusters)",
    "n_partitions": "--partitions",
    "n_points": "the number of points",
    "seed": "the seed (from --seed)",
    "algorithm": "the base clusterer (from --generator and --algorithm)",
    "columns": "the choice of columns (from --generator)",
    "rows": "the choice of rows (from --generator)",
}
_ANOTHER_RUN = re.compile(
    r"The store (.+) belongs to another run: (.+?) was (.+) there and is (.+) now\.", re.DOTALL
)


def say(text: str, *, quiet: bool = False) -> None:
    """Write a message to stderr."""
    if not quiet:
        typer.echo(text, err=True)


def choose(option: str, given: str, known: Iterable[str]) -> str:
    """Return ``given`` if it is known; otherwise the command was not understood."""
    names = list(known)
    if given not in names:
        raise typer.BadParameter(f"{given!r} is not one of {', '.join(names)}.", param_hint=option)
    return given


def verb(function: F) -> F:
    """Turn what goes wrong in a verb into one sentence and an exit code."""

    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> None:
        quiet = bool(options.get("quiet"))
        try:
            with warnings.catch_warnings(), showing(not quiet):
                warnings.simplefilter("ignore" if quiet else "default")
                warnings.filterwarnings("ignore", category=DeprecationWarning)
                warnings.showwarning = _show_warning
                function(*args, **options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:
            # The reader of our output has left; Python would complain again when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            _stop("interrupted; nothing was written but what a store holds.", 130)
        except Exception as error:
            if options.get("debug"):
                raise
            _stop(sentence(error, options), 1)

    return wrapper  # type: ignore[return-value]


def _stop(text: str, code: int) -> NoReturn:
    typer.echo(f"clusterscape: {text}", err=True)
    raise typer.Exit(code) from None


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"clusterscape: note: {spelled(str(message))}")


def sentence(error: Exception, options: Collection[str] = ()) -> str:
    """Return one sentence on an error of a verb that has these options."""
    from clusterscape.io import TableError

    if isinstance(error, TableError):
        return error.for_shell()
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {_without_limit(str(error), options)}".strip()
    if isinstance(error, OSError) and error.strerror:
        # Writing, to stdout too, does not tell the name of the file.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        unnamed = "the output cannot be written" if full else "reading or writing failed"
        return f"{error.filename or unnamed}: {error.strerror}."
    if isinstance(error, (ValueError, OSError, ImportError)):
        return spelled(str(error))
    return (
        f"unexpected error ({type(error).__name__}: {error}); run the command again with --debug "
        "and report what it shows."
    )


def _without_limit(text: str, options: Collection[str]) -> str:
    """Return a message on memory without the limit, which no option of a verb raises."""
    text = re.sub(r"[,;] or(, where max_gb is an option,)? raise (max_gb|it)\.$", ".", text)
    text = text.replace("GB of max_gb", "GB that are allowed")
    text = re.sub(r"max_gb=(\d[\d.e+-]*\d|\d)", r"the \1 GB that are allowed", text)
    if "components" not in options:
        text = re.sub(r", [^,()]+ \(n_components(=\d+)?\)", "", text)
    return spelled(text.replace("(n_components)", "(--components)"))


def spelled(text: str) -> str:
    """Return a message of the library with its arguments spelled as options."""
    another = _ANOTHER_RUN.match(text)
    if another:
        return _another_run(*another.groups())
    for name, option in _SPELLING.items():
        # Only where an argument is spoken of; the same word may be part of a path.
        text = re.sub(rf"^(\w+: )?{name}(?= must be )", rf"\g<1>{option}", text)
        text = re.sub(rf"(?<![\w./\\-]){name}=(?=[^\s/\\]+(\s|$))", f"{option} ", text)
    return text


def _another_run(store: str, name: str, then: str, now: str) -> str:
    """Say in what the run that began a store differs from this one."""
    key, _, part = name.partition(".")
    if key == "X (sha256)":
        difference = "the data differ (the table, its columns, or --scale)"
    else:
        what = f"the version of {part}" if key == "versions" else _REMEMBERED.get(key, name)
        difference = f"{what} was {_value(then)} there and is {_value(now)} now"
    return (
        f"the store {store} belongs to another run: {difference}. Repeat the command with the "
        "table and the options that it was begun with, or name another place with --output."
    )


def _value(text: str) -> str:
    """Return a value of a store's plan in words: a pair is a range."""
    try:
        value = json.loads(text)
    except ValueError:
        return text  # shortened, or no value at all
    value = value.get("pair", value) if isinstance(value, dict) else value
    if isinstance(value, list) and value and isinstance(value[0], str):
        return ", ".join(map(str, value))
    if isinstance(value, list) and len(value) == 2:
        return " to ".join("the root of n" if end == "sqrt" else str(end) for end in value)
    return value if isinstance(value, str) else text
