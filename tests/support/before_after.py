"""Two captures of one made-up training step: after a change the matrix product has another name and is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.capture_folders import capture
from support.shapes import CLOCK, FULL, TIME, L

SLOW = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
FAST = "nvjet_tst_192x128_64x4_2x1_v_bz_TNN"
COPY = "copy_kernel(float *, const float *)"
REDUCE = "reduce_kernel(float *)"

H200 = {
    "device__attribute_display_name": "NVIDIA H200",
    "device__attribute_max_gpu_frequency_khz": 1_980_000,
    "launch__sm_count": 132,
    CLOCK: 1_980_000_000,
}


def launches(kernel: str, *nanoseconds: int, grid: str = "(64, 1, 1)", **counters: int) -> list[L]:
    """A launch for each time; counters beside those of a full launch by name."""
    return [L(kernel, {**FULL, **H200, **counters, TIME: time}, grid=grid) for time in nanoseconds]


BEFORE = [
    *launches(SLOW, 3_000_000),
    *launches(COPY, 100_000, 101_000, 102_000),
    *launches(REDUCE, 500_000, 501_000, 502_000),
    *launches("gone_kernel()", 400_000, grid="(7, 1, 1)"),
]
AFTER = [
    *launches(FAST, 600_000),
    *launches(COPY, 99_500, 101_500, 102_500),
    *launches(REDUCE, 600_000, 601_000, 602_000),
]


def pair(root: Path, before: Sequence[L] = BEFORE, after: Sequence[L] = AFTER, **facts: object) -> tuple[Path, Path]:
    """The captures ``before`` and ``after`` below ``root``; facts are of both manifests."""
    given: Mapping[str, object] = {"roofctl_version": "0.1.0", "clock_control": "none", **facts}
    return capture(root, "before", *before, **given), capture(root, "after", *after, **given)
