# SPDX-License-Identifier: Apache-2.0
"""Run the tests: ``python -m tests`` is `make test`, ``python -m tests --all`` is `make test-all`.

Other arguments go to pytest, which then runs alone: ``python -m tests tests/unit -x``. docs/testing.md says
which tests are in which tier, and why they run in this order.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests import amounts, costs, cpu_weights, forked, pools

PYTEST = (sys.executable, "-m", "pytest")
LABS = ("tests/lab", "tests/browser", "tests/faults", "tests/truth")
GUESTS = ("tests/vm",)
COMPUTING = ("tests/unit", "tests/fuzz")
ALONE = "measures"
"""marks tests that nothing runs beside"""
LABS_CACHE = ("-o", "cache_dir=.pytest_cache/labs")
"""where pytest notes which lab tests failed"""
ROOM_BYTES = 2 << 30
"""of memory for temporary files: many times what the computing tests write"""


def commands(*, everything: bool, cpus: int) -> dict[str, list[str]]:
    """The pytest runs of a tier by name; what computes is dealt to as many runs as there are ``cpus``.

    Workers of xdist would each collect all tests, and tell each step of 10,000 short ones to another process.
    A run gets folders and the files to leave out: for each file that it is given, pytest lists the file's
    folder anew. None of these tests looks at logs, whose capture takes a fifth of what a short test costs.
    """
    tier = f"not {ALONE} and not thorough" if everything else f"not {ALONE} and not full and not thorough"
    talking = sorted(
        str(path) for path in Path("tests/unit").rglob("test_*.py") if path.stem in pools.TALKING
    )
    side_by_side = ["-n", str(cpus + 2), "--dist", "loadscope", "--no-loadscope-reorder"]
    files = sorted(str(path) for folder in COMPUTING for path in Path(folder).rglob("test_*.py"))
    computing = [file for file in files if file not in talking]
    shares = {
        f"computing {at + 1}": [
            *("-m", tier, "-p", "no:logging", *COMPUTING),
            *(f"--ignore={file}" for file in files if file not in computing[at::cpus]),
        ]
        for at in range(cpus)
    }
    runs = {
        "guests": ["-m", tier, "--durations=5", *GUESTS],
        "labs": ["-m", tier, *side_by_side, "--durations=15", *LABS_CACHE, *LABS, *talking],
        **shares,
        "failed labs": ["-m", tier, "-x", "--last-failed", "--lfnf=none", *LABS_CACHE, *LABS, *talking],
    }
    if everything:
        return {"alone": ["-m", f"{ALONE} and not thorough", "--durations=10", "tests"], **runs}
    return runs


def run_tier(*, everything: bool) -> int:
    """Run a tier: ``alone`` first, then labs and after them guests, which would take their CPU time; beside
    both what computes. Last, with nothing beside, lab tests that failed.

    The exit code of a run that failed, or 0.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # rewritten assertions are kept for the other workers
    if everything:
        os.environ[amounts.EVERYTHING] = "1"
    runs = commands(everything=everything, cpus=os.cpu_count() or 1)
    statuses = [_run(runs["alone"])] if "alone" in runs else []
    tests = cpu_weights.make_root()
    groups = {
        name: tests and cpu_weights.make_group(tests / name, weight)
        for name, weight in cpu_weights.WEIGHTS.items()
    }
    computing = [Beside(run, groups["computing"]) for name, run in runs.items() if "computing" in name]
    try:
        labs, guests = (_run(runs[name], groups[name]) for name in ("labs", "guests"))
        statuses += [guests, *(each.process.wait() for each in computing)]
        statuses.append(_run(runs["failed labs"]) if labs == pytest.ExitCode.TESTS_FAILED else labs)
    finally:
        for each in computing:
            each.end()
        cpu_weights.remove_group(tests)
    return next((status for status in statuses if status), 0)


def _environment(group: Path | None, temporary: Path | None) -> dict[str, str]:
    """That of computing runs: one server of linewatt commands for all, unless the costs of each are noted."""
    server = {} if costs.DIRECTORY in os.environ else {forked.OFFERED: str(forked.offer(group))}
    return {**os.environ, **server, **({"TMPDIR": str(temporary)} if temporary else {})}


def make_memory_folder(memory: Path = Path("/dev/shm")) -> Path | None:
    """A new folder in memory for temporary files, if that has room: on a disk, the many small files of
    computing tests take five times the CPU time."""
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < ROOM_BYTES:
        return None
    return Path(tempfile.mkdtemp(prefix="lw", dir=memory))


class Beside:
    """A pytest run whose output is printed once it has ended."""

    def __init__(self, arguments: Sequence[str], group: Path | None) -> None:
        self._arguments = arguments
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by end()
        self._temporary = make_memory_folder()
        self.process = subprocess.Popen(
            cpu_weights.inside(group, ["nice", "-n", "10", *PYTEST, *arguments]),
            env=_environment(group, self._temporary),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def end(self) -> None:
        """Stop it if it still runs, so that it takes down its labs, and print what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        self._output.seek(0)
        print("+ pytest", shlex.join(self._arguments), flush=True)  # noqa: T201
        sys.stdout.write(self._output.read())
        self._output.close()


def _run(arguments: Sequence[str], group: Path | None = None) -> int:
    print("+ pytest", shlex.join(arguments), flush=True)  # noqa: T201
    return subprocess.run(cpu_weights.inside(group, [*PYTEST, *arguments]), check=False).returncode


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments != ["--all"]:
        return int(pytest.main(list(arguments)))
    return run_tier(everything=bool(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
