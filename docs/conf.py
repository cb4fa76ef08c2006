"""The documentation site: built offline, with every example run and warnings as errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import clusterscape

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["MPLBACKEND"] = "Agg"
# The examples show the bundled datasets, whatever folder of data there is.
os.environ.pop("CLUSTERSCAPE_DATA", None)

project = "clusterscape"
author = "the clusterscape developers"
copyright = "the clusterscape developers"
version = release = clusterscape.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "method_pages",
    "offline",
    "own_members",
    "registry_tables",
    "result_tables",
]
exclude_patterns = ["_build", "_templates", "auto_examples/*.ipynb", "auto_examples/*.py"]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The page of a subpackage lists what its __all__ names; each name gets a page of its own, and names
# that people import from the top have theirs there.
autosummary_generate = True
# Else it would be the file of clusterscape.Ensemble where names of files ignore case.
autosummary_filename_map = {"clusterscape.ensemble": "clusterscape.ensemble-package"}
autosummary_context = {"top": ["Ensemble", "PartitionRecord"]}
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 600,
    "capture_repr": (),
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "clusterscape"
html_math_renderer = "drawn"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sourcelink = False
html_copy_source = False
# These stand alone: a column for the pages of their section would be empty.
html_sidebars = {page: [] for page in ("index", "install", "quickstart", "changelog")}
html_theme_options = {
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
