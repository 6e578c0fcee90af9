# SPDX-License-Identifier: Apache-2.0
"""``linewatt place`` as a process: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

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


@pytest.mark.parametrize(("number", "columns"), [(1, "1000"), (2, "100")], ids=["of one count", "of several"])
def test_the_examples_of_the_docs_print_what_they_show(tmp_path: Path, number: int, columns: str) -> None:
    (tmp_path / "topology.xml").write_text(Path(DEVICES).read_text())
    example = DOCUMENT.split("```sh\n")[number]
    command = shlex.split(example.split("```")[0])
    assert command[:2] == ["linewatt", "place"]
    with mock.patch.dict(os.environ, {"COLUMNS": columns}):
        done = run(*command[2:], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == example.split("```\n```\n")[1].split("```")[0]


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
        "process_nodes": [1],
        "irq_cpus": [12, 14],
        "irq_nodes": [1],
        "same_core": [],
        "shared": False,
        "notes": [],
    }
    assert why.startswith("2 processes and their interrupts fit on the 4 cores local to ens2f0np0")


def test_several_numbers_of_processes_are_a_list_in_json_each_as_alone() -> None:
    where = (DEVICES, "--nic", "ens2f0np0")
    together = document(*where, "--processes", "1,2,16,2")
    assert (together["schema_version"], together["nic"], together["numa_node"]) == (1, "ens2f0np0", 1)
    assert [placement["processes"] for placement in together["placements"]] == [1, 2, 16]
    for placement in together["placements"]:
        alone = document(*where, "--processes", str(placement["processes"]))
        assert alone == {"schema_version": 1, "nic": "ens2f0np0", "numa_node": 1, **placement}
    *_, shared = together["placements"]
    assert shared["process_nodes"] == [0]
    assert shared["same_core"] == [*range(8)], "second threads of the cores of node 0"


def rows(text: str) -> list[list[str]]:
    """The rows of the table, each as its cells."""
    lines = text.splitlines()
    rule = next(at for at, line in enumerate(lines) if line.startswith("─"))
    table = lines[rule + 1 : lines.index("", rule)] if "" in lines[rule:] else lines[rule + 1 :]
    return [re.split(" {2,}", line.strip()) for line in table if re.match(" *[0-9]+  ", line)]


def test_several_numbers_of_processes_are_a_table_with_a_row_each() -> None:
    done = run(DEVICES, "--nic", "ens2f0np0", "--processes", "1,4,8,100")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done.stdout) == [
        ["1", "rule 1", "8", "1", "10", "1", "none"],
        ["4", "rule 2", "0, 2, 4, 6", "0", "8, 10, 12, 14", "1", "none"],
        ["8", "rule 2", "0-7", "0", "8, 10, 12, 14", "1", "0-7"],
        ["100", "rule 3", "any", "any", "any", "any", "none"],
    ]
    text = " ".join(done.stdout.split())
    assert "CPUs for load and interrupts of ens2f0np0 (NUMA node 1)" in text
    assert "1 process: rule 1: 1 process and its interrupts fit on the 4 cores" in text
    assert "100 processes: rule 3: 100 processes are more than two" in text
    assert "! 8 processes: 8 CPUs with processes are threads of 4 cores" in text


def test_a_table_of_placements_fits_80_columns_and_breaks_no_number() -> None:
    with mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        done = run(DEVICES, "--numa-node", "1", "--processes", "1,2,4,8,16", "--smt")
    assert max(map(len, done.stdout.splitlines())) <= 80
    shown = set(re.findall(r"[0-9]+", done.stdout))
    assert shown <= {str(number) for number in range(17)}


def page_of(folder: Path, *arguments: str) -> tuple[str, str]:
    target = folder / "place.html"
    done = run(DEVICES, *arguments, "-o", str(target))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, target.read_text(encoding="utf-8")


def pictures(page: str) -> list[dict[str, str]]:
    """Of each picture its CPUs → signs, those that are free left out."""
    cell = re.compile(r'<span class="cpu [^"]*">(?:<b>(.)</b>)?(?:<i>[^<]*</i>)?<span>([^<]+)</span></span>')
    found = []
    for figure in page.split('<figure class="machine')[1:]:
        drawn = figure.partition('<ul class="legend">')[0]
        found.append({cpus: sign for sign, cpus in cell.findall(drawn) if sign not in ("", "·")})
    return found


def test_a_page_has_the_table_and_a_picture_of_each_number_of_processes(tmp_path: Path) -> None:
    out, page = page_of(tmp_path, "--nic", "ens2f0np0", "--processes", "1,2,100")
    assert len(rows(out)) == 3
    assert pictures(page) == [{"8": "P", "10": "I"}, {"8": "P", "10": "P", "12": "I", "14": "I"}, {}]
    assert page.count("<b>ens2f0np0</b> <span>PCI 0000:81:00.0</span> <span>NUMA node 1</span>") == 3
    assert "<h3>1 process</h3>" in page
    assert "<h3>100 processes</h3>" in page
    assert "Rule 3: 100 processes are more than two for each of the 8 cores" in page
    assert "Where load and interrupts go" in page
    assert "NUMA node 0 · package 0" in page
    assert "<script" not in page


def test_a_page_of_a_single_number_and_of_a_node_has_one_picture_at_that_node(tmp_path: Path) -> None:
    out, page = page_of(tmp_path, "--numa-node", "0", "--processes", "1", "--cpus", "0-7,12-15")
    assert out.startswith("rule 1: 1 process and its interrupts fit"), "as without a page"
    assert pictures(page) == [{"0": "P", "2": "I", "8": "x", "9": "x", "10": "x", "11": "x"}]
    node_0, node_1 = page.split('<div class="node">')[1:]
    assert "<b>network device</b> <span>NUMA node 0</span>" in node_0
    assert "network device" not in node_1


def test_a_page_that_cannot_be_written_is_refused_before_the_topology_is_read(tmp_path: Path) -> None:
    done = run("/nonexistent.xml", "--numa-node", "0", "--processes", "1", "-o", str(tmp_path / "no" / "x"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no directory" in done.stderr


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
        ("--numa-node 0 --processes 1,", "--processes: '' is not a whole number; write 4, or several: 1,2,4"),
        ("--numa-node 0 --processes 1,0", "{file}: the number of processes must be 1 to 65535, got 0"),
        (
            "--numa-node 0 --processes 1,2 --policy neighbour --cpus 0-3",
            "{file}: the policy neighbour needs two cores of NUMA node 0 behind one last-level cache for "
            "each of 2 processes",
        ),
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
    assert len(options) == 11
    assert {option for option in options if f"`{option}`" not in DOCUMENT} == set()


def test_the_machine_of_the_bench_has_512_cpus_of_two_nodes_and_16_caches() -> None:
    machine = parse_lstopo_xml(place_512.topology_xml())
    assert (len(machine.cpus), machine.nodes) == (512, (0, 1))
    assert len({cpu.core for cpu in machine.cpus}) == 256
    assert len({cpu.llc for cpu in machine.cpus}) == 16
    assert machine.node_cpus(1) == (*range(128, 256), *range(384, 512))
