"""The first run on a new machine, and the second, against the imports that any such program needs.

The first run is made cold: the package is copied to a temporary folder without byte code (.pyc) and
without compiled kernels, and HOME and the cache folders point to empty ones. Not cold are the byte
code of the other libraries, matplotlib's list of fonts and the disk cache of the operating system,
for the imports that are the measure as well as for the runs: the imports are timed after one round
that does not count, which makes the bars harder.

``clusterscape run`` on 200 points x 13 features must take at most 3 times as long as the imports
plus 10 s at first, and at most 2 times as long as the imports later. After it a data frame, a
read-only view and an array in Fortran order must compile nothing, and a float32 array one version
of each kernel.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import _common

IMPORTS = "import sklearn.cluster, matplotlib.pyplot, pandas"
RUN = "from clusterscape.cli import main; main()"
FIRST_FACTOR, FIRST_SECONDS, SECOND_FACTOR = 3.0, 10.0, 2.0
REPEATS = 3

# Prints, for each kind of array, the kernels that numba compiled (and did not find on disk).
KINDS = """
import json, sys
import numpy as np, pandas as pd
from numba.core import event
from clusterscape import ConsensusClustering

class Listener(event.Listener):
    depth = 0
    def on_start(self, e):
        if self.depth == 0:
            compiled.append([e.data["dispatcher"].py_func.__qualname__, str(e.data["args"])])
        self.depth += 1
    def on_end(self, e):
        self.depth -= 1

event.register("numba:compile", Listener())
X = np.ascontiguousarray(np.loadtxt(sys.argv[1], delimiter=",", skiprows=1))
fixed = X.copy()
fixed.flags.writeable = False
small = X.astype(np.float32)
found = {}
for name, data in {
    "the same array": X,
    "a data frame": pd.DataFrame(X),
    "a read-only view": fixed[:],
    "Fortran order": np.asfortranarray(X),
    "float32": small,
    "float32, Fortran order": np.asfortranarray(small),
}.items():
    compiled = []
    ConsensusClustering(random_state=0, progress=False).fit(data)
    found[name] = compiled
print(json.dumps(found))
"""


def main() -> None:
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = fresh_environment(folder)
        run = [sys.executable, "-c", RUN, "run", str(folder / "data.csv"), "--quiet"]
        run += ["--output", str(folder / "results")]
        imports = [timed([sys.executable, "-c", IMPORTS], environment) for _ in range(REPEATS + 1)]
        first = timed(run, environment)
        later = [timed(run, environment) for _ in range(REPEATS)]
        answer = subprocess.run(
            [sys.executable, "-c", KINDS, str(folder / "data.csv")],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
    compiled = json.loads(answer.stdout)
    base, second = middle(imports[1:]), middle(later)
    bars = FIRST_FACTOR * base.wall + FIRST_SECONDS, SECOND_FACTOR * base.wall
    rows = [
        ["the imports", f"{base.wall:.2f}", f"{base.cpu:.2f}", "", ""],
        ["first run", *figures(first, base), f"{bars[0]:.2f}"],
        ["later runs", *figures(second, base), f"{bars[1]:.2f}"],
    ]
    _common.show_table(["", "wall s", "CPU s", "x the imports", "bar, wall s"], rows)
    print()
    counts = [[name, len(kernels)] for name, kernels in compiled.items()]
    _common.show_table(["fitted after it, in one process", "kernels compiled"], counts)
    plain = [kernel for name, found in compiled.items() if name != "float32" for kernel in found]
    for kernel, signature in plain:
        print(f"not expected: {kernel}{signature}")
    single = all("float32" in signature for _, signature in compiled["float32"])
    ok = first.wall <= bars[0] and second.wall <= bars[1] and not plain and single
    figure = f"first run {first.wall:.1f} s (bar {bars[0]:.1f}), later {second.wall:.1f} s"
    _common.finish(f"{figure} (bar {bars[1]:.1f})", ok, options.check)


def fresh_environment(folder: Path) -> dict[str, str]:
    """Copy the package and write the data into a folder; return the variables that use the copy."""
    spec = importlib.util.find_spec("clusterscape")
    assert spec is not None
    assert spec.submodule_search_locations
    skipped = shutil.ignore_patterns("__pycache__")
    source = Path(spec.submodule_search_locations[0])
    shutil.copytree(source, folder / "package" / "clusterscape", ignore=skipped)
    (folder / "home").mkdir()
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3.0, size=(4, 13))
    X = np.concatenate([rng.normal(centre, size=(50, 13)) for centre in centres])
    header = ",".join(f"f{j}" for j in range(13))
    np.savetxt(folder / "data.csv", X, delimiter=",", header=header, comments="")
    # Installed packages have their bytecode; the copy gets its own in the first run.
    bytecode = "PYTHONDONTWRITEBYTECODE"
    dropped = (bytecode, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(folder / "package"),
        "MPLBACKEND": "agg",
    }


def timed(command: list[str], environment: dict[str, str]) -> _common.Measured:
    """Run a command to its end; return what it took, with the processes that it started."""
    start = time.perf_counter()
    before = os.times()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {done.stderr}")
    cpu = sum(after[2:4]) - sum(before[2:4])
    return _common.Measured(cpu=cpu, wall=time.perf_counter() - start)


def middle(runs: list[_common.Measured]) -> _common.Measured:
    """Return the medians."""
    return _common.Measured(
        cpu=statistics.median(run.cpu for run in runs),
        wall=statistics.median(run.wall for run in runs),
    )


def figures(taken: _common.Measured, base: _common.Measured) -> list[str]:
    """Return wall and CPU seconds, and the ratio on the wall."""
    return [f"{taken.wall:.2f}", f"{taken.cpu:.2f}", f"{taken.wall / base.wall:.1f}"]


if __name__ == "__main__":
    main()
