# SPDX-License-Identifier: Apache-2.0
"""Programs that a campaign names are code: shown by plan, and run from elsewhere only where allowed."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import forked

from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign, PowerSource
from linewatt.campaign.planning.programs import programs_of_campaign, refuse_listed, refuse_programs
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.readiness import checkup_power
from linewatt.errors import InvalidInput
from linewatt.hosts.base import HostSpec

METER = {
    "driver": "command",
    "argv": ["/usr/local/bin/meter", "--port", "a b"],
    "provenance": "measured",
    "channels": {"wall": {"scope": "wall", "unit": "W"}},
    "root": True,
}
HOSTS: dict[str, Any] = {
    "h1": {"address": "192.0.2.1", "data": "eth1"},
    "h2": {"address": "192.0.2.2", "data": "eth1", "power": {"shunt": METER}},
}
CAMPAIGN: dict[str, Any] = {"name": "t", "hosts": HOSTS, "pairs": ["h1 -> h2"], "tests": ["tcp"]}


def linewatt(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return forked.run(arguments)


def written(folder: Path, **own: object) -> Path:
    path = folder / "campaign.yaml"
    path.write_text(json.dumps({**CAMPAIGN, **own}))
    return path


def inventory(folder: Path) -> Path:
    hosts = {
        name: {
            "ansible_host": entry["address"],
            "linewatt_data": entry["data"],
            **({"linewatt_power": entry["power"]} if "power" in entry else {}),
        }
        for name, entry in HOSTS.items()
    }
    path = folder / "inventory.yaml"
    path.write_text(json.dumps({"all": {"hosts": hosts}}))
    return path


def test_plan_shows_each_program_its_words_and_its_rights(tmp_path: Path) -> None:
    hook = {"cooling": {"label": ["air", "water"], "hook": ["./cool", "x"], "fact": "system.bios_date"}}
    done = linewatt("plan", written(tmp_path, factors=hook))
    assert done.returncode == 0, done.stderr
    assert "program of shunt on h2: runs /usr/local/bin/meter --port 'a b' as root" in done.stdout
    assert "program of cooling on this machine: runs ./cool x" in done.stdout
    document = json.loads(linewatt("plan", written(tmp_path), "--json").stdout)
    assert document["programs"] == [
        {"name": "shunt", "host": "h2", "argv": METER["argv"], "root": True},
    ]


def test_a_program_of_an_inventory_is_one_line_before_any_host_is_touched(tmp_path: Path) -> None:
    file, hosts = written(tmp_path), inventory(tmp_path)
    done = linewatt("run", file, "--hosts", hosts, "--results", tmp_path / "results")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"{hosts}: power of h2: shunt: runs /usr/local/bin/meter --port 'a b' as root; " in done.stderr
    assert "--allow-commands" in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_program_of_the_campaign_file_is_the_users_own(tmp_path: Path) -> None:
    own, listed = load_campaign(written(tmp_path)), load_campaign(written(tmp_path), inventory(tmp_path))
    assert programs_of_campaign(own) == programs_of_campaign(listed)
    refuse_listed(own)
    with pytest.raises(InvalidInput, match="--allow-commands"):
        refuse_listed(listed)


def test_a_stored_campaign_names_the_same_programs_and_none_is_nothing_to_refuse(tmp_path: Path) -> None:
    campaign = load_campaign(written(tmp_path))
    again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(campaign))))
    assert programs_of_campaign(again) == programs_of_campaign(campaign)
    refuse_programs(programs_of_campaign(replace(campaign, power={})), "a result")


def test_a_stored_result_runs_no_program_unless_it_is_allowed(tmp_path: Path) -> None:
    campaign = load_campaign(written(tmp_path))
    folder = tmp_path / "results" / "20260101T000000Z-t"
    (folder / "trials").mkdir(parents=True)
    manifest = {
        "schema_version": 1,
        "id": folder.name,
        "name": "t",
        "campaign": stored.campaign_as_dict(campaign),
        "plan": {"rounds": []},
        "trials_planned": 1,
        "seed": 1,
        "linewatt_version": "1",
        "started_s": 0.0,
        "hosts": {},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = linewatt("resume", folder.name, "--results", tmp_path / "results")
    assert done.returncode == 2, done.stderr
    assert "its stored campaign: power of h2: shunt: runs /usr/local/bin/meter" in done.stderr
    assert "--allow-commands" in done.stderr
    done = linewatt("resume", folder.name, "--results", tmp_path / "results", "--allow-commands")
    assert "--allow-commands" not in done.stderr
    assert done.returncode == 1


class _NoHost:
    """A host on which nothing may be started."""

    spec = HostSpec("h2", "192.0.2.2", "eth1")

    async def start(self, *_: object, **__: object) -> object:
        raise AssertionError("a program was started")


async def _asked(campaign: Campaign) -> list[str]:
    answers = await checkup_power.ask_streams(campaign, _NoHost(), allow_commands=False)  # type: ignore[arg-type]
    return [str(one.problem) for one in answers if not one.asked]


def test_check_runs_no_program_unless_it_is_allowed(tmp_path: Path) -> None:
    campaign = load_campaign(written(tmp_path))
    assert isinstance(campaign.power["h2"]["shunt"], PowerSource)
    (said,) = asyncio.run(_asked(campaign))
    assert said == (
        "runs /usr/local/bin/meter --port 'a b' as root, which check does only with --allow-commands"
    )
