# SPDX-License-Identifier: Apache-2.0
"""What users decide, and what an FTP server's replies mean: pure, so held by properties."""

from __future__ import annotations

import itertools
import json
import random
import statistics
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ftp_server import content_of
from tests.users_jobs import USUAL

from linewatt.errors import InvalidInput
from linewatt.features.users.worker import content, decisions, job
from linewatt.features.users.worker.base import Failure, RemoteFile
from linewatt.features.users.worker.ftp import ADVICE, failure_of, size_failure
from linewatt.features.users.worker.job import Target, UsersJob, lognormal_sizes

drawn_from = random.Random
TARGET = Target("192.0.2.1", 21, "ftp", "hidden")


def a_job(**changed: object) -> UsersJob:
    values: dict[str, object] = {"users": 4, "duration_s": 10.0, "files": (RemoteFile("get/a", 1),)}
    return UsersJob(TARGET, **{**USUAL, **values, "put_sizes": (1,), **changed})


@given(st.integers(1, 400), st.fractions(0, 1, max_denominator=100))
def test_gets_are_never_more_than_one_off_their_share(turns: int, share: object) -> None:
    wanted = float(share)  # type: ignore[arg-type]
    gets = sum(decisions.action(turn, wanted) == "get" for turn in range(turns))
    assert abs(gets - turns * wanted) < 1


def test_a_share_of_one_half_alternates_and_begins_with_a_get() -> None:
    assert [decisions.action(turn, 0.5) for turn in range(4)] == ["get", "put", "get", "put"]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_each_size_is_chosen_as_often_as_the_others(seed: int, count: int) -> None:
    randomness = drawn_from(seed)
    found = [decisions.chosen(range(count), randomness) for _ in range(2000)]
    for size in range(count):
        assert found.count(size) / 2000 == pytest.approx(1 / count, abs=0.08)


@given(st.integers(0, 500), st.floats(0.1, 30))
def test_ramped_users_start_one_after_the_other_within_the_ramp(index: int, spread_s: float) -> None:
    ramped = a_job(users=501, start="ramped", spread_s=spread_s)
    starts = [decisions.start_delay_s(ramped, at, drawn_from(0)) for at in (index, index + 1)]
    assert 0 <= starts[0] < starts[1] <= spread_s


def test_users_in_step_start_at_once_with_the_same_action_and_independent_ones_with_both() -> None:
    step, free = a_job(start="synchronised"), a_job(start="independent", spread_s=2.0)
    assert {decisions.start_delay_s(step, at, drawn_from(at)) for at in range(9)} == {0.0}
    assert {decisions.action(decisions.first_turn(step, at), 0.5) for at in range(9)} == {"get"}
    assert {decisions.action(decisions.first_turn(free, at), 0.5) for at in range(9)} == {"get", "put"}
    delays = [decisions.start_delay_s(free, at, decisions.own_randomness(free, at)) for at in range(200)]
    assert 0 <= min(delays) < 0.1
    assert 1.9 < max(delays) <= 2.0


def test_arrivals_are_a_poisson_process_of_the_rate() -> None:
    due = list(itertools.islice(decisions.arrivals(50.0, drawn_from(7)), 20_000))
    gaps = [after - before for before, after in itertools.pairwise(due)]
    assert due == sorted(due)
    assert statistics.mean(gaps) == pytest.approx(0.02, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(0.02, rel=0.05)  # of an exponential: its mean


def test_thinking_is_fixed_or_exponential_with_that_mean() -> None:
    assert decisions.think_s(a_job(think_s=0.5), drawn_from(1)) == 0.5
    exponential = a_job(think_s=0.5, think="exponential")
    randomness = drawn_from(1)
    thought = [decisions.think_s(exponential, randomness) for _ in range(5000)]
    assert statistics.mean(thought) == pytest.approx(0.5, rel=0.05)
    assert len(set(thought)) > 4900


@given(st.integers(1, 10_000))
def test_waits_for_the_next_login_grow_to_two_seconds_and_no_further(failed: int) -> None:
    assert 0.1 <= decisions.retry_s(failed) <= decisions.retry_s(failed + 1) <= 2.0


def test_a_user_decides_the_same_wherever_it_runs_and_otherwise_than_its_neighbour() -> None:
    def drawn(index: int) -> list[float]:
        randomness = decisions.own_randomness(a_job(), index)
        return [randomness.random() for _ in range(3)]

    assert drawn(3) == drawn(3) != drawn(4)


@pytest.mark.parametrize(
    ("reply", "action", "failure"),
    [
        ("530 Login incorrect.", "login", Failure.WRONG_CREDENTIALS),
        ("500 OOPS: child died", "put", Failure.CONNECTION_LOST),
        ("500 OOPS: priv_sock_send_cmd", "get", Failure.CONNECTION_LOST),
        ("500 OOPS: vsftpd: refusing to run with writable root inside chroot()", "login", Failure.REFUSED),
        ("430 Invalid username or password", "login", Failure.WRONG_CREDENTIALS),
        ("421 There are too many connected users, please try later.", "login", Failure.SERVER_FULL),
        ("421 There are too many connections from your internet address.", "login", Failure.SERVER_FULL),
        ("421 50 users (the maximum) are already logged in, sorry", "login", Failure.SERVER_FULL),
        (
            "530 Sorry, the maximum number of clients (5) for this user are already connected.",
            "login",
            Failure.SERVER_FULL,
        ),
        ("421 Timeout.", "get", Failure.CONNECTION_LOST),
        ("452 Insufficient storage space", "put", Failure.DISK_FULL),
        ("552 Disk full - please upload later", "put", Failure.DISK_FULL),
        ("451 Failure writing to local file.", "put", Failure.DISK_FULL),
        ("451 Failure reading local file.", "get", Failure.REFUSED),
        ("550 Failed to open file.", "get", Failure.FILE_MISSING),
        ("550 Permission denied.", "get", Failure.REFUSED),
        ("550 Permission denied.", "put", Failure.REFUSED),
        ("553 Could not create file.", "put", Failure.REFUSED),
        ("425 Failed to establish connection.", "get", Failure.PASSIVE_PORT_BLOCKED),
        ("426 Failure writing network stream.", "get", Failure.CONNECTION_LOST),
    ],
)
def test_replies_of_real_servers_have_their_names(reply: str, action: str, failure: Failure) -> None:
    assert failure_of(reply, action) is failure  # type: ignore[arg-type]


@given(st.text(), st.sampled_from(["login", "get", "put"]))
def test_any_reply_has_a_name_with_an_advice(reply: str, action: str) -> None:
    assert ADVICE[failure_of(reply, action)]  # type: ignore[arg-type]


def test_every_failure_has_an_advice() -> None:
    assert set(ADVICE) == set(Failure)


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_size_is_right_short_or_long(came: int, promised: int) -> None:
    found = size_failure(came, promised)
    assert (found is None) == (came == promised)
    assert (found is Failure.FILE_SHORT) == (came < promised)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"users": 0}, "users must be at least 1, got 0"),
        ({"get_share": 1.5}, "get_share must be 0 to 1"),
        ({"files": ()}, "needs files to get"),
        ({"put_sizes": ()}, "needs sizes to put"),
        ({"arrival_rate_hz": 0.0}, "arrival_rate_hz must be > 0"),
        ({"put_folder": "put\r\nDELE get/a"}, "without line ends"),
    ],
)
def test_a_job_that_cannot_be_is_refused_in_one_line(changed: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        a_job(**changed)


def test_a_job_travels_as_json_and_shows_its_password_to_nobody() -> None:
    whole = a_job(start="ramped", arrival_rate_hz=3.0, files=(RemoteFile("get/a", 5, 7),))
    assert job.from_dict(json.loads(json.dumps(job.as_dict(whole)))) == whole
    assert "hidden" not in repr(whole)
    with pytest.raises(InvalidInput, match="cannot be read"):
        job.from_dict({"users": 3})


def test_lognormal_sizes_have_the_median_and_the_spread_asked_for() -> None:
    sizes = lognormal_sizes(100_000, 1.0, 101)
    assert list(sizes) == sorted(sizes)
    assert sizes[50] == 100_000
    # one standard deviation is a factor e: the 84th percentile
    assert sizes[84] / 100_000 == pytest.approx(2.718, rel=0.05)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 3 * content.PERIOD_BYTES))
def test_the_checksum_of_a_size_is_that_of_its_content(size: int) -> None:
    assert zlib.crc32(content_of(size)) == content.crc32(size)


def test_swapped_blocks_change_the_checksum() -> None:
    size = content.PERIOD_BYTES + 524288
    whole = content_of(size)
    block = 262144
    swapped = whole[block : 2 * block] + whole[:block] + whole[2 * block :]
    assert zlib.crc32(whole) == content.crc32(size) != zlib.crc32(swapped)
