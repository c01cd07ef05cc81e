"""On a real GPU: every kernel computes what the host says, and a quick calibration gives sane ceilings."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from roofctl.core.errors import DeviceError, InputError, VerificationError
from roofctl.cuda.toolchain import Toolchain, arch_of
from roofctl.microbench import arithmetic, caches, identify, launch, memory, reference, tensor
from roofctl.microbench.bench import Bench, Variant
from roofctl.microbench.calibrate import CalibrationRequest, session
from roofctl.microbench.checks import check_memory
from roofctl.microbench.device import ComputeDevice
from roofctl.microbench.gate import gate
from roofctl.microbench.levels import LEVELS, sources_for
from roofctl.microbench.outcomes import Ceiling, Outcome
from roofctl.microbench.pycuda_device import open_device
from roofctl.microbench.table import MIXES, POLICIES, TENSOR_TYPES

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> Iterator[ComputeDevice]:
    try:
        opened = open_device()
    except DeviceError as error:
        pytest.skip(f"no GPU to test on: {error.message}")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def bench(device: ComputeDevice) -> Bench:
    capability = device.facts.compute_capability
    tools = Toolchain.find(arch_of(capability))
    tools.start(sources_for(LEVELS, capability))
    return Bench(device, tools)


def verify_all(variants: list[Variant]) -> None:
    assert variants
    for variant in variants:
        variant.verify(full=True)


@pytest.mark.parametrize("mix", MIXES)
def test_memory_kernels_agree_with_the_host(bench: Bench, mix: str) -> None:
    with memory.arrays(bench) as slab:
        small = memory.Arrays(slab.address, 1 << 28)
        verify_all(memory.variants(bench, small, mix, POLICIES[mix]) + memory.width_variants(bench, small, mix))


@pytest.mark.parametrize("mix", MIXES)
def test_large_sets_are_covered_to_the_last_element(bench: Bench, mix: str) -> None:
    """Beyond 2^32 bytes an index that is too narrow would show."""
    with memory.arrays(bench) as slab:
        verify_all(memory.variants(bench, slab, mix)[:1])


def test_cache_kernels_agree_with_the_host(bench: Bench) -> None:
    walks = caches.l2_walks(bench, bench.device.facts.l2_bytes)
    with caches.filled(bench, max(caches.walk_bytes(bench, walk) for walk in walks)) as buffer:
        verify_all([caches.walk_variant(bench, buffer, walk) for walk in walks])
    with caches.filled(bench, caches.l1_buffer_bytes(bench.device.facts.sm_count)) as buffer:
        verify_all(caches.l1_variants(bench, buffer))
    for mix in caches.SHARED_MIXES:
        verify_all(caches.shared_variants(bench, mix))


@pytest.mark.parametrize("kind", arithmetic.KINDS)
def test_chains_agree_with_the_host(bench: Bench, kind: str) -> None:
    if not bench.supports(f"{kind}_s32"):
        pytest.skip(f"this chip has no {kind}")
    verify_all(arithmetic.variants(bench, kind))


def test_issue_kernels_agree_with_the_host(bench: Bench) -> None:
    verify_all(arithmetic.issue_variants(bench))


@pytest.mark.parametrize("kind", TENSOR_TYPES)
def test_matrix_kernels_agree_with_the_host(bench: Bench, kind: str) -> None:
    if not tensor.kernels_for(kind, bench.device.facts.compute_capability):
        pytest.skip(tensor.why_none(kind, bench.device.facts.compute_capability))
    for zeros in (False, True):
        with tensor.operands(bench, kind, zeros=zeros) as held:
            verify_all(tensor.variants(bench, kind, held))


def test_launches_are_queued_ahead_and_a_graph_is_no_slower(bench: Bench) -> None:
    stream, single, graph = launch.stream(bench), launch.single(bench), launch.graph(bench)
    for sampled in (stream, single, graph):
        assert sampled.settings["queued_in_ms"] < sampled.settings["wait_ms"]
        assert 2e-7 < sampled.result.median < 2e-5
    assert stream.reservations == ()
    assert graph.result.median < 1.1 * stream.result.median
    assert stream.result.median < 1.1 * single.result.median


def test_a_wrong_memory_is_seen(bench: Bench) -> None:
    """The check fails on one wrong byte in the middle, where the host does not look itself."""
    with memory.arrays(bench) as slab:
        (variant, *_) = memory.variants(bench, memory.Arrays(slab.address, 1 << 28), "write")
        variant.verify(full=True)
        bench.device.set_bytes(slab.address + (1 << 27), 0x5A, 1)
        with pytest.raises(VerificationError, match="1 of"):
            check_memory(bench, slab.address, (1 << 28) // 4, 4, line=reference.PATTERN, what="write")


def test_kernel_watch_and_probe_give_the_same_clock(bench: Bench) -> None:
    (variant, *_) = arithmetic.variants(bench, "fp32")
    batch = variant.round_of(20_000)
    for _ in range(5):
        bench.device.run(batch.jobs)
    watched = bench.clock_hz()
    bench.device.run([bench.helper("clock_probe", bench.clocks, 1_000_000, grid=1, block=1)])
    probed = bench.clock_hz()
    assert watched is not None
    assert probed is not None
    assert watched == pytest.approx(probed, rel=0.02)
    assert 2e8 < watched < 4e9


def test_too_large_an_allocation_names_both_numbers(device: ComputeDevice) -> None:
    with pytest.raises(DeviceError, match=r"out of device memory: [\d,]+ MB asked for, [\d,]+ MB free"):
        device.allocate(1 << 45)


def test_download_is_what_was_uploaded(device: ComputeDevice) -> None:
    address = device.allocate(4096)
    data = struct.pack("<512d", *range(512))
    device.upload(address, data)
    assert device.download(address, 4096) == data
    device.set_bytes(address, 7, 16)
    assert device.download(address, 17) == b"\7" * 16 + data[16:17]
    device.free(address)


def test_quick_calibration_of_this_gpu(device: ComputeDevice) -> None:
    """Every ceiling is between 60 % of the theoretical and the limit; no level fails."""
    try:
        profile = identify.choose_profile("auto", device.facts).profile
    except InputError as error:
        pytest.skip(error.message)
    heard: list[Outcome] = []
    with session(CalibrationRequest(quick=True), open_device) as opened:
        opened.measure(heard.append)
    assert opened.failures == ()
    for ceiling in (outcome for outcome in heard if isinstance(outcome, Ceiling)):
        assert (
            gate(ceiling.theoretical, ceiling.value, ceiling.unit, ceiling.sm_clock_hz, ceiling.name, profile.name)
            == ""
        ), ceiling.name
