# SPDX-License-Identifier: Apache-2.0
"""Findings on whether all series of a trial cover the same time."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

START_UNCERTAINTY_S = 0.1
CLOCK_UNCERTAINTY_S = 0.05
CLOCK_SET_S = 0.5
"""change of the delay from stamp to arrival of readings, beyond drift: above it, a clock was set"""
ARRIVAL_LATE_S = 1.5
EDGE_ERROR_RATIO = 0.005
"""fraction of the window that readings may put outside the load before figures are doubtful"""
ASKING_S = 0.3
"""time to query a host, and for a reading to arrive; omit and tail exceed an interval by it"""

KINDS = (
    Kind(
        "start-uncertain",
        "note",
        "trial",
        (),
        "The start of a load is uncertain. Throughput may cover a slightly different time than CPU and "
        "watts.",
        "A load starts at the earliest when its client is released, and at the latest its duration before "
        f"its end. This leaves more than ± {START_UNCERTAINTY_S:g} s.",
        "Lengthen window.omit and the window, or find what delays the load's connection.",
    ),
    Kind(
        "load-start-unknown",
        "doubtful",
        "trial",
        ("cpu", "power", "above_idle"),
        "The start of a load is so uncertain that the window may extend beyond the load. CPU use, counters "
        "and watts may include time without load.",
        f"With the earliest or the latest possible start, more than {percent(EDGE_ERROR_RATIO)} of the "
        "window has no load. Throughput comes from the load's own intervals and is not affected.",
        "Find what delays the load's start or end at its client (a host with full CPUs), or lengthen "
        "window.omit and window.tail as the evidence says.",
        weighed="cpu",
    ),
    Kind(
        "clock-uncertain",
        "note",
        "host",
        (),
        "The clock offset between a host and the controller is uncertain.",
        f"The fastest recent heartbeat leaves an uncertainty above ± {1000 * CLOCK_UNCERTAINTY_S:g} ms.",
        "Use a management network with a shorter round trip, or a longer window.",
    ),
    Kind(
        "sensor-late",
        "doubtful",
        "trial",
        ("cpu",),
        "A CPU record arrived long after it was written: the windows of CPU and load may not match.",
        f"The timestamp of an mpstat record is more than {ARRIVAL_LATE_S:g} s before its arrival.",
        "Look for a stalled connection to the host.",
    ),
    Kind(
        "host-stood-still",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "For part of the window no CPU readings came from a host: the host, or the connection to it, "
        "stalled. Throughput includes that time.",
        f"Two mpstat records are more than {ARRIVAL_LATE_S:g} s further apart than usual. In imported files, "
        "sar and flent records count too, and a clock step looks the same.",
        "Repeat the trial, and find what stalled the host or its connection (a load on all CPUs, a guest "
        "that is not scheduled, a full management network). connections.json, if present, shows how slowly "
        "it answered.",
    ),
    Kind(
        "sensor-unreadable",
        "note",
        "trial",
        (),
        "Records of a sensor could not be read; their data is missing.",
        "A parser rejected them, or the sensor ended; the evidence has the error.",
        "See the trial's raw directory.",
    ),
    Kind(
        "window-edges-contaminated",
        "doubtful",
        "host",
        ("cpu",),
        "Readings at the edges of the window extend beyond the load. CPU use and counters of the window "
        "include time without full load, and may be too low by as much as the evidence says.",
        "Each reading is a mean over its interval. Those at the edges put more than "
        f"{percent(EDGE_ERROR_RATIO)} of the window outside the load.",
        "Make window.omit at least an interval of the slowest sensor, and window.tail at least "
        f"{ASKING_S:g} s longer than that interval.",
        weighed="cpu",
    ),
)
