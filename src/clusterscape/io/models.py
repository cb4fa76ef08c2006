"""Fitted models as files, without pickle: parameters, arrays and versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

from sklearn.pipeline import Pipeline

from clusterscape.ensemble import NotAnEnsembleFile
from clusterscape.io._archive import ModelFileError, read_archive, write_archive
from clusterscape.io._values import Decoder, Encoder

_PACKAGES = ("clusterscape", "numpy", "scipy", "scikit-learn", "numba", "pandas", "joblib")


def last_step(model: Any) -> Any:
    """Return the estimator itself, or the last step of a scikit-learn pipeline."""
    return model.steps[-1][1] if type(model) is Pipeline and model.steps else model


def versions() -> dict[str, str]:
    """Return the versions that a result depends on.

    Returns
    -------
    dict
        Names of packages and their versions, "python" among them.

    See Also
    --------
    clusterscape.io.save_model : Keeps these beside a model.

    Examples
    --------
    >>> from clusterscape.io import versions
    >>> sorted(versions())[:2]
    ['clusterscape', 'joblib']
    """
    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return found | {"python": platform.python_version()}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator to one file, without pickle.

    The file is a NPZ archive: a JSON header with the parameters, the structure of what was fitted
    and the versions of the packages, and the arrays. Its last bytes are a checksum of all others.
    It is written whole or not at all, and the same model gives the same bytes.

    Parameters
    ----------
    model : estimator
        A fitted public estimator of clusterscape that ends with labels, such as
        :class:`~clusterscape.ConsensusClustering`, :class:`~clusterscape.forest.ClusterForest`, a
        consensus method or a clusterer with constraints; or a scikit-learn ``Pipeline`` that ends
        with one, after transformers of :mod:`clusterscape.preprocess` and scikit-learn's
        StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Normalizer, SimpleImputer, PCA and
        TruncatedSVD. A base clusterer given as ``algorithm=`` of its generator is saved by its name
        and parameters when it is one of ``sklearn.cluster`` or ``sklearn.mixture`` and they are
        plain values.
    path : str or path
        The file; ``.npz`` is the usual ending. Its folder must exist.

    Raises
    ------
    ValueError
        When the model is not fitted, or holds something that cannot be saved, such as a function.

    See Also
    --------
    load_model : Reads it back.
    save_results : Saves the model with tables that other programs read.

    Notes
    -----
    The file of a ``ConsensusClustering`` holds what ``predict`` needs: centres, densities and
    landmarks of the members, not the features of ``fit``. But up to 1,000 points are all landmarks,
    and landmarks of sparse data are points: pass it on only to people who may see the data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape.combine import EAC
    >>> from clusterscape.io import load_model, save_model
    >>> model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.npz"
    ...     save_model(model, file)
    ...     print(load_model(file).labels_)
    [0 0 1 1]
    """
    name = type(model).__name__
    _check_path(path)
    if not hasattr(model, "get_params"):
        raise ValueError(f"model must be a fitted estimator; got an object of type {name}.")
    if "labels_" not in vars(last_step(model)):
        raise ValueError(f"this {name} is not fitted; call fit before saving it.")
    encoder = Encoder()
    node = encoder.encode(model, name)
    if (node["steps"][-1][1] if node["kind"] == "pipeline" else node)["kind"] != "estimator":
        raise ValueError(
            f"model is of type {name}, which is not a public estimator of clusterscape; only "
            "these can be saved."
        )
    write_archive(path, {"model": node, "versions": versions()}, encoder.arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save_model` wrote.

    Nothing in the file is executed or unpickled: classes are looked up among clusterscape's own
    (and scikit-learn's public clusterers, for base clusterers), everything else is numbers and
    text.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Fitted as it was saved; ``predict`` gives the same labels.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, cut short, of another kind, or of a newer version.

    See Also
    --------
    save_model : Writes such a file, with an example.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape.combine import SEC
    >>> from clusterscape.io import load_model, save_model
    >>> model = SEC(2, random_state=0).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.npz"
    ...     save_model(model, file)
    ...     print(load_model(file))
    SEC(random_state=0)
    """
    _check_path(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}; check the name and the folder.")
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{path} is a folder; name a file in it, or read a folder of results with load_results."
        )
    header, arrays = read_archive(path)
    try:
        model = Decoder(arrays).decode(header["model"])
    except ModelFileError as error:
        wrote = header.get("versions", {}).get("clusterscape", "unknown")
        raise ModelFileError(f"{path} (written by clusterscape {wrote}): {error}") from None
    except _BROKEN as error:
        raise ModelFileError(
            f"{path} does not hold what a saved model holds ({type(error).__name__}: {error}); "
            "save the model again."
        ) from None
    if "labels_" not in getattr(last_step(model), "__dict__", {}):
        raise ModelFileError(f"{path} does not hold a fitted model; save the model again.")
    return model


def _check_path(path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"path must be the name of a file; got {type(path).__name__}. What is kept elsewhere, "
            "in memory or in a store of objects, goes through a file: tempfile makes one."
        )


_BROKEN = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    RecursionError,
    OverflowError,
    NotAnEnsembleFile,
)
