# SPDX-License-Identifier: Apache-2.0
"""What ``ss -tim`` says of the load's connections, against what versions of it really wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linewatt.engine.live.sockets import Connection, command, parse
from linewatt.engine.measuring.measure import tcp_state

CAPTURES = Path(__file__).parents[2] / "captures" / "sockets"


def capture(name: str) -> tuple[Connection, ...]:
    return parse((CAPTURES / name / "output").read_text())


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.iterdir()))
def test_each_version_of_ss_is_read(name: str) -> None:
    expected = json.loads((CAPTURES / name / "expected.json").read_text())
    assert expected["origin"]
    found = capture(name)
    assert len(found) == len(expected["connections"])
    for one, wanted in zip(found, expected["connections"], strict=True):
        for field, value in wanted.items():
            assert getattr(one, field) == (pytest.approx(value) if isinstance(value, float) else value), field


def test_the_control_connection_is_no_stream_and_streams_are_put_together() -> None:
    found = tcp_state(capture("6.1-two-streams"), [(57510, 5299), (57520, 5299)])
    assert found is not None
    assert (found.streams, found.congestion) == (2, "bbr")
    assert found.busy_s == pytest.approx(3.024)
    assert found.cwnd_bytes == (588 + 674) * 1448
    assert found.rtt_s == pytest.approx(0.006396)
    assert found.rwnd_limited_s == 0.0, "the kernel tells busy, so it would tell this"


def test_what_limits_a_connection_is_told_and_what_an_old_kernel_does_not_tell_is_missing() -> None:
    limited = tcp_state(capture("6.1-rwnd-limited"), [(57552, 5299)])
    assert limited is not None
    assert limited.rwnd_limited_s == pytest.approx(0.615 * (limited.busy_s or 0), rel=0.01)
    old = tcp_state(capture("4.4-format"), [(41234, 5201)])
    assert old is not None
    assert (old.busy_s, old.rwnd_limited_s, old.sndbuf_limited_s) == (None, None, None)


def test_send_buffers_of_all_streams_are_added_up_and_without_skmem_they_are_missing() -> None:
    full = tcp_state(capture("6.1-send-buffer-full"), [(37123, 5201), (44059, 5201)])
    assert full is not None
    assert full.send_buffer_bytes == 2 * 131072
    untold = tcp_state(capture("6.1-sndbuf-limited"), [(57528, 5299)])
    assert untold is not None
    assert untold.send_buffer_bytes is None


def test_a_stream_that_was_not_seen_gives_no_state() -> None:
    assert tcp_state(capture("6.1-two-streams"), [(57510, 5299), (1, 5299)]) is None
    assert tcp_state((), []) is None


def test_an_answer_that_is_cut_has_what_is_there() -> None:
    text = (CAPTURES / "6.1-rwnd-limited" / "output").read_text()
    for end in range(0, len(text), 7):
        assert len(parse(text[:end])) <= 2
    assert parse("no such thing\n") == ()


def test_ports_are_asked_for_in_one_question() -> None:
    assert command([5201, 5202])[-1] == (
        "( sport = :5201 or dport = :5201 or sport = :5202 or dport = :5202 )"
    )
