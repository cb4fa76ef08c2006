"""Refusals of a file: one sentence each, spelled for Python or for the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any


class TableError(ValueError):
    """A table cannot be used; the message says where the trouble is and what would help.

    ``remedy`` names options in braces; ``str(error)`` spells them as Python arguments and
    :meth:`for_shell` as command-line options. What follows ``__`` in an option's name only tells
    two values of the same option apart.

    Examples
    --------
    >>> error = TableError("column 'site' holds text", "leave it out: {exclude}", exclude="site")
    >>> str(error)
    "column 'site' holds text; leave it out: exclude='site'."
    >>> error.for_shell()
    "column 'site' holds text; leave it out: --exclude site."
    """

    def __init__(self, problem: str, remedy: str = "", **options: Any) -> None:
        self.problem = problem
        self.remedy = remedy
        self.options = options
        super().__init__(self._words(lambda name, value: f"{name}={value!r}"))

    def for_shell(self) -> str:
        """Return the sentence with its options spelled for the command line."""
        return self._words(_shell_option)

    def _words(self, spell: Callable[[str, Any], str]) -> str:
        if not self.remedy:
            return self.problem + "."
        spelled = {name: spell(name.split("__")[0], value) for name, value in self.options.items()}
        return f"{self.problem}; {self.remedy.format(**spelled)}."


class UnknownColumn(TableError):
    """A table does not have the column ``column``, which was asked for."""

    def __init__(self, column: str, problem: str, remedy: str = "", **options: Any) -> None:
        self.column = column
        super().__init__(problem, remedy, **options)


def no_rows(name: str) -> TableError:
    """Return an error on a file with column names alone."""
    return TableError(f"{name} has column names but no rows of data", "give a table with rows")


def _shell_option(name: str, value: Any) -> str:
    flag = "reference" if name == "label_column" else name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    values = [value] if isinstance(value, str) else list(value)
    return " ".join(f"--{flag} {shlex.quote(str(v))}" for v in values)
