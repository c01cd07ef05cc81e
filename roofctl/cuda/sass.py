"""Read a kernel's machine code (SASS) as text and count opcodes, to see whether a loop is the one that was written.

Pure. Takes what ``nvdisasm`` and ``cuobjdump -sass`` print; they differ in how they name branch targets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_SECTION: Final = re.compile(r"^\.text\.(\w+):|^\s*Function : (\w+)", re.MULTILINE)
_LABEL: Final = re.compile(r"^\s*(\.L[\w$]*):")
_INSTRUCTION: Final = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
_TARGET: Final = re.compile(r"`\((\.L[\w$]*)\)|\b0x([0-9a-f]+)\s*$")
_PADDING: Final = ("NOP", "BRA")


@dataclass(frozen=True)
class Instruction:
    """One instruction: byte address, opcode with its modifiers, operands as text."""

    address: int
    opcode: str
    operands: str

    @property
    def base(self) -> str:
        """The opcode without modifiers: ``LDG`` of ``LDG.E.128.STRONG.GPU``."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class Kernel:
    """The instructions of one kernel in order, and the address of each label."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]

    def loops(self) -> Iterator[tuple[Instruction, ...]]:
        """The bodies of innermost loops: from the target of a backward branch to the branch itself."""
        spans = [(target, i.address) for i in self.instructions if (target := self._backward(i)) is not None]
        for start, end in spans:
            if not any(start <= s and e <= end and (s, e) != (start, end) for s, e in spans):
                yield tuple(i for i in self.instructions if start <= i.address <= end)

    def _backward(self, instruction: Instruction) -> int | None:
        """Where a branch to an earlier instruction goes; None for anything else."""
        if instruction.base != "BRA":
            return None
        found = _TARGET.search(instruction.operands.strip())
        if found is None:
            return None
        label, address = found.groups()
        target = self.labels.get(label) if label else int(address, 16)
        # A branch to itself is the padding that ends every kernel.
        return target if target is not None and target < instruction.address else None


def kernels(text: str) -> dict[str, Kernel]:
    """Every kernel of a disassembly, by name."""
    starts = [(found.start(), found[1] or found[2]) for found in _SECTION.finditer(text)]
    ends = [start for start, _ in starts] + [len(text)]
    return {name: _kernel(name, text[start:end]) for (start, name), end in zip(starts, ends[1:], strict=True)}


def _kernel(name: str, text: str) -> Kernel:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    pending: list[str] = []
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label:
            pending.append(label[1])
        found = _INSTRUCTION.search(line)
        if found:
            instruction = Instruction(int(found[1], 16), found[2], found[3].strip())
            labels.update(dict.fromkeys(pending, instruction.address))
            pending.clear()
            instructions.append(instruction)
    return Kernel(name, tuple(instructions), labels)


def count(instructions: tuple[Instruction, ...]) -> Counter[str]:
    """Number of instructions by base opcode."""
    return Counter(instruction.base for instruction in instructions)


def main_loop(kernel: Kernel, opcodes: frozenset[str]) -> Counter[str] | None:
    """Opcode counts of the innermost loop that holds most of ``opcodes``, or None when no loop holds any."""
    best: Counter[str] | None = None
    for body in kernel.loops():
        counted = count(body)
        if sum(counted[o] for o in opcodes) > (sum(best[o] for o in opcodes) if best else 0):
            best = counted
    return best


def issued(counted: Counter[str]) -> int:
    """Instructions that a warp issues in one turn of a loop."""
    return counted.total()


def whole(kernel: Kernel) -> Counter[str]:
    """Opcode counts of a kernel without a loop, without the padding at its end."""
    counted = count(kernel.instructions)
    for opcode in _PADDING:
        counted.pop(opcode, None)
    return counted
