"""Which variant of each microbenchmark is the fastest on this GPU, and by how much: every variant, many samples.

usage: python benchmarks/tune.py [--out FILE.json] [--rows N] [SECTION...]
Sections: hbm sizes l2 l1 shared fma tensor. A variant that fails is listed with its error.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from roofctl.core.errors import RoofctlError
from roofctl.cuda.toolchain import Toolchain, arch_of
from roofctl.microbench import arithmetic, caches, memory, tensor
from roofctl.microbench.bench import Bench, Variant, describe
from roofctl.microbench.levels import LEVELS, sources_for
from roofctl.microbench.pycuda_device import open_device
from roofctl.microbench.sampling import scale_to
from roofctl.microbench.table import MIXES, POLICIES, TENSOR_TYPES

GIB = 1 << 30


def sampled(bench: Bench, variant: Variant, seconds: float, samples: int, warm: float) -> dict[str, Any]:
    """Median, best and clock of one variant; its error where it fails."""
    try:
        variant.verify(full=False)
        scale, _ = scale_to(bench, variant, seconds)
        batch = variant.round_of(scale)
        until = time.monotonic() + warm
        while time.monotonic() < until:
            bench.device.run(batch.jobs)
        rates, clocks = [], []
        for _ in range(samples):
            rates.append(batch.work / bench.time(batch.jobs).seconds)
            clocks.append((bench.clock_hz() or 0.0) if variant.clocked else 0.0)
    except RoofctlError as error:
        return {"what": describe(variant.settings), "error": error.message[:300]}
    return {
        "what": describe(variant.settings),
        "median": statistics.median(rates),
        "best": max(rates),
        "worst": min(rates),
        "mhz": statistics.median(clocks) / 1e6,
        "scale": scale,
    }


class Tuner:
    """Runs sections and prints the best rows of each."""

    def __init__(self, bench: Bench, rows: int) -> None:
        self.bench = bench
        self.rows = rows
        self.all: dict[str, list[dict[str, Any]]] = {}

    def table(
        self, title: str, variants: Sequence[Variant], *, seconds: float = 0.011, samples: int = 5, warm: float = 0.0
    ) -> None:
        """Sample every variant and print the best."""
        found = [sampled(self.bench, variant, seconds, samples, warm) for variant in variants]
        self.all[title] = found
        good = sorted((f for f in found if "median" in f), key=lambda f: -f["median"])
        print(f"== {title}: {len(good)} of {len(found)} ran")
        for f in good[: self.rows]:
            clock = f" {f['mhz']:.0f}MHz" if f["mhz"] else ""
            print(
                f"{f['median'] / 1e12:9.4f} best {f['best'] / 1e12:.4f}"
                f" worst {f['worst'] / 1e12:.4f}{clock} {f['what']}"
            )
        for message in dict.fromkeys(f["error"] for f in found if "error" in f):
            print(f"   FAILED {next(f['what'] for f in found if f.get('error') == message)}: {message}")
        sys.stdout.flush()

    def hbm(self) -> None:
        """Every shape and policy of the plain kernels and the bulk ones."""
        with memory.arrays(self.bench) as slab:
            for mix in MIXES:
                self.table(f"hbm {mix}", memory.variants(self.bench, slab, mix, POLICIES[mix]), samples=3)

    def sizes(self) -> None:
        """The same shapes over smaller and larger working sets."""
        for gib in (2, 4, 8, 16, 32, 64):
            self.bench.size_bytes = gib * GIB
            with memory.arrays(self.bench) as slab:
                for mix in MIXES:
                    some = [v for v in memory.variants(self.bench, slab, mix) if _interesting(v)]
                    self.table(f"{gib} GiB {mix}", some, samples=3)
        self.bench.size_bytes = None

    def l2(self) -> None:
        """Every shape and set."""
        walks = caches.l2_walks(self.bench, self.bench.device.facts.l2_bytes)
        with caches.filled(self.bench, max(caches.walk_bytes(self.bench, walk) for walk in walks)) as buffer:
            self.table("l2", [caches.walk_variant(self.bench, buffer, walk) for walk in walks])

    def l1(self) -> None:
        """Every width and CTA shape."""
        with caches.filled(self.bench, caches.l1_buffer_bytes(self.bench.device.facts.sm_count)) as buffer:
            self.table("l1", caches.l1_variants(self.bench, buffer), seconds=0.02)

    def shared(self) -> None:
        """Every width and mix."""
        for mix in caches.SHARED_MIXES:
            self.table(f"shared {mix}", caches.shared_variants(self.bench, mix), seconds=0.02)

    def fma(self) -> None:
        """Loop lengths and CTA shapes."""
        for kind in arithmetic.KINDS:
            self.table(kind, arithmetic.variants(self.bench, kind), warm=0.05)
        self.table("issue", arithmetic.issue_variants(self.bench), warm=0.05)

    def tensor(self) -> None:
        """Operand forms and warpgroups: zeros, then a second of random numbers."""
        for kind in TENSOR_TYPES:
            if tensor.kernels_for(kind, self.bench.device.facts.compute_capability):
                for zeros in (True, False):
                    with tensor.operands(self.bench, kind, zeros=zeros) as held:
                        variants = tensor.variants(self.bench, kind, held)
                        title = f"{kind} {'zeros' if zeros else 'random'}"
                        self.table(title, variants, seconds=0.025, samples=10, warm=0.3 if zeros else 1.0)


def _interesting(variant: Variant) -> bool:
    settings = variant.settings
    return settings["kernel"] != "loads" or (settings["vectors"], settings["block"]) in (
        (1, 512),
        (1, 1024),
        (4, 256),
        (2, 512),
    )


def main() -> int:
    """Run the sections asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=int, default=4)
    arguments = parser.parse_args()
    device = open_device()
    tools = Toolchain.find(arch_of(device.facts.compute_capability))
    tools.start(sources_for(LEVELS, device.facts.compute_capability))
    tuner = Tuner(Bench(device, tools), arguments.rows)
    print(device.facts)
    for name in arguments.sections or ("hbm", "sizes", "l2", "l1", "shared", "fma", "tensor"):
        begun = time.monotonic()
        section: Callable[[], None] = getattr(tuner, name)
        try:
            section()
        except RoofctlError as error:
            print(f"   FAILED {name}: {error.message}")
        print(f"-- {name} took {time.monotonic() - begun:.1f} s")
        if arguments.out:
            arguments.out.write_text(json.dumps(tuner.all, indent=1), encoding="utf-8")
    device.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
