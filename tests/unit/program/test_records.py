# SPDX-License-Identifier: Apache-2.0
"""Documents of a result: written as ever, read in one place, and damage is one line with file and field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.report_factories import result_of, watts

from linewatt import records
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.campaign.stored import campaign_as_dict
from linewatt.engine.run import refuse_other_hosts
from linewatt.errors import StoreError
from linewatt.features.soak import storage as soak
from linewatt.features.users.model import OwnServer, users_in
from linewatt.records import (
    Component,
    Idle,
    IdleHost,
    Look,
    Manifest,
    Meter,
    Meters,
    Repeats,
    StoppedCase,
    Supplies,
    Times,
)
from linewatt.store import read, write

ROOT = Path(__file__).parents[3]
MANIFEST: dict[str, Any] = {
    "schema_version": 1,
    "name": "t",
    "campaign": {
        "soak": {"duration_s": 60.0, "interval_s": 10.0},
        "users": {
            "users": 4,
            "groups": [{"name": "all", "clients": ["a"]}],
            "server": {"host": "h1", "passive_ports": [5300, 5310], "options": [["tcp_wrappers", "NO"]]},
        },
        "psus": {"h1": {"count": 2, "rating_w": 800.0, "mode": "shared"}},
        "components": {"h1": [{"name": "SSD", "power_w": 2.0, "provenance": "datasheet"}]},
        "tests": [{"test": "tcp", "instances": [1], "streams": [1], "rate_bps": None, "zerocopy": False}],
    },
    "trials_planned": 3,
    "hosts": {"h1": {"name": "h1", "data": "eth0", "facts": {"kernel": {"release": "6.1"}}}},
}
CASE = StoppedCase(
    case_key="0123456789ab",
    sender="h1",
    receiver="h2",
    runs=3,
    trials_failed=0,
    trials_left_out=2,
    half_width_ratio=0.01,
    until_met=True,
    why="sure",
)
REPEATS = Repeats(schema_version=1, min=3, max=9, until_ratio=0.02, trials_left_out=2, cases=[CASE])
POWER = watts("system", 100.0)


def with_manifest(tmp_path: Path, *at: str, value: Any) -> Path:
    document = json.loads(json.dumps(MANIFEST))
    inner = document
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = value
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    (tmp_path / "trials").mkdir(exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (("trials_planned",), -1, "trials_planned: Input should be greater than or equal to 0"),
        (("created_s",), 10**20, "created_s: Input should be less than or equal to 100000000000"),
        (("hosts", "h1", "facts"), [], "hosts.h1.facts: Input should be a valid dictionary"),
        (("hosts", "h1", "cpus"), "0-3", "hosts.h1.cpus: Input should be a valid list"),
        (
            ("campaign", "soak", "interval_s"),
            "10",
            "campaign.soak.interval_s: Input should be a valid number",
        ),
        (("campaign", "users", "groups"), [{"name": "a"}], "users.groups.0.clients: Field required"),
        (("campaign", "psus", "h1", "count"), 0, "campaign.psus.h1.count: Input should be greater than or"),
        (("campaign", "psus", "h1", "mode"), "spare", "campaign.psus.h1.mode: Input should be 'shared' or"),
        (("campaign", "components", "h1"), [{"name": "SSD"}], "campaign.components.h1.0.power_w: Field"),
        (("campaign", "components", "h1"), [7], "campaign.components.h1.0: Input should be a dictionary or"),
        (("campaign", "tests"), [{"streams": 2}], "campaign.tests.0.test: Field required"),
        (("campaign", "window_s"), "3 s", "campaign.window_s: Input should be a valid number"),
        (
            ("campaign", "users", "get"),
            {"count": "many"},
            "campaign.users.get.count: Input should be a valid",
        ),
        (
            ("campaign", "users", "server", "options"),
            [["a"]],
            "options.0: List should have at least 2",
        ),
        (("hosts", "h1", "facts", "nic"), "eth0", "hosts.h1.facts.nic: Input should be a valid dictionary"),
        (("hosts", "h1", "facts", "cpus"), None, "hosts.h1.facts.cpus: Input should be a valid dictionary"),
        (("schema_version",), 2, "schema_version 2, this linewatt reads 1"),
    ],
)
def test_a_damaged_manifest_is_one_line_with_file_and_field(
    tmp_path: Path, at: tuple[str, ...], value: Any, said: str
) -> None:
    path = with_manifest(tmp_path, *at, value=value)
    with pytest.raises(StoreError) as raised:
        read.load_result(path)
    text = str(raised.value)
    assert text.startswith(f"{path / 'manifest.json'}: ")
    assert said in text
    assert "\n" not in text


def campaigns() -> Iterator[Campaign]:
    """The examples, and what none of them has."""
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        if path.name != "inventory.yaml":
            yield load_campaign(path)
    soak = load_campaign(ROOT / "examples" / "soak.yaml")
    users = users_in(soak)
    assert users is not None
    assert isinstance(users.server, OwnServer)
    server = replace(users.server, options=(("use_sendfile", "NO"),))
    parts = {"dut": (Component("SSD", 2.0, "datasheet"),)}
    psus = {"dut": Supplies(count=2, rating_w=800, mode="standby", level="gold")}
    values = {**soak.feature_values, "users": replace(users, server=server)}
    yield replace(soak, feature_values=values, psus=psus, components=parts)


@pytest.mark.parametrize("campaign", list(campaigns()), ids=lambda one: one.name)
def test_whatever_a_campaign_writes_is_read(campaign: Campaign) -> None:
    written = json.loads(json.dumps(campaign_as_dict(campaign)))
    read_again = records.Campaign.model_validate(written)
    assert read_again.written == written
    assert read_again.psus == campaign.psus
    assert {name: tuple(parts) for name, parts in read_again.components.items()} == campaign.components
    assert [one.test for one in read_again.tests] == [one.test for one in campaign.tests]
    assert (read_again.users is None) == (users_in(campaign) is None)


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        ({}, "manifest.json: damaged: hosts: h1 of its campaign is missing"),
        ({"h1": {"facts": {}}}, "h1: kernel was None when id began and is '6.1' now; what was measured then"),
    ],
)
def test_a_campaign_goes_on_over_no_host_that_its_manifest_does_not_know(
    hosts: dict[str, Any], told: str
) -> None:
    campaign: Any = SimpleNamespace(labels={}, load="iperf3")
    facts = {"h1": {"kernel": {"release": "6.1"}, "cpu": {}, "tools": {}}}
    with pytest.raises(StoreError) as raised:
        refuse_other_hosts(campaign, facts, result_of(MANIFEST | {"hosts": hosts}))
    assert told in str(raised.value)


def part(result: Path) -> None:
    soak.end_part(soak.new_part(result, 1000.0), 1010.0, "done")


@pytest.mark.parametrize(
    ("name", "document", "said"),
    [
        ("idle.json", {"hosts": {"h1": {"cpu_cores": "x"}}}, "hosts.h1.cpu_cores"),
        ("idle-end.json", {"hosts": {"h1": {"power": [{}]}}}, "hosts.h1.power.0.source"),
        ("meters.json", {"meters": [{"host": "h1", "source": "bmc"}]}, "meters.0.channel"),
        ("repeats.json", {**REPEATS.as_written(), "min": None}, "min"),
        ("soak/part-001/part.json", {"number": 1, "started_s": "x"}, "started_s"),
        ("soak/part-001/ended.json", {"ended_s": 1e300, "why": "done"}, "ended_s"),
    ],
)
def test_a_damaged_document_beside_it_is_one_line_with_file_and_field(
    tmp_path: Path, name: str, document: dict[str, Any], said: str
) -> None:
    path = with_manifest(tmp_path, "name", value="t")
    part(path)
    (path / name).write_text(json.dumps(document))
    reader: Callable[[Path], object] = soak.parts if name.startswith(soak.FOLDER) else read.load_result
    with pytest.raises(StoreError) as raised:
        reader(path)
    assert str(raised.value).startswith(f"{path / name}: damaged: {said}: ")


def test_what_a_newer_linewatt_wrote_beside_is_left_alone_and_kept_where_it_is_shown(tmp_path: Path) -> None:
    path = with_manifest(tmp_path, "hosts", "h1", "rack", value=7)
    newer = {"more": {"x": 1}}
    write.write_json(path / "idle.json", {"hosts": {"h1": {"cpu_cores": 0.5, **newer}}, **newer})
    write.write_json(path / "repeats.json", {**REPEATS.as_written(), **newer})
    found = read.load_result(path)
    assert found.idle[0].hosts["h1"].cpu_cores == 0.5
    assert found.manifest.hosts["h1"].said == {"name": "h1", "data": "eth0", "rack": 7}
    assert found.manifest.asked.written == MANIFEST["campaign"]
    assert found.repeats is not None
    assert found.repeats.as_written() == {**REPEATS.as_written(), **newer}


def test_null_is_nothing_as_if_it_were_not_there() -> None:
    bare = Manifest.model_validate(
        {"schema_version": 1, "trials_planned": 0, "hosts": None, "campaign": None}
    )
    assert (bare.hosts, bare.asked.users, bare.asked.factors) == ({}, None, {})
    idle = Idle.model_validate({"setting": None, "window": None, "hosts": {"h1": {"power": None}}})
    assert (idle.setting, idle.window, idle.hosts["h1"].power) == ({}, Times(), ())


def test_documents_are_written_as_they_always_were(tmp_path: Path) -> None:
    """To the byte: the order of keys, and what is left out where there is none."""
    values = IdleHost(cpu_cores=0.5, reason=None, power=(POWER,), power_reasons={"power.bmc": "silent"})
    looked = IdleHost(
        cpu_cores=None,
        reason="no mpstat",
        look=Look(start_s=1.0, end_s=2.0, needed_s=3.0),
        moving="CPU use rose",
        power=(),
        power_reasons={},
    )
    idle = Idle(schema_version=1, window=Times(start_s=2.0, end_s=4.0), hosts={"h1": values, "h2": looked})
    expected = {
        "schema_version": 1,
        "window": {"start_s": 2.0, "end_s": 4.0},
        "hosts": {
            "h1": {
                "cpu_cores": 0.5,
                "reason": None,
                "power": [asdict(POWER)],
                "power_reasons": {"power.bmc": "silent"},
            },
            "h2": {
                "cpu_cores": None,
                "reason": "no mpstat",
                "look": {"start_s": 1.0, "end_s": 2.0, "needed_s": 3.0},
                "moving": "CPU use rose",
                "power": [],
                "power_reasons": {},
            },
        },
    }
    assert json.dumps(idle.as_written()) == json.dumps(expected)
    meter = {"host": "h1", "source": "bmc", "channel": "w", "scope": "system", "refresh_s": 1.0}
    meter |= {"averaging_s": None, "delay_s": None, "settle_s": None, "read_every_s": 1.0}
    meter |= {"distances": 4, "steps": 0}
    meters = Meters(schema_version=1, meters=[Meter(**meter)])  # type: ignore[arg-type]
    assert json.dumps(meters.as_written()) == json.dumps({"schema_version": 1, "meters": [meter]})
    own = soak.new_part(tmp_path, 1000.5)
    soak.end_part(own, 1010.0, "done")
    assert (own / "part.json").read_text() == '{"schema_version": 1, "number": 1, "started_s": 1000.5}\n'
    assert (own / "ended.json").read_text() == '{"ended_s": 1010.0, "why": "done"}\n'


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("instance_search", {"most": 0}),
        ("instance_search", {"most": 10**9}),
        ("instance_search", {"runs": 0}),
        ("search", {"runs": 0}),
        ("search", {"width_ratio": -1.0}),
        ("search", {"loss_ratios": [2.0]}),
        ("best_of", {"setting": [["gro"]]}),
    ],
)
def test_what_was_searched_or_found_best_is_within_what_a_file_can_say(
    tmp_path: Path, key: str, values: dict[str, Any]
) -> None:
    """Of a billion instances that were not tried no list is made."""
    asked: dict[str, dict[str, Any]] = {
        "instance_search": {"most": 64, "bound": "ports", "named": True, "runs": 3, "counts": 13},
        "search": {"loss_ratios": [0.0], "width_ratio": 0.005, "runs": 3, "trials": 50},
        "best_of": {"result": "e", "setting": [["gro", "on"]]},
    }
    campaign = {**MANIFEST["campaign"], key: asked[key] | values}
    write.write_json(tmp_path / "manifest.json", {**MANIFEST, "campaign": campaign})
    (name,) = values
    with pytest.raises(StoreError, match=f"manifest.json: damaged: campaign.{key}.{name}"):
        read.load_manifest(tmp_path)
