# SPDX-License-Identifier: Apache-2.0
"""What a guest consists of, checked before anything is made (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Literal, get_args

from linewatt.errors import InvalidInput

Model = Literal[
    "vmxnet3", "e1000e", "virtio-net-pci", "e1000", "rtl8139", "i82559er", "tulip", "pcnet", "ne2k_pci"
]
MODULES: dict[Model, str] = {
    "vmxnet3": "vmxnet3",
    "e1000e": "e1000e",
    "virtio-net-pci": "virtio_net",
    "e1000": "e1000",
    "rtl8139": "8139cp",
    "i82559er": "e100",
    "tulip": "tulip",
    "pcnet": "pcnet32",
    "ne2k_pci": "ne2k-pci",
}
"""model → the module of the kernel that drives it"""
MODELS: tuple[Model, ...] = get_args(Model)
EXPRESS: tuple[Model, ...] = ("vmxnet3", "e1000e", "virtio-net-pci")
"""on PCI Express; all others are on the conventional bus, which is on no node"""

MAX_GUESTS = 16
MAX_NICS = 4
MAX_CPUS = 16
MAX_THREADS = 2
MAX_NODES = 4
MAX_QUEUES = 8
_MEMORY_MIB = (512, 65536)


@dataclass(frozen=True, slots=True)
class Nic:
    """A data interface of a guest. Raises InvalidInput.

    ``queues``: pairs of them, of virtio only; vmxnet3's driver chooses by the guest's CPUs, others have one.
    ``node``: the NUMA node that its PCI bridge is on; None: the machine does not say, as with one node.
    """

    model: Model = "vmxnet3"
    queues: int | None = None
    node: int | None = None

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise InvalidInput(f"guest: no NIC model {self.model!r}; there are {', '.join(MODELS)}")
        if self.node is not None and self.model not in EXPRESS:
            raise InvalidInput(
                f"guest: a {self.model} is on a bus of no NUMA node; node= is of {', '.join(EXPRESS)}"
            )
        if self.queues is None:
            return
        if self.model != "virtio-net-pci":
            follow = "follow from the guest's CPUs" if self.model == "vmxnet3" else "are one pair"
            raise InvalidInput(f"guest: queues of a {self.model} {follow}; queues= is of virtio-net-pci")
        check_range("guest: queues", self.queues, 1, MAX_QUEUES)


@dataclass(frozen=True, slots=True)
class Guest:
    """A virtual machine, checked on creation. Raises InvalidInput.

    ``cpus`` are divided evenly among ``nodes`` NUMA nodes, and into cores of ``threads`` hardware threads.
    ``kernel``: the path of an image; None: the newest there is. ``acpi_meter``: its firmware has a power
    meter, which asks the BMC.
    """

    nics: tuple[Nic, ...] = (Nic(),)
    cpus: int = 2
    threads: int = 1
    nodes: int = 1
    memory_mib: int = 768
    kernel: str | None = None
    acpi_meter: bool = False

    def __post_init__(self) -> None:
        check_range("guest: NICs", len(self.nics), 1, MAX_NICS)
        check_range("guest: CPUs", self.cpus, 1, MAX_CPUS)
        check_range("guest: threads of a core", self.threads, 1, MAX_THREADS)
        check_range("guest: NUMA nodes", self.nodes, 1, MAX_NODES)
        check_range("guest: memory in MiB", self.memory_mib, *_MEMORY_MIB)
        if self.cpus % (self.nodes * self.threads):
            raise InvalidInput(
                f"guest: {self.cpus} CPUs do not make {self.nodes} equal nodes of whole cores"
                f" with {self.threads} threads each; give --cpus a multiple of {self.nodes * self.threads}"
            )
        if self.memory_mib % self.nodes:
            raise InvalidInput(f"guest: {self.memory_mib} MiB cannot be dealt to {self.nodes} nodes evenly")
        for nic in self.nics:
            if nic.node is not None and not 0 <= nic.node < self.nodes:
                raise InvalidInput(
                    f"guest: a NIC on node {nic.node}, but nodes are 0 to {self.nodes - 1}; see --nodes"
                )

    @property
    def description(self) -> str:
        """In a few words, for a table."""
        nodes = "" if self.nodes == 1 else f" on {self.nodes} nodes"
        meter = ", ACPI meter" if self.acpi_meter else ""
        nics = " + ".join(nic.model for nic in self.nics)
        return f"{self.cpus} CPUs{nodes}, {self.memory_mib} MiB, {nics}{meter}"


def parse_nic(text: str) -> Nic:
    """``vmxnet3``, ``e1000e,node=1``, ``virtio-net-pci,queues=2``. Raises InvalidInput."""
    model, *settings = text.split(",")
    numbers: dict[str, int] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in ("queues", "node") or key in numbers or not value.isdecimal():
            raise InvalidInput(f"guest: --nic {text}: {setting!r} is not queues=N or node=N")
        numbers[key] = int(value)
    for known_model in MODELS:
        if model == known_model:
            return Nic(known_model, numbers.get("queues"), numbers.get("node"))
    raise InvalidInput(f"guest: --nic {text}: no model {model!r}; there are {', '.join(MODELS)}")


def same_guests(
    count: int, nics: Sequence[str] = (), kernels: Sequence[str] = (), template: Guest | None = None
) -> tuple[Guest, ...]:
    """``count`` guests like ``template``; ``kernels`` are assigned in turn. Raises InvalidInput."""
    check_range("guest: guests (--vm)", count, 1, MAX_GUESTS)
    if len(kernels) > count:
        raise InvalidInput(f"guest: {len(kernels)} kernels for {count} guests; see --vm")
    data = tuple(parse_nic(text) for text in nics) or (Nic(),)
    kernels_in_turn = islice(cycle(kernels or (None,)), count)
    return tuple(replace(template or Guest(), nics=data, kernel=kernel) for kernel in kernels_in_turn)


def check_range(what: str, value: int, minimum: int, maximum: int) -> None:
    """Raises InvalidInput for a number out of range."""
    if not minimum <= value <= maximum:
        raise InvalidInput(f"{what} must be {minimum} to {maximum}, got {value}")
