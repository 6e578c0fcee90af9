# SPDX-License-Identifier: Apache-2.0
"""Findings on what limits a case, where that makes a figure doubtful."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

FULL_CPU = 0.98
HEADROOM = 0.90

KINDS = (
    Kind(
        "sender-is-the-bottleneck",
        "note",
        "case",
        (),
        "The sender's CPU is full while the receiver has room: the figure is the sender's.",
        f"Its app CPU is {percent(FULL_CPU)} busy, the receiver's fullest CPU {percent(HEADROOM)} or less.",
        "Send from more instances or a faster host.",
    ),
)
