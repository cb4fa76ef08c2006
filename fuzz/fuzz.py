"""Drive every public entry with generated inputs; every finding has a seed that replays it.

    python fuzz/fuzz.py --minutes 5            # cases one after the other, from a random seed
    python fuzz/fuzz.py --replay 123456        # one case again, with its traceback
    python fuzz/fuzz.py --minutes 1 --only sec # only cases whose entry holds the word
    python fuzz/fuzz.py --bounds               # with numba's bounds checks; compiles first

Cases run in a process of their own, so that a crash is a finding and not the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SLOW = 60  # seconds after which a case is taken for one without an end
_BATCH = 400  # cases after which a fresh process goes on, so that memory does not pile up


def one(seed: int, only: str = "") -> str:
    """Run one case and return what it was; raises :class:`calls.Finding`."""
    import numpy as np

    sys.path.insert(0, str(HERE)) if str(HERE) not in sys.path else None
    import calls
    import damage
    import oracles

    draw = np.random.default_rng(seed)
    kind = draw.choice(["call", "oracle", "file"], p=[0.6, 0.3, 0.1])
    if kind == "call":
        return calls.call(draw, only)
    if kind == "oracle":
        return oracles.check(draw, only)
    return damage.check(draw, only)


def work(first: int, count: int, only: str) -> None:
    """Run cases and write one line of JSON for each: before it, and after it."""
    for seed in range(first, first + count):
        print(json.dumps({"begin": seed}), flush=True)
        try:
            said, finding = one(seed, only), ""
        except Exception as error:
            said, finding = "", f"{error}" if type(error).__name__ == "Finding" else repr(error)
        print(json.dumps({"end": seed, "said": said, "finding": finding}), flush=True)


def drive(minutes: float, seed: int, only: str, most: int | None = None) -> int:
    """Run cases until the time is over; print findings, and return how many kinds there are."""
    deadline, count = time.monotonic() + 60 * minutes, Counter[str]()
    kinds: dict[str, int] = {}
    first, done = seed, 0
    while time.monotonic() < deadline and (most is None or done < most):
        batch = _BATCH if most is None else min(_BATCH, most - done)
        at, found = _batch(first, batch, only, deadline, count)
        for finding, place in found:
            kind = finding.split(" [at ")[-1] if " [at " in finding else finding[:80]
            if kind not in kinds:
                print(f"FOUND  seed {place}: {finding}", flush=True)
                print(f"       replay: python fuzz/fuzz.py --replay {place}", flush=True)
            kinds[kind] = kinds.get(kind, 0) + 1
        done += at - first
        first = at
    entries = len([name for name in count if name])
    print(
        f"{done:,} cases from seed {seed}, {entries} entries and oracles, {len(kinds)} kinds of "
        f"findings ({sum(kinds.values())} cases)"
    )
    return len(kinds)


def _batch(
    first: int, size: int, only: str, deadline: float, count: Counter[str]
) -> tuple[int, list[tuple[str, int]]]:
    """Run one process until its cases, or the time, are over; return the next seed and findings."""
    command = [sys.executable, str(HERE / "fuzz.py"), "--work", str(first), str(size)]
    child = subprocess.Popen(
        [*command, "--only", only], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    at, running, since, rest = first, -1, time.monotonic(), b""
    found: list[tuple[str, int]] = []
    while True:
        block = child.stdout.read() or b""
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            note = json.loads(line)
            since = time.monotonic()
            if "begin" in note:
                running = note["begin"]
                continue
            at, running = note["end"] + 1, -1
            count[note["said"]] += 1
            if note["finding"]:
                found.append((note["finding"], note["end"]))
        if not block and child.poll() is not None:
            break
        if time.monotonic() > deadline or (running >= 0 and time.monotonic() - since > SLOW):
            if time.monotonic() <= deadline:
                found.append((f"no end after {SLOW} s", running))
                at = running + 1
            child.kill()
            child.wait()
            return at, found
        time.sleep(0.02)
    if running >= 0:
        found.append((f"the process ended with code {child.returncode}", running))
        at = running + 1
    return at, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, help="the first case; random unless given")
    parser.add_argument("--only", default="", help="entries that hold this text")
    parser.add_argument("--bounds", action="store_true", help="compiled loops check their indices")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one case again")
    parser.add_argument("--work", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bounds:  # numba reads both when it is imported; kernels with checks are kept apart
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="clusterscape-bounds-")
    if given.work:
        work(*given.work, given.only)
        return
    if given.replay is not None:
        try:
            print(one(given.replay, given.only))
        except Exception:
            traceback.print_exc()
            sys.exit(1)
        return
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "little")
    found = drive(given.minutes, seed, given.only, given.cases)
    if given.bounds:
        shutil.rmtree(os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
