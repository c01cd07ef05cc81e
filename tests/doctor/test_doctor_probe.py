# ruff: noqa: N802 - stand-ins have the names of what they stand for
"""Doctor's prober, against a machine made of files and scripts, and the probes that run in a child."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roofctl.core.gpu import Gpu, gpu_of
from roofctl.doctor import Host, all_checks, checks, child, exit_code, look, places, probe
from roofctl.doctor.machine import Permission

# The prober, against files and scripts.


def tool(folder: Path, name: str, script: str) -> Path:
    """A script as a program."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    path.chmod(0o755)
    return path


SMI = """
fields = {"index": "0", "name": "NVIDIA H200", "uuid": "GPU-1", "driver_version": "580.159.04", "compute_cap": "9.0",
  "mig.mode.current": "Disabled", "clocks.sm": "345", "clocks.max.sm": "1980", "utilization.gpu": "0"}
fields.update(CHANGES)
query = sys.argv[1].partition("=")
if query[0] == "--query-compute-apps":
    print(APPS)
    sys.exit()
for name in query[2].split(","):
    if name in REFUSED:
        print(f'Field "{name}" is not a valid field to query.')
        sys.exit(2)
print(", ".join(fields.get(name, "[N/A]") for name in query[2].split(",")))
"""


def smi(folder: Path, *, refused: tuple[str, ...] = (), apps: str = "", **changes: str) -> None:
    tool(folder, "nvidia-smi", f"REFUSED = {refused!r}\nAPPS = {apps!r}\nCHANGES = {changes!r}\n{SMI}")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A machine with an empty file system, nothing on PATH, and no CUDA: the output of children is made up."""
    for name in ("bin", "root/tmp", "root/proc/self", "cwd"):
        (tmp_path / name).mkdir(parents=True)

    def run(argv: Any) -> probe.ToolOutput:
        if argv[0] == sys.executable:
            return probe.ToolOutput(
                0, json.dumps({"problem": "ModuleNotFoundError: No module named 'x'", "missing": True})
            )
        return probe.ask(argv, 5.0)

    return Host(tmp_path / "root", {"PATH": str(tmp_path / "bin")}, tmp_path / "cwd", "node7", run)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bin"


def test_nvidia_smi_is_asked_and_the_profile_found(host: Host, path: Path) -> None:
    smi(path, apps="GPU-1, 4242\nGPU-2, 1\n[N/A]")

    (gpu,) = look(host).devices.gpus

    assert (gpu.name, gpu.compute_capability, gpu.matches) == ("NVIDIA H200", "9.0", ("h200",))
    assert (gpu.sm_clock_hz, gpu.ecc, gpu.pids) == (345e6, None, (4242,))


def test_fields_that_a_driver_lacks_are_left_out(host: Host, path: Path) -> None:
    smi(path, refused=("compute_cap", "clocks_throttle_reasons.active", "mig.mode.current"))

    found = probe.devices(host)

    assert found.driver_version == "580.159.04"
    assert (found.gpus[0].name, found.gpus[0].compute_capability) == ("NVIDIA H200", None)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("print('No devices were found'); sys.exit(6)", "No devices were found"),
        ("print('NVIDIA-SMI has failed because it couldn\\'t communicate'); sys.exit(9)", "has failed"),
        ("print('Failed to initialize NVML: Driver/library version mismatch'); sys.exit(18)", "version mismatch"),
        ("sys.exit(1)", "nothing"),
        ("print('')", "nothing"),
    ],
)
def test_an_nvidia_smi_that_fails_is_quoted(host: Host, path: Path, script: str, says: str) -> None:
    tool(path, "nvidia-smi", script)

    found = probe.devices(host)

    assert found.gpus == ()
    assert says in found.problem


def test_garbage_from_nvidia_smi_gives_a_terminal_no_orders(host: Host, path: Path) -> None:
    tool(path, "nvidia-smi", r"sys.stdout.buffer.write(b'\x1b[2J\xff\x07no GPU\n')")
    assert probe.devices(host).problem == "nvidia-smi says: ?[2J\ufffd?no GPU"


def test_a_program_that_hangs_is_given_up(path: Path) -> None:
    slow = tool(path, "nvidia-smi", "import time; time.sleep(60)")

    output = probe.ask([str(slow)], 0.3)

    assert output.returncode is None
    assert output.text


def test_nvml_is_used_where_nvidia_smi_is_absent(host: Host) -> None:
    row = {"index": "0", "name": "NVIDIA H200", "uuid": "GPU-1", "compute_cap": "9.0", "pids": [7], "clocks.sm": None}
    output = json.dumps({"driver": "580.1", "gpus": [row]})

    found = probe.devices(replace(host, ask=lambda argv: probe.ToolOutput(0, output)))

    assert (found.source, found.driver_version) == ("NVML", "580.1")
    assert (found.gpus[0].compute_capability, found.gpus[0].pids, found.gpus[0].sm_clock_hz) == ("9.0", (7,), None)


def test_nvml_that_fails_is_quoted_but_an_absent_binding_is_not(host: Host) -> None:
    broken = replace(
        host, ask=lambda argv: probe.ToolOutput(0, json.dumps({"problem": "NVMLError: Driver Not Loaded"}))
    )

    assert "Driver Not Loaded" in probe.devices(broken).problem
    assert probe.devices(host).problem == ""


def test_a_child_that_crashes_is_a_problem_not_a_result(host: Host) -> None:
    crashed = replace(host, ask=lambda argv: probe.ToolOutput(139))

    assert "139" in probe.cuda_driver(crashed).problem


def test_the_kernel_module_gives_its_version_without_any_tool(host: Host) -> None:
    (host.root / "proc/driver/nvidia").mkdir(parents=True)
    (host.root / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  x\n"
    )

    assert probe.devices(host).driver_version == "550.54.15"


def test_ncu_is_run_for_its_version_and_chips(host: Host, path: Path) -> None:
    tool(
        path,
        "ncu",
        "print({'--version': 'NVIDIA (R)\\nVersion 2025.3.1.0 (build 1)', '--list-chips': 'ga100, gh100, ga10b'}[sys.argv[1]])",
    )

    ncu = probe.program(host, "ncu")

    assert (ncu.version, ncu.problem, ncu.path) == ("2025.3.1", "", str(path / "ncu"))
    assert probe.ncu_chips(host, ncu) == {"ga100", "gh100", "ga10b"}


@pytest.mark.parametrize(
    ("name", "script", "version"),
    [
        ("nvprof", "print('nvprof: NVIDIA (R) Cuda command line profiler\\nRelease version 11.8.87 (21)')", "11.8.87"),
        ("nvcc", "print('Cuda compilation tools, release 13.0, V13.0.88')", "13.0.88"),
    ],
)
def test_versions_of_other_programs(host: Host, path: Path, name: str, script: str, version: str) -> None:
    tool(path, name, script)

    assert probe.program(host, name).version == version


@pytest.mark.parametrize(
    "script",
    [
        "sys.stderr.write('ncu: cannot find /opt/nvidia/ncu-real\\n'); sys.exit(127)",
        "print('hello, cannot find version')",
    ],
)
def test_a_wrapper_that_does_not_run_is_named(host: Host, path: Path, script: str) -> None:
    tool(path, "ncu", script)

    ncu = probe.program(host, "ncu")

    assert ncu.path == str(path / "ncu")
    assert "does not run" in ncu.problem
    assert "cannot find" in ncu.problem


def test_a_file_for_another_machine_does_not_run(host: Host, path: Path) -> None:
    broken = path / "ncu"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)

    assert "does not run" in probe.program(host, "ncu").problem


def test_an_ncu_that_is_too_old_is_refused(host: Host, path: Path) -> None:
    tool(path, "ncu", "print('Version 2019.5.0 (Build 1)')")

    assert "2020" in probe.program(host, "ncu").problem


def test_a_program_beside_path_is_pointed_at(host: Host) -> None:
    there = host.root / "usr/local/cuda-13.0/bin/ncu"
    there.parent.mkdir(parents=True)
    there.touch()

    assert str(there) in probe.program(host, "ncu").fix


def test_permission_is_read_from_the_file_system(host: Host) -> None:
    (host.root / "proc/driver/nvidia").mkdir(parents=True)
    (host.root / "proc/driver/nvidia/params").write_text("RmProfilingAdminOnly: 1\n")
    (host.root / "proc/self/status").write_text("Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n")
    (host.root / "proc/version").write_text("Linux version 5.15 microsoft-standard-WSL2\n")

    assert probe.permission(host) == Permission(admin_only=True, root=True, admin_capability=False, wsl=True)


@pytest.mark.parametrize("content", ["", "not a table\n\x00\xff"])
def test_odd_files_are_not_known(host: Host, content: str) -> None:
    (host.root / "proc/driver/nvidia").mkdir(parents=True)
    (host.root / "proc/driver/nvidia/params").write_text(content)

    assert probe.permission(host) == Permission()


def test_locks_are_found_and_never_touched(tmp_path: Path) -> None:
    mine, root = tmp_path / "mine", tmp_path / "root"
    for folder in (mine, root / "tmp"):
        folder.mkdir(parents=True)
        (folder / "nsight-compute-lock").touch(mode=0o600)

    found = places.locks(root, {"TMP": str(mine), "TEMP": str(tmp_path / "none")})

    assert [(lock.path.parent, lock.used, lock.blocked, lock.foreign) for lock in found] == [
        (mine, True, False, False),
        (root / "tmp", False, False, False),
    ]
    assert all(lock.path.exists() for lock in found)
    assert found[0].mode == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize(
    ("protected", "sticky", "blocked"), [("1", True, True), ("0", True, False), ("1", False, False)]
)
def test_a_foreign_lock_in_a_sticky_folder_stops_even_root(
    tmp_path: Path, protected: str, sticky: bool, blocked: bool
) -> None:
    (tmp_path / "proc/sys/fs").mkdir(parents=True)
    (tmp_path / "proc/sys/fs/protected_regular").write_text(f"{protected}\n")
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o777 | (stat.S_ISVTX if sticky else 0))
    lock = folder / "nsight-compute-lock"
    lock.touch()
    os.chown(lock, 54321, -1)

    (found,) = places.locks(tmp_path, {})

    assert (found.blocked, found.foreign, found.owner) == (blocked, True, "54321")


def test_temp_folder_that_does_not_exist_is_not_writable(tmp_path: Path) -> None:
    found = {folder.what: folder for folder in places.folders(tmp_path, {"TMPDIR": str(tmp_path / "no")}, tmp_path)}

    assert not found["ncu temp folder"].writable
    assert found["captures folder"].writable
    assert checks.folder_check(found["ncu temp folder"]).status == "warn"


def test_a_file_where_a_folder_should_be_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "roofctl-captures").touch()

    assert not places.writable(tmp_path / "roofctl-captures")


def test_dcgm_is_seen_by_its_processes(tmp_path: Path) -> None:
    for pid, name in ((1, "systemd"), (20, "nv-hostengine"), (21, "dcgm-exporter"), (22, "nv-hostengine")):
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/comm").write_text(f"{name}\n")

    assert places.services(tmp_path) == ("dcgm-exporter", "nv-hostengine")
    assert checks.services_check(places.services(tmp_path)).status == "warn"


def test_an_empty_machine_is_checked_without_a_crash(host: Host) -> None:
    found = all_checks(look(host))

    assert exit_code(found) == 5
    assert all(check.value for check in found)


# The probes that run in a child.


def test_ask_imports_by_name_and_reports_the_text(tmp_path: Path) -> None:
    (tmp_path / "brokenpackage.py").write_text("raise ImportError('x.so: undefined symbol:\\n cuArrayCreate_v2')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def imported(name: str) -> dict[str, Any]:
        argv = [sys.executable, child.__file__, "import", name]
        return json.loads(subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, check=True).stdout)

    assert imported("brokenpackage") == {
        "missing": False,
        "problem": "ImportError: x.so: undefined symbol: cuArrayCreate_v2",
    }
    assert imported("nosuchpackage.driver")["missing"] is True
    assert imported("click")["version"]


def test_the_current_folder_does_not_hide_packages(tmp_path: Path) -> None:
    (tmp_path / "pycuda.py").write_text("raise SystemExit(9)\n")

    done = subprocess.run(
        [sys.executable, child.__file__, "import", "pycuda"], cwd=tmp_path, capture_output=True, check=True
    )

    assert set(json.loads(done.stdout)) & {"missing", "version"}


class FakeNvml(SimpleNamespace):
    """NVML of a board that supports few calls."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_GRAPHICS = 1, 2, 0

    def __getattr__(self, name: str) -> Any:
        known = {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlSystemGetDriverVersion": lambda: b"540.4.0",
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda handle: b"Orin (nvgpu)",
            "nvmlDeviceGetCudaComputeCapability": lambda handle: (8, 7),
        }
        if name == "nvmlDeviceGetMigMode":
            raise AttributeError(name)

        def refuse(*arguments: Any) -> Any:
            raise self.NVMLError(name)

        return known.get(name, refuse)


def test_nvml_returns_not_found_on_some_boards() -> None:
    output = json.loads(json.dumps(child.nvml(FakeNvml())))

    gpu = gpu_of(output["gpus"][0])

    assert output["driver"] == "540.4.0"
    assert gpu == Gpu("Orin (nvgpu)", index=0, compute_capability="8.7")


class FakeCuda:
    """A driver library with one device; ``code`` is what cuInit returns."""

    def __init__(self, code: int = 0, names: bool = True) -> None:
        self.code = code
        if names:
            self.cuGetErrorName = lambda code, out: setattr(out._obj, "value", b"CUDA_ERROR_STUB_LIBRARY")

    def cuInit(self, flags: int) -> int:
        return self.code

    def cuDriverGetVersion(self, out: Any) -> None:
        out._obj.value = 13000

    def cuDeviceGetCount(self, out: Any) -> None:
        out._obj.value = 1

    def cuDeviceGet(self, out: Any, ordinal: int) -> None:
        out._obj.value = ordinal

    def cuDeviceGetName(self, out: Any, size: int, device: Any) -> None:
        out.value = b"NVIDIA H200"

    def cuDeviceGetUuid(self, out: Any, device: Any) -> None:
        out._obj[:] = range(16)

    def cuDeviceGetAttribute(self, out: Any, number: int, device: Any) -> None:
        known = {16: 132, 75: 9, 76: 0, 13: 1_980_000, 36: 3_201_000, 37: 6016, 38: 62_914_560, 81: 233_472}
        out._obj.value = known[number]


def test_the_cuda_driver_lists_its_devices() -> None:
    assert child.cuda(FakeCuda()) == {
        "version": "13.0",
        "devices": [
            {
                "name": "NVIDIA H200",
                "uuid": "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
                "compute_capability": "9.0",
                "sm_count": 132,
            }
        ],
    }


def test_attributes_make_a_gpu_profile(tmp_path: Path) -> None:
    from roofctl.core.errors import DeviceError
    from roofctl.doctor.own_gpu import profile_of_device

    answer = child.attributes(FakeCuda())
    assert answer["devices"][0]["attributes"]["max_sm_hz"] == 1.98e9

    def host(document: dict[str, Any]) -> Host:
        return Host(tmp_path, ask=lambda _argv: probe.ToolOutput(0, json.dumps(document)))

    profile = profile_of_device("mine", host(answer))
    assert (profile.chip, profile.sm_count.value, profile.pin_bytes_per_second) == ("gh100", 132, 4.814304e12)
    assert profile.sm_count.basis == "driver"
    assert profile.l2.bytes_per_clock.value is None
    with pytest.raises(DeviceError, match="no GPU here"):
        profile_of_device("mine", host({"problem": "no driver"}))


@pytest.mark.parametrize(("names", "says"), [(True, "CUDA_ERROR_STUB_LIBRARY (34)"), (False, "error (34)")])
def test_a_stub_library_is_named(names: bool, says: str) -> None:
    assert says in child.cuda(FakeCuda(34, names))["problem"]
