# SPDX-License-Identifier: Apache-2.0
"""What differs between a trial as it is stored and the same made again, figure by figure. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from linewatt.analysis import why_figure_differs
from linewatt.model import METHOD, Trial

A = TypeVar("A")
ROUNDED = 1e-5
"""Method 1 stored stamps of records rounded to a microsecond: no figure made again is more exact."""
_NO_FIGURES = ("flags", "method", "schema_version")
_NAMED_BY = {"power": ("source", "channel"), "instances": ("instance",)}
"""what the entries of a list are told apart by; those of others by their place"""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of a trial that is another now; ``is_new``: it was not in what was stored."""

    trial: int
    figure: str
    before: Any
    after: Any
    why: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A finding that was raised by one of the two methods only."""

    trial: int
    added: bool
    code: str
    where: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Again(Generic[A]):
    """A document of a result: what today's method makes of it, and what differs.

    ``after`` is None where it cannot be made again, ``problem`` says why. ``same``: to the byte.
    """

    after: A | None = None
    problem: str | None = None
    same: bool = False
    changes: tuple[Change, ...] = ()

    def as_document(self) -> dict[str, Any]:
        """Without ``after``, for ``--json``."""
        changes = [asdict(change) for change in self.changes]
        return {"same": self.same, "problem": self.problem, "changes": changes}


LEARNED = "later loads showed how its meter follows the power"


def of_meters(trial: Trial, meters: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """How the figures of these meters (host, source, channel) begin, at each end that was recorded."""
    ends = {"sender": trial.sender, "receiver": trial.receiver}
    ends |= {f"flows[{place}].end": flow.end for place, flow in enumerate(trial.flows)}
    for host, source, channel in meters:
        for name, end in ends.items():
            if end is not None and end.host == host:
                yield f"{name}.power[{source} {channel}]."


def changes(
    number: int, before: Mapping[str, Any], after: Mapping[str, Any], learned: Sequence[str] = ()
) -> Iterator[Change]:
    """Figures that differ between two documents of a trial by more than stamps are exact.

    ``learned``: the meters of which the trial did not know what is known now, as their figures begin.
    """
    then, now = dict(_flat(before)), dict(_flat(after))
    method = int(before.get("method", 1))
    for figure in dict.fromkeys((*now, *then)):
        was_recorded = figure in then
        if not was_recorded and now[figure] in (None, [], {}, ""):
            continue  # not recorded then, not known now
        if was_recorded and figure in now and _same(then[figure], now[figure]):
            continue
        words = why_figure_differs(figure, method, METHOD) if was_recorded else "not made before"
        words = LEARNED if figure.startswith(tuple(learned)) else words
        yield Change(number, figure, then.get(figure), now.get(figure), words, is_new=not was_recorded)


def told(number: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Told]:
    """Findings that only one of the two has, by code and place."""
    then, now = _findings(before), _findings(after)
    for added, these, others in ((True, now, then), (False, then, now)):
        for (code, where), evidence in these.items():
            if (code, where) not in others:
                yield Told(number, added, code, where, evidence)


def _findings(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {(flag["code"], flag["where"]): flag["evidence"] for flag in document.get("flags") or ()}


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, float | int) and isinstance(after, float | int):
        return math.isclose(before, after, rel_tol=ROUNDED)
    return bool(before == after)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document by its path: ``receiver.power[bmc cpu].power_w``."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            if name or key not in _NO_FIGURES:
                yield from _flat(member, f"{name}.{key}" if name else key)
    elif isinstance(value, Sequence) and not isinstance(value, str) and _of_objects(value):
        keys = _NAMED_BY.get(name.rpartition(".")[2], ())
        for place, member in enumerate(value):
            label = " ".join(str(member[key]) for key in keys if key in member) or str(place)
            yield from _flat(member, f"{name}[{label}]")
    else:
        yield name, list(value) if isinstance(value, tuple) else value


def _of_objects(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(member, Mapping) for member in value)
