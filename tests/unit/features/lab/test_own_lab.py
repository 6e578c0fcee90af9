# SPDX-License-Identifier: Apache-2.0
"""Commands with a lab of their own: whatever ends them takes it down, and nobody is told to go on with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from tests.report_factories import demo_trials, host, result, stored
from tests.unit.conftest import Run

from linewatt.cli import progress
from linewatt.cli.execution import _Heard
from linewatt.engine import events
from linewatt.engine.campaign import CampaignRun
from linewatt.errors import HostError
from linewatt.hosts.base import goes_with_its_command
from linewatt.report.trials.caveats import caveats, short_caveats
from linewatt.report.trials.digest import digest_of

OURS = {name: host(name, lab="kernels-4711") for name in ("h1", "h2")}

PROGRAM = """
import asyncio, os, signal, sys
from linewatt.features.lab import api as lab
from linewatt.cli.signals import until_done
from linewatt.features.lab.own_lab import own_lab

number = getattr(signal, sys.argv[1])
strike = lambda: os.kill(os.getpid(), number)
lab.names = lambda: []
lab.up = lambda request: strike() if sys.argv[2] == "up" else request.name
async def ran(): return "ran"

def down(name):
    strike()
    print("down")
    return True

lab.down = down
try:
    with own_lab("demo", lab.LabRequest(), "two hosts"):
        print(until_done(ran()))
        if sys.argv[2] == "after the run":
            strike()
        print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("up", ["down", "interrupted"]),
        ("after the run", ["ran", "down", "interrupted"]),
        ("down", ["ran", "not interrupted", "down"]),
    ],
)
def test_what_ends_a_command_takes_its_lab_down(when: str, said: list[str], number: str) -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run behind nohup
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, number, when],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        signal.signal(signal.SIGHUP, ignored)
    assert (done.returncode, done.stdout.splitlines()) == (0, said), done.stderr
    assert "still taking the lab down; give it a moment" in done.stderr
    assert f"lab demo-{_process(done.stderr)} is down, nothing is left of it" in done.stderr


def _process(said: str) -> str:
    return said.partition("bringing up lab demo-")[2].partition(":")[0]


def test_signals_are_what_they_were_behind_a_lab_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from linewatt.features.lab import api as lab
    from linewatt.features.lab.own_lab import own_lab

    monkeypatch.setattr(lab, "names", list)
    monkeypatch.setattr(lab, "up", lambda _: None)
    monkeypatch.setattr(lab, "down", lambda _: False)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with own_lab("demo", lab.LabRequest(), "two hosts"):
            assert signal.getsignal(signal.SIGTERM) != before[1]
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, "nohup"
    finally:
        signal.signal(signal.SIGHUP, hung_up)
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize(
    ("lab", "goes"),
    [("demo-1", True), ("kernels-4711", True), ("rehearse-9", True), ("mine-9", False), ("demo", False)],
)
def test_a_lab_that_goes_is_told_by_its_name(lab: str, goes: bool) -> None:
    assert goes_with_its_command(lab) is goes
    assert not goes_with_its_command(None)


def test_an_interrupted_run_on_hosts_that_go_advises_no_resume(capsys: pytest.CaptureFixture[str]) -> None:
    heard = _Heard(lambda _: None, passing=True)
    heard(events.Started("id", "results/id", trials=4, trials_stored=0, duration_s=9.0))
    heard(events.TrialStored(demo_trials()[0], 4))

    async def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(typer.Exit):
        heard.until_done(interrupted())
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        "linewatt: interrupted; 1 of 4 trials kept; see: linewatt show id "
        "(the lab's hosts are gone with this command)"
    )


def test_trials_that_were_not_run_and_hosts_left_changed_go_with_their_lab(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress.choose_progress(False, passing=True) as show:
        show(events.Ended("id", "results/id", 1, 0, 3))
        show(events.LeftChanged(("h1: cannot put back mtu eth0: no",)))
    assert capsys.readouterr().err.splitlines() == [
        "id: 1 trials done, 3 not run (the lab's hosts are gone with this command); results in results/id",
        "warning: h1: cannot put back mtu eth0: no",
        "warning: not everything could be put back; these hosts are gone with this command",
    ]


def test_an_unfinished_result_of_a_lab_that_went_says_so() -> None:
    view = digest_of(result(demo_trials(), planned=20, hosts=OURS))
    said = " ".join((*caveats(view), *short_caveats(view)))
    assert "linewatt resume" not in said
    assert "5 not run. It cannot be continued: its lab was removed when its command ended." in said
    assert "Unfinished: its lab is gone" in said


def test_resume_of_hosts_that_went_is_one_line(run: Run, tmp_path: Path) -> None:
    name = stored(tmp_path / "results", result(demo_trials(), planned=20, hosts=OURS)).name
    code, out, err = run("resume", name)
    assert (code, out) == (1, "")
    assert err == (
        f"linewatt: {name}: its hosts were those of a lab that goes with the command that ran it, so nothing "
        "can continue it; give that command again\n"
    )


@pytest.mark.parametrize(("passing", "left"), [(True, "not run"), (False, "left for `linewatt resume`")])
def test_trials_that_are_given_up_are_left_for_resume_where_there_can_be_one(
    passing: bool, left: str, tmp_path: Path
) -> None:
    heard: list[Any] = []
    run = object.__new__(CampaignRun)
    run._campaign = cast("Any", SimpleNamespace(is_passing=passing))
    run._given_up, run._gone, run._say, run._path = set(), set(), heard.append, tmp_path
    case = demo_trials()[0].case
    other = SimpleNamespace(case=replace(case, sender="h8", receiver="h9"))
    run._plan = cast("Any", SimpleNamespace(rounds=[SimpleNamespace(trials=[other])]))
    run._give_up(case, HostError("h1: gone"))
    assert heard[0].text.endswith(f"are {left}")
    (tmp_path / "trials" / "00001").mkdir(parents=True)
    (tmp_path / "trials" / "00001" / "trial.json").touch()
    assert run._left() == f"its trials are {left}"
