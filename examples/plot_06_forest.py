"""
6. Which columns carry the clusters
===================================

Three hundred columns, of which four carry three groups and the others are noise. A clustering of
all columns sees mostly noise. A cluster forest grows clusterings on few columns each and keeps
those columns that make clusters cleaner.
"""

# %%
# The forest and a plain k-means
# ------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import clusterscape as cs

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], 40)
X = rng.normal(size=(120, 300))
X[truth == 1, 0:2] += 3
X[truth == 2, 2:4] += 3

forest = cs.forest.ClusterForest(3, n_competitors=50, random_state=0).fit(X)
plain = KMeans(3, n_init=10, random_state=0).fit_predict(X)
print(f"k-means of all columns: {cs.compare.adjusted_rand(truth, plain):.2f}")
print(f"cluster forest:         {cs.compare.adjusted_rand(truth, forest.labels_):.2f}")

# %%
# Which columns it used
# ---------------------
# The four columns stand out more reliably than the labels are right: on other draws of these data
# the labels may be worse than those of k-means, with the same four columns on top. A second
# clustering of the columns on top is then worth a try.

figure, axis = plt.subplots(figsize=(9, 3), layout="constrained")
axis.bar(range(300), forest.feature_importances_)
axis.set_xlabel("column")
axis.set_ylabel("importance")

# %%
# One row per clustering, one column per feature; the four columns that carry the groups are
# highlighted.

# sphinx_gallery_thumbnail_number = 2
display = cs.plot.FeatureOccurrenceDisplay.from_estimator(forest, highlight=range(4))

# %%
# Columns one by one
# ------------------
# The profile counts the columns by the strength that each has on its own, without a forest.

display = cs.plot.FeatureProfileDisplay.from_features(X, n_clusters=3)

# %%
# A second clustering, of the four most important columns.

best = np.argsort(forest.feature_importances_)[-4:]
again = cs.ConsensusClustering(3, random_state=0).fit(X[:, best])
print("columns", sorted(best.tolist()))
print(f"consensus of these columns: {cs.compare.adjusted_rand(truth, again.labels_):.2f}")
