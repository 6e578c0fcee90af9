# SPDX-License-Identifier: Apache-2.0
"""Where the watts go: one breakdown a host and end, at the case that moves most.

In the chart parts stand one after the other, up to the system. Whether a part was measured is said three
times: in words behind it, by its colour, and by its outline and filling, so that it survives grey paper and
eyes that tell no colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.analysis.cases import fastest_case
from linewatt.analysis.power import SCOPE_WORDS, Breakdown, Part, end_breakdown
from linewatt.model import ENDS, Case, Role
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import PROVENANCE_WORDS
from linewatt.report.series import instances_text, test_title
from linewatt.report.trials.digest import Digest

REST_WORDS = "what is left"

# colour, opacity of the filling, dashes of the outline, and what they mean
_LOOKS: dict[str, tuple[str, float, list[int], str]] = {
    "measured": (specs.LINES[0], 0.85, [1, 0], "Filled: measured."),
    "corrected": (specs.LINES[0], 0.65, [1, 0], "Less filled: corrected by a calibration."),
    "from datasheet": (specs.LINES[2], 0.4, [1, 0], "Pale: from a datasheet."),
    "estimated": (
        specs.MUTED,
        0.12,
        [4, 3],
        "Dashed: estimated, or what is left of the system.",
    ),
    "simulated": (specs.LINES[3], 0.12, [1, 3], "Dotted: simulated."),
}


@dataclass(frozen=True, slots=True)
class EndBreakdown:
    """A breakdown and the case it is of."""

    case: Case
    role: Role
    breakdown: Breakdown

    @property
    def title(self) -> str:
        names = dict.fromkeys((self.breakdown.host, self.role))  # a table without hosts has them by role
        case_words = f"{test_title(self.case.test)}, {instances_text(self.case)}"
        return f"Where the watts of {' as '.join(names)} go: {case_words}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known beside the chart."""
        lines = [f"not counted: {part}" for part in self.breakdown.left_out]
        lines += [f"{flag.evidence}; {flag.advice}" for flag in self.breakdown.flags]
        return (*lines, *([self.breakdown.reason] if self.breakdown.reason else []))


def end_breakdowns(view: Digest) -> tuple[EndBreakdown, ...]:
    """For both ends of the case with the highest throughput; an end of which no part is known has none.

    Load levels are left out: the one at 100 % repeats a case at full rate.
    """
    fastest = fastest_case(summary for summary in view.summaries if summary.case.load_level is None)
    if fastest is None:
        return ()
    case = fastest.case
    trials = [trial for trial in view.result.trials if trial.case == case]
    declared = view.result.manifest.asked.components
    return tuple(
        EndBreakdown(case, role, breakdown)
        for role in ENDS
        if (breakdown := end_breakdown(trials, role, declared.get(case.host(role), ()))) is not None
        and any(part.kind != "rest" for part in breakdown.parts)
    )


def component_figures(view: Digest) -> Iterator[Figure]:
    """The breakdowns as charts."""
    for end in end_breakdowns(view):
        spec = component_spec(end.breakdown)
        if spec is not None:
            notes = (f"{note[:1].upper()}{note[1:]}." for note in end.notes)
            yield Figure(
                name=f"components-{end.role}",
                title=end.title,
                caption=" ".join([component_caption(end.breakdown), *notes]),
                description=component_words(end.breakdown),
                spec=spec,
            )


def component_caption(breakdown: Breakdown, together: str = "the system") -> str:
    """How to read the chart; only the looks that are in it are explained."""
    present = {row["provenance"] for row in component_rows(breakdown)}
    looks = [meaning for name, (*_, meaning) in _LOOKS.items() if name in present]
    return " ".join([f"Each part begins where the one above it ends; together they are {together}.", *looks])


def component_rows(breakdown: Breakdown) -> list[Row]:
    """A row a part, from ``low`` to ``high`` in W, and one for the system. A negative rest draws no bar."""
    rows: list[Row] = []
    at_w = 0.0
    for part in breakdown.parts:
        drawn_w = max(part.power_w, 0.0)
        rows.append(_row(part.name, at_w, at_w + drawn_w, _text(part), PROVENANCE_WORDS[part.provenance]))
        at_w += drawn_w
    if breakdown.system_w is not None and breakdown.system_provenance is not None:
        sure = PROVENANCE_WORDS[breakdown.system_provenance]
        scope = SCOPE_WORDS.get(breakdown.system_scope or "", "system")
        text = f"{_watts(breakdown.system_w)}, {scope}, {sure}"
        rows.append(_row("System", 0.0, breakdown.system_w, text, sure))
    return _distinct(rows)


def component_spec(breakdown: Breakdown) -> Spec | None:
    """The chart, ``None`` where there is nothing to draw."""
    rows = component_rows(breakdown)
    if not rows:
        return None
    names = [row["part"] for row in rows]
    present = {row["provenance"] for row in rows}
    shown = {name: look for name, look in _LOOKS.items() if name in present}
    channels = ("fill", "fillOpacity", "strokeDash")
    styles = {
        channel: specs.looks("provenance", {name: look[at] for name, look in shown.items()})
        for at, channel in enumerate(channels)
    }
    bar: Spec = {
        "mark": {"type": "bar", "strokeWidth": 1.2},
        "encoding": {"x2": {"field": "high"}, **styles, "stroke": styles["fill"]},
    }
    layers = [bar, specs.text_behind("high", 6)]
    reach = (0, 1.75 * max(row["high"] for row in rows))  # room for the words behind a bar
    places = {"x": specs.amount("low", "Power (W)", reach), "y": specs.labels_down("part", names)}
    spec: Spec = {"data": {"values": rows}, "width": 460, "height": {"step": 28}, "layer": layers}
    return specs.themed(spec | {"encoding": places} | specs.room(names, times=2))


def component_words(breakdown: Breakdown) -> str:
    """What the chart shows, for whoever cannot see it."""
    return "; ".join(f"{row['part']} {row['text']}" for row in component_rows(breakdown))


def _distinct(rows: list[Row]) -> list[Row]:
    """The rows with names of their own, since a name is a place in the chart: ``CPU``, ``CPU (2)``."""
    names = [row["part"] for row in rows]
    return [
        row
        if (before := names[:at].count(row["part"])) == 0
        else row | {"part": f"{row['part']} ({before + 1})"}
        for at, row in enumerate(rows)
    ]


def _row(part: str, low: float, high: float, text: str, provenance: str) -> Row:
    return {"part": part, "low": low, "high": high, "text": text, "provenance": provenance}


def _text(part: Part) -> str:
    if part.kind == "rest":
        if part.power_w < 0:
            return f"{_watts(part.power_w)}: the parts exceed the system"
        marked = f", {PROVENANCE_WORDS['simulated']}" if part.provenance == "simulated" else ""
        return f"{_watts(part.power_w)}, {REST_WORDS}{marked}"
    return f"{_watts(part.power_w)}, {PROVENANCE_WORDS[part.provenance]}"


def _watts(power_w: float) -> str:
    """``136 W``, ``2.5 W``, ``−11 W``: three digits, whole watts never cut."""
    shown = f"{power_w:.0f}" if abs(power_w) >= 100 else f"{power_w:.3g}"
    return f"{shown.replace('-', '−')} W"
