"""``clusterscape info``: what a file or folder holds, and which methods and measures there are."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import verb
from clusterscape.cli.suggestion import suggested, text_ids

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.io import ColumnSummary, Suspicion, TableSummary

Description = tuple[dict[str, Any], list[str]]  # as plain values, and in words

_SHOWN = 30  # columns of a table that are described one by one
_ASKED = 5  # columns of one kind that may be no measurements
_WIDE = 28  # characters of a name there
_LISTS = ("methods", "measures", "generators", "algorithms", "datasets", "formats")


@verb
def info(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A table, labels, an ensemble, a model, run.json, or the folder of a run.",
        ),
    ] = "",
    *,
    listed: Annotated[
        str,
        typer.Option(
            "--list",
            metavar="WHAT",
            help=f"List what there is: {', '.join(_LISTS)}.",
        ),
    ] = "",
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Say what a file or folder holds, or list the methods, measures and generators.

    Of a table: the kind, range and missing cells of every column, the columns that may be no
    measurements, and the command that would cluster it.

    Example: `clusterscape info wine.csv`
    """
    from clusterscape.io.results import json_text

    if bool(file) == bool(listed):
        raise typer.BadParameter("give a file or --list, one of the two.", param_hint="FILE")
    if listed:
        rows = _rows(opt.choose("--list", listed, _LISTS))
        lines = [f"{name}: {text}" for name, text in rows.items()]
        typer.echo(json_text(rows) if printing.json else "\n".join(lines))
        return
    facts, lines = _describe(file, reading)
    typer.echo(json_text(facts) if printing.json else "\n".join(lines))


def _rows(what: str) -> dict[str, str]:
    if what == "methods":
        from clusterscape.combine import METHODS

        return {name: f"{m.summary} ({m.reference})" for name, m in METHODS.items()}
    if what == "measures":
        from clusterscape.compare import MEASURES

        return {
            name: f"{m.label}; a {m.direction}{', metric' if m.metric else ''}"
            f"{', corrected for chance' if m.chance_corrected else ''}"
            f"{', needs --features' if m.needs_features else ''} ({m.reference})"
            for name, m in MEASURES.items()
        }
    if what == "generators":
        from clusterscape import generate
        from clusterscape.generate import PRESETS

        return {name: (getattr(generate, name).__doc__ or "").split("\n")[0] for name in PRESETS}
    if what == "algorithms":
        from clusterscape.generate import ALGORITHMS, CLUSTERERS

        own = {name: a.summary for name, a in ALGORITHMS.items()}
        return own | {
            name: f"sklearn.{home}.{name} with its defaults" for name, home in CLUSTERERS.items()
        }
    if what == "datasets":
        from clusterscape import datasets

        return {name: f"datasets.load({name!r})" for name in datasets.list_available()}
    from clusterscape.io import FORMATS

    return {name: ", ".join(endings) for name, endings in FORMATS.items()}


def _describe(file: str, reading: opt.Reading) -> Description:
    path = Path(file)
    if path.is_dir() or path.name == "run.json":
        return _run(path)
    from clusterscape.cli import output as out
    from clusterscape.io import (
        TableError,
        describe_table,
        is_ensemble_file,
        is_model_file,
        read_labels,
    )

    arguments = reading.arguments(file)
    if is_ensemble_file(file):
        ensemble = read_labels(file, **arguments)
        return {"kind": "ensemble", "file": file, **out.ensemble_facts(ensemble)}, [
            f"{file} is an ensemble: {ensemble.describe()}.",
            f"To combine it: clusterscape combine {shlex.quote(file)}",
        ]
    if is_model_file(file):
        return _of_model(file)
    why = "info says what stands in a file"
    reading.refuse(f"{why}, before anything is done to it", "missing", "categories", "transpose")
    if reading.obs is not None or _is_labels(file):
        return _of_labels(file, read_labels(file, **arguments))
    found = describe_table(file, **reading.describe_arguments(file))
    if not any(column.is_feature for column in found.columns):
        # Text that repeats itself may be labels.
        with contextlib.suppress(TableError):
            labels = read_labels(file, **arguments)
            if 2 * labels.n_clusters.max() <= labels.n_points:
                facts, lines = _of_labels(file, labels)
                command = suggested(file, found, reading.describe_arguments(file))[0]
                if command is not None:
                    lines.append(f"If its columns are measurements in words: {command}")
                return facts | {"suggestion": command}, lines
    return _of_table(file, found, reading.describe_arguments(file))


def _of_table(file: str, found: TableSummary, arguments: opt.DescribeArguments) -> Description:
    """Describe a table, and suggest the command that clusters it."""
    suggestion, remarks = suggested(file, found, arguments)
    named = found.id_column or text_ids(found, arguments)
    facts = {
        "kind": "table",
        "file": file,
        "n_points": found.n_points,
        "n_features": sum(column.is_feature for column in found.columns),
        "id_column": named,
        "has_ids": found.has_ids or named is not None,
        "density": found.density,
        "columns": [dataclasses.asdict(column) for column in found.columns],
        "notes": found.notes,
        **({"parts": found.parts} if found.parts else {}),
        "suggestion": suggestion,
    }
    ids = "no ids" if not found.has_ids else "ids"
    if named is not None:
        ids = f"ids in column {named!r}"
    sparse = "" if found.density is None else f", sparse ({found.density:.2%} of the cells)"
    columns = "1 column" if len(found.columns) == 1 else f"{len(found.columns):,} columns"
    lines = [
        f"{file} is a table: {found.n_points:,} rows, {columns}, {ids}{sparse}.",
        *found.notes,
        *_column_lines(found.columns),
    ]
    lines += _suspicions([c.suspicion for c in found.columns if c.suspicion is not None])
    lines += remarks + _of_parts(file, found)
    if suggestion is not None:
        lines.append(f"To cluster it: {suggestion}")
    return facts, lines


def _suspicions(found: Sequence[Suspicion]) -> list[str]:
    """Return one question per column; of many that are alike, the first ones and their number."""
    counts = Counter(s.kind for s in found)
    told: Counter[str] = Counter()
    lines = []
    for s in found:
        told[s.kind] += 1
        if told[s.kind] <= _ASKED:
            far = s.kind in ("outlier", "sentinel")
            asked = "is that right" if far else "is it a measurement"
            lines.append(f"Column {s.column!r} {s.reason}: {asked}?")
        elif told[s.kind] == _ASKED + 1:
            rest = counts[s.kind] - _ASKED
            more = "1 more column is" if rest == 1 else f"{rest:,} more columns are"
            lines.append(f"{more} like that (--json names all).")
    return lines


def _of_parts(file: str, found: TableSummary) -> list[str]:
    """Say what else an h5ad file holds, with the commands that read it."""
    quoted, lines = shlex.quote(file), []
    for what, option, note in (
        ("obsm", "--obsm", " --scale none"),
        ("layers", "--layer", ""),
    ):
        names = found.parts.get(what, ())
        if names:
            shown = next((name for name in names if name == "X_pca"), names[0])
            lines.append(
                f"Its {what} holds {', '.join(names)}: clusterscape run {quoted} {option} "
                f"{shlex.quote(shown)}{note}"
            )
    names = found.parts.get("obs", ())
    if names:
        lines.append(
            f"Its obs holds {', '.join(names)}, which may be clusterings: clusterscape combine "
            f"{quoted} --obs {shlex.quote(','.join(names))}"
        )
    return lines


def _column_lines(columns: tuple[ColumnSummary, ...]) -> list[str]:
    """Return one line per column, at most so many."""
    shown = columns[:_SHOWN]
    names = [c.name if len(c.name) <= _WIDE else f"{c.name[: _WIDE - 3]}..." for c in shown]
    width = max(len("column"), *map(len, names), 0)
    rows = [f"  {'column':<{width}}  {'holds':<13}  missing  different  range"]
    for name, c in zip(names, shown, strict=True):
        span = f"{c.low:.6g} to {c.high:.6g}" if c.low is not None else ""
        span = f"for example {c.example[:_WIDE]!r}" if c.example else span
        line = f"  {name:<{width}}  {c.kind:<13}  {c.n_missing:>7,}  {c.n_distinct:>9,}  {span}"
        rows.append(line.rstrip())
    if len(columns) > _SHOWN:
        rows.append(f"  and {len(columns) - _SHOWN:,} more columns (--json describes all).")
    return rows


def _of_labels(file: str, labels: Ensemble) -> Description:
    from clusterscape.cli import output as out

    sizes = [int(s) for s in labels.cluster_sizes()]
    facts = {"kind": "labels", "file": file, "cluster_sizes": sizes, **out.ensemble_facts(labels)}
    shown = f"{sizes[:12]}".strip("[]") + (", ..." if len(sizes) > 12 else "")
    lines = [f"{file} holds labels: {labels.describe()}; cluster sizes {shown}."]
    if labels.n_partitions > 1:
        lines.append(f"To compare them: clusterscape compare {shlex.quote(file)}")
    return facts, lines


def _is_labels(file: str) -> bool:
    """Say whether a CSV file is what ``run``, ``combine``, ``forest`` or ``predict`` writes."""
    if not file.lower().endswith(".csv") or not Path(file).is_file():
        return False
    with open(file, "rb") as handle:
        head = handle.readline(200).decode("utf8", "replace").strip()
    return head.split(",")[:3] in (["id", "label"], ["id", "label", "confidence"])


def _run(path: Path) -> Description:
    """Describe the folder of a run, and say whether its files are still those that were written."""
    from clusterscape.io.results import read_run

    folder = path if path.is_dir() else path.parent
    file = folder / "run.json"
    if not file.is_file():
        what = f"{path} holds no run.json" if path.is_dir() else f"there is no file {path}"
        raise ValueError(f"{what}; name a folder that 'clusterscape run' wrote, or a file.")
    report = read_run(folder)
    if report is None:
        raise ValueError(
            f"{file} is damaged, or was not written by clusterscape; name a folder that "
            "'clusterscape run' wrote, or another file."
        )
    try:
        return _of_run(folder, report)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{file} is damaged: not everything that 'clusterscape run' writes is there; run the "
            "command again that made it."
        ) from error


def _of_run(folder: Path, report: dict[str, Any]) -> Description:
    from clusterscape.io.results import file_digest
    from clusterscape.report.findings import sentences

    changed = [
        name
        for name, digest in report["outputs"].items()
        if not (folder / name).is_file() or file_digest(folder / name) != digest
    ]
    if "input" not in report:  # saved from Python
        saved = report["versions"]["clusterscape"]
        lines = [f"{folder} holds results of clusterscape {saved}: {', '.join(report['outputs'])}."]
        return _of_folder(folder, report, lines, changed)
    made = report["input"]
    lines = [
        f"{folder} holds a run of clusterscape {report['versions']['clusterscape']} on "
        f"{made['file']} ({made['n_points']:,} points, {made['n_features']:,} features), seed "
        f"{report['parameters']['seed']}.",
        *sentences(report["result"], made["n_points"]),
    ]
    return _of_folder(folder, report, lines, changed)


def _of_folder(
    folder: Path, report: dict[str, Any], lines: list[str], changed: list[str]
) -> Description:
    if changed:
        lines.append(f"Changed or missing since the run: {', '.join(changed)}.")
    return {"kind": "run", "folder": str(folder), "changed": changed, **report}, lines


def _of_model(file: str) -> Description:
    """Describe a saved model, and suggest the command that uses it."""
    from clusterscape.io import load_model
    from clusterscape.io.models import last_step

    whole = load_model(file)
    model = last_step(whole)
    names = getattr(whole, "feature_names_in_", None)
    facts = {
        "kind": "model",
        "file": file,
        "class": type(model).__name__,
        "n_points": len(model.labels_),
        "n_clusters": model.n_clusters_,
        "feature_names": None if names is None else list(names),
    }
    lines = [
        f"{file} is a model: {type(model).__name__} with {model.n_clusters_} clusters of "
        f"{len(model.labels_):,} points."
    ]
    if hasattr(model, "predict"):
        lines.append(f"To label other points: clusterscape predict {shlex.quote(file)} TABLE")
    return facts, lines
