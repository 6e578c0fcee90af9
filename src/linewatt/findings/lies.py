# SPDX-License-Identifier: Apache-2.0
"""Lies: errors of measurement that make a wrong figure look right, and what catches each of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lie:
    """``codes``: the findings that report it; ``how``: what else prevents it."""

    lie: str
    codes: tuple[str, ...] = ()
    how: str = ""


LIES: dict[str, tuple[Lie, ...]] = {
    "Loads": (
        Lie(
            "The sender's rate reported as goodput",
            ("receiver-not-known",),
            how="throughput is what the receiver counted; the sent rate has its own column",
        ),
        Lie("UDP loss hidden", ("udp-loss",)),
        Lie("All streams of a process on one CPU", ("streams-share-cpu", "load-threads-differ")),
        Lie("The client is the bottleneck", ("test-bed-is-the-limit", "client-saturated")),
        Lie("Some users are refused, so the others are faster", ("many-transfers-failed",)),
        Lie("Two instances on one core", ("instances-share-cpu", "app-irq-share-cpu")),
        Lie(
            "GSO or GRO differs between A and B",
            how="beside each verdict, `compare` lists the facts of the hosts that differ",
        ),
        Lie("TSO, GSO or GRO at one end only", ("offloads-differ",)),
        Lie(
            "A file server that delivers incomplete files",
            ("many-transfers-failed", "transfers-failed"),
            "each get is compared with the size from the job or server, else with the first get of the file",
        ),
        Lie("The requested rate was exceeded", ("rate-exceeded",)),
        Lie("The requested rate was not reached", ("rate-not-reached", "arrivals-not-served")),
        Lie("More than the line can carry", ("above-line-rate",)),
        Lie("Loss on a TCP path", ("tcp-retransmits",)),
        Lie("A receiver that counts more than arrived", ("goodput-above-interface",)),
        Lie(
            "Versions of the load differ between ends, or between A and B",
            ("load-versions-differ",),
            "`compare` reports it for A and B",
        ),
        Lie("A load that busy-waits", ("load-spins",)),
    ),
    "Window": (
        Lie("Warm-up inside the window", ("warm-up-in-window",)),
        Lie("CPU and load windows not aligned", ("start-uncertain", "load-start-unknown", "sensor-late")),
        Lie("A host that stalls for a part of the window", ("host-stood-still",)),
        Lie(
            "Clocks of two hosts differ",
            ("clock-uncertain",),
            "all timestamps are converted to the controller's clock",
        ),
        Lie(
            "A clock that was set during a trial",
            how="heartbeats around the trial, or timestamps of its readings, show the step; the trial fails",
        ),
        Lie("A sensor slower than omit or tail", ("window-edges-contaminated",)),
        Lie(
            "Imported readings matched to the wrong time",
            ("stamps-too-coarse", "clock-assumed", "zone-assumed", "readings-named-otherwise"),
            "readings are placed by the load's timestamp on their host, and refused if they cover no load",
        ),
        Lie(
            "linewatt's own work inside the window",
            how="hosts are read before the window and after its last readings; "
            "no module is imported while a load runs",
        ),
        Lie("The first trial differs from the rest", ("first-trial-differs",)),
        Lie(
            "Carry-over from the previous trial",
            ("two-modes", "drifts-over-trials"),
            "`order: random` changes the previous case; in an interleaved order "
            "it is always the same, so its effect cannot be seen",
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
            "checked per role, so that receive work on one CPU cannot mask it on another",
        ),
        Lie(
            "A rate-limited load in step with the tick",
            ("tick-accounting", "cpu-accounting-disagrees"),
            "where possible, the load's timer has a period that does not divide the tick (loads.md)",
        ),
        Lie("A frequency or thermal drop", ("frequency-dropped", "cpu-throttled")),
        Lie(
            "One full CPU hidden in a mean",
            how="limits are judged by the busiest CPU of each role, which is stored beside the mean",
        ),
        Lie("Other processes in the window", ("foreign-load", "host-not-idle")),
        Lie(
            "Throughput trusted although others use the limiting CPU",
            ("limiting-cpu-shared", "limiting-cpu-not-tested"),
        ),
        Lie("Steal by a hypervisor", ("cpu-stolen",)),
        Lie("A CPU quota of a container or service throttles the load", ("cpu-quota-throttled",)),
        Lie("A cpuset or an inherited affinity leaves the load fewer CPUs than planned", ("cpus-withheld",)),
        Lie("The load is niced, and mpstat shows its time as low-priority work", ("load-priority",)),
        Lie(
            "Niced work of another session competes as if it were not niced",
            ("limiting-cpu-shared",),
            "it counts as CPU use if the load had to wait for that CPU",
        ),
        Lie("A CPU frequency that dipped and recovered", ("frequency-dropped",)),
        Lie("A real-time process preempts the load", ("load-outranked",)),
        Lie("Reclaim and swap slow the load while no CPU is full", ("memory-pressure",)),
        Lie(
            "A mean over CPUs of which some are offline",
            ("cpus-assumed",),
            "linewatt reads each CPU separately",
        ),
        Lie("A busy SMT sibling", ("smt-sibling-busy",)),
        Lie("Timers and updates that run in the window", ("foreign-load", "cpu-unsteady")),
    ),
    "Placement": (
        Lie("Interrupts not where they were pinned", ("interrupts-elsewhere",)),
        Lie("irqbalance undid the pinning", ("setting-changed",)),
        Lie("RSS collisions: two modes averaged", ("two-modes", "modes-unresolved")),
        Lie("Automatic NUMA balancing moved a process", ("process-moved", "process-migrated")),
        Lie(
            "A process or a setting changed and restored inside the window",
            ("process-migrated", "placement-not-verified", "setting-changed"),
        ),
    ),
    "Network": (
        Lie("A neighbour's flow on the same interface", ("neighbour-traffic",)),
        Lie(
            "Link or shaper changed in the window",
            ("interface-changed", "configuration-changed", "throughput-dips"),
            "a trial fails if its link lost its carrier, or if TCP got nothing through for a while",
        ),
        Lie(
            "Traffic on another interface than linewatt reads",
            ("load-not-on-interface", "path-not-proven"),
        ),
        Lie("A path that carries far more in one direction", ("directions-differ",)),
        Lie("Pause frames throttle the sender", ("pause-frames",)),
        Lie(
            "Path MTU below the interface's MTU",
            ("segments-small",),
            how="full packets test each path before its first trial; a trial in which nothing arrived fails",
        ),
        Lie(
            "Congestion control or socket limits differ, or change during the campaign",
            ("congestion-differs", "socket-settings-differ", "configuration-changed"),
            "`compare` reports it for A and B",
        ),
        Lie("Firewall or conntrack rules differ", how="`compare` reports it for A and B"),
    ),
    "Power": (
        Lie("A frozen sensor", ("power-frozen", "meter-hangs")),
        Lie("A meter that reports that it is not measuring", ("power-not-activated",)),
        Lie(
            "A stale sensor that refreshes more slowly than it is read",
            ("meter-refreshes-slowly", "power-few-updates"),
            "linewatt learns its refresh time from distinct values, and computes the ± from it",
        ),
        Lie(
            "An averaging sensor",
            ("meter-averages", "meter-late", "meter-shows-peaks", "power-window-too-short"),
            "linewatt learns averaging time and delay from the edges of loads; "
            "too short windows have no figure, and the reason names the sensor",
        ),
        Lie("A saturated sensor", ("power-saturated",)),
        Lie(
            "RAPL counter wrap",
            how="undone by the counter's range; a total that would mean more than 100 kW counts as a reset",
        ),
        Lie("RAPL taken for wall power", ("rapl-as-system",)),
        Lie(
            "PSU loss mixed in",
            ("power-implausible",),
            "each scope is a separate channel, and scopes are never added",
        ),
        Lie(
            "Simulated or estimated watts that look measured",
            how="all such figures are marked in tables, charts, JSON and CSV",
        ),
        Lie(
            "Idle measured in another state",
            how="each setting of each host has an idle window before and after its trials",
        ),
        Lie("Idle measured before it settled", ("idle-not-settled", "idle-drifted")),
        Lie("One meter that measures two hosts", ("power-implausible", "power-unexplained")),
        Lie("A power cap in force", ("power-capped",)),
        Lie("Fans that speed up by themselves", ("power-unexplained",)),
        Lie("One of two supplies at 0 W", ("psu-idle",)),
    ),
    "Verdict": (
        Lie("Too few trials", how="no verdict: *not enough trials*, exit code 4"),
        Lie(
            "One significant result among many comparisons",
            how="p-values are corrected over all rows of a comparison (Holm)",
        ),
        Lie(
            "A and B not interleaved",
            ("drifts-over-trials", "drifts-over-search"),
            "`compare` says that the ratio includes drift",
        ),
    ),
}
"""topic → its lies"""
