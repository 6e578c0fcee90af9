# SPDX-License-Identifier: Apache-2.0
"""Users over many clients, the pure parts: who has which users, what is started, what a report holds."""

from __future__ import annotations

import asyncio
import json
import os
import random
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.users_jobs import USUAL

from linewatt.errors import HostError, InvalidInput, ParseError
from linewatt.features.users import master_process as master
from linewatt.features.users.fleet import Client, Fleet
from linewatt.features.users.worker.base import Failure, RemoteFile, Transfer
from linewatt.features.users.worker.crew import Crew, Share
from linewatt.features.users.worker.job import Limits, Target, UsersJob
from linewatt.features.users.worker.locust_commands import KEEP_PRIVATE, master_command, worker_command
from linewatt.features.users.worker.percentiles import Times
from linewatt.features.users.worker.tally import Tally, WorkerReport
from linewatt.hosts.base import Ended, HostSpec
from linewatt.hosts.connect import connect_to_host

TARGET = Target("192.0.2.1", 21, "ftp", "not to be seen")
JOB = UsersJob(TARGET, 5, 60.0, (RemoteFile("get/one"),), (1,), **USUAL | {"arrival_rate_hz": 50.0})


# --- shares ------------------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.integers(1, 96))
def test_every_user_is_at_one_client_and_no_client_has_two_more_than_another(
    users: int, clients: int
) -> None:
    shares = [Share(slot, clients, users).indices for slot in range(clients)]
    assert sorted(index for share in shares for index in share) == list(range(users))
    counts = [len(share) for share in shares]
    assert max(counts) - min(counts) <= 1


def test_arrivals_of_all_clients_are_those_of_the_job() -> None:
    """Client 0 has 3 users of 5, client 1 has 2; together 50 a second, over 200 s."""
    due = []
    for slot in range(2):
        crew = Crew(JOB, Share(slot, 2, 5), 60.0, None)
        arrivals = crew._company.arrivals
        assert arrivals is not None
        own = [next(arrivals) for _ in range(20_000)]
        due.append(sum(one < 200 for one in own))
    assert due[0] == pytest.approx(200 * 30, rel=0.06)  # more than four standard deviations
    assert due[1] == pytest.approx(200 * 20, rel=0.07)


def test_a_crew_has_ended_when_each_of_its_users_has() -> None:
    crew = Crew(JOB, Share(0, 2, 5), 60.0, None)
    for _ in range(3):
        crew.life()
    with pytest.raises(HostError, match="more users here"):
        crew.life()
    assert (crew.running, crew.ended.is_set()) == (3, False)
    for _ in range(3):
        assert not crew.ended.is_set()
        crew.one_ended()
    assert (crew.running, crew.ended.is_set()) == (0, True)


def test_a_client_without_users_has_ended_at_once() -> None:
    assert Crew(JOB, Share(7, 8, 5), 60.0, None).ended.is_set()


def test_stopping_begins_nothing_more_and_brings_the_end_of_transfers_forward() -> None:
    crew = Crew(JOB, Share(0, 1, 5), 3600.0, None)
    life, until_s = crew.life(), crew._around.until_s
    assert not life.over()
    crew.stop(5.0)
    assert life.over()
    assert crew._around.until_s < until_s - 3000


# --- what is started ---------------------------------------------------------------------------------------


def test_commands_meet_on_loopback_and_take_the_environment_as_it_is_given() -> None:
    with_path = worker_command("/opt/x/bin/python", "/home/a b/code", 40123, "c1", "/tmp/tmp.a")
    assert with_path[:5] == [
        *("env", "PYTHONPATH=/home/a b/code"),
        *("/opt/x/bin/python", "-m", "linewatt.features.users.worker"),
    ]
    assert "PYTHONPATH" not in " ".join(worker_command("python3", None, 1, "c1", "/tmp/tmp.a"))
    for argv in (with_path, master_command("python3", "/src", 300, "/tmp/orders")):
        assert [word for word in argv if word.endswith(".0.0.1")] == ["127.0.0.1"]
        assert "*" not in argv


def test_a_secret_is_kept_where_only_its_owner_reads(tmp_path: Path) -> None:
    kept = subprocess.run(
        ["bash", "-c", KEEP_PRIVATE, "linewatt"],
        input="a secret",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    file = Path(kept.strip())
    assert file.parent == tmp_path
    assert file.read_text() == "a secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_local_host_needs_no_forwarding() -> None:
    async def port() -> int:
        return await (await connect_to_host(HostSpec("here", "local", "lo"))).forward(4711)

    assert asyncio.run(port()) == 4711


def test_clients_are_named_and_each_once() -> None:
    client = Client("c1", "python3", None, TARGET)
    for clients in ([], [client, client]):
        with pytest.raises(InvalidInput, match="once"):
            Fleet({}, clients, JOB, 10.0, lambda _: None, lambda *_: None)


def test_last_words_are_the_last_line_that_says_something() -> None:
    ended = Ended(1, "", "Traceback …\n  File …\nModuleNotFoundError: No module named 'zmq'\n\n", None, None)
    assert master.last_words(ended) == "ModuleNotFoundError: No module named 'zmq'"
    assert "status 137" in master.last_words(Ended(137, "", "\n", None, None))


def test_what_the_master_says_otherwise_is_noise_and_not_an_event() -> None:
    assert master._event('{"is": "joined", "name": "c1"}') == {"is": "joined", "name": "c1"}
    for text in ("[INFO] Starting", "3", '["is"]'):
        assert master._event(text)["is"] == "noise"


# --- what is reported --------------------------------------------------------------------------------------


def a_tally() -> Tally:
    tally = Tally()
    counts = tally.user(3)
    counts.bytes.received_bytes, counts.bytes.sent_bytes, counts.unfinished = 1500, 40, 2
    tally.done(3, "get", Transfer(1000, 0.1, 0.2), None)
    tally.done(3, "put", Transfer(30, 0.1, 0.2), None)
    tally.failed(3, "get", Failure.FILE_SHORT, "a line")
    return tally


def test_a_report_survives_the_way_to_the_controller() -> None:
    report = WorkerReport("c1", 100.0, 110.5, 0.7, 4, a_tally())
    again = WorkerReport.from_dict(json.loads(json.dumps(report.as_dict())))
    assert again.tally.as_dict() == report.tally.as_dict()
    assert again.as_dict() == report.as_dict()
    assert again.tally.total().failures == {("get", Failure.FILE_SHORT): 1}


@pytest.mark.parametrize("change", [{"cpu_s": "much"}, {"tally": {}}, {"running": None}])
def test_a_report_that_is_none_is_refused(change: dict[str, object]) -> None:
    values = WorkerReport("c1", 0.0, 1.0, 0.1, 1, Tally()).as_dict()
    with pytest.raises(ParseError):
        WorkerReport.from_dict({**values, **change})
    with pytest.raises(ParseError):
        WorkerReport.from_dict({name: value for name, value in values.items() if name not in change})


def test_bytes_of_transfers_that_were_done_are_counted_beside_all_that_passed() -> None:
    tally = a_tally()
    part = tally.taken()
    total = part.total()
    assert (total.done_received_bytes, total.done_sent_bytes) == (1000, 30)
    assert (total.bytes.received_bytes, total.bytes.sent_bytes) == (1500, 40)
    assert (tally.total().done_received_bytes, tally.total().done_sent_bytes) == (0, 0)
    part.merge(a_tally())
    assert part.total().done_received_bytes == 2000
    assert Tally.from_dict(part.as_dict()).total() == part.total()


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_percentiles_and_mean_are_those_of_hdrhistogram_itself(count: int) -> None:
    randomness, times = random.Random(count), Times()  # noqa: S311 (a fixed seed is what is wanted)
    for _ in range(count):
        times.add(randomness.lognormvariate(-4, 3))
    own = times._histogram_made()
    points = (0.1, 50.0, 99.0, 100.0)  # few, for HdrHistogram takes its time
    assert times.percentiles_s(points) == tuple(own.get_value_at_percentile(each) / 1e6 for each in points)
    assert times.summary().mean_s == pytest.approx(own.get_mean_value() / 1e6, rel=1e-12)
    assert times.summary().max_s == own.get_max_value() / 1e6


def test_times_that_nothing_was_added_to_are_not_sent() -> None:
    assert sorted(a_tally().as_dict()["times"]) == [
        "get.first_byte",
        "get.total",
        "put.first_byte",
        "put.total",
    ]
    assert Tally().as_dict()["times"] == {}


def test_a_users_last_second_is_within_its_limits() -> None:
    assert Limits(connect_s=1, reply_s=2, stall_s=4, grace_s=8).last_s == 8 + 4 + 1 + 6
