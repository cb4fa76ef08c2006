"""Every display against a small picture of how it looked when it was looked at.

Fonts, and the room that a layout leaves for them, differ between versions of matplotlib, so text
is hidden (other tests read it) and axes stand where they are without a layout. What is left is
compared as mean colours of 24 x 18 fields: between matplotlib 3.8, 3.9 and 3.11 at most 3 % of the
ink differ, and a missing layer or exchanged colours change a third of it or more. The data are
fixed arrays, so that no change of a method changes a picture.

``CLUSTERSCAPE_WRITE_PICTURES=1 pytest tests/test_pictures.py`` writes them anew; look at them then.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axis import Tick
from matplotlib.legend import Legend
from matplotlib.spines import Spine
from matplotlib.text import Text
from PIL import Image

from clusterscape import Ensemble, plot
from clusterscape.combine.result import KSelection
from clusterscape.combine.sca.evolution import Trajectory
from clusterscape.forest import FeatureProfile
from clusterscape.validate import Affinity, AffinityMap

FOLDER = Path(__file__).parent / "pictures"
FIELDS = (24, 18)
ALLOWED = 0.08  # share of the ink


def fixed() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points of three groups, their labels, and labels of twelve clusterings."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [20, 12, 8])
    X = np.array([[0.0, 0], [6, 1], [3, 6]])[labels] + rng.normal(0, 0.8, size=(40, 2))
    runs = [np.where(rng.random(40) < 0.03 * i, rng.integers(0, 3, 40), labels) for i in range(12)]
    return X, labels, np.array(runs).T


X, LABELS, RUNS = fixed()
VOTES = Ensemble.from_labels(RUNS, orient="columns")


def k_selection() -> KSelection:
    ks = np.arange(2, 8)
    score = np.array([1.0, 3.2, 0.8, 0.5, 0.2, 0.1])
    columns = {"k": ks, "score": score, "separation_rise": score / 2, "chosen": [2, 8, 0, 0, 0, 0]}
    choices = np.array([3] * 8 + [2] * 2)
    empty = np.empty(0)
    return KSelection(3, "score", empty, empty, "", columns=columns, runner_up=2, choices=choices)


def curves() -> pd.DataFrame:
    rows = [
        (name, method, c, 0.4 + c / 2000 + 0.1 * (method == "b"), c / 100)
        for name in ("one", "two")
        for method in ("a", "b")
        for c in (100, 400, 800)
    ]
    return pd.DataFrame(rows, columns=["dataset", "method", "c", "accuracy", "time"])


def distribution() -> plot.ConsensusDistributionDisplay:
    at = np.linspace(0, 1, 11)
    cdf = pd.DataFrame({2: at**0.3, 3: 0.5 + 0.5 * (at > 0.9), 4: at}, index=at)
    table = {"delta_area": [0.5, 0.3, 0.1], "pac": [0.4, 0.05, 0.6]}
    return plot.ConsensusDistributionDisplay(cdf, pd.DataFrame(table, index=[2, 3, 4]))


def boundary() -> plot.BoundaryDisplay:
    xx, yy = np.meshgrid(np.linspace(-2, 8, 30), np.linspace(-2, 8, 30))
    codes = np.where(np.arange(40) % 5 == 0, LABELS.clip(0, 1), -1)
    return plot.BoundaryDisplay(xx, yy, xx - 3, points=X, codes=codes, sample=[1, 2], other=yy - 4)


def trajectory() -> Trajectory:
    start, end = np.linspace(-1, 1, 12), np.repeat([-0.5, 0.1, 0.6], [5, 4, 3])
    values = np.array([start + (end - start) * t for t in (0.0, 0.5, 1.0)])
    labels = np.repeat([0, 1, 2], [5, 4, 3])
    return Trajectory(
        states=values, deviations=values, groups=np.tile(labels, (3, 1)), stable=True,
        points=np.arange(12), labels=labels,
    )  # fmt: skip


def sweep() -> plot.SweepDisplay:
    table = pd.DataFrame(
        {
            "param_n_clusters": [2, 3, 4] * 2,
            "param_init": ["a"] * 3 + ["b"] * 3,
            "stability": [0.5, 0.9, 0.6, 0.4, 0.8, 0.7],
            "error": [None] * 6,
        }
    )
    return plot.SweepDisplay(table, "n_clusters", criteria=["stability"])


IMAGES = np.arange(3 * 16, dtype=float).reshape(3, 4, 4)
PICTURES: dict[str, Callable[[], Any]] = {
    "affinity_map": lambda: plot.AffinityMapDisplay.from_estimator(
        AffinityMap(max_depth=3).fit(X, LABELS)
    ),
    "boundary": lambda: boundary().plot(),
    "cell": lambda: plot.CellDisplay(
        X[::2], LABELS[::2], centers=[[0, 0], [6, 1], [3, 6]], point=[3, 2]
    ).plot(),
    "cluster_images": lambda: plot.ClusterImagesDisplay(IMAGES, [0, 1, 2], [5, 4, 3]).plot(),
    "consensus_distribution": lambda: distribution().plot(),
    "consensus_matrix": lambda: plot.ConsensusMatrixDisplay.from_predictions(
        VOTES, LABELS, annotations={"half": np.arange(40) // 20}
    ),
    "contingency": lambda: plot.ContingencyDisplay.from_predictions(LABELS, RUNS[:, 9]),
    "dendrogram": lambda: plot.DendrogramDisplay.from_ensemble(VOTES, answer=LABELS),
    "description": lambda: plot.DescriptionDisplay.from_predictions(
        pd.DataFrame(X, columns=["length", "width"]), LABELS
    ),
    "differences": lambda: plot.DifferencesDisplay(X, np.linspace(0, 1, 40)).plot(),
    "distance_distribution": lambda: plot.DistanceDistributionDisplay(
        np.linspace(0, 1, 50) ** 2, [0.5, 0.7, 0.9]
    ).plot(),
    "distance_matrix": lambda: plot.DistanceMatrixDisplay(
        np.abs(np.subtract.outer(range(5), range(5)))
    ).plot(),
    "feature_occurrence": lambda: plot.FeatureOccurrenceDisplay(
        (np.arange(60).reshape(12, 5) * 7 % 3 == 0).astype(int)
    ).plot(),
    "feature_profile": lambda: plot.FeatureProfileDisplay(
        FeatureProfile(
            np.linspace(0.1, 0.5, 6), np.zeros(6, bool), np.full(6, 40), tuple("abcdef"), 3, "pairs"
        )
    ).plot(),
    "gain": lambda: plot.GainDisplay({"ours": [1.0, -2, 3]}, [4, 9, 16]).plot(),
    "gallery": lambda: plot.GalleryDisplay(
        np.stack([IMAGES, IMAGES[::-1]]), [["a", "b", "c"], ["d", "e", "f"]]
    ).plot(),
    "k_selection": lambda: plot.KSelectionDisplay(k_selection()).plot(),
    "landscape": lambda: plot.LandscapeDisplay.from_ensemble(VOTES, answer=LABELS, n_groups=3),
    "method_curves": lambda: plot.MethodCurvesDisplay(
        curves(), "c", measures=["accuracy", "time"]
    ).plot(),
    "quality_distribution": lambda: plot.QualityDistributionDisplay(
        np.linspace(0, 1, 60) ** 0.5, [0.9, 1.0], {"consensus": 0.95}
    ).plot(),
    "sampling_rate": lambda: plot.SamplingRateDisplay(
        [0.01, 0.1], {"a": [[0.9, 0.92], [0.94, 0.95]], "b": [[0.8, 0.9], [0.9, 0.94]]}
    ).plot(),
    "scatter": lambda: plot.ScatterDisplay.from_predictions(
        X, LABELS, confidence=np.linspace(0.2, 1, 40)
    ),
    "score_map": lambda: plot.ScoreMapDisplay(X, np.linspace(0, 1, 40)).plot(),
    "silhouette": lambda: plot.SilhouetteDisplay(np.linspace(-0.2, 0.9, 40), LABELS).plot(),
    "stability": lambda: plot.StabilityDisplay.from_estimator(Affinity().fit(X, LABELS)),
    "support_vectors": lambda: plot.SupportVectorDisplay(
        {"a": [(0.01, 0.02), (0.02, 0.02)], "b": [(0.03, 0.05)]}
    ).plot(),
    "sweep": lambda: sweep().plot(),
    "tracking": lambda: plot.TrackingDisplay.from_labels({2: LABELS.clip(0, 1), 3: LABELS}),
    "trajectory": lambda: plot.TrajectoryDisplay(trajectory()).plot(),
    "transport": lambda: plot.TransportDisplay(
        [[0.4, 0.1, 0.0], [0.0, 0.2, 0.3]], [[0.1, 0.5, 0.9], [0.8, 0.2, 0.3]]
    ).plot(),
}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def small(display: Any) -> np.ndarray:
    """Return what a display draws, but no text, on 240 x 180 pixels."""
    figure = display.figure_
    figure.set_layout_engine("none")  # the room for text depends on its font
    for artist in figure.findobj(lambda a: isinstance(a, (Text, Legend, Tick, Spine))):
        artist.set_visible(False)
    figure.set_dpi(240 / figure.get_size_inches()[0])
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    return np.asarray(Image.fromarray(pixels).resize((240, 180), Image.Resampling.BOX))


def fields(pixels: np.ndarray) -> np.ndarray:
    """Return the mean colours of the fields of a picture, from 0 (white)."""
    across, down = FIELDS
    ink = 255.0 - pixels.astype(np.float64)
    return ink.reshape(down, 180 // down, across, 240 // across, 3).mean(axis=(1, 3))


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return by how much two pictures differ, as a share of the ink of the second."""
    return float(np.abs(fields(one) - fields(other)).sum() / fields(other).sum())


def kept(name: str) -> np.ndarray:
    return np.asarray(Image.open(FOLDER / f"{name}.png").convert("RGB"))


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_did(name: str) -> None:
    found = small(PICTURES[name]())
    if os.environ.get("CLUSTERSCAPE_WRITE_PICTURES"):
        FOLDER.mkdir(exist_ok=True)
        Image.fromarray(found).quantize(64).save(FOLDER / f"{name}.png", optimize=True)
    assert difference(found, kept(name)) < ALLOWED


def test_every_display_has_a_picture_and_a_table() -> None:
    drawn = set()
    for make in PICTURES.values():
        drawn.add(type(make()))
        plt.close("all")
    public = {getattr(plot, name) for name in plot.__all__ if name.endswith("Display")}
    assert drawn == public
    assert all(hasattr(display, "to_frame") for display in public)


def test_no_picture_passes_for_another() -> None:
    pictures = {name: kept(name) for name in PICTURES}
    for a, b in itertools.permutations(pictures, 2):
        assert difference(pictures[a], pictures[b]) > 3 * ALLOWED, (a, b)


def test_a_changed_picture_is_noticed() -> None:
    swapped = np.array([1, 0, 2])[LABELS]
    other = plot.ScatterDisplay.from_predictions(X, swapped, confidence=np.linspace(0.2, 1, 40))
    assert (
        difference(small(other), kept("scatter")) > 2 * ALLOWED
    )  # two clusters have each other's colours
    bare = plot.TrackingDisplay.from_labels({2: LABELS.clip(0, 1), 3: LABELS})
    for line in list(bare.ax_.patches) + list(bare.ax_.lines):
        line.remove()
    assert difference(small(bare), kept("tracking")) > 2 * ALLOWED  # a layer is missing
