"""Pages of HTML that open from disk, and the one that lists the others.

Every text is escaped where it enters a page. The only script is the page's own, which its policy names by its hash, so
that nothing from a caption or file name can run or load. Signs that reorder letters are shown as numbers.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import jinja2
import markupsafe
import numpy as np

# Signs that would end a script of data, or a line of it in old browsers.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Signs that begin or end an order of letters, which hold beyond the text that they stand in.
_ORDERS = {place: f"\\u{place:04x}" for place in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_ORDERS_IN_JSON = {place: f"\\{shown}" for place, shown in _ORDERS.items()}


def index(found: Sequence[Mapping[str, Any]]) -> str:
    """Make the list of pages. found: the dataset, sentence and note of each (see `page.Page`)."""
    return render("index.html.jinja", pages=found, data=None)


def render(template: str, *, data: Any, **values: Any) -> str:
    """Make a page of a template, with the style, the script and its data inside.

    template: a file of this folder. data: for the script, as JSON. values: for the template.
    """
    folder = files("jointsparse.pipeline.explorer")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("explorer.css", "explorer.js"))
    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["urlencode"] = lambda text: quote(text.translate(_ORDERS))  # as the script finds it in the data
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=np.generic.item)
    page = environment.get_template(template).render(
        values,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=markupsafe.Markup(text.translate(_ESCAPED | _ORDERS_IN_JSON)),
    )
    return page.translate(_ORDERS)
