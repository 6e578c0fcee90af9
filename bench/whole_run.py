# SPDX-License-Identifier: Apache-2.0
"""What a run of one trial takes beyond its load, from the start of the command to its prompt: beside Nepta.

Nepta (https://github.com/rh-nepta/nepta-core) is on no package registry, and its command runs on RHEL only.
What is run here is its TCP scenario, with mpstat at both ends, and the package that it stores: install it and
nepta-dataformat somewhere, and name the Python there in ``LINEWATT_BENCH_NEPTA``. Without that the rows stand
alone. Beside it as well: a shell script with ssh, mpstat and iperf3, which looks at nothing and keeps what
they print.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.byhand import wait_listening
from bench.effort import Effort
from bench.rig import Rig, lab_of, rig
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.features.lab.api import HostLayout, Lab

ABOUT_S = 200
NEPTA = "LINEWATT_BENCH_NEPTA"
_WINDOWS = ({"omit": 0, "seconds": 1, "tail": 1}, {"omit": 1, "seconds": 10, "tail": 1})
_PORT = 5201
_LIMIT_S = 120.0
_NEPTA_RUN = """
import sys
from ipaddress import IPv4Interface
from nepta.core.model.schedule import Path
from nepta.core.scenarios.iperf3.tcp import Iperf3TCPStream
from nepta.dataformat import DataPackage, Section
mine, theirs, seconds, port, folder = sys.argv[1:]
path = Path(IPv4Interface(mine), IPv4Interface(theirs), [], cpu_pinning=[(0, 1)])
found, passed = Iperf3TCPStream([path], int(seconds), 1, [131072], None, int(port), 1, 1)()
package = DataPackage.create(folder)
package.store.root = Section("host")
package.store.root.subsections.append(found)
package.close()
sys.exit(not passed)
"""
# $1, $2: addresses of sender and receiver for ssh; $3: where to send; $4: port; $5: seconds
_SCRIPT = """
ssh "$2" "timeout 60 iperf3 --server --one-off --port $4 --json" >server.json & server=$!
ssh "$2" "mpstat -P ALL -o JSON $5 1" >server.mpstat &
ssh "$1" "mpstat -P ALL -o JSON $5 1" >client.mpstat &
ssh "$1" "until iperf3 -c $3 --port $4 --time $5 --json; do (( SECONDS < 30 )) || exit 1; sleep 0.01; done" \\
  >client.json && wait $server
"""


def measure(effort: Effort) -> list[Row]:
    """linewatt, Nepta and a script, in turn, for each length of the window."""
    python = os.environ.get(NEPTA)
    rows: list[Row] = []
    with rig() as own, lab_of(2, "2gbit") as lab:
        for window in effort.of(_WINDOWS, _WINDOWS, _WINDOWS[:1]):
            beyond_s: dict[str, list[float]] = {"linewatt": [], "script": [], "nepta": []}
            for _ in range(effort.of(7, 2, 1)):
                for name, seconds in _round(own, lab, window, python):
                    beyond_s[name].append(seconds)
            rows += _rows(window["seconds"], beyond_s)
    return rows


def _rows(seconds: int, beyond_s: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    what = f"a run beyond its load, window of {seconds} s"
    script = Peer("ssh, mpstat and iperf3 by hand", tuple(beyond_s["script"]))
    yield Row(what, "s", tuple(beyond_s["linewatt"]), None, script)
    if nepta := beyond_s["nepta"]:
        ratios = tuple(own / other for own, other in zip(beyond_s["linewatt"], nepta, strict=True))
        yield Row("– Nepta's", "s", tuple(nepta))
        yield Row("– linewatt ÷ Nepta", "ratio", ratios, Target(at_most=0.5))


def _round(own: Rig, lab: Lab, window: Mapping[str, int], python: str | None) -> Iterator[tuple[str, float]]:
    """Each once: whose run it was, and its wall time less the seconds of its load."""
    load_s = sum(window.values())
    run = own.run_at_terminal(own.campaign(lab.inventory, trials=1, window=dict(window)))
    yield "linewatt", run.exited_s - run.spawned_s - load_s
    sender, receiver = lab.hosts
    environment = _ssh_of(lab, own.directory)
    words = [sender.address, receiver.address, receiver.data_ipv4, str(_PORT), str(load_s)]
    yield "script", _wall_s(["bash", "-c", _SCRIPT, "script", *words], environment, own) - load_s
    if python is None:
        return
    ends = [f"{host.data_ipv4}/{host.ports[0].ipv4_prefix}" for host in (sender, receiver)]
    folder = own.directory / f"nepta-{time.monotonic_ns()}"
    entered = ["ip", "netns", "exec", sender.namespace, python, "-c", _NEPTA_RUN]
    with _server(receiver):
        argv = [*entered, *ends, str(load_s), str(_PORT), str(folder)]
        yield "nepta", _wall_s(argv, environment, own) - load_s


def _wall_s(argv: Sequence[str], environment: Mapping[str, str], own: Rig) -> float:
    began_s = time.monotonic()
    argv = ["timeout", str(_LIMIT_S), *argv]
    done = subprocess.run(
        argv, env=environment, cwd=own.directory, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise MeasurementFailed(f"status {done.returncode} beside linewatt: {done.stderr.strip()[-300:]}")
    return time.monotonic() - began_s


def _ssh_of(lab: Lab, directory: Path) -> Mapping[str, str]:
    """An environment whose ``ssh`` knows the lab's hosts, also by their data addresses."""
    folder, own = directory / "bin", lab.inventory.parent
    folder.mkdir(exist_ok=True)
    lines = []
    for host in lab.hosts:
        lines += [f"Host {host.data_ipv4} {host.address}", f"  HostName {host.address}"]
    lines += ["Host *", f"  IdentityFile {own / 'id_ed25519'}", f"  UserKnownHostsFile {own / 'known_hosts'}"]
    config = directory / "ssh_config"
    config.write_text("\n".join((*lines, "  User root\n")))
    program = folder / "ssh"
    program.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {shlex.quote(str(config))} "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@contextmanager
def _server(host: HostLayout) -> Iterator[None]:
    """The iperf3 server that Nepta takes for granted."""
    command = ["iperf3", "--server", "--one-off", "--bind", host.data_ipv4, "--port", str(_PORT)]
    argv = ["ip", "netns", "exec", host.namespace, *command]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            wait_listening(server, _PORT)
            yield
        finally:
            server.kill()
