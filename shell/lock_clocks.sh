#!/usr/bin/env bash
# Run a command with the SM clock of one GPU locked, and reset the clock afterwards, whatever happens.
# For your own machine: locking needs administrator rights, and other users of the GPU feel it too.
# roofctl calibrate never changes clocks itself.
#
# usage: shell/lock_clocks.sh --sm MHZ [--memory MHZ] [--gpu INDEX] -- COMMAND [ARGUMENT...]
# example: sudo shell/lock_clocks.sh --sm 1980 -- roofctl calibrate --profile h200
# The memory clock is left alone unless --memory is given: locking it can cost bandwidth.
set -euo pipefail

gpu=0 sm='' memory='' locked=()

fail() {
    echo "lock_clocks.sh: $2" >&2
    exit "$1"
}

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0"
}

# shellcheck disable=SC2317  # called by the trap
reset_clocks() {
    local status=$? option
    trap - EXIT
    for option in ${locked[@]+"${locked[@]}"}; do
        nvidia-smi -i "$gpu" "$option" >/dev/null ||
            echo "lock_clocks.sh: reset it by hand: nvidia-smi -i $gpu $option" >&2
    done
    exit "$status"
}

lock() { # OPTION MHZ RESET_OPTION
    local output
    # Noted first: a lock that is interrupted halfway is reset too.
    locked+=("$3")
    if ! output=$(nvidia-smi -i "$gpu" "$1" "$2,$2" 2>&1); then
        fail 1 "the clock cannot be locked at $2 MHz (administrator rights? a clock the GPU has?): $output"
    fi
}

while (($#)); do
    case $1 in
    --sm | --memory | --gpu)
        (($# > 1)) || fail 2 "$1 needs a value"
        [[ $2 =~ ^[0-9]+$ ]] || fail 2 "$1 $2: not a whole number"
        printf -v "${1#--}" %s "$2"
        shift 2
        ;;
    --)
        shift
        break
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) fail 2 "unknown option $1 (a command goes after --)" ;;
    esac
done

command -v nvidia-smi >/dev/null || fail 3 "nvidia-smi was not found"
if [[ -z $sm ]]; then
    echo "clocks that GPU $gpu can be locked at, in MHz:" >&2
    nvidia-smi -i "$gpu" --query-supported-clocks=gr --format=csv,noheader,nounits 2>/dev/null |
        sort -rnu | head -n 20 | paste -sd ' ' >&2 || true
    fail 2 "--sm MHZ is missing"
fi
(($#)) || fail 2 "no command to run (it goes after --)"
[[ $EUID -eq 0 || -n ${LOCK_CLOCKS_ANY_USER:-} ]] || fail 1 "locking clocks needs administrator rights: run it with sudo"

trap reset_clocks EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

lock -lgc "$sm" -rgc
[[ -z $memory ]] || lock -lmc "$memory" -rmc
echo "GPU $gpu: SM clock locked at $sm MHz${memory:+, memory clock at $memory MHz}; reset when this ends" >&2

# In the background, so that a signal is heard at once and passed on; as a job of its own, since bash would
# otherwise start it deaf to Ctrl-C.
# shellcheck disable=SC2317  # called by the traps below
stop() { # SIGNAL STATUS
    kill "-$1" -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    exit "$2"
}
set -m
"$@" </dev/null &
child=$!
set +m
trap 'stop INT 130' INT
trap 'stop TERM 143' TERM
trap 'stop HUP 129' HUP
status=0
wait "$child" || status=$?
exit "$status"
