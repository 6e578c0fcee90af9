# SPDX-License-Identifier: Apache-2.0
"""Which cases have a profile, and what a reader of the plan should know of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.campaign import Campaign
from linewatt.model import Case


class ProfilePlan:
    """How profiles are planned: a :class:`linewatt.campaign.planning.further.FurtherPlan`."""

    overhead_s = 6.0
    """to resolve symbols and to fold stacks"""
    beside = "with perf record on app and IRQ CPUs of both ends"

    def cases(self, campaign: Campaign, cases: Sequence[Case]) -> list[Case]:
        """Those whose labels were set last come first."""
        blocks: dict[tuple[str, ...], list[Case]] = {}
        for case in cases:
            if _why_not(case) is None:
                levels = dict(case.factors)
                blocks.setdefault(tuple(levels[name] for name in campaign.labels), []).append(case)
        return [case for block in reversed(blocks.values()) for case in block]

    def notes(self, campaign: Campaign, cases: Sequence[Case]) -> Iterator[str]:
        """What has none, and why."""
        whys = dict.fromkeys(why for case in cases if (why := _why_not(case)) is not None)
        for why in whys:
            count = sum(_why_not(case) == why for case in cases)
            yield f"profile: {count} case{' has' if count == 1 else 's have'} none: {why}"


PLAN = ProfilePlan()


def _why_not(case: Case) -> str | None:
    if case.load_level == 0:
        return "active idle has no load"
    if case.search == "rate":
        return "a rate that is searched is known only by its end; name the rate to profile it"
    if case.search == "instances":
        return "instances that are searched are known only by its end; name them to profile them"
    return None
