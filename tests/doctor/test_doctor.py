"""Doctor: readers of texts and judgements, by table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofctl.core import gpu as smi
from roofctl.core.errors import CounterAccessError, DeviceError, ToolError
from roofctl.core.gpu import QUERY_FIELDS, Gpu, gpu_of
from roofctl.doctor import all_checks, checks, choice, document, exit_code, gpus, problem
from roofctl.doctor import machine as facts
from roofctl.doctor.machine import CudaDevice, CudaDriver, Devices, LockFile, MachineState, Package, Permission, Program
from roofctl.doctor.outcome import Check, fail, ok, warn

H200 = Gpu(
    "NVIDIA H200",
    "9.0",
    index=0,
    uuid="GPU-1",
    sm_count=132,
    mig=False,
    ecc=True,
    sm_clock_hz=345e6,
    max_sm_clock_hz=1980e6,
    memory_clock_hz=3201e6,
    max_memory_clock_hz=3201e6,
    application_clock_hz=1980e6,
    default_application_clock_hz=1980e6,
    clock_reasons=1,
    memory_bytes=143771 * 2**20,
    utilization_percent=0.0,
    matches=("h200",),
    match_reason="the device name NVIDIA H200",
)
NCU = Program("ncu", "/opt/ncu", "2025.3.1")
NVPROF = Program("nvprof", "/opt/nvprof", "11.8.87")
CHIPS_2025_3 = frozenset({"ad102", "ga100", "ga102", "ga10b", "gb100", "gb10b", "gb202", "gh100", "tu102"})


def machine(*gpus: Gpu, **changes: Any) -> MachineState:
    """A healthy machine with these GPUs."""
    healthy = MachineState(
        "node7",
        Devices(gpus, "nvidia-smi", "580.159.04"),
        CudaDriver("13.0", tuple(CudaDevice(g.name, g.uuid or "", g.compute_capability or "", 1) for g in gpus)),
        ncu=NCU,
        permission=Permission(admin_only=False),
    )
    return replace(healthy, **changes)


def of(what: str, found: list[Check]) -> Check:
    return next(check for check in found if check.what == what)


# Readers of texts.


@pytest.mark.parametrize(
    ("cell", "seen"),
    [
        ("NVIDIA H200", "NVIDIA H200"),
        (" 9.0 ", "9.0"),
        *[(text, None) for text in ("[N/A]", "N/A", "NA", "[Not Found]", "Not Found", "[Not Supported]", "", None)],
        *[(text, None) for text in ("[Unknown Error]", "[GPU requires reset]", "[Insufficient Permissions]", "None")],
        ("[Requested functionality has been deprecated]", None),
    ],
)
def test_a_cell_without_a_value_is_not_known(cell: str | None, seen: str | None) -> None:
    assert smi.cell(cell) == seen


@pytest.mark.parametrize(
    ("cell", "seen"), [("345", 345e6), ("345 MHz", 345e6), ("0", 0.0), ("[N/A]", None), ("12abc", None), (1980, 1980e6)]
)
def test_a_missing_value_never_becomes_a_number(cell: object, seen: float | None) -> None:
    assert smi.number(cell, 1e6) == seen


def test_a_jetson_row_is_a_gpu_of_which_little_is_known() -> None:
    row = dict.fromkeys(QUERY_FIELDS, "[N/A]") | {"index": "0", "name": "Orin (nvgpu)", "ecc.mode.current": "N/A"}

    assert gpu_of(row) == Gpu("Orin (nvgpu)", index=0)


def test_a_full_row_becomes_base_units() -> None:
    cells = (
        "1, NVIDIA H200, GPU-1, 580.1, 9.0, Disabled, Enabled, 345, 1980, 3201, 3201, 1980, 1980, "
        "0x0000000000000001, 143771, 0, 0"
    )

    (row,) = smi.rows(cells, QUERY_FIELDS)
    gpu = gpu_of(row)

    assert (gpu.index, gpu.uuid, gpu.mig, gpu.ecc, gpu.clock_reasons) == (1, "GPU-1", False, True, 1)
    assert (gpu.sm_clock_hz, gpu.max_memory_clock_hz, gpu.memory_bytes) == (345e6, 3201e6, 143771 * 2**20)


def test_lines_that_are_no_rows_are_passed_over() -> None:
    assert smi.rows("WARNING: infoROM is corrupted\n0, A\n\n", ("index", "name")) == [{"index": "0", "name": "A"}]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('RmMsg: ""\nRmProfilingAdminOnly: 1\n', True),
        ("RmProfilingAdminOnly: 0\n", False),
        ("Other: 1\n", None),
        ("", None),
    ],
)
def test_driver_parameter(text: str, seen: bool | None) -> None:
    assert facts.admin_only(text) is seen


@pytest.mark.parametrize(
    ("capabilities", "seen"),
    [("000001ffffffffff", True), ("00000000a80425fb", False), ("0000000000200000", True), ("0000000000000000", False)],
)
def test_admin_capability_is_one_bit(capabilities: str, seen: bool) -> None:
    assert facts.admin_capability(f"Name:\tx\nCapEff:\t{capabilities}\n") is seen


def test_process_status_without_capabilities_is_not_known() -> None:
    assert facts.admin_capability("Name: x\n") is None
    assert facts.is_root("Uid:\t1000\t0\t0\t0\n")
    assert not facts.is_root("Uid:\t0\t1000\t0\t0\n")
    assert not facts.is_root("")


@pytest.mark.parametrize(
    ("text", "seen"), [("         0          0 4294967295\n", False), ("0 1000 1\n1 100000 65536\n", True), ("", False)]
)
def test_user_namespace(text: str, seen: bool) -> None:
    assert facts.in_user_namespace(text) is seen


@pytest.mark.parametrize(
    "text",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Oct 7\nGCC version: 12",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x)",
    ],
)
def test_kernel_module_version(text: str) -> None:
    assert facts.kernel_driver_version(text) == "580.159.04"
    assert facts.kernel_driver_version("") is None


def test_cuda_completes_what_nvidia_smi_leaves_open() -> None:
    cuda = CudaDriver("12.6", (CudaDevice("Orin", "GPU-x", "8.7", 16),))

    (gpu,) = facts.with_cuda(Devices((Gpu("Orin (nvgpu)", index=0),), "nvidia-smi"), cuda).gpus
    alone = facts.with_cuda(Devices(), cuda)

    assert (gpu.name, gpu.compute_capability, gpu.sm_count) == ("Orin (nvgpu)", "8.7", 16)
    assert (alone.source, alone.gpus[0].name, alone.gpus[0].sm_count) == ("the CUDA driver", "Orin", 16)


def test_cuda_devices_are_matched_by_uuid_whatever_their_order() -> None:
    listed = Devices(
        (Gpu("A", index=0, uuid="GPU-a"), Gpu("B", index=1, uuid="GPU-b"), Gpu("C", index=2, uuid="GPU-c"))
    )
    cuda = CudaDriver("13.0", (CudaDevice("B", "GPU-b", "9.0", 132), CudaDevice("A", "GPU-a", "8.0", 108)))

    assert [gpu.sm_count for gpu in facts.with_cuda(listed, cuda).gpus] == [108, 132, None]


# Judgements.


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [
        (Permission(admin_only=False), True),
        (Permission(admin_only=False, admin_capability=False), True),
        (Permission(admin_only=True, root=True, admin_capability=True), True),
        (Permission(admin_only=True, root=True, admin_capability=None), True),
        (Permission(admin_only=True, root=False, admin_capability=True), True),
        (Permission(admin_only=True, root=True, admin_capability=False), False),
        (Permission(admin_only=True, root=False, admin_capability=False), False),
        (Permission(admin_only=True, root=True, admin_capability=True, user_namespace=True), False),
        (Permission(admin_only=None, root=True, admin_capability=True), True),
        (Permission(admin_only=None, root=True, admin_capability=True, user_namespace=True), None),
        (Permission(admin_only=None, root=False, admin_capability=False), None),
    ],
)
def test_permission_is_predicted(permission: Permission, allowed: bool | None) -> None:
    check = checks.permission_check(permission, "node7", gpus=True)

    assert checks.predicted(permission)[0] is allowed
    assert check.status == {True: "ok", False: "fail", None: "warn"}[allowed]
    assert "node7" in check.value


def test_denied_counters_come_with_three_remedies() -> None:
    check = checks.permission_check(Permission(admin_only=True, admin_capability=False), "node7", gpus=True)

    assert check.cause == "counters"
    for remedy in ("root", "NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN"):
        assert remedy in check.fix


def test_permission_on_windows_is_windows_business() -> None:
    check = checks.permission_check(Permission(wsl=True, admin_capability=False), "node7", gpus=True)

    assert check.status == "warn"
    assert "Control Panel" in check.fix


OLD_NCU = Program("ncu", "/opt/ncu", "2022.3.0")
NO_NCU = Program("ncu", problem="not on PATH")
NO_NVPROF = Program("nvprof", problem="not on PATH")


@pytest.mark.parametrize(
    ("capability", "ncu", "chips", "nvprof", "status", "says"),
    [
        ("6.1", NCU, CHIPS_2025_3, NVPROF, "ok", "nvprof 11.8.87"),
        ("6.1", NCU, None, NO_NVPROF, "fail", "below 7.0"),
        ("7.0", OLD_NCU, None, NO_NVPROF, "ok", "ncu 2022.3.0"),
        ("7.0", OLD_NCU, frozenset({"gv100"}), NVPROF, "ok", "ncu 2022.3.0"),
        ("7.0", NCU, CHIPS_2025_3, NVPROF, "ok", "nvprof 11.8.87"),
        ("7.0", NCU, None, NO_NVPROF, "fail", "no longer supports Volta"),
        ("7.2", NO_NCU, None, NVPROF, "ok", "nvprof 11.8.87"),
        ("7.5", NCU, CHIPS_2025_3, NVPROF, "ok", "ncu 2025.3.1"),
        ("9.0", NO_NCU, None, NVPROF, "fail", "not on PATH"),
        ("12.0", OLD_NCU, frozenset({"gh100"}), NO_NVPROF, "fail", "does not know gb202"),
        ("12.0", NCU, CHIPS_2025_3, NO_NVPROF, "ok", "ncu 2025.3.1"),
        ("99.0", NCU, CHIPS_2025_3, NO_NVPROF, "ok", "ncu 2025.3.1"),
        (None, NCU, CHIPS_2025_3, NO_NVPROF, "warn", "compute capability not known"),
    ],
)
def test_which_profiler_applies(
    capability: str | None,
    ncu: Program,
    chips: frozenset[str] | None,
    nvprof: Program,
    status: str,
    says: str,
) -> None:
    gpu = replace(H200, compute_capability=capability)
    found = list(choice.profiler_checks(machine(gpu, ncu=ncu, ncu_chips=chips, nvprof=nvprof)))

    check = of("profiler of GPU 0", found)
    assert check.status == status
    assert says in check.value
    assert (check.cause == "tool") == (status == "fail")


def test_volta_with_a_new_ncu_gets_both_remedies() -> None:
    facts_here = machine(replace(H200, compute_capability="7.0"), ncu_chips=CHIPS_2025_3)

    fix = of("profiler of GPU 0", list(choice.profiler_checks(facts_here))).fix

    assert "nvprof" in fix or "CUDA toolkit before 13" in fix
    assert "ncu before 2025.3" in fix


@pytest.mark.parametrize(
    ("capabilities", "name", "broken", "status"),
    [
        (["9.0"], "ncu", False, "fail"),
        (["9.0"], "nvprof", False, "ok"),
        (["9.0"], "nvprof", True, "warn"),
        (["6.0"], "nvprof", False, "fail"),
        (["6.0"], "ncu", False, "ok"),
        (["6.0", "9.0"], "nvprof", True, "fail"),
        ([], "ncu", False, "warn"),
        ([None], "ncu", False, "fail"),
    ],
)
def test_a_profiler_that_is_not_needed_is_no_failure(
    capabilities: list[str | None], name: str, broken: bool, status: str
) -> None:
    here = machine(*(replace(H200, index=i, compute_capability=c) for i, c in enumerate(capabilities)))
    program = Program(name, "/opt/x" if broken else None, problem="not on PATH")

    assert choice.program_check(program, here).status == status


def test_equal_gpus_share_one_line_about_their_profiler() -> None:
    here = machine(H200, replace(H200, index=1), replace(H200, index=2, compute_capability="8.0"))

    names = [check.what for check in choice.profiler_checks(here)]

    assert names == ["ncu", "nvprof", "profiler of GPU 0, 1", "profiler of GPU 2"]


@pytest.mark.parametrize(
    ("gpu", "status", "says"),
    [
        (H200, "ok", "SM 345.0 MHz of 1.980 GHz, memory 3.201 GHz of 3.201 GHz; locked: not known"),
        (replace(H200, clock_reasons=0), "ok", "nothing limits it now"),
        (replace(H200, clock_reasons=2), "ok", "locked: yes"),
        (replace(H200, application_clock_hz=1200e6), "ok", "application clocks are set to 1.200 GHz"),
        (replace(H200, clock_reasons=0x48), "warn", "slowed by hardware slowdown, heat (hardware)"),
        (replace(H200, max_sm_clock_hz=None), "ok", "SM 345.0 MHz of not known"),
        (Gpu("Orin (nvgpu)", index=0), "ok", "SM not known, memory not known; locked: not known"),
    ],
)
def test_clocks(gpu: Gpu, status: str, says: str) -> None:
    check = gpus.clock_check("GPU 0", gpu)

    assert check.status == status
    assert says in check.value


def test_clocks_are_never_reported_as_free() -> None:
    assert gpus.clocks_locked(replace(H200, clock_reasons=0)) is None
    assert gpus.clocks_locked(replace(H200, clock_reasons=3)) is True


@pytest.mark.parametrize(
    ("gpu", "status", "says"),
    [
        (H200, "ok", "no"),
        (replace(H200, pids=(1, 2, 3, 4, 5, 6, 7)), "warn", "1, 2, 3, 4, 5, … (7 in all)"),
        (replace(H200, utilization_percent=97.0), "warn", "97 %, by processes that are not visible"),
        (Gpu("Orin (nvgpu)", index=0), "ok", "not known"),
    ],
)
def test_busy(gpu: Gpu, status: str, says: str) -> None:
    check = gpus.busy_check("GPU 0", gpu)

    assert check.status == status
    assert says in check.value


@pytest.mark.parametrize(
    ("matches", "reason", "status", "says"),
    [
        (("h200",), "the device name NVIDIA H200", "ok", "h200"),
        (
            ("h200",),
            "the device name NVIDIA H200, although the device has 16 SMs and the GPU profile 132",
            "warn",
            "16 SMs",
        ),
        (
            ("h200",),
            "no GPU profile has the device name X; these have compute capability 9.0",
            "warn",
            "--profile h200",
        ),
        (("a", "b"), "the device name X", "warn", "--profile a | b"),
        ((), "no GPU profile has the device name X", "warn", "roofctl gpus new"),
    ],
)
def test_gpu_profile(matches: tuple[str, ...], reason: str, status: str, says: str) -> None:
    check = gpus.profile_check("GPU 0", replace(H200, matches=matches, match_reason=reason))

    assert check.status == status
    assert says in f"{check.value} {check.fix}"


def test_mig_is_a_warning_and_unknown_is_reported() -> None:
    assert gpus.mig_check("GPU 0", replace(H200, mig=True)).status == "warn"
    assert gpus.mig_check("GPU 0", replace(H200, mig=None)).value == "not known"


@pytest.mark.parametrize(
    ("trouble", "fix"),
    [
        ("cuInit answers CUDA_ERROR_STUB_LIBRARY (34)", "stubs"),
        ("cuInit answers CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "reboot"),
        ("cuInit answers CUDA_ERROR_SYSTEM_NOT_READY (802)", "fabricmanager"),
        ("cuInit answers CUDA_ERROR_NO_DEVICE (100)", "CUDA_VISIBLE_DEVICES"),
        ("libcuda.so.1: cannot open shared object file: No such file or directory", "NVIDIA_DRIVER_CAPABILITIES"),
        ("cuInit answers CUDA_ERROR_UNKNOWN (999)", "cannot use the GPU"),
    ],
)
def test_a_driver_library_that_does_not_work_is_a_device_failure(trouble: str, fix: str) -> None:
    check = gpus.cuda_check(CudaDriver(problem=trouble))

    assert (check.status, check.cause) == ("fail", "device")
    assert fix in check.fix


@pytest.mark.parametrize(
    ("lock", "status"),
    [
        (LockFile(Path("/scratch/l"), "ann", 0o666, foreign=True, used=True, blocked=False), "ok"),
        (LockFile(Path("/scratch/l"), "ann", 0o644, foreign=True, used=True, blocked=True), "fail"),
        (LockFile(Path("/scratch/l"), "ann", 0o644, foreign=True, used=False, blocked=True), "ok"),
    ],
)
def test_lock_files_name_path_owner_and_mode(lock: LockFile, status: str) -> None:
    (check,) = checks.lock_checks((lock,))

    assert check.status == status
    assert f"/scratch/l, owner ann, mode {lock.mode:04o}" in check.value
    assert check.cause == ("tool" if status == "fail" else "")


@pytest.mark.parametrize(
    ("package", "status", "says"),
    [
        (Package("pycuda", "do", "2026.1"), "ok", "2026.1"),
        (Package("pycuda", "do", problem="ModuleNotFoundError: …", missing=True), "warn", "not installed"),
        (
            Package("pycuda", "do", problem="ImportError: undefined symbol: cuArrayCreate_v2"),
            "warn",
            "cuArrayCreate_v2",
        ),
        (Package("pycuda", "do", problem="ImportError: libcuda.so.1: cannot open"), "warn", "libcuda.so.1"),
    ],
)
def test_packages_show_the_text_of_a_failed_import(package: Package, status: str, says: str) -> None:
    check = checks.package_check(package)

    assert check.status == status
    assert says in check.value


def test_an_undefined_symbol_asks_for_a_rebuild() -> None:
    assert "rebuild" in checks.package_check(Package("pycuda", "do", problem="undefined symbol: x")).fix


TROUBLES = [
    ((ok("a", "x"), warn("b", "y")), 0, None),
    ((fail("ncu", "tool", "broken", "mend"),), 3, ToolError),
    ((fail("ncu", "tool", "broken"), fail("counters", "counters", "denied")), 4, CounterAccessError),
    ((fail("ncu", "tool", "broken"), fail("c", "counters", "denied"), fail("GPU", "device", "none")), 5, DeviceError),
]


@pytest.mark.parametrize(("found", "code", "family"), TROUBLES)
def test_the_lowest_cause_decides(found: tuple[Check, ...], code: int, family: type[Exception] | None) -> None:
    trouble = problem(found)

    assert exit_code(found) == code
    assert type(trouble) is (family or type(None))
    assert getattr(trouble, "exit_code", 0) == code


def test_a_healthy_machine_has_no_failure_and_a_document() -> None:
    here = machine(H200, ncu_chips=CHIPS_2025_3)
    found = all_checks(here)

    written = json.loads(json.dumps(document(here, found), default=str))

    assert not [check for check in found if check.status == "fail"]
    assert written["exit_code"] == 0
    assert written["counters_allowed"] is True
    assert written["ncu"] == {"path": "/opt/ncu", "version": "2025.3.1", "works": True}
    assert written["gpus"][0]["clocks_locked"] is None
    assert written["gpus"][0]["max_sm_clock_hz"] == 1980e6
    assert {"what", "status", "value", "fix", "cause"} == set(written["checks"][0])


def test_without_a_gpu_it_says_what_still_works() -> None:
    here = MachineState("laptop", Devices(problem="nvidia-smi says: No devices were found"))
    found = all_checks(here)

    assert exit_code(found) == 5
    assert "report and plot work here without one" in of("GPU", found).fix
    assert "No devices were found" in of("driver", found).value
    assert of("ncu", found).status == "warn"
    assert document(here, found)["counters_allowed"] is None


def test_a_gpu_in_the_document_has_its_keys_in_order_and_the_driver_stands_at_the_top() -> None:
    written = document(machine(replace(H200, driver="580.159.04")), [])
    assert written["driver_version"] == "580.159.04"
    assert [*written["gpus"][0]] == [
        *("index", "name", "uuid", "compute_capability", "sm_count", "mig", "ecc", "sm_clock_hz", "max_sm_clock_hz"),
        *("memory_clock_hz", "max_memory_clock_hz", "application_clock_hz", "default_application_clock_hz"),
        *("clock_reasons", "memory_bytes", "memory_used_bytes", "utilization_percent", "pids", "matches"),
        *("match_reason", "clocks_locked"),
    ]
