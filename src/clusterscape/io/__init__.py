"""Tables in and out: CSV, TSV, Parquet, NPZ, NPY, LIBSVM and h5ad; nothing is ever unpickled."""

from __future__ import annotations

from clusterscape.io._columns import Table
from clusterscape.io._errors import TableError
from clusterscape.io._matrices import is_ensemble_file
from clusterscape.io._source import FORMATS
from clusterscape.io.results import labels_frame, write_json, write_labels
from clusterscape.io.tables import read_labels, read_table

__all__ = [
    "FORMATS",
    "Table",
    "TableError",
    "is_ensemble_file",
    "labels_frame",
    "read_labels",
    "read_table",
    "write_json",
    "write_labels",
]
