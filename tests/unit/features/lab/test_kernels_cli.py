# SPDX-License-Identifier: Apache-2.0
"""``linewatt lab kernels`` before a guest is made: what is wrong costs one line; what is shipped is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.conftest import Run

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.features.lab.commands import kernels_action


def write(text: str) -> Path:
    path = Path("c.yaml")
    path.write_text(text)
    return path


TWO = ("--kernel", "/a/boot/vmlinuz-1", "--kernel", "/a/boot/vmlinuz-2")
TESTS = 'name: c\nhosts: x.yaml\npairs: ["gen -> dut"]\ntests: [tcp]\n'


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ((), "give --kernel FILE at least twice"),
        (TWO[:2], "give --kernel FILE at least twice"),
        ((*TWO[:2], *TWO[:2]), "each with another kernel"),
        ((*TWO, "nope.yaml"), "nope.yaml: no such file"),
        ((*TWO, "--factor", "x"), "--factor x"),
        ((*TWO, "--nic", "ne2000"), "no model 'ne2000'"),
        ((*TWO, "--results", "/dev/null"), "--results /dev/null"),
    ],
)
def test_what_is_wrong_is_one_line_and_boots_nothing(
    run: Run, words: tuple[str, ...], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.features.lab.api.up", lambda *_: pytest.fail("a lab was built"))
    code, out, err = run("lab", "kernels", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert wrong in err


def test_a_campaign_that_is_wrong_or_no_trials_is_refused_before_a_boot(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.features.lab.api.up", lambda *_: pytest.fail("a lab was built"))
    path = write(TESTS.replace("[tcp]", "[tpc]"))
    code, _, err = run("lab", "kernels", str(path), *TWO)
    assert code == 2
    assert f"{path.name}:4:" in err
    path = write("name: c\nhosts: x.yaml\nsoak: 1h\ntests: [tcp]\ninstances: 1\n")
    code, _, err = run("lab", "kernels", str(path), *TWO)
    assert code == 2
    assert "by trials of tests" in err


def test_pairs_are_those_of_the_lab_and_all_else_is_the_campaigns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inventory = tmp_path / "inventory.yaml"
    hosts = "".join(f"    h{n}: {{ansible_host: 198.18.0.{n}, linewatt_data: data0}}\n" for n in (1, 2, 3))
    inventory.write_text(f"all:\n  hosts:\n{hosts}")
    campaign = kernels_action._load_campaign(write(TESTS), ["h2", "h3"], inventory)
    assert campaign.pairs == (("h1", "h2"), ("h1", "h3"))


def test_the_campaign_that_is_shipped_alternates_between_kernels(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yaml"
    hosts = "".join(f"    h{n}: {{ansible_host: 198.18.0.{n}, linewatt_data: data0}}\n" for n in (1, 2, 3))
    inventory.write_text(f"all:\n  hosts:\n{hosts}")
    planned = plan_campaign(kernels_action._load_campaign(None, ["h2", "h3"], inventory), 0)
    receivers = [trial.case.receiver for one in planned.rounds for trial in one.trials]
    assert receivers.count("h2") == receivers.count("h3") == 12
    first_half = receivers[: len(receivers) // 2]
    assert {first_half.count("h2"), first_half.count("h3")} == {6}
