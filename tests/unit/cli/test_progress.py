# SPDX-License-Identifier: Apache-2.0
"""What a running campaign shows: plain lines, one live line, or NDJSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from linewatt.cli import progress
from linewatt.cli.live import LiveProgress
from linewatt.engine import events
from linewatt.engine.case_text import outcome_of_trial
from linewatt.findings.all_kinds import kind_of
from linewatt.model import Case, EndResult, Flag, Trial

CASE = Case("udp-60", "h1", "h2", instances=2, streams=4, rate_bps=2e6, family="ipv6")
END = EndResult("h2", "receiver", 0.5, None, None, None, None)
DONE = Trial(
    2, 1, CASE, CASE.key, "done", 0.0, throughput_bps=1.5e6, lost_ratio=0.25, sender=END, receiver=END
)
FAILED = Trial(3, 1, CASE, CASE.key, "failed", 0.0, reason="h2: lost")
EVENTS: list[events.Event] = [
    events.Phase("connecting to h1, h2"),
    events.Started("id", "results/id", 3, 1, 90.0),
    events.TrialStarted(2, 3, CASE, 1, 5.0, 10.0),
    events.Throughput(None, 9.0),
    events.Throughput(1.6e6, 8.0),
    events.TrialStored(DONE, 3),
    events.TrialStored(FAILED, 3),
    events.Warned("h2: lost; connecting again"),
    events.Ended("id", "results/id", 1, 1, 1),
    events.LeftChanged(("h1: cannot put back mtu eth0: no",)),
]


def test_plain_lines_tell_every_trial_and_the_way_on(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.PlainProgress() as show:
        for event in EVENTS:
            show(event)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert "2 of 3 trials to run" in lines[1]
    assert lines[2].startswith("trial 2 of 3: udp-60, h1 → h2, 2 inst., 4 streams, ipv6")
    assert "25.00 % lost" in lines[2]
    assert "CPU 50 %" in lines[2]
    assert lines[3].endswith("FAILED: h2: lost")
    assert "linewatt resume id" in lines[-3]
    assert lines[-2:] == [
        "warning: h1: cannot put back mtu eth0: no",
        "warning: not everything could be put back; run `linewatt restore`",
    ]


def test_trials_that_fail_for_one_reason_say_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = ["h2: lost", "h2: lost", "h1: lost", "h2: lost"]
    with progress.PlainProgress() as show:
        for number, reason in enumerate(reasons, 1):
            trial = Trial(number, number, CASE, CASE.key, "failed", 0.0, reason=reason)
            show(events.TrialStored(trial, len(reasons)))
    lines = [line.partition("FAILED")[2] for line in capsys.readouterr().err.splitlines()]
    again = " for the same reason as trial 1"
    assert lines == [": h2: lost", again, ": h1: lost", again]


FLAGS = tuple(Flag(code, "h2", "evidence", "advice") for code in ("throughput-drifts", "foreign-load"))


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ("200", "9.15 Gbps, sender CPU 98 %, receiver CPU 45 %; doubtful: {0}, {1}"),
        ("133", "9.15 Gbps, sender CPU 98 %, receiver CPU 45 %; doubtful: {0} and 1 more"),
        ("120", "9.15 Gbps, sender CPU 98 %, receiver CPU 45 %; doubtful"),
        ("100", "9.15 Gbps; doubtful: {0}, {1}"),
        ("80", "9.15 Gbps; doubtful"),
    ],
)
def test_the_line_of_a_trial_fits_the_columns_and_names_findings_by_their_titles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str, outcome: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    case = Case("tcp", "h1", "h2", factors=(("mtu", "9000"),))
    ends = (replace(END, host="h1", role="sender", cpu_cores=0.98), replace(END, cpu_cores=0.45))
    trial = replace(DONE, case=case, throughput_bps=9.15e9, lost_ratio=None, flags=FLAGS)
    event = events.TrialStored(replace(trial, sender=ends[0], receiver=ends[1]), 6)
    with progress.PlainProgress() as show:
        show(event)
    titles = [kind_of(flag.code).title for flag in FLAGS]
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"trial 2 of 6: tcp, h1 → h2, 1 inst., mtu=9000: {outcome.format(*titles)}"
    assert len(line) <= int(columns)


def test_the_outcome_of_a_case_with_many_words_is_whole_on_the_next_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    case = Case("tcp", "h1", "h2", rate_bps=3e8, factors=(("sysctl.net.ipv4.tcp_ecn", "0"),))
    with progress.PlainProgress() as show:
        show(events.TrialStored(replace(DONE, case=case, lost_ratio=None, flags=FLAGS[:1]), 6))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "trial 2 of 6: tcp, h1 → h2, 1 inst., 300 Mbps each, sysctl.net.ipv4.tcp_ecn=0:"
    assert second == "    1.50 Mbps, receiver CPU 50 %, receiver CPU 50 %; doubtful: Throughput drifts"


def test_a_long_warning_goes_on_below_itself_within_the_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with progress.PlainProgress() as show:
        show(events.Warned("h2: " + "lost " * 30))
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("warning: h2: lost")
    assert all(line.startswith("    lost") for line in others)
    assert all(len(line) <= 80 for line in (first, *others))


def test_a_cpu_that_was_not_measured_is_not_shown_as_zero() -> None:
    silent = Trial(
        2,
        1,
        CASE,
        CASE.key,
        "done",
        0.0,
        throughput_bps=1e6,
        sender=EndResult("h1", "sender", None, None, None, None, None),
        receiver=END,
    )
    assert "sender CPU not measured" in outcome_of_trial(silent)


def test_json_is_one_event_a_line_with_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.JsonProgress() as show:
        for event in EVENTS:
            show(event)
    out, err = capsys.readouterr()
    assert err == ""
    documents = [json.loads(line) for line in out.splitlines()]
    assert [one["event"] for one in documents] == [
        "phase",
        "started",
        "trial_started",
        "throughput",
        "throughput",
        "trial_stored",
        "trial_stored",
        "warned",
        "ended",
        "left_changed",
    ]
    assert {one["schema_version"] for one in documents} == {1}
    assert documents[3]["throughput_bps"] is None
    assert documents[6]["trial"]["throughput_bps"] is None


def test_the_live_display_ends_with_every_line_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress() as show:
        for event in EVENTS:
            show(event)
    assert "FAILED: h2: lost" in capsys.readouterr().err
