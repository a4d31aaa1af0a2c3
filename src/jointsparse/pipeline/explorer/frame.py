"""Pages of HTML that open from disk, and the page that lists all others.

Every text is escaped where it enters a page. A page runs no other script than its own, which its policy names by hash,
so that nothing in a caption or file name can run or load. Characters that reorder letters are shown as their numbers.
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

from jointsparse.pipeline.figures.style import PALETTE

# Characters that would end a script of data, or in old browsers a line of it.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Characters that change the order of letters, also beyond the text that they stand in.
_ORDERS = {place: f"\\u{place:04x}" for place in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_ORDERS_IN_JSON = {place: f"\\{shown}" for place, shown in _ORDERS.items()}


def index(found: Sequence[Mapping[str, Any]]) -> str:
    """Make the list of pages. found: the findings of each page, see `page.Page`."""
    demonstrations = [card for card in found if card["demonstration"]]
    own = [card for card in found if not card["demonstration"]]
    return render("index.html.jinja", own=own, demonstrations=demonstrations, data=None)


def render(template: str, *, data: Any, **values: Any) -> str:
    """Make a page of a template, with the style, the script and the data of the script inside.

    Parameters
    ----------
    template : str
        Name of a file of this folder.
    data : object
        What the script reads, as JSON.
    **values : Any
        What the template reads.
    """
    folder = files("jointsparse.pipeline.explorer")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("explorer.css", "explorer.js"))
    light, dark = ("".join(f"--{name}: {colours[scheme]}; " for name, colours in PALETTE.items()) for scheme in (0, 1))
    style += f":root {{ {light}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"
    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    # The script compares this text with names in its data.
    environment.filters["urlencode"] = lambda text: quote(text.translate(_ORDERS))
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=np.generic.item)
    page = environment.get_template(template).render(
        values,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=markupsafe.Markup(text.translate(_ESCAPED | _ORDERS_IN_JSON)),
    )
    return page.translate(_ORDERS)
