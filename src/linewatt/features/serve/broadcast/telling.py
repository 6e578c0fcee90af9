# SPDX-License-Identifier: Apache-2.0
"""Events as those who watch a run are told them: what a page shows, and nothing that grows. Pure.

A stored trial is a row of its figures here: with all that its counters counted, as ``run --json`` has it, a
round of many hosts would fill the buffer of whoever watches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.power.totals import Total, system_now
from linewatt.engine import events
from linewatt.engine.words import describe, outcome, tells
from linewatt.features.serve.broadcast.view import Document
from linewatt.findings import kind_of
from linewatt.foreign import shortened
from linewatt.model import CpuShares, EndResult, Trial, document_of

MOST_ENDS = 8
"""of a trial in its row: of a group of more, those of its first hosts"""
MOST_FLAGS = 8


def told(event: events.Event) -> Document:
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
                "case": describe(event.case),
                "repetition": event.repetition,
                "load_s": event.load_s,
                "left_s": event.remaining_s,
            }
        case events.TrialStored():
            return {"event": "trial_stored", "trials": event.trials, "row": row(event.trial)}
        case events.Throughput() | events.Soaking():
            return _now(event)
        case _:
            return _said(event)


def _now(event: events.Throughput | events.Soaking) -> Document:
    document: Document = {
        "event": "now",
        "throughput_bps": event.throughput_bps,
        "left_s": event.remaining_s,
        "watts": [document_of(one) for one in event.watts],
        "cpu": None,
        "ends": 0,
    }
    if isinstance(event, events.Soaking):
        document |= {"users": event.users, "elapsed_s": event.elapsed_s}
    return document


def _said(event: events.Event) -> Document:
    match event:
        case events.Warned():
            return {"event": "warned", "text": shortened(event.text)}
        case events.LeftChanged():
            return {
                "event": "left_changed",
                "problems": [shortened(one) for one in event.problems[:MOST_FLAGS]],
            }
        case events.Ended():
            figures = {"done": event.done, "failed": event.failed, "pending": event.pending}
            return {"event": "ended", **figures}
        case events.SoakEnded():
            return {"event": "ended", "elapsed_s": event.elapsed_s, "not_run_s": event.remaining_s}
        case _:
            raise TypeError(f"{type(event).__name__} is no event that is told")


def row(trial: Trial) -> Document:
    """A stored trial: its case and figures, and what makes them doubtful."""
    flags = [one for one in trial.flags if tells(one.code)]
    return {
        "number": trial.number,
        "repetition": trial.repetition,
        "case": describe(trial.case),
        "failed": trial.status == "failed" or trial.throughput_bps is None,
        "reason": None if trial.reason is None else shortened(trial.reason),
        "throughput_bps": trial.throughput_bps,
        "lost_ratio": trial.lost_ratio,
        "ends": [_end(one) for one in trial.ends[:MOST_ENDS]],
        "hosts": len(trial.ends),
        "watts": list(_watts(trial.ends[:MOST_ENDS])),
        "findings": [
            {"code": one.code, "title": kind_of(one.code).title, "text": shortened(one.evidence)}
            for one in flags[:MOST_FLAGS]
        ],
        "said": shortened(outcome(trial)),
    }


def _end(end: EndResult) -> Document:
    return {
        "host": end.host,
        "role": end.role,
        "cpu_cores": end.cpu_cores,
        "app_busy_ratio": _busy(end.app_cpu),
        "irq_busy_ratio": _busy(end.irq_cpu),
    }


def _busy(shares: CpuShares | None) -> float | None:
    return None if shares is None else shares.busy_ratio


def _watts(ends: Sequence[EndResult]) -> Iterator[Document]:
    """The system's power of each end over the window; nothing of an end whose meters do not tell it."""
    for end in ends:
        total = system_now(end.power)
        if isinstance(total, Total):
            yield document_of(events.Watts(end.host, total.power_w, total.provenance, total.scope))
