"""The command that ``info`` suggests for a table, and what it says of the columns."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterscape.cli import options as opt

if TYPE_CHECKING:
    from clusterscape.cli.options import DescribeArguments
    from clusterscape.io import TableSummary

_FEW_ROWS = 2_000  # the distances between all of them take seconds
_FAR = ("outlier", "sentinel")  # single cells: the column is a measurement all the same


@dataclass(frozen=True)
class _Columns:
    """The names of a table's columns, by what ``run`` can do with them."""

    ids: str | None  # names the rows
    text_ids: bool  # the names are text
    taken: bool  # ``run`` takes these names without being told
    numbers: list[str]  # without gaps, and no reason is seen against them
    gaps: list[str]  # of numbers, or of words that are clustered on
    categories: list[str]  # few words: each can become a column
    names: list[str]  # words that differ in most rows
    dates: list[str]
    broken: list[str]  # numbers, with cells that are none
    blanks: list[str]  # numbers, with one text that may mean a missing value
    tokens: list[str]  # these texts
    others: list[str]  # without any value, counters, codes, and classes beside the reference
    reference: str | None  # known classes
    words_known: bool  # the reference holds words, and its name does not say that it is classes


def suggested(
    file: str, found: TableSummary, arguments: DescribeArguments
) -> tuple[str | None, list[str]]:
    """Return the command that clusters a table, and what is to be known of its columns."""
    columns = _sorted(found, arguments)
    gower = bool(columns.categories) and found.n_points <= _FEW_ROWS
    also = not gower and found.n_points <= opt.MOST_GOWER
    remarks = _remarks(columns, gower=gower, gower_too=also)
    if not columns.numbers and not columns.categories and not columns.blanks:
        return None, [*remarks, "No column can be clustered as it is."]
    words = ["clusterscape", "run", file, *_given(arguments)]
    if columns.ids is not None:
        words += ["--id-column", columns.ids]
    if columns.reference is not None:
        words += ["--reference", columns.reference]
    if columns.categories:
        words += ["--categories", "gower" if gower else "one-hot"]
    for token in columns.tokens:
        words += ["--na", token]
    if columns.gaps:  # no reason to lose a column
        words += ["--missing", "members" if gower else "impute"]
    out = [*columns.names, *columns.dates, *columns.broken, *columns.others]
    for name in [*(arguments["exclude"] or ()), *out]:
        words += ["--exclude", name]
    return shlex.join(words), remarks


def text_ids(found: TableSummary, arguments: DescribeArguments) -> str | None:
    """Return the first column where ``run`` takes it as the ids once other words are left out."""
    if found.has_ids or arguments["columns"] or not found.columns:
        return None
    first = found.columns[0]
    whole = first.n_missing == 0 and first.n_distinct == found.n_points
    return first.name if whole and first.kind in ("text", "dates") else None


def _sorted(found: TableSummary, arguments: DescribeArguments) -> _Columns:
    odd = {
        c.name: c.suspicion.kind
        for c in found.columns
        if c.suspicion is not None and c.suspicion.kind not in _FAR and not c.n_missing
    }
    named = first = text_ids(found, arguments)
    texts = [c for c in found.columns if c.kind == "text" and c.name != named]
    differ = [c.name for c in texts if c.n_distinct == found.n_points and not c.few_words]
    if named is None and not found.has_ids and len(differ) == 1:
        named = differ[0]
    by_number = [name for name, kind in odd.items() if kind in ("counter", "ids")]
    ids = named if named is not None or found.has_ids or not by_number else by_number[0]
    classes = [name for name, kind in odd.items() if kind == "classes" and name != ids]
    few = [c.name for c in texts if c.few_words and c.name not in [ids, *classes]]
    numbers = [c.name for c in found.columns if c.is_feature and c.name not in odd]
    # A single column of words beside numbers is most often what is known of the points.
    alone = numbers and not classes and len(texts) == len(few) == 1
    known = few if alone else classes
    reference = known[0] if len(known) == 1 else None
    categories = [name for name in few if name != reference]
    numeric = ("numbers", "whole numbers", "yes/no")
    others = [c.name for c in found.columns if c.kind == "empty"] + list(odd)
    return _Columns(
        ids=ids,
        text_ids=named is not None,
        taken=first is not None,
        numbers=numbers,
        gaps=[
            c.name
            for c in found.columns
            if c.likely_na or (c.n_missing and (c.kind in numeric or c.name in categories))
        ],
        categories=categories,
        names=[c.name for c in texts if not c.few_words and c.name != ids],
        dates=[c.name for c in found.columns if c.kind == "dates" and c.name != ids],
        broken=[c.name for c in found.columns if c.kind == "mixed" and not c.likely_na],
        blanks=[c.name for c in found.columns if c.likely_na],
        tokens=list(dict.fromkeys(c.likely_na for c in found.columns if c.likely_na)),
        others=[name for name in others if name not in (ids, reference)],
        reference=reference,
        words_known=bool(alone),
    )


def _given(arguments: DescribeArguments) -> list[str]:
    """Return the options that say how the table is read, as they were given; not --exclude."""
    words: list[str] = []
    for name, value in arguments.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name}")
        elif name != "exclude" and value not in (None, "auto", [], 0):
            for one in value if isinstance(value, list) else [value]:
                words += [option, str(one)]
    return words


def _remarks(columns: _Columns, *, gower: bool, gower_too: bool) -> list[str]:
    """Say of columns that cannot be clustered on as they are what can be done with them."""
    made = []
    if columns.taken:
        made.append(
            f"Column {columns.ids!r} holds text, different in every row: it names the rows."
        )
    elif columns.ids is not None:
        also = "" if columns.text_ids else " If it is a measurement, leave --id-column out."
        made.append(
            f"Column {columns.ids!r} is different in every row: the command takes it as the names "
            f"of the rows.{also}"
        )
    if columns.words_known:
        made.append(
            f"Column {columns.reference!r} holds words: the command compares the result with it. "
            "To cluster on it, say --categories gower or one-hot instead of --reference."
        )
    out = "the command leaves {them} out"
    fills = "--missing members passes over them" if gower else "--missing impute fills them"
    how = "--categories one-hot makes a column for each word"
    if gower:
        how = "--categories gower compares rows column by column, one-hot makes a column per word"
    other = "gower, which compares rows column by column, and with drop" if gower_too else "drop"
    words = (
        f"{how}. Words weigh at least as much as numbers and can decide the clusters: compare with "
        f"--categories {other}"
    )
    tokens = " or ".join(map(repr, columns.tokens))
    na = " ".join(f"--na {shlex.quote(token)}" for token in columns.tokens)
    for names, what in (
        (columns.blanks, f"{tokens} among numbers: {na}, if it stands for a missing value"),
        (columns.broken, f"cells that are no numbers: correct them, otherwise {out}"),
        (columns.gaps, f"missing values: --missing drop leaves their rows out, {fills}"),
        (columns.categories, f"words: {words}"),
        (columns.names, f"words that differ in most rows, names or free text: {out}"),
        (columns.dates, f"dates or times: {out}; days since a day would be numbers"),
    ):
        if len(names) == 1:
            made.append(f"Column {names[0]!r} holds {what.format(them='it')}.")
        elif names:
            more = f"{len(names) - 1:,} more"
            made.append(f"Columns {names[0]!r} and {more} hold {what.format(them='them')}.")
    return made
