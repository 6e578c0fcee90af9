# SPDX-License-Identifier: Apache-2.0
"""What a result says, in sentences: the headline of each series and what a reader must know first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from linewatt import units
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.of_power import MBPS_PER_W
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import ENDS, METHOD
from linewatt.report.columns import case_cell
from linewatt.report.provenance import words as sources
from linewatt.report.series import Series, plural
from linewatt.report.trials.digest import Digest


@dataclass(frozen=True, slots=True)
class Headline:
    """The best case of a series: ``value`` is its throughput, ``None`` when no trial has one.

    ``lead`` ends the sentence that ``value`` begins; ``details`` are sentences of their own.
    """

    title: str
    value: str | None
    lead: str
    details: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """codes of the flags that any case of the series has"""

    @property
    def sentence(self) -> str:
        """The whole as one line of text."""
        return f"{self.title}: {' '.join(part for part in (self.value, self.lead, *self.details) if part)}"


def headline(series: Series, imported_from: str | None = None) -> Headline:
    """The case with the highest mean throughput, what it cost, and what it lost."""
    flags = tuple(dict.fromkeys(flag.code for summary in series.summaries for flag in summary.flags))
    measured = [summary for summary in series.summaries if summary.throughput_bps]
    if not measured:
        reasons = [failure for summary in series.summaries for failure in summary.failures]
        why = f"No number: {'; '.join(reasons) or 'no trial is done'}."
        return Headline(series.title, None, why, flags=flags)
    best = max(measured, key=_throughput)
    details = [_cost(best), *_power(best), _scaling(best), _lost(best), _limited(best)]
    value = _shown("throughput_bps", best)
    lead = _how_measured(best, imported_from)
    return Headline(series.title, value, lead, tuple(part for part in details if part), flags)


def _throughput(summary: CaseSummary) -> float:
    return summary.throughput_bps.mean if summary.throughput_bps else 0.0


def _how_measured(best: CaseSummary, imported_from: str | None) -> str:
    column = BY_NAME["throughput_bps"]
    unit = column.unit([best])
    cell = case_cell(column, best, unit)
    trials = best.throughput_bps.n if best.throughput_bps else 0
    alone = (
        "one trial: its spread is unknown"
        if imported_from is None
        else f"as {imported_from} has it; it says nothing of runs and their spread"
    )
    spread = alone if cell.sd is None else f"± {cell.sd} {unit.name}, {trials} trials"
    return f"with {plural(best.case.instances, 'instance')} ({spread})."


def _cost(best: CaseSummary) -> str:
    """Efficiency and CPU per throughput of the receiver, what is known of either; says what is not."""
    said = []
    if best.efficiency_receiver_bps_per_core is not None:
        said.append(f"{_shown('efficiency_receiver_bps_per_core', best)} of receiver CPU")
    if best.receiver_cpu_cores_per_bps is not None:
        per = _shown("receiver_cpu_cores_per_bps", best).replace("% per", "% of one core per")
        whose = "its" if said else "the receiver’s"
        said.append(f"{per} on {whose} app and IRQ CPUs")
    why = best.reasons.get("efficiency_receiver_bps_per_core")
    if not said:
        return f"What it cost the receiver is not known{f': {why}' if why else ''}."
    if best.efficiency_receiver_bps_per_core is None:
        said.append(f"the CPU of all of it is not known{f': {why}' if why else ''}")
    return f"{'; '.join(said)}."


def _power(best: CaseSummary) -> list[str]:
    """What each end drew for it, and of which watts; nothing where no source is named."""
    said = []
    for role in ENDS:
        power = best.power(role)
        if power is None or power.system_w is None or power.system_scope is None:
            continue
        sure = sources([power.system_provenance])
        line = f"The {role} drew {power.system_w.mean:,.1f} W ({SCOPE_WORDS[power.system_scope]}"
        line += f", {sure})" if sure else ")"
        if power.system_bps_per_w is not None:
            line += f": {MBPS_PER_W.text(MBPS_PER_W.from_si(power.system_bps_per_w.mean))} Mbps/W"
        said.append(f"{line}.")
    return said


def _scaling(best: CaseSummary) -> str:
    scaling, factor = (best.scalings.get(name) for name in ("throughput_scaling", "scaling_factor"))
    if best.case.instances == 1 or scaling is None:
        return ""
    times = units.format_significant(scaling * best.case.instances, 3)
    said = f"{plural(best.case.instances, 'instance')}: {times} × the throughput"
    if factor is not None:
        said += f" and {factor:.2f} × the Mbps/core"
    return f"{said} of one."


def _lost(best: CaseSummary) -> str:
    if best.lost_ratio is None:
        return ""
    if best.lost_ratio.mean == 0:
        return "No datagram was lost."
    return f"{_shown('lost_ratio', best)} of the datagrams were lost."


def _limited(best: CaseSummary) -> str:
    """What limits it, as the one finder has it."""
    return f"{best.limit.lead}{f': {best.limit.evidence}' if best.limit.evidence else ''}."


def _shown(field: str, summary: CaseSummary) -> str:
    """A value with its unit, as the table writes it."""
    column = BY_NAME[field]
    unit = column.unit([summary])
    return f"{case_cell(column, summary, unit).text} {unit.name}".strip()


def when(created_s: float | None) -> str:
    """A Unix time for people, in UTC: ``2026-02-03 14:05 UTC``."""
    if created_s is None:
        return units.MISSING
    return datetime.fromtimestamp(created_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def progress(view: Digest) -> str:
    """``12 of 15 trials done, 1 failed, 2 not run``; of a table only how many it has."""
    if view.result.imported_from is not None:
        return f"{plural(len(view.result.trials), 'trial')} in the table"
    missing = view.planned - len(view.result.trials)
    parts = [f"{view.done} of {plural(view.planned, 'trial')} done"]
    if view.failed:
        parts.append(f"{len(view.failed)} failed")
    if missing > 0:
        parts.append(f"{missing} not run")
    return ", ".join(parts)


def caveats(view: Digest) -> tuple[str, ...]:
    """What a reader must know before any number: lab hosts, shared CPUs, an unfinished run, failures."""
    said = []
    source = view.result.imported_from
    if source is not None:
        said.append(
            f"Imported from {source}: linewatt did not measure these figures, and knows of hosts and trials "
            "only what that table says."
        )
    lab = [name for name, host in view.hosts.items() if host.get("lab")]
    if lab:
        said.append(
            f"Lab result: {_listed(lab)} {'is a' if len(lab) == 1 else 'are'} simulated "
            f"{'host' if len(lab) == 1 else 'hosts'} on one machine, joined by virtual links. "
            "The figures show how the method works, not how fast hardware is."
        )
    shared = sharing_hosts(view.hosts)
    if shared:
        said.append(
            f"{_listed(shared)} share CPUs: what one uses the other lacks, and the CPU use of each may "
            "contain work of the other. Do not read CPU and efficiency as those of separate hosts."
        )
    unmeasured = _unmeasured(view)
    if unmeasured:
        said.append(
            f"{unmeasured}; each such figure is marked. "
            "Simulated watts show how the method works, not what hardware draws."
        )
    older = [trial for trial in view.result.trials if trial.method < METHOD]
    if older and source is None:
        said.append(
            f"Made by an older method: {plural(len(older), 'trial')} of {len(view.result.trials)}. "
            f"'linewatt rederive {view.result.id}' makes figures and findings again and lists what changes."
        )
    if not view.result.complete:
        said.append(
            f"Unfinished: {progress(view)}. 'linewatt resume {view.result.id}' goes on where it stopped."
        )
    if view.failed:
        said.append(
            f"{plural(len(view.failed), 'trial')} failed and {'is' if len(view.failed) == 1 else 'are'} "
            "left out of every number."
        )
    return tuple(said)


def _unmeasured(view: Digest) -> str:
    """``Watts on h1 and h2 are simulated``; nothing where all were measured."""
    hosts: dict[str, list[str]] = {}
    for summary in view.summaries:
        for power in filter(None, map(summary.power, ENDS)):
            kinds = sources((power.system_provenance, power.cpu_provenance))
            if kinds and power.host not in hosts.setdefault(kinds, []):
                hosts[kinds].append(power.host)
    return "; ".join(f"Watts on {_listed(sorted(names))} are {kinds}" for kinds, names in hosts.items())


def is_lab(view: Digest) -> bool:
    """Whether any host of the result is a simulated one."""
    return any(host.get("lab") for host in view.hosts.values())


def sharing_hosts(hosts: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Hosts of the result that run on CPUs of another host of it."""
    return tuple(
        name
        for name, host in hosts.items()
        if any(other in hosts and other != name for other in host.get("shares_cpus_with") or ())
    )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
