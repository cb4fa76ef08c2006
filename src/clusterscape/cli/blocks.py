"""``clusterscape run --dask``: the main job on a cluster, reading and writing blocks of rows."""

from __future__ import annotations

import dataclasses
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from clusterscape.cli.console import say

if TYPE_CHECKING:
    from clusterscape._core.rows import RowSource
    from clusterscape.model import ConsensusClustering

LABELS = "labels"  # the folder of the answer, one Parquet file for each block


@dataclass(frozen=True)
class How:
    """How a run in blocks is asked for on the command line."""

    address: str
    scale: str
    jobs: int
    force: bool
    printing: Any


def run_in_blocks(data: str, output: Path, model: ConsensusClustering, how: How) -> None:
    """Fit the model to a matrix that is read in blocks, and write labels and ``run.json``."""
    from joblib import parallel_config

    from clusterscape._core.rows import standardised
    from clusterscape._core.workers import find_workers
    from clusterscape.generate.features import rows_of
    from clusterscape.io import open_rows, versions, write_json

    quiet = how.printing.quiet
    _check_output(output, force=how.force)
    if how.scale not in ("auto", "standard", "none"):
        raise typer.BadParameter(
            f"{how.scale!r} needs all rows at once; with --dask it is standard or none.",
            param_hint="--scale",
        )
    with _client(how.address, how.jobs) as client, parallel_config("dask", client=client):
        rows: RowSource = open_rows(data)
        rows.workers = find_workers(is_dask=False)
        done = "none" if how.scale == "none" else "standard"
        if done == "standard":
            rows_of(rows)  # refuses what is not finite by the row and column of the file
            rows = standardised(rows)
        say(
            f"clustering {len(rows):,} points with {rows.shape[1]:,} features in {rows.n_blocks:,} "
            f"blocks {model.n_partitions:,} times on {rows.workers.name} (scaling: {done}).",
            quiet=quiet,
        )
        model.fit(rows)
        labels: Any = model.labels_
        if not hasattr(labels, "tally"):
            raise ValueError(
                f"{data} has only {len(rows):,} rows; leave --dask out, they are read at once."
            )
        _remove_old(output)
        model.write_blocks(output / LABELS)
        report = {
            "command": "run",
            "input": {"path": Path(data).name, "n_points": len(rows), "n_features": rows.shape[1]},
            "blocks": rows.n_blocks,
            "X (sha256)": rows.survey.digest,
            "scaled": done,
            "result": _result(model),
            "versions": versions(),
        }
    write_json(output / "run.json", report)
    _show(report, output, how.printing)


def _show(report: dict[str, Any], output: Path, printing: Any) -> None:
    """Print what was found and where it is: as words, or as JSON."""
    from clusterscape.io.results import json_text

    found = report["result"]
    if printing.json:
        typer.echo(json_text(report | {"output": str(output)}))
    elif not printing.quiet:
        sizes = ", ".join(f"{size:,}" for size in found["cluster_sizes"])
        typer.echo(f"{found['n_clusters']} clusters of {sizes} points.")
        typer.echo(f"{output / LABELS}: label and confidence of every point, a file for each block")
        typer.echo(f"{output / 'run.json'}: sizes, confidences and versions")


def refuse_beside(options: dict[str, Any], *groups: Any) -> None:
    """Refuse options that need all rows at once."""
    given = [name for name, value in options.items() if value is not None]
    for group in groups:
        for field in dataclasses.fields(group):
            if getattr(group, field.name) != field.default:
                given.append(field.name)
    if given:
        raise typer.BadParameter(
            f"--{given[0].replace('_', '-')} is not for rows read in blocks; leave it out.",
            param_hint="--dask",
        )


def _result(model: ConsensusClustering) -> dict[str, Any]:
    labels: Any = model.labels_
    k = model.n_clusters_
    confidence: Any = model.confidence_
    given = confidence.shared
    parts = labels.source.workers.map(_confidences, labels.source, (*given, k))
    sums = np.sum(parts, axis=0)
    sizes = labels.tally.counts
    return {
        "n_clusters": k,
        "cluster_sizes": sizes.tolist(),
        "cluster_consensus": model.cluster_consensus_.tolist(),
        "cluster_confidence": (sums / np.maximum(sizes, 1)).tolist(),
        "n_unclustered": int(len(labels) - sizes.sum()),
        "n_partitions": model.ensemble_.n_partitions,
    }


def _confidences(i: int, rows: np.ndarray, *given: Any) -> np.ndarray:
    """Return the sums of the confidences of a block, by cluster."""
    from clusterscape.combine.blocked import block_scores

    *fixed, k = given
    groups, scores = block_scores(i, rows, *fixed)
    inside = groups >= 0
    return np.bincount(groups[inside], weights=scores.confidence[inside], minlength=k)


def _check_output(output: Path, *, force: bool) -> None:
    """Refuse a folder with results, which are replaced only when others are found."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file; name a folder with --output.")
    if (output / "run.json").exists() and not force:
        raise ValueError(
            f"{output} holds results already; name another folder with --output, or replace them "
            "with --force."
        )
    output.mkdir(parents=True, exist_ok=True)


def _remove_old(output: Path) -> None:
    """Remove the results of an earlier run; what an unfinished one wrote is gone on with."""
    if (output / "run.json").exists():
        (output / "run.json").unlink()
        shutil.rmtree(output / LABELS, ignore_errors=True)


def _quieten() -> None:
    """Keep Dask's own reports off the terminal: what they are about is said in our own words.

    A scheduler that dies has asyncio print a traceback for whatever was waiting for it.
    """
    for name in ("asyncio", "distributed", "tornado", *list(logging.root.manager.loggerDict)):
        if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _client(address: str, jobs: int) -> Iterator[Any]:
    """Yield the client of a scheduler, or of workers that are started here."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise ValueError("--dask needs Dask: pip install 'clusterscape[dask]'") from None
    from clusterscape._core.workers import local_cluster

    _quieten()
    if address == "local":
        from joblib import cpu_count

        with local_cluster(jobs if jobs > 1 else cpu_count()) as client:
            yield client
        return
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--dask {address}: there is no scheduler ({type(error).__name__}); give the address "
            "that 'dask scheduler' prints, such as tcp://host:8786, or 'local'."
        ) from None
    with client:
        yield client
