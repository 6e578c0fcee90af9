# SPDX-License-Identifier: Apache-2.0
"""The drivers ipmi and ipmitool at real BMC software: readings, and every way in which a BMC can fail.

ipmi_sim (OpenIPMI) is the BMC, ``ipmitool`` the independent reader. For cipher suite 17 and DCMI, which
ipmi_sim does not know, it is tests/lab/ipmi_server.py.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Stopwatch

from linewatt.errors import HostError, InvalidInput
from linewatt.features.lab.system import search_path
from linewatt.sensors.power.base import CALL_LIMIT_S, MeterRecord
from linewatt.sensors.power.ipmi.ipmitool import Ipmitool, IpmitoolConfig, command
from linewatt.sensors.power.ipmi.lan import Ipmi, IpmiConfig
from linewatt.sensors.power.ipmi.link import SILENCE_S

pytestmark = pytest.mark.skipif(
    not all(shutil.which(tool, path=search_path()) for tool in ("ipmi_sim", "ipmitool")),
    reason="needs ipmi_sim and ipmitool",
)

WHO: dict[str, Any] = {"user": "watch", "password_env": "BMC"}
CANARY = "canary-5d21"
RECORDS = Path(__file__).parents[1] / "captures" / "ipmi" / "openipmi-2.0.33-formats" / "records"
SERVER = Path(__file__).with_name("ipmi_server.py")
POLL_MS = 50
QUICK_S = 2.0
"""Long before any wait of the driver is over: it gives up after SILENCE_S."""

START_LIMIT_S = 60.0
"""for a program to answer or to show a value, where how soon is not what is tested"""
PING = bytes.fromhex("0600ff06 000011be 80000000")  # ASF 2.0, presence ping

# Name → number, units of one step, IPMI's unit, sensor type, entity
SENSORS = {
    "PSU1 Power In": (1, 4, 0x06, 0x0B, 0x0A),
    "PSU1 Power Out": (2, 4, 0x06, 0x0B, 0x0A),
    "CPU_Power": (3, 1, 0x06, 0x0B, 0x03),
    "Memory_Power": (4, 1, 0x06, 0x0B, 0x20),
    "FAN1": (5, 100, 0x12, 0x04, 0x1D),
    "Inlet Temp": (6, 1, 0x01, 0x01, 0x37),
}
COURSE = [
    {
        "PSU1 Power In": 240,
        "PSU1 Power Out": 220,
        "CPU_Power": 101,
        "Memory_Power": 17,
        "FAN1": 6200,
        "Inlet Temp": 24,
    },
    {
        "PSU1 Power In": 480,
        "PSU1 Power Out": 444,
        "CPU_Power": 203,
        "Memory_Power": 23,
        "FAN1": 9100,
        "Inlet Temp": 31,
    },
    {
        "PSU1 Power In": 84,
        "PSU1 Power Out": 72,
        "CPU_Power": 11,
        "Memory_Power": 9,
        "FAN1": 2500,
        "Inlet Temp": 18,
    },
]


def _tool(name: str) -> str:
    found = shutil.which(name, path=search_path())
    assert found
    return found


def _record(name: str, number: int, step: int, unit: int, kind: int, entity: int) -> str:
    """A full sensor record (IPMI 2.0, 43.1) in ipmi_sim's words."""
    text = name.encode()
    body = bytearray(43)
    body[:9] = bytes([0x20, 0, number, entity, 1, 0x7F, 0x40, kind, 1])
    body[16], body[19], body[20] = unit, step & 0xFF, step >> 8 << 6
    body[42] = 0xC0 | len(text)
    record = bytes([0, 0, 0x51, 1, len(body) + len(text), *body, *text])
    return " ".join(f"0x{byte:02x}" for byte in record)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Sim:
    """An ipmi_sim whose sensors read files."""

    def __init__(self, directory: Path, version: str = "2.0") -> None:
        self.directory = directory
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None
        (directory / "state").mkdir(parents=True)
        auths = [f"allowed_auths_{who} md5 straight" for who in ("user", "operator", "admin")]
        guid = ["guid a123456789abcdefa123456789abcdef"] if version == "2.0" else []  # none without it
        lan = ["startlan 1", f"addr 127.0.0.1 {self.port}", "priv_limit admin", *auths, *guid, "endlan"]
        users = [
            f'user 2 true "admin" "{CANARY}" admin 60 md5 straight',
            f'user 3 true "watch" "{CANARY}" user 60 md5 straight',
        ]
        self._write("lan.conf", ['name "bmc"', "set_working_mc 0x20", *lan, *users])
        commands = ["mc_setbmc 0x20", "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02"]
        for name, (number, step, unit, kind, entity) in SENSORS.items():
            place = directory / name.replace(" ", "_")
            place.write_text("0\n")
            commands += [
                f"main_sdr_add 0x20 {_record(name, number, step, unit, kind, entity)}",
                f'sensor_add 0x20 0 {number} {kind} 1 poll {POLL_MS} file "{place}" div={step} base=10',
                f"sensor_set_event_support 0x20 0 {number} enable scanning none {' '.join(['0' * 15] * 4)}",
            ]
        self._write("bmc.emu", [*commands, "mc_enable 0x20"])

    def _write(self, name: str, lines: list[str]) -> None:
        (self.directory / name).write_text("\n".join(lines) + "\n")

    def set(self, values: dict[str, int]) -> None:
        for name, value in values.items():
            place = self.directory / name.replace(" ", "_")
            fresh = place.with_suffix(".new")
            fresh.write_text(f"{value}\n")
            fresh.replace(place)

    def start(self) -> None:
        files = ["-c", "lan.conf", "-f", "bmc.emu", "-s", "state", "-n"]
        self.process = subprocess.Popen(
            [_tool("ipmi_sim"), *files],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=(self.directory / "log").open("ab"),
            stderr=subprocess.STDOUT,
        )
        wait_until(self._answers, START_LIMIT_S, "ipmi_sim to answer")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(0.1)
            asking.connect(("127.0.0.1", self.port))
            try:
                asking.send(PING)
                return bool(asking.recv(100))
            except OSError:
                return False

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def meter(self, **settings: object) -> Ipmi:
        own = {"address": "127.0.0.1", "port": self.port, "user": "watch", "password_env": "BMC", **settings}
        return Ipmi(IpmiConfig.model_validate(own))

    def ipmitool(self, suite: int = 3) -> list[str]:
        """How ipmitool reaches it, with the password from the environment."""
        reach = ["-H", "127.0.0.1", "-p", str(self.port), "-U", "watch", "-E", "-N", "1", "-R", "1"]
        return [_tool("ipmitool"), "-I", "lanplus", "-C", str(suite), "-L", "USER", *reach]

    def read_by_ipmitool(self) -> dict[str, float]:
        done = subprocess.run(
            [*self.ipmitool(), "sdr", "list", "full"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
            env={**os.environ, "IPMI_PASSWORD": CANARY},
        )
        rows = (line.split("|") for line in done.stdout.splitlines())
        return {name.strip(): float(said.split()[0]) for name, said, _ in rows}


def wait_until(there: Callable[[], bool], limit_s: float, what: str) -> None:
    end_s = time.monotonic() + limit_s
    while not there():
        assert time.monotonic() < end_s, f"waited {limit_s:g} s for {what}"
        time.sleep(0.02)


def took(what: Callable[[], object]) -> tuple[BaseException | None, float]:
    """What it raised, and how long it took."""
    watch = Stopwatch()
    try:
        what()
    except (HostError, InvalidInput) as error:
        return error, watch.took_s
    return None, watch.took_s


def given_up_after(what: Callable[[], object], words: str) -> float:
    """How long it took to give up; the error says the words, and for how long there was no answer."""
    begin_s = time.monotonic()
    error, seconds = took(what)
    whole_s = time.monotonic() - begin_s
    said = re.search(rf"{words} for (\d+\.\d) s; is the BMC up", str(error))
    assert said is not None, str(error)
    assert SILENCE_S <= float(said[1]) <= whole_s + 0.05, "it says how long it was in truth, to a tenth"
    return seconds


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Sim]:
    made = Sim(tmp_path / "bmc")
    made.set(COURSE[0])
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[int], int]]:
    """``server(suite)``: the port of a BMC with DCMI that speaks this cipher suite only."""
    started: list[subprocess.Popen[str]] = []

    def start(suite: int) -> int:
        port = _free_port()
        process = subprocess.Popen(
            [sys.executable, str(SERVER), str(port), str(suite), str(RECORDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(CANARY + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        return port

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_readings_equal_what_ipmitool_reads_at_the_same_moment(sim: Sim) -> None:
    session = sim.meter().open(CANARY)
    for values in COURSE:
        sim.set(values)
        end_s = time.monotonic() + START_LIMIT_S
        while session.read() != values:
            assert time.monotonic() < end_s, f"the BMC does not show {values}"
        by_ipmitool = sim.read_by_ipmitool()
        assert session.read() == {name: by_ipmitool[name] for name in session.channels} == values
    session.close()


def test_the_default_choice_is_what_names_say(sim: Sim) -> None:
    session = sim.meter().open(CANARY)
    assert {name: channel.scope for name, channel in session.channels.items()} == {
        "PSU1 Power In": "psu-in:PSU1",
        "PSU1 Power Out": "psu-out:PSU1",
        "CPU_Power": "cpu:CPU",
        "Memory_Power": "memory:Memory",
        "FAN1": "fan:FAN1",
        "Inlet Temp": "temperature:Inlet Temp",
    }
    assert session.channels["PSU1 Power In"].step == 4
    session.close()


def test_a_reading_at_its_limit_is_missing_with_the_reason(sim: Sim) -> None:
    """The BMC cuts silently what a byte cannot hold, and says FFh for a sensor without a reading, too."""
    session = sim.meter(sensors=["PSU1 Power In"]).open(CANARY)
    sim.set({"PSU1 Power In": 2000})
    wait_until(lambda: session.read() == {"PSU1 Power In": None}, START_LIMIT_S, "a reading of FFh")
    reason = "the BMC returned FFh: no reading, or more than it can show (1020 W)"
    assert session.reasons == {"PSU1 Power In": reason}
    session.close()


@pytest.mark.parametrize("suite", ["auto", 3])
def test_a_suite_that_the_bmc_has_is_taken(sim: Sim, suite: object) -> None:
    session = sim.meter(cipher_suite=suite).open(CANARY)
    assert session.read(["FAN1"]) == {"FAN1": COURSE[0]["FAN1"]}
    session.close()


def test_a_suite_that_the_bmc_has_not_is_refused_in_words(sim: Sim) -> None:
    error, seconds = took(lambda: sim.meter(cipher_suite=17).open(CANARY))
    assert "algorithm; set cipher_suite to one that the BMC allows" in str(error)
    assert seconds < QUICK_S


@pytest.mark.parametrize(
    ("settings", "password", "words"),
    [
        ({}, "wrong" + CANARY, "login as 'watch' failed: Incorrect password provided; check the password"),
        ({"user": "nobody"}, CANARY, "login as 'nobody' failed: Unauthorized name in RAKP2; check user"),
        (
            {"privilege": "administrator", "user": "admin", "sensors": ["PSU7"]},
            CANARY,
            "no sensor is called 'PSU7'",
        ),
        ({"dcmi": True}, CANARY, "no DCMI power here"),
        ({}, CANARY * 3, "the password has more than 20 bytes"),
    ],
)
def test_what_is_refused_is_refused_at_once_in_a_clear_line(
    sim: Sim, settings: dict[str, object], password: str, words: str
) -> None:
    error, seconds = took(lambda: sim.meter(**settings).open(password))
    assert words in str(error)
    assert f"127.0.0.1:{sim.port}" in str(error)
    assert CANARY not in str(error)
    assert seconds < QUICK_S
    session = sim.meter().open(CANARY)
    assert session.read(["CPU_Power"]) == {"CPU_Power": COURSE[0]["CPU_Power"]}
    session.close()


def test_a_bmc_of_ipmi_1_5_is_told_apart(tmp_path: Path) -> None:
    old = Sim(tmp_path / "old", version="1.5")
    try:
        old.start()
        error, seconds = took(lambda: old.meter().open(CANARY))
    finally:
        old.stop()
    assert "it speaks IPMI 1.5 only, and 2.0 is needed" in str(error)
    assert seconds < QUICK_S


def test_a_closed_port_is_told_at_once() -> None:
    cfg = IpmiConfig(address="127.0.0.1", port=_free_port(), **WHO)
    error, seconds = took(lambda: Ipmi(cfg).open(CANARY))
    assert "connection refused; is it up, and is IPMI over LAN on at this port?" in str(error)
    assert seconds < QUICK_S


def test_a_name_that_does_not_exist_is_told() -> None:
    error, seconds = took(lambda: Ipmi(IpmiConfig(address="bmc.invalid", **WHO)).open(CANARY))
    assert "bmc.invalid:623: cannot be resolved" in str(error)
    assert seconds < CALL_LIMIT_S


def test_an_address_that_never_answers_is_given_up_in_time() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        cfg = IpmiConfig(address="127.0.0.1", port=silent.getsockname()[1], **WHO)
        assert given_up_after(lambda: Ipmi(cfg).open(CANARY), "no answer to the IPMI login") < CALL_LIMIT_S


def test_a_bmc_that_hangs_is_given_up_in_time_and_read_again_when_it_is_back(sim: Sim) -> None:
    meter = sim.meter()
    session = meter.open(CANARY)
    sim.signal(signal.SIGSTOP)
    assert given_up_after(session.read, "no answer to IPMI command 0x04 0x2d") < CALL_LIMIT_S
    assert took(session.close)[1] < QUICK_S
    assert took(lambda: meter.open(CANARY))[1] < CALL_LIMIT_S
    sim.signal(signal.SIGCONT)
    again = meter.open(CANARY)
    assert again.read() == COURSE[0]
    again.close()


def test_a_bmc_that_ends_in_a_session_is_told_at_once_and_read_again_when_it_is_back(sim: Sim) -> None:
    meter = sim.meter()
    session = meter.open(CANARY)
    sim.stop()
    error, seconds = took(session.read)
    assert isinstance(error, HostError)
    assert "connection refused" in str(error)
    assert seconds < QUICK_S
    session.close()
    sim.start()
    # sensors are polled from the start on
    again = meter.open(CANARY)
    wait_until(lambda: again.read() == COURSE[0], START_LIMIT_S, "the BMC to have read its sensors")
    again.close()


def test_a_bmc_that_forgot_the_session_is_given_up_and_a_new_session_works(sim: Sim) -> None:
    """It was restarted between two readings: the port is open, and nobody answers to this session."""
    meter = sim.meter()
    session = meter.open(CANARY)
    sim.stop()
    sim.start()
    error, seconds = took(session.read)
    assert isinstance(error, HostError)
    assert seconds < CALL_LIMIT_S
    session.close()
    again = meter.open(CANARY)
    wait_until(lambda: again.read() == COURSE[0], START_LIMIT_S, "the BMC to have read its sensors")
    again.close()


@pytest.mark.parametrize("lost", [{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9, 20, 31}])
def test_lost_packets_are_asked_for_again(sim: Sim, lost: set[int]) -> None:
    """Requests and answers, counted together: 1 to 8 are the login."""
    with Lossy(sim.port, lost) as lossy:
        session = sim.meter(port=lossy.port).open(CANARY)
        assert session.read(["CPU_Power"]) == {"CPU_Power": COURSE[0]["CPU_Power"]}
        assert lossy.count > max(lost)
        session.close()


@pytest.mark.parametrize(
    ("damaged", "damage"),
    [
        ({12, 24, 36, 48}, lambda packet: packet[:30] + bytes([packet[30] ^ 0x5A]) + packet[31:]),
        ({2, 13}, lambda packet: packet[:24]),  # 2 is the first answer, which nothing protects
        ({2, 20}, lambda packet: packet[:14] + b"\xff" * 40),
        ({4, 20}, lambda packet: b""),
    ],
    ids=["flipped", "cut", "overwritten", "emptied"],
)
def test_damaged_packets_are_as_good_as_lost(
    sim: Sim, damaged: set[int], damage: Callable[[bytes], bytes]
) -> None:
    with Lossy(sim.port, damaged, damage) as lossy:
        session = sim.meter(port=lossy.port).open(CANARY)
        assert session.read(["CPU_Power"]) == {"CPU_Power": COURSE[0]["CPU_Power"]}
        assert lossy.count > max(damaged)
        session.close()


def test_many_sessions_in_threads_disturb_each_other_in_nothing(sim: Sim) -> None:
    """Two of them are with BMCs that hang; all others are read meanwhile."""
    threads, silent = 24, [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for hung in silent:
        hung.bind(("127.0.0.1", 0))
    ready = threading.Barrier(threads)
    outcomes: dict[int, object] = {}
    longest_s = [0.0] * threads

    def one(number: int) -> None:
        port = silent[number].getsockname()[1] if number < len(silent) else sim.port
        ready.wait(START_LIMIT_S)
        try:
            session = sim.meter(port=port).open(CANARY)
            for _ in range(10):
                watch = Stopwatch()
                outcomes[number] = session.read()
                longest_s[number] = max(longest_s[number], watch.took_s)
            session.close()
        except HostError as error:
            outcomes[number] = error

    workers = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(START_LIMIT_S)
    for hung in silent:
        hung.close()
    assert all(isinstance(outcomes[number], HostError) for number in range(len(silent)))
    assert [outcomes[number] for number in range(2, threads)] == [COURSE[0]] * (threads - 2)
    assert max(longest_s) < SILENCE_S


def test_the_password_is_in_no_message_record_or_argument(sim: Sim) -> None:
    meter = sim.meter(password_env="LINEWATT_TEST_PASSWORD")  # noqa: S106  a name of a variable
    session = meter.open(CANARY)
    begin_s = time.time()
    told = [MeterRecord(begin_s, time.time(), session.read(), session.reasons).line(), repr(session.channels)]
    sim.stop()
    for attempt in (session.read, lambda: meter.open(CANARY), lambda: sim.meter(user="nobody").open(CANARY)):
        error, _ = took(attempt)
        while error is not None:
            told += [str(error), repr(error)]
            error = error.__cause__ or error.__context__
    session.close()
    told += [repr(meter), repr(session), repr(meter.__dict__), *_processes()]
    assert len(told) > 8
    assert not any(CANARY in text for text in told)


@pytest.mark.parametrize("suite", [3, 17])
def test_dcmi_and_both_suites(server: Callable[[int], int], suite: int) -> None:
    """The independent reader first: what it reads, the server says as IPMI wants it said."""
    port = server(suite)
    reach = ["-H", "127.0.0.1", "-p", str(port), "-U", "watch", "-E", "-N", "1", "-R", "1"]
    done = subprocess.run(
        [
            _tool("ipmitool"),
            "-I",
            "lanplus",
            "-C",
            str(suite),
            "-L",
            "USER",
            *reach,
            "dcmi",
            "power",
            "reading",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        env={**os.environ, "IPMI_PASSWORD": CANARY},
    )
    assert "Instantaneous power reading:                   241 Watts" in done.stdout
    for wanted in (suite, "auto"):
        cfg = IpmiConfig.model_validate(
            {
                "address": "127.0.0.1",
                "port": port,
                "user": "watch",
                "password_env": "BMC",
                "cipher_suite": wanted,
            }
        )
        session = Ipmi(cfg).open(CANARY)
        assert session.read(["dcmi", "PSU1 Power In"]) == {"dcmi": 241, "PSU1 Power In": 240}
        assert session.channels["dcmi"].scope == "system:DCMI"
        session.close()
    other = IpmiConfig.model_validate(
        {
            "address": "127.0.0.1",
            "port": port,
            "user": "watch",
            "password_env": "BMC",
            "cipher_suite": 20 - suite,
        }
    )
    error, seconds = took(lambda: Ipmi(other).open(CANARY))
    assert "set cipher_suite to one that the BMC allows" in str(error)
    assert seconds < QUICK_S


def test_ipmitool_on_the_host_reads_the_same(sim: Sim) -> None:
    """The stream of the driver ipmitool, with the LAN in place of the /dev/ipmi0 that there is not.

    Each temperature would be one command more: it is read where it is named.
    """
    cfg = IpmitoolConfig(interval_s=0.5)
    with stream(sim, cfg) as process:
        for course in COURSE:
            sim.set(course)
            values = {name: value for name, value in course.items() if name != "Inlet Temp"}
            sensor = Ipmitool(cfg)
            end_s = time.monotonic() + START_LIMIT_S
            while sensor.parse(_line(process)) != values:
                assert time.monotonic() < end_s, f"the stream does not show {values}"
            by_ipmitool = sim.read_by_ipmitool()
            assert {name: by_ipmitool[name] for name in values} == values
            assert sensor.channel("PSU1 Power In").step == 4


def test_ipmitool_on_the_host_goes_on_after_the_bmc_was_gone(sim: Sim) -> None:
    cfg = IpmitoolConfig(interval_s=0.5)
    sensor = Ipmitool(cfg)
    with stream(sim, cfg) as process:
        wait_until(lambda: "|wait " not in _line(process), START_LIMIT_S, "the sensor records to be read")
        assert sensor.parse(_line(process))
        sim.signal(signal.SIGSTOP)
        wait_until(
            lambda: "|error no answer in 3 s|" in _line(process), START_LIMIT_S, "the stream to say so"
        )
        sim.signal(signal.SIGCONT)
        wait_until(lambda: "|error " not in _line(process), START_LIMIT_S, "readings")


class stream:  # noqa: N801  a context, read like a function
    """The process of the driver ipmitool at a BMC."""

    def __init__(self, sim: Sim, cfg: IpmitoolConfig) -> None:
        self._argv = command(cfg, sim.ipmitool())

    def __enter__(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            self._argv,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "IPMI_PASSWORD": CANARY},
        )
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class Lossy:
    """A way to a BMC on which some packets are lost, or damaged."""

    def __init__(self, port: int, lost: set[int], damage: Callable[[bytes], bytes] | None = None) -> None:
        self._lost, self._damage, self.count = lost, damage, 0
        self._front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._front.bind(("127.0.0.1", 0))
        self._back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._back.connect(("127.0.0.1", port))
        self.port: int = self._front.getsockname()[1]
        self._client: tuple[str, int] | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Lossy:
        for source, carry in ((self._front, self._there), (self._back, self._back_again)):
            source.settimeout(0.1)
            threading.Thread(target=self._run, args=(source, carry), daemon=True).start()
        return self

    def _run(self, source: socket.socket, carry: Callable[[bytes], object]) -> None:
        while not self._ended.is_set():
            try:
                packet, sender = source.recvfrom(3000)
            except OSError:
                continue
            if source is self._front:
                self._client = sender
            self.count += 1
            if self.count not in self._lost:
                carry(packet)
            elif self._damage is not None:
                carry(self._damage(packet))

    def _there(self, packet: bytes) -> None:
        self._back.send(packet)

    def _back_again(self, packet: bytes) -> None:
        assert self._client is not None
        self._front.sendto(packet, self._client)

    def __exit__(self, *_: object) -> None:
        self._ended.set()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _processes() -> list[str]:
    """Arguments and environment of this process and of its children, as anybody's `ps` may show them."""
    own = os.getpid()
    told = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if own in (int(path.name), parent):
                told += [
                    (path / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ")
                ]
        except OSError:
            continue
    return told
