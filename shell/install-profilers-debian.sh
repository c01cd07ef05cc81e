#!/usr/bin/env bash
# Put NVIDIA's ncu and nvprof on a Debian machine, from Debian's own non-free component.
# No GPU is needed: they serve the tests marked `ncu` and `nvprof`. Safe to run again.
#
# usage: sudo shell/install-profilers-debian.sh
set -euo pipefail

PACKAGES=(nsight-compute nvidia-profiler)
# A stanza of our own leaves the machine's files as they are.
SOURCES=/etc/apt/sources.list.d/roofctl-non-free.sources
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirror that this machine uses already, in either form of apt's source files; a machine may have only one of them.
mirror() {
    { cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null || true; } |
        awk '/^URIs:/ { print $2; exit } /^deb / { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }'
}

fail() {
    echo "install-profilers-debian.sh: $*" >&2
    exit 1
}

if command -v ncu >/dev/null && command -v nvprof >/dev/null && ncu --version >/dev/null && nvprof --version >/dev/null; then
    echo "ncu and nvprof are installed already: $(command -v ncu), $(command -v nvprof)"
    exit 0
fi

[[ $EUID -eq 0 ]] || fail "needs root: run it with sudo"
[[ -r /etc/os-release ]] || fail "not a Debian system"
# shellcheck source=/dev/null
. /etc/os-release
[[ ${ID:-} == debian ]] || fail "needs Debian, this is ${ID:-unknown}"

if ! apt-cache show "${PACKAGES[0]}" >/dev/null 2>&1; then
    uri=$(mirror)
    [[ -n $uri ]] || fail "no Debian mirror is set up in /etc/apt"
    cat >"$SOURCES" <<STANZA
Types: deb
URIs: $uri
Suites: ${VERSION_CODENAME} ${VERSION_CODENAME}-updates
Components: contrib non-free non-free-firmware
Signed-By: ${KEYRING}
STANZA
    apt-get update -q
fi

DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${PACKAGES[@]}"

ncu --version | tail -n 1
nvprof --version | tail -n 1
