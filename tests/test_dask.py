"""Dask as joblib's backend: the same call on a cluster gives the same bytes."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from clusterscape import ConsensusClustering
from clusterscape.generate import EnsembleGenerator

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'clusterscape[dask]'"
)


@pytest.mark.filterwarnings("default")  # of the cluster's own threads and sockets
def test_a_cluster_of_two_workers_gives_the_same_bytes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) + 6 * rng.integers(0, 3, size=(150, 1))

    def generated(algorithm: str, name: str) -> bytes:
        store = tmp_path / f"{name}-{algorithm}.store"  # workers write their members themselves
        generator = EnsembleGenerator(
            6, algorithm=algorithm, n_clusters=3, random_state=0, store=store
        )
        generator.generate(X).to_npz(tmp_path / "e.npz")
        assert len(list(store.glob("member-*.npz"))) == 6
        return (tmp_path / "e.npz").read_bytes()

    def fitted() -> ConsensusClustering:
        return ConsensusClustering(3, n_partitions=10, random_state=0).fit(X)

    alone = [generated("kmeans", "alone"), generated("gmm", "alone")]
    model = fitted()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client, joblib.parallel_config("dask"):
        with distributed.get_task_stream(client) as tasks:
            assert [generated("kmeans", "dask"), generated("gmm", "dask")] == alone
        assert len({task["worker"] for task in tasks.data}) == 2  # the work was really there
        with distributed.get_task_stream(client) as tasks:
            other = fitted()
        assert tasks.data
    assert other.ensemble_ == model.ensemble_
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.confidence_, model.confidence_)
