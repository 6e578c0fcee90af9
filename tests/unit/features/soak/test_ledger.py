# SPDX-License-Identifier: Apache-2.0
"""The ledger: it balances to the byte, or says by how much it does not, and never where a side is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from linewatt.features.soak import balance as bounds
from linewatt.features.soak.balance import Balance, balance
from linewatt.features.soak.ledger import CLIENTS, SERVER, SERVER_NICS, Ends, Ledger, Total, ledger

GB = 10**9
ENDS = Ends(("c1", "c2"), "dut")
DURATION_S = 120.0


def totals(changes: Mapping[tuple[str, str], float | None] | None = None) -> list[Total]:
    """Two clients that each got 1 GB and put 0.5 GB, with everything in order; ``None`` leaves one out."""
    wire = {"get": GB + 66 * (GB // 1448), "put": GB // 2 + 66 * (GB // 2 // 1448)}
    acks = 66 * (GB // 1448) // 2
    values: dict[tuple[str, str], float | None] = {}
    for name in ENDS.clients:
        own = {
            "users.received_bytes": GB,
            "users.done_received_bytes": GB,
            "users.sent_bytes": GB // 2,
            "users.done_sent_bytes": GB // 2,
            "users.gets": 100,
            "users.puts": 50,
            "users.logins": 4,
            "users.checked": 2,
            "users.unfinished": 0,
            "nic.rx_bytes": wire["get"] + acks // 2,
            "nic.tx_bytes": wire["put"] + acks,
            "nic.rx_packets": GB // 1448,
            "nic.tx_packets": GB // 1448,
        }
        values |= {(name, key): float(value) for key, value in own.items()}
    served = {
        "server.sent_bytes": 2 * GB,
        "server.received_bytes": GB,
        "server.incomplete_sent_bytes": 0,
        "server.incomplete_received_bytes": 0,
        "server.gets": 200,
        "server.puts": 100,
        "server.incomplete_gets": 0,
        "server.incomplete_puts": 0,
        "server.logins": 8,
        "server.logins_refused": 0,
        "server.starts": 1,
        "nic.tx_bytes": 2 * wire["get"] + acks,
        "nic.rx_bytes": 2 * wire["put"] + 2 * acks,
        "nic.tx_packets": 2 * (GB // 1448),
        "nic.rx_packets": 2 * (GB // 1448),
    }
    values |= {("dut", key): float(value) for key, value in served.items()}
    for host in (*ENDS.clients, "dut"):
        values |= {
            (host, key): 0.0
            for key in (
                "nstat.TcpRetransSegs",
                "nstat.TcpExtTCPDSACKRecv",
                "nic.rx_missed_errors",
                "softnet.dropped",
            )
        }
    values |= changes or {}
    return [
        Total(host, _source(name), name, value) for (host, name), value in values.items() if value is not None
    ]


def _source(channel: str) -> str:
    group = channel.partition(".")[0]
    return group if group in ("users", "server") else "netcounters"


def checked(changes: Mapping[tuple[str, str], float | None] | None = None) -> tuple[Ledger, Balance]:
    book = ledger(totals(changes), ENDS)
    return book, balance(book, DURATION_S)


def test_a_ledger_in_which_all_agree_balances() -> None:
    book, found = checked()
    assert (found.verdict, found.words, found.unexplained) == ("balanced", "balances", 0)
    assert [check.verdict for check in found.checks] == ["balanced"] * 8
    assert book.value("get_done_bytes", CLIENTS).value == book.value("get_done_bytes", SERVER).value == 2 * GB
    assert book.value("gets_done", SERVER).value == 200


def test_one_byte_too_many_is_off_by_one_byte() -> None:
    _, found = checked({("dut", "server.sent_bytes"): 2 * GB + 1})
    assert found.verdict == "off"
    assert "the server counted 1 B more as done: off by 1 B" in found.words
    _, found = checked({("dut", "server.received_bytes"): GB - 1})
    assert "the clients counted 1 B more as done: off by 1 B" in found.words


def test_what_a_client_gave_up_and_the_server_completed_is_explained_by_its_failed_transfers() -> None:
    cut = {
        ("c1", "users.received_bytes"): GB + 5.0,
        ("c1", "users.unfinished"): 1.0,
        ("dut", "server.sent_bytes"): 2 * GB + 5.0,
    }
    _, found = checked(cut)
    assert found.verdict == "explained"
    assert "the server counted 5 B more as done, in transfers that the clients hold for failed" in found.words
    _, found = checked(cut | {("c1", "users.unfinished"): 0.0})
    assert found.verdict == "off", "nothing failed that would explain it"
    _, found = checked(cut | {("dut", "server.sent_bytes"): 2 * GB + 6.0})
    assert found.verdict == "off", "clients saw no such bytes"


@pytest.mark.parametrize("host", ["c2", "dut"])
def test_a_missing_side_is_never_balanced(host: str) -> None:
    gone = {key: None for key in ((one.host, one.channel) for one in totals()) if key[0] == host}
    book, found = checked(gone)
    assert found.verdict is None
    assert found.words.startswith("cannot be told: received bytes: ")
    assert book.value("get_done_bytes", CLIENTS if host == "c2" else SERVER).reason


def test_an_existing_server_without_a_log_leaves_the_balance_open_with_a_reason() -> None:
    own = [one for one in totals() if one.source != "server"]
    silent = Total("dut", "server", "server.sent_bytes", None, 0, "an existing server's own log is not read")
    found = balance(ledger([*own, silent], ENDS), DURATION_S)
    assert found.verdict is None
    assert "an existing server's own log is not read" in found.words
    assert [check.verdict for check in found.checks if check.key.endswith("nics")] == ["balanced"] * 4


def test_nics_that_saw_less_than_the_payload_are_off() -> None:
    _, found = checked({("dut", "nic.tx_bytes"): 2 * GB - 1.0})
    assert "server's NICs, gets: 1 B less than the payload: off by 1 B" in found.words


def test_what_sockets_held_of_puts_that_were_cut_need_not_have_passed_a_nic() -> None:
    """A client counts what its socket took; where the server is killed the rest of that never leaves."""
    held, payload = 172_750, GB + 172_750
    cut = {("c1", "users.sent_bytes"): GB / 2 + held, ("c1", "users.failed.put.lost"): 1.0}
    nics = {
        ("dut", "nic.rx_bytes"): float(GB),
        ("c1", "nic.tx_bytes"): GB / 2,
        ("c2", "nic.tx_bytes"): GB / 2,
    }
    book, found = checked(cut | nics)
    assert book.value("put_bytes", CLIENTS).value == payload
    assert found.verdict == "balanced", found.words
    assert "sockets of puts that were cut may have held up to 172,750 B" in str(found.checks)
    _, found = checked(cut | nics | {("dut", "nic.rx_bytes"): GB - 1.0})
    assert "server's NICs, puts: 172,751 B less than the payload: off by 1 B" in found.words
    _, found = checked(nics | {("c1", "users.sent_bytes"): GB / 2 + held})
    assert found.verdict == "off", "nothing was cut that would explain it"


def test_a_super_packet_whose_header_counts_once_is_within_the_bounds() -> None:
    _, found = checked({("dut", "nic.tx_bytes"): 2 * GB + 1.0})
    assert found.verdict == "balanced"


def test_other_traffic_on_the_interface_is_off_by_what_no_protocol_needs() -> None:
    payload, back = 2 * GB, GB
    headers = (payload + back) / bounds.SEGMENT_BYTES * bounds.HEADER_BYTES
    most = payload + headers + (200 + 100 + 8) * bounds.CONTROL_BYTES + DURATION_S * bounds.BACKGROUND_BPS / 8
    _, found = checked({("dut", "nic.tx_bytes"): most - 1})
    assert found.verdict == "balanced"
    _, found = checked({("dut", "nic.tx_bytes"): most + 1000})
    assert found.verdict == "off"
    assert "1,000 B above what protocols need" in found.words


def test_every_interface_of_the_server_counts_once_and_what_is_the_hosts_not_twice() -> None:
    second = [
        Total("dut", "netcounters:eth2", one.channel, one.value)
        for one in totals({("dut", "nstat.TcpRetransSegs"): 7.0})
        if one.host == "dut" and one.source == "netcounters"
    ]
    book = ledger([*totals({("dut", "nstat.TcpRetransSegs"): 7.0}), *second], ENDS)
    single, _ = checked()
    assert book.value("retransmits", SERVER).value == 7
    alone = single.value("get_bytes", SERVER_NICS).value
    assert alone is not None
    assert book.value("get_bytes", SERVER_NICS).value == 2 * alone


def test_segments_sent_again_that_no_counter_owns_up_to_are_unexplained_drops() -> None:
    again = {("dut", "nstat.TcpRetransSegs"): 40.0, ("dut", "nic.tx_packets"): None}
    _, found = checked(again)
    assert (found.unexplained, found.verdict) == (40, "balanced")
    _, found = checked(
        {**again, ("c1", "nstat.TcpExtTCPDSACKRecv"): 10.0, ("c2", "nic.rx_missed_errors"): 25.0}
    )
    assert found.unexplained == 5
    assert (
        "40 segments retransmitted, 10 of them needlessly, 25 drops counted at the ends"
        in found.unexplained_words
    )
    _, found = checked({**again, ("c2", "softnet.dropped"): 55.0})
    assert found.unexplained == 0


def test_what_was_sent_again_although_every_packet_arrived_is_no_drop() -> None:
    again = {("dut", "nstat.TcpRetransSegs"): 400.0}
    _, found = checked(again)
    assert found.unexplained == 0
    assert "no packet is missing between the NICs of both ends" in found.unexplained_words
    sent = 2 * (GB // 1448)
    _, found = checked({**again, ("dut", "nic.tx_packets"): sent + 300.0})
    assert (found.unexplained, found.verdict) == (300, "balanced")
    _, found = checked({**again, ("dut", "nic.tx_packets"): sent + 300.0, ("dut", "softnet.dropped"): 350.0})
    assert found.unexplained == 50


def test_a_client_that_was_lost_explains_what_only_the_server_knows() -> None:
    book = ledger(totals({("dut", "server.sent_bytes"): 2 * GB + 7.0}), ENDS)
    assert balance(book, DURATION_S).verdict == "off"
    found = balance(book, DURATION_S, ["c2"])
    assert found.verdict == "explained"
    assert "7 B more as done, as c2 could not report the last of what it did" in found.words
    short = ledger(totals({("dut", "server.sent_bytes"): 2 * GB - 7.0}), ENDS)
    assert balance(short, DURATION_S, ["c2"]).verdict == "off", "a lost client counts nothing twice"


def test_packets_that_did_not_arrive_are_told_beyond_what_readings_apart_explain() -> None:
    sent = 2 * (GB // 1448)
    _, found = checked({("dut", "nic.tx_packets"): sent + 900.0})
    assert found.verdict == "balanced"
    _, found = checked({("dut", "nic.tx_packets"): sent + 5000.0})
    assert "5,000 did not arrive" in found.words
    assert found.unexplained == 5000
    _, found = checked({("dut", "nic.tx_packets"): sent + 5000.0, ("c1", "nic.rx_missed_errors"): 4900.0})
    assert found.verdict == "balanced", "the client's NIC says where they are"


def test_each_failure_has_its_own_line_and_refused_logins_theirs() -> None:
    book, _ = checked(
        {
            ("c1", "users.failed.get.file-short"): 2.0,
            ("c2", "users.failed.get.stalled"): 1.0,
            ("c1", "users.failed.login.server-full"): 3.0,
            ("dut", "server.logins_refused"): 3.0,
        }
    )
    assert book.value("failed_get_file_short", CLIENTS).value == 2
    assert book.value("failed_get_stalled", CLIENTS).value == 1
    assert book.value("gets_failed", CLIENTS).value == 3
    assert book.value("logins_failed", CLIENTS).value == book.value("logins_failed", SERVER).value == 3


def test_a_counter_that_nobody_read_is_missing_and_not_zero() -> None:
    book, _ = checked()
    assert "udp_receive_buffer" not in book.by_key
    assert book.value("udp_receive_buffer", CLIENTS).value is None
    only = [one for one in totals() if not one.channel.startswith(("nstat.", "softnet.", "nic.rx_missed"))]
    bare = ledger(only, ENDS)
    assert bare.dropped is None
    assert balance(bare, DURATION_S).unexplained is None


def test_a_reset_counter_makes_its_sum_a_least_value() -> None:
    rows = [replace(one, resets=1) if one.channel == "server.gets" else one for one in totals()]
    assert ledger(rows, ENDS).value("gets_done", SERVER).resets == 1


def test_iperf3_beside_the_users_is_payload_of_the_nics_too() -> None:
    more = 4 * GB
    rows = [
        Total("dut", "iperf3", "load.received_bytes", float(more)),
        Total("c1", "iperf3", "load.sent_bytes", float(more)),
    ]
    changed = totals(
        {("dut", "nic.rx_bytes"): GB * 1.05 + more * 1.05, ("c1", "nic.tx_bytes"): GB * 0.53 + more * 1.05}
    )
    assert balance(ledger([*changed, *rows], ENDS), DURATION_S).verdict == "balanced"
    found = balance(ledger(changed, ENDS), DURATION_S)
    assert found.verdict == "off", "without it the NICs have too much"


@pytest.mark.parametrize("unread", [("nic.rx_missed_errors",), ("nic.rx_missed_errors", "softnet.dropped")])
def test_drops_of_one_client_are_told_though_another_was_not_read(unread: tuple[str, ...]) -> None:
    lacking = {("c2", name): None for name in unread}
    book = ledger(totals({("c1", "nic.rx_missed_errors"): 5000.0, **lacking}), ENDS)
    assert book.dropped == 5000
    assert book.dropped_lacks == "c2: no reading of nic.rx_missed_errors"
    assert book.value("nic_rx_missed", CLIENTS).value is None


def test_an_end_whose_drops_nobody_counts_leaves_the_least_of_the_other() -> None:
    lacking = {
        (name, key): None for name in ENDS.clients for key in ("nic.rx_missed_errors", "softnet.dropped")
    }
    book = ledger(totals({("dut", "softnet.dropped"): 7.0, **lacking}), ENDS)
    assert (book.dropped, book.dropped_lacks) == (7, "no reading of nic.rx_missed_errors")


def test_a_cause_that_no_host_of_an_end_counts_lacks_nothing() -> None:
    lacking = {(name, "softnet.dropped"): None for name in ENDS.clients}
    book = ledger(totals({("dut", "softnet.dropped"): 7.0, **lacking}), ENDS)
    assert (book.dropped, book.dropped_lacks) == (7, None)


def test_what_is_left_over_of_drops_that_are_not_all_counted_is_not_unexplained() -> None:
    changes = {("dut", "nstat.TcpRetransSegs"): 600.0, ("c2", "nic.rx_missed_errors"): None}
    found = balance(ledger(totals({**changes, ("dut", "nic.tx_packets"): None}), ENDS), DURATION_S)
    assert found.unexplained is None
    assert found.unexplained_words == "drops are not all counted: c2: no reading of nic.rx_missed_errors"
