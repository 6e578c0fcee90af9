# SPDX-License-Identifier: Apache-2.0
"""Power next to throughput on real hosts, read by real IPMI from BMCs whose values the test writes."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shutil
import signal
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.lab.test_campaign import HANG_LIMIT_S, LONG, Bench, await_event, end

from linewatt.engine.rounds import SENSOR_LIMIT_S
from linewatt.features.lab import bmc_recipe
from linewatt.features.lab.bmc_recipe import CIPHER_SUITE, USER, commands, lan_conf, values_line
from linewatt.features.lab.power_model import ServerPower
from linewatt.features.lab.system import search_path
from linewatt.sensors.power.base import CALL_LIMIT_S

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not all(shutil.which(tool, path=search_path()) for tool in ("ipmi_sim", "ipmitool")),
        reason="needs ipmi_sim and ipmitool",
    ),
]

CANARY = "canary-7f3a"
STEP_W = 4.0
UPDATE_S = 0.2
IDLE_W = 80.0
START_LIMIT_S = 60.0
"""for a program to be there, where how soon is not what is tested"""

Course = Callable[[float], float]


class Bmc:
    """A simulated BMC whose PSU1 gives what the test writes; the rest of the server draws nothing."""

    def __init__(self, directory: Path, number: int) -> None:
        pid = os.getpid()
        self.address = f"127.{100 + number}.{pid >> 8 & 0xFF}.{pid & 0xFF}"
        self.values = directory / "values"
        self.password_file = directory / "password"
        self.written: list[tuple[float, float]] = []
        self.sensors = bmc_recipe.SENSORS
        directory.mkdir()
        (directory / "state").mkdir()
        self.password_file.write_text(CANARY + "\n")
        (directory / "lan.conf").write_text(lan_conf("test", self.address, CANARY))
        (directory / "bmc.emu").write_text(commands(self.values))
        self.write(IDLE_W)
        files = ["-c", directory / "lan.conf", "-f", directory / "bmc.emu", "-s", directory / "state"]
        self.process = subprocess.Popen(
            ["ipmi_sim", *map(str, files), "-n"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": search_path()},
        )
        self._until_it_answers()

    def write(self, out_w: float) -> None:
        """What PSU1 gives from now on; the CPU takes half of it."""
        power = ServerPower(out_w / 2, 10.0, 4000.0, 5.0, out_w, out_w * 1.1, 40.0)
        partial = self.values.with_suffix(".tmp")
        partial.write_text(values_line(power, self.sensors))
        partial.rename(self.values)
        self.written.append((time.time(), out_w))

    def integral_j(self, start_s: float, end_s: float) -> float:
        """Energy of what was written, exactly."""
        ends = [when for when, _ in self.written[1:]] + [end_s]
        return sum(
            max(0.0, min(until, end_s) - max(since, start_s)) * out_w
            for (since, out_w), until in zip(self.written, ends, strict=True)
        )

    def ipmitool(self, *words: str) -> str:
        """What an independent reader says. Raises CalledProcessError."""
        argv = ["ipmitool", "-I", "lanplus", "-C", str(CIPHER_SUITE), "-N", "1", "-R", "1"]
        login = ["-H", self.address, "-U", USER, "-f", str(self.password_file)]
        return subprocess.run(
            [*argv, *login, *words], capture_output=True, text=True, check=True, timeout=START_LIMIT_S
        ).stdout

    def _until_it_answers(self) -> None:
        end_s = time.monotonic() + START_LIMIT_S
        while True:
            try:
                if "80 Watts" in self.ipmitool("sdr", "elist"):
                    return
            except subprocess.CalledProcessError:
                pass
            assert time.monotonic() < end_s, f"waited {START_LIMIT_S:g} s for the BMC at {self.address}"

    def source(self, **more: object) -> dict[str, object]:
        return {
            "driver": "ipmi",
            "address": self.address,
            "user": USER,
            "password_file": str(self.password_file),
            **more,
        }

    def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait(5)


@dataclass
class Scene:
    """A lab whose host h2 has a BMC of the test's own."""

    bench: Bench
    bmc: Bmc

    def campaign(
        self,
        source: dict[str, object] | None = None,
        more: Mapping[str, object] | None = None,
        **keys: object,
    ) -> Path:
        yaml = YAML(typ="safe")
        inventory = yaml.load(self.bench.lab.inventory)
        for name, host in _hosts(inventory):
            host.pop("linewatt_power", None)
            if name == "h2":
                host["linewatt_power"] = {"bmc": source or self.bmc.source(), **(more or {})}
        path = self.bench.tmp / "inventory.yaml"
        path.write_text(json.dumps(inventory))
        return self.bench.campaign(**{"hosts": str(path), "trials": 1, "window": LONG, **keys})

    def receiver(self, number: int = 0) -> dict[str, Any]:
        receiver: dict[str, Any] = self.bench.trials()[number]["receiver"]
        return receiver

    def psu_out(self, number: int = 0) -> dict[str, Any]:
        (found,) = (one for one in self.receiver(number)["power"] if one["scope"] == "psu-out:PSU1")
        return dict(found)


def _hosts(tree: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for group in tree.values():
        yield from (group.get("hosts") or {}).items()
        yield from _hosts(group.get("children") or {})


@pytest.fixture
def scene(lab2: Any, tmp_path: Path) -> Iterator[Scene]:
    bmc = Bmc(tmp_path / "bmc", 1)
    try:
        yield Scene(Bench(lab2, tmp_path), bmc)
    finally:
        bmc.stop()


def driven(bmc: Bmc, course: Course, begun: threading.Event, stop: threading.Event) -> threading.Thread:
    """A thread that writes the course of power from its beginning on, ten times a second, until told to stop.

    It jitters by steps, as readings of real supplies do: that shows how often the meter is refreshed.
    """

    def write() -> None:
        started_s = math.inf
        for number in count():
            if stop.wait(0.1):
                return
            started_s = min(started_s, time.monotonic() if begun.is_set() else math.inf)
            since_s = max(0.0, time.monotonic() - started_s)
            bmc.write(round(course(since_s) + number % 3 * STEP_W))

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize(
    "course",
    [
        pytest.param(
            lambda t: 180 if t < 2 else (240, 120, 180)[int(t - 2) % 3], id="steps", marks=pytest.mark.full
        ),
        pytest.param(lambda t: 100 + 12 * t, id="ramp"),
    ],
)
def test_energy_is_the_integral_of_what_was_written_within_its_own_uncertainty(
    scene: Scene, course: Course
) -> None:
    """Power begins to change with the trial: steps that are none of the load teach nothing of the meter."""
    begun, stop = threading.Event(), threading.Event()
    window = {"seconds": 5, "omit": 1, "tail": 1.5}
    thread = driven(scene.bmc, course, begun, stop)
    try:
        process = scene.bench.start("run", scene.campaign(window=window))
        await_event(process, "trial_started", 1)
        begun.set()
        end(process, 0)
    finally:
        stop.set()
        thread.join()
    (trial,) = scene.bench.trials()
    found = scene.psu_out()
    truth_j = scene.bmc.integral_j(trial["window"]["start_s"], trial["window"]["end_s"])
    assert found["provenance"] == "simulated"
    assert found["step_w"] == STEP_W
    if found["power_w"] is None:  # watts that no load moves may look like those of a meter that averages
        assert "window" in found["reason"]
        return
    assert found["updates"] > 0, "distinct values: a course of steps has few"
    assert abs(found["energy_j"] - truth_j) <= found["energy_uncertainty_j"]
    assert found["energy_uncertainty_j"] < 0.2 * truth_j
    assert found["power_w"] == pytest.approx(found["energy_j"] / 5)
    assert "power-frozen" not in [flag["code"] for flag in trial["flags"]]


@pytest.mark.measures
def test_a_frozen_sensor_is_flagged_where_the_cpu_worked_more_than_idle(scene: Scene) -> None:
    """Beside other work linewatt itself may keep a CPU as busy idle as a load does: then nothing shows it."""
    scene.bench.run(
        "run", scene.campaign(rate=None, idle={"seconds": 2}, window={"seconds": 3, "omit": 1, "tail": 1.5})
    )
    (trial,) = scene.bench.trials()
    idle = json.loads((scene.bench.result / "idle.json").read_text())["hosts"]["h2"]
    assert {one["channel"]: one["power_w"] for one in idle["power"]} == ALL_W
    worked = trial["receiver"]["cpu_cores"] - idle["cpu_cores"] > max(0.2, _cpus_read(scene.bench) / 10)
    said = f"with {idle['cpu_cores']:.2f} cores busy instead of {trial['receiver']['cpu_cores']:.2f}"
    frozen = {flag["where"]: flag["evidence"] for flag in trial["flags"] if flag["code"] == "power-frozen"}
    assert frozen == {
        f"h2: bmc {channel}": f"reads {power_w} W in the whole window; it read the same idle, {said}"
        for channel, power_w in ALL_W.items()
        if worked and channel != "Memory_Power"
    }


ALL_W = {
    **{f"PSU{unit} Power {way}": power_w for unit in (1, 2) for way, power_w in (("In", 88), ("Out", 80))},
    "CPU_Power": 40,
    "Memory_Power": 10,
}
"""what all sensors of the BMC read as long as nobody writes"""


def _cpus_read(bench: Bench) -> int:
    """Of how many CPUs of h2 the trial has readings."""
    import duckdb

    (path,) = bench.result.glob("trials/*/samples.parquet")
    found = duckdb.read_parquet(str(path)).filter("host = 'h2' and channel like '%.idle_ratio'")
    return len(found.select("channel").distinct().fetchall())


def _with_trouble(scene: Scene, trouble: Callable[[], None]) -> tuple[float, float]:
    """Run a campaign of two trials, make trouble once the first has started.

    The seconds until the first load started, and those that all took.
    """
    began_s = time.monotonic()
    started_s: float | None = None
    process = scene.bench.start("run", scene.campaign(trials=2))
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)["event"]
        if event == "trial_started":
            started_s = started_s or time.monotonic()
        elif event == "throughput":
            trouble()
            trouble = _nothing
    assert process.wait(HANG_LIMIT_S) == 0
    assert started_s is not None
    return started_s - began_s, time.monotonic() - began_s


def _nothing() -> None:
    """No more of it."""


@pytest.mark.parametrize("trouble", ["hangs", pytest.param("ends", marks=pytest.mark.full)])
def test_a_bmc_that_fails_in_mid_trial_costs_the_power_and_nothing_else(scene: Scene, trouble: str) -> None:
    """How fast this machine is at the moment, the way to the first load says: 1.5 s on an idle one."""

    def make() -> None:
        scene.bmc.process.send_signal(signal.SIGSTOP if trouble == "hangs" else signal.SIGKILL)

    start_s, took_s = _with_trouble(scene, make)
    for trial in scene.bench.trials():
        assert trial["status"] == "done"
        assert trial["throughput_bps"] == pytest.approx(200e6, rel=0.05)
        assert trial["overhead_s"] < SENSOR_LIMIT_S + start_s
    last = scene.bench.trials()[-1]
    powers = [one for one in last["receiver"]["power"] if one["scope"].startswith("psu-out")]
    assert powers
    assert all(one["power_w"] is None and one["reason"] for one in powers)
    assert "power-missing" in [flag["code"] for flag in last["flags"]]
    assert took_s < 2 * (sum(LONG.values()) + SENSOR_LIMIT_S + start_s) + CALL_LIMIT_S + 2 * start_s


def test_a_password_that_is_not_there_is_refused_before_any_host_is_touched(scene: Scene) -> None:
    source = scene.bmc.source()
    del source["password_file"]
    source["password_env"] = "LINEWATT_TEST_NO_SUCH"  # noqa: S105  the name of a variable
    done = scene.bench.run("run", scene.campaign(source), status=2)
    assert "LINEWATT_TEST_NO_SUCH is not set here" in done.stderr
    assert not scene.bench.results.exists()


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "hwmon": ({"driver": "hwmon", "chips": ["no_such_chip"]}, "chips: no chip fits 'no_such_chip'; there"),
    "command": (
        {
            "driver": "command",
            "argv": ["echo", '{"channel": "roof", "value": 3}'],
            "provenance": "simulated",
            "channels": {"wall": {"scope": "wall", "unit": "W"}},
        },
        "channel 'roof' was not declared; declared are wall",
    ),
}


@pytest.mark.parametrize(
    "driver", ["ipmi", *(pytest.param(driver, marks=pytest.mark.full) for driver in REFUSED)]
)
def test_a_choice_that_cannot_be_is_one_line_before_any_change_and_any_trial(
    scene: Scene, driver: str
) -> None:
    source, said = REFUSED.get(
        driver, (scene.bmc.source(sensors=["FAN*", "Watts"]), "no sensor is called 'Watts'; there are PSU1")
    )
    setting = {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 7340032"}}
    allowed = ["--allow-commands"] if driver == "command" else []
    done = scene.bench.run("run", scene.campaign(source, settings=setting), *allowed, status=2)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("linewatt: ")]
    assert line.startswith("linewatt: h2: bmc: ")
    assert said in line
    assert "starting sensors" in done.stderr
    assert "changes" not in done.stderr
    assert "put back" not in done.stderr
    assert not list(scene.bench.results.glob("*/trials/*"))


def test_a_source_that_is_not_there_or_silent_is_told_once_and_costs_nothing_else(scene: Scene) -> None:
    """And what the one that is there reads, an independent reader reads as well."""
    sources = {
        "none": {"driver": "ipmitool", "device": 99},
        "mute": {**REFUSED["command"][0], "argv": ["sleep", "300"]},
        "gone": {**REFUSED["command"][0], "argv": ["linewatt-no-such-program"]},
        "far": scene.bmc.source(address="127.200.1.1"),
    }
    scene.bmc.write(144)
    process = scene.bench.start("run", scene.campaign(more=sources), "--allow-commands")
    assert process.stdout is not None
    warnings, reader_text = [], ""
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "warned":
            warnings.append(event["text"])
        elif event["event"] == "throughput":
            reader_text = reader_text or scene.bmc.ipmitool("sdr", "elist")
    assert process.wait(HANG_LIMIT_S) == 0
    assert "144 Watts" in reader_text
    (trial,) = scene.bench.trials()
    assert trial["status"] == "done"
    for name, why in (
        ("none", "ipmitool"),
        ("mute", "waited 12 s for its first reading"),  # the stated limit of an answer, and 2 s
        ("gone", "ended with status 127"),
        ("far", ""),
    ):
        (line,) = [text for text in warnings if f"h2: {name}: " in text]
        assert why in line
        assert "going on without it" in line
        assert why in trial["receiver"]["reasons"][f"power.{name}"] or name == "mute"
    missing = {flag["where"] for flag in trial["flags"] if flag["code"] == "power-missing"}
    assert {f"h2: {name}" for name in sources} <= missing
    assert scene.psu_out()["power_w"] == 144


def secrets_of(*canaries: str) -> list[bytes]:
    """The canaries as they are, and as a login of HTTP sends them."""
    plain = [canary.encode() for canary in canaries]
    return [*plain, *(base64.b64encode(b"admin:" + one)[:-4] for one in plain)]


def of_processes() -> list[bytes]:
    """Arguments and environment of all that run now, but for the test's own and its linewatt."""
    seen = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            seen.append(command)
            if OWN not in command and int(path.name) != os.getpid():
                seen.append((path / "environ").read_bytes())
        except OSError:
            continue
    return seen


def of_files(*folders: Path) -> list[bytes]:
    """What is in files, and in what is packed in them as far as that is written."""
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    packs = [path for path in paths if ".tar.gz" in path.name]
    return [path.read_bytes() for path in paths] + [text for path in packs for text in unpacked(path)]


def unpacked(path: Path) -> Iterator[bytes]:
    with suppress(tarfile.TarError, EOFError, FileNotFoundError), tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                yield content.read()


def leaks(texts: Iterable[bytes], secrets: Iterable[bytes]) -> list[bytes]:
    """The texts that hold a secret, where it begins."""
    return [text[text.index(one) :][:200] for one in secrets for text in texts if one in text]


OWN = b"linewatt.cli"
"""linewatt itself has the variable that its user exported; nothing that it starts may have it"""


def test_the_search_for_a_password_finds_one_wherever_it_may_be(tmp_path: Path) -> None:
    """So that finding none means something."""
    planted = "canary-19e6"  # not the other tests', which may run beside this one
    secrets = secrets_of(planted)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "x.parquet").write_bytes(b"\0\1" + planted.encode())
    assert len(leaks(of_files(tmp_path), secrets)) == 1
    assert leaks([b"Authorization: Basic " + base64.b64encode(b"admin:" + planted.encode())], secrets)
    for argv, env in ((["sleep", "30"], {"P": planted}), (["bash", "-c", "read", planted], {})):
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, env={"PATH": os.environ["PATH"], **env})
        try:
            end_s = time.monotonic() + START_LIMIT_S
            while not leaks(of_processes(), secrets):
                assert time.monotonic() < end_s, f"waited {START_LIMIT_S:g} s to find the canary in a process"
        finally:
            process.kill()
            process.wait(5)


@pytest.mark.parametrize(
    ("words", "login"),
    [
        pytest.param(["--json"], "wrong", id="json-wrong"),
        pytest.param([], "right", id="text-right", marks=pytest.mark.full),
        pytest.param(["--json"], "right", id="json-right", marks=pytest.mark.full),
        pytest.param([], "wrong", id="text-wrong", marks=pytest.mark.full),
    ],
)
def test_no_password_is_left_anywhere(
    scene: Scene, login: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in processes, in what linewatt says, in results or in its state, also when a login fails."""
    wrong = "wrong-canary-88c1"
    monkeypatch.setitem(scene.bench.environment, "PLUG_PASSWORD", wrong)
    (scene.bench.tmp / "wrong").write_text(wrong + "\n")
    with refusing() as port:
        plug = {"driver": "http", "profile": "shelly-gen1", "address": "127.0.0.1", "port": port}
        more = {"plug": {**plug, "password_env": "PLUG_PASSWORD"}}
        file = {} if login == "right" else {"password_file": str(scene.bench.tmp / "wrong")}
        campaign = scene.campaign(scene.bmc.source(**file), more=more)
        process = subprocess.Popen(
            [*scene.bench.command("run", campaign), *words],
            env=scene.bench.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        said, seen = [], []
        looked: set[bytes] = set()
        for line in process.stdout:
            said.append(line)
            event = re.search(rb'"event": "(\w+)"', line)
            kind = event[1] if event else line
            if kind not in looked or kind == b"phase":
                looked.add(kind)
                seen += [*of_processes(), *of_files(scene.bench.results, scene.bench.tmp / "state")]
        assert process.wait(HANG_LIMIT_S) == 0
    secrets = secrets_of(CANARY, wrong)
    assert len(seen) > 50
    assert any(b"iperf3" in text for text in seen)
    assert any(b"refuses (401)" in line for line in said)
    assert any(b"login" in line for line in said) == (login == "wrong")
    (trial,) = scene.bench.trials()
    assert trial["status"] == "done"
    if login == "wrong":
        assert trial["receiver"]["power"] == []
        assert trial["receiver"]["reasons"]["power.bmc"]
        assert any(b"h2: bmc: " in line and b"going on without it" in line for line in said)
    assert not leaks(said, secrets)
    assert not leaks(seen, secrets)
    kept = of_files(scene.bench.results, scene.bench.tmp / "state")
    assert len(kept) > 5
    assert not leaks(kept, secrets)
    shown = [scene.bench.run("show", *how).stdout.encode() for how in ((), ("--json",))]
    assert not leaks(shown, secrets)


@contextmanager
def refusing() -> Iterator[int]:
    """The port of a device that knows no password."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="plug"')
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
