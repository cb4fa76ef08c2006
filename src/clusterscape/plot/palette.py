"""The same colour for the same cluster number, in every plot."""

from __future__ import annotations

from typing import Any

import numpy as np

# Okabe and Ito's colours, which stay apart for colour-blind readers, then their darker kin.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#004D7A",
    "#8F6200",
    "#00664B",
    "#853C66",
    "#2F7FA8",
)
NOISE_COLOUR = "#999999"


def cluster_colors(labels: Any) -> list[str]:
    """Return a colour for each label: fixed by the cluster's number, grey for -1 and -2.

    Parameters
    ----------
    labels : sequence of int
        Cluster numbers.

    Returns
    -------
    list of str
        Hexadecimal colours; after twelve clusters they repeat.

    Examples
    --------
    >>> from clusterscape.plot import cluster_colors
    >>> cluster_colors([0, 1, -1])
    ['#0072B2', '#E69F00', '#999999']
    """
    return [NOISE_COLOUR if c < 0 else _COLOURS[int(c) % len(_COLOURS)] for c in np.asarray(labels)]
