# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts, which set $top: who may do what, and whose files these are.
: "${top:?}"

say() { printf 'linewatt: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# need_root WHAT TARGET: one clear line where neither root nor a sudo that asks nothing is to be had.
need_root() {
    if ((EUID == 0)) || { have sudo && sudo -n true 2>/dev/null; }; then return; fi
    die "$1 needs root: run \`sudo make $2\`, or \`make $2\` as root"
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi
}

# The person behind sudo, where the checkout is theirs: "uid:gid", else nothing.
caller_behind_sudo() {
    if ((EUID == 0)) && [[ -n ${SUDO_UID:-} && $SUDO_UID != 0 && $(stat -c %u "$top") == "$SUDO_UID" ]]; then
        echo "$SUDO_UID:${SUDO_GID:-$SUDO_UID}"
    fi
}

# What is written into the checkout belongs to its owner, also under sudo.
as_caller() {
    if [[ -n $(caller_behind_sudo) ]]; then
        runuser -u "$SUDO_USER" -- env "HOME=$(getent passwd "$SUDO_USER" | cut -d: -f6)" "$@"
    else
        "$@"
    fi
}
