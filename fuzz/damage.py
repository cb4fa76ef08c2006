"""Files of every format, cut short and with changed bytes: a sentence or a sound answer."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calls import Finding, judged
from clusterscape import Ensemble, combine, io

_FOLDER = tempfile.TemporaryDirectory(prefix="clusterscape-fuzz-")


@functools.cache
def whole() -> dict[str, bytes]:
    """Return one sound file of each kind, by the ending of its name."""
    draw = np.random.default_rng(0)
    home = Path(_FOLDER.name)
    frame = pd.DataFrame(draw.normal(size=(40, 3)), columns=["x", "y", "z"])
    frame.insert(0, "id", [f"r{i}" for i in range(40)])
    X = frame[["x", "y", "z"]].to_numpy()
    found: dict[str, bytes] = {}

    def keep(name: str, write: Any) -> None:
        write(home / name)
        found[name] = (home / name).read_bytes()

    soft = draw.dirichlet([1, 1, 1], size=40)
    ensemble = Ensemble.from_labels({"a": draw.integers(0, 3, 40), "b": ["u", "v"] * 20, "s": soft})
    keep("t.csv", lambda p: frame.to_csv(p, index=False))
    keep("t.csv.gz", lambda p: frame.to_csv(p, index=False))
    keep("t.parquet", lambda p: frame.to_parquet(p))
    keep("t.npy", lambda p: np.save(p, X))
    keep("t.npz", lambda p: np.savez_compressed(p, X=X, ids=frame["id"].to_numpy("U")))
    text = "\n".join(f"{i % 2} 1:{i} 3:{i / 7}" for i in range(40))
    keep("t.libsvm", lambda p: p.write_text(text))
    keep("e.npz", ensemble.to_npz)
    keep("e.parquet", ensemble.to_parquet)
    keep("e.csv", ensemble.to_csv)
    keep("model.npz", lambda p: io.save_model(combine.EAC(2).fit(ensemble.select([0, 1])), p))
    return found


def check(draw: np.random.Generator, only: str = "") -> str:
    """Damage one file and read it by everything that reads its kind."""
    files = whole()
    names = [name for name in files if only in name] or list(files)
    name = names[int(draw.integers(len(names)))]
    content = damaged(files[name], draw)
    path = Path(_FOLDER.name) / f"damaged-{name}"
    path.write_bytes(content)
    for read in READERS.get(name, [io.read_table, io.read_labels]):
        with judged(f"{getattr(read, '__name__', read)} of a damaged {name}"):
            found = read(path)
            if isinstance(found, Ensemble):
                sound(found)
    return f"damaged {name}"


READERS: dict[str, list[Any]] = {
    "e.npz": [Ensemble.from_npz, io.read_labels],
    "e.parquet": [Ensemble.from_parquet, io.read_labels],
    "e.csv": [Ensemble.from_csv, io.read_labels, io.read_table],
    "model.npz": [io.load_model, io.is_model_file],
}


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
