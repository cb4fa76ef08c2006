"""
4. Combining clusterings
========================

Clusterings that you already have, from any program, become one. Here six methods combine the same
thirty clusterings of three groups of very different size.
"""

# %%
# The clusterings
# ---------------
# An ensemble is made of label vectors, a table with one column per clustering, or a dictionary of
# them by name. Here a generator makes them.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import clusterscape as cs

rng = np.random.default_rng(0)
sizes, centers = (240, 90, 30), ((0, 0), (4, 0), (2, 3.5))
X = np.concatenate([rng.normal(c, 0.8, (n, 2)) for n, c in zip(sizes, centers, strict=True)])
truth = np.repeat([0, 1, 2], sizes)
ensemble = cs.EnsembleGenerator(30, n_clusters=(3, 12), random_state=0).generate(X)
print(ensemble)

# %%
# Several methods
# ---------------
# Each has ``labels_``, a confidence per point and a table of both. Methods that prefer clusters of
# equal size divide the large group.

methods = {
    "SEC": cs.combine.SEC(3, random_state=0),
    "KCC": cs.combine.KCC(3, random_state=0),
    "EAC": cs.combine.EAC(3),
    "SCA": cs.combine.SCA(3, random_state=0),
    "SpectralConsensus": cs.combine.SpectralConsensus(3, random_state=0),
    "MajorityVote": cs.combine.MajorityVote(),
}
models = {name: method.fit(ensemble) for name, method in methods.items()}
summary = pd.DataFrame(
    {
        "clusters": {name: model.n_clusters_ for name, model in models.items()},
        "adjusted Rand": {
            name: cs.compare.adjusted_rand(truth, model.labels_) for name, model in models.items()
        },
        "mean confidence": {name: model.confidence_.mean() for name, model in models.items()},
    }
)
print(summary.round(2))

# %%
figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained", sharex=True, sharey=True)
for axis, (name, model) in zip(axes.flat, models.items(), strict=True):
    axis.scatter(*X.T, c=cs.plot.cluster_colors(model.labels_), s=8)
    axis.set_title(f"{name}: {model.n_clusters_} clusters")

# %%
# Which method to take
# --------------------
# ``ConsensusClustering`` chooses one and gives its reason.

choice = cs.combine.choose_method(ensemble, 3)
print(choice.name, "-", choice.reason)
print(models["SEC"].to_frame().nsmallest(3, "confidence").round(2))
