# SPDX-License-Identifier: Apache-2.0
"""``linewatt lab up`` says what comes next, and what it says can be planned as it is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.conftest import Run

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.features.lab.commands.next_step import next_step_lines

INVENTORY = """all:
  hosts:
    h1:
      ansible_host: 198.18.1.1
      linewatt_data: data0
      linewatt_power: {bmc: {driver: ipmi, address: 198.18.1.1, user: admin, password_env: P}}
    h2: {ansible_host: 198.18.1.2, linewatt_data: data0}
"""


@pytest.mark.parametrize(("slow", "rate_bps"), [(False, None), (True, 10e6)])
def test_the_campaign_to_copy_can_be_planned(tmp_path: Path, slow: bool, rate_bps: float | None) -> None:
    inventory = tmp_path / "my: inventory.yaml"
    inventory.write_text(INVENTORY)
    head, *campaign_lines, _ = next_step_lines("lab", ["h1", "h2"], inventory, slow=slow)
    assert head.endswith("linewatt run first.yaml")
    file = tmp_path / "first.yaml"
    file.write_text("".join(f"{line}\n" for line in campaign_lines))
    plan = plan_campaign(load_campaign(file), seed=1)
    assert plan.duration_s < 60, "idle windows are no longer than the load, also with BMCs"
    trials = list(plan.trials)
    assert [trial.case.way for trial in trials] == ["h1 → h2"] * 3
    assert {trial.case.rate_bps for trial in trials} == {rate_bps}


def test_a_lab_of_one_host_has_no_campaign_and_is_removed_by_its_name() -> None:
    assert list(next_step_lines("b", ["h1"], Path("i.yaml"), slow=False)) == [
        "to remove the lab: linewatt lab down --name b"
    ]


def test_the_next_step_is_a_message_beside_the_path_and_not_part_of_the_document(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts = [SimpleNamespace(name=name, shares_cpus_with=()) for name in ("h1", "h2")]
    inventory = tmp_path / "i.yaml"
    built = SimpleNamespace(name="lab", index=1, hosts=hosts, inventory=inventory, was_up=False, no_bmc=None)
    monkeypatch.setattr("linewatt.features.lab.api.up", lambda *_, **__: built)
    monkeypatch.setattr("linewatt.features.lab.api.names", list)
    monkeypatch.setattr("linewatt.features.lab.commands.lab._document_of_host", lambda host: {})
    _, out, err = run("lab", "up")
    assert out == f"{inventory}\n"
    assert "next: save these lines as first.yaml, then: linewatt run first.yaml" in err
    assert f'hosts: "{inventory}"' in err
    assert err.rstrip().endswith("to remove the lab: linewatt lab down")
    _, _, err = run("lab", "up", "--json")
    assert err == ""
