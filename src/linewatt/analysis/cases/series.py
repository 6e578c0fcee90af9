# SPDX-License-Identifier: Apache-2.0
"""What only cases of a series together show: a hidden ceiling, regimes, power that stands out. Pure.

A series is the cases that differ in instances only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linewatt.analysis.cases.regimes import explained, knee_of
from linewatt.analysis.flags.case import FlagCount
from linewatt.analysis.flags.case_flag import case_flag
from linewatt.analysis.limits.ceiling import Ceiling, ceiling, flat, suspected, with_ceiling
from linewatt.analysis.power.outliers import PowerOutlier, PowerRow, power_outliers
from linewatt.model import ENDS, Flag, Role
from linewatt.units import format_rate

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary


def with_series(series: Sequence[CaseSummary]) -> list[CaseSummary]:
    """The cases of one series, instances ascending, each with what the others say of it."""
    done = list(series)
    for at, hidden_ceiling in list(ceilings(done)):
        if hidden_ceiling.unknown:
            done[at] = replace(done[at], limit=suspected(done[at].limit, hidden_ceiling))
        else:
            done = with_ceiling(done, at, hidden_ceiling)
            done[at] = flagged(done[at], [_hidden(done[at], hidden_ceiling)])
    odd = [outlier for role in ENDS for outlier in _outliers(done, role)]
    done = [flagged(summary, [flag for at, flag in odd if at == summary.case.instances]) for summary in done]
    rows = explained(done)
    return [
        replace(summary, regime=None if summary.case.of_users else row)
        for summary, row in zip(done, rows, strict=True)
    ]


def ceilings(series: Sequence[CaseSummary]) -> Iterator[tuple[int, Ceiling]]:
    """Cases that stand at a ceiling nothing known explains, also where its evidence is not whole."""
    bend = knee_of(series)
    for at in range(1, len(series)):
        stopped = flat(series[at - 1], series[at], bend)
        hidden_ceiling = ceiling(series, at, stopped) if stopped else None
        if hidden_ceiling is not None:
            yield at, hidden_ceiling


def _hidden(summary: CaseSummary, hidden_ceiling: Ceiling) -> Flag:
    first, *others = hidden_ceiling.stopped
    return case_flag(
        "hidden-ceiling",
        summary.case.way,
        (
            f"nothing known explains {format_rate(hidden_ceiling.throughput_bps)}: {first}",
            *others,
            *hidden_ceiling.excluded,
        ),
        "look at the data sheets of NIC and switch for limits over all ports, at the slot, and at memory",
    )


def flagged(summary: CaseSummary, flags: Sequence[Flag]) -> CaseSummary:
    """A case with more flags of its own."""
    if not flags:
        return summary
    counts = [FlagCount(flag.code, 1, summary.trials_done, flag) for flag in flags]
    return replace(summary, case_flags=(*summary.case_flags, *flags), flags=(*summary.flags, *counts))


def _outliers(series: Sequence[CaseSummary], role: Role) -> Iterator[tuple[int, Flag]]:
    """The instances of cases whose power at one end stands out, each with its flag."""
    for power_outlier in power_outliers(power_rows(series, role)):
        yield (
            power_outlier.row.instances,
            case_flag(
                "power-outlier",
                series[0].case.host(role),
                (outlier_words(power_outlier), *power_outlier.evidence),
                "look at fan speed, temperatures and frequency of this case, and measure it again",
            ),
        )


def power_rows(series: Sequence[CaseSummary], role: Role) -> list[PowerRow]:
    """The cases of a series with watts of one scope at one end."""
    end_powers = [(summary, summary.power(role)) for summary in series if not summary.case.paced]
    with_watts = [
        (summary, power) for summary, power in end_powers if power is not None and power.system_w is not None
    ]
    scopes = {power.system_scope for _, power in with_watts}
    return [
        PowerRow(
            summary.case.instances,
            summary.throughput_bps.mean,
            power.system_w.mean,
            power.cpu_w.mean if power.cpu_w else None,
            power.uncertainty_w.mean if power.uncertainty_w else None,
            power.beside,
        )
        for summary, power in with_watts
        if len(scopes) == 1 and summary.throughput_bps is not None and power.system_w is not None
    ]


def outlier_words(power_outlier: PowerOutlier) -> str:
    """``339.2 W, where the other cases say 212.4 W (+126.8 W)``."""
    by = power_outlier.row.system_w - power_outlier.expected_w
    return (
        f"{power_outlier.row.system_w:.1f} W, where the other cases say "
        f"{power_outlier.expected_w:.1f} W ({by:+.1f} W)"
    ).replace("(-", "(−")
