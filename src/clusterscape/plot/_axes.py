"""A second pair of axes beside or below the first, such that a layout has room for both."""

from __future__ import annotations

from typing import Any


def axes_below(ax: Any, share: float) -> Any:
    """Give the lower ``share`` of the place of ``ax`` to axes with the same x-axis."""
    place = ax.get_subplotspec()
    if place is None:  # placed by hand: the new ones hang on it
        return ax.inset_axes((0, -share - 0.04, 1, share), sharex=ax)
    parts = place.subgridspec(2, 1, height_ratios=(1 - share, share), hspace=0.05)
    ax.set_subplotspec(parts[0])
    return ax.figure.add_subplot(parts[1], sharex=ax)


def axes_beside_square(ax: Any, ratio: float) -> Any:
    """Give a strip at the right of square axes to axes with the same y-axis and height.

    ``ratio`` is the width of the square over that of the strip.
    """
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((1.02, 0, 1 / ratio, 1), sharey=ax)
    parts = place.subgridspec(1, 2, width_ratios=(ratio, 1), wspace=0.02)
    ax.set_subplotspec(parts[0])
    strip = ax.figure.add_subplot(parts[1], sharey=ax)
    # Both have the same height whichever of width and height is scarce, and they touch.
    ax.set_box_aspect(1)
    strip.set_box_aspect(ratio)
    ax.set_anchor("E")
    strip.set_anchor("W")
    return strip
