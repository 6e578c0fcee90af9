# SPDX-License-Identifier: Apache-2.0
"""netcounters: the script over trees of kernel files (tests/captures/netcounters), and the parser."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.stream_helpers import (
    END_LIMIT_S,
    START_US,
    cost_to_read,
    needs_bash,
    next_other,
    records,
    replace,
    stamps_us,
    status_when_told,
    streaming,
)

from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.sensors.netcounters import (
    NSTAT_NAMES,
    Netcounters,
    NetcountersConfig,
    command,
    netcounters_time_s,
)

CAPTURES = Path(__file__).parents[2] / "captures" / "netcounters"
CASES = sorted(path.name for path in CAPTURES.iterdir())
SENSOR = Netcounters()
SOFTNET = ("processed", "dropped", "time_squeeze", "received_rps", "flow_limit")


def one_record(root: Path, device: str = "eth0") -> str:
    return records(command(device, 60, str(root)), 1)[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(CAPTURES / "6.18" / "root", tmp_path / "root")
    return tmp_path / "root"


@needs_bash
@pytest.mark.parametrize("case", CASES)
def test_each_tree_gives_what_nstat_and_the_files_say(case: str) -> None:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    values = SENSOR.parse(one_record(CAPTURES / case / "root"))
    kept = {name: value for name, value in expected["nstat"].items() if name in NSTAT_NAMES}
    wanted = {f"nstat.{name}": value for name, value in kept.items()}
    wanted |= {f"nic.{name}": value for name, value in expected["nic"].items()}
    for column in SOFTNET:
        for cpu, row in expected["softnet"].items():
            wanted[f"softnet.{cpu}.{column}"] = row[column]
        wanted[f"softnet.{column}"] = sum(row[column] for row in expected["softnet"].values()) % 2**32
    assert expected["origin"]
    assert values == wanted


@needs_bash
def test_bytes_and_packets_of_a_frames_size_are_read_one_after_the_other() -> None:
    record = one_record(CAPTURES / "6.18" / "root")
    read = [word.partition("=")[0] for word in record.partition("|nic ")[2].partition("|")[0].split()]
    assert read[:4] == ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"]
    assert len(read) == len(set(read)) > 20


def interface_row(tree: Path, device: str = "eth0", **changed: int) -> str:
    """The row of a device in /proc/net/dev, made of its files as the kernel does (dev_seq_printf_stats)."""
    statistics = tree / "sys/class/net" / device / "statistics"
    counts = {file.name: int(file.read_text()) for file in statistics.iterdir()} | changed
    columns = (
        "rx_bytes rx_packets rx_errors rx_dropped+rx_missed_errors rx_fifo_errors "
        "rx_length_errors+rx_over_errors+rx_crc_errors+rx_frame_errors rx_compressed multicast "
        "tx_bytes tx_packets tx_errors tx_dropped tx_fifo_errors collisions "
        "tx_carrier_errors+tx_aborted_errors+tx_window_errors+tx_heartbeat_errors tx_compressed"
    )
    sums = [sum(counts[name] for name in column.split("+")) for column in columns.split()]
    return f"{device:>6}: {' '.join(map(str, sums))}"


def write_rows(tree: Path, *rows: str) -> None:
    """Replace /proc/net/dev: its heads, a device of others, and these rows."""
    other = "  eth01: " + " ".join("9" * 16)
    replace(tree / "proc/net/dev", "\n".join(["Inter-| Receive", " face |bytes", other, *rows]) + "\n")


@needs_bash
@pytest.mark.parametrize("gap", [" ", ""], ids=["", "old kernel"])
def test_a_row_of_all_devices_says_the_same_as_the_files_of_one(tree: Path, gap: str) -> None:
    of_files = SENSOR.parse(one_record(tree))
    write_rows(tree, interface_row(tree, rx_bytes=7_000_000_000_123).replace(": ", f":{gap}"))
    assert SENSOR.parse(one_record(tree)) == of_files | {"nic.rx_bytes": 7_000_000_000_123}


@needs_bash
def test_files_of_errors_are_read_when_their_columns_changed(tree: Path) -> None:
    statistics = tree / "sys/class/net/eth0/statistics"
    write_rows(tree, interface_row(tree))
    with streaming(command("eth0", 0.1, str(tree))) as lines:
        first = next(lines)
        replace(statistics / "rx_missed_errors", "31\n")
        replace(statistics / "rx_nohandler", "32\n")  # in no column: read each time
        second = next_other(lines, first, lambda line: SENSOR.parse(line)["nic.rx_nohandler"])
        write_rows(tree, interface_row(tree))
        third = next_other(lines, second, lambda line: SENSOR.parse(line)["nic.rx_missed_errors"])
    assert SENSOR.parse(second) == SENSOR.parse(first) | {"nic.rx_nohandler": 32}
    assert SENSOR.parse(third) == SENSOR.parse(second) | {"nic.rx_missed_errors": 31}


@needs_bash
def test_a_device_without_a_row_is_read_by_its_files(tree: Path) -> None:
    of_files = one_record(tree)
    write_rows(tree, interface_row(tree, rx_packets=78))
    with streaming(command("eth0", 0.1, str(tree))) as lines:
        first = next(lines)
        write_rows(tree)
        second = next_other(lines, first, lambda line: SENSOR.parse(line)["nic.rx_packets"])
    assert SENSOR.parse(first)["nic.rx_packets"] == 78
    assert SENSOR.parse(second) == SENSOR.parse(of_files)


@needs_bash
def test_each_of_two_ports_has_its_own_row(tree: Path) -> None:
    shutil.copytree(tree / "sys/class/net/eth0", tree / "sys/class/net/eth1")
    write_rows(tree, interface_row(tree, tx_bytes=5), interface_row(tree, "eth1", tx_bytes=6, tx_errors=7))
    replace(tree / "sys/class/net/eth1/statistics/tx_errors", "7\n")
    values = SENSOR.parse(one_record(tree, "eth0 eth1"))
    assert (values["nic.eth0.tx_bytes"], values["nic.eth1.tx_bytes"], values["nic.tx_bytes"]) == (5, 6, 11)
    assert (values["nic.eth0.tx_errors"], values["nic.eth1.tx_errors"]) == (0, 7)


@needs_bash
def test_the_cpu_number_of_a_row_is_the_kernels_own_where_it_says(tree: Path) -> None:
    row = "0000000{} 00000001 00000000 0 0 0 0 0 0 00000000 00000000 00000000 {:08x} 00000000 00000000\n"
    (tree / "proc/net/softnet_stat").write_text(row.format(1, 0) + row.format(3, 130))
    values = SENSOR.parse(one_record(tree))
    assert values["softnet.cpu0.processed"] == 1
    assert values["softnet.cpu130.processed"] == 3
    assert values["softnet.dropped"] == 2


@needs_bash
@pytest.mark.parametrize("columns", [9, 10, 11, 13, 15])
def test_kernels_with_fewer_columns_have_fewer_channels_but_no_wrong_ones(tree: Path, columns: int) -> None:
    words = [f"{number + 1:08x}" for number in range(columns)]
    (tree / "proc/net/softnet_stat").write_text(" ".join(words) + "\n")
    values = SENSOR.parse(one_record(tree))
    assert values["softnet.time_squeeze"] == 3
    assert values.get("softnet.received_rps") == (10 if columns >= 10 else None)
    assert values.get("softnet.flow_limit") == (11 if columns >= 11 else None)


@needs_bash
def test_a_host_of_256_cpus_is_one_line_too(tree: Path) -> None:
    row = "00000002 00000001 0 0 0 0 0 0 0 0 0 0 {:08x} 0 0\n"
    (tree / "proc/net/softnet_stat").write_text("".join(row.format(cpu) for cpu in range(256)))
    values = SENSOR.parse(one_record(tree))
    assert values["softnet.processed"] == 512
    assert values["softnet.cpu255.dropped"] == 1


@needs_bash
@pytest.mark.parametrize(
    ("gone", "group"),
    [("sys/class/net/eth0", "nic"), ("proc/net/softnet_stat", "softnet"), ("proc/net", "nstat")],
)
def test_a_missing_file_leaves_its_channels_out_and_says_so(tree: Path, gone: str, group: str) -> None:
    path = tree / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    record = one_record(tree)
    assert not [name for name in SENSOR.parse(record) if name.startswith(f"{group}.")]
    assert group in SENSOR.reasons(record)


@needs_bash
def test_whole_trees_give_no_reasons() -> None:
    assert SENSOR.reasons(one_record(CAPTURES / "6.18" / "root")) == {}


@needs_bash
def test_new_rows_while_it_runs_do_not_shift_names(tree: Path) -> None:
    with streaming(command("eth0", 0.1, str(tree))) as lines:
        before = next(lines)
        for name in ("snmp", "netstat"):
            path = tree / "proc/net" / name
            head, *rest = path.read_text().splitlines()
            rows = [f"{head.split()[0]} Sctp", f"{head.split()[0]} 5", head, *rest]
            replace(path, "\n".join(rows) + "\n")
        six = tree / "proc/net/snmp6"
        replace(six, "Ip6Brand\t5\n" + six.read_text())
        replace(tree / "sys/class/net/eth0/statistics/rx_bytes", "77\n")  # the last, and read first
        after = next_other(lines, before, lambda line: SENSOR.parse(line)["nic.rx_bytes"])
    assert SENSOR.parse(after) == SENSOR.parse(before) | {"nic.rx_bytes": 77}


@needs_bash
@pytest.mark.parametrize("own_clock", [True, False], ids=["bash 5", "bash 4.4"])
def test_readings_come_on_time_and_do_not_drift(tree: Path, own_clock: bool) -> None:
    late_us = [0, 30_000, 0, 150_000, 0]
    (first_us, _), *rest = stamps_us(command("eth0", 0.2, str(tree)), late_us, own_clock=own_clock)
    assert first_us == START_US
    assert [begin - first_us for begin, _ in rest] == [200_000, 430_000, 600_000, 950_000, 1_000_000]


@needs_bash
def test_after_a_whole_interval_lost_readings_start_over(tree: Path) -> None:
    stamps = stamps_us(command("eth0", 0.2, str(tree)), [0, 250_000, 0, 0], own_clock=True)
    begun, ended = zip(*stamps, strict=True)
    assert begun[2] == START_US + 650_000
    assert [begun[3], begun[4]] == [ended[2] + 200_000, ended[2] + 400_000]


@needs_bash
@pytest.mark.parametrize("bash", ["", "unset EPOCHREALTIME\n"], ids=["bash 5", "bash 4.4"])
def test_waits_are_real_and_stamps_are_of_the_hosts_clock(bash: str) -> None:
    argv = command("lo", 0.2)
    argv[2] = bash + argv[2]
    from_s, watch_s = time.time(), time.monotonic()
    times_s = [netcounters_time_s(line) for line in records(argv, 3)]
    assert time.monotonic() - watch_s > 0.399
    assert from_s < times_s[0] < times_s[1] < times_s[2] < time.time()


@needs_bash
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_and_leaves_no_child(sent: signal.Signals) -> None:
    argv = command("lo", 60)
    assert status_when_told(argv, sent) != 0


@needs_bash
def test_it_ends_when_nobody_reads_it() -> None:
    with subprocess.Popen(command("lo", 0.1), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(END_LIMIT_S) != 0


@needs_bash
def test_a_reading_costs_little_more_than_to_read_the_files(tree: Path) -> None:
    tables = [tree / "proc/net" / name for name in ("softnet_stat", "snmp", "netstat", "snmp6")]
    files = [*(tree / "sys/class/net/eth0/statistics").iterdir(), *tables]
    assert cost_to_read(command("eth0", 0.02, str(tree)), 0.02, files) < 5


@needs_bash
def test_nothing_from_a_campaign_is_run_by_the_shell(tree: Path, tmp_path: Path) -> None:
    device = f"$(touch {tmp_path}/bad);`touch {tmp_path}/bad`"
    one_record(tree, device)
    assert not (tmp_path / "bad").exists()


def test_the_device_and_the_interval_are_arguments_of_a_constant_script() -> None:
    host = HostSpec(name="dut", address="local", data="eth7")
    argv = SENSOR.command(NetcountersConfig(interval_s=0.5), host)
    assert argv[:2] == ["bash", "-c"]
    assert argv[4:7] == ["", "eth7", "500000"]
    assert "eth7" not in argv[2]
    with pytest.raises(ValidationError):
        NetcountersConfig(interval_s=0)


RECORD = (
    "linewatt-netcounters 1 1000000|nic rx_bytes=5 rx_dropped=|softnet 0a 1 2 3 4 5;|nstat TcpInSegs=7|end 1"
)


def test_a_counter_that_could_not_be_read_is_none() -> None:
    assert SENSOR.parse(RECORD) == {
        "nic.rx_bytes": 5,
        "nic.rx_dropped": None,
        "softnet.processed": 10,
        "softnet.dropped": 1,
        "softnet.time_squeeze": 2,
        "softnet.received_rps": 3,
        "softnet.flow_limit": 4,
        "softnet.cpu5.processed": 10,
        "softnet.cpu5.dropped": 1,
        "softnet.cpu5.time_squeeze": 2,
        "softnet.cpu5.received_rps": 3,
        "softnet.cpu5.flow_limit": 4,
        "nstat.TcpInSegs": 7,
    }


@given(st.integers(1, len(RECORD)))
def test_a_cut_record_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(RECORD[: len(RECORD) - max(cut, 2)])


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(text)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_the_sum_over_cpus_wraps_like_each_of_them(totals: list[int]) -> None:
    rows = "".join(f"{total:08x} 0 0 0 0 {cpu:x};" for cpu, total in enumerate(totals))
    values = SENSOR.parse(f"linewatt-netcounters 1 1|softnet {rows}|end 1")
    assert values["softnet.processed"] == sum(totals) % 2**32


def test_channels_say_what_they_count_and_where_they_wrap() -> None:
    kinds = {
        name: SENSOR.channel(name)
        for name in ("nic.rx_bytes", "nic.rx_dropped", "softnet.cpu3.dropped", "softnet.dropped")
    }
    assert [(one.unit, one.scope, one.bits) for one in kinds.values()] == [
        ("B", "nic:data", 64),
        ("count", "nic:data", 64),
        ("count", "cpu:3", 32),
        ("count", "host", 32),
    ]
    assert SENSOR.channel("nstat.IpExtInOctets").unit == "B"
    assert {channel.kind for channel in kinds.values()} == {"counter"}
    for wrong in ("nic", "softnet.cpu1.cpu", "nstat.a b", "cpu0.idle_ratio"):
        with pytest.raises(ParseError, match="no channel"):
            SENSOR.channel(wrong)
