"""Resampling consensus (Monti), as it is run every day: beside ConsensusClusterPlus and pyckmeans.

k = 2 to 10, 1000 resamples of 80 % of the points, k-means; consensus matrices (read once, none is
kept), CDF, delta area, PAC, item and cluster consensus. Iris (150 x 4) and 1,000 points of ten
overlapping Gaussians in 16 columns. CPU seconds of one thread.

Bars: at least 10 times less CPU time than ConsensusClusterPlus and than pyckmeans at 150 points,
and 20 times at 1,000; the same consensus matrices as ConsensusClusterPlus within sampling error;
peak memory without a matrix per k.

ConsensusClusterPlus starts Hartigan and Wong's k-means once from random points. For the comparison
of matrices ours does the same (``clusterer="hartigan", init="random"``): the mean difference of
its matrix and ours is compared with that of two of our own runs of other seeds, k by k. The times
are those of our default (Lloyd, k-means++).

R with ConsensusClusterPlus is called as ``Rscript``; pyckmeans by ``--peer-python``, the
interpreter of an environment that has it, if this one has not. What is not there is named, and the
bars against it are left out; without any peer no bar is reached. At 1,000 points the peers make 20
and 120 resamples, unless ``--full``, and a straight line through both gives the time of all (what
does not depend on resamples counts once). ``--check`` leaves the 1,000 points of the peers out as
well.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread

REPETITIONS, RATIO, KS = 1000, 0.8, (2, 10)
TIMES = {150: 10.0, 1000: 20.0}
SAMPLING = 1.25  # times the difference of two runs of our own that another one may differ
# ConsensusClusterPlus at 1,000 points, all resamples, another run on this kind of machine.
KNOWN = 420.0
FEW = (20, 120)

R_PROGRAM = """
suppressMessages(library(ConsensusClusterPlus))
a <- commandArgs(TRUE)
X <- t(as.matrix(read.csv(a[1], header=FALSE)))
dimnames(X) <- NULL
colnames(X) <- 1:ncol(X)
set.seed(1)
pdf(NULL)  # it draws whatever it is told; not to a file
start <- proc.time()
r <- suppressMessages(suppressWarnings(ConsensusClusterPlus(X, maxK=10, reps=as.integer(a[2]),
  pItem=0.8, clusterAlg="km", distance="euclidean", plot=NULL)))
icl <- suppressMessages(calcICL(r, plot=NULL))
cat(sum((proc.time() - start)[1:2]), "\\n")
for (k in 2:10) write.table(r[[k]]$consensusMatrix, paste0(a[3], k, ".csv"), sep=",",
  row.names=FALSE, col.names=FALSE)
"""

PY_PROGRAM = """
import json, sys, time
import numpy as np
from pyckmeans import CKmeans
X = np.loadtxt(sys.argv[1], delimiter=",")
start = time.process_time()
for k in range(2, 11):
    model = CKmeans(k, n_rep=int(sys.argv[2]), p_samp=0.8, p_feat=1.0, n_init=1)
    model.fit(X)
    found = model.predict(X, linkage_type="average")
print(json.dumps(time.process_time() - start))
"""


def data(n: int) -> np.ndarray:
    """Return the points."""
    from sklearn.datasets import load_iris, make_blobs

    if n == 150:
        return np.asarray(load_iris().data)
    X = make_blobs(n, n_features=16, centers=10, cluster_std=6.0, random_state=0)[0]
    return np.asarray(X)


def ours(n: int) -> dict[str, Any]:
    """Run ours in this process: CPU seconds of everything, and the table."""
    from clusterscape.validate import resampling_consensus

    X = data(n)
    resampling_consensus(X, (2, 3), n_resamples=300, random_state=1)  # compile
    before = _common.peak_memory_mb()
    with one_thread(), _common.measure() as taken:
        found = resampling_consensus(X, KS, n_resamples=REPETITIONS, ratio=RATIO, random_state=0)
        table, _, _ = found.table, found.cdf(), found.cluster_consensus()
        for k in found.ks:
            found.item_consensus(k)
    kept = found.resamples.nbytes / 1e6
    return {
        "cpu": taken.cpu,
        "grown": _common.peak_memory_mb() - before,
        "kept": kept,
        "pac": table["pac"].round(3).tolist(),
    }


def by_r(X: np.ndarray, repetitions: int, folder: Path) -> float | None:
    """Return the CPU seconds of ConsensusClusterPlus; its matrices are left in the folder."""
    if shutil.which("Rscript") is None:
        return None
    np.savetxt(folder / "X.csv", X, delimiter=",")
    (folder / "run.R").write_text(R_PROGRAM)
    command = ["Rscript", folder / "run.R", folder / "X.csv", str(repetitions), folder / "r_"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        print(f"ConsensusClusterPlus did not run: {done.stderr.strip().splitlines()[-1]}")
        return None
    return float(done.stdout.split()[-1])


def by_pyckmeans(X: np.ndarray, repetitions: int, folder: Path, python: str | None) -> float | None:
    """Return the CPU seconds of pyckmeans, on one thread."""
    if python is None:
        return None
    np.savetxt(folder / "X.csv", X, delimiter=",")
    (folder / "run.py").write_text(PY_PROGRAM)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    alone |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [python, folder / "run.py", folder / "X.csv", str(repetitions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    if done.returncode:
        print(f"pyckmeans did not run: {done.stderr.strip().splitlines()[-1]}")
        return None
    return float(json.loads(done.stdout.splitlines()[-1]))


def differences(X: np.ndarray, folder: Path) -> list[list[Any]]:
    """Return for each k the mean differences of two runs of ours, and of R's and ours."""
    from clusterscape.validate import resampling_consensus

    how: dict[str, Any] = {"clusterer": "hartigan", "init": "random", "ratio": RATIO}
    runs = [resampling_consensus(X, KS, n_resamples=REPETITIONS, random_state=s, **how)
            for s in range(3)]  # fmt: skip
    upper = np.triu_indices(len(X), 1)
    rows = []
    for k in range(KS[0], KS[1] + 1):
        pairs = [run.matrix(k)[upper] for run in runs]
        other = np.loadtxt(folder / f"r_{k}.csv", delimiter=",")[upper]
        own = [float(np.abs(pairs[i] - pairs[j]).mean()) for i, j in ((0, 1), (0, 2), (1, 2))]
        apart = [float(np.abs(other - p).mean()) for p in pairs]
        bias = float(np.mean([(other - p).mean() for p in pairs]))
        rows.append([k, float(np.mean(own)), max(own), float(np.mean(apart)), bias])
    return rows


def main() -> None:
    """Run, print the table and hold the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    here = sys.executable if importlib.util.find_spec("pyckmeans") else None
    parser.add_argument(
        "--peer-python", default=here, help="interpreter of an environment with pyckmeans"
    )
    parser.add_argument("--full", action="store_true", help="all resamples for the peers")
    options = parser.parse_args()
    print(_common.versions())
    print(f"\nk = 2 to 10, {REPETITIONS} resamples of 80 %, k-means: CPU seconds")
    rows, good, figures, same, absent = [], [], [], [], []
    for n in (150, 1000):
        X = data(n)
        run = _common.in_fresh_process(ours, n).result
        peers = n == 150 or not options.check
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            short = n != 150 and not options.full
            r = _extrapolated(by_r, short, X, folder) if peers else None
            asked = (X, folder, options.peer_python)
            py = _extrapolated(by_pyckmeans, short, *asked) if peers else None
            if n == 150 and r is not None:
                same = differences(X, folder)
        found = {"ConsensusClusterPlus": r, "pyckmeans": py}
        times = {peer: taken / run["cpu"] for peer, taken in found.items() if taken is not None}
        rows.append(
            [n, X.shape[1], f"{run['cpu']:.2f}", *(_figure(taken) for taken in found.values()),
             *(f"{times[peer]:.0f}x" if peer in times else "-" for peer in found),
             f"{run['kept']:.1f}", f"{run['grown']:.0f}"]
        )  # fmt: skip
        print(f"{n} points: PAC {run['pac']}", flush=True)
        good += [ratio >= TIMES[n] for ratio in times.values()]
        figures += [
            f"{ratio:.0f} times {peer} at {n} (bar {TIMES[n]:g})" for peer, ratio in times.items()
        ]
        if peers:
            absent += [f"{peer} at {n}" for peer in found if peer not in times]
    print()
    _common.show_table(
        ["points", "columns", "clusterscape", "ConsensusClusterPlus", "pyckmeans", "x R", "x py",
         "labels MB", "peak grown MB"], rows,
    )  # fmt: skip
    if not options.full and not options.check:
        print(f"Peers at 1,000 points: from {FEW} resamples, as a straight line.")
    if same:
        print("\nIris: mean difference of consensus matrices (hartigan, random starts)")
        _common.show_table(
            ["k", "two of ours", "largest of three", "ours and R's", "mean of R's - ours"],
            [[row[0], *(f"{value:.4f}" for value in row[1:])] for row in same],
        )
        apart = float(np.mean([row[3] for row in same]) / np.mean([row[1] for row in same]))
        good.append(apart <= SAMPLING)
        figures.append(f"matrices differ {apart:.2f} times as two runs of ours (bar {SAMPLING})")
    if absent:
        print(f"Not measured, and their bars left out: {', '.join(absent)}.")
        print(f"ConsensusClusterPlus took about {KNOWN:.0f} CPU s at 1,000 points in another run.")
    _common.finish("; ".join(figures) or "no peer", bool(good) and all(good), options.check)


def _extrapolated(run: Any, short: bool, X: np.ndarray, *rest: Any) -> float | None:
    """Return the CPU seconds of all resamples, measured or from two smaller numbers."""
    if not short:
        seconds: float | None = run(X, REPETITIONS, *rest)
        return seconds
    low, high = (run(X, count, *rest) for count in FEW)
    if low is None or high is None:
        return None
    return float(low + (high - low) * (REPETITIONS - FEW[0]) / (FEW[1] - FEW[0]))


def _figure(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


if __name__ == "__main__":
    main()
