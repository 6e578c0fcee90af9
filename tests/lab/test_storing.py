# SPDX-License-Identifier: Apache-2.0
"""What is said to be done is on disk, whatever becomes of the disk; and nothing is left that says nothing."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, await_event, bench, end

__all__ = ["bench"]

pytestmark = pytest.mark.lab

MTU = "/sys/class/net/data0/mtu"
SYSCTL = "net.ipv4.tcp_rmem"
SHORT = {"seconds": 0.5, "omit": 0.1, "tail": 0.4}
CHANGES = {"settings": {"sysctl": {SYSCTL: "4096 131072 7340032"}}}


@contextmanager
def small_disk(at: Path) -> Iterator[Path]:
    """A file system of 256 KiB and 200 files."""
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=200", "linewatt-test", str(at)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)


def fill(disk: Path) -> None:
    with (disk / "full").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.parametrize("full", ["results", "state"])
@pytest.mark.parametrize("of", ["blocks", pytest.param("inodes", marks=pytest.mark.full)])
def test_a_disk_that_is_full_from_the_beginning_is_one_line_and_leaves_nothing(
    bench: Bench, full: str, of: str
) -> None:
    """Nothing is changed on a host whose intent cannot be stored."""
    before = bench.settings(SYSCTL)
    with small_disk(bench.tmp / full) as disk:
        fill(disk)
        if of == "inodes":
            (disk / "full").unlink()
            with suppress(OSError):
                for number in range(1 << 20):
                    (disk / f"full{number}").touch()
        done = bench.run("run", bench.campaign(**CHANGES), status=2 if of == "inodes" else 1)
        told = [line for line in done.stderr.splitlines() if line.startswith("linewatt: ")]
        assert len(told) == 1
        assert done.stderr.splitlines()[-1] == told[0]
        assert re.search("the disk is full|No space left on device", told[0])
        assert "Traceback" not in done.stderr
        if (full, of) == ("state", "blocks"):
            assert "undo journal cannot be" in told[0]
        assert bench.settings(SYSCTL) == before
        assert [path for path in bench.results.rglob("*") if not path.name.startswith("full")] == []


def test_trials_whose_setting_could_not_be_journalled_are_still_to_run(bench: Bench) -> None:
    """So many trials that the journal outgrows the last block that it has on a full disk."""
    campaign = bench.campaign(factors={"mtu": [1400, 1500]}, trials=3, rate="20M", window=SHORT)
    before = bench.on_host(2, "cat", MTU)
    with small_disk(bench.tmp / "state") as disk:
        process = bench.start("run", campaign)
        await_event(process, "trial_stored")
        fill(disk)
        _, err = end(process, 1)
        assert "No space left on device" in err
        assert "Traceback" not in err
        stored = bench.trials()
        assert {trial["status"] for trial in stored} == {"done"}
        assert 0 < len(stored) < 6
        (disk / "full").unlink()
        bench.restore()
        assert bench.on_host(2, "cat", MTU) == before
        bench.run("resume", "last")
    assert [trial["status"] for trial in bench.trials()] == ["done"] * 6
    bench.run("verify", "last")
    assert bench.on_host(2, "cat", MTU) == before


def test_a_result_that_is_deleted_in_mid_run_is_not_said_to_be_done(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(trials=2, rate="20M"))
    await_event(process, "trial_stored")
    shutil.rmtree(bench.result)
    _, err = end(process, 1)
    assert "was removed or moved while its campaign runs" in err
    assert "Traceback" not in err
    assert list(bench.results.iterdir()) == []


def test_a_trial_that_is_deleted_in_mid_run_is_still_to_run_in_the_campaign_that_was_stored(
    bench: Bench,
) -> None:
    """Resume says what of the file was edited since, and which campaign it goes on with."""
    process = bench.start("run", bench.campaign(trials=2, rate="20M"))
    await_event(process, "trial_stored")
    shutil.rmtree(bench.result / "trials" / "00001")
    ended, _ = end(process, 1)
    assert (ended["done"], ended["failed"], ended["pending"]) == (1, 0, 1)
    bench.campaign(trials=3, rate="30M")
    done = bench.run("resume", "last")
    assert "campaign.yaml was edited (" in done.stderr
    assert "trials: 2 → 3" in done.stderr
    assert "continues the campaign as it was stored" in done.stderr
    assert len(bench.trials()) == 2


def test_a_run_that_is_stopped_before_its_first_trial_leaves_no_result(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(name="second", idle={"seconds": 5}))
    await_event(process, "phase")
    while not await_event(process, "phase")["text"].startswith("idle window"):
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG_LIMIT_S)
    assert process.returncode == 130
    assert list(bench.results.iterdir()) == [], "last is still one that measured"
    assert "nothing to restore" in bench.restore()


@pytest.mark.full
def test_a_trial_that_was_deleted_from_a_complete_result_is_run_again(bench: Bench) -> None:
    bench.run("run", bench.campaign(trials=2, idle={"seconds": 1}))
    shutil.rmtree(bench.result / "trials" / "00002")
    assert "trials/00002/trial.json" in bench.run("verify", "last", status=1).stdout
    bench.run("resume", "last")
    assert [trial["status"] for trial in bench.trials()] == ["done", "done"]
    bench.run("verify", "last")
