# SPDX-License-Identifier: Apache-2.0
"""Two kernels in one command: guests, a campaign in turn, a comparison that says of what, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.lab.test_lab import LINEWATT, until
from tests.vm.test_guests import linewatt

from linewatt.features.lab import api as lab
from linewatt.features.lab.guests.tools import kernels
from linewatt.features.lab.state import ROOT

pytestmark = [pytest.mark.vm, pytest.mark.thorough, pytest.mark.usefixtures("none_left")]

STAGE_LIMIT_S = 120.0
BOOT_AND_RUN_S = 800.0
"""of a boot, which has a limit of 420 s itself, and a campaign"""
ENDS_LIMIT_S = 60.0

CAMPAIGN = {
    "name": "two",
    "hosts": "the lab's",
    "tests": ["tcp"],
    "rate": "10M",
    "trials": 2,
    "window": {"seconds": 2, "omit": 0.5},
    "idle": {"seconds": 0},
}


def two() -> tuple[Path, Path]:
    found = kernels()
    if len(found) < 2:
        pytest.skip("needs two kernels to compare; scripts/setup.sh vm unpacks a second one")
    return found[1], found[0]


def words(tmp: Path) -> list[str]:
    path = tmp / "campaign.yaml"
    path.write_text(json.dumps(CAMPAIGN))
    older, newer = map(str, two())
    return [
        *("lab", "kernels", str(path), "--kernel", older, "--kernel", newer, "--cpus", "1"),
        *("--memory", "512", "--results", str(tmp / "results")),
    ]


def test_two_kernels_are_measured_in_turn_compared_and_taken_down(tmp_path: Path) -> None:
    older, newer = two()
    before = {*lab.names()}
    out = linewatt(tmp_path, *words(tmp_path), limit_s=BOOT_AND_RUN_S)
    assert [name for name in lab.names() if name.startswith("kernels-") and name not in before] == []
    releases = [image.name.removeprefix("vmlinuz-") for image in (older, newer)]
    assert " ".join(out.split()).count(f"kernel.release {releases[0]} → {releases[1]}") == 1
    assert (
        "QEMU without KVM translated every instruction" in " ".join(out.split()) or Path("/dev/kvm").exists()
    )
    (trials,) = (tmp_path / "results").glob("*/trials")
    done = [json.loads(path.read_text()) for path in sorted(trials.glob("*/trial.json"))]
    assert [one["status"] for one in done] == ["done"] * 4
    assert sorted(one["case"]["receiver"] for one in done[:2]) == ["h2", "h3"]
    document = json.loads(linewatt(tmp_path, "compare", "last:h2", "last:h3", "--json", *_results(tmp_path)))
    assert document["hosts"] == ["h2", "h3"]
    assert {one["kind"] for one in document["comparisons"]} == {"undecided"}
    assert any("over the same time" in line for line in document["matched"])
    assert any(line.startswith("The same on both: ") and "vmxnet3" in line for line in document["matched"])


def _results(tmp: Path) -> tuple[str, str]:
    return "--results", str(tmp / "results")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_ctrl_c_and_term_while_guests_boot_leave_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*LINEWATT, *words(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    name = f"kernels-{process.pid}"
    try:
        until((ROOT / name / "guests" / "h1.sh").exists, STAGE_LIMIT_S, "the first guest's script")
        os.kill(process.pid, number)
        _, err = process.communicate(timeout=ENDS_LIMIT_S)
        assert process.returncode == 130, err
        assert name not in lab.names()
    finally:
        process.kill()
        process.wait()
        lab.down(name)
