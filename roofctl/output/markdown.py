"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roofctl.core.kernel_names import visible


def to_markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table. ``>`` before a heading aligns its column right."""
    lines = [
        [heading.lstrip(">~") for heading in headings],
        ["---:" if heading.startswith(">") else "---" for heading in headings],
        *([visible(cell).replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def code_span(name: str) -> str:
    """A name as code. Backticks, which would end the span, become spaces."""
    return f"`{name.replace('`', ' ')}`"
