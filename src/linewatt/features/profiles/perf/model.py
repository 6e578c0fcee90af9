# SPDX-License-Identifier: Apache-2.0
"""A profile as a value: stacks of the CPUs of each host while a load ran, in slices of the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from linewatt.model import Case, Role

Place = Literal["app", "irq", "app + irq", "host"]
"""what a CPU is there for: load processes, interrupts, both, or whatever the system puts there"""
PLACES: tuple[Place, ...] = ("app", "irq", "app + irq", "host")
KERNEL = "kernel"
"""where functions of the kernel proper are; those of a module are in ``kernel: <module>``"""
UNKNOWN = "[unknown]"
"""the name of a function that perf could not resolve"""
OUTSIDE = "[outside]"
"""processes of other PID namespaces than the host's, a lab's or a container's: perf knows none of them"""


@dataclass(frozen=True, slots=True)
class Function:
    """A function by name and where its code is: the kernel, a module of it, a program or library."""

    symbol: str
    binary: str

    @property
    def in_kernel(self) -> bool:
        return self.binary.startswith(KERNEL)

    @property
    def is_known(self) -> bool:
        """Whether it is any one function."""
        return self.symbol not in (UNKNOWN, OUTSIDE)


@dataclass(frozen=True, slots=True)
class Stack:
    """What called what, the outermost function first, in a process of that name."""

    process: str
    functions: tuple[int, ...]
    """indexes of the profile's functions"""


@dataclass(frozen=True, slots=True)
class Count:
    """How many samples of one stack fell on a CPU in one slice of the window (from 0)."""

    slice: int
    cpu: int
    stack: int
    samples: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What a counter of the CPUs of a place had counted by the end of the window.

    It was on the CPU for ``running_ratio`` of it, and perf has made good for the rest. Without a value
    ``reason`` says why.
    """

    place: Place
    event: str
    value: float | None
    running_ratio: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """Bytes a second that a whole host moved from and to its memory in the window, and who ``counted`` them;
    ``reason`` says why there is no figure. Of some only the total is known."""

    counted: str = ""
    read_bytes_per_s: float | None = None
    written_bytes_per_s: float | None = None
    total_bytes_per_s: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class HostProfile:
    """What was recorded on one host. ``reason`` says why there is nothing.

    ``start_s`` and ``end_s`` are on the controller's time line. ``lost_samples`` were taken and not kept,
    of ``cut_samples`` the callers in user space are not known.
    """

    host: str
    role: Role
    cpus: Mapping[Place, tuple[int, ...]]
    event: str = ""
    frequency_hz: int = 0
    start_s: float | None = None
    end_s: float | None = None
    slices: int = 0
    slice_s: float = 0.0
    functions: tuple[Function, ...] = ()
    stacks: tuple[Stack, ...] = ()
    counts: tuple[Count, ...] = ()
    samples: int = 0
    lost_samples: int = 0
    cut_samples: int = 0
    build_ids: Mapping[str, str] = field(default_factory=dict)
    """binary → build id"""
    notes: tuple[str, ...] = ()
    reason: str | None = None
    counted: tuple[Counted, ...] = ()
    no_counters: str | None = None
    """why the hardware counts nothing; None: it does, or nobody asked"""
    packets_hz: float | None = None
    """packets a second of its data interface, both ways, in the window of the trial"""
    base_frequency_hz: float | None = None
    memory: MemoryTraffic | None = None
    """None: nobody asked"""

    def called(self, stack: Stack) -> tuple[Function, ...]:
        """The functions of a stack; what nobody can name of processes outside is told apart."""
        functions = tuple(self.functions[at] for at in stack.functions)
        if stack.process == OUTSIDE and (not functions or functions[-1].symbol == UNKNOWN):
            return (Function(OUTSIDE, OUTSIDE),)
        return functions

    @property
    def outside_samples(self) -> int:
        """Those of processes of other PID namespaces."""
        return sum(count.samples for count in self.counts if self.stacks[count.stack].process == OUTSIDE)


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a case: one trial beside those that are measured, and part of none of their figures.

    ``throughput_bps`` is what arrived while it was recorded; ``reason`` says why the load came to nothing.
    """

    schema_version: int
    number: int
    case: Case
    case_key: str
    started_s: float
    hosts: tuple[HostProfile, ...] = ()
    throughput_bps: float | None = None
    reason: str | None = None
