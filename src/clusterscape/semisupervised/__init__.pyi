# The public names of the package: type checkers read this list, and so does __init__.py.
# -- constraints
from clusterscape.semisupervised.base import ViolationWarning as ViolationWarning
from clusterscape.semisupervised.closure import Closure as Closure
from clusterscape.semisupervised.closure import ContradictionError as ContradictionError
from clusterscape.semisupervised.constraints import Constraints as Constraints
from clusterscape.semisupervised.constraints import Violations as Violations
from clusterscape.semisupervised.cop_kmeans import COPKMeans as COPKMeans
from clusterscape.semisupervised.ensemble import ConstrainedEnsemble as ConstrainedEnsemble

# -- transductive learning
from clusterscape.semisupervised.fuzzy import FuzzyCMeans as FuzzyCMeans
from clusterscape.semisupervised.landmarks import (
    FastConstrainedSpectral as FastConstrainedSpectral,
)
from clusterscape.semisupervised.landmarks import LandmarkSpectral as LandmarkSpectral
from clusterscape.semisupervised.landmarks import sphere_embedding as sphere_embedding
from clusterscape.semisupervised.platt import PlattScaling as PlattScaling
from clusterscape.semisupervised.platt import platt_scaling as platt_scaling
from clusterscape.semisupervised.queries import suggest_queries as suggest_queries
from clusterscape.semisupervised.scacs import CSP as CSP
from clusterscape.semisupervised.scacs import SCACS as SCACS
from clusterscape.semisupervised.spectral import ConstrainedSpectral as ConstrainedSpectral
from clusterscape.semisupervised.subsampling import AdaptiveSubsampler as AdaptiveSubsampler
from clusterscape.semisupervised.subsampling import cluster_entropy as cluster_entropy
from clusterscape.semisupervised.subsampling import label_uncertainty as label_uncertainty
from clusterscape.semisupervised.support import SupportVectorDistances as SupportVectorDistances
from clusterscape.semisupervised.support import (
    support_vector_distances as support_vector_distances,
)
from clusterscape.semisupervised.transductive import TransductionWarning as TransductionWarning
from clusterscape.semisupervised.transductive import TransductiveSVC as TransductiveSVC
from clusterscape.semisupervised.votes import InfeasibleError as InfeasibleError
from clusterscape.semisupervised.votes import member_scores as member_scores
