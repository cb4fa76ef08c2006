"""
11. Other good clusterings
==========================

Four groups at the corners of a square can be divided in two ways that are equally good. A clusterer
shows one of them; a landscape shows both.
"""

# %%
# Sample, group, choose
# ---------------------
#
# Good partitions are sampled, those that are alike are grouped, and the best one of each group
# represents it.

import matplotlib.pyplot as plt
import numpy as np

import clusterscape as cs

rng = np.random.default_rng(0)
corners = np.array([[0, 0], [0, 8], [8, 0], [8, 8]])
X = np.repeat(corners, 15, axis=0) + rng.normal(size=(60, 2))
landscape = cs.explore.Landscape(2, n_samples=200, n_representatives=2, random_state=0).fit(X)
print(landscape.to_frame()[["share", "n_clusters", "quality"]].round(2))

# %%
# The representatives are an ensemble: they can be compared, combined and drawn.

_, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for ax, labels in zip(axes, landscape.representatives_.labels.T, strict=True):
    cs.plot.ScatterDisplay.from_predictions(X, labels, ax=ax)

# %%
# The map of all samples
# ----------------------
#
# Every point is a partition; near ones are alike.

cs.plot.LandscapeDisplay.from_estimator(landscape)
plt.show()
