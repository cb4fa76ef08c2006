r"""What each consensus method computes, in formulas: the part of a method's page that is written.

n points, r partitions :math:`\pi_1,\dots,\pi_r`; B has one row per point and one column per cluster
of any partition, and S = B Bᵀ counts the partitions that put two points together.
"""

from __future__ import annotations

MATHEMATICS: dict[str, str] = {
    "bagclust": r"""
Variant 1 renames the clusters of the partition :math:`\pi_b` by the permutation that shares most
points with the reference :math:`\pi_0`, and lets the points vote that were drawn:

.. math:: \sigma_b = \mathrm{arg\,max}_{\sigma} \sum_{x} [\,\sigma(\pi_b(x)) = \pi_0(x)\,], \qquad
   \pi(x) = \mathrm{arg\,max}_{k} \sum_{b\,:\,x \in b} [\,\sigma_b(\pi_b(x)) = k\,]

Variant 2 clusters the points by a dissimilarity, where :math:`m_{xy}` counts the partitions that
drew both points and :math:`s_{xy}` those of them that put both together:

.. math:: d(x, y) = 1 - \frac{s_{xy}}{m_{xy}}
""",
    "consensus_choice": r"""
Of the candidate answers :math:`\pi` the one with the largest sum is taken,

.. math:: \frac{1}{n} \sum_{x} \log f_{\pi(x)}(x) + \log \mathrm{DuNN}(\pi)
   + \frac{1}{2} \log \left( \frac{\min_k |C_k|}{n / K} + \frac{1}{5} \right)
   + \frac{3}{2} \overline{\mathrm{ARI}}(\pi)

with :math:`f_k` the Gaussian density fitted to cluster :math:`C_k` times its share of the points,
:math:`\mathrm{DuNN}` the DuNN-OWA index (a smooth smallest distance between near points of
different clusters), K its number of clusters, and :math:`\overline{\mathrm{ARI}}` the mean adjusted
Rand index with the other candidates. A column whose values lie h apart adds :math:`h^2 / 12` to its
variance in every cluster.
""",
    "cspa": r"""
The graph of the points has the weights :math:`S_{xy}`, and is cut into K parts of nearly equal size
at the least weight between the parts:

.. math:: \min_{\pi} \sum_{x < y,\; \pi(x) \neq \pi(y)} S_{xy}
   \qquad \mathrm{with} \qquad |C_k| \leq (1 + \epsilon)\,\frac{n}{K}
""",
    "eac": r"""
The co-association of two points is the share of the partitions that put them together, among those
that saw both; :math:`m_{xy}` counts these.

.. math:: C_{xy} = \frac{1}{m_{xy}} \sum_{i} [\,\pi_i(x) = \pi_i(y)\,], \qquad d(x, y) = 1 - C_{xy}

A linkage of d is cut at K clusters, at the similarity t (with single linkage: the components of the
graph :math:`C_{xy} \geq t`), or at the longest lifetime. With the heights :math:`h_1 \leq \dots
\leq h_{n-1}` of the merges that is

.. math:: K = n - \mathrm{arg\,max}_{l} \, (h_{l+1} - h_l)
""",
    "gcc": r"""
Of the answers of CSPA, HGPA and MCLA the one is returned that shares most information with the
ensemble,

.. math:: \max_{\pi} \; \frac{1}{r} \sum_{i=1}^{r} \mathrm{NMI}(\pi, \pi_i)
""",
    "hbgf": r"""
Points and clusters are the vertices of one graph with the weights

.. math:: W_{xc} = W_{cx} = B_{xc}, \qquad W_{xy} = W_{cd} = 0

for points x, y and clusters c, d. A part of the cut holds points and clusters at once. METIS cuts
it into parts with nearly equal numbers of points; ``partitioner="spectral"`` takes the normalised
cut, whose eigenvectors are the singular vectors of :math:`D_x^{-1/2} B\, D_c^{-1/2}` with the
degrees :math:`D_x` of the points and :math:`D_c` of the clusters.
""",
    "hgpa": r"""
Every cluster h of every partition is a hyperedge. The cut counts the hyperedges that are not whole,
however they are split:

.. math:: \min_{\pi} \sum_{h} [\; h \; \mathrm{has\ points\ in\ more\ than\ one\ part}\;]
   \qquad \mathrm{with} \qquad |C_k| \leq (1 + \epsilon)\,\frac{n}{K}
""",
    "ikl": r"""
One relaxation holds k-means of the attributes X (centred) and the normalised cut of the relations
W with the degrees D:

.. math:: \max_{Q^{\top} Q = I} \; \mathrm{tr}\; Q^{\top} \left( \frac{X X^{\top}}{c_1} +
   \gamma\, \frac{D^{-1/2} W D^{-1/2}}{c_2} \right) Q

with the largest eigenvalues :math:`c_1` and :math:`c_2` of the two terms. k-means on the rows of Q
gives the clusters.
""",
    "kcc": r"""
The clustering with the largest sum of utilities is sought. For the category utility, with the share
:math:`p_{k+}` of cluster k, its shares :math:`P_k^{(i)}` of the clusters of :math:`\pi_i`, and the
shares :math:`P^{(i)}` of all points,

.. math:: \max_{\pi} \sum_{i} w_i\, U(\pi, \pi_i), \qquad
   U_c = \sum_k p_{k+} \, \| P_k^{(i)} \|^2 - \| P^{(i)} \|^2

This is a k-means over the rows of B with a distance of its own. The other utilities are the mutual
information (distance: Kullback-Leibler), the cosine and the p-norm:

.. math:: d_c(x, m) = \sum_i w_i\, \| b_i(x) - m_i \|^2, \qquad
   d_H(x, m) = - \sum_i w_i \log_2 m_i[\pi_i(x)]
""",
    "lift_hac": r"""
A cluster is the sum of its points' images in the space of a kernel, at unit length:

.. math:: \bar{\Phi}(C) = \frac{\Phi(C)}{\|\Phi(C)\|}, \qquad
   \Phi(C) = \sum_{x \in C} \phi(x), \qquad \langle \phi(x), \phi(y) \rangle = \kappa(x, y)

The vectors of all clusters of all partitions are linked by their distances into K groups, and a
point goes to the mean v of the group with the largest :math:`\langle \phi(x), v \rangle`.
""",
    "lift_km": r"""
A cluster is the sum of its points' images in the space of a kernel, at unit length,
:math:`\bar{\Phi}(C)`. The clusters of all partitions are grouped by a weighted k-means:

.. math:: \min_{v_1, \dots, v_K} \; \sum_{i} \sum_{C \in \pi_i} \frac{|C|}{n}\;
   \min_k \| \bar{\Phi}(C) - v_k \|^2

.. math:: \pi(x) = \mathrm{arg\,max}_k\; \langle \phi(x), v_k \rangle
""",
    "lsce": r"""
The objective adds the category utility of the partitions to the normalised cut of the features,
with the Laplacian :math:`L = I - D^{-1/2} A\, D^{-1/2}` of an affinity A of the features:

.. math:: \min_{H^{\top} H = I} \; \mathrm{tr}\; H^{\top} (\alpha L - S)\, H

H holds the eigenvectors of the K smallest eigenvalues; k-means on its rows gives the clusters.
""",
    "lwea": r"""
The uncertainty of a cluster C is the entropy of the pieces into which the partitions split it, and
its reliability falls with it:

.. math:: H(C) = - \sum_{i=1}^{r} \sum_{j} p_{ij} \log_2 p_{ij}, \quad
   p_{ij} = \frac{|C \cap C_{ij}|}{|C|}

.. math:: \mathrm{ECI}(C) = \exp\left( - \frac{H(C)}{\theta\, r} \right)

where :math:`C_{ij}` is the cluster j of :math:`\pi_i`.

The co-association counts reliabilities; average linkage of :math:`1 - A` is cut.

.. math:: A_{xy} = \frac{1}{r} \sum_{i} \mathrm{ECI}(C_i(x)) \; [\, \pi_i(x) = \pi_i(y) \,]
""",
    "lwgp": r"""
Points and clusters are the two sides of a graph, with the reliability of a cluster as the weight of
its links: :math:`\tilde{B} = B\, \mathrm{diag}(\mathrm{ECI})` (see LWEA). The normalised cut of the
whole graph is solved among the clusters alone (the transfer cut):

.. math:: W_c = \tilde{B}^{\top} D_x^{-1} \tilde{B}, \qquad (D_c - W_c)\, v = \lambda D_c\, v

.. math:: u = \frac{1}{1 - \gamma}\, D_x^{-1} \tilde{B}\, v, \qquad \gamma (2 - \gamma) = \lambda

k-means on the rows of the K vectors u gives the clusters.
""",
    "majority_vote": r"""
Two points are linked where more than a share t of the partitions that saw both put them together,
and clusters are the connected components of the links:

.. math:: x \sim y \quad \Longleftrightarrow \quad C_{xy} > t, \qquad t = \frac{1}{2}
""",
    "mcla": r"""
Clusters a and b of any two partitions are as alike as their Jaccard coefficient says,

.. math:: w_{ab} = \frac{|a \cap b|}{|a \cup b|}

A balanced cut of this graph makes K groups :math:`G_k` of clusters. A point goes to the group in
whose clusters it is most often:

.. math:: \pi(x) = \mathrm{arg\,max}_{k} \; \frac{1}{|G_k|} \sum_{a \in G_k} [\, x \in a \,]
""",
    "median_partition": r"""
The partition with the least sum of distances to the inputs is sought, by default of the Mirkin
distance, twice the number of pairs that are together in one and apart in the other:

.. math:: \min_{\pi} \sum_{i} w_i\, d(\pi, \pi_i), \qquad
   d_M(\pi, \pi') = \sum_{k} |C_k|^2 + \sum_{l} |C'_l|^2 - 2 \sum_{k, l} |C_k \cap C'_l|^2

For a metric, the best of the inputs costs at most twice the optimum; one-point moves lower it.
""",
    "nsce": r"""
The quotient of the two terms of LSCE in place of their sum:

.. math:: \max_{H} \; \mathrm{tr}\; \frac{H^{\top} S\, H}{H^{\top} L\, H}, \qquad
   L^{+} S\, h = \mu\, h

H holds the vectors of the K largest :math:`\mu`, found from the symmetric matrix
:math:`B^{\top} L^{+} B` of the clusters; k-means on its rows gives the clusters.
""",
    "rce": r"""
A partition is a distribution :math:`P_i` over pairs of points. It is what the consensus Q explains
and a sparse error, and Q has rank K:

.. math:: \min \; \sum_{i} \left( \mathrm{KL}(Z_i \,\|\, Q) + \lambda \, \| P_i - Z_i \|_1 \right),
   \qquad Q = H H^{\top}, \quad H \geq 0, \quad \sum_{xy} Q_{xy} = 1

Given Q the best :math:`Z_i` is :math:`P_i` clipped, entry by entry, to within a factor
:math:`e^{\lambda}` of Q; given the :math:`Z_i` an EM step lowers the cost.
""",
    "sca": r"""
The co-association with a zero diagonal is scaled to a doubly stochastic matrix (Sinkhorn-Knopp), a
Markov chain on the points:

.. math:: P = D\, S\, D, \qquad P\, \mathbf{1} = \mathbf{1}

Its eigenvalues near 1 count the clusters: K is where their largest gap lies. A random distribution
:math:`x_0` evolves, :math:`x_{t} = x_{t-1} P`, and soon has nearly equal values within clusters;
the K - 1 largest gaps of its sorted values cut it. How nearly S falls into blocks is

.. math:: \zeta = \frac{\max_x \; \sum_{y \,:\, \pi(y) \neq \pi(x)} S_{xy}}{\max_x \; \sum_y S_{xy}}
""",
    "sec": r"""
With the row sums :math:`w(x) = \sum_y S_{xy}`, the total size of the clusters that hold x, the
normalised cut of S is a weighted k-means of the rows of B:

.. math:: \max_{Z} \; \mathrm{tr}\; Z^{\top} D^{-1/2} S\, D^{-1/2} Z \quad \Longleftrightarrow \quad
   \min \; \sum_{x} w(x) \| b(x) / w(x) - m_{\pi(x)} \|^2

.. math:: m_k = \frac{\sum_{x \in C_k} b(x)}{\sum_{x \in C_k} w(x)}, \qquad D = \mathrm{diag}(w)
""",
    "spectral": r"""
The leading eigenvectors of the normalised co-association are the left singular vectors of a small
matrix, so that S is never formed:

.. math:: D^{-1/2} S\, D^{-1/2} = \left( D^{-1/2} B \right) \left( D^{-1/2} B \right)^{\top},
   \qquad D = \mathrm{diag}(S\, \mathbf{1})

The rows of the K leading ones, at unit length, are clustered by k-means.
""",
}
