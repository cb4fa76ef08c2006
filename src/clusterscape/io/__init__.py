"""Tables, labels, results and models as files; nothing is ever pickled or unpickled."""

from __future__ import annotations

from clusterscape.io._archive import ModelFileError, is_model_file
from clusterscape.io._columns import Table
from clusterscape.io._describe import ColumnSummary, Suspicion, TableSummary, suspicious_columns
from clusterscape.io._errors import TableError, UnknownColumn
from clusterscape.io._label_columns import LabelTable
from clusterscape.io._matrices import is_ensemble_file
from clusterscape.io._source import FORMATS
from clusterscape.io.blocks import open_rows
from clusterscape.io.models import load_model, save_model, versions
from clusterscape.io.results import (
    Results,
    check_results_folder,
    labels_frame,
    load_results,
    save_results,
    write_json,
    write_labels,
)
from clusterscape.io.tables import (
    describe_table,
    read_label_table,
    read_labels,
    read_table,
    read_text,
)

__all__ = [
    "FORMATS",
    "ColumnSummary",
    "LabelTable",
    "ModelFileError",
    "Results",
    "Suspicion",
    "Table",
    "TableError",
    "TableSummary",
    "UnknownColumn",
    "check_results_folder",
    "describe_table",
    "is_ensemble_file",
    "is_model_file",
    "labels_frame",
    "load_model",
    "load_results",
    "open_rows",
    "read_label_table",
    "read_labels",
    "read_table",
    "read_text",
    "save_model",
    "save_results",
    "suspicious_columns",
    "versions",
    "write_json",
    "write_labels",
]
