"""Results as files: labels and JSON, written whole or not at all."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.atomic import atomic_path, write_bytes
from clusterscape._core.plain import plain

__all__ = ["atomic_path", "json_text", "labels_csv", "labels_frame", "write_json", "write_labels"]


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
                f"{name} must have one entry a point; got shape {values.shape} beside labels of "
                f"shape {labels.shape}."
            )
    return pd.DataFrame(columns)


def write_labels(
    path: str | os.PathLike[str], ids: Any, labels: Any, *, confidence: Any = None
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
    if os.fspath(path).lower().endswith((".parquet", ".pq")):
        with atomic_path(path) as part:
            try:
                frame.to_parquet(part, index=False)
            except ImportError:
                raise ImportError(
                    "Parquet files need pyarrow: pip install 'clusterscape[parquet]'."
                ) from None
        return
    write_bytes(path, labels_csv(frame).encode())


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


def _plain(value: Any) -> Any:
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)
