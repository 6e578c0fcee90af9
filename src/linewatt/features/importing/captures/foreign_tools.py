# SPDX-License-Identifier: Apache-2.0
"""Files of other tools by name, so that whoever imports one learns what it is and what to write. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.features.importing.captures.folder import BEGINNING_BYTES
from linewatt.loads import LOADS


@dataclass(frozen=True, slots=True)
class Tool:
    """What a file is, by words that stand in it (``says``), and what to do instead."""

    name: str
    says: str
    instead: str = ""

    def wrote(self, beginning: str) -> bool:
        return re.search(self.says, beginning, re.MULTILINE) is not None


MEASURE = "measure with a tool that docs/import.md lists"
TEXT_TOOLS = (
    Tool(
        "text of iperf 2",
        r"^\[ *(?:ID|\d+)\] Interval(?: *\([^)\n]*\))? +Transfer +Bandwidth"
        r"|^(?:Client connecting to|Server listening on) .*(?:TCP|UDP)",
        MEASURE,
    ),
    Tool(
        "figures of netperf without their header",
        r"^ *-?\d{1,9} +-?\d{1,9} +-?\d{1,9} +\d{1,6}\.\d\d +\d{1,12}\.\d\d(?: |$)"
        r"|^ *\d{1,9} +\d{1,6} +\d{1,6}\.\d\d +\d{1,12} +\d{1,12} +\d{1,12}\.\d{1,2}(?: |$)"
        r"|^(?:[\d.]{1,20},){0,9}(?:10\^\d{1,2}bits|[KMG]?Bytes)/s(?:,|$)",
        "let netperf print it (-P 1), which says what the columns are",
    ),
    Tool("text of nuttcp", r"\d MB / +[\d.]+ sec = +[\d.]+ Mbps", MEASURE),
    Tool("text of ethtool", r"^(?:NIC statistics:|Settings for \S+:|Features for \S+:|driver: \S+$)"),
    Tool("text of vmstat", r"^procs -+memory|^ *r +b +swpd +free", "run mpstat -P ALL 1 beside"),
    Tool("text of iostat", r"^avg-cpu: +%user", "run mpstat -P ALL 1"),
    Tool("text of pidstat", r"^\S+(?: [AP]M)? +(?:UID +)?(?:TGID +)?PID +%usr", "run mpstat -P ALL 1 beside"),
    Tool(
        "text of sar about something else than CPUs",
        r"^\d\d:\d\d:\d\d(?: [AP]M)? +(?:IFACE|DEV|kbmemfree|proc/s|runq-sz|TTY|pgpgin/s)\b",
        "import what sar -u ALL -P ALL wrote",
    ),
    Tool("text of top", r"^top - \d\d:\d\d:\d\d up ", "run mpstat -P ALL 1"),
    Tool("text of perf stat", r"^ {0,9}Performance counter stats for "),
    Tool("text of turbostat without times", r"^(?:usec\t)?(?:Core\t)?(?:CPU\t)?Avg_MHz\t|^turbostat version"),
    Tool("text of wrk", r"^Running \d+\w+ test @ "),
    Tool("text of ping", r"^PING \S+ .*bytes of data|^--- \S+ ping statistics ---"),
    Tool("text of dstat or dool", r"^-+total-cpu-usage-+|\"(?:Dstat|dool) [\d.]+ CSV"),
    Tool("text of LNST", r"^(?:INFO|DEBUG) +- +.*lnst", ""),
    Tool("a page of HTML", r"(?i)\A\s*<(?:!doctype html|html)"),
    Tool("XML", r"\A\s*<\?xml"),
    Tool("a script", r"\A#!"),
)
JSON_TOOLS = (
    Tool("JSON of fio", r'"fio version"'),
    Tool("JSON of lscpu", r'"lscpu"\s*:'),
    Tool("JSON of ip or ss", r'"ifname"\s*:'),
    Tool(
        "JSON of k8s-netperf",
        r'"tputMetric"|"throughput_metric"|"latencyMetric"',
        "its values are means of runs that are not in it",
    ),
    Tool("a notebook", r'"nbformat"\s*:'),
)
MAGIC = {
    b"PERFILE2": "what perf record wrote",
    b"\x96\xd5": "what sadc wrote (run sadf -j FILE -- -u ALL -P ALL, and import that)",
    b"\xd4\xc3\xb2\xa1": "a capture of packets",
    b"\xa1\xb2\xc3\xd4": "a capture of packets",
    b"\x0a\x0d\x0d\x0a": "a capture of packets",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"PK\x03\x04": "a zip file, or a spreadsheet",
    b"BZh": "compressed by bzip2 (unpack it)",
    b"\xfd7zXZ": "compressed by xz (unpack it)",
    b"(\xb5/\xfd": "compressed by zstd (unpack it)",
    b"SQLite format 3": "a database of SQLite",
    b"PAR1": "a table of Parquet",
    b"\x7fELF": "a program",
    b"\x80\x04\x95": "a pickle of Python, which runs what it holds and is never opened (LNST's .lrc is one)",
}


def load_texts() -> Iterator[Tool]:
    """What loads write for people."""
    for load in LOADS.values():
        if load.text_pattern:
            instead = f"import what {load.by_hand} writes" if load.by_hand else "let a campaign run it"
            yield Tool(f"text of {load.name}", load.text_pattern, instead)


def name_of(text: str, magic: bytes) -> str | None:
    """What a file is that linewatt does not read, with what to do; ``None``: nobody knows.

    ``magic`` are its first bytes.
    """
    for begins, description in MAGIC.items():
        if magic.startswith(begins):
            return description
    beginning = text[:BEGINNING_BYTES]
    of_json = JSON_TOOLS if beginning.lstrip()[:1] in ("{", "[") else ()
    of_text = () if beginning.lstrip()[:1] == "{" else (*load_texts(), *TEXT_TOOLS)
    tools = (*of_json, *of_text)  # "[" begins rows of text, too
    tool = next((tool for tool in tools if tool.wrote(beginning)), None)
    return None if tool is None else f"{tool.name}{f': {tool.instead}' if tool.instead else ''}"
