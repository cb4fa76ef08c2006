"""What a command writes: checked before the work, and written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from clusterscape.ensemble import Ensemble
    from clusterscape.model import ConsensusClustering

PROGRAM = "clusterscape"
STORE = "store"

# Files in the folder of a run.
FILES = {
    "labels.csv": "the cluster and the confidence (0 to 1) of every point",
    "consensus.png": "how often the clusterings put each two points together, sorted by cluster",
    "k_selection.png": "the eigenvalues by which the number of clusters was chosen",
    "ensemble.npz": "all the clusterings, for 'clusterscape combine' and 'clusterscape compare'",
    "run.json": "every parameter, seed, version and finding",
}

# Endings of files of labels, and of ensembles with the method that writes them.
LABELS = (".csv", ".parquet", ".pq")
ENSEMBLES = {".npz": "to_npz", ".parquet": "to_parquet", ".pq": "to_parquet", ".csv": "to_csv"}


# ---- checks before the work -------------------------------------------------------------------


def check_file(
    path: Path, inputs: Sequence[str], endings: Iterable[str], *, option: str = "--output"
) -> None:
    """Refuse a file that cannot be written, or that is one of the inputs."""
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
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{folder} cannot be written to; name another place with {option}.")
    keep_inputs([path], inputs, option=option)


def check_folder(folder: Path, force: bool) -> None:
    """Refuse a folder that cannot be written, or that holds files of somebody else."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the results with --output.")
    foreign = [name for name in FILES if (folder / name).exists()]
    if foreign and not force and not is_run(folder):
        raise ValueError(
            f"{folder} holds a file {foreign[0]} that no run of clusterscape wrote; name another "
            "folder with --output, or replace it with --force."
        )
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not nearest.is_dir():
        raise ValueError(f"{nearest} is a file, not a folder; name another folder with --output.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"{nearest} cannot be written to; name another folder with --output.")


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


# ---- single files -----------------------------------------------------------------------------


def write_ensemble(ensemble: Ensemble, path: Path) -> None:
    """Write an ensemble in the format that the ending of the name says."""
    getattr(ensemble, ENSEMBLES[path.suffix.lower()])(path)


def write_points(
    path: Path | None, ids: Any, labels: Any, *, confidence: Any, json: dict[str, Any] | None
) -> None:
    """Write id, label and confidence of every point to a file, or print them.

    ``json`` is what else was found, when the result is printed as JSON.
    """
    from clusterscape.io.results import json_text, labels_csv, labels_frame, write_labels

    if path is not None:
        write_labels(path, ids, labels, confidence=confidence)
    if json is not None:
        points = {"ids": None if ids is None else list(ids), "labels": labels}
        points["point_confidence"] = confidence
        where = points if path is None else {"output": str(path)}
        typer.echo(json_text(json | where))
    elif path is None:
        typer.echo(labels_csv(labels_frame(ids, labels, confidence=confidence)), nl=False)


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


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


def is_run(folder: Path) -> bool:
    """Say whether a folder holds the results of an earlier run."""
    try:
        with open(folder / "run.json", encoding="utf8") as handle:
            return bool(json.load(handle).get("program") == PROGRAM)
    except (OSError, ValueError, AttributeError):
        return False


def run_report(
    model: ConsensusClustering,
    *,
    command: str,
    origin: dict[str, Any],
    parameters: dict[str, Any],
    result: dict[str, Any],
) -> dict[str, Any]:
    """Return what ``run.json`` holds: enough to repeat the run and to check its files."""
    return {
        "program": PROGRAM,
        "command": command,
        "versions": _versions(),
        "input": origin,
        "parameters": parameters,
        "model": _settings(model),
        "generator": _settings(model.make_generator(origin["n_points"], origin["n_features"])),
        "consensus": _settings(model.consensus_),
        "result": result,
    }


def _settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters that shape a result: not the seed, which stands apart, nor workers."""
    aside = ("random_state", "n_jobs", "progress", "store", "generator", "consensus")
    found = {} if estimator is None else estimator.get_params(deep=False)
    return {name: value for name, value in found.items() if name not in aside}


def _versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    names = ("clusterscape", "numpy", "scipy", "scikit-learn", "numba", "pandas", "joblib")
    found = {name: importlib.metadata.version(name) for name in names}
    return found | {"python": platform.python_version()}


def save_run(
    folder: Path, model: ConsensusClustering, *, ids: Any, report: dict[str, Any]
) -> dict[str, Any]:
    """Write labels, ensemble, pictures and ``run.json``, all or none; return the last."""
    from clusterscape.io import write_json, write_labels

    made = [p for p in (folder, *folder.absolute().parents) if not p.exists()]
    try:
        with _staged(folder) as stage:
            write_labels(stage / "labels.csv", ids, model.labels_, confidence=model.confidence_)
            model.ensemble_.to_npz(stage / "ensemble.npz")
            _draw(model, stage)
            outputs = {name: file_digest(stage / name) for name in sorted(os.listdir(stage))}
            report = report | {"outputs": outputs}
            write_json(stage / "run.json", report)
    except BaseException:
        for path in made:  # folders made on the way, innermost first
            with contextlib.suppress(OSError):
                path.rmdir()
        raise
    return report


def show_run(report: dict[str, Any], folder: Path, *, json: bool, quiet: bool) -> None:
    """Print what a run found and where its files are: as words, or as JSON."""
    from clusterscape.cli.findings import sentences
    from clusterscape.io.results import json_text

    if json:
        typer.echo(json_text(report | {"output": str(folder)}))
        return
    if quiet:
        return
    for line in sentences(report["result"], report["input"]["n_points"]):
        typer.echo(line)
    typer.echo("")
    for name, what in FILES.items():
        if name == "run.json" or name in report["outputs"]:
            typer.echo(f"{folder / name}: {what}")


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """Give a hidden folder; its files move into ``folder`` when all of them are written.

    A new folder appears at once. In one that exists, ``run.json`` goes first and comes last, so
    that a folder with it is complete.
    """
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    home = folder if folder.is_dir() else folder.absolute().parent
    stage = home / f".{folder.name}.{secrets.token_hex(8)}.tmp"
    stage.mkdir()
    try:
        yield stage
        if not folder.exists():
            os.rename(stage, folder)
            return
        for name in ["run.json", *(n for n in FILES if not (stage / n).exists())]:
            (folder / name).unlink(missing_ok=True)
        for name in sorted(os.listdir(stage), key=lambda n: (n == "run.json", n)):
            os.replace(stage / name, folder / name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _draw(model: ConsensusClustering, stage: Path) -> None:
    """Write the consensus matrix, and the eigenvalues where they chose k, as pictures."""
    from matplotlib.figure import Figure

    from clusterscape import plot
    from clusterscape.combine import METHODS

    # Figures of our own: pyplot would look for a screen.
    figure = Figure(figsize=(7.5, 6), layout="constrained")
    plot.ConsensusMatrixDisplay.from_estimator(model, ax=figure.subplots())
    figure.savefig(stage / "consensus.png", dpi=150)
    tested = model.structure_ is not None and not model.structure_.found
    named = METHODS.get(str(model.consensus))  # none for "auto"
    by_gap = not tested and (named is None or not named.k_rule)
    if model.k_selection_ is not None and by_gap:
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        plot.KSelectionDisplay.from_estimator(model, ax=figure.subplots())
        figure.savefig(stage / "k_selection.png", dpi=150)
