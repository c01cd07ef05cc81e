#!/usr/bin/env bash
# Capture an instruction roofline with nvprof, on nodes without Python, for GPUs of compute capability 5.0 to 7.2.
# Read the folder anywhere: roofctl report FOLDER/*.csv
set -euo pipefail

SELF=${0##*/}

usage() {
    cat <<USAGE
usage: $SELF [options] [--] APP [ARGS...]
       $SELF --list

Runs APP three times under nvprof, with the counters of roofctl's instruction set, and writes a new folder:
  timing.csv     how long kernels take       metrics.csv   counters that nvprof calls metrics
  events.csv    those it calls events       capture.txt   commands, versions, host

APP has to do the same work each time. Only the process of APP is profiled: name the GPU program, not its launcher.

options:
  -o FOLDER     the folder; it must not exist  [roofctl-nvprof-HOST-TIME]
  -k NAME       count only kernels whose name contains NAME
  --list        print the metrics and events and stop
  --dry-run     print the commands and stop
  -h, --help    this text

exit status: 0 all is well; 2 wrong usage; 3 nvprof is missing or failed; 4 counters are not permitted; 7 APP failed
(nvprof's lines in the files name its own code); 8 no kernel was profiled; 130 interrupted.

With MPI, one folder per rank:
  mpirun -np 4 bash -c '$SELF -o "run-\$OMPI_COMM_WORLD_RANK" ./app'
USAGE
}

# The instruction set of roofctl's quantities. This file is written by: roofctl quantities --script nvprof
METRICS=(
    inst_executed
    gld_transactions
    gst_transactions
    atomic_transactions
    local_load_transactions
    local_store_transactions
    shared_load_transactions
    shared_store_transactions
    l2_tex_read_transactions
    l2_tex_write_transactions
    dram_read_transactions
    dram_write_transactions
)
EVENTS=(
    thread_inst_executed
    not_predicated_off_thread_inst_executed
)

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

# command_of TABLE: sets `command` to the run that writes TABLE.csv, without APP.
command_of() {
    command=(nvprof --csv)
    [[ -z $kernel || $1 == timing ]] || command+=(--kernels "$kernel")
    case $1 in
        timing) command+=(--print-gpu-summary -u ns) ;;
        metrics) command+=(--metrics "$(joined "${METRICS[@]}")") ;;
        events) command+=(--events "$(joined "${EVENTS[@]}")") ;;
    esac
    command+=(--log-file "$part/$1.csv")
}

# check TABLE STATUS: whether nvprof's own text shows a failure; its status alone does not.
check() {
    local file=$part/$1.csv status=$2
    [[ -e $file ]] || : >"$file"
    if [[ $1 != timing ]] && grep -q ERR_NVGPUCTRPERM -- "$file"; then
        counters_denied
    fi
    if grep -q 'not supported on devices with compute capability' -- "$file"; then
        die 3 "nvprof cannot count on this GPU (compute capability 7.5 and higher): use profile_ncu.sh"
    fi
    [[ $status -ne 9 ]] || failed=yes
    if ! grep -q -E '"(Kernel|Name)"' -- "$file"; then
        grep -E '^==+([0-9]+==)? *(Error|Warning)' -- "$file" >&2 || true
        say "nvprof ended with status $status and wrote no table; its log is $file"
        say "check that the program works without nvprof, and that it launches kernels on this machine's GPU"
        [[ -z $failed ]] || exit 7
        [[ $status -ne 0 ]] || exit 8
        exit 3
    fi
}

HOST=${HOSTNAME:-$(uname -n)}
out=
kernel=
mode=run

value() { [[ $# -ge 2 && -n $2 ]] || die 2 "$1 needs a value; see $SELF --help"; }

while [[ $# -gt 0 ]]; do
    case $1 in
        -o) value "$@"; out=$2; shift 2 ;;
        -k) value "$@"; kernel=$2; shift 2 ;;
        --list) mode=list; shift ;;
        --dry-run) mode=dry; shift ;;
        -h | --help) usage; exit 0 ;;
        --) shift; break ;;
        -*) die 2 "no option $1; see $SELF --help" ;;
        *) break ;;
    esac
done

if [[ $mode == list ]]; then
    printf '%s\n' "${METRICS[@]}" "${EVENTS[@]}"
    exit 0
fi

[[ $# -gt 0 ]] || { usage >&2; exit 2; }
type -P -- "$1" >/dev/null || die 2 "there is no program $1 to run; give its path (./app)"
type -P nvprof >/dev/null || die 3 "nvprof is not on PATH; it came with the CUDA toolkit until version 12"
version=$(nvprof --version 2>&1) || die 3 "$(type -P nvprof) does not run: $version"

out=${out:-roofctl-nvprof-$HOST-$(date +%Y%m%d-%H%M%S)}
out=${out%/}
[[ $out != *%* ]] || die 2 "nvprof gives % in a file name a meaning of its own; choose another folder than $out"
[[ $out == /* ]] || out=./${out#./}
part=$out.partial

if [[ $mode == dry ]]; then
    for table in timing metrics events; do
        command_of "$table"
        quoted "${command[@]}" "$@"
    done
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
    echo "nvprof: ${version##*$'\n'}"
    echo "gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo not known)"
} >"$part/capture.txt"

failed=
trap 'die 130 "interrupted; what was profiled until then is in $part"' INT TERM
for table in timing metrics events; do
    command_of "$table"
    echo "command: $(quoted "${command[@]}" "$@")" >>"$part/capture.txt"
    status=0
    "${command[@]}" "$@" || status=$?
    echo "exit status: $status" >>"$part/capture.txt"
    check "$table" "$status"
done

mv -- "$part" "$out"
say "wrote $out; next: roofctl report $(quoted "$out")/*.csv"
if [[ -n $failed ]]; then
    die 7 "the application failed; nvprof's lines in $out/*.csv name its own exit code"
fi
