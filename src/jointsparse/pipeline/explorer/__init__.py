"""The page that a run ends with: which words are recognised, on which pictures, and what words share.

It reads what stages have made, and trains and tests nothing. `page.page` makes the page of a dataset, `frame.index` the
list of the pages of a run. `words` and `sharing` gather the numbers that the page's script draws.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "jinja2", "pandas", "PIL")
