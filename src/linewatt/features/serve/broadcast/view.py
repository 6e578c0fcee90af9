# SPDX-License-Identifier: Apache-2.0
"""The visible state of a run, updated from its documents; kept by the run and by each watcher. Pure.

Its size is bounded, so that a snapshot of a campaign of days is one short line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]
SCHEMA_VERSION = 1
MOST_ROWS = 50
"""newest trials that are kept; the result has all"""
MOST_FINDINGS = 20
HISTORY_S = 300.0
"""length of the throughput history"""
MOST_POINTS = 400


class View:
    """The state of a run; ``state`` is the content of a snapshot."""

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        """``state``: a received snapshot."""
        self.state: Document = {
            "schema_version": SCHEMA_VERSION,
            "id": "",
            "path": "",
            "began_s": None,
            "resumable": True,
            "trials": None,
            "stored": 0,
            "failed": 0,
            "left_s": None,
            "left_at_s": None,
            "at_most": False,
            "phase": "",
            "running": [],
            "now": None,
            "last_load": None,
            "history": [],
            "rows": [],
            "findings": [],
            "problems": [],
            "stopping": None,
            "ended": None,
            "closed": None,
            **(state or {}),
        }

    def snapshot(self) -> Document:
        """The first document of a new watcher."""
        return {**self.state, "event": "snapshot"}

    @property
    def is_over(self) -> bool:
        """Whether the measurement is complete, so that there is nothing to stop."""
        return self.state["ended"] is not None or self.state["closed"] is not None

    def take(self, document: Mapping[str, Any]) -> None:
        """Update the state from a document. Raises KeyError, TypeError for an invalid one."""
        state = self.state
        self._take_common(document)
        if document["event"] in ("stopping", "ended", "closed"):
            state[document["event"]] = _without_name(document)
            return
        match document["event"]:
            case "started":
                for name in ("trials", "stored", "at_most"):
                    state[name] = document[name]
            case "phase":
                state["phase"], state["running"] = document["text"], []
                self._end_load()
            case "trial_started":
                trial = {name: document[name] for name in ("number", "case", "repetition", "load_s", "at_s")}
                state["running"].append(trial)
                state["trials"] = document["trials"]
            case "now":
                self._take_load(document)
            case "trial_stored":
                self._take_trial(document["row"])
            case "warned":
                self._add_finding({"title": "Warning", "text": document["text"], "at_s": document["at_s"]})
            case "left_changed":
                state["problems"] = [*state["problems"], *document["problems"]][-MOST_FINDINGS:]
            case _:
                pass  # from a later version

    def _take_common(self, document: Mapping[str, Any]) -> None:
        """Take the fields that all documents have."""
        state = self.state
        state["seq"], state["at_s"] = document["seq"], document["at_s"]
        if document.get("left_s") is not None:
            state["left_s"], state["left_at_s"] = document["left_s"], document["at_s"]

    def _take_load(self, document: Mapping[str, Any]) -> None:
        state = self.state
        state["now"] = _without_name(document)
        self._remember_load()
        history = state["history"]
        history.append([document["at_s"], document["throughput_bps"]])
        while len(history) > MOST_POINTS or history[0][0] < document["at_s"] - HISTORY_S:
            history.pop(0)

    def _remember_load(self) -> None:
        """Remember the newest load of a trial with a known throughput, to be shown until the next one."""
        now, running, last = self.state["now"], self.state["running"], self.state["last_load"]
        if not running:
            return
        number = running[0]["number"]
        if now["throughput_bps"] is not None or last is None or last["trial"] != number:
            self.state["last_load"] = {**now, "trial": number, "more_trials": len(running) - 1}

    def _end_load(self) -> None:
        """Clear the current load when no trial runs; the load of a soak goes on."""
        now = self.state["now"]
        if not self.state["running"] and now is not None and "elapsed_s" not in now:
            self.state["now"] = None

    def _take_trial(self, row: Document) -> None:
        state = self.state
        state["running"] = [trial for trial in state["running"] if trial["number"] != row["number"]]
        state["stored"] += 1
        state["failed"] += bool(row["failed"])
        short_findings = [{name: finding[name] for name in ("code", "title")} for finding in row["findings"]]
        state["rows"] = [*state["rows"], {**row, "findings": short_findings}][-MOST_ROWS:]
        for finding in row["findings"]:
            where = f"{row['case']}, repetition {row['repetition']}"
            self._add_finding(
                {"title": finding["title"], "text": f"{where}: {finding['text']}", "at_s": state["at_s"]}
            )
        self._end_load()

    def _add_finding(self, finding: Document) -> None:
        """Append a finding; a repeated text is kept once."""
        other_findings = [
            known_finding
            for known_finding in self.state["findings"]
            if known_finding["text"] != finding["text"]
        ]
        self.state["findings"] = [*other_findings, finding][-MOST_FINDINGS:]


def _without_name(document: Mapping[str, Any]) -> Document:
    return {name: document[name] for name in document if name not in ("event", "seq")}
