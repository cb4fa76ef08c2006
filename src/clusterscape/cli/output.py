"""What a command writes: checked before the work, and written whole or not at all."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clusterscape._core.atomic import why_not_writable
from clusterscape.cli.console import say

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.model import ConsensusClustering

STORE = "store"

# Files in the folder of a run.
FILES = {
    "report.html": "all of it on one page: open it in a browser",
    "labels.csv": "the cluster of every point, its confidence (0 to 1) and the next best cluster",
    "consensus.png": "how often the clusterings put each two points together, sorted by cluster",
    "k_selection.png": "what decided on the number of clusters, for every candidate",
    "k_selection.csv": "the same as a table",
    "ensemble.npz": "all the clusterings, for 'clusterscape combine' and 'clusterscape compare'",
    "model.npz": "the fitted model, for 'clusterscape predict'; it holds points of the data",
    "run.json": "every parameter, seed, version and finding",
}

DEMO_FILES = {
    "classes.png": "the known classes against k-means alone and against the consensus",
}

# Endings of files of labels, and of ensembles with the method that writes them.
LABELS = (".csv", ".parquet", ".pq")
PICTURES = (".png", ".pdf", ".svg")
ENSEMBLES = {".npz": "to_npz", ".parquet": "to_parquet", ".pq": "to_parquet", ".csv": "to_csv"}


# ---- checks before the work -------------------------------------------------------------------


def check_file(
    path: Path,
    inputs: Sequence[str],
    endings: Iterable[str],
    *,
    force: bool,
    option: str = "--output",
) -> None:
    """Refuse a file that cannot be written, or whose present content would be lost.

    An input and a file of a run's results are never replaced, another file with ``force``.
    """
    known = list(endings)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file with {option}.")
    if path.suffix.lower() not in known:
        which = "" if len(known) == 1 else "one of "
        raise typer.BadParameter(
            f"{path} must end in {which}{', '.join(known)}.", param_hint=option
        )
    if path.suffix.lower() in (".parquet", ".pq") and importlib.util.find_spec("pyarrow") is None:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'clusterscape[parquet]', or name a file that "
            f"ends otherwise with {option}."
        )
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {path.parent}; make it, or name another file.")
    why = why_not_writable(folder)
    if why:
        raise ValueError(
            f"{path} cannot be written, because nothing can be made in {folder} ({why}); name "
            f"another place with {option}."
        )
    keep_inputs([path], inputs, option=option)
    _keep_results(path, option)
    if path.exists() and not force:
        raise ValueError(
            f"{path} exists already; name another place with {option}, or replace it with --force."
        )


def _keep_results(path: Path, option: str) -> None:
    """Refuse a file that belongs to a run: without it the run could not be read any more."""
    from clusterscape.io.results import RUN, read_run

    place = Path(os.path.realpath(path))
    outputs = (read_run(place.parent) or {}).get("outputs")
    if isinstance(outputs, dict) and place.name in (*outputs, RUN):
        raise ValueError(
            f"{path} belongs to the results of a run in {path.parent}, which could not be read "
            f"without it; name another place with {option}."
        )


def keep_inputs(
    outputs: Iterable[Path], inputs: Sequence[str], *, option: str = "--output"
) -> None:
    """Refuse to write over a file that is read, by whatever name or link it is given."""
    present = [path for path in outputs if path.exists()]
    for name in inputs:
        for path in present:
            if name != "-" and os.path.exists(name) and os.path.samefile(path, name):
                raise ValueError(
                    f"{path} is the input itself and would be lost; name another place with "
                    f"{option}."
                )


def keep_apart(files: Mapping[str, Path | None]) -> None:
    """Refuse one file for two things; the keys are the options that name the files."""
    taken: dict[str, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise typer.BadParameter(
                f"{path} is what {taken[place]} writes already; name another file.",
                param_hint=option,
            )
        taken[place] = option


def check_h5ad(path: Path | None, data: Sequence[str], *, force: bool) -> None:
    """Refuse an h5ad file to write where none is read, or where it cannot be written."""
    if path is None:
        return
    if not any(name.lower().endswith(".h5ad") for name in data):
        raise typer.BadParameter(
            "no h5ad file is read, so there is none to add the clusters to.",
            param_hint="--write-h5ad",
        )
    check_file(path, data, [".h5ad"], force=force, option="--write-h5ad")


def write_h5ad(
    path: Path, data: str, model: Any, *, params: Mapping[str, Any], quiet: bool
) -> None:
    """Write a copy of an h5ad file with the result of a model in it."""
    import anndata

    from clusterscape._core.atomic import atomic_path
    from clusterscape.anndata import write_result

    cells = anndata.read_h5ad(data)
    names = [str(name) for name in cells.obs_names]
    index = model.ensemble_.index
    if index is not None and [str(i) for i in index] != names:
        cells = cells[[str(i) for i in index]].copy()
    write_result(cells, model, params=dict(params))
    with atomic_path(path) as part:
        part.unlink()  # the HDF5 library makes the file itself: it takes a lock of its own
        cells.write_h5ad(part)
    say(f"{path}: the clusters beside the cells.", quiet=quiet)


# ---- single files -----------------------------------------------------------------------------


def write_ensemble(ensemble: Ensemble, path: Path) -> None:
    """Write an ensemble in the format that the ending of the name says."""
    getattr(ensemble, ENSEMBLES[path.suffix.lower()])(path)


def write_points(
    path: Path | None,
    model: Any,
    *,
    json: dict[str, Any] | None,
    beside: Mapping[Path, bytes] | None = None,
) -> None:
    """Write what is known of every point (``to_frame``) to a file, or print it.

    ``json`` is what else was found, when the result is printed as JSON; ``beside`` are more files,
    which are written with it, all or none.
    """
    from clusterscape.io.results import frame_bytes, json_text, labels_csv, with_ids

    frame = model.to_frame()
    contents = dict(beside or {})
    if path is not None:
        contents[path] = frame_bytes(with_ids(frame), path.suffix.lower())
    write_all(contents)
    if json is not None:
        points = {
            "ids": None if model.ensemble_.index is None else list(frame.index),
            "labels": frame["label"].to_numpy(),
            "point_confidence": frame["confidence"].to_numpy(),
            "runner_up": frame["runner_up"].to_numpy(dtype=object, na_value=None).tolist(),
            "runner_up_share": frame["runner_up_share"].to_numpy(),
        }
        where = points if path is None else {"output": str(path)}
        typer.echo(json_text(json | where))
    elif path is None:
        typer.echo(labels_csv(with_ids(frame)), nl=False)


def picture_bytes(figure: Any, ending: str) -> bytes:
    """Return a matplotlib figure as a file, the same bytes every time."""
    import io

    import matplotlib as mpl

    dated = {".pdf": "CreationDate", ".svg": "Date"}
    metadata = {dated[ending]: None} if ending in dated else None
    content = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "clusterscape"}):
        figure.savefig(content, format=ending[1:], dpi=150, metadata=metadata)
    return content.getvalue()


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write all files or none."""
    from contextlib import ExitStack

    from clusterscape._core.atomic import atomic_path

    with ExitStack() as files:
        for path, content in contents.items():
            files.enter_context(atomic_path(path)).write_bytes(content)


def ensemble_facts(ensemble: Ensemble) -> dict[str, object]:
    """Return what an ensemble holds as plain values."""
    return {
        "n_points": ensemble.n_points,
        "n_partitions": ensemble.n_partitions,
        "n_clusters": ensemble.n_clusters,
        "names": ensemble.names,
        "algorithms": sorted({r.algorithm for r in ensemble.records if r.algorithm}),
        "has_ids": ensemble.index is not None,
        "has_noise": ensemble.has_noise,
        "is_complete": ensemble.is_complete,
        "is_soft": ensemble.is_soft,
        "failures": [{"partition": i, "reason": why} for i, why in ensemble.failures],
    }


# ---- the folder of a run ----------------------------------------------------------------------


def run_report(
    model: ConsensusClustering,
    *,
    command: str,
    origin: dict[str, Any],
    parameters: dict[str, Any],
    result: dict[str, Any],
    sparse: bool = False,
) -> dict[str, Any]:
    """Return what ``run.json`` holds: enough to repeat the run and to check its files."""
    shape = origin["n_points"], origin["n_features"]
    generator = model.make_generator(*shape, sparse=sparse)
    return {
        "command": command,
        "input": origin,
        "parameters": parameters,
        "model": _settings(model),
        "generator": _settings(generator),
        "consensus": _settings(model.consensus_),
        "result": result,
    }


def _settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters that shape a result: not the seed, which stands apart, nor workers."""
    aside = ("random_state", "n_jobs", "progress", "store", "generator", "consensus")
    found = {} if estimator is None else estimator.get_params(deep=False)
    return {name: value for name, value in found.items() if name not in aside}


def show_run(report: dict[str, Any], folder: Path, *, json: bool, quiet: bool) -> None:
    """Print what a run found and where its files are: as words, or as JSON."""
    from clusterscape.io.results import json_text
    from clusterscape.report.findings import sentences

    if json:
        typer.echo(json_text(report | {"output": str(folder)}))
        return
    if quiet:
        return
    for line in sentences(report["result"], report["input"]["n_points"]):
        typer.echo(line)
    typer.echo("")
    files = DEMO_FILES | FILES
    made = report["parameters"]
    if made.get("missing") == "members" and made.get("categories") != "gower":
        files |= {"model.npz": "the consensus, for Python; it places no other points"}
    for name, what in files.items():
        if name == "run.json" or name in report["outputs"]:
            typer.echo(f"{folder / name}: {what}")


def page(
    whole: Any, X: Any, *, run: Mapping[str, Any], reference: Any
) -> dict[str, Callable[[Path], object]]:
    """Return a function that writes the report of a run."""
    from clusterscape.report import write

    def report(path: Path) -> None:
        write(whole, path, X=X, run=run, reference=reference)

    return {"report.html": report}


def pictures(model: ConsensusClustering) -> dict[str, Callable[[Path], object]]:
    """Return functions that draw the consensus matrix, and draw and write what chose k."""
    from matplotlib.figure import Figure

    from clusterscape import plot
    from clusterscape.combine import METHODS

    # Figures of our own: pyplot would look for a screen.
    def consensus(path: Path) -> None:
        figure = Figure(figsize=(7.5, 6), layout="constrained")
        plot.ConsensusMatrixDisplay.from_estimator(model, ax=figure.subplots())
        figure.savefig(path, dpi=150)

    def k_selection(path: Path) -> None:
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        plot.KSelectionDisplay.from_estimator(model, ax=figure.subplots())
        figure.savefig(path, dpi=150)

    def k_table(path: Path) -> None:
        assert model.k_selection_ is not None
        model.k_selection_.table.to_csv(path, index=False, lineterminator="\n")

    tested = model.structure_ is not None and not model.structure_.found
    named = METHODS.get(str(model.consensus))  # none for "auto"
    drawn: dict[str, Callable[[Path], object]] = {"consensus.png": consensus}
    if model.k_selection_ is not None and (named is None or not named.k_rule):
        drawn["k_selection.csv"] = k_table
        if not tested:
            drawn["k_selection.png"] = k_selection
    return drawn
