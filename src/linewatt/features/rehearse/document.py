# SPDX-License-Identifier: Apache-2.0
"""The outcome of a rehearsal as a document and as lines, and what a rehearsal cannot know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt.hosts.facts import further_nics
from linewatt.missing import Missing
from linewatt.report import plural

if TYPE_CHECKING:
    from linewatt.engine import Ended
    from linewatt.features.lab.api import Shape
    from linewatt.features.rehearse.changes import Rehearsed
    from linewatt.tuning import Change

SCHEMA_VERSION = 1
_FINE = ("taken", "no change")


def document(
    file: Path,
    shapes: Mapping[str, Shape],
    facts_by_host: Mapping[str, Any],
    rehearsed: Rehearsed,
    loaded: Ended | Missing,
    *,
    otherwise: Sequence[str],
    kvm: bool,
) -> dict[str, Any]:
    """The document of ``rehearse --json``; ``as_asked``: all changes worked, were undone, and no load failed.

    ``loaded`` is how the loads ended, or why they were not run.
    """
    changes = [
        {
            "host": outcome.change.host,
            "knob": outcome.change.knob,
            "target": outcome.change.target,
            "value": outcome.change.value,
            "verdict": outcome.verdict,
            "before": outcome.before,
            "after": outcome.after,
            "words": outcome.words or None,
            "put_back": outcome.restored,
            "host_says": host_says(
                outcome.change, facts_by_host[outcome.change.host], shapes[outcome.change.host]
            ),
        }
        for outcome in rehearsed.outcomes
    ]
    not_run = loaded.reason if isinstance(loaded, Missing) else None
    loads = None if isinstance(loaded, Missing) else _count_trials(loaded)
    as_found = not rehearsed.left and all(outcome.restored for outcome in rehearsed.outcomes)
    all_ran = loads is not None and not loads["failed"] and not loads["pending"]
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": str(file),
        "kvm": kvm,
        "hosts": {name: _document_of_shape(shape, facts_by_host[name]) for name, shape in shapes.items()},
        "changes": changes,
        "otherwise": list(otherwise),
        "places": list(rehearsed.places),
        "loads": loads,
        "loads_problem": not_run,
        "as_found": as_found,
        "left": list(rehearsed.left),
        "cannot_know": list(_cannot_know(shapes, kvm=kvm)),
        "as_asked": as_found and all_ran and all(outcome.verdict in _FINE for outcome in rehearsed.outcomes),
    }


_HAVE_MAXIMA = ("rings", "channels")


def host_says(change: Change, facts: Any, shape: Shape) -> str | None:
    """Recorded limits of the host's NIC for a knob whose limits differ on the guest's NIC.

    None if nothing is recorded. The target of a change is the guest's interface, ``data0`` for the first.
    """
    number = change.target.removeprefix("data")
    if change.knob not in _HAVE_MAXIMA or isinstance(facts, Missing) or not number.isdecimal():
        return None
    if int(number) >= len(shape.stand_ins):
        return None
    stand_in = shape.stand_ins[int(number)]
    nic = facts.get("nic", {}) if number == "0" else further_nics(facts).get(stand_in.interface, {})
    recorded = nic.get(change.knob)
    maxima = (
        {key: maximum for key, maximum in recorded.items() if key.startswith("max ")}
        if isinstance(recorded, dict)
        else {}
    )
    limits = ", ".join(f"{key} {maximum}" for key, maximum in maxima.items())
    return (
        f"on record of {stand_in.interface} ({stand_in.driver or 'driver not known'}): {limits}"
        if limits
        else None
    )


def _count_trials(ended: Ended) -> dict[str, int]:
    return {"done": ended.done, "failed": ended.failed, "pending": ended.pending}


def _document_of_shape(shape: Shape, facts: Any) -> dict[str, Any]:
    guest = shape.guest
    return {
        "facts_problem": facts.reason if isinstance(facts, Missing) else None,
        "cpus": guest.cpus,
        "threads_per_core": guest.threads,
        "numa_nodes": guest.nodes,
        "interfaces": [
            {
                "interface": stand_in.interface,
                "driver": stand_in.driver,
                "model": stand_in.model,
                "same_driver": stand_in.same,
                "numa_node": nic.node,
            }
            for stand_in, nic in zip(shape.stand_ins, guest.nics, strict=True)
        ],
        "cut": list(shape.cut),
        "assumed": list(shape.assumed),
    }


def _cannot_know(shapes: Mapping[str, Shape], *, kvm: bool) -> Iterator[str]:
    """Reasons why the hosts may behave differently from their guests."""
    drivers: dict[tuple[str | None, str], list[str]] = {}
    for name, shape in shapes.items():
        for stand_in in shape.stand_ins:
            if not stand_in.same:
                drivers.setdefault((stand_in.driver, stand_in.model), []).append(
                    f"{name} {stand_in.interface}"
                )
    for (driver, model), where in drivers.items():
        yield (
            f"{driver or 'a driver that is not known'} ({', '.join(where)}): {model} stood in, and may take "
            "what that refuses, or refuse what it takes"
        )
    yield "firmware, speed, cables and switches, and how fast anything is: guests have none of it"
    yield "the hosts' kernels: guests ran the newest on this machine"
    if not kvm:
        yield "CPU time and rates: QEMU without KVM translated every instruction"


def lines(rehearsal: Mapping[str, Any]) -> Iterator[str]:
    """The document as lines for a terminal."""
    yield f"Rehearsal of {rehearsal['campaign']} on guests; no host was changed, nothing here is a measure"
    yield from (f"  {line}" for line in rehearsal["otherwise"])
    yield "SHAPE"
    for name, shape in rehearsal["hosts"].items():
        yield from _shape_lines(name, shape)
    counts = Counter(change["verdict"] for change in rehearsal["changes"])
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none asked for"
    yield f"CHANGES  {counted}"
    for change in rehearsal["changes"]:
        yield from _change_lines(change)
    yield "PLACES ON THE GUESTS"
    yield from (f"  {line}" for line in rehearsal["places"] or ("the kernel chooses",))
    loads = rehearsal["loads"]
    if loads is None:
        yield f"LOADS  not run: {rehearsal['loads_problem']}"
    else:
        yield f"LOADS  {loads['done']} done, {loads['failed']} failed, {loads['pending']} not run"
    yield "UNDO  every change was put back" if rehearsal["as_found"] else "UNDO  not all was put back"
    yield from (f"  {line}" for line in rehearsal["left"])
    yield "WHAT THIS CANNOT KNOW"
    yield from (f"  {line}" for line in rehearsal["cannot_know"])


def _shape_lines(name: str, shape: Mapping[str, Any]) -> Iterator[str]:
    nics = ", ".join(
        f"{interface['interface']} as data{number}, a {interface['model']}"
        for number, interface in enumerate(shape["interfaces"])
    )
    sizes = f"{plural(shape['cpus'], 'CPU')}, {plural(shape['numa_nodes'], 'NUMA node')}"
    yield f"  {name}: {sizes}, {nics}"
    if shape["facts_problem"]:
        yield f"    facts not known: {shape['facts_problem']}"
    if shape["cut"]:
        yield f"    cut: {'; '.join(shape['cut'])}"
    if shape["assumed"]:
        yield f"    assumed: {'; '.join(shape['assumed'])}"


def _change_lines(change: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {change['verdict']:9} {change['host']}: {change['knob']} {change['target']} {change['value']}"
    if change["verdict"] == "rounded":
        yield f"            reads {change['after']}"
    if change["words"]:
        yield f"            {change['words']}"
    if change["host_says"] and change["verdict"] not in _FINE:
        yield f"            {change['host_says']}"
