"""What ``run`` and ``demo`` do: read, scale, fit, and write all results or none."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clusterscape.cli._console import choose, say
from clusterscape.cli._words import FILES

if TYPE_CHECKING:
    from clusterscape.cli._options import Reading
    from clusterscape.io import Table
    from clusterscape.model import ConsensusClustering

PROGRAM = "clusterscape"
STORE = "store"


def read(
    data: str, options: Reading, *, reference: str | None = None, quiet: bool = False
) -> tuple[Table, dict[str, Any]]:
    """Return the table, and what ``run.json`` says of its origin."""
    from clusterscape.io import read_table

    if data == "-":
        content = sys.stdin.buffer.read()
        digest = hashlib.sha256(content).hexdigest()
        table = read_table(io.BytesIO(content), label_column=reference, **options)
    else:
        table = read_table(data, label_column=reference, **options)
        digest = file_digest(data)
    for note in table.notes:
        say(f"{table.source}: {note}", quiet=quiet)
    origin = {
        "file": os.path.basename(table.source),
        "sha256": digest,
        "n_points": table.n_points,
        "n_features": table.n_features,
        "feature_names": _given_names(table.feature_names),
        "notes": list(table.notes),
    }
    return table, origin


def _given_names(names: tuple[str, ...]) -> list[str] | None:
    """Return the columns' names, or None where they only count the columns."""
    return None if all(name.isdigit() for name in names) else list(names)


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def scaled(X: Any, how: str) -> tuple[Any, str]:
    """Return the features as they are clustered, and what was done to them."""
    from scipy import sparse

    choose("--scale", how, ("auto", "standard", "none"))
    if how == "none" or (how == "auto" and sparse.issparse(X)):
        return X, "none"
    if sparse.issparse(X):
        raise ValueError(
            "a sparse table cannot be standardised, it would become dense; use --scale none."
        )
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(X), "standard"


def check_generator(generator: str, algorithm: str | None) -> None:
    """Refuse names of generators and base clusterers that are not known, before any work."""
    from clusterscape.generate import ALGORITHMS, PRESETS

    choose("--generator", generator, PRESETS)
    if algorithm is None:
        return
    choose("--algorithm", algorithm, ALGORITHMS)
    if generator in ("mixed", "random_projection"):
        raise typer.BadParameter(
            f"{generator} chooses its own base clusterers; leave --algorithm out.",
            param_hint="--algorithm",
        )


def check_consensus(consensus: str, clusters: int | None) -> None:
    """Refuse methods that are not known, and clusters for a method that takes none."""
    from clusterscape.combine import METHODS

    choose("--consensus", consensus, ("auto", *METHODS))
    if consensus == "auto":
        return
    takes_k = "n_clusters" in METHODS[consensus].estimator().get_params(deep=False)
    if clusters is not None and not takes_k:
        raise typer.BadParameter(
            f"{consensus} finds the number of clusters itself; leave --clusters out.",
            param_hint="--clusters",
        )


def make_model(
    *,
    clusters: int | None,
    generator: str = "random_k",
    partitions: int = 100,
    consensus: str = "auto",
    references: int = 10,
    seed: int,
    jobs: int,
    quiet: bool,
    store: Path | None = None,
) -> ConsensusClustering:
    """Return the model that a command asks for."""
    from clusterscape.model import ConsensusClustering

    return ConsensusClustering(
        clusters,
        generator=generator,
        n_partitions=partitions,
        consensus=consensus,
        n_references=references,
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
        store=None if store is None else str(store),
    )


def choose_algorithm(
    model: ConsensusClustering, algorithm: str | None, table: Table
) -> ConsensusClustering:
    """Give the model the generator that it would make, with another base clusterer."""
    if algorithm is None:
        return model
    return model.set_params(
        generator=model.make_generator(table.n_points, table.n_features).set_params(
            algorithm=algorithm
        )
    )


def fit(model: ConsensusClustering, X: Any, ids: Any) -> ConsensusClustering:
    """Fit, and give the ensemble the points' ids."""
    model.fit(X)
    if ids is not None:
        model.ensemble_ = model.ensemble_.with_index(ids)
    return model


def settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters that shape a result: not the seed, which stands apart, nor workers."""
    aside = ("random_state", "n_jobs", "progress", "store", "generator", "consensus")
    found = {} if estimator is None else estimator.get_params(deep=False)
    return {name: value for name, value in found.items() if name not in aside}


def report_on(
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
        "versions": versions(),
        "input": origin,
        "parameters": parameters,
        "model": settings(model),
        "generator": settings(model.make_generator(origin["n_points"], origin["n_features"])),
        "consensus": settings(model.consensus_),
        "result": result,
    }


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    names = ("clusterscape", "numpy", "scipy", "scikit-learn", "numba", "pandas", "joblib")
    found = {name: importlib.metadata.version(name) for name in names}
    return found | {"python": platform.python_version()}


def is_ours(folder: Path) -> bool:
    """Say whether a folder holds the results of an earlier run."""
    try:
        with open(folder / "run.json", encoding="utf8") as handle:
            return bool(json.load(handle).get("program") == PROGRAM)
    except (OSError, ValueError, AttributeError):
        return False


def check_folder(folder: Path, force: bool) -> None:
    """Refuse, before the work, to replace files that clusterscape did not write."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the results with --output.")
    foreign = [name for name in FILES if (folder / name).exists()]
    if foreign and not force and not is_ours(folder):
        raise ValueError(
            f"{folder} holds a file {foreign[0]} that no run of clusterscape wrote; name another "
            "folder with --output, or replace it with --force."
        )
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.is_dir())
    if not os.access(nearest, os.W_OK):
        raise ValueError(f"{nearest} cannot be written to; name another folder with --output.")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
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


def save(
    folder: Path, model: ConsensusClustering, *, ids: Any, report: dict[str, Any]
) -> dict[str, Any]:
    """Write labels, ensemble, pictures and ``run.json``, all or none; return the last."""
    from clusterscape.io import write_json, write_labels

    made = [p for p in (folder, *folder.absolute().parents) if not p.exists()]
    try:
        with staged(folder) as stage:
            write_labels(stage / "labels.csv", ids, model.labels_, confidence=model.confidence_)
            model.ensemble_.to_npz(stage / "ensemble.npz")
            draw(model, stage)
            outputs = {name: file_digest(stage / name) for name in sorted(os.listdir(stage))}
            report = report | {"outputs": outputs}
            write_json(stage / "run.json", report)
    except BaseException:
        for path in made:  # folders made on the way, innermost first
            with contextlib.suppress(OSError):
                path.rmdir()
        raise
    return report


def draw(model: ConsensusClustering, stage: Path) -> None:
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
