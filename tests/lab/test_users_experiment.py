# SPDX-License-Identifier: Apache-2.0
"""Experiments on users of a real vsftpd: what a factor does and what does nothing is told; a soak follows."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.ftp_server import why_not
from tests.lab.test_campaign import GONE_LIMIT_S, HANG_LIMIT_S, Bench, await_event, until
from tests.lab.test_soak import SoakBench, memory  # noqa: F401  a fixture

from linewatt.engine.rederive.differences import LEARNED

pytestmark = [pytest.mark.lab, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

LONG_RUN_S = 600.0
SIZE, NOTHING = "users.file_size", "users.cycle_transfers"
"""what is planted, and what users do not even look at with one login a session"""

FALSE_ALARM_P = 0.005
"""Of no effect one in twenty is told by its statistics, one in two hundred below this."""


class UsersBench(SoakBench):
    """h1 is the server, h2 and h3 are clients."""

    def experiment(self, **keys: Any) -> Path:
        users = {
            "server": "h1",
            "clients": ["h2"],
            "users": 8,
            "get": {"size": "20k", "files": 2},
            "put": {"size": "20k"},
            "get_share": "100%",
            "think": "200ms",  # a transfer takes a few: the size decides on the rate
            "spread": "200ms",
            "folder": str(self.folder),
            "python": sys.executable,
            **keys.pop("users", {}),
        }
        document = {
            "name": "e",
            "hosts": str(self.lab.inventory),
            "sensors": {"cpufreq": False},
            "users": users,
            "factors": {SIZE: ["20k", "200k"], NOTHING: [2, 3]},
            "design": "full",
            "order": "random",
            "trials": 3,
            "window": {"seconds": 3, "omit": 1, "tail": 1},
            "idle": {"seconds": 0},
            **keys,
        }
        path = self.tmp / "experiment.yaml"
        path.write_text(json.dumps(document))
        return path

    def folders(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    @property
    def experiments(self) -> list[Path]:
        return sorted(self.results.iterdir())


@pytest.fixture
def bench(lab3: Any, tmp_path: Path, memory: Path) -> Iterator[UsersBench]:  # noqa: F811
    one = UsersBench(lab3, tmp_path, memory)
    yield one
    until(lambda: not one.processes() and not one.server_processes(), GONE_LIMIT_S, "all processes to end")


def verdicts(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Factor → what its second level does to throughput."""
    rows = document["effects"]["groups"][0]["responses"]
    throughput = next(one for one in rows if one["response"] == "throughput_bps")
    return {row["factor"]: row for row in throughput["main_effects"]}


def _best(document: dict[str, Any]) -> dict[str, str]:
    rows = document["effects"]["groups"][0]["responses"]
    found: dict[str, str] = next(one for one in rows if one["response"] == "throughput_bps")["best"][
        "setting"
    ]
    return found


@pytest.mark.full
def test_a_planted_effect_and_a_null_one_are_told_and_the_best_setting_soaks(bench: UsersBench) -> None:
    bench.run("run", bench.experiment(), limit_s=LONG_RUN_S)
    trials = bench.trials()
    assert [one["status"] for one in trials] == ["done"] * 12, [one["reason"] for one in trials]
    assert bench.folders() == []
    document = json.loads(bench.run("show", "last", "--json").stdout)
    shown = bench.run("show", "last").stdout
    assert "Users: throughput is both ways together" in shown
    assert f"{SIZE} 20k → 200k" in shown
    told = verdicts(document)
    assert told[SIZE]["kind"] == "better", told[SIZE]
    assert 6 < told[SIZE]["ratio"] < 10.5, "ten times the bytes, and a little more time for them"
    null = told[NOTHING]
    assert null["ratio"] == pytest.approx(1, abs=0.1), null
    alarm = null["kind"] not in ("same", "small", "undecided")
    assert not alarm or null["p_holm"] > FALSE_ALARM_P, null
    assert _best(document)[SIZE] == "200k"

    (experiment,) = bench.experiments
    soak = bench.soak("5s", best_of=experiment.name, users={"clients": ["h2"], "get_share": "100%"})
    planned = bench.run("plan", soak).stdout
    assert f"best of {experiment.name}: {NOTHING}=" in planned
    assert f"{SIZE}=200k" in planned
    assert "gets files of 0.2 MB" in planned
    bench.run("run", soak, limit_s=LONG_RUN_S)
    (stored,) = [path for path in bench.experiments if path != experiment]
    campaign = json.loads((stored / "manifest.json").read_text())["campaign"]
    assert campaign["users"]["get"]["median_bytes"] == 200_000
    assert campaign["best_of"]["result"] == experiment.name
    assert dict(campaign["best_of"]["setting"])[SIZE] == "200k"
    assert f"Best of {experiment.name}" in bench.run("show", stored.name).stdout


@pytest.mark.full
def test_kill_dash_nine_in_an_experiment_is_restored_and_resumed(bench: UsersBench) -> None:
    file = bench.experiment(
        trials=1,
        factors={"users.users": [2, 4], "gro": ["on", "off"]},
        design="full",
        users={"clients": ["h2", "h3"]},
    )
    before = bench.on_host(1, "ethtool", "-k", "data0")
    running = bench.start("run", file)
    await_event(running, "trial_started", 2)
    running.kill()
    running.communicate()
    until(lambda: not bench.server_processes(), GONE_LIMIT_S, "the server to end with its controller")
    bench.until_nothing_runs()
    assert len(bench.folders()) == 1, "what was killed left the folder of its server"
    bench.restore()
    assert bench.folders() == []
    assert bench.on_host(1, "ethtool", "-k", "data0") == before
    bench.run("resume", "last", limit_s=LONG_RUN_S)
    assert [one["status"] for one in bench.trials()] == ["done"] * 4
    assert {dict(one["case"]["factors"])["users.users"] for one in bench.trials()} == {"2", "4"}
    for trial in bench.trials():
        parts = [one["users_bps"] for one in trial["flows"]]
        assert len(parts) == 2
        assert sum(parts) == pytest.approx(trial["throughput_bps"])
        assert {one["end"]["host"] for one in trial["flows"]} == {"h2", "h3"}
        assert trial["receiver"]["host"] == "h1"
    document = json.loads(bench.run("rederive", "last", "--json").stdout)
    assert [one["problem"] for one in document["trials"]] == [None] * 4
    changed = [change for one in document["trials"] for change in one["changes"]]
    assert [one for one in changed if one["why"] != LEARNED or ".power[" not in one["figure"]] == []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"users": {"python": "/nowhere/python"}}, "/nowhere/python"),
        pytest.param({"users": {"folder": "/nowhere"}}, "/nowhere", marks=pytest.mark.full),
    ],
    ids=["a client without Python", "no folder for the server"],
)
def test_what_lacks_on_hosts_is_told_in_one_line(
    lab2: Any,
    tmp_path: Path,
    memory: Path,  # noqa: F811
    keys: dict[str, Any],
    said: str,
) -> None:
    bench = UsersBench(lab2, tmp_path, memory)
    words = bench.words("run", bench.experiment(trials=1, **keys))
    done = forked.run(words, env=bench.environment, timeout=HANG_LIMIT_S)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    bench.until_nothing_runs()


class CpuBench(Bench):
    """Logins of each host see a copy of the CPUs of this machine, which can be switched without harm."""

    def switches(self, back: ExitStack) -> list[Path]:
        """That of CPU 1 at either host."""
        return [self._tree(number, back) / "cpu1" / "online" for number in (1, 2)]

    def _tree(self, number: int, back: ExitStack) -> Path:
        """Of each host its own: a file is empty for a moment while it is written, which a switch never is."""
        tree = self.tmp / f"cpus-{number}"
        tree.mkdir()
        real = Path("/sys/devices/system/cpu")
        for name in ("online", "possible", "present", "isolated"):
            if (real / name).exists():
                (tree / name).write_text((real / name).read_text())
        for cpu in real.glob("cpu[0-9]*"):
            shutil.copytree(cpu / "topology", tree / cpu.name / "topology")
            (tree / cpu.name / "online").write_text("1\n")
        (tree / "cpu0" / "online").unlink()
        self.mount(number, tree, str(real), back)
        return tree

    def hosts_of_their_own(self) -> Path:
        """The lab's inventory without a word of the lab."""
        gone = (
            "linewatt_lab:",
            "linewatt_shares_cpus_with:",
            "linewatt_cpus:",
            "linewatt_irq",
            "linewatt_app",
        )
        lines = self.lab.inventory.read_text().splitlines()
        path = self.tmp / "hosts.yaml"
        path.write_text("\n".join(line for line in lines if not line.strip().startswith(gone)) + "\n")
        return path


@pytest.fixture
def cpus(lab2: Any, tmp_path: Path) -> Iterator[CpuBench]:
    one = CpuBench(lab2, tmp_path)
    yield one
    one.until_nothing_runs()


def test_a_cpu_that_was_switched_off_is_on_again_after_kill_dash_nine_and_restore(cpus: CpuBench) -> None:
    with ExitStack() as back:
        switches = cpus.switches(back)

        def states() -> list[str]:
            return [one.read_text().strip() for one in switches]

        keys = {"factors": {"cpus_online": ["all", "0"]}, "placement": "none", "trials": 1, "rate": "20M"}
        file = cpus.campaign(hosts=str(cpus.hosts_of_their_own()), **keys)
        running = cpus.start("run", file)
        await_event(running, "trial_started", 2)
        assert states() == ["0", "0"]
        running.kill()
        running.communicate()
        cpus.until_nothing_runs()
        assert states() == ["0", "0"], "nobody has put it back yet"
        cpus.restore()
        assert states() == ["1", "1"]
        cpus.run("resume", "last")
        assert states() == ["1", "1"]
        assert [one["status"] for one in cpus.trials()] == ["done"] * 2
        read = [one["receiver"]["settings"]["cpus_online host"] for one in cpus.trials()]
        assert read == ["always@0 on@1", "always@0 off@1"]


def test_hosts_of_a_lab_keep_their_cpus(cpus: CpuBench) -> None:
    words = cpus.words("run", cpus.campaign(factors={"cpus_online": ["all", "0"]}))
    done = forked.run(words, env=cpus.environment, timeout=HANG_LIMIT_S)
    assert done.returncode == 2
    assert "a CPU that goes offline is gone from the machine of all of them" in done.stderr
