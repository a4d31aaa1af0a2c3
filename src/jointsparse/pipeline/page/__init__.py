"""The page with which a run ends: which words its model recognises, on which pictures, and which features they share.

`model.page` makes the page of a saved model, `annotated.write` that of annotated pictures, and `index.index` the list
of all datasets and studies of a run. `words` and `weights` gather the data that the script of the page draws.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "jinja2", "pandas", "PIL")
