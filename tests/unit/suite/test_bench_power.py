# SPDX-License-Identifier: Apache-2.0
"""The bench of power readings: servers that end whatever happens, sweeps that are whole."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench import cost, power_meters, power_servers, power_streams, rows

from linewatt.sensors.registry import POWER_DRIVERS

ROOT = Path(__file__).parents[3]
LIMIT_S = 20.0
KINDS = {kind.name: kind for kind in power_meters.KINDS}
NO_SNMPD = pytest.mark.skipif(power_servers.snmpd() is None, reason="snmpd is not installed")
EVERY_KIND = [pytest.param(name, marks=NO_SNMPD if name == "snmp" else ()) for name in KINDS]


class Session:
    """One channel; its values come one after the other, the last of them for ever."""

    def __init__(self, *values: float | None) -> None:
        self.values = list(values)
        self.channels = {"wall_w": object()}
        self.reasons = {"wall_w": "the meter says busy"}
        self.closed = 0

    def open(self, password: str | None) -> Session:
        return self

    def read(self) -> dict[str, float | None]:
        return {"wall_w": self.values.pop(0) if len(self.values) > 1 else self.values[0]}

    def close(self) -> None:
        self.closed += 1


def until(true: Callable[[], bool], what: str) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end_s, f"{what} was awaited for {LIMIT_S:g} s"
        time.sleep(0.02)


def free(kind: str, port: int) -> bool:
    """Whether nobody has the server's port any more."""
    with socket.socket(type=socket.SOCK_DGRAM if kind == "snmp" else socket.SOCK_STREAM) as probe:
        if kind != "snmp":
            return probe.connect_ex(("127.0.0.1", port)) != 0
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def port_of(ready: Any) -> int:
    return int(ready.get("port") or ready["url"].rpartition(":")[2])


def test_every_power_driver_is_timed() -> None:
    streams = {stream.name for stream in power_streams.STREAMS}
    assert streams | KINDS.keys() | {"ipmi", "ipmitool"} == POWER_DRIVERS.keys()


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_meter_is_read_whole_and_its_server_ends_when_the_bench_fails(kind: str, tmp_path: Path) -> None:
    ports = []

    def fails() -> None:
        with power_servers.served(kind, tmp_path / kind) as ready:
            ports.append(port_of(ready))
            assert not free(kind, ports[0])
            cfg = POWER_DRIVERS[kind].Config(**KINDS[kind].settings(ready))
            wall, cpu = cost.sweep_rows(
                kind, lambda: POWER_DRIVERS[kind](cfg), ready.get("password"), 3, None
            )
            assert (len(wall.values), len(cpu.values)) == (3, 3)
            raise rows.MeasurementFailed("no lab")

    with pytest.raises(rows.MeasurementFailed, match="no lab"):
        fails()
    assert free(kind, ports[0])


@pytest.mark.parametrize("kind", [one for one in EVERY_KIND if KINDS[str(one.values[0])].tool])
def test_by_hand_the_same_server_is_asked_without_a_password_in_the_arguments(
    kind: str, tmp_path: Path
) -> None:
    own = KINDS[kind]
    assert own.argv is not None
    if shutil.which(str(own.tool)) is None:
        pytest.skip(f"{own.tool} is not installed")
    with power_servers.served(kind, tmp_path / kind) as ready:
        argv = own.argv(ready, tmp_path / kind)
        found = cost.by_hand(str(own.tool), argv, 2, {**os.environ, "MIBS": ""})
    assert len(found.taken) == 2
    assert ready.get("password", "\0") not in " ".join(argv)


@pytest.mark.parametrize("kind", [one for one in EVERY_KIND if one.values[0] in ("http", "snmp")])
def test_a_server_ends_when_the_bench_is_killed(kind: str, tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from bench.power_servers import served\n"
        f"with served({kind!r}, Path(sys.argv[1])) as ready:\n"
        "    print(ready['port'], flush=True); time.sleep(60)\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / kind)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT) as bench:
        assert bench.stdout is not None
        port = int(bench.stdout.readline())
        assert not free(kind, port)
        bench.send_signal(signal.SIGKILL)
    until(lambda: free(kind, port), "the end of the server")


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(rows.MeasurementFailed, match="the abacus server did not start: KeyError: 'abacus'"),
        power_servers.served("abacus", tmp_path / "abacus"),
    ):
        pass


def test_what_is_not_installed_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_meters, "find_spec", lambda name: None if name != "pysnmp" else object())
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    found, left_out = power_meters.meter_rows(tmp_path, 1)
    assert found == []
    assert left_out == [
        "redfish is not timed: httpx is not installed; pip install 'linewatt[meters]'",
        "snmp is not timed: snmpd is not installed",
        "modbus is not timed: pymodbus is not installed; pip install 'linewatt[meters]'",
        "http is not timed: httpx is not installed; pip install 'linewatt[meters]'",
    ]


@pytest.mark.parametrize("values", [[None], [5.0, 5.0, None]], ids=["at once", "in the end"])
def test_a_meter_that_gives_no_reading_is_not_timed(values: list[float | None]) -> None:
    session = Session(*values)
    with pytest.raises(rows.MeasurementFailed, match=r"plug: no reading of wall_w: .*the meter says busy"):
        cost.sweep_rows("plug", lambda: session, None, 2, None)
    assert session.closed == 2, "the trial opening and the session"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 7", "status 7: it said nothing"),
        ("echo no route >&2; exit 1", "status 1: no route"),
        ("", "status 0"),
    ],
)
def test_a_command_by_hand_that_fails_is_no_comparison(script: str, said: str) -> None:
    with pytest.raises(rows.MeasurementFailed, match=f"curl by hand: {said}"):
        cost.by_hand("curl", ["sh", "-c", script], 1, os.environ)


def test_a_record_says_how_long_it_took() -> None:
    record = "linewatt-ipmitool 1 1795256621990144|0100 3c c0 00 00|dcmi dc|end 1795256621993744"
    assert list(power_streams.spans_s([record])) == [pytest.approx(0.0036)]
    with pytest.raises(rows.MeasurementFailed, match="no stamps in"):
        list(power_streams.spans_s([record[:-20]]))


def test_microseconds_are_not_shown_as_nothing() -> None:
    (line,) = list(rows.table([rows.Measurement("x", (rows.Row("a", "s", (0.000017,)),), None, 1.0)]))[2:]
    assert line.split()[-2:] == ["0.000017", "s"]
