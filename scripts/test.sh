#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that are named, or all: those that measure one after the other, because hosts of a lab share
# the CPUs with everything else that runs; those on seconds of several processes, which mostly wait, a few at
# a time; then all others side by side.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
if (( $# )); then
    exec "$python" -m pytest "$@"
fi
# What is rewritten to say why an assertion failed is kept: by the first run for the workers of the second.
unset PYTHONDONTWRITEBYTECODE
status=0
mapfile -t measuring < <(grep -lr --include='test_*.py' 'mark\.measures' tests/lab tests/truth tests/unit)
"$python" -m pytest -m "measures and not idle_machine" --durations=10 "${measuring[@]}" || status=$?
"$python" -m pytest -m timed -n "$(($(nproc) + 2))" --dist loadscope --no-loadscope-reorder \
    --durations=5 tests/lab || status=$?
# Five workers more than there are CPUs, because labs wait for two thirds of their time; tests/conftest.py deals
# them out among what computes.
"$python" -m pytest -m "not measures and not timed" -n "$(($(nproc) + 5))" --dist loadscope --no-loadscope-reorder \
    --durations=15 tests/faults tests/lab tests/browser tests/unit tests/fuzz || status=$?
exit "$status"
