# SPDX-License-Identifier: Apache-2.0
"""Findings on scripted users of a file server."""

from __future__ import annotations

from linewatt.findings import REACHED_RATE_RATIO, Kind, percent

MANY_FAILED = 0.01
"""share of failures among transfers and failures; from here on, throughput is not that of all users"""
KEPT_OUT = 1.0
"""users: the failed logins are as many as this number of constantly refused users would cause"""
CHANCE = 3.0
"""standard deviations (Poisson) by which the arrivals in a window may be below their mean"""

KINDS = (
    Kind(
        "client-saturated",
        "doubtful",
        "host",
        ("throughput",),
        "The users' process on a client used a full core. The client may limit the rate, not the server.",
        "Its CPU time in slices of a soak, or in the window of a trial.",
        "Spread the users over more clients.",
    ),
    Kind(
        "transfers-failed",
        "note",
        "case",
        (),
        "Transfers of users failed in the window. Throughput includes the bytes moved before the failure.",
        "Each client's count of failures, by action and kind.",
        "Look up the kind of failure in docs/users.md, remove its cause, and measure again.",
    ),
    Kind(
        "many-transfers-failed",
        "doubtful",
        "case",
        ("throughput",),
        "Many transfers or logins failed in the window. Refused users cause no load and make the others "
        "faster, so throughput is not that of all users.",
        f"Failures are at least {percent(MANY_FAILED)} of transfers and failures, or logins failed as often "
        f"as {KEPT_OUT:g} constantly refused user retries (every 2 s).",
        "Look up the kind of failure in docs/users.md and remove its cause, such as `max_clients`. Measure "
        "again before you compare this setting with another.",
    ),
    Kind(
        "arrivals-not-served",
        "note",
        "case",
        (),
        "Users of an open loop did fewer transfers than `arrival_rate` asks for. The rest waited or failed.",
        f"Transfers in the window are below {percent(REACHED_RATE_RATIO)} of `arrival_rate` × window length, "
        f"and lower by more than {CHANCE:g} standard deviations of random arrivals.",
        "Lower `arrival_rate`, or add users if all were busy. The figures are those of completed transfers.",
    ),
)
