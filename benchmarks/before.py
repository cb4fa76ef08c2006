"""Speed programs of an earlier revision, run with its source and with the present one in turns.

    python benchmarks/before.py 16ef58e^ consensus kmeans_batch lift

The programs are those of the revision, so that the work is the same; the first turn of each source
compiles, and the last one is shown: where the two differ, the line of the revision ("-") stands
above ours ("+"). No bar is compared: a machine's own noise is some per cent, and a second run shows
what it is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(program: Path, source: Path, compiled: Path) -> list[str]:
    """Return the lines that a program prints with the package of ``source``."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(compiled),
    }
    done = subprocess.run(
        [sys.executable, str(program), "--check"], capture_output=True, text=True, env=environment
    )
    if not done.stdout:
        sys.exit(f"{program.name} with {source}: {done.stderr.strip()[-500:]}")
    return done.stdout.splitlines()


def main() -> None:
    """Run each program in turns, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", help="what git checks out")
    parser.add_argument("programs", nargs="+", help="names of programs of benchmarks/speed")
    parser.add_argument("--turns", type=int, default=2, help="of each source; the last is shown")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        earlier, git = Path(folder) / "earlier", ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", str(earlier), options.revision], check=True)
        try:
            for name in options.programs:
                program = earlier / "benchmarks" / "speed" / f"{name}.py"
                for _ in range(options.turns):
                    before = run(program, earlier / "src", Path(folder) / "compiled-earlier")
                    now = run(program, ROOT / "src", Path(folder) / "compiled-now")
                print(f"{name}")
                for old, new in zip(before, now, strict=False):
                    if old != new:
                        print(f"- {old}\n+ {new}")
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)


if __name__ == "__main__":
    main()
