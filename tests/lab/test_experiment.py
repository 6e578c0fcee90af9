# SPDX-License-Identifier: Apache-2.0
"""Knobs turned between trials on real hosts, and every one of them back where it was."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, await_event, end

pytestmark = pytest.mark.lab

FACTORS: dict[str, object] = {"mtu": [1500, 1400], "gro": ["on", "off"], "rps": ["off", "0"]}


class Experiments(Bench):
    """Knobs of all hosts, read by the tools themselves."""

    def knobs(self) -> list[str]:
        queue = "/sys/class/net/data0/queues/rx-0/rps_cpus"
        return [
            self.on_host(number, *argv)
            for number in range(1, len(self.lab.hosts) + 1)
            for argv in (
                ["cat", "/sys/class/net/data0/mtu"],
                ["ethtool", "-k", "data0"],
                ["cat", queue],
                ["sysctl", "-n", "net.ipv4.tcp_congestion_control"],
                ["sysctl", "-n", "net.ipv4.tcp_rmem"],
            )
        ]

    def mtu(self, number: int) -> str:
        return self.on_host(number, "cat", "/sys/class/net/data0/mtu")

    def experiment(self, **keys: object) -> Path:
        short = {"seconds": 1, "omit": 0.2, "tail": 0.8}
        return self.campaign(
            **{"rate": "300M", "factors": FACTORS, "design": "full", "window": short, **keys}
        )


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Experiments]:
    one = Experiments(plain_lab2, tmp_path)
    before = one.knobs()
    yield one
    one.until_nothing_runs()
    assert one.knobs() == before


def test_a_sweep_of_three_knobs_shows_each_level_and_puts_all_back(bench: Experiments) -> None:
    window = {"seconds": 0.5, "omit": 0.1, "tail": 0.6}
    done = bench.run("run", bench.experiment(trials=1, design="fractional", window=window))
    trials = bench.trials()
    assert len(trials) == 4
    assert all(trial["status"] == "done" for trial in trials)
    for trial in trials:
        levels = dict(trial["case"]["factors"])
        read = trial["receiver"]["settings"]
        assert read["mtu data0"].startswith(levels["mtu"])
        assert levels["gro"] in next(text for name, text in read.items() if "offload" in name)
        assert read["rps_cpus data0"] == ("rx-0=0" if levels["rps"] == "off" else "rx-0=1")
        assert "setting-changed" not in {flag["code"] for flag in trial["flags"]}
    first = [dict(trial["case"]["factors"])["mtu"] for trial in trials[:3]]
    assert set(first) == {"1500", "1400"}, "levels are interleaved, not done one after the other"
    assert "effect" in done.stdout.lower()
    assert "mtu" in done.stdout
    assert "nothing to restore" in bench.restore()


@pytest.mark.full
def test_ctrl_c_in_the_middle_of_a_sweep_puts_every_knob_back(bench: Experiments) -> None:
    before = bench.knobs()
    running = bench.start("run", bench.experiment(trials=3, factors={"mtu": [1400, 1500]}))
    await_event(running, "trial_started", 1)
    assert bench.mtu(2) == "1400"
    running.send_signal(signal.SIGINT)
    _, err = end(running, 130)
    assert "Traceback" not in err
    assert bench.knobs() == before


@pytest.mark.full
def test_kill_dash_nine_in_the_middle_of_a_sweep_is_undone_by_restore(bench: Experiments) -> None:
    before = bench.knobs()
    running = bench.start("run", bench.experiment(trials=1, design="one-at-a-time"))
    await_event(running, "trial_started", 3)
    running.kill()
    running.communicate()
    bench.until_nothing_runs()
    bench.restore()
    assert bench.knobs() == before
    bench.run("resume", "last")
    assert len(bench.trials()) == 4


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({"mtu": [1500, 60]}, "mtu"),
        ({"mtu": [1500, 70000]}, "mtu"),
        ({"sysctl.net.no.such": [1, 2]}, "net.no.such"),
        pytest.param({"rings": ["rx=64", "rx=128"]}, "rings", marks=pytest.mark.full),
    ],
)
def test_a_level_that_cannot_be_is_one_line_before_anything_is_changed(
    bench: Experiments, factors: dict[str, object], said: str
) -> None:
    before = bench.knobs()
    words = bench.words("run", bench.experiment(factors=factors, design="one-at-a-time"))
    done = forked.run(words, env=bench.environment, timeout=HANG_LIMIT_S)
    assert done.returncode in (1, 2), done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert said in last
    assert "Traceback" not in done.stderr
    assert bench.knobs() == before
    assert "nothing to restore" in bench.restore()


def test_a_level_that_the_kernel_refuses_fails_its_own_trials_only(bench: Experiments) -> None:
    campaign = bench.experiment(
        factors={"sysctl.net.ipv4.tcp_ecn": [0, 99]}, design="one-at-a-time", trials=1
    )
    done = bench.run("run", campaign, status=1)
    good, bad = bench.trials()
    assert (good["status"], bad["status"]) == ("done", "failed")
    assert "cannot set sysctl net.ipv4.tcp_ecn" in bad["reason"]
    assert bad["reason"] in done.stderr
    assert "nothing to restore" in bench.restore()


def test_a_label_is_set_by_its_hook_and_proven_by_its_fact(bench: Experiments, tmp_path: Path) -> None:
    """The hook stands for hands: it changes something of the hosts that a fact shows."""
    hosts = [host.namespace for host in bench.lab.hosts]
    now = bench.on_host(1, "sysctl", "-n", "net.ipv4.tcp_congestion_control")
    assert now != "reno", "the test needs another algorithm to go back to"
    hook = tmp_path / "hook.sh"
    lines = [
        f"ip netns exec {name} sysctl -qw net.ipv4.tcp_congestion_control=$LINEWATT_LEVEL" for name in hosts
    ]
    hook.write_text("#!/bin/sh\nset -e\n" + "\n".join(lines) + "\n")
    hook.chmod(0o755)
    label = {"label": ["reno", now], "hook": [str(hook)], "timeout": 20}
    campaign = bench.experiment(
        factors={"stack": {**label, "fact": "sysctl.net.ipv4.tcp_congestion_control"}},
        design="full",
        trials=1,
    )
    bench.run("run", campaign)
    assert [dict(trial["case"]["factors"])["stack"] for trial in bench.trials()] == ["reno", now]
    seen = [json.loads(path.read_text())["labels"] for path in sorted(bench.result.glob("labels-*.json"))]
    assert [[(one["level"], one["hosts"]) for one in labels] for labels in seen] == [
        [("reno", {"h1": "reno", "h2": "reno"})],
        [(now, {"h1": now, "h2": now})],
    ]


def test_a_label_that_was_not_changed_ends_the_campaign_in_words(bench: Experiments) -> None:
    label = {"label": ["old", "new"], "hook": ["true"], "fact": "kernel.release", "timeout": 20}
    campaign = bench.experiment(factors={"kernel": label}, design="full", trials=1)
    done = bench.run("run", campaign, status=1)
    assert "kernel.release is" in done.stderr
    assert "with kernel=new as it was with kernel=old: it has not been changed there" in done.stderr
    assert [trial["status"] for trial in bench.trials()] == ["done"]
    assert "nothing to restore" in bench.restore()


def test_a_label_that_needs_hands_is_refused_where_nobody_can_be_asked(bench: Experiments) -> None:
    done = bench.run("run", bench.experiment(factors={"dimms": {"label": [8, 16]}}), status=2)
    assert "factors.dimms: is set by hand, and there is no terminal to ask on" in done.stderr


def test_run_asks_for_what_only_hands_can_do_and_waits(bench: Experiments) -> None:
    """On a terminal: somebody at the other end of it reads the question and presses Enter."""
    ours, theirs = pty.openpty()
    campaign = bench.experiment(factors={"dimms": {"label": [8, 16]}}, design="full", trials=1)
    running = forked.Forked(
        bench.words("run", campaign),
        env=bench.environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    try:
        assert running.stderr is not None
        asked = []
        for line in running.stderr:
            if line.startswith("Set dimms to"):
                asked.append(line.strip())
                os.write(ours, b"\n")
        assert running.wait(HANG_LIMIT_S) == 0
    finally:
        running.kill()
        running.communicate()
        os.close(ours)
    assert asked == [f"Set dimms to {level} on h1, h2, then press Enter" for level in (8, 16)]
    assert [dict(trial["case"]["factors"])["dimms"] for trial in bench.trials()] == ["8", "16"]
