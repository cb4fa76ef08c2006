"""Certificates for points: the share of a point's cell that each cluster would lose to it."""

from __future__ import annotations

from clusterscape.validate.affinity.blocked import BlockedCertificates
from clusterscape.validate.affinity.certificates import Certificates
from clusterscape.validate.affinity.estimator import Affinity, stability
from clusterscape.validate.affinity.refinement import AffinityMap

__all__ = ["Affinity", "AffinityMap", "BlockedCertificates", "Certificates", "stability"]
