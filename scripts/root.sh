#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command of the checkout as root and gives the files it wrote there back to the caller.
#
#   scripts/root.sh TARGET                  only look whether that is possible
#   scripts/root.sh TARGET COMMAND [ARG]…   run it
set -euo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/privileges.sh
. "$top/scripts/privileges.sh"

target=$1
shift
need_root "the lab (network namespaces)" "$target"
(($#)) || exit 0

# sudo starts with an empty environment; these are what output and paths depend on, and none is a secret.
kept=()
for name in PATH LANG LC_ALL TERM COLUMNS NO_COLOR FORCE_COLOR CI TMPDIR \
    LINEWATT_RESULTS LINEWATT_STATE LINEWATT_CHROMIUM LINEWATT_TEST_COSTS; do
    if [[ -n ${!name:-} ]]; then kept+=("$name=${!name}"); fi
done

# What root keeps in a home is not left in the caller's, where it would be in their way.
owner=$(caller_behind_sudo)
if ((EUID != 0)); then owner=$(id -u):$(id -g); fi
if [[ -n $owner ]]; then kept+=("HOME=$(getent passwd 0 | cut -d: -f6)"); fi

cd -- "$top"
trap : INT TERM # the command ends in its own way; what follows must still be done
status=0
as_root env "${kept[@]}" "$@" || status=$?
if [[ -n $owner ]]; then
    as_root find "$top" -xdev -path "$top/.git" -prune -o -user 0 -exec chown -h "$owner" {} +
fi
exit "$status"
