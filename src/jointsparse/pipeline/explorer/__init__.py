"""The page with which a run ends: which words are recognised, on which pictures, and which features they share.

The page only shows what earlier stages have computed. `page.page` makes the page of a dataset, and `frame.index` makes
the list of all pages of a run. `words` and `sharing` gather the data that the page's script draws.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "jinja2", "pandas", "PIL")
