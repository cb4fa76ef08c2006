"""Errors and warnings whose sentences another layer can spell in its own words.

A function argument is ``n_clusters=5`` in Python and ``--clusters 5`` on the command line. An error
that names arguments therefore keeps its parts as fields; ``str(error)`` spells them for Python,
and ``error.worded(spell)`` as the given function does. No layer has to parse a sentence.

``spell(name, *value)`` returns the text for an argument, alone or with a value, and None where the
reader has no such argument:

>>> def shell(name, *value):
...     return " ".join([{"n_clusters": "--clusters"}[name], *map(str, value)])
>>> error = ParameterError("{n_clusters} is more than the 3 points", n_clusters=5)
>>> str(error)
'n_clusters=5 is more than the 3 points'
>>> error.worded(shell)
'--clusters 5 is more than the 3 points'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Spell = Callable[..., str | None]

_FIELD = re.compile(r"{(\w+?)(?:__\w+)?(\.name)?}")


def python_words(name: str, *value: Any) -> str:
    """Spell an argument as Python does."""
    return "=".join([name, *(f"{v:g}" if isinstance(v, float) else repr(v) for v in value)])


def filled(template: str, parameters: Mapping[str, Any], spell: Spell) -> str | None:
    """Return a template with its arguments spelled; None where one of them cannot be."""
    missing = False

    def one(match: re.Match[str]) -> str:
        nonlocal missing
        field = match[0].strip("{}").removesuffix(".name")
        if field not in parameters and not match[2]:
            return match[0]  # braces of a file name, not of ours
        value = () if match[2] else (parameters[field],)
        text = spell(match[1], *value)
        missing = missing or text is None
        return text or ""

    text = _FIELD.sub(one, template)
    return None if missing else text


def _restored(kind: type[BaseException], args: tuple[Any, ...], state: Any) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class Worded:
    """Mixin of errors with fields, which survive the way back from a worker process."""

    args: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args, self.__dict__)


class _Template(Worded, Exception):
    """A sentence with fields; see :class:`ParameterError`."""

    def __init__(self, template: str, **parameters: Any) -> None:
        self.template = template
        self.parameters = parameters
        super().__init__(self.worded(python_words))

    def worded(self, spell: Spell) -> str:
        """Return the sentence; what ``spell`` does not know is spelled as Python does."""

        def known(name: str, *value: Any) -> str:
            return spell(name, *value) or python_words(name, *value)

        return filled(self.template, self.parameters, known) or self.template


class ParameterError(_Template, ValueError):
    """An argument does not fit the data or another argument.

    Parameters
    ----------
    template : str
        The sentence. ``{n_clusters}`` stands for the argument with its value (``n_clusters=5``),
        ``{n_clusters.name}`` for its name alone. What follows ``__`` in a field only
        distinguishes two values of one argument: ``{n_clusters__most}`` is another value of
        ``n_clusters``.
    **parameters
        The values of the fields.

    Attributes
    ----------
    template : str
        As given.
    parameters : dict
        As given.
    """


class ParameterWarning(_Template, UserWarning):
    """A warning that names arguments; the parts are those of :class:`ParameterError`.

    Examples
    --------
    >>> warning = ParameterWarning("{n_clusters} was asked for and 2 returned.", n_clusters=3)
    >>> str(warning), warning.worded(lambda name, *value: f"--clusters {value[0]}")
    ('n_clusters=3 was asked for and 2 returned.', '--clusters 3 was asked for and 2 returned.')
    """


class InvalidParameter(ParameterError, TypeError):
    """An argument has a value that its rules do not allow.

    Parameters
    ----------
    owner : str
        The function or class.
    name : str
        The argument.
    value : object
        What was given.
    expected : str
        What it must be, in words that follow "must be".
    rules : sequence of Rule
        The rules of which one must hold; empty where the check is no rule.
    remedy : str
        A sentence on what to do, if ``expected`` does not say it.

    Attributes
    ----------
    owner, name, value, expected, rules, remedy
        As given.
    """

    def __init__(
        self,
        owner: str,
        name: str,
        value: Any,
        *,
        expected: str,
        rules: Sequence[Any] = (),
        remedy: str = "",
    ) -> None:
        self.owner = owner
        self.name = name
        self.value = value
        self.expected = expected
        self.rules = tuple(rules)
        self.remedy = remedy
        super().__init__("")

    def worded(self, spell: Spell) -> str:
        """Return the sentence with the argument's name as ``spell`` has it."""
        name = spell(self.name) or self.name
        text = f"{self.owner}: {name} must be {self.expected}; got {shown(self.value)}."
        return f"{text} {self.remedy}".rstrip()


class MemoryLimitError(Worded, MemoryError):
    """The request would take more memory than is allowed.

    Parameters
    ----------
    what : str
        What would take the memory: the beginning of the sentence.
    needed_gb : float or None
        How much it would take; None where it is only known to be more than the limit.
    limit_gb : float
        How much is allowed.
    parameter : str or None
        The argument that sets the limit; None where it is fixed.
    remedies : sequence of str
        What to do instead, each the rest of "You can ...": templates as :class:`ParameterError`
        takes them. One with an argument that the reader does not have is left out.
    **parameters
        The values of the fields of the remedies.

    Attributes
    ----------
    what, needed_gb, limit_gb, parameter, remedies
        As given.
    parameters : dict
        As given.

    Examples
    --------
    >>> error = MemoryLimitError(
    ...     "the table of 9 clusters", 8.0, 4.0, remedies=("take fewer {bins}",), bins=3
    ... )
    >>> str(error)
    'the table of 9 clusters would take 8.0 GB, more than max_gb=4. Take fewer bins=3, or raise
    max_gb.'
    >>> error.worded(lambda name, *value: None)
    'the table of 9 clusters would take 8.0 GB, more than the 4 GB that are allowed.'
    """

    def __init__(
        self,
        what: str,
        needed_gb: float | None,
        limit_gb: float,
        *,
        parameter: str | None = "max_gb",
        remedies: Sequence[str] = (),
        **parameters: Any,
    ) -> None:
        self.what = what
        self.needed_gb = needed_gb
        self.limit_gb = limit_gb
        self.parameter = parameter
        self.remedies = tuple(remedies)
        self.parameters = parameters
        super().__init__(self.worded(python_words))

    def worded(self, spell: Spell) -> str:
        """Return the sentence with the remedies that the reader can follow."""
        given = None if self.parameter is None else spell(self.parameter, float(self.limit_gb))
        limit = given or f"the {self.limit_gb:g} GB that are allowed"
        need = "" if self.needed_gb is None else f"{self.needed_gb:,.1f} GB, "
        text = f"{self.what} would take {need}more than {limit}."
        ways = [filled(remedy, self.parameters, spell) for remedy in self.remedies]
        known = [way for way in ways if way]
        if given is not None and self.parameter is not None:
            known.append(f"raise {spell(self.parameter)}")
        if not known:
            return text
        joined = known[0] if len(known) == 1 else f"{', '.join(known[:-1])}, or {known[-1]}"
        return f"{text} {joined[0].upper()}{joined[1:]}."


def shown(value: Any) -> str:
    """Return ``value`` as it appears in a message: short, with its type."""
    text = repr(value)
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{text} ({type(value).__name__})"
