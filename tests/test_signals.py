"""A signal ends the command: workers, unfinished files, one line, and an exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clusterscape._core.atomic import atomic_folder, atomic_path, why_not_writable
from clusterscape.cli.app import app

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX signals")

WRITING = """
import pathlib, sys, time
from clusterscape.cli import signals
from clusterscape._core.atomic import atomic_folder, atomic_path
home, deaf, workers = pathlib.Path(sys.argv[1]), sys.argv[2] == "deaf", sys.argv[2] == "workers"
signals.GRACE = 0.3
with signals.ended_cleanly():
    if workers:
        from joblib import Parallel, delayed
        running = Parallel(2, return_as="generator")(
            delayed(exec)(f"import os, time; open({str(home)!r} + '/w' + str(os.getpid()), 'w')"
                          "; time.sleep(60)") for _ in range(4))
        while len(list(home.glob("w*"))) < 2:
            time.sleep(0.01)
    with atomic_folder(home / "out", last="b") as stage, atomic_path(home / "file") as part:
        (stage / "a").write_text("half")
        part.write_text("half")
        print("ready", flush=True)
        while True:
            try:
                time.sleep(30)
            except SystemExit:
                if not deaf:
                    raise
"""


def _ended(home: Path, number: int, how: str) -> subprocess.CompletedProcess[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(home), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    return subprocess.CompletedProcess("", child.returncode, out, err)


@pytest.mark.parametrize(
    ("name", "how", "line"),
    [
        ("SIGTERM", "plain", "ended by SIGTERM"),
        ("SIGHUP", "plain", "ended by SIGHUP"),
        ("SIGINT", "plain", "interrupted"),
        ("SIGTERM", "deaf", "ended by SIGTERM"),
        ("SIGTERM", "workers", "ended by SIGTERM"),
    ],
)
def test_a_signal_ends_the_command_in_good_order(tmp_path, name, how, line):
    number = getattr(signal, name)
    found = _ended(tmp_path, number, how)
    assert found.returncode == 128 + number
    assert found.stderr.splitlines() == [
        f"clusterscape: {line}; nothing was written except what --resume keeps."
    ]
    workers = [int(path.name[1:]) for path in tmp_path.glob("w*")]
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("w")] == []
    for worker in workers:
        for _ in range(200):  # the system takes a moment to bury a killed process
            if not Path(f"/proc/{worker}/stat").exists():
                break
            time.sleep(0.02)
        assert not Path("/proc").exists() or not Path(f"/proc/{worker}/stat").exists()
    assert len(workers) == (2 if how == "workers" else 0)


def test_what_is_ignored_stays_ignored():
    code = """
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from clusterscape.cli.signals import ended_cleanly
with ended_cleanly():
    os.kill(os.getpid(), signal.SIGHUP)
print("alive")
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (0, "alive\n", "")


@pytest.mark.parametrize("module", ["clusterscape.cli.command", "typer"])
def test_ctrl_c_during_the_imports_shows_no_traceback(module):
    code = f"""
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from clusterscape.cli import main
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 130
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("clusterscape: interrupted")


@pytest.mark.parametrize(
    "place", ["typer.core.TyperGroup.invoke", "console.showing", "signals._watch"]
)
def test_ctrl_c_is_reported_once_wherever_it_comes(place):
    """Inside a verb, which says it itself, in typer, which says nothing, and before either."""
    code = f"""
import sys
import typer
from clusterscape.cli import console, main, signals
def interrupted(*_args, **_more):
    raise KeyboardInterrupt
{place} = interrupted
sys.argv = ["clusterscape", "info", "--list", "methods"]
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 130
    assert found.stderr.splitlines() == [
        "clusterscape: interrupted; nothing was written except what --resume keeps."
    ]


# ---- left-overs of killed processes -----------------------------------------------------------

KILLED = """
import os, pathlib, signal, sys
from clusterscape._core.atomic import atomic_folder, atomic_path
home = pathlib.Path(sys.argv[1])
with atomic_folder(home / "out", last="b") as stage, atomic_path(home / "file") as part:
    (stage / "a").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


KILLED_RUN = """
import os, signal, sys, time
from clusterscape._core import atomic
from clusterscape.cli import main
number = getattr(signal, sys.argv.pop())
def killed(*_):
    os.kill(os.getpid(), number)
    time.sleep(60)
atomic._move = killed  # all results are in the hidden folder, beside the store
main()
"""


def test_a_killed_run_with_its_store_inside_its_folder_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{x % 7},{x // 9}" for x in range(30)]
    Path("points.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    job = ["run", "points.csv", "-k", "2", "-r", "4", "--references", "0", "-q", "-j", "1"]
    for name, code in (("SIGTERM", 143), ("SIGKILL", -9)):
        words = [*job, "-o", "out", "--resume", name]
        found = subprocess.run([sys.executable, "-c", KILLED_RUN, *words], capture_output=True)
        assert found.returncode == code, found.stderr.decode()
        hidden = list(Path("out").glob(".*.tmp"))
        assert len(hidden) == (name == "SIGKILL")
        assert {path.name for path in Path("out").iterdir()} - {p.name for p in hidden} == {"store"}
    assert CliRunner().invoke(app, [*job, "-o", "out", "--resume"]).exit_code == 0
    assert CliRunner().invoke(app, [*job, "-o", "plain"]).exit_code == 0
    assert list(Path("out").glob(".*.tmp")) == []
    for file in ("labels.csv", "ensemble.npz", "model.npz"):
        assert Path("out", file).read_bytes() == Path("plain", file).read_bytes()


def test_a_thread_that_goes_on_writing_leaves_nothing(tmp_path):
    code = """
import os, pathlib, signal, sys, threading, time
from clusterscape.cli import signals
from clusterscape._core.atomic import write_bytes
home = pathlib.Path(sys.argv[1])
def write(i):
    while True:
        write_bytes(home / f"file{i}", b"x")
with signals.ended_cleanly():
    for i in range(3):
        threading.Thread(target=write, args=(i,), daemon=True).start()
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
"""
    for _ in range(3):
        found = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True)
        assert found.returncode == 143
        assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_killed_workers_were_writing_is_removed(tmp_path):
    code = """
import os, pathlib, signal, sys, time
from joblib import Parallel, delayed
from clusterscape.cli import signals
from clusterscape._core.atomic import written_by_workers
home = pathlib.Path(sys.argv[1])
write = (
    "import os, time\\n"
    "from clusterscape._core.atomic import atomic_path\\n"
    f"with atomic_path({str(home)!r} + '/' + str(os.getpid())):\\n"
    "    time.sleep(60)\\n"
)
with signals.ended_cleanly():
    written_by_workers(home)
    running = Parallel(2, return_as="generator")(delayed(exec)(write, {}) for _ in range(2))
    while len(list(home.glob(".*.tmp"))) < 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
"""
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True
    )
    assert found.returncode == 143, found.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_a_signal_ends_the_command_is_not_said(monkeypatch, capsys):
    from clusterscape.cli import console, signals

    def verb() -> None:
        raise ValueError("an archive that cannot be closed")

    monkeypatch.setattr(signals, "caught", [15])
    with pytest.raises(ValueError, match="cannot be closed"):
        console.verb(verb)()
    assert capsys.readouterr().err == ""


def test_a_trial_of_writing_leaves_nothing(tmp_path, monkeypatch):
    left = tmp_path / ".clusterscape.0123456789abcdef.tmp"  # of a process that was killed
    left.mkdir()
    assert why_not_writable(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []

    def interrupted(self, *_args):
        os.mkdir(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        why_not_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_next_start_removes_what_a_killed_one_left(tmp_path):
    other = tmp_path / ".out.0123456789abcdef.tmpx"  # not a name of ours
    other.write_text("keep")
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert len(list(tmp_path.glob(".*.tmp"))) == 2
    with atomic_folder(tmp_path / "out", last="b") as stage:
        (stage / "b").write_text("whole")
        assert list(tmp_path.glob(".out.*.tmp")) == [stage]
        with atomic_path(tmp_path / "file") as part:
            part.write_text("whole")
            # What another writer is at work on has its lock, and stays.
            with atomic_path(tmp_path / "file") as second:
                assert part.exists()
                second.write_text("second")
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "file", "out"]
