# SPDX-License-Identifier: Apache-2.0
"""What a run refuses to set on a host fails in ``linewatt check``, too, with the same sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.readiness.checkup_settings import check_settings
from linewatt.engine.readiness.congestion import check_congestion
from linewatt.engine.readiness.readiness import Check
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.engine.undo.settings import Settings
from linewatt.errors import LinewattError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.journal import Journal
from linewatt.hosts.local import LocalHost
from linewatt.tuning.base import Change

EXAMPLE = Path(__file__).parents[3] / "examples" / "two-hosts.yaml"
CONTROL = "net.ipv4.tcp_congestion_control"


def change(knob: str, target: str, value: str, host: str = "gen") -> Change:
    return Change(host, knob, target, value, "settings")


def host() -> LocalHost:
    return LocalHost(HostSpec("gen", "local", "lo"))


def campaign() -> Campaign:
    return load_campaign(EXAMPLE)


def checked(*changes: Change) -> Check | None:
    return asyncio.run(check_settings(host(), campaign(), changes))


async def checked_by_a_run(changes: list[Change], journal: Journal) -> None:
    """In the order of ``Run``: congestion controls first, then what a host can show."""
    hosts: dict[str, Any] = {"gen": host()}
    await check_congestion(changes, hosts)
    await Settings(hosts, ALL_KNOBS, journal).check(changes)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.jsonl", create=True)
    opened.begin([host().spec])
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "refused",
    [
        change("sysctl", CONTROL, "bbr9"),
        change("sysctl", "net.ipv4.no_such_key", "1"),
        change("mtu", "no-such-nic0", "9000"),
        change("cpus_online", "host", "4000"),
    ],
    ids=lambda refused: f"{refused.knob} {refused.target}",
)
def test_a_refusal_has_the_sentence_of_a_run(refused: Change, journal: Journal) -> None:
    check = checked(refused)
    assert check is not None
    assert (check.host, check.name, check.status) == ("gen", "settings", "fail")
    with pytest.raises(LinewattError) as caught:
        asyncio.run(checked_by_a_run([refused], journal))
    assert check.found == caught.value.without("gen")
    assert check.advice


def test_what_a_host_can_take_is_ok_and_settings_of_others_are_not_asked_for() -> None:
    check = checked(change("mtu", "lo", "9000"), change("mtu", "no-such-nic0", "9000", host="dut"))
    assert check is not None
    assert (check.status, check.found) == ("ok", "the host can take what a run sets: mtu")


def test_a_host_on_which_nothing_is_set_has_no_such_check() -> None:
    assert checked() is None
    assert checked(change("mtu", "no-such-nic0", "9000", host="dut")) is None
