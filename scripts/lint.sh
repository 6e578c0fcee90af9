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
# mypy ends with an internal error when a worker needs more than 3 s to start, as on a busy machine
# (WORKER_START_TIMEOUT in mypy/defaults.py). Then it runs again without workers. Errors in the checked
# files are final.
mypy() {
    local report status=0
    report=$(as_caller .venv/bin/mypy --num-workers "$(nproc)" 2>&1) || status=$?
    if ((status != 0)) && ! grep -qE '^Found [0-9]+ errors? in ' <<<"$report"; then
        as_caller .venv/bin/mypy
        return
    fi
    echo "$report"
    return "$status"
}
ruff() { as_caller .venv/bin/ruff "$@"; }
lint-imports() { as_caller .venv/bin/lint-imports "$@"; }

check mypy
check ruff format --check .
check ruff check .
check as_caller .venv/bin/python -m scripts.plain_words
check lint-imports --no-cache --no-logo
status=0
for at in "${!processes[@]}"; do
    wait "${processes[at]}" || status=1
    cat "$said/$at"
done
exit "$status"
