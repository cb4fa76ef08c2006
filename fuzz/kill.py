"""Kill commands at random moments, fill the disk, let two write to one store: nothing is lost.

    python fuzz/kill.py --minutes 5            # or --kills 1000
    python fuzz/kill.py --replay SEED          # one trial again
    python fuzz/kill.py --kills 1000 --log F   # long runs: what each trial gave is kept in F, and
                                               # the next call goes on from there

Every command runs to its end once (the reference). A trial runs it with a signal at a random
moment, up to six times on what the one before left, and then once more as a person would. The last
one must give the bytes of the reference, and leave nothing behind but its results. The commands
run in forks of a process that has loaded everything, so that a trial takes a fraction of a second
and is hit in its work, not in imports; one in twelve is started as a person does, imports and all.
Only signals that ended a command count as kills. Needs fork, that is, a POSIX system.
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
from typing import Any

import numpy as np
import pandas as pd

from clusterscape.cli import main as command
from notes import Notes, show_finding

_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WAIT = 60.0  # CPU seconds in which a command must end
_PATIENCE = 600.0  # seconds in which it must, however busy the machine is
_EARLY = 71  # exit code of a fork that was interrupted before the command began
_REAL = 1 / 12  # of the commands that are killed, those that begin with their imports
_words: dict[int, tuple[int, Path]] = {}


class Wrong(Exception):
    """Something was lost, left over, or not said."""


# ---- commands -----------------------------------------------------------------------------------


def _commands(table: Path, home: Path, jobs: int) -> dict[str, tuple[list[str], list[str]]]:
    """Return the arguments of each command, and the files of its answer."""
    shared = ["--seed", "5", "--jobs", str(jobs)]
    run = ["run", str(table), "-o", str(home / "out"), "-k", "3", "-r", "10", "--resume"]
    run += ["--references", "0"]
    generate = ["generate", str(table), "-o", str(home / "e.npz"), "-r", "12", "--resume"]
    walk = ["landscape", str(table), "-o", str(home / "l.csv"), "-k", "3", "--samples", "40"]
    rows = str(table.with_suffix(".parquet"))
    dask = ["run", rows, "-o", str(home / "out"), "-k", "3", "-r", "6", "--references", "0"]
    parts = [f"part-{i:05d}.parquet" for i in range(6)]
    on_cluster = ([*dask, "--resume", *shared], [f"out/labels/{part}" for part in parts])
    return {
        "run": ([*run, *shared], ["out/labels.csv", "out/ensemble.npz", "out/model.npz"]),
        "generate": ([*generate, *shared], ["e.npz"]),
        "landscape": ([*walk, "--seed", "5"], ["l.csv"]),
        "blocks": (["blocks", str(home), str(table)], [f"answer/{part}" for part in parts]),
        "dask": on_cluster,
        "local": on_cluster,
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


def start(arguments: list[str], home: Path, limit: int | None = None, *, real: bool = False) -> int:
    """Fork a command; what it says is kept for :func:`wait`. Return the process.

    ``real`` begins with a new interpreter and all imports.
    """
    source, sink = os.pipe()  # a pipe has room where no file may grow
    child = os.fork()
    if child:
        os.close(sink)
        os.set_blocking(source, False)
        _words[child] = (source, home / "stderr")
        return child
    code = _EARLY
    try:
        code = _run(arguments, sink, limit, real)
    except BaseException:  # an interrupt outside of the command: before it began, or after its end
        traceback.print_exc()
    finally:
        os._exit(code)


def _run(arguments: list[str], sink: int, limit: int | None, real: bool) -> int:
    """Run a command in a fork, and return its exit code."""
    os.setsid()
    # In the background, or under nohup, this program was started with signals ignored, and a
    # command leaves alone what it finds ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(sink, 2)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.argv = ["clusterscape", *arguments]
    if real:
        os.execv(sys.executable, [sys.executable, "-m", "clusterscape", *arguments])
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
        return time.clock_gettime((~child << 3) | 2)  # the clock of another process: Linux has it
    except OSError:
        return 0.0


def wait_until(child: int, seconds: float) -> None:
    """Wait until a command has taken so many CPU seconds, or has ended.

    A busy machine would make any moment on the wall an early one.
    """
    if sys.platform != "linux":
        time.sleep(seconds)
        return
    until = time.monotonic() + _PATIENCE
    while _cpu_of(child) < seconds and time.monotonic() < until:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.001)


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
        frame = pd.DataFrame(many.astype(np.float32), columns=["x", "y"])
        frame.to_parquet(self.table.with_suffix(".parquet"), row_group_size=8192)
        self.known: dict[str, dict[str, bytes]] = {}
        self.took: dict[tuple[str, int, bool], float] = {}
        self.hits = Counter[str]()  # signals that ended something
        self.number = 0
        self._cluster: Cluster | None = None

    def warm(self) -> None:
        """Load and compile everything in this process, from which the commands are forked."""
        from clusterscape.cli.app import app

        home = self.fresh()
        for name, (arguments, _) in _commands(self.table, home, 1).items():
            with contextlib.redirect_stderr(io.StringIO()):
                if name == "blocks":
                    blocks(home, self.table)
                elif name not in ("dask", "local"):
                    app([*arguments, "--quiet"], standalone_mode=False)
        shutil.rmtree(home)

    def fresh(self) -> Path:
        self.number += 1
        home = self.folder / f"trial{self.number}"
        home.mkdir()
        return home

    def command(self, name: str, home: Path, jobs: int) -> list[str]:
        """Return the arguments of a command; results that are there are replaced."""
        arguments, _ = _commands(self.table, home, jobs)[name]
        if name == "blocks":
            return arguments
        where = []
        if name in ("dask", "local"):
            where = ["--dask", self.cluster().address if name == "dask" else "local"]
        return [*arguments, "--force", *where]

    def cluster(self) -> Cluster:
        """Return the running cluster; the first call starts it."""
        if self._cluster is None:
            self._cluster = Cluster()
        return self._cluster

    def end_cluster(self) -> None:
        if self._cluster is not None:
            self._cluster.kill()
            self._cluster = None

    def reference(self, name: str, jobs: int, *, real: bool = False) -> float:
        """Run a command undisturbed, once, and return its CPU seconds."""
        key = (name, jobs, real)
        if key not in self.took:
            for _ in range(2):  # the first one may compile
                home = self.fresh()
                spent = resource.getrusage(resource.RUSAGE_CHILDREN)
                code = wait(start(self.command(name, home, jobs), home, real=real))
                now = resource.getrusage(resource.RUSAGE_CHILDREN)
                if code != 0:
                    raise Wrong(f"{name} ended with {code}: {(home / 'stderr').read_text()[-300:]}")
                found = answer(home, _commands(self.table, home, jobs)[name][1])
                shutil.rmtree(home)
            self.took[key] = now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime
            if found != self.known.setdefault(name, found):
                raise Wrong(f"{name} with {jobs} workers gave other bytes")
        return self.took[key]

    def again(self, name: str, jobs: int, home: Path) -> None:
        """Repeat a command as a person would, and compare."""
        code = wait(start(self.command(name, home, jobs), home))
        if code != 0:
            raise Wrong(f"{name} again ended with {code}: {(home / 'stderr').read_text()[-300:]}")
        self.reference(name, jobs)
        names = _commands(self.table, home, jobs)[name][1]
        whole = self.known[name]
        other = [part for part, content in answer(home, names).items() if content != whole[part]]
        if other:
            raise Wrong(f"{name} again gave other bytes in {', '.join(other)}")
        if left_over(home):
            raise Wrong(f"{name} again left {left_over(home)}")


_CLUSTER = """
import sys
from clusterscape._core.workers import local_cluster
with local_cluster(2) as client:
    print(client.scheduler.address, flush=True)
    sys.stdin.read()
"""


class Cluster:
    """A scheduler and two workers, in processes of their own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CLUSTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def workers(self) -> list[int]:
        """Return the processes of the workers."""
        found = []
        for process in _living(self.process.pid):
            with contextlib.suppress(OSError):
                if b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes():
                    found.append(process)
        return sorted(found)

    def kill(self) -> None:
        """End the scheduler and the workers at once, as a machine that goes down does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def killed(bench: Bench, draw: np.random.Generator) -> str:
    """Signal a command at random moments, on what the one before left, and repeat it."""
    # generate, which keeps a store and little else, takes a quarter of the time of run.
    name = str(draw.choice(["run", "generate", "landscape", "blocks"], p=[0.2, 0.4, 0.2, 0.2]))
    jobs = int(draw.integers(1, 3))
    return _killed(bench, draw, name, jobs, real=name != "blocks" and draw.random() < _REAL)


def _killed(bench: Bench, draw: np.random.Generator, name: str, jobs: int, *, real: bool) -> str:
    number = signal.Signals(int(draw.choice([int(s) for s in _SIGNALS])))
    seconds = bench.reference(name, jobs, real=real)
    home = bench.fresh()
    for _ in range(int(draw.integers(1, 7))):
        child = start(bench.command(name, home, jobs), home, real=real)
        wait_until(child, float(draw.uniform(0, seconds)))
        os.kill(child, number)
        code = wait(child)
        if (number is not signal.SIGKILL or name == "local") and workers_left(child):
            end_group(child)
            raise Wrong(f"{name} after {number.name} left workers behind")
        end_group(child)
        _check_ending(name, number, code, home)
        bench.hits[f"{name}{' from its start' if real else ''} {number.name}"] += code != 0
    bench.again(name, jobs, home)
    shutil.rmtree(home)
    return f"{name} {number.name}"


def _check_ending(name: str, number: signal.Signals, code: int, home: Path) -> None:
    """A command that was not killed outright says one line and leaves nothing temporary."""
    if number is signal.SIGKILL or code == 0:
        return
    text = (home / "stderr").read_text(errors="replace")
    if code in (-number, _EARLY) and "clusterscape/cli" not in text:
        return  # it came before the command had begun to listen
    lines = said(home)
    if code != 128 + number or len(lines) != 1:
        raise Wrong(f"{name} after {number.name}: code {code}, said {lines}: {text[-400:]}")
    if left_over(home):
        raise Wrong(f"{name} after {number.name} left {left_over(home)}")


def on_dask(bench: Bench, draw: np.random.Generator) -> str:
    """A job on a cluster: its command, a worker or the scheduler is killed; then once more."""
    what = str(draw.choice(["command", "local", "worker", "scheduler"], p=[0.55, 0.05, 0.3, 0.1]))
    if what in ("command", "local"):  # local: the command starts its own workers, and ends them
        return _killed(bench, draw, "dask" if what == "command" else "local", 2, real=False)
    seconds, cluster, home = bench.reference("dask", 2), bench.cluster(), bench.fresh()
    child = start(bench.command("dask", home, 2), home)
    wait_until(child, float(draw.uniform(0, seconds)))
    if what == "worker":
        workers = cluster.workers()
        os.kill(workers[int(draw.integers(len(workers)))], signal.SIGKILL)
    else:
        bench.end_cluster()
    code = wait(child)
    end_group(child)
    text = (home / "stderr").read_text(errors="replace")
    if code not in (0, 1) or (code == 1 and len(said(home)) != 1) or "Traceback" in text:
        raise Wrong(f"dask, the {what} killed: code {code}, said {said(home)}: {text[-400:]}")
    bench.hits[f"dask {what} SIGKILL"] += 1
    bench.again("dask", 2, home)
    shutil.rmtree(home)
    return f"dask {what}"


def full_disk(bench: Bench, draw: np.random.Generator) -> str:
    """No file may grow beyond a few bytes: a sentence, no half file, and then the same bytes."""
    name, jobs = str(draw.choice(["run", "generate", "landscape"])), 1
    bench.reference(name, jobs)
    home = bench.fresh()
    limit = int(draw.choice([0, 100, 500, 1500, 4000, 20000]))
    code = wait(start(bench.command(name, home, jobs), home, limit))
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
    bench.reference(name, jobs)
    home = bench.fresh()
    size = int(draw.choice([8, 16, 32, 64])) * 1024
    if subprocess.run(_mount_at(size, home), capture_output=True, check=False).returncode:
        raise Unavailable("a small file system (tmpfs) cannot be mounted here")
    try:
        code = wait(start(bench.command(name, home, jobs), bench.folder))
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


def _mount_at(size: int, home: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(home)]


class Unavailable(Exception):
    """A trial that this machine does not allow."""


def two_writers(bench: Bench, draw: np.random.Generator) -> str:
    """Two commands on one store: one works, the other is told so; the answer is the same."""
    name, jobs = "generate", 1
    seconds = bench.reference(name, jobs)
    home, aside = bench.fresh(), bench.fresh()
    first = start(bench.command(name, home, jobs), home)
    wait_until(first, float(draw.uniform(0, seconds)))
    second = start(bench.command(name, home, jobs), aside)
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
    "killed": (killed, 0.83),
    "full_disk": (full_disk, 0.05),
    "small_disk": (small_disk, 0.03),
    "two_writers": (two_writers, 0.04),
    "on_dask": (on_dask, 0.05),
}


def trial(bench: Bench, seed: int) -> str:
    """Run one trial; its seed decides everything but the scheduling of the system."""
    draw = np.random.default_rng(seed)
    names = list(TRIALS)
    name = names[int(draw.choice(len(names), p=[TRIALS[n][1] for n in names]))]
    return TRIALS[name][0](bench, draw)


class Tally(Notes):
    """What the trials gave."""

    def __init__(self, seed: int | None, log: Path | None) -> None:
        self.wrong = 0
        self.trials, self.hits, self.skipped = Counter[str](), Counter[str](), Counter[str]()
        super().__init__(seed, log)

    def count(self, note: dict[str, Any]) -> None:
        """Add what a trial gave, and print what it found."""
        self.done += 1
        self.cpu += note["cpu"]
        self.hits.update(note["hits"])
        if note["finding"]:
            self.wrong += 1
            show_finding("kill.py", note["seed"], note["finding"])
        elif note["skipped"]:
            self.skipped[note["skipped"]] += 1
        else:
            self.trials[note["trial"]] += 1

    def say(self) -> None:
        for reason in self.skipped:
            print(f"skipped: {reason}")
        for name, times in sorted(self.trials.items()):
            if name.rpartition(" ")[2] not in signal.Signals.__members__:
                print(f"{times:6d}  trials: {name}")
        for name, times in sorted(self.hits.items()):
            if times:
                print(f"{times:6d}  kills: {name}")
        print(
            f"{sum(self.hits.values()):,} kills, {self.done:,} trials from seed {self.seed}, "
            f"{self.cpu:,.0f} CPU seconds, {self.wrong} findings"
        )


def _noted(bench: Bench, seed: int) -> dict[str, Any]:
    """Run one trial, and return what is kept of it."""
    note: dict[str, Any] = {"seed": seed, "trial": "", "finding": "", "skipped": ""}
    before = _spent()
    bench.hits.clear()
    try:
        note["trial"] = trial(bench, seed)
    except Wrong as error:
        note["finding"] = str(error)
    except Unavailable as error:
        note["skipped"] = str(error)
    hits = {name: int(times) for name, times in bench.hits.items()}
    return {**note, "hits": hits, "cpu": round(_spent() - before, 2)}


def _spent() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="5, or with --kills and --trials no limit")
    parser.add_argument("--trials", type=int, help="stop after so many trials")
    parser.add_argument("--kills", type=int, help="stop after so many kills")
    parser.add_argument("--seed", type=int, help="the first trial; random unless given")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one trial again")
    parser.add_argument("--log", type=Path, help="keep what was done; go on from there")
    given = parser.parse_args()
    if given.replay is not None:
        given.seed, given.trials = given.replay, 1
    endless = given.trials is not None or given.kills is not None
    minutes = given.minutes if given.minutes is not None else 1e6 if endless else 5.0
    tally = Tally(given.seed, given.log)
    with tempfile.TemporaryDirectory(prefix="clusterscape-kill-") as folder:
        bench = Bench(Path(folder))
        bench.warm()
        deadline = time.monotonic() + 60 * minutes
        try:
            while time.monotonic() < deadline and not (
                (given.trials is not None and tally.done >= given.trials)
                or (given.kills is not None and tally.hits.total() >= given.kills)
            ):
                tally.add(_noted(bench, tally.next))
        finally:
            bench.end_cluster()
    tally.say()
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
