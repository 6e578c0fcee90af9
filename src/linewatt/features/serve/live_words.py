# SPDX-License-Identifier: Apache-2.0
"""The state of a running campaign as text with units, for a page. Pure.

Numbers that the browser draws or counts on are sent as well: throughput for the chart, seconds for clocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from linewatt.analysis.power import SCOPE_WORDS
from linewatt.features.serve.broadcast.view import HISTORY_S, View
from linewatt.report import PROVENANCE_WORDS
from linewatt.units import format_percent, format_rate, format_seconds

Words = dict[str, Any]
UNKNOWN = "–"
NOW_S = 3.0
"""age after which a throughput is no longer shown as current"""
MOST_WATTS = 48
"""hosts whose watts are shown"""
_HOW = {"done": "Ended", "stopped": "Stopped", "failed": "Failed"}


def full_page(view: View) -> Words:
    """The full state, for new and reconnecting browsers."""
    rows = [row(trial) for trial in view.state["rows"]]
    return {**moment(view), "rows": rows, "findings": findings(view), "chart": chart(view)}


def moment(view: View) -> Words:
    """The parts that change with every event."""
    return {"head": head(view), "now": now(view)}


def second(view: View) -> Words:
    """The parts that change every second while a load runs."""
    return {**moment(view), "point": _chart_update(view)}


def stored(view: View) -> Words:
    """The parts that change when a trial is stored."""
    newest = view.state["rows"][-1]
    return {
        **moment(view),
        "row": row(newest),
        "findings": findings(view),
        "said": _announcement(view, newest),
        "chart_said": chart_said(view),
    }


def head(view: View) -> Words:
    """Progress, phase and times of the run."""
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
        "what": _activity(state),
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
    """A duration for a running clock, in whole seconds."""
    if seconds is None:
        return UNKNOWN
    return f"{seconds:.0f} s" if seconds < 59.5 else format_seconds(seconds)


def _left_s(state: Mapping[str, Any], at_s: float) -> float | None:
    """Estimated seconds until the end; None if unknown or exceeded."""
    if state["left_s"] is None or state["ended"] is not None:
        return None
    left_s = state["left_s"] - (at_s - state["left_at_s"])
    return left_s if left_s >= 0 else None


def _activity(state: Mapping[str, Any]) -> str:
    """The running trials, or the phase."""
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
    """Current throughput, CPU by role and watts; between loads those of the last trial, marked as such.

    None if no trial had a load yet, or if the load of the running trial has not been reported for a while.
    """
    current = view.state["now"]
    if current is not None:
        is_stale = (view.state.get("at_s") or 0.0) - current["at_s"] > NOW_S
        return None if is_stale else {**_load(current), "last": None}
    last = view.state["last_load"]
    return None if last is None else {**_load(last), "last": _last_trial(view.state, last)}


def _last_trial(state: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """``last trial (3 of 15)``, for values of a load that has ended."""
    more = f" and {last['more_trials']} more at once" if last["more_trials"] else ""
    total = f" of {state['trials']}" if state["trials"] else ""
    failed = any(trial["number"] == last["trial"] and trial["failed"] for trial in state["rows"])
    return f"last trial ({last['trial']}{total}{more}{', failed' if failed else ''})"


def _load(current: Mapping[str, Any]) -> Words:
    """Throughput, CPU by role and watts of one second."""
    ends = [cpu_end(end) for end in current["cpu"] or ()]
    users = current.get("users")
    return {
        "throughput": UNKNOWN
        if current["throughput_bps"] is None
        else format_rate(current["throughput_bps"]),
        "users": None if users is None else f"{users} users",
        "cpu": ends,
        "more": max(0, current["ends"] - len(ends)) if ends else 0,
        "watts": [watts(reading) for reading in current["watts"][:MOST_WATTS]],
    }


def cpu_end(end: Mapping[str, Any]) -> Words:
    """Current CPU use of one end."""
    cores, cpus = end["cpu_cores"], end["cpus"]
    return {
        "host": str(end["host"]),
        "role": str(end["role"]),
        "cpu": UNKNOWN if cores is None else f"{format_percent(cores, 0)} of {100 * cpus} %",
        "app": _format_busy(end["app_busy_ratio"]),
        "irq": _format_busy(end["irq_busy_ratio"]),
    }


def _format_busy(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else format_percent(max(0.0, ratio), 0)


def watts(reading: Mapping[str, Any]) -> Words:
    """Watts of a host; values that were not measured are marked."""
    scope, provenance = str(reading["scope"]), reading["provenance"]
    return {
        "host": str(reading["host"]),
        "watts": f"{reading['power_w']:,.1f} W",
        "scope": SCOPE_WORDS.get(scope, scope),
        "mark": None if provenance == "measured" else PROVENANCE_WORDS.get(provenance, str(provenance)),
    }


def row(trial: Mapping[str, Any]) -> Words:
    """A stored trial."""
    lost = trial["lost_ratio"]
    ends = [f"{end['host']} ({end['role']}) {_format_cpu(end)}" for end in trial["ends"]]
    more = trial["hosts"] - len(ends)
    return {
        "number": trial["number"],
        "case": f"{trial['case']}, repetition {trial['repetition']}",
        "failed": bool(trial["failed"]),
        "reason": trial["reason"] if trial["failed"] else None,
        "throughput": UNKNOWN if trial["failed"] else format_rate(trial["throughput_bps"]),
        "lost": None if lost is None else f"{100 * lost:.2f} % lost",
        "cpu": [*ends, f"and {more} more hosts"] if more > 0 else ends,
        "watts": [watts(reading) for reading in trial["watts"]],
        "findings": list(dict.fromkeys(finding["title"] for finding in trial["findings"])),
    }


def _format_cpu(end: Mapping[str, Any]) -> str:
    """``134 %, app CPUs 97 %, IRQ CPUs 41 %``; unknown roles are left out."""
    cores = end["cpu_cores"]
    roles = (("app", end["app_busy_ratio"]), ("IRQ", end["irq_busy_ratio"]))
    shares = [f"{name} CPUs {_format_busy(ratio)}" for name, ratio in roles if ratio is not None]
    return ", ".join([UNKNOWN if cores is None else format_percent(cores, 0), *shares])


def _announcement(view: View, trial: Mapping[str, Any]) -> str:
    """One sentence per trial, for screen readers."""
    state = view.state
    return f"Trial {trial['number']} of {state['trials']}, {trial['case']}: {trial['said']}"


def findings(view: View) -> list[Words]:
    """Findings, newest first."""
    return [
        {"title": finding["title"], "text": finding["text"]} for finding in reversed(view.state["findings"])
    ]


def chart(view: View) -> Words:
    """Throughput of the last minutes: points of (seconds ago, bit/s), and the scale."""
    state = view.state
    at_s = state.get("at_s") or 0.0
    points = [[round(at_s - time_s, 2), rate_bps] for time_s, rate_bps in state["history"]]
    description = chart_said(view)
    return {"points": points, "seconds": HISTORY_S, "said": description, **scale(state["history"])}


def chart_said(view: View) -> str:
    """A description of the chart for screen readers."""
    rates = [rate for _, rate in view.state["history"] if rate is not None]
    span = f"in the last {format_seconds(HISTORY_S)}"
    if not rates:
        return f"No throughput is known {span}."
    return f"Between {format_rate(min(rates))} and {format_rate(max(rates))} {span}."


def scale(history: Sequence[Sequence[float | None]]) -> Words:
    """The upper limit of the chart: 1, 2 or 5 times a power of ten."""
    most_bps = max((rate for _, rate in history if rate is not None), default=0.0)
    if not most_bps > 0:
        return {"top_bps": None, "top": "", "half": ""}
    tens = 10.0 ** math.floor(math.log10(most_bps))
    top_bps = next(times * tens for times in (1, 2, 5, 10) if times * tens >= most_bps)
    return {"top_bps": top_bps, "top": format_rate(top_bps, 2), "half": format_rate(top_bps / 2, 2)}


def _chart_update(view: View) -> Words | None:
    """The newest point of the chart and the scale; None without a current load."""
    current, history = view.state["now"], view.state["history"]
    if current is None or not history:
        return None
    return {"bps": history[-1][1], **scale(history)}


def closed(view: View) -> Words:
    """The end of the run as text."""
    end = view.state["closed"]
    if end is None:
        return {
            "how": "Lost",
            "text": "The run ended without a word: its process was killed, or it cannot be watched any more. "
            "What it changed on hosts is put back by linewatt restore.",
            "good": False,
        }
    state, how = view.state, _HOW.get(end["how"], "Ended")
    words = [f"{how}."]
    if state["trials"]:
        words.append(f"{state['stored']} of {state['trials']} trials are stored.")
    if end["reason"]:
        words.append(str(end["reason"]))
    if end["how"] == "stopped" and state["resumable"]:
        words.append(f"Go on with: linewatt resume {state['id']}")
    good = end["how"] == "done" and not state["problems"]
    return {"how": how, "text": " ".join(words), "good": good}
