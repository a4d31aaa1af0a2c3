"""Settings of the site, which `make docs` builds into docs/_build/html without a network."""

import os
import sys
from importlib.metadata import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import site_benchmarks
import site_pages
import site_settings

from jointsparse import __version__

project = author = "jointsparse"
project_copyright = "The jointsparse developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "site_links",
]
exclude_patterns = ["_build", "package.md", "examples", "results/tables"]
nitpicky = False
suppress_warnings = ["myst.header"]  # sections of the demonstrations begin at the third level

# Markdown
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"  # of site_links; browsers draw MathML without a script

# Docstrings
autodoc_typehints = "none"
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
site_pages.write_api(Path(__file__).parent / "api")
site_benchmarks.write_benchmarks(Path(__file__).parent)
site_settings.write_settings(Path(__file__).parent)

# Links to other projects, which need a network: SITE_INTERSPHINX=1 make docs
intersphinx_mapping = {
    name: (url, None)
    for name, url in {
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
    }.items()
    if os.environ.get("SITE_INTERSPHINX")
}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "parallel": True,  # runs as many examples at once as --jobs says
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 60,
    "copyfile_regex": r".*\.csv",
}

html_theme = "pydata_sphinx_theme"
html_title = "jointsparse"
html_static_path = ["_static", "../src/jointsparse/pipeline/papers/claims.css"]
html_css_files = ["site.css", "claims.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["cite"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}
templates_path = ["_templates"]
urls = dict(url.split(", ", 1) for url in metadata("jointsparse").get_all("Project-URL") or [])
html_context = {"repository": urls.get("Repository", "")}
html_sidebars = {"index": [], "start": [], "questions": [], "changes": [], "papers/*-*": []}  # papers need the width
