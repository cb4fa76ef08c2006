"""Messy tables as people have them, each with what must come of it.

``TABLES`` maps a name to a :class:`Messy`: the bytes of a file, the options given, and either the
numbers that a careful reader would see or the words of the sentence that must refuse the file.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N = 24  # rows: two groups of twelve


@dataclass(frozen=True)
class Messy:
    """A file and what must come of it."""

    content: bytes
    name: str = "t.csv"
    options: tuple[str, ...] = ()
    # Either what the columns hold (names to numbers, None where a value is missing) ...
    columns: dict[str, Any] = field(default_factory=dict)
    says: tuple[str, ...] = ()  # ... with these words in the messages,
    refused: str = ""  # or a pattern of the sentence that refuses it.
    n_points: int = N
    info: str = ""  # a pattern of what info says


def numbers(seed: int = 0) -> np.ndarray:
    """Return two columns of numbers with three digits, in two groups."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([[1.0, 20.0], [5.0, 90.0]], N // 2, axis=0)
    return np.round(groups + rng.normal(0, [0.3, 4.0], (N, 2)), 3)


X = numbers()
A, B = X[:, 0], X[:, 1]
IDS = [f"p{i:02d}" for i in range(N)]


def text(
    *columns: Any,
    names: str | None = "id,a,b",
    sep: str = ",",
    end: str = "\n",
    form: Callable[[Any], str] = str,
) -> str:
    """Return a table as text: the columns side by side, below the names."""
    rows = [
        sep.join(form(v) if not isinstance(v, str) else v for v in row)
        for row in zip(*columns, strict=True)
    ]
    head = [] if names is None else [names.replace(",", sep)]
    return end.join([*head, *rows]) + end


PLAIN = text(IDS, A, B)
BOTH = {"a": A, "b": B}


# Points before three digits, and whole numbers below 1000 beside them.
POINTED = [f"{1 + i % 9}.{207 + 31 * i}" for i in range(N - 2)] + ["975", "31"]


def comma(value: Any) -> str:
    """Write a number with a decimal comma."""
    return str(value).replace(".", ",")


def changed(row: int, column: int, cell: str, table: str = PLAIN, sep: str = ",") -> str:
    """Return the table with one cell replaced; rows count from 0 below the names."""
    lines = table.split("\n")
    fields = lines[row + 1].split(sep)
    fields[column] = cell
    lines[row + 1] = sep.join(fields)
    return "\n".join(lines)


def without(values: np.ndarray, *rows: int) -> np.ndarray:
    """Return the values of the other rows."""
    return np.delete(values, rows)


def xlsx(
    rows: list[list[Any]],
    *,
    sheets: tuple[str, ...] = ("data",),
    second: list[list[Any]] | None = None,
) -> bytes:
    """Return an xlsx file with the rows in its first sheet, and others in the further sheets."""
    import openpyxl

    book = openpyxl.Workbook()
    first = book.active
    first.title = sheets[0]
    for row in rows:
        first.append(row)
    for name in sheets[1:]:
        further = book.create_sheet(name)
        for row in second or [["something", "else"]]:
            further.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def cells(*extra: list[Any]) -> list[list[Any]]:
    """Return the plain table as the cells of a sheet."""
    rows: list[list[Any]] = [["id", "a", "b"]]
    return rows + [[i, float(a), float(b)] for i, a, b in zip(IDS, A, B, strict=True)] + list(extra)


ENCODINGS = {
    "utf-8 with a mark": Messy(PLAIN.encode("utf-8-sig"), columns=BOTH),
    "utf-16 little": Messy(b"\xff\xfe" + PLAIN.encode("utf-16-le"), columns=BOTH),
    "utf-16 big": Messy(b"\xfe\xff" + PLAIN.encode("utf-16-be"), columns=BOTH),
    "utf-32": Messy(PLAIN.encode("utf-32"), columns=BOTH),
    "utf-16 without a mark": Messy(PLAIN.encode("utf-16-le"), refused="NUL.*--encoding utf-16-le"),
    "utf-16 without a mark, said": Messy(
        PLAIN.encode("utf-16-le"), options=("--encoding", "utf-16-le"), columns=BOTH
    ),
    "latin-1": Messy(
        text(IDS, A, B, names="id,größe,b").encode("latin-1"),
        refused="row 1 .*not UTF-8 text.*--encoding cp1252",
    ),
    "latin-1, said": Messy(
        text(IDS, A, B, names="id,größe,b").encode("latin-1"),
        options=("--encoding", "latin-1"),
        columns={"größe": A, "b": B},
    ),
    "cp1252, said": Messy(
        text(IDS, A, B, names="id,a €,b").encode("cp1252"),
        options=("--encoding", "cp1252"),
        columns={"a €": A, "b": B},
    ),
    "wrong encoding said": Messy(
        text(IDS, A, B, names="id,größe,b").encode("latin-1"),
        options=("--encoding", "utf-8"),
        refused="not text in the encoding utf-8",
    ),
    "no such encoding": Messy(
        PLAIN.encode(), options=("--encoding", "latin-42"), refused="'latin-42' is not known"
    ),
    "NUL bytes": Messy(
        changed(3, 1, "1\x005").encode(), refused="holds (a NUL character|NUL characters)"
    ),
    "gzip": Messy(gzip.compress(PLAIN.encode()), name="t.csv.gz", columns=BOTH),
    "old Mac line ends": Messy(PLAIN.replace("\n", "\r").encode(), columns=BOTH),
    "Windows line ends": Messy(PLAIN.replace("\n", "\r\n").encode(), columns=BOTH),
}

SEPARATORS = {
    "semicolons": Messy(
        text(IDS, A, B, sep=";").encode(), columns=BOTH, says=("separated by semicolons",)
    ),
    "semicolons and decimal commas": Messy(
        text(IDS, A, B, sep=";", form=comma).encode(),
        columns=BOTH,
        says=("separated by semicolons", "decimal comma"),
    ),
    "tabs in csv": Messy(
        text(IDS, A, B, sep="\t").encode(), columns=BOTH, says=("separated by tabs",)
    ),
    "bars": Messy(text(IDS, A, B, sep="|").encode(), columns=BOTH, says=("separated by '|'",)),
    "tsv with decimal commas": Messy(
        text(IDS, A, B, sep="\t", form=comma).encode(), name="t.tsv", columns=BOTH
    ),
    "txt with tabs": Messy(text(IDS, A, B, sep="\t").encode(), name="t.txt", columns=BOTH),
    "txt with spaces": Messy(
        "\n".join(
            f"{i}   {a} \t{b} " for i, a, b in zip(["id", *IDS], ["a", *A], ["b", *B], strict=True)
        ).encode(),
        name="t.txt",
        columns=BOTH,
    ),
    "txt with semicolons": Messy(text(IDS, A, B, sep=";").encode(), name="t.txt", columns=BOTH),
    "a hint on the separator": Messy(
        b"sep=;\n" + PLAIN.replace(",", ";").encode(),
        columns=BOTH,
        says=("the line 'sep=;' before the table: not read",),
    ),
    "several spaces in csv": Messy(
        PLAIN.replace(",", "   ").encode(), refused="if ' ' separates .*--delimiter space"
    ),
    "carets": Messy(PLAIN.replace(",", "^").encode(), refused="if '\\^' separates .*--delimiter"),
    "a separator that is said": Messy(
        text(IDS, A, B, sep="^").encode(), options=("--delimiter", "^"), columns=BOTH
    ),
    "no header, decimal commas": Messy(
        text(A, B, names=None, sep=";", form=comma).encode(), columns={"1": A, "2": B}
    ),
    "quoted decimal commas": Messy(
        text(IDS, [f'"{comma(a)}"' for a in A], B.astype(int)).encode(),
        columns={"a": A, "b": B.astype(int)},
        says=("decimal comma",),
    ),
    "trailing separators": Messy(
        text(IDS, A, B, end=",\n").encode(), columns=BOTH, says=("ends with a separator",)
    ),
    "trailing separators in the rows alone": Messy(
        ("id,a,b\n" + text(IDS, A, B, names=None, end=",\n")).encode(),
        refused="row 2 .*4 fields where the first row has 3.*end with a separator",
    ),
    "quotes around everything": Messy(
        text(*[[f'"{v}"' for v in c] for c in (IDS, A, B)], names='"id","a","b"').encode(),
        columns=BOTH,
    ),
    "separators in quotes": Messy(
        text([f'"{i}, the ""first"""' for i in IDS], A, B).encode(), columns=BOTH
    ),
    "line breaks in quotes": Messy(text([f'"{i}\nx"' for i in IDS], A, B).encode(), columns=BOTH),
    "an open quotation mark": Messy(
        changed(5, 0, '"p05').encode(), refused="fields where|quotation mark"
    ),
    "a short row": Messy(
        PLAIN.replace(f"{IDS[4]},", "").encode(),
        refused="row 6 .*2 fields where the first row has 3",
    ),
    "a long row": Messy(
        changed(4, 2, "1,2").encode(), refused="row 6 .*4 fields where the first row has 3"
    ),
    "blank lines": Messy(PLAIN.replace("\n", "\n\n").encode(), columns=BOTH),
    "spaces around cells": Messy(text(IDS, A, B, sep=" , ").encode(), columns=BOTH),
}

HEADS = {
    "comments": Messy(
        ("# made by a machine\n# on a Monday, early\n" + PLAIN).encode(),
        columns=BOTH,
        says=("2 lines that begin with '#'",),
    ),
    "names behind a hash": Messy(
        ("#" + text(A, B, names="a,b")).encode(), columns={"#a": A, "b": B}
    ),
    "a title": Messy(("Results of May\n" + PLAIN).encode(), refused="row 2 .*--skip 1"),
    "a title that is skipped": Messy(
        ("Results of May\n\n" + PLAIN).encode(), options=("--skip", "2"), columns=BOTH
    ),
    "two rows of names": Messy(
        PLAIN.replace("\n", "\nname,cm,kg\n", 1).encode(),
        refused="row 2 .*column 'a': 'cm' is not a number.*second line of names, or the units",
    ),
    "names that count up": Messy(
        text(A, B, names="0,1").encode(), refused="numbers that count up.*--header"
    ),
    "no names": Messy(text(A, B, names=None).encode(), columns={"1": A, "2": B}),
    "names of numbers and words": Messy(
        text(A, B, names="a,2020").encode(), refused="both names and numbers.*--header"
    ),
    "an empty name": Messy(text(IDS, A, B, names=",a,b").encode(), columns=BOTH),
    "a repeated name": Messy(text(IDS, A, B, names="id,a,a").encode(), columns={"a": A}),
}

IDENTIFIERS = {
    "repeated ids": Messy(
        changed(7, 0, "p03").encode(), refused="row 9 .*'p03' was already used in row 5"
    ),
    "a missing id": Messy(changed(7, 0, "").encode(), refused="row 9 .*the id is missing"),
    "huge ids": Messy(
        text([10**17 + i for i in range(N)], A, B).encode(),
        columns=BOTH,
    ),
    "huge numbers that are not called ids": Messy(
        text([10**17 + 7 * i for i in range(N)], A, B, names="account,a,b").encode(),
        columns=BOTH,
        says=(
            "'account' holds whole numbers of so many digits",
            "--id-column account",
        ),
    ),
    "ids with leading zeros": Messy(
        text([f"{i:05d}" for i in range(N)], A, B).encode(), columns=BOTH
    ),
    "postal codes": Messy(
        text(IDS, A, B, [f"0{6000 + i % 5}" for i in range(N)], names="id,a,b,zip").encode(),
        columns=BOTH,
        says=("'zip' holds cells that begin with 0", "--exclude zip"),
    ),
    "row numbers": Messy(
        text(range(1, N + 1), A, B, names="nr,a,b").encode(),
        columns=BOTH,
        says=("'nr' counts the rows",),
    ),
    "classes": Messy(
        text(IDS, A, B, [i % 2 for i in range(N)], names="id,a,b,class").encode(),
        columns=BOTH,
        says=("its name suggests known classes",),
    ),
}

CELLS = {
    "percentages": Messy(
        text(IDS, [f"{a} %" for a in A], B).encode(), columns=BOTH, says=("percentages",)
    ),
    "percentages in part": Messy(
        changed(3, 1, "3%").encode(), refused="column 'a': the numbers have different units"
    ),
    "telephone numbers": Messy(
        text(IDS, A, B, [f"030 {100 + i} 456" for i in range(N)], names="id,a,b,phone").encode(),
        refused="the column 'phone' holds text",
    ),
    "decimal commas beside separating commas": Messy(
        text(IDS, A, B, form=comma).encode(), refused="5 fields where the first row has 3"
    ),
    "one unit": Messy(
        text(IDS, [f"{a} kg" for a in A], B).encode(), columns=BOTH, says=("the unit 'kg'",)
    ),
    "several units": Messy(
        changed(3, 1, "300 g", text(IDS, [f"{a} kg" for a in A], B)).encode(),
        refused="different units \\('g' and 'kg'\\)",
    ),
    "an unknown unit": Messy(
        text(IDS, [f"{a} foo" for a in A], B).encode(), refused="the column 'a' holds text"
    ),
    "money": Messy(
        text(IDS, [f"${a * 1000:,.2f}" for a in A], B, sep=";").encode(),
        columns={"a": np.round(A * 1000, 2), "b": B},
        says=("the unit '$'",),
    ),
    "thousands with commas": Messy(
        text(IDS, [f'"{int(a * 1e6):,}"' for a in A], B).encode(),
        columns={"a": (A * 1e6).astype(int), "b": B},
        says=("mark between thousands",),
    ),
    "thousands with points": Messy(
        text(
            IDS,
            [f"{int(b * 1e3):,}".replace(",", ".") for b in B],
            A,
            names="id,b,a",
            sep=";",
            form=comma,
        ).encode(),
        columns={"b": (B * 1e3).astype(int), "a": A},
        says=("decimal comma", "'.' is the mark between thousands"),
    ),
    "thousands with spaces": Messy(
        text(IDS, [f"{int(b * 1e3):,}".replace(",", " ") for b in B], A, names="id,b,a").encode(),
        columns={"b": (B * 1e3).astype(int), "a": A},
        says=("marks between thousands",),
    ),
    "thousands with apostrophes": Messy(
        text(IDS, [f"{int(b * 1e3):,}".replace(",", "'") for b in B], A, names="id,b,a").encode(),
        columns={"b": (B * 1e3).astype(int), "a": A},
    ),
    "commas that may be either": Messy(
        text(IDS, [f"{1 + i},{i:03d}" for i in range(N)], B.astype(int), sep=";").encode(),
        refused="may have a decimal comma or a comma between thousands.*--decimal , or --thous",
    ),
    "commas that may be either, said": Messy(
        text(IDS, [f"{1 + i},{i:03d}" for i in range(N)], B.astype(int), sep=";").encode(),
        options=("--decimal", ","),
        columns={"a": [1 + i + i / 1000 for i in range(N)], "b": B.astype(int)},
    ),
    "points that may be either": Messy(
        text(IDS, POINTED, POINTED[::-1], sep=";").encode(),
        refused="column 'a': '1.207' may have a decimal point or a point between thousands.*'975'"
        ".*--decimal . for decimals, or --thousands . for",
    ),
    "points that may be either, thousands": Messy(
        text(IDS, POINTED, POINTED[::-1], sep=";").encode(),
        options=("--thousands", "."),
        columns={"a": [float(p.replace(".", "")) for p in POINTED]},
    ),
    "points that may be either, decimals": Messy(
        text(IDS, POINTED, POINTED[::-1], sep=";").encode(),
        options=("--decimal", "."),
        columns={"a": [float(p) for p in POINTED]},
    ),
    "three decimals": Messy(
        text(IDS, [p for p in POINTED if "." in p] + ["8.123", "9.456"], range(N)).encode(),
        columns={"b": range(N)},
    ),
    "three decimals, whole numbers and a smaller one": Messy(
        text(IDS, ["0.123", *POINTED[1:]], range(N)).encode(), columns={"b": range(N)}
    ),
    "three decimals and zeros": Messy(
        text(IDS, [p if "." in p else "0" for p in POINTED], range(N)).encode(),
        columns={"b": range(N)},
    ),
    "both decimal marks": Messy(
        text(IDS, [comma(a) for a in A], B, sep=";").encode(),
        refused="has a decimal comma and .* a decimal point",
    ),
    "a decimal comma late in the file": Messy(
        (text([f"q{i}" for i in range(1500)], range(1500), [0.5] * 1500) + 'z,3,"1,5"\n').encode(),
        refused="row 1502 .*column 'b': '1,5' is not a number.*written with a point",
    ),
    "true and false": Messy(
        text(IDS, A, B, [str(i % 3 == 0) for i in range(N)], names="id,a,b,flag").encode(),
        columns={"a": A, "b": B, "flag": [float(i % 3 == 0) for i in range(N)]},
    ),
    "yes and no": Messy(
        text(IDS, A, B, ["Yes" if i % 3 else "no" for i in range(N)], names="id,a,b,flag").encode(),
        columns={"a": A, "b": B, "flag": [float(i % 3 != 0) for i in range(N)]},
        says=("'flag' holds yes and no",),
    ),
    "dates": Messy(
        text(IDS, A, B, [f"2024-01-{i + 1:02d}" for i in range(N)], names="id,a,b,day").encode(),
        refused="the column 'day' holds dates.*--exclude day",
    ),
    "German dates": Messy(
        text(
            IDS, A, B, [f"{i % 28 + 1:02d}.03.2024" for i in range(N)], names="id,a,b,day"
        ).encode(),
        refused="the column 'day' holds dates",
    ),
    "times": Messy(
        text(IDS, A, B, [f"{i % 24}:30" for i in range(N)], names="id,a,b,time").encode(),
        refused="the column 'time' holds dates or times",
    ),
    "dates as whole numbers": Messy(
        text(IDS, A, B, [20240101 + i for i in range(N)], names="id,a,b,day").encode(),
        columns=BOTH,
        says=("'day' may hold dates",),
    ),
    "dates that are left out": Messy(
        text(IDS, A, B, [f"2024-01-{i + 1:02d}" for i in range(N)], names="id,a,b,day").encode(),
        options=("--categories", "drop"),
        columns=BOTH,
        says=("because they hold dates: 'day'",),
    ),
    "words": Messy(
        text(IDS, A, B, ["uv"[i % 2] * 2 for i in range(N)], names="id,a,b,site").encode(),
        refused="the column 'site' holds text.*--exclude site.*--categories one-hot",
    ),
    "words as columns": Messy(
        text(IDS, A, B, ["uv"[i % 2] * 2 for i in range(N)], names="id,a,b,site").encode(),
        options=("--categories", "one-hot"),
        columns={"a": A, "b": B},
        says=("'site' holds 2 different words",),
    ),
    "free text as columns": Messy(
        text(IDS, A, B, [f"comment {i}" for i in range(N)], names="id,a,b,note").encode(),
        options=("--categories", "one-hot"),
        refused="'note' holds 24 different words in 24 rows: names or free text",
    ),
    "formulas": Messy(
        changed(3, 1, "=B2+1").encode(),
        refused="row 5 .*'=B2\\+1' is not a number; it is a formula",
    ),
    "a column of formulas": Messy(
        text(IDS, A, B, ["=A2*2"] * N, names="id,a,b,c").encode(), refused="it is a formula"
    ),
    "spreadsheet errors": Messy(
        changed(3, 1, "#DIV/0!").encode(), refused="'#DIV/0!' is not a number; it is an error"
    ),
    "mixed types": Messy(
        changed(5, 1, "low", changed(3, 1, "high")).encode(),
        refused="row 5 .*'high' is not a number \\(2 such cells",
    ),
    "a question mark": Messy(changed(3, 1, "?").encode(), refused="'\\?' is not.*--na '\\?'"),
    "infinite": Messy(changed(3, 1, "inf").encode(), refused="row 5 .*infinite"),
    "too large": Messy(changed(3, 1, "1e999").encode(), refused="row 5 .*infinite"),
    "unicode minus": Messy(text(IDS, [f"−{a}" for a in A], B).encode(), columns={"a": -A, "b": B}),
    "scientific": Messy(text(IDS, [f"{a:.6E}" for a in A], B).encode(), columns=BOTH),
    "plus signs": Messy(text(IDS, [f"+{a}" for a in A], B).encode(), columns=BOTH),
    "a mistyped cell": Messy(
        changed(3, 1, "10300").encode(),
        columns={"b": B},
        says=("holds 10300 (in 'p03')", "mistake"),
    ),
    "a code for missing": Messy(
        changed(9, 1, "-999", changed(3, 1, "-999")).encode(),
        columns={"b": B},
        says=("holds -999 (2 times)", "--na -999"),
    ),
}

ODD = {
    "minutes and seconds in the first column": Messy(
        text([f"{i}:30" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds (text|dates or times).*--exclude c",
    ),
    "numbers after an apostrophe in the first column": Messy(
        text([f"'{i}" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "fractions in the first column": Messy(
        text([f"{i}/7" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "errors of measurement in the first column": Messy(
        text([f"{i}±1" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "exponents of Fortran in the first column": Messy(
        text([f"{i}.5D+02" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "hexadecimal numbers in the first column": Messy(
        text([f"0x{i:02x}" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "degrees and minutes in the first column": Messy(
        text([f"{i}°30'" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "stars of significance in the first column": Messy(
        text([f"{i}.5***" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "thousands as k in the first column": Messy(
        text([f"{i}k" for i in range(N)], A, B, names="c,a,b").encode(),
        refused="the column 'c' holds text where numbers are needed.*--exclude c",
    ),
    "a row of sums": Messy(
        (PLAIN + f"Total,{float(A.sum())!r},{float(B.sum())!r}\n").encode(),
        columns={"a": np.append(A, A.sum()), "b": np.append(B, B.sum())},
        n_points=N + 1,
        says=("the last row ('Total') holds the sums of all others",),
    ),
}

GAPS = {
    "a gap": Messy(changed(3, 1, "").encode(), refused="row 5 .*missing.*--missing drop"),
    "gaps": Messy(
        changed(5, 2, "NA", changed(3, 1, "")).encode(),
        refused="2 values are missing in 2 of 24 rows, columns 'a' \\(1\\), 'b' \\(1\\)",
    ),
    "gaps dropped": Messy(
        changed(5, 2, "NA", changed(3, 1, "")).encode(),
        options=("--missing", "drop"),
        columns={"a": without(A, 3, 5), "b": without(B, 3, 5)},
        says=("2 values are missing in 2 of 24 rows", "the first of them 'p03'"),
        n_points=N - 2,
    ),
    "gaps filled": Messy(
        changed(3, 1, "n/a").encode(),
        options=("--missing", "impute"),
        columns={"b": B},
        says=("1 of 24 values are missing and filled with the median",),
    ),
    "gaps of another name": Messy(
        changed(3, 1, "?").encode(),
        options=("--missing", "drop", "--na", "?"),
        columns={"a": without(A, 3), "b": without(B, 3)},
        n_points=N - 1,
    ),
    "a number for gaps": Messy(
        changed(3, 1, "-999").encode(),
        options=("--missing", "drop", "--na", "-999"),
        columns={"a": without(A, 3), "b": without(B, 3)},
        n_points=N - 1,
    ),
    "an empty column": Messy(
        text(IDS, A, B, [""] * N, names="id,a,b,c").encode(),
        options=("--missing", "impute"),
        refused="the column 'c' has no values",
    ),
    "empty rows at the end": Messy(
        (PLAIN + ",,\n" * 3).encode(), columns=BOTH, says=("3 rows are empty at the end",)
    ),
    "empty rows alone": Messy(b"id,a,b\n,,\n,,\n", refused="no rows of data"),
    "no rows": Messy(b"id,a,b\n", refused="no rows of data"),
    "nothing": Messy(b"", refused="is empty"),
}

SHEETS = {
    "xlsx": Messy(xlsx(cells()), name="t.xlsx", columns=BOTH),
    "xlsx with several sheets": Messy(
        xlsx(cells(), sheets=("May", "June")),
        name="t.xlsx",
        columns=BOTH,
        says=("of several sheets 'May' is read",),
    ),
    "xlsx with numbers in another sheet": Messy(
        xlsx([["note"], ["made in May"]], sheets=("Readme", "June"), second=cells()),
        name="t.xlsx",
        refused="first sheet, 'Readme', is read, and it holds no num.* in 'June'.*--sheet June",
    ),
    "xlsx with an empty first sheet": Messy(
        xlsx([], sheets=("Readme", "June"), second=cells()),
        name="t.xlsx",
        refused="first sheet, 'Readme', is read, and it is empty.* in 'June'.*--sheet June",
    ),
    "no such sheet": Messy(
        xlsx(cells()),
        name="t.xlsx",
        options=("--sheet", "July"),
        refused="no sheet 'July'; it has 'data'",
    ),
    "xlsx with a word": Messy(
        xlsx([*cells(), ["p99", 1.0, "many"]]),
        name="t.xlsx",
        refused="row 26 \\(as the spreadsheet numbers it, sheet 'data'\\), column 'b': 'many'",
    ),
    "xlsx with formulas": Messy(
        xlsx([*cells(), ["p99", 1.0, "=B2+1"]]),
        name="t.xlsx",
        refused="cell C26: the formula '=B2\\+1'",
    ),
    "a damaged xlsx": Messy(b"PK no", name="t.xlsx", refused="not an xlsx file, or a damaged one"),
    "a sheet of a csv file": Messy(
        PLAIN.encode(), options=("--sheet", "2"), refused="no xlsx file.*leave out --sheet 2"
    ),
    "xls": Messy(b"\xd0\xcf", name="t.xls", refused="save it as xlsx or CSV"),
}

TABLES = {**ENCODINGS, **SEPARATORS, **HEADS, **IDENTIFIERS, **CELLS, **ODD, **GAPS, **SHEETS}
