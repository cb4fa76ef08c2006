"""
1. One clustering, and how far to trust it
==========================================

178 wines of three grape varieties, described by 13 chemical measurements. We cluster them many
times, combine the clusterings, and ask for which wines the answer is doubtful. The varieties are
known here, so we can check what the confidence is worth; in real work they are not.
"""

# %%
# Fit
# ---
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
# One row per wine
# ----------------
# ``runner_up`` is the cluster that a wine could also belong to.

table = model.to_frame()
print(table.nsmallest(5, "confidence").round(2))

# %%
# The consensus matrix
# --------------------
# Points are ordered by cluster. A dark entry is a pair of wines that most clusterings keep
# together. Doubtful points show as pale lines through their block.

display = cs.plot.ConsensusMatrixDisplay.from_estimator(model)

# %%
# The same in a plane, where paler points are less certain.

display = cs.plot.ScatterDisplay.from_estimator(model, X)

# %%
# How the number of clusters was chosen
# -------------------------------------

display = cs.plot.KSelectionDisplay.from_estimator(model)

# %%
# Is the confidence worth anything?
# ---------------------------------
# We match clusters to varieties and count mistakes among the wines with low and with high
# confidence.

counts = cs.compare.contingency_table(model.labels_, wine.target).to_numpy()
cluster, variety = linear_sum_assignment(-counts)
matched = dict(zip(cluster, variety, strict=True))
mistakes = np.array([matched[label] for label in model.labels_]) != wine.target
halves = np.array_split(model.confidence_.argsort(), 2)
for name, points in zip(("less confident half", "more confident half"), halves, strict=True):
    print(f"{name}: {mistakes[points].sum()} of {len(points)} wines with the wrong variety")
