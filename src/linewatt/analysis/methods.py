# SPDX-License-Identifier: Apache-2.0
"""What each method changed, so that a result made again can say why a figure is another now. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Since:
    """From ``method`` on figures whose path ``pattern`` fits are made otherwise, ``words`` says how."""

    method: int
    pattern: str
    words: str


CHANGED = (
    Since(
        5,
        r"throughput_bps|reason",
        "more payload than the data interface of an end carried is impossible: throughput is withheld",
    ),
    Since(
        2,
        r"(sender|receiver)\.(cpu_cores|reasons\.cpu_cores)",
        "time that a hypervisor took, and waiting for disks, are not counted as CPU used",
    ),
    Since(
        2,
        r"(sender|receiver)\.power\[.*\]\.idle_.*",
        "idle is the mean of all windows with these settings, before and after, and half their difference "
        "goes into its bound",
    ),
    Since(
        2,
        r"(sender|receiver)\.power\[.*\]\..*",
        "meters: what is an update, its refresh and averaging, the last reading of the window",
    ),
    Since(
        3,
        r"(sender|receiver)\.power\[.*\]\..*",
        "readings count once the stated meter has settled; what the slowest likely one would still show is "
        "in the bound",
    ),
    Since(
        4,
        r"(sender|receiver)\.power\[.*\]\..*",
        "a total of energy that stood still for a part of the window tells nothing, and one that is held "
        "over several readings is known to a whole update",
    ),
    Since(
        4,
        r"(sender|receiver)\.(.*_)?hottest.*",
        "the busiest CPU is the one that had least left for the load: what runs niced gives way to it",
    ),
    Since(2, r"(sender|receiver)\.(app|irq)_cpu\..*", "time that a hypervisor took stands apart"),
    Since(2, r"(sender|receiver)\.settings\..*", "settings are read at the window's start and end"),
)
"""in the order in which they are held against a figure"""


def why_figure_differs(figure: str, before: int, after: int) -> str:
    """Why a figure differs, in words; by its path in ``trial.json``."""
    explanations = (
        change.words
        for change in CHANGED
        if before < change.method <= after and re.fullmatch(change.pattern, figure) is not None
    )
    if before == after:
        return "another version of linewatt makes it otherwise"
    return next(explanations, f"method {after} makes it otherwise than method {before}")
