# SPDX-License-Identifier: Apache-2.0
"""What a rehearsal found, as one document and as lines; and what it cannot know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt.report.series import plural

if TYPE_CHECKING:
    from linewatt.engine.events import Ended
    from linewatt.features.lab.guests.shape import Shape
    from linewatt.features.rehearse.changes import Rehearsed
    from linewatt.tuning.base import Change

SCHEMA_VERSION = 1
_FINE = ("taken", "no change")


def document(
    file: Path,
    shapes: Mapping[str, Shape],
    told: Mapping[str, Any],
    rehearsed: Rehearsed,
    loaded: Ended | str,
    *,
    otherwise: Sequence[str],
    kvm: bool,
) -> dict[str, Any]:
    """The document of ``rehearse --json``; ``as_asked``: nothing was refused, left, or failed.

    ``loaded`` is how the loads ended, or why they were not run.
    """
    changes = [
        {
            "host": one.change.host,
            "knob": one.change.knob,
            "target": one.change.target,
            "value": one.change.value,
            "verdict": one.verdict,
            "before": one.before,
            "after": one.after,
            "words": one.words or None,
            "put_back": one.restored,
            "host_says": host_says(one.change, told[one.change.host], shapes[one.change.host]),
        }
        for one in rehearsed.outcomes
    ]
    not_run = loaded if isinstance(loaded, str) else None
    loads = None if isinstance(loaded, str) else _trials(loaded)
    as_found = not rehearsed.left and all(one.restored for one in rehearsed.outcomes)
    all_ran = loads is not None and not loads["failed"] and not loads["pending"]
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": str(file),
        "kvm": kvm,
        "hosts": {name: _shape(shape, told[name]) for name, shape in shapes.items()},
        "changes": changes,
        "otherwise": list(otherwise),
        "places": list(rehearsed.places),
        "loads": loads,
        "loads_problem": not_run,
        "as_found": as_found,
        "left": list(rehearsed.left),
        "cannot_know": list(_cannot_know(shapes, kvm=kvm)),
        "as_asked": as_found and all_ran and all(one.verdict in _FINE for one in rehearsed.outcomes),
    }


_HAVE_MAXIMA = ("rings", "channels")


def host_says(change: Change, facts: Any, shape: Shape) -> str | None:
    """What the host's own NIC is on record to take of a knob that a guest's NIC takes less or more of.

    None where nothing is on record. A change's target is the guest's interface, ``data0`` for the first.
    """
    number = change.target.removeprefix("data")
    if change.knob not in _HAVE_MAXIMA or isinstance(facts, str) or not number.isdecimal():
        return None
    if int(number) >= len(shape.stand_ins):
        return None
    own = shape.stand_ins[int(number)]
    nic = facts.get("nic", {}) if number == "0" else facts.get("further_nics", {}).get(own.interface, {})
    found = nic.get(change.knob)
    maxima = (
        {key: one for key, one in found.items() if key.startswith("max ")} if isinstance(found, dict) else {}
    )
    said = ", ".join(f"{key} {one}" for key, one in maxima.items())
    return f"on record of {own.interface} ({own.driver or 'driver not known'}): {said}" if said else None


def _trials(ended: Ended) -> dict[str, int]:
    return {"done": ended.done, "failed": ended.failed, "pending": ended.pending}


def _shape(shape: Shape, told: Any) -> dict[str, Any]:
    guest = shape.guest
    return {
        "facts_problem": told if isinstance(told, str) else None,
        "cpus": guest.cpus,
        "threads_per_core": guest.threads,
        "numa_nodes": guest.nodes,
        "interfaces": [
            {
                "interface": one.interface,
                "driver": one.driver,
                "model": one.model,
                "same_driver": one.same,
                "numa_node": nic.node,
            }
            for one, nic in zip(shape.stand_ins, guest.nics, strict=True)
        ],
        "cut": list(shape.cut),
        "assumed": list(shape.assumed),
    }


def _cannot_know(shapes: Mapping[str, Shape], *, kvm: bool) -> Iterator[str]:
    """Each reason why the hosts may do otherwise than their guests."""
    drivers: dict[tuple[str | None, str], list[str]] = {}
    for name, shape in shapes.items():
        for one in shape.stand_ins:
            if not one.same:
                drivers.setdefault((one.driver, one.model), []).append(f"{name} {one.interface}")
    for (driver, model), where in drivers.items():
        yield (
            f"{driver or 'a driver that is not known'} ({', '.join(where)}): {model} stood in, and may take "
            "what that refuses, or refuse what it takes"
        )
    yield "firmware, speed, cables and switches, and how fast anything is: guests have none of it"
    yield "the hosts' kernels: guests ran the newest on this machine"
    if not kvm:
        yield "CPU time and rates: QEMU without KVM translated every instruction"


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The document for a terminal."""
    yield f"Rehearsal of {found['campaign']} on guests; no host was changed, nothing here is a measure"
    yield from (f"  {line}" for line in found["otherwise"])
    yield "SHAPE"
    for name, shape in found["hosts"].items():
        yield from _shape_lines(name, shape)
    counts = Counter(one["verdict"] for one in found["changes"])
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none asked for"
    yield f"CHANGES  {counted}"
    for one in found["changes"]:
        yield from _change_lines(one)
    yield "PLACES ON THE GUESTS"
    yield from (f"  {line}" for line in found["places"] or ("the kernel chooses",))
    loads = found["loads"]
    if loads is None:
        yield f"LOADS  not run: {found['loads_problem']}"
    else:
        yield f"LOADS  {loads['done']} done, {loads['failed']} failed, {loads['pending']} not run"
    yield "UNDO  every change was put back" if found["as_found"] else "UNDO  not all was put back"
    yield from (f"  {line}" for line in found["left"])
    yield "WHAT THIS CANNOT KNOW"
    yield from (f"  {line}" for line in found["cannot_know"])


def _shape_lines(name: str, shape: Mapping[str, Any]) -> Iterator[str]:
    nics = ", ".join(
        f"{one['interface']} as data{number}, a {one['model']}"
        for number, one in enumerate(shape["interfaces"])
    )
    sizes = f"{plural(shape['cpus'], 'CPU')}, {plural(shape['numa_nodes'], 'NUMA node')}"
    yield f"  {name}: {sizes}, {nics}"
    if shape["facts_problem"]:
        yield f"    facts not known: {shape['facts_problem']}"
    if shape["cut"]:
        yield f"    cut: {'; '.join(shape['cut'])}"
    if shape["assumed"]:
        yield f"    assumed: {'; '.join(shape['assumed'])}"


def _change_lines(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {one['verdict']:9} {one['host']}: {one['knob']} {one['target']} {one['value']}"
    if one["verdict"] == "rounded":
        yield f"            reads {one['after']}"
    if one["words"]:
        yield f"            {one['words']}"
    if one["host_says"] and one["verdict"] not in _FINE:
        yield f"            {one['host_says']}"
