"""Random walks over partitions with a fixed number of clusters, by their quality.

A partition of n points into s clusters is held by sums of inner products, from which every quality
here follows. ``basis`` is (n, width): all kernel values (n, n), or one feature vector per point
whose inner products are the kernel's values. ``part`` is the state of one partition:

labels (n,)          cluster of each point
table (s + 1, s + 6) one row per cluster, see the names below, and then from column PAIRS on
                     S[j, l], the kernel summed over the pairs of a point of j and one of l; the
                     last row has the sum of the clusters' terms and the squared length of the sum
                     of their means
sums (s, width)      basis summed over the points of each cluster

One point moves in O(s + width). ``rule`` is (kind, trace, centre, transform, shift, min_size): the
quality, the kernel summed over the diagonal, over all pairs divided by n, how quality becomes a
weight, what is added to it, and the least size of a cluster.
"""

from __future__ import annotations

import math

import numpy as np

from clusterscape.kernels._jit import inlined, jit
from clusterscape.kernels.random import below, next_uint64, uniform

# Qualities.
KMEANS, KERNEL, SEPARATION, WEIGHTED, RATIO, SILHOUETTE, DUNN = range(7)
# From a quality to a weight: (Q + shift)^power, max(Q, 0)^power, exp(power * Q).
POWER, CLIP, EXP = range(3)
# What a round counts: moved points, choices among candidates of weight zero, merge-split proposals
# and acceptances, proposals and acceptances of subsets.
N_COUNTS = 6

_BLOCK, _BUSY_BLOCK = 32, 8  # points whose inner products with the sums are taken together
_BUSY = 0.1  # share of the points that move in a sweep, from which blocks are small
_NEVER = 45.0  # a weight of exp(-45) adds nothing to a sum that holds a one
_SHARP = 8.0  # how surely a point follows the nearer seed when a cluster is split


# Columns of a cluster's row of the table: its size n, 1 / n, 1 / (n + 1) and 1 / (n - 1), because
# division is slow; what it adds to the quality; its mean times the sum of all means.
SIZE, PER_SIZE, GROWN, SHRUNK, TERM, MEANS, PAIRS = range(7)
# Column of the last row from which on the qualities of centroids keep, for each cluster, the sum of
# its points' own inner products.
SQUARES = 2


@inlined
def _term(kind, pair_sum, inverse):
    """Return what a cluster of this sum and this inverse size adds to the quality."""
    share = pair_sum * inverse
    return share * inverse if kind == SEPARATION or kind == KERNEL else share


@inlined
def _set_size(kind, line, j, size):
    line[SIZE] = size
    line[PER_SIZE] = 1.0 / size
    line[GROWN] = 1.0 / (size + 1.0)
    line[SHRUNK] = 1.0 / (size - 1.0)
    line[TERM] = _term(kind, line[PAIRS + j], line[PER_SIZE])


@inlined
def quality(rule, n, s, term_sum, means_square):
    """Return the quality from the sum of the clusters' terms and the length of all means' sum."""
    kind, trace, centre = rule[0], rule[1], rule[2]
    if kind == SEPARATION:
        return term_sum * term_sum - means_square
    if kind == WEIGHTED:
        return term_sum / n
    if kind == KERNEL:
        return term_sum
    if kind == KMEANS:
        return 1.0 / max(trace - term_sum, 1e-12 * trace + 1e-300)
    within = max(trace - term_sum, 1e-12 * trace + 1e-300)
    return (term_sum - centre) / within * (n - s) / max(s - 1.0, 1.0)


@jit
def level(rule, value):
    """Return the logarithm of the weight of a quality at power one."""
    if rule[3] == EXP:
        return value
    return math.log(max(value + rule[4], 1e-300))


@jit
def summarise(rule, table):
    """Fill a table from its sizes and its sums over pairs."""
    s = table.shape[0] - 1
    table[s, 0] = table[s, 1] = 0.0
    for j in range(s):
        _set_size(rule[0], table[j], j, table[j, SIZE])
        table[s, 0] += table[j, TERM]
    for j in range(s):
        total = 0.0
        for other in range(s):
            total += table[j, PAIRS + other] * table[other, PER_SIZE]
        table[j, MEANS] = total * table[j, PER_SIZE]
        table[s, 1] += table[j, MEANS]


@jit
def _pair_sums(labels, sums, is_dense, table):
    s, width = sums.shape
    pairs = table[:s, PAIRS:]
    pairs[:] = 0.0
    if is_dense:
        for other in range(s):
            line = sums[other]
            for x in range(labels.size):
                pairs[labels[x], other] += line[x]
        for j in range(s):  # the two orders of summation differ in the last digits
            for other in range(j):
                mean = 0.5 * (pairs[j, other] + pairs[other, j])
                pairs[j, other] = pairs[other, j] = mean
        return
    for j in range(s):
        for other in range(j + 1):
            total = 0.0
            for f in range(width):
                total += sums[j, f] * sums[other, f]
            pairs[j, other] = pairs[other, j] = total


@jit
def _squares(basis, is_dense, labels, table):
    """Sum the inner products of points with themselves over each cluster."""
    last = table.shape[0] - 1
    for j in range(last):
        table[last, SQUARES + j] = 0.0
    for x in range(labels.size):
        own = 0.0
        if is_dense:
            own = basis[x, x]
        else:
            for f in range(basis.shape[1]):
                own += basis[x, f] * basis[x, f]
        table[last, SQUARES + labels[x]] += own


@jit
def fill(basis, is_dense, rule, part):
    """Count a partition's sums from its labels."""
    labels, table, sums = part
    s = sums.shape[0]
    table[:s, SIZE] = 0.0
    sums[:] = 0.0
    for x in range(labels.size):
        j = labels[x]
        table[j, SIZE] += 1.0
        for f in range(basis.shape[1]):
            sums[j, f] += basis[x, f]
    _pair_sums(labels, sums, is_dense, table)
    if rule[0] >= SILHOUETTE:
        _squares(basis, is_dense, labels, table)
    summarise(rule, table)


@jit
def row_sums(basis, is_dense, sums, x, out):
    """Fill the kernel summed over a point and the points of each cluster."""
    for j in range(out.size):
        if is_dense:
            out[j] = sums[j, x]
        else:
            total = 0.0
            for f in range(basis.shape[1]):
                total += sums[j, f] * basis[x, f]
            out[j] = total


@jit
def _change(j, a, b):
    """Return by how many points cluster ``j`` grows when one moves from ``a`` to ``b``."""
    if a == b or (j != a and j != b):
        return 0.0
    return 1.0 if j == b else -1.0


@jit
def _between(table, rows, own, a, b, j, other):
    """Return the sum over pairs of two clusters after a point moved from ``a`` to ``b``."""
    total = table[j, PAIRS + other]
    # Each end of a pair may be the cluster that lost the point, or the one that has it now.
    sign_j, sign_other = _change(j, a, b), _change(other, a, b)
    if sign_j != 0.0:
        total += sign_j * rows[other]
    if sign_other != 0.0:
        total += sign_other * rows[j]
    return total + sign_j * sign_other * own


@jit
def centroid_index(rule, n, table, rows, own, a, b):
    """Return a quality of centroids after a point moved from ``a`` to ``b``; a = b: of the table.

    SILHOUETTE is the mean over the points of D / (v + D): v is the mean squared distance of their
    cluster's points to its centroid, D the squared distance from there to the nearest other one.
    DUNN is the least distance between centroids over twice the largest root of v.
    """
    s = table.shape[0] - 1
    tiny = 1e-12 * rule[1] / n + 1e-300
    sizes, lengths, near = np.empty(s), np.empty(s), np.full(s, np.inf)
    for j in range(s):
        sizes[j] = table[j, SIZE] + _change(j, a, b)
        lengths[j] = _between(table, rows, own, a, b, j, j) / (sizes[j] * sizes[j])
    for j in range(s):
        for other in range(j):
            inner = _between(table, rows, own, a, b, j, other) / (sizes[j] * sizes[other])
            apart = max(lengths[j] + lengths[other] - 2.0 * inner, 0.0)
            near[j] = min(near[j], apart)
            near[other] = min(near[other], apart)
    if s == 1:
        return 0.0
    mean = wide = 0.0
    for j in range(s):
        squares = table[s, SQUARES + j] + _change(j, a, b) * own
        inside = max(squares / sizes[j] - lengths[j], 0.0)
        wide = max(wide, inside)
        mean += sizes[j] * near[j] / (inside + near[j] + tiny)
    if rule[0] == SILHOUETTE:
        return mean / n
    return 0.5 * math.sqrt(near.min() / (wide + tiny))


@inlined
def candidates(rule, n, table, rows, own_kernel, a, out):
    """Fill the quality of the partition with a point of cluster ``a`` in each cluster.

    ``rows`` are the sums of the kernel over the point and each cluster, ``own_kernel`` is that of
    the point with itself.
    """
    if rule[0] >= SILHOUETTE:
        for b in range(out.size):
            out[b] = centroid_index(rule, n, table, rows, own_kernel, a, b)
    else:
        _term_candidates(rule, n, table, rows, own_kernel, a, out)


@inlined
def _term_candidates(rule, n, table, rows, own_kernel, a, out):
    """Fill the qualities that follow from the sum of the clusters' terms."""
    kind, s = rule[0], out.size
    left = table[a, PAIRS + a] - 2.0 * rows[a] + own_kernel
    alpha = table[a, SHRUNK]
    rest = table[s, 0] - table[a, TERM] + _term(kind, left, alpha)
    means = table[s, 1]
    to_all = removed = mean_a = 0.0
    if kind == SEPARATION:
        for j in range(s):
            to_all += rows[j] * table[j, PER_SIZE]
        mean_a = rows[a] * table[a, PER_SIZE]
        apart = table[a, TERM] - 2.0 * mean_a + own_kernel
        removed = alpha * (2.0 * (table[a, MEANS] - to_all) + alpha * apart)
    for b in range(s):  # also for a, which is cheaper than a branch that no processor foresees
        beta = table[b, GROWN]
        grown = table[b, PAIRS + b] + 2.0 * rows[b] + own_kernel
        terms = rest - table[b, TERM] + _term(kind, grown, beta)
        square = means
        if kind == SEPARATION:
            mean_b = rows[b] * table[b, PER_SIZE]
            apart = table[b, TERM] - 2.0 * mean_b + own_kernel
            cross = mean_a + mean_b - own_kernel
            cross -= table[a, PAIRS + b] * table[a, PER_SIZE] * table[b, PER_SIZE]
            square += removed + beta * (
                2.0 * (to_all - table[b, MEANS]) + beta * apart + 2.0 * alpha * cross
            )
        out[b] = quality(rule, n, s, terms, square)
    out[a] = quality(rule, n, s, table[s, 0], means)


@jit
def _move_in_table(kind, table, rows, own_kernel, a, b):
    s = rows.size
    table[s, 0] -= table[a, TERM] + table[b, TERM]
    if kind == SEPARATION:
        for j in range(s):
            if j != a and j != b:
                from_a, to_b = table[j, PAIRS + a], table[j, PAIRS + b]
                change = (from_a - rows[j]) * table[a, SHRUNK] - from_a * table[a, PER_SIZE]
                change += (to_b + rows[j]) * table[b, GROWN] - to_b * table[b, PER_SIZE]
                table[j, MEANS] += change * table[j, PER_SIZE]
    cross = table[a, PAIRS + b] - rows[b] + (rows[a] - own_kernel)
    table[a, PAIRS + a] += own_kernel - 2.0 * rows[a]
    table[b, PAIRS + b] += own_kernel + 2.0 * rows[b]
    if kind >= SILHOUETTE:
        table[s, SQUARES + a] -= own_kernel
        table[s, SQUARES + b] += own_kernel
    for j in range(s):
        if j != a and j != b:
            table[a, PAIRS + j] -= rows[j]
            table[j, PAIRS + a] = table[a, PAIRS + j]
            table[b, PAIRS + j] += rows[j]
            table[j, PAIRS + b] = table[b, PAIRS + j]
    table[a, PAIRS + b] = table[b, PAIRS + a] = cross
    _set_size(kind, table[a], a, table[a, SIZE] - 1.0)
    _set_size(kind, table[b], b, table[b, SIZE] + 1.0)
    table[s, 0] += table[a, TERM] + table[b, TERM]
    if kind == SEPARATION:
        mean_a = mean_b = 0.0
        for j in range(s):
            mean_a += table[a, PAIRS + j] * table[j, PER_SIZE]
            mean_b += table[b, PAIRS + j] * table[j, PER_SIZE]
        table[a, MEANS] = mean_a * table[a, PER_SIZE]
        table[b, MEANS] = mean_b * table[b, PER_SIZE]
        total = 0.0
        for j in range(s):
            total += table[j, MEANS]
        table[s, 1] = total


@jit
def move(basis, rule, part, rows, own_kernel, x, b):
    """Move a point to cluster ``b``; ``rows`` are its sums before the move."""
    labels, table, sums = part
    a = labels[x]
    _move_in_table(rule[0], table, rows, own_kernel, a, b)
    labels[x] = b
    for f in range(basis.shape[1]):
        value = basis[x, f]
        sums[a, f] -= value
        sums[b, f] += value


@inlined
def choose(rule, power, values, a, state, weights):
    """Return a candidate drawn by its weight; s or more: all had weight zero, drawn evenly.

    ``a`` is the cluster that the point is in, mostly the best one. The best candidate, of weight 1,
    comes first on the line that the draw falls on. Bounds of the other weights that need no
    logarithm mostly tell that the draw falls on the best one.
    """
    s = values.size
    first, best = a, values[a]
    for b in range(s):
        if values[b] > best:
            first, best = b, values[b]
    is_exp = rule[3] == EXP
    top = best + rule[4]
    if not is_exp and top <= 0.0:
        return s + below(state, s)
    # The weight is exp(-loss) or, of a ratio 1 - loss / power, at most that.
    scale = power if is_exp else power / top
    drawn = uniform(state)
    bound = 1.0
    for b in range(s):
        loss = scale * (best - values[b])
        bound += 1.0 / (1.0 + loss * (1.0 + loss * (0.5 + loss * (1.0 / 6.0 + loss / 24.0))))
    # The best one's own bound, 1, is among them.
    if drawn * (bound - 1.0) < 1.0:
        return first
    total = 0.0
    inverse = 1.0 / top
    for b in range(s):
        loss = scale * (best - values[b])
        if loss > _NEVER:
            weights[b] = 0.0
        elif is_exp:
            weights[b] = math.exp(-loss)
        else:
            ratio = (values[b] + rule[4]) * inverse
            if ratio <= 0.0:
                weights[b] = 0.0
            elif power == 1.0:
                weights[b] = ratio
            else:
                weights[b] = math.exp(power * math.log(ratio))
        total += weights[b]
    drawn = drawn * total - weights[first]
    if drawn < 0.0:
        return first
    last = first
    for b in range(s):
        if b != first and weights[b] > 0.0:
            last = b
            drawn -= weights[b]
            if drawn < 0.0:
                return b
    return last


@inlined
def shuffle(order, state):
    """Put the entries into a random order."""
    for i in range(order.size - 1, 0, -1):
        # As ``below``, by whole numbers: it is drawn for every point of every sweep.
        half = next_uint64(state) >> np.uint64(32)
        j = np.int64((half * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@inlined
def _draw(rule, power, n, table, rows, own_kernel, a, state, values, weights, counts):
    """Draw the cluster of a point that is in cluster ``a``, all others held fixed."""
    if table[a, SIZE] <= rule[5]:
        return a
    _term_candidates(rule, n, table, rows, own_kernel, a, values)
    b = choose(rule, power, values, a, state, weights)
    if b >= rows.size:
        counts[1] += 1
        b -= rows.size
    counts[0] += b != a
    return b


@jit
def _sweep_dense(basis, diagonal, rule, power, part, order, state, work, counts):
    labels, table, sums = part
    n = labels.size
    # Made once: a view of an array costs as much as a candidate.
    values, weights, rows = work[0], work[1], work[2]
    for x in order:
        for j in range(rows.size):
            rows[j] = sums[j, x]
        a = labels[x]
        b = _draw(rule, power, n, table, rows, diagonal[x], a, state, values, weights, counts)
        if b != a:
            move(basis, rule, part, rows, diagonal[x], x, b)


@jit
def _sweep_features(basis, diagonal, rule, power, part, state, work, counts, is_busy):
    """Sweep block by block: one product for all points of a block, corrected after every move.

    Blocks come in random order, and the points of a block in random order. Where many points move
    (``is_busy``) blocks are small, because corrections cost more than the product.
    """
    labels, table, sums = part
    n, size = labels.size, _BUSY_BLOCK if is_busy else _BLOCK
    rows = np.empty((size, sums.shape[0]))
    alike = np.empty(size)
    values, weights, own = work[0], work[1], work[2]
    blocks = np.arange(-(-n // size))
    shuffle(blocks, state)
    for block in blocks:
        start = block * size
        m = min(size, n - start)
        lines = basis[start : start + m]
        np.dot(lines, sums.T, rows[:m])
        inner = np.arange(m)
        shuffle(inner, state)
        for i in inner:
            x = start + i
            a = labels[x]
            for j in range(own.size):
                own[j] = rows[i, j]
            b = _draw(rule, power, n, table, own, diagonal[x], a, state, values, weights, counts)
            if b == a:
                continue
            move(basis, rule, part, own, diagonal[x], x, b)
            np.dot(lines, basis[x], alike[:m])
            for other in range(m):  # also those that were drawn before: they are not read again
                rows[other, a] -= alike[other]
                rows[other, b] += alike[other]


@jit
def _sweep_centroids(basis, is_dense, diagonal, rule, power, part, order, state, work, counts):
    """Sweep by a quality of centroids; apart, because its code would slow the others down."""
    labels, table, sums = part
    n, s = labels.size, sums.shape[0]
    values, weights, rows = work[0], work[1], work[2]
    for x in order:
        a = labels[x]
        if table[a, SIZE] <= rule[5]:
            continue
        row_sums(basis, is_dense, sums, x, rows)
        for j in range(s):
            values[j] = centroid_index(rule, n, table, rows, diagonal[x], a, j)
        b = choose(rule, power, values, a, state, weights)
        if b >= s:
            counts[1] += 1
            b -= s
        if b != a:
            counts[0] += 1
            move(basis, rule, part, rows, diagonal[x], x, b)


@jit
def sweep(basis, is_dense, diagonal, rule, power, part, order, state, work, counts, is_busy):
    """Draw the cluster of every point once, in random order, all others held fixed."""
    if rule[0] >= SILHOUETTE:
        shuffle(order, state)
        _sweep_centroids(basis, is_dense, diagonal, rule, power, part, order, state, work, counts)
    elif is_dense:
        shuffle(order, state)
        _sweep_dense(basis, diagonal, rule, power, part, order, state, work, counts)
    else:
        _sweep_features(basis, diagonal, rule, power, part, state, work, counts, is_busy)


# -- Metropolis moves -----------------------------------------------------------------------


@jit
def value(rule, part):
    """Return the quality of a partition."""
    labels, table, sums = part
    s = sums.shape[0]
    if rule[0] >= SILHOUETTE:
        return centroid_index(rule, labels.size, table, table[0], 0.0, 0, 0)
    return quality(rule, labels.size, s, table[s, 0], table[s, 1])


@jit
def _accepted(rule, power, before, after, log_ratio, state):
    if rule[3] != EXP and after + rule[4] <= 0.0:
        return False
    gain = power * (level(rule, after) - level(rule, before)) + log_ratio
    return gain >= 0.0 or math.log(1.0 - uniform(state)) < gain


@jit
def subsets(basis, is_dense, diagonal, rule, power, part, order, subset, state, counts):
    """Propose uniform labels for random subsets, n / subset of them; reject or accept each."""
    labels, table, sums = part
    n, s = labels.size, sums.shape[0]
    rows = np.empty(s)
    after = np.empty(s)
    drawn = np.empty(subset, dtype=np.int64)
    for _ in range(max(1, n // subset)):
        before = value(rule, part)
        counts[4] += 1
        after[:] = table[:s, SIZE]
        for i in range(subset):  # a partial shuffle draws the subset
            j = i + below(state, n - i)
            order[i], order[j] = order[j], order[i]
            drawn[i] = below(state, s)
            after[labels[order[i]]] -= 1.0
            after[drawn[i]] += 1.0
        if after.min() < rule[5]:
            continue
        _exchange_labels(basis, is_dense, diagonal, rule, part, order, drawn, rows)
        if _accepted(rule, power, before, value(rule, part), 0.0, state):
            counts[5] += 1
        else:
            _exchange_labels(basis, is_dense, diagonal, rule, part, order, drawn, rows)


@jit
def _exchange_labels(basis, is_dense, diagonal, rule, part, order, drawn, rows):
    """Give the first points of ``order`` the labels ``drawn``, and keep their own there."""
    labels, table, sums = part
    for i in range(drawn.size):
        x = order[i]
        a = labels[x]
        if drawn[i] != a:
            row_sums(basis, is_dense, sums, x, rows)
            move(basis, rule, part, rows, diagonal[x], x, drawn[i])
            drawn[i] = a
    # A cluster may have been empty on the way, when its means are not defined.
    summarise(rule, table)


@jit
def _split(basis, is_dense, diagonal, members, side, grown, state, is_given):
    """Divide members between two seeds, the first two; return the logarithm of its probability.

    One after the other, a point goes to the side whose mean is nearer, with a probability that
    depends on the two distances. With ``is_given`` the sides are given, and only the probability is
    computed. ``grown`` (2, width) becomes the sums of the sides.
    """
    u, v = members[0], members[1]
    grown[0] = basis[u]
    grown[1] = basis[v]
    side[0], side[1] = 0, 1
    square0, square1 = diagonal[u], diagonal[v]
    n0, n1 = 1.0, 1.0
    log_probability = 0.0
    rows = np.empty(2)
    for i in range(2, members.size):
        x = members[i]
        row_sums(basis, is_dense, grown, x, rows)
        far0 = diagonal[x] - 2.0 * rows[0] / n0 + square0 / (n0 * n0)
        far1 = diagonal[x] - 2.0 * rows[1] / n1 + square1 / (n1 * n1)
        far0, far1 = max(far0, 0.0), max(far1, 0.0)
        lean = _SHARP * (far1 - far0) / (far0 + far1 + 1e-300)
        share = 1.0 / (1.0 + math.exp(-lean))
        if not is_given:
            side[i] = 0 if uniform(state) < share else 1
        log_probability += math.log(share if side[i] == 0 else 1.0 - share)
        line = grown[side[i]]
        for f in range(line.size):
            line[f] += basis[x, f]
        if side[i] == 0:
            square0 += 2.0 * rows[0] + diagonal[x]
            n0 += 1.0
        else:
            square1 += 2.0 * rows[1] + diagonal[x]
            n1 += 1.0
    return log_probability


@jit
def _reverse_order(labels, a, b, state):
    """Return the points of two clusters in random order, one of each cluster first."""
    members = np.flatnonzero((labels == a) | (labels == b))
    shuffle(members, state)
    side = np.empty(members.size, dtype=np.int64)
    for place, cluster in ((0, a), (1, b)):
        skip = below(state, np.sum(labels[members] == cluster))
        for i in range(members.size):
            if labels[members[i]] == cluster:
                if skip == 0:
                    members[place], members[i] = members[i], members[place]
                    break
                skip -= 1
    for i in range(members.size):
        side[i] = 0 if labels[members[i]] == a else 1
    return members, side


@jit
def merge_split(basis, is_dense, diagonal, rule, power, part, state, counts, spare):
    """Propose to merge two clusters and to split one of those that are left.

    The pair and the cluster to split are drawn evenly. The seeds and the order of a split are drawn
    with it, and those of the way back beside it, so that both ways have a probability.
    """
    labels, table, sums = part
    s = sums.shape[0]
    counts[2] += 1
    a = below(state, s)
    b = below(state, s - 1)
    b += b >= a
    c = below(state, s - 1)
    c += c >= b  # of the clusters that are left b is not one; a is the merged one
    before = value(rule, part)
    size_a, size_b = table[a, SIZE], table[b, SIZE]
    members = np.flatnonzero((labels == c) | ((labels == b) & (c == a)))
    if members.size < 2:
        return
    shuffle(members, state)  # the first two are seeds drawn evenly
    side = np.empty(members.size, dtype=np.int64)
    grown, other, old_labels, old_table, old_sums = spare
    there = _split(basis, is_dense, diagonal, members, side, grown, state, False)
    n1 = np.sum(side)
    n0 = members.size - n1
    if min(n0, n1) < rule[5]:
        return
    back, back_side = _reverse_order(labels, a, b, state)
    again = _split(basis, is_dense, diagonal, back, back_side, other, state, True)
    whole, both = float(members.size), size_a + size_b
    log_ratio = again - there
    log_ratio += math.log(whole * (whole - 1.0)) - math.log(both * (both - 1.0))
    log_ratio += math.log(size_a * size_b) - math.log(float(n0) * float(n1))
    old_labels[:] = labels
    old_table[:] = table
    old_sums[:] = sums
    if c != a:
        sums[a] += sums[b]
        table[a, SIZE] = both
        for x in back:
            labels[x] = a
    sums[c] = grown[0]
    sums[b] = grown[1]
    table[c, SIZE] = n0
    table[b, SIZE] = n1
    for i in range(members.size):
        labels[members[i]] = c if side[i] == 0 else b
    _pair_sums(labels, sums, is_dense, table)
    if rule[0] >= SILHOUETTE:
        _squares(basis, is_dense, labels, table)
    summarise(rule, table)
    if _accepted(rule, power, before, value(rule, part), log_ratio, state):
        counts[3] += 1
        return
    labels[:] = old_labels
    table[:] = old_table
    sums[:] = old_sums


# -- chains ---------------------------------------------------------------------------------


@jit
def _exchange(rule, powers, parts, slots, parity, state, swaps):
    """Propose to exchange the partitions of neighbouring powers, every second pair."""
    labels, tables, sums = parts
    levels = np.empty(2)
    for k in range(parity, powers.size - 1, 2):
        for side in range(2):
            r = slots[k + side]
            levels[side] = level(rule, value(rule, (labels[r], tables[r], sums[r])))
        gain = (powers[k] - powers[k + 1]) * (levels[1] - levels[0])
        swaps[k, 0] += 1
        if gain >= 0.0 or math.log(1.0 - uniform(state)) < gain:
            slots[k], slots[k + 1] = slots[k + 1], slots[k]
            swaps[k, 1] += 1


@jit
def run(basis, is_dense, diagonal, rule, plan, powers, parts, slots, states, samples, trace, stats):
    """Walk for one round, with one partition at each power; the first is recorded.

    ``plan`` is (sweeps, thin, merge-split proposals after each sweep, size of subsets or 0 for
    Gibbs sweeps); ``parts`` are states with one more axis; ``slots[k]`` is the partition at power
    k; ``states`` are random states, one for each partition and one for the exchanges. Fills
    ``samples`` (sweeps // thin, n) and ``trace`` (sweeps, powers). ``stats`` are the counts of each
    power, and the exchanges proposed and made between it and the next.
    """
    counts, swaps = stats
    sweeps, thin, splits, subset = plan
    labels, tables, sums = parts
    n, s, width = labels.shape[1], sums.shape[1], basis.shape[1]
    order = np.arange(n)
    work = np.empty((3, s))
    spare = (
        np.empty((2, width)),
        np.empty((2, width)),
        np.empty(n, dtype=np.int64),
        np.empty((s + 1, s + PAIRS)),
        np.empty((s, width)),
    )
    last = states.size - 1
    busy_at = np.zeros(powers.size, dtype=np.bool_)
    for r in range(powers.size):
        fill(basis, is_dense, rule, (labels[r], tables[r], sums[r]))
    for t in range(sweeps):
        for k in range(powers.size):
            r, power, count = slots[k], powers[k], counts[k]
            part, state = (labels[r], tables[r], sums[r]), states[r : r + 1]
            if subset > 0:
                subsets(basis, is_dense, diagonal, rule, power, part, order, subset, state, count)
            else:
                before = count[0]
                busy = busy_at[k]
                sweep(basis, is_dense, diagonal, rule, power, part, order, state, work, count, busy)
                busy_at[k] = count[0] - before > _BUSY * n
            for _ in range(splits if s > 1 else 0):
                merge_split(basis, is_dense, diagonal, rule, power, part, state, count, spare)
        _exchange(rule, powers, parts, slots, t % 2, states[last:], swaps)
        for k in range(powers.size):
            r = slots[k]
            trace[t, k] = value(rule, (labels[r], tables[r], sums[r]))
        if (t + 1) % thin == 0:
            samples[t // thin] = labels[slots[0]]
