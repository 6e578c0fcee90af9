# SPDX-License-Identifier: Apache-2.0
"""interrupts: the script over trees of kernel files (tests/captures/interrupts), the parser, its metrics."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report_factories import trial
from tests.stream_helpers import needs_bash, records, status_when_told

from linewatt.analysis.cases.summary import summarise
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.model import Case, Trial, Window
from linewatt.report.trials.scalability import export_case
from linewatt.sensors.counters import counter_delta
from linewatt.sensors.interrupts import MOST_CELLS, Interrupts, InterruptsConfig, command

CAPTURES = Path(__file__).parents[1] / "captures" / "interrupts"
SENSOR = Interrupts()
RECORD = "linewatt-interrupts 1 5|intr 7|ctxt 8|softirqs 0 1 2 3|irq CPU0 CPU2;1 2;3 4|end 6"


def one_record(root: Path, device: str = "eth0") -> str:
    return records(command(device, 60, str(root)), 1)[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(CAPTURES / "6.18-virtio" / "root", tmp_path / "root", symlinks=True)
    return tmp_path / "root"


@needs_bash
@pytest.mark.parametrize("case", sorted(path.name for path in CAPTURES.iterdir()))
def test_each_tree_gives_what_its_files_say(case: str) -> None:
    expected = json.loads((CAPTURES / case / "expected.json").read_text())
    values = SENSOR.parse(one_record(CAPTURES / case / "root"))
    assert expected.pop("origin")
    assert values == {
        f"{group}.{name}": count for group, counts in expected.items() for name, count in counts.items()
    }
    assert {SENSOR.channel(name).kind for name in values} == {"counter"}


@needs_bash
def test_a_virtual_interface_has_the_machines_counts_and_says_that_it_has_no_interrupts(tree: Path) -> None:
    record = one_record(tree, "veth0")
    assert SENSOR.parse(record)["host.context_switches"] == 624225261
    assert "irq.data" not in SENSOR.parse(record)
    assert SENSOR.reasons(record).keys() == {"irq"}


@needs_bash
def test_interrupts_are_known_by_number_by_interface_and_by_bus_address(tree: Path) -> None:
    (tree / "proc/interrupts").write_text(
        "            CPU0       CPU2       \n"
        "  8:          5          6  IO-APIC   8-edge      rtc0\n"
        " 38:          1          2  PCI-MSIX  1-edge      named-otherwise\n"
        "140:         10         20  PCI-MSIX  2-edge      ice-eth0-TxRx-0\n"
        "141:        100        200  PCI-MSIX  3-edge      mlx5_comp0@pci:0000:00:03.0\n"
        "NMI:       7000       7000  Non-maskable interrupts\n"
    )
    values = SENSOR.parse(one_record(tree))
    assert (values["irq.cpu0"], values["irq.cpu2"], values["irq.data"]) == (111, 222, 333)


@needs_bash
def test_more_interrupts_than_can_be_counted_each_second_are_not_counted_in_part(tree: Path) -> None:
    cpus, vectors = 128, MOST_CELLS // 128 + 1
    rows = [" ".join(f"CPU{cpu}" for cpu in range(cpus))]
    rows += [f"{200 + number}: {'1 ' * cpus} PCI-MSIX eth0-{number}" for number in range(vectors)]
    (tree / "proc/interrupts").write_text("\n".join(rows) + "\n")
    record = one_record(tree)
    assert "irq.data" not in SENSOR.parse(record)
    assert "not counted" in SENSOR.reasons(record)["irq"]
    (tree / "proc/interrupts").write_text("\n".join(rows[:-1]) + "\n")
    assert SENSOR.parse(one_record(tree))["irq.data"] == cpus * (vectors - 1)


@needs_bash
def test_a_host_without_these_files_says_so(tmp_path: Path) -> None:
    record = one_record(tmp_path)
    assert SENSOR.parse(record) == {}
    assert SENSOR.reasons(record).keys() == {"host", "softirqs", "irq"}


@needs_bash
def test_it_ends_when_it_is_told_to() -> None:
    assert status_when_told(command("lo", 60), signal.SIGTERM) == -signal.SIGTERM


@pytest.mark.parametrize(
    "record",
    [
        "",
        RECORD[:20],
        RECORD.removesuffix("|end 6"),
        RECORD.replace("intr 7", "intr x"),
        RECORD.replace("intr 7", f"intr {'9' * 21}"),
        RECORD.replace(";1 2", ";1"),
        RECORD.replace("interrupts 1", "interrupts 2"),
    ],
)
def test_what_is_no_whole_record_is_refused(record: str) -> None:
    with pytest.raises(ParseError, match="interrupts"):
        SENSOR.parse(record)


def test_a_sum_of_counts_of_32_bits_wraps_as_they_do_and_a_reset_gives_no_number() -> None:
    near, beyond = (RECORD.replace("1 2;3 4", f"{2**32 - 1 - less} 0;0 0") for less in (9, 0))
    again = RECORD.replace("1 2;3 4", "5 0;0 0")
    counts = [SENSOR.parse(record)["irq.data"] for record in (near, beyond, again)]
    bits = SENSOR.channel("irq.data").bits
    read = list(enumerate(counts))
    assert counter_delta(read, Window(0, 2), bits).value == 15
    assert SENSOR.channel("host.interrupts").bits == 64
    reset = counter_delta([(0, 1e9), (1, 5.0)], Window(0, 1), 64)
    assert (reset.value, reset.reason) == (None, "counter reset: from 1000000000 to 5")


def test_settings_are_on_the_command_line_and_nothing_else_of_the_host() -> None:
    argv = SENSOR.command(InterruptsConfig(interval_s=0.5), HostSpec("h", "192.0.2.1", "eth0"))
    assert argv[-4:] == ["", "eth0", "500000", str(MOST_CELLS)]
    with pytest.raises(ParseError):
        SENSOR.channel("irq.cpu")


def counted(interrupts: float | None) -> Trial:
    plain = trial(1, Case("tcp", "h1", "h2"), 1e9, 1.0)
    assert plain.receiver is not None
    counters = {**plain.receiver.counters, "host.interrupts": interrupts, "host.context_switches": 5000.0}
    reasons = {"host.interrupts": "counter reset: from 9 to 1"} if interrupts is None else {}
    end = replace(plain.receiver, counters=counters, reasons=reasons)
    return replace(plain, receiver=end, window=Window(100.0, 110.0))


def test_a_case_has_what_each_ends_machine_did_a_second_and_why_it_has_not() -> None:
    (found,) = summarise([counted(20_000.0)])
    row = export_case(found)
    assert row["receiver_interrupts_per_s_mean"] == 2000
    assert row["receiver_context_switches_per_s_mean"] == 500
    assert not [name for name in row if name.startswith("sender_interrupts")], "nobody counted them there"
    (part,) = summarise([counted(None), replace(counted(20_000.0), number=2)])
    assert part.reasons["receiver_interrupts_per_s"] == "in 1 of 2 trials: h2: counter reset: from 9 to 1"


def test_results_without_the_sensor_are_what_they_were() -> None:
    (found,) = summarise([trial(1, Case("tcp", "h1", "h2"), 1e9, 1.0)])
    said = (*export_case(found), *found.reasons)
    assert not [name for name in said if "interrupts" in name or "switches" in name]
