# SPDX-License-Identifier: Apache-2.0
"""ipmitool: captured records (tests/captures/ipmitool), and the script with a tool that answers from them."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from linewatt.errors import InvalidInput, NotReady, ParseError
from linewatt.hosts.base import HostSpec
from linewatt.sensors.power.ipmi.ipmitool import Ipmitool, IpmitoolConfig, command

ROOT = Path(__file__).parents[2] / "captures"
CAPTURES = ROOT / "ipmitool"
CASES = sorted(path.name for path in CAPTURES.iterdir())
RECORDS = ROOT / "ipmi" / "openipmi-2.0.33-formats" / "records"
READINGS = ROOT / "ipmi" / "openipmi-2.0.33-formats" / "readings"
HOST = HostSpec("dut", "local", "eth0")
CFG = IpmitoolConfig(interval_s=0.5)
SENSOR = Ipmitool(CFG)
pytestmark = pytest.mark.skipif(
    shutil.which("stdbuf") is None or shutil.which("bash") is None,
    reason="bash and coreutils are not installed",
)

# Speaks as `ipmitool exec /dev/stdin` does: rows of 16 bytes, and one line a failed request.
TOOL = r"""
import sys, time
records = [bytes.fromhex(line) for line in open(sys.argv[1])]
readings = {line[:2]: line[3:].rstrip() for line in open(sys.argv[2])}
most, slow, oddity = int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
device = oddity == "device"
reserved, asked = 1, 0

def refuse(code):
    print("Unable to send RAW command (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d rsp=%s): Said" % code)

def show(data):
    for at in range(0, len(data), 16):
        print("".join(" %02x" % byte for byte in data[at : at + 16]))

print("a word of warning")
for line in open(sys.argv[-1]):
    words = line.split()
    if line.startswith("set hostname"):
        print("Set session hostname to " + words[2])
    elif words[:2] == ["raw", "0x06"]:
        show(bytes([0x20, 0x81, 2, 0, 2, 0x01 if device else 0x9f, 0, 0, 0, 0, 0]))
    elif words[:1] == ["raw"] and words[2] == "0x22":
        reserved += 1
        show(reserved.to_bytes(2, "little"))
    elif words[:1] == ["raw"] and words[1:3] == ["0x04", "0x21"] * device + ["0x0a", "0x23"] * (not device):
        time.sleep(slow)
        low, high, id_low, id_high, offset, size = (int(word, 0) for word in words[3:])
        asked += 1
        if oddity == "storm" or oddity == "rival" and asked % 9 == 0:
            reserved += 1
        if size > most:
            refuse("0xca")
        elif offset and low | high << 8 != reserved:
            refuse("0xc5")
        else:
            number = id_low | id_high << 8
            following = number + 1 if number + 1 < len(records) else 0xFFFF
            show(following.to_bytes(2, "little") + records[number][offset : offset + size])
    elif words[:3] == ["raw", "0x04", "0x2d"]:
        if oddity == "noise":
            print("Get HPM.x Capabilities request failed, compcode = d4")
        said = readings[words[3][2:]]
        print(said)
    elif words[:2] == ["raw", "0x2c"]:
        if oddity == "dcmi":
            show(bytes.fromhex("dcf000c8002c01e60000000000e803000040"))
        else:
            refuse("0xc1")
    sys.stdout.flush()
"""


def expected_of(case: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    assert expected["origin"]
    return expected


def sensor_of(expected: dict[str, Any]) -> Ipmitool:
    wanted = expected["sensors"]
    return Ipmitool(IpmitoolConfig(sensors=None if wanted is None else tuple(wanted)))


def stream(tool: list[str], count: int, cfg: IpmitoolConfig = CFG, *, waits: bool = False) -> list[str]:
    """The first records of the script, which is then terminated; its tool ends by itself.

    Where other work has the CPUs, reading the sensor records may take longer than an interval, and the script
    says so first; only ``waits`` has those, too.
    """
    argv = command(cfg, tool)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        told = (line.rstrip("\n") for line in process.stdout if waits or "|wait still reading" not in line)
        lines = list(itertools.islice(told, count))
        process.terminate()
    return lines


@pytest.fixture
def tool(tmp_path: Path) -> Any:
    """``tool(most=32, slow=0, oddity="")``: the words of a command that answers from captures."""
    script = tmp_path / "tool.py"
    script.write_text(TOOL)

    def words(most: int = 32, slow: float = 0, oddity: str = "-") -> list[str]:
        return [sys.executable, str(script), str(RECORDS), str(READINGS), str(most), str(slow), oddity]

    return words


def test_channels_are_those_of_the_bmc() -> None:
    sensor = Ipmitool(IpmitoolConfig(simulated=True))
    (line, _) = (CAPTURES / "1.8.19-formats" / "output").read_text().splitlines()
    with pytest.raises(ParseError, match="no record with a sensor 'CPU_Power' was read"):
        sensor.channel("CPU_Power")
    channels = {name: sensor.channel(name) for name in sensor.parse(line)}
    assert channels["PSU1 Power In"].scope == "psu-in:PSU1"
    assert (channels["CPU_Power"].step, channels["CPU_Power"].maximum) == (2.5, 637.5)
    assert {channel.provenance for channel in channels.values()} == {"simulated"}


@pytest.mark.parametrize(
    "record",
    [
        "",
        "linewatt-ipmitool",
        "linewatt-ipmitool 2 1|dcmi dc|end 2",
        "linewatt-ipmitool 1 1|end 2",
        "linewatt-ipmitool 1 1|dcmi dc f0",
        "linewatt-ipmitool 1 1|zz 3c c0|end 2",
        "linewatt-ipmitool 1 1|0100 3c c0|end 2",
        "linewatt-ipmitool 1 1|wait still reading the sensor records of the BMC|end 2",
    ],
)
def test_a_record_without_readings_is_a_problem(record: str) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(record)


@given(st.text(alphabet="linewatt-ipmo 0123456789abcdef|\x00ü", max_size=200))
def test_no_text_raises_anything_else(text: str) -> None:
    for record in (text, f"linewatt-ipmitool 1 1|{text}|end 2"):
        try:
            values = SENSOR.parse(record)
        except (ParseError, InvalidInput):
            continue
        assert all(SENSOR.channel(name) for name in values)


def test_an_answer_that_is_no_reading_is_missing_with_the_tools_words() -> None:
    line = (CAPTURES / "1.8.19-formats" / "output").read_text().splitlines()[0]
    for damaged, why in (
        ("", "ipmitool says: nothing"),
        ("3c", "cut off"),
        ("Timeout", "ipmitool says: Timeout"),
    ):
        record = line.replace("3c c0 00 00", damaged, 1)
        assert SENSOR.parse(record)["PSU1 Power In"] is None
        assert why in SENSOR.reasons(record)["PSU1 Power In"]


@pytest.mark.parametrize("oddity", ["-", "rival", "device"])
@pytest.mark.parametrize("most", [32, 16, 8])
def test_records_are_read_in_parts_that_the_bmc_takes(tool: Any, most: int, oddity: str) -> None:
    (line,) = stream(tool(most, oddity=oddity), 1)
    (captured, _) = (CAPTURES / "1.8.19-formats" / "output").read_text().splitlines()
    values = SENSOR.parse(captured)
    assert values.pop("PSU1 Power Out") is None, "FFh: nothing is there, so it is left out when it is opened"
    assert SENSOR.parse(line) == values


def test_dcmi_is_read_where_it_is_there(tool: Any) -> None:
    (line,) = stream(tool(oddity="dcmi"), 1)
    values = SENSOR.parse(line)
    assert values["dcmi"] == 240
    assert SENSOR.channel("dcmi").scope == "system:DCMI"
    assert "Sys Power" not in values
    (line,) = stream(tool(oddity="dcmi"), 1, IpmitoolConfig(dcmi=False))
    assert "dcmi" not in SENSOR.parse(line)


def test_dcmi_that_must_be_there_and_is_not_is_told(tool: Any) -> None:
    (line,) = stream(tool(), 1, IpmitoolConfig(dcmi=True))
    with pytest.raises(InvalidInput, match="no DCMI power here"):
        SENSOR.parse(line)


@pytest.mark.parametrize(
    ("sensors", "said"),
    [
        (("PSU9 Power In",), "no sensor is called 'PSU9 Power In'; there are PSU1 Power In, "),
        (("Current",), "2 sensors are called 'Current': 94h, 95h; name the one you mean by its number"),
    ],
    ids=["no such sensor", "two sensors"],
)
def test_a_choice_that_cannot_be_is_refused_and_no_mere_problem(
    tool: Any, sensors: tuple[str, ...], said: str
) -> None:
    cfg = CFG.model_copy(update={"sensors": sensors})
    (line,) = stream(tool(), 1, cfg)
    with pytest.raises(InvalidInput) as caught:
        Ipmitool(cfg).parse(line)
    assert said in str(caught.value)


def test_words_of_warning_are_no_readings(tool: Any) -> None:
    (line,) = stream(tool(oddity="noise"), 1)
    assert set(SENSOR.parse(line).values()) == {None}
    assert "Get HPM.x Capabilities" in SENSOR.reasons(line)["CPU_Power"]


def test_a_bmc_that_refuses_small_parts_is_told_of(tool: Any) -> None:
    (line,) = stream(tool(most=7), 1)
    with pytest.raises(ParseError, match=r"its sensor records cannot be read: .*rsp=0xca"):
        SENSOR.parse(line)


def test_a_reservation_that_is_always_lost_ends_the_reading(tool: Any) -> None:
    (line,) = stream(tool(oddity="storm"), 1)
    with pytest.raises(ParseError, match=r"its sensor records cannot be read"):
        SENSOR.parse(line)


def test_while_records_are_read_slowly_the_stream_goes_on(tool: Any) -> None:
    """Records of a real BMC can take many seconds; nobody must take that for a dead stream."""
    (first,) = stream(tool(slow=0.02), 1, waits=True)
    with pytest.raises(NotReady, match="still reading the sensor records"):
        SENSOR.parse(first)
    (reading,) = stream(tool(slow=0.02), 1)
    assert SENSOR.parse(reading)["CPU_Power"] == 107.5


def test_the_tool_ends_with_the_script(tool: Any, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    words = ["bash", "-c", 'echo $$ >"$0"; exec "$@"', str(note), *tool()]
    argv = command(CFG, words)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    pid = int(note.read_text())
    end_s = time.monotonic() + 60
    while _runs(pid):
        assert time.monotonic() < end_s, "waited 60 s for the tool to end"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_of_the_settings_becomes_script() -> None:
    plain, odd = (
        SENSOR.command(CFG.model_copy(update={"sensors": names}), HOST)
        for names in (("A",), ("$(id)", "a b"))
    )
    assert plain[:3] == odd[:3]
    assert odd[-2:] == ["$(id)", "a b"]
    assert odd[odd.index("ipmitool") + 1 :][:4] == ["-I", "open", "-d", "0"]


@pytest.mark.parametrize("name", ["$(touch canary)", "`touch canary`", "a; touch canary", "%n%s", "-x", "\\"])
def test_a_hostile_name_is_only_a_name(
    tool: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = stream(tool(), 1, CFG.model_copy(update={"sensors": (name,)}))
    with pytest.raises(InvalidInput, match="no sensor is called"):
        SENSOR.parse(line)
    assert not os.path.lexists(tmp_path / "canary")


@pytest.mark.parametrize("settings", [{"interval_s": 0.1}, {"device": -1}, {"sensors": []}, {"address": "x"}])
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IpmitoolConfig.model_validate(settings)


def test_it_needs_root_on_the_host() -> None:
    assert Ipmitool.needs_root
    assert SENSOR.environment() == {"LC_ALL": "C"}
