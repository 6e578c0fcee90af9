# SPDX-License-Identifier: Apache-2.0
"""Experiments on users: what may vary, what a trial of them measures, and what it says of itself."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest
from tests import forked
from tests.mistakes import assert_one_line_each

from linewatt.analysis.cases.flows import flow_trials
from linewatt.campaign import factors, stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import PlannedTrial, plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live.trial import LoadTime
from linewatt.engine.live.trial_run import TrialRun, UsersReport, together
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.cut import Cut, Setup
from linewatt.engine.measuring.measure import measure
from linewatt.errors import HostError, InvalidInput, ParseError
from linewatt.features.users import factors as users_factors
from linewatt.features.users import jobs as work
from linewatt.features.users.measuring import MEASURING, done_in, users_flags, users_rates
from linewatt.features.users.model import OwnServer, Users, users_in
from linewatt.features.users.trials import UsersAtWork
from linewatt.features.users.worker import decisions
from linewatt.features.users.worker.base import RemoteFile
from linewatt.features.users.worker.job import Target, UsersJob
from linewatt.features.users.worker.server_vsftpd import OPTIONS
from linewatt.findings import kind_of
from linewatt.hosts.base import HostSpec
from linewatt.hosts.clock import Offset
from linewatt.loads.registry import DEFAULT_LOAD, LOADS
from linewatt.model import Case, Trial, Window, group_of
from linewatt.report.comparison.remarks import names_of_cases

HOSTS = {name: {"address": f"192.0.2.{at}", "data": "eth0"} for at, name in enumerate(("dut", "c1", "c2"), 1)}
USERS = {"server": "dut", "clients": ["c1"], "users": 4}
SIZE = "users.file_size"


def document(**keys: Any) -> dict[str, Any]:
    users = {**USERS, **keys.pop("users", {})}
    return {"name": "e", "hosts": HOSTS, "users": users, "factors": {SIZE: ["20k", "1M"]}, **keys}


def campaign(tmp_path: Path, **keys: Any) -> Campaign:
    file = tmp_path / "e.yaml"
    file.write_text(json.dumps(document(**keys)))
    return load_campaign(file)


@pytest.mark.parametrize(
    ("name", "text", "spelling"),
    [
        ("users.users", "20", "20"),
        (SIZE, "1000k", "1M"),
        (SIZE, "4096", "4096"),
        (SIZE, "16Mi", "16777216"),
        ("users.think", "1500ms", "1.5s"),
        ("users.think", "2m", "120s"),
        ("users.get_share", "50.0%", "50%"),
        ("users.get_share", "0%", "0%"),
        ("users.arrival_rate", "12.5", "12.5"),
        ("users.arrival_rate", "12", "12"),
        ("users.start", "ramped", "ramped"),
        ("users.vsftpd.use_sendfile", "off", "off"),
        ("users.vsftpd.trans_chunk_size", "65536", "65536"),
        ("users.server_cpus", "3,0-1", "0-1,3"),
        ("users.server_cpus", "2", "2"),
        ("users.client_cpus", "any", "any"),
    ],
)
def test_a_level_has_one_spelling_and_it_is_one_itself(name: str, text: str, spelling: str) -> None:
    assert factors.check(name, text) == spelling
    assert factors.check(name, spelling) == spelling


@pytest.mark.parametrize("name", users_factors.NAMES)
def test_every_factor_of_users_changes_them_and_is_no_setting_of_hosts(name: str, tmp_path: Path) -> None:
    users = users_in(campaign(tmp_path))
    assert users is not None
    of_kind = {
        **dict.fromkeys(("users.get.sigma", "users.put.sigma"), "0.5"),
        **dict.fromkeys(("users.get_share", "users.checked"), "7%"),
        **dict.fromkeys(("users.think", "users.spread"), "3s"),
        **{f"users.vsftpd.{one}": "on" for one, bounds in OPTIONS.items() if bounds is None},
        "users.vsftpd.trans_chunk_size": "8192",
        "users.think_kind": "exponential",
        "users.login_per": "cycle",
        "users.start": "ramped",
        "users.discard": "copy",
    }
    level = factors.check(name, of_kind.get(name, "77"))
    changed = users_factors.applied(users, [(name, level), ("gro", "on")])
    assert changed != users
    assert users_factors.applied(changed, [(name, level)]) == changed
    assert not factors.is_setting_of_hosts(name)


def test_options_of_the_server_are_added_to_those_of_the_file(tmp_path: Path) -> None:
    own = users_in(campaign(tmp_path, users={"vsftpd": {"use_sendfile": "off", "one_process_model": True}}))
    assert own is not None
    found = users_factors.applied(own, [("users.vsftpd.use_sendfile", "on")]).server
    assert isinstance(found, OwnServer)
    assert found.options == (("one_process_model", "on"), ("use_sendfile", "on"))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"factors": {SIZE: ["20k", "-1"]}}, "factors.users.file_size[1]: "),
        ({"factors": {SIZE: ["20k", "20000"]}}, "is the same as '20k'; name a level once"),
        ({"factors": {"users.filesize": ["1k", "2k"]}}, "users have no 'filesize' to vary; "),
        ({"factors": {"users.users": [0, 2]}}, "'0' is not a level of users.users: input should be greater"),
        ({"factors": {"users.get_share": ["50", "60"]}}, "must be a percentage from 0 to 100 with its sign"),
        ({"factors": {"users.vsftpd.use_sendfile": ["on", "maybe"]}}, "must be on or off, got 'maybe'"),
        ({"factors": {"users.vsftpd.banner": ["a", "b"]}}, "vsftpd.banner is not an option that can be set"),
        (
            {"factors": {"placement": ["auto", "none"]}},
            "factors.placement: chooses CPUs for each process of a test; for users write users.server_cpus, "
            "users.client_cpus, and the settings or factors irq_affinity and cpus_online",
        ),
        ({"factors": {"users.server_cpus": ["any", "3-1"]}}, "the CPU range 3-1 runs backwards"),
        ({"factors": {"users.server_cpus": ["0-1", "1,0"]}}, "is the same as '0-1'; name a level once"),
        (
            {
                "factors": {"users.server_cpus": ["any", "2-3"], "cpus_online": ["all", "0-2"]},
                "design": "full",
            },
            "factors.users.server_cpus: CPU 3 is offline at cpus_online=0-2; name others",
        ),
        (
            {"users": {"server_cpus": "4"}, "factors": {"cpus_online": ["all", "0-2"]}},
            "users.server_cpus: CPU 4 is offline at cpus_online=0-2; name others",
        ),
        ({"factors": {"iperf3.window": ["1M", "2M"]}}, "is of the processes of a load"),
        ({"factors": {"zerocopy": ["on", "off"]}}, "is of the processes of a load"),
        ({"factors": {"users.spread": ["1s", "30s"]}}, "must be at least users.spread, 30 s"),
        (
            {"factors": {"users.start": ["synchronised", "ramped"]}, "users": {"spread": "30s"}},
            "window.omit: must be at least users.spread, 30 s",
        ),
        (
            {
                "factors": {"users.start": ["synchronised", "ramped"], "users.spread": ["1s", "30s"]},
                "users": {"start": "synchronised"},
                "design": "full",
            },
            "window.omit: must be at least users.spread, 30 s",
        ),
        ({"window": {"omit": 0.5}}, "window.omit: must be at least users.spread, 1 s"),
        ({"tests": ["tcp"], "pairs": ["c1 -> dut"]}, "tests: is of tests between pairs"),
        ({"instances": [2]}, "instances: is of tests between pairs, and users are the load"),
        ({"load_levels": [100, 50]}, "load_levels: is of tests between pairs"),
        ({"placement": "none"}, "placement: chooses CPUs for each process of a test; for users write"),
        ({"factors": {}}, "soak: is missing; say how long users work"),
        ({"best_of": "last"}, "best_of: is of a soak"),
        (
            {"users": {"server": {"url": "ftp://ftp@192.0.2.9/"}, "get": {"paths": ["a"]}}},
            "name the host of one",
        ),
        ({"users": {"clients": ["c1", "c2"]}, "factors": {"users.users": [1, 4]}}, "1 users cannot be on 2"),
        ({"users": {"vsftpd": {"use_sendfile": "maybe"}}}, "users.vsftpd.use_sendfile: "),
        ({"users": {"vsftpd": {"trans_chunk_size": 1}}}, "users.vsftpd.trans_chunk_size: "),
        ({"users": {"vsftpd": {"banner": "x"}}}, "banner"),
    ],
)
def test_what_cannot_be_is_one_line_before_any_host_is_touched(
    keys: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as refused:
        campaign(tmp_path, **keys)
    assert said in str(refused.value)
    assert_one_line_each(str(refused.value))


@pytest.mark.parametrize(
    "keys",
    [
        {"factors": {"users.start": ["synchronised", "ramped"], "users.spread": ["1s", "30s"]}},
        {"factors": {"users.spread": ["1s", "2s"]}, "users": {"spread": "30s"}},
        {"users": {"start": "synchronised", "spread": "30s"}},
    ],
)
def test_a_long_spread_that_no_ramped_setting_has_is_taken(keys: dict[str, Any], tmp_path: Path) -> None:
    assert users_in(campaign(tmp_path, **keys)) is not None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"users": {"think": "5m"}},
            ["users.think: users pause for 300 s after"],
        ),
        ({"factors": {"users.think": ["0s", "5m"]}}, ["users.think: users pause for 300 s after"]),
        ({"factors": {"users.think": ["0s", "1s"]}, "users": {"think": "5m"}}, []),
        ({"users": {"think": "5m", "think_kind": "exponential"}}, ["users.think: users pause"]),
        ({}, []),
    ],
)
def test_a_plan_says_that_users_think_longer_than_the_window(
    keys: dict[str, Any], said: list[str], tmp_path: Path
) -> None:
    told = [
        one for one in plan_campaign(campaign(tmp_path, **keys), 0).notes if one.startswith("users.think")
    ]
    assert len(told) == len(said)
    assert all(note.startswith(begins) for note, begins in zip(told, said, strict=True))


def test_factors_of_users_need_users(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    tests = {"tests": ["tcp"], "pairs": ["c1 -> dut"], "factors": {SIZE: ["1k", "2k"]}}
    file.write_text(json.dumps({"name": "t", "hosts": HOSTS, **tests}))
    with pytest.raises(InvalidInput, match="is of users, and this campaign has none"):
        load_campaign(file)


def test_an_experiment_is_the_same_once_it_was_stored(tmp_path: Path) -> None:
    one = campaign(tmp_path, factors={SIZE: ["20k", "1M"], "gro": ["on", "off"]}, design="full", trials=2)
    again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(one))))
    assert replace(again, sensors={}) == replace(one, sensors={})
    assert plan_as_dict(plan_campaign(again, 3)) == plan_as_dict(plan_campaign(one, 3))


def test_each_setting_is_a_case_that_hosts_show_and_no_server_starts_ahead(tmp_path: Path) -> None:
    levels = {SIZE: ["20k", "1M"], "gro": ["on", "off"]}
    planned = plan_campaign(campaign(tmp_path, factors=levels, design="full", trials=2), 0)
    assert len(planned.cases) == 4
    assert not planned.ports_alternate
    assert {case.hosts for case in planned.cases} == {("c1", "dut")}
    shown = [{one.value for one in planned.changes_in(round_)} for round_ in planned.rounds]
    assert shown == [{dict(round_.trials[0].case.factors)["gro"]} for round_ in planned.rounds]
    assert not any(trial.instances for trial in planned.trials)


def test_more_clients_than_ports_of_a_load_are_planned(tmp_path: Path) -> None:
    """Users need no port of a load, whose default range has 64."""
    clients = [f"c{number}" for number in range(1, 97)]
    hosts = {name: {"address": name, "data": "eth0"} for name in ("dut", *clients)}
    users = {**USERS, "clients": clients, "users": len(clients)}
    planned = plan_campaign(campaign(tmp_path, hosts=hosts, users=users), 0)
    assert {len(case.hosts) for case in planned.cases} == {97}


def test_cases_are_the_same_only_where_users_do_the_same(tmp_path: Path) -> None:
    def keys(**changes: Any) -> set[str]:
        return {case.key for case in plan_campaign(campaign(tmp_path, **changes), 0).cases}

    assert keys() == keys(hosts={**HOSTS, "dut": {"address": "198.51.100.1", "data": "eth9"}})
    assert not keys() & keys(users={"think": "1s"})
    assert not keys() & keys(users={"vsftpd": {"use_sendfile": "off"}})
    assert not keys() & keys(users={"folder": "/srv"}), "files in memory are not files on a disk"
    assert keys() == keys(users={"folder": "/dev/shm"})
    assert not keys() & keys(users={"seed": 2}), "users of another seed choose otherwise"
    assert keys() == keys(users={"get": {"size": "5M"}}), "both sizes are what the factor varies"


def test_each_repetition_draws_anew_and_all_settings_in_it_alike(tmp_path: Path) -> None:
    """So runs are independent draws, and settings are compared under the same arrivals and choices."""
    one = campaign(tmp_path, trials=3, users={"arrival_rate": 5})
    again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(one))))
    other = campaign(tmp_path, trials=3, users={"arrival_rate": 5, "seed": 2})
    drawn: list[dict[int, set[tuple[float, ...]]]] = []
    for asked in (one, again, other):
        all_users = users_in(asked)
        assert all_users is not None
        own: dict[int, set[tuple[float, ...]]] = {}
        for planned in plan_campaign(asked, 0).trials:
            users = work.users_of_trial(all_users, planned)
            randomness = decisions.own_randomness(job_of(users), -1)
            due = tuple(itertools.islice(decisions.arrivals(5.0, randomness), 20))
            own.setdefault(planned.repetition, set()).add(due)
        drawn.append(own)
    assert [len(due) for due in drawn[0].values()] == [1, 1, 1]
    assert len(set().union(*drawn[0].values())) == 3
    assert drawn[1] == drawn[0], "a result that is resumed draws as it would have"
    assert not set().union(*drawn[0].values()) & set().union(*drawn[2].values())


def test_a_trial_runs_with_the_users_of_its_repetition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = campaign(tmp_path, trials=2)
    begun: list[Users] = []

    async def addresses(users: Users, *_: object) -> dict[str, str]:
        begun.append(users)
        raise HostError("far enough")

    monkeypatch.setattr(work, "addresses", addresses)
    common = UsersAtWork(cast(Any, None), one, cast(Any, None), lambda event: None)
    for planned in plan_campaign(one, 0).trials:
        assert asyncio.run(common.trial(planned, LoadTime(1.0, 1.0)).prepared()) == "far enough"
    assert len(begun) == 4
    assert len({users.seed for users in begun}) == 2
    asked = users_in(one)
    assert asked is not None
    assert asked.seed not in {users.seed for users in begun}


def job_of(users: Users) -> UsersJob:
    files, puts = (RemoteFile("get/a", 1),), (1,)
    target = Target("192.0.2.1", 21, "ftp", "hidden")
    return UsersJob(target=target, users=4, duration_s=10.0, files=files, put_sizes=puts, **users.behaviour)


# --- what a trial measures

START_S = 1_700_000_000.0
WINDOW = Window(START_S + 1, START_S + 4)
CASE = Case("ftp", "c1", "dut")


def report(start: float, end: float, *, received: int = 0, sent: int = 0, **fields: Any) -> UsersReport:
    values = {"host": "c1", "cpu_s": 0.5, "gets": 1, "puts": 0, **fields}
    return UsersReport(
        start_s=START_S + start, end_s=START_S + end, received_bytes=received, sent_bytes=sent, **values
    )


def run_of(*reports: UsersReport, **fields: Any) -> TrialRun:
    clocks = {name: Offset(0.0, 0.001) for name in ("c1", "dut")}
    planned = PlannedTrial(1, 1, CASE, ())
    return TrialRun(planned, START_S, START_S + 5, 5.0, (), clocks, users=tuple(reports), **fields)


SETUP = Setup(
    omit_s=1.0,
    window_s=3.0,
    hosts={name: HostSpec(name, "192.0.2.1", "eth0") for name in ("c1", "dut")},
    base_frequency_hz={"c1": None, "dut": None},
    tick_accounting={"c1": None, "dut": None},
)
WHOLE = tuple(report(at, at + 1, received=1_000_000, sent=500_000) for at in range(5))


def test_throughput_is_both_ways_of_the_window_with_reports_at_its_edges_in_proportion() -> None:
    edges = (report(0.5, 1.5, received=2_000_000), *WHOLE[2:3], report(1.5, 2, sent=1_000_000), *WHOLE[3:])
    done = done_in(run_of(*edges), WINDOW, ["c1"])
    assert done.payload_bps == pytest.approx(8 * (1_000_000 + 1_000_000 + 2 * 1_500_000) / 3)
    assert done.client_cores == {"c1": pytest.approx((0.25 + 0.5 + 0.5 + 0.5) / 3)}


def test_a_client_that_was_silent_for_a_while_leaves_no_throughput() -> None:
    with pytest.raises(ParseError, match=r"c1: the reports of its users cover 2.0 s of the window of 3.0 s"):
        done_in(run_of(*WHOLE[:3]), WINDOW, ["c1"])


def test_a_trial_of_users_is_measured_kept_and_made_again(tmp_path: Path) -> None:
    run = run_of(*WHOLE)
    found = measure(run, {}, SETUP, LOADS[DEFAULT_LOAD], 0.1)
    assert found.trial.status == "done", found.trial.reason
    assert found.trial.throughput_bps == pytest.approx(12e6)
    assert found.trial.offered_bps is None
    assert found.trial.sender is not None
    assert found.trial.receiver is not None
    assert found.trial.sender.load_cpu_cores == pytest.approx(0.5)
    assert found.trial.receiver.load_cpu_cores is None
    assert "the server's sessions" in found.trial.receiver.reasons["foreign_cores"]
    assert found.trial.sender.reasons["foreign_cores"] == "no mpstat readings"
    assert {one.source for one in found.series} == {"users"}
    again = run_record.read(found.raw[run_record.NAME], found.raw, SETUP.hosts, LOADS[DEFAULT_LOAD])
    assert measure(again.run, {}, again.setup, LOADS[DEFAULT_LOAD], again.overhead_s).trial == found.trial


@pytest.mark.parametrize(
    ("reports", "fields", "reason"),
    [
        (WHOLE[:2], {}, "the reports of its users cover 1.0 s"),
        (
            (report(0, 5),),
            {"complaints": ("get stalled: no byte for 30 s",)},
            "moved no data in the window; get st",
        ),
        (WHOLE, {"failure": "dut: vsftpd ended by signal 9"}, "vsftpd ended"),
    ],
)
def test_a_trial_in_which_users_could_not_work_has_failed_with_its_reason(
    reports: tuple[UsersReport, ...], fields: dict[str, Any], reason: str
) -> None:
    trial = measure(run_of(*reports, **fields), {}, SETUP, LOADS[DEFAULT_LOAD], 0.1).trial
    assert trial.status == "failed"
    assert reason in str(trial.reason)


def test_each_of_several_clients_has_its_part_and_its_cpu_and_the_server_is_of_all() -> None:
    flows = (("c1", "dut"), ("c2", "dut"))
    case = Case("ftp", **group_of("many-to-one", flows))
    fast = [replace(one, host="c2", received_bytes=3_000_000, cpu_s=0.9) for one in WHOLE]
    run = run_of(*WHOLE, *fast)
    planned = replace(
        run.planned,
        case=case,
        flows=tuple(PlannedTrial(1, 1, pair, ()) for pair in case.pairs),
    )
    clocks = {name: Offset(0.0, 0.001) for name in case.hosts}
    run = replace(run, planned=planned, clocks=clocks, flows=(None, None))
    assert together(planned, [run], None) is run, "users of all clients are one run"
    hosts = {name: HostSpec(name, "192.0.2.1", "eth0") for name in case.hosts}
    none = dict.fromkeys(case.hosts)
    setup = replace(SETUP, hosts=hosts, base_frequency_hz=none, tick_accounting=none)
    found = measure(run, {}, setup, LOADS[DEFAULT_LOAD], 0.1)
    assert found.trial.status == "done", found.trial.reason
    assert found.trial.throughput_bps == pytest.approx(12e6 + 28e6)
    assert found.trial.receiver is not None
    assert found.trial.receiver.host == "dut"
    assert [one.users_bps for one in found.trial.flows] == [pytest.approx(12e6), pytest.approx(28e6)]
    cores = [one.end.load_cpu_cores for one in found.trial.flows if one.end is not None]
    assert cores == [pytest.approx(0.5), pytest.approx(0.9)]
    parts = {one.case.sender: one.throughput_bps for one in flow_trials(found.trial)}
    assert parts == {"c1": pytest.approx(12e6), "c2": pytest.approx(28e6)}
    again = run_record.read(found.raw[run_record.NAME], found.raw, hosts, LOADS[DEFAULT_LOAD])
    assert measure(again.run, {}, again.setup, LOADS[DEFAULT_LOAD], again.overhead_s).trial == found.trial


LONG_S = 40


def trial_of(megabytes: Sequence[float]) -> Trial:
    """A trial whose users move so much in each second of a window of 40 s."""
    reports = [report(at, at + 1.0, received=round(1e6 * each)) for at, each in enumerate(megabytes)]
    run = replace(run_of(*reports), ended_s=START_S + len(reports))
    return measure(run, {}, replace(SETUP, omit_s=0.0, window_s=LONG_S), LOADS[DEFAULT_LOAD], 0.1).trial


def shaped(kind: str) -> list[float]:
    noise = random.Random(3)  # noqa: S311  a series that is drawn again alike
    levels: dict[str, Callable[[int], float]] = {
        "stops halfway": lambda at: 100.0 if at < LONG_S // 2 else 0.0,
        "begins slowly": lambda at: 10.0 if at < LONG_S // 4 else 100.0,
        "by turns": lambda at: 100.0 if at // 5 % 2 else 40.0,
        "steady": lambda at: 100.0,
        "one second without a file": lambda at: 4.0 if at == LONG_S // 2 else 100.0,
        "files end and users think": lambda at: 100.0 if noise.random() < 0.8 else 5.0,
    }
    return [levels[kind](at) * (1 + 0.05 * noise.random()) for at in range(LONG_S)]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("stops halfway", {"throughput-drifts", "throughput-dips"}),
        ("begins slowly", {"warm-up-in-window", "throughput-drifts"}),
        ("by turns", {"throughput-oscillates"}),
        ("steady", set()),
        ("one second without a file", set()),
        ("files end and users think", set()),
    ],
)
def test_throughput_of_users_that_does_not_stay_where_it_is_is_told(kind: str, codes: set[str]) -> None:
    trial = trial_of(shaped(kind))
    assert trial.status == "done", trial.reason
    told = {one.code for one in trial.flags if one.code.startswith(("throughput-", "warm-up"))}
    assert len(told) == min(1, len(codes))
    assert told <= codes


def test_reports_of_several_clients_are_one_series() -> None:
    """Each in a rhythm of its own: one second's rate is what all moved in it."""
    other = [replace(report(at + 0.3, at + 1.3, sent=500_000), host="c2") for at in range(-1, 5)]
    assert users_rates([*WHOLE, *other], WINDOW) == pytest.approx([8 * (1_500_000 + 500_000)] * 3)
    assert users_rates([], WINDOW) == []


def test_reports_are_samples_of_their_client_and_one_of_no_length_is_none() -> None:
    other = replace(report(1, 3, sent=500_000), host="c2")
    first, second = MEASURING.series(run_of(*WHOLE[:2], report(2, 2, sent=9), other))
    assert (first.host, [one.value for one in first.samples]) == ("c1", [12e6, 12e6])
    assert (second.host, [one.value for one in second.samples]) == ("c2", [2e6])


def test_failed_transfers_and_a_client_at_its_end_are_found() -> None:
    busy = [replace(one, cpu_s=0.97, failures={"get stalled": 2}) for one in WHOLE]
    run = run_of(*busy, complaints=("get stalled: no byte for 30 s",))
    flags = {one.code: one for one in users_flags(run, done_in(run, WINDOW, ["c1"]), SETUP.hosts)}
    assert set(flags) == {"many-transfers-failed", "client-saturated"}
    assert "6 failed, about 3 completed" in flags["many-transfers-failed"].evidence
    assert "get stalled: no byte" in flags["many-transfers-failed"].evidence
    shared = {name: replace(spec, shares_cpus_with=("dut",)) for name, spec in SETUP.hosts.items()}
    alone = {one.code for one in users_flags(run, done_in(run, WINDOW, ["c1"]), shared)}
    assert "client-saturated" not in alone


@pytest.mark.parametrize(
    ("failures", "code"),
    [
        ({"get stalled": 1}, "transfers-failed"),
        ({"get stalled": 40}, "many-transfers-failed"),
        ({"login server-full": 1}, "transfers-failed"),
        ({"login server-full": 2}, "many-transfers-failed"),
    ],
)
def test_failures_that_choose_whose_throughput_it_is_make_it_doubtful(
    failures: Mapping[str, int], code: str
) -> None:
    """Two logins in three seconds are one user who is always refused, however many files the others get."""
    reports = [replace(one, gets=1000) for one in WHOLE]
    inner = next(at for at, one in enumerate(reports) if one.start_s >= WINDOW.start_s)
    reports[inner] = replace(reports[inner], failures=failures)
    run = run_of(*reports)
    (flag,) = users_flags(run, done_in(run, WINDOW, ["c1"]), SETUP.hosts)
    assert flag.code == code
    assert ("throughput" in kind_of(code).figures) == (code == "many-transfers-failed")


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ("none", None),
        ("1", None),
        (
            "5",
            "about 20 of 50 requested transfers completed in the window (40 %); requested rate 5 per second",
        ),
        ("2.5", None),
    ],
)
def test_an_open_loop_that_was_not_served_is_found_beyond_chance(rate: str, said: str | None) -> None:
    reports = [report(at, at + 1.0, received=1000, gets=2) for at in range(12)]
    for case in (
        replace(CASE, users=(("arrival_rate", rate),)),
        replace(CASE, users=(("clients", "1"),), factors=(("users.arrival_rate", rate),)),
    ):
        run = run_of(*reports)
        run = replace(run, planned=replace(run.planned, case=case))
        found = users_flags(run, done_in(run, Window(START_S + 1, START_S + 11), ["c1"]), SETUP.hosts)
        assert [one.evidence for one in found if one.code == "arrivals-not-served"] == (
            [said] if said else []
        )


@pytest.mark.parametrize(
    "keys", [{"users": {"arrival_rate": 5}}, {"factors": {"users.arrival_rate": ["5", "50"]}}]
)
def test_a_plan_says_that_an_open_loop_has_the_throughput_that_is_asked_for(
    keys: dict[str, Any], tmp_path: Path
) -> None:
    told = [one for one in plan_campaign(campaign(tmp_path, **keys), 0).notes if "users.arrival_rate" in one]
    assert len(told) == 1
    assert "throughput is what is asked for" in told[0]
    assert not any("users.arrival_rate:" in one for one in plan_campaign(campaign(tmp_path), 0).notes)


def test_cases_of_users_are_named_without_instances() -> None:
    assert names_of_cases([replace(CASE, factors=((SIZE, "1M"),))]) == ["FTP users, c1 ↔ dut"]


@pytest.mark.parametrize("keys", [{"factors": {"cpus_online": ["all", "0-1"], "gro": ["on", "off"]}}, {}])
def test_which_cpus_are_online_is_the_servers_and_other_knobs_are_of_all_hosts(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    """Else an effect would be of server and client at once."""
    found = campaign(tmp_path, **(keys or {"settings": {"cpus_online": "0-1", "gro": "off"}}))
    planned = plan_campaign(found, 0)
    every = {
        (one.knob, one.host, one.value) for round_ in planned.rounds for one in planned.changes_in(round_)
    }
    assert ("cpus_online", "dut", "0-1") in every
    assert {host for knob, host, _ in every if knob == "cpus_online"} == {"dut"}
    assert {host for knob, host, _ in every if knob == "offload"} == {"dut", "c1"}
    if not keys:
        assert {name: spec.cpus for name, spec in found.hosts.items()} == {"dut": (0, 1), "c1": None}


def test_cpus_that_the_server_has_offline_are_counted_at_its_clients() -> None:
    run = run_of(*WHOLE)

    def cpus(case: Case) -> dict[str, tuple[int, ...] | None]:
        cut = Cut(replace(run, planned=replace(run.planned, case=case)), [], Window(0, 1), {}, SETUP)
        return {name: cut.spec(name).cpus for name in filter(None, case.hosts)}

    levels = (("cpus_online", "0-1"),)
    assert cpus(replace(CASE, factors=levels)) == {"c1": None, "dut": (0, 1)}
    assert cpus(replace(CASE, receiver="", factors=levels)) == {"c1": (0, 1)}, "of somebody else's server"


def test_clients_may_name_cpus_that_only_the_server_switches_off(tmp_path: Path) -> None:
    levels = {"cpus_online": ["all", "0-1"]}
    hosts = {**HOSTS, "c1": {**HOSTS["c1"], "app_cpus": "2-3"}}
    assert campaign(tmp_path, factors=levels, hosts=hosts).factors["cpus_online"] == ("all", "0-1")
    hosts = {**HOSTS, "dut": {**HOSTS["dut"], "app_cpus": "2-3"}}
    with pytest.raises(InvalidInput, match="switches CPU 2-3 off, and app_cpus of dut has it"):
        campaign(tmp_path, factors=levels, hosts=hosts)


@pytest.mark.parametrize(
    "keys", [{"factors": {"cpus_online": ["all", "0-1"]}}, {"settings": {"cpus_online": "0-1"}}]
)
def test_no_host_is_left_without_any_of_the_cpus_that_belong_to_it(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    """It would have no CPU to place a load on, and none to count."""
    keys = {"factors": {SIZE: ["20k", "1M"]}, **keys}
    hosts = {**HOSTS, "dut": {**HOSTS["dut"], "cpus": "1-3"}}
    campaign(tmp_path, hosts=hosts, **keys)
    hosts = {**HOSTS, "dut": {**HOSTS["dut"], "cpus": "2-3"}}
    with pytest.raises(InvalidInput, match=r"takes all CPUs of dut \(2-3\) offline; keep at least one"):
        campaign(tmp_path, hosts=hosts, **keys)


def test_a_plan_of_many_clients_names_them_once_a_setting_and_fits_a_terminal(tmp_path: Path) -> None:
    names = [f"c{number:02}" for number in range(1, 41)]
    hosts = {"dut": HOSTS["dut"], **{name: {**HOSTS["c1"], "address": f"{name}.lab"} for name in names}}
    levels = {"gro": ["on", "off"], SIZE: ["20k", "1M"]}
    campaign(tmp_path, factors=levels, hosts=hosts, users={"clients": names, "users": len(names)})
    with mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        lines = forked.run(["plan", str(tmp_path / "e.yaml")], timeout=60).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "varied on dut, c01, c02, c03 and 37 more: gro" in text
    assert re.findall(r"\bvary ([^:]*): ", text) == [", ".join([*names, "dut"])]
    (head,) = [at for at, line in enumerate(lines) if "clients" in line and "server" in line]
    assert lines[head + 2].split()[-2:] == ["40", "dut"]


def test_the_plan_says_where_knobs_are_turned_and_what_cpus_leave_behind(tmp_path: Path) -> None:
    levels = {"cpus_online": ["all", "0-1"], "gro": ["on", "off"], "mtu": [1500, 9000], SIZE: ["20k", "1M"]}
    campaign(tmp_path, factors=levels)
    said = forked.run(["plan", str(tmp_path / "e.yaml")], timeout=60).stdout.splitlines()
    assert "varied on dut: cpus_online" in said
    both = ": an effect of it is that of server and clients at once"
    assert f"varied on dut, c1: gro, mtu{both}" in said
    (left,) = [line for line in said if line.startswith("not put back on ")]
    assert left.startswith("not put back on dut, where all of their CPUs go offline: tasks that are bound")
    campaign(tmp_path)
    said = forked.run(["plan", str(tmp_path / "e.yaml")], timeout=60).stdout.splitlines()
    assert not [line for line in said if line.startswith(("varied on", "not put back"))]
