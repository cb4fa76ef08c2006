"""The pictures that ``clusterscape plot`` draws by name, and what each of them needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_WORDS = {
    "model": "the folder of a run as SOURCE",
    "clustering": "a clustering",
    "clusterings": "several clusterings (as SOURCE the folder of a run, an ensemble, or a table "
    "with several columns of labels)",
    "pair": "a second clustering (--other)",
    "features": "the TABLE of the points",
    "shape": "the height and width of the images that the rows are (--shape, as 28x28)",
    "classes": "known classes (--reference, with the TABLE), or a second clustering (--other)",
}


@dataclass(frozen=True, eq=False)
class Sources:
    """What a picture can be made of; None where it was not given."""

    model: Any
    ensemble: Any
    labels: Any
    is_answer: bool  # whether the labels are the answer of the run
    other: Any
    features: Any  # as they were clustered
    table: Any  # in their own units
    reference: Any
    names: Mapping[int, str]  # of clusters
    titles: tuple[str, str]
    shape: tuple[int, int] | None = None  # of the images that the rows are

    def has(self, need: str) -> bool:
        """Say whether something that a picture needs was given."""
        return {
            "model": self.model is not None,
            "clustering": self.labels is not None,
            "clusterings": self.ensemble.n_partitions > 1,
            "pair": self.other is not None,
            "features": self.features is not None,
            "shape": self.shape is not None,
            "classes": self.reference is not None or self.other is not None,
        }[need]


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture by name: what it shows, needs, and how it is drawn on an empty figure."""

    what: str
    needs: tuple[str, ...]
    draw: Callable[[Sources, Any], Any]

    def missing(self, sources: Sources) -> str:
        """Return in words what was not given; nothing where all was."""
        return " and ".join(_WORDS[need] for need in self.needs if not sources.has(need))

    def needed(self) -> str:
        """Return in words what the picture needs."""
        return " and ".join(_WORDS[need] for need in self.needs)


def _consensus_matrix(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import ConsensusMatrixDisplay

    if s.is_answer:
        known = None if s.reference is None else {"class": s.reference}
        return ConsensusMatrixDisplay.from_estimator(s.model, annotations=known, ax=figure)
    return ConsensusMatrixDisplay.from_predictions(s.ensemble, s.labels, ax=figure)


def _scatter(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import ScatterDisplay

    sure = s.model.confidence_ if s.is_answer else None
    return ScatterDisplay.from_predictions(s.features, s.labels, confidence=sure, ax=figure)


def _silhouette(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import SilhouetteDisplay

    return SilhouetteDisplay.from_predictions(s.features, s.labels, ax=figure)


def _stability(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import StabilityDisplay

    return StabilityDisplay.from_predictions(s.features, s.labels, ax=figure)


def _description(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import DescriptionDisplay

    return DescriptionDisplay.from_predictions(s.table, s.labels, ax=figure)


def _k_selection(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import KSelectionDisplay

    return KSelectionDisplay.from_estimator(s.model, ax=figure)


def _tracking(s: Sources, figure: Any) -> Any:
    import numpy as np

    from clusterscape.plot import TrackingDisplay
    from clusterscape.report.tracking import cuts_of

    if s.model is None:
        return TrackingDisplay.from_labels(s.ensemble.to_frame(), ax=figure)
    cuts = cuts_of(s.model, np.arange(len(s.model.labels_)))
    if cuts is None:
        raise ValueError(
            f"tracking draws 2 to 30 clusters, and the answer has {s.model.n_clusters_}."
        )
    return TrackingDisplay.from_labels(cuts, ax=figure)


def _dendrogram(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import DendrogramDisplay

    answer = s.labels if s.is_answer else None
    return DendrogramDisplay.from_ensemble(s.ensemble, answer=answer, ax=figure)


def _landscape(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import LandscapeDisplay

    answer = s.labels if s.is_answer else None
    return LandscapeDisplay.from_ensemble(s.ensemble, answer=answer, ax=figure)


def _distance_matrix(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import DistanceMatrixDisplay

    answer = s.labels if s.is_answer else None
    return DistanceMatrixDisplay.from_ensemble(s.ensemble, answer=answer, ax=figure)


def _affinity_map(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import AffinityMapDisplay
    from clusterscape.validate import AffinityMap

    if s.features.shape[1] != 2:
        raise ValueError(
            f"affinity_map is drawn over two columns, and the points have {s.features.shape[1]}; "
            "cluster two columns (run --columns a,b), or draw stability, which takes any number."
        )
    return AffinityMapDisplay.from_estimator(AffinityMap().fit(s.features, s.labels), ax=figure)


def _cluster_images(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import ClusterImagesDisplay

    return ClusterImagesDisplay.from_labels(
        _dense(s.table), s.labels, shape=s.shape or (0, 0), max_clusters=50, figure=figure
    )


def _gallery(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import GalleryDisplay
    from clusterscape.validate import Affinity

    made = Affinity().fit(_dense(s.features), s.labels)
    return GalleryDisplay.from_estimator(
        made, _dense(s.table), shape=s.shape or (0, 0), random_state=0, figure=figure
    )


def _dense(X: Any) -> Any:
    import numpy as np

    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def _contingency(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import ContingencyDisplay

    rows, name = (s.other, s.titles[1]) if s.other is not None else (s.reference, "class")
    return ContingencyDisplay.from_predictions(
        rows, s.labels, row_name=name, column_name=s.titles[0], ax=figure
    )


def _transport(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import TransportDisplay

    return TransportDisplay.from_partitions(
        s.labels, s.other, s.features, names=s.titles, random_state=0, ax=figure
    )


def _differences(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import DifferencesDisplay

    return DifferencesDisplay.from_partitions(
        s.labels, s.other, s.features, names=s.titles, random_state=0, ax=figure
    )


def _feature_profile(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import FeatureProfileDisplay

    k = int(s.labels.max(initial=1)) + 1
    return FeatureProfileDisplay.from_features(s.features, k, random_state=0, ax=figure)


def _feature_occurrence(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import FeatureOccurrenceDisplay

    return FeatureOccurrenceDisplay.from_estimator(s.model or s.ensemble, ax=figure)


def _trajectory(s: Sources, figure: Any) -> Any:
    from clusterscape.combine import SCA
    from clusterscape.plot import TrajectoryDisplay

    model = getattr(s.model, "consensus_", None)
    if not (s.is_answer and isinstance(model, SCA)):
        k = None if s.labels is None else int(s.labels.max(initial=0)) + 1
        model = SCA(k, random_state=0).fit(s.ensemble)
        note = "SCA, fitted to the clusterings; its groups are its own, not those of another answer"
        figure.supxlabel(note, fontsize=8)
    return TrajectoryDisplay.from_estimator(model, ax=figure)


def _consensus_distribution(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import ConsensusDistributionDisplay
    from clusterscape.validate import resampling_consensus

    most = int(s.labels.max(initial=1)) + 4
    found = resampling_consensus(
        s.features, (2, most), n_resamples=100, random_state=0, progress=False
    )
    return ConsensusDistributionDisplay.from_consensus(found, ax=figure)


def _sampled(s: Sources) -> Any:
    """Sample clusterings of the points with as many clusters as the one that was given."""
    from clusterscape.explore import Landscape

    k = max(2, int(s.labels.max(initial=1)) + 1)
    return Landscape(k, n_samples=_SAMPLES, random_state=0, progress=False).fit(_dense(s.features))


def _distance_distribution(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import DistanceDistributionDisplay

    return DistanceDistributionDisplay.from_estimator(_sampled(s), ax=figure)


def _quality_distribution(s: Sources, figure: Any) -> Any:
    from clusterscape.plot import QualityDistributionDisplay

    return QualityDistributionDisplay.from_estimator(_sampled(s), ax=figure)


def _sweep(s: Sources, figure: Any) -> Any:
    from sklearn.cluster import KMeans

    from clusterscape.plot import SweepDisplay
    from clusterscape.validate import sweep

    X = _dense(s.features)
    most = min(int(s.labels.max(initial=1)) + 4, len(X) - 1)
    found = sweep(KMeans(random_state=0), {"n_clusters": range(2, most + 1)}, X, random_state=0)
    criteria = ["stability", "silhouette"]
    axes = figure.subplots(len(criteria), 1, sharex=True)
    return SweepDisplay.from_sweep(found, criteria=criteria, axes=axes)


_POINTS = ("clustering", "features")
_SAMPLES = 1000  # clusterings of a sampled landscape, as many as its verb takes

PICTURES: dict[str, Picture] = {
    "consensus_matrix": Picture(
        "how often the clusterings put each two points together",
        ("clustering", "clusterings"),
        _consensus_matrix,
    ),
    "scatter": Picture("the points in the colours of their clusters", _POINTS, _scatter),
    "description": Picture("the columns that tell the clusters apart", _POINTS, _description),
    "silhouette": Picture("the silhouette of every point", _POINTS, _silhouette),
    "stability": Picture("the certificate of every point: its stability", _POINTS, _stability),
    "affinity_map": Picture(
        "the stability of every place in the plane of two columns", _POINTS, _affinity_map
    ),
    "gallery": Picture(
        "a stable and an unstable point of each cluster, where rows are images",
        (*_POINTS, "shape"),
        _gallery,
    ),
    "cluster_images": Picture(
        "the mean image of each cluster, where rows are images",
        (*_POINTS, "shape"),
        _cluster_images,
    ),
    "k_selection": Picture("what decided on the number of clusters", ("model",), _k_selection),
    "consensus_distribution": Picture(
        "CDF and delta area of the consensus of 100 resamples, for each number of clusters",
        _POINTS,
        _consensus_distribution,
    ),
    "tracking": Picture(
        "where the points of clusters go when there are more of them", ("clusterings",), _tracking
    ),
    "landscape": Picture(
        "the clusterings on a map, near those that agree with them", ("clusterings",), _landscape
    ),
    "distance_matrix": Picture(
        "the distances between the clusterings, pair by pair", ("clusterings",), _distance_matrix
    ),
    "dendrogram": Picture("which clusterings are alike", ("clusterings",), _dendrogram),
    "distance_distribution": Picture(
        "how far 1,000 sampled good clusterings, and ten that represent them, are from one another",
        _POINTS,
        _distance_distribution,
    ),
    "quality_distribution": Picture(
        "how good 1,000 sampled clusterings are, and ten that represent them",
        _POINTS,
        _quality_distribution,
    ),
    "sweep": Picture(
        "stability and silhouette of k-means for each number of clusters", _POINTS, _sweep
    ),
    "contingency": Picture(
        "clusters against known classes or another clustering",
        ("clustering", "classes"),
        _contingency,
    ),
    "transport": Picture(
        "which clusters of one clustering become which of another",
        ("clustering", "pair", "features"),
        _transport,
    ),
    "differences": Picture(
        "the points that make two clusterings differ",
        ("clustering", "pair", "features"),
        _differences,
    ),
    "feature_profile": Picture(
        "how strongly each column divides the points by itself", _POINTS, _feature_profile
    ),
    "feature_occurrence": Picture(
        "which clusterings used which columns", ("clusterings",), _feature_occurrence
    ),
    "trajectory": Picture(
        "the evolution of the chain of SCA: of the run where it used SCA, or of the clusterings",
        ("clusterings",),
        _trajectory,
    ),
}

# What a folder or a file of labels does not hold, and how it is drawn.
IN_PYTHON: dict[str, str] = {
    "boundary": "plot.BoundaryDisplay.from_estimator, with a fitted model of "
    "clusterscape.semisupervised",
    "score_map": "plot.ScoreMapDisplay.from_estimator, with a fitted model of "
    "clusterscape.semisupervised",
    "sampling_rate": "plot.SamplingRateDisplay, with accuracies at several shares of points kept",
    "support_vectors": "plot.SupportVectorDisplay, with distances of support vectors by strategy",
    "cell": "plot.CellDisplay.from_estimator, with a fitted validate.Affinity and a point",
    "gain": "plot.GainDisplay.from_scores, with scores of several methods by dataset",
    "method_curves": "plot.MethodCurvesDisplay, with measures of several methods by setting",
}
