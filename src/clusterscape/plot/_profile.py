"""Sorted values of points, one block per cluster: what silhouettes and stabilities look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterscape.plot._axes import LINE, NAME_AT, name_rows
from clusterscape.plot.palette import cluster_colors, cluster_name

_FONT = 8.0  # size of names that fit
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
    blocks, texts = [], []
    present = [c for c in range(len(names)) if (codes == c).any()]
    for c in [*present, *([-1] if (codes < 0).any() else [])]:
        some = np.sort(values[codes == c])[::-1]
        place = low + np.arange(some.size + 1)
        edge = np.append(some, some[-1])
        colour = cluster_colors([c])[0]
        ax.fill_betweenx(place, 0, edge, step="post", color=colour, linewidth=0, alpha=0.9)
        blocks.append((low, low + some.size))
        texts.append(f"{cluster_name(names[c]) if c >= 0 else 'none'} ({some.size:,})")
        low += some.size + gap
    ax.set_ylim(low, -gap)
    _name_blocks(ax, np.array(blocks), texts)
    return blocks


def _name_blocks(ax: Any, blocks: np.ndarray, texts: Sequence[str]) -> None:
    """Write the names at the blocks, apart from one another where the blocks are too narrow."""
    centers, (low, high) = blocks.mean(axis=1), sorted(ax.get_ylim())
    across, tall = 72 * ax.get_position().size * ax.figure.get_size_inches()
    if np.diff(centers).min(initial=np.inf) >= LINE * _FONT / tall * (high - low):
        ax.set_yticks(centers, texts, fontsize=_FONT)
        ax.set_ylabel("cluster (points)")
        return
    name_rows(ax, centers, texts, np.diff(blocks, axis=1)[:, 0])
    # Names that are no ticks push nothing aside.
    wide = NAME_AT * across + 0.6 * ax.texts[-1].get_fontsize() * max(map(len, texts)) + 4
    ax.set_ylabel("cluster (points)", labelpad=wide)
