"""Documents as JSON."""

from __future__ import annotations

import json
from typing import Any

from roofctl.core.kernel_names import json_safe


def to_json(document: Any) -> str:
    """The document, indented; characters that steer a terminal in JSON's own escapes. Raises ValueError for NaN."""
    return json_safe(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
