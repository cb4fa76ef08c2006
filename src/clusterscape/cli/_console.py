"""Messages: sentences on stderr, no traceback for what can be expected, and the exit codes."""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import typer

F = TypeVar("F", bound=Callable[..., None])

# Names of Python arguments as the command line spells them.
_SPELLING = {
    "n_clusters": "--clusters",
    "n_partitions": "--partitions",
    "n_references": "--references",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "store": "--resume",
}


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
            with warnings.catch_warnings():
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
            _stop(sentence(error), 1)

    return wrapper  # type: ignore[return-value]


def _stop(text: str, code: int) -> NoReturn:
    typer.echo(f"clusterscape: {text}", err=True)
    raise typer.Exit(code) from None


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"clusterscape: note: {spelled(str(message))}")


def sentence(error: Exception) -> str:
    """Return one sentence on an error."""
    from clusterscape.io import TableError

    if isinstance(error, TableError):
        return error.for_shell()
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {error}".strip()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}."
    if isinstance(error, (ValueError, OSError, ImportError)):
        return spelled(str(error))
    return (
        f"unexpected error ({type(error).__name__}: {error}); run the command again with --debug "
        "and report what it shows."
    )


def spelled(text: str) -> str:
    """Return a message of the library with its arguments spelled as options."""
    for name, option in _SPELLING.items():
        text = re.sub(rf"\b{name}=", f"{option} ", text)
        text = re.sub(rf"\b{name}\b(?=[ ,;.])", option, text)
    return text
