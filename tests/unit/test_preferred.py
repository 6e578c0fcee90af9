# SPDX-License-Identifier: Apache-2.0
"""A whole run of the tests has the first turn at the CPUs, and leaves no group of processes behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import preferred
from tests.preferred import Hierarchy

ROOT = Path(__file__).parents[2]
BOTH = (
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
    "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
)
LIMIT_S = 60


def test_the_controller_of_cpus_is_in_version_1_where_both_are_mounted() -> None:
    assert preferred.hierarchy(BOTH) == Hierarchy(Path("/sys/fs/cgroup/cpu,cpuacct"), "cpu.shares")
    only = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
    assert preferred.hierarchy(only) == Hierarchy(Path("/sys/fs/cgroup"), "cpu.weight")
    assert preferred.hierarchy("cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n") is None


def test_its_own_group_is_where_it_goes_back_to(tmp_path: Path) -> None:
    (tmp_path / "system.slice" / "ci").mkdir(parents=True)
    second, first = Hierarchy(tmp_path, "cpu.weight"), Hierarchy(tmp_path, "cpu.shares")
    assert preferred.home("0::/system.slice/ci\n", second) == tmp_path / "system.slice" / "ci"
    assert preferred.home("3:cpu,cpuacct:/system.slice\n0::/system.slice/ci\n", first) == (
        tmp_path / "system.slice"
    )
    assert preferred.home("0::/../elsewhere\n", second) == tmp_path
    assert preferred.home("0::/gone\n", second) == tmp_path


@pytest.fixture
def group() -> Iterator[Path]:
    """One below this run's own, to see whether groups can be made here."""
    where = preferred.hierarchy(Path("/proc/self/mounts").read_text())
    if where is None:
        pytest.skip("no control groups share out CPUs here")
    probe = where.root / f"linewatt-probe-{os.getpid()}"
    try:
        probe.mkdir()
    except OSError as error:
        pytest.skip(f"{probe}: {error.strerror}")
    try:
        if not (probe / where.weight).exists():
            pytest.skip(f"{where.root}: shares out no CPUs")
        yield where.root
    finally:
        probe.rmdir()


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "tests.preferred", *argv]


def test_a_command_runs_with_the_highest_weight_and_its_group_goes_with_it(group: Path) -> None:
    """What it leaves running goes back to where it would have been."""
    says = "cat /proc/self/cgroup; sleep 100 >/dev/null 2>&1 & echo pid $!; exit 3"
    done = subprocess.run(
        command("bash", "-c", says), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    left = int(done.stdout.rpartition("pid ")[2])
    try:
        assert done.returncode == 3, done.stderr
        name = next(line for line in done.stdout.splitlines() if "linewatt-tests-" in line).rpartition("/")[2]
        assert not (group / name).exists()
        assert name not in Path("/proc", str(left), "cgroup").read_text()
    finally:
        os.kill(left, signal.SIGTERM)


def test_its_weight_is_that_of_its_group(group: Path) -> None:
    reads = (
        "import os, sys; from pathlib import Path; from tests.preferred import RUN, WEIGHTS\n"
        "group = Path(sys.argv[1]) / f'linewatt-tests-{os.environ[RUN]}'\n"
        "there = {name: (group / name).read_text().strip() for name in WEIGHTS if (group / name).exists()}\n"
        "print(bool(there) and there.items() <= WEIGHTS.items())"
    )
    done = subprocess.run(
        command(sys.executable, "-c", reads, str(group)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stdout == "True\n"


def test_without_a_group_it_runs_as_everybody_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preferred, "hierarchy", lambda _: None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert preferred.main(["bash", "-c", "echo $LINEWATT_TESTS_RUN; kill -TERM $$"]) == 128 + 15
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    out, err = capfd.readouterr()
    assert out == f"{os.getpid()}\n"
    assert "others have their share of the CPUs (no control groups share out CPUs here)" in err
