"""``clusterscape info``: what a file or folder holds, and what can be asked for."""

from __future__ import annotations

import contextlib
import json as js
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import choose, verb

if TYPE_CHECKING:
    from clusterscape.cli._options import Reading
    from clusterscape.ensemble import Ensemble

_LISTS = ("methods", "measures", "generators", "algorithms", "datasets", "formats")


@verb
def info(
    file: Annotated[
        str,
        typer.Argument(
            help="A table, labels, an ensemble, run.json, or the folder of a run.",
            show_default=False,
        ),
    ] = "",
    listed: Annotated[
        str,
        typer.Option(
            "--list",
            metavar="WHAT",
            help=f"List what there is: {', '.join(_LISTS)}.",
            show_default=False,
        ),
    ] = "",
    id_column: opt.IdColumn = None,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Say what a file or folder holds, or list the methods, measures and generators."""
    from clusterscape.io.results import json_text

    if bool(file) == bool(listed):
        raise typer.BadParameter("give a file or --list, one of the two.", param_hint="FILE")
    if listed:
        rows = _rows(choose("--list", listed, _LISTS))
        if json:
            typer.echo(json_text(rows))
        for name, text in {} if json else rows.items():
            typer.echo(f"{name}: {text}")
        return
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    facts, lines = _describe(file, reading)
    typer.echo(json_text(facts) if json else "\n".join(lines))


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
        from clusterscape.generate import ALGORITHMS

        return {name: a.summary for name, a in ALGORITHMS.items()}
    if what == "datasets":
        from clusterscape import datasets

        return {name: f"datasets.load({name!r})" for name in datasets.list_available()}
    from clusterscape.io import FORMATS

    return {name: ", ".join(endings) for name, endings in FORMATS.items()}


def _describe(file: str, reading: Reading) -> tuple[dict[str, Any], list[str]]:
    path = Path(file)
    if path.is_dir() or path.name == "run.json":
        return _run(path)
    from clusterscape.cli import _labels
    from clusterscape.io import TableError, is_ensemble_file, read_labels, read_table

    if is_ensemble_file(file):
        ensemble = read_labels(file, **reading)
        return {"kind": "ensemble", "file": file, **_labels.facts(ensemble)}, [
            f"{file} is an ensemble: {ensemble.describe()}."
        ]
    table = None
    if not _is_labels(file):
        try:
            table = read_table(file, **reading)
        except TableError:
            # Text that repeats itself may be labels; if not, the table's trouble is the news.
            with contextlib.suppress(TableError):
                labels = read_labels(file, **reading)
                if 2 * labels.n_clusters.max() <= labels.n_points:
                    return _of_labels(file, labels)
            raise
    if table is None:
        return _of_labels(file, read_labels(file, **reading))
    facts = {
        "kind": "table",
        "file": file,
        "n_points": table.n_points,
        "n_features": table.n_features,
        "feature_names": table.feature_names,
        "has_ids": table.ids is not None,
        "notes": table.notes,
    }
    named = ", ".join(table.feature_names[:8]) + (", ..." if table.n_features > 8 else "")
    line = f"{file} is a table: {table.n_points:,} points, {table.n_features:,} features ({named})."
    return facts, [line, *table.notes]


def _of_labels(file: str, labels: Ensemble) -> tuple[dict[str, Any], list[str]]:
    from clusterscape.cli import _labels

    sizes = [int(s) for s in labels.cluster_sizes()]
    facts = {"kind": "labels", "file": file, "cluster_sizes": sizes, **_labels.facts(labels)}
    shown = f"{sizes[:12]}".strip("[]") + (", ..." if len(sizes) > 12 else "")
    return facts, [f"{file} holds labels: {labels.describe()}; cluster sizes {shown}."]


def _is_labels(file: str) -> bool:
    """Say whether a CSV file is what ``write_labels`` writes."""
    if not file.lower().endswith(".csv") or not Path(file).is_file():
        return False
    with open(file, "rb") as handle:
        head = handle.readline(200).decode("utf8", "replace").strip()
    return head in ("id,label", "id,label,confidence")


def _run(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Describe the folder of a run, and say whether its files are still those that were written."""
    from clusterscape.cli import _work

    folder = path if path.is_dir() else path.parent
    file = folder / "run.json"
    if not file.is_file():
        what = f"{path} holds no run.json" if path.is_dir() else f"there is no file {path}"
        raise ValueError(f"{what}; name a folder that 'clusterscape run' wrote, or a file.")
    if not _work.is_ours(folder):
        raise ValueError(
            f"{file} is damaged, or was not written by clusterscape; name a folder that "
            "'clusterscape run' wrote, or another file."
        )
    try:
        return _of_run(folder, js.loads(file.read_text(encoding="utf8")))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{file} is damaged: not everything that 'clusterscape run' writes is there; run the "
            "command again that made it."
        ) from error


def _of_run(folder: Path, report: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    from clusterscape.cli import _words, _work

    changed = [
        name
        for name, digest in report["outputs"].items()
        if not (folder / name).is_file() or _work.file_digest(folder / name) != digest
    ]
    made = report["input"]
    lines = [
        f"{folder} holds a run of clusterscape {report['versions']['clusterscape']} on "
        f"{made['file']} ({made['n_points']:,} points, {made['n_features']:,} features), seed "
        f"{report['parameters']['seed']}.",
        *_words.sentences(report["result"], made["n_points"]),
    ]
    if changed:
        lines.append(f"Changed or missing since the run: {', '.join(changed)}.")
    return {"kind": "run", "folder": str(folder), "changed": changed, **report}, lines
