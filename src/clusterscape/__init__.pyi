# The public names of the package: type checkers read this list, and so does __init__.py.
from clusterscape import anndata as anndata
from clusterscape import combine as combine
from clusterscape import compare as compare
from clusterscape import datasets as datasets
from clusterscape import explore as explore
from clusterscape import forest as forest
from clusterscape import generate as generate
from clusterscape import io as io
from clusterscape import lifting as lifting
from clusterscape import linalg as linalg
from clusterscape import plot as plot
from clusterscape import preprocess as preprocess
from clusterscape import report as report
from clusterscape import semisupervised as semisupervised
from clusterscape import validate as validate
from clusterscape.ensemble import Ensemble as Ensemble
from clusterscape.ensemble import PartitionRecord as PartitionRecord
from clusterscape.generate import EnsembleGenerator as EnsembleGenerator
from clusterscape.model import ConsensusClustering as ConsensusClustering

__version__: str
