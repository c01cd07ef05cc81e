"""A page: one HTML file that opens without a network, with the report, a roofline to explore, and a table.

Everything that comes from a capture stands in one block of JSON in which no ``<`` is left, and the scripts of the page
write it as text only: names of kernels come from files that anybody may have written. A content security policy allows
only the scripts whose hashes it lists, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.files import atomic_path
from roofctl.core.kernel_names import json_safe
from roofctl.output.html_data import PageOptions, page_data
from roofctl.study.variants import Variants

_FILES: Final = Path(__file__).parent / "html_files"
SCRIPTS: Final = ("format.js", "model.js", "figure.js", "labels.js", "chart.js", "table.js", "details.js", "page.js")
"""The page's own scripts in the order in which they are joined to one."""

_INSTALL: Final = "pip install 'roofctl[html]'"


def write_page(
    path: Path, captures: Sequence[Variants], options: PageOptions | None = None, before: Variants | None = None
) -> None:
    """Write the page of some captures, compared with ``before``; the write is atomic.

    Raises InputError where it cannot be written.
    """
    text = page(captures, options, before)
    try:
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(
            f"{path}: cannot write the page: {error.strerror or error}", hint="choose another name"
        ) from error


def page(captures: Sequence[Variants], options: PageOptions | None = None, before: Variants | None = None) -> str:
    """The page of some captures as text. Raises InputError where plotly is not installed."""
    plotly = plotly_script()
    own = "\n".join(["'use strict';", *((_FILES / name).read_text(encoding="utf-8") for name in SCRIPTS)])
    parts = {
        "style": (_FILES / "page.css").read_text(encoding="utf-8"),
        "data": to_script(page_data(captures, options, before)),
        "plotly": plotly,
        "script": own,
        "hashes": " ".join(f"'sha256-{_digest(script)}'" for script in (plotly, own)),
    }
    template = (_FILES / "page.html").read_text(encoding="utf-8")
    # In one pass over the template, so that what is put in is not searched again.
    head, *rest = template.split("{{")
    return head + "".join(parts[name] + tail for name, _, tail in (piece.partition("}}") for piece in rest))


def to_script(data: object) -> str:
    r"""JSON that ends no script element and begins no comment: ``<`` as ``\u003c``. Raises ValueError for NaN."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return json_safe(text).replace("<", "\\u003c")


def check_plotly() -> None:
    """Raise InputError where plotly, which pages need, is not installed."""
    _plotly_file()


def plotly_script() -> str:
    """The text of plotly.js, which the Python package plotly carries. Raises InputError where it is not installed."""
    return _plotly_file().read_text(encoding="utf-8")


def _plotly_file() -> Path:
    spec = find_spec("plotly")
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js" if spec and spec.origin else None
    if path is None or not path.is_file():
        raise InputError("a page needs plotly, which is not installed", hint=_INSTALL)
    return path


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
