"""
A consensus with a confidence per point
=======================================

178 wines of three grape varieties, described by 13 chemical measurements. We cluster them many
times, combine the clusterings, and ask which wines the answer cannot be trusted for. The varieties
are known, so we can check whether the confidence tells the truth; in real work they are not.
"""

# %%
# The main job
# ------------
# The columns have different units, so they are scaled first. The number of clusters is not
# given.

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import StandardScaler

import clusterscape as cs

wine = cs.datasets.load("wine")
X = StandardScaler().fit_transform(wine.data)
model = cs.ConsensusClustering(random_state=0).fit(X)
print(model.structure_.message)
print(model.n_clusters_, "clusters:", model.k_selection_.reason)

# %%
# The consensus matrix
# --------------------
# Points are ordered by cluster. A dark entry is a pair that the members keep together. Doubtful
# points show as pale lines through their block.

display = cs.plot.ConsensusMatrixDisplay.from_estimator(model)

# %%
# Is the confidence worth anything?
# ---------------------------------
# We match clusters to varieties and count mistakes among the points that the ensemble is sure of
# and among those it is not.

table = cs.compare.contingency_table(model.labels_, wine.target).to_numpy()
cluster, variety = linear_sum_assignment(-table)
wrong = dict(zip(cluster, variety, strict=True))
mistakes = np.array([wrong[label] for label in model.labels_]) != wine.target
halves = np.array_split(model.confidence_.argsort(), 2)
for name, points in zip(("less confident half", "more confident half"), halves, strict=True):
    print(f"{name}: {mistakes[points].sum()} of {len(points)} wines with the wrong variety")
