# SPDX-License-Identifier: Apache-2.0
"""A result as OpenMetrics text: one gauge per metric, one sample per case; means and their 95 % CIs.

The text is also valid in Prometheus' older format, for node_exporter's textfile collector: it has only gauges
and no timestamps, which the collector refuses. A missing value has no sample.

Source: the OpenMetrics specification 1.0, and "Writing exporters" of Prometheus for names and labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linewatt.analysis.cases import CaseSummary
from linewatt.analysis.metrics import METRICS, POWER_METRICS, CaseMetric, power_title
from linewatt.analysis.power import EndPower
from linewatt.analysis.statistics import Estimate
from linewatt.errors import InvalidInput
from linewatt.findings import Figure
from linewatt.model import ENDS, Case, Role
from linewatt.report.columns import provenance_of
from linewatt.report.kinds import result_kind
from linewatt.report.series import setting_text
from linewatt.report.trials.digest import Digest, digest_of
from linewatt.report.trials.searches.searches import certain, goal_name
from linewatt.store import Result

PREFIX = "linewatt_"
_UNITS = (
    ("_bps_per_core", "bits_per_second_per_core"),
    ("_packets_per_core_s", "packets_per_second_per_core"),
    ("_cores_per_bps", "core_seconds_per_bit"),
    ("_bps_per_w", "bits_per_joule"),
    ("_w_per_bps", "watt_seconds_per_bit"),
    ("_j_per_bit", "joules_per_bit"),
    ("_j_per_packet", "joules_per_packet"),
    ("_packets_per_j", "packets_per_joule"),
    ("_packets_per_s", "packets_per_second"),
    ("_bits_per_cycle", "bits_per_cycle"),
    ("_retransmits_per_trial", "segments_per_trial"),
    ("_out_of_order_packets_per_trial", "packets_per_trial"),
    ("_per_s", "per_second"),
    ("_bps", "bits_per_second"),
    ("_ratio", "ratio"),
    ("_cores", "cores"),
    ("_w", "watts"),
    ("_s", "seconds"),
)
"""end of a metric's SI name → the base unit at the end of its OpenMetrics name"""
_KEPT = ("_retransmits_per_trial", "_out_of_order_packets_per_trial")
"""endings that include what is counted"""
_TWICE = frozenset({"dynamic_w_per_bps", "dynamic_uncertainty_w_per_bps"})
"""watts per bit/s: the same as joules per bit, which are another metric"""


def name_of(si_name: str) -> tuple[str, str]:
    """The name and the unit of a metric. Raises KeyError for an unknown unit."""
    text = "_" + "_".join(part for part in si_name.split("_") if part not in ENDS)
    for ending, unit in _UNITS:
        if text.endswith(ending):
            stem = text.removesuffix(ending).strip("_")
            stem = ending.removesuffix("_per_trial").strip("_") if ending in _KEPT else stem
            return PREFIX + "_".join(part for part in (stem, unit) if part), unit
    raise KeyError(f"{si_name}: no unit")


@dataclass(slots=True)
class _Family:
    """Samples of one name: labels and value."""

    unit: str
    about: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)


class _Families:
    """Families by name, in the order in which they first occur."""

    def __init__(self) -> None:
        self._found: dict[str, _Family] = {}

    def add(self, name: str, unit: str, about: str, labels: Mapping[str, str], value: float | None) -> None:
        """A sample, unless its value is missing."""
        if value is not None:
            self._found.setdefault(name, _Family(unit, about)).samples.append((labels, value))

    def text(self) -> str:
        lines: list[str] = []
        for name, family in self._found.items():
            lines.append(f"# TYPE {name} gauge")
            lines += [f"# UNIT {name} {family.unit}"] if family.unit else []
            lines.append(f"# HELP {name} {_escaped(family.about)}")
            lines += [f"{name}{{{_labels(labels)}}} {value!r}" for labels, value in family.samples]
        return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items() if value)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def openmetrics_text(result: Result) -> str:
    """The whole text. Raises InvalidInput for a result without cases."""
    if kind := result_kind(result.manifest):
        raise InvalidInput(
            f"--format openmetrics: {result.id} is {kind.noun(result.manifest)}, without cases; "
            "use show --json"
        )
    view, families = digest_of(result), _Families()
    about = {"result": result.id, "campaign": result.manifest.name or ""}
    _add_result(families, view, about)
    for summary in view.summaries:
        _add_case(families, view, about, summary)
    for search in view.searches:
        labels = about | _case_labels(view, search.case)
        for goal in search.goals:
            goal_labels = labels | {
                "goal": goal_name(goal),
                "state": goal.state,
                "doubtful": _word(not certain(goal)),
            }
            name, unit = name_of("searched_rate_bps")
            families.add(
                name, unit, "Offered rate that a search found for a loss goal.", goal_labels, goal.rate_bps
            )
    return families.text()


def _add_result(families: _Families, view: Digest, about: Mapping[str, str]) -> None:
    manifest = view.result.manifest
    more = {"version": manifest.linewatt_version or "", "imported_from": manifest.imported_from or ""}
    families.add("linewatt_result", "", "Labels of the result; always 1.", {**about, **more}, 1.0)
    name, help_text = "linewatt_result_start_timestamp_seconds", "Start of the result, Unix time."
    created_s = manifest.created_s
    families.add(name, "seconds", help_text, about, None if created_s is None else float(created_s))
    families.add("linewatt_result_complete", "", "1 if complete.", about, float(view.result.complete))
    for note in view.notes:
        labels = {**about, "code": note.code, "rank": note.rank}
        families.add(
            "linewatt_findings", "", "Findings by code; see docs/findings.md.", labels, float(note.count)
        )


def _add_case(families: _Families, view: Digest, about: Mapping[str, str], summary: CaseSummary) -> None:
    labels = {**about, **_case_labels(view, summary.case)}
    for status, count in (("done", summary.trials_done), ("failed", summary.trials_failed)):
        families.add("linewatt_trials", "", "Trials of the case.", labels | {"status": status}, float(count))
    for metric in METRICS:
        _add_metric(families, view, labels, summary, metric)
    for role in ENDS:
        power = summary.power(role)
        if power is not None:
            _add_power(families, view, labels, summary.case, power)


def _case_labels(view: Digest, case: Case) -> dict[str, str]:
    """Labels of a case, also those that never vary, so that the identity of a series stays the same."""
    lab = [name for name in case.hosts if (host := view.hosts.get(name)) is not None and host.lab]
    return {
        "case": case.key,
        "test": case.test,
        "sender": case.sender,
        "receiver": case.receiver,
        "direction": case.direction,
        "family": case.family,
        "network": case.network,
        "instances": str(case.instances),
        "streams": str(case.streams),
        "rate_bps": "" if case.rate_bps is None else f"{case.rate_bps:.15g}",
        "load": case.load or "",
        "load_level": "" if case.load_level is None else f"{case.load_level:.15g}",
        "factors": setting_text(case.factors),
        "users": setting_text(case.users),
        "shape": case.shape or "",
        "beside": ", ".join(f"{sender} → {receiver}" for sender, receiver in case.beside),
        "lab": ",".join(lab),
    }


def _add_metric(
    families: _Families, view: Digest, labels: Mapping[str, str], summary: CaseSummary, metric: CaseMetric
) -> None:
    value = metric.value(summary)
    if value is None:
        return
    role = metric.role or next((end_role for end_role in ENDS if end_role in metric.name.split("_")), None)
    metric_labels = {**labels, **_end(summary.case, role), **_doubt(view, summary.case, metric.figure, role)}
    name, unit = name_of(metric.si_key)
    mean = value.mean if isinstance(value, Estimate) else value
    of_trials = "" if metric.of_series else ", mean over its trials"
    families.add(name, unit, f"{_titled(metric.title)}{of_trials}.", metric_labels, float(mean))
    interval = value.interval() if metric.show_ci and isinstance(value, Estimate) else None
    if interval is not None:
        stem = name.removesuffix(unit)
        for end, bound in (("low", interval.low), ("high", interval.high)):
            words = f"{_titled(metric.title)}, {end} end of the 95 % confidence interval of its mean."
            families.add(f"{stem}ci95_{end}_{unit}", unit, words, metric_labels, float(bound))


def _titled(title: str) -> str:
    """A metric's title without the words for one end."""
    for role, place in (("receiver", "remote"), ("sender", "local")):
        for words in (
            f", {role} ({place})",
            f" {role} ({place})",
            f", machine of the {role}",
            f", {role}",
            f" {role}",
        ):
            title = title.replace(words, "")
    return title


def _add_power(
    families: _Families, view: Digest, labels: Mapping[str, str], case: Case, power: EndPower
) -> None:
    for metric in POWER_METRICS:
        value = power.values.get(metric.name)
        if value is None or metric.name in _TWICE:
            continue
        scopes = {"system": power.system_scope, "cpu": power.cpu_scope}.get(metric.watts or "")
        power_labels = {
            **labels,
            **_end(case, power.role),
            "scope": scopes or "",
            "provenance": provenance_of(metric, power) or "",
            **_doubt(view, case, metric.figure, power.role),
        }
        _add_watts(
            families, metric.name, f"{power_title(metric)}, mean over its trials.", power_labels, value
        )
        bound = power.values.get(metric.bound)
        if bound is not None and metric.bound not in _TWICE:
            _add_watts(
                families, metric.bound, f"Error bound, ±: {metric.title.lower()}.", power_labels, bound
            )


def _add_watts(
    families: _Families, name: str, about: str, labels: Mapping[str, str], value: Estimate
) -> None:
    family_name, unit = name_of(f"system_{name}" if name == "uncertainty_w" else name)
    families.add(family_name, unit, about, labels, float(value.mean))


def _end(case: Case, role: Role | None) -> dict[str, str]:
    return {} if role is None else {"role": role, "host": case.host(role)}


def _doubt(view: Digest, case: Case, figure: Figure | None, role: Role | None) -> dict[str, str]:
    """Whether a finding makes the figure doubtful; no label where findings do not apply."""
    if figure is None:
        return {}
    return {"doubtful": _word(bool(view.findings.doubts(case, figure, role)))}


def _word(value: bool) -> str:
    return "true" if value else "false"
