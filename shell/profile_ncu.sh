#!/usr/bin/env bash
# Capture an instruction roofline with ncu, on nodes without Python. Read the folder anywhere: roofctl report FOLDER/*.csv
set -euo pipefail

SELF=${0##*/}

usage() {
    cat <<USAGE
usage: $SELF [options] [--] APP [ARGS...]
       $SELF --list [--chip CHIP]

Runs APP once under ncu with the counters of roofctl's instruction set and writes a new folder:
  report.ncu-rep   the report            ncu.log       messages of ncu
  capture.csv       its raw page          capture.txt   commands, versions, host

options:
  -o FOLDER              the folder; it must not exist  [roofctl-ncu-HOST-TIME]
  -k NAME                only kernels of this name; regex:EXPRESSION for a pattern
  -c N                   at most N launches
  --clock-control WHAT   none: clocks as they are; base: locked to the base clock  [none]
  --cache-control WHAT   all: caches flushed before each pass; none: left warm     [all]
  --chip CHIP            counters of this chip, such as gh100  [from nvidia-smi]
  --list                 print the counters and stop
  --dry-run              print the commands and stop
  -h, --help             this text

exit status: 0 all is well; 2 wrong usage; 3 ncu is missing or failed; 4 counters are not permitted; 7 APP failed
(its own code is printed); 8 no kernel was profiled; 130 interrupted.

With MPI, one folder per rank:
  mpirun -np 4 bash -c '$SELF -o "run-\$OMPI_COMM_WORLD_RANK" ./app'
USAGE
}

# The instruction set of roofctl's quantities. This file is written by: roofctl quantities --script ncu
METRICS=(
    gpu__time_duration.sum
    sm__cycles_elapsed.avg.per_second
    lts__cycles_elapsed.avg.per_second
    smsp__inst_executed.sum
    smsp__thread_inst_executed.sum
    smsp__thread_inst_executed_pred_on.sum
    l1tex__t_sectors_pipe_lsu.sum
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
    lts__t_sectors_srcunit_tex.sum
    l1tex__t_sectors_pipe_tex.sum
    l1tex__data_pipe_lsu_wavefronts.sum
    l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed
    smsp__issue_active.avg.pct_of_peak_sustained_elapsed
    sm__cycles_active.avg.pct_of_peak_sustained_elapsed
    lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed
    lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed
    sm__warps_active.avg.pct_of_peak_sustained_active
    sm__maximum_warps_per_active_cycle_pct
    smsp__warps_eligible.avg.per_cycle_active
    launch__registers_per_thread
    launch__shared_mem_per_block
    launch__occupancy_limit_registers
    launch__occupancy_limit_shared_mem
    launch__occupancy_limit_warps
    launch__occupancy_limit_blocks
    smsp__inst_executed.sum.peak_sustained
    l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained
    lts__t_sectors_srcunit_tex.sum.peak_sustained
    sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained
    sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained
    sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained
    sm__inst_executed_pipe_alu.sum.peak_sustained
    sm__inst_executed_pipe_xu.sum.peak_sustained
    sm__inst_executed_pipe_lsu.sum.peak_sustained
)

# Some counters have other names, or are not there, on some chips.
add_metrics_of_chip() {
    case $1 in
        gv100) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained) ;;
        gv11b) METRICS+=(lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained) ;;
        tu102) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained) ;;
        tu116) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained) ;;
        ga100) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        ga102) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        ga10b) METRICS+=(lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        ad102) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_fp8.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb100) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum syslts__t_sectors_aperture_sysmem.sum syslts__t_sectors_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb110) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum syslts__t_sectors_aperture_sysmem.sum syslts__t_sectors_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb112) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum syslts__t_sectors_aperture_sysmem.sum syslts__t_sectors_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb202) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_op_read.sum dram__sectors_op_write.sum syslts__t_sectors_aperture_sysmem.sum syslts__t_sectors_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb10b) METRICS+=(lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb20b) METRICS+=(lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        gb20c) METRICS+=(lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
        *) METRICS+=(dram__cycles_elapsed.avg.per_second dram__sectors_read.sum dram__sectors_write.sum lts__t_sectors_srcunit_tex_aperture_sysmem.sum lts__t_sectors_srcunit_tex_aperture_peer.sum dram__bytes.sum.peak_sustained sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained sm__ops_path_tensor_src_fp16.sum.peak_sustained sm__ops_path_tensor_src_fp8.sum.peak_sustained sm__ops_path_tensor_src_int8.sum.peak_sustained sm__ops_path_tensor_src_fp64.sum.peak_sustained) ;;
    esac
}

# The chips whose lists differ; the rest need no name.
chip_here() {
    local capability=
    if command -v nvidia-smi >/dev/null; then
        capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || capability=
    fi
    case ${capability%%$'\n'*} in
        7.0) echo gv100 ;;
        7.2) echo gv11b ;;
        7.5) echo tu102 ;;
        8.0) echo ga100 ;;
        8.6) echo ga102 ;;
        8.7) echo ga10b ;;
        8.9) echo ad102 ;;
        10.0) echo gb100 ;;
        10.3) echo gb110 ;;
        12.0) echo gb202 ;;
        10.1) echo gb10b ;;
        11.0) echo gb10b ;;
        12.1) echo gb20b ;;
        *) echo other ;;
    esac
}

say() { printf '%s: %s\n' "$SELF" "$*" >&2; }

die() {
    local code=$1
    shift
    say "$*"
    exit "$code"
}

# The arguments, quoted so that a shell reads them back.
quoted() {
    local word line=
    for word in "$@"; do
        [[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
        line+="$word "
    done
    printf '%s\n' "${line% }"
}

joined() {
    local IFS=,
    printf '%s\n' "$*"
}

counters_denied() {
    cat >&2 <<DENIED
$SELF: the driver on $HOST denies performance counters (ERR_NVGPUCTRPERM). One of these helps:
  - run as root: sudo $SELF ...
  - load the driver with NVreg_RestrictProfilingToAdminUsers=0: put
      options nvidia NVreg_RestrictProfilingToAdminUsers=0
    into /etc/modprobe.d/nvidia-profiling.conf, then reload the nvidia modules or reboot
  - in a container: start it with --cap-add=SYS_ADMIN
A hosted machine may allow none of them; then ask who runs it. See https://developer.nvidia.com/ERR_NVGPUCTRPERM
DENIED
    exit 4
}

HOST=${HOSTNAME:-$(uname -n)}
out=
chip=
kernel=
count=
clock=none
cache=all
mode=run

value() { [[ $# -ge 2 && -n $2 ]] || die 2 "$1 needs a value; see $SELF --help"; }

while [[ $# -gt 0 ]]; do
    case $1 in
        -o) value "$@"; out=$2; shift 2 ;;
        -k) value "$@"; kernel=$2; shift 2 ;;
        -c) value "$@"; count=$2; shift 2 ;;
        --clock-control) value "$@"; clock=$2; shift 2 ;;
        --cache-control) value "$@"; cache=$2; shift 2 ;;
        --chip) value "$@"; chip=$2; shift 2 ;;
        --list) mode=list; shift ;;
        --dry-run) mode=dry; shift ;;
        -h | --help) usage; exit 0 ;;
        --) shift; break ;;
        -*) die 2 "no option $1; see $SELF --help" ;;
        *) break ;;
    esac
done

[[ $clock == none || $clock == base ]] || die 2 "--clock-control is none or base, not $clock"
[[ $cache == all || $cache == none ]] || die 2 "--cache-control is all or none, not $cache"
[[ -z $count || $count =~ ^[1-9][0-9]*$ ]] || die 2 "-c takes a number of launches, not $count"

add_metrics_of_chip "${chip:-$(chip_here)}"
if [[ $mode == list ]]; then
    printf '%s\n' "${METRICS[@]}"
    exit 0
fi

[[ $# -gt 0 ]] || { usage >&2; exit 2; }
type -P -- "$1" >/dev/null || die 2 "there is no program $1 to run; give its path (./app)"
type -P ncu >/dev/null || die 3 "ncu is not on PATH; it comes with the CUDA toolkit (often /usr/local/cuda/bin/ncu)"
version=$(ncu --version 2>&1) || die 3 "$(type -P ncu) does not run: $version"
help=$(ncu --help 2>&1) || die 3 "$(type -P ncu) does not run: $help"

out=${out:-roofctl-ncu-$HOST-$(date +%Y%m%d-%H%M%S)}
out=${out%/}
[[ $out != *%* ]] || die 2 "ncu gives % in a file name a meaning of its own; choose another folder than $out"
[[ $out == /* ]] || out=./${out#./}
part=$out.partial

# Options that a version lacks are fatal there.
ncu=(ncu)
[[ $help != *--config-file* ]] || ncu+=(--config-file off)
capture=("${ncu[@]}" --target-processes all --clock-control "$clock" --cache-control "$cache")
[[ $help != *--disable-extra-suffixes* ]] || capture+=(--disable-extra-suffixes)
# A folder without sections: none is asked for, and reading ncu's own takes a third of a second.
[[ $help != *"--section-folder "* ]] || capture+=(--section-folder "$part")
[[ -z $kernel ]] || capture+=(--kernel-name-base function --kernel-name "$kernel")
[[ -z $count ]] || capture+=(--launch-count "$count")
capture+=(--metrics "$(joined "${METRICS[@]}")" --log-file "$part/ncu.log" -o "$part/report" "$@")
# ncu prints numbers by its own locale: only the export runs under C, so that APP keeps its locale.
export_csv=("${ncu[@]}" --import "$part/report.ncu-rep" --csv --page raw --print-units base)

if [[ $mode == dry ]]; then
    quoted "${capture[@]}"
    echo "LC_ALL=C $(quoted "${export_csv[@]}") > $(quoted "$part/capture.csv")"
    exit 0
fi

for folder in "$out" "$part"; do
    [[ ! -e $folder ]] || die 2 "$folder exists and is left alone; remove it, or choose another folder with -o"
done
mkdir -p -- "$(dirname -- "$part")"
mkdir -- "$part"
{
    echo "host: $HOST"
    echo "started: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "folder: $PWD"
    echo "ncu: ${version##*$'\n'}"
    echo "gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo not known)"
    echo "clock control: $clock"
    echo "cache control: $cache"
    echo "command: $(quoted "${capture[@]}")"
} >"$part/capture.txt"

# Else ncu puts section files into the home folder on its first run.
export NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT=1

interrupted=
trap 'interrupted=yes' INT TERM
status=0
"${capture[@]}" || status=$?
echo "exit status: $status" >>"$part/capture.txt"

log=$part/ncu.log
[[ -e $log ]] || : >"$log"
if grep -q ERR_NVGPUCTRPERM -- "$log"; then
    counters_denied
fi
if [[ ! -s $part/report.ncu-rep ]]; then
    grep -E '^==(ERROR|WARNING)==' -- "$log" >&2 || true
    [[ -z $interrupted ]] || die 130 "interrupted before a kernel was profiled; ncu's log is $log"
    say "ncu ended with status $status and profiled no kernel; its log is $log"
    say "check that $1 works without ncu, that it launches kernels on this machine's GPU, and that -k is not too narrow"
    grep -q 'The application returned an error code' -- "$log" && exit 7
    [[ $status -eq 0 ]] && exit 8
    exit 3
fi
LC_ALL=C "${export_csv[@]}" >"$part/capture.csv" ||
    die 3 "ncu could not print $part/report.ncu-rep; the report is kept: print it with a newer ncu"

header=$(grep -m 1 '^"ID","Process ID"' -- "$part/capture.csv") ||
    die 3 "$part/capture.csv holds no table; ncu's log is $log"
for metric in "${METRICS[@]}"; do
    [[ $header == *"\"$metric\""* ]] || say "not counted here: $metric"
done

if [[ -n $interrupted ]]; then
    die 130 "interrupted; what was profiled until then is in $part"
fi
mv -- "$part" "$out"
say "wrote $out; next: roofctl report $(quoted "$out")/*.csv"
log=$out/ncu.log
if grep -q 'The application returned an error code' -- "$log"; then
    die 7 "the application failed: ncu returned its code $status; the kernels before that are counted"
fi
# An error of ncu's own may come with status 0.
if grep -E '^==ERROR==' -- "$log" >&2 || [[ $status -ne 0 ]]; then
    die 3 "ncu ended with status $status and may have missed kernels; its log is $log"
fi
