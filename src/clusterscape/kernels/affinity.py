"""Products of a dense symmetric affinity in double precision."""

from __future__ import annotations

from clusterscape.kernels._jit import jit


@jit
def symmetric_product(matrix, values, out):
    """Add A @ values to ``out``; A is (n, n) and symmetric, values and out are (m, n): transposed.

    Rows of A are added up, which is the product since A is symmetric: the inner loop has no sum
    that would have to stay in order. Four rows at a time, to read and write ``out`` less often.
    """
    n = matrix.shape[0]
    for j in range(values.shape[0]):
        total = out[j]
        for x in range(0, n - 3, 4):
            a, b, c, d = values[j, x], values[j, x + 1], values[j, x + 2], values[j, x + 3]
            first, second, third, fourth = matrix[x], matrix[x + 1], matrix[x + 2], matrix[x + 3]
            for y in range(n):
                total[y] += (a * first[y] + b * second[y]) + (c * third[y] + d * fourth[y])
        for x in range(n - n % 4, n):
            a, first = values[j, x], matrix[x]
            for y in range(n):
                total[y] += a * first[y]
