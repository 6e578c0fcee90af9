# SPDX-License-Identifier: Apache-2.0
"""Where all interrupts of a host go, read and put back by linewatt's scripts in a tree of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.tuning.test_knobs_captures import in_tree

from linewatt.errors import ChangeError, ParseError
from linewatt.tuning.steering.interrupts import NONE, Interrupts

TABLE = """           CPU0       CPU1       CPU2       CPU3
  0:        272          0          0          0   IO-APIC   2-edge      timer
 24:          0          0          1          0   PCI-MSI 41943040-edge      PCIe PME, aerdrv, pciehp
 25:          1          0          0          0   PCI-MSI 33554432-edge      PCIe PME, aerdrv, pciehp
 27:          0          0      55698          0   PCI-MSI 16385-edge      virtio0-requests
NMI:          0          0          0          0   Non-maskable interrupts
"""
FOUND = {0: "0-3", 24: "2-3", 25: "0-127", 27: "3"}
SETTING = "pciehp#24=2-3 virtio0-requests=3"
"""the others go everywhere, also where the mask has CPUs that are not there"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "interrupts").write_text(TABLE)
    cpus = tmp_path / "sys" / "devices" / "system" / "cpu"
    cpus.mkdir(parents=True)
    (cpus / "present").write_text("0-3\n")
    to(tmp_path, FOUND)
    return tmp_path


def to(host: Path, affinities: dict[int, str]) -> None:
    for number, cpus in affinities.items():
        file = host / "proc" / "irq" / str(number) / "smp_affinity_list"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(cpus + "\n")


def shown(host: Path) -> str:
    done = in_tree(Interrupts().read("host"), host)
    assert (done.returncode, done.stderr) == (0, "")
    return Interrupts().parse(done.stdout)


def written(host: Path, setting: str) -> tuple[int, str]:
    done = in_tree(Interrupts().write("host", setting), host)
    return done.returncode, done.stderr.strip()


def test_those_that_may_not_go_everywhere_are_read_by_name(host: Path) -> None:
    assert shown(host) == SETTING


@pytest.mark.parametrize("moved", [{27: "0-2"}, {0: "1", 24: "0-1", 25: "2", 27: "0-3"}, {}])
def test_whatever_moved_is_put_back(host: Path, moved: dict[int, str]) -> None:
    """Those that went everywhere do again, on the CPUs that there are."""
    to(host, moved)
    assert written(host, SETTING) == (0, "")
    assert shown(host) == SETTING


def test_where_all_went_everywhere_they_do_again(host: Path) -> None:
    assert written(host, NONE) == (0, "")
    assert shown(host) == NONE


def test_one_that_cannot_be_put_back_is_named_and_keeps_no_other(host: Path) -> None:
    to(host, {27: "0-2"})
    file = host / "proc" / "irq" / "24" / "smp_affinity_list"
    file.unlink()
    file.symlink_to("/proc/version")  # which root can read, and nobody write
    status, said = written(host, SETTING)
    assert status == 1
    assert said.startswith("interrupt 24 (pciehp) cannot go to CPU 2-3: ")
    assert (host / "proc" / "irq" / "27" / "smp_affinity_list").read_text() == "3\n"


def test_a_running_irqbalance_decides_and_nothing_is_read(host: Path) -> None:
    process = host / "proc" / "71"
    process.mkdir()
    (process / "comm").write_text("irqbalance\n")
    (process / "stat").write_text("71 (irqbalance) Z 1 71\n")
    assert shown(host) == SETTING, "it has ended, and nobody has waited for it"
    (process / "stat").write_text("71 (irqbalance) S 1 71\n")
    done = in_tree(Interrupts().read("host"), host)
    assert done.returncode == 1
    assert done.stderr.strip() == "irqbalance runs there and moves interrupts as it likes"


def test_no_value_is_taken_and_no_other_target() -> None:
    with pytest.raises(ChangeError, match="see irq_affinity"):
        Interrupts().wanted(NONE, "0-3")
    with pytest.raises(ChangeError, match="the target is 'host'"):
        Interrupts().write("eth0", NONE)
    with pytest.raises(ParseError, match="which CPUs there are"):
        Interrupts().parse("")
