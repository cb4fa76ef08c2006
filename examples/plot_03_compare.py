"""
3. Comparing clusterings
========================

Six clusterings of the same flowers: how different are they, and do the measures agree about it?
"""

# %%
# Any scikit-learn clusterer can give the labels; here they come from four families of methods.

import matplotlib.pyplot as plt
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

import clusterscape as cs

iris = cs.datasets.load("iris")
X = iris.data
labels = {
    "species": iris.target,
    "k-means, 3": KMeans(3, n_init=10, random_state=0).fit_predict(X),
    "k-means, 5": KMeans(5, n_init=10, random_state=0).fit_predict(X),
    "Ward, 3": AgglomerativeClustering(3).fit_predict(X),
    "mixture, 3": GaussianMixture(3, n_init=5, random_state=0).fit_predict(X),
    "DBSCAN": DBSCAN(eps=0.5).fit_predict(X),
}
ensemble = cs.Ensemble.from_labels(labels)
print(ensemble, ensemble["DBSCAN"][:5])

# %%
# All pairs, several measures
# ---------------------------
# Each pair's contingency table is counted once for all measures. DBSCAN leaves some flowers out
# as noise; by default a noise point is together with nobody.

names = ["vi", "rand_distance", "adjusted_rand"]
result = cs.compare.pairwise(ensemble, names)
print(result.to_frame("vi").round(2))

# %%
# The same as pictures
# --------------------
# Note that the two distances rank the pairs differently: the Rand distance counts pairs of
# points, and most pairs are apart in any clustering.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axis, name in zip(axes, names, strict=True):
    measure = cs.compare.MEASURES[name]
    image = axis.imshow(result.matrices[name], cmap="viridis")
    axis.set_title(f"{name} ({measure.direction})")
    axis.set_xticks(range(len(labels)), list(labels), rotation=60, ha="right")
    axis.set_yticks(range(len(labels)), list(labels) if axis is axes[0] else [""] * len(labels))
    figure.colorbar(image, ax=axis, shrink=0.7)

# %%
# How noise counts
# ----------------
# Leaving the noise out makes DBSCAN look better, and the coverage says on how many flowers.

for noise in ("singletons", "cluster", "drop"):
    value, coverage = cs.compare.adjusted_rand(
        labels["species"], labels["DBSCAN"], noise=noise, return_coverage=True
    )
    print(f"{noise:>10}: adjusted Rand {value:.2f} on {coverage:.0%} of the flowers")
