"""Results as rows of named values, in SI units: what JSON and CSV hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roofctl.core.units import SECTOR_BYTES
from roofctl.quantities import catalogue
from roofctl.roofline.analyse import Explained, ModelResults
from roofctl.roofline.flop import FlopResult
from roofctl.roofline.instruction import InstructionResult
from roofctl.roofline.model import Model, all_levels
from roofctl.roofline.result import Result

L1_PARTS: Final = (
    *("texture_sectors", "tma_load_sectors", "tma_store_sectors", "dsmem_sectors"),
    *("shared_atomic_wavefronts", "shared_ldgsts_wavefronts", "shared_gmma_wavefronts"),
)
"""The parts of L1 traffic that are no plain loads and stores."""

_INSTRUCTION: Final = (
    *("kernel", "short_name", "launches", "seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total"),
    *("time_share", "warp_instructions", "issued_warp_instructions"),
    *("l1_transactions", "l2_transactions", "hbm_transactions", "gips"),
    *("l1_intensity", "l2_intensity", "hbm_intensity"),
    *("limit", "limit_use", "headroom_seconds", "all_counted", "use"),
    # After the stable names: the parts that make L1, so that any weighting can be checked.
    *("l1_global_sectors", "l1_local_sectors", "l1_lsu_sectors", "shared_wavefronts", *L1_PARTS),
    *("thread_instructions", "sm_clock_hz", "grid", "block", "source"),
    *("issued_gips", "issued_of_peak", "thread_efficiency", "lost_fraction", "predicated_on_fraction"),
    *("verdict", "advice", "rank", "counted_launches", "incomplete"),
)

_FLOP: Final = (
    *("kernel", "short_name", "precision", "launches"),
    *("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total", "time_share"),
    *("flops", "flops_share", "flops_per_second", "l1_bytes", "l2_bytes", "hbm_bytes"),
    *("l1_intensity", "l2_intensity", "hbm_intensity", "of_peak"),
    *("limit", "limit_use", "headroom_seconds", "all_counted", "use"),
    *("flops_caveat", "integer_instructions", "sm_clock_hz", "grid", "block", "source"),
    *("verdict", "advice", "rank", "counted_launches", "incomplete"),
)

COLUMNS: Final[Mapping[Model, tuple[str, ...]]] = {"instruction": _INSTRUCTION, "flop": _FLOP}
"""Names of a row by model, in order; those of the user's own quantities follow. Null where not known."""

_OF_KERNEL: Final = (
    *("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total", "sm_clock_hz"),
    *("issued_warp_instructions", "thread_instructions", "integer_instructions"),
    *("l1_global_sectors", "l1_local_sectors", "l1_lsu_sectors", "shared_wavefronts", *L1_PARTS),
    *("counted_launches",),
)
"""Columns that are quantities of the kernel as they are."""


def columns(model: Model) -> tuple[str, ...]:
    """Names of a row of JSON and CSV in order, with the user's own quantities."""
    own: list[str] = []
    for quantity in catalogue().own:
        level = quantity.name in catalogue().levels
        transactions = (f"{quantity.name}_transactions",) if model == "instruction" else ()
        own += [quantity.name, *((*transactions, f"{quantity.name}_intensity") if level else ())]
    return (*COLUMNS[model], *own)


def rows(results: ModelResults) -> list[dict[str, Any]]:
    """One row per result, by the columns of the model."""
    return [row(explained, results.model) for explained in results.explained]


def row(explained: Explained, model: Model) -> dict[str, Any]:
    """A result by the columns of its model; None where not known."""
    result = explained.result
    limit = explained.limit
    values = {**_common(result, model), **_of_model(result)}
    values.update(
        limit=limit.name,
        limit_use=limit.use,
        headroom_seconds=limit.headroom_seconds,
        all_counted=limit.counted,
        use={name: use.fraction for name, use in limit.uses.items()},
    )
    values["verdict"] = explained.verdict
    values["advice"] = (
        None
        if explained.verdict is None
        else [
            {"kind": finding.kind, "text": finding.text, "figures": dict(finding.figures)}
            for finding in explained.advice
        ]
    )
    return {name: values[name] for name in columns(model)}


def _common(result: Result, model: Model) -> dict[str, Any]:
    kernel = result.kernel
    values: dict[str, Any] = {
        "kernel": kernel.name,
        "short_name": kernel.short_name,
        "launches": kernel.launches,
        "time_share": kernel.time_share,
        "grid": kernel.grid,
        "block": kernel.block,
        "source": kernel.source,
        "rank": kernel.rank,
        "incomplete": kernel.incomplete or None,
        **{name: kernel[name] for name in (*_OF_KERNEL, *(quantity.name for quantity in catalogue().own))},
    }
    for level in all_levels():
        values[f"{level}_intensity"] = result.intensity(level, model)
    return values


def _of_model(result: InstructionResult | FlopResult) -> dict[str, Any]:
    moved = {level: result.transactions(level) for level in all_levels()}
    if isinstance(result, InstructionResult):
        return {
            **{f"{level}_transactions": count for level, count in moved.items()},
            "warp_instructions": result.amount,
            "gips": result.gips,
            "issued_gips": result.issued_gips,
            "issued_of_peak": result.issued_of_peak,
            "thread_efficiency": result.thread_efficiency,
            "lost_fraction": result.lost_fraction,
            "predicated_on_fraction": result.predicated_on_fraction,
        }
    return {
        **{f"{level}_bytes": None if count is None else count * SECTOR_BYTES for level, count in moved.items()},
        "precision": result.work,
        "flops": result.amount,
        "flops_share": result.share,
        "flops_per_second": result.per_second,
        "of_peak": result.of_peak,
        "flops_caveat": result.caveat or None,
    }
