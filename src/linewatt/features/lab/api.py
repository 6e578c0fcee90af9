# SPDX-License-Identifier: Apache-2.0
"""Labs: ``up``, ``down`` and ``status``, and the only module of this folder that other features import.

:func:`own_lab` is a lab that a command brings up and takes down; :func:`shape_of` describes the guest that
stands in for a host.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from linewatt.errors import InvalidInput, LabError
from linewatt.features.lab import bmc, processes, system
from linewatt.features.lab.bmc import BmcState
from linewatt.features.lab.build import (
    answering,
    build,
    is_inventory_of,
    process_of,
    take_down,
    wait_for_hosts,
)
from linewatt.features.lab.guests import start as guests
from linewatt.features.lab.guests.shape import Shape, shape_of
from linewatt.features.lab.guests.spec import MAX_GUESTS, Guest, Nic
from linewatt.features.lab.guests.tools import GuestTools, find_guest_tools, has_kvm
from linewatt.features.lab.layout import HostLayout, LabRequest, check_name
from linewatt.features.lab.own_lab import own_lab
from linewatt.features.lab.state import ROOT, LabState, Registry

__all__ = [
    "MAX_GUESTS",
    "Guest",
    "HostLayout",
    "HostStatus",
    "Lab",
    "LabRequest",
    "LabStatus",
    "Nic",
    "Shape",
    "down",
    "down_all",
    "has_kvm",
    "names",
    "own_lab",
    "shape_of",
    "status",
    "up",
]


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab that is up.

    ``was_up``: it was so before, and nothing was made. ``no_bmc``: why its hosts have no BMC.
    """

    name: str
    index: int
    inventory: Path
    hosts: tuple[HostLayout, ...]
    namespaces: tuple[str, ...]
    was_up: bool = False
    no_bmc: str | None = None


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A lab host, whether its sshd accepts a connection, and how its BMC is, if it has one.

    ``runs``: its processes are there, those of its BMC, too; how fast they answer is another thing.
    """

    layout: HostLayout
    answers: bool
    bmc: BmcState | None = None
    runs: bool = False


@dataclass(frozen=True, slots=True)
class LabStatus:
    """A lab as found. ``half-built``: an ``up`` is at work on it, or was ended; ``down`` removes it.

    ``slow``: all its processes run, and something has not answered in time. ``not answering``: something of
    it has ended.
    """

    name: str
    state: Literal["up", "half-built", "slow", "not answering"]
    index: int | None
    inventory: Path | None
    rate_bps: int | None
    mtu: int | None
    hosts: tuple[HostStatus, ...]
    no_bmc: str | None = None


def up(
    request: LabRequest,
    *,
    inventory: Path | None = None,
    root: Path = ROOT,
    tell: Callable[[str], None] = lambda _: None,
) -> Lab:
    """Build the lab, or find it built; ``inventory`` is one more place to write the inventory to.

    ``tell`` hears what is waited for, once nothing is left that could be refused. A lab that is half there is
    taken down first; one that is slow is waited for.

    Raises InvalidInput where another lab has the name, LabError where this machine cannot
    do it; then nothing is left of it.
    """
    tools = system.find_tools()
    guest_tools = find_guest_tools(request.guests) if request.guests else None
    registry = Registry(root)
    copy = None if inventory is None else _check_copy(inventory, request.name)
    with _as_lab_errors(request.name), registry.claim(request.name) as lock:
        state = registry.read(request.name)
        was_up = state is not None and _runs_as_requested(state, request, registry)
        if state is None or not was_up:
            if state is not None:
                take_down(state)
            registry.clear(request.name)
            if guest_tools is not None:
                tell(_boots(request, kvm=guest_tools.kvm))
            state = _make(registry, request, tools, guest_tools, lock)
        else:
            _wait_for(state, registry, tell)
        if copy is not None:
            state = state.with_copy(copy)
            registry.write(state)
            _write_copy(registry.directory(request.name) / "inventory.yaml", copy)
    return _lab(state, registry, was_up=was_up)


def _boots(request: LabRequest, *, kvm: bool) -> str:
    takes = "with KVM that takes seconds" if kvm else "without KVM that takes a minute or more"
    who = "1 guest boots" if request.hosts == 1 else f"{request.hosts} guests boot"
    return f"lab {request.name}: {who}; {takes}"


@contextmanager
def _as_lab_errors(name: str) -> Iterator[None]:
    """Turn errors of the disk or of tools into LabError."""
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"lab {name}: {error}; what is left of it goes with linewatt lab down --name {name}"
        ) from error


def _make(
    registry: Registry, request: LabRequest, tools: system.Tools, guest_tools: GuestTools | None, lock: int
) -> LabState:
    state = None
    no_bmc = None
    if not request.bmc:
        tools, no_bmc = replace(tools, ipmi_sim=None), bmc.NOT_WANTED
    elif tools.ipmi_sim is None:
        no_bmc = bmc.NOT_INSTALLED
    try:
        subnets, names = system.occupied_subnets(), system.names_present()
        state = registry.allocate(
            request,
            system.usable_cores(),
            lambda index: system.index_is_free(index, subnets, names),
            no_bmc,
        )
        registry.ensure_privilege_separation()
        build(state.layout, registry.directory(request.name), tools, lock, guest_tools)
        state = state.as_ready()
        registry.write(state)
    except BaseException:  # Ctrl-C too
        if state is not None:
            take_down(state)
        registry.forget(request.name)
        raise
    return state


def _runs_as_requested(state: LabState, request: LabRequest, registry: Registry) -> bool:
    """Whether the whole lab runs as requested. Raises InvalidInput if it was built with another shape.

    It runs if its processes exist: hosts of a busy machine may answer late.
    """
    if not state.ready:
        return False
    current = state.request
    rates = (current.rate_bps, current.shared_bps)
    in_its_words = replace(request, rate=current.rate, shared=current.shared)  # 10G is 10gbit
    if in_its_words != current or (request.rate_bps, request.shared_bps) != rates:
        without = "" if current.bmc else ", without BMCs"
        if not current.meters.as_drawn:
            without = f", BMC refresh {current.bmc_refresh_s:g} s, average {current.bmc_average_s:g} s"
            if current.bmc_gain_ratio or current.bmc_offset_w or current.bmc_delay_s:
                without += (
                    f", {current.bmc_gain_ratio:+.3g} and {current.bmc_offset_w:+g} W off,"
                    f" {current.bmc_delay_s:g} s late"
                )
        if current.plug:
            without += ", at plugs"
        ports = "" if current.ports == 1 else f" of {current.ports} data ports"
        if current.shared_bps is not None:
            ports += f", which share {current.shared}"
        kind = "guests" if current.guests else "hosts"
        if current.guests:
            without += "".join(
                f"; {text}" for text in dict.fromkeys(guest.description for guest in current.guests)
            )
        raise InvalidInput(
            f"lab {current.name} is up with {current.hosts} {kind}{ports}, rate {current.rate},"
            f" mtu {current.mtu}{without};"
            f" take it down first (linewatt lab down --name {current.name}) or give this one another --name"
        )
    return all(_running(state, registry))


def _wait_for(state: LabState, registry: Registry, tell: Callable[[str], None]) -> None:
    """Wait until every host and BMC of a running lab answers. Raises LabError, without changing the lab."""
    layout, directory = state.layout, registry.directory(state.request.name)
    silent = [host.layout.name for host in _hosts(state, registry) if not _host_works(host)]
    if not silent:
        return
    tell(f"lab {layout.name} runs; waiting for {', '.join(silent)} to answer")
    try:
        wait_for_hosts(layout, directory)
        if state.no_bmc is None:
            bmc.wait_until_ready(layout, directory)
    except LabError as error:
        raise LabError(
            f"{error}; its processes run, so it was left as it is; where the machine is not just busy, take"
            f" it down (linewatt lab down --name {layout.name})"
        ) from error


def _check_copy(path: Path, name: str) -> Path:
    path = path.absolute()
    if path.exists() and not (path.is_file() and is_inventory_of(path, name)):
        raise InvalidInput(
            f"{path}: exists and is not an inventory of lab {name}; give --inventory another path"
        )
    if not path.parent.is_dir():
        raise InvalidInput(
            f"{path}: {path.parent} is not a directory; make it, or give --inventory another path"
        )
    return path


def _write_copy(inventory: Path, copy: Path) -> None:
    try:
        copy.write_text(inventory.read_text())
    except OSError as error:
        raise LabError(f"{copy}: {error.strerror}; the lab is up, its inventory is {inventory}") from error


def down(name: str, *, root: Path = ROOT) -> bool:
    """Remove the lab; True if there was one. Waits for an ``up`` at work on it. Raises LabError."""
    check_name(name)
    registry = Registry(root)
    if name not in registry.names():
        return False
    system.require_root()
    with _as_lab_errors(name), registry.lock(name) as lock:
        if lock is None:
            return False
        state = registry.read(name)
        if state is not None:
            take_down(state)
        registry.forget(name)
    return True


def down_all(*, root: Path = ROOT) -> list[str]:
    """Remove every lab; their names. Goes on past a lab that cannot be removed, then raises LabError."""
    removed, problems = [], []
    for name in names(root):
        try:
            if down(name, root=root):
                removed.append(name)
        except LabError as error:
            problems.append(str(error))
    if problems:
        raise LabError("; ".join(problems))
    return removed


def names(root: Path = ROOT) -> list[str]:
    """Names of the labs of this machine, half-built ones too."""
    return Registry(root).names()


def status(name: str | None = None, *, root: Path = ROOT) -> list[LabStatus]:
    """Every lab, or the one called ``name``, and whether each of its hosts and their BMCs answers."""
    registry = Registry(root)
    lab_names: Sequence[str] = registry.names() if name is None else [name]
    if name is not None and name not in registry.names():
        raise InvalidInput(f"there is no lab {name}; {existing(root)}")
    return [_status_of_lab(lab_name, registry) for lab_name in lab_names]


def existing(root: Path = ROOT) -> str:
    """``there are: a, b``: the end of a sentence that lists the labs."""
    existing_names = names(root)
    return f"there are: {', '.join(existing_names)}" if existing_names else "there are none"


def _status_of_lab(name: str, registry: Registry) -> LabStatus:
    state = registry.read(name)
    if state is None:
        return LabStatus(name, "half-built", None, None, None, None, ())
    hosts = _hosts(state, registry)
    overall: Literal["up", "half-built", "slow", "not answering"] = "half-built"
    if state.ready:
        overall = "slow" if all(host.runs for host in hosts) else "not answering"
        if all(_host_works(host) for host in hosts):
            overall = "up"
    inventory = registry.directory(name) / "inventory.yaml"
    request = state.request
    return LabStatus(
        name, overall, state.index, inventory, request.rate_bps, request.mtu, hosts, state.no_bmc
    )


def _hosts(state: LabState, registry: Registry) -> tuple[HostStatus, ...]:
    layout = state.layout
    if not state.ready:
        return tuple(HostStatus(host, answers=False) for host in layout.hosts)
    ask_hosts = guests.answering if state.request.guests else answering
    answers = ask_hosts([host.address for host in layout.hosts])
    bmcs: Sequence[BmcState | None] = [None] * len(answers)
    if state.no_bmc is None:
        bmcs = bmc.states(layout, registry.directory(layout.name))
    runs = _running(state, registry)
    return tuple(HostStatus(*fields) for fields in zip(layout.hosts, answers, bmcs, runs, strict=True))


def _running(state: LabState, registry: Registry) -> list[bool]:
    """Whether the processes of each host exist."""
    layout, directory = state.layout, registry.directory(state.request.name)
    bmcs = bmc.running(layout, directory) if state.no_bmc is None else [True] * len(layout.hosts)
    inside = (processes.is_inside(process_of(host, directory), host.namespace) for host in layout.hosts)
    return [its and host for its, host in zip(bmcs, inside, strict=True)]


def _host_works(host: HostStatus) -> bool:
    return host.answers and host.bmc in (None, "up")


def _lab(state: LabState, registry: Registry, *, was_up: bool) -> Lab:
    layout = state.layout
    inventory = registry.directory(layout.name) / "inventory.yaml"
    return Lab(layout.name, layout.index, inventory, layout.hosts, layout.namespaces, was_up, state.no_bmc)
