# SPDX-License-Identifier: Apache-2.0
"""A moment of each fault, on labs side by side; ``make faults`` has more of them. And what tells harm."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from tests.faults import __main__ as make_faults
from tests.faults import hosts
from tests.faults.ground import Command, Ground
from tests.faults.kinds import FAULTS, Fault
from tests.faults.moment import BUSY_GONE_S, Answer, Outcome, strike, without_values
from tests.faults.page import ANSWERS, written
from tests.lab.conftest import _reason

from linewatt.features.lab import api as lab

SPAN_S = 6.0
"""about what the campaign takes; a moment behind its end is one without a fault"""
SHORT = {"factors": {}, "trials": 2}
LABS = 4
SLOW = [fault for fault in FAULTS if fault.lasts]
NAMES = [*(fault.name for fault in FAULTS if fault not in SLOW), "slow writes"]

Moments = dict[str, Future[Outcome]]


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moments]:
    """Fault → its moment, which comes with others at the same time; of slow writes one signal."""
    if reason := _reason():
        pytest.skip(reason)
    seed = random.SystemRandom().getrandbits(32)
    grounds: dict[bool, SimpleQueue[Ground]] = {True: SimpleQueue(), False: SimpleQueue()}

    def one(fault: Fault) -> Outcome:
        ground = grounds[fault.bmc].get()
        try:
            return strike(
                replace(fault, keys={**SHORT, **fault.keys}), ground, 0, seed, SPAN_S, gone_s=BUSY_GONE_S
            )
        finally:
            grounds[fault.bmc].put(ground)

    with ThreadPoolExecutor(LABS + 1) as pool, ExitStack() as back:
        for number in range(LABS + 1):
            name, has_bmc = f"t{os.getpid()}-f{number}", number == LABS
            back.callback(lab.down, name)
            made = lab.up(lab.LabRequest(name=name, bmc=has_bmc))
            grounds[has_bmc].put(Ground(made, tmp_path_factory.mktemp(f"ground{number}")))
        slow = random.Random(seed).choice(SLOW)  # noqa: S311
        begun = {fault.name: pool.submit(one, fault) for fault in FAULTS if fault not in SLOW}
        yield {**begun, "slow writes": pool.submit(one, slow)}


@pytest.mark.full
@pytest.mark.lab
@pytest.mark.parametrize("fault", NAMES)
def test_a_fault_at_any_moment_does_no_harm(moments: Moments, fault: str) -> None:
    outcome = moments[fault].result()
    assert outcome.lines == [], f"seed {outcome.seed}, {outcome.trials_done} trials done"


def _harm(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """What no undo knows of: a changed sysctl, a process, a trial that is gone, one that is made up."""
    run.process.wait(60)
    subprocess.run(
        ["ip", "netns", "exec", ground.namespaces[0], "sysctl", "-qw", "net.ipv4.tcp_sack=0"], check=True
    )
    subprocess.Popen(["ip", "netns", "exec", ground.namespaces[1], "sleep", "30"])
    path = ground.results[0] / "trials" / "00001" / "trial.json"
    path.unlink()
    path = path.parents[1] / "00002" / "trial.json"
    trial = json.loads(path.read_text())
    ground.dead.append((trial["window"]["start_s"], trial["window"]["end_s"]))


@pytest.mark.full
@pytest.mark.lab
def test_harm_that_is_planted_is_told(make_ground: Ground) -> None:
    told = strike(Fault("harm", _harm, keys=SHORT), make_ground, 0, 1, 0.1, gone_s=0.1).harm
    assert {"hosts changed", "processes left", "trials lost", "falsely done"} <= told.keys()
    assert any("net.ipv4.tcp_sack" in line for line in told["hosts changed"])
    assert "1 was said to be stored" in told["trials lost"]


@pytest.fixture
def make_ground(make_lab: Any, tmp_path: Path) -> Ground:
    return Ground(make_lab(bmc=False), tmp_path)


def test_what_a_host_shows_is_compared_line_by_line() -> None:
    before = {"mtu": "1500", "sysctl": "a = 1\nb = 2"}
    assert hosts.changed(before, dict(before)) == []
    assert hosts.changed(before, {"mtu": "1500", "sysctl": "a = 1\nb = 3"}) == [
        "sysctl: no longer 'b = 2'",
        "sysctl: now 'b = 3'",
    ]
    assert hosts.changed(before, {"sysctl": "a = 1\nb = 2"}) == ["mtu: no longer '1500'"]


DONE = {"status": "done", "throughput_bps": 1e8, "window": {"start_s": 10.0, "end_s": 11.0}}
WHOLE = json.dumps({"intervals": [{"sum": {"bytes": 5}}]})


@pytest.mark.parametrize(
    ("outputs", "dead", "said"),
    [
        ([WHOLE], [], None),
        ([WHOLE], [(11.5, 12.0), (8.0, 9.9)], None),
        ([WHOLE], [(10.9, 12.0)], "link was down"),
        ([], [], "got nothing"),
        ([WHOLE, '{"intervals": []}'], [], "got nothing"),
        (['{"error": "unable to connect", "intervals": []}'], [], "got nothing or failed"),
        ([WHOLE[:-5]], [], "not whole"),
    ],
)
def test_a_trial_that_is_falsely_done_is_told(
    outputs: Sequence[str], dead: Sequence[tuple[float, float]], said: str | None
) -> None:
    told = hosts.false_results(DONE, outputs, dead)
    assert told == [] if said is None else said in told[0]


def test_a_row_of_the_page_is_of_the_newest_run_that_had_the_fault() -> None:
    first, second = FAULTS[0].name, FAULTS[1].name
    page = written("", [Outcome(first, 0, 7, 1.0), Outcome(second, 0, 7, 1.0)])
    again = [Outcome(second, 0, 8, 1.0), Outcome(second, 1, 8, 1.0, {"hung": ["run"]})]
    rows = [
        line for line in written(page, again).splitlines() if line.startswith((f"| {first} ", f"| {second} "))
    ]
    assert rows == [
        f"| {first} | 1 | 7 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |",
        f"| {second} | 2 | 8 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |",
    ]


def test_the_page_has_how_each_command_of_a_fault_ended() -> None:
    first, second = FAULTS[0].name, FAULTS[1].name
    killed, restored = Answer("run", "SIGKILL", ""), Answer("restore", "0", "linewatt: restored N|N settings")
    outcomes = [
        Outcome(first, 0, 7, 1.0, answers=[killed, restored]),
        Outcome(first, 1, 7, 1.0, answers=[killed]),
        Outcome(second, 0, 7, 1.0, answers=[Answer("run", "130", "linewatt: interrupted")]),
    ]
    page = written(written("", outcomes), [Outcome(second, 0, 8, 1.0, answers=[Answer("run", "0", "")])])
    assert page.partition(ANSWERS)[2].splitlines()[2:] == [
        f"| {first} | `run` | SIGKILL | 2 |  |",
        f"| {first} | `restore` | 0 | 1 | linewatt: restored N\\|N settings |",
        f"| {second} | `run` | 0 | 1 |  |",
    ]


def test_what_differs_between_runs_is_left_out_of_a_message() -> None:
    said = "h1: 20260101-120000-fault has 3 of 4,096 trials in /tmp/x/results, 2.5 s"
    assert without_values(said) == "HOST: ID has N of N trials in PATH, N s"


def test_moments_of_all_faults_end_within_their_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [0.0]

    def moment(fault: Fault, ground: object, number: int, seed: int, span_s: float) -> Outcome:
        clock_s[0] += 55.0
        return Outcome(fault.name, number, seed, span_s)

    monkeypatch.setattr(make_faults, "time", SimpleNamespace(monotonic=lambda: clock_s[0]))
    monkeypatch.setattr(make_faults, "lab", MagicMock())
    monkeypatch.setattr(make_faults, "Ground", MagicMock())
    monkeypatch.setattr(make_faults, "undisturbed_s", lambda ground, fault: 5.0)
    monkeypatch.setattr(make_faults, "strike", moment)
    outcomes = make_faults._all(FAULTS[:4], moments=20, seed=1, jobs=1, minutes=10)
    assert clock_s[0] <= 600
    assert Counter(outcome.fault for outcome in outcomes) == dict(
        zip([fault.name for fault in FAULTS[:4]], (3, 3, 2, 2), strict=True)
    )
