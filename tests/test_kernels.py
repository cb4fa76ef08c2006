"""Kernels: one kind of array reaches them, they work without a cache, and a first run says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numba.core.caching import Cache, FunctionCache, NullCache
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from clusterscape import ConsensusClustering, kernels
from clusterscape._core import progress
from clusterscape._core.parallel import parallel_map
from clusterscape.kernels import _jit
from clusterscape.kernels._jit import Kernel, jit
from sources import SOURCE

X = np.concatenate(
    [np.random.default_rng(0).normal(centre, 0.3, size=(40, 5)) for centre in (0.0, 2.0, 4.0)]
)


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


class Sides(NamedTuple):
    left: np.ndarray
    n: int


def new_kernels() -> tuple[Any, Any]:
    """Return kernels that have not been called yet."""

    def add(values: Any, amount: Any, out: Any) -> Any:
        for i in range(values.shape[0]):
            for j in range(values.shape[1]):
                out[i, j] = values[i, j] + amount
        return values.shape[0]

    def add_side(sides: Any, out: Any) -> Any:
        for i in range(sides.n):
            out[i] += sides.left[i]

    return jit(add), jit(add_side)


# ---------------------------------------------------------------------------------------------
# One kind of array


def test_layout_and_flags_compile_nothing_anew(tmp_path: Path) -> None:
    add, _ = new_kernels()
    values = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "values.npy", values)
    wide = np.zeros((3, 8))
    wide[:, ::2] = values
    for given in (
        values,
        np.asfortranarray(values),
        read_only(values),
        np.asfortranarray(read_only(values)),
        wide[:, ::2],
        pd.DataFrame(values).to_numpy(),
        np.load(tmp_path / "values.npy", mmap_mode="r"),
    ):
        kept = given.copy()
        for amount in (1, np.int64(1), np.int32(1), np.int8(1)):
            out = np.zeros((3, 4))
            assert add(given, amount, out) == 3
            np.testing.assert_array_equal(out, values + 1)
        np.testing.assert_array_equal(given, kept)
    assert len(add.signatures) == 1
    add(values.astype(np.float32), 1, np.zeros((3, 4), np.float32))
    add(np.asfortranarray(values.astype(np.float32)), 1, np.zeros((3, 4), np.float32))
    assert len(add.signatures) == 2


def test_what_a_kernel_writes_into_a_strided_array_is_there() -> None:
    add, _ = new_kernels()
    values = np.arange(12.0).reshape(3, 4)
    for out in (np.zeros((4, 3)).T, np.zeros((6, 8))[::2, ::2], np.zeros((3, 4))[::-1]):
        add(values, 2.5, out)
        np.testing.assert_array_equal(out, values + 2.5)
    assert len(add.signatures) == 1


def test_arrays_in_a_tuple_are_of_the_same_kind() -> None:
    _, add_side = new_kernels()
    left = np.arange(6.0)
    for given in (left, read_only(left), np.repeat(left, 2)[::2]):
        out = np.zeros(6)
        add_side(Sides(given, np.int32(6)), out)
        np.testing.assert_array_equal(out, left)
    assert len(add_side.signatures) == 1


def test_a_read_only_array_is_not_copied() -> None:
    given = read_only(np.arange(12.0).reshape(3, 4))
    copies: list[Any] = []
    assert np.shares_memory(_jit._prepared(given, copies), given)
    assert not copies


def test_kernels_do_not_write_into_the_labels_of_an_ensemble() -> None:
    # They come read-only and look writable to a kernel; numba refuses to write where it knows that.
    labels = read_only(np.array([[0, 1], [1, 0], [0, -1]], np.int8))
    offsets, weights = read_only(np.array([0, 2, 4])), read_only(np.ones(3))
    groups = np.zeros(3, np.int32)
    calls: list[tuple[Any, ...]] = [
        (kernels.labels.scatter, offsets, read_only(np.ones((3, 2))), np.zeros((4, 2))),
        (kernels.labels.gather, offsets, read_only(np.ones((4, 2))), np.zeros((3, 2))),
        (kernels.labels.sizes, offsets, weights, np.zeros(4)),
        (
            kernels.rows.group_rows,
            read_only(np.zeros(3, bool)),
            np.full(16, -1),
            *np.zeros((2, 3), int),
        ),
        (kernels.rowspace.move, offsets, groups, groups + 1, weights, np.zeros((4, 2))),
    ]
    for kernel, *rest in calls:
        CPUDispatcher(kernel.py_func, targetoptions=_jit._OPTIONS)(labels, *rest)


def compiled() -> dict[str, set[str]]:
    """Return the signatures of every kernel that is loaded."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("clusterscape.kernels."):
            for kernel in vars(module).values():
                if isinstance(kernel, Kernel):
                    name = f"{kernel.__module__}.{kernel.__name__}"
                    found[name] = {str(signature) for signature in kernel.signatures}
    return found


@pytest.mark.parametrize("consensus", ["auto", "eac"])
def test_a_fit_compiles_once_for_every_kind_of_table(consensus: str) -> None:
    def fit(data: Any) -> dict[str, set[str]]:
        ConsensusClustering(
            3, n_partitions=6, n_references=3, consensus=consensus, random_state=0
        ).fit(data)
        return compiled()

    before = fit(X)
    assert any(before.values())
    frozen = pd.DataFrame(X)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for data in (frozen, np.asfortranarray(X), read_only(X), read_only(X)[::-1], wide):
        assert fit(data) == before
    small = X.astype(np.float32)
    after = fit(small)
    new = {name: found - before.get(name, set()) for name, found in after.items()}
    assert all("float32" in signature for found in new.values() for signature in found)
    for data in (pd.DataFrame(small), np.asfortranarray(small), read_only(small)):
        assert fit(data) == after


def test_a_constant_argument_makes_no_version_of_its_own() -> None:
    @jit
    def plus(a: Any, b: Any) -> Any:
        return a + b

    @jit
    def sums(values: Any) -> Any:
        total = 0
        for i in range(values.shape[0]):
            total = plus(total, i)
        return plus(plus(total, 1), plus(0, 2))

    assert sums(np.zeros(4)) == 9
    assert len(plus._part.signatures) == 1
    # As a part it has no wrapper; called from Python it is compiled as an entry.
    assert plus(2, 3) == 5
    assert len(plus.signatures) == 1


# ---------------------------------------------------------------------------------------------
# The cache

PROGRAM = """
import numpy as np
from clusterscape import kernels
from clusterscape._core.progress import showing
with showing(True):
    for _ in range(2):
        kernels.random.below(kernels.random.new_state(1), 10)
print(int(kernels.random.below(kernels.random.new_state(1), 10)))
"""


def run_copy(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run PROGRAM on a copy of the package beside which nothing can be written."""
    copy = folder / "clusterscape"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    # A file where the folder would be: permissions do not stop root.
    (copy / "kernels" / "__pycache__").write_text("")
    nowhere = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = nowhere | {"PYTHONPATH": str(folder), "LOCALAPPDATA": "/dev/null"} | variables
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_kernels_work_where_no_cache_folder_can_be_written(tmp_path: Path) -> None:
    done = run_copy(tmp_path)
    assert done.returncode == 0, done.stderr
    state = kernels.random.new_state(1)
    assert done.stdout == f"{kernels.random.below(state, 10)}\n"
    assert done.stderr.count("compiling") == 1
    assert "Set NUMBA_CACHE_DIR" in done.stderr


def test_numba_cache_dir_names_the_cache(tmp_path: Path) -> None:
    done = run_copy(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "is done once" in done.stderr
    # One entry; what it is made of is no file of its own.
    assert [path.name.partition("-")[0] for path in tmp_path.rglob("*.nbi")] == ["random.below"]


@pytest.mark.parametrize("failing", ["_load_overload", "_save_overload"])
def test_a_cache_that_fails_costs_no_result(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, failing, fail)
    _, add_side = new_kernels()
    out = np.zeros(2)
    add_side(Sides(np.array([1.0, 2.0]), 2), out)
    assert out.tolist() == [1.0, 2.0]


# ---------------------------------------------------------------------------------------------
# The first run says that it compiles


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every new kernel compile, in a process that has said nothing yet."""
    monkeypatch.setattr(FunctionCache, "_load_overload", lambda *_: None)
    monkeypatch.setattr(progress, "_noted", set())


def compile_two(_: object = None) -> None:
    _, first = new_kernels()
    _, second = new_kernels()
    for kernel in (first, second):
        kernel(Sides(np.ones(1), 1), np.zeros(1))


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize(("wish", "times"), [(True, 1), (False, 0), (None, 0)])
def test_compiling_is_reported_once_on_stderr(
    wish: bool | None, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.showing(wish):
        compile_two()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("compiling for this machine") == times


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("wish", [True, False])
def test_workers_follow_the_setting_of_their_caller(
    wish: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.showing(wish):
        parallel_map(compile_two, [0, 1], n_jobs=2, prefer="threads")
    assert capsys.readouterr().err.count("compiling for this machine") == int(wish)


@pytest.mark.parametrize("shared", [True, False])
def test_tasks_run_on_the_workers_of_the_joblib_configuration(shared):
    both = threading.Barrier(2)

    def meet(task: int) -> int:
        return both.wait(timeout=30) * 0 + task  # breaks where one waits for the other to end

    with parallel_config(n_jobs=2):
        assert parallel_map(meet, [3, 4], shared=shared) == [3, 4]
    names = parallel_map(lambda task: threading.get_ident(), [0, 1], shared=shared)
    assert set(names) == {threading.get_ident()}


def test_progress_none_keeps_the_outer_setting() -> None:
    assert progress.wish() is None
    with progress.showing(False), progress.showing(None):
        assert progress.wish() is False
        with progress.showing(True):
            assert progress.wish() is True
    assert progress.wish() is None


def test_a_fit_follows_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    wishes = set()
    call = Kernel.__call__

    def recorded(self: Kernel, *arguments: Any) -> Any:
        wishes.add(progress.wish())
        return call(self, *arguments)

    monkeypatch.setattr(Kernel, "__call__", recorded)
    ConsensusClustering(3, n_partitions=3, n_references=3, progress=False).fit(X)
    assert wishes == {False}


# ---------------------------------------------------------------------------------------------
# Other versions of numba


def sum_of_squares(values: Any) -> Any:
    total = 0.0
    for i in range(values.shape[0]):
        total += square(values[i])
    return total


def square(value: Any) -> Any:
    return value * value


class Unfit(Compiler):
    """A compiler that takes from numba what is not there."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.library.no_such_piece()


@pytest.mark.parametrize("linked", [None, SimpleNamespace(PartCompiler=Unfit, load=None)])
def test_kernels_work_with_versions_of_numba_whose_internals_differ(
    linked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_jit, "_linked", linked)
    monkeypatch.setattr(_jit, "_cache", lambda function: NullCache())
    monkeypatch.setitem(globals(), "square", jit(square))
    assert jit(sum_of_squares)(np.arange(4.0)) == 14.0


def test_a_kernel_is_read_from_the_disk_in_numbas_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    values, out = np.ones((2, 2)), np.zeros((2, 2))
    arguments = (np.zeros((2, 1), np.int8), np.array([0, 2]), values, out)
    kernels.labels.scatter(*arguments)  # it is on the disk now
    monkeypatch.setattr(_jit, "_linked", None)
    entry = jit(kernels.labels.scatter.py_func)
    entry(*arguments)
    assert sum(entry.entry.stats.cache_hits.values()) == 1
    np.testing.assert_array_equal(out, [[4.0, 4.0], [0.0, 0.0]])


def test_a_missing_part_of_numba_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Cache, "_load_overload")
    source = Path(_jit.__file__).with_name("_linked.py").read_text(encoding="utf8")
    with pytest.raises(ImportError, match="FunctionCache has no _load_overload"):
        exec(compile(source, "_linked.py", "exec"), {"__name__": "_linked"})
