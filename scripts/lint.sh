#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format, style, types and layers: all of them, so that one run names everything there is to mend.
set -euo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/privileges.sh
. "$top/scripts/privileges.sh"
cd -- "$top"

status=0
check() {
    printf '+ %s\n' "$*"
    as_caller ".venv/bin/$1" "${@:2}" || status=1
}

check ruff format --check .
check ruff check .
check mypy
check lint-imports --no-cache --no-logo
exit "$status"
