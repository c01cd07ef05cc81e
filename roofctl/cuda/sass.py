"""Read machine code (SASS) as text: instructions, loops, opcode counts, and how many instructions a warp executes.

Pure. Takes what ``nvdisasm`` and ``cuobjdump -sass`` print; they differ in how they name functions and branch targets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

_FUNCTION: Final = re.compile(r"^\.text\.(\w+):|^\s*Function : (\S+)", re.MULTILINE)
_LABEL: Final = re.compile(r"^\s*(\.L[\w$]*):")
_INSTRUCTION: Final = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
_TARGET: Final = re.compile(r"`\((\.L[\w$]*)\)|\b0x([0-9a-f]+)\s*$")
_PADDING: Final = ("NOP", "BRA")
_JUMPS: Final = frozenset(
    {"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "BREAK", "YIELD", "WARPSYNC", "BSYNC"}
)
_ALWAYS: Final = frozenset({"PT", "UPT"})


@dataclass(frozen=True)
class Instruction:
    """One instruction: byte address, opcode with its modifiers, operands as text, predicate (``P0``, ``!P0`` or empty).

    ``target`` is the address that a branch goes to, None for other instructions.
    """

    address: int
    opcode: str
    operands: str = ""
    predicate: str = ""
    target: int | None = None

    @property
    def base(self) -> str:
        """The opcode without modifiers: ``LDG`` of ``LDG.E.128.STRONG.GPU``."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class SassFunction:
    """The instructions of one function in order."""

    name: str
    instructions: tuple[Instruction, ...]

    def backward_branches(self) -> list[tuple[int, int]]:
        """First and last index of every loop: the target of a branch to an earlier instruction, and the branch.

        A branch to itself is the padding that ends every kernel, and no loop.
        """
        index = {each.address: i for i, each in enumerate(self.instructions)}
        return [
            (index[each.target], i)
            for i, each in enumerate(self.instructions)
            if each.base == "BRA" and each.target is not None and each.target in index and each.target < each.address
        ]

    def loops(self) -> Iterator[tuple[Instruction, ...]]:
        """The bodies of innermost loops, the branch included."""
        spans = self.backward_branches()
        for start, end in spans:
            if not any(start <= s and e <= end and (s, e) != (start, end) for s, e in spans):
                yield self.instructions[start : end + 1]

    def only_loop(self) -> tuple[int, int] | None:
        """First and last index of the only loop before the function's end; None where there is none, or several."""
        end = self._end(guarded=False)
        spans = [span for span in self.backward_branches() if span[1] < end]
        return spans[0] if len(spans) == 1 else None

    def executed(self, *, iterations: int | None = None, guarded: bool = False) -> ExecutedPath | None:
        """What a warp executes whose lanes stay together, or None where the code alone does not determine it.

        The function has no branch, or one loop that runs ``iterations`` times. ``guarded``: all lanes leave at the
        first exit, although a predicate guards it.
        """
        end = self._end(guarded=guarded)
        body = self.only_loop() if iterations else None
        straight = [each for i, each in enumerate(self.instructions[:end]) if not (body and i == body[1])]
        if any(each.base in _JUMPS or each.base == "EXIT" for each in straight):
            return None
        if end == len(self.instructions) or (iterations and body is None):
            return None
        executed = end + 1
        if body and iterations:
            executed += (iterations - 1) * (body[1] - body[0] + 1)
        conditional = any(each.predicate and each.predicate not in _ALWAYS for each in straight)
        return ExecutedPath(executed, None if conditional else int(body is not None))

    def _end(self, *, guarded: bool) -> int:
        """Index of the exit that ends the path; the number of instructions where there is none."""
        exits = (
            i for i, each in enumerate(self.instructions) if each.base == "EXIT" and (guarded or not each.predicate)
        )
        return next(exits, len(self.instructions))


@dataclass(frozen=True)
class ExecutedPath:
    """Instructions that a warp executes from entry to exit.

    ``switched_off`` of them have their predicate off in every lane; None when the code does not determine it.
    """

    instructions: int
    switched_off: int | None


def functions(text: str) -> dict[str, SassFunction]:
    """Every function of a disassembly, by its (mangled) name."""
    starts = [(match.start(), match[1] or match[2]) for match in _FUNCTION.finditer(text)]
    edges = [start for start, _ in starts] + [len(text)]
    return {name: _function(name, text[start:end]) for (start, name), end in zip(starts, edges[1:], strict=True)}


def _function(name: str, text: str) -> SassFunction:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    pending: list[str] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            pending.append(label[1])
        if match := _INSTRUCTION.search(line):
            address = int(match[1], 16)
            labels.update(dict.fromkeys(pending, address))
            pending.clear()
            instructions.append(Instruction(address, match[3], match[4].strip(), match[2] or ""))
    return SassFunction(name, tuple(_with_target(each, labels) for each in instructions))


def _with_target(instruction: Instruction, labels: dict[str, int]) -> Instruction:
    """A branch with its target; labels are known only when all of the function has been read."""
    match = _TARGET.search(instruction.operands) if instruction.base in _JUMPS else None
    if match is None:
        return instruction
    label, address = match.groups()
    return replace(instruction, target=labels.get(label) if label else int(address, 16))


def count(instructions: Iterable[Instruction]) -> Counter[str]:
    """Number of instructions by base opcode."""
    return Counter(instruction.base for instruction in instructions)


def main_loop(function: SassFunction, opcodes: frozenset[str]) -> Counter[str] | None:
    """Opcode counts of the innermost loop that holds most of ``opcodes``, or None when no loop holds any."""
    counts = [count(body) for body in function.loops()]
    best = max(counts, key=lambda counted: sum(counted[o] for o in opcodes), default=None)
    return best if best is not None and any(best[o] for o in opcodes) else None


def without_padding(function: SassFunction) -> Counter[str]:
    """Opcode counts of a function without a loop, less the padding at its end."""
    counted = count(function.instructions)
    for opcode in _PADDING:
        counted.pop(opcode, None)
    return counted
