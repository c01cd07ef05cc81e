"""The types of operation that ceilings and counters are given for: one table, which imports no heavy library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Precision:
    """One type of floating-point or integer operation.

    ``quantity`` is the quantity that counts its operations, None where no counter does. ``operations_per_fma`` is
    what one multiply-add instruction does per thread, 4 where it is packed, None for matrix instructions.
    """

    name: str
    label: str
    quantity: str | None = None
    operations_per_fma: int | None = None

    @property
    def tensor(self) -> bool:
        """Whether matrix instructions do it."""
        return self.operations_per_fma is None

    @property
    def at_tensor_clock(self) -> bool:
        """Whether vendors state its rate at the tensor boost clock: all matrix types but FP64."""
        return self.tensor and self.name != "fp64_tc"

    @property
    def metric_set(self) -> str:
        """The metric set that counts it."""
        return "tensor" if self.tensor else "flop"


PRECISIONS: Final[Mapping[str, Precision]] = {
    precision.name: precision
    for precision in (
        Precision("fp64", "FP64", "fp64_flops", 2),
        Precision("fp32", "FP32", "fp32_flops", 2),
        Precision("fp16", "FP16", "fp16_flops", 4),
        Precision("bf16", "BF16", None, 4),
        Precision("fp64_tc", "FP64 tensor", "tensor_fp64_ops"),
        Precision("tf32_tc", "TF32 tensor", "tensor_tf32_ops"),
        Precision("bf16_tc", "BF16 tensor", "tensor_bf16_ops"),
        Precision("fp16_tc", "FP16 tensor", "tensor_fp16_ops"),
        Precision("fp16_tc_fp16acc", "FP16 tensor, FP16 sums", "tensor_fp16_fp16acc_ops"),
        Precision("fp8_tc", "FP8 tensor", "tensor_fp8_ops"),
        Precision("fp8_tc_fp16acc", "FP8 tensor, FP16 sums", "tensor_fp8_fp16acc_ops"),
        Precision("int8_tc", "INT8 tensor", "tensor_int8_ops"),
        Precision("int4_tc", "INT4 tensor", "tensor_int4_ops"),
        Precision("int1_tc", "INT1 tensor", "tensor_int1_ops"),
        Precision("fp6_tc", "FP6 tensor", "tensor_fp6_ops"),
        Precision("fp4_tc", "FP4 tensor", "tensor_fp4_ops"),
    )
}
"""By name, in the order in which they are listed everywhere."""

COUNTED: Final[Mapping[str, str]] = {
    name: precision.quantity for name, precision in PRECISIONS.items() if precision.quantity is not None
}
"""The types that profilers count, with the quantity that counts each: those of the FLOP roofline."""
