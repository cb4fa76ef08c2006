"""
9. What a few known classes change
==================================

Four classes of two blobs each: no clustering can know which blobs belong together. The classes of
some points can tell.
"""

# %%
# The same method without and with labels
# ---------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import clusterscape as cs

X, blob = make_blobs(1500, centers=8, cluster_std=0.6, random_state=8)
classes = blob % 4
rng = np.random.default_rng(0)

counts = [0, 8, 16, 32, 64, 128]
scores = []
for count in counts:
    y = np.full(1500, -1)
    chosen = rng.choice(1500, count, replace=False)
    y[chosen] = classes[chosen]
    model = cs.semisupervised.FastConstrainedSpectral(4, n_landmarks=150, random_state=0)
    scores.append(cs.compare.adjusted_rand(model.fit(X, y).labels_, classes))
    print(f"{count:4d} labels: {scores[-1]:.2f}")

# %%
# The clusters with the largest number of labels
# ----------------------------------------------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.scatter(*X.T, c=model.labels_, s=4, cmap="tab10")
left.plot(*X[y >= 0].T, "k.", markersize=4)
left.set_title("clusters; labelled points are black")
right.plot(counts, scores, "o-")
right.set_xlabel("labelled points")
right.set_ylabel("adjusted Rand index")
plt.show()
