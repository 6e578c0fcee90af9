# SPDX-License-Identifier: Apache-2.0
"""What iperf3 counted in segments, as totals of each host over all of them."""

from __future__ import annotations

from linewatt.features.soak.segments import CHANNELS, Totals
from linewatt.loads.base import LoadEnd, LoadInterval
from linewatt.model import Sample


def end(*transferred_bytes: int, is_sender: bool = True) -> LoadEnd:
    intervals = tuple(
        LoadInterval(float(at), at + 1.0, count, retransmits=1 if is_sender else None)
        for at, count in enumerate(transferred_bytes)
    )
    return LoadEnd(is_sender, "3.12", intervals, float(len(intervals)), 0.1)


def values(samples: list[Sample], channel: str) -> list[tuple[float, float | None]]:
    return [(one.time_s, one.value) for one in samples if one.channel == channel]


def test_a_total_goes_on_from_segment_to_segment() -> None:
    totals = Totals("iperf3")
    (first,) = totals.series({"gen": [(100.0, end(10, 20))]})
    (second,) = totals.series({"gen": [(110.0, end(5))]})
    sent = "load.sent_bytes"
    assert values(list(first.samples), sent) == [(100.0, 0.0), (101.0, 10.0), (102.0, 30.0)]
    assert values(list(second.samples), sent) == [(110.0, 30.0), (111.0, 35.0)]
    assert values(list(second.samples), "load.retransmits")[-1] == (111.0, 3.0)


def test_instances_of_a_host_add_up_in_order_of_time() -> None:
    (series,) = Totals("iperf3").series({"gen": [(100.0, end(10, 10)), (100.5, end(1, 1))]})
    found = values(list(series.samples), "load.sent_bytes")
    assert found == [(100.0, 0.0), (101.0, 10.0), (101.5, 11.0), (102.0, 21.0), (102.5, 22.0)]


def test_datagrams_that_came_late_make_no_total_go_back() -> None:
    """A counter that does is one that was reset, and what it counted then is taken for not known."""

    def received(*lost: int) -> LoadEnd:
        intervals = tuple(
            LoadInterval(float(at), at + 1.0, 1, packets=9, lost_packets=n) for at, n in enumerate(lost)
        )
        return LoadEnd(False, "3.12", intervals, float(len(intervals)), 0.1)

    totals = Totals("iperf3")
    (first,) = totals.series({"dut": [(100.0, received(3, -2, 1, -1))]})
    (second,) = totals.series({"dut": [(110.0, received(0, 4))]})
    found = [value for _, value in values([*first.samples, *second.samples], "load.lost_packets")]
    assert found == [0, 3, 3, 3, 3, 3, 3, 5]


def test_what_an_end_does_not_count_has_no_sample() -> None:
    (series,) = Totals("iperf3").series({"dut": [(100.0, end(10, is_sender=False))]})
    assert {one.channel for one in series.samples} == {"load.received_bytes"}
    assert {channel.kind for channel in CHANNELS.values()} == {"counter"}
