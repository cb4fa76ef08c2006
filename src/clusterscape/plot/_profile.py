"""Sorted values of points, one block per cluster: what silhouettes and stabilities look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterscape.plot.palette import cluster_colors, cluster_name

_GAP = 0.012  # of the points: white space between blocks


def draw_profile(
    ax: Any, values: np.ndarray, codes: np.ndarray, names: Sequence[Any]
) -> list[tuple[float, float]]:
    """Fill a horizontal bar per point, the largest of each cluster on top; return block borders.

    ``codes`` are cluster numbers, negative for points in none, which come last and are grey.
    """
    codes = np.maximum(codes, -1)
    low = 0.0
    gap = max(_GAP * values.size, 0.3)
    blocks, ticks, texts = [], [], []
    present = [c for c in range(len(names)) if (codes == c).any()]
    for c in [*present, *([-1] if (codes < 0).any() else [])]:
        some = np.sort(values[codes == c])[::-1]
        place = low + np.arange(some.size + 1)
        edge = np.append(some, some[-1])
        colour = cluster_colors([c])[0]
        ax.fill_betweenx(place, 0, edge, step="post", color=colour, linewidth=0, alpha=0.9)
        blocks.append((low, low + some.size))
        ticks.append(low + some.size / 2)
        texts.append(f"{cluster_name(names[c]) if c >= 0 else 'none'} ({some.size:,})")
        low += some.size + gap
    ax.set_yticks(ticks, texts, fontsize=8)
    ax.set_ylim(low, -gap)
    ax.set_ylabel("cluster (points)")
    return blocks
