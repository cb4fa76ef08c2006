"""AnnData objects in and out: a consensus beside the cells, and the clusterings that are there.

What is written follows scanpy's habits: a categorical column of text in ``obs``, its colours in
``uns``, parameters in ``uns``. anndata itself is needed only by those who make such objects.

>>> import anndata, numpy as np
>>> import clusterscape as cs
>>> rng = np.random.default_rng(0)
>>> cells = anndata.AnnData(np.concatenate([rng.normal(c, 1, (30, 9)) for c in (0, 9)]))
>>> cells.obsm["X_pca"] = cells.X[:, :4]
>>> model = cs.anndata.consensus(cells, n_clusters=2, n_partitions=10, n_references=0)
>>> cells.obs["consensus"].value_counts().to_dict()
{'0': 30, '1': 30}
"""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.plain import plain
from clusterscape.ensemble import Ensemble
from clusterscape.generate.scales import accepted_scales
from clusterscape.model import ConsensusClustering
from clusterscape.plot import cluster_colors

__all__ = ["consensus", "ensemble", "write_result"]

_SHOWN = 12  # names in a message
_GENERATION = ("generator", "n_partitions", "n_references", "metric", "store")


def consensus(
    adata: Any,
    *,
    use_rep: str = "X_pca",
    layer: str | None = None,
    obs: str | Sequence[str] | None = None,
    key_added: str = "consensus",
    random_state: Any = 0,
    **parameters: Any,
) -> ConsensusClustering:
    """Cluster the cells many times, and write one answer with its confidence into the object.

    Parameters
    ----------
    adata : AnnData
        The object; it is changed in place.
    use_rep : str
        What is clustered: a key of ``obsm``, whose scales are taken as they are, or "X" for the
        matrix itself.
    layer : str, optional
        With ``use_rep="X"``, a layer in place of the matrix.
    obs : str or list of str, optional
        Combine clusterings that are there already in place of making new ones: names of columns
        of ``obs``, or patterns such as ``"leiden_*"``. Nothing is clustered then, and parameters
        of the making of clusterings, such as ``n_partitions``, are refused.
    key_added : str
        Name of what is written, see Notes. An answer of clusterscape with this name is replaced;
        of another column it is said that it is lost.
    random_state : int, generator or None
        The same seed gives the same result.
    **parameters
        More parameters of :class:`~clusterscape.ConsensusClustering`, such as ``n_clusters``.

    Returns
    -------
    ConsensusClustering
        The fitted model, for pictures, ``describe`` and the report.

    See Also
    --------
    ensemble : The clusterings of an object as an ensemble.
    write_result : Writes any fitted model into an object.

    Notes
    -----
    With ``key_added="consensus"`` these are written:

    - ``obs["consensus"]``: the cluster of every cell, a category of text ("-1": in no cluster);
    - ``obs["consensus_confidence"]``: in [0, 1], NaN where the clusterings are all the same;
    - ``obsm["consensus_membership"]``: the share of the votes of every cluster;
    - ``uns["consensus"]``: parameters, number of clusters, versions, what was clustered;
    - ``uns["consensus_colors"]``: the colours that clusterscape's own pictures use.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from clusterscape.anndata import consensus
    >>> cells = anndata.AnnData(np.arange(12.0).reshape(6, 2))
    >>> for i, labels in enumerate([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]]):
    ...     cells.obs[f"leiden_{i}"] = [str(label) for label in labels]
    >>> model = consensus(cells, obs="leiden_*", n_clusters=2)
    >>> list(cells.obs["consensus"])
    ['0', '0', '0', '1', '1', '1']
    """
    _check_object(adata)
    model = ConsensusClustering(random_state=random_state, **parameters)
    if obs is not None:
        unread = [f"{name}={parameters[name]!r}" for name in _GENERATION if name in parameters]
        unread += [] if layer is None else [f"layer={layer!r}"]
        if unread:
            raise ValueError(
                f"{', '.join(unread)}: nothing is clustered where obs={obs!r} names clusterings "
                "that are there already; leave out either these parameters or obs."
            )
        runs = ensemble(adata, obs)
        model.fit_ensemble(runs)
        used: dict[str, Any] = {"obs": list(runs.names)}
    else:
        cells = representation(adata, use_rep, layer=layer)
        with accepted_scales() if use_rep != "X" else nullcontext():
            model.fit(cells, index=np.asarray(adata.obs_names))
        used = {"use_rep": use_rep} | ({} if layer is None else {"layer": layer})
    write_result(adata, model, key_added=key_added, params=used)
    return model


def ensemble(adata: Any, columns: str | Sequence[str]) -> Ensemble:
    """Return the clusterings in ``obs`` as an ensemble over the cells.

    Parameters
    ----------
    adata : AnnData
        The object.
    columns : str or list of str
        Names of columns of ``obs``, or patterns such as ``"leiden_*"``. Columns that
        :func:`write_result` wrote are taken by name only, never by a pattern. Cells without a label
        are unsampled in that clustering.

    Returns
    -------
    Ensemble
        With the names of the cells as its index.

    See Also
    --------
    consensus : Combines them with ``obs=...``.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from clusterscape.anndata import ensemble
    >>> cells = anndata.AnnData(np.zeros((3, 1)))
    >>> cells.obs["leiden_0.5"], cells.obs["leiden_1.0"] = ["a", "a", "b"], ["0", "1", "2"]
    >>> ensemble(cells, "leiden_*").names
    ('leiden_0.5', 'leiden_1.0')
    """
    _check_object(adata)
    frame = adata.obs
    patterns = [columns] if isinstance(columns, str) else list(columns)
    known = [str(name) for name in frame.columns]
    own = _written(adata) - set(patterns)
    names = matching([name for name in known if name not in own], patterns)
    return Ensemble.from_labels(frame[names], columns=names)


def _written(adata: Any) -> set[str]:
    """Return the columns of ``obs`` that hold answers of clusterscape, and what belongs to them."""
    keys = [
        str(key)
        for key, held in adata.uns.items()
        if isinstance(held, Mapping) and "params" in held and f"{key}_confidence" in adata.obs
    ]
    return {name for key in keys for name in (key, f"{key}_confidence")}


def _check_object(adata: Any) -> None:
    if not all(hasattr(adata, part) for part in ("X", "obs", "obsm", "uns")):
        raise TypeError(
            f"adata must be an AnnData object; got {type(adata).__name__}. Wrap a matrix, "
            "anndata.AnnData(matrix), or cluster it with clusterscape.ConsensusClustering."
        )


def matching(known: Sequence[str], wanted: str | Sequence[str]) -> list[str]:
    """Return the names that are wanted by name or pattern, in their own order."""
    patterns = [wanted] if isinstance(wanted, str) else list(wanted)
    found: dict[str, None] = {}
    for pattern in patterns:
        here = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        if not here:
            shown = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
            raise ValueError(
                f"obs has no column {pattern!r}; it has {shown or 'no columns'}. Give the name of "
                "a column of clusters, or a pattern such as 'leiden_*'."
            )
        found.update(dict.fromkeys(here))
    return [name for name in known if name in found]


def representation(adata: Any, use_rep: str, *, layer: str | None = None) -> Any:
    """Return what is clustered: a matrix of ``obsm``, a layer or ``X``, in memory."""
    if use_rep != "X":
        if layer is not None:
            raise ValueError(f"layer={layer!r} is a layer of X; use it with use_rep='X'.")
        if use_rep not in adata.obsm:
            shown = ", ".join(map(repr, adata.obsm)) or "nothing"
            raise ValueError(
                f"obsm has no {use_rep!r}; it holds {shown}. Compute it first (scanpy.pp.pca makes "
                "X_pca), or cluster the matrix itself with use_rep='X'."
            )
        found = adata.obsm[use_rep]
    elif layer is not None:
        if layer not in adata.layers:
            # Since anndata 0.13 X itself is the layer None.
            shown = ", ".join(repr(key) for key in adata.layers if key is not None) or "none"
            raise ValueError(
                f"there is no layer {layer!r}; there are {shown}. Name one of them, or leave layer "
                "out to cluster X."
            )
        found = adata.layers[layer]
    else:
        found = adata.X
    if found is None:
        raise ValueError("X is empty; name a key of obsm with use_rep, or a layer.")
    if hasattr(found, "to_memory"):  # on disk
        found = found.to_memory()
    if sparse.issparse(found) or isinstance(found, pd.DataFrame):
        return found
    return np.asarray(found[:] if hasattr(found, "id") else found)


def write_result(
    adata: Any,
    model: Any,
    *,
    key_added: str = "consensus",
    params: dict[str, Any] | None = None,
) -> None:
    """Write the labels of a fitted model into an AnnData object, as :func:`consensus` does.

    Parameters
    ----------
    adata : AnnData
        The object; its cells must be the points of the model, in their order.
    model : estimator
        Fitted, with ``labels_`` and ``n_clusters_``; ``confidence_`` and ``membership_`` are
        written where it has them.
    key_added : str
        Name of what is written.
    params : dict, optional
        More entries of ``uns[key_added]["params"]``.

    See Also
    --------
    consensus : Fits a model and writes it.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from clusterscape.anndata import write_result
    >>> from clusterscape.combine import EAC
    >>> cells = anndata.AnnData(np.zeros((4, 1)))
    >>> write_result(cells, EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]]), key_added="eac")
    >>> list(cells.obs["eac"]), list(cells.uns["eac_colors"])
    (['0', '0', '1', '1'], ['#0072B2', '#E69F00'])
    """
    from clusterscape.io import versions

    _check_object(adata)
    labels = np.asarray(model.labels_)
    if len(labels) != adata.n_obs:
        raise ValueError(
            f"the model has {len(labels):,} points and the object {adata.n_obs:,} cells; give the "
            "object that the model was fitted on."
        )
    _warn_of_loss(adata, key_added)
    numbers = sorted(set(labels.tolist()), key=lambda c: (c < 0, c))
    texts = [str(c) for c in numbers]
    adata.obs[key_added] = pd.Categorical([str(c) for c in labels], categories=texts)
    if getattr(model, "confidence_", None) is not None:
        adata.obs[f"{key_added}_confidence"] = np.asarray(model.confidence_, dtype=np.float64)
    if getattr(model, "membership_", None) is not None:
        membership = model.membership_
        dense = membership.toarray() if sparse.issparse(membership) else np.asarray(membership)
        adata.obsm[f"{key_added}_membership"] = dense
    settings = {k: v for k, v in model.get_params(deep=False).items() if v is not None}
    adata.uns[key_added] = {
        "params": {k: _storable(v) for k, v in {**settings, **(params or {})}.items()},
        "method": type(model).__name__,
        "n_clusters": int(model.n_clusters_),
        "clusterscape": versions()["clusterscape"],
    }
    adata.uns[f"{key_added}_colors"] = np.array(cluster_colors(numbers), dtype=object)


def _warn_of_loss(adata: Any, key: str) -> None:
    """Warn where a column that clusterscape did not write is written over."""
    held = adata.uns.get(key)
    own = isinstance(held, Mapping) and "clusterscape" in held
    lost = [name for name in (key, f"{key}_confidence") if name in adata.obs]
    if lost and not own:
        warnings.warn(
            f"obs[{lost[0]!r}] was there already, and is written over; give another name with "
            "key_added to keep it.",
            UserWarning,
            stacklevel=3,
        )


def _storable(value: Any) -> Any:
    """Return a value that an h5ad file can hold: numbers, text, and arrays of one of these."""
    if isinstance(value, (bool, int, float, str, np.generic)):
        return value
    made = plain(value, str)
    if isinstance(made, list) and made and all(isinstance(v, str) for v in made):
        return np.array(made, dtype=object)
    if isinstance(made, list) and made and all(isinstance(v, (int, float)) for v in made):
        return np.array(made)
    return str(value)
