# SPDX-License-Identifier: Apache-2.0
"""How long a placement on 512 CPUs takes: the topology, the rules, the command; beside hwloc's own tool."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.effort import Effort
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row
from linewatt.placement.hwloc import parse_lstopo_xml
from linewatt.placement.policy import Wish, place_processes

ABOUT_S = 10
_PACKAGES, _CACHES, _CORES, _THREADS = 2, 8, 16, 2
_CPUS = _PACKAGES * _CACHES * _CORES * _THREADS
_PROCESSES = 64


def measure(effort: Effort) -> list[Row]:
    """Each in turn, so that all see the same machine."""
    text = topology_xml()
    machine = parse_lstopo_xml(text)
    wish = Wish(_PROCESSES, node=0)
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        file = Path(directory) / "topology.xml"
        file.write_text(text)
        commands = _commands(file)
        steps: dict[str, Callable[[], object]] = {
            "parse": lambda: parse_lstopo_xml(text),
            "place": lambda: place_processes(machine, wish),
            **{name: _runs(argv) for name, argv in commands.items()},
        }
        walls: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(effort.of(15, 5, 1)):
            for name, step in steps.items():
                walls[name].append(_wall_s(step))
    return _rows(walls)


def _rows(walls: dict[str, list[float]]) -> list[Row]:
    distrib = walls.get("hwloc-distrib")
    peer = Peer(f"hwloc-distrib of {_PROCESSES}", tuple(distrib)) if distrib else None
    return [
        Row(f"reading a topology of {_CPUS} CPUs", "s", tuple(walls["parse"])),
        Row(f"placing {_PROCESSES} processes on it", "s", tuple(walls["place"])),
        Row(
            "linewatt place, the command",
            "s",
            tuple(walls["command"]),
            peer=peer,
            note="" if peer else "hwloc's tools are not installed: nothing stands beside it",
        ),
    ]


def _commands(file: Path) -> dict[str, Sequence[str]]:
    """What users would run; hwloc-distrib spreads over CPUs too, but knows neither device nor interrupts."""
    processes = str(_PROCESSES)
    found: dict[str, Sequence[str]] = {
        "command": [*COMMAND, "place", str(file), "--numa-node", "0", "--processes", processes, "--json"]
    }
    if shutil.which("hwloc-distrib") is not None:
        found["hwloc-distrib"] = ["hwloc-distrib", "--input", str(file), "--single", processes]
    return found


def _runs(argv: Sequence[str]) -> Callable[[], object]:
    def run() -> None:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise MeasurementFailed(f"{argv[0]}: {done.stderr.strip()}")

    return run


def _wall_s(step: Callable[[], object]) -> float:
    began_s = time.monotonic()
    step()
    return time.monotonic() - began_s


def topology_xml() -> str:
    """Two packages of 8 caches of 16 cores of 2 threads, as lstopo writes a machine of 512 CPUs."""
    cores = _CPUS // _THREADS
    packages = []
    for package in range(_PACKAGES):
        caches = []
        for cache in range(_CACHES):
            first = (package * _CACHES + cache) * _CORES
            inner = "".join(_core(core, cores) for core in range(first, first + _CORES))
            caches.append(
                _object("L3Cache", _threads_of(range(first, first + _CORES), cores), inner, depth="3")
            )
        own = _threads_of(range(package * cores // 2, (package + 1) * cores // 2), cores)
        node = _object("NUMANode", own, "", os_index=str(package))
        packages.append(_object("Package", own, node + "".join(caches), os_index=str(package)))
    everything = (1 << _CPUS) - 1
    machine = _object(
        "Machine", everything, "".join(packages), allowed_cpuset=_cpuset(everything), os_index="0"
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<topology version="2.0">{machine}</topology>\n'


def _core(core: int, cores: int) -> str:
    numbers = [core + thread * cores for thread in range(_THREADS)]
    units = "".join(_object("PU", 1 << cpu, "", os_index=str(cpu)) for cpu in numbers)
    own = _threads_of([core], cores)
    return _object("L2Cache", own, _object("Core", own, units, os_index=str(core)), depth="2")


def _threads_of(cores: Sequence[int], of_all: int) -> int:
    return sum(1 << core + thread * of_all for core in cores for thread in range(_THREADS))


def _object(kind: str, cpus: int, inner: str, **attributes: str) -> str:
    half = _CPUS // _THREADS // _PACKAGES
    nodes = sum(
        1 << node
        for node in range(_PACKAGES)
        if cpus & _threads_of(range(node * half, (node + 1) * half), _CPUS // _THREADS)
    )
    sets = {"cpuset": _cpuset(cpus), "complete_cpuset": _cpuset(cpus)}
    sets |= {"nodeset": f"{nodes:#x}", "complete_nodeset": f"{nodes:#x}"}
    if kind.endswith("Cache"):
        attributes |= {
            "cache_size": "33554432",
            "cache_linesize": "64",
            "cache_associativity": "0",
            "cache_type": "0",
        }
    if kind == "Machine":
        attributes |= {"allowed_nodeset": f"{nodes:#x}"}
    written = "".join(f' {name}="{value}"' for name, value in (attributes | sets).items())
    return f'<object type="{kind}"{written}>{inner}</object>'


def _cpuset(cpus: int) -> str:
    words = [f"0x{cpus >> at & 0xFFFFFFFF:08x}" for at in range(0, _CPUS, 32)]
    return ",".join(reversed(words))
