"""roofctl: profile GPU applications, measure real ceilings, draw rooflines that are true.

::

    import roofctl

    report = roofctl.analyse("capture.csv")
    report.kernels[["short_name", "seconds", "limit", "limit_use", "headroom_seconds"]]
    report.plot()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roofctl.api import Report, analyse, ceilings, check, compare, read
    from roofctl.core.errors import InputError, RoofctlError
    from roofctl.roofline.model import Roofline

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "Report",
    "RoofctlError",
    "Roofline",
    "__version__",
    "analyse",
    "ceilings",
    "check",
    "compare",
    "read",
]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are used: the command line must start without pandas."""
    homes = {"InputError": "core.errors", "RoofctlError": "core.errors", "Roofline": "roofline.model"}
    if name not in __all__:
        raise AttributeError(f"module 'roofctl' has no attribute {name!r}")
    return getattr(import_module(f"roofctl.{homes.get(name, 'api')}"), name)
