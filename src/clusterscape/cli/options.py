"""Options that several verbs share, each declared once.

An option is an annotation; a group is a dataclass of options. A verb takes a group as one
parameter, and ``console.verb`` gives the command all of its options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import typer

if TYPE_CHECKING:
    from clusterscape.compare import Measure

# The panels of the help.
READING = "Reading tables"
WORK = "The work"
SPACE = "Distances in space"
OUTPUT = "Output"

MOST_GOWER = 10_000  # rows whose distances are computed


def _panel(title: str) -> Callable[..., Any]:
    """Return ``typer.Option`` for the options of one panel."""
    return partial(typer.Option, rich_help_panel=title)


reading_option, work_option = _panel(READING), _panel(WORK)
space_option, output_option = _panel(SPACE), _panel(OUTPUT)


def choose(option: str, given: str, known: Sequence[str]) -> str:
    """Return ``given`` if it is known; otherwise the command was not understood."""
    if given not in known:
        from difflib import get_close_matches

        close = get_close_matches(given, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise typer.BadParameter(
            f"{given!r} is not one of {', '.join(known)}.{hint}", param_hint=option
        )
    return given


def names_of(what: str) -> Callable[[], list[str]]:
    """Return a function that lists names for the completion of the shell."""

    def names() -> list[str]:
        from clusterscape.combine import METHODS
        from clusterscape.compare import MEASURES
        from clusterscape.generate import ALGORITHMS, CLUSTERERS, PRESETS

        return {
            "generator": list(PRESETS),
            "algorithm": [*ALGORITHMS, *CLUSTERERS],
            "consensus": ["auto", *METHODS],
            "metric": [*MEASURES, *ALIASES],
        }[what]

    return names


# Usual names of measures, beside their own.
ALIASES = {
    "ari": "adjusted_rand",
    "rand": "pair_accuracy",
    "ri": "pair_accuracy",
    "fmi": "fowlkes_mallows",
    "jaccard": "jaccard_distance",
    "acc": "accuracy",
    "ecs": "element_centric",
}


def chosen_measures(given: Sequence[str] | None) -> list[Measure]:
    """Return the measures of --metric: names or aliases, joined by commas or repeated."""
    from clusterscape.compare import MEASURES

    names = [part.strip() for text in given or ["adjusted_rand"] for part in text.split(",")]
    known = [*MEASURES, *ALIASES]
    own = [ALIASES.get(choose("--metric", name.lower(), known), name.lower()) for name in names]
    return [MEASURES[name] for name in dict.fromkeys(own)]


# ---- reading tables -------------------------------------------------------------------------

Data = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="Table with one row per point: CSV, TSV or other text (also .gz), xlsx, Parquet, "
        "Arrow, NPZ, NPY, LIBSVM or h5ad; '-' reads CSV from stdin.",
    ),
]
LabelFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="Ensembles (.npz, .parquet) or tables of labels with one column per clustering; "
        "several files are joined by their ids. '-' reads CSV from stdin.",
    ),
]
Features = Annotated[
    str | None,
    reading_option(
        "--features",
        metavar="FILE",
        help="Table of the points' features, for methods and measures that use them; its rows are "
        "matched to the points by id.",
    ),
]
Join = Annotated[
    str,
    reading_option(
        "--join",
        metavar="same|inner|outer|order",
        help="How several files are joined. same: by id, and all must hold the same ids; inner: "
        "the ids that all files hold; outer: the ids that any file holds (a point that a file "
        "does not hold is unsampled in its clusterings); order: by position, whatever the ids. "
        "Files without ids, all of them, are joined by position.",
    ),
]
Reference = Annotated[
    str | None,
    reading_option(
        "--reference",
        metavar="NAME",
        help="Column of known classes: not used for clustering, compared with the result.",
    ),
]


class ReadArguments(TypedDict):
    """Keyword arguments of ``read_labels``, ``describe_table`` and ``read_table``."""

    id_column: str | None
    columns: list[str] | None
    exclude: list[str] | None
    format: str | None
    delimiter: str | None
    header: bool | Literal["auto"]
    encoding: str | None
    na: list[str]
    sheet: str | None
    skip: int


class DescribeArguments(ReadArguments):
    """Keyword arguments of ``describe_table`` and ``read_table``."""

    decimal: str | None
    thousands: str | None
    obsm: str | None
    layer: str | None


class TableArguments(DescribeArguments):
    """Keyword arguments of ``read_table``."""

    missing: str
    categories: str
    transpose: bool


MISSING = ("refuse", "drop", "impute", "members")
CATEGORIES = ("refuse", "drop", "one-hot", "gower")


@dataclass(frozen=True)
class Reading:
    """How tables are read. A value ``FILE=VALUE`` is for that one of several files."""

    id_column: Annotated[
        list[str] | None,
        reading_option(
            "--id-column",
            metavar="[FILE=]NAME",
            help="Column that names the points. Without it a column called 'id', a first column "
            "without a name, or (in tables of features) a first column of text that differs in "
            "every row is used, and a message says so. Where a command reads several files, "
            "FILE=NAME is for one of them; this holds for all options of this group that take a "
            "value.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        reading_option(
            "--columns",
            metavar="[FILE=]NAMES",
            help="Use only these columns: names with commas between them, or the option repeated. "
            "Where clusterings and features are read, names without FILE= choose clusterings.",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        reading_option(
            "--exclude",
            metavar="[FILE=]NAMES",
            help="Leave these columns out.",
        ),
    ] = None
    format: Annotated[
        list[str] | None,
        reading_option(
            "--format",
            metavar="[FILE=]FORMAT",
            help="csv, tsv, txt, xlsx, parquet, feather, npz, npy, libsvm or h5ad, where the "
            "ending of the name does not say.",
        ),
    ] = None
    delimiter: Annotated[
        list[str] | None,
        reading_option(
            "--delimiter",
            metavar="[FILE=]MARK",
            help="What separates the fields of text: one character, 'tab' or 'space'. Without it "
            "commas, semicolons, tabs and '|' are recognised, and a message says so.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        reading_option(
            "--header/--no-header",
            help="Whether the first row of CSV files holds the column names. Without it names are "
            "recognised where no field of the first row is a number.",
        ),
    ] = None
    header_in: Annotated[
        list[str] | None,
        reading_option(
            "--header-in",
            metavar="FILE",
            help="As --header, for one of several files.",
        ),
    ] = None
    no_header_in: Annotated[
        list[str] | None,
        reading_option(
            "--no-header-in",
            metavar="FILE",
            help="As --no-header, for one of several files.",
        ),
    ] = None
    encoding: Annotated[
        list[str] | None,
        reading_option(
            "--encoding",
            metavar="[FILE=]NAME",
            help="Encoding of text, such as latin-1 or cp1252; UTF-8, or what a byte order mark "
            "says, when not given.",
        ),
    ] = None
    na: Annotated[
        list[str] | None,
        reading_option(
            "--na",
            metavar="[FILE=]TEXT",
            help="Text that stands for a missing value, such as '?' or -999, beside empty cells, "
            "NA, NaN and null; may be repeated. In clusterings: a point that was not seen.",
        ),
    ] = None
    decimal: Annotated[
        list[str] | None,
        reading_option(
            "--decimal",
            metavar="[FILE=]MARK",
            help="Decimal mark of text, '.' or ','; recognised when not given.",
        ),
    ] = None
    thousands: Annotated[
        list[str] | None,
        reading_option(
            "--thousands",
            metavar="[FILE=]MARK",
            help="Mark between thousands in text; recognised where it can be nothing else.",
        ),
    ] = None
    sheet: Annotated[
        list[str] | None,
        reading_option(
            "--sheet",
            metavar="[FILE=]NAME",
            help="Sheet of an xlsx file; the first one when not given.",
        ),
    ] = None
    skip: Annotated[
        list[str] | None,
        reading_option(
            "--skip",
            metavar="[FILE=]N",
            help="Lines before the table that are not read.",
        ),
    ] = None
    missing: Annotated[
        str,
        reading_option(
            "--missing",
            metavar="refuse|drop|impute|members",
            help="What is done with missing values of features: stop and say where they are; "
            "leave their rows out; put the median of the column (of words the most frequent one) "
            "in their place; or, in 'run' and 'generate', make each clustering on columns that "
            "many points have. How many there were is always said.",
        ),
    ] = "refuse"
    categories: Annotated[
        str,
        reading_option(
            "--categories",
            metavar="refuse|drop|one-hot|gower",
            help="What is done with features that are words: stop; leave them out (dates too); "
            "make one column of 0 and 1 for each word; or, in 'run' and 'generate', cluster by "
            f"Gower's distances, where every column weighs the same (up to {MOST_GOWER:,} rows).",
        ),
    ] = "refuse"
    transpose: Annotated[
        bool | None,
        reading_option(
            "--transpose/--no-transpose",
            help="The table of features has one column per point and one row per feature. A table "
            "for a run that exists is read as that of the run was, unless this says otherwise.",
        ),
    ] = None
    obsm: Annotated[
        list[str] | None,
        reading_option(
            "--obsm",
            metavar="[FILE=]KEY",
            help="Of an h5ad file, the matrix of obsm to read in place of X, such as X_pca.",
        ),
    ] = None
    layer: Annotated[
        list[str] | None,
        reading_option(
            "--layer",
            metavar="[FILE=]NAME",
            help="Of an h5ad file, the layer to read in place of X.",
        ),
    ] = None
    obs: Annotated[
        list[str] | None,
        reading_option(
            "--obs",
            metavar="NAMES",
            help="Of h5ad files, the columns of obs that are clusterings: names, or a pattern such "
            "as 'leiden_*'.",
        ),
    ] = None

    def arguments(self, file: str, files: Sequence[str] = ()) -> ReadArguments:
        """Return the arguments for one of the files that a command reads."""
        return {
            "id_column": self._one("id_column", file, files),
            "columns": (
                (self.obs if file.lower().endswith(".h5ad") else None)
                or self.given("columns", file)
                or self.given("columns", None, files)
                or None
            ),
            "exclude": (self.given("exclude", file) + self.given("exclude", None, files)) or None,
            "format": self._one("format", file, files),
            "delimiter": self._one("delimiter", file, files),
            "header": self._names(file, files),
            "encoding": self._one("encoding", file, files),
            "na": self.given("na", file) + self.given("na", None, [file, *files]),
            "sheet": self._one("sheet", file, files),
            "skip": self._lines(file, files),
        }

    def describe_arguments(self, file: str, files: Sequence[str] = ()) -> DescribeArguments:
        """Return the arguments of ``describe_table``."""
        return {
            **self.arguments(file, files),
            "decimal": self._one("decimal", file, files),
            "thousands": self._one("thousands", file, files),
            "obsm": self._one("obsm", file, files),
            "layer": self._one("layer", file, files),
        }

    def table_arguments(self, file: str, files: Sequence[str] = ()) -> TableArguments:
        """Return the arguments of ``read_table``."""
        if self.missing == "members":
            raise typer.BadParameter(
                "'members' is for 'run' and 'generate', which make clusterings on the columns that "
                "points have; say drop or impute here.",
                param_hint="--missing",
            )
        if self.categories == "gower":
            raise typer.BadParameter(
                "'gower' is for 'run' and 'generate', which can work on distances alone; say "
                "one-hot or drop here.",
                param_hint="--categories",
            )
        layout = self.describe_arguments(file, files)
        layout["columns"] = (
            self.given("columns", file) or self.given("columns", None, files) or None
        )
        return {
            **layout,
            "missing": choose("--missing", self.missing, MISSING),
            "categories": choose("--categories", self.categories, CATEGORIES),
            "transpose": bool(self.transpose),
        }

    def refuse(self, why: str, *names: str) -> None:
        """Refuse options of this group that would do nothing."""
        for name in names:
            if getattr(self, name) not in (None, "refuse"):
                raise typer.BadParameter(
                    f"{why}; leave it out.", param_hint="--" + name.replace("_", "-")
                )

    def kept(self) -> Reading:
        """Return how a table is read whose gaps and words are settled later."""
        missing = "impute" if self.missing == "members" else self.missing
        categories = "one-hot" if self.categories == "gower" else self.categories
        return replace(self, missing=missing, categories=categories)

    def recorded(self, file: str) -> dict[str, Any]:
        """Return the arguments for one table, as run.json has them."""
        own = {"missing": self.missing, "categories": self.categories}
        return {**self.kept().table_arguments(file), **own}

    def _names(self, file: str, files: Sequence[str]) -> bool | Literal["auto"]:
        """Return whether the first row of a file holds names; what is said of it alone decides."""
        for option, named in (
            ("--header-in", self.header_in),
            ("--no-header-in", self.no_header_in),
        ):
            for name in named or ():
                if name not in (file, *files):
                    raise typer.BadParameter(
                        f"{name} is not among the files that are read; name one as it stands in "
                        "the command.",
                        param_hint=option,
                    )
        if file in (self.header_in or ()):
            return True
        if file in (self.no_header_in or ()):
            return False
        return "auto" if self.header is None else self.header

    def _lines(self, file: str, files: Sequence[str]) -> int:
        text = self._one("skip", file, files) or "0"
        if not text.isdecimal():
            raise typer.BadParameter(f"{text!r} is not a number of lines.", param_hint="--skip")
        return int(text)

    def given(self, name: str, file: str | None, files: Sequence[str] = ()) -> list[str]:
        """Return the values of an option for ``file``, or those that are for all ``files``."""
        values: list[str] = getattr(self, name) or []
        if file is not None:
            return [v.removeprefix(f"{file}=") for v in values if v.startswith(f"{file}=")]
        return [v for v in values if not any(v.startswith(f"{one}=") for one in files)]

    def _one(self, name: str, file: str, files: Sequence[str]) -> str | None:
        values = self.given(name, file) or self.given(name, None, [file, *files])
        if len(values) > 1:
            option = "--" + name.replace("_", "-")
            raise typer.BadParameter(
                f"{' and '.join(map(repr, values))} are given for {file}; give one.",
                param_hint=option,
            )
        return values[0] if values else None


# ---- the work -------------------------------------------------------------------------------


def _enough_references(value: int) -> int:
    if value in (1, 2):
        raise typer.BadParameter(f"{value} are too few for a test; give 0 (no test) or 3 and more.")
    return value


def _some_workers(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("0 workers do nothing; give 1 or more, or -1 for all cores.")
    return value


SCALES = ("auto", "mixed", "standard", "robust", "minmax", "none")
Scale = Annotated[
    str,
    work_option(
        "--scale",
        metavar="|".join(SCALES),
        help="standard: every column to mean 0 and standard deviation 1; robust: to median 0 and "
        "interquartile range 1, for columns with outliers; minmax: to 0 to 1; mixed: standard, but "
        "columns of two values to 0 and 0.71, so that rare words do not decide; auto: mixed "
        "with --categories one-hot, standard for other dense tables, none for sparse ones and "
        "with --algorithm nmf.",
    ),
]


@dataclass(frozen=True)
class Preparing:
    """What is done to the features before they are scaled, and after."""

    log: Annotated[
        bool,
        work_option(
            "--log",
            help="Take logarithms first, log(1 + x): for counts and amounts.",
        ),
    ] = False
    top_variable: Annotated[
        int | None,
        work_option(
            "--top-variable",
            metavar="N",
            min=1,
            help="Keep the N columns of largest variance, before scaling (after --log).",
        ),
    ] = None
    pca: Annotated[
        int | None,
        work_option(
            "--pca",
            metavar="N",
            min=1,
            help="Cluster on the first N principal components, after scaling.",
        ),
    ] = None


Clusters = Annotated[
    int | None,
    work_option(
        "--clusters",
        "-k",
        metavar="K",
        min=1,
        help="Number of clusters; chosen when not given.",
    ),
]


def number_or_range(text: str) -> int | str | tuple[int, int]:
    """Read a number of clusters: a number, a range such as 2-8, or "auto"."""
    parts = [part.strip() for part in text.split("-")]
    if text.strip() == "auto":
        return "auto"
    if all(part.isdecimal() for part in parts) and len(parts) in (1, 2):
        least, most = int(parts[0]), int(parts[-1])
        if len(parts) == 1 and least >= 1:
            return least
        if len(parts) == 2 and 1 <= least <= most and most >= 2:
            return (least, most)
    raise typer.BadParameter(f"{text!r} is not a number, a range such as 2-8, or auto.")


def numbers(text: str) -> list[int]:
    """Read numbers of clusters to be taken each: a number, or a range such as 2-4."""
    found = number_or_range(text)
    if isinstance(found, str):
        raise typer.BadParameter(f"{text!r} is not a number or a range such as 2-4.")
    return [found] if isinstance(found, int) else list(range(found[0], found[1] + 1))


ClustersOrRange = Annotated[
    Any,
    work_option(
        "--clusters",
        "-k",
        metavar="K",
        parser=number_or_range,
        help="Number of clusters: 3, a range such as 2-8 to choose from, or auto (the same as "
        "leaving it out), which goes on from 2 as far as there seem to be more.",
    ),
]
Partitions = Annotated[
    int,
    work_option(
        "--partitions",
        "-r",
        metavar="R",
        min=1,
        help="Number of clusterings to make.",
    ),
]
Generator = Annotated[
    str | None,
    work_option(
        "--generator",
        metavar="NAME",
        autocompletion=names_of("generator"),
        help="How the clusterings are made to differ: diverse (several kinds of clusterers; the "
        "default), random_k (k-means alone; the default with --algorithm), random_features, "
        "restarts, bagging, ... ('clusterscape info --list generators').",
    ),
]
Algorithm = Annotated[
    str | None,
    work_option(
        "--algorithm",
        metavar="NAME",
        autocompletion=names_of("algorithm"),
        help="Base clusterer, for generators that take one: kmeans, cosine (for text), ward, "
        "hdbscan, ... or a class of scikit-learn such as Birch ('clusterscape info --list "
        "algorithms').",
    ),
]
Consensus = Annotated[
    str,
    work_option(
        "--consensus",
        "--method",
        metavar="NAME",
        autocompletion=names_of("consensus"),
        help="How the clusterings are combined: auto (chosen by the ensemble's size), sec, eac, "
        "spectral, ... ('clusterscape info --list methods').",
    ),
]
References = Annotated[
    int,
    work_option(
        "--references",
        metavar="N",
        min=0,
        callback=_enough_references,
        help="Number of datasets without clusters that the data are tested against, 3 or more; 0 "
        "skips the test.",
    ),
]
Seed = Annotated[
    int,
    work_option(
        "--seed",
        metavar="N",
        min=0,
        help="Seed of the random numbers: the same seed gives the same files, for any number of "
        "workers.",
    ),
]
Jobs = Annotated[
    int,
    work_option(
        "--jobs",
        "-j",
        metavar="N",
        callback=_some_workers,
        help="Number of workers; -1 for all cores.",
    ),
]


def chosen_generator(given: str | None, algorithm: str | None) -> str:
    """Return the generator; names that are not known are refused before any work."""
    from clusterscape.generate import ALGORITHMS, CLUSTERERS, PRESETS

    generator = given or ("diverse" if algorithm is None else "random_k")
    choose("--generator", generator, list(PRESETS))
    if algorithm is None:
        return generator
    choose("--algorithm", algorithm, [*ALGORITHMS, *CLUSTERERS])
    if generator in ("mixed", "diverse", "usenc", "random_projection"):
        raise typer.BadParameter(
            f"{generator} chooses its own base clusterers; leave --algorithm out.",
            param_hint="--algorithm",
        )
    return generator


def checked_consensus(consensus: str, clusters: Any) -> str:
    """Return the name of a method, which may be spelled as its class in Python is.

    Unknown methods, clusters for a method that takes none, and missing packages are refused.
    """
    from clusterscape.combine import METHODS
    from clusterscape.ensemble import Ensemble

    spelled = {m.estimator.__name__.lower(): name for name, m in METHODS.items()}
    consensus = spelled.get(consensus.lower(), consensus)
    choose("--consensus", consensus, ["auto", *METHODS])
    if consensus == "auto":
        return consensus
    method = METHODS[consensus]
    if clusters not in (None, "auto") and not method.takes_k:
        raise typer.BadParameter(
            f"{consensus} finds the number of clusters itself; leave --clusters out.",
            param_hint="--clusters",
        )
    if method.extra:
        # The method itself knows which packages it imports: four points are enough to find out
        # whether they are there, before the work rather than after it.
        method.estimator(n_clusters=2).fit(Ensemble.from_labels([[0, 0, 1, 1], [0, 1, 1, 0]]))
    return consensus


# ---- distances in space ---------------------------------------------------------------------

# Other kernels are functions or matrices, which a command line cannot name.
_KERNELS = ("gaussian", "laplacian", "cauchy", "discrete")


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


@dataclass(frozen=True)
class Spatial:
    """Options of the measures that use the points' features."""

    kernel: Annotated[
        str | None,
        space_option(
            "--kernel",
            metavar="|".join(_KERNELS),
            help="How similar two points are as their distance grows; gaussian when not given. "
            "discrete: a point is similar to itself alone, and no features are needed.",
        ),
    ] = None
    bandwidth: Annotated[
        str | None,
        space_option(
            "--bandwidth",
            metavar="median|H",
            callback=_bandwidth,
            help="Distance over which points count as similar, in the units of the scaled table; "
            "the median distance between points when not given.",
        ),
    ] = None
    components: Annotated[
        str | None,
        space_option(
            "--components",
            metavar="auto|exact|N",
            callback=_components,
            help="Number of random features that approximate the kernel, an even number; exact: "
            "no approximation; auto (when not given): exact up to 3,000 points.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return those that were given, as arguments of the library."""
        found: dict[str, Any] = {}
        if self.kernel is not None:
            found["kernel"] = choose("--kernel", self.kernel, _KERNELS)
        if self.bandwidth is not None:
            found["bandwidth"] = (
                self.bandwidth if self.bandwidth == "median" else float(self.bandwidth)
            )
        if self.components is not None:
            words = {"auto": "auto", "exact": None}
            text = self.components
            found["n_components"] = words[text] if text in words else int(text)
        return found

    def check(self, measures: Sequence[Measure], features: str | None) -> None:
        """Refuse options that no measure takes, missing features, and features without a use."""
        from clusterscape.compare import MEASURES

        given = self.given()
        for name in given:
            if not any(name in measure.option_names() for measure in measures):
                able = [m.name for m in MEASURES.values() if name in m.option_names()]
                raise typer.BadParameter(
                    f"{_listed(measures)} no such option; leave it out, or choose one of "
                    f"{', '.join(able)}.",
                    param_hint="--" + name.removeprefix("n_"),
                )
        discrete = given.get("kernel") == "discrete"
        using = [
            m
            for m in measures
            if m.needs_features and not (discrete and "kernel" in m.option_names())
        ]
        if using and features is None:
            raise typer.BadParameter(
                f"{using[0].name} depends on where the points lie, which labels do not say; give "
                "the table of their features.",
                param_hint="--features",
            )
        if features is not None and not using:
            if any(m.needs_features for m in measures):
                why = "the discrete kernel does not use features"
            else:
                able = [m.name for m in MEASURES.values() if m.needs_features]
                why = f"{measures[0].name} does not use features ({', '.join(able)} do)"
            raise typer.BadParameter(f"{why}; leave them out.", param_hint="--features")


def _listed(measures: Sequence[Measure]) -> str:
    names = [m.name for m in measures]
    return f"{names[0]} has" if len(names) == 1 else f"{', '.join(names)} have"


# ---- output ---------------------------------------------------------------------------------

Folder = Annotated[
    Path,
    output_option("--output", "-o", metavar="DIR", help="Folder for the results."),
]
Choices = Annotated[
    Path | None,
    reading_option(
        "--choices",
        metavar="FILE",
        help="What was chosen in 'clusterscape explore' (choices.json).",
    ),
]
WriteH5ad = Annotated[
    Path | None,
    output_option(
        "--write-h5ad",
        metavar="FILE",
        help="Write a copy of the h5ad file that was read, with the clusters, their confidence, "
        "memberships, colours and parameters in it.",
    ),
]
OutputFile = Annotated[
    Path | None,
    output_option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write; stdout when not given.",
    ),
]
Force = Annotated[
    bool,
    output_option(
        "--force",
        help="Replace files of the same names that were not written by clusterscape.",
    ),
]
ForceFile = Annotated[
    bool,
    output_option(
        "--force",
        help="Replace a file that exists already; never one that is read or belongs to a run.",
    ),
]
Json = Annotated[bool, output_option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, output_option("--debug", help="Show the traceback of an error.")]


@dataclass(frozen=True)
class Printing:
    """What a verb prints besides its result."""

    json: Json = False
    quiet: Annotated[
        bool,
        output_option("--quiet", "-q", help="No messages and no progress."),
    ] = False
    debug: Debug = False
