# SPDX-License-Identifier: Apache-2.0
"""A test that failed beside others is met again alone, and only where others had the CPUs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests import again

ROOT = Path(__file__).parents[2]
CONFTEST = """
import time
from tests import again

class Clock:  # what is waited is of the time that was read, however long it takes from one to the other
    now_s = 0.0

    def monotonic(self):
        self.now_s = time.monotonic()
        return self.now_s

again.time = Clock()
again.waited_s = lambda: {share} * again.time.now_s
again.stolen_s = lambda: {stolen} * again.time.now_s

class Look(again.Look):
    asked = 0

    def others_cores(self):  # since the file began, since the test did
        Look.asked += 1
        return {others}[Look.asked - 1]

again.Look = Look

def pytest_configure(config):
    again.watch(config, lambda test: "computes" not in test)
"""
FAILS = "def test_is_wrong():\n    assert False\n"
FAILS_ONCE = """
from pathlib import Path

def test_is_late():
    met = Path(__file__).with_name("met")
    before = met.exists()
    met.touch()
    assert before
"""
LEAVES_A_CHANGE = """
from pathlib import Path

import pytest

@pytest.fixture
def host():
    yield
    met = Path(__file__).with_name("met")
    before = met.exists()
    met.touch()
    assert before, "it was left changed"

def test_on_a_host(host):
    pass
"""
TIMED = "import pytest\n\npytestmark = pytest.mark.timed\n"


def ends(
    folder: Path,
    tests: str,
    share: float = 0.0,
    stolen: float = 0.0,
    *,
    others: tuple[float, float] = (0.0, 0.0),
    workers: bool = True,
) -> tuple[int, str]:
    """How a run ended, and what it said, where that much was waited for a CPU, or taken by a hypervisor, or
    used by others since the file began and since the test did."""
    (folder / "conftest.py").write_text(CONFTEST.format(share=share, stolen=stolen, others=others))
    (folder / "test_example.py").write_text(tests)
    outer = ("PYTEST_", again.RUN)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    if not workers:
        environment[again.RUN] = "1"
    options = ("-q", "-rs", "-p", "xdist", "-n", "1" if workers else "0", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, folder],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("tests", "share", "status", "said"),
    [
        (FAILS_ONCE, 0.6, 0, "test_is_late failed while processes waited for a CPU 60% of the time"),
        (FAILS, 0.6, 1, "test_is_wrong failed while processes waited for a CPU 60% of the time"),
        (FAILS_ONCE, 0.1, 1, None),
        (LEAVES_A_CHANGE, 0.6, 1, None),
        (TIMED + FAILS_ONCE.lstrip(), 0.6, 1, None),
    ],
    ids=["late", "wrong", "on a quiet machine", "left changed", "timed"],
)
def test_what_failed_while_others_had_the_cpus_is_met_again_and_decides(
    tmp_path: Path, tests: str, share: float, status: int, said: str | None
) -> None:
    ended, told = ends(tmp_path, tests, share)
    assert ended == status, told
    assert ("met again" in told) == (said is not None)
    assert said is None or said in told


@pytest.mark.parametrize("tests", [FAILS_ONCE, TIMED + FAILS_ONCE.lstrip()], ids=["late", "timed"])
@pytest.mark.parametrize(
    ("stolen", "status"), [(0.2, 0), (0.05, 1)], ids=["others had the machine", "it was this one's"]
)
def test_what_a_hypervisor_took_counts_for_what_is_timed_too(
    tmp_path: Path, tests: str, stolen: float, status: int
) -> None:
    ended, told = ends(tmp_path, tests, stolen=stolen)
    assert ended == status, told
    assert ("test_is_late failed while a hypervisor took 0.20 cores" in told) == (not status)


HANGS = """
import pytest
from tests import again

@pytest.fixture(autouse=True)
def stood_still(request):
    request.node.stash[again.HUNG] = "a CPU of guest h1 stood still"
    yield
"""


@pytest.mark.parametrize(
    ("tests", "status"),
    [
        (HANGS + FAILS_ONCE, 0),
        (HANGS + LEAVES_A_CHANGE.replace("def host()", "def host(stood_still)"), 0),
        (HANGS + FAILS, 1),
    ],
    ids=["once", "left changed", "wrong"],
)
def test_on_a_guest_that_stood_still_they_are_met_again_on_a_new_one(
    tmp_path: Path, tests: str, status: int
) -> None:
    ended, told = ends(tmp_path, tests, workers=False)
    assert ended == status, told
    assert "failed while a CPU of guest h1 stood still" in told


@pytest.mark.parametrize(("tests", "status"), [(FAILS_ONCE, 0), (FAILS, 1)], ids=["late", "wrong"])
def test_one_after_the_other_they_are_met_again_too(tmp_path: Path, tests: str, status: int) -> None:
    ended, told = ends(tmp_path, tests, stolen=0.2, workers=False)
    assert ended == status, told
    assert told.count("met again") == 1


@pytest.mark.parametrize(
    ("tests", "others", "status"),
    [
        (TIMED + FAILS, (0.98, 0.0), 0),
        (TIMED + FAILS, (0.0, 0.98), 0),
        (TIMED + FAILS, (0.19, 0.19), 1),
        (TIMED + LEAVES_A_CHANGE.replace("import pytest\n", ""), (0.98, 0.98), 1),
        (FAILS, (0.98, 0.98), 1),
        (TIMED + "def test_is_right(): pass", (0.98, 0.98), 0),
    ],
    ids=["before", "meanwhile", "on a quiet machine", "left changed", "measures nothing", "right"],
)
def test_what_measures_beside_others_is_no_failure_and_its_reason_is_told(
    tmp_path: Path, tests: str, others: tuple[float, float], status: int
) -> None:
    ended, told = ends(tmp_path, tests, others=others)
    assert ended == status, told
    skipped = max(others) == 0.98 and tests == TIMED + FAILS
    assert ("others used 0.98 cores of this machine, and it failed: assert False" in told) == skipped


def waits(test: str) -> bool:
    return "computes" not in test


@pytest.mark.parametrize(
    "failed",
    [
        {"is-late": None},
        {"computes": "others"},
        {"is-late": "others", "computes": "others"},
        {f"is-late-{number}": "others" for number in range(again.MOST + 1)},
    ],
    ids=["on a quiet machine", "computing", "one of two computing", "many"],
)
def test_what_is_no_noise_is_not_met_again(failed: dict[str, str | None]) -> None:
    assert again.chosen(failed, waits) == []


def test_what_is_noise_is() -> None:
    assert again.chosen({"is-late": "others", "is-late-too": "others"}, waits) == ["is-late", "is-late-too"]


def test_what_is_met_again_waits_for_the_tests_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    again._alone()  # nothing is beside
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as beside:
        monkeypatch.setenv(again.BESIDE, str(beside.pid))
        waiting = threading.Thread(target=again._alone)
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert beside.stdin is not None
        beside.stdin.close()
        waiting.join(60)
        assert not waiting.is_alive()
    again._alone()  # it is gone


def test_where_the_kernel_counts_no_waits_there_are_none_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(again, "PRESSURE", tmp_path / "nothing")
    assert again.waited_s() is None


def test_waits_are_read_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressure = tmp_path / "cpu"
    pressure.write_text("some avg10=1.53 avg60=0.87 avg300=0.73 total=1500000\nfull avg10=0.00 total=0\n")
    monkeypatch.setattr(again, "PRESSURE", pressure)
    assert again.waited_s() == 1.5
