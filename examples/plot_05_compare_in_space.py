"""
5. Comparing clusterings in space
=================================

Two clusterings can differ from a third by the same number of points, although one of them is close
to it and the other is not. Measures that use labels alone cannot see this; these can.
"""

# %%
# The same numbers, other places
# ------------------------------
# Three clusters of eight points. In ``near``, neighbours exchange two points each; in ``far``, the
# first and the third do, across the whole picture.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.preprocessing import StandardScaler

import clusterscape as cs

triple = cs.datasets.make_2d3c()
partitions = {"reference": triple.reference, "near": triple.near, "far": triple.far}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
for axis, (name, labels) in zip(axes, partitions.items(), strict=True):
    axis.scatter(*triple.X.T, c=cs.plot.cluster_colors(labels), s=30)
    axis.set_title(name)

# %%
# Rand and the variation of information find both equally far from the reference. Each measure in
# space finds ``near`` nearer.

ensemble = cs.Ensemble.from_labels(partitions)
names = ["rand_distance", "vi", "lift_emd", "lift_hausdorff", "lift_kernel", "cc_distance"]
result = cs.compare.pairwise(ensemble, [*names, "cdistance"], features=triple.X)
print(pd.DataFrame({name: m[0, 1:] for name, m in result.matrices.items()}, ["near", "far"]).T)

# %%
# What makes two clusterings differ
# ---------------------------------
# Two clusterings of 178 wines. The distance is the least work of moving one set of clusters onto
# the other, so it can be taken apart: which cluster goes where, and at what cost.

wine = cs.datasets.load("wine")
X = StandardScaler().fit_transform(wine.data)
kmeans = KMeans(3, n_init=10, random_state=0).fit_predict(X)
complete = AgglomerativeClustering(4, linkage="complete").fit_predict(X)
found = cs.compare.explain(kmeans, complete, X)
print(found)
print(found.moves.round(3))

# %%
# The same as a picture: clusters at the sides, as high as they are large. A dark ribbon is mass
# that goes far.

sides = ("k-means", "complete linkage")
display = cs.plot.TransportDisplay.from_explanation(found, names=sides)

# %%
# And point by point: large dark dots are wines whose two clusters lie far apart.

display = cs.plot.DifferencesDisplay.from_explanation(found, X, names=sides)

# %%
# A consensus in the same space
# -----------------------------
# The clusters of many clusterings are points in space, too, and can be clustered themselves. Here
# are thirty k-means with random numbers of clusters. Clusters of different clusterings that lie in
# the same place become one.

many = cs.EnsembleGenerator(30, n_clusters=(3, 9), random_state=0).generate(X)
consensus = cs.combine.LiftKM(3, random_state=0).fit(many, features=X)
print(np.bincount(consensus.groups_), "clusters in each group")
agreement = cs.compare.adjusted_rand(wine.target, consensus.labels_)
print(f"agreement with the grape varieties (adjusted Rand): {agreement:.2f}")
