# The public names of the package: type checkers read this list, and so does __init__.py.
from clusterscape.semisupervised.closure import Closure as Closure
from clusterscape.semisupervised.closure import ContradictionError as ContradictionError
from clusterscape.semisupervised.constraints import Constraints as Constraints
from clusterscape.semisupervised.constraints import Violations as Violations
