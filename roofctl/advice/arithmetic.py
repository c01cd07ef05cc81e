"""What kind of arithmetic runs: matrix products beside the tensor cores, and HFMA that computes nothing."""

from __future__ import annotations

from typing import Final

from roofctl.advice.bounds import label
from roofctl.advice.finding import FP_TYPES, Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.units import SECTOR_BYTES, WAVEFRONT_BYTES, percent

_OPERATIONS_OF_FMA: Final = {"fp64": 2, "fp32": 2, "fp16": 4}

_TENSOR_TYPE: Final = {
    "fp64": ("fp64", "tensor cores multiply FP64 with the same rounding"),
    "fp32": ("tf32", "tensor cores multiply TF32, if 10 bits of mantissa are enough"),
    "fp16": ("fp16", "tensor cores multiply FP16, and add in FP32"),
}
"""The type of tensor cores that can do the work of a type, and what that means for the result."""


def tensor_unused(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """A matrix product, by its name or by what it does, whose tensor-core operations were counted and are 0."""
    if facts.text("limit") in ("grid", "tail", "hbm", "l2", "system", "peer"):
        return None  # faster products would wait for the same thing
    work = facts.numbers(*(f"{name}_flops" for name in FP_TYPES), "thread_instructions")
    if work is None or not work[-1]:
        return None
    shares = {
        name: operations / _OPERATIONS_OF_FMA[name] / work[-1] for name, operations in zip(FP_TYPES, work, strict=False)
    }
    name, share = max(shares.items(), key=lambda entry: entry[1])
    tensor, fraction = facts.tensor_operations(), facts.inside("of_flop_peak", name)
    narrow, how = _TENSOR_TYPE[name]
    if narrow not in tensor or any(tensor.values()) or fraction is None or not _matrix_like(facts, limits, share):
        return None
    text = (
        f"a matrix product without tensor cores ({percent(share)} of thread instructions are {label(name)} FMAs, "
        f"0 tensor operations), at {percent(fraction)} of the {label(name)} peak: {how}"
    )
    return Finding("tensor_unused", text, {"fma_share": share, "of_flop_peak": fraction})


def _matrix_like(facts: KernelFacts, limits: Thresholds, fma_share: float) -> bool:
    name = facts.text("function") or facts.text("kernel")
    if limits.matrix_names.search(name) and fma_share >= limits.named_fma_share:
        return True
    known = facts.numbers("shared_wavefronts", "l1_transactions")
    if known is None or not known[1]:
        return False
    reuse = WAVEFRONT_BYTES // SECTOR_BYTES * known[0] / known[1]
    return fma_share >= limits.shaped_fma_share and reuse >= limits.shared_reuse
