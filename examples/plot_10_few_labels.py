"""
10. Few labels, many points
===========================

A transductive support vector machine keeps its margin from unlabelled points too. A tenth of
them, chosen well, is enough.
"""

# %%
# Two classes of 600 points, of which eight have a label.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from clusterscape.plot import BoundaryDisplay, ScoreMapDisplay
from clusterscape.semisupervised import TransductiveSVC

rng = np.random.default_rng(2)
X = np.concatenate([rng.normal(size=(600, 2)) * (1.0, 0.45) + (0, 0.95 * c) for c in (-1, 1)])
truth = np.repeat([0, 1], 600)
y = np.full(1200, -1)
known = np.concatenate([rng.choice(600, 4, replace=False), 600 + rng.choice(600, 4, replace=False)])
y[known] = truth[known]

alone = SVC(gamma=0.5).fit(X[known], y[known])
whole = TransductiveSVC(gamma=0.5, random_state=0).fit(X, y)
sampled = TransductiveSVC(gamma=0.5, subsample=0.1, random_state=0).fit(X, y)
for name, model in {"SVC": alone, "all points": whole, "a tenth of them": sampled}.items():
    print(f"{name}: {model.score(X, truth):.3f}")

# %%
# Boundaries and margins
# ----------------------
# The boundary of the labelled points alone (black) closes around those of one class. The points
# that the last round held are ringed.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
BoundaryDisplay.from_estimator(whole, X, y, other=alone, ax=axes[0])
BoundaryDisplay.from_estimator(sampled, X, y, other=alone, ax=axes[1])
axes[0].set_title("all points")
_ = axes[1].set_title("a tenth of them")

# %%
# What points are drawn by
# ------------------------
# The entropy of their memberships in two clusters, and the uncertainty of their label.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
ScoreMapDisplay.from_estimator(sampled, X, y, score="entropy", ax=axes[0])
_ = ScoreMapDisplay.from_estimator(sampled, X, y, score="uncertainty", ax=axes[1])

# %%
# Does it help here?
# ------------------
# The advice needs no further labels, but eight are too few for it: its estimates begin with
# twenty. With forty labels, five folds of them show what the unlabelled points change.

more = np.where(np.arange(1200) % 30 == 0, truth, y)
whole = TransductiveSVC(gamma=0.5, check="folds", random_state=0).fit(X, more)
for name, value in whole.advice_.items():
    print(f"{name}: {value:.3f}")
plt.show()
