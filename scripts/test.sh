#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that are named, or all: those of code and pages side by side, then what needs the machine for
# itself, because hosts of a lab share the CPUs that are measured.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
if (( $# )); then
    exec "$python" -m pytest "$@"
fi
"$python" -m pytest -n auto --dist loadfile tests/unit tests/browser
exec "$python" -m pytest --durations=15 tests/lab
