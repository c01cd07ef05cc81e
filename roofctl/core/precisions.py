"""The types of operation that ceilings and counters are given for: one table, which imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Precision:
    """One type of floating-point or integer operation.

    ``quantity`` is the quantity that counts its operations, None where no counter does. ``operations_per_fma`` is
    what one multiply-add instruction does per thread, 4 where it is packed, None for matrix instructions.
    A GPU profile that states no rate of the type has ``times`` the rate of the type ``like``. ``note`` says what
    its counter counts beside it.
    """

    name: str
    label: str
    quantity: str | None = None
    operations_per_fma: int | None = None
    like: str = ""
    times: int = 1
    note: str = ""

    @property
    def tensor(self) -> bool:
        """Whether matrix instructions do it."""
        return self.operations_per_fma is None

    @property
    def integer(self) -> bool:
        """Whether its operations are no floating-point operations."""
        return self.name.startswith("int")

    @property
    def rare(self) -> bool:
        """Whether few programs use it, so that it is counted on request and taken for none where it was not."""
        return self.sparse or self.name in _RARE

    @property
    def measurable(self) -> bool:
        """Whether ``roofctl calibrate`` has a kernel that measures its rate."""
        return self.name in _MEASURABLE

    @property
    def sparse(self) -> bool:
        """Whether it is structured sparsity: two of four values of one operand are zero and left out."""
        return self.name.endswith(_SPARSE)

    @property
    def at_tensor_clock(self) -> bool:
        """Whether vendors state its rate at the tensor boost clock: all matrix types but FP64."""
        return self.tensor and self.name != "fp64_tc"

    @property
    def metric_set(self) -> str:
        """The metric set that counts it."""
        return "tensor-rare" if self.rare else "tensor" if self.tensor else "flop"

    @property
    def unit(self) -> str:
        """The unit of its rate."""
        return "OP/s" if self.integer else "FLOP/s"


_TENSOR: Final = "_tc"
_SPARSE: Final = "_sparse_tc"
_RARE: Final = ("fp6_tc", "fp6_acc16_tc", "int4_tc", "int1_tc")
_MEASURABLE: Final = (
    *("fp64", "fp32", "fp16", "bf16"),
    *("fp64_tc", "tf32_tc", "bf16_tc", "fp16_tc", "fp8_tc", "int8_tc"),
)


def _tensor(name: str, label: str, like: str = "", note: str = "") -> Precision:
    return Precision(name, f"{label} tensor", f"tensor_{name.removesuffix(_TENSOR)}_ops", like=like, note=note)


_AS_ONE: Final = (
    "FP4, FP6 and FP8 are one counter on this chip; compared with the FP8 peak, the rate of all three there"
)
_FP4_TOO: Final = "FP6 is counted with the FP4 of the same instruction; compared with the FP6 peak"


_DENSE: Final = (
    _tensor("fp64_tc", "FP64"),
    _tensor("tf32_tc", "TF32"),
    _tensor("bf16_tc", "BF16"),
    _tensor("fp16_tc", "FP16"),
    _tensor("fp16_acc16_tc", "FP16 (FP16 acc.)"),
    _tensor("fp8_tc", "FP8"),
    _tensor("fp8_acc16_tc", "FP8 (FP16 acc.)"),
    # One kind of instruction takes FP4, FP6 and FP8, at one rate; another takes FP4 alone, at twice that rate.
    _tensor("fp4_fp6_fp8_tc", "FP4/FP6/FP8", "fp8_tc", _AS_ONE),
    _tensor("fp6_tc", "FP4/FP6", "fp8_tc", _FP4_TOO),
    _tensor("fp6_acc16_tc", "FP4/FP6 (FP16 acc.)", "fp8_acc16_tc", _FP4_TOO),
    _tensor("fp4_tc", "FP4"),
    _tensor("int8_tc", "INT8"),
    _tensor("int4_tc", "INT4"),
    _tensor("int1_tc", "INT1"),
)
_NOT_SPARSE: Final = ("fp64_tc", "int1_tc")


def _with_sparsity() -> Iterator[Precision]:
    for dense in _DENSE:
        if dense.name not in _NOT_SPARSE:
            stem = dense.name.removesuffix(_TENSOR)
            label = f"{dense.label.removesuffix(' tensor')} 2:4 tensor"
            yield Precision(f"{stem}{_SPARSE}", label, f"tensor_{stem}_sparse_ops", like=dense.name, times=2)


PRECISIONS: Final[Mapping[str, Precision]] = {
    precision.name: precision
    for precision in (
        Precision("fp64", "FP64", "fp64_flops", 2),
        Precision("fp32", "FP32", "fp32_flops", 2),
        Precision("fp16", "FP16", "fp16_flops", 4),
        Precision("bf16", "BF16", None, 4),
        Precision("int32", "INT32", "integer_instructions", 1),
        *_DENSE,
        *_with_sparsity(),
    )
}
"""By name, in the order in which they are listed everywhere."""

CHOOSABLE: Final[Mapping[str, str]] = {
    name: precision.quantity for name, precision in PRECISIONS.items() if precision.quantity is not None
}
"""The types that profilers count, with the quantity that counts each."""

COUNTED: Final[Mapping[str, str]] = {name: quantity for name, quantity in CHOOSABLE.items() if name != "int32"}
"""Those that are the work of a kernel in the FLOP roofline. Every kernel has INT32 operations: its addresses."""
