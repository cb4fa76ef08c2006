"""Contingency tables of many pairs of partitions, and the sums that measures are made of.

A table is the list of its non-empty cells ``(row, column, mass)``, so two partitions into very many
clusters cost no more memory than their points. Row or column -1 holds the points that are clusters
of their own; its mass is their number.
"""

from __future__ import annotations

import math

import numpy as np

from clusterscape.kernels._jit import jit

# What a noise point is: a cluster of its own, a member of one more cluster, or left out.
SINGLETONS = 0
CLUSTER = 1
DROP = 2

# Tables up to this size are counted as one dense array: 1 MB of counts stays in the cache.
DENSE_CELLS = 1 << 18

# x log x of small counts, which most cells are.
XLOGX = np.zeros(1 << 12)
XLOGX[1:] = np.arange(1, XLOGX.size) * np.log(np.arange(1, XLOGX.size))

N_SUMS = 10


def scratch(n_clusters, weighted):
    """Return the array of zeros in which ``tables`` counts, for partitions of these sizes."""
    widest = int(n_clusters.max()) + 2
    size = max(min(widest * widest, DENSE_CELLS), widest)
    return np.zeros(size, dtype=np.float64 if weighted else np.int32)


def tables(labels, n_clusters, pairs, weights, noise, counts, starts, rows, cols, mass):
    """Write the cells of every pair's table; those of pair p are ``starts[p]:starts[p + 1]``.

    ``labels`` is (r, n) with -1 noise and -2 unsampled; ``weights`` is None or (n,); ``counts``
    comes from ``scratch``. Points that are unsampled in either partition are in no cell. The three
    outputs need space for one cell more than there can be.
    """
    n, widest = labels.shape[1], int(n_clusters.max()) + 2
    dense = min(DENSE_CELLS, 4 * n + 64)
    # A branch on None is left out when compiling: few programs have tables too large to be counted.
    sorting = None
    if widest * widest > dense:
        sorting = np.empty(n, np.int32), np.empty(widest, np.int64)
    _tables(
        labels, n_clusters, pairs, weights, noise, counts, dense, sorting, starts, rows, cols, mass
    )


@jit
def _tables(
    labels, n_clusters, pairs, weights, noise, counts, dense, sorting, starts, rows, cols, mass
):
    sorted_by = -1
    at = 0
    starts[0] = 0
    for p in range(pairs.shape[0]):
        i = pairs[p, 0]
        j = pairs[p, 1]
        height = n_clusters[i] + 2
        width = n_clusters[j] + 2
        if height * width <= dense:
            _count(labels, i, j, weights, width, counts)
            at = _cells_of_dense(counts, height, width, noise, at, rows, cols, mass)
        elif sorting is not None:
            order, ends = sorting
            if sorted_by != i:
                _sort_points(labels[i], order, ends[:height])
                sorted_by = i
            # Slices take long to compile, but loops over them are a tenth faster.
            line = counts[:width]
            at = _cells_by_row(
                labels[j], weights, order, ends[:height], line, noise, at, rows, cols, mass
            )
        starts[p + 1] = at


@jit
def _widest(sizes, j):
    """Return the greatest number of a column; numba takes long to compile ``max`` of an array."""
    found = 0
    for p in range(sizes.shape[0]):
        found = max(found, sizes[p, j])
    return found


@jit
def _count(labels, i, j, weights, width, dense):
    """Count points by (label + 2) in i and j, so that noise and unsampled need no branch."""
    if weights is None:
        for x in range(labels.shape[1]):
            dense[(np.int64(labels[i, x]) + 2) * width + np.int64(labels[j, x]) + 2] += 1
    else:
        for x in range(labels.shape[1]):
            dense[(np.int64(labels[i, x]) + 2) * width + np.int64(labels[j, x]) + 2] += weights[x]


@jit
def _code(shifted, size, noise):
    """Return the row or column of a shifted label, ``size`` being two more than the clusters."""
    if shifted > 1:
        return shifted - 2
    return size - 2 if noise == CLUSTER else -1


@jit
def _cells_of_dense(dense, height, width, noise, at, rows, cols, mass):
    """Append the cells of a counted table, and set it to zero for the next pair."""
    first = 2 if noise == DROP else 1
    for row in range(first, height):
        code = _code(row, height, noise)
        for col in range(first, width):
            # Written always and kept when not empty: a branch here would cost more.
            rows[at] = code
            cols[at] = _code(col, width, noise)
            mass[at] = dense[row * width + col]
            at += dense[row * width + col] != 0
    for cell in range(height * width):
        dense[cell] = 0
    return at


@jit
def _sort_points(a, order, ends):
    """Sort points by their label in ``a``; those with label c end at ``ends[c + 2]``."""
    ends[:] = 0
    for x in range(a.size):
        ends[np.int64(a[x]) + 2] += 1
    total = 0
    for c in range(ends.size):
        size = ends[c]
        ends[c] = total
        total += size
    for x in range(a.size):
        c = np.int64(a[x]) + 2
        order[ends[c]] = x
        ends[c] += 1


@jit
def _cells_by_row(b, weights, order, ends, line, noise, at, rows, cols, mass):
    """Append the cells of a table too large to hold, one row after the other."""
    first = 2 if noise == DROP else 1
    for row in range(first, ends.size):
        code = _code(row, ends.size, noise)
        members = order[ends[row - 1] : ends[row]]
        for x in members:
            if weights is None:
                line[np.int64(b[x]) + 2] += 1
            else:
                line[np.int64(b[x]) + 2] += weights[x]
        for x in members:
            col = np.int64(b[x]) + 2
            if line[col] != 0 and col >= first:
                rows[at] = code
                cols[at] = _code(col, line.size, noise)
                mass[at] = line[col]
                at += 1
            line[col] = 0
    return at


@jit
def _xlogx(value, whole, known):
    if whole and value < known.size:
        return known[np.int64(value)]
    return value * math.log(value) if value > 0 else 0.0


@jit
def _margins(rows, cols, mass, begin, end, row_sums, n_rows, col_sums, n_cols):
    """Fill the sums of the rows and columns of the table of the cells begin..end-1; return the mass
    of all cells, and that of the points that are alone in a row of their own and in a column.
    """
    for i in range(n_rows):
        row_sums[i] = 0.0
    for j in range(n_cols):
        col_sums[j] = 0.0
    total = alone_rows = alone_cols = 0.0
    # Unsigned: numba then leaves out its test for negative places.
    for c in range(np.uint64(begin), np.uint64(end)):
        total += mass[c]
        if rows[c] >= 0:
            row_sums[rows[c]] += mass[c]
        else:
            alone_rows += mass[c]
        if cols[c] >= 0:
            col_sums[cols[c]] += mass[c]
        else:
            alone_cols += mass[c]
    return total, alone_rows, alone_cols


@jit
def _margin(values, size, alone, whole, known, out, p, at):
    """Fill number, squares and x log x of the rows (or columns) of a table: three of ``out[p]``."""
    number = squares = alone
    logs = 0.0
    for c in range(size):
        if values[c] > 0:
            number += 1
            squares += values[c] * values[c]
            logs += _xlogx(values[c], whole, known)
    out[p, at] = number
    out[p, at + 1] = squares
    out[p, at + 2] = logs


def sums(starts, rows, cols, mass, sizes, whole, known, out):
    """Fill the (m, N_SUMS) array ``out`` with what most measures need of each table.

    The columns: mass; number of cells, sum of their squares, sum of their x log x; then the same
    three for the rows and for the columns. ``sizes`` (m, 2) are the rows and columns of each
    table. ``whole`` says that masses are counts, whose x log x is in ``known``.
    """
    row, col = (np.empty(width) for width in sizes.max(axis=0, initial=0))
    _sums(starts, rows, cols, mass, sizes, whole, known, row, col, out)


@jit
def _sums(starts, rows, cols, mass, sizes, whole, known, row, col, out):
    for p in range(starts.size - 1):
        total, alone_a, alone_b = _margins(
            rows, cols, mass, starts[p], starts[p + 1], row, sizes[p, 0], col, sizes[p, 1]
        )
        cells = squares = logs = 0.0
        for c in range(np.uint64(starts[p]), np.uint64(starts[p + 1])):
            m = mass[c]
            if rows[c] >= 0 and cols[c] >= 0:
                cells += 1
                squares += m * m
                logs += _xlogx(m, whole, known)
            else:  # m cells of one point each: 1 squared is 1, and 1 log 1 is 0
                cells += m
                squares += m
        out[p, 0] = total
        out[p, 1] = cells
        out[p, 2] = squares
        out[p, 3] = logs
        _margin(row, sizes[p, 0], alone_a, whole, known, out, p, 4)
        _margin(col, sizes[p, 1], alone_b, whole, known, out, p, 7)


@jit
def largest(starts, rows, cols, mass, matchable, out):
    """Fill ``out`` with the sum over rows of the row's largest cell.

    Rows and columns from ``matchable`` (m, 2) on, and -1, are single points and count nothing.
    """
    best = np.empty(_widest(matchable, 0), np.float64)
    for p in range(starts.size - 1):
        height = matchable[p, 0]
        width = matchable[p, 1]
        best[:height] = 0.0
        for c in range(starts[p], starts[p + 1]):
            i = rows[c]
            if i >= 0 and i < height and cols[c] >= 0 and cols[c] < width:
                best[i] = max(best[i], mass[c])
        out[p] = best[:height].sum()


@jit
def powers(starts, rows, cols, mass, sizes, power, out):
    """Fill ``out`` (m, 3) with mean powers of shares, of which the KCC utilities are made.

    With s_k the sum over row k of (share of the row's mass)**power: means of s_k and of
    s_k**(1 / power), weighted by the rows' mass, and the sum of (share of all mass)**power over
    the columns.
    """
    row = np.empty(_widest(sizes, 0), np.float64)
    col = np.empty(_widest(sizes, 1), np.float64)
    row_power = np.empty(row.size)
    for p in range(starts.size - 1):
        total, alone_a, alone_b = _margins(
            rows, cols, mass, starts[p], starts[p + 1], row, sizes[p, 0], col, sizes[p, 1]
        )
        row_power[: sizes[p, 0]] = 0.0
        for c in range(starts[p], starts[p + 1]):
            i = rows[c]
            if i >= 0:
                # In column -1 there are mass[c] cells of one point each.
                size, number = (mass[c], 1.0) if cols[c] >= 0 else (1.0, mass[c])
                row_power[i] += number * (size / row[i]) ** power
        # A row of one point has the share 1 of itself.
        shares = norms = alone_a
        for i in range(sizes[p, 0]):
            shares += row[i] * row_power[i]
            norms += row[i] * row_power[i] ** (1.0 / power)
        columns = 0.0
        scale = 1.0 / total if total > 0 else 0.0
        for j in range(sizes[p, 1]):
            columns += (col[j] * scale) ** power
        out[p, 0] = shares * scale
        out[p, 1] = norms * scale
        out[p, 2] = columns + alone_b * scale**power


@jit
def _distinct(values, alone, size, number):
    """Write the distinct positive sizes and how often each occurs; return how many there are."""
    at = 0
    if alone > 0:
        size[0] = 1.0
        number[0] = alone
        at = 1
    ordered = np.sort(values)
    for c in range(ordered.size):
        if ordered[c] <= 0:
            continue
        if at > 0 and size[at - 1] == ordered[c]:
            number[at - 1] += 1.0
        else:
            size[at] = ordered[c]
            number[at] = 1.0
            at += 1
    return at


@jit
def _expected_cell(a, b, n):
    """Return E[x/n log(n x / (a b))] for x drawn from the hypergeometric law (n, a, b).

    The probabilities are found from the mode in both directions, until they vanish, and divided by
    their sum, so no factorial is needed. All arguments are whole floats.
    """
    low = max(0.0, a + b - n)
    high = min(a, b)
    mode = min(max(math.floor((a + 1.0) * (b + 1.0) / (n + 2.0)), low), high)
    shift = math.log(n / (a * b))
    total = 1.0
    value = mode * (math.log(mode) + shift) if mode > 0 else 0.0
    x = mode
    chance = 1.0
    while x < high and chance > 1e-30:
        chance *= (a - x) * (b - x) / ((x + 1.0) * (n - a - b + x + 1.0))
        x += 1.0
        total += chance
        value += chance * x * (math.log(x) + shift)
    x = mode
    chance = 1.0
    while x > low and chance > 1e-30:
        chance *= x * (n - a - b + x) / ((a - x + 1.0) * (b - x + 1.0))
        x -= 1.0
        total += chance
        if x > 0:
            value += chance * x * (math.log(x) + shift)
    return value / (total * n)


@jit
def expected_information(starts, rows, cols, mass, sizes, out):
    """Fill ``out`` with the mutual information expected of labels shuffled at random.

    Only the sizes of rows and columns matter, and clusters of equal size are taken together.
    """
    row = np.empty(_widest(sizes, 0), np.float64)
    col = np.empty(_widest(sizes, 1), np.float64)
    row_size = np.empty(row.size + 1)
    col_size = np.empty(col.size + 1)
    row_number = np.empty(row.size + 1)
    col_number = np.empty(col.size + 1)
    for p in range(starts.size - 1):
        total, alone_a, alone_b = _margins(
            rows, cols, mass, starts[p], starts[p + 1], row, sizes[p, 0], col, sizes[p, 1]
        )
        n_rows = _distinct(row[: sizes[p, 0]], alone_a, row_size, row_number)
        n_cols = _distinct(col[: sizes[p, 1]], alone_b, col_size, col_number)
        expected = 0.0
        for i in range(n_rows):
            for j in range(n_cols):
                cell = _expected_cell(row_size[i], col_size[j], total)
                expected += row_number[i] * col_number[j] * cell
        out[p] = expected
