# SPDX-License-Identifier: Apache-2.0
"""Every capture of a tool or a device is read as its folder says: a new one is a folder and no test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.captured import Capture, captures, channels_of, must_agree
from tests.http_server import send, serving
from tests.modbus_server import Meter
from tests.redfish_server import capture as resources_of
from tests.redfish_server import redfish
from tests.stream_helpers import cut_records, needs_bash, records

from linewatt.errors import InvalidInput, LinewattError, ParseError
from linewatt.loads.base import LoadEnd
from linewatt.loads.iperf3.load import Iperf3
from linewatt.loads.sockperf import LOAD as SOCKPERF
from linewatt.sensors import cpufreq, interrupts, qdisc
from linewatt.sensors.base import Records
from linewatt.sensors.power import hwmon, rapl
from linewatt.sensors.power.command import Command, CommandConfig
from linewatt.sensors.power.http import HttpConfig, HttpMeter
from linewatt.sensors.power.ipmi.ipmitool import Ipmitool, IpmitoolConfig
from linewatt.sensors.power.modbus import Modbus, ModbusConfig
from linewatt.sensors.power.redfish.meter import Redfish, RedfishConfig

LONG_S = 60
SUMS = ("transferred_bytes", "retransmits", "packets", "lost_packets")


def of_tree(sensor: Records, argv: list[str]) -> dict[str, Any]:
    (record,) = records(argv, 1)
    return {"values": sensor.parse(record), "reasons": sorted(sensor.reasons(record))}


def of_cpufreq(capture: Capture) -> dict[str, Any]:
    return of_tree(cpufreq.SENSOR, cpufreq.command((), LONG_S, str(capture.folder / "root")))


def of_rapl(capture: Capture) -> dict[str, Any]:
    sensor: Any = rapl.Rapl(rapl.RaplConfig())
    return of_tree(sensor, rapl.command(LONG_S, str(capture.folder / "root")))


def of_hwmon(capture: Capture) -> dict[str, Any]:
    cfg = hwmon.HwmonConfig(interval_s=LONG_S, **capture.expected.get("settings", {}))
    sensor: Any = hwmon.Hwmon(cfg)
    made = of_tree(sensor, hwmon.command(cfg, str(capture.folder / "root")))
    return made | {"scopes": {name: sensor.channel(name).scope for name in made["values"]}}


def of_interrupts(capture: Capture) -> dict[str, Any]:
    argv = interrupts.command("eth0", LONG_S, str(capture.folder / "root"))
    groups: dict[str, Any] = {}
    for name, value in of_tree(interrupts.SENSOR, argv)["values"].items():
        group, _, counter = name.partition(".")
        groups.setdefault(group, {})[counter] = value
        assert interrupts.SENSOR.channel(name).kind == "counter"
    return groups


def of_record(sensor: Any, record: str, refusal: type[LinewattError], *parts: str) -> dict[str, Any]:
    """What is made of one record, or why nothing is."""
    try:
        values = sensor.parse(record)
    except refusal as error:
        return {"problem": str(error).replace("‘", "'").replace("’", "'")}
    return {"values": values, **{part: getattr(sensor, part)(record) for part in parts}}


def of_qdisc(capture: Capture) -> dict[str, Any]:
    made = [of_record(qdisc.SENSOR, record, ParseError) for record in capture.text().splitlines()]
    for name in made[0]["values"]:
        assert qdisc.SENSOR.channel(name).kind == "counter"
    return {"records": made}


def of_command(capture: Capture) -> dict[str, Any]:
    sensor: Any = Command(CommandConfig.model_validate(capture.expected["settings"]))
    lines = cut_records(sensor, capture.text("stdout.txt").splitlines())
    made = [of_record(sensor, line, LinewattError, "reasons", "time_s") for line in lines]
    return {
        "records": [one | {"reasons": sorted(one["reasons"])} if "values" in one else one for one in made]
    }


def of_ipmitool(capture: Capture) -> dict[str, Any]:
    wanted, refused = capture.expected["sensors"], capture.expected.get("refused", False)
    sensor = Ipmitool(IpmitoolConfig(sensors=None if wanted is None else tuple(wanted)))
    lines = capture.text().splitlines()
    assert all(map(sensor.ends_record, lines))
    made = [of_record(sensor, line, InvalidInput if refused else ParseError, "reasons") for line in lines]
    assert all(one["problem"].startswith("ipmitool: ") for one in made if "problem" in one)
    return {"records": made}


def of_meter(meter: Any, password: str | None = None) -> dict[str, Any]:
    """What it is and what it says; why it cannot be opened."""
    try:
        session = meter.open(password)
    except LinewattError as error:
        return {"error": str(error)}
    channels = channels_of(session)
    session.close()
    return {"channels": channels} | ({"reasons": session.reasons} if session.reasons else {})


def of_http(capture: Capture) -> dict[str, Any]:
    expected, asked = capture.expected, list[str]()

    def answer(handler: Any, method: str) -> None:
        asked.append(f"{method} {handler.path}")
        send(handler, 200, capture.json("answer.json"))

    with serving(answer) as url:
        where: dict[str, Any] = {"address": "127.0.0.1", "port": int(url.rpartition(":")[2])}
        if "channels" in expected["settings"]:
            where = {"url": url + expected["request"]}
        made = of_meter(HttpMeter(HttpConfig(**where, **expected["settings"])))
    assert asked == [f"GET {expected['request']}"] * (1 if "error" in made else 2)
    return made


def of_modbus(capture: Capture) -> dict[str, Any]:
    with Meter(capture.json("registers.json")) as meter:
        where: dict[str, Any] = {"address": "127.0.0.1", "port": meter.port}
        return of_meter(Modbus(ModbusConfig(**where, **capture.expected["settings"])))


def of_redfish(capture: Capture) -> dict[str, Any]:
    with redfish(resources_of(capture.folder)) as server:
        login: dict[str, Any] = {"url": server.url, "user": "admin", "password_env": "BMC_PASSWORD"}
        made = of_meter(Redfish(RedfishConfig(**login, **capture.expected["settings"])), "correct horse")
    for channel in made.get("channels", {}).values():
        del channel["step"]  # of these, expected says none
    return made


def of_ends(capture: Capture, read: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
    """What both ends of a load said, as far as they were captured."""
    made: dict[str, Any] = {}
    texts = {
        path.stem: path.read_text() for path in capture.folder.iterdir() if path.stem in ("client", "server")
    }
    for end, text in texts.items():
        try:
            made[end] = read(text, texts.get("server" if end == "client" else "client", ""))
        except ParseError as error:
            made[end] = {"error": str(error)}
    return made


def total(end: LoadEnd, name: str) -> Any:
    readings = [getattr(interval, name) for interval in end.intervals]
    return None if None in readings else sum(readings)


def of_iperf3(capture: Capture) -> dict[str, Any]:
    def read(text: str, _: str) -> dict[str, Any]:
        end = Iperf3().parse(text)
        same = ("is_sender", "version", "duration_s", "out_of_order_packets", "congestion")
        return {
            **{name: getattr(end, name) for name in same},
            **{name: total(end, name) for name in SUMS},
            "intervals": len(end.intervals),
            "cpu_percent": None if end.cpu_cores is None else end.cpu_cores * 100,
        }

    return of_ends(capture, read)


def of_sockperf(capture: Capture) -> dict[str, Any]:
    argv, origin = capture.expected["argv"], capture.expected["origin"]
    assert origin.startswith("sockperf 3.7")

    def read(text: str, other: str) -> dict[str, Any]:
        end = SOCKPERF.parse(text, argv, other)
        (interval,) = end.intervals
        same = (
            "is_sender",
            "version",
            "duration_s",
            "out_of_order_packets",
            "duplicate_packets",
            "latency_s",
        )
        return {
            **{name: getattr(end, name) for name in same},
            **{name: total(end, name) for name in SUMS if name != "retransmits"},
            "interval": [interval.start_s, interval.end_s],
        }

    return of_ends(capture, read)


READERS: Mapping[str, Callable[[Capture], dict[str, Any]]] = {
    "command": of_command,
    "cpufreq": of_cpufreq,
    "http": of_http,
    "hwmon": of_hwmon,
    "interrupts": of_interrupts,
    "iperf3": of_iperf3,
    "ipmitool": of_ipmitool,
    "modbus": of_modbus,
    "qdisc": of_qdisc,
    "rapl": of_rapl,
    "redfish": of_redfish,
    "sockperf": of_sockperf,
}
ASKED = ("origin", "settings", "request", "sensors", "refused", "argv")
"""of what is expected: where it is from and what was asked, not what is made of it"""
ROUNDED = ("iperf3", "ipmitool", "sockperf")
"""what is expected of these was summed up by hand, or by their tools"""


@needs_bash
@pytest.mark.parametrize(
    ("kind", "capture"),
    [
        pytest.param(kind, capture, id=f"{kind}-{capture.folder.name}")
        for kind in READERS
        for capture in captures(kind)
    ],
)
def test_a_capture_is_read_as_its_folder_says(kind: str, capture: Capture) -> None:
    expected, made = capture.expected, READERS[kind](capture)
    assert expected["origin"]
    wanted = {name: part for name, part in expected.items() if name not in ASKED}
    must_agree(made, wanted, exactly=kind not in ROUNDED)
