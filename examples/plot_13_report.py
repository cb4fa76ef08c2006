"""
13. What each cluster is, on one page
=====================================

Labels alone tell nobody what the clusters are. Here the columns that tell each cluster from the
others are found and drawn, and everything is written into one page for the browser.
"""

# %%
# Wines: thirteen measurements, three grape varieties that are not used.

import tempfile
from pathlib import Path

import pandas as pd
from sklearn.preprocessing import StandardScaler

import clusterscape as cs

wine = cs.datasets.load("wine")
table = pd.DataFrame(wine.data, columns=wine.feature_names)
model = cs.ConsensusClustering(random_state=0).fit(StandardScaler().fit_transform(table))

# %%
# What tells the clusters apart
# -----------------------------
# The description takes the table in its own units, so that it can be read.

description = model.describe(table, n_columns=3)
print(description.table.drop(columns="value").round(2).to_string(index=False))
cs.plot.DescriptionDisplay.from_estimator(model, table, n_columns=3)

# %%
# The page
# --------
# One file without network: the clusters, the points in doubt, alternatives and the record of the
# run. ``clusterscape run`` writes the same page, and ``clusterscape explore`` opens it.

page = Path(tempfile.mkdtemp()) / "report.html"
cs.report.write(model, page, X=table, reference=wine.target, title="178 wines")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
