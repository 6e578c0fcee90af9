# SPDX-License-Identifier: Apache-2.0
"""Findings on whether all series of a trial are of the same time."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

START_UNCERTAINTY_S = 0.1
CLOCK_UNCERTAINTY_S = 0.05
CLOCK_SET_S = 0.5
"""between stamps and arrivals of readings, beyond drift: from here on a clock was set"""
ARRIVAL_LATE_S = 1.5
EDGE_ERROR_RATIO = 0.005
"""of the window: the part of its readings that may be of another time before figures are doubtful"""
ASKING_S = 0.3
"""for a question to a host, and for a reading to arrive: omit and tail are longer than an interval by it"""

KINDS = (
    Kind(
        "start-uncertain",
        "note",
        "trial",
        (),
        "The start of a load is uncertain, so throughput may be of a slightly other time than CPU and watts.",
        f"A load starts after its client is released, and at the latest its duration before its end. The two are more than "
        f"± {START_UNCERTAINTY_S:g} s apart.",
        "Lengthen window.omit and the window, or find what delays the load's connection.",
    ),
    Kind(
        "load-start-unknown",
        "doubtful",
        "trial",
        ("cpu", "power", "above_idle"),
        "The start of a load is so uncertain that the window may reach beyond the load: CPU use, counters and watts may contain time "
        "without load.",
        f"With the earliest or the latest possible start, more than {percent(EDGE_ERROR_RATIO)} of the window has no load. Throughput comes "
        "from the load's own intervals and is not affected.",
        "Find what delays the load's start or end at its client (a host whose CPUs are full), or make window.omit and "
        "window.tail longer than the evidence says.",
        weighed="cpu",
    ),
    Kind(
        "clock-uncertain",
        "note",
        "host",
        (),
        "The offset between the clock of a host and that of the controller is uncertain.",
        f"The quickest of the last heartbeats leaves more than ± {1000 * CLOCK_UNCERTAINTY_S:g} ms.",
        "Use a management network with a shorter round trip, or a longer window.",
    ),
    Kind(
        "sensor-late",
        "doubtful",
        "trial",
        ("cpu",),
        "A record of CPU use arrived long after it was written: the windows of CPU and load may not match.",
        f"mpstat's own stamp is more than {ARRIVAL_LATE_S:g} s before the arrival.",
        "Look for a stalled connection to the host.",
    ),
    Kind(
        "host-stood-still",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "For a part of the window no CPU readings came from a host: the host, or the connection to it, stood still. Throughput "
        "includes that time.",
        f"Between two records of mpstat lie more than {ARRIVAL_LATE_S:g} s beyond their usual time; of imported files also "
        "of sar and flent, where a clock that was set looks the same.",
        "Repeat the trial, and find what held the host or its connection up (a load that takes all CPUs, a guest that is not "
        "run, a management network that is full); connections.json, if there is one, has how slowly it answered.",
    ),
    Kind(
        "sensor-unreadable",
        "note",
        "trial",
        (),
        "Records of a sensor could not be read; what they would have shown is missing.",
        "A parser refused them, or the sensor ended; the evidence has its words.",
        "See the trial's raw directory.",
    ),
    Kind(
        "window-edges-contaminated",
        "doubtful",
        "host",
        ("cpu",),
        "Readings that open or close the window reach beyond the load, where the host did something else: CPU use and "
        "counters of the window contain some of that, and are too low by as much as the evidence says.",
        f"Readings are means over their interval; those at the edges put more than {percent(EDGE_ERROR_RATIO)} of the window "
        "outside the load.",
        f"Make window.omit at least an interval of the slowest sensor, and window.tail as long and {ASKING_S:g} s more.",
        weighed="cpu",
    ),
)
