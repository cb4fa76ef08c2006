"""Files of every format, cut short and with changed bytes: a sentence or a sound answer."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calls import Finding, judged
from clusterscape import Ensemble, combine, io
from clusterscape.generate import EnsembleGenerator
from clusterscape.report import Choices
from clusterscape.semisupervised import Constraints

_FOLDER = tempfile.TemporaryDirectory(prefix="clusterscape-fuzz-")
_N = 40


@functools.cache
def _data() -> tuple[pd.DataFrame, np.ndarray, Ensemble]:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(_N, 3)), columns=["x", "y", "z"])
    X = frame.to_numpy(copy=True)
    frame.insert(0, "id", [f"r{i}" for i in range(_N)])
    soft = draw.dirichlet([1, 1, 1], size=_N)
    parts = {"a": draw.integers(0, 3, _N), "b": ["u", "v"] * (_N // 2), "s": soft}
    return frame, X, Ensemble.from_labels(parts)


def _generated(store: Path) -> Ensemble:
    return EnsembleGenerator(3, n_clusters=2, random_state=4, store=store).generate(_data()[1])


@functools.cache
def whole() -> dict[str, dict[str, bytes]]:
    """Return one sound file, or folder of files, of each kind: its parts by their names."""
    home = Path(_FOLDER.name) / "whole"
    home.mkdir()
    frame, X, ensemble = _data()
    plain = ensemble.select([0, 1])
    writers: dict[str, Callable[[Path], Any]] = {
        "t.csv": lambda p: frame.to_csv(p, index=False),
        "t.csv.gz": lambda p: frame.to_csv(p, index=False),
        "t.tsv": lambda p: frame.to_csv(p, index=False, sep="\t"),
        "t.txt": lambda p: np.savetxt(p, X),
        "t.xlsx": lambda p: frame.to_excel(p, index=False),
        "t.parquet": lambda p: frame.to_parquet(p),
        "t.feather": lambda p: frame.to_feather(p),
        "t.npy": lambda p: np.save(p, X),
        "t.npz": lambda p: np.savez_compressed(p, X=X, ids=frame["id"].to_numpy("U")),
        "t.libsvm": lambda p: p.write_text(
            "\n".join(f"{i % 2} 1:{i} 3:{i / 7}" for i in range(_N))
        ),
        "t.h5ad": lambda p: _write_h5ad(p, frame),
        "e.npz": ensemble.to_npz,
        "e.parquet": ensemble.to_parquet,
        "e.csv": ensemble.to_csv,
        "model.npz": lambda p: io.save_model(combine.EAC(2).fit(plain), p),
        "choices.json": lambda p: Choices(
            names={"0": "red"}, merged=[[0, 2]], marked=["r1"], must_link=[["r1", "r2"]]
        ).save(p),
        "links.csv": lambda p: p.write_text("a,b,link,weight\n0,1,must,1\n2,3,cannot,0.5\n"),
        "store": _generated,
        "results": lambda p: io.save_results(p, combine.EAC(2).fit(plain)),
        "blocks": lambda p: _write_blocks(p, frame),
    }
    for name, write in writers.items():
        write(home / name)
    return {name: _parts(home / name) for name in writers}


def _parts(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    files = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name != ".lock"]
    return {str(p.relative_to(path)): p.read_bytes() for p in files}


def _write_h5ad(path: Path, frame: pd.DataFrame) -> None:
    import anndata

    obs = pd.DataFrame({"group": ["u", "v"] * (_N // 2)}, index=frame["id"].tolist())
    anndata.AnnData(frame[["x", "y", "z"]].to_numpy(), obs=obs).write_h5ad(path)


def _write_blocks(path: Path, frame: pd.DataFrame) -> None:
    path.mkdir()
    for i in range(2):
        frame[["x", "y", "z"]].iloc[20 * i : 20 * i + 20].to_parquet(path / f"part-{i}.parquet")


def check(draw: np.random.Generator, only: str = "") -> str:
    """Damage one file and read it by everything that reads its kind."""
    files = whole()
    names = [name for name in files if only in name] or list(files)
    # A process of its own reads h5ad files, which takes as long as fifty others.
    odds = np.array([0.2 if name.endswith(".h5ad") else 1.0 for name in names])
    name = names[int(draw.choice(len(names), p=odds / odds.sum()))]
    parts = dict(files[name])
    part = list(parts)[int(draw.integers(len(parts)))]
    parts[part] = damaged(parts[part], draw)
    path = Path(_FOLDER.name) / f"damaged-{name}"
    for read in READERS.get(name, [io.read_table, io.read_labels]):
        _write(path, parts)
        with judged(f"{getattr(read, '__name__', read)} of a damaged {name}"):
            found = read(path)
            if isinstance(found, Ensemble):
                sound(found)
            if name in CHECKED and not _alike(found, _known(read, name)):
                raise Finding(f"something else came out of a damaged {name}")
    return f"damaged {name}"


def _write(path: Path, parts: dict[str, bytes]) -> None:
    if "" in parts:
        path.write_bytes(parts[""])
        return
    shutil.rmtree(path, ignore_errors=True)
    for part, content in parts.items():
        (path / part).parent.mkdir(parents=True, exist_ok=True)
        (path / part).write_bytes(content)


# ---- readers ------------------------------------------------------------------------------------


def in_blocks(path: Path) -> None:
    """Read a table block by block."""
    rows = io.open_rows(path)
    for i in range(len(rows.bounds) - 1):
        rows.block(i)


def _links(path: Path) -> Any:
    return Constraints.from_csv(path, n_points=_N)


READERS: dict[str, list[Any]] = {
    "t.csv": [io.read_table, io.read_labels, io.describe_table],
    "t.npy": [io.read_table, io.read_labels, in_blocks],
    "t.parquet": [io.read_table, io.read_labels, in_blocks],
    "t.h5ad": [io.read_table],
    "e.npz": [Ensemble.from_npz, io.read_labels],
    "e.parquet": [Ensemble.from_parquet, io.read_labels],
    "e.csv": [Ensemble.from_csv, io.read_labels, io.read_table],
    "model.npz": [io.load_model, io.is_model_file],
    "choices.json": [Choices.read],
    "links.csv": [_links],
    "store": [_generated],
    "results": [io.load_results],
    "blocks": [in_blocks],
}

# What has checksums comes back as it was, or not at all.
CHECKED = {"t.xlsx", "t.npz", "t.csv.gz", "e.npz", "e.parquet", "model.npz", "store", "results"}


@functools.cache
def _known(read: Any, name: str) -> Any:
    """Return what comes out of the whole file, or the error."""
    try:
        return read(Path(_FOLDER.name) / "whole" / name)
    except ValueError as error:
        return error


def _alike(found: Any, known: Any) -> bool:
    """Say whether two things that were read are the same."""
    if isinstance(found, io.Results):
        return _alike(found.model, known.model) and _alike(found.ensemble, known.ensemble)
    if isinstance(found, io.Table):
        same = all(np.array_equal(getattr(found, f), getattr(known, f)) for f in ("X", "ids"))
        return same and found.feature_names == known.feature_names
    if hasattr(found, "labels_"):
        return np.array_equal(found.labels_, known.labels_)
    return not isinstance(found, Ensemble) or found == known


def damaged(content: bytes, draw: np.random.Generator) -> bytes:
    """Change some bytes, drop or repeat a piece, or cut the end off."""
    found = bytearray(content)
    for place in draw.integers(0, len(content), draw.integers(1, 8)):
        found[place] = int(draw.integers(256))
    start, size = int(draw.integers(len(found))), int(draw.integers(1, 40))
    match int(draw.integers(5)):
        case 0:
            del found[start:]
        case 1:
            del found[start : start + size]
        case 2:
            found[start:start] = found[start : start + size]
    return bytes(found)


def sound(found: Ensemble) -> None:
    """Raise where the labels of an ensemble do not fit its counts."""
    if (
        found.labels.max(axis=0) >= np.maximum(found.n_clusters, 1)
    ).any() or found.labels.min() < -2:
        raise Finding("an ensemble whose labels do not fit its counts")
    for i, matrix in found.soft.items():
        matrix.check_format(full_check=True)
        if matrix.shape != (found.n_points, found.n_clusters[i]):
            raise Finding("a membership of another shape than its partition")
    found.cluster_sizes()
