"""The same colour for the same cluster number, in every plot."""

from __future__ import annotations

from typing import Any

import numpy as np

# The seven colours of Okabe and Ito, which colour-blind readers can distinguish; then, one by one,
# the colour farthest in Oklab from white, grey and all before it, seen with full and with
# red-green colour-blind sight.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#5A0F00",
    "#2D0087",
    "#A50069",
    "#695A00",
    "#00F0C3",
    "#FFB4FF",
    "#004B5A",
    "#8778FF",
    "#692DA5",
    "#4BC33C",
    "#FFC3A5",
    "#A54BB4",
    "#5A0F5A",
    "#C3000F",
    "#A55A69",
    "#D287FF",
    "#004B00",
)
_MARKERS = "o^sDvP"
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
        Hexadecimal colours; after 24 clusters they repeat.

    See Also
    --------
    ScatterDisplay : Points in these colours.

    References
    ----------
    M. Okabe, K. Ito, "Color universal design: how to make figures and presentations that are
    friendly to colorblind people", 2008: the first seven colours.

    Examples
    --------
    >>> from clusterscape.plot import cluster_colors
    >>> cluster_colors([0, 1, -1])
    ['#0072B2', '#E69F00', '#999999']
    """
    return [NOISE_COLOUR if c < 0 else _COLOURS[int(c) % len(_COLOURS)] for c in np.asarray(labels)]


def cluster_marker(label: int) -> str:
    """Return the shape of a cluster's dots, so that colour is not the only cue.

    Neighbours in number differ in both; where the colours repeat, the shapes are shifted, so that
    144 clusters have looks of their own.
    """
    return "o" if label < 0 else _MARKERS[cluster_shape(label)]


def cluster_shape(label: int) -> int:
    """Return which of six shapes a cluster has."""
    return (int(label) + int(label) // len(_COLOURS)) % len(_MARKERS)


def cluster_name(label: Any) -> str:
    """Return what a cluster, or a class, is called in a picture."""
    if isinstance(label, (int, np.integer)):
        return "none" if label < 0 else f"{int(label)}"
    text = str(label)
    return text if len(text) <= 24 else f"{text[:22]}\N{HORIZONTAL ELLIPSIS}"


def ink_on(colour: str) -> str:
    """Return black or white, whichever can be read on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 110 else "white"
