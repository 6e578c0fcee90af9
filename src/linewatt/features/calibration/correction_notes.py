# SPDX-License-Identifier: Apache-2.0
"""Watts that a calibration on record corrected, each beside what the meter read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from linewatt.analysis.power import Total, power_of_system, power_of_system_as_read
from linewatt.declare import Schema, listing
from linewatt.features.calibration.correction import correction
from linewatt.features.calibration.documents import Calibration
from linewatt.features.calibration.stored import calibrations_used
from linewatt.json_document import document_of, fill, of_class
from linewatt.model import Case, EndResult, Trial
from linewatt.records import Count
from linewatt.report import Note
from linewatt.store import Result

TITLE = "Power corrected"


@dataclass(frozen=True, slots=True)
class CorrectedCase:
    """Means over the trials of a case that have both, W; ``bound_w``: None where it is not known."""

    case: Case
    trials: int
    power_w: float
    as_read_w: float
    bound_w: float | None


def corrected_cases(trials: Iterable[Trial], host: str, source: str) -> list[CorrectedCase]:
    """Each case in which the system's watts of a host are those of this source, corrected."""
    values_by_case: dict[Case, list[tuple[float, float, float | None]]] = {}
    for trial in trials:
        for end in trial.ends:
            if end.host == host and (power_values := _both(end, source)) is not None:
                values_by_case.setdefault(trial.case, []).append(power_values)
    return [_case(case, values) for case, values in values_by_case.items()]


def _both(end: EndResult, source: str) -> tuple[float, float, float | None] | None:
    total, read = power_of_system(end.power), power_of_system_as_read(end.power)
    if not isinstance(total, Total) or read is None or total.source != source:
        return None
    return total.power_w, read.power_w, total.uncertainty_w


def _case(case: Case, values: list[tuple[float, float, float | None]]) -> CorrectedCase:
    bounds = [bound_w for *_, bound_w in values if bound_w is not None]
    bound_w = fmean(bounds) if len(bounds) == len(values) else None
    return CorrectedCase(case, len(values), fmean(v[0] for v in values), fmean(v[1] for v in values), bound_w)


def notes(result: Result, describe: Callable[[Case], str]) -> tuple[Note, ...]:
    """By what each source is corrected, and then both figures of each case."""
    return tuple(_notes(result, describe))


def _notes(result: Result, describe: Callable[[Case], str]) -> Iterator[Note]:
    for (host, source), by in calibrations_used(result.manifest.asked).items():
        line = correction(by)
        if line is None:
            continue
        cases = corrected_cases(result.trials, host, source)
        none = "" if cases else "; no case has its watts as those of the system"
        yield Note("remark", f"{source} = {line.words()}{none}", host)
        for corrected_case in cases:
            bound = (
                "error not known" if corrected_case.bound_w is None else f"± {corrected_case.bound_w:.1f} W"
            )
            words = f"{corrected_case.power_w:.1f} W, {bound}; {corrected_case.as_read_w:.1f} W as read"
            yield Note("remark", words, f"{host}, {describe(corrected_case.case)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedDocument:
    case_key: str
    """Stable hash of what makes the case comparable: equal on every host, kernel and year."""
    trials: Count
    power_w: float
    """Corrected."""
    uncertainty_w: float | None
    as_read_w: float
    """As the meter read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionDocument:
    host: str
    source: str
    result: str
    file: str
    calibration: Calibration
    cases: list[CorrectedDocument]


def documents(result: Result) -> list[dict[str, Any]]:
    """The same for ``--json``; the calibration is there whole."""
    return [
        {
            "host": host,
            "source": source,
            **by.model_dump(mode="json"),
            "cases": [
                document_of(
                    fill(
                        CorrectedDocument,
                        corrected_case,
                        case_key=corrected_case.case.key,
                        uncertainty_w=corrected_case.bound_w,
                    )
                )
                for corrected_case in corrected_cases(result.trials, host, source)
            ],
        }
        for (host, source), by in calibrations_used(result.manifest.asked).items()
    ]


def schema() -> Schema:
    """Of :func:`documents`."""
    return listing(of_class(CorrectionDocument), "Watts that a calibration corrected, beside what was read.")
