# SPDX-License-Identifier: Apache-2.0
"""Times as tools write them: of day, with a date or without, in a zone or in none. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from linewatt.errors import InvalidInput, ParseError

DAY_S = 86_400.0
QUARTER_S = 900
"""zones are so many seconds apart, or a multiple of it"""
MOST_EAST_S, MOST_WEST_S = 14 * 3600, -12 * 3600
_TIME = re.compile(r"(\d{1,2}):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?: ?([AaPp])\.?[Mm]\.?)?", re.ASCII)
_DATE = re.compile(r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})\.?", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_EPOCH = re.compile(r"(1\d{9}|2\d{9})(?:[.,](\d{1,9}))?", re.ASCII)
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE_SAYS = re.compile(
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ({'|'.join(_MONTHS)}) +(\d{{1,2}}) "
    r"(\d\d:\d\d:\d\d)(?: ([AP]M))? ([A-Z]{2,5}|[+-]\d\d) (\d{4})",
    re.ASCII,
)
"""what date(1) prints in the C locale"""


def time_of_day_s(text: str) -> float:
    """``10:00:01``, ``10:00:01 PM`` → seconds since midnight. Raises ParseError."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ParseError(f"{text.strip()[:30]!r} is not a time of day")
    hours, minutes, seconds = (int(match[at]) for at in (1, 2, 3))
    if match[5]:
        if not 1 <= hours <= 12:
            raise ParseError(f"{text.strip()[:30]!r} is not a time of day")
        hours = hours % 12 + (12 if match[5] in "Pp" else 0)
    if hours > 23 or minutes > 59 or seconds > 60:
        raise ParseError(f"{text.strip()[:30]!r} is not a time of day")
    return 3600.0 * hours + 60 * minutes + seconds + float(f"0.{match[4] or 0}")


def days_of(text: str) -> tuple[date, ...]:
    """Every day that a date may be: ``11/12/26`` is one of several. Raises ParseError for what is none."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ParseError(
            f"{text.strip()[:30]!r} is not a date; LC_ALL=C or S_TIME_FORMAT=ISO makes the tool write one"
        )
    first, second, third = match[1], match[2], match[3]
    orders = (
        ((first, second, third),)
        if len(first) == 4
        else ((third, first, second), (third, second, first), (first, second, third))
    )
    days = dict.fromkeys(day for year, month, day_ in orders if (day := _day(year, month, day_)) is not None)
    if not days:
        raise ParseError(f"{text.strip()[:30]!r} is not a date")
    return tuple(days)


def _day(year: str, month: str, day: str) -> date | None:
    if len(year) == 3 or len(year) == 1:
        return None
    try:
        return date(_common_era(int(year) + (2000 if len(year) == 2 else 0)), int(month), int(day))
    except ValueError:
        return None


def _common_era(year: int) -> int:
    """Thailand counts years from 543 before."""
    return year - 543 if 2500 <= year < 2700 else year


def unwrapped(times_s: Iterable[float]) -> Iterator[float]:
    """Times of day as a line that goes on at midnight. Raises ParseError where it goes back otherwise."""
    before_s, days = None, 0
    for time_s in times_s:
        if before_s is not None and time_s < before_s:
            if before_s - time_s < DAY_S / 2:
                raise ParseError(
                    f"its times go back by {before_s - time_s:g} s: the clock was set, or files were joined"
                )
            days += 1
        before_s = time_s
        yield time_s + days * DAY_S


def midnight_s(day: date) -> float:
    """Of a day, as if it were one of UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


@lru_cache
def zone_of(text: str) -> tzinfo:
    """``UTC``, ``+02:00``, ``Europe/Berlin``. Raises InvalidInput."""
    match = _OFFSET.fullmatch(text)
    if match is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset > timedelta(hours=14) or int(match[3]) > 59:
            raise InvalidInput(f"--timezone {text}: no zone is so far from UTC")
        return timezone(-offset if match[1] == "-" else offset)
    if text in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"--timezone {text[:60]!r}: no such time zone is known here; write it as +02:00 or Europe/Berlin"
        ) from None


def unix_s(local_s: float, zone: tzinfo) -> float:
    """A clock on the wall, as if it were UTC, as Unix seconds in its zone."""
    if zone is UTC:
        return local_s
    return datetime.fromtimestamp(local_s, UTC).replace(tzinfo=zone).timestamp()


def offset_words(seconds: float) -> str:
    """``+02:00``"""
    minutes = round(abs(seconds) / 60)
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def stamp_line(line: str) -> tuple[float, float, bool] | None:
    """A line that is a stamp and no more, as people write one before each reading of a tool.

    It is (seconds, resolution in s, whether they are Unix seconds; else they are of the clock on the wall).
    ``None``: it is none. ``date +%s``, ``date +%s.%N``, ``date -Is``, ``date`` and the like are understood.
    """
    text = line.strip()
    if match := _EPOCH.fullmatch(text):
        return float(text.replace(",", ".")), _resolution_s(match[2]), True
    if match := _ISO.fullmatch(text):
        day, clock, part, zone = match.groups()
    elif match := _DATE_SAYS.fullmatch(text):
        month, day_of_month, time, half, zone_name, year = match.groups()
        day = f"{year}-{_MONTHS.index(month) + 1:02d}-{int(day_of_month):02d}"
        clock = f"{time} {half}" if half else time
        part = None
        zone = zone_name if zone_name[0] in "+-" or zone_name in ("UTC", "GMT") else None
    else:
        return None
    local_s = midnight_s(_whole_day(day)) + time_of_day_s(clock) + float(f"0.{part or 0}")
    if zone is None:
        return local_s, _resolution_s(part), False
    full_zone = f"{zone}:00" if re.fullmatch(r"[+-]\d\d", zone) else zone
    return unix_s(local_s, zone_of(full_zone)), _resolution_s(part), True


def _whole_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParseError(f"{text!r} is not a date") from None


def _resolution_s(part: str | None) -> float:
    return 10.0 ** -len(part) if part else 1.0
