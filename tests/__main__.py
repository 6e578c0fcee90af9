# SPDX-License-Identifier: Apache-2.0
"""Run the tests: ``python -m tests`` is `make test`, ``python -m tests --all`` is `make test-all`.

Other arguments go to pytest, which then runs alone: ``python -m tests tests/unit -x``. docs/testing.md says
which tests are in which tier, and why they run in this order.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests import cpu_weights, pools

PYTEST = (sys.executable, "-m", "pytest")
LABS = ("tests/vm", "tests/lab", "tests/browser", "tests/faults", "tests/truth")
COMPUTING = ("tests/unit", "tests/fuzz")
ALONE = "measures"
"""marks tests that nothing runs beside"""


def commands(*, everything: bool, cpus: int) -> dict[str, list[str]]:
    """The pytest runs of a tier by name: ``alone`` first, then ``computing`` beside ``labs``."""
    tier = f"not {ALONE} and not thorough" if everything else f"not {ALONE} and not full and not thorough"
    talking = [f"tests/unit/{name}.py" for name in pools.TALKING]
    beside = ["-m", tier, "--dist", "loadscope", "--no-loadscope-reorder"]
    runs = {
        "computing": [*beside, "-n", str(cpus), *COMPUTING, *(f"--ignore={file}" for file in talking)],
        "labs": [*beside, "-n", str(cpus + 3), "--durations=15", *LABS, *talking],
    }
    if everything:
        return {"alone": ["-m", f"{ALONE} and not thorough", "--durations=10", "tests"], **runs}
    return runs


def run_tier(*, everything: bool) -> int:
    """Run a tier; the exit code of what failed first, or 0."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # rewritten assertions are kept for the other workers
    runs = commands(everything=everything, cpus=os.cpu_count() or 1)
    statuses = []
    if "alone" in runs:
        statuses.append(_run(runs["alone"]))
    tests = cpu_weights.make_root()
    labs = tests and cpu_weights.make_group(tests / "labs", cpu_weights.LABS)
    giving_way = tests and cpu_weights.make_group(tests / "computing", cpu_weights.COMPUTING)
    with tempfile.TemporaryFile("w+") as output:
        computing = subprocess.Popen(
            cpu_weights.inside(giving_way, ["nice", "-n", "19", *PYTEST, *runs["computing"]]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            statuses += [_run(runs["labs"], labs), computing.wait()]
        finally:
            computing.terminate()
            computing.wait()
            cpu_weights.remove_group(tests)
            output.seek(0)
            sys.stdout.write(output.read())
    return next((status for status in statuses if status), 0)


def _run(arguments: Sequence[str], group: Path | None = None) -> int:
    print("+ pytest", shlex.join(arguments), flush=True)  # noqa: T201
    return subprocess.run(cpu_weights.inside(group, [*PYTEST, *arguments]), check=False).returncode


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments != ["--all"]:
        return int(pytest.main(list(arguments)))
    return run_tier(everything=bool(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
