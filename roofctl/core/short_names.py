"""Short names of kernels: the shortest that distinguishes each among all kernels of its captures."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, Literal

from roofctl.core.kernel_names import base_name, elide, name_parts
from roofctl.core.kernel_rules import names_by_rule
from roofctl.core.kernel_spelling import functor, plain_spelling, split_arguments, without_scopes

Names = Literal["short", "base", "full"]

WIDTH: Final = 48
"""Characters of a short name at most."""
_LONG: Final = 20
"""Of a template argument that is longer, only the arguments of its own that differ are printed."""
_DEEPEST: Final = 6
"""Levels of template arguments that are compared."""
_HASH_BYTES: Final = 2


def short_names(kernels: Iterable[str], width: int = WIDTH) -> dict[str, str]:
    """A distinct short name per full name, of at most ``width`` characters.

    A name by rule, or the function's base name, where it is unique. Kernels that share it get the longer names of
    their rule; then with what differs between them: template arguments, parameters, scope; last a hash.
    What a kernel is called depends on the set of names, not on their order.
    """
    full = list(dict.fromkeys(kernels))
    first = {kernel: elide(_first_name(kernel), width) for kernel in full}
    families: defaultdict[str, list[str]] = defaultdict(list)
    for kernel, name in first.items():
        families[name].append(kernel)
    result: dict[str, str] = {}
    for name, members in families.items():
        result.update({members[0]: name} if len(members) == 1 else _distinct(name, members, width))
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for kernel, name in result.items():
        taken[name].append(kernel)
    for name, members in taken.items():
        if len(members) > 1:
            result.update({kernel: _hashed(name, kernel, width) for kernel in members})
    return {kernel: result[kernel] for kernel in full}


def _first_name(kernel: str) -> str:
    by_rule = names_by_rule(kernel)
    return by_rule[0] if by_rule else _own_name(kernel)


def _own_name(kernel: str) -> str:
    """The base name; of a lambda and of an ``operator()`` its place."""
    base = base_name(kernel)
    if base != "operator()" and not base.startswith(("[", "'")):
        return base
    parts = name_parts(plain_spelling(kernel))
    scope = parts.scope.removesuffix("::")
    if parts.base != "operator()" or "[lambda" in scope:
        return functor(f"{scope}::{parts.base}".removesuffix("::operator()"))
    return f"{base_name(scope)}::{base}" if scope else base


def _distinct(stem: str, members: Sequence[str], width: int) -> dict[str, str]:
    """Names of kernels that share their first one: each gets the first form that no other of them has."""
    result: dict[str, str] = {}
    by_rule = {kernel: names_by_rule(kernel) for kernel in members}
    longest = max(map(len, by_rule.values()))
    forms = [
        [names[min(level, len(names) - 1)] if names else stem for names in by_rule.values()]
        for level in range(1, longest)
    ]
    for form in itertools.chain(forms, _with_differences(stem, members, ruled=longest > 0)):
        shared = defaultdict(list)
        for kernel, name in zip(members, form, strict=True):
            shared[name].append(kernel)
        for name, kernels in shared.items():
            if len(kernels) == 1 and len(name) <= width:
                result.setdefault(kernels[0], name)
        if len(result) == len(members):
            return result
    return {kernel: result.get(kernel) or _hashed(stem, kernel, width) for kernel in members}


def _with_differences(stem: str, members: Sequence[str], *, ruled: bool) -> Iterable[list[str]]:
    """Forms with more and more of what differs between ``members``, each a name per member."""
    parts = [name_parts(plain_spelling(kernel)) for kernel in members]
    arguments = _differing([without_scopes(part.arguments) for part in parts])
    bases = [part.base for part in parts]
    if ruled:
        functions = bases if len(set(bases)) > 1 else [""] * len(members)
        yield [_joined(stem, [name, *own]) for name, own in zip(functions, arguments, strict=True)]
        return
    stems = [_own_name(kernel) for kernel in members]
    yield [f"{name}<{', '.join(own)}>" if own else name for name, own in zip(stems, arguments, strict=True)]
    with_all = [f"<{without_scopes(part.arguments)}>" if part.arguments else "" for part in parts]
    yield [name + own for name, own in zip(stems, with_all, strict=True)]
    parameters = _differing([without_scopes(part.parameters) for part in parts])
    shown = [f"<{', '.join(own)}>" if own else "" for own in arguments]
    tails = [f"({', '.join(own)})" if own else "" for own in parameters]
    yield ["".join(pieces) for pieces in zip(stems, shown, tails, strict=True)]
    yield ["".join(pieces) for pieces in zip(stems, tails, strict=True)]
    scopes = [part.scope for part in parts]
    yield ["".join(pieces) for pieces in zip(_last_scopes(scopes), stems, shown, strict=True)]
    yield ["".join(pieces) for pieces in zip(_last_scopes(scopes), stems, shown, tails, strict=True)]
    yield [kernel.strip() for kernel in members]


def _joined(stem: str, pieces: Sequence[str]) -> str:
    shown = ", ".join(piece for piece in pieces if piece)
    return f"{stem} [{shown}]" if shown else stem


def _last_scopes(scopes: Sequence[str]) -> list[str]:
    names = [scope.split()[-1] if scope.split() else "" for scope in scopes]
    return [f"{base_name(name.removesuffix('::'))}::" if name.endswith("::") else "" for name in names]


def _differing(texts: Sequence[str], depth: int = 0) -> list[list[str]]:
    """Per text those of its arguments that are not the same in all; of long ones only what differs inside."""
    rows = [split_arguments(text) for text in texts]
    result: list[list[str]] = [[] for _ in texts]
    for column in itertools.zip_longest(*rows, fillvalue=""):
        if len(set(column)) == 1:
            continue
        for own, shown in zip(result, _shown(column, depth), strict=True):
            own.extend(shown)
    return result


def _shown(column: Sequence[str], depth: int) -> list[list[str]]:
    """How one argument that differs is printed, per kernel."""
    if depth < _DEEPEST and max(map(len, column)) > _LONG:
        inner = [name_parts(argument) for argument in column]
        if len({part.base for part in inner}) == 1 and all(part.arguments for part in inner):
            return _differing([part.arguments for part in inner], depth + 1)
    return [[argument] if argument else [] for argument in column]


def _hashed(stem: str, kernel: str, width: int) -> str:
    """A name of last resort, the same in every capture."""
    digest = blake2b(kernel.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
    return f"{elide(stem, width - 1 - len(digest))}~{digest}"
