#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format, style, types and layers: all of them, side by side, so that one run names everything there is to mend.
set -euo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/privileges.sh
. "$top/scripts/privileges.sh"
cd -- "$top"

said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
processes=()
check() {
    { printf '+ %s\n' "$*"; "$@"; } >"$said/${#processes[@]}" 2>&1 &
    processes+=("$!")
}
mypy() {  # its workers give up where others have the CPUs for long: then it decides without them
    local found
    if found=$(as_caller .venv/bin/mypy --num-workers "$(nproc)" 2>&1); then echo "$found"; else as_caller .venv/bin/mypy; fi
}
ruff() { as_caller .venv/bin/ruff "$@"; }
lint-imports() { as_caller .venv/bin/lint-imports "$@"; }

check mypy
check ruff format --check .
check ruff check .
check lint-imports --no-cache --no-logo
status=0
for at in "${!processes[@]}"; do
    wait "${processes[at]}" || status=1
    cat "$said/$at"
done
exit "$status"
