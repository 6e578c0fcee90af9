# SPDX-License-Identifier: Apache-2.0
"""Power of the hosts without load, before the trials and after them, and what lies between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linewatt.analysis.power import (
    CPU_SCOPES,
    SCOPE_WORDS,
    SYSTEM_SCOPES,
    Total,
    idle_drift_of,
    is_refuted,
    least_sure,
    total_of_scope,
)
from linewatt.missing import Missing
from linewatt.model import PowerResult, Provenance
from linewatt.records import IdleHost
from linewatt.report.provenance import provenance_words
from linewatt.report.table import Note
from linewatt.store import Result


@dataclass(frozen=True, slots=True)
class IdlePower:
    """Idle power of one scope of one host, W. ``reason`` says why the first is missing.

    A source that delivered nothing has no scope and no provenance; its name stands for the scope.
    """

    host: str
    scope: str
    provenance: Provenance | None
    before_w: float | None
    after_w: float | None
    reason: str | None = None
    step_w: float = 0.0
    """the smallest difference that its meter shows; of a total of energy what its windows' bounds allow"""

    @property
    def drifted(self) -> bool:
        """Whether idle is too unlike for what is told above it, which is of the system only."""
        if self.before_w is None or self.after_w is None or self.scope not in SYSTEM_SCOPES:
            return False
        return idle_drift_of((self.before_w, self.after_w), self.step_w) is not None

    @property
    def clause(self) -> str:
        """The whole in few words, without the host."""
        sure = provenance_words([self.provenance])
        name = f"{SCOPE_WORDS.get(self.scope, self.scope)}{f' ({sure})' if sure else ''}"
        if self.before_w is None:
            before = f"not known before the trials: {self.reason}"
            return f"{name}: {before}{'' if self.after_w is None else f'; {self.after_w:.1f} W after them'}"
        if self.after_w is None:
            return f"{name}: {self.before_w:.1f} W before the trials"
        return f"{name}: {self.before_w:.1f} W before the trials, {self.after_w:.1f} W after: {self._change}"

    @property
    def _change(self) -> str:
        if self.before_w is None or self.after_w is None:
            return "not known"
        difference_w = self.after_w - self.before_w
        if round(abs(difference_w), 1) == 0:
            return "the same"
        change = f"{abs(difference_w):.1f} W {'more' if difference_w > 0 else 'less'}"
        if self.before_w > 0:
            change += f" ({abs(difference_w) / self.before_w:.1%})"
        doubt = ", so watts above idle are withheld" if self.drifted else ""
        return change.replace("%", " %") + doubt


def idle_notes(result: Result) -> tuple[Note, ...]:
    """A line a host, however many meters it has; doubtful where one of them drifted."""
    by_host: dict[str, list[IdlePower]] = {}
    for idle in idle_power(result):
        by_host.setdefault(idle.host, []).append(idle)
    return tuple(
        Note(
            "doubt" if any(idle.drifted for idle in scopes) else "remark",
            f"{host}, {'; '.join(idle.clause for idle in scopes)}",
        )
        for host, scopes in by_host.items()
    )


def idle_power(result: Result) -> tuple[IdlePower, ...]:
    """System and CPU power of every host in the idle windows; nothing for hosts without a source."""
    before, after = (idle.hosts if idle else {} for idle in (result.idle_before, result.idle_after))
    readings: list[IdlePower] = []
    for host in dict.fromkeys([*before, *after]):
        then, now = before.get(host, IdleHost()), after.get(host, IdleHost())
        for which in (SYSTEM_SCOPES, CPU_SCOPES):
            reading = _idle(host, which, then.power, now.power, then.power_reasons)
            if reading is not None:
                readings.append(reading)
        readings += _silent(host, then.power_reasons, now.power)
    return tuple(readings)


def _silent(host: str, reasons: Mapping[str, str], now: Sequence[PowerResult]) -> Iterator[IdlePower]:
    """Sources that had nothing to say before the trials."""
    later = {power_result.source for power_result in now if power_result.power_w is not None}
    for key, reason in reasons.items():
        source = key.removeprefix("power.")
        if source not in later:
            yield IdlePower(host, source, None, None, None, reason)


def _idle(
    host: str,
    which: Sequence[str],
    then: Sequence[PowerResult],
    now: Sequence[PowerResult],
    reasons: Mapping[str, str],
) -> IdlePower | None:
    for scope in which:
        if is_refuted(then, scope) or is_refuted(now, scope):
            continue
        before, after = total_of_scope(then, scope), total_of_scope(now, scope)
        totals = [total for total in (before, after) if isinstance(total, Total)]
        if totals:
            worst = least_sure(total.provenance for total in totals)
            silent = before or reasons.get(f"power.{totals[0].source}") or "not recorded"
            return IdlePower(
                host=host,
                scope=scope,
                provenance=worst,
                before_w=before.power_w if isinstance(before, Total) else None,
                after_w=after.power_w if isinstance(after, Total) else None,
                reason=None if isinstance(before, Total) else str(silent),
                step_w=totals[0].least_drift_w,
            )
        if isinstance(before, Missing):
            of_scope = (
                power_result.provenance
                for power_result in then
                if power_result.scope.partition(":")[0] == scope
            )
            return IdlePower(host, scope, least_sure(of_scope), None, None, before.reason)
    return None
