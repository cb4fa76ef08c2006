"""
1. One clustering, and how far to trust it
==========================================

178 wines of three grape varieties, described by 13 chemical measurements. We cluster them many
times, combine the clusterings, and ask for which wines the answer is doubtful. At the end data with
known classes show what the confidence is worth.
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
print(model.k_selection_.reason)

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
# Of the wines too few are in a cluster of another variety to tell. So we cluster 569 tumours in
# two, match the clusters to the diagnoses, and count the mistakes by confidence.

tumours = cs.datasets.load("wdbc")
X = StandardScaler().fit_transform(tumours.data)
model = cs.ConsensusClustering(2, random_state=0).fit(X)
counts = cs.compare.contingency_table(model.labels_, tumours.target).to_numpy()
cluster, diagnosis = linear_sum_assignment(-counts)
matched = dict(zip(cluster, diagnosis, strict=True))
mistakes = np.array([matched[label] for label in model.labels_]) != tumours.target
part = np.digitize(model.confidence_, [0.5, 0.8])
for i, name in enumerate(["below 0.5", "0.5 to 0.8", "0.8 and more"]):
    print(f"confidence {name}: {mistakes[part == i].sum()} of {(part == i).sum()} are mistakes")
