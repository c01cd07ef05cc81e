"""Mangled names as the language spells them: C++ (Itanium), Rust, SYCL's typeinfo names, OpenMP's target regions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Final

_LANGUAGES: Final = ("itanium", "rust")
_MANGLED: Final = re.compile(r"_{1,2}Z[\w$]+|_R[NIMXYC]\w+")
_CLONE: Final = re.compile(r"(?P<name>[^.]*)\.(?P<suffix>[\w.]+)$")
# SYCL compilers of 2020 wrote line and column of a lambda where others count it; no standard knows the column.
_COLUMN: Final = re.compile(r"(?<=E)(?P<line>\d+_)\d+(?=cl|E|$)")
_RUST_HASH: Final = re.compile(r"17h(?P<hash>[0-9a-f]{16})E$")
_TYPE_NAME: Final = "typeinfo name for "
_REGION: Final = re.compile(
    r"(?P<head>__omp_offloading_[0-9a-f]+_[0-9a-f]+|nvkernel)_(?P<function>_Z\w+?)(?P<line>_l\d+(?:_debug__)?|_F\d+L\d+_\d+)"
)
"""Target regions of OpenMP, and those of nvc, which have the mangled name of their function inside."""
_NVC_REGION: Final = re.compile(r"(?P<function>_Z\w+?)_(?P<line>\d+)_gpu(?P<rest>__red)?")


@cache
def _demangler() -> Callable[..., str]:
    """The demangler; without it, below Python 3.11, names stay as they are."""
    try:
        from demangle import demangle  # noqa: PLC0415 - few inputs have mangled names
    except ImportError:
        return lambda mangled, **_: mangled
    return demangle


@lru_cache(maxsize=2**15)
def demangled(name: str) -> str:
    """``ns::f(int)`` for ``_ZN2ns1fEi``; a name that is not mangled, or cannot be read, as it is.

    What is not part of the function's name, such as a hash of Rust or the line of a target region of OpenMP, stands
    in brackets behind it. Output is bounded: names are untrusted.
    """
    if region := _REGION.fullmatch(name):
        return f"{demangled(region['function'])} [{region['head']}{region['line']}]"
    if region := _NVC_REGION.fullmatch(name):
        return f"{demangled(region['function'])} [gpu_l{region['line']}{region['rest'] or ''}]"
    if not name.startswith(("_Z", "__Z", "_R")):
        return name
    clone = _CLONE.fullmatch(name)
    symbol = clone["name"] if clone else name
    if not _MANGLED.fullmatch(symbol):
        return name
    symbol = symbol.removeprefix("_") if symbol.startswith("__Z") else symbol
    for spelling in dict.fromkeys((symbol, _COLUMN.sub(r"\g<line>", symbol))):
        text = _demangler()(spelling, language=_LANGUAGES)
        if text != spelling:
            unique = _RUST_HASH.search(symbol)
            text = text.removeprefix(_TYPE_NAME) + (f" [h{unique['hash']}]" if unique else "")
            return text + (f" [clone .{clone['suffix']}]" if clone else "")
    return name


def demangled_names(names: Iterable[str]) -> dict[str, str]:
    """Each name that is mangled with its demangled form; names that would become equal keep their mangled one."""
    forms = {name: text for name in names if (text := demangled(name)) != name}
    users: dict[str, int] = {}
    for text in forms.values():
        users[text] = users.get(text, 0) + 1
    return {name: text if users[text] == 1 else f"{text} [{name}]" for name, text in forms.items()}
