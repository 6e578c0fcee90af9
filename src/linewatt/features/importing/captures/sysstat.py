# SPDX-License-Identifier: Apache-2.0
"""CPU use as sysstat's tools write it: ``mpstat`` and ``sar`` as text, ``mpstat -o JSON``, ``sadf -j``. Pure.

mpstat and sar stamp the end of an interval with the clock on the wall of their host, cut to a second, mostly
without a zone; the date stands once, at the top. Both and decimals are as the locale has them; of words only
"Average:" is translated (12.6.1 in 63 locales), and its rows are not read. sadf has date, time and whether
they are UTC. The number of CPUs at the top is of all that the kernel has, those that are offline included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from statistics import fmean, median
from typing import Any
from unicodedata import decimal

from linewatt.engine.live import Record
from linewatt.errors import ParseError
from linewatt.features.importing.captures import stamps
from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.features.importing.captures.model import Clock, Found, Track
from linewatt.foreign import number, one_line, read_json
from linewatt.missing import Missing, value_or_none
from linewatt.model import Channel
from linewatt.sensors import MPSTAT_COLUMNS, WHOLE_HOST, Mpstat, reasons_of_shares, values_of_shares

SECOND_S = 1.0
MOST_CPUS = 8192
MOST_PERCENT = 100.5
"""three columns of two decimals each, added up"""
_OFF_PERCENT = 1.0
"""by which the columns of a row may miss 100 %: each is rounded"""
ALIKE_PERCENT = 0.5
"""what all CPUs have together and the mean of their rows may differ by: 0.3 in captures"""
NO_TOP = (
    "its first line, which names host, date and number of CPUs, is missing; it is taken to be of the host "
    "that its folder names, and of the day of the load"
)
_ALL = ("all", "-1")
_NAMES = {"user": "usr", "system": "sys"}
"""of ``sar -u`` in its short form, in which they contain guests and interrupts"""
_NEEDED = ("idle", "iowait", "steal")
"""without these nothing is told of the use of a CPU"""
_LATER = ("guest", "gnice")
"""that old versions have no columns for (gnice came with sysstat 10.1.4): the time is in others"""
_TOP = re.compile(r"(\S+) (\S+) \(([^()]*)\)\s+(\S+(?: \S+){0,5})\s+_[^_\s]\S*_\s+\((\d+) CPU\)")
_ROW = re.compile(r"(\d{1,2}:\d\d:\d\d(?: ?[AaPp][Mm])?)\s+(\S.*)")
_TABLE = "# hostname;interval;timestamp;"
"""how what ``sadf -d`` writes begins"""
_EASTERN_TIME = re.compile(r"(\d{1,2})[时時시點] ?(\d\d)[分분] ?(\d\d)[秒초]", re.ASCII)
_EASTERN_DAY = re.compile(
    r"(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日號일](?: 星期\S)?",
    re.ASCII,
)
_AM_WORDS = ("AM", "am", "上午", "午前", "오전", "πμ", "ص", "पूर्वाह्न")
_PM_WORDS = ("PM", "pm", "下午", "午後", "오후", "μμ", "م", "अपराह्न")
_HALF_DAY = "|".join((*_AM_WORDS, *_PM_WORDS))
_CLOCK = re.compile(
    rf"(?:[A-Z]{{3,5}} )?(?:({_HALF_DAY}) ?)?(\d{{1,2}})[:.](\d\d)[:.](\d\d)(?: ?({_HALF_DAY}))?"
    r"(?: (?!CPU)(?:[A-Z]{3,5}|[+-]\d\d(?:\d\d)?)(?=  |\Z))?(?!\S)",
    re.ASCII,
)
"""a time as glibc's locales have it, some with the name of a zone"""
_OPEN_TABLE, _CLOSED_TABLE = re.compile(r'"timestamp": "[^"]*"'), Mpstat()

Row = Mapping[str, float]
"""column → percent"""


@dataclass(frozen=True, slots=True)
class Interval:
    """What a tool says of one interval: by CPU, and ``whole`` of all together; ``span_s`` where it is
    said."""

    end_s: float
    span_s: float | None
    cpus: Mapping[int, Row]
    whole: Row | None
    text: str


@dataclass(frozen=True, slots=True)
class Host:
    """What stands at the top of a file."""

    node: str | None
    kernel: str | None
    cpus: int | None
    days: tuple[date, ...]


def find_json(file: CaptureFile, documents: Sequence[Any]) -> Found | None:
    """What ``mpstat -o JSON`` or ``sadf -j`` wrote; ``None``: neither did. Raises ParseError."""
    if len(documents) != 1 or not isinstance(documents[0], dict) or "sysstat" not in documents[0]:
        return None
    hosts = documents[0]["sysstat"]["hosts"]
    if len(hosts) != 1:
        raise ParseError(f"holds {len(hosts)} hosts; one file a host is read")
    samples = [sample for sample in hosts[0]["statistics"] if sample]
    if not samples:
        raise ParseError("holds no interval")
    if isinstance(samples[0].get("timestamp"), dict):
        return Found(file, "sadf", tracks=(_sadf(file, hosts[0], samples),))
    note = _note_of(str(hosts[0].get("date", "")))
    return Found(file, "mpstat", tracks=(_mpstat(file, hosts[0], samples),), note=note)


def find_open_json(file: CaptureFile) -> Found | None:
    """JSON of an mpstat that was ended before it could close it; ``None``: it is none. Raises ParseError."""
    text = file.text
    if not text.lstrip().startswith('{"sysstat"') or '"cpu-load": [' not in text:
        return None
    top = {name: _value(text, name) for name in ("nodename", "release", "number-of-cpus", "date")}
    samples = []
    for record in _records(text):
        timestamps = _OPEN_TABLE.findall(record)
        _, _, table = record.rpartition('"cpu-load": [')
        rows = read_json(f"[{table.rpartition(']')[0]}]", "a table of mpstat")
        if not timestamps:
            raise ParseError("a table of mpstat has no stamp")
        samples.append({"timestamp": json.loads(f"{{{timestamps[-1]}}}")["timestamp"], "cpu-load": rows})
    if not samples:
        raise ParseError("holds no whole interval of mpstat")
    return Found(file, "mpstat", tracks=(_mpstat(file, top, samples),), note=_note_of(top["date"] or ""))


def _value(text: str, name: str) -> str | None:
    match = re.search(rf'"{name}": "?([^",\n]*)', text)
    return match[1] if match else None


def _records(text: str) -> Iterator[str]:
    """As the sensor cuts the stream of a running mpstat."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.append(line)
        if _CLOSED_TABLE.ends_record(line):
            yield "\n".join(lines)
            lines.clear()


def _mpstat(file: CaptureFile, top: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> Track:
    host = Host(
        _text(top.get("nodename")),
        _text(top.get("release")),
        _whole(top.get("number-of-cpus")),
        _days_of(str(top["date"])) if top.get("date") else (),
    )
    cpu_samples = [sample for sample in samples if "cpu-load" in sample]
    if not cpu_samples:
        raise ParseError("holds no use of CPUs; run mpstat -P ALL")
    ends_s = list(stamps.unwrapped(_clock(str(sample["timestamp"])) for sample in cpu_samples))
    intervals = [
        Interval(end_s, None, *_rows_of(sample["cpu-load"]), json.dumps(sample))
        for end_s, sample in zip(ends_s, cpu_samples, strict=True)
    ]
    return _track(file, "mpstat", host, intervals, "local")


def _sadf(file: CaptureFile, top: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> Track:
    intervals, utc = [], set()
    for sample in samples:
        stamp, table = sample["timestamp"], sample.get("cpu-load-all") or sample.get("cpu-load")
        if table is None:
            continue
        days = stamps.days_of(str(stamp["date"]))
        end_s = stamps.midnight_s(days[0]) + stamps.time_of_day_s(str(stamp["time"]))
        utc.add(bool(stamp.get("utc")))
        span_s = float(stamp["interval"]) if stamp.get("interval") else None
        intervals.append(Interval(end_s, span_s, *_rows_of(table), json.dumps(sample)))
    if not intervals:
        raise ParseError("holds no use of CPUs; run sadf -j FILE -- -u ALL -P ALL")
    if len(utc) > 1:
        raise ParseError("some of its times are UTC and some are not")
    first = stamps.days_of(str(samples[0]["timestamp"]["date"]))[:1]
    host = Host(
        _text(top.get("nodename")), _text(top.get("release")), _whole(top.get("number-of-cpus")), first
    )
    return _track(file, "sar", host, intervals, "unix" if utc == {True} else "local", is_dated=True)


def _sadf_table(file: CaptureFile, lines: Sequence[str]) -> Track:
    """What ``sadf -d`` wrote: semicolons between, a row a CPU, UTC unless ``-t`` was given."""
    columns: list[str] = []
    nodes: dict[str, None] = {}
    utc: set[bool] = set()
    rows: dict[float, tuple[float, list[Mapping[str, Any]], list[str]]] = {}
    for line in lines:
        cells = line.split(";")
        if line.startswith("#"):
            columns = cells if "CPU" in cells and "%idle" in cells else []
            continue
        if not columns or len(cells) != len(columns):
            continue  # of another table, or that the host restarted
        day, _, time_and_zone = cells[2].partition(" ")
        clock, _, zone = time_and_zone.partition(" ")
        nodes[cells[0]] = None
        utc.add(zone == "UTC")
        end_s = stamps.midnight_s(stamps.days_of(day)[0]) + stamps.time_of_day_s(clock)
        _, cpu_rows, texts = rows.setdefault(end_s, (number(cells[1], "seconds of an interval"), [], []))
        shares = {_column(name): _percent(cell) for name, cell in zip(columns[4:], cells[4:], strict=True)}
        cpu_rows.append({"cpu": "all" if cells[3] == "-1" else cells[3], **shares})
        texts.append(line)
    if not rows:
        raise ParseError("holds no use of CPUs; run sadf -d FILE -- -u ALL -P ALL")
    if len(nodes) > 1 or len(utc) > 1:
        raise ParseError("holds several hosts, or times in UTC beside others; keep one in a file")
    intervals = [
        Interval(end_s, span_s if span_s > 0 else None, *_rows_of(cpu_rows), "\n".join(texts))
        for end_s, (span_s, cpu_rows, texts) in rows.items()
    ]
    host = Host(_text(next(iter(nodes))), None, None, ())
    return _track(file, "sar", host, intervals, "unix" if utc == {True} else "local", is_dated=True)


def _clock(text: str) -> float:
    """Some versions write the date before it."""
    try:
        return stamps.time_of_day_s(plain(text).rpartition("T")[2].removesuffix("Z"))
    except ParseError as error:
        raise ParseError(f"{error}; run it with LC_ALL=C") from None


def _days_of(text: str) -> tuple[date, ...]:
    """Every day that a date at the top may be; none of one in words. Raises ParseError."""
    return () if _is_in_words(text) else stamps.days_of("".join(_with_plain_digits(text).split()))


def _is_in_words(date_text: str) -> bool:
    """Whether a date has the name of a month, which nobody knows in all languages."""
    return any(character.isalpha() for character in _with_plain_digits(date_text))


def _note_of(date_text: str) -> str | None:
    if not _is_in_words(date_text):
        return None
    return (
        f"its date, {one_line(date_text)[:40]}, has names in it and is not read; it is taken to be of the "
        "day of the load"
    )


def _rows_of(table: Iterable[Mapping[str, Any]]) -> tuple[dict[int, Row], Row | None]:
    cpus: dict[int, Row] = {}
    host_row = None
    for cpu_entry in table:
        row = {
            _NAMES.get(name, name): float(value)
            for name, value in cpu_entry.items()
            if name not in ("cpu", "node")
        }
        if str(cpu_entry["cpu"]) in _ALL:
            host_row = row
        else:
            cpus[int(cpu_entry["cpu"])] = row
    return cpus, host_row


def plain(line: str) -> str:
    """A line whose time and date are as English ones, whichever locale wrote it."""
    line = _with_plain_digits(line.lstrip())
    match = _CLOCK.match(line)
    if match is None:
        return line
    before, *time, behind = match.groups()
    half_day = before or behind
    suffix = "" if half_day is None else " AM" if half_day in _AM_WORDS else " PM"
    return f"{':'.join(time)}{suffix}{line[match.end() :]}"


def _with_plain_digits(text: str) -> str:
    """Digits of all scripts as ASCII, and signs in place of the words that stand behind them in the East."""
    if text.isascii():
        return text
    text = "".join(str(decimal(character, character)) for character in text)
    return _EASTERN_DAY.sub(r"\1-\2-\3", _EASTERN_TIME.sub(r"\1:\2:\3", text, count=1), count=1)


def is_top(line: str) -> bool:
    """Whether text of mpstat, sar or ``sadf -d`` begins so; mpstat and sar also without their first line."""
    line = plain(line)
    return line.startswith(_TABLE) or _TOP.match(line) is not None or _is_header(line)


def _is_header(line: str) -> bool:
    """Whether a line names the columns of a table of CPUs."""
    row = _ROW.fullmatch(line.rstrip())
    words = row[2].split() if row is not None else []
    return words[:1] == ["CPU"] and "%idle" in words


def find_text(file: CaptureFile) -> Found | None:
    """What mpstat or sar wrote as text; ``None``: neither did. Raises ParseError."""
    lines = [plain(line) for line in file.text.splitlines() if line.strip()]
    if lines and lines[0].startswith(_TABLE):
        return Found(file, "sadf", tracks=(_sadf_table(file, lines),))
    top = _TOP.match(lines[0]) if lines else None
    if top is None and not (lines and _is_header(lines[0])):
        return None
    host = Host(None, None, None, ())
    if top is not None:
        host = Host(top[3] or None, top[2], int(top[5]), _days_of(top[4]))
    intervals, source = _tables(lines)
    if not intervals:
        unread = next(filter(None, map(_unread_time, lines)), None)
        if unread is not None:
            raise ParseError(f"its times, such as {unread!r}, are not read; run it with LC_ALL=C")
        raise ParseError("holds no use of CPUs over time; run mpstat -P ALL 1, or sar -u ALL -P ALL 1")
    note = NO_TOP if top is None else _note_of(top[4])
    return Found(file, source, tracks=(_track(file, source, host, intervals, "local"),), note=note)


def _unread_time(line: str) -> str | None:
    """What stands before the columns of CPUs where that is no time that is read; "Average:" ends so."""
    time, _, columns = line.partition(" CPU ")
    is_read = _ROW.fullmatch(line.rstrip()) is not None or time.rstrip().endswith((":", "："))
    return None if is_read or "%idle" not in columns.split() else one_line(time.strip())[:40]


def _tables(lines: Sequence[str]) -> tuple[list[Interval], str]:
    """Tables of CPUs, each line of which has a stamp; others are passed over."""
    top = lines[0]
    columns: list[str] | None = None
    source, begun = "mpstat", ""
    stamped: list[tuple[str, str, dict[int, Row], list[Row], list[str]]] = []
    for line in lines:
        match = _ROW.fullmatch(line.rstrip())
        if match is None:
            columns = columns if not line.startswith(("Linux", "Average")) else None
            if _TOP.match(line) and line is not top:
                raise ParseError("holds several runs, one behind the other; keep one in a file")
            continue
        clock, words = match[1], match[2].split()
        if "CPU" in words:
            columns = [_column(word) for word in words] if "%idle" in words and words[0] == "CPU" else None
            source = "sar" if columns and _is_sar(columns, words) else source
            begun = clock
            continue
        if words[0] not in _ALL and not words[0].isdecimal():
            columns = None  # of another table begin here
        if columns is None or len(words) != len(columns):
            continue
        row = {name: _percent(word) for name, word in zip(columns[1:], words[1:], strict=True)}
        if not stamped or stamped[-1][1] != clock or words[0] in _ALL:
            stamped.append((begun, clock, {}, [], []))
            begun = clock
        _, _, cpus, host_rows, texts = stamped[-1]
        texts.append(line)
        if words[0] in _ALL:
            host_rows.append(row)
        else:
            cpus[int(words[0])] = row
    return list(_intervals(stamped)), source


def _intervals(
    stamped: Sequence[tuple[str, str, dict[int, Row], list[Row], list[str]]],
) -> Iterator[Interval]:
    ends_s = stamps.unwrapped(stamps.time_of_day_s(clock) for _, clock, *_ in stamped)
    for end_s, (begun, clock, cpus, host_rows, texts) in zip(ends_s, stamped, strict=True):
        span_s = (stamps.time_of_day_s(clock) - stamps.time_of_day_s(begun)) % stamps.DAY_S
        yield Interval(end_s, span_s or None, cpus, host_rows[0] if host_rows else None, "\n".join(texts))


def _column(word: str) -> str:
    name = word.removeprefix("%")
    return _NAMES.get(name, name)


def _is_sar(columns: Sequence[str], words: Sequence[str]) -> bool:
    """sar has steal before irq, or user in place of usr."""
    if "%system" in words:
        return True
    return "irq" in columns and "steal" in columns and columns.index("steal") < columns.index("irq")


def _percent(word: str) -> float:
    """Also as ``sar --human`` writes it, with its unit."""
    return number(word.replace(",", ".").removesuffix("%"), "a share of CPU time")


def _track(
    file: CaptureFile,
    source: str,
    host: Host,
    intervals: Sequence[Interval],
    clock: Clock,
    *,
    is_dated: bool = False,
) -> Track:
    if any(after.end_s < before.end_s for before, after in pairwise(intervals)):
        raise ParseError("its times go back: the clock was set, or files were joined")
    if len({cpu for interval in intervals for cpu in interval.cpus}) > MOST_CPUS:
        raise ParseError(f"holds more than {MOST_CPUS} CPUs")
    intervals = _without_offline(intervals)
    host = replace(host, cpus=_online(intervals, host.cpus))
    first_s = 0.0 if is_dated or not host.days else stamps.midnight_s(host.days[0])
    records = tuple(
        _record(interval, span_s, host, first_s)
        for interval, span_s in zip(intervals, _spans(intervals), strict=True)
    )
    names = dict.fromkeys(name for record in records for name in record.values)
    cpus = {} if host.cpus is None else {"cpu": {"cpus": host.cpus}}
    kernel = {} if host.kernel is None else {"kernel": {"release": host.kernel}}
    return Track(
        file=file,
        node=host.node,
        source=source,
        records=records,
        channels={name: _channel(name) for name in names},
        clock=clock,
        resolution_s=SECOND_S,
        days=host.days,
        facts={**kernel, **cpus},
        assumed_cpus=None if host.cpus == 1 or all(interval.cpus for interval in intervals) else host.cpus,
    )


def _without_offline(intervals: Sequence[Interval]) -> list[Interval]:
    """Without the rows of CPUs that are all zero from the first to the last: these were offline.

    Older versions write such rows (sysstat before 12.1.2), and every row adds up to 100 % where a CPU ran.
    """
    ran = {cpu for interval in intervals for cpu, row in interval.cpus.items() if any(row.values())}
    return [
        replace(interval, cpus={cpu: row for cpu, row in interval.cpus.items() if cpu in ran})
        for interval in intervals
    ]


def _online(intervals: Sequence[Interval], cpus: int | None) -> int | None:
    """How many CPUs are online: as many as each interval tells of, where these make up what it says of all
    together; else ``cpus``, as it stands at the top."""
    cpu_sets = {frozenset(interval.cpus) for interval in intervals}
    if len(cpu_sets) == 1 and all(interval.cpus and _is_of_all(interval) for interval in intervals):
        return len(cpu_sets.pop())
    return cpus


def _is_of_all(interval: Interval) -> bool:
    """Whether the rows of its CPUs are all that the one of the whole is made of."""
    if interval.whole is None:
        return False
    rows, names = tuple(interval.cpus.values()), interval.whole.keys()
    return all(row.keys() == names for row in rows) and all(
        abs(fmean(row[name] for row in rows) - interval.whole[name]) <= ALIKE_PERCENT for name in names
    )


def _channel(name: str) -> Channel:
    if name == WHOLE_HOST:
        return Channel(name, "cores", "mean", "host")
    return Mpstat().channel(name)


def _spans(intervals: Sequence[Interval]) -> Iterator[float]:
    """How long each interval was: as it is said, else since the one before."""
    since = [None, *(after.end_s - before.end_s for before, after in pairwise(intervals))]
    spans_s = [interval.span_s or gap for interval, gap in zip(intervals, since, strict=True)]
    usual = [span for span in spans_s if span]
    if not usual:
        raise ParseError("holds one interval, and not how long it was; measure several (mpstat -P ALL 1)")
    for span in spans_s:
        yield span or median(usual)


def _record(interval: Interval, span_s: float, host: Host, first_s: float) -> Record:
    """Shares by CPU where all have all columns; else what the host used, as far as that can be told."""
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    rows = {
        cpu: {name: row.get(name, 0.0) for name in MPSTAT_COLUMNS if name in row or name in _LATER}
        for cpu, row in interval.cpus.items()
    }
    full = {"usr", "sys", "irq", "soft", *_NEEDED}
    if rows and all(full <= row.keys() for row in rows.values()) and len(rows) >= (host.cpus or 1):
        values, reasons = values_of_shares(rows), reasons_of_shares(rows)
    else:
        used = _cores(rows, interval.whole, host.cpus)
        values[WHOLE_HOST] = value_or_none(used)
        if isinstance(used, Missing):
            reasons[WHOLE_HOST] = used.reason
    return Record(first_s + interval.end_s + SECOND_S / 2, span_s, interval.text, values, reasons)


def _cores(rows: Mapping[int, Row], host_row: Row | None, cpus: int | None) -> float | Missing:
    cpu_rows = (
        list(rows.values()) if rows and len(rows) == cpus else [host_row] * (cpus or 0) if not rows else []
    )
    if not cpu_rows:
        return Missing("it does not say how many CPUs there are, or lines of some CPUs are missing")
    used = 0.0
    for row in cpu_rows:
        if row is None or any(name not in row for name in _NEEDED):
            return Missing("columns are missing: idle, iowait and steal are needed")
        if (total := _total(row)) is not None:
            return Missing(f"its shares of CPU time add up to {total:.4g} %, not 100 %")
        unused = sum(row[name] for name in _NEEDED)
        if not 0 <= unused <= MOST_PERCENT:
            return Missing(f"its idle, iowait and steal add up to {unused:.4g} %")
        used += max(0.0, 1 - unused / 100)
    return used


def _total(row: Row) -> float | None:
    """What shares add up to where that is not about 100 %, with guests beside the rest or in it."""
    guests = sum(row.get(name, 0.0) for name in ("guest", "gnice"))
    total = sum(row.get(name, 0.0) for name in MPSTAT_COLUMNS)
    off_percent = min(abs(total - 100), abs(total - guests - 100))
    return total if off_percent > _OFF_PERCENT else None


def _text(value: object) -> str | None:
    return str(value)[:64] if value else None


def _whole(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text[:6]) <= MOST_CPUS else None
