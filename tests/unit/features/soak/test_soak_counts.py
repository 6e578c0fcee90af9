# SPDX-License-Identifier: Apache-2.0
"""What users counted, as totals that only grow; totals that stand still take no room and lose nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linewatt.features.soak.recorder import thinned
from linewatt.features.users.totals import UserTotals
from linewatt.features.users.worker.base import Failure, Transfer
from linewatt.features.users.worker.tally import Tally, WorkerReport
from linewatt.hosts.clock import Offset
from linewatt.model import Channel, Sample

CLOCK = Offset(0.0, 0.0)


def report(tally: Tally, end_s: float = 110.0, worker: str = "c1") -> WorkerReport:
    return WorkerReport(worker, end_s - 10, end_s, cpu_s=2.5, running=3, tally=tally)


def got(size_bytes: int, *, failures: int = 0) -> Tally:
    tally = Tally()
    tally.user(0).bytes.received_bytes = size_bytes
    tally.done(0, "get", Transfer(size_bytes, 0.01, 0.5), None)
    for _ in range(failures):
        tally.failed(0, "get", Failure.FILE_SHORT, "half of it came")
    return tally


def values(totals: UserTotals, channel: str, host: str = "c1") -> list[tuple[float, float | None]]:
    series, _ = totals.taken()
    return [
        (one.time_s, one.value)
        for own in series
        if own.host == host
        for one in own.samples
        if one.channel == channel
    ]


def test_reports_add_up_to_running_totals_that_begin_at_nothing() -> None:
    totals = UserTotals()
    totals.begin(["c1"], 100.0)
    for end_s, size_bytes in ((110.0, 1000), (120.0, 500)):
        totals.add(report(got(size_bytes), end_s), CLOCK)
    assert values(totals, "users.received_bytes") == [(100.0, 0.0), (110.0, 1000.0), (120.0, 1500.0)]


def test_cpu_time_adds_up_and_users_at_work_are_those_of_all_clients() -> None:
    totals = UserTotals()
    totals.begin(["c1", "c2"], 100.0)
    totals.add(report(got(1)), CLOCK)
    totals.add(report(got(1), 120.0), CLOCK)
    totals.add(report(got(1), worker="c2"), CLOCK)
    assert totals.running == 6
    totals.lost("c2")
    assert totals.running == 3
    assert values(totals, "users.cpu_s")[-1] == (120.0, 5.0)


def test_a_failure_that_is_new_began_at_none_when_its_report_began() -> None:
    totals = UserTotals()
    totals.begin(["c1"], 100.0)
    totals.add(report(got(1000)), CLOCK)
    totals.add(report(got(1000, failures=2), 120.0), CLOCK)
    assert values(totals, "users.failed.get.file-short") == [(110.0, 0.0), (120.0, 2.0)]


def test_the_first_line_of_a_kind_of_failure_is_said_once() -> None:
    totals = UserTotals()
    said = [totals.add(report(got(1, failures=1), end_s), CLOCK) for end_s in (110.0, 120.0)]
    assert said == [[("get file-short", "half of it came")], []]


def test_times_are_on_the_time_line_of_the_controller() -> None:
    totals = UserTotals()
    totals.add(report(got(7)), Offset(offset_s=4.0, uncertainty_s=0.0))
    expected_s = Offset(4.0, 0.0).to_controller(110.0)
    assert values(totals, "users.received_bytes")[-1] == (expected_s, 7.0)
    assert expected_s != 110.0


def test_a_report_never_falls_before_the_one_that_it_follows() -> None:
    """Clocks were compared anew between them, and the host's turned out to be 2 s ahead."""
    totals = UserTotals()
    totals.begin(["c1"], 100.0)
    totals.add(report(got(1000), 110.0), CLOCK)
    totals.add(report(got(500), 111.0), Offset(2.0, 0.0))
    (_, _), (first_s, first), (second_s, second) = values(totals, "users.received_bytes")
    assert (first, second) == (1000.0, 1500.0)
    assert first_s == 110.0 < second_s < 110.001


def test_percentiles_are_of_the_interval_and_missing_without_a_transfer() -> None:
    totals = UserTotals()
    totals.add(report(got(1)), CLOCK)
    totals.add(report(Tally(), 120.0), CLOCK)
    series, _ = totals.taken()
    samples = [one for one in series[0].samples if one.channel == "users.get_p99_s"]
    assert [one.reason for one in samples] == [None, "no transfer"]
    assert samples[0].value is not None
    assert abs(samples[0].value - 0.5) < 0.001
    assert samples[1].value is None


def test_what_was_taken_is_not_taken_again_and_totals_go_on() -> None:
    totals = UserTotals()
    totals.add(report(got(1000)), CLOCK)
    _, first = totals.taken()
    assert totals.taken() == ([], None)
    totals.add(report(got(10), 120.0), CLOCK)
    series, second = totals.taken()
    assert first is not None
    assert second is not None
    assert (first.total().gets, second.total().gets) == (1, 1)
    newest = {one.channel: one.value for one in series[0].samples}
    assert newest["users.received_bytes"] == 1010.0


CHANNELS = {"n": Channel("n", "count", "counter", "host"), "g": Channel("g", "W", "gauge", "host")}
steps = st.lists(st.integers(0, 2), max_size=40)


def counted(increments: list[int]) -> list[Sample]:
    total, samples = 0, []
    for at, step in enumerate(increments):
        total += step
        samples.append(Sample(float(at), "n", float(total)))
    return samples


@given(steps)
def test_between_any_two_readings_the_difference_stays_what_it_was(increments: list[int]) -> None:
    samples = counted(increments)
    kept = {one.time_s: one.value for one in thinned(samples, CHANNELS)}
    value = None
    for one in samples:
        value = kept.get(one.time_s, value)  # a missing row says: unchanged
        assert value == one.value


@given(steps)
def test_the_first_and_the_last_reading_are_kept(increments: list[int]) -> None:
    samples = counted(increments)
    kept = sorted(thinned(samples, CHANNELS))
    assert samples[:1] + samples[-1:] == kept[:1] + kept[-1:]


def test_a_total_at_rest_takes_two_rows_however_long() -> None:
    assert len(list(thinned(counted([0] * 1000), CHANNELS))) == 2


def test_gauges_and_missing_readings_are_all_kept() -> None:
    gauges = [Sample(float(at), "g", 5.0) for at in range(4)]
    missing = [Sample(float(at), "n", None, 0.0, "timed out") for at in range(4)]
    assert list(thinned(gauges, CHANNELS)) == gauges
    assert list(thinned(missing, CHANNELS)) == missing
