"""How Sphinx builds these pages: ``sphinx-build -W --keep-going -n docs build/docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tablut

project = "Tablut state-space toolkit"
author = "The Tablut state-space toolkit developers"
copyright = "2026, " + author  # noqa: A001
version = release = tablut.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "docs.building.generated",
    "docs.building.mathml",
    "reports.site.site_builder",
]
exclude_patterns = ["building", "paper", "search.md"]
templates_path: list[str] = []
nitpicky = True
# In docstrings a name in single backquotes is a link if it is described somewhere, and code if not.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", r".*")]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"Tablut {version}"
html_static_path = ["static"]
html_css_files = ["tablut.css"]
html_search_scorer = str(Path(__file__).with_name("static") / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # the excerpts need a server, but the search itself works from a file
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
