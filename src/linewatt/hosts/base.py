# SPDX-License-Identifier: Apache-2.0
"""What the rest of the house knows of a host: commands as argument lists, processes on a leash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from linewatt.declare import SELDOM
from linewatt.hosts.clock import Offset
from linewatt.hosts.limits import Limits, LimitsUsed
from linewatt.json_document import document_of


@dataclass(frozen=True, slots=True)
class DataPort:
    """An interface that carries load, with its addresses where they are known beforehand."""

    data: str
    data_ipv4: str | None = None
    data_ipv6: str | None = None


OwnLab = Literal["demo", "kernels", "rehearse"]
"""commands that bring up a lab of their own, called after them and their process; it goes with them"""


def goes_with_its_command(lab: str | bool | None) -> bool:
    """Whether a lab is gone once the command has ended that brought it up."""
    command, _, process = str(lab).rpartition("-")
    return command in get_args(OwnLab) and process.isdecimal()


@dataclass(frozen=True, slots=True)
class HostSpec:
    """How a host is reached and which of its parts take part. No live handle, no secret.

    ``address`` is the management address, or ``local`` for this machine; ``jump`` names the SSH servers on
    the way to it. ``data`` is the interface that
    carries the load; ``data_ipv4``/``data_ipv6`` are its addresses where they are known beforehand.
    ``more_ports`` carry it, too.
    ``cpus`` are the CPUs that belong to the host (``None``: all it shows); ``app_cpus`` carry load
    processes, ``irq_cpus`` the receive interrupts (on a veth: receive packet steering).
    ``shares_cpus_with`` names hosts on the same CPUs, as in a lab. ``emulated``: a guest whose processor is
    translated. ``limits`` are those that the campaign states. ``raise_session``: linewatt's own connection
    there is of SCHED_RR.
    """

    name: str
    address: str
    data: str
    port: int = 22
    user: str | None = None
    key_file: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    sudo: bool = False
    data_ipv4: str | None = None
    data_ipv6: str | None = None
    cpus: tuple[int, ...] | None = None
    app_cpus: tuple[int, ...] | None = None
    irq_cpus: tuple[int, ...] | None = None
    base_frequency_hz: float | None = None
    lab: str | None = None
    emulated: bool = False
    shares_cpus_with: tuple[str, ...] = ()
    more_ports: tuple[DataPort, ...] = field(default=(), metadata=SELDOM)
    data_weights: tuple[int, ...] = field(default=(), metadata=SELDOM)
    """of each data port, by which instances are dealt; none: as its peer says, or in turn"""
    limits: Limits = field(default_factory=Limits, metadata=SELDOM)
    raise_session: bool = field(default=False, metadata=SELDOM)

    @property
    def data_ports(self) -> tuple[HostSpec, ...]:
        """The host as it is at each of the interfaces that carry the load."""
        if not self.more_ports:
            return (self,)
        alone = replace(self, more_ports=(), data_weights=())
        return (
            alone,
            *(
                replace(alone, data=port.data, data_ipv4=port.data_ipv4, data_ipv6=port.data_ipv6)
                for port in self.more_ports
            ),
        )

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Those that carry the load, the first one first."""
        return (self.data, *(port.data for port in self.more_ports))

    def known_address(self, family: str) -> str | None:
        """Of ``data``, where it is known beforehand."""
        return self.data_ipv4 if family == "ipv4" else self.data_ipv6

    def as_document(self) -> dict[str, Any]:
        """As plain values; what only hosts with several data ports or limits of their own have is left out
        of others."""
        return document_of(self)


@dataclass(frozen=True, slots=True)
class Completed:
    """A finished command: its output, and its exit status (128 + n when ended by signal n)."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a running process, stamped on arrival with the controller's clock (Unix seconds)."""

    received_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a started process ended; stamps are the host's own clock, Unix seconds.

    ``status`` is ``None`` while it runs, or when the connection went before its end was seen.
    """

    status: int | None
    stdout: str
    stderr: str
    started_s: float | None
    ended_s: float | None


class Process(Protocol):
    """A process on a host, on a leash: it ends when its controller stops talking to it."""

    @property
    def name(self) -> str:
        """Host and program, for messages."""

    @property
    def pid(self) -> int | None:
        """Its process id on the host, once it is known."""

    @property
    def start_migrations(self) -> int | None:
        """How often the kernel had moved it when its wrapper had put it on its CPUs; None: not known."""

    async def ready(self, timeout_s: float = 5.0) -> None:
        """Wait until it is started, or held. Raises WaitTimeout, HostLost."""

    def release(self) -> None:
        """Let a held process go: the barrier opens."""

    def bound(self, most_bytes: int) -> None:
        """How much it may write: in all, or a second where its output is read line by line.

        Unless this says so it is 16 MiB in all, or 4 MiB a second.
        """

    async def wait(self, timeout_s: float, awaited: str) -> Ended:
        """Wait for its end.

        Raises WaitTimeout naming ``awaited``, HostLost if the connection ends, HostError if it wrote more
        than it may: then it was stopped, and only the beginning of its output is kept.
        """

    def so_far(self) -> Ended:
        """What it wrote until now, and how it ended if it has."""

    async def stop(self, timeout_s: float = 3.0) -> Ended:
        """Interrupt it (SIGINT, then SIGKILL) and wait."""


class Host(Protocol):
    """A connected host."""

    @property
    def spec(self) -> HostSpec: ...

    @property
    def lost(self) -> str | None:
        """Why it can no longer be reached, or ``None`` while it can."""

    @property
    def may_have_strays(self) -> bool:
        """Whether a leash there may have ended before what it held, for example because it was killed."""

    @property
    def clock(self) -> Offset:
        """Its clock against the controller's time line."""

    @property
    def limits(self) -> LimitsUsed:
        """How long it may be silent and take to answer, as far as that is known by now."""

    async def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
    ) -> Completed:
        """Run a command to its end. Raises HostLost, WaitTimeout. A non-zero status is not an error."""

    async def start(
        self,
        argv: Sequence[str],
        *,
        wrapper: Sequence[str] = (),
        held: bool = False,
        on_line: Callable[[Line], None] | None = None,
        root: bool = False,
    ) -> Process:
        """Start a leashed process; ``held``: it waits at the barrier until :meth:`Process.release`.

        ``wrapper`` is a command that runs ``argv`` (``taskset -c 3``), done with before the barrier opens.
        """

    async def forward(self, port: int) -> int:
        """A port of 127.0.0.1 on the host that leads to ``port`` of 127.0.0.1 here, while it is connected.

        Raises HostError where its sshd forbids it, HostLost.
        """

    async def close(self) -> None: ...
