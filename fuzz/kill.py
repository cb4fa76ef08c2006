"""Kill commands at random moments, fill the disk, let two write to one store: nothing is lost.

    python fuzz/kill.py --minutes 5            # or --kills 1000
    python fuzz/kill.py --replay SEED          # one trial again

Every trial runs a command to its end once (the reference), then again with a signal at a random
moment, and then once more as a person would. The last one must give the bytes of the reference,
and leave nothing behind but its results. The commands run in forks of a process that has loaded
everything, so that a trial takes a fraction of a second and is hit in its work, not in imports.
Needs fork, that is, a POSIX system.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from clusterscape.cli import main as command

_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WAIT = 60.0  # CPU seconds in which a command must end
_PATIENCE = 600.0  # seconds in which it must, however busy the machine is
_EARLY = 71  # exit code of a fork that was interrupted before the command began
_words: dict[int, tuple[int, Path]] = {}


class Wrong(Exception):
    """Something was lost, left over, or not said."""


# ---- commands -----------------------------------------------------------------------------------


def _commands(table: Path, home: Path, jobs: int) -> dict[str, tuple[list[str], list[str]]]:
    """Return the arguments of each command, and the files of its answer."""
    shared = ["--seed", "5", "--jobs", str(jobs)]
    run = ["run", str(table), "-o", str(home / "out"), "-k", "3", "-r", "10", "--resume"]
    generate = ["generate", str(table), "-o", str(home / "e.npz"), "-r", "12", "--resume"]
    walk = ["landscape", str(table), "-o", str(home / "l.csv"), "-k", "3", "--samples", "40"]
    return {
        "run": ([*run, *shared], ["out/labels.csv", "out/ensemble.npz", "out/model.npz"]),
        "generate": ([*generate, *shared], ["e.npz"]),
        "landscape": ([*walk, "--seed", "5"], ["l.csv"]),
        "blocks": (
            ["blocks", str(home), str(table)],
            [f"answer/part-{i:05d}.parquet" for i in range(6)],
        ),
    }


def blocks(home: Path, table: Path) -> None:
    """Fit rows that are read in blocks, and write the answer: what a worker of a cluster does."""
    from clusterscape import ConsensusClustering
    from clusterscape.io import open_rows

    model = ConsensusClustering(
        3, n_partitions=6, n_references=0, random_state=5, store=home / "store", progress=False
    )
    model.fit(open_rows(table.with_suffix(".npy"), block_rows=8192))
    model.write_blocks(home / "answer")


def start(arguments: list[str], home: Path, limit: int | None = None) -> int:
    """Fork a command; what it says is kept for :func:`wait`. Return the process."""
    source, sink = os.pipe()  # a pipe has room where no file may grow
    child = os.fork()
    if child:
        os.close(sink)
        os.set_blocking(source, False)
        _words[child] = (source, home / "stderr")
        return child
    code = _EARLY
    try:
        code = _run(arguments, sink, limit)
    except BaseException:  # an interrupt outside of the command: before it began, or after its end
        traceback.print_exc()
    finally:
        os._exit(code)


def _run(arguments: list[str], sink: int, limit: int | None) -> int:
    """Run a command in a fork, and return its exit code."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(sink, 2)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.argv = ["clusterscape", *arguments]
    if arguments[0] == "blocks":
        blocks(Path(arguments[1]), Path(arguments[2]))
        return 0
    try:
        command()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return 0


def wait(child: int) -> int:
    """Return the exit code of a command, negative where a signal ended it."""
    source, file = _words.pop(child)
    # CPU seconds, not seconds on the wall: a busy machine is no finding. One that waits for
    # something that never comes takes none, so there is a limit of both.
    begun, text = time.monotonic(), b""
    while time.monotonic() < begun + _PATIENCE and _cpu_of(child) < _WAIT:
        found, status = os.waitpid(child, os.WNOHANG)
        text += _heard(source)
        if found:
            file.write_bytes(text + _heard(source))
            os.close(source)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    spent, took = _cpu_of(child), time.monotonic() - begun
    end_group(child)
    os.waitpid(child, 0)
    os.close(source)
    raise Wrong(f"the command did not end: {spent:.0f} CPU seconds in {took:.0f} s")


def _cpu_of(child: int) -> float:
    """Return the CPU seconds of a process so far; 0 where they cannot be read."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def end_group(child: int) -> None:
    """Kill what is left of the group of a command: workers outlive one that is killed outright."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def workers_left(child: int, patience: float = 10.0) -> bool:
    """Say whether processes of the group of a command that has ended are still there."""
    until = time.monotonic() + patience
    while _living(child):
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


def _living(group: int) -> list[int]:
    """Return the processes of a group that have not ended; nobody may wait for those that have."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            state, _, number = place.read_text().rpartition(")")[2].split()[:3]
            if int(number) == group and state not in "ZX":
                found.append(int(place.parent.name))
    return found


def _heard(source: int) -> bytes:
    try:
        return os.read(source, 1 << 20)
    except BlockingIOError:
        return b""


def answer(home: Path, names: list[str]) -> dict[str, bytes]:
    return {name: (home / name).read_bytes() for name in names}


def left_over(home: Path) -> list[str]:
    return sorted(str(p.relative_to(home)) for p in home.rglob(".*.tmp"))


def said(home: Path) -> list[str]:
    lines = (home / "stderr").read_text(errors="replace").splitlines()
    return [line for line in lines if line.startswith("clusterscape: ") and "note:" not in line]


# ---- trials -------------------------------------------------------------------------------------


class Bench:
    """The table, and what each command gives when nothing disturbs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = folder / "table.csv"
        draw = np.random.default_rng(1)
        X = draw.normal(size=(120, 3)) + 6.0 * draw.integers(0, 3, size=(120, 1))
        lines = ["x,y,z", *(",".join(f"{v:.6f}" for v in row) for row in X)]
        self.table.write_text("\n".join(lines) + "\n")
        many = draw.normal(size=(45_000, 2)) + 6.0 * draw.integers(0, 3, size=(45_000, 1))
        np.save(self.table.with_suffix(".npy"), many.astype(np.float32))
        self.known: dict[tuple[str, int], tuple[dict[str, bytes], float]] = {}
        self.number = 0

    def warm(self) -> None:
        """Load and compile everything in this process, from which the commands are forked."""
        from clusterscape.cli.app import app

        home = self.fresh()
        for name, (arguments, _) in _commands(self.table, home, 1).items():
            with contextlib.redirect_stderr(io.StringIO()):
                if name == "blocks":
                    blocks(home, self.table)
                else:
                    app([*arguments, "--quiet"], standalone_mode=False)
        shutil.rmtree(home)

    def fresh(self) -> Path:
        self.number += 1
        home = self.folder / f"trial{self.number}"
        home.mkdir()
        return home

    def reference(self, name: str, jobs: int) -> tuple[dict[str, bytes], float]:
        if (name, jobs) not in self.known:
            home, seconds = self.fresh(), 0.0
            for _ in range(2):  # the first one may compile
                shutil.rmtree(home)
                home.mkdir()
                begun = time.monotonic()
                code = wait(start(_commands(self.table, home, jobs)[name][0], home))
                seconds = time.monotonic() - begun
                if code != 0:
                    raise Wrong(f"{name} ended with {code}: {(home / 'stderr').read_text()[-300:]}")
            found = answer(home, _commands(self.table, home, jobs)[name][1])
            self.known[name, jobs] = (found, seconds)
            shutil.rmtree(home)
        return self.known[name, jobs]

    def again(self, name: str, jobs: int, home: Path) -> None:
        """Repeat a command as a person would, and compare."""
        arguments, names = _commands(self.table, home, jobs)[name]
        code = wait(start([*arguments, "--force"], home))
        if code != 0:
            raise Wrong(f"{name} again ended with {code}: {(home / 'stderr').read_text()[-300:]}")
        whole, _ = self.reference(name, jobs)
        other = [part for part, content in answer(home, names).items() if content != whole[part]]
        if other:
            raise Wrong(f"{name} again gave other bytes in {', '.join(other)}")
        if left_over(home):
            raise Wrong(f"{name} again left {left_over(home)}")


def killed(bench: Bench, draw: np.random.Generator) -> str:
    """Signal a command at a random moment, sometimes twice, and repeat it."""
    name = str(draw.choice(["run", "generate", "landscape", "blocks"]))
    jobs = int(draw.integers(1, 3))
    number = signal.Signals(int(draw.choice([int(s) for s in _SIGNALS])))
    _, seconds = bench.reference(name, jobs)
    home = bench.fresh()
    for _ in range(int(draw.integers(1, 3))):
        child = start([*_commands(bench.table, home, jobs)[name][0], "--force"], home)
        time.sleep(float(draw.uniform(0, seconds)))
        os.kill(child, number)
        code = wait(child)
        if number is not signal.SIGKILL and workers_left(child):
            end_group(child)
            raise Wrong(f"{name} after {number.name} left workers behind")
        end_group(child)
        _check_ending(name, number, code, home)
    bench.again(name, jobs, home)
    shutil.rmtree(home)
    return f"{name} {number.name}"


def _check_ending(name: str, number: signal.Signals, code: int, home: Path) -> None:
    """A command that was not killed outright says one line and leaves nothing temporary."""
    if number is signal.SIGKILL or code == 0:
        return
    if code in (-number, _EARLY):
        return  # it came before the command had begun to listen
    lines = said(home)
    if code != 128 + number or len(lines) != 1:
        text = (home / "stderr").read_text(errors="replace")[-400:]
        raise Wrong(f"{name} after {number.name}: code {code}, said {lines}: {text}")
    if left_over(home):
        raise Wrong(f"{name} after {number.name} left {left_over(home)}")


def full_disk(bench: Bench, draw: np.random.Generator) -> str:
    """No file may grow beyond a few bytes: a sentence, no half file, and then the same bytes."""
    name, jobs = str(draw.choice(["run", "generate", "landscape"])), 1
    bench.reference(name, jobs)
    home = bench.fresh()
    limit = int(draw.choice([0, 100, 500, 1500, 4000, 20000]))
    code = wait(start([*_commands(bench.table, home, jobs)[name][0], "--force"], home, limit))
    text = (home / "stderr").read_text(errors="replace")
    if code not in (0, 1) or "Traceback" in text:
        raise Wrong(f"{name} with files of at most {limit} bytes: code {code}: {text[-300:]}")
    if left_over(home):
        raise Wrong(f"{name} with files of at most {limit} bytes left {left_over(home)}")
    bench.again(name, jobs, home)
    shutil.rmtree(home)
    return f"{name} files too large"


def small_disk(bench: Bench, draw: np.random.Generator) -> str:
    """The file system is full: a sentence, and with room again the same bytes."""
    name, jobs = str(draw.choice(["run", "generate"])), 1
    whole, _ = bench.reference(name, jobs)
    home = bench.fresh()
    size = int(draw.choice([8, 16, 32, 64])) * 1024
    if subprocess.run(_MOUNT(size, home), capture_output=True, check=False).returncode:
        raise Unavailable("a small file system (tmpfs) cannot be mounted here")
    try:
        code = wait(start([*_commands(bench.table, home, jobs)[name][0], "--force"], bench.folder))
        text = (bench.folder / "stderr").read_text(errors="replace")
        if code not in (0, 1) or "Traceback" in text or left_over(home):
            raise Wrong(
                f"{name} on {size} bytes: code {code}, left {left_over(home)}: {text[-300:]}"
            )
        subprocess.run(["mount", "-o", "remount,size=64m", str(home)], check=True)
        bench.again(name, jobs, home)
    finally:
        subprocess.run(["umount", str(home)], check=False)
    shutil.rmtree(home)
    return f"{name} disk full"


def _MOUNT(size: int, home: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(home)]


class Unavailable(Exception):
    """A trial that this machine does not allow."""


def two_writers(bench: Bench, draw: np.random.Generator) -> str:
    """Two commands on one store: one works, the other is told so; the answer is the same."""
    name, jobs = "generate", 1
    _, seconds = bench.reference(name, jobs)
    home, aside = bench.fresh(), bench.fresh()
    arguments, _ = _commands(bench.table, home, jobs)[name]
    first = start([*arguments, "--force"], home)
    time.sleep(float(draw.uniform(0, seconds)))
    second = start([*arguments, "--force"], aside)
    codes = wait(first), wait(second)
    text = (aside / "stderr").read_text(errors="replace")
    if codes[0] not in (0, 1) or codes[1] not in (0, 1) or "Traceback" in text:
        raise Wrong(f"two writers ended with {codes}: {text[-300:]}")
    if codes == (1, 1):
        raise Wrong("of two writers none could work")
    bench.again(name, jobs, home)
    shutil.rmtree(home)
    shutil.rmtree(aside)
    return "two writers"


TRIALS: dict[str, tuple[Callable[[Bench, np.random.Generator], str], float]] = {
    "killed": (killed, 0.8),
    "full_disk": (full_disk, 0.1),
    "small_disk": (small_disk, 0.04),
    "two_writers": (two_writers, 0.06),
}


def trial(bench: Bench, seed: int) -> str:
    """Run one trial; its seed decides everything but the scheduling of the system."""
    draw = np.random.default_rng(seed)
    names = list(TRIALS)
    name = names[int(draw.choice(len(names), p=[TRIALS[n][1] for n in names]))]
    return TRIALS[name][0](bench, draw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--kills", type=int, help="stop after so many trials")
    parser.add_argument("--seed", type=int, help="the first trial; random unless given")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one trial again")
    given = parser.parse_args()
    seed = given.replay if given.replay is not None else given.seed
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    most = 1 if given.replay is not None else given.kills
    count, wrong, skipped = Counter[str](), 0, set[str]()
    with tempfile.TemporaryDirectory(prefix="clusterscape-kill-") as folder:
        bench = Bench(Path(folder))
        bench.warm()
        deadline, done = time.monotonic() + 60 * given.minutes, 0
        while time.monotonic() < deadline and (most is None or done < most):
            try:
                count[trial(bench, seed + done)] += 1
            except Wrong as error:
                wrong += 1
                print(f"FOUND  seed {seed + done}: {error}", flush=True)
                print(f"       replay: python fuzz/kill.py --replay {seed + done}", flush=True)
            except Unavailable as error:
                skipped.add(str(error))
            done += 1
    for reason in skipped:
        print(f"skipped: {reason}")
    for name, times in sorted(count.items()):
        print(f"{times:6d}  {name}")
    print(f"{done:,} trials from seed {seed}, {wrong} findings")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
