"""Large captures made up for benchmarks: the shape of an H200's raw page, with launches and numbers of their own."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent.parent / "tests/data/ncu-2025.3-h200/known_counts-all-logfile.csv"
"""Gives the header, the unit row and what every launch of one GPU says alike."""

IDENTITY: Final = 11
"""Columns before the first counter."""

NAMES: Final = (
    (
        "void at::native::vectorized_elementwise_kernel<{w}, at::native::BinaryFunctor<float, float, float, "
        'at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long){n}>>(int, T2, "tag {n}")'
    ),
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_{w}{n}x32_nn_align8>(T1::Params)",
    "triad_{n}(float4 *, const float4 *, const float4 *, float, unsigned long)",
    "void cub::DeviceReduceKernel<cub::Policy{w}<{n}>, const double *, double *, unsigned int, cub::Sum>(T2, T3, T4)",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<{n}, 128, {w}, 4, false, false, cutlass::half_t>, true>(Params)",
)
NARROW: Final = (
    *("gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second", "device__attribute_display_name"),
    *("smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "l1tex__t_sectors_pipe_lsu.sum"),
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st")),
    *("lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_tex_op_read.sum"),
    *("lts__t_sectors_srcunit_tex_op_write.sum", "dram__sectors_read.sum", "dram__sectors_write.sum"),
    *("launch__grid_size", "launch__block_size", "launch__registers_per_thread", "launch__sm_count"),
)
"""Counters of a page that is long instead of wide: what the instruction set needs, and the launch."""


def page() -> tuple[list[str], list[str], list[list[str]]]:
    """Header, units and rows of the page that lends its shape."""
    rows = csv.reader(PAGE.read_text(encoding="utf-8").splitlines())
    header = next(row for row in rows if row[:1] == ["ID"])
    return header, next(rows), [row for row in rows if len(row) == len(header)]


def quoted(fields: list[str]) -> str:
    """One line as ncu writes it."""
    return ",".join('"' + text.replace('"', '""') + '"' for text in fields) + "\n"


def kernel_names(count: int, rng: random.Random) -> list[str]:
    """Long demangled names, with commas and quotes in them."""
    return [NAMES[i % len(NAMES)].format(n=i, w=rng.choice((1, 2, 4, 8))) for i in range(count)]


class Pages:
    """Launches made up from a real page: constants of the GPU stay, what a launch does is scaled per launch.

    ``columns`` None means all 445 counters. Lines are joined from pieces that hold still and cells that change.
    """

    def __init__(self, columns: tuple[str, ...] | None = None, kernels: int = 40) -> None:
        self.rng = random.Random(1)  # noqa: S311 - reproducible, not secret
        header, units, self.given = page()
        self.keep = [i for i, name in enumerate(header) if i < IDENTITY or columns is None or name in columns]
        self.header = [header[i] for i in self.keep]
        self.units = [units[i] for i in self.keep]
        self.names = kernel_names(kernels, self.rng)
        self.changing = [i for i in self.keep if i >= IDENTITY and _changes(header[i])]

    def launch(self, number: int) -> list[str]:
        """Cells of one launch; each kernel runs in four launch shapes, the most frequent ones first."""
        which = min(int(self.rng.expovariate(8 / len(self.names)) * 2), len(self.names) - 1)
        row = list(self.given[which % len(self.given)])
        factor = self.rng.choice((0.25, 0.5, 1.0, 2.0)) * self.rng.uniform(0.98, 1.02)
        row[0], row[4], row[8] = str(number), self.names[which], f"({1024 << (number % 4)}, 1, 1)"
        for i in self.changing:
            row[i] = _scaled(row[i], factor)
        return [row[i] for i in self.keep]

    def raw(self, launches: int) -> Iterator[str]:
        """Lines of a raw page."""
        yield quoted(self.header)
        yield quoted(self.units)
        yield from (quoted(self.launch(number)) for number in range(launches))

    def details(self, launches: int) -> Iterator[str]:
        """Lines of a details page of the same launches: one row per launch and counter."""
        fixed = self.header[:IDENTITY]
        yield quoted([*fixed, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])
        section = "Command line profiler metrics"
        for number in range(launches):
            row = self.launch(number)
            start = quoted(row[:IDENTITY])[:-1]
            for name, unit, value in zip(self.header[IDENTITY:], self.units[IDENTITY:], row[IDENTITY:], strict=True):
                yield f'{start},"{section}","{name}","{unit}","{value}"\n'


def _changes(counter: str) -> bool:
    """Whether a counter says what a launch did, as against what the GPU is."""
    return "__" in counter and not counter.startswith(("device__", "launch__", "profiler__", "numa__", "nvlink__"))


def _scaled(text: str, factor: float) -> str:
    """A number like ``text`` times ``factor``, printed alike: group marks, two decimals where there were some."""
    if text in ("", "0") or not text[0].isdigit():
        return text
    value = float(text.replace(",", "")) * factor
    return f"{value:,.2f}" if "." in text else f"{round(value):,}"


def write(path: Path, lines: Iterator[str]) -> int:
    """Write ``lines`` to ``path``; the size in bytes."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    return path.stat().st_size
