#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws where a command of linewatt spends its time, as a flame graph that a browser opens:
#
#   scripts/profile.sh show ID                    # writes profile.svg
#   FILE=list.svg scripts/profile.sh list         # to another file
#
# py-spy looks at the process 500 times a second from outside, and at those that it starts.
set -euo pipefail
export LC_ALL=C

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/privileges.sh
. "$top/scripts/privileges.sh"

[[ $# -gt 0 ]] || {
    echo 'usage: [FILE=profile.svg] scripts/profile.sh COMMAND [ARGUMENT…], as after linewatt' >&2
    exit 2
}
"$top/scripts/setup.sh" test profile
venv=$top/.venv file=${FILE:-profile.svg}
status=0
"$venv/bin/py-spy" record --rate 500 --subprocesses --nonblocking --output "$file" -- "$venv/bin/linewatt" "$@" ||
    status=$?
[[ -s $file ]] || die "py-spy wrote no $file: see the lines above"
echo "$file: where its time went" >&2
exit "$status"
