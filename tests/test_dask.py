"""Dask as joblib's backend: the same call on a cluster gives the same bytes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from clusterscape import ConsensusClustering
from clusterscape._core.parallel import ClusterLostError
from clusterscape._core.store import StoreError
from clusterscape._core.workers import DaskWorkers, local_cluster
from clusterscape.combine import MCLA, MajorityVote, SpectralConsensus
from clusterscape.compare import pairwise
from clusterscape.generate import EnsembleGenerator, restarts
from clusterscape.io import open_rows
from clusterscape.lifting import lift
from clusterscape.validate import Affinity

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


def blobs(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, 3)) + 5 * rng.integers(0, 3, size=(n, 1))).astype(np.float32)


def kill_one(client, store) -> None:
    """Kill a worker as soon as the first blocks are labelled."""
    pids = list(client.run(os.getpid).values())
    for _ in range(6000):
        if list(store.glob("blocks/labels-*/member-*.npz")):
            os.kill(pids[0], signal.SIGKILL)
            return
        time.sleep(0.01)


@pytest.mark.filterwarnings("default")
def test_a_dask_array_is_never_gathered_and_survives_the_death_of_a_worker(tmp_path):
    da = pytest.importorskip("dask.array")
    X = blobs(70_000)
    settings = {"n_partitions": 8, "random_state": 0}
    alone = ConsensusClustering(3, **settings).fit(open_rows(X, block_rows=8192))
    labels, frame = np.asarray(alone.labels_), alone.to_frame()
    array = da.from_array(X, chunks=(8192, 2))
    lazy = ConsensusClustering(3, **settings).fit(array)  # without a cluster: in this process
    np.testing.assert_array_equal(np.asarray(lazy.labels_), labels)
    with local_cluster(2) as client:
        store = tmp_path / "store"
        killer = threading.Thread(target=kill_one, args=(client, store))
        killer.start()
        model = ConsensusClustering(3, **settings, store=store).fit(array)
        killer.join()
        np.testing.assert_array_equal(np.asarray(model.labels_), labels)
        assert model.to_frame().equals(frame)
        found = model.labels_.to_dask()
        assert int((found == 0).sum().compute()) == int((labels == 0).sum())
        with joblib.parallel_config("dask"):
            other = ConsensusClustering(3, **settings).fit(open_rows(X, block_rows=8192))
            np.testing.assert_array_equal(np.asarray(other.labels_), labels)
        workers = DaskWorkers(client)
        assert workers.map(block_rows_of, open_rows(X, block_rows=8192)) == [8192] * 8 + [4464]
        assert not workers.sees(str(tmp_path / "nowhere"))
    # After the cluster was closed this process reads the files itself.
    assert workers.map(block_rows_of, open_rows(X, block_rows=8192)) == [8192] * 8 + [4464]
    np.testing.assert_array_equal(model.labels_[::1000], labels[::1000])


def block_rows_of(i: int, block: np.ndarray) -> int:
    return len(block)


@pytest.mark.filterwarnings("default")
def test_methods_measures_and_certificates_on_a_cluster_have_the_bytes_of_one_process():
    X = blobs(20_000)
    rows = open_rows(X, block_rows=4096)
    members = restarts(4, n_clusters=5, rows=("sample", 500), random_state=0)
    ensemble = members.generate(rows)
    methods = [MCLA(3, random_state=0), MajorityVote(), SpectralConsensus(3, random_state=0)]

    def found() -> list[np.ndarray]:
        answers = [np.asarray(method.fit(ensemble).labels_) for method in methods]
        shares = Affinity(random_state=0).fit(rows, ensemble.blocks.gather()[:, 0]).affinity_
        lifted = lift(ensemble, rows, n_components=100)
        return [*answers, pairwise(ensemble, "vi").matrix, lifted.vectors, np.asarray(shares)]

    alone = found()
    with local_cluster(2) as client:
        rows.workers = ensemble.blocks.workers = DaskWorkers(client)
        for there, here in zip(found(), alone, strict=True):
            np.testing.assert_array_equal(there, here)


def started(home: Path, log: Any) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes], str]:
    """Start a scheduler and a worker as processes; return them and the address."""
    file = home / "scheduler.json"
    file.unlink(missing_ok=True)
    where = ["--scheduler-file", str(file), "--no-dashboard", "--host", "127.0.0.1"]

    def begin(name: str, *more: str) -> subprocess.Popen[bytes]:
        module = [sys.executable, "-m", f"distributed.cli.dask_{name}"]
        return subprocess.Popen([*module, *where, *more], stdout=log, stderr=log)

    scheduler = begin("scheduler", "--port", "0")
    worker = begin("worker", "--nthreads", "1", "--no-nanny", "--death-timeout", "5")
    for _ in range(3000):
        with contextlib.suppress(FileNotFoundError, ValueError):
            return scheduler, worker, json.loads(file.read_text())["address"]
        time.sleep(0.01)
    raise AssertionError("the scheduler did not start")


@pytest.mark.filterwarnings("default")
def test_a_dead_scheduler_is_reported_and_the_store_goes_on_with_another(tmp_path):
    X = blobs(70_000)
    settings = {"n_partitions": 8, "random_state": 0}
    expected = ConsensusClustering(3, **settings).fit(open_rows(X, block_rows=4096))
    store = tmp_path / "store"

    def fitted(address: str) -> ConsensusClustering:
        with distributed.Client(address, timeout=20) as client, joblib.parallel_config("dask"):
            client.wait_for_workers(1, timeout=60)
            model = ConsensusClustering(3, **settings, store=store)
            return model.fit(open_rows(X, block_rows=4096))

    def kill_early(scheduler: subprocess.Popen[bytes]) -> None:
        for _ in range(6000):
            if list(store.glob("blocks/labels-*/member-*.npz")):
                scheduler.kill()
                return
            time.sleep(0.01)

    with (tmp_path / "log").open("wb") as log:
        scheduler, worker, address = started(tmp_path, log)
        killer = threading.Thread(target=kill_early, args=(scheduler,))
        killer.start()
        try:
            with pytest.raises(ClusterLostError, match="lost its scheduler.* it goes on where it"):
                fitted(address)
        finally:
            killer.join()
            worker.kill()
            worker.wait()
            scheduler.wait()
        kept = {p: p.stat().st_mtime_ns for p in store.glob("blocks/labels-*/member-*.npz")}
        assert kept
        scheduler, worker, address = started(tmp_path, log)
        try:
            model = fitted(address)
            assert {p: p.stat().st_mtime_ns for p in kept} == kept  # nothing was done twice
            np.testing.assert_array_equal(np.asarray(model.labels_), np.asarray(expected.labels_))
            assert model.to_frame().equals(expected.to_frame())
            lost = sorted(kept)[0]
            lost.unlink()
            with pytest.raises(StoreError, match="is gone: a block of rows"):
                model.labels_.workers.map(total, model.labels_)
        finally:
            for process in (worker, scheduler):
                process.kill()
                process.wait()


def total(i: int, labels: np.ndarray) -> int:
    return int(labels.sum())


@pytest.mark.filterwarnings("default")
def test_run_on_a_cluster_writes_blocks_and_resumes(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from clusterscape.cli.app import app

    monkeypatch.chdir(tmp_path)
    X = blobs(50_000)
    np.save("X.npy", X)
    expected = ConsensusClustering(3, n_partitions=6, n_references=0, random_state=0).fit(
        open_rows(X)
    )
    arguments = ["run", "X.npy", "-k", "3", "-r", "6", "--references", "0", "--scale", "none"]
    with local_cluster(2) as client:
        address = client.scheduler.address
        arguments += ["--dask", address, "--resume", "-o", "out"]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        frames = [pd.read_parquet(p) for p in sorted(Path("out/labels").glob("part-*.parquet"))]
        frame = pd.concat(frames).set_index("id")
        pd.testing.assert_frame_equal(frame, expected.to_frame(), check_index_type=False)
        found = json.loads(Path("out/run.json").read_text())["result"]
        assert found["cluster_sizes"] == expected.labels_.tally.counts.tolist()
        again = CliRunner().invoke(app, arguments)
        assert again.exit_code == 1
        Path("out/run.json").unlink()  # as if it had died before its end
        again = CliRunner().invoke(app, arguments)
        assert again.exit_code == 0, again.output
    refused = CliRunner().invoke(app, [*arguments, "--force", "--pca", "2"])
    assert refused.exit_code == 2
    gone = CliRunner().invoke(app, [*arguments, "--force"])
    assert gone.exit_code == 1
    assert "there is no scheduler" in gone.output
    assert Path("out/run.json").exists()  # what is to be replaced is there until it can be
    scaled = CliRunner().invoke(app, [*arguments, "--force", "--scale", "robust"])
    assert scaled.exit_code == 2
    assert Path("out/run.json").exists()
    arguments[arguments.index(address)] = "local"
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # somebody else has it: as good
            taken.bind(("", 8787))
            taken.listen()
        local = CliRunner().invoke(app, [*arguments, "--force", "--jobs", "2"])
    assert local.exit_code == 0, local.output
    assert "8787" not in local.output  # the port of a page that Dask would like to serve
    assert "unclosed" not in local.output
    frames = [pd.read_parquet(p) for p in sorted(Path("out/labels").glob("part-*.parquet"))]
    assert pd.concat(frames).set_index("id").equals(frame)
    assert json.loads(Path("out/run.json").read_text())["result"] == found


@pytest.mark.filterwarnings("default")
def test_a_full_disk_of_the_workers_is_said_and_the_store_goes_on(tmp_path):
    X = blobs(70_000)
    home = tmp_path / "small"
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(home)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system (tmpfs) cannot be mounted here")
    settings = {"n_partitions": 8, "random_state": 0}

    def fitted(store: Path | None) -> ConsensusClustering:
        model = ConsensusClustering(3, **settings, store=store)
        return model.fit(open_rows(X, block_rows=4096))

    try:
        expected = fitted(None)
        with local_cluster(2), joblib.parallel_config("dask"):
            with pytest.raises(OSError, match="no space is left for .* repeat the call"):
                fitted(home / "store")
            # Another worker may still be writing its block when the first one's error is here.
            latest = time.monotonic() + 30
            while list(home.rglob("*.tmp")) and time.monotonic() < latest:
                time.sleep(0.05)
            assert not list(home.rglob("*.tmp"))
            kept = {p: p.stat().st_mtime_ns for p in (home / "store" / "blocks").rglob("*.npz")}
            assert kept
            subprocess.run(["mount", "-o", "remount,size=9m", str(home)], check=True)
            found = fitted(home / "store")
            assert {p: p.stat().st_mtime_ns for p in kept} == kept
            np.testing.assert_array_equal(np.asarray(found.labels_), np.asarray(expected.labels_))
    finally:
        subprocess.run(["umount", "-l", str(home)], check=False)


def test_a_scheduler_that_is_gone_when_folders_are_looked_for_is_said():
    def run(*_args: Any) -> None:
        raise ConnectionResetError(104, "Connection reset by peer")

    client = SimpleNamespace(run=run, scheduler=SimpleNamespace(address="tcp://here:1"))
    with pytest.raises(ClusterLostError, match="tcp://here:1 lost its scheduler .*Reset.* goes on"):
        DaskWorkers(client).sees("folder")
