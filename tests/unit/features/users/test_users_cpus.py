# SPDX-License-Identifier: Apache-2.0
"""CPUs of the users' server and of users: named in a campaign, checked on the host, given to processes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.users_jobs import USUAL

from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import HostError, InvalidInput
from linewatt.features.soak.job import Job, job_of
from linewatt.features.users.cpus import check_cpus, cpus_wrapper
from linewatt.features.users.fleet import Client, Fleet
from linewatt.features.users.jobs import users_of_trial
from linewatt.features.users.model import OwnServer, Users, users_in
from linewatt.features.users.vsftpd import VsftpdServer
from linewatt.features.users.worker.base import RemoteFile
from linewatt.features.users.worker.job import Target, UsersJob
from linewatt.features.users.worker.server_vsftpd import VsftpdSettings
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.facts.cpulist import format_cpulist
from linewatt.hosts.local import LocalHost
from linewatt.records import Campaign as StoredCampaign

USABLE = sorted(os.sched_getaffinity(0))
HOSTS = {name: {"address": f"192.0.2.{at}", "data": "eth0"} for at, name in enumerate(("dut", "c1"), 1)}
TARGET = Target("192.0.2.1", 21, "ftp", "hidden")


def campaign(tmp_path: Path, users: dict[str, Any], **keys: Any) -> Campaign:
    file = tmp_path / "e.yaml"
    of_users = {"server": "dut", "clients": ["c1"], "users": 4, **users}
    file.write_text(json.dumps({"name": "e", "hosts": HOSTS, "users": of_users, **keys}))
    return load_campaign(file)


def users_of(campaign: Campaign) -> Users:
    users = users_in(campaign)
    assert users is not None
    assert isinstance(users.server, OwnServer)
    return users


SOAK = {"soak": "1m"}
BOTH = {"server_cpus": "0-3", "client_cpus": 5}


def test_a_plan_names_the_cpus_of_server_and_users(tmp_path: Path) -> None:
    where, _ = users_of(campaign(tmp_path, BOTH, **SOAK)).described()
    assert where.startswith("4 users on 1 client, on CPUs 5 of each, a vsftpd on dut, port 2121, ")
    assert where.endswith(", on CPUs 0-3")
    assert "CPU" not in " ".join(users_of(campaign(tmp_path, {}, **SOAK)).described())


def test_they_are_stored_and_read_again(tmp_path: Path) -> None:
    written = campaign(tmp_path, BOTH, **SOAK)
    document = json.loads(json.dumps(stored.campaign_as_dict(written)))
    again = users_of(stored.campaign_from_dict(document))
    assert (again.server.cpus, again.client_cpus) == ((0, 1, 2, 3), (5,))  # type: ignore[union-attr]
    assert again == users_of(written)
    plain = users_of(stored.campaign_from_dict(stored.campaign_as_dict(campaign(tmp_path, {}, **SOAK))))
    assert (plain.server.cpus, plain.client_cpus) == (None, None)  # type: ignore[union-attr]


def test_levels_of_a_factor_are_the_servers_cpus_of_each_trial(tmp_path: Path) -> None:
    varied = campaign(tmp_path, {}, factors={"users.server_cpus": ["any", "0-1"]}, trials=1)
    trials = [users_of_trial(users_of(varied), planned) for planned in plan_campaign(varied, 0).trials]
    assert [users.server.cpus for users in trials] == [None, (0, 1)]  # type: ignore[union-attr]


def test_cases_and_soaks_on_other_cpus_are_others_and_without_any_are_what_they_were(tmp_path: Path) -> None:
    factors = {"factors": {"users.file_size": ["20k", "1M"]}, "trials": 1}

    def named(users: dict[str, Any]) -> list[dict[str, str]]:
        return [dict(case.users) for case in plan_campaign(campaign(tmp_path, users, **factors), 0).cases]

    assert all("server_cpus" not in users for users in named({}))
    assert [users["server_cpus"] for users in named({"server_cpus": "0-1"})] == ["0-1", "0-1"]

    def job(users: dict[str, Any]) -> Job:
        document = json.dumps(stored.campaign_as_dict(campaign(tmp_path, users, **SOAK)))
        return job_of(StoredCampaign.model_validate(json.loads(document)))

    assert job(BOTH).key != job({}).key
    assert "server_cpus" not in job({}).parameters


def test_a_server_that_is_there_already_has_no_cpus_to_choose(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="server_cpus"):
        campaign(
            tmp_path,
            {"server": {"url": "ftp://ftp@192.0.2.9/"}, "server_cpus": "0", "get_share": "0%"},
            **SOAK,
        )


def checked(cpus: tuple[int, ...] | None) -> None:
    asyncio.run(check_cpus(LocalHost(HostSpec("here", "local", "lo")), cpus, "users.server_cpus"))


def test_cpus_that_can_be_used_pass_and_any_others_are_refused_by_name() -> None:
    checked(None)
    checked(tuple(USABLE))
    offline = max(USABLE) + 4096
    with pytest.raises(HostError) as refused:
        checked((USABLE[0], offline))
    assert str(refused.value) == (
        f"here: users.server_cpus: {USABLE[0]},{offline}: only {USABLE[0]} of them can be used: others are "
        "offline or not allowed"
    )
    with pytest.raises(HostError, match=rf"^here: users\.server_cpus: {offline}: taskset: .+"):
        checked((offline,))


def test_a_process_and_what_it_starts_run_on_them() -> None:
    async def allowed() -> str:
        host = LocalHost(HostSpec("here", "local", "lo"))
        script = "bash -c 'while read -r name cpus; do [ $name = Cpus_allowed_list: ] && echo $cpus; done' "
        argv = ["bash", "-c", f"{script}</proc/self/status; exit"]
        process = await host.start(argv, wrapper=cpus_wrapper((USABLE[-1],)))
        return (await process.wait(30.0, "its end")).stdout.strip()

    assert asyncio.run(allowed()) == str(USABLE[-1])
    assert cpus_wrapper(None) == []


class Started(Exception):
    """A process was to be started, by this wrapper."""


class Recording:
    """A host on which every script succeeds, and a process is only noted."""

    lost = None

    def __init__(self, name: str) -> None:
        self.spec = HostSpec(name, "192.0.2.1", "e0")
        self.checked: list[str] = []

    async def run(self, argv: Sequence[str], **_: Any) -> Completed:
        if "taskset" in argv[2]:
            self.checked.append(argv[-1])
        return Completed(tuple(argv), 0, "/tmp/secret\n", "")

    async def forward(self, port: int) -> int:
        return port

    async def start(self, argv: Sequence[str], *, wrapper: Sequence[str] = (), root: bool = False) -> None:
        raise Started(*wrapper)


@pytest.mark.parametrize(("cpus", "wrapper"), [((0, 1), ("taskset", "-c", "0-1")), (None, ())])
def test_the_server_is_started_on_its_cpus_after_they_were_checked(
    cpus: tuple[int, ...] | None, wrapper: tuple[str, ...]
) -> None:
    host = Recording("dut")
    server = VsftpdServer(host, VsftpdSettings(("192.0.2.1",), 1), None, lambda *_: None, cpus)  # type: ignore[arg-type]
    place: Any = SimpleNamespace(conf="/x/vsftpd.conf", ground=SimpleNamespace(program="/usr/sbin/vsftpd"))
    with pytest.raises(Started) as started:
        asyncio.run(server._launch(place))
    assert started.value.args == wrapper
    assert host.checked == ([format_cpulist(cpus)] if cpus else [])


def test_a_worker_is_started_on_the_cpus_of_its_client_after_they_were_checked() -> None:
    host = Recording("c1")
    job = UsersJob(TARGET, 1, 60.0, (RemoteFile("get/one"),), (1,), **USUAL)
    client = Client("c1", "python3", None, TARGET, cpus=(2,))
    fleet = Fleet({"c1": host}, [client], job, 10.0, lambda _: None, lambda *_: None)  # type: ignore[dict-item]
    with pytest.raises(Started) as started:
        asyncio.run(fleet._begin(fleet._seats["c1"]))
    assert started.value.args == ("taskset", "-c", "2")
    assert host.checked == ["2"]
