# SPDX-License-Identifier: Apache-2.0
"""interrupts: the script over trees of kernel files (tests/captures/interrupts), the parser, its metrics."""

from __future__ import annotations

import resource
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report_factories import trial
from tests.stream_helpers import needs_bash, records, status_when_told

from linewatt.analysis.cases.summary import summarise
from linewatt.errors import ParseError
from linewatt.hosts.base import DataPort, HostSpec
from linewatt.model import Case, Trial, Window
from linewatt.report.trials.settings.scalability import export_case
from linewatt.sensors.counters import counter_delta
from linewatt.sensors.interrupts import MOST_CELLS, Interrupts, InterruptsConfig, command

CAPTURES = Path(__file__).parents[2] / "captures" / "interrupts"
SENSOR = Interrupts()
RECORD = (
    "linewatt-interrupts 1 5|intr 7|ctxt 8|softirqs 0 1 2 3|irq:eth0 b CPU0 CPU2;7 rx-0 1 2;8 rx-1 3 4|end 6"
)


def one_record(root: Path, device: str = "eth0") -> str:
    return records(command(device, 60, str(root)), 1)[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(CAPTURES / "6.18-virtio" / "root", tmp_path / "root", symlinks=True)
    return tmp_path / "root"


@needs_bash
def test_a_virtual_interface_has_the_machines_counts_and_says_that_it_has_no_interrupts(tree: Path) -> None:
    record = one_record(tree, "veth0")
    assert SENSOR.parse(record)["host.context_switches"] == 624225261
    assert "irq.data" not in SENSOR.parse(record)
    assert SENSOR.reasons(record).keys() == {"irq"}


def row(number: int, name: str) -> str:
    return f"{number:3}: {number:10} {2 * number:10}  PCI-MSIX  {number}-edge      {name}\n"


def counted_of(tree: Path, *rows: str, device: str = "eth0") -> float | None:
    rows = ("            CPU0       CPU2       \n", *rows, "NMI:       7000       7000  Non-maskable\n")
    (tree / "proc/interrupts").write_text("".join(rows))
    values = SENSOR.parse(one_record(tree, device))
    total = values.get("irq.data")
    if total is not None:
        assert (values["irq.cpu0"], values["irq.cpu2"]) == (total / 3, total * 2 / 3)
    return total


@needs_bash
def test_interrupts_are_known_by_number_by_interface_or_by_bus_address(tree: Path) -> None:
    foreign = row(8, "rtc0")
    assert counted_of(tree, foreign, row(38, "named-otherwise"), row(39, "named")) == 3 * (38 + 39)
    assert counted_of(tree, foreign, row(140, "ice-eth0-TxRx-0")) == 3 * 140
    assert counted_of(tree, foreign, row(141, "mlx5_comp0@pci:0000:00:03.0")) == 3 * 141
    assert counted_of(tree, foreign) is None


@needs_bash
def test_where_one_names_the_interface_only_those_are_its_own_and_only_queues(tree: Path) -> None:
    own = row(140, "ice-eth0-TxRx-0"), row(141, "ice-eth0-TxRx-1")
    assert counted_of(tree, *own, row(38, "ice-eth7-TxRx-0"), row(39, "ice-0000:00:03.0:misc")) == 3 * 281
    queues = row(37, "mlx5_async0@pci:0000:00:03.0"), row(38, "mlx5_comp0@pci:0000:00:03.0")
    assert counted_of(tree, *queues) == 3 * 38


def with_function(tree: Path, device: str, function: str) -> None:
    (tree / "sys/devices" / function).mkdir(exist_ok=True)
    (tree / "sys/class/net" / device).mkdir()
    (tree / "sys/class/net" / device / "device").symlink_to(tree / "sys/devices" / function)


@needs_bash
def test_several_data_ports_have_the_interrupts_of_all_or_none_with_the_reason(tree: Path) -> None:
    with_function(tree, "eth1", "0000:3b:00.0")
    first, second = row(38, "virtio2-input.0"), row(50, "ice-eth1-TxRx-0")
    assert counted_of(tree, first, second, device="eth0 eth1") == 3 * 88
    assert counted_of(tree, first, device="eth0 eth1") is None
    record = one_record(tree, "eth0 eth1")
    assert SENSOR.reasons(record)["irq"].startswith("eth1 has no interrupts of its own")
    record = one_record(tree, "veth0 eth1")
    assert SENSOR.reasons(record)["irq"].startswith("veth0 and eth1 have no interrupts of their own")


@needs_bash
def test_ports_that_share_the_interrupts_of_one_device_count_them_once(tree: Path) -> None:
    for device in ("eth1", "eth2"):
        with_function(tree, device, "0000:3b:00.0")
    shared = row(50, "mlx4-1@0000:3b:00.0"), row(51, "mlx4-2@0000:3b:00.0")
    assert counted_of(tree, *shared, device="eth1 eth2") == 3 * 101


@needs_bash
def test_an_interface_takes_no_interrupts_of_one_whose_name_begins_like_its_own(tree: Path) -> None:
    for device in ("eth1", "eth10"):
        with_function(tree, device, f"0000:3b:00.{device[3:]}")
    first, second = row(50, "ice-eth1-TxRx-0"), row(60, "ice-eth10-TxRx-0")
    assert counted_of(tree, first, second, device="eth1") == 3 * 50
    assert counted_of(tree, first, second, device="eth10") == 3 * 60
    by_bus = row(51, "mlx5_comp0@pci:0000:3b:00.1"), row(61, "ice-eth10-TxRx-0")
    assert counted_of(tree, *by_bus, device="eth1") == 3 * 51
    assert counted_of(tree, second, device="eth1") is None


def with_many_cpus(tree: Path, cpus: int, queues: int, counts: Callable[[int, int], int]) -> None:
    """/proc/interrupts of ``queues`` interrupts of eth0, with ``counts`` of a queue and a CPU."""
    rows = [" ".join(f"CPU{cpu}" for cpu in range(cpus))]
    for queue in range(queues):
        row = " ".join(f"{counts(queue, cpu):10}" for cpu in range(cpus))
        rows.append(f"{200 + queue}: {row}  IR-PCI-MSIX  {queue}-edge  ice-eth0-TxRx-{queue}")
    (tree / "proc/interrupts").write_text("\n".join(rows) + "\n")


@needs_bash
@pytest.mark.parametrize("cpus", [64, 65, 128, 256])
def test_a_queue_for_each_cpu_is_counted_however_many_there_are(tree: Path, cpus: int) -> None:
    with_many_cpus(tree, cpus, cpus, lambda queue, cpu: 1000 + queue if queue == cpu else 0)
    record = one_record(tree)
    values = SENSOR.parse(record)
    assert [values[f"irq.cpu{cpu}"] for cpu in range(cpus)] == [1000 + cpu for cpu in range(cpus)]
    assert values["irq.data"] == 1000 * cpus + cpus * (cpus - 1) / 2
    assert SENSOR.reasons(record) == {}
    assert len(record) < 50 * cpus if cpus > 64 else "TxRx-0 1000 0 0 " in record


@needs_bash
def test_interrupts_of_several_ports_with_a_queue_for_each_cpu_are_of_both(tree: Path) -> None:
    with_function(tree, "eth1", "0000:3b:00.0")
    with_many_cpus(tree, 128, 64, lambda queue, cpu: 7 if cpu == queue else 0)
    table = tree / "proc/interrupts"
    head, *rows = table.read_text().splitlines()
    others = [
        row.replace("eth0", "eth1").replace(f"{200 + at}:", f"{400 + at}:") for at, row in enumerate(rows)
    ]
    table.write_text("\n".join([head, *rows, *others]) + "\n")
    values = SENSOR.parse(one_record(tree, "eth0 eth1"))
    assert (values["irq.cpu63"], values["irq.cpu64"], values["irq.data"]) == (14, 0, 128 * 7)
    table.write_text("\n".join([head, *rows[:40], *others]) + "\n")
    assert SENSOR.parse(one_record(tree, "eth0 eth1"))["irq.cpu63"] == 7


@needs_bash
def test_more_interrupts_than_can_be_counted_each_second_are_not_counted_in_part(tree: Path) -> None:
    with_many_cpus(tree, 2048, MOST_CELLS // 2048 + 1, lambda queue, cpu: 0)
    record = one_record(tree)
    assert "irq.data" not in SENSOR.parse(record)
    assert "not counted" in SENSOR.reasons(record)["irq"]


@needs_bash
def test_counts_that_no_record_can_hold_are_not_counted_in_part(tree: Path) -> None:
    with_many_cpus(tree, 128, 128, lambda queue, cpu: 4_000_000_000)
    (fits,) = records(command("eth0", 1, str(tree)), 1)
    assert SENSOR.parse(fits)["irq.cpu127"] == 128 * 4_000_000_000 % 2**32
    (record,) = records(command("eth0", 0.1, str(tree)), 1)
    assert "irq.data" not in SENSOR.parse(record)
    assert "counts on most CPUs" in SENSOR.reasons(record)["irq"]


@needs_bash
def test_a_long_row_is_known_by_its_name_in_a_moment(tree: Path) -> None:
    with_many_cpus(tree, 4000, 100, lambda queue, cpu: 1 if cpu == 0 else 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert SENSOR.parse(one_record(tree))["irq.cpu0"] == 100
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 4


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
        RECORD.replace("rx-0 1 2", "rx-0 1"),
        RECORD.replace("rx-0 1 2", "rx-0 2:1"),
        RECORD.replace("rx-0 1 2", "rx-0 1:x"),
        RECORD.replace("rx-0 1 2", "rx-0 0:1 2"),
        RECORD.replace("interrupts 1", "interrupts 2"),
    ],
)
def test_what_is_no_whole_record_is_refused(record: str) -> None:
    with pytest.raises(ParseError, match="interrupts"):
        SENSOR.parse(record)


def test_a_sum_of_counts_of_32_bits_wraps_as_they_do_and_a_reset_gives_no_number() -> None:
    def both(first: int) -> str:
        return RECORD.replace("rx-0 1 2", f"rx-0 {first} 0").replace("rx-1 3 4", "rx-1 0 0")

    near, beyond, again = both(2**32 - 10), both(2**32 - 1), both(5)
    counts = [SENSOR.parse(record)["irq.data"] for record in (near, beyond, again)]
    bits = SENSOR.channel("irq.data").bits
    read = list(enumerate(counts))
    assert counter_delta(read, Window(0, 2), bits).value == 15
    assert SENSOR.channel("host.interrupts").bits == 64
    reset = counter_delta([(0, 1e9), (1, 5.0)], Window(0, 1), 64)
    assert (reset.value, reset.reason) == (None, "counter reset: from 1000000000 to 5")


def test_settings_are_on_the_command_line_and_nothing_else_of_the_host() -> None:
    argv = SENSOR.command(InterruptsConfig(interval_s=0.5), HostSpec("h", "192.0.2.1", "eth0"))
    assert argv[-6:] == ["", "eth0", "500000", "4096", str(MOST_CELLS), "200000"]
    several = HostSpec("h", "192.0.2.1", "eth0", more_ports=(DataPort("eth1"),))
    assert SENSOR.command(InterruptsConfig(), several)[-5] == "eth0 eth1"
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
