"""The resumable store: killed runs resume, damaged and foreign directories are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from clusterscape._core import atomic as _atomic
from clusterscape._core import store as _store
from clusterscape._core.store import PartitionStore, StoreError, stored_plan
from clusterscape.generate import EnsembleGenerator

PLAN = {"n_partitions": 3, "seed": {"entropy": 5, "spawn_key": []}, "ratio": 0.5}

# One interpreter loads the library and forks: a run then starts in milliseconds, and can be
# killed anywhere between the making of the directory and the last partition.
DRIVER = """
import json, os, pathlib, random, shutil, signal, sys, time
import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator
from clusterscape.generate import EnsembleGenerator

folder = pathlib.Path(sys.argv[1])
X = np.arange(12.0).reshape(6, 2)
MEMBERS = 8

class Slow(BaseEstimator):
    def __init__(self, n_clusters=2, random_state=None, log=""):
        self.n_clusters, self.random_state, self.log = n_clusters, random_state, log

    def fit_predict(self, X, y=None):
        with open(self.log, "a") as log:
            log.write(f"{self.random_state}\\n")
        time.sleep(0.002)
        return np.random.default_rng(self.random_state).integers(0, self.n_clusters, len(X))

def run(store, target, n_jobs):
    generator = EnsembleGenerator(
        MEMBERS, algorithm=Slow(log=str(folder / "log")), n_clusters=(2, 4), random_state=7,
        store=store, n_jobs=n_jobs,
    )
    with parallel_config(backend="threading"):
        generator.generate(X).to_npz(target)

def child(store, target, n_jobs, kill_after=None):
    process = os.fork()
    if process == 0:
        try:
            run(store, target, n_jobs)
        except BaseException as error:
            (folder / "errors").open("a").write(f"{type(error).__name__}: {error}\\n")
            os._exit(1)
        os._exit(0)
    if kill_after is not None:
        # Wait for some finished members, not for a time: a slow machine is killed midway too.
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while len(done(store)) < kill_after and os.waitid(os.P_PID, process, look) is None:
            time.sleep(0.0005)
        time.sleep(rng.uniform(0, 0.01))
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return status

def done(store):
    return {int(p.name[7:12]) for p in store.glob("member-*.npz")} if store.exists() else set()

def logged():
    path = folder / "log"
    return path.read_text().split() if path.exists() else []

rng = random.Random(11)
child(folder / "whole", folder / "whole.npz", 1)
number = {seed: i for i, seed in enumerate(logged())}
facts = {"kills": 0, "midway": 0, "leftovers": 0, "twice": [], "different": []}
for trial in range(12):
    store, target = folder / f"store{trial}", folder / f"{trial}.npz"
    n_jobs = 1 + trial % 2
    for _ in range(1 + trial % 2):
        if len(done(store)) > MEMBERS - 2:
            break
        before, already = done(store), len(logged())
        status = child(store, target, n_jobs, rng.randint(len(before), MEMBERS - 2))
        facts["kills"] += os.WIFSIGNALED(status)
        facts["midway"] += 0 < len(done(store)) < MEMBERS
        facts["leftovers"] += len(list(store.glob(".*.tmp"))) if store.exists() else 0
        facts["twice"] += sorted(before & {number[s] for s in logged()[already:]})
    before, already = done(store), len(logged())
    child(store, target, n_jobs)
    facts["twice"] += sorted(before & {number[s] for s in logged()[already:]})
    if list(store.glob(".*.tmp")) or target.read_bytes() != (folder / "whole.npz").read_bytes():
        facts["different"].append(trial)
facts["errors"] = (folder / "errors").read_text() if (folder / "errors").exists() else ""
print(json.dumps(facts))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_a_killed_run_resumes_to_the_same_bytes_and_repeats_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["errors"] == ""
    assert facts["kills"] >= 10
    assert facts["midway"] >= 5
    assert facts["twice"] == []
    assert facts["different"] == []


def generator(store: Path | None, **changes: object) -> EnsembleGenerator:
    settings: dict[str, object] = {"n_clusters": (2, 4), "algorithm": "ward", "random_state": 0}
    return EnsembleGenerator(5, store=store, **(settings | changes))  # type: ignore[arg-type]


X = np.random.default_rng(0).normal(size=(20, 3))


def test_resumed_equals_uninterrupted_for_hard_soft_failed_and_incomplete(tmp_path: Path) -> None:
    settings = {
        "algorithm": ["gmm", "soft_gmm", "nmf", KMeans(n_init=1)],
        "columns": ("subset", 0.7),
        "rows": "bootstrap",
    }
    with pytest.warns(UserWarning, match="1 of 5 partitions failed"):
        plain = generator(None, **settings).generate(X)
    with pytest.warns(UserWarning, match="1 of 5 partitions failed"):
        generator(tmp_path / "s", **settings).generate(X)
    (tmp_path / "s" / "member-00003.npz").unlink()
    (tmp_path / "s" / "member-00000.npz").unlink()
    with pytest.warns(UserWarning, match="1 of 5 partitions failed"):
        resumed = generator(tmp_path / "s", **settings).generate(X)
    assert resumed == plain
    plain.to_npz(tmp_path / "a.npz")
    resumed.to_npz(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert all(r.seconds is not None for r in resumed.records)


def test_without_a_seed_the_store_goes_on_with_its_own(tmp_path: Path) -> None:
    settings = {"random_state": None, "algorithm": "gmm"}
    first = generator(tmp_path / "s", **settings).generate(X)
    (tmp_path / "s" / "member-00002.npz").unlink()
    assert generator(tmp_path / "s", **settings).generate(X) == first
    assert generator(None, **settings).generate(X).records != first.records


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_clusters": [2, 4]}, r"n_clusters was \{\"pair\": \[2, 4\]\} there and is \[2, 4\]"),
        ({"random_state": 1}, "seed.entropy was 0 there and is 1 now"),
        ({"algorithm": "average"}, "algorithm was"),
        ({"algorithm": KMeans(n_init=3)}, "algorithm was"),
        ({"columns": ("subset", 0.5)}, "columns was"),
        ({"rows": "bootstrap"}, "rows was"),
        ({"n_partitions": 6}, "n_partitions was 5 there and is 6 now"),
        ({"n_init": 2}, "n_init was 1"),
        ({"max_iter": 10}, "max_iter was 300"),
    ],
)
def test_another_plan_is_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    generator(tmp_path / "s").generate(X)
    before = {p.name: p.read_bytes() for p in (tmp_path / "s").iterdir()}
    with pytest.raises(StoreError, match=words) as caught:
        generator(tmp_path / "s").set_params(**changes).generate(X)
    assert "another directory" in str(caught.value)
    assert {p.name: p.read_bytes() for p in (tmp_path / "s").iterdir()} == before


def test_other_data_and_weights_are_refused(tmp_path: Path) -> None:
    settings = {"algorithm": KMeans(n_init=1)}
    generator(tmp_path / "s", **settings).generate(X)
    with pytest.raises(StoreError, match="X .sha256. was"):
        generator(tmp_path / "s", **settings).generate(X + 1e-12)
    with pytest.raises(StoreError, match="n_points was 20 there and is 19"):
        generator(tmp_path / "s", **settings).generate(X[:19])
    with pytest.raises(StoreError, match="sample_weight .sha256. was null"):
        generator(tmp_path / "s", **settings).generate(X, sample_weight=np.arange(20))
    generator(tmp_path / "s", n_jobs=2, progress=False, **settings).generate(np.asfortranarray(X))


def test_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator(tmp_path / "s").generate(X)
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 99")
    with pytest.raises(StoreError, match=r"versions.clusterscape was"):
        generator(tmp_path / "s").generate(X)


def test_every_changed_byte_of_a_member_is_noticed(tmp_path: Path) -> None:
    with PartitionStore(tmp_path, PLAN) as store:
        store.write(0, {"codes": np.array([0, 1], dtype=np.int8)}, {"cost": None})
        path = tmp_path / "member-00000.npz"
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(StoreError, match="member-00000.npz is damaged.*Delete this file"):
                store.read(0)
        for length in (0, 10, 64, len(whole) - 1):
            path.write_bytes(whole[:length])
            with pytest.raises(StoreError, match="damaged"):
                store.read(0)


def test_a_damaged_member_is_reported_before_anything_runs(tmp_path: Path) -> None:
    generator(tmp_path / "s").generate(X)
    (tmp_path / "s" / "member-00001.npz").unlink()
    path = tmp_path / "s" / "member-00004.npz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match="member-00004.npz is damaged"):
        generator(tmp_path / "s").generate(X)
    assert not (tmp_path / "s" / "member-00001.npz").exists()
    path.unlink()
    assert generator(tmp_path / "s").generate(X) == generator(None).generate(X)


def test_a_damaged_plan_is_refused(tmp_path: Path) -> None:
    PartitionStore(tmp_path, PLAN).close()
    path = tmp_path / "plan.json"
    whole = path.read_bytes()
    for place, old in enumerate(whole):
        changed = whole[:place] + bytes([old ^ 1]) + whole[place + 1 :]
        path.write_bytes(changed)
        if json_or_none(changed) == json.loads(whole):
            continue
        with pytest.raises(StoreError, match="damaged|format"):
            stored_plan(tmp_path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="plan.json is damaged.*another one"):
        PartitionStore(tmp_path, PLAN)


def json_or_none(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


def test_foreign_directories_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match="not a store.*not empty.*thesis.txt"):
        generator(tmp_path).generate(X)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(StoreError, match="is a file"):
        generator(tmp_path / "thesis.txt").generate(X)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "plan.json").write_text('{"holiday": "mountains"}')
    with pytest.raises(StoreError, match="damaged"):
        generator(tmp_path / "t").generate(X)


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_store, "VERSION", 2)
        PartitionStore(tmp_path, PLAN).close()
    with pytest.raises(StoreError, match="version 2; this release reads"):
        PartitionStore(tmp_path, PLAN)


def test_members_beyond_the_plan_are_refused(tmp_path: Path) -> None:
    with PartitionStore(tmp_path, PLAN) as store:
        store.write(3, {}, {})
    with pytest.raises(StoreError, match="member-00003.npz, but its plan has only 3"):
        PartitionStore(tmp_path, PLAN)


def test_leftovers_of_a_killed_run_are_cleaned_and_other_files_ignored(tmp_path: Path) -> None:
    (tmp_path / ".plan.json.0a.tmp").write_bytes(b"{")
    with PartitionStore(tmp_path, PLAN) as store:
        assert store.finished() == []
    (tmp_path / ".member-00001.npz.0a.tmp").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("kept")
    with PartitionStore(tmp_path, PLAN) as store:
        assert store.finished() == []
    assert {p.name for p in tmp_path.iterdir()} == {".lock", "plan.json", "notes.txt"}


@pytest.mark.skipif(_store.fcntl is None, reason="no locks on this system")
def test_two_runs_do_not_share_a_store(tmp_path: Path) -> None:
    first = PartitionStore(tmp_path, PLAN)
    with pytest.raises(StoreError, match="in use by another run"):
        PartitionStore(tmp_path, PLAN)
    first.close()
    PartitionStore(tmp_path, PLAN).close()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "labels.csv"
    target.write_text("old")

    def fail() -> None:
        with _atomic.atomic_path(target) as path:
            path.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["labels.csv"]
    _atomic.write_bytes(target, b"new")
    assert target.read_text() == "new"


def test_relative_store_paths_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    generator(Path("a/b")).generate(X)
    assert len(list((tmp_path / "a" / "b").glob("member-*.npz"))) == 5
