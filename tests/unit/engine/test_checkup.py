# SPDX-License-Identifier: Apache-2.0
"""Asking hosts that fail in the middle of it: the others keep their checks."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.places import Site
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.readiness.checkup import Checkup
from linewatt.engine.readiness.readiness import Check
from linewatt.errors import HostLost, InvalidInput, LinewattError, ParseError
from linewatt.hosts.base import Completed, Host, HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.tuning.base import Change

EXAMPLE = Path(__file__).parents[3] / "examples" / "two-hosts.yaml"


class Failing(LocalHost):
    """This machine, until it is asked ``lasts`` times."""

    def __init__(self, spec: HostSpec, lasts: int) -> None:
        super().__init__(spec)
        self._left = lasts

    async def run(self, argv: Sequence[str], **more: Any) -> Completed:
        self._left -= 1
        if self._left < 0:
            raise HostLost("the SSH connection ended", where=self.spec.name)
        return await super().run(argv, **more)


def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lasts: int, file: Path = EXAMPLE) -> list[Check]:
    """The checks of two hosts that both are this machine; the second one fails after ``lasts`` commands."""
    campaign = load_campaign(file)
    hosts = {
        name: replace(spec, address="local", data="lo", sudo=False, data_ipv4="127.0.0.1")
        for name, spec in campaign.hosts.items()
    }
    bad = list(hosts)[1]

    async def connect(spec: HostSpec, *_: object) -> LocalHost:
        return Failing(spec, lasts if spec.name == bad else 1000)

    async def all_checks() -> tuple[Check, ...]:
        one = Checkup(replace(campaign, hosts=hosts, power={}), tmp_path, tmp_path)
        await one.open()
        return await one.checks()

    monkeypatch.setattr("linewatt.engine.live.session.connect_to_host", connect)
    for name in ("SAMPLE_S", "PING_LIMIT_S"):  # one looks at how busy CPUs are, the other gives up packets
        monkeypatch.setattr(f"linewatt.engine.readiness.checkup_probes.{name}", 0.1)
    return list(asyncio.run(all_checks()))


@pytest.mark.parametrize("lasts", [0, 1, 2, 3])
def test_a_host_that_goes_away_in_the_middle_leaves_the_others_checks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lasts: int
) -> None:
    checks = asked(monkeypatch, tmp_path, lasts)
    good, bad = dict.fromkeys(check.host for check in checks if check.host != "controller")
    names = {check.name for check in checks if check.host == good}
    assert {"ssh", "tools", "clock", "tick", "cpus", "load", "link"} <= names
    lost = {check.name: check for check in checks if check.host == bad}
    if lasts < 3:
        assert lost["ssh"].status == "fail"
        assert lost["ssh"].found == "the SSH connection ended"
        assert lost.keys() == {"ssh", "undo"}
    else:
        assert lost["route"].status == "unknown"
        assert lost["route"].found.endswith("the SSH connection ended")
    assert {check.status for check in checks if check.name in ("route", "mtu", "ports")} <= {
        "unknown",
        "fail",
    }


@pytest.mark.parametrize(
    ("placement", "error", "status"),
    [
        ("auto", InvalidInput("the host's CPUs are not known (no /sys); name the CPUs to use"), "fail"),
        ("none", InvalidInput("the host's CPUs are not known (no /sys); name the CPUs to use"), "ok"),
        ("none", ParseError("what it shows of its CPUs is not understood"), "fail"),
    ],
)
def test_cpus_that_end_a_run_before_it_begins_fail_with_its_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, placement: str, error: LinewattError, status: str
) -> None:
    def site_of_host(*_: object) -> Site:
        raise error

    monkeypatch.setattr("linewatt.engine.readiness.checkup.site_of_host", site_of_host)
    hosts = {name: {"address": f"{name}.example", "data": "lo"} for name in ("a", "b")}
    tests = {"pairs": ["a -> b"], "tests": ["tcp"], "instances": 1}
    file = tmp_path / "campaign.yaml"
    file.write_text(json.dumps({"name": "t", "hosts": hosts, **tests, "placement": placement}))
    cpus = [check for check in asked(monkeypatch, tmp_path, 1000, file) if check.name == "cpus"]
    refusals = [(check.host, check.found) for check in cpus if check.status == "fail"]
    assert refusals == [(host, str(error)) for host in ("a", "b")] * (status == "fail")
    assert all(check.advice for check in cpus if check.status == "fail")


def test_what_only_a_placement_would_set_is_not_looked_for_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a place for its processes nobody knows which interrupts of an interface would move."""
    asked_for: list[frozenset[Change]] = []

    async def check_settings(host: Host, campaign: Campaign, changes: frozenset[Change]) -> None:
        asked_for.append(changes)

    monkeypatch.setattr("linewatt.engine.readiness.checkup.check_settings", check_settings)
    host = {"data": "lo", "app_cpus": "0", "irq_cpus": "0"}
    hosts = {name: {"address": f"{name}.example", **host} for name in ("a", "b")}
    placements = {"factors": {"placement": ["pinned", "neighbour"]}, "instances": 500}
    tests = {"pairs": ["a -> b"], "tests": ["tcp"], "ports": "5201-6201"}
    file = tmp_path / "campaign.yaml"
    file.write_text(json.dumps({"name": "t", "hosts": hosts, **tests, **placements}))
    checks = asked(monkeypatch, tmp_path, 1000, file)
    (refusal,) = (check for check in checks if check.advice == "choose another placement")
    assert refusal.found.startswith("the policy neighbour needs two cores")
    assert set(asked_for) == ({frozenset()} if os.getuid() == 0 else set())


def test_a_soak_of_users_alone_is_checked_although_it_has_no_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts = {name: {"address": f"{name}.example", "data": "lo"} for name in ("server", "client")}
    users = {"server": "server", "clients": ["client"], "users": 1, "python": "/nowhere/python"}
    file = tmp_path / "soak.yaml"
    file.write_text(json.dumps({"name": "t", "hosts": hosts, "soak": "1m", "users": users}))
    checks = asked(monkeypatch, tmp_path, 1000, file)
    (client,) = (check for check in checks if (check.host, check.name) == ("client", "users"))
    assert client.status == "fail"
    assert "/nowhere/python cannot be used" in client.found
    assert [check.host for check in checks if check.name == "users"].count("server") == 1


@pytest.mark.parametrize(
    ("other", "is_told"),
    [
        (Check("h1", "link", "fail", "no interface eth9"), False),
        (Check("h1", "tools", "fail", "no ethtool"), False),
        (Check("h1", "link", "warn", "slower"), True),
        (Check("h2", "link", "fail", "no interface eth9"), True),
        (Check("h1", "ports", "fail", "port 5201 is taken"), True),
    ],
)
def test_a_setting_that_fails_for_what_another_check_names_is_not_told_again(
    other: Check, is_told: bool
) -> None:
    refused = Check("h1", "settings", "fail", "mtu eth9: no such interface", "change it")
    assert Checkup._is_of_settings(refused, [other]) is is_told
    taken = Check("h1", "settings", "ok", "the host can take what a run sets: mtu")
    assert Checkup._is_of_settings(taken, [other])
    assert not Checkup._is_of_settings(taken, [Check("h1", "ssh", "fail", "the SSH connection ended")])


@pytest.mark.parametrize("profile", [True, False])
def test_what_perf_can_do_is_asked_where_profiles_are_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: bool
) -> None:
    monkeypatch.setattr(
        "linewatt.features.profiles.perf.ability.command", lambda cpu: ["echo", "version perf: not found"]
    )
    file = tmp_path / "campaign.yaml"
    file.write_text(EXAMPLE.read_text() + ("profile: true\n" if profile else ""))
    found = [check for check in asked(monkeypatch, tmp_path, 1000, file) if check.name == "perf"]
    assert [(check.status, check.advice.split()[0]) for check in found] == [("warn", "apt-get")] * 2 * profile
    assert all("there is no perf" in check.found for check in found)
