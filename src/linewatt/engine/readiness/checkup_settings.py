# SPDX-License-Identifier: Apache-2.0
"""Whether a host can show what a run sets there: refused as a run refuses it, before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable

from linewatt.campaign import Campaign
from linewatt.engine.networks.reach import check_reach
from linewatt.engine.readiness.congestion import check_congestion
from linewatt.engine.readiness.readiness import Check
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.errors import ChangeError, InvalidInput
from linewatt.hosts import Host
from linewatt.tuning import Change, apply

_ADVICE = "change this setting in the campaign"


async def check_settings(host: Host, campaign: Campaign, changes: Iterable[Change]) -> Check | None:
    """The first refusal of all that a run would set on a host; None where it sets nothing.

    Raises HostError.
    """
    name = host.spec.name
    host_changes = list(dict.fromkeys(change for change in changes if change.host == name))
    is_described = any(name in hosts for hosts in campaign.described.values())
    if not host_changes and not is_described:
        return None
    try:
        await check_reach(campaign.described, {name: host})
        await check_congestion(host_changes, {name: host})
        await _check_knobs(host, host_changes)
    except (ChangeError, InvalidInput) as error:
        return Check(name, "settings", "fail", error.without(name), _ADVICE)
    knobs = ", ".join(sorted({change.knob for change in host_changes})) or "networks"
    return Check(name, "settings", "ok", f"the host can take what a run sets: {knobs}")


async def _check_knobs(host: Host, changes: Iterable[Change]) -> None:
    """Read what is to be set, and see that it can be. Raises ChangeError; HostError."""
    change_by_setting: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        change_by_setting.setdefault((change.knob, change.target), []).append(change)
    settings = [(ALL_KNOBS[knob], target) for knob, target in change_by_setting]
    outcomes = await apply.look_at_settings(host, settings)
    for (knob, _), outcome, setting_changes in zip(
        settings, outcomes, change_by_setting.values(), strict=True
    ):
        before = outcome.text_or_raise()
        for change in setting_changes:
            apply.wanted_setting(knob, change, before)
