# SPDX-License-Identifier: Apache-2.0
"""A running campaign in the words of a page: what a run tells, as text with its units. Pure.

Numbers go to the browser beside their words where it draws them or lets them run on: throughput for the
chart, seconds for clocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.features.serve.broadcast.view import HISTORY_S, View
from linewatt.report.provenance import PROVENANCE_WORDS
from linewatt.units import format_percent, format_rate, format_seconds

Words = dict[str, Any]
UNKNOWN = "–"
NOW_S = 3.0
"""after which a throughput is not of now"""
MOST_WATTS = 48
"""hosts whose watts are shown"""
_HOW = {"done": "Ended", "stopped": "Stopped", "failed": "Failed"}


def whole(view: View) -> Words:
    """All of a page: for who comes, and for who comes back."""
    rows = [row(one) for one in view.state["rows"]]
    return {**moment(view), "rows": rows, "findings": findings(view), "chart": chart(view)}


def moment(view: View) -> Words:
    """What changes with any event."""
    return {"head": head(view), "now": now(view)}


def second(view: View) -> Words:
    """What changes from second to second while a load runs."""
    return {**moment(view), "point": _newest(view)}


def stored(view: View) -> Words:
    """A trial that was stored just now."""
    newest = view.state["rows"][-1]
    return {
        **moment(view),
        "row": row(newest),
        "findings": findings(view),
        "said": _outcome(view, newest),
        "chart_said": chart_said(view),
    }


def head(view: View) -> Words:
    """How far it is."""
    state = view.state
    at_s = state.get("at_s") or state["began_s"]
    elapsed_s = None if state["began_s"] is None else max(0.0, at_s - state["began_s"])
    trials, stored_now = state["trials"], state["stored"]
    soak = state["now"] if state["now"] is not None and "elapsed_s" in state["now"] else None
    left_s = _left_s(state, at_s)
    ratio, progress = None, ""
    if trials:
        ratio, progress = min(1.0, stored_now / trials), f"{stored_now} of {trials} trials stored"
        progress += f", {state['failed']} failed" if state["failed"] else ""
    elif soak is not None:
        whole_s = soak["elapsed_s"] + soak["left_s"]
        ratio = min(1.0, soak["elapsed_s"] / whole_s) if whole_s > 0 else 0.0
        progress = f"{format_seconds(soak['elapsed_s'])} run, {format_seconds(soak['left_s'])} left"
    return {
        "progress": progress,
        "ratio": ratio,
        "what": _what(state),
        "phase": state["phase"],
        "elapsed_s": elapsed_s,
        "elapsed": clock(elapsed_s),
        "left_s": left_s,
        "left": f"at most {clock(left_s)}" if state["at_most"] and left_s is not None else clock(left_s),
        "at_most": bool(state["at_most"]),
        "stopping": None if state["stopping"] is None else f"Being stopped by {state['stopping']['by']}",
        "over": state["ended"] is not None,
        "resumable": bool(state["resumable"]),
        "problems": list(state["problems"]),
    }


def clock(seconds: float | None) -> str:
    """A time that runs on, in whole seconds."""
    if seconds is None:
        return UNKNOWN
    return f"{seconds:.0f} s" if seconds < 59.5 else format_seconds(seconds)


def _left_s(state: Mapping[str, Any], at_s: float) -> float | None:
    """Seconds until its end, as it was last said; None: not known, or longer ago than was left."""
    if state["left_s"] is None or state["ended"] is not None:
        return None
    left_s = state["left_s"] - (at_s - state["left_at_s"])
    return left_s if left_s >= 0 else None


def _what(state: Mapping[str, Any]) -> str:
    """Which trials run, or what else happens."""
    running = state["running"]
    if state["ended"] is not None:
        return state["phase"] or "undoing every change"
    if not running:
        return str(state["phase"])
    first = running[0]
    more = f" and {len(running) - 1} more at once" if len(running) > 1 else ""
    number = f"Trial {first['number']} of {state['trials']}: " if state["trials"] else ""
    return f"{number}{first['case']}, repetition {first['repetition']}{more}"


def now(view: View) -> Words | None:
    """Throughput, CPU by role and watts as they are now; None: no load runs."""
    told = view.state["now"]
    if told is None or (view.state.get("at_s") or 0.0) - told["at_s"] > NOW_S:
        return None
    ends = [cpu_end(one) for one in told["cpu"] or ()]
    users = told.get("users")
    return {
        "throughput": UNKNOWN if told["throughput_bps"] is None else format_rate(told["throughput_bps"]),
        "users": None if users is None else f"{users} users",
        "cpu": ends,
        "more": max(0, told["ends"] - len(ends)) if ends else 0,
        "watts": [watts(one) for one in told["watts"][:MOST_WATTS]],
    }


def cpu_end(end: Mapping[str, Any]) -> Words:
    """CPU use of one end now."""
    cores, cpus = end["cpu_cores"], end["cpus"]
    return {
        "host": str(end["host"]),
        "role": str(end["role"]),
        "cpu": UNKNOWN if cores is None else f"{format_percent(cores, 0)} of {100 * cpus} %",
        "app": _busy(end["app_busy_ratio"]),
        "irq": _busy(end["irq_busy_ratio"]),
    }


def _busy(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else format_percent(max(0.0, ratio), 0)


def watts(told: Mapping[str, Any]) -> Words:
    """Watts of a host; what was not measured is marked."""
    scope, provenance = str(told["scope"]), told["provenance"]
    return {
        "host": str(told["host"]),
        "watts": f"{told['power_w']:,.1f} W",
        "scope": SCOPE_WORDS.get(scope, scope),
        "mark": None if provenance == "measured" else PROVENANCE_WORDS.get(provenance, str(provenance)),
    }


def row(told: Mapping[str, Any]) -> Words:
    """A stored trial."""
    lost = told["lost_ratio"]
    ends = [f"{one['host']} ({one['role']}) {_cores(one)}" for one in told["ends"]]
    more = told["hosts"] - len(ends)
    return {
        "number": told["number"],
        "case": f"{told['case']}, repetition {told['repetition']}",
        "failed": bool(told["failed"]),
        "reason": told["reason"] if told["failed"] else None,
        "throughput": UNKNOWN if told["failed"] else format_rate(told["throughput_bps"]),
        "lost": None if lost is None else f"{100 * lost:.2f} % lost",
        "cpu": [*ends, f"and {more} more hosts"] if more > 0 else ends,
        "watts": [watts(one) for one in told["watts"]],
        "findings": list(dict.fromkeys(one["title"] for one in told["findings"])),
    }


def _cores(end: Mapping[str, Any]) -> str:
    """``134 %, app CPUs 97 %, IRQ CPUs 41 %``; a role that is not known is not said."""
    cores = end["cpu_cores"]
    roles = (("app", end["app_busy_ratio"]), ("IRQ", end["irq_busy_ratio"]))
    said = [f"{name} CPUs {_busy(ratio)}" for name, ratio in roles if ratio is not None]
    return ", ".join([UNKNOWN if cores is None else format_percent(cores, 0), *said])


def _outcome(view: View, told: Mapping[str, Any]) -> str:
    """For who listens to the page: one sentence a trial."""
    state = view.state
    return f"Trial {told['number']} of {state['trials']}, {told['case']}: {told['said']}"


def findings(view: View) -> list[Words]:
    """What was found, the newest first."""
    return [{"title": one["title"], "text": one["text"]} for one in reversed(view.state["findings"])]


def chart(view: View) -> Words:
    """Throughput of the last minutes: points of (seconds ago, bit/s), and how high the scale goes."""
    state = view.state
    at_s = state.get("at_s") or 0.0
    points = [[round(at_s - time_s, 2), rate_bps] for time_s, rate_bps in state["history"]]
    said = chart_said(view)
    return {"points": points, "seconds": HISTORY_S, "said": said, **scale(state["history"])}


def chart_said(view: View) -> str:
    """The chart for who does not see it."""
    known = [rate for _, rate in view.state["history"] if rate is not None]
    span = f"in the last {format_seconds(HISTORY_S)}"
    if not known:
        return f"No throughput is known {span}."
    return f"Between {format_rate(min(known))} and {format_rate(max(known))} {span}."


def scale(history: Sequence[Sequence[float | None]]) -> Words:
    """The top of a chart that all points fit below: 1, 2 or 5 times a power of ten."""
    most_bps = max((rate for _, rate in history if rate is not None), default=0.0)
    if not most_bps > 0:
        return {"top_bps": None, "top": "", "half": ""}
    tens = 10.0 ** math.floor(math.log10(most_bps))
    top_bps = next(times * tens for times in (1, 2, 5, 10) if times * tens >= most_bps)
    return {"top_bps": top_bps, "top": format_rate(top_bps, 2), "half": format_rate(top_bps / 2, 2)}


def _newest(view: View) -> Words | None:
    """What is added to the chart."""
    told, history = view.state["now"], view.state["history"]
    if told is None or not history:
        return None
    return {"bps": history[-1][1], **scale(history)}


def closed(view: View) -> Words:
    """How it ended."""
    told = view.state["closed"]
    if told is None:
        return {
            "how": "Lost",
            "text": "The run ended without a word: its process was killed, or it cannot be watched any more. "
            "What it changed on hosts is put back by linewatt restore.",
            "good": False,
        }
    state, how = view.state, _HOW.get(told["how"], "Ended")
    words = [f"{how}."]
    if state["trials"]:
        words.append(f"{state['stored']} of {state['trials']} trials are stored.")
    if told["reason"]:
        words.append(str(told["reason"]))
    if told["how"] == "stopped" and state["resumable"]:
        words.append(f"Go on with: linewatt resume {state['id']}")
    good = told["how"] == "done" and not state["problems"]
    return {"how": how, "text": " ".join(words), "good": good}
