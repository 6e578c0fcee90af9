# SPDX-License-Identifier: Apache-2.0
"""Readings of a BMC as ``ipmitool`` prints them, each with a stamp before it. Pure.

``ipmitool sensor``, ``sdr``, ``sdr elist`` and ``dcmi power reading`` say nothing of when they ran (the IPMI
timestamp is the BMC's own clock), so whoever read them over time wrote a line of date(1) before each. Lines
of sensors in no unit of power, and those without a reading, are passed over. 0 W of the whole host is no
reading; watts of a BMC that says that its power reading is not activated are doubtful.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from linewatt.engine.live import Record
from linewatt.errors import ParseError
from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.features.importing.captures.model import Found, Track
from linewatt.features.importing.captures.stamps import stamp_line
from linewatt.foreign import number
from linewatt.model import Channel
from linewatt.sensors.power import DCMI, DCMI_SCOPE, scope_of_sensor, scopes_of_sensors

NAME = "ipmitool"
MOST_SENSORS = 1000
MOST_W = 1e5
"""of one sensor"""
_DCMI = re.compile(r"\s*Instantaneous power reading\s*:\s*(\d+) Watts\s*")
_STATE = re.compile(r"\s*Power reading state is\s*:\s*(\w+)\s*")
_IN_UNIT = re.compile(r"(-?[\d.]+) Watts")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COLUMNS = re.compile(r"[^|]{1,64}\|[^|]*\|.*")
_STATUS = {"ok", "ns", "nc", "cr", "nr", "na"}
"""of a sensor, as ipmitool writes it"""
_MOST_NAMED = 10
HOW = "write a stamp before each reading: while sleep 1; do date +%s.%N; ipmitool sensor; done >bmc.log"


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What was printed behind one stamp."""

    time_s: float
    resolution_s: float
    is_unix: bool
    lines: tuple[str, ...]


def find(file: CaptureFile) -> Found | None:
    """Readings of ipmitool over time; ``None``: nothing of it is in the file. Raises ParseError."""
    lines = [line for line in file.text.splitlines() if line.strip()]
    if not any(watts(line) is not None for line in lines):
        if any(stamp_line(line) is not None for line in lines) and (seen := _sensors(lines)):
            names = ", ".join(seen[:_MOST_NAMED]) + (", …" if len(seen) > _MOST_NAMED else "")
            raise ParseError(f"holds readings of ipmitool, none of them in watts; sensors are {names}")
        return None
    sweeps = tuple(_sweeps(lines))
    if len({sweep.is_unix for sweep in sweeps}) > 1:
        raise ParseError("some of its stamps have a time zone and some have none")
    for before, after in itertools.pairwise(sweeps):
        if after.time_s < before.time_s:
            raise ParseError(f"its stamps go back by {before.time_s - after.time_s:g} s: the clock was set")
    return Found(file, NAME, tracks=(_track(file, sweeps),))


def _sensors(lines: Sequence[str]) -> list[str]:
    """Names of the sensors of a listing that has none with watts."""
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if _COLUMNS.fullmatch(line)]
    return list(dict.fromkeys(row[0] for row in rows if len(row) > 2 and _STATUS & set(row[1:])))


def _sweeps(lines: Sequence[str]) -> Iterator[_Sweep]:
    """Raises ParseError where readings stand behind no stamp of their own."""
    stamp: tuple[float, float, bool] | None = None
    sweep_lines: list[str] = []
    for line in lines:
        line_stamp = stamp_line(line)
        if line_stamp is None:
            if stamp is None and watts(line) is not None:
                raise ParseError(f"holds readings of ipmitool without a time; {HOW}")
            sweep_lines.append(line)
            continue
        if stamp is not None:
            yield _Sweep(*stamp, tuple(sweep_lines))
        stamp, sweep_lines = line_stamp, []
    if stamp is not None:
        yield _Sweep(*stamp, tuple(sweep_lines))


def _track(file: CaptureFile, sweeps: Sequence[_Sweep]) -> Track:
    read = [_readings(sweep) for sweep in sweeps]
    states = list(dict.fromkeys(state for sweep in sweeps if (state := _off(sweep)) is not None))
    readings = [values for values, _ in read]
    names = list(dict.fromkeys(name for reading in readings for name in reading))
    if len(names) > MOST_SENSORS:
        raise ParseError(f"holds more than {MOST_SENSORS} sensors of power")
    gaps_s = [after.time_s - before.time_s for before, after in itertools.pairwise(sweeps)]
    # read at some time between its stamp and the next one
    resolution_s = max(sweep.resolution_s for sweep in sweeps) + (median(gaps_s) if gaps_s else 0.0)
    records = tuple(
        Record(sweep.time_s + resolution_s / 2, _span_s(sweeps, at), "\n".join(sweep.lines), values, reasons)
        for at, (sweep, (values, reasons)) in enumerate(zip(sweeps, read, strict=True))
    )
    return Track(
        file=file,
        source=NAME,
        records=records,
        channels=_channels(names),
        clock="unix" if sweeps[0].is_unix else "local",
        resolution_s=resolution_s,
        is_power=True,
        is_dated=True,
        power_state=states[0] if states else None,
    )


def _span_s(sweeps: Sequence[_Sweep], at: int) -> float:
    return sweeps[at].time_s - sweeps[at - 1].time_s if at else 0.0


def _off(sweep: _Sweep) -> str | None:
    """The state of DCMI's power reading where it is another than activated."""
    states = (match[1] for line in sweep.lines if (match := _STATE.fullmatch(line)))
    return next((state for state in states if state != "activated"), None)


def _readings(sweep: _Sweep) -> tuple[dict[str, float | None], dict[str, str]]:
    """Sensor → W, and why some have none. Raises ParseError for two readings behind one stamp: nobody knows
    when the second was."""
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for line in sweep.lines:
        reading = watts(line)
        if reading is None:
            continue
        name, value = reading
        if abs(value) > MOST_W:
            raise ParseError(f"{name} reads {value:g} W, which no host draws")
        if name in values:
            raise ParseError(f"{name} stands twice behind one stamp; {HOW}")
        values[name] = value
        if value == 0 and _is_whole(name):
            values[name] = None
            state = _off(sweep)
            reasons[name] = f"reads 0 W, which no host draws{f' (power reading {state})' if state else ''}"
    return values, reasons


def _is_whole(name: str) -> bool:
    return name == DCMI or (scope_of_sensor(name, "W") or "").startswith("system:")


def watts(line: str) -> tuple[str, float] | None:
    """The name and the watts of a line, if it is a reading of power."""
    if match := _DCMI.fullmatch(line):
        return DCMI, number(match[1], "a reading of DCMI")
    if not _COLUMNS.fullmatch(line):
        return None
    name, *cells = (cell.strip() for cell in line.split("|"))
    for at, cell in enumerate(cells):
        match = _IN_UNIT.fullmatch(cell)
        if match:
            return name, number(match[1], name)
        if cell == "Watts" and at and _NUMBER.fullmatch(cells[at - 1]):
            return name, number(cells[at - 1], name)
    return None


def _channels(names: Sequence[str]) -> Mapping[str, Channel]:
    """No watt is counted twice where scopes are summed: as for a BMC that linewatt reads itself."""
    sensors = [name for name in names if name != DCMI]
    scope_of = dict(
        zip(sensors, scopes_of_sensors([(name, "W") for name in sensors], DCMI in names), strict=True)
    )
    if DCMI in names:
        scope_of[DCMI] = DCMI_SCOPE
    method = "ipmitool, read by hand; the step and tolerance of the sensor are not known"
    return {name: Channel(name, "W", "gauge", scope_of[name], method=method) for name in names}
