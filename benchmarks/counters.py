r"""Do the counters agree with the bytes that the memory microbenchmarks claim? Run under ncu, then compare.

usage: ncu --clock-control none --cache-control none --metrics METRICS --csv --page raw --print-units base \\
           --log-file FILE.csv python benchmarks/counters.py launch CLAIMS.json [hbm] [l2]
       python benchmarks/counters.py compare CLAIMS.json FILE.csv
`python benchmarks/counters.py metrics` prints METRICS. Kernels that only fill or check are left out with
-k regex:'hbm|l2_|l1_|cache'.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from roofctl.cuda.toolchain import Toolchain, arch_of
from roofctl.microbench import caches, memory
from roofctl.microbench.bench import Bench, Variant
from roofctl.microbench.device import KernelLaunch
from roofctl.microbench.pycuda_device import open_device
from roofctl.microbench.table import MIXES

METRICS = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "lts__cycles_elapsed.avg.per_second",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "lts__t_sectors.avg",
    "lts__t_sectors.max",
    "lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "lts__ltcfabric2lts_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__m_xbar2l1tex_read_bytes.min",
    "l1tex__m_xbar2l1tex_read_bytes.max",
    "sm__cycles_active.min",
    "sm__cycles_active.max",
)
"""What was moved, then what may bind: fabric between partitions, uneven slices, uneven or idle SMs."""

SET_BYTES = 3 << 30
L2_SCALE = 32


def launch(claims: Path, levels: tuple[str, ...]) -> int:
    """Launch each kernel once and write down the bytes it claims, in order."""
    device = open_device()
    bench = Bench(device, Toolchain.find(arch_of(device.facts.compute_capability)), size_bytes=SET_BYTES)
    claimed: list[dict[str, Any]] = []

    def once(variant: Variant, scale: int) -> None:
        batch = variant.round_of(scale)
        job = batch.jobs[0]
        if isinstance(job, KernelLaunch):
            device.run([job])
            claimed.append({"kernel": job.kernel, "bytes": batch.work, "settings": variant.settings})

    if "hbm" in levels:
        with memory.arrays(bench) as slab:
            for variant in (variant for mix in MIXES for variant in memory.variants(bench, slab, mix)):
                shape = (variant.settings.get("block"), variant.settings.get("vectors"))
                if variant.settings.get("order") == "contiguous" or shape == (512, 1):
                    once(variant, 1)
    if "l2" in levels:
        walks = caches.l2_walks(bench, device.facts.l2_bytes)
        # The same with equal work for all, to see who waits for whom.
        walks += [replace(walk, shared_work=False) for walk in walks if not walk.by_warp]
        with caches.filled(bench, max(caches.walk_bytes(bench, walk) for walk in walks)) as buffer:
            for walk in walks:
                once(caches.walk_variant(bench, buffer, walk), L2_SCALE)
    claims.write_text(json.dumps(claimed), encoding="utf-8")
    device.close()
    return 0


def compare(claims: Path, table: Path) -> int:
    """One line a launch: claimed bytes, and each counter as a part of them."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith('"')]
    rows = [row for row in csv.DictReader(lines) if row["ID"]]
    for claim, row in zip(json.loads(claims.read_text(encoding="utf-8")), rows, strict=False):
        value = {metric: float(row.get(metric, "nan").replace(",", "") or "nan") for metric in METRICS}
        seconds, claimed = value["gpu__time_duration.sum"] * 1e-9, claim["bytes"]
        l2 = value["lts__t_sectors_srcunit_tex.sum"] * 32
        hit = value["lts__t_sectors_srcunit_tex_lookup_hit.sum"] * 32 / l2 if l2 else float("nan")
        print(
            f"{row['Kernel Name'][:26]:26} {claimed / 1e9:8.3f} GB {claimed / seconds / 1e12:7.3f} TB/s"
            f" | dram r {value['dram__bytes_read.sum'] / claimed:.4f} w {value['dram__bytes_write.sum'] / claimed:.4f}"
            f" | L2 sectors {l2 / claimed:.4f} hit {hit:.4f}"
            f" | to SMs {value['l1tex__m_xbar2l1tex_read_bytes.sum'] / claimed:.4f}"
            f" | L2 {value['lts__cycles_elapsed.avg.per_second'] / 1e9:.3f} GHz"
            f" | fabric {value['lts__t_sectors_srcunit_ltcfabric.sum'] * 32 / claimed:.4f}"
            f" busy {value['lts__ltcfabric2lts_cycles_active.avg.pct_of_peak_sustained_elapsed']:.0f}%"
            f" | slice max/avg {value['lts__t_sectors.max'] / value['lts__t_sectors.avg']:.3f}"
            f" out {value['lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed']:.1f}%"
            f" | SM bytes min/max {_ratio(value, 'l1tex__m_xbar2l1tex_read_bytes'):.3f}"
            f" active {_ratio(value, 'sm__cycles_active'):.3f}"
            f" | {' '.join(str(v) for k, v in claim['settings'].items() if k != 'kernel')}"
        )
    return 0


def _ratio(value: dict[str, float], counter: str) -> float:
    """The least of all units as a part of the most."""
    most = value[f"{counter}.max"]
    return value[f"{counter}.min"] / most if most else float("nan")


def main() -> int:
    """Dispatch."""
    match sys.argv[1:]:
        case ["metrics"]:
            print(",".join(METRICS))
            return 0
        case ["launch", claims, *levels]:
            return launch(Path(claims), tuple(levels) or ("hbm", "l2"))
        case ["compare", claims, table]:
            return compare(Path(claims), Path(table))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
