# SPDX-License-Identifier: Apache-2.0
"""What limits each row of a table of published means, by its throughput and the shares of its CPUs. Pure.

A row is about one end. Nothing is guessed: what the other end did, and the line, are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linewatt.analysis.cases import Analysis, analyse_series, summarise
from linewatt.features.tables.imported import PARTS, shares_of, test_of, unknown_end
from linewatt.features.tables.published import Mean, MeanRow, Means
from linewatt.model import Case, CpuShares, Role, Trial
from linewatt.units import ratio_from_percent

NOT_SAID = "not in the table"
END_COLUMNS = ("direction", "role")
_ENDS: dict[str, Role] = {
    "receive": "receiver",
    "receiver": "receiver",
    "srv(rcv)": "receiver",
    "clt(rcv)": "receiver",
    "send": "sender",
    "sender": "sender",
    "clt(snd)": "sender",
    "srv(snd)": "sender",
}
_PART_NAMES = {"app": "app", "irq": "IRQ"}
_SHARES = ("usr", "sys", "irq", "soft", "idle")


def analyse_means(means: Means) -> list[Analysis]:
    """A series a row; none of rows that lack a test, the end that they are about, or shares of its CPUs."""
    return [
        _with_spread(analyse_series(", ".join(row.names.values()), summarise([trial])), row)
        for number, row in enumerate(means.rows, start=1)
        if (trial := _trial(number, row)) is not None
    ]


def _trial(number: int, row: MeanRow) -> Trial | None:
    words = (row.names.get(column, "") for column in END_COLUMNS)
    role = next((_ENDS[word] for word in words if word in _ENDS), None)
    test = test_of(row.names.get("test", ""))
    shares = {part: _shares(row, part) for part in PARTS}
    if role is None or test is None or not any(shares.values()):
        return None
    case = Case(test=test, sender="sender", receiver="receiver")
    unknown = {end: unknown_end(case.host(end), end, NOT_SAID) for end in ("receiver", "sender")}
    shown_end = replace(unknown[role], app_cpu=shares["app"], irq_cpu=shares["irq"])
    return Trial(
        number=number,
        repetition=1,
        case=case,
        case_key=case.key,
        status="done",
        started_s=0.0,
        reason=NOT_SAID,
        throughput_bps=row.rate_bps if role == "receiver" else None,
        offered_bps=row.rate_bps if role == "sender" else None,
        receiver=shown_end if role == "receiver" else unknown["receiver"],
        sender=shown_end if role == "sender" else unknown["sender"],
    )


def _share_means(row: MeanRow, part: str) -> dict[str, Mean]:
    """The published shares of a role's CPU; columns may be named as in tables of host blocks."""
    names = {share: (f"{part}_{share}", f"{part}_cpu_{share}_pct") for share in _SHARES}
    by_share = {
        share: next((mean for column in columns if (mean := row.means.get(column)) is not None), None)
        for share, columns in names.items()
    }
    return {share: mean for share, mean in by_share.items() if mean is not None}


def _shares(row: MeanRow, part: str) -> CpuShares | None:
    """What a role's CPU did; ``None`` unless all of its shares are in the table and may be percent of one."""
    ratios = {share: ratio_from_percent(mean.value) for share, mean in _share_means(row, part).items()}
    if len(ratios) < len(_SHARES) or not all(0 <= ratio <= 1 for ratio in ratios.values()):
        return None
    return shares_of(ratios)


def _with_spread(analysis: Analysis, row: MeanRow) -> Analysis:
    """The analysis whose limits have the published spread of the share that fills their CPU."""
    findings = (
        replace(finding, evidence=(*finding.evidence, *_spreads(finding.kind, row)))
        for finding in analysis.findings
    )
    return replace(analysis, findings=tuple(findings))


def _spreads(kind: str, row: MeanRow) -> Iterator[str]:
    for part in PARTS:
        shares = _share_means(row, part)
        if kind.endswith(f"-{part}-cpu") and shares:
            share = max((name for name in shares if name != "idle"), key=lambda name: shares[name].value)
            mean = shares[share]
            spread = f" ± {mean.sd_text}" if mean.sd_text else ""
            yield f"published: {_PART_NAMES[part]} CPU {share} {mean.text}{spread} %{_over(row)}"


def _over(row: MeanRow) -> str:
    return "" if row.runs is None else f", mean ± SD over {row.runs} runs"
