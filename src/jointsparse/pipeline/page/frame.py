"""HTML pages that can be opened from disk.

All strings are escaped when they are inserted into a page. The security policy of a page allows only the page's own
script, which it identifies by its hash, so that nothing in a caption or file name can be run or loaded. Unicode
characters that change the direction of the text are shown as their code points.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import jinja2
import markupsafe
import numpy as np

from jointsparse.pipeline.figures.style import PALETTE

# Characters that would end the script element that holds the data, or, in old browsers, end a line in it.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Unicode characters that change the direction of the text, even after the string that contains them.
_ORDERS = {place: f"\\u{place:04x}" for place in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_ORDERS_IN_JSON = {place: f"\\{shown}" for place, shown in _ORDERS.items()}


def moved(text: str) -> bool:
    """Whether a text has characters that change its direction, in whose place a page shows their code points."""
    return text.translate(_ORDERS) != text


def render(template: str, *, data: Any, script: str = "page.js", **values: Any) -> str:
    """Return an HTML page made from a template, with the style sheet, the script and the script's data embedded.

    Parameters
    ----------
    template : str
        Name of a file in this folder.
    data : object
        The data that the script reads. They are embedded as JSON.
    script : str
        Name of the script, a file in this folder.
    **values : Any
        The values that the template reads.
    """
    folder = files("jointsparse.pipeline.page")
    style, code = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", script))
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
        script=markupsafe.Markup(code),
        digest=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
        data=markupsafe.Markup(text.translate(_ESCAPED | _ORDERS_IN_JSON)),
    )
    return page.translate(_ORDERS)
