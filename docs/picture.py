"""Draw the picture of the README and of the site's first page (``make picture``)."""

from __future__ import annotations

from pathlib import Path

from sklearn.preprocessing import StandardScaler

import clusterscape as cs


def main() -> None:
    """Write the consensus matrix of the wine data to ``docs/_static/wine.png``."""
    X = StandardScaler().fit_transform(cs.datasets.load("wine").data)
    model = cs.ConsensusClustering(random_state=0).fit(X)
    figure = cs.plot.ConsensusMatrixDisplay.from_estimator(model).figure_
    # Without the date and the version of matplotlib the same picture is the same file.
    target = Path(__file__).parent / "_static" / "wine.png"
    figure.savefig(target, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
