# SPDX-License-Identifier: Apache-2.0
"""Why nothing arrived in a trial, as far as its evidence says. Pure."""

from __future__ import annotations

from linewatt.engine.live.trial import TrialRun


def nothing_arrived(run: TrialRun) -> str:
    """The reason of a trial whose load ran and whose receiver got nothing."""
    case = run.planned.case
    said = f"nothing arrived at {case.receiver} in the window, though the load ran"
    if run.path_problem is not None:
        return f"{said}: {run.path_problem}"
    facts = {name: readback.facts for name, readback in run.readback.items()}
    for name, known in facts.items():
        if known.get("nic.state", "UP") not in ("UP", "UNKNOWN"):
            return f"{said}: the data interface of {name} is {known['nic.state']}"
    mtus = {name: known["nic.mtu"] for name, known in facts.items() if "nic.mtu" in known}
    if len(set(mtus.values())) > 1:
        ends = ", ".join(f"{mtu} on {name}" for name, mtu in mtus.items())
        return f"{said}: the ends do not have one MTU ({ends})"
    return (
        f"{said}: look whether full packets pass (`linewatt check`, ping -M do -s), at carrier and MTU of "
        "what is between the hosts, and for a firewall that lets connections in and no data"
    )
