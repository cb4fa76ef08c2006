"""
2. Making many clusterings
==========================

The members of an ensemble may differ in four ways: the algorithm, the number of clusters, the
columns and the points that they use. What differs decides what the ensemble can tell you.
"""

# %%
# Two bent groups
# ---------------
# k-means with two clusters cuts both moons in the middle, whatever its start.

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import clusterscape as cs

X, truth = make_moons(400, noise=0.06, random_state=0)
generators = {
    "other starts": cs.generate.restarts(50, n_clusters=2, random_state=0),
    "other points": cs.generate.bagging(50, n_clusters=2, random_state=0),
    "other numbers of clusters": cs.generate.random_k(50, n_clusters=10, random_state=0),
    "other algorithms": cs.EnsembleGenerator(
        50, n_clusters=2, algorithm=["kmeans", "single", "spectral"], random_state=0
    ),
}
ensembles = {name: generator.generate(X) for name, generator in generators.items()}
for name, ensemble in ensembles.items():
    print(f"{name}: {len(ensemble)} members, {ensemble.n_distinct} different")

# %%
# What made each member
# ---------------------
# Every member has a record with its algorithm, parameters, seed and more.

record = ensembles["other numbers of clusters"].records[0]
print(record.algorithm, record.n_clusters, record.seed)

# %%
# What a consensus makes of them
# ------------------------------
# Members that all make the same mistake agree on it: agreement is not a proof. Members with many
# small clusters, each cut differently, together follow the moons; so do members of which some
# follow the shape themselves.

figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", sharey=True)
for axis, (name, ensemble) in zip(axes, ensembles.items(), strict=True):
    labels = cs.combine.SpectralConsensus(2, random_state=0).fit_predict(ensemble)
    axis.scatter(*X.T, c=cs.plot.cluster_colors(labels), s=8)
    score = cs.compare.adjusted_rand(truth, labels)
    axis.set_title(f"{name}\nadjusted Rand {score:.2f}", fontsize=10)
