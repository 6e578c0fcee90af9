# SPDX-License-Identifier: Apache-2.0
"""Placements of several numbers of processes: a table, and a page with a picture of each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from linewatt import __version__
from linewatt.hosts.facts import format_cpulist
from linewatt.placement import Placement, Topology
from linewatt.report.machine.map import Nic, map_of_placement
from linewatt.report.printing.html import pages_of_files, write_page
from linewatt.report.printing.text_table import render_table
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, text_cells

_BY_SYSTEM = "any"
_LOCAL = "local everywhere"


@dataclass(frozen=True, slots=True)
class Placements:
    """Placements on a machine by their number of processes.

    ``nic`` has the interrupts, or a device without a name at ``nic_node``. ``usable``: the CPUs chosen from.
    """

    topology: Topology
    nic: str | None
    nic_node: int | None
    usable: frozenset[int]
    by_count: Mapping[int, Placement]

    def table(self) -> Table:
        """A row for each number of processes: CPUs, NUMA nodes, and which CPUs share a core."""
        rows = (
            Row((Cell(str(count)),), text_cells(*_texts(self.topology, placement)))
            for count, placement in self.by_count.items()
        )
        return Table(
            f"CPUs for load and interrupts of {self._device_words()}",
            (Head("Processes", lines="Pro-\ncesses"),),
            (
                Head("Decided by", kind="text", lines="Decided\nby"),
                Head("CPUs of processes", kind="prose"),
                Head("NUMA nodes of processes", kind="text", lines="NUMA"),
                Head("CPUs of interrupts", kind="prose"),
                Head("NUMA nodes of interrupts", kind="text", lines="NUMA"),
                Head("CPUs that share a core", kind="prose"),
            ),
            (RowGroup("", tuple(rows)),),
            tuple(_notes(self.by_count)),
        )

    def rendered(self, width: int | None) -> RenderableType:
        """The table for a terminal."""
        return render_table(self.table(), width)

    def write_page(self, target: Path, source: str) -> None:
        """The table, and a picture for each number of processes, as one HTML file. Raises StoreError."""
        write_page(target, self._page(source))

    def _page(self, source: str) -> str:
        nic = Nic(self.nic or "network device", tuple(self._device_details()))
        maps = [
            map_of_placement(self.topology, nic, self.nic_node, count, placement, self.usable)
            for count, placement in self.by_count.items()
        ]
        html: str = (
            pages_of_files()
            .get_template("placement.html.j2")
            .render(
                version=__version__,
                kind="placement",
                name=f"{source}: {self._device_words()}",
                complete=True,
                lab=False,
                elsewhere=None,
                table=self.table(),
                maps=maps,
            )
        )
        return html

    def _device_words(self) -> str:
        """``ens2f0np0 (NUMA node 1)``."""
        if self.nic is None:
            return f"a device at NUMA node {self.nic_node}"
        return f"{self.nic} ({_node_words(self.nic_node)})"

    def _device_details(self) -> Iterator[str]:
        if self.nic is not None and (address := self.topology.device(self.nic).address):
            yield f"PCI {address}"
        yield _node_words(self.nic_node)


def _node_words(node: int | None) -> str:
    return _LOCAL if node is None else f"NUMA node {node}"


def _texts(topology: Topology, placement: Placement) -> Iterator[str]:
    yield placement.decided_by
    for cpus in (placement.process_cpus, placement.irq_cpus):
        yield _cpus_text(cpus) or _BY_SYSTEM
        yield _cpus_text(topology.nodes_of(cpus)) or _BY_SYSTEM
    yield _cpus_text(topology.sharing_cores((*placement.process_cpus, *placement.irq_cpus))) or "none"


def _cpus_text(cpus: Iterable[int]) -> str:
    """With blanks, at which a long list wraps."""
    return format_cpulist(cpus).replace(",", ", ")


def _notes(by_count: Mapping[int, Placement]) -> Iterator[Note]:
    """Why, for each number of processes; then the notes, each with the numbers that it is about."""
    counts_of_note: dict[str, list[int]] = {}
    for count, placement in by_count.items():
        yield Note("remark", placement.reason, _counts_text([count]))
        for note in placement.notes:
            counts_of_note.setdefault(note, []).append(count)
    for note, counts in counts_of_note.items():
        yield Note("doubt", note, "" if len(counts) == len(by_count) else _counts_text(counts))


def _counts_text(counts: Collection[int]) -> str:
    """``1 process``, ``8, 16 processes``."""
    return f"{', '.join(map(str, counts))} process{'' if set(counts) == {1} else 'es'}"
