# SPDX-License-Identifier: Apache-2.0
"""Findings on scripted users of a file server."""

from __future__ import annotations

from linewatt.findings import REACHED_RATE_RATIO, Kind, percent

MANY_FAILED = 0.01
"""of the transfers: from here on throughput is that of whom the server let through"""
KEPT_OUT = 1.0
"""users: as many logins failed as one user tries who is refused all the time"""
CHANCE = 3.0
"""standard deviations of a Poisson process that arrivals in a window may lie below their mean"""

KINDS = (
    Kind(
        "client-saturated",
        "doubtful",
        "host",
        ("throughput",),
        "The users' process of a client used a whole core: the client may limit the rate, and not the server.",
        "Its CPU time in the slices of a soak, or in the window of a trial.",
        "Spread the users over more clients.",
    ),
    Kind(
        "transfers-failed",
        "note",
        "case",
        (),
        "Transfers of users failed in the window. Throughput includes the bytes that they had moved until then.",
        "What each client's users counted, by action and kind.",
        "See docs/users.md for what each kind of failure is; take away what makes it, and measure again.",
    ),
    Kind(
        "many-transfers-failed",
        "doubtful",
        "case",
        ("throughput",),
        "Many transfers or logins of users failed in the window. Refused users cause no load, so the others are faster: throughput "
        "is not that of all users.",
        f"Failures are at least {percent(MANY_FAILED)} of what the users of all clients did, or so many logins failed as "
        f"keep {KEPT_OUT:g} user out for the whole window (one in 2 s).",
        "See docs/users.md for what each kind of failure is; take away what makes it (`max_clients` is one), and measure "
        "again before this setting is compared with another.",
    ),
    Kind(
        "arrivals-not-served",
        "note",
        "case",
        (),
        "Users of an open loop did fewer transfers than asked for (`arrival_rate`): the others waited, or failed.",
        f"Transfers done in the window are below {percent(REACHED_RATE_RATIO)} of `arrival_rate` × its seconds, and by more than "
        f"{CHANCE:g} standard deviations of arrivals at random.",
        "The figures are those of what was done. Ask for fewer, or give more users if all of them were busy.",
    ),
)
