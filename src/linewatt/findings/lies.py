# SPDX-License-Identifier: Apache-2.0
"""The lies of measurement that linewatt knows, and what keeps each of them out of a figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lie:
    """``codes`` are the findings that name it; ``how`` says what else keeps it out."""

    lie: str
    codes: tuple[str, ...] = ()
    how: str = ""


LIES: dict[str, tuple[Lie, ...]] = {
    "Loads": (
        Lie(
            "The sender's rate reported as goodput",
            ("receiver-not-known",),
            how="throughput is what the receiver counted; what was sent has a column of its own",
        ),
        Lie("UDP loss hidden", ("udp-loss",)),
        Lie("Streams of a process on one CPU", ("streams-share-cpu", "load-threads-differ")),
        Lie("The client is the bottleneck", ("test-bed-is-the-limit", "client-saturated")),
        Lie("Users are refused, and the others are faster", ("many-transfers-failed",)),
        Lie("Two instances on one core", ("instances-share-cpu", "app-irq-share-cpu")),
        Lie(
            "GSO or GRO differs between A and B",
            how="`compare` says which facts of the hosts differ beside each verdict",
        ),
        Lie("TSO, GSO or GRO at one end only", ("offloads-differ",)),
        Lie(
            "A file server that delivers less than its files have",
            ("many-transfers-failed", "transfers-failed"),
            "each get is held against the size that the job or the server says, else against the first get of that file",
        ),
        Lie("An asked rate that was exceeded", ("rate-exceeded",)),
        Lie("An asked rate that was not reached", ("rate-not-reached", "arrivals-not-served")),
        Lie("More than the line can carry", ("above-line-rate",)),
        Lie("Loss on the path of TCP", ("tcp-retransmits",)),
        Lie("A receiver that counts more than arrived", ("goodput-above-interface",)),
        Lie(
            "Versions of the load differ between ends, or between A and B",
            ("load-versions-differ",),
            "`compare` says so of A and B",
        ),
        Lie("A load that spins while it waits", ("load-spins",)),
    ),
    "Window": (
        Lie("Warm-up inside the window", ("warm-up-in-window",)),
        Lie("CPU and load windows not aligned", ("start-uncertain", "load-start-unknown", "sensor-late")),
        Lie("A host that stands still for a part of the window", ("host-stood-still",)),
        Lie(
            "Clocks of two hosts apart",
            ("clock-uncertain",),
            "every stamp is put on the controller's time line",
        ),
        Lie(
            "A clock that was set in mid-trial",
            how="the trial has failed, with the step: by heartbeats before and after it, and by the stamps of its readings",
        ),
        Lie("A sensor slower than omit or tail", ("window-edges-contaminated",)),
        Lie(
            "Files of others laid beside the wrong time",
            ("stamps-too-coarse", "clock-assumed", "zone-assumed", "readings-named-otherwise"),
            "readings are placed by the load's own stamp on their host, and refused where they cover no load",
        ),
        Lie(
            "The observer's own work inside the window",
            how="hosts are read before the window and after the readings that close it; nothing is imported while a load runs",
        ),
        Lie("The first trial unlike the rest", ("first-trial-differs",)),
        Lie(
            "Carry-over from the trial before",
            ("two-modes", "drifts-over-trials"),
            "`order: random` gives a case another predecessor each time; an interleaved order does not, so what every case hands to the next cannot be seen there",
        ),
        Lie(
            "A dip or an oscillation averaged away",
            ("throughput-dips", "throughput-oscillates", "throughput-drifts"),
        ),
    ),
    "CPU": (
        Lie(
            "Tick aliasing",
            ("cpu-accounting-disagrees",),
            "role by role, so that receive work on one CPU cannot mask it on another",
        ),
        Lie(
            "A paced load in step with the tick",
            ("tick-accounting", "cpu-accounting-disagrees"),
            "a paced load runs on a timer that divides no tick, where it can (loads.md)",
        ),
        Lie("A frequency or thermal drop", ("frequency-dropped", "cpu-throttled")),
        Lie(
            "One full CPU hidden in a mean",
            how="limits are judged by the busiest CPU of each role, which is stored beside the mean",
        ),
        Lie("A foreign process in the window", ("foreign-load", "host-not-idle")),
        Lie("A foreign process on the CPU that limits, and throughput called sure", ("limiting-cpu-shared",)),
        Lie("Steal by a hypervisor", ("cpu-stolen",)),
        Lie("A CPU quota of a container or service holds the load", ("cpu-quota-throttled",)),
        Lie("A cpuset or an inherited affinity leaves the load fewer CPUs than planned", ("cpus-withheld",)),
        Lie("The load is niced, and mpstat shows its time as what gives way", ("load-priority",)),
        Lie(
            "Niced work of another session is served as if it were not niced",
            ("limiting-cpu-shared",),
            "it counts against the CPU where the load had to wait for it",
        ),
        Lie("A clock that dipped and came back", ("frequency-dropped",)),
        Lie("A real-time process takes the load's CPU first", ("load-outranked",)),
        Lie("Reclaim and swap slow the load without any CPU being full", ("memory-pressure",)),
        Lie(
            "A share of CPUs of which some are offline",
            ("cpus-assumed",),
            "linewatt reads each CPU by itself",
        ),
        Lie("A busy SMT sibling", ("smt-sibling-busy",)),
        Lie("Timers and updates that run in the window", ("foreign-load", "cpu-unsteady")),
    ),
    "Placement": (
        Lie("Interrupts not where they were pinned", ("interrupts-elsewhere",)),
        Lie("irqbalance undid it", ("setting-changed",)),
        Lie("RSS collisions: two modes averaged", ("two-modes", "modes-unresolved")),
        Lie("Automatic NUMA balancing moved it", ("process-moved", "process-migrated")),
        Lie(
            "A process or a setting moved and put back inside the window",
            ("process-migrated", "placement-not-verified", "setting-changed"),
        ),
    ),
    "Network": (
        Lie("A neighbour's flow on the same interface", ("neighbour-traffic",)),
        Lie(
            "Link or shaper changed in the window",
            ("interface-changed", "configuration-changed", "throughput-dips"),
            "a trial whose link lost its carrier, or in which TCP got nothing through for a while, has failed",
        ),
        Lie(
            "Traffic on another interface than the one that is read",
            ("load-not-on-interface", "path-not-proven"),
        ),
        Lie("A path that carries far more one way than the other", ("directions-differ",)),
        Lie("Pause frames throttle the sender", ("pause-frames",)),
        Lie(
            "Path MTU below the interface's",
            ("segments-small",),
            how="each path is tried with full packets before its first trial, and a trial in which nothing arrived has failed",
        ),
        Lie(
            "Congestion control or socket limits differ, or change in mid-campaign",
            ("congestion-differs", "socket-settings-differ", "configuration-changed"),
            "`compare` says so of A and B",
        ),
        Lie("Firewall or conntrack rules differ", how="`compare` says so of A and B"),
    ),
    "Power": (
        Lie("A frozen sensor", ("power-frozen", "meter-hangs")),
        Lie("A meter that says that it does not measure", ("power-not-activated",)),
        Lie(
            "A stale sensor, which refreshes more slowly than asked",
            ("meter-refreshes-slowly", "power-few-updates"),
            "its refresh time is learned from distinct values, and the ± follows from it",
        ),
        Lie(
            "An averaging sensor",
            ("meter-averages", "meter-late", "meter-shows-peaks", "power-window-too-short"),
            "its averaging time and delay are learned from the edges of loads; windows that are too short for it have no number, with its name in the reason",
        ),
        Lie("A saturated sensor", ("power-saturated",)),
        Lie(
            "RAPL's wrap",
            how="undone by the counter's range; a total that would make more than 100 kW was reset",
        ),
        Lie("RAPL taken for wall power", ("rapl-as-system",)),
        Lie(
            "PSU loss mixed in",
            ("power-implausible",),
            "each scope is a channel of its own, and none are added",
        ),
        Lie(
            "Simulated or estimated watts that look measured",
            how="every such figure is marked, in tables, charts, JSON and CSV",
        ),
        Lie(
            "Idle measured in another state",
            how="an idle window for each setting of each host, before it and after it",
        ),
        Lie("Idle before it settled", ("idle-not-settled", "idle-drifted")),
        Lie("One meter that feeds two hosts", ("power-implausible", "power-unexplained")),
        Lie("A power cap in force", ("power-capped",)),
        Lie("Fans that rise by themselves", ("power-unexplained",)),
        Lie("One supply of two at 0 W", ("psu-idle",)),
    ),
    "Verdict": (
        Lie("Too few runs", how="no verdict: *not enough runs*, exit code 4"),
        Lie("Many comparisons, one significant", how="p-values are Holm's over all rows of a comparison"),
        Lie(
            "A and B not interleaved",
            ("drifts-over-trials", "drifts-over-search"),
            "`compare` says that drift is in the ratio",
        ),
    ),
}
"""room → its lies"""
