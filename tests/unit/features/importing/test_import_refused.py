# SPDX-License-Identifier: Apache-2.0
"""``linewatt import``: what is not read is named for what it is, all of a folder at once; and streams."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.conftest import Run
from tests.unit.features.importing.test_import_captures import ONE, document, imported, refusal

from linewatt.features.importing.captures.foreign_tools import (
    JSON_TOOLS,
    MAGIC,
    TEXT_TOOLS,
    load_texts,
    name_of,
)

EXAMPLES = {
    "text of iperf3": "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n",
    "text of sockperf": "sockperf: == version #3.10-0.git3ee62bd8b107 ==\n",
    "text of iperf 2": "Client connecting to 192.0.2.2, TCP port 5001\n[ ID] Interval  Transfer  Bandwidth\n",
    "figures of netperf without their header": "131072  16384  16384    10.00    9414.20   \n",
    "text of nuttcp": "11219.6 MB /  10.01 sec = 9403.3 Mbps 19 %TX 43 %RX 0 retrans 0.10 msRTT\n",
    "text of ethtool": "NIC statistics:\n     rx_packets: 12\n",
    "text of vmstat": "procs -----------memory---------- ---swap--\n r  b   swpd   free\n",
    "text of iostat": "Linux 6.1.0 (h) \t11/27/26\navg-cpu:  %user   %nice %system\n",
    "text of pidstat": "10:00:01      UID       PID    %usr %system\n",
    "text of sar about something else than CPUs": "10:00:01        IFACE   rxpck/s   txpck/s\n",
    "text of top": "top - 10:00:00 up 1 day,  2:00,  1 user\n",
    "text of perf stat": "\n Performance counter stats for 'system wide':\n",
    "text of turbostat without times": "turbostat version 2023.11.07 - Len Brown\n",
    "text of wrk": "Running 10s test @ http://192.0.2.2/\n",
    "text of ping": "PING 192.0.2.2 (192.0.2.2) 56(84) bytes of data.\n",
    "text of dstat or dool": "----total-cpu-usage---- -dsk/total-\n",
    "text of LNST": "INFO - lnst.Controller started\n",
    "a page of HTML": "<!DOCTYPE html>\n<html>",
    "XML": "<?xml version='1.0'?>\n<nepta/>",
    "a script": "#!/bin/sh\niperf3 -c dut\n",
    "JSON of fio": '{"fio version": "fio-3.33"}',
    "JSON of lscpu": '{"lscpu": []}',
    "JSON of ip or ss": '[{"ifindex": 1, "ifname": "lo"}]',
    "JSON of k8s-netperf": '{"profile": "TCP_STREAM", "tputMetric": "Mb/s"}',
    "a notebook": '{"cells": [], "nbformat": 4}',
}


def test_every_tool_has_an_example() -> None:
    assert list(EXAMPLES) == [one.name for one in (*load_texts(), *TEXT_TOOLS, *JSON_TOOLS)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_of_another_tool_is_refused_by_name_in_one_line(name: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "file"
    file.write_text(EXAMPLES[name])
    code, out, said = run("import", str(file))
    assert (code, out) == (2, "")
    assert said.startswith(f"linewatt: file: is {name}")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("magic", MAGIC, ids=repr)
def test_a_file_that_is_no_text_is_named(magic: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(magic + bytes(range(256)))
    assert refusal(tmp_path).startswith(f"file: is {MAGIC[magic]}; --skip")


def test_a_picture_alone_is_no_table(tmp_path: Path, run: Run) -> None:
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    assert run("import", str(tmp_path / "chart.png")) == (
        2,
        "",
        "linewatt: chart.png: is a picture\n",
    )


NO_TEST = "iperf3: error - unable to connect to server: Connection refused\n"
FLENT = {"metadata": {"SERIES_META": {}}, "results": {}, "x_values": [], "raw_values": {}, "version": 4}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("chart.png", b"\x89PNG\r\n\x1a\n" + bytes(64), "is a picture"),
        ("a.txt", NO_TEST.encode(), "text of iperf3 in which no test began (unable to connect to server"),
        ("a.flent", json.dumps(FLENT).encode(), "holds no stream of netperf"),
        ("a.gz", b"\x1f\x8b\x08\x00" + bytes(8), "damaged: its gzip data end too early"),
        ("--skip.txt", b"a note; --skip leaves it out\n", "is text that import does not know"),
    ],
    ids=["picture", "no test", "no stream", "cut off", "words of a message"],
)
def test_only_of_a_folder_a_file_can_be_left_out(
    name: str, content: bytes, what: str, tmp_path: Path, run: Run
) -> None:
    (tmp_path / name).write_bytes(content)
    code, out, of_file = run("import", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert f"{name}: {what}" in of_file
    assert "--skip" not in of_file.replace(name, "")
    assert len(of_file.splitlines()) == 1
    code, out, of_folder = run("import", str(tmp_path))
    assert (code, out) == (2, "")
    assert of_folder.endswith("; --skip leaves it out\n")
    assert of_folder.removesuffix("; --skip leaves it out\n") == of_file.rstrip("\n")


def test_advice_for_a_file_stands_beside_leaving_it_out(tmp_path: Path, run: Run) -> None:
    (tmp_path / "client.json").symlink_to(ONE)
    code, out, message = run("import", str(tmp_path))
    assert (code, out) == (2, "")
    assert message.endswith("is a symbolic link, and none is followed; copy the file, or --skip it\n")


def test_a_file_that_holds_a_test_twice_cannot_be_left_out(tmp_path: Path, run: Run) -> None:
    first, again = document(ONE), document(ONE)
    again["start"]["timestamp"]["timesecs"] += 100
    path = tmp_path / "a.json"
    path.write_text(f"{json.dumps(first)}\n{json.dumps(again)}\n")
    assert run("import", str(path)) == (2, "", "linewatt: a.json: the same test as in a.json\n")
    assert run("import", str(tmp_path))[2].endswith("the same test as in a.json; --skip one of them\n")


@pytest.mark.parametrize(
    "text", ["a", "a,b c,", "word ", "[ ", " ", "12:00:00 ", "{", "x |", "1 MB / ", "TCP T", "\n"]
)
def test_no_text_keeps_whoever_names_it_busy(text: str) -> None:
    began_s = time.process_time()
    name_of(text * (16384 // len(text)), b"")
    assert time.process_time() - began_s < 5, "patterns look at each character a few times"


def test_all_files_of_a_folder_that_are_not_read_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen" / "a.txt").write_text(EXAMPLES["text of iperf 2"])
    (tmp_path / "gen" / "b.txt").write_text(EXAMPLES["text of nuttcp"])
    (tmp_path / "gen" / "client.json").write_text(ONE.read_text())
    (tmp_path / "notes.md").write_text("# what I did\n")
    said = refusal(tmp_path)
    assert said.startswith(
        "3 files are not read: gen/a.txt: is text of iperf 2: measure with a tool that docs/import.md lists"
    )
    assert "; gen/b.txt: is text of nuttcp" in said
    assert "; notes.md: is text that import does not know; it reads iperf3 --json or text;" in said
    assert said.endswith("; --skip leaves files out")


def stream(test: dict[str, Any]) -> list[str]:
    """What ``--json-stream`` writes of a test."""
    intervals = [("interval", one) for one in test["intervals"]]
    events = [("start", test["start"]), *intervals, ("end", test["end"])]
    events += [(name, test[name]) for name in ("error", "server_output_json") if name in test]
    return [json.dumps({"event": name, "data": data}) for name, data in events]


def test_a_stream_of_iperf3_is_the_same_as_its_json(tmp_path: Path) -> None:
    (tmp_path / "gen.json").write_text("\n".join(stream(document(ONE))) + "\n")
    (one,) = imported(tmp_path / "gen.json").trials
    (whole,) = imported(ONE).trials
    assert one.trial.throughput_bps == whole.trial.throughput_bps
    assert one.trial.case == whole.trial.case


def test_a_test_whose_stream_was_cut_off_has_failed_and_one_without_a_start_is_refused(
    tmp_path: Path,
) -> None:
    lines = stream(document(ONE))
    (tmp_path / "a.json").write_text("\n".join(lines[:3]) + "\n")
    (one,) = imported(tmp_path / "a.json").trials
    assert (one.trial.status, one.trial.reason) == ("failed", "iperf3: its stream ends before the test does")
    (tmp_path / "a.json").write_text("\n".join(lines[1:]) + "\n")
    assert "begins with 'interval', and not with the start of a test" in refusal(tmp_path / "a.json")


def test_a_test_that_is_written_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "twice.json").write_text(2 * f"{ONE.read_text()}\n")
    assert len(imported(tmp_path / "twice.json").trials) == 1


def test_of_a_client_that_was_killed_before_its_test_that_is_said(tmp_path: Path) -> None:
    killed = {"start": {"connected": [], "version": "iperf 3.9", "system_info": "Linux gen 6.1"}}
    (tmp_path / "a.json").write_text(json.dumps({**killed, "intervals": [], "end": {}}))
    assert refusal(tmp_path) == "a.json: iperf3 was ended before its test began; --skip leaves it out"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"hello world, this is a note\n", "is text that import does not know; it reads iperf3 --json"),
        (b"first\nsecond\n", "is text that import does not know; it reads iperf3 --json"),
        (b"a, b\nnot a row of it\n", "is text that import does not know; it reads iperf3 --json"),
        (bytes(range(256)) * 8, "is binary data that import does not know; it reads iperf3 --json"),
        (b"\xe9\xe8\xff\n" * 90, "is binary data that import does not know; it reads iperf3 --json"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b'{"a": 1}', "is JSON that import does not know; it reads iperf3 --json"),
        (b"[1, 2]", "is JSON that import does not know; it reads iperf3 --json"),
        (b'{"a": ', "its JSON is cut off or damaged"),
        (b"<html><body>", "is a page of HTML"),
        (b"a;b\n1;2\n", "its columns are those of no kind of table"),
        (b"a,b\n1,2\n", "its columns are those of no kind of table"),
        (b"instances,throughput_mbps\n", "the file has a header but no rows"),
    ],
)
def test_a_file_that_nobody_knows_is_answered_in_one_line(
    data: bytes, says: str, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "file").write_bytes(data)
    code, out, said = run("import", str(tmp_path / "file"))
    assert (code, out, len(said.splitlines())) == (2, "", 1)
    assert f"file: {says}" in said
