"""Numbers as people write them: decimal commas, thousands, percentages, units, yes and no, dates.

A column is read only where all its cells say the same kind of thing; anything else is left to a
sentence of the caller.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>", "#n/a"})
ERRORS = frozenset({"#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "#n/a n/a"})
_PAIRS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("on", "off"))
_UNIT_WORDS = (
    "% ‰ kg g mg µg μg ug ng t lb lbs oz m cm mm km µm μm um nm in ft mi s ms µs μs us min h hr "
    "hrs d day days week weeks month months y yr yrs year years l L ml mL dl dL µl μl ul °C °F "
    "°c °f K Hz kHz MHz GHz V mV A mA W kW MW kWh J kJ kcal cal Pa hPa kPa MPa bar mbar mmHg "
    "ppm ppb bp kb kB KB MB GB TB mol mmol µmol nmol mM µM μM nM pM mmol/l mmol/L mg/dl mg/dL "
    "g/l g/L g/dl g/dL mg/l mg/L m/s km/h mph $ € £ ¥ EUR USD GBP CHF JPY bpm rpm px dB"
)
_UNITS = frozenset(_UNIT_WORDS.split())
_SPACES = " \u00a0\u202f\u2009'’"
_CELL = re.compile(
    rf"(?P<before>[$€£¥]\s*)?(?P<number>[-+−]?[\d.,{_SPACES}]*\d[.,]?(?:[eE][-+]?\d+)?|[-+]?\.\d+)"
    r"\s*(?P<unit>[^\d\s.,].*)?"
)
_FIRST = r"[-+]?[1-9]\d{0,2}"  # before the first mark between thousands
_PLAIN = {
    ".": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"),
    ",": re.compile(r"[-+]?(\d+,?\d*|,\d+)([eE][-+]?\d+)?"),
}
_DATES = (
    re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d.*)?)?"),
    re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( \d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?)?"),
    re.compile(r"\d{1,2}[- .]*[A-Za-z]{3,9}\.?[-, ]+\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"),
    re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?"),
)


@dataclass(frozen=True)
class Marks:
    """The decimal mark of a file, and the mark between thousands where there is one."""

    decimal: str = "."
    thousands: str | None = None


def is_plain_number(text: str, decimal: str) -> bool:
    """Say whether a cell is a number with this decimal mark, and nothing else.

    Examples
    --------
    >>> is_plain_number("1,5", ","), is_plain_number("1,5", ".")
    (True, False)
    """
    return _PLAIN[decimal].fullmatch(text) is not None


# ---- which mark is meant -----------------------------------------------------------------------


@dataclass
class CommaEvidence:
    """A cell of each kind that was seen; empty where there was none."""

    decimal_comma: str = ""
    decimal_point: str = ""
    grouped_comma: str = ""
    grouped_point: str = ""
    sure_groups: bool = False  # a comma between thousands that can be nothing else


def comma_evidence(cells: Iterable[str]) -> CommaEvidence:
    """Say what the cells show of decimal commas and of marks between thousands.

    Examples
    --------
    >>> comma_evidence(["1.234,5", "7"]).decimal_comma
    '1.234,5'
    >>> comma_evidence(["1,234"])
    CommaEvidence(decimal_comma='', decimal_point='', grouped_comma='1,234', ...)
    """
    seen = CommaEvidence()
    for cell in cells:
        comma = "," in cell
        # Where one point is a decimal mark, others cannot say more: wide tables hold many.
        if not comma and ("." not in cell or seen.decimal_point):
            continue
        found = _CELL.fullmatch(cell)
        if found is None or not _known_unit(found["unit"]):
            continue
        number = found["number"].lstrip("-+−")
        _add_evidence(seen, number, cell)
    return seen


def _add_evidence(seen: CommaEvidence, number: str, cell: str) -> None:
    commas, points = number.count(","), number.count(".")
    grouped = r"[1-9]\d{0,2}"
    if commas and points:
        if number.rindex(",") > number.rindex(".") and commas == 1:
            seen.decimal_comma = seen.decimal_comma or cell
            seen.grouped_point = seen.grouped_point or cell
        elif number.rindex(".") > number.rindex(",") and points == 1:
            seen.decimal_point = seen.decimal_point or cell
            seen.grouped_comma, seen.sure_groups = seen.grouped_comma or cell, True
    elif commas:
        if re.fullmatch(rf"{grouped}(,\d{{3}})+", number):
            seen.grouped_comma = seen.grouped_comma or cell
            seen.sure_groups |= commas > 1
        elif commas == 1:
            seen.decimal_comma = seen.decimal_comma or cell
    elif re.fullmatch(rf"{grouped}(\.\d{{3}})+", number):
        seen.grouped_point = seen.grouped_point or cell
    elif points == 1:
        seen.decimal_point = seen.decimal_point or cell


def doubtful_point(cells: Iterable[str]) -> tuple[str, str] | None:
    """Return a cell of a column whose point may stand between thousands, and a whole number there.

    With whole numbers below 1000 beside them, cells such as 7.311 are either all decimals or all
    thousands, and the wrong choice mixes two scales. Zeros and cells with a point alone decide
    nothing: there the wrong choice only multiplies the column.

    Examples
    --------
    >>> doubtful_point(["7.311", "975", "2.208"])
    ('7.311', '975')
    >>> doubtful_point(["7.311", "975", "0.208"]) is None, doubtful_point(["7.311"]) is None
    (True, True)
    """
    pointed = whole = ""
    for cell in cells:
        found = _CELL.fullmatch(cell) if cell else None
        if found is None or not _known_unit(found["unit"]):
            continue
        number = found["number"].lstrip("-+−")
        if re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", number):
            pointed = pointed or cell
        elif re.fullmatch(r"[1-9]\d{0,2}", number):
            whole = whole or cell
        elif number.strip("0"):
            return None  # written as no number with marks between thousands is
    return (pointed, whole) if pointed and whole else None


# ---- one column --------------------------------------------------------------------------------

Kind = Literal["numbers", "yes/no", "dates", "text", "mixed", "empty"]


@dataclass(frozen=True, eq=False)
class Cells:
    """What a column holds.

    ``numbers`` are NaN where a cell is missing; None for dates and text. ``wrong`` marks the cells
    of a mixed column that are no numbers. ``problem`` says why in a few words, where more is known.
    """

    kind: Kind
    missing: np.ndarray = field(repr=False)
    numbers: np.ndarray | None = field(default=None, repr=False)
    wrong: np.ndarray | None = field(default=None, repr=False)
    note: str = ""
    problem: str = ""


def read_cells(values: pd.Series, marks: Marks = Marks(), na: Sequence[str] = ()) -> Cells:  # noqa: B008
    """Read a column: all cells of one kind, or a word for what they are."""
    if values.dtype.kind in "iufb":
        return _of_numbers(values, na)
    if values.dtype.kind in "Mm":
        return Cells("dates", values.isna().to_numpy())
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    elif pd.api.types.is_numeric_dtype(values):  # pandas' own types with gaps, and Arrow's
        return _of_numbers(values, na)
    codes, different = pd.factorize(values.astype(object), use_na_sentinel=False)
    words = {token.strip().lower() for token in na}
    parsed = [_read_cell(cell, marks) for cell in different]
    empty = np.array([_is_missing(cell, words) for cell in different], dtype=bool)
    missing = empty[codes]
    present = [i for i in range(len(different)) if not empty[i]]
    if not present:
        return Cells("empty", missing, np.full(len(codes), np.nan))
    kinds = {parsed[i].kind for i in present}
    numbers = np.array([np.nan if e else p.value for e, p in zip(empty, parsed, strict=True)])
    if kinds == {"number"}:
        return _numbers([parsed[i] for i in present], numbers[codes], missing)
    if kinds == {"bool"} or _is_pair(different[i] for i in present):
        return _yes_no(different, empty, codes)
    if kinds == {"date"}:
        return Cells("dates", missing)
    if kinds <= {"text", "date", "bool"}:
        return Cells("text", missing)
    wrong = np.array([not e and p.kind != "number" for e, p in zip(empty, parsed, strict=True)])
    return Cells("mixed", missing, numbers[codes], wrong[codes])


def _of_numbers(values: pd.Series, na: Sequence[str]) -> Cells:
    numbers = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
    for token in na:
        if is_plain_number(token.strip(), "."):
            numbers[numbers == float(token)] = np.nan
    missing = np.isnan(numbers)
    if missing.all():
        return Cells("empty", missing, numbers)
    boolean = pd.api.types.is_bool_dtype(values)
    return Cells("yes/no" if boolean else "numbers", missing, numbers)


def is_missing(cell: Any, na: Sequence[str] = ()) -> bool:
    """Say whether a cell stands for a missing value; ``na`` are words that do, beside the usual.

    Examples
    --------
    >>> is_missing("n/a"), is_missing("?"), is_missing("?", ["?"])
    (True, False, True)
    """
    return _is_missing(cell, {token.strip().lower() for token in na})


def _is_missing(cell: Any, words: set[str]) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING | words
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return True
    return isinstance(cell, float) and (np.isnan(cell) or f"{cell:g}" in words)


@dataclass(frozen=True)
class _Cell:
    kind: Literal["number", "bool", "date", "text", "odd"]  # odd: no number, and no word either
    value: float = np.nan
    unit: str = ""
    grouped: bool = False


_TEXT = _Cell("text")


def _read_cell(cell: Any, marks: Marks) -> _Cell:
    if isinstance(cell, (bool, np.bool_)):
        return _Cell("bool", float(cell))
    if isinstance(cell, (int, float, np.number, decimal.Decimal)):
        return _Cell("number", float(cell))
    if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta)):
        return _Cell("date")
    return _read_text(cell.strip(), marks) if isinstance(cell, str) else _TEXT


def _read_text(text: str, marks: Marks) -> _Cell:
    if text.lower() in ("inf", "+inf", "-inf", "infinity", "-infinity"):
        return _Cell("number", float(text))
    found = _CELL.fullmatch(text)
    if found is not None and _known_unit(found["unit"]):
        number, grouped = _plain(found["number"], marks)
        unit = (found["unit"] or found["before"] or "").strip()
        if number is not None and not (found["unit"] and found["before"]):
            return _Cell("number", number, unit, grouped)
    if any(pattern.fullmatch(text) for pattern in _DATES):
        return _Cell("date")
    other = {".": ",", ",": "."}[marks.decimal]
    odd = is_plain_number(text, other) or text.lower() in ERRORS
    return _Cell("odd") if odd or (text.startswith("=") and len(text) > 1) else _TEXT


@functools.cache
def _known_unit(unit: str | None) -> bool:
    return unit is None or unit.strip() in _UNITS


def _plain(number: str, marks: Marks) -> tuple[float | None, bool]:
    """Return a number without its marks, and whether it had marks between thousands."""
    text = number.replace("−", "-").strip()
    if is_plain_number(text, marks.decimal):
        return float(text.replace(",", ".")), False
    other = {".": ",", ",": "."}[marks.decimal]
    between = rf"[{_SPACES}{re.escape(marks.thousands or '')}]"
    decimals = rf"({re.escape(marks.decimal)}\d+)?"
    whole = re.fullmatch(rf"{_FIRST}({between}\d{{3}})+{decimals}", text)
    if whole is None:
        # A mark between thousands that was not seen before: sure where it repeats itself.
        sure = rf"{_FIRST}({re.escape(other)}\d{{3}}){{2,}}{decimals}"
        also = rf"{_FIRST}({re.escape(other)}\d{{3}})+{re.escape(marks.decimal)}\d+"
        whole = re.fullmatch(sure, text) or re.fullmatch(also, text)
        between = re.escape(other)
    if whole is None:
        return None, False
    return float(re.sub(between, "", text).replace(",", ".")), True


def _numbers(cells: list[_Cell], numbers: np.ndarray, missing: np.ndarray) -> Cells:
    """Finish a column of numbers: all with the same unit, or none."""
    units = sorted({cell.unit for cell in cells})
    if len(units) > 1:
        shown = " and ".join(repr(unit) if unit else "none" for unit in units[:3])
        return Cells("mixed", missing, numbers, ~missing, problem=f"different units ({shown})")
    note = ""
    if units[0] == "%":
        note = "holds percentages: 12 % is read as 12"
    elif units[0]:
        note = f"holds numbers with the unit {units[0]!r}, which is left out"
    elif any(cell.grouped for cell in cells):
        note = "holds numbers with marks between thousands, which are left out"
    return Cells("numbers", missing, numbers, note=note)


def _is_pair(cells: Iterable[Any]) -> bool:
    words = {cell.strip().lower() if isinstance(cell, str) else cell for cell in cells}
    # A letter alone may stand for anything, so both of a pair are wanted.
    return any(words == set(pair) or (words <= set(pair) and len(pair[0]) > 1) for pair in _PAIRS)


def _yes_no(different: Any, empty: np.ndarray, codes: np.ndarray) -> Cells:
    yes = {pair[0] for pair in _PAIRS}
    made = np.full(len(different), np.nan)
    for i in np.flatnonzero(~empty):
        cell = different[i]
        word = cell.strip().lower() if isinstance(cell, str) else str(bool(cell)).lower()
        made[i] = float(word in yes)
    note = "holds yes and no (or the like), read as 1 and 0"
    return Cells("yes/no", empty[codes], made[codes], note=note)
