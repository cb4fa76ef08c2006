"""Options that several verbs share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import typer

_READING = "Reading the table"
_WORK = "The work"
_OUT = "Output"


def _enough_references(value: int) -> int:
    if value in (1, 2):
        raise typer.BadParameter(f"{value} are too few for a test; give 0 (no test) or 3 and more.")
    return value


def _some_workers(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("0 workers do nothing; give 1 or more, or -1 for all cores.")
    return value


Data = Annotated[
    str,
    typer.Argument(
        help="Table with one row a point: CSV, TSV (also .gz), Parquet, NPZ, NPY, LIBSVM or h5ad; "
        "'-' reads CSV from stdin.",
        show_default=False,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id-column",
        metavar="NAME",
        help="Column that names the points. Without it a column called 'id', a first column "
        "without a name, or a first column of text that differs in every row is taken, and said.",
        rich_help_panel=_READING,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Use only these columns (commas between names, or give the option again).",
        rich_help_panel=_READING,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="NAMES", help="Leave these columns out.", rich_help_panel=_READING
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="NAME",
        help="Column of known classes: not used for clustering, compared with the result.",
        rich_help_panel=_READING,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, parquet, npz, npy, libsvm or h5ad, where the name does not tell.",
        rich_help_panel=_READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="MARK",
        help="What separates the fields of a CSV file; 'tab' is understood.",
        rich_help_panel=_READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row holds column names; found out where it is plain.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="auto|standard|none",
        help="standard: every column to mean 0 and deviation 1; auto: standard for dense tables, "
        "none for sparse ones.",
        rich_help_panel=_WORK,
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        "-k",
        metavar="K",
        min=1,
        help="Number of clusters; found by the eigengap of the co-association when not given.",
        show_default=False,
        rich_help_panel=_WORK,
    ),
]
Partitions = Annotated[
    int,
    typer.Option(
        "--partitions",
        "-r",
        metavar="R",
        min=1,
        help="Clusterings to make.",
        rich_help_panel=_WORK,
    ),
]
Generator = Annotated[
    str,
    typer.Option(
        "--generator",
        metavar="NAME",
        help="How they differ: random_k, random_features, restarts, bagging, ... "
        "('clusterscape info --list generators').",
        rich_help_panel=_WORK,
    ),
]
Algorithm = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="NAME",
        help="Base clusterer where the generator takes one: kmeans, cosine (for text), ward, ... "
        "('clusterscape info --list algorithms').",
        show_default=False,
        rich_help_panel=_WORK,
    ),
]
Consensus = Annotated[
    str,
    typer.Option(
        "--consensus",
        "--method",
        metavar="NAME",
        help="How they are combined: auto (chosen by the ensemble's size), sec, eac, spectral, ... "
        "('clusterscape info --list methods').",
        rich_help_panel=_WORK,
    ),
]
References = Annotated[
    int,
    typer.Option(
        "--references",
        metavar="N",
        min=0,
        callback=_enough_references,
        help="Datasets without clusters that the data are tested against, 3 or more; 0 skips the "
        "test.",
        rich_help_panel=_WORK,
    ),
]
Vectors = Annotated[
    int,
    typer.Option(
        "--vectors",
        "-r",
        metavar="R",
        min=1,
        help="Clustering vectors to grow.",
        rich_help_panel=_WORK,
    ),
]
Competitors = Annotated[
    int,
    typer.Option(
        "--competitors",
        metavar="Q",
        min=1,
        help="Draws of columns that compete to start a vector; many where most columns are noise.",
        rich_help_panel=_WORK,
    ),
]
Patience = Annotated[
    int,
    typer.Option(
        "--patience",
        metavar="N",
        min=1,
        help="A vector is finished after this many draws in a row that did not help.",
        rich_help_panel=_WORK,
    ),
]
BaseClusters = Annotated[
    int | None,
    typer.Option(
        "--base-clusters",
        metavar="N",
        min=2,
        help="Clusters of each vector; as many as --clusters when not given.",
        show_default=False,
        rich_help_panel=_WORK,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        help="The same seed gives the same files, for any number of workers.",
        rich_help_panel=_WORK,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        callback=_some_workers,
        help="Workers; -1 for all cores.",
        rich_help_panel=_WORK,
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Folder for the results.", rich_help_panel=_OUT
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write; stdout when not given.",
        show_default=False,
        rich_help_panel=_OUT,
    ),
]
Importances = Annotated[
    Path | None,
    typer.Option(
        "--importances",
        metavar="FILE",
        help="CSV file for the share of the vectors that use each column, and its importance.",
        show_default=False,
        rich_help_panel=_OUT,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files of the same names that were not written by clusterscape.",
        rich_help_panel=_OUT,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=_OUT)
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No messages and no progress.", rich_help_panel=_OUT),
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_OUT)
]


class Reading(TypedDict, total=False):
    """How a table is read: the keyword arguments of ``read_table`` and ``read_labels``."""

    id_column: str | None
    columns: list[str] | None
    exclude: list[str] | None
    format: str | None
    delimiter: str | None
    header: bool | Literal["auto"]


def reading(
    *,
    id_column: str | None,
    columns: list[str] | None,
    exclude: list[str] | None,
    format: str | None,
    delimiter: str | None,
    header: bool | None,
) -> Reading:
    """Gather the options on reading; an option that was not given is not among them."""
    given: dict[str, Any] = {
        "id_column": id_column,
        "columns": columns or None,
        "exclude": exclude or None,
        "format": format,
        "delimiter": delimiter,
        "header": "auto" if header is None else header,
    }
    return Reading(**given)  # type: ignore[typeddict-item]
