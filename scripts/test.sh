#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that are named, or all: side by side, then one after the other those that measure, because
# hosts of a lab share the CPUs with everything else that runs.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
if (( $# )); then
    exec "$python" -m pytest "$@"
fi
# Labs first: they wait twice as long as they compute, and what comes after them fills the CPUs. Two workers
# more than there are CPUs, for the same reason.
"$python" -m pytest -m "not measures" -n "$(($(nproc) + 2))" --dist loadfile --no-loadscope-reorder \
    --durations=15 tests/faults tests/lab tests/browser tests/unit tests/fuzz
exec "$python" -m pytest -m "measures and not idle_machine" --durations=15 tests/lab tests/truth tests/unit
