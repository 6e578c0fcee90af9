#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that are named, or all: unit tests side by side, then what needs the machine for itself,
# because hosts of a lab share the CPUs that are measured.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
if (( $# )); then
    exec "$python" -m pytest "$@"
fi
"$python" -m pytest -n auto --dist loadfile tests/unit
exec "$python" -m pytest tests/lab tests/browser
