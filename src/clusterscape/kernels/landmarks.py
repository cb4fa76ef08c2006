"""The nearest landmarks of points, from a block of scores, made exact where it counts."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

_CHUNK = 32  # scores that are compared with the threshold at a time


@jit
def _threshold(line, lanes, nearest):
    """Return a value that at least ``nearest`` of the scores do not exceed.

    Each lane's minimum is another score, so the ``nearest``-th least of the minima will do; one
    vector comparison per score finds them.
    """
    width = lanes.size
    lanes[:] = np.inf
    whole = line.size // width * width
    for start in range(0, whole, width):
        part = line[start : start + width]
        for lane in range(width):
            lanes[lane] = part[lane] if part[lane] < lanes[lane] else lanes[lane]
    for i in range(whole, line.size):
        lane = i - whole
        lanes[lane] = line[i] if line[i] < lanes[lane] else lanes[lane]
    # Selection by insertion: for few it takes a tenth of the time of np.partition.
    for i in range(1, width):
        value = lanes[i]
        if i >= nearest and not value < lanes[nearest - 1]:
            continue
        at = min(i, nearest)
        while at > 0 and value < lanes[at - 1]:
            if at < width:
                lanes[at] = lanes[at - 1]
            at -= 1
        lanes[at] = value
    return lanes[nearest - 1]


@jit
def _candidates(line, limit, chosen):
    """Write the places of all scores up to ``limit``, ascending; return how many there are."""
    count = 0
    for start in range(0, line.size, _CHUNK):
        part = line[start : start + _CHUNK]
        hits = 0
        for i in range(part.size):
            hits += part[i] <= limit
        if hits > 0:
            for i in range(part.size):
                if part[i] <= limit:
                    chosen[count] = start + i
                    count += 1
    return count


@jit
def _insert(d, c, distances, indices, filled):
    """Put landmark ``c`` at squared distance ``d`` into the ascending lists; equals stay ahead."""
    last = distances.size
    if filled == last and not d < distances[last - 1]:
        return filled
    at = filled if filled < last else last - 1
    while at > 0 and d < distances[at - 1]:
        distances[at] = distances[at - 1]
        indices[at] = indices[at - 1]
        at -= 1
    distances[at] = d
    indices[at] = c
    return min(filled + 1, last)


@jit
def nearest_dense(scores, slack, X, landmarks, distances, indices):
    """Fill the squared distances and indices of the nearest landmarks, nearest first.

    ``scores`` (b, p) are squared distances up to a number per row, wrong by at most half of
    ``slack`` (b,): every landmark within the slack of the nearest is measured by differences.
    """
    p = scores.shape[1]
    nearest = distances.shape[1]
    lanes = np.empty(min(p, max(32, 2 * nearest)), scores.dtype)
    chosen = np.empty(p, np.int64)
    for x in range(scores.shape[0]):
        limit = _threshold(scores[x], lanes, nearest) + slack[x]
        count = _candidates(scores[x], limit, chosen)
        filled = 0
        for i in range(count):
            c = chosen[i]
            total = 0.0
            for j in range(X.shape[1]):
                gap = np.float64(X[x, j]) - np.float64(landmarks[c, j])
                total += gap * gap
            filled = _insert(total, c, distances[x], indices[x], filled)


@jit
def nearest_scores(scores, distances, indices):
    """Fill the least scores of each row and their places, least first, as they are."""
    p = scores.shape[1]
    nearest = distances.shape[1]
    lanes = np.empty(min(p, max(32, 2 * nearest)), scores.dtype)
    chosen = np.empty(p, np.int64)
    for x in range(scores.shape[0]):
        count = _candidates(scores[x], _threshold(scores[x], lanes, nearest), chosen)
        filled = 0
        for i in range(count):
            filled = _insert(scores[x, chosen[i]], chosen[i], distances[x], indices[x], filled)
