# SPDX-License-Identifier: Apache-2.0
"""Asking hosts that fail in the middle of it: the others keep their checks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.readiness.checkup import Checkup
from linewatt.engine.readiness.readiness import Check
from linewatt.errors import HostLost
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.local import LocalHost

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


@pytest.mark.parametrize("lasts", [0, 1, 2])
def test_a_host_that_goes_away_in_the_middle_leaves_the_others_checks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lasts: int
) -> None:
    checks = asked(monkeypatch, tmp_path, lasts)
    good, bad = dict.fromkeys(check.host for check in checks if check.host != "controller")
    names = {check.name for check in checks if check.host == good}
    assert {"ssh", "tools", "clock", "tick", "cpus", "load", "link"} <= names
    lost = {check.name: check for check in checks if check.host == bad}
    if lasts < 2:
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
