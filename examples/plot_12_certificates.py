"""
12. How firmly does a point belong?
===================================

A clustering gives every point a cluster, also the points that lie between two. Certificates tell
them apart, for the labels of any method.
"""

# %%
# The stability of every point
# ----------------------------
#
# Put a point among the means of the clusters as one more: the part of each cluster's cell that it
# would take is its affinity to that cluster, and the largest share is its stability.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import clusterscape as cs

X, _ = make_blobs(200, centers=4, cluster_std=1.6, random_state=3)
labels = KMeans(4, n_init=10, random_state=0).fit_predict(X)
certified = cs.validate.Affinity().fit(X, labels)
table = certified.certificates_.to_frame()
print(table.nsmallest(5, "stability")[["cluster", "stability", "runner_up", "runner_up_share"]])

# %%
# In the picture
# --------------

cs.plot.StabilityDisplay.from_estimator(certified)

# %%
# Everywhere in the plane
# -----------------------
#
# The map says how stable a point would be anywhere, not only where the data are.

refined = cs.validate.AffinityMap().fit(X, labels)
cs.plot.AffinityMapDisplay.from_estimator(refined)
plt.show()
