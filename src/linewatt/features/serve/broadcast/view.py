# SPDX-License-Identifier: Apache-2.0
"""What is to be seen of a run, made of what it tells: the run keeps one, and whoever watches it. Pure.

All of it is bounded, so that a campaign of days is told in one short line to who comes late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]
SCHEMA_VERSION = 1
MOST_ROWS = 50
"""trials that stay in it, the newest; all of them are in the result"""
MOST_FINDINGS = 20
HISTORY_S = 300.0
"""of throughput that stays in it"""
MOST_POINTS = 400


class View:
    """The state of a run: ``state`` is a snapshot of it as it is told."""

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        """``state``: a snapshot that was told."""
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
        """What who comes now is told first."""
        return {**self.state, "event": "snapshot"}

    @property
    def is_over(self) -> bool:
        """Whether all that was to be measured is, so that nothing is left to be stopped."""
        return self.state["ended"] is not None or self.state["closed"] is not None

    def take(self, told: Mapping[str, Any]) -> None:
        """A further document. Raises KeyError, TypeError for one that no run tells."""
        state = self.state
        self._note(told)
        if told["event"] in ("stopping", "ended", "closed"):
            state[told["event"]] = _without_name(told)
            return
        match told["event"]:
            case "started":
                for name in ("trials", "stored", "at_most"):
                    state[name] = told[name]
            case "phase":
                state["phase"], state["running"] = told["text"], []
                self._over()
            case "trial_started":
                one = {name: told[name] for name in ("number", "case", "repetition", "load_s", "at_s")}
                state["running"].append(one)
                state["trials"] = told["trials"]
            case "now":
                self._now(told)
            case "trial_stored":
                self._stored(told["row"])
            case "warned":
                self._find({"title": "Warning", "text": told["text"], "at_s": told["at_s"]})
            case "left_changed":
                state["problems"] = [*state["problems"], *told["problems"]][-MOST_FINDINGS:]
            case _:
                pass  # of a later version

    def _note(self, told: Mapping[str, Any]) -> None:
        """What any of them may tell."""
        state = self.state
        state["seq"], state["at_s"] = told["seq"], told["at_s"]
        if told.get("left_s") is not None:
            state["left_s"], state["left_at_s"] = told["left_s"], told["at_s"]

    def _now(self, told: Mapping[str, Any]) -> None:
        state = self.state
        state["now"] = _without_name(told)
        history = state["history"]
        history.append([told["at_s"], told["throughput_bps"]])
        while len(history) > MOST_POINTS or history[0][0] < told["at_s"] - HISTORY_S:
            history.pop(0)

    def _over(self) -> None:
        """What was told of a load of trials is not of now once it has ended; a soak's goes on."""
        now = self.state["now"]
        if not self.state["running"] and now is not None and "elapsed_s" not in now:
            self.state["now"] = None

    def _stored(self, row: Document) -> None:
        state = self.state
        state["running"] = [one for one in state["running"] if one["number"] != row["number"]]
        state["stored"] += 1
        state["failed"] += bool(row["failed"])
        known = [{name: one[name] for name in ("code", "title")} for one in row["findings"]]
        state["rows"] = [*state["rows"], {**row, "findings": known}][-MOST_ROWS:]
        for one in row["findings"]:
            where = f"{row['case']}, repetition {row['repetition']}"
            self._find({"title": one["title"], "text": f"{where}: {one['text']}", "at_s": state["at_s"]})
        self._over()

    def _find(self, found: Document) -> None:
        """The newest is the last; a warning that is said again stays once."""
        others = [one for one in self.state["findings"] if one["text"] != found["text"]]
        self.state["findings"] = [*others, found][-MOST_FINDINGS:]


def _without_name(told: Mapping[str, Any]) -> Document:
    return {name: told[name] for name in told if name not in ("event", "seq")}
