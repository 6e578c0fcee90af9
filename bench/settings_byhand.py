# SPDX-License-Identifier: Apache-2.0
"""The settings of :mod:`bench.placement_hosts96` as one makes them by hand: ssh in a shell loop.

Connections are open already (``ControlMaster``). Two ways: a script for each host, all hosts at once, which
saves what was there and shows what is there after; and a bare ssh for each setting, one after the other.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.rows import MeasurementFailed
from linewatt.hosts.base import HostSpec

_CONNECT_LIMIT_S = 60.0
_LOOP_LIMIT_S = 120.0
_END_LIMIT_S = 5.0
_LOOK_S = 0.02

# What is written into a host's script; {dev} is its interface
_SHOW = """cat /sys/class/net/{dev}/queues/rx-0/rps_cpus /sys/class/net/{dev}/mtu
ethtool -k {dev} | sed -n 's/^generic-receive-offload: //p'
sysctl -n net.ipv4.tcp_rmem net.ipv4.tcp_wmem
"""
_PUT = (
    "for queue in /sys/class/net/{dev}/queues/rx-*/rps_cpus; do echo {value} >$queue; done",
    "ip link set dev {dev} mtu {value}",
    "ethtool -K {dev} gro {value}",
    "sysctl -q -w net.ipv4.tcp_rmem={value}",
    "sysctl -q -w net.ipv4.tcp_wmem={value}",
)

# $1: directory; then host and login. Every host at once
_ALL_AT_ONCE = """cd "$1" || exit 1; shift
while [ $# -gt 0 ]; do
  ssh -F /dev/null -S "$1.ctl" "$2" bash -s <"$1.script" >"$1.out" 2>"$1.err" &
  shift 2
done; wait"""

# $1: directory; then host and login. One after the other; a line of a host's script is a setting
_ONE_BY_ONE = """cd "$1" || exit 1; shift
while [ $# -gt 0 ]; do
  while read -r line <&3; do
    ssh -F /dev/null -S "$1.ctl" "$2" "$line" </dev/null 2>>"$1.err" || exit 1
  done 3<"$1.script"
  shift 2
done"""


@dataclass
class Walls:
    """How long it took by hand, in seconds, in the order of the repetitions."""

    make: list[float] = field(default_factory=list)
    undo: list[float] = field(default_factory=list)
    make_one_by_one: list[float] = field(default_factory=list)
    undo_one_by_one: list[float] = field(default_factory=list)


class Hand:
    """Open connections to hosts, and the two loops over them. ``wanted``: five values for each host."""

    def __init__(
        self, specs: Sequence[HostSpec], directory: Path, wanted: Mapping[str, Sequence[str]]
    ) -> None:
        self._specs = specs
        self._directory = directory
        self._wanted = wanted

    def once(self, walls: Walls) -> None:
        """Both ways, each made and put back. Blocks. Raises MeasurementFailed."""
        for spec in self._specs:
            show = _SHOW.format(dev=spec.data)
            self._write(spec, show + put(spec.data, self._wanted[spec.name]) + show)
        walls.make.append(self._loop(_ALL_AT_ONCE))
        found = {spec.name: self._answer(spec, 10) for spec in self._specs}
        for spec in self._specs:
            self._write(spec, put(spec.data, found[spec.name][:5]) + _SHOW.format(dev=spec.data))
        walls.undo.append(self._loop(_ALL_AT_ONCE))
        for spec in self._specs:
            self._answer(spec, 5)
            self._write(spec, put(spec.data, self._wanted[spec.name]))
        walls.make_one_by_one.append(self._loop(_ONE_BY_ONE))
        for spec in self._specs:
            self._write(spec, put(spec.data, found[spec.name][:5]))
        walls.undo_one_by_one.append(self._loop(_ONE_BY_ONE))

    def _write(self, spec: HostSpec, script: str) -> None:
        (self._directory / f"{spec.name}.script").write_text(script)

    def _loop(self, loop: str) -> float:
        """Wall seconds of a loop over all hosts."""
        words = [word for spec in self._specs for word in (spec.name, login(spec))]
        argv = ["bash", "-c", loop, "by-hand", str(self._directory), *words]
        began_s = time.monotonic()
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False, timeout=_LOOP_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise MeasurementFailed(f"by hand: the loop took more than {_LOOP_LIMIT_S:g} s") from error
        wall_s = time.monotonic() - began_s
        if done.returncode != 0:
            raise MeasurementFailed(f"by hand: status {done.returncode}: {self._complaint()}")
        return wall_s

    def _answer(self, spec: HostSpec, lines: int) -> list[str]:
        """What a host's script said. Raises MeasurementFailed when that is not whole."""
        found = (self._directory / f"{spec.name}.out").read_text().splitlines()
        if len(found) != lines:
            raise MeasurementFailed(
                f"{spec.name}, by hand: {len(found)} lines instead of {lines}: {self._complaint()}"
            )
        return found

    def _complaint(self) -> str:
        said = (path.read_text().strip() for path in sorted(self._directory.glob("*.err")))
        return next(filter(None, said), "it said nothing")


def put(device: str, values: Sequence[str]) -> str:
    """A script with a line for each setting."""
    lines = (
        line.format(dev=device, value=shlex.quote(value)) for line, value in zip(_PUT, values, strict=True)
    )
    return "".join(f"{line}\n" for line in lines)


def login(spec: HostSpec) -> str:
    return f"{spec.user}@{spec.address}" if spec.user else spec.address


@contextmanager
def connected(
    specs: Iterable[HostSpec], directory: Path, wanted: Mapping[str, Sequence[str]]
) -> Iterator[Hand]:
    """Connections that end with the body, and with this process: each stands on a pipe from here."""
    hosts = list(specs)
    with ExitStack() as stack:
        masters = {spec.name: _master(stack, spec, directory) for spec in hosts}
        until_s = time.monotonic() + _CONNECT_LIMIT_S
        for spec in hosts:
            while not (directory / f"{spec.name}.ctl").is_socket():
                if masters[spec.name].poll() is not None or time.monotonic() > until_s:
                    raise MeasurementFailed(
                        f"{spec.name}, by hand: no ssh connection within {_CONNECT_LIMIT_S:g} s"
                    )
                time.sleep(_LOOK_S)
        yield Hand(hosts, directory, wanted)


def _master(stack: ExitStack, spec: HostSpec, directory: Path) -> subprocess.Popen[bytes]:
    options = ["-F", "/dev/null", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={spec.known_hosts}"]
    master = subprocess.Popen(
        ["ssh", *options, "-i", str(spec.key_file), "-p", str(spec.port), "-M", "-S",
         str(directory / f"{spec.name}.ctl"), login(spec), "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    stack.callback(_end, master)
    return master


def _end(master: subprocess.Popen[bytes]) -> None:
    if master.stdin is not None:
        master.stdin.close()
    try:
        master.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        master.kill()
        master.wait()
