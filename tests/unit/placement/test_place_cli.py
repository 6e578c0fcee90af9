# SPDX-License-Identifier: Apache-2.0
"""``linewatt place`` as a process: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main
from bench import place_512
from tests import forked

from linewatt.cli.entry_point import whole
from linewatt.placement.hwloc import parse_lstopo_xml

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "placement.md").read_text(encoding="utf-8")
CAPTURES = ROOT / "tests" / "captures" / "topology"
DEVICES = str(CAPTURES / "2.9.0-v2-devices" / "topology.xml")


def run(
    *arguments: str, stdin: bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    done = forked.run(["place", *arguments], input=stdin, text=False, cwd=cwd)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def document(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_example_of_the_docs_prints_what_they_show(tmp_path: Path) -> None:
    (tmp_path / "topology.xml").write_text(Path(DEVICES).read_text())
    command = shlex.split(DOCUMENT.split("```sh\n")[1].split("```")[0])
    assert command[:2] == ["linewatt", "place"]
    done = run(*command[2:], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == DOCUMENT.split("```\n```\n")[1].split("```")[0]


def test_json_has_a_schema_version_the_cpus_and_the_reason() -> None:
    found = document(DEVICES, "--nic", "ens2f0np0", "--processes", "2")
    why = found.pop("why")
    assert found == {
        "schema_version": 1,
        "rule": 1,
        "policy": "auto",
        "processes": 2,
        "nic": "ens2f0np0",
        "numa_node": 1,
        "process_cpus": [8, 10],
        "irq_cpus": [12, 14],
        "shared": False,
        "notes": [],
    }
    assert why.startswith("2 processes and their interrupts fit on the 4 cores local to ens2f0np0")


def test_a_topology_comes_through_a_pipe() -> None:
    done = run("-", "--numa-node", "0", "--processes", "1", "--json", stdin=Path(DEVICES).read_bytes())
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["nic"], found["numa_node"], found["process_cpus"]) == (None, 0, [0])


def test_the_options_reach_the_rules() -> None:
    where = (DEVICES, "--numa-node", "0")
    assert document(*where, "--processes", "5", "--smt")["process_cpus"] == [0, 2, 4, 6, 1]
    assert document(*where, "--processes", "1", "--policy", "neighbour")["irq_cpus"] == [2]
    assert document(*where, "--processes", "1", "--policy", "remote")["process_cpus"] == [8]
    assert document(*where, "--processes", "1", "--cpus", "4-15")["process_cpus"] == [4]
    assert document(*where, "--processes", "1", "--isolated", "6,99")["process_cpus"] == [6]
    named = document(*where, "--processes", "2", "--process-cpus", "9", "--irq-cpus", "3,5")
    assert (named["process_cpus"], named["irq_cpus"], named["rule"]) == ([9, 9], [3, 5], None)
    assert named["policy"] == "explicit"


def test_a_map_shows_every_cpu_of_every_node_once() -> None:
    done = run(str(CAPTURES / "2.9.0-v2-offline" / "topology.xml"), "--numa-node", "0", "--processes", "9")
    assert done.stdout.splitlines()[2:] == [
        "processes   3-5,9-10",
        "interrupts  0-1,8",
        "",
        "node 0 *    interrupts 0-1,8 | free 7",
        "node 1      processes 3-5,9-10",
        "no node     not usable 2,6,11",
        "* the node that was named",
        "",
        "note: up to 2 processes share a CPU: 9 of them on 5 CPUs",
        "note: 5 CPUs with processes are threads of 3 cores",
    ]


def test_what_is_left_to_the_system_is_said() -> None:
    done = run(DEVICES, "--nic", "eno1", "--processes", "100")
    assert done.stdout.startswith("rule 3: 100 processes are more than two for each of the 8 cores")
    assert "processes   left to the system\ninterrupts  left to the system\n" in done.stdout
    assert document(DEVICES, "--nic", "eno1", "--processes", "100")["process_cpus"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--nic eth9 --processes 1", "{file}: there is no network device 'eth9'; there are: eno1, ens2f0np0"),
        ("--numa-node 4 --processes 1", "{file}: there is no NUMA node 4; nodes with CPUs: 0, 1"),
        ("--numa-node 0 --processes 0", "{file}: the number of processes must be 1 to 65535, got 0"),
        (
            "--numa-node 0 --processes 1 --policy best",
            "{file}: there is no policy 'best'; there are: auto, none",
        ),
        (
            "--numa-node 0 --processes 1 --process-cpus 16",
            "{file}: the machine has no CPU 16 for the processes",
        ),
        ("--numa-node 0 --processes 1 --cpus 3-1", "--cpus: the CPU range 3-1 runs backwards; write 1-3"),
        ("--numa-node 0 --processes 1 --irq-cpus x", "--irq-cpus: 'x' is not a CPU or a range"),
        ("--processes 1", "name either the network device (--nic) or its NUMA node (--numa-node)"),
        ("--nic eno1 --numa-node 0 --processes 1", "name either the network device (--nic)"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments: str, said: str) -> None:
    done = run(DEVICES, *arguments.split(), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"linewatt: {said.format(file=DEVICES)}")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not well-formed XML"),
        (b"\xff\xfe<\x00", "not text; write a topology with: lstopo --of xml FILE"),
        (b"<!DOCTYPE t [<!ENTITY a 'b'>]><topology/>", "the topology declares XML entities"),
        (b"<topology/>", "not a topology of hwloc, but <topology>"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(data: bytes, said: str) -> None:
    done = run("-", "--numa-node", "0", "--processes", "1", stdin=data)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"linewatt: standard input: {said}")


def test_a_file_that_is_not_there_or_is_endless_is_refused() -> None:
    done = run("/nonexistent.xml", "--numa-node", "0", "--processes", "1")
    assert (done.returncode, done.stderr) == (
        2,
        "linewatt: /nonexistent.xml: cannot be read: No such file or directory\n",
    )
    endless = run("/dev/zero", "--numa-node", "0", "--processes", "1")
    assert endless.stderr == "linewatt: /dev/zero: larger than 64 MiB, which no topology is\n"


def test_every_option_is_in_the_docs() -> None:
    command = typer.main.get_command(whole()).commands["place"]  # type: ignore[attr-defined]
    options = {option for one in command.params for option in one.opts if option.startswith("--")}
    assert len(options) == 10
    assert {option for option in options if f"`{option}`" not in DOCUMENT} == set()


def test_the_machine_of_the_bench_has_512_cpus_of_two_nodes_and_16_caches() -> None:
    machine = parse_lstopo_xml(place_512.topology_xml())
    assert (len(machine.cpus), machine.nodes) == (512, (0, 1))
    assert len({cpu.core for cpu in machine.cpus}) == 256
    assert len({cpu.llc for cpu in machine.cpus}) == 16
    assert machine.node_cpus(1) == (*range(128, 256), *range(384, 512))
