"""
8. Saving a model and using it on new points
============================================

A fitted model is saved without pickle, read back and asked about points that it has not seen.
"""

# %%
# Fit on a part of the data
# -------------------------

import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import clusterscape as cs

wine = cs.datasets.load("wine")
seen, new, seen_class, new_class = train_test_split(
    wine.data, wine.target, test_size=0.25, random_state=0, stratify=wine.target
)
scaler = StandardScaler().fit(seen)
model = cs.ConsensusClustering(random_state=0).fit(scaler.transform(seen))
print(model.n_clusters_, "clusters of", len(seen), "wines")

# %%
# The model alone, in one file
# ----------------------------
# The file holds numbers and text; nothing in it is executed when it is read. It contains up to
# 1,000 of the points, because ``predict`` needs them: give it to people who may see the data.

folder = Path(tempfile.mkdtemp())
cs.io.save_model(model, folder / "model.npz")
loaded = cs.io.load_model(folder / "model.npz")
predicted = loaded.predict(scaler.transform(new))
print("same labels:", np.array_equal(predicted, model.predict(scaler.transform(new))))
print(f"agreement with the varieties: {cs.compare.adjusted_rand(new_class, predicted):.2f}")

# %%
# Everything that others may want to read
# ---------------------------------------
# A folder with the labels as CSV, all clusterings, the model, and what was done. The scaling is
# written down as well: without it the model cannot be used. (A pipeline of scaler and model can be
# saved as one by ``save_model``.)

settings = {"mean": scaler.mean_, "scale": scaler.scale_}
figure = cs.plot.ConsensusMatrixDisplay.from_estimator(model).figure_
cs.io.save_results(folder / "result", model, run=settings, files={"consensus.png": figure.savefig})
print(sorted(file.name for file in (folder / "result").iterdir()))

results = cs.io.load_results(folder / "result")
print(results.ensemble)
print(results.labels.head(3).round(2))
