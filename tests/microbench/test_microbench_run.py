"""Complete calibrations on a GPU in plain Python: what is measured, chosen, refused and doubted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from roofctl.core.errors import DeviceError, InputError, RoofctlError, VerificationError
from roofctl.microbench import bench as benches
from roofctl.microbench import calibrate, memory, pycuda_device
from roofctl.microbench.bench import Bench, Round, Variant
from roofctl.microbench.calibrate import CalibrationRequest, session
from roofctl.microbench.device import BatchTiming, Job, KernelLaunch, Process
from roofctl.microbench.levels import LEVELS
from roofctl.microbench.outcomes import Absent, Ceiling, Outcome, Sweep
from roofctl.microbench.sampling import measure, scale_to
from roofctl.microbench.table import KERNELS, NO_TCGEN05

from support.fake_device import FakeDevice, FakeTools, facts


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FULL", "QUICK"):
        monkeypatch.setattr(
            benches,
            name,
            replace(getattr(benches, name), warm_seconds=0.0, sustain_seconds=0.3, rest_seconds=0.0, pause_seconds=0.0),
        )


def calibrated(
    device: FakeDevice, *levels: str, **request: object
) -> tuple[list[Outcome], tuple[tuple[str, RoofctlError], ...]]:
    heard: list[Outcome] = []
    with session(CalibrationRequest(levels=levels or LEVELS, **request), lambda: device, tools=FakeTools) as opened:  # type: ignore[arg-type]
        opened.measure(heard.append)
    assert opened.run.outcomes == tuple(heard)
    assert device.closed
    return heard, opened.failures


def ceilings(outcomes: list[Outcome]) -> dict[str, Ceiling]:
    return {outcome.name: outcome for outcome in outcomes if isinstance(outcome, Ceiling)}


# --- a healthy GPU ---


def test_every_level_of_a_hopper() -> None:
    device = FakeDevice()
    outcomes, failures = calibrated(device)
    assert failures == ()
    found = ceilings(outcomes)
    assert list(found) == [
        "hbm", "l2", "l1", "shared", "issue", "launch", "fp64", "fp32", "fp16", "bf16",
        "fp16_tc", "bf16_tc", "tf32_tc", "fp8_tc", "int8_tc", "fp64_tc",
    ]  # fmt: skip
    assert all(ceiling.sampled.result.samples >= 20 or name.endswith("_tc") for name, ceiling in found.items())
    assert all(c.mixes["issue"].result.samples >= 20 for name, c in found.items() if name.endswith("_tc"))
    assert not any(ceiling.sampled.reservations for name, ceiling in found.items() if not name.endswith("_tc"))
    assert found["fp32"].value == pytest.approx(66e12, rel=1e-3)
    assert device.held.keys() == {
        address for address in device.held if device.held[address] <= 64 or device.held[address] > 1e5
    }


def test_hbm_is_the_best_of_four_mixes_and_keeps_each() -> None:
    (hbm,) = ceilings(calibrated(FakeDevice(), "hbm")[0]).values()
    assert set(hbm.mixes) == {"read", "write", "copy", "triad"}
    assert hbm.chosen == "write"
    assert hbm.mixes["triad"].result.median == pytest.approx(4.4e12, rel=2e-3)
    assert hbm.mixes["copy"].settings["kernel"] == "driver's copy"
    assert hbm.theoretical is not None
    assert hbm.theoretical.origin == "pin rate"


def test_samples_are_at_least_ten_milliseconds() -> None:
    found = ceilings(calibrated(FakeDevice())[0])
    rates = [ceiling for ceiling in found.values() if ceiling.name != "launch"]
    assert all(s.sample_seconds >= 0.01 for ceiling in rates for s in ceiling.mixes.values())


def test_hbm_sweeps_block_width_and_working_set() -> None:
    outcomes, _ = calibrated(FakeDevice(), "hbm")
    sweeps = {outcome.what: outcome.series for outcome in outcomes if isinstance(outcome, Sweep)}
    assert [x for x, _ in sweeps["block"]["read"]] == [128, 256, 512, 1024]
    assert [x for x, _ in sweeps["width"]["triad"]] == [1, 2, 4, 8, 16]
    sets = [x for x, _ in sweeps["working set"]["past the L1"]]
    assert sets == sorted(sets)
    assert sets[0] < 3 << 20
    assert sets[-1] >= 4 * 62914560


def test_tensor_has_issue_and_sustained_and_the_latter_counts() -> None:
    (bf16,) = [c for c in ceilings(calibrated(FakeDevice(), "tensor")[0]).values() if c.name == "bf16_tc"]
    assert set(bf16.mixes) == {"issue", "sustained"}
    assert bf16.chosen == "sustained"
    sustained = bf16.mixes["sustained"]
    assert sustained.sample_seconds * sustained.result.samples >= 0.3


def test_the_fastest_variant_wins_and_the_others_stay_visible() -> None:
    device = FakeDevice()
    device.rates["hbm_read_w16_v2_cs"] = 4.7e12
    (hbm,) = ceilings(calibrated(device, "hbm")[0]).values()
    read = hbm.mixes["read"]
    assert (read.settings["vectors"], read.settings["policy"]) == (2, "cs")
    assert {probe.settings.get("policy") for probe in read.probes} == {"plain", "cs", "na", "pf", None}


def test_l2_sets_are_private_parts_between_the_shares() -> None:
    (l2,) = ceilings(calibrated(FakeDevice(), "l2")[0]).values()
    sets = {probe.settings["set_bytes"] for probe in l2.sampled.probes}
    assert min(sets) >= 16 << 20
    assert max(sets) <= 25.3e6


def test_quick_takes_a_tenth_and_is_marked() -> None:
    slow, fast = FakeDevice(), FakeDevice()
    calibrated(slow)
    found = ceilings(calibrated(fast, quick=True)[0])
    assert fast.seconds < slow.seconds / 2
    assert any("only 6 samples of 20" in text for text in found["l2"].sampled.reservations)


# --- other chips ---


@pytest.mark.parametrize(
    ("chip", "name", "kernels"),
    [
        ((7, 5), "Tesla T4", {"fp16_tc": "wmma_fp16", "int8_tc": "wmma_int8"}),
        ((8, 0), "NVIDIA A100-SXM4-80GB", {"tf32_tc": "mma_tf32", "fp64_tc": "mma_fp64_m8n8k4"}),
        ((8, 9), "NVIDIA L40S", {"fp8_tc": "mma_fp8"}),
    ],
)
def test_other_chips_use_their_own_instructions(chip: tuple[int, int], name: str, kernels: dict[str, str]) -> None:
    device = FakeDevice(facts(name=name, compute_capability=chip, sm_count=40, l2_bytes=6 << 20, bus_bits=5120))
    device.rates = {key: rate / 20 for key, rate in device.rates.items()}
    outcomes, failures = calibrated(device, "fp16", "tensor")
    assert failures == ()
    found = ceilings(outcomes)
    assert {ceiling: found[ceiling].sampled.settings["kernel"] for ceiling in kernels} == kernels
    assert all(KERNELS[kernel].runs_on(chip) for kernel in device.launched if kernel in KERNELS)


def test_blackwells_matrix_units_are_named_as_not_supported() -> None:
    device = FakeDevice(facts(name="NVIDIA B200", compute_capability=(10, 0), sm_count=148))
    outcomes, failures = calibrated(device, "tensor")
    assert failures == ()
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, Absent)} == {NO_TCGEN05}


# --- doubtful and wrong ---


def test_a_clock_that_moves_is_marked() -> None:
    device = FakeDevice(clocks_hz=(1.98e9, 1.98e9, 1.7e9))
    (fp64,) = ceilings(calibrated(device, "fp64")[0]).values()
    assert any("the SM clock moved" in text for text in fp64.sampled.reservations)
    assert fp64.sampled.retaken == 5


def test_a_single_slow_sample_is_taken_again() -> None:
    device = FakeDevice(clocks_hz=[1.98e9] * 60 + [1.7e9])
    (fp64,) = ceilings(calibrated(device, "fp64")[0]).values()
    assert fp64.sampled.reservations == ()
    assert fp64.sampled.retaken <= 1


def test_issue_is_measured_in_bursts_and_sustained_without_a_pause() -> None:
    pauses: list[float] = []
    device = FakeDevice()
    with session(CalibrationRequest(levels=("tensor",)), lambda: device, tools=FakeTools) as opened:
        opened.bench.effort = replace(opened.bench.effort, rest_seconds=0.5, pause_seconds=0.06)
        opened.bench.sleep = pauses.append
        opened.measure(lambda _: None)
    for ceiling in opened.run.ceilings:
        assert ceiling.mixes["issue"].manner == "bursts, each after a pause of 60 ms"
        assert ceiling.mixes["issue"].sample_seconds >= 0.01
        assert ceiling.mixes["sustained"].manner.startswith("sustained for 0.3")
    # Twenty samples and the finals of each type; a rest before each of the two measurements.
    assert pauses.count(0.06) >= 20 * 6
    assert pauses.count(0.5) == 2 * 6


def test_time_is_taken_behind_a_wait_so_that_queueing_does_not_count() -> None:
    device = FakeDevice()
    leads: list[Sequence[Job]] = []
    timed = device.time

    def time(jobs: Sequence[Job], lead: Sequence[Job] = ()) -> BatchTiming:
        leads.append(lead)
        return timed(jobs, lead)

    device.time = time  # type: ignore[method-assign]
    calibrated(device, "l1")
    assert leads
    assert all(job.kernel == "clock_probe" for lead in leads for (job,) in [lead] if isinstance(job, KernelLaunch))


def test_the_final_decides_between_probes_that_are_close() -> None:
    """A probe may be lucky; the finalists are compared over several longer samples."""
    device = FakeDevice()
    bench = Bench(device, FakeTools("sm_90a"), sleep=lambda _: None)  # type: ignore[arg-type]
    seen: list[int] = []
    seconds = {1: iter([0.009] * 2 + [0.02] * 99), 2: iter([0.01] * 99)}

    def time(jobs: Sequence[Job], lead: Sequence[Job] = ()) -> BatchTiming:
        (job,) = jobs
        assert isinstance(job, KernelLaunch)
        seen.append(job.grid)
        return BatchTiming(next(seconds[job.grid]) * job.values[0])

    device.time = time  # type: ignore[method-assign]
    device._compute = device._takes = lambda _job: 0.0  # type: ignore[method-assign, assignment, return-value]

    def variant(number: int) -> Variant:
        def round_of(scale: int) -> Round:
            return Round((KernelLaunch("x.cu", "x", number, 1, "I", (scale,)),), scale)

        return Variant({"number": number}, round_of, lambda *, full: None)

    device._bytes[bench.clocks] = bytes(16)
    chosen = measure(bench, "x", [variant(1), variant(2)])
    assert chosen.settings == {"number": 2}


def test_a_spread_is_marked() -> None:
    device = FakeDevice(noise=(1.0, 1.0, 1.1, 1.0))
    (l1,) = ceilings(calibrated(device, "l1")[0]).values()
    assert any("samples spread over" in text for text in l1.sampled.reservations)


@pytest.mark.parametrize(
    ("level", "kernel"),
    [
        ("hbm", "hbm_write_w16_v4"),
        ("hbm", "hbm_read_w16"),
        ("hbm", "hbm_triad"),
        ("hbm", "hbm_bulk_copy"),
        ("l2", "l2_read_u8"),
        ("l1", "l1_read_w4"),
        ("shared", "shared_copy"),
        ("fp32", "fp32_s32"),
        ("fp64", "fp64"),
        ("fp16", "bf16_s32"),
        ("issue", "issue_mix"),
        ("tensor", "wgmma_bf16_rs"),
        ("tensor", "mma_fp64"),
    ],
)
def test_a_wrong_result_is_an_error_never_a_number(level: str, kernel: str) -> None:
    outcomes, failures = calibrated(FakeDevice(spoil=kernel, spoil_with=7.0), level)
    ((failed, error),) = failures
    assert failed == level
    assert isinstance(error, VerificationError)
    assert error.exit_code == 6
    assert kernel in error.message
    wrong = {"bf16_s32": "bf16", "wgmma_bf16_rs": "bf16_tc", "mma_fp64": "fp64_tc"}.get(kernel, level)
    assert wrong not in ceilings(outcomes)


@pytest.mark.parametrize(("level", "kernel"), [("fp32", "fp32_s16"), ("tensor", "wgmma_fp16_ss")])
def test_nan_is_a_wrong_result(level: str, kernel: str) -> None:
    _, failures = calibrated(FakeDevice(spoil=kernel, spoil_with=float("nan")), level)
    assert "nan, expected" in failures[0][1].message


def test_a_rate_above_the_hardware_is_an_error_in_method() -> None:
    device = FakeDevice()
    device.rates["l2"] = 12.9e12
    outcomes, ((level, error),) = calibrated(device, "l2", "l1")
    assert level == "l2"
    assert "above the hardware's limit of 10.28 TB/s" in error.message
    assert set(ceilings(outcomes)) == {"l1"}


def test_ctrl_c_keeps_finished_levels_and_frees_the_rest() -> None:
    device = FakeDevice(stop_before="l1")
    heard: list[Outcome] = []
    with session(CalibrationRequest(levels=("l2", "l1")), lambda: device, tools=FakeTools) as opened:
        with pytest.raises(KeyboardInterrupt):
            opened.measure(heard.append)
        assert [ceiling.name for ceiling in opened.run.ceilings] == ["l2"]
        assert opened.run.temperatures_celsius == (41.0, 41.0)
    assert device.closed


def test_out_of_memory_in_one_level_leaves_the_others() -> None:
    device = FakeDevice(available=900_000_000)
    outcomes, failures = calibrated(device, "hbm", "fp64")
    assert failures[0][0] == "hbm"
    assert isinstance(failures[0][1], DeviceError)
    assert "fp64" in ceilings(outcomes)


def test_a_kernel_that_does_not_build_fails_its_level_only() -> None:
    def broken(source: str) -> None:
        if source == "l2.cu":
            raise DeviceError("kernels/l2.cu does not build for sm_90a")

    device = FakeDevice()
    with session(
        CalibrationRequest(levels=("l2", "l1")), lambda: device, tools=lambda arch: FakeTools(arch, broken)
    ) as opened:  # type: ignore[arg-type, return-value]
        opened.measure(lambda _: None)
    assert opened.failures[0][0] == "l2"
    assert [ceiling.name for ceiling in opened.run.ceilings] == ["l1"]


# --- before anything is measured ---


def refused(device: FakeDevice, **request: object) -> RoofctlError:
    with pytest.raises(RoofctlError) as caught, session(CalibrationRequest(**request), lambda: device, tools=FakeTools):  # type: ignore[arg-type]
        pass
    assert device.closed
    assert device.launched == []
    return caught.value


def test_another_gpus_profile() -> None:
    error = refused(FakeDevice(), profile="a100-80gb")
    assert isinstance(error, InputError)
    assert "NVIDIA H200" in error.message
    assert "a100-sxm4-80gb" in error.message


def test_mig() -> None:
    assert "MIG" in refused(FakeDevice(facts(mig=True))).message


@pytest.mark.parametrize("arch", ["sm_80", "sm_100", "120"])
def test_an_architecture_that_the_gpu_cannot_run(arch: str) -> None:
    assert f"cannot run code built for sm_{arch.removeprefix('sm_')}" in refused(FakeDevice(), arch=arch).message


def test_the_gpus_own_architecture_may_be_named() -> None:
    with session(CalibrationRequest(arch="sm_90"), FakeDevice, tools=FakeTools) as opened:
        assert opened.run.arch == "sm_90a"


def test_other_processes_are_named() -> None:
    device = FakeDevice(others=(Process(77, "/usr/bin/train"), Process(78, "python3")))
    with session(CalibrationRequest(), lambda: device, tools=FakeTools) as opened:
        (doubt,) = opened.doubts
    assert "/usr/bin/train (77), python3 (78)" in doubt


def test_a_card_that_differs_from_its_profile_is_doubted() -> None:
    device = FakeDevice(facts(sm_count=128, bus_bits=5120, memory_clock_hz=2.6e9))
    with session(CalibrationRequest(), lambda: device, tools=FakeTools) as opened:
        assert [text.split(",")[0] for text in opened.doubts] == [
            "the GPU has 128 SMs",
            "the driver reports a memory bus of 5120",
            "the driver reports a memory clock (MHz) of 2600",
        ]


# --- the pieces ---


def variant_of(seconds_per_unit: float) -> tuple[FakeDevice, Variant]:
    device = FakeDevice()
    device._takes = lambda job: seconds_per_unit * job.values[0]  # type: ignore[method-assign, union-attr]
    device._compute = lambda _job: None  # type: ignore[method-assign]

    def round_of(scale: int) -> Round:
        return Round((KernelLaunch("x.cu", "x", 1, 1, "I", (scale,)),), scale)

    return device, Variant({}, round_of, lambda *, full: None)


@pytest.mark.parametrize("unit", [1e-8, 1e-6, 3e-4, 0.02])
def test_scale_reaches_the_wanted_time(unit: float) -> None:
    device, variant = variant_of(unit)
    scale, seconds = scale_to(Bench(device, FakeTools("sm_90a")), variant, 0.011)
    assert 0.011 <= seconds <= max(0.011 * 1.2, unit)
    assert scale == pytest.approx(seconds / unit, rel=0.01)


def test_scale_gives_up_on_a_job_without_work() -> None:
    device, variant = variant_of(0.0)
    assert scale_to(Bench(device, FakeTools("sm_90a")), variant, 0.011)[0] == 1 << 22


def test_nothing_to_run_is_an_error() -> None:
    bench = Bench(FakeDevice(), FakeTools("sm_90a"))  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match="nothing to run"):
        measure(bench, "fp128", [])


def test_memory_is_given_back_when_one_allocation_fails() -> None:
    device = FakeDevice(available=100)
    bench = Bench(device, FakeTools("sm_90a"))  # type: ignore[arg-type]
    with pytest.raises(DeviceError), bench.memory(60, 60):
        pass
    assert device.available == 100


def test_poison_shows_what_was_not_written() -> None:
    """A kernel that writes nothing leaves the poison, and the check sees it."""
    device = FakeDevice(spoil="hbm_write")
    bench = Bench(device, FakeTools("sm_90a"))  # type: ignore[arg-type]
    with memory.arrays(bench) as slab, pytest.raises(VerificationError):
        memory.variants(bench, slab, "write")[0].verify(full=False)


# --- opening a device ---


class Driver:
    """A pycuda.driver of which only the beginning works."""

    class Error(Exception):
        pass

    class Device:
        @staticmethod
        def count() -> int:
            return 2

    def __init__(self, problem: str = "") -> None:
        self._problem = problem

    def init(self) -> None:
        if self._problem:
            raise self.Error(self._problem)


@pytest.fixture
def pycuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[object], None]]:
    def install(result: object) -> None:
        def load(name: str) -> object:
            assert name == "pycuda.driver"
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(pycuda_device.importlib, "import_module", load)

    return install  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("result", "message", "hint"),
    [
        (ImportError("No module named 'pycuda'"), "pycuda cannot be used", "roofctl\\[gpu\\]"),
        (ImportError("libcuda.so.1: cannot open shared object file"), "no NVIDIA driver", "install the driver"),
        (Driver("cuInit failed: no CUDA-capable device is detected"), "CUDA finds no GPU", "nvidia-smi"),
        (
            Driver("cuInit failed: system has unsupported display driver"),
            "too old or does not fit",
            "update the driver",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(
    pycuda: Callable[[object], None], result: object, message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roofctl.core.driver.has_driver", lambda: True)
    pycuda(result)
    with pytest.raises(DeviceError, match=message) as caught:
        pycuda_device.open_device()
    assert re.search(hint, caught.value.hint)


def test_without_a_driver_that_is_the_first_error(
    pycuda: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roofctl.core.driver.has_driver", lambda: False)
    pycuda(ImportError("No module named 'pycuda'"))
    with pytest.raises(DeviceError, match="no NVIDIA GPU here that calibrate could use") as caught:
        pycuda_device.open_device()
    assert "roofctl doctor" in caught.value.hint


def test_a_gpu_that_is_not_there(pycuda: Callable[[object], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roofctl.core.driver.has_driver", lambda: True)
    pycuda(Driver())
    with pytest.raises(DeviceError, match="there is no GPU 5: CUDA sees 2 GPUs"):
        pycuda_device.open_device(5)


def test_microbench_can_be_imported_without_a_gpu() -> None:
    assert calibrate.LEVELS == LEVELS
