# SPDX-License-Identifier: Apache-2.0
"""BMCs of lab hosts as an administrator has them: asked with ipmitool over the management network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests import forked
from tests.lab.test_lab import Parts, inside, linewatt, output, until

from linewatt.errors import InvalidInput, LabError
from linewatt.features.lab import api as lab
from linewatt.features.lab import bmc, bmc_recipe, feeder, system
from linewatt.features.lab.bmc_recipe import PORT, SENSORS, sensor_record
from linewatt.features.lab.power_model import CPU_IDLE_W, CPU_MAX_W, FAN_MAX_RPM
from linewatt.features.lab.state import ROOT

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not all(shutil.which(tool, path=system.search_path()) for tool in ("ipmi_sim", "ipmitool")),
        reason="needs ipmi_sim and ipmitool",
    ),
]

MANY = 40


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """A lab name for one test, which is taken down whatever the test did."""
    its = f"t{os.getpid()}-b{abs(hash(request.node.name)) % 1000}"
    yield its
    lab.down(its)


def source(one: lab.Lab, host: str) -> dict[str, Any]:
    """What the inventory says of a host's BMC."""
    variables = YAML(typ="safe").load(one.inventory.read_text())["all"]["hosts"][host]
    found: dict[str, Any] = variables["linewatt_power"]["bmc"]
    return found


def ipmitool(one: lab.Lab, host: str, *words: str, password_file: Path | None = None) -> list[str]:
    """With nothing but what the inventory says."""
    its = source(one, host)
    return [
        *("ipmitool", "-I", "lanplus", "-N", "2", "-R", "3", "-C", str(its["cipher_suite"])),
        *("-H", its["address"], "-p", str(its["port"]), "-U", its["user"]),
        *("-f", str(password_file or its["password_file"]), *words),
    ]


def readings(one: lab.Lab, host: str) -> dict[str, str]:
    """Sensor → its reading with its unit."""
    rows = [row.split("|") for row in output(*ipmitool(one, host, "sdr", "elist")).splitlines()]
    assert {row[2].strip() for row in rows} == {"ok"}
    return {row[0].strip(): row[4].strip() for row in rows}


def watts(one: lab.Lab, host: str, sensor: str) -> int:
    value, unit = readings(one, host)[sensor].split()
    assert unit == "Watts"
    return int(value)


def processes_of(one: lab.Lab, program: str) -> list[int]:
    """Processes of a program, which name the lab's directory in their arguments."""
    return [
        int(pid)
        for pid, line in _command_lines()
        if f"{one.inventory.parent}/" in line and program in line and " sh -c " not in line
    ]


def _command_lines() -> Iterator[tuple[str, str]]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                yield entry.name, (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            continue


@contextmanager
def busy(host: lab.HostLayout) -> Iterator[None]:
    """A process on each of the host's CPUs that never sleeps."""
    burn = "while True: pass"
    burners = [subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", burn]) for cpu in host.cpus]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


IDLE_SHARE = 0.6
"""of its CPUs that a host may use and draw less than most of its power: 114 of 150 W"""


def used(host: lab.HostLayout) -> float:
    """What of the host's CPUs was used in a second, whoever used it."""

    def ticks() -> feeder.Ticks:
        return feeder.sum_of(feeder.cpu_ticks(Path("/proc/stat").read_text()), host.cpus)

    before, second = ticks(), os.sysconf("SC_CLK_TCK") * len(host.cpus)
    until(lambda: ticks()[1] - before[1] >= second, 60, "a second of the host's CPUs")
    return feeder.utilisation(before, ticks()) or 0.0


def test_a_bmc_shows_its_sensors_with_unit_and_entity(lab2: lab.Lab) -> None:
    for host in ("h1", "h2"):
        rows = output(*ipmitool(lab2, host, "sdr", "elist")).splitlines()
        found = {row.split("|")[0].strip(): row.split("|")[3].strip() for row in rows}
        assert found == {
            **{f"PSU{unit} Power {way}": f"10.{unit}" for unit in (1, 2) for way in ("In", "Out")},
            "CPU_Power": "3.1",
            "Memory_Power": "32.1",
            "FAN1": "29.1",
            "FAN2": "29.2",
            "CPU Temp": "3.1",
        }
        units = {sensor: reading.split()[1] for sensor, reading in readings(lab2, host).items()}
        assert {units.pop("FAN1"), units.pop("FAN2")} == {"RPM"}
        assert units.pop("CPU Temp") == "degrees"
        assert set(units.values()) == {"Watts"}


def test_a_bmc_says_what_kind_of_sensor_each_is(lab2: lab.Lab) -> None:
    said = output(*ipmitool(lab2, "h1", "sdr", "elist", "-v"))
    blocks = {block.split(" (0x")[0]: block for block in said.split("Sensor ID              : ")[1:]}
    assert set(blocks) == {sensor.name for sensor in SENSORS}
    for sensor in SENSORS:
        kind = {"rpm": "Fan (0x04)", "°C": "Temperature (0x01)"}.get(sensor.unit, "Other (0x0b)")
        assert f"Sensor Type (Threshold)  : {kind}" in blocks[sensor.name]
        assert "Event Message Control : No Events From Sensor" in blocks[sensor.name]
        assert "Readable Thresholds   : No Thresholds" in blocks[sensor.name]


def test_the_records_are_those_that_were_made(lab2: lab.Lab, tmp_path: Path) -> None:
    dump = tmp_path / "records"
    output(*ipmitool(lab2, "h1", "sdr", "dump", str(dump)))
    made = [
        sensor_record(number, sensor.name, sensor.unit, sensor.step, sensor.entity)
        for number, sensor in enumerate(SENSORS, 1)
    ]
    # Each begins with its number in the repository, which the BMC gives out.
    assert dump.read_bytes() == b"".join(
        number.to_bytes(2, "little") + record[2:] for number, record in enumerate(made, 1)
    )


def test_readings_are_steps_of_their_sensor_and_those_of_a_server(lab2: lab.Lab) -> None:
    values = {sensor: int(reading.split()[0]) for sensor, reading in readings(lab2, "h1").items()}
    for sensor in SENSORS:
        assert values[sensor.name] % sensor.step == 0
    assert 68 <= values["PSU1 Power Out"] + values["PSU2 Power Out"] <= 232
    assert 88 <= values["PSU1 Power In"] + values["PSU2 Power In"] <= 256
    assert values["PSU1 Power In"] > values["PSU1 Power Out"]


@pytest.mark.measures
def test_watts_follow_the_cpus_of_the_host(lab2: lab.Lab) -> None:
    host = lab2.hosts[0]
    with busy(host):
        until(lambda: watts(lab2, "h1", "CPU_Power") > CPU_MAX_W - 8, 30, "a busy CPU to draw its most")
        out_w = watts(lab2, "h1", "PSU1 Power Out")
        assert int(readings(lab2, "h1")["FAN1"].split()[0]) > FAN_MAX_RPM - 400
    shares: list[float] = []

    def less() -> bool:
        if watts(lab2, "h1", "CPU_Power") < CPU_IDLE_W + 100:
            return True
        shares.append(used(host))
        return False

    try:
        until(less, 60, "an idle CPU to draw less")
    except AssertionError:
        if min(shares) > IDLE_SHARE:
            pytest.skip(f"noise: others kept the CPUs of h1 at {min(shares):.0%} and more for a minute")
        raise
    until(lambda: watts(lab2, "h1", "PSU1 Power Out") < out_w, 60, "the supply to give less")


def test_a_wrong_password_is_refused(lab2: lab.Lab, tmp_path: Path) -> None:
    wrong = tmp_path / "password"
    wrong.write_text("wrong\n")
    done = subprocess.run(
        ipmitool(lab2, "h1", "mc", "info", password_file=wrong),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "Unable to establish IPMI v2 / RMCP+ session" in done.stderr
    assert "Device ID" not in done.stdout


def test_nobody_gets_in_without_a_name(lab2: lab.Lab) -> None:
    argv = ["ipmitool", "-I", "lan", "-N", "1", "-R", "1", "-H", lab2.hosts[0].address, "mc", "info"]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert "Device ID" not in done.stdout


def test_the_password_is_roots_alone_and_nowhere_else(lab2: lab.Lab) -> None:
    directory = lab2.inventory.parent
    password = (directory / "bmc.password").read_text().strip()
    assert len(password) == 16
    assert source(lab2, "h1")["password_file"] == str(directory / "bmc.password")
    holding = [path for path in directory.rglob("*") if path.is_file() and password in path.read_text()]
    assert {path.name for path in holding} == {"bmc.password", "h1.lan.conf", "h2.lan.conf"}
    assert {path.stat().st_mode & 0o777 for path in holding} == {0o600}
    assert not [line for _, line in _command_lines() if password in line]


def test_labs_have_passwords_of_their_own(lab2: lab.Lab, make_lab: Callable[..., lab.Lab]) -> None:
    other = make_lab(hosts=1)
    passwords = [(each.inventory.parent / "bmc.password").read_text() for each in (lab2, other)]
    assert passwords[0] != passwords[1]
    assert set(readings(other, "h1")) == set(readings(lab2, "h1"))
    lab.down(other.name)
    assert readings(lab2, "h1")


def test_a_bmc_listens_on_the_management_address_only_and_has_no_console(lab2: lab.Lab) -> None:
    host = lab2.hosts[0]
    listening = [line.split() for line in inside(host, "ss", "-Hlntup").splitlines() if "ipmi_sim" in line]
    assert [(row[0], row[4]) for row in listening] == [("udp", f"{host.address}:{PORT}")]


def test_a_bmc_is_no_process_of_its_host_nor_kept_on_its_cpus(lab2: lab.Lab) -> None:
    pids = processes_of(lab2, "ipmi_sim")
    assert len(pids) == 2
    for pid in pids:
        assert Path(f"/proc/{pid}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
        assert os.sched_getaffinity(pid) == os.sched_getaffinity(0)


def test_a_bmc_answers_at_once_with_values(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name, hosts=1))
    assert len(readings(one, "h1")) == len(SENSORS)


def test_status_shows_a_bmc_that_is_down_and_up_builds_it_anew(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name))
    assert [host.bmc for host in lab.status(name)[0].hosts] == ["up", "up"]
    (pid,) = [pid for pid in processes_of(one, "ipmi_sim") if "h2.lan.conf" in _command_line(pid)]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not _command_line(pid), 60, "the BMC to end")
    (status,) = lab.status(name)
    assert status.state == "not answering"
    assert [(host.answers, host.bmc) for host in status.hosts] == [(True, "up"), (True, "down")]
    again = lab.up(lab.LabRequest(name=name))
    assert not again.was_up
    assert readings(again, "h2")


def test_a_lab_that_is_slow_is_shown_so_and_up_waits_for_it(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name))
    (pid,) = [pid for pid in processes_of(one, "ipmi_sim") if "h2.lan.conf" in _command_line(pid)]
    told = []

    def goes_on(line: str) -> None:
        told.append(line)
        os.kill(pid, signal.SIGCONT)

    os.kill(pid, signal.SIGSTOP)
    (status,) = lab.status(name)
    assert status.state == "slow"
    assert [(host.runs, host.bmc) for host in status.hosts] == [(True, "up"), (True, "silent")]
    assert lab.up(lab.LabRequest(name=name), tell=goes_on).was_up
    assert told == [f"lab {name} runs; waiting for h2 to answer"]
    assert _command_line(pid), "it is the same"


def test_a_lab_that_stays_silent_is_left_as_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bmc, "_START_LIMIT_S", 1.0)
    one = lab.up(lab.LabRequest(name=name))
    pids = processes_of(one, "ipmi_sim")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(LabError, match=rf"its processes run.*linewatt lab down --name {name}"):
        lab.up(lab.LabRequest(name=name))
    assert processes_of(one, "ipmi_sim") == pids


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_status_shows_that_values_no_longer_follow_the_host(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bmc, "_FED_LIMIT_S", 1.0)
    one = lab.up(lab.LabRequest(name=name))
    (pid,) = processes_of(one, "linewatt.features.lab.feeder")
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
    os.kill(pid, signal.SIGKILL)
    until(
        lambda: [host.bmc for host in lab.status(name)[0].hosts] == ["not fed", "not fed"],
        60,
        "it to be seen",
    )
    assert lab.status(name)[0].state == "not answering"


def bmc_column(table: str) -> list[str]:
    """The head and the cells of the column, without the rule below the head."""
    head, _, *rows = (line.split() for line in table.splitlines())
    return [cells[head.index("bmc")] for cells in (head, *rows)]


def test_status_and_up_say_it_as_json_and_in_the_table(name: str) -> None:
    up = json.loads(linewatt("up", "--name", name, "--json").stdout)
    assert up["no_bmc"] is None
    done = linewatt("status", "--name", name, "--json")
    (found,) = json.loads(done.stdout)["labs"]
    assert found["no_bmc"] is None
    assert [host["bmc"] for host in found["hosts"]] == ["up", "up"]
    assert bmc_column(linewatt("status", "--name", name).stdout) == ["bmc", "up", "up"]


def test_a_lab_without_bmcs_is_built_on_request_and_says_so(name: str) -> None:
    done = linewatt("up", "--name", name, "--no-bmc")
    assert f"lab {name} has no BMCs, so its hosts show no power: it was built with --no-bmc\n" in done.stderr
    assert "linewatt_power" not in Path(done.stdout.strip()).read_text()
    status = linewatt("status", "--name", name)
    assert f"lab {name} has no BMCs" in status.stderr
    assert bmc_column(status.stdout) == ["bmc", "-", "-"]
    (found,) = lab.status(name)
    assert (found.state, found.no_bmc) == ("up", "it was built with --no-bmc")
    with pytest.raises(InvalidInput, match=r"mtu 1500, without BMCs; take it down first"):
        lab.up(lab.LabRequest(name=name))
    assert not [line for _, line in _command_lines() if f"{ROOT}/{name}/bmc" in line]


def test_a_lab_works_where_the_simulator_cannot_be_had(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda tool, path=None: None if tool == "ipmi_sim" else which(tool, path=path)
    )
    one = lab.up(lab.LabRequest(name=name))
    assert one.no_bmc is not None
    assert "ipmi_sim was not found" in one.no_bmc
    assert "linewatt_power" not in one.inventory.read_text()
    said = linewatt("status", "--name", name).stderr.splitlines()
    assert [line for line in said if "install openipmi (Debian, Ubuntu) or OpenIPMI-lanserv" in line]
    assert lab.status(name)[0].state == "up"
    again = lab.up(lab.LabRequest(name=name))
    assert again.was_up


def test_a_bmc_that_does_not_come_up_is_named_and_nothing_is_left(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Parts] = []
    conf, answering = bmc_recipe.lan_conf, bmc.answering

    def broken(its_name: str, address: str, password: str, *, in_band: bool) -> str:
        seen.append(Parts.of(name))
        return conf(its_name, address, password, in_band=in_band) + "no such keyword\n"

    monkeypatch.setattr(bmc_recipe, "lan_conf", broken)
    monkeypatch.setattr(bmc, "answering", lambda addresses, _: answering(addresses, 2.0))
    with pytest.raises(LabError, match=rf"h1: its BMC does not answer on 198.18.\d+.1:{PORT} .*--no-bmc"):
        lab.up(lab.LabRequest(name=name))
    assert seen[0].left() == []


def test_a_feeder_that_does_not_run_is_said_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is over once the log says why."""
    log = ROOT / name / "bmc/feeder.log"

    def now_s() -> float:
        said = log.exists() and "FileNotFoundError" in log.read_text()
        return time.monotonic() + (bmc._START_LIMIT_S if said else 0.0)

    monkeypatch.setattr(bmc_recipe, "feeder_arguments", lambda *_: ["/nonexistent", "0,0,0,0,0,0", "h1=0"])
    monkeypatch.setattr(bmc, "time", SimpleNamespace(monotonic=now_s, time=time.time, sleep=time.sleep))
    with pytest.raises(LabError, match=r"no values for the BMCs .*its log: .*FileNotFoundError"):
        lab.up(lab.LabRequest(name=name))
    assert not (ROOT / name).exists()


def test_down_leaves_no_bmc_no_feeder_and_no_file(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name, hosts=3))
    parts = Parts.of(name)
    pids = [*processes_of(one, "ipmi_sim"), *processes_of(one, "linewatt.features.lab.feeder")]
    assert len(pids) == 4
    ipmitool_session = subprocess.Popen(
        ipmitool(one, "h1", "shell"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert lab.down(name)
    finally:
        ipmitool_session.kill()
        ipmitool_session.communicate()
    assert parts.left() == []
    assert not [pid for pid in pids if _command_line(pid)]


def stage_files(directory: Path) -> bool:
    return (directory / "bmc/h1.emu").exists()


def stage_feeder(directory: Path) -> bool:
    return (directory / "bmc/values/.beat").exists()


def stage_first_bmc(directory: Path) -> bool:
    return (directory / "bmc/h1.log").exists()


def stage_last_bmc(directory: Path) -> bool:
    return (directory / f"bmc/h{MANY}.log").exists()


STAGES = [
    *(pytest.param(stage, marks=pytest.mark.full) for stage in (stage_files, stage_feeder, stage_first_bmc)),
    stage_last_bmc,
]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_down_leaves_no_bmc_of_an_up_that_was_killed(name: str, stage: Callable[[Path], bool]) -> None:
    directory = ROOT / name
    process = forked.Forked(
        ["lab", "up", "--name", name, "--hosts", str(MANY)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: stage(directory) or process.poll() is not None, 30, stage.__name__)
    process.kill()
    process.wait()
    parts = Parts.of(name)
    assert [each.state for each in lab.status(name)] == ["half-built"]
    assert lab.down(name)
    assert parts.left() == []


@pytest.mark.full
def test_ninety_six_bmcs_answer_and_share_their_values(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name, hosts=96))
    (status,) = lab.status(name)
    assert status.state == "up"
    assert [host.bmc for host in status.hosts] == ["up"] * 96
    files = {path.name for path in (one.inventory.parent / "bmc/values").iterdir()} - {".beat"}
    assert len(files) == len({host.cpus for host in one.hosts})
    assert readings(one, "h96").keys() == readings(one, "h1").keys()
