"""How many instructions a warp executes, read off the disassembly of a kernel without branches or with one loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roofctl.core.units import WARP_THREADS
from roofctl.verify.expect import ExecutedPath
from roofctl.verify.known_kernels import KNOWN

_FUNCTION: Final = re.compile(r"^\s*Function : (\S+)")
_INSTRUCTION: Final = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?\w+)\s+)?([A-Z][\w.]*)([^;]*);")
_TARGET: Final = re.compile(r"\b0x([0-9a-f]+)\s*$")
_JUMPS: Final = frozenset(
    {"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "BREAK", "YIELD", "WARPSYNC", "BSYNC"}
)
_ALWAYS: Final = frozenset({"PT", "UPT"})


@dataclass(frozen=True)
class Instruction:
    """One instruction: address, predicate (``P0``, ``!P0``, empty), opcode, and where a branch goes."""

    address: int
    predicate: str
    opcode: str
    target: int | None

    @property
    def operation(self) -> str:
        """Opcode without its modifiers: ``LDG`` of ``LDG.E.128``."""
        return self.opcode.partition(".")[0]


def functions(text: str) -> dict[str, tuple[Instruction, ...]]:
    """Kernels in the output of ``cuobjdump --dump-sass``, by their (mangled) names."""
    found: dict[str, list[Instruction]] = {}
    code: list[Instruction] = []
    for line in text.splitlines():
        if header := _FUNCTION.match(line):
            code = found[header.group(1)] = []
        elif match := _INSTRUCTION.match(line):
            address, predicate, opcode, operands = match.groups()
            target = _TARGET.search(operands)
            code.append(Instruction(int(address, 16), predicate or "", opcode, int(target[1], 16) if target else None))
    return {name: tuple(instructions) for name, instructions in found.items()}


def loop(code: Sequence[Instruction]) -> tuple[int, int] | None:
    """First and last index of the only loop before the kernel's end; None where there is none, or several."""
    end = _end(code, guarded=False)
    index = {instruction.address: i for i, instruction in enumerate(code)}
    loops = [
        (index[each.target], i)
        for i, each in enumerate(code[:end])
        if each.operation == "BRA" and each.target is not None and each.target <= each.address
    ]
    return loops[0] if len(loops) == 1 else None


def executed_path(
    code: Sequence[Instruction], *, iterations: int | None = None, guarded: bool = False
) -> ExecutedPath | None:
    """What a warp executes whose lanes stay together, or None where the code alone does not tell.

    A kernel has no branch, or one loop that runs ``iterations`` times. ``guarded``: all lanes leave at the
    first exit, although a predicate guards it.
    """
    end = _end(code, guarded=guarded)
    body = loop(code) if iterations else None
    for i, each in enumerate(code[:end]):
        if (each.operation in _JUMPS and not (body and i == body[1])) or each.operation == "EXIT":
            return None
    if end == len(code) or (iterations and body is None):
        return None
    executed = end + 1
    if body and iterations:
        executed += (iterations - 1) * (body[1] - body[0] + 1)
    others = [each for i, each in enumerate(code[:end]) if each.predicate and not (body and i == body[1])]
    switched_off = 1 if body else 0
    return ExecutedPath(executed, None if any(each.predicate not in _ALWAYS for each in others) else switched_off)


def _end(code: Sequence[Instruction], *, guarded: bool) -> int:
    """Index of the exit that ends the path."""
    for i, each in enumerate(code):
        if each.operation == "EXIT" and (guarded or not each.predicate):
            return i
    return len(code)


def known_paths(text: str) -> Mapping[str, ExecutedPath]:
    """Paths of the kernels of ``kernels/known`` in a disassembly, where they can be told."""
    found = functions(text)
    paths = {
        kernel.name: executed_path(found[kernel.name], iterations=kernel.iterations, guarded=kernel.guarded)
        for kernel in KNOWN
        if kernel.name in found and kernel.active_lanes == WARP_THREADS
    }
    return {name: path for name, path in paths.items() if path is not None}
