"""Tables in and out: CSV, TSV, Parquet, NPZ, NPY, LIBSVM and h5ad; nothing is ever unpickled."""

from __future__ import annotations

from clusterscape.io._columns import Table
from clusterscape.io._describe import ColumnSummary, Suspicion, TableSummary, suspicious_columns
from clusterscape.io._errors import TableError, UnknownColumn
from clusterscape.io._label_columns import LabelTable
from clusterscape.io._matrices import is_ensemble_file
from clusterscape.io._source import FORMATS
from clusterscape.io.results import labels_frame, write_json, write_labels
from clusterscape.io.tables import describe_table, read_label_table, read_labels, read_table

__all__ = [
    "FORMATS",
    "ColumnSummary",
    "LabelTable",
    "Suspicion",
    "Table",
    "TableError",
    "TableSummary",
    "UnknownColumn",
    "describe_table",
    "is_ensemble_file",
    "labels_frame",
    "read_label_table",
    "read_labels",
    "read_table",
    "suspicious_columns",
    "write_json",
    "write_labels",
]
