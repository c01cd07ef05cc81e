"""Fakes of ncu, nvprof and nvidia-smi, put on PATH: they do what the environment asks for.

Every fake runs the application, as the real ones do. FAKE_* variables choose the rest:

FAKE_VERSION   version of ncu (2025.3.1)
FAKE_KERNELS   launches that were profiled (2); 0 leaves no report
FAKE_SAYS      further lines of the log, each before the application starts
FAKE_EXIT      exit code, instead of the application's
FAKE_DROP      counters that get no column, separated by commas
FAKE_VALUE     the value of every counter, instead of a number
FAKE_HANG      1: warns and waits after the first launch; what was done is written on an interrupt
FAKE_DEAF      1: ignores interrupt and terminate while hanging
FAKE_UNREADABLE 1: the report cannot be imported
FAKE_REPORT    a report that is left instead of one that only the fake can import
FAKE_GPU       the line of nvidia-smi; empty: no GPU
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NCU = r'''
import json, os, shutil, signal, subprocess, sys, time

def env(name, default=""):
    return os.environ.get("FAKE_" + name, default)

HELP = """usage: ncu [options] [program] [program-arguments]

General Options:
  -h [ --help ]                         Print this help message.
{config}  --check-exit-code arg (=1)            Check the application exit code.
  --target-processes arg (=all)         Select the processes you want to profile:
  --replay-mode arg (=kernel)           Mechanism used for replaying a kernel launch:
                                          kernel (default)
                                          application
{ranges}  --cache-control arg (=all)            Control the behavior of the GPU caches. Allowed values:
                                          all
                                          none
  --clock-control arg (=base)           Control the behavior of the GPU clocks. Allowed values:
                                          base
                                          (Lock GPU clocks to base, no boost)
                                          none
  -k [ --kernel-name ] arg              Filter the kernel
  --kernel-name-base arg (=function)    Set the basis for --kernel-name
{suffixes}  --nvtx-include arg                    Adds include statement to the NVTX filter

Use the --mode switch to select how to use the tool:
"""
args = sys.argv[1:]
version = env("VERSION", "2025.3.1")
if args == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation")
    print(f"Version {version}.0 (build 36398880) (public-release)")
    sys.exit()
if args == ["--help"]:
    new = version >= "2024"
    print(HELP.format(
        config="  --config-file arg (=1)                Use config.ncu-cfg config file\n" if new else "",
        ranges="                                          range\n                                          app-range\n" if new else "",
        suffixes="  --disable-extra-suffixes              Disables the collection of extra suffixes\n" if new else ""))
    sys.exit()
if args == ["--list-chips"]:
    print("ad102, ga100, gh100, tu102" + ("" if version >= "2025.3" else ", gv100"))
    sys.exit()

options, position = {}, 0
while position < len(args) and args[position].startswith("-"):
    if args[position] in ("--disable-extra-suffixes", "--nvtx", "-f", "--csv"):
        options[args[position]] = True
        position += 1
    else:
        options[args[position]] = args[position + 1]
        position += 2
app = args[position:]

if "--import" in options:
    report = json.load(open(options["--import"]))
    if env("UNREADABLE"):
        print(f"==ERROR== Failed to load report file '{options['--import']}'.")
        sys.exit(1)
    facts = {"device__attribute_display_name": "NVIDIA H200", "device__attribute_max_gpu_frequency_khz": "1980000",
             "launch__sm_count": "132", "profiler__replayer_passes": "3"}
    asked = options["--metrics"].split(",") if "--metrics" in options else [*report["metrics"], *facts]
    names = [n for n in asked if (n in facts or n in report["metrics"]) and n not in env("DROP").split(",")]
    ids = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
           "Grid Size", "Device", "CC"]
    units = {"gpu__time_duration.sum": "ns", "sm__cycles_elapsed.avg.per_second": "hz"}
    numbers = {"gpu__time_duration.sum": "100000", "sm__cycles_elapsed.avg.per_second": "1900000000"}
    def row(cells):
        print(",".join('"' + cell + '"' for cell in cells))
    row([*ids, *names])
    row([*[""] * 11, *[units.get(n, "") for n in names]])
    for k in range(report["kernels"]):
        value = lambda n: facts.get(n) or env("VALUE") or numbers.get(n, "4096000")
        row([str(k), "77", "app", "127.0.0.1", f"kernel_{k}(float *, int)", "1", "7", "(256, 1, 1)", "(64, 1, 1)", "0", "9.0",
             *[value(n) for n in names]])
    sys.exit()

log = open(options["--log-file"], "w")
def say(text, end="\n"):
    log.write(text + end)
    log.flush()
def report(kernels):
    if kernels and env("REPORT"):
        shutil.copy(env("REPORT"), options["-o"] + ".ncu-rep")
    elif kernels:
        json.dump({"kernels": kernels, "metrics": options["--metrics"].split(",")}, open(options["-o"] + ".ncu-rep", "w"))
    if kernels:
        say(f"==PROF== Report: {options['-o']}")
    else:
        say("==WARNING== No kernels were profiled.")

say("==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.")
if env("SAYS"):
    say(env("SAYS"))
kernels = int(env("KERNELS", "2"))
if kernels:
    say("==PROF== Connected to process 77 (/home/user/app)")
if env("HANG"):
    done = []
    def stop(*_):
        done.append(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN if env("DEAF") else stop)
    if env("DEAF"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kernels:
        say('==PROF== Profiling "kernel_0" - 0: 0%....50%....100% - 3 passes')
    say('==PROF== Profiling "kernel_1" - 1: 0%..', end="")
    say("\n==WARNING== Launching the workload is taking more time than expected. If this continues to hang, terminate the profile.")
    while not done:
        time.sleep(0.02)
    report(min(kernels, 1))
    sys.exit(0)
for k in range(kernels):
    say(f'==PROF== Profiling "kernel_{k}" - {k}: 0%....50%....100% - 3 passes')
code = subprocess.call(app)
code = -code if code < 0 else code
if kernels:
    say("==PROF== Disconnected from process 77")
if code:
    say(f"==ERROR== The application returned an error code ({code}).")
report(kernels)
sys.exit(int(env("EXIT") or code))
'''

NVPROF = r"""
import os, subprocess, sys

def env(name, default=""):
    return os.environ.get("FAKE_" + name, default)

args = sys.argv[1:]
if args == ["--version"]:
    print("nvprof: NVIDIA (R) Cuda command line profiler\nCopyright (c) 2012 - 2022 NVIDIA Corporation\nRelease version 11.8.87 (21)")
    sys.exit()
options, position = {}, 0
while position < len(args) and args[position].startswith("-"):
    if args[position] in ("--csv", "--print-gpu-summary", "--profile-child-processes"):
        options[args[position]] = True
        position += 1
    else:
        options[args[position]] = args[position + 1]
        position += 2
app = args[position:]
run = "timing" if "--print-gpu-summary" in options else "metrics" if "--metrics" in options else "events"
kernels = int(env("KERNELS", "2"))
if env("INTERNAL") == run:
    sys.stderr.write("======== Error: internal error.\n")
    sys.exit(4)
code = subprocess.call(app)
log = open(options["--log-file"].replace("%p", "77"), "w")
log.write("==77== NVPROF is profiling process 77, command: app\n")
if env("SAYS") and env("SAYS_IN", "metrics") == run:
    log.write(env("SAYS") + "\n")
    kernels = 0
device = '"Tesla P100-SXM2-16GB (0)"'
if run == "timing" and kernels:
    log.write('"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,ns,,ns,ns,ns,\n')
    for k in range(kernels):
        log.write(f'"GPU activities",50.0,200000,2,100000,90000,110000,"kernel_{k}(float*, int)"\n')
    log.write('"GPU activities",1.0,2000,1,2000,2000,2000,"[CUDA memcpy HtoD]"\n')
    log.write('"API calls",99.0,200000,2,100000,90000,110000,"cudaMalloc"\n')
elif kernels:
    title = "Metric" if run == "metrics" else "Event"
    total = ',"Total"' if run == "events" else ""
    between = '"Metric Description",' if run == "metrics" else ""
    log.write(f'"Device","Kernel","Invocations","{title} Name",{between}"Min","Max","Avg"{total}\n')
    for k in range(kernels):
        for name in options["--" + run].split(","):
            if name not in env("DROP").split(","):
                value = env("VALUE", "4096")
                words = f'"{name} in words",' if run == "metrics" else ""
                log.write(f'{device},"kernel_{k}(float*, int)",2,"{name}",{words}{value},{value},{value}' + (",8192" if total else "") + "\n")
if code:
    log.write(f"======== Error: Application returned non-zero code {code}\n")
sys.exit(9 if code else int(env("EXIT", "0")))
"""

SMI = r"""
import os, sys
gpu = os.environ.get("FAKE_GPU", "NVIDIA H200, 9.0, 580.159, 1980, 345, 3201")
if os.environ.get("FAKE_OLD_SMI") and any("compute_cap" in a for a in sys.argv):
    print('Field "compute_cap" is not a valid field to query.')
    sys.exit(2)
if not gpu:
    print("No devices were found")
    sys.exit(6)
if os.environ.get("FAKE_OLD_SMI"):
    cells = gpu.split(", ")
    gpu = ", ".join([cells[0], *cells[2:]])
print(gpu)
"""

_SYSTEM = ("sh", "cat", "sleep", "true", "env", "setsid")
_SOURCES = {"ncu": NCU, "nvprof": NVPROF, "nvidia-smi": SMI}


def install(folder: Path, *names: str) -> Path:
    """Put stand-ins into ``folder``, with the few system programs that a PATH of it alone needs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _SYSTEM:
        found = shutil.which(name)
        if found and not (folder / name).exists():
            (folder / name).symlink_to(found)
    for name in names:
        write(folder / name, f"#!{sys.executable} -S\n{_SOURCES[name]}")
    return folder


def write(path: Path, text: str) -> Path:
    """An executable script."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def only(folder: Path) -> dict[str, str]:
    """An environment in which nothing else is on PATH."""
    return {**os.environ, "PATH": str(folder)}
