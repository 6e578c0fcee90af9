# SPDX-License-Identifier: Apache-2.0
"""What a soak will do, from its file alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import InvalidInput
from linewatt.features.soak.plan import as_dict, plan_soak, said
from linewatt.features.users.jobs import in_turn
from linewatt.features.users.model import Group, Sizes, sizes

HOSTS = {name: {"address": f"192.0.2.{at}", "data": "eth0"} for at, name in enumerate(("dut", "c1", "c2"), 1)}
USERS = {"server": "dut", "clients": ["c1", "c2"], "users": 4}


def campaign(tmp_path: Path, **keys: Any) -> Campaign:
    file = tmp_path / "soak.yaml"
    file.write_text(json.dumps({"name": "s", "hosts": HOSTS, "soak": "1h", **keys}))
    return load_campaign(file)


def test_users_alone_have_no_segments_and_change_no_setting(tmp_path: Path) -> None:
    planned = plan_soak(campaign(tmp_path, users=USERS))
    assert planned.rounds == ()
    assert planned.changes == ()


def test_settings_are_shown_by_every_host_that_takes_part(tmp_path: Path) -> None:
    planned = plan_soak(campaign(tmp_path, users=USERS, settings={"gro": "off"}))
    assert {change.host for change in planned.changes_in(None)} == {"dut", "c1", "c2"}


def test_what_hosts_show_in_a_segment_is_that_of_the_case_and_of_the_others_what_the_file_sets(
    tmp_path: Path,
) -> None:
    own = campaign(
        tmp_path, users=USERS, pairs=["c1 -> dut"], tests=["tcp", "udp-1500"], settings={"gro": "off"}
    )
    planned = plan_soak(own)
    assert [round_.trials[0].case.test for round_ in planned.rounds] == ["tcp", "udp-1500"]
    shown = [(one.host, one.knob, one.target) for one in planned.changes_in(planned.rounds[0])]
    assert len(shown) == len(set(shown))
    assert {host for host, knob, _ in shown if knob == "offload"} == {"dut", "c1", "c2"}


def test_a_segment_is_no_longer_than_the_soak(tmp_path: Path) -> None:
    short = campaign(tmp_path, soak={"duration": "90s"}, pairs=["c1 -> dut"], tests=["tcp"])
    planned = plan_soak(short)
    assert planned.segments is not None
    assert planned.segments.duration_s == pytest.approx(90, abs=1)


def test_hosts_of_pairs_and_users_take_part_and_no_others(tmp_path: Path) -> None:
    hosts = {**HOSTS, "spare": {"address": "192.0.2.9", "data": "eth0"}}
    assert set(campaign(tmp_path, users=USERS, hosts=hosts).hosts) == {"dut", "c1", "c2"}


def test_a_plan_is_the_same_after_the_campaign_was_stored(tmp_path: Path) -> None:
    own = campaign(tmp_path, users={**USERS, "get": {"sigma": 1.5}}, pairs=["c1 -> dut"], tests=["tcp"])
    again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(own))))
    assert as_dict(plan_soak(again)) == as_dict(plan_soak(own))


def test_sizes_vary_around_their_median_only_when_asked() -> None:
    assert sizes(Sizes(3, 1000, 0.0)) == (1000, 1000, 1000)
    spread = sizes(Sizes(5, 1000, 1.0))
    assert spread[2] == 1000
    assert list(spread) == sorted(set(spread))


def test_the_plan_says_who_does_what_where(tmp_path: Path) -> None:
    groups = {"a": {"clients": ["c1"], "server": "eth1"}, "b": {"clients": ["c2"]}}
    users = {"server": "dut", "users": 6, "groups": groups, "think": "2s", "get_share": "75%"}
    words = "\n".join(said(plan_soak(campaign(tmp_path, users=users))))
    assert "6 users on 2 clients, a vsftpd on dut, port 2121" in words
    assert "75 % gets of files of 16 MB, the rest puts of 16 MB; 2 s of thought" in words
    assert "group a: c1 → eth1" in words
    assert "group b: c2 → data interface" in words


@pytest.mark.parametrize(
    ("share", "expected"), [("0%", "each: puts 16 MB;"), ("100%", "each: gets files of 16 MB;")]
)
def test_users_who_only_get_or_only_put_are_told_so(tmp_path: Path, share: str, expected: str) -> None:
    words = "\n".join(said(plan_soak(campaign(tmp_path, users={**USERS, "get_share": share}))))
    assert expected in words


def test_a_campaign_of_cases_is_no_soak(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(json.dumps({"name": "s", "hosts": HOSTS, "pairs": ["c1 -> dut"], "tests": ["tcp"]}))
    with pytest.raises(InvalidInput, match="has no soak"):
        plan_soak(load_campaign(file))


def test_users_are_even_over_groups_for_their_clients_come_in_turn() -> None:
    groups = (Group("a", ("c1", "c2", "c3")), Group("b", ("c4",)), Group("c", ("c5", "c6")))
    assert [name for _, name in in_turn(groups)] == ["c1", "c4", "c5", "c2", "c6", "c3"]
    assert in_turn(groups)[:3] == [("a", "c1"), ("b", "c4"), ("c", "c5")]
