r"""What the estimators beside the consensus methods compute, in formulas, and what they cost.

Clusters :math:`C_k` with :math:`n_k` points and centres :math:`\mu_k`; n points of d features.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Where an estimator is, its formulas, and its cost in words."""

    home: str
    mathematics: str
    cost: str


ESTIMATORS: dict[str, Entry] = {
    "ClusterForest": Entry(
        "clusterscape.forest",
        r"""
A set f of columns is as good as the k-means partition on it is clean, by sums over pairs of points
within and between the clusters:

.. math:: \kappa(f) = \frac{SS_W(f)}{SS_B(f)}, \qquad
   SS_W = \sum_{k} n_k \sum_{x \in C_k} \| x - \mu_k \|^2, \qquad
   SS_B = n \sum_{x} \| x - \mu \|^2 - SS_W

A clustering vector begins with the best of q draws of b columns. It grows by further draws, each
kept if it lowers :math:`\kappa`, until as many draws in a row as the patience have failed. The
vectors' co-association, small entries set to zero, is cut spectrally.
""",
        "Each vector costs one k-means for each draw that is tried, on the columns kept so far.",
    ),
    "RandomProjectionEnsemble": Entry(
        "clusterscape.combine",
        r"""
Run i projects the points to the span of a few orthonormal directions :math:`R_i` and fits a mixture
there, with the number of components that has the least :math:`\mathrm{BIC} = - 2 \log L + p \log n`
for p parameters. With its posteriors :math:`P_i(l \, | \, x)` two points are as similar as

.. math:: S_{xy} = \frac{1}{r} \sum_{i=1}^{r} \sum_{l} P_i(l \, | \, x) \; P_i(l \, | \, y), \qquad
   d(x, y) = 1 - S_{xy}

and a linkage of d is cut. With k-means in the place of mixtures the posteriors are 0 and 1.
""",
        "The mixtures of the runs, O(n) each, and the linkage, O(n²) time and memory (k-means with "
        "single linkage needs less).",
    ),
    "PartitionSampler": Entry(
        "clusterscape.explore",
        r"""
A Markov chain on the partitions into s clusters whose stationary probability is a power of a
quality Q. A sweep visits the points in random order; a point x draws its cluster given all others:

.. math:: P(\pi) \; \propto \; Q(\pi)^{\beta}, \qquad
   P(x \rightarrow C_j) = \frac{Q(\pi_{x \rightarrow j})^{\beta}}
   {\sum_{l} Q(\pi_{x \rightarrow l})^{\beta}}

Among the qualities are, with :math:`\kappa_{jl}` the mean kernel value between two clusters,

.. math:: Q_{km} = \frac{1}{\sum_{k} \sum_{x \in C_k} \| x - \mu_k \|^2}, \qquad
   Q_w = \sum_{j} \kappa_{jj}, \qquad
   Q_{w-s} = Q_w^2 - \sum_{j, l} \kappa_{jl}
""",
        "A sweep of k-means' quality takes O(n s d); those of kernels O(n s rho) with rho random "
        "features.",
    ),
    "Landscape": Entry(
        "clusterscape.explore",
        r"""
Partitions are sampled in proportion to a power of their quality (see :class:`PartitionSampler
<clusterscape.explore.PartitionSampler>`), and compared by a distance d, by default LiftEMD.
They are
grouped by average linkage, or by adding again and again the partition that is farthest from all
centres Z so far:

.. math:: z = \mathrm{arg\,max}_{\pi} \; \min_{z' \in Z} d(\pi, z')

The representative of a group is its member of best quality.
""",
        "The sweeps of the sampler, and m (m - 1) / 2 distances for m different partitions.",
    ),
    "Affinity": Entry(
        "clusterscape.validate",
        r"""
Let :math:`V_i` be the Voronoi cell of centre :math:`c_i` and :math:`U_x` the cell that a point x
would get if it were a centre too. The share of cluster i is what x takes from it, and the stability
of x is the largest share:

.. math:: \alpha_i(x) = \frac{\mathrm{Vol}(V_i \cap U_x)}{\mathrm{Vol}(U_x)}, \qquad
   \sigma(x) = \max_i \alpha_i(x)

Inside the hull of the centres :math:`\sum_i \alpha_i(x)\, c_i = x` (Sibson's identity). With two
centres the shares are linear between them. In two and three dimensions the volumes are exact,
beyond that they are sampled by hit-and-run.
""",
        "The points are first projected to the at most k - 1 dimensions of the centres. Sampling "
        "takes O(n m k) for m samples per point in each of these dimensions.",
    ),
    "AffinityMap": Entry(
        "clusterscape.validate",
        r"""
With the stability :math:`\sigma` and the strongest cluster at the corners v of a cell (see
:class:`Affinity <clusterscape.validate.Affinity>`), the cell is divided when

.. math:: \min_{v} \sigma(v) < \tau \qquad \mathrm{or} \qquad
   \mathrm{arg\,max}_i \, \alpha_i(v) \; \mathrm{differs\ among\ its\ corners}

A cell of a single cluster that came from a divided one is left alone where interpolation
:math:`\tilde{\sigma}` between the corners of that one is good enough:

.. math:: \max_{v} | \sigma(v) - \tilde{\sigma}(v) | \leq \mathrm{tolerance}
""",
        "One stability for each corner that is looked at; ``n_full_`` says how many the full grid "
        "would have had.",
    ),
    "ActiveClustering": Entry(
        "clusterscape.validate",
        r"""
Among k centres drawn by k-means++ every point has a stability :math:`\sigma` (see
:class:`Affinity <clusterscape.validate.Affinity>`). A sample of about :math:`5 \sqrt{n}` points is
drawn, one part from those above the threshold t and one from the others,

.. math:: \{ x : \sigma(x) > t \} \qquad \mathrm{and} \qquad \{ x : \sigma(x) \leq t \}

clustered in several ways and combined. With the means :math:`\mu_k` of the consensus clusters, each
point outside of the sample gets

.. math:: \pi(x) = \mathrm{arg\,min}_{k} \| x - \mu_k \|
""",
        "O(n k d) for the stabilities and the last step. Clusterers that take the square of the "
        "number of points are linear in n, because the sample has about 5 sqrt(n).",
    ),
    "COPKMeans": Entry(
        "clusterscape.semisupervised",
        r"""
k-means over the groups G of points that must-links join, each with its mean and its size:

.. math:: \min \; \sum_{G} |G| \; \| \bar{x}_G - \mu_{\pi(G)} \|^2 \qquad \mathrm{with} \qquad
   \pi(G) \neq \pi(H) \;\; \mathrm{for\ each\ cannot\!-\!link\ of\ } G, H

Whether the cannot-links can be kept with K clusters at all is a question of colouring a graph,
which is hard for K of 3 or more.
""",
        "O(n K d) per iteration, as k-means, and the cannot-links once.",
    ),
    "LandmarkSpectral": Entry(
        "clusterscape.semisupervised",
        r"""
Each point is a mixture of its r nearest of p landmarks :math:`u_j`,

.. math:: z_{jx} = \frac{\kappa(x, u_j)}{\sum_{l \in r(x)} \kappa(x, u_l)}, \qquad
   W = \hat{Z}^{\top} \hat{Z}, \qquad \hat{Z} = D^{-1/2} Z, \quad D = \mathrm{diag}(Z \mathbf{1})

The eigenvectors of the affinity W are the right singular vectors of :math:`\hat{Z}`. The constant
one is left out, and k-means on the rows gives the clusters.
""",
        "O(n p d + n r² + p³) time, O(n r + p²) memory.",
    ),
    "CSP": Entry(
        "clusterscape.semisupervised",
        r"""
Q has +1 for a must-link, -1 for a cannot-link. Among the vectors that satisfy the constraints well
enough those with a small normalised cut are taken:

.. math:: \min_{v} \; v^{\top} L\, v \qquad \mathrm{with} \qquad v^{\top} Q\, v \geq \beta \| v \|^2

.. math:: L\, v = \lambda\, (Q - \beta I)\, v
""",
        "O(n³) time, O(n²) memory.",
    ),
    "SCACS": Entry(
        "clusterscape.semisupervised",
        r"""
The problem of CSP among the vectors :math:`v = \hat{Z}^{\top} u` of p landmarks (see
LandmarkSpectral).
With :math:`G = \hat{Z} \hat{Z}^{\top}`:

.. math:: (G - G^2)\, u = \lambda \, (\hat{Z} Q \hat{Z}^{\top} - \beta\, G)\, u, \qquad
   \beta = \beta_0 \, \lambda_{max}

where :math:`\lambda_{max}` is the largest generalised eigenvalue of :math:`\hat{Z} Q
\hat{Z}^{\top}` and G: how far the constraints can be satisfied at all.
""",
        "O(n p d + n r² + p³) time, O(n r + p²) memory.",
    ),
    "ConstrainedSpectral": Entry(
        "clusterscape.semisupervised",
        r"""
Must-links are added to the Laplacian of the graph of near neighbours, cannot-links make a second
graph, and cuts are sought that are small in the one and large in the other:

.. math:: \min_{S} \frac{\mathrm{cut}_G(S)}{\mathrm{cut}_H(S)}, \qquad
   (L + \alpha\, L_{ML})\, x = \lambda \, L_{CL} \, x

The rows of the first vectors are put on a sphere and clustered by k-means.
""",
        "A sparse generalised eigenproblem of n points, with k vectors.",
    ),
    "FastConstrainedSpectral": Entry(
        "clusterscape.semisupervised",
        r"""
The problem of ConstrainedSpectral among the vectors :math:`x = \hat{Z}^{\top} y` of p
landmarks (see
LandmarkSpectral), which leaves matrices of the size of the landmarks:

.. math:: \left( G - G^2 + \alpha\, \hat{Z} L_{ML} \hat{Z}^{\top} \right) y =
   \lambda \, \hat{Z} L_{CL} \hat{Z}^{\top} y, \qquad G = \hat{Z} \hat{Z}^{\top}

The rows of :math:`X = \hat{Z}^{\top} Y` are put on a sphere; k-means runs on a sample of them
(CCS-LS) or on all (CCS-L).
""",
        "O(n p d + n r² + p³ + n k²) time, O(n r + p²) memory.",
    ),
    "ConstrainedEnsemble": Entry(
        "clusterscape.semisupervised",
        r"""
Every member :math:`\pi_i` is a constrained clustering with a number of clusters and landmarks of
its own. They are combined as any ensemble is, by default by SEC:

.. math:: \min \; \sum_{x} w(x) \| b(x) / w(x) - m_{\pi(x)} \|^2

and the constraints that are certain are kept in the answer.
""",
        "The sum of the members' costs and of the consensus.",
    ),
    "FuzzyCMeans": Entry(
        "clusterscape.semisupervised",
        r"""
.. math:: \min \; \sum_{x} \sum_{k} w_{xk}^m \; \| x - c_k \|^2, \qquad \sum_{k} w_{xk} = 1

is lowered by turns:

.. math:: w_{xk} = \frac{1}{\sum_{l} \left( \| x - c_k \| / \| x - c_l \| \right)^{2 / (m - 1)}},
   \qquad c_k = \frac{\sum_{x} w_{xk}^m \, x}{\sum_{x} w_{xk}^m}

As m goes to 1 this becomes k-means; a large m makes all memberships equal.
""",
        "O(n c d) per iteration for c clusters.",
    ),
    "TransductiveSVC": Entry(
        "clusterscape.semisupervised",
        r"""
The margin is kept wide among labelled and unlabelled points. With the hinge :math:`H_s(z) = \max(0,
s - z)` and the ramp :math:`R_s = H_1 - H_s`, and each unlabelled point once with either sign y:

.. math:: \min \; \frac{1}{2} \| w \|^2 + C \sum_{i \leq L} H_1(y_i f(x_i)) +
   C^{*} \sum_{i > L} R_s(y_i f(x_i))

.. math:: \mathrm{with} \qquad \frac{1}{U} \sum_{u} f(x_u) = \frac{1}{L} \sum_{i \leq L} y_i

The ramp is a difference of convex functions. Each round replaces its concave part by a tangent and
solves a convex problem, so that the objective never rises.
""",
        "Between the square and the cube of L + 2 U for the points that are held; with subsampling "
        "O(n) for each round besides.",
    ),
    "AdaptiveSubsampler": Entry(
        "clusterscape.semisupervised",
        r"""
Unlabelled points are drawn without replacement, in proportion to

.. math:: \sigma(x) = \sigma_l(x) \; \frac{H_C(x)}{\log c}, \qquad
   \sigma_l(x) = 2 \min(p, 1 - p), \qquad p = P(y = 1 \, | \, x)

with :math:`H_C` the entropy of the memberships of x in c fuzzy clusters, and p by Platt's
scaling of the
machine of the round before.
""",
        "O(n) for each round, and the machine on the points that were drawn.",
    ),
}
