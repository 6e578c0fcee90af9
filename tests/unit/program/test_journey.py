# SPDX-License-Identifier: Apache-2.0
"""A new user's way through the program: what is typed naturally is understood, and what is said is so."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.report_factories import result, scaling_trials
from tests.unit.conftest import Run
from tests.unit.report.test_show import keep

HOSTS = """name: t
hosts:
  gen: {address: 192.0.2.11, data: eth0, app_cpus: 0, irq_cpus: 1}
  dut: {address: 192.0.2.10, data: eth0, app_cpus: 0, irq_cpus: 1}
pairs: ["gen -> dut"]
tests: [tcp]
"""


def plan(run: Run, text: str) -> str:
    Path("c.yaml").write_text(HOSTS + text)
    code, out, err = run("plan", "c.yaml")
    assert code == 0, err
    return out


def test_a_plan_does_not_say_that_nothing_changes_before_it_can_know(run: Run) -> None:
    out = plan(run, "steer: true\n")
    assert "steer: which interrupts of dut and gen move is decided when the host has been asked" in out
    assert "no change" not in out
    assert "steer:" not in plan(run, "")


def test_a_plan_says_that_interrupts_move_where_placement_is_chosen_later(run: Run) -> None:
    text = HOSTS.replace(", app_cpus: 0, irq_cpus: 1", "")
    Path("c.yaml").write_text(text)
    _, out, _ = run("plan", "c.yaml")
    assert "change dut, gen: interrupts of data interfaces go to CPUs that are chosen when the host" in out
    assert "no change" not in out
    named = plan(run, "")
    assert "chosen when" not in named
    assert "change dut, gen: irqbalance = off where it runs" in named
    assert "irqbalance" not in plan(run, "placement: none\n")
    Path("c.yaml").write_text(text + "placement: none\n")
    assert "no change to any host" in run("plan", "c.yaml")[1]


def test_the_level_of_a_label_stays_as_it_was_written(run: Run) -> None:
    out = plan(run, "factors: {kernel: {label: [5.10, 6.1]}}\n")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("   ")] == ["5.10", "6.1"]


def test_the_schema_knows_both_ways_to_write_a_soak(run: Run) -> None:
    schema = json.loads(run("schema")[1])
    kinds = schema["properties"]["soak"]["anyOf"]
    assert [kind.get("type") or kind["$ref"].rpartition("/")[2] for kind in kinds] == [
        "string",
        "SoakEntry",
        "null",
    ]


def test_a_campaign_takes_rates_as_labs_write_them(run: Run) -> None:
    assert "10.0 Gbps" in plan(run, "rate: 10gbit\n")


@pytest.mark.parametrize("command", [("show",), ("report", "-o", "x.html")])
def test_a_result_may_be_named_by_its_path(run: Run, command: tuple[str, ...]) -> None:
    keep(result(scaling_trials((1,))))
    name = "results/20260101-000000-x64-scaling"
    for path in (name, f"./{name}/", str(Path(name).resolve())):
        assert run(command[0], path, *command[1:])[0] == 0
    Path("results").rename("moved")
    assert run(command[0], "moved/20260101-000000-x64-scaling", *command[1:])[0] == 0
    code, _, err = run(command[0], "elsewhere/20260101-000000-x64-scaling", *command[1:])
    assert code == 2
    assert "no such result" in err


def test_the_last_result_is_the_newest_and_not_the_last_by_name(run: Run) -> None:
    keep(result(scaling_trials((1,))))
    old = Path("results/20260101-000000-x64-scaling")
    shutil.copytree(old, "results/20260202-000000-x64-scaling")
    old.rename("results/kept-for-the-talk")
    assert json.loads(run("show", "last", "--json")[1])["id"] == "20260202-000000-x64-scaling"
    assert json.loads(run("show", "kept", "--json")[1])["id"] == "kept-for-the-talk"


def test_python_runs_the_program_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "linewatt", "--version"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.startswith("linewatt ")
