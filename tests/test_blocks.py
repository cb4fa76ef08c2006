"""Rows in blocks: the answers are those of all rows in memory, byte for byte."""

from __future__ import annotations

import pickle  # noqa: TID251  (what travels to workers must survive it)
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clusterscape import ConsensusClustering, Ensemble
from clusterscape._core.rows import RowSource
from clusterscape._core.store import StoreError
from clusterscape.combine import KCC, LWGP, SEC, SpectralConsensus
from clusterscape.compare import pairwise
from clusterscape.ensemble import BlockedEnsemble, BlockedLabelsError
from clusterscape.generate import EnsembleGenerator, restarts, usenc
from clusterscape.io import open_rows

N = 42_000  # above 40,000, up to which the main job reads all rows at once


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 5 * rng.integers(0, 3, size=(N, 1))
    return X.astype(np.float32)


@pytest.fixture(scope="module")
def both(X) -> tuple[Ensemble, BlockedEnsemble]:
    """Return one ensemble in memory and the same in blocks."""
    generator = EnsembleGenerator(7, n_clusters=(3, 9), rows=("sample", 2000), random_state=0)
    blocked = generator.generate(open_rows(X, block_rows=8192))
    assert isinstance(blocked, BlockedEnsemble)
    return generator.generate(X), blocked


# ---- sources ------------------------------------------------------------------------------


def sources(X: np.ndarray, folder: Path) -> dict[str, RowSource]:
    """Return the same matrix from everywhere it can be."""
    anndata = pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    zarr = pytest.importorskip("zarr")
    pq = pytest.importorskip("pyarrow.parquet")
    da = pytest.importorskip("dask.array")
    import pyarrow as pa

    np.save(folder / "X.npy", X)
    kept = zarr.create_array(str(folder / "X.zarr"), shape=X.shape, chunks=(64, 2), dtype=X.dtype)
    kept[:] = X
    anndata.AnnData(X).write_h5ad(folder / "X.h5ad")
    table = pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])} | {"name": ["a"] * len(X)})
    pq.write_table(table, folder / "X.parquet", row_group_size=90)
    (folder / "many").mkdir()
    for i, start in enumerate(range(0, len(X), 128)):
        pq.write_table(table.slice(start, 128), folder / "many" / f"{i:03}.parquet")
    with h5py.File(folder / "X.h5ad") as file:
        dataset = open_rows(file["X"], block_rows=50)
    return {
        "array": open_rows(X, block_rows=70),
        "npy": open_rows(folder / "X.npy", block_rows=70),
        "zarr": open_rows(folder / "X.zarr", block_rows=70),
        "zarr, default": open_rows(kept),
        "h5ad": open_rows(folder / "X.h5ad", block_rows=70),
        "hdf5": dataset,
        "parquet": open_rows(folder / "X.parquet"),
        "folder": open_rows(folder / "many"),
        "dask": open_rows(da.from_array(X, chunks=(70, 2))),
    }


def test_every_source_gives_the_same_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    rows = np.array([299, 3, 3, 150, 69, 70])
    for name, source in sources(X, tmp_path).items():
        for one in (source, pickle.loads(pickle.dumps(source))):
            assert one.shape == X.shape, name
            assert one.bounds[0] == 0, name
            assert one.bounds[-1] == 300, name
            blocks = [one.block(i) for i in range(one.n_blocks)]
            np.testing.assert_array_equal(np.concatenate(blocks), X, err_msg=name)
            np.testing.assert_array_equal(one[rows], X[rows], err_msg=name)
            np.testing.assert_array_equal(one[::7], X[::7], err_msg=name)
            np.testing.assert_array_equal(one.gather(), X, err_msg=name)
        np.testing.assert_array_equal(source.to_dask().compute(), X, err_msg=name)


def test_a_memory_map_travels_as_a_name(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((5000, 40)))
    assert len(pickle.dumps(open_rows(tmp_path / "X.npy"))) < 10_000


def test_default_blocks_are_multiples_of_what_members_are_assigned_in():
    bounds = open_rows(np.zeros((100_000, 16), dtype=np.float32)).bounds
    assert bounds.tolist() == [0, 65_536, 100_000]
    assert not (open_rows(np.zeros((100_000, 999), dtype=np.float32)).bounds[:-1] % 8192).any()


def test_values_that_are_not_finite_are_named(X):
    wrong = X.copy()
    wrong[30_000, 2] = np.nan
    with pytest.raises(ValueError, match="X has NaN in row 30000, column 2"):
        ConsensusClustering(3).fit(open_rows(wrong, block_rows=8192))
    wrong[30_000, 2] = 1e20
    with pytest.raises(ValueError, match="leave the range of float32"):
        restarts(2, n_clusters=3).generate(open_rows(wrong, block_rows=8192))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: open_rows(path / "absent.npy"), "does not exist"),
        (lambda path: open_rows(np.zeros(5)), "two dimensions"),
        (lambda path: open_rows(np.zeros((0, 5))), "no rows"),
        (lambda path: open_rows(np.array([["a", "b"]])), "must hold numbers"),
        (lambda path: open_rows(path), "neither a Zarr array nor Parquet"),
        (lambda path: open_rows(np.zeros((4, 2)), columns=["a"]), "only Parquet"),
    ],
)
def test_what_cannot_be_read_in_blocks_is_refused(make, message, tmp_path):
    if message == "only Parquet":
        np.save(tmp_path / "X.npy", np.zeros((4, 2)))
        with pytest.raises(ValueError, match=message):
            open_rows(tmp_path / "X.npy", columns=["a"])
        return
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        make(tmp_path)


# ---- ensembles ----------------------------------------------------------------------------


def test_an_ensemble_in_blocks_is_the_one_in_memory(both):
    memory, blocked = both
    assert blocked == memory
    assert blocked.gather() == memory
    assert pickle.loads(pickle.dumps(blocked)) == memory
    np.testing.assert_array_equal(blocked.cluster_sizes(), memory.cluster_sizes())
    np.testing.assert_array_equal(blocked.contingency(0, 3), memory.contingency(0, 3))
    np.testing.assert_array_equal(blocked.partition("p2"), memory.partition("p2"))
    assert blocked.n_distinct == memory.n_distinct
    B = memory.membership().matrix
    np.testing.assert_array_equal(blocked.gram(), (B.T @ B).toarray())
    rows = [41_999, 0, 9000]
    assert blocked.subset(rows) == memory.subset(rows)
    assert blocked.select([4, 1]).gather() == memory.select([4, 1])
    assert blocked.concat(blocked).gather() == memory.concat(memory)
    np.testing.assert_array_equal(blocked.blocks.to_dask().compute(), memory.labels)


def test_equal_partitions_are_found_in_blocks(both):
    memory, blocked = both
    which = [0, 1, 0, 1, 2, 3]
    first, groups = blocked.select(which).distinct()
    expected = memory.select(which).distinct()
    assert first.tolist() == expected[0].tolist()
    assert groups.tolist() == expected[1].tolist()
    assert len(first) < 5


def test_all_pairs_are_compared_in_blocks(both):
    memory, blocked = both
    metrics = ["adjusted_rand", "nmi", "vi", "accuracy"]
    ours, theirs = pairwise(blocked, metrics), pairwise(memory, metrics)
    for name in metrics:
        np.testing.assert_allclose(ours.matrices[name], theirs.matrices[name], atol=1e-12)


def test_what_needs_all_labels_says_how_much_memory(both):
    _, blocked = both
    message = r"needs the labels of all 42,000 points in memory \(0 MB"
    for call in (
        lambda: blocked.labels,
        lambda: np.asarray(blocked),
        lambda: blocked.coassociation(),
        lambda: SEC(3, projection="svd").fit(blocked),
        lambda: blocked.with_weights(sample_weight=np.ones(N)),
    ):
        with pytest.raises(BlockedLabelsError, match=message):
            call()


def test_members_on_all_rows_are_refused_with_their_memory(X):
    rows = open_rows(X, block_rows=8192)
    with pytest.raises(ValueError, match="would cluster all 42,000 rows at once"):
        EnsembleGenerator(2, n_clusters=3, rows="all").generate(rows)
    with pytest.raises(ValueError, match="have no weights"):
        restarts(2, n_clusters=3).generate(rows, sample_weight=np.ones(N))


# ---- consensus ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        SEC(3, random_state=0),
        SEC(3, random_state=0, weighting="eci"),
        KCC(3, random_state=0),
        KCC(3, utility="category", normalized=True, random_state=0),
        LWGP(3, random_state=0),
        LWGP(random_state=0),
        SpectralConsensus(3, max_points=5000, random_state=0),
        SpectralConsensus(random_state=0),
    ],
    ids=str,
)
def test_a_consensus_in_blocks_is_the_one_in_memory(both, method):
    memory, blocked = both
    expected = method.fit(memory)
    labels, cost, frame = expected.labels_, expected.cost_, expected.to_frame(membership=True)
    found = method.fit(blocked)
    np.testing.assert_array_equal(np.asarray(found.labels_), labels)
    assert found.cost_ == pytest.approx(cost, rel=1e-9, abs=1e-12)
    pd.testing.assert_frame_equal(found.to_frame(membership=True), frame, check_exact=True)
    np.testing.assert_array_equal(found.cluster_consensus_, expected.cluster_consensus_)


def test_landmark_spectral_members_on_samples_and_their_cut_work_in_blocks(X):
    generator = usenc(3, n_clusters=8, n_landmarks=60, rows=("sample", 1500), random_state=0)
    memory, blocked = generator.generate(X), generator.generate(open_rows(X, block_rows=16_384))
    assert blocked == memory
    method = LWGP(3, weighting=None, max_points=None, random_state=0)  # U-SENC
    expected = method.fit(memory).labels_
    np.testing.assert_array_equal(np.asarray(method.fit(blocked).labels_), expected)


@pytest.mark.parametrize("polish", [0, 3])
def test_projected_rows_in_blocks_find_the_same_clusters(both, polish):
    memory, blocked = both
    method = SEC(3, projection="sparse", n_dims=20, polish=polish, random_state=0)
    expected = method.fit(memory)
    labels, cost, error = expected.labels_, expected.cost_, expected.projection_error_
    found = method.fit(blocked)
    assert (np.asarray(found.labels_) == labels).mean() > 0.999
    assert found.cost_ == pytest.approx(cost, rel=1e-3)
    assert found.projection_error_ == pytest.approx(error, rel=0.05)


def test_groups_that_lose_all_points_are_filled_again(both):
    """Starts with more groups than the sample fills leave empty ones to the blocks."""
    memory, blocked = both
    method = SEC(12, n_init=1, spectral_start=False, max_iter=3, random_state=3)
    expected = method.fit(memory).labels_
    np.testing.assert_array_equal(np.asarray(method.fit(blocked).labels_), expected)


# ---- the main job -------------------------------------------------------------------------


@pytest.mark.parametrize("k", [3, None], ids=["k given", "k chosen"])
def test_the_main_job_in_blocks_has_the_bytes_of_the_one_in_memory(X, k):
    settings = {"n_clusters": k, "n_partitions": 12, "random_state": 0}
    expected = ConsensusClustering(**settings).fit(X)
    found = ConsensusClustering(**settings).fit(open_rows(X, block_rows=16_384))
    assert found.n_clusters_ == expected.n_clusters_ == 3
    np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
    np.testing.assert_array_equal(np.asarray(found.confidence_), expected.confidence_)
    np.testing.assert_array_equal(np.asarray(found.membership_), expected.membership_)
    assert found.to_frame().equals(expected.to_frame())
    assert found.structure_.p_value == expected.structure_.p_value
    np.testing.assert_array_equal(found.predict(X[:99]), expected.predict(X[:99]))


def test_few_rows_are_read_at_once(X):
    expected = ConsensusClustering(3, n_partitions=5, random_state=0).fit(X[:500])
    found = ConsensusClustering(3, n_partitions=5, random_state=0).fit(open_rows(X[:500]))
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_a_store_resumes_the_blocks(X, tmp_path):
    def fitted() -> ConsensusClustering:
        model = ConsensusClustering(3, n_partitions=6, random_state=0, store=tmp_path / "store")
        return model.fit(open_rows(X, block_rows=8192))

    labels = np.asarray(fitted().labels_)
    files = sorted((tmp_path / "store" / "blocks").rglob("member-*.npz"))
    assert len(files) == 6
    times = {file: file.stat().st_mtime_ns for file in files}
    files[2].unlink()
    files[4].write_bytes(files[4].read_bytes()[:-1] + b"?")  # a changed byte is noticed
    np.testing.assert_array_equal(np.asarray(fitted().labels_), labels)
    written = {file for file in files if file.stat().st_mtime_ns != times[file]}
    assert written == {files[2], files[4]}


def test_a_lost_or_damaged_block_is_named_and_made_again(X, tmp_path):
    def fitted() -> ConsensusClustering:
        model = ConsensusClustering(3, n_partitions=4, random_state=0, store=tmp_path / "store")
        return model.fit(open_rows(X, block_rows=8192))

    model = fitted()
    labels = np.asarray(model.labels_)
    path = sorted(Path(model.ensemble_.blocks.folder).glob("member-*.npz"))[1]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StoreError, match=r"member-00001.npz is damaged: a block .* Repeat the run"):
        model.labels_[9000:9100]
    path.unlink()
    with pytest.raises(StoreError, match=r"member-00001.npz is gone: a block .* Repeat the run"):
        model.write_blocks(tmp_path / "answer")
    np.testing.assert_array_equal(np.asarray(fitted().labels_), labels)
    assert model.write_blocks(tmp_path / "answer") == 5  # the first one was there


def test_a_full_disk_is_reported_and_the_run_goes_on_when_there_is_room(X, tmp_path):
    home = tmp_path / "small"
    home.mkdir()
    size = "size=300k"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(home)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system (tmpfs) cannot be mounted here")
    try:

        def fitted(store: Path | None) -> ConsensusClustering:
            model = ConsensusClustering(3, n_partitions=8, random_state=0, store=store)
            return model.fit(open_rows(X, block_rows=4096))

        with pytest.raises(OSError, match=r"no space is left for .*member-.* repeat the call"):
            fitted(home / "store")
        kept = {p: p.stat().st_mtime_ns for p in (home / "store" / "blocks").rglob("*.npz")}
        assert 0 < len(kept) < 11
        assert not list(home.rglob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=9m", str(home)], check=True)
        expected, found = fitted(None), fitted(home / "store")
        assert {p: p.stat().st_mtime_ns for p in kept} == kept
        np.testing.assert_array_equal(np.asarray(found.labels_), np.asarray(expected.labels_))
    finally:
        subprocess.run(["umount", "-l", str(home)], check=False)


def test_what_a_killed_run_left_is_removed_by_the_next(X, tmp_path):
    model = ConsensusClustering(3, n_partitions=4, random_state=0, store=tmp_path / "store")
    model.fit(open_rows(X, block_rows=8192))
    model.write_blocks(tmp_path / "answer")
    stale = [
        Path(model.ensemble_.blocks.folder) / ".member-00002.npz.0123456789abcdef.tmp",
        tmp_path / "answer" / ".part-00001.parquet.0123456789abcdef.tmp",
    ]
    for path in stale:
        path.write_bytes(b"half")
    model.fit(open_rows(X, block_rows=8192))
    model.write_blocks(tmp_path / "answer")
    assert not any(path.exists() for path in stale)


def test_labels_without_a_store_leave_nothing_behind(X):
    model = ConsensusClustering(3, n_partitions=4, random_state=0)
    model.fit(open_rows(X, block_rows=8192))
    folder = Path(model.ensemble_.blocks.folder)
    assert folder.is_dir()
    del model
    assert not folder.exists()


def test_results_are_written_block_by_block(X, tmp_path):
    model = ConsensusClustering(3, n_partitions=6, random_state=0)
    model.fit(open_rows(X, block_rows=8192))
    home = tmp_path / "answer"
    assert model.write_blocks(home) == 6
    parts = sorted(home.glob("part-*.parquet"))
    frame = pd.concat([pd.read_parquet(part) for part in parts]).set_index("id")
    pd.testing.assert_frame_equal(frame, model.to_frame(), check_index_type=False)
    parts[3].unlink()
    assert model.write_blocks(home) == 1
    other = ConsensusClustering(2, n_partitions=6, random_state=1)
    other.fit(open_rows(X, block_rows=8192))
    with pytest.raises(FileExistsError, match="another answer"):
        other.write_blocks(home)
    with pytest.raises(FileExistsError, match="not empty"):
        model.write_blocks(tmp_path)


def test_points_in_blocks_take_no_ids_and_no_constraints(X):
    rows = open_rows(X, block_rows=8192)
    with pytest.raises(ValueError, match="index: points that are read in blocks"):
        ConsensusClustering(3).fit(rows, index=np.arange(N))
    with pytest.raises(ValueError, match="constraints: points that are read in blocks"):
        ConsensusClustering(3).fit(rows, constraints=np.zeros((N, 2)))
