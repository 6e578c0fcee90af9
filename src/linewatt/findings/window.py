# SPDX-License-Identifier: Apache-2.0
"""Findings on whether all series of a trial are of the same time."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

START_UNCERTAINTY_S = 0.1
CLOCK_UNCERTAINTY_S = 0.05
ARRIVAL_LATE_S = 1.5

KINDS = (
    Kind(
        "start-uncertain",
        "note",
        "trial",
        (),
        "When a load began is not known well, so its intervals may lie beside the window that everything else is cut to.",
        f"Between the release of a client and its end minus its duration lie more than ± {START_UNCERTAINTY_S:g} s.",
        "Lengthen window.omit and the window, or find what delays the load's connection.",
    ),
    Kind(
        "clock-uncertain",
        "note",
        "host",
        (),
        "A host's clock is not known well against the controller's.",
        f"The quickest of the last heartbeats leaves more than ± {1000 * CLOCK_UNCERTAINTY_S:g} ms.",
        "Use a management network with a shorter round trip, or a longer window.",
    ),
    Kind(
        "sensor-late",
        "doubtful",
        "trial",
        ("cpu",),
        "A record of CPU use arrived long after it was written: windows of CPU and load may not be aligned.",
        f"mpstat's own stamp is more than {ARRIVAL_LATE_S:g} s before the arrival.",
        "Look for a stalled connection to the host.",
    ),
    Kind(
        "sensor-unreadable",
        "note",
        "trial",
        (),
        "Records of a sensor could not be read; what they would have shown is missing.",
        "A parser refused them; the evidence has its words.",
        "See the trial's raw directory.",
    ),
)
