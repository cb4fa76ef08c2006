"""Options of distances in space: which measures take them, and what their words mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli._console import choose

if TYPE_CHECKING:
    from clusterscape.compare import Measure

_PANEL = "Distances in space"
# Other kernels are functions or matrices, which a command line cannot name.
_KERNELS = ("gaussian", "laplacian", "cauchy", "discrete")
_SPELLING = {"kernel": "--kernel", "bandwidth": "--bandwidth", "n_components": "--components"}


def _bandwidth(text: str | None) -> str | None:
    if text in (None, "median"):
        return text
    try:
        good = 0 < float(text) < float("inf")
    except ValueError:
        good = False
    if not good:
        raise typer.BadParameter(f"{text!r} is neither 'median' nor a positive number.")
    return text


def _components(text: str | None) -> str | None:
    if text in (None, "auto", "exact"):
        return text
    if not text.isdecimal() or int(text) < 2 or int(text) % 2:
        raise typer.BadParameter(
            f"{text!r} is neither 'auto' nor 'exact' nor an even number from 2 on."
        )
    return text


Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="FILE",
        help="Table of the points' features, for what looks at where points lie; rows are matched "
        "by id where both have ids.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="|".join(_KERNELS),
        help="By what points are alike; gaussian when not given. discrete sees nothing but which "
        "points are the same, and needs no features.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Bandwidth = Annotated[
    str | None,
    typer.Option(
        "--bandwidth",
        metavar="median|H",
        callback=_bandwidth,
        help="Distance over which points are alike, in the units of the scaled table; the median "
        "distance of points when not given.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Components = Annotated[
    str | None,
    typer.Option(
        "--components",
        metavar="auto|exact|N",
        callback=_components,
        help="Random features that stand for the kernel, an even number; exact: none, every two "
        "points are looked at; auto (when not given): exact up to 3,000 points.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


def inputs(files: Sequence[str], features: str | None) -> list[str]:
    """Return everything that is read; only one of them can be stdin."""
    found = [*files, *([] if features is None else [features])]
    if found.count("-") > 1:
        raise typer.BadParameter("'-' (stdin) can be given once.", param_hint="--features")
    return found


def options(kernel: str | None, bandwidth: str | None, components: str | None) -> dict[str, Any]:
    """Return those that were given, as arguments of the library."""
    given: dict[str, Any] = {}
    if kernel is not None:
        given["kernel"] = choose("--kernel", kernel, _KERNELS)
    if bandwidth is not None:
        given["bandwidth"] = bandwidth if bandwidth == "median" else float(bandwidth)
    if components is not None:
        words = {"auto": "auto", "exact": None}
        given["n_components"] = words[components] if components in words else int(components)
    return given


def check(measure: Measure, given: dict[str, Any], features: str | None) -> None:
    """Refuse options that the measure has not, missing features, and features for nothing."""
    from clusterscape.compare import MEASURES

    for name in given:
        if name not in measure.option_names():
            able = [m.name for m in MEASURES.values() if name in m.option_names()]
            raise typer.BadParameter(
                f"{measure.name} has no such option; leave it out, or choose one of "
                f"{', '.join(able)}.",
                param_hint=_SPELLING[name],
            )
    looks = measure.needs_features and given.get("kernel") != "discrete"
    if looks and features is None:
        raise typer.BadParameter(
            f"{measure.name} looks at where the points lie, which labels do not say; give the "
            "table of their features.",
            param_hint="--features",
        )
    if features is not None and not looks:
        if measure.needs_features:
            why = "the discrete kernel sees only which points are the same"
        else:
            able = [m.name for m in MEASURES.values() if m.needs_features]
            why = f"{measure.name} does not look at features ({', '.join(able)} do)"
        raise typer.BadParameter(f"{why}; leave them out.", param_hint="--features")
