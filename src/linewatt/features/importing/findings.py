# SPDX-License-Identifier: Apache-2.0
"""Findings on facts that imported files do not contain."""

from __future__ import annotations

from linewatt.findings import EDGE_ERROR_RATIO, Kind, percent

KINDS = (
    Kind(
        "settings-unknown",
        "note",
        "campaign",
        (),
        "Imported files say little about hosts: MTU, offloads, governor, CPUs of processes and interrupts, "
        "line rate and anything between the hosts are unknown. Checks that need them were skipped.",
        "The result was imported from files that people measured by hand.",
        "Compare with care. A campaign reads these facts and compares them.",
    ),
    Kind(
        "told-by-the-other-end",
        "note",
        "case",
        (),
        "The count of one end is what it reported to the other end after the test. It is one number for the "
        "whole test, so the steadiness and the load's version at that end are unknown.",
        "There is no file from that end; the evidence names the count.",
        "Keep the output of both ends.",
    ),
    Kind(
        "receiver-not-known",
        "withheld",
        "case",
        ("throughput",),
        "Only the sent amount is known. Less may have arrived, so there is no throughput.",
        "There is no file from the receiver, and the sender's file does not contain the receiver's count.",
        "Keep the receiver's output, too; the finding says how.",
    ),
    Kind(
        "rounded-figures",
        "note",
        "case",
        (),
        "The load's human-readable text has only rounded rates, usually to three digits.",
        "The file is text; the evidence says how far figures are rounded, and what was inferred from them.",
        "Keep the load's JSON, which has exact bytes.",
    ),
    Kind(
        "time-not-known",
        "note",
        "case",
        (),
        "The files do not say when the load ran. linewatt dates the trial by its file's modification time, "
        "assumes that tests ran one after the other, and cannot match CPU and power readings to the load.",
        "The load's text has no date, and no file from its other end has one.",
        "Keep the load's JSON, or print Unix seconds (date +%s.%N) on the line before the test.",
    ),
    Kind(
        "mean-of-iterations",
        "note",
        "case",
        (),
        "The load ran its test several times and printed the mean. The spread between the runs is unknown, "
        "so a confidence interval over such trials is narrower than over single runs.",
        "The title of a netperf test has a confidence level (-i, -I), or CONFIDENCE_ITERATION is above 1.",
        "Run it several times without -i: each run is a trial.",
    ),
    Kind(
        "confidence-not-reached",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The load warns that it did not reach the requested confidence within its number of runs.",
        "A !!! WARNING of netperf, or a confidence interval above its target; the evidence has the widths.",
        "Find what varies between runs, or let netperf do more runs (-i).",
    ),
    Kind(
        "other-way-at-once",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "The load sent in both directions at once. Each direction is a trial with its own throughput, but "
        "CPU and watts of each trial include both directions.",
        "The load ran with --bidir, or tests in opposite directions between two hosts overlapped for at "
        "least 80 % of the longer one.",
        "Measure each direction alone, or use a pair with <-> in a campaign.",
    ),
    Kind(
        "readings-named-otherwise",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "Readings and the load's file in the same folder have different host names. The readings may be from "
        "another machine.",
        "The host name from mpstat or sar differs from the one in the load's JSON, but both are taken as "
        "the folder's host.",
        "Check whether both names are of one machine. If not, move the readings to a separate folder.",
    ),
    Kind(
        "stamps-too-coarse",
        "doubtful",
        "trial",
        ("cpu", "power", "above_idle"),
        "Timestamps have whole seconds only, and clocks were not compared. CPU and power readings in the "
        "window may include time without load.",
        f"In the worst case that the timestamps allow, more than {percent(EDGE_ERROR_RATIO)} of the window "
        "would be time without load.",
        "Import again with the --omit and --tail that the finding states, or measure for longer.",
    ),
    Kind(
        "clock-assumed",
        "doubtful",
        "trial",
        ("cpu", "power", "above_idle"),
        "A host's clock is assumed to equal the client's, without evidence. Its CPU use or watts may be from "
        "another time.",
        "There is no file of the load from that host with a timestamp.",
        "Keep the load's output at both ends.",
    ),
    Kind(
        "cpus-assumed",
        "doubtful",
        "host",
        ("cpu",),
        "Cores are the used share of all CPUs times the number of CPUs in the file. sysstat also counts "
        "offline CPUs: if second threads are offline (nosmt), the figure is twice the cores used.",
        "mpstat or sar ran without -P ALL, so CPUs may have been offline.",
        "Run mpstat -P ALL, or sar -u ALL -P ALL, which have a line for each online CPU.",
    ),
    Kind(
        "power-not-activated",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "The BMC reports that its power reading is not activated, so watts may be old or made up. Some "
        "firmware reports this but still measures.",
        "The output of ipmitool dcmi power reading has watts, but a state other than activated.",
        "Activate it (ipmitool dcmi power activate), or compare the watts with another meter.",
    ),
    Kind(
        "zone-assumed",
        "note",
        "campaign",
        (),
        "Readings have no time zone. UTC is assumed, because their times then match the load.",
        "mpstat, sar and date(1) write local time; --timezone was not given.",
        "Give --timezone if the host's clock had another zone.",
    ),
)
