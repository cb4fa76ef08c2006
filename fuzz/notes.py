"""What a long run keeps: a line of JSON for each note, from which the next call goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Notes:
    """What was done and found since the first seed; kept in a file where one is named.

    A note is a dictionary whose ``seed`` is that of the first case that it is about.
    """

    def __init__(self, seed: int | None, log: Path | None) -> None:
        self.log = log
        lines = log.read_text().splitlines() if log is not None and log.exists() else []
        known = [json.loads(line) for line in lines]
        if known:
            seed = known[0]["seed"]
        self.seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
        self.done, self.cpu = 0, 0.0
        for note in known:
            self.count(note)

    @property
    def next(self) -> int:
        """The seed of the first case that was not run."""
        return self.seed + self.done

    def add(self, note: dict[str, Any]) -> None:
        """Count a note, and keep it."""
        self.count(note)
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(json.dumps(note) + "\n")

    def count(self, note: dict[str, Any]) -> None:
        """Add a note to the sums."""
        raise NotImplementedError


def show_finding(program: str, seed: int, finding: str) -> None:
    """Print a finding, and the command that repeats it."""
    print(f"FOUND  seed {seed}: {finding}", flush=True)
    print(f"       replay: python fuzz/{program} --replay {seed}", flush=True)
