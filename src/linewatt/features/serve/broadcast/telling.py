# SPDX-License-Identifier: Apache-2.0
"""Events as documents for watchers, with what a page shows and of bounded size. Pure.

A stored trial is a row of figures: with all counters, as in ``run --json``, a round of many hosts would fill
the buffer of a watcher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.power import Total, power_of_system_now
from linewatt.engine import describe_case, events, is_worth_telling, outcome_of_trial
from linewatt.features.serve.broadcast.view import Document
from linewatt.findings import kind_of
from linewatt.foreign import shortened
from linewatt.json_document import document_of
from linewatt.model import CpuShares, EndResult, Trial

MOST_ENDS = 8
"""ends in the row of a trial; the first hosts of a larger group"""
MOST_FLAGS = 8


def document_of_event(event: events.Event) -> Document:
    """An event as a document; ``event`` names it."""
    match event:
        case events.Started():
            return {
                "event": "started",
                "trials": event.trials,
                "stored": event.trials_stored,
                "left_s": event.duration_s,
                "at_most": event.at_most,
            }
        case events.Phase():
            return {"event": "phase", "text": shortened(event.text)}
        case events.TrialStarted():
            return {
                "event": "trial_started",
                "number": event.number,
                "trials": event.trials,
                "case": describe_case(event.case),
                "repetition": event.repetition,
                "load_s": event.load_s,
                "left_s": event.remaining_s,
            }
        case events.TrialStored():
            return {"event": "trial_stored", "trials": event.trials, "row": row(event.trial)}
        case events.Throughput() | events.Soaking():
            return _document_of_load(event)
        case _:
            return _document_of_other(event)


def _document_of_load(event: events.Throughput | events.Soaking) -> Document:
    document: Document = {
        "event": "now",
        "throughput_bps": event.throughput_bps,
        "left_s": event.remaining_s,
        "watts": [document_of(watts) for watts in event.watts],
        "cpu": None,
        "ends": 0,
    }
    if isinstance(event, events.Soaking):
        document |= {"users": event.users, "elapsed_s": event.elapsed_s}
    return document


def _document_of_other(event: events.Event) -> Document:
    match event:
        case events.Warned():
            return {"event": "warned", "text": shortened(event.text)}
        case events.LeftChanged():
            return {
                "event": "left_changed",
                "problems": [shortened(problem) for problem in event.problems[:MOST_FLAGS]],
            }
        case events.Ended():
            figures = {"done": event.done, "failed": event.failed, "pending": event.pending}
            return {"event": "ended", **figures}
        case events.SoakEnded():
            return {"event": "ended", "elapsed_s": event.elapsed_s, "not_run_s": event.remaining_s}
        case _:
            raise TypeError(f"{type(event).__name__} is not an event that is told")


def row(trial: Trial) -> Document:
    """The row of a stored trial: case, figures and findings."""
    flags = [flag for flag in trial.flags if is_worth_telling(flag)]
    return {
        "number": trial.number,
        "repetition": trial.repetition,
        "case": describe_case(trial.case),
        "failed": trial.status == "failed" or trial.throughput_bps is None,
        "reason": None if trial.reason is None else shortened(trial.reason),
        "throughput_bps": trial.throughput_bps,
        "lost_ratio": trial.lost_ratio,
        "ends": [_document_of_end(end) for end in trial.ends[:MOST_ENDS]],
        "hosts": len(trial.ends),
        "watts": list(_watts_of_ends(trial.ends[:MOST_ENDS])),
        "findings": [
            {"code": flag.code, "title": kind_of(flag.code).title, "text": shortened(flag.evidence)}
            for flag in flags[:MOST_FLAGS]
        ],
        "said": shortened(outcome_of_trial(trial)),
    }


def _document_of_end(end: EndResult) -> Document:
    return {
        "host": end.host,
        "role": end.role,
        "cpu_cores": end.cpu_cores,
        "app_busy_ratio": _busy_ratio(end.app_cpu),
        "irq_busy_ratio": _busy_ratio(end.irq_cpu),
    }


def _busy_ratio(shares: CpuShares | None) -> float | None:
    return None if shares is None else shares.busy_ratio


def _watts_of_ends(ends: Sequence[EndResult]) -> Iterator[Document]:
    """System power of each end over the window; ends without a meter are left out."""
    for end in ends:
        total = power_of_system_now(end.power)
        if isinstance(total, Total):
            yield document_of(events.Watts(end.host, total.power_w, total.provenance, total.scope))
