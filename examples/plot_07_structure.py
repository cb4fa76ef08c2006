"""
7. When there is nothing to find
================================

Every partition into k groups has k groups, even of noise, and a consensus of many such partitions
looks stable. The result must say so.
"""

# %%
# Two datasets of the same size: three overlapping groups, and points drawn evenly from a
# square.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import clusterscape as cs

rng = np.random.default_rng(0)
groups = np.concatenate([rng.normal(c, 0.55, size=(100, 2)) for c in ((0, 0), (3, 0), (1.5, 2.5))])
nothing = cs.datasets.make_no_structure(300, 2, random_state=0)

models = {
    "three groups": cs.ConsensusClustering(random_state=0).fit(groups),
    "nothing": cs.ConsensusClustering(random_state=0).fit(nothing),
}
for name, model in models.items():
    print(f"{name}: {model.n_clusters_} cluster(s). {model.structure_.message}")

# %%
# Confidence, point by point
# --------------------------
# Where groups touch, the confidence falls. Where there are no groups, it is zero everywhere.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for axis, (name, model), points in zip(axes, models.items(), (groups, nothing), strict=True):
    drawn = axis.scatter(*points.T, c=model.confidence_, cmap="viridis", vmin=0, vmax=1, s=14)
    axis.set_title(name)
    axis.set_aspect("equal")
figure.colorbar(drawn, ax=axes, label="confidence")

# %%
# The test alone
# --------------
# :func:`~clusterscape.validate.structure_test` can be called on its own, and
# :func:`~clusterscape.validate.select_k` on any ensemble.

verdict = cs.validate.structure_test(groups, random_state=0)
print(verdict.found, f"p = {verdict.p_value:.1g}")
print(cs.validate.select_k(models["three groups"].ensemble_).reason)

# %%
# Asking for clusters anyway
# --------------------------
# A number that was asked for is returned, with a warning. The confidence can still be high: the
# members cut the square in the same places. So read ``structure_`` beside it.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    forced = cs.ConsensusClustering(n_clusters=4, random_state=0).fit(nothing)
print(forced.n_clusters_, "clusters, highest confidence", round(forced.confidence_.max(), 2))
print("structure found:", forced.structure_.found)
print(caught[-1].message)
