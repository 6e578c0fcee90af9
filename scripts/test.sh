#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that are named, or all: those that measure one after the other, because hosts of a lab share
# the CPUs with everything else that runs; those on seconds of several processes, which mostly wait, a few at
# a time; then labs, which wait for two thirds of their time. Beside both runs what only computes.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
if (( $# )); then
    exec "$python" -m pytest "$@"
fi
# What is rewritten to say why an assertion failed is kept: by the first run for the workers of the second.
unset PYTHONDONTWRITEBYTECODE
export LINEWATT_TESTS_RUN=$$  # tests/again.py
status=0
mapfile -t measuring < <(grep -lr --include='test_*.py' 'mark\.measures' tests/lab tests/truth tests/unit)
"$python" -m pytest -m "measures and not idle_machine" --durations=10 "${measuring[@]}" || status=$?

# What only computes gives way: to guests and to what is timed as far as it can, then to labs, whose heartbeats
# may not come late. Where the kernel shares out CPUs by session (sched(7), autogroup), nice counts within one only.
# Each kind has workers of its own, so that none collects, or imports, what it does not run.
mapfile -t talking < <("$python" -m tests.pools)
computed=$(mktemp)
setsid bash -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 "$@"' computing \
    "$python" -m pytest -m "not measures and not timed" -n "$(nproc)" --dist loadscope \
    --no-loadscope-reorder --durations=15 tests/unit tests/fuzz "${talking[@]/#/--ignore=}" \
    >"$computed" 2>&1 &
computing=$!
trap 'kill -INT "$computing" 2>/dev/null || true; cat "$computed"; rm -f "$computed"' EXIT

# Guests take both CPUs while they boot; what takes minutes of theirs is left to make test-vm.
"$python" -m pytest -m "not thorough" --durations=5 tests/vm || status=$?

"$python" -m pytest -m timed -n "$(($(nproc) + 2))" --dist loadscope --no-loadscope-reorder \
    --durations=5 tests/lab tests/truth || status=$?
renice -n 10 -g "$computing" >/dev/null 2>&1 || true  # it may have ended; and only root may give it more
{ echo 10 >"/proc/$computing/autogroup"; } 2>/dev/null || true
LINEWATT_TESTS_BESIDE=$computing "$python" -m pytest -m "not measures and not timed" -n "$(($(nproc) + 3))" \
    --dist loadscope --no-loadscope-reorder --durations=15 tests/faults tests/lab tests/browser "${talking[@]}" ||
    status=$?
wait "$computing" || status=$?
trap - EXIT
cat "$computed"
rm -f "$computed"
exit "$status"
