# SPDX-License-Identifier: Apache-2.0
"""Meters to be read, each in a process of its own: ``python -m bench.power_servers KIND FOLDER``.

What answers must not count as cost of who asks. The servers are those of the tests, with what real devices
say (``tests/captures``), and net-snmp's agent. A server prints how it is reached as a line of JSON and ends
when its input does, so also when the bench is killed.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.rows import MeasurementFailed

ROOT = Path(__file__).parents[1]
CAPTURES = ROOT / "tests" / "captures"
READY_LIMIT_S = 30.0
END_LIMIT_S = 5.0
_LOOK_S = 0.02


@contextmanager
def served(kind: str, folder: Path) -> Iterator[dict[str, Any]]:
    """A running server and how it is reached; it has ended afterwards. Raises MeasurementFailed."""
    folder.mkdir(mode=0o700, exist_ok=True)
    argv = [sys.executable, "-m", "bench.power_servers", kind, str(folder)]
    log = folder / "stderr"
    with log.open("w") as stderr:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        yield _ready(kind, child, log)
    finally:
        _end(child)


def _ready(kind: str, child: subprocess.Popen[str], log: Path) -> dict[str, Any]:
    assert child.stdout is not None
    if not select.select([child.stdout], [], [], READY_LIMIT_S)[0]:
        raise MeasurementFailed(f"the {kind} server did not say within {READY_LIMIT_S:g} s that it is ready")
    line = child.stdout.readline()
    if not line:
        said = (log.read_text().strip() or "it said nothing").splitlines()[-1]
        raise MeasurementFailed(f"the {kind} server did not start: {said}")
    found: dict[str, Any] = json.loads(line)
    return found


def _end(child: subprocess.Popen[str]) -> None:
    """Let it end by itself; what is left of its session then is killed."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    try:
        child.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    child.stdout.close()


@contextmanager
def _redfish(folder: Path) -> Iterator[dict[str, Any]]:
    """An iLO 5 over TLS. It takes a user with each request too, as services must (DSP0266), for curl."""
    from tests.certificates import self_signed
    from tests.http_server import send
    from tests.redfish_server import capture, redfish

    certificate = self_signed(folder)
    with redfish(capture(CAPTURES / "redfish" / "ilo5-dl360"), certificate) as server:
        known = "Basic " + base64.b64encode(f"{server.user}:{server.password}".encode()).decode()

        def with_basic(handler: Any) -> bool:
            path = handler.path.rstrip("/")
            if handler.headers.get("Authorization") != known or path not in server.resources:
                return False
            send(handler, 200, server.resources[path])
            return True

        server.override = with_basic
        yield {
            "url": server.url,
            "ca_file": str(certificate.file),
            "user": server.user,
            "password": server.password,
        }


@contextmanager
def _http(_: Path) -> Iterator[dict[str, Any]]:
    """A Shelly plug of the second generation."""
    from tests.http_server import send, serving

    document = json.loads((CAPTURES / "http" / "shelly-gen2-plug" / "answer.json").read_text())
    with serving(lambda handler, method: send(handler, 200, document)) as url:
        yield {"url": url, "port": int(url.rpartition(":")[2])}


@contextmanager
def _modbus(_: Path) -> Iterator[dict[str, Any]]:
    """An Eastron SDM120."""
    from tests.modbus_server import Meter

    folder = CAPTURES / "modbus" / "eastron-sdm120-by-the-manual"
    settings = json.loads((folder / "expected.json").read_text())["settings"]
    with Meter(json.loads((folder / "registers.json").read_text())) as meter:
        yield {"port": meter.port, "channels": settings["channels"]}


@contextmanager
def _snmp(folder: Path) -> Iterator[dict[str, Any]]:
    """net-snmp's agent in the place of an APC rack PDU; the community is the one everybody knows."""
    capture = CAPTURES / "snmp" / "apc-rpdu2-pdu-by-the-mib" / "walk.snmprec"
    walk = [line.split("|") for line in capture.read_text().splitlines()]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config, log = folder / "snmpd.conf", folder / "log"
    config.write_text(
        f"agentAddress udp:127.0.0.1:{port}\nrocommunity public 127.0.0.1\ndontLogTCPWrappersConnects yes\n"
        + "".join(f"override .{oid} integer {value}\n" for oid, kind, value in walk if kind == "2")
    )
    argv = [str(snmpd()), "-f", "-C", "-c", str(config), "-Lf", str(log), "-r"]
    environment = {**os.environ, "SNMP_PERSISTENT_DIR": str(folder / "state"), "MIBS": ""}
    with subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL) as agent:
        try:
            _listening(agent, log)
            yield {"port": port}
        finally:
            agent.terminate()


def snmpd() -> str | None:
    """Where net-snmp's agent is."""
    return shutil.which("snmpd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _listening(agent: subprocess.Popen[bytes], log: Path) -> None:
    """Until the agent has said who it is, which it does last before it answers."""
    end_s = time.monotonic() + READY_LIMIT_S / 2
    while True:
        said = log.read_text(errors="replace") if log.exists() else ""
        if "NET-SNMP version" in said:
            return
        if agent.poll() is not None or time.monotonic() > end_s:
            sys.exit(f"snmpd to listen was awaited for {READY_LIMIT_S / 2:g} s: {said.strip()[-200:]}")
        time.sleep(_LOOK_S)


SERVERS: dict[str, Callable[[Path], AbstractContextManager[dict[str, Any]]]] = {
    "redfish": _redfish,
    "snmp": _snmp,
    "modbus": _modbus,
    "http": _http,
}


def main(kind: str, folder: str) -> None:
    """Serve until standard input ends."""
    with SERVERS[kind](Path(folder)) as ready:
        print(json.dumps(ready), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
