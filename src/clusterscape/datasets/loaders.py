"""Datasets by name: a folder of NPZ files first, then the copies that scikit-learn bundles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from clusterscape.ensemble.files import BROKEN_ARCHIVE

FOLDER_VARIABLE = "CLUSTERSCAPE_DATA"

# Functions of sklearn.datasets, which is imported only when one of them is called: it loads much.
_BUNDLED = {
    "digits": "load_digits",
    "iris": "load_iris",
    "wdbc": "load_breast_cancer",
    "wine": "load_wine",
}
_CSR = ("data", "indices", "indptr", "shape")

# Where data sets that are not bundled can be obtained.
_HOMES = {
    "text": (
        "the CLUTO document collections, https://conservancy.umn.edu (search for CLUTO datasets)",
        (
            "cranmed",
            "hitech",
            "k1a",
            "la1",
            "la2",
            "mm",
            "ohscal",
            "reviews",
            "sports",
            "tr12",
            "wap",
        ),
    ),
    "libsvm": (
        "the LIBSVM data page, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets",
        (
            "a1a",
            "a1a_test",
            "a8a",
            "cod_rna",
            "covtype_first20k",
            "covtype_random10k",
            "mnist",
            "protein_val2871",
            "svmguide1",
            "svmguide1_test",
            "usps",
        ),
    ),
}
_ELSEWHERE = "the UCI Machine Learning Repository, https://archive.ics.uci.edu, or the authors"


def _home(name: str) -> str:
    return next((text for text, names in _HOMES.values() if name in names), _ELSEWHERE)


def _folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    chosen = data_home if data_home is not None else os.environ.get(FOLDER_VARIABLE)
    return None if not chosen else Path(chosen)


def list_available(*, data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names that :func:`load` accepts.

    Parameters
    ----------
    data_home : str or path, optional
        A folder of ``<name>.npz`` files; by default the one that the environment variable
        ``CLUSTERSCAPE_DATA`` names.

    Returns
    -------
    list of str
        Names of the files in the folder and of the bundled sets, sorted.

    See Also
    --------
    load : Load one of them.

    Examples
    --------
    >>> import tempfile
    >>> from clusterscape.datasets import list_available
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     list_available(data_home=empty)
    ['digits', 'iris', 'wdbc', 'wine']
    """
    folder = _folder(data_home)
    found = set() if folder is None else {path.stem for path in folder.glob("*.npz")}
    return sorted(found | set(_BUNDLED))


def load(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a dataset by name; nothing is downloaded.

    Parameters
    ----------
    name : str
        ``<name>.npz`` is looked up in the folder; ``iris``, ``wine``, ``wdbc`` (breast cancer,
        Wisconsin) and ``digits`` are otherwise taken from the copies that scikit-learn bundles.
    data_home : str or path, optional
        The folder; by default the one that the environment variable ``CLUSTERSCAPE_DATA`` names.
        Its files hold ``X`` (or ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix)
        and ``y``, and may hold ``class_names``, ``sample_names`` and ``feature_names``.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (float64, or float32 where the file holds it; CSR where the file is sparse),
        ``target``, ``target_names``, ``feature_names``, ``sample_names`` (the last three None
        where unknown), ``name`` and ``source``. Rows keep the order of the source, which is often
        sorted by class.

    Raises
    ------
    FileNotFoundError
        When the set is neither in the folder nor bundled: the message names the file that is
        needed, the folders searched and where to get the data.

    See Also
    --------
    list_available : The names that are known.

    Examples
    --------
    >>> from clusterscape.datasets import load
    >>> iris = load("iris")
    >>> iris.data.shape, iris.target_names.tolist()
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    """
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise ValueError(f"load: name must be the name of a dataset such as 'wine'; got {name!r}.")
    folder = _folder(data_home)
    if folder is not None and (folder / f"{name}.npz").is_file():
        return _from_file(folder / f"{name}.npz", name)
    if name in _BUNDLED:
        from sklearn import datasets

        found = getattr(datasets, _BUNDLED[name])()
        return Bunch(
            data=np.asarray(found.data, dtype=np.float64),
            target=found.target,
            target_names=np.asarray(found.target_names),
            feature_names=list(found.feature_names),
            sample_names=None,
            name=name,
            source="bundled with scikit-learn",
        )
    looked = f"it is not in {folder}" if folder is not None else "no data folder is set"
    raise FileNotFoundError(
        f"The dataset {name!r} needs the file {name}.npz: {looked}. Pass data_home=FOLDER or set "
        f"{FOLDER_VARIABLE} to a folder that holds it. It is available from {_home(name)}; save it "
        f"with numpy.savez({name + '.npz'!r}, X=X, y=y). Known here: "
        f"{', '.join(list_available(data_home=data_home))}."
    )


def _from_file(path: Path, name: str) -> Bunch:
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except BROKEN_ARCHIVE as error:
        raise ValueError(f"{path} is not a dataset, or a damaged one ({error}).") from None
    if "X" in arrays:
        data = _floats(arrays["X"])
    elif all(key in arrays for key in _CSR):
        parts = (_floats(arrays["data"]), arrays["indices"], arrays["indptr"])
        data = sparse.csr_matrix(parts, shape=tuple(int(s) for s in arrays["shape"]))
    else:
        raise ValueError(
            f"{path} holds {', '.join(arrays) or 'nothing'}; a dataset holds y and either X or "
            f"{', '.join(_CSR)} of a CSR matrix."
        )
    return Bunch(
        data=data,
        target=arrays.get("y"),
        target_names=arrays.get("class_names"),
        feature_names=_listed(arrays.get("feature_names")),
        sample_names=arrays.get("sample_names"),
        name=name,
        source=str(path),
    )


def _floats(values: np.ndarray) -> Any:
    return values if values.dtype == np.float32 else values.astype(np.float64)


def _listed(names: np.ndarray | None) -> list[str] | None:
    return None if names is None else [str(n) for n in names]
