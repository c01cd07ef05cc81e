"""YAML by the parser in C, which takes a tenth of the time; a PyYAML built without it has only the other."""

from __future__ import annotations

from typing import Any, Final

import yaml

LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str) -> Any:
    """The document in ``text``. Raises yaml.YAMLError."""
    return yaml.load(text, LOADER)  # noqa: S506 - both are safe
