"""Files that a command writes: looked at before the work, so that none is written for nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer


def check(
    path: Path, inputs: Sequence[str], endings: Sequence[str], *, option: str = "--output"
) -> None:
    """Refuse a file that cannot be written, or that is one of the inputs."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file with {option}.")
    if path.suffix.lower() not in endings:
        which = "" if len(endings) == 1 else "one of "
        raise typer.BadParameter(
            f"{path} must end in {which}{', '.join(endings)}.", param_hint=option
        )
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}; make it, or name another file.")
    keep_inputs([path], inputs, option=option)


def keep_inputs(
    outputs: Iterable[Path], inputs: Sequence[str], *, option: str = "--output"
) -> None:
    """Refuse to write over a file that is read, by whatever name or link it is given."""
    present = [path for path in outputs if path.exists()]
    for name in inputs:
        for path in present:
            if name != "-" and os.path.exists(name) and os.path.samefile(path, name):
                raise ValueError(
                    f"{path} is the input itself and would be lost; name another place with "
                    f"{option}."
                )


def keep_apart(files: Mapping[str, Path | None]) -> None:
    """Refuse one file for two things; the keys are the options that name the files."""
    taken: dict[str, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise typer.BadParameter(
                f"{path} is what {taken[place]} writes already; name another file.",
                param_hint=option,
            )
        taken[place] = option
