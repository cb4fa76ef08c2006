"""Drive every public entry with generated inputs; every finding has a seed that replays it.

    python fuzz/fuzz.py --minutes 5            # cases one after the other, from a random seed
    python fuzz/fuzz.py --replay 123456        # one case again, with its traceback
    python fuzz/fuzz.py --minutes 1 --only sec # only cases whose entry holds the word
    python fuzz/fuzz.py --bounds               # with numba's bounds checks; compiles first
    python fuzz/fuzz.py --cases 100000 --log F # long runs: counts and findings are kept in F after
                                               # every batch, and the next call goes on from there

One case is one call of a public entry with what it fitted, one relation on one input, or one
damaged file. Cases run in a process of their own, so that a crash is a finding and not the end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SLOW = 60  # CPU seconds after which a case is taken for one without an end
_PATIENCE = 600  # seconds after which it is, whatever it waits for
_ROOM = 16 * 2**30  # bytes of address space
_BATCH = 5000  # cases after which a fresh process goes on, so that memory does not pile up


def one(seed: int, only: str = "") -> str:
    """Run one case and return what it was; raises :class:`calls.Finding`."""
    import numpy as np

    sys.path.insert(0, str(HERE)) if str(HERE) not in sys.path else None
    import calls
    import damage
    import oracles

    draw = np.random.default_rng(seed)
    kind = draw.choice(["call", "oracle", "file"], p=[0.5, 0.25, 0.25])
    if kind == "call":
        return calls.call(draw, only)
    if kind == "oracle":
        return oracles.check(draw, only)
    return damage.check(draw, only)


def work(first: int, count: int, only: str) -> None:
    """Run cases and write one line of JSON for each: before it, and after it."""
    # What wants more than small inputs can need is a finding, not the end of other programs.
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    for seed in range(first, first + count):
        print(json.dumps({"begin": seed}), flush=True)
        before = time.process_time()
        try:
            said, finding = one(seed, only), ""
        except Exception as error:
            said, finding = "", f"{error}" if type(error).__name__ == "Finding" else repr(error)
        note = {"end": seed, "said": said, "finding": finding, "cpu": time.process_time() - before}
        print(json.dumps(note), flush=True)


class Tally:
    """What was done, and what was found; kept in a file where one is named."""

    def __init__(self, seed: int | None, log: Path | None) -> None:
        self.log = log
        self.done, self.cpu = 0, 0.0
        self.count, self.kinds, self.seconds = Counter[str](), Counter[str](), Counter[str]()
        lines = log.read_text().splitlines() if log is not None and log.exists() else []
        notes = [json.loads(line) for line in lines]
        if notes:
            seed = notes[0]["first"]
        self.seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
        for note in notes:
            self._add(note)

    @property
    def next(self) -> int:
        """The seed of the first case that was not run."""
        return self.seed + self.done

    def _add(self, note: dict[str, Any]) -> None:
        self.done += note["cases"]
        self.cpu += note["cpu"]
        self.count.update(note["said"])
        self.seconds.update(note["seconds"])
        for finding, place in note["findings"]:
            kind = finding.split(" [at ")[-1] if " [at " in finding else finding[:80]
            if not self.kinds[kind]:
                print(f"FOUND  seed {place}: {finding}", flush=True)
                print(f"       replay: python fuzz/fuzz.py --replay {place}", flush=True)
            self.kinds[kind] += 1

    def add(self, note: dict[str, Any]) -> None:
        """Count a batch, and keep it."""
        self._add(note)
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(json.dumps(note) + "\n")

    def say(self) -> None:
        """Print the totals, and where the time went."""
        for name, seconds in self.seconds.most_common(12 if self.log is not None else 0):
            print(f"{seconds:9.1f} CPU s {self.count[name]:7,} x  {name or '(findings)'}")
        entries = len([name for name in self.count if name])
        print(
            f"{self.done:,} cases from seed {self.seed}, {entries} entries and oracles, "
            f"{self.cpu:,.0f} CPU seconds, {len(self.kinds)} kinds of findings "
            f"({sum(self.kinds.values())} cases)"
        )


def drive(minutes: float, tally: Tally, only: str, most: int | None = None) -> int:
    """Run cases until the time is over; print findings, and return how many kinds there are."""
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline and (most is None or tally.done < most):
        tally.add(_batch(tally.next, min(_BATCH, (most or 10**9) - tally.done), only, deadline))
    tally.say()
    return len(tally.kinds)


def _batch(first: int, size: int, only: str, deadline: float) -> dict[str, Any]:
    """Run one process until its cases, or the time, are over; return what it did."""
    command = [sys.executable, str(HERE / "fuzz.py"), "--work", str(first), str(size)]
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen(
        [*command, "--only", only], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    at, running, since, begun, rest, ours = first, -1, time.monotonic(), 0.0, b"", False
    said, seconds = Counter[str](), Counter[str]()
    found: list[tuple[str, int]] = []
    while True:
        block = child.stdout.read() or b""
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            note = json.loads(line)
            since, begun = time.monotonic(), _cpu_of(child.pid)
            if "begin" in note:
                running = note["begin"]
                continue
            at, running = note["end"] + 1, -1
            said[note["said"]] += 1
            seconds[note["said"]] += note["cpu"]
            if note["finding"]:
                found.append((note["finding"], note["end"]))
        if not block and child.poll() is not None:
            break
        endless = running >= 0 and (
            _cpu_of(child.pid) - begun > SLOW or time.monotonic() - since > _PATIENCE
        )
        if endless or time.monotonic() > deadline:
            child.kill()
            child.wait()
            ours = True
            if endless:
                found.append((f"no end after {SLOW} CPU s", running))
            break
        time.sleep(0.02)
    if running >= 0 and not ours:
        found.append((f"the process ended with code {child.returncode}", running))
    if running >= 0 and found and found[-1][1] == running:
        at = running + 1
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime
    done = {"first": first, "cases": at - first, "cpu": round(cpu, 2), "findings": found}
    return {**done, "said": said, "seconds": {name: round(s, 3) for name, s in seconds.items()}}


def _cpu_of(process: int) -> float:
    """Return the CPU seconds of a process so far; 0 where they cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="5, or with --cases no limit")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, help="the first case; random unless given")
    parser.add_argument("--log", type=Path, help="keep counts and findings; go on from there")
    parser.add_argument("--only", default="", help="entries that hold this text")
    parser.add_argument("--bounds", action="store_true", help="compiled loops check their indices")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one case again")
    parser.add_argument("--work", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.minutes is None:
        given.minutes = 5.0 if given.cases is None else 1e6
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
    found = drive(given.minutes, Tally(given.seed, given.log), given.only, given.cases)
    if given.bounds:
        shutil.rmtree(os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
