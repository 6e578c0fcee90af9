# SPDX-License-Identifier: Apache-2.0
"""TCP streams of netperf in a data file of flent (``.flent.gz``: gzipped JSON), and its CPU stats. Pure.

Each series of netperf is one process of it, an instance. What netperf says as it goes on (``raw_values``:
rate, seconds, and the end in Unix seconds of the client's clock) is what its client counted: of an upload
what was sent, of a download what arrived. What the other end counted stands in the series' metadata from
flent 2.1 on, once a test. CPU stats are 1 − idle − iowait by /proc/stat, in which stolen time is used time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from linewatt.engine.live import Record
from linewatt.errors import FileRefused, ParseError
from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.features.importing.captures.model import Found, Track
from linewatt.hosts.facts import OFFLOADS
from linewatt.loads import Asked, LoadEnd, LoadInterval, ToldEnd
from linewatt.missing import Missing
from linewatt.model import Channel
from linewatt.sensors import WHOLE_HOST

NAME = "flent"
LOAD = "netperf"
VERSION = 4
RUNNERS = ("NetperfDemoRunner",)
CPU_RUNNER = "CpuStatsRunner"
STAMP_S = 0.01
MBIT = 1e6
CONGESTION = "net.ipv4.tcp_congestion_control"
MOST_SERIES = 1000
MOST_RATE = 1e9
_TEST = re.compile(r" -t (\w+) ")
_CPU = re.compile(r"cpu\d+")
_HERE = ("localhost", "127.0.0.1", "::1")
_DIRECTIONS = {"TCP_STREAM": False, "TCP_MAERTS": True}
"""test of netperf → whether the client receives"""


@dataclass(frozen=True, slots=True)
class _Series:
    """One process of netperf: its place in the file, its words in the metadata, and its interim results."""

    number: int
    about: Mapping[str, Any]
    points: Sequence[Mapping[str, Any]]

    @property
    def is_reverse(self) -> bool:
        """Raises ParseError for a test that is not read."""
        match = _TEST.search(str(self.about.get("COMMAND", "")))
        if match is None or match[1] not in _DIRECTIONS:
            raise ParseError(
                f"holds netperf's {match[1] if match else 'unknown test'}; of flent, TCP streams are read"
            )
        return _DIRECTIONS[match[1]]


def find(file: CaptureFile, documents: tuple[Any, ...]) -> Found | None:
    """The streams of a file of flent; ``None``: it is none. Raises ParseError, FileRefused."""
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return None
    document = documents[0]
    if not {"metadata", "results", "x_values"} <= document.keys():
        return None
    if document.get("version") != VERSION or "raw_values" not in document:
        raise ParseError(f"is flent's data of version {document.get('version')!r}; version {VERSION} is read")
    about = document["metadata"]
    series = list(_series(about, document["raw_values"]))
    if not series:
        raise FileRefused("holds no stream of netperf")
    return Found(
        file,
        NAME,
        ends=tuple(_end(file, about, stream, is_first=stream is series[0]) for stream in series),
        tracks=tuple(_tracks(file, about, document["raw_values"])),
    )


def _series(about: Mapping[str, Any], raw: Mapping[str, Any]) -> Iterator[_Series]:
    series_meta = about["SERIES_META"]
    if len(series_meta) > MOST_SERIES:
        raise ParseError(f"holds more than {MOST_SERIES} series")
    for number, (name, meta) in enumerate(series_meta.items()):
        if meta.get("RUNNER") in RUNNERS and str(meta.get("UNITS", "")).startswith("Mbits"):
            points = [point for point in raw.get(name, ()) if "dur" in point]
            if not points:
                raise ParseError(f"its series {name!r:.60} holds no interim results of netperf")
            yield _Series(number, meta, points)


def _end(file: CaptureFile, about: Mapping[str, Any], stream: _Series, *, is_first: bool) -> ToldEnd:
    """The client's end. Raises ParseError."""
    begun_s = float(stream.points[0]["t"]) - float(stream.points[0]["dur"])
    intervals = tuple(_intervals(stream.points, begun_s))
    is_reverse = stream.is_reverse
    client_end = LoadEnd(
        not is_reverse,
        "",
        intervals,
        intervals[-1].end_s,
        None,
        retransmits=None if is_reverse else _count(stream.about.get("TCP_RETRANSMIT")),
    )
    return ToldEnd(
        file=file.name,
        node=str(about["LOCAL_HOST"])[:64] if about.get("LOCAL_HOST") else None,
        is_client=True,
        peer=str(about.get("HOST", ""))[:60],
        port=stream.number,
        key=f"{about.get('DATA_FILENAME', file.name)} {stream.number}"[:200],
        begun_s=begun_s,
        late_s=STAMP_S,
        asked=_asked(about, is_reverse=is_reverse),
        own=client_end,
        other=_told(stream.about, is_sender=is_reverse),
        told=f"netperf's {_told_name(is_sender=is_reverse)}, one count of the whole test",
        text=file.text if is_first else "",
        facts=_facts(about),
    )


def _count(value: Any) -> int | None:
    """A count of netperf, which flent keeps as text."""
    return int(value) if re.fullmatch(r"[0-9]{1,12}", str(value)) else None


def _facts(about: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What flent noted of its own host: kernel, and the interface by which the test left it."""
    egress = _mapping(about.get("EGRESS_INFO"))
    link, offloads = _mapping(egress.get("link_params")), _mapping(egress.get("offloads"))
    speed = re.fullmatch(r"([0-9]{1,9})Mb/s", str(link.get("speed")))
    sections: dict[str, dict[str, Any]] = {
        "kernel": {"release": _text(about.get("KERNEL_RELEASE"))},
        "nic": {
            "driver": _text(egress.get("driver")),
            "speed_bps": None if speed is None else MBIT * int(speed[1]),
            "mtu": _count(egress.get("mtu")),
            "offloads": {name: "on" if offloads[name] else "off" for name in OFFLOADS if name in offloads},
        },
        "sysctl": {CONGESTION: _text(_mapping(about.get("SYSCTLS")).get(CONGESTION))},
    }
    filled_sections = {
        name: {fact: value for fact, value in facts.items() if value} for name, facts in sections.items()
    }
    return {name: facts for name, facts in filled_sections.items() if facts}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value[:64] if isinstance(value, str) and value else None


def _asked(about: Mapping[str, Any], *, is_reverse: bool) -> Asked:
    return Asked(
        load=LOAD,
        test="tcp",
        family="ipv6" if about.get("IP_VERSION") == 6 else "ipv4",
        streams=1,
        is_reverse=is_reverse,
        rate_bps=None,
        omit_s=0.0,
        seconds=float(about["LENGTH"]),
    )


def _intervals(points: Sequence[Mapping[str, Any]], begun_s: float) -> Iterator[LoadInterval]:
    """Each from the end of the one before it. Raises ParseError for a rate or a time that cannot be."""
    before_s = 0.0
    for point in points:
        end_s, rate = float(point["t"]) - begun_s, float(point["val"])
        if end_s < before_s or not 0 <= rate <= MOST_RATE:
            raise ParseError("its interim results go back in time, or contain an invalid rate")
        seconds = min(float(point["dur"]), end_s - before_s)
        if seconds > 0:
            yield LoadInterval(end_s - seconds, end_s, round(rate * MBIT * seconds / 8))
        before_s = end_s


def _told_name(*, is_sender: bool) -> str:
    return "BYTES_SENT" if is_sender else "BYTES_RECVD"


def _told(about: Mapping[str, Any], *, is_sender: bool) -> LoadEnd | Missing:
    """What the other end counted over the whole test, or why that is not known."""
    name = _told_name(is_sender=is_sender)
    count, seconds = about.get(name), about.get("ELAPSED_TIME")
    if not isinstance(count, int) or not isinstance(seconds, int | float) or count <= 0 or seconds <= 0:
        return Missing(f"its {name} is missing (flent has it from 2.1 on)")
    intervals = (LoadInterval(0.0, float(seconds), count),)
    return LoadEnd(is_sender, "", intervals, float(seconds), None)


def _tracks(file: CaptureFile, about: Mapping[str, Any], raw: Mapping[str, Any]) -> Iterator[Track]:
    """CPU stats of the client, and of the server."""
    for name, meta in about["SERIES_META"].items():
        host = name.removeprefix("cpu_stats_")
        if meta.get("RUNNER") == CPU_RUNNER and (host in _HERE or host == about.get("HOST")):
            records = tuple(_records([point for point in raw.get(name, ()) if "load" in point]))
            if records:
                yield Track(
                    file=file,
                    source="flent",
                    records=records,
                    channels={WHOLE_HOST: Channel(WHOLE_HOST, "cores", "mean", "host")},
                    clock="unix",
                    resolution_s=STAMP_S,
                    is_dated=True,
                    of_peer=host not in _HERE,
                )


def _records(points: Sequence[Mapping[str, Any]]) -> Iterator[Record]:
    """Raises ParseError."""
    for before, after in pairwise(points):
        span_s = float(after["t"]) - float(before["t"])
        cpus = sum(_CPU.fullmatch(name) is not None for name in after)
        load = float(after["load"])
        if span_s <= 0 or not 0 <= load <= 1:
            raise ParseError("its CPU stats go back in time, or contain an invalid share")
        yield Record(float(after["t"]), span_s, "", {WHOLE_HOST: load * cpus})
