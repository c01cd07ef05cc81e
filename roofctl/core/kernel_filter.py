"""Filters of kernels by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import name_parts
from roofctl.core.mangling import demangled

PREFIX: Final = "regex:"
"""How ncu's own --kernel-name marks a regular expression."""


def pattern_of(text: str) -> str:
    """A filter as a regular expression: without ncu's ``regex:``; of a mangled name the demangled one, as it is."""
    plain = text.removeprefix(PREFIX)
    return re.escape(name) if (name := demangled(plain)) != plain else plain


@dataclass(frozen=True)
class NameFilter:
    """Which kernels to keep, by regular expressions that are searched; empty ones filter nothing.

    ``kernel`` is for any part of the demangled name, or of the short name that is printed for it. ``kernel_base`` is
    for the function's base name, as in ncu by default. ``exclude`` drops kernels: by any part of the name or, beside
    ``kernel_base``, by the base name.
    """

    kernel: str = ""
    kernel_base: str = ""
    exclude: str = ""

    def given(self) -> str:
        """The filters as options of the command line; empty where there are none."""
        options = {"--kernel": self.kernel, "--kernel-base": self.kernel_base, "--exclude": self.exclude}
        return " ".join(f"{option} {pattern!r}" for option, pattern in options.items() if pattern)

    def keeps(self, kernel: str, shown: str = "") -> bool:
        """Whether the kernel of this demangled name, printed as ``shown``, is kept."""
        full = [kernel, shown]
        if not (self.kernel_base or self.exclude):
            return _matches(self.kernel, full)
        parts = name_parts(kernel)
        # A kernel of CUTLASS also goes by the name of the function that launches it, as in ncu's own filter.
        bases = [parts.base, *([parts.function] if parts.function else [])]
        dropped = bool(self.exclude) and _matches(self.exclude, bases if self.kernel_base else full)
        return _matches(self.kernel, full) and _matches(self.kernel_base, bases) and not dropped

    def check(self) -> None:
        """Raise InputError when a filter is no regular expression."""
        for option, text in (("kernel", self.kernel), ("kernel-base", self.kernel_base), ("exclude", self.exclude)):
            try:
                re.compile(pattern_of(text))
            except re.error as error:
                raise InputError(
                    f"--{option} {text!r} is not a regular expression: {error}",
                    hint="put a backslash before ( ) [ ] * + ? to match them as they are",
                ) from error


def _matches(pattern: str, names: list[str]) -> bool:
    return not pattern or any(re.search(pattern_of(pattern), name) for name in names)
