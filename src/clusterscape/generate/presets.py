"""Settings of :class:`EnsembleGenerator` that have a name.

Each takes the number of partitions first and passes any other parameter of the generator on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Choice, Flag, Integer, Null, Number, checked
from clusterscape.generate import kinds, plan
from clusterscape.generate.generator import EnsembleGenerator
from clusterscape.generate.kinds import Kind

#: Names of the presets, for choices.
PRESETS = (
    "random_k",
    "random_features",
    "restarts",
    "bagging",
    "subsample",
    "random_projection",
    "mixed",
    "diverse",
    "usenc",
)

#: The clusterers that :func:`mixed` takes in turn.
MIXED = ("kmeans", "single", "average", "complete", "ward", "gmm", "spectral", "dbscan")

_MOST_CLUSTERS = 100  # finer members cost more and tell no more
_COMPONENTS = (5, 10, 20)  # principal components that members of wide tables see
_BYTE = 128  # clusters whose labels take one byte

_N = {"n_partitions": (Integer(1),)}
_K = {**_N, "n_clusters": plan.N_CLUSTERS}
_RATIO = {"ratio": (Number(0, 1, open_low=True),)}


@checked({**_N, "n_clusters": (Integer(1),), "algorithm": kinds.RULES})
def random_k(
    n_partitions: int = 100, *, n_clusters: int = 2, algorithm: Any = "kmeans", **options: Any
) -> EnsembleGenerator:
    """Random parameter selection (RPS): every member draws its own number of clusters.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int
        The smallest number K; members draw uniformly from K to the square root of the number of
        points, rounded up, and take K where that is not above K.
    algorithm : str, clusterer or list
        The base clusterer; use ``"cosine"`` for counts of words.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    random_features : Random columns instead of random numbers of clusters.

    References
    ----------
    .. [1] J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen, "K-means-based consensus clustering: a
       unified view", IEEE Transactions on Knowledge and Data Engineering 27, 155-169, 2015.
       doi:10.1109/TKDE.2014.2316512

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import random_k
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> bool(random_k(5, n_clusters=10, random_state=0).generate(X).n_clusters.max() <= 10)
    True
    """
    return EnsembleGenerator(
        n_partitions, algorithm=algorithm, n_clusters=(n_clusters, "sqrt"), **options
    )


@checked({**_K, **_RATIO, "algorithm": kinds.RULES})
def random_features(
    n_partitions: int = 100,
    *,
    n_clusters: Any,
    ratio: float = 0.5,
    algorithm: Any = "kmeans",
    **options: Any,
) -> EnsembleGenerator:
    """Random feature selection (RFS): every member sees a random share of the columns.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters.
    ratio : float
        Share of the columns, drawn without replacement; at least one column.
    algorithm : str, clusterer or list
        The base clusterer.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    random_k : Random numbers of clusters.
    random_projection : Random combinations of the columns.

    References
    ----------
    .. [1] J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen, "K-means-based consensus clustering: a
       unified view", IEEE Transactions on Knowledge and Data Engineering 27, 155-169, 2015.
       doi:10.1109/TKDE.2014.2316512

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import random_features
    >>> X = np.random.default_rng(0).normal(size=(20, 10))
    >>> ensemble = random_features(3, n_clusters=2, ratio=0.4, random_state=0).generate(X)
    >>> [record.columns.size for record in ensemble.records]
    [4, 4, 4]
    """
    return EnsembleGenerator(
        n_partitions,
        algorithm=algorithm,
        n_clusters=n_clusters,
        columns=("subset", ratio),
        **options,
    )


@checked({**_K, "algorithm": kinds.RULES})
def restarts(
    n_partitions: int = 100, *, n_clusters: Any, algorithm: Any = "kmeans", **options: Any
) -> EnsembleGenerator:
    """Restarts: the same clusterer on the same data, from different random starts.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters.
    algorithm : str, clusterer or list
        The base clusterer; a deterministic one gives the same partition every time.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    random_k : Restarts that also differ in the number of clusters.

    References
    ----------
    .. [1] A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence
       accumulation", IEEE Transactions on Pattern Analysis and Machine Intelligence 27, 835-850,
       2005. doi:10.1109/TPAMI.2005.113

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import restarts
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> restarts(3, n_clusters=2, random_state=0).generate(X)
    Ensemble(4 points, 3 partitions with 2 clusters)
    """
    return EnsembleGenerator(n_partitions, algorithm=algorithm, n_clusters=n_clusters, **options)


@checked({**_K, "algorithm": kinds.RULES})
def bagging(
    n_partitions: int = 100, *, n_clusters: Any, algorithm: Any = "kmeans", **options: Any
) -> EnsembleGenerator:
    """Bagging: every member clusters a bootstrap sample; points not drawn are unsampled.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters.
    algorithm : str, clusterer or list
        The base clusterer.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    subsample : Draws without replacement.
    clusterscape.combine.BagClust : A consensus of such partitions.

    References
    ----------
    .. [1] S. Dudoit and J. Fridlyand, "Bagging to improve the accuracy of a clustering procedure",
       Bioinformatics 19, 1090-1099, 2003. doi:10.1093/bioinformatics/btg038

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import bagging
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> bagging(10, n_clusters=2, random_state=0).generate(X)
    Ensemble(50 points, 10 partitions with 2 clusters, incomplete)
    """
    return EnsembleGenerator(
        n_partitions, algorithm=algorithm, n_clusters=n_clusters, rows="bootstrap", **options
    )


@checked({**_K, **_RATIO, "algorithm": kinds.RULES})
def subsample(
    n_partitions: int = 100,
    *,
    n_clusters: Any,
    ratio: float = 0.8,
    algorithm: Any = "kmeans",
    **options: Any,
) -> EnsembleGenerator:
    """Subsampling: every member clusters a random share of the points; the rest are unsampled.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters.
    ratio : float
        Share of the points, drawn without replacement.
    algorithm : str, clusterer or list
        The base clusterer.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    bagging : Draws with replacement.

    References
    ----------
    .. [1] S. Monti, P. Tamayo, J. Mesirov and T. Golub, "Consensus clustering: a resampling-based
       method for class discovery and visualization of gene expression microarray data", Machine
       Learning 52, 91-118, 2003. doi:10.1023/A:1023949509487

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import subsample
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> ensemble = subsample(3, n_clusters=2, ratio=0.6, random_state=0).generate(X)
    >>> (ensemble.labels >= 0).sum(axis=0)
    array([30, 30, 30])
    """
    return EnsembleGenerator(
        n_partitions,
        algorithm=algorithm,
        n_clusters=n_clusters,
        rows=("subsample", ratio),
        **options,
    )


@checked({**_K, "dims": (Integer(1),), "base": (Choice("gmm", "soft_gmm", "kmeans"),)})
def random_projection(
    n_partitions: int = 100, *, n_clusters: Any, dims: int = 5, base: str = "gmm", **options: Any
) -> EnsembleGenerator:
    """Random projections (RP): every member sees its own projection to a few dimensions.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters, or components of the mixture.
    dims : int
        Dimensions of the projection, at most the number of columns.
    base : {"gmm", "soft_gmm", "kmeans"}
        A Gaussian mixture as hard labels or as posteriors, or k-means.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    clusterscape.combine.RandomProjectionEnsemble : Projections and their consensus.

    References
    ----------
    .. [1] X. Z. Fern and C. E. Brodley, "Random projection for high dimensional data clustering: a
       cluster ensemble approach", International Conference on Machine Learning, 186-193, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import random_projection
    >>> X = np.repeat([[0.0] * 8, [9.0] * 8], 10, axis=0)
    >>> X = X + np.random.default_rng(0).normal(size=X.shape)
    >>> random_projection(3, n_clusters=2, dims=2, base="kmeans", random_state=0).generate(X)
    Ensemble(20 points, 3 partitions with 2 clusters)
    """
    return EnsembleGenerator(
        n_partitions, algorithm=base, n_clusters=n_clusters, columns=("project", dims), **options
    )


@checked({**_K, "clusterers": (kinds.SEVERAL,)})
def mixed(
    n_partitions: int = 100,
    *,
    n_clusters: Any = (2, "sqrt"),
    clusterers: Any = MIXED,
    **options: Any,
) -> EnsembleGenerator:
    """Different clusterers in turn: k-means, four linkages, mixture, spectral and DBSCAN.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters; DBSCAN finds its own.
    clusterers : list or tuple
        Names of base clusterers or scikit-learn clusterers.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    EnsembleGenerator : All settings.
    restarts : One clusterer, different starts.

    Examples
    --------
    >>> from clusterscape.generate import mixed
    >>> mixed(16).algorithm
    ['kmeans', 'single', 'average', 'complete', 'ward', 'gmm', 'spectral', 'dbscan']
    """
    if "algorithm" in options:
        raise ParameterError(
            "mixed does not take {algorithm.name}: its clusterers take turns; give {clusterers}.",
            algorithm=options["algorithm"],
            clusterers=options["algorithm"],
        )
    return EnsembleGenerator(
        n_partitions, algorithm=list(clusterers), n_clusters=n_clusters, **options
    )


@checked(
    {
        **_N,
        "n_clusters": (Null(), Integer(1)),
        "max_clusters": (Integer(1),),
        "n_points": (Null(), Integer(1)),
        "n_features": (Null(), Integer(1)),
        "metric": (Choice("euclidean", "cosine"),),
    }
)
def diverse(
    n_partitions: int = 100,
    *,
    n_clusters: int | None = None,
    max_clusters: int = 20,
    n_points: int | None = None,
    n_features: int | None = None,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    **options: Any,
) -> EnsembleGenerator:
    """Members of several kinds, so that no single idea of a cluster decides.

    Spectral clusterings of graphs of near neighbours, Genie linkages, Gaussian mixtures and fine
    k-means, three quarters of them finer than the answer that is sought; the others, when the
    number of clusters is known, are of the same kinds with just that number.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, optional
        Clusters that are sought, K. Spectral members have K to 3K + 10 clusters, Genie members K
        to the square root of the number of points, mixtures K to 2K + 2. None stands for not
        known: members of all kinds then have from 2 to ``max_clusters`` clusters, and some of them
        more.
    max_clusters : int
        Clusters that are looked for at most where their number is not known; 20 at least.
    n_points : int, optional
        Points of the data, where they are known: k-means members then have once to twice the
        square root of this number (100 to 200 at most; 64 to 128 of more than 20,000 points, whose
        labels then take one byte each), and else K to its square root. The finer ones keep small
        groups of outliers apart.
    n_features : int, optional
        Columns of the data, where they are known together with ``n_points``. Of wide tables, with
        1,000 columns or with more columns than points and 100 at least, as of genes in cells, half
        of the spectral, Genie and k-means members see the 5, 10 or 20 leading principal components
        instead of all columns. Mixtures always see principal components of many columns.
    metric : {"euclidean", "cosine"}
        "cosine" is for sparse counts such as words in texts: angles decide, and spherical k-means
        takes the place of the mixtures.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    mixed : Eight clusterers in turn, with the same numbers of clusters.

    Notes
    -----
    Spanning trees and graphs are computed once for all members. A spanning tree of many points in
    many dimensions takes a time that grows with the square of their number.

    References
    ----------
    .. [1] A. Y. Ng, M. I. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm",
       Advances in Neural Information Processing Systems 14, 2001.
    .. [2] M. Gagolewski, M. Bartoszuk and A. Cena, "Genie: A new, fast, and outlier-resistant
       hierarchical clustering algorithm", Information Sciences 363, 8-23, 2016.
       doi:10.1016/j.ins.2016.05.003

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from clusterscape.combine import EAC
    >>> from clusterscape.generate import diverse
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> ensemble = diverse(40, n_clusters=2, random_state=0).generate(X)
    >>> sorted({record.algorithm for record in ensemble.records})
    ['genie', 'gmm', 'kmeans', 'spectral']
    """
    k = 2 if n_clusters is None else n_clusters
    near = {"n_neighbors": [5, 7, 10, 15], "metric": metric}
    tree = {"gini_threshold": (0.1, 0.7), "reachability": (1, 7), "metric": metric}
    mixture = {"covariance": ["full", "full", "diag", "tied"], "columns": "auto", "ridge": 1e-4}
    round_one = "gmm" if metric == "euclidean" else "cosine"
    third: Any = mixture if metric == "euclidean" else {}
    means = "kmeans" if metric == "euclidean" else "cosine"
    wide = _wide_columns(n_points, n_features) if metric == "euclidean" else None
    several = [
        Kind("spectral", (k, 3 * k + 10), 4, near),
        Kind("genie", (k, "sqrt"), 4, tree),
        Kind(round_one, (k, 2 * k + 2), 3, third),
        Kind(means, _fine(k, n_points), 4),
    ]
    if n_clusters is None:  # on both sides of any answer, for the choice of k
        most = max(20, max_clusters)
        # Ten, or as many clusters as few points can have with two points each.
        fine = 10 if n_points is None else min(10, max(2, n_points // 2))
        several = [
            Kind("spectral", (2, most), 6, near),
            Kind("spectral", (fine, "sqrt"), 3, near),
            Kind("genie", (2, "sqrt"), 5, tree),
            Kind("genie", (2, most), 2, tree | {"gini_threshold": (0.1, 0.5)}),
            Kind(round_one, (2, most - 8), 3, third),
            Kind(means, (2, most), 1),
        ]
    else:
        several += [
            Kind("spectral", k, 1, near),
            Kind("genie", k, 1, tree | {"gini_threshold": (0.1, 0.5)}),
            Kind(round_one, k, 2, third),
            Kind(means, k, 1),
        ]
    if wide is not None:
        several = [s if s.algorithm == round_one else replace(s, columns=wide) for s in several]
    return EnsembleGenerator(n_partitions, algorithm=several, n_clusters=max(k, 1), **options)


def _wide_columns(n_points: int | None, n_features: int | None) -> list[Any] | None:
    """Return what members see of wide tables, in equal shares of all columns and components."""
    if n_points is None or n_features is None or n_features < min(1000, max(n_points + 1, 100)):
        return None
    dims = [q for q in _COMPONENTS if q < n_points - 1]
    return [*("all" for _ in dims), *(("pca", q) for q in dims)] or None


def _fine(k: int, n_points: int | None) -> Any:
    """Return the range of numbers of clusters of partitions much finer than k."""
    if n_points is None:
        return (k, "sqrt")
    # Of many points the labels are most of the memory.
    most = _MOST_CLUSTERS if n_points <= plan.EXACT else _BYTE // 2
    root = min(int(np.ceil(np.sqrt(n_points))), most)
    low = max(k, min(root, n_points // 2))
    return (low, max(low, 2 * root))


@checked(
    {
        **_K,
        "n_landmarks": (Integer(2),),
        "nearest": (Integer(1),),
        "metric": (Choice("euclidean", "cosine"),),
        "max_iter": (Integer(1),),
        "rows": plan.ROWS,
    }
)
def usenc(
    n_partitions: int = 20,
    *,
    n_clusters: Any = (20, 60),
    n_landmarks: int = 1000,
    nearest: int = 5,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    max_iter: int = 5,
    rows: Any = "all",
    **options: Any,
) -> EnsembleGenerator:
    """Landmark spectral members (U-SENC): for clusters of any shape among millions of points.

    Every member draws landmarks of its own, links each point to its nearest ones, cuts this graph
    spectrally (U-SPEC) and has its own number of clusters. Time and memory are linear in the
    points. The authors' consensus is a cut of the graph of points and clusters with links of equal
    weight: :class:`~clusterscape.combine.LWGP` with ``weighting=None``.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, list or tuple
        Number of clusters of the members, a range by default; more than are sought at the end,
        because the consensus joins them. A range ends at half the number of points at most.
    n_landmarks : int
        Landmarks of a member. Below 10,000 points use a tenth of the points: where most points
        are landmarks themselves, members fall into fragments and the consensus is useless.
    nearest : int
        Landmarks that a point is linked to.
    metric : {"euclidean", "cosine"}
        Distance of points and landmarks.
    max_iter : int
        Iterations of k-means on the eigenvectors, from a start by k-means++ with one draw for each
        centre: few are enough and keep the members different.
    rows : "all", "auto", "bootstrap", ("subsample", ratio) or ("sample", size)
        Rows that members see, as in :class:`EnsembleGenerator`: all of them, as the authors do.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    diverse : Members of several kinds.
    clusterscape.combine.LWGP : The consensus, also with weights of evidence.

    Notes
    -----
    Clusters that are finer than the distances between landmarks share them and are not separated;
    clusters of very few points have no landmark of their own. Features are taken as they are.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh, "Ultra-scalable spectral
       clustering and ensemble clustering", IEEE Transactions on Knowledge and Data Engineering 32,
       1212-1226, 2020. doi:10.1109/TKDE.2019.2903410

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from clusterscape.combine import LWGP
    >>> from clusterscape.compare import adjusted_rand
    >>> from clusterscape.generate import usenc
    >>> X, y = make_moons(500, noise=0.05, random_state=0)
    >>> ensemble = usenc(n_landmarks=50, random_state=0).generate(X)
    >>> adjusted_rand(LWGP(2, weighting=None, random_state=0).fit_predict(ensemble), y)
    1.0
    """
    settings = {
        "n_landmarks": n_landmarks,
        "nearest": nearest,
        "metric": metric,
        "init": "plain-k-means++",  # as the authors' program starts
    }
    members = Kind("landmark_spectral", n_clusters, settings=settings)
    return EnsembleGenerator(
        n_partitions,
        algorithm=members,
        n_clusters=n_clusters,
        max_iter=max_iter,
        rows=rows,
        **options,
    )


@checked(
    {
        **_N,
        "n_clusters": (Null(), Integer(1)),
        "metric": (Choice("precomputed", "precomputed_affinity"),),
        "graph": (Flag(),),
    }
)
def diverse_precomputed(
    n_partitions: int = 100,
    *,
    n_clusters: int | None = None,
    metric: Literal["precomputed", "precomputed_affinity"] = "precomputed",
    graph: bool = False,
    **options: Any,
) -> EnsembleGenerator:
    """Members of several kinds from distances or similarities, without features.

    Spectral clusterings of graphs of near neighbours and Genie linkages and, where the distances
    of all pairs are known, k-medoids and average linkage; most of them finer than the answer that
    is sought.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_clusters : int, optional
        Clusters that are sought, K, as in :func:`diverse`.
    metric : {"precomputed", "precomputed_affinity"}
        What X holds, as in :class:`EnsembleGenerator`.
    graph : bool
        Whether X is a sparse graph, so that only some pairs are known.
    **options
        Other parameters of :class:`EnsembleGenerator`.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    diverse : Members of several kinds from features.

    Notes
    -----
    Linkages of a graph in pieces cannot have fewer clusters than there are pieces; such members
    fail, and their records say so.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.combine import LWGP
    >>> from clusterscape.generate import diverse_precomputed
    >>> words = ["aaab", "aaac", "aabb", "zzzy", "zzyy", "zyzy"]
    >>> D = np.array([[sum(a != b for a, b in zip(u, v)) for v in words] for u in words], float)
    >>> ensemble = diverse_precomputed(20, n_clusters=2, random_state=0).generate(D)
    >>> LWGP(2, random_state=0).fit_predict(ensemble)
    array([0, 0, 0, 1, 1, 1])
    """
    k = 2 if n_clusters is None else n_clusters
    near = {"n_neighbors": [5, 7, 10, 15]}
    # A graph may store fewer neighbours than mutual reachability asks for.
    tree = {"gini_threshold": (0.1, 0.7), "reachability": 1 if graph else (1, 7)}
    several = [Kind("spectral", (k, 3 * k + 10), 4, near), Kind("genie", (k, "sqrt"), 4, tree)]
    if not graph:
        several += [Kind("kmedoids", (k, 3 * k + 10), 2), Kind("average", (k, "sqrt"), 1)]
    if n_clusters is not None:
        sharp = tree | {"gini_threshold": (0.1, 0.5)}
        several += [Kind("spectral", k, 1, near), Kind("genie", k, 2, sharp)]
        several += [] if graph else [Kind("kmedoids", k, 2)]
    return EnsembleGenerator(
        n_partitions, algorithm=several, n_clusters=max(k, 1), metric=metric, **options
    )


@checked(
    {
        "n_points": (Integer(1),),
        "n_features": (Integer(1),),
        "preset": (Choice(*PRESETS),),
        "n_partitions": (Integer(1),),
        "n_clusters": (Integer(1), Null()),
        "max_clusters": (Integer(1),),
        "sparse": (Flag(),),
    }
)
def generator_for(
    n_points: int,
    n_features: int,
    *,
    preset: str = "diverse",
    n_partitions: int = 100,
    n_clusters: int | None = None,
    max_clusters: int = 20,
    sparse: bool = False,
) -> EnsembleGenerator:
    """Return a generator for data of a given shape, for a consensus of ``n_clusters``.

    Parameters
    ----------
    n_points, n_features : int
        Shape of the data.
    preset : str
        Name of a preset.
    n_partitions : int
        Number of partitions.
    n_clusters : int, optional
        Clusters that the consensus is to have. None stands for not known yet: ``diverse`` then has
        members of 2 to ``max_clusters`` clusters and some finer ones, other presets have fine
        members only, with half of the square root of the number of points (at most 100) clusters at
        least.
    max_clusters : int
        Clusters that are looked for at most where their number is not known.
    sparse : bool
        Whether the data are sparse: ``diverse`` then compares angles.

    Returns
    -------
    EnsembleGenerator

    See Also
    --------
    clusterscape.ConsensusClustering : Uses it for its ensemble.
    EnsembleGenerator : All settings.

    Examples
    --------
    >>> from clusterscape.generate import generator_for
    >>> generator_for(900, 2, preset="random_k").n_clusters
    (15, 30)
    """
    if n_points == 1:
        n_clusters = 1  # whatever the preset: one point is one cluster
    high = min(int(np.ceil(np.sqrt(n_points))), _MOST_CLUSTERS)
    least = min(2, n_points)
    low = max(least, high // 2) if n_clusters is None else max(least, n_clusters)
    k: Any = (min(low, n_points), min(max(low, high), n_points))
    if preset == "random_k":
        return EnsembleGenerator(n_partitions, n_clusters=k)
    options: dict[str, Any] = {"n_clusters": k if n_clusters is None else low}
    if preset == "diverse":
        angles = {"metric": "cosine"} if sparse else {}
        options |= {"n_clusters": n_clusters, "n_points": n_points, **angles}
        options["n_features"] = n_features
        options["max_clusters"] = max_clusters
    if preset == "usenc":
        options["n_clusters"] = (min(20, n_points), max(60, 2 * (n_clusters or 0)))
        options["n_landmarks"] = max(2, min(1000, n_points // 10))
    if preset == "random_projection":
        options["dims"] = min(5, n_features)
    return globals()[preset](n_partitions, **options)
