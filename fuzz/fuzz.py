"""Drive every public entry with generated inputs; every finding has a seed that replays it.

    python fuzz/fuzz.py --minutes 5            # cases one after the other, from a random seed
    python fuzz/fuzz.py --replay 123456        # one case again, with its traceback
    python fuzz/fuzz.py --minutes 1 --only sec # only cases whose entry holds the word
    python fuzz/fuzz.py --bounds               # with numba's bounds checks; compiles first
    python fuzz/fuzz.py --extreme              # values near 1e300 and 1e-300 ten times as often
    python fuzz/fuzz.py --cases 100000 --log F # long runs: counts and findings are kept in F after
                                               # every batch, and the next call goes on from there

One case is one call of a public entry with what it fitted, one relation on one input, or one
damaged file. Cases run in a process of their own, so that a crash is a finding and not the end.
"""

from __future__ import annotations

import argparse
import contextlib
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from notes import Notes, show_finding

HERE = Path(__file__).resolve().parent
SLOW = 90  # CPU seconds after which a case is taken for one without an end
_PATIENCE = 600  # seconds after which it is, whatever it waits for
_ROOM = 16 * 2**30  # bytes of address space
_NOTED = 1000  # cases after which their counts are kept
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_BATCH = 20_000  # cases after which a fresh process goes on, so that memory does not pile up


def one(seed: int, only: str = "") -> str:
    """Run one case and return what it was; raises :class:`calls.Finding`."""
    import numpy as np

    sys.path.insert(0, str(HERE)) if str(HERE) not in sys.path else None
    import calls
    import damage
    import oracles

    draw = np.random.default_rng(seed)
    kind = draw.choice(["call", "oracle", "file"], p=[0.5, 0.25, 0.25])
    check = {"call": calls.call, "oracle": oracles.check, "file": damage.check}[kind]
    # A word that is drawn for a store becomes a folder: not one of the caller's.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return check(draw, only)


def work(first: int, count: int, only: str) -> None:
    """Run cases and write one line of JSON for each: before it, and after it."""
    # What wants more than small inputs can need is a finding, not the end of other programs.
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    # The notes have a channel of their own: libraries print to the output, compiled ones too.
    notes = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for seed in range(first, first + count):
        print(json.dumps({"begin": seed}), file=notes)
        before = time.process_time()
        try:
            said, finding = one(seed, only), ""
        except Exception as error:
            said, finding = "", f"{error}" if type(error).__name__ == "Finding" else repr(error)
        note = {"end": seed, "said": said, "finding": finding, "cpu": time.process_time() - before}
        print(json.dumps(note), file=notes)


class Tally(Notes):
    """What was done, and what was found, by kinds."""

    def __init__(self, seed: int | None, log: Path | None) -> None:
        self.said, self.kinds, self.seconds = Counter[str](), Counter[str](), Counter[str]()
        super().__init__(seed, log)

    def count(self, note: dict[str, Any]) -> None:
        """Add the counts of a batch, and print what was not found before."""
        self.done += note["cases"]
        self.cpu += note["cpu"]
        self.said.update(note["said"])
        self.seconds.update(note["seconds"])
        for finding, place in note["findings"]:
            kind = finding.split(" [at ")[-1] if " [at " in finding else finding[:80]
            if not self.kinds[kind]:
                extreme = " --extreme" if os.environ.get("CLUSTERSCAPE_FUZZ_EXTREME") else ""
                show_finding(f"fuzz.py{extreme}", place, finding)
            self.kinds[kind] += 1

    def say(self) -> None:
        """Print the totals, and where the time went."""
        for name, seconds in self.seconds.most_common(12 if self.log is not None else 0):
            print(f"{seconds:9.1f} CPU s {self.said[name]:7,} x  {name or '(findings)'}")
        entries = len([name for name in self.said if name])
        print(
            f"{self.done:,} cases from seed {self.seed}, {entries} entries and oracles, "
            f"{self.cpu:,.0f} CPU seconds, {len(self.kinds)} kinds of findings "
            f"({sum(self.kinds.values())} cases)"
        )


def drive(minutes: float, tally: Tally, only: str, most: int | None = None) -> int:
    """Run cases until the time is over; print findings, and return how many kinds there are."""
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline and (most is None or tally.done < most):
        size = min(_BATCH, (most or 10**9) - tally.done)
        batch = Batch(tally.next, size, only)
        with batch.room:  # what ended cases left behind goes with it
            for note in batch.run(deadline):
                tally.add(note)
    tally.say()
    return len(tally.kinds)


class Batch:
    """Cases in one process, and what was heard of them since the last note."""

    def __init__(self, first: int, size: int, only: str) -> None:
        command = [sys.executable, str(HERE / "fuzz.py"), "--work", str(first), str(size)]
        self.room = tempfile.TemporaryDirectory(prefix="clusterscape-fuzz-")
        self.child = subprocess.Popen(
            [*command, "--only", only],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Inputs are small: more threads of linear algebra would only wait for each other.
            env={**_ONE_THREAD, **os.environ, "TMPDIR": self.room.name},
        )
        self.first, self.next, self.running = first, first, -1
        self.since, self.begun, self.noted = time.monotonic(), 0.0, 0.0
        self.said, self.seconds = Counter[str](), Counter[str]()
        self.found: list[tuple[str, int]] = []

    def run(self, deadline: float) -> Iterator[dict[str, Any]]:
        """Yield a note every thousand cases and at the end, which may be a crash or a hang."""
        assert self.child.stdout is not None
        os.set_blocking(self.child.stdout.fileno(), False)
        rest, ended = b"", False
        while not ended:
            ended = self.child.poll() is not None  # before the last words are read
            *lines, rest = (rest + (self.child.stdout.read() or b"")).split(b"\n")
            for line in lines:
                self._hear(json.loads(line))
                if self.next - self.first >= _NOTED:
                    yield self._note()
            if time.monotonic() > deadline:
                self._end()
                yield self._note()
                return
            if self._endless():
                self._end()
                self._blame(f"no end after {SLOW} CPU s")
                yield self._note()
                return
            if not ended:
                time.sleep(0.05)
        if self.running >= 0:
            self._blame(f"the process ended with code {self.child.returncode}")
        yield self._note()

    def _hear(self, note: dict[str, Any]) -> None:
        self.since, self.begun = time.monotonic(), _cpu_of(self.child.pid)
        if "begin" in note:
            self.running = note["begin"]
            return
        self.next, self.running = note["end"] + 1, -1
        self.said[note["said"]] += 1
        self.seconds[note["said"]] += note["cpu"]
        if note["finding"]:
            self.found.append((note["finding"], note["end"]))

    def _endless(self) -> bool:
        return self.running >= 0 and (
            _cpu_of(self.child.pid) - self.begun > SLOW or time.monotonic() - self.since > _PATIENCE
        )

    def _end(self) -> None:
        self.child.kill()
        self.child.wait()

    def _blame(self, finding: str) -> None:
        self.found.append((finding, self.running))
        self.said[""] += 1
        self.next = self.running + 1

    def _note(self) -> dict[str, Any]:
        """Return what was heard since the last note, and forget it."""
        cpu = max(_cpu_of(self.child.pid), self.begun)
        note = {
            "seed": self.first,
            "cases": self.next - self.first,
            "cpu": round(cpu - self.noted, 2),
            "findings": self.found,
            "said": dict(self.said),
            "seconds": {name: round(s, 3) for name, s in self.seconds.items()},
        }
        self.first, self.noted, self.found = self.next, cpu, []
        self.said.clear()
        self.seconds.clear()
        return note


def _cpu_of(process: int) -> float:
    """Return the CPU seconds of a process so far; 0 where they cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its children's, too
    except (OSError, ValueError, IndexError):
        return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="5, or with --cases no limit")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, help="the first case; random unless given")
    parser.add_argument("--log", type=Path, help="keep counts and findings; go on from there")
    parser.add_argument("--only", default="", help="entries that hold this text")
    parser.add_argument("--extreme", action="store_true", help="values at the ends of the range")
    parser.add_argument("--bounds", action="store_true", help="compiled loops check their indices")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one case again")
    parser.add_argument("--work", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.minutes is None:
        given.minutes = 5.0 if given.cases is None else 1e6
    if given.extreme:  # read when inputs are imported
        os.environ["CLUSTERSCAPE_FUZZ_EXTREME"] = "1"
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
