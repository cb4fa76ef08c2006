"""Results as files: labels, JSON, and folders of them, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.atomic import atomic_folder, atomic_path, why_not_writable, write_bytes
from clusterscape._core.errors import ParameterError
from clusterscape._core.plain import plain
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.files import inert
from clusterscape.io._archive import ModelFileError
from clusterscape.io.models import last_step, load_model, save_model, versions

PROGRAM = "clusterscape"
RUN = "run.json"
LABELS = "labels.csv"
ENSEMBLE = "ensemble.npz"
MODEL = "model.npz"


def labels_frame(ids: Any, labels: Any, *, confidence: Any = None) -> pd.DataFrame:
    """Return the table ``id, label`` (and ``confidence``) that :func:`write_labels` writes.

    Parameters
    ----------
    ids : array or None
        The name of each point; None numbers them from 0.
    labels : array of shape (n,)
        The cluster of each point.
    confidence : array of shape (n,), optional
        A figure for each point.

    Returns
    -------
    pandas.DataFrame

    See Also
    --------
    write_labels : Writes such a table.

    Examples
    --------
    >>> from clusterscape.io import labels_frame
    >>> labels_frame(["ann", "bob"], [0, 1])
        id  label
    0  ann      0
    1  bob      1
    """
    labels = np.asarray(labels)
    columns = {"id": np.arange(labels.size) if ids is None else np.asarray(ids), "label": labels}
    if confidence is not None:
        columns["confidence"] = np.asarray(confidence)
    for name, values in columns.items():
        if values.shape != labels.shape or labels.ndim != 1:
            raise ValueError(
                f"{name} must have one entry per point; got shape {values.shape} beside labels of "
                f"shape {labels.shape}."
            )
    return pd.DataFrame(columns)


def write_labels(
    path: str | os.PathLike[str],
    ids: Any,
    labels: Any,
    *,
    confidence: Any = None,
    for_spreadsheet: bool = False,
) -> None:
    """Write ``id,label,confidence`` as CSV, or as Parquet when ``path`` ends in ``.parquet``.

    The file is replaced whole: when anything fails, an old file stays as it was. CSV keeps six
    significant digits of the confidence; Parquet keeps all.

    Parameters
    ----------
    path : str or path
        The file to write; its folder must exist.
    ids : array or None
        The name of each point; None numbers them from 0.
    labels : array of shape (n,)
        The cluster of each point.
    confidence : array of shape (n,), optional
        A figure for each point.
    for_spreadsheet : bool
        Put an apostrophe before text that a spreadsheet would run as a formula: ids or labels that
        begin with =, +, -, @, a tab or a line end. Such text is then no longer the same.

    See Also
    --------
    labels_frame : The table that is written.
    save_results : All that a model found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape.io import write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "labels.csv"
    ...     write_labels(file, ["ann", "bob"], [0, 1], confidence=[1.0, 0.75])
    ...     print(file.read_text())
    id,label,confidence
    ann,0,1
    bob,1,0.75
    <BLANKLINE>
    """
    frame = labels_frame(ids, labels, confidence=confidence)
    write_frame(path, inert(frame) if for_spreadsheet else frame)


def write_frame(path: str | os.PathLike[str], frame: pd.DataFrame) -> None:
    """Write the columns of a table as CSV, or as Parquet when ``path`` ends in ``.parquet``."""
    with atomic_path(path) as part:  # made first: a place that cannot be written is said at once
        part.write_bytes(frame_bytes(frame, os.path.splitext(path)[1].lower()))


def frame_bytes(frame: pd.DataFrame, ending: str) -> bytes:
    """Return the columns of a table as a file: Parquet for ``.parquet`` and ``.pq``, else CSV."""
    if ending not in (".parquet", ".pq"):
        return labels_csv(frame).encode()
    made = io.BytesIO()
    try:
        frame.to_parquet(made, index=False)
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'clusterscape[parquet]'."
        ) from None
    return made.getvalue()


def labels_csv(frame: pd.DataFrame) -> str:
    """Return the CSV text of a table of labels.

    Examples
    --------
    >>> print(labels_csv(labels_frame(None, [1, 0])), end="")
    id,label
    0,1
    1,0
    """
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def json_text(value: Any) -> str:
    """Return JSON with sorted keys; numpy's numbers and arrays are written as plain ones.

    Numbers that JSON does not know (NaN, infinite) become null.

    Examples
    --------
    >>> print(json_text({"b": np.float64("nan"), "a": np.arange(2)}))
    {
      "a": [
        0,
        1
      ],
      "b": null
    }
    """
    return json.dumps(plain(value), sort_keys=True, indent=2, allow_nan=False, ensure_ascii=False)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write JSON with sorted keys, whole or not at all.

    Numbers that JSON does not know (NaN, infinite) become null.

    Parameters
    ----------
    path : str or path
        The file to write; its folder must exist.
    value : dict, list, text, number or array
        numpy's numbers and arrays are written as plain ones.

    See Also
    --------
    save_results : Writes the record of a run with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape.io import write_json
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "run.json"
    ...     write_json(file, {"seed": 0})
    ...     print(file.read_text(), end="")
    {
      "seed": 0
    }
    """
    write_bytes(path, (json_text(value) + "\n").encode())


@dataclass(frozen=True)
class Results:
    """What a folder of results holds.

    Attributes
    ----------
    model : estimator
        The fitted model, or the pipeline that ends with it.
    run : dict
        The content of ``run.json``.
    """

    model: Any
    run: dict[str, Any]

    @property
    def ensemble(self) -> Ensemble:
        """The partitions."""
        found = last_step(self.model)
        if not hasattr(found, "ensemble_"):
            raise AttributeError(f"{type(found).__name__} combines no partitions, and has none.")
        return found.ensemble_

    @property
    def labels(self) -> pd.DataFrame:
        """One row per point, as the model's ``to_frame`` gives it, with all digits."""
        return last_step(self.model).to_frame()


def save_results(
    folder: str | os.PathLike[str],
    model: Any,
    *,
    run: Mapping[str, Any] | None = None,
    files: Mapping[str, Callable[[Path], object]] | None = None,
    membership: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write a fitted model and its tables to a folder, all files or none.

    ``labels.csv`` has the model's ``to_frame()``, ``ensemble.npz`` the partitions, ``model.npz``
    the model itself (see :func:`save_model`) and ``run.json`` what was done: the entries of
    ``run``, the versions, and a checksum of every file. ``run.json`` is the last file to appear,
    so a folder that has it is complete.

    Parameters
    ----------
    folder : str or path
        Made where it does not exist. Results of an earlier call are replaced; other files stay.
    model : estimator
        Fitted, with ``labels_`` and ``to_frame``; or a scikit-learn ``Pipeline`` that ends with
        such a one (see :func:`save_model`). One that combines no partitions, such as
        :class:`~clusterscape.semisupervised.COPKMeans`, has no ``ensemble.npz``.
    run : mapping, optional
        More entries of ``run.json``: what was read, asked for and found. ``program``,
        ``versions`` and ``outputs`` are written by this function.
    files : mapping, optional
        More files: names, and functions that write the path they are given, such as
        ``{"scatter.png": figure.savefig}``.
    membership : bool
        Add one column per cluster to ``labels.csv``.
    overwrite : bool
        Replace files of these names that clusterscape did not write.

    Returns
    -------
    dict
        The content of ``run.json``.

    See Also
    --------
    load_results : Reads the folder back.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape.combine import EAC
    >>> from clusterscape.io import load_results, save_results
    >>> model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    >>> with tempfile.TemporaryDirectory() as home:
    ...     report = save_results(pathlib.Path(home) / "out", model)
    ...     print((pathlib.Path(home) / "out" / "labels.csv").read_text())
    ...     print(load_results(pathlib.Path(home) / "out").model.labels_)
    id,label,confidence,runner_up,runner_up_share
    0,0,0.833333,1,0.166667
    1,0,0.833333,1,0.166667
    2,1,0.666667,0,0.333333
    3,1,0.833333,0,0.166667
    <BLANKLINE>
    [0 0 1 1]
    """
    own = _own_entries(run)
    found = last_step(model)
    writers: dict[str, Callable[[Path], object]] = {
        LABELS: lambda path: write_frame(path, with_ids(found.to_frame(membership=membership))),
        MODEL: lambda path: save_model(model, path),
    }
    if hasattr(found, "ensemble_"):
        writers[ENSEMBLE] = lambda path: found.ensemble_.to_npz(path)
    writers |= files or {}
    for name in writers:
        if name == RUN or name != os.path.basename(name) or name.startswith("."):
            raise ValueError(f"files: {name!r} cannot be the name of a file of results.")
    target = Path(folder)
    check_results_folder(target, names=list(writers), overwrite=overwrite)
    with atomic_folder(target, last=RUN, replaced=_earlier(target)) as stage:
        for name, write in writers.items():
            write(stage / name)
        outputs = {name: file_digest(stage / name) for name in sorted(writers)}
        report = {"program": PROGRAM, "versions": versions(), **own, "outputs": outputs}
        write_json(stage / RUN, report)
    return report


def _own_entries(run: Any) -> dict[str, Any]:
    """Return the caller's entries of ``run.json``, or say which of them cannot be there."""
    if run is not None and not isinstance(run, Mapping):
        raise TypeError(f"run must be a mapping of entries; got {type(run).__name__}.")
    own = {str(name): value for name, value in (run or {}).items()}
    for name, value in own.items():
        if name in ("program", "versions", "outputs"):
            raise ValueError(
                f"run: {name!r} is an entry that save_results writes itself, and by which the "
                f"folder is read again; give yours another name, such as {'my_' + name!r}."
            )

        def refuse(odd: Any, name: str = name) -> str:
            text = str(odd)
            if " at 0x" not in text:
                return text
            raise ValueError(
                f"run[{name!r}] holds a value of type {type(odd).__name__}, which has no text but "
                "its place in memory; give text, numbers, lists and dictionaries."
            )

        own[name] = plain(value, refuse)
    return own


def load_results(folder: str | os.PathLike[str]) -> Results:
    """Read what :func:`save_results` wrote.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    Results
        With ``model``, ``run``, ``ensemble`` and ``labels``.

    Raises
    ------
    ModelFileError
        A ValueError: the folder holds no results, or a file was changed, cut short or removed.

    See Also
    --------
    save_results : Writes such a folder, with an example.
    load_model : Reads the model alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape.combine import EAC
    >>> from clusterscape.io import load_results, save_results
    >>> model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    >>> with tempfile.TemporaryDirectory() as home:
    ...     report = save_results(pathlib.Path(home) / "out", model, run={"seed": 5})
    ...     found = load_results(pathlib.Path(home) / "out")
    >>> found.run["seed"], found.ensemble
    (5, Ensemble(4 points, 3 partitions with 2 clusters))
    """
    home = Path(folder)
    run = read_run(home)
    if run is None:
        raise ModelFileError(
            f"{folder} holds no results of clusterscape: there is no {RUN} that it wrote. Give a "
            "folder that clusterscape.io.save_results wrote."
        )
    outputs = run.get("outputs")
    outputs = outputs if isinstance(outputs, dict) else {}
    for name in (LABELS, MODEL, *({ENSEMBLE} & outputs.keys())):
        known = outputs.get(name)
        if not (home / name).is_file():
            raise ModelFileError(f"{home / name} is missing; save the results again.")
        if known != file_digest(home / name):
            raise ModelFileError(
                f"{home / name} is not the file that {RUN} describes: it was changed or damaged "
                "since. Save the results again."
            )
    return Results(load_model(home / MODEL), run)


def check_results_folder(
    folder: str | os.PathLike[str],
    *,
    names: Any = (LABELS, ENSEMBLE, MODEL),
    overwrite: bool = False,
) -> None:
    """Refuse a folder to which results cannot be written, before the work that makes them.

    Parameters
    ----------
    folder : str or path
        Where results are to go.
    names : sequence of str
        Files that will be written, beside ``run.json``.
    overwrite : bool
        Allow files of these names that clusterscape did not write.

    Raises
    ------
    ValueError
        When the folder is a file, cannot be written to, or has foreign files of these names.

    See Also
    --------
    save_results : Writes into the folder.

    Examples
    --------
    >>> import tempfile
    >>> from clusterscape.io import check_results_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_results_folder(folder)
    """
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the results.")
    foreign = [name for name in (*names, RUN) if (home / name).exists()]
    if foreign and not overwrite and read_run(home) is None:
        raise ParameterError(
            f"{folder} holds a file {foreign[0]} that clusterscape did not write; name another "
            "folder, or replace the file with {overwrite}.",
            overwrite=True,
        )
    nearest = next(p for p in (home.absolute(), *home.absolute().parents) if p.exists())
    if not nearest.is_dir():
        raise ValueError(f"{nearest} is a file, not a folder; name another folder.")
    why = why_not_writable(nearest)
    if why:
        raise ValueError(
            f"{folder} cannot be written, because nothing can be made in {nearest} ({why}); name "
            "another folder."
        )


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def with_ids(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what ``to_frame`` gives with its index as the first column, ``id``."""
    several = isinstance(frame.index, pd.MultiIndex)
    return frame.reset_index() if several else frame.rename_axis("id").reset_index()


def read_run(folder: Path) -> dict[str, Any] | None:
    """Return the content of ``run.json``; None where clusterscape did not write it."""
    try:
        run = json.loads((folder / RUN).read_bytes())
        return run if run["program"] == PROGRAM else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _earlier(folder: Path) -> list[str]:
    """Return the files that the results in a folder consist of."""
    outputs = (read_run(folder) or {}).get("outputs")
    names = list(outputs) if isinstance(outputs, dict) else []
    return [name for name in names if name == os.path.basename(name)]
