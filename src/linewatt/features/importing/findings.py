# SPDX-License-Identifier: Apache-2.0
"""Findings on what files of others, which were imported, do not say of themselves."""

from __future__ import annotations

from linewatt.findings import EDGE_ERROR_RATIO, Kind, percent

KINDS = (
    Kind(
        "settings-unknown",
        "note",
        "campaign",
        (),
        "What a load and a CPU tool wrote says little of hosts: MTU, offloads, governor, where processes and interrupts ran, "
        "the line's rate and whether anything lay between the hosts are not known. No check that needs them was made.",
        "The result was imported from files that people measured by hand.",
        "Compare with care; a campaign reads these facts and compares them.",
    ),
    Kind(
        "told-by-the-other-end",
        "note",
        "case",
        (),
        "What an end of the load counted is taken from what it told the other end when the test was over: one number for the "
        "whole test, so that nothing is said of how steady it was there, nor of the end's version.",
        "There is no file of that end; the evidence says which figure it is.",
        "Keep what both ends of the load write.",
    ),
    Kind(
        "receiver-not-known",
        "withheld",
        "case",
        ("throughput",),
        "Only what was sent is on record. What arrived may be less, so there is no throughput.",
        "No file of the receiver, and its count is not in that of the sender; the evidence says what is missing.",
        "Keep what the receiver writes, too; the evidence says how.",
    ),
    Kind(
        "rounded-figures",
        "note",
        "case",
        (),
        "The load's text for people has no bytes: its rates are rounded, most often to three digits.",
        "The file is text of the load; the evidence says how far its figures are rounded, and what was inferred from them.",
        "Keep the JSON of the load, which has every byte.",
    ),
    Kind(
        "time-not-known",
        "note",
        "case",
        (),
        "The files do not say when the load ran. The trial is dated by the time at which its file was last changed, tests are taken to "
        "have run one after the other, and readings of CPUs and watts cannot be placed beside the load.",
        "The load's text has no date, and its other end has no file that says when.",
        "Keep the JSON of the load, or print Unix seconds (date +%s.%N) on the line before the test.",
    ),
    Kind(
        "mean-of-iterations",
        "note",
        "case",
        (),
        "The load ran its test several times and printed the mean. How much the runs differ from one another is not in the file, so an "
        "interval over such trials is narrower than one over single runs.",
        "The title of a netperf test has a confidence level (-i, -I), or CONFIDENCE_ITERATION is more than 1.",
        "Run it without -i, several times: each run is a trial.",
    ),
    Kind(
        "confidence-not-reached",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The load warns that its runs differed by more than it was asked to accept, however often it ran them.",
        "A !!! WARNING of netperf, or a confidence interval that is wider than its target; the evidence has the widths.",
        "Find what varies between runs, or let netperf run more of them (-i).",
    ),
    Kind(
        "other-way-at-once",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "The load worked both ways at the same time, by one process or by two. Each way is a trial with its own throughput; CPU and "
        "watts of both trials are of both ways together.",
        "The load was asked to work both ways at once (--bidir), or tests of opposite ways between two hosts overlapped for at least "
        "80 % of the longer one.",
        "Measure each way alone, or name a pair both ways (<->) in a campaign.",
    ),
    Kind(
        "readings-named-otherwise",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "Readings call their host by another name than the load's file that lies in the same folder: they may be of another "
        "machine.",
        "The name of the host in what mpstat or sar wrote, and in the load's JSON; both were taken for that of the folder.",
        "See whether both names are of one machine; if not, put the readings into a folder of their own.",
    ),
    Kind(
        "stamps-too-coarse",
        "doubtful",
        "trial",
        ("cpu", "power", "above_idle"),
        "Stamps of the load and of readings are cut to whole seconds, and clocks are not read: readings of CPU or watts may lie "
        "so far beside the load that a part of the window has none of it.",
        f"Placed as badly as the stamps allow, more than {percent(EDGE_ERROR_RATIO)} of what is in the window would be of a time "
        "without load.",
        "Leave out as much of the test as the evidence says (--omit, --tail), or measure for longer.",
    ),
    Kind(
        "clock-assumed",
        "doubtful",
        "trial",
        ("cpu", "power", "above_idle"),
        "A host's clock is taken to be that of the load's client, and nothing shows that it is: its CPU use or watts may be of "
        "another time.",
        "There is no file of the load of that host, whose stamp would tell.",
        "Keep what the load writes at both ends.",
    ),
    Kind(
        "cpus-assumed",
        "doubtful",
        "host",
        ("cpu",),
        "Cores are what all CPUs of a host used together, times the number of CPUs that its file says. sysstat counts those "
        "that are offline, too: where second threads are (nosmt), twice as many cores are told as were used.",
        "mpstat or sar ran without -P ALL: nothing shows that all CPUs were online.",
        "Run mpstat -P ALL, or sar -u ALL -P ALL, which have a line for each CPU that is online.",
    ),
    Kind(
        "power-not-activated",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "Watts are of a BMC that says that its power reading is not activated: they may be old, or made up. Some firmware says so and "
        "measures nevertheless.",
        "What ipmitool dcmi power reading wrote has a state other than activated beside the watts.",
        "Activate it (ipmitool dcmi power activate), or hold the watts against another meter.",
    ),
    Kind(
        "zone-assumed",
        "note",
        "campaign",
        (),
        "Times of readings stand in no time zone; they are taken for UTC, in which they lie beside the load.",
        "mpstat, sar and date(1) write the clock on the wall; --timezone was not given.",
        "Give --timezone if the host's clock was in another one.",
    ),
)
