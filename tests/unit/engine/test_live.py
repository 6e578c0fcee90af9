# SPDX-License-Identifier: Apache-2.0
"""The display at the foot of a terminal while a campaign runs: true, seldom drawn, and gone at the end."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from tests.report_factories import trial
from tests.screens import on_terminal, python

from linewatt.cli import live
from linewatt.cli.live import LiveProgress, Seen
from linewatt.cli.output import console
from linewatt.engine import events
from linewatt.engine.case_text import is_worth_telling
from linewatt.engine.events import Watts
from linewatt.engine.live import current_readings
from linewatt.engine.live.current_readings import is_current, watts_now
from linewatt.engine.live.feed import Feed
from linewatt.findings import kind_of
from linewatt.findings.all_kinds import catalogue
from linewatt.foreign import one_line
from linewatt.hosts.base import Line
from linewatt.hosts.clock import now_s
from linewatt.model import Case, Channel, Flag, Provenance
from linewatt.sensors.base import LineSensor, SensorConfig

CASE = Case("tcp", "h1", "h2", instances=4, network="vxlan", load_level=0.5)
STARTED = events.Started("id", "results/id", 4, 1, 90.0)
RUNS = events.TrialStarted(2, 4, CASE, 1, 10.0, 60.0)
WATTS = (Watts("h1", 228.9, "simulated", "psu-out"), Watts("h2", 157.2, "measured", "psu-out"))
DONE = trial(2, CASE, 9.1e9, 0.5)
DOUBTFUL = [code for code in catalogue() if is_worth_telling(Flag(code, "", "", ""))]
NOTES = [code for code in catalogue() if kind_of(code).rank == "note"]


def seen(*told: tuple[float, events.Event]) -> Seen:
    made = Seen()
    for at_s, event in told:
        made.take(event, at_s)
    return made


def test_it_tells_case_with_network_and_level_throughput_and_watts_now_and_time_left() -> None:
    shown = seen((0.0, STARTED), (1.0, RUNS), (3.0, events.Throughput(9.01e9, 58.0, WATTS)))
    assert shown.what() == "trial 2 of 4: tcp, h1 → h2, 4 inst., vxlan, load 50 %"
    assert shown.now(3.5) == "9.01 Gbps now at the interface, h1 229 W sim, h2 157 W"
    assert shown.progress(6.0) == "1 of 4 trials, 55 s left"
    assert shown.done(6.0) == (1 + 0.5) / 4


def test_what_is_not_known_is_not_said() -> None:
    shown = seen((0.0, events.Phase("connecting to h1, h2")))
    assert (shown.what(), shown.now(0.0), shown.progress(0.0)) == ("connecting to h1, h2", "", "")
    assert shown.done(0.0) is None
    shown = seen((0.0, STARTED), (1.0, RUNS), (2.0, events.Throughput(None, 58.0)))
    assert shown.now(2.0) == ""
    shown = seen((0.0, RUNS), (1.0, events.Throughput(None, 58.0, WATTS[:1])))
    assert shown.now(1.0) == "h1 229 W sim"
    assert shown.now(1.1 + live.NOW_S) == "", "a throughput of a while ago is not of now"
    assert shown.left_s(58.9) is not None
    assert shown.left_s(59.1) is None, "longer than was said: nobody knows how long still"
    assert shown.progress(59.1) == ""


def test_once_a_load_has_ended_nothing_is_told_of_it_as_of_now() -> None:
    told: list[tuple[float, events.Event]] = [
        (0.0, STARTED),
        (1.0, RUNS),
        (2.0, events.Throughput(9e9, 58.0, WATTS)),
    ]
    endings: list[events.Event] = [events.TrialStored(DONE, 4), events.Phase("setting mtu=9000")]
    for ending in endings:
        shown = seen(*told, (2.1, ending))
        assert shown.now(2.1) == ""
        assert "trial 1" not in shown.what()
    assert shown.what() == "setting mtu=9000"
    soak = seen((0.0, events.Soaking(388e6, 300, 900.0, 2700.0)), (0.1, events.Phase("h2: connected again")))
    assert soak.now(0.2).startswith("388 Mbps now")


def shown_watts(*watts: Watts) -> str:
    return seen((0.0, RUNS), (1.0, events.Throughput(None, 5.0, watts))).now(1.0)


def test_of_many_hosts_the_watts_are_one_sum_that_says_of_how_many() -> None:
    alike = [Watts(host, 100.0, "simulated", "psu-out") for host in ("h1", "h2", "h3")]
    assert shown_watts(*alike) == "3 hosts 300 W sim"


def test_measured_watts_are_in_no_sum_with_simulated_ones() -> None:
    assert shown_watts(*WATTS, Watts("h3", 100.0, "measured", "psu-out")) == "h1 229 W sim, 2 hosts 257 W"


def test_watts_of_several_scopes_are_in_no_sum_and_each_says_its_own() -> None:
    ac = [Watts(host, 120.0, "measured", "psu-in") for host in ("h3", "h4")]
    assert shown_watts(*WATTS[1:], *ac) == "h2 157 W PSU DC out, 2 hosts 240 W PSU AC in"
    assert shown_watts(*WATTS[:1], ac[0]) == "h1 229 W sim PSU DC out, h3 120 W PSU AC in"


def test_a_soak_tells_users_and_how_much_of_its_time_has_passed() -> None:
    shown = seen((0.0, events.Soaking(388e6, 300, 900.0, 2700.0, WATTS[:1])))
    assert shown.now(0.5) == "388 Mbps now, 300 users, h1 229 W sim"
    assert shown.done(0.0) == 0.25
    assert shown.progress(0.0) == "15 min 00 s run, 45 min 00 s left"


def test_a_campaign_that_may_end_early_has_at_most_that_time_left() -> None:
    assert seen((0.0, replace(STARTED, at_most=True))).progress(0.0).endswith("at most 1 min 30 s left")


def flagged(number: int, *codes: str) -> events.TrialStored:
    flags = tuple(Flag(code, "case", f"{code} was seen in trial {number}", "look") for code in codes)
    return events.TrialStored(replace(DONE, number=number, flags=flags), 4)


def test_the_last_three_findings_stay_each_kind_once_and_notes_are_none() -> None:
    doubtful = DOUBTFUL[:5]
    shown = seen(*((float(at), flagged(at, code)) for at, code in enumerate(doubtful)))
    assert [said.split("): ")[1].split()[0] for said in shown.findings.values()] == doubtful[-3:]
    shown.take(flagged(9, doubtful[-2]), 9.0)
    assert list(shown.findings.values())[-1].endswith("was seen in trial 9")
    assert len(shown.findings) == 3
    assert seen((0.0, flagged(1, *NOTES))).findings == {}


def test_every_line_fits_its_terminal_whatever_it_quotes_and_findings_go_on_in_further_lines() -> None:
    evil = "x\x1b[2J\n" * 40
    show = LiveProgress()
    for event in (STARTED, replace(RUNS, case=replace(CASE, network=evil)), events.Warned(evil)):
        show.seen.take(event, 0.0)
    for width in (20, 40, 80, 200):
        screen = console(width=width, force_terminal=True, color_system=None)
        with screen.capture() as captured:
            screen.print(show.frame(1.0))
        progress, case, *finding = captured.get().splitlines()
        assert max(map(len, (progress, case, *finding))) <= width
        assert case.startswith("trial 2 of 4")
        assert "".join("".join(finding).split()) == "!" + "".join(one_line(evil).split()), "nothing is cut"
        assert all(line.startswith("  ") for line in finding[1:])
        assert "\x1b" not in captured.get()


PLAY = """
import asyncio, sys
from linewatt.cli.progress import choose_progress
from tests.unit.engine.test_live import DOUBTFUL, flagged, RUNS, STARTED, WATTS
from linewatt.engine import events

async def play(show):
    show(events.Phase("connecting to h1, h2"))
    show(STARTED)
    show(RUNS)
    for at in range(int(sys.argv[1])):
        show(events.Throughput(9.01e9 + at, 58.0 - at / 10, WATTS))
        await asyncio.sleep(0.1)
    show(flagged(2, DOUBTFUL[0]))
    await asyncio.sleep(float(sys.argv[2]))
    if sys.argv[3:]:
        raise RuntimeError(sys.argv[3])
    show(events.Ended("id", "results/id", 4, 0, 0))

with choose_progress(False) as show:
    asyncio.run(play(show))
"""


def lines_below(frame: str) -> list[str]:
    """The display in a frame: what stands from its bar on."""
    rows = frame.splitlines()
    at = next((at for at, row in enumerate(rows) if row.startswith("━")), len(rows))
    return rows[at:]


def test_on_a_terminal_it_stands_below_the_lines_and_is_gone_at_the_end() -> None:
    with on_terminal(python(PLAY, "15", "1.2"), columns=80) as child:
        child.read_until("Gbps now")
        status = child.ended()
    assert status == 0
    (first, *_) = [lines_below(frame) for frame in child.frames if "Gbps now" in frame]
    assert re.fullmatch(r"[━╸╺]+ 1 of 4 trials, 5\d s left", first[0])
    assert first[1].startswith("trial 2 of 4: tcp, h1 → h2, 4 inst., vxlan, load 50 %")
    assert first[2] == "9.01 Gbps now at the interface, h1 229 W sim, h2 157 W"
    (*_, last) = [lines_below(frame) for frame in child.frames if lines_below(frame)]
    title = kind_of(DOUBTFUL[0]).title
    assert any(line.startswith(f"! {title} (trial 2, tcp, h1 → h2") for line in last)
    assert child.screen.text.splitlines()[-1].startswith("id: 4 trials done")
    assert "━" not in child.screen.text
    assert child.screen.cursor_shown
    drawn = len(re.findall("Gbps now", child.written))
    assert drawn <= 8, "15 readings in 1.5 s are drawn once a second, and below each line that is printed"


@pytest.mark.parametrize("how", ["error", "ctrl-c"])
def test_an_error_or_ctrl_c_leaves_the_terminal_clean(how: str) -> None:
    with on_terminal(
        python(PLAY, "15", "30" if how == "ctrl-c" else "0", *(["gone"] * (how == "error")))
    ) as child:
        child.read_until("Gbps now")
        if how == "ctrl-c":
            child.process.send_signal(signal.SIGINT)
        assert child.ended() != 0
    assert child.screen.cursor_shown
    assert "━" not in child.screen.text
    assert ("RuntimeError: gone" if how == "error" else "KeyboardInterrupt") in child.screen.text


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(term: str) -> None:
    with on_terminal(python(PLAY, "3", "0"), env={"TERM": term}) as child:
        assert child.ended() == 0
    assert "\x1b" not in child.written
    assert "id: 4 trials done" in child.written


async def _played(show: LiveProgress, seconds: int) -> None:
    """A load of a while, told each second, whose seconds take no time."""
    loop = asyncio.get_running_loop()
    for at in range(seconds):
        show(events.Throughput(9e9 + at, 600.0 - at, WATTS))
        assert show._timer is not None
        show._timer.cancel()
        show._draw()
        await asyncio.sleep(0)
    assert loop.time() > 0


def test_drawing_costs_the_controller_next_to_nothing_and_imports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = (tmp_path / "screen").open("w")
    terminal = console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(live, "console", lambda **_: terminal)
    with screen, LiveProgress() as show:
        for event in (STARTED, RUNS, flagged(1, *DOUBTFUL[:4])):
            show.seen.take(event, 0.0)
        show(events.Throughput(None, 600.0))
        before, began_s = set(sys.modules), time.process_time()
        asyncio.run(_played(show, 200))
        used_s = time.process_time() - began_s
    assert set(sys.modules) <= before
    assert (tmp_path / "screen").read_text().count("Gbps now") >= 200
    assert used_s / 200 < 0.01, "of a second"


class Meter(LineSensor):
    """Lines of ``channel=value``."""

    name: ClassVar[str] = "meter"
    Config: ClassVar[type[SensorConfig]] = SensorConfig
    CHANNELS: ClassVar = {
        "psu": ("W", "psu-out:PSU1", "simulated"),
        "total": ("J", "system", "measured"),
        "model": ("W", "psu-out", "estimate"),
    }

    def command(self, cfg: SensorConfig, host: object) -> list[str]:
        return []

    def parse(self, record: str) -> dict[str, float | None]:
        pairs = (word.split("=") for word in record.split())
        return {name: None if value == "none" else float(value) for name, value in pairs}

    def reasons(self, record: str) -> dict[str, str]:
        return {}

    def channel(self, name: str) -> Channel:
        unit, scope, provenance = self.CHANNELS[name]
        sure: Provenance = provenance  # type: ignore[assignment]
        return Channel(name, unit, "gauge", scope=scope, provenance=sure)


def fed(*records: str, age_s: float = 0.0) -> Feed:
    """A meter that told these, a second each, the last of them ``age_s`` ago."""
    feed = Feed("h2", Meter(), SensorConfig())
    for at, record in enumerate(records):
        feed.take(Line(now_s() - age_s - (len(records) - 1 - at), record))
    return feed


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (["psu=200", "psu=157"], (157.0, "simulated")),
        (["psu=200", "psu=none"], None),
        (["psu=0"], None),
        (["total=100", "total=300", "total=490", "total=700"], (200.0, "measured")),
        (["total=100", "total=300", "total=490"], None),
        (["total=100", "total=100", "total=490", "total=700"], None),
        (["total=500", "total=700", "total=90", "total=290"], None),
        (["total=1", "total=9e8", "total=18e8", "total=27e8"], None),
        (["psu=157 model=300"], (157.0, "simulated")),
        (["model=300"], (300.0, "estimate")),
        ([], None),
    ],
)
def test_watts_now_are_the_newest_reading_or_nothing(
    records: Sequence[str], told: tuple[float, str] | None
) -> None:
    found = watts_now([fed(*records)])
    assert [one.provenance for one in found] == ([told[1]] if told else [])
    assert [one.power_w for one in found] == pytest.approx([told[0]] if told else [], rel=0.01)


def test_a_reading_that_is_old_or_of_a_meter_that_failed_is_not_of_now() -> None:
    assert is_current(fed("psu=157"))
    assert not is_current(fed("psu=157", age_s=current_readings.FRESH_S + 1))
    assert watts_now([fed("psu=157", age_s=current_readings.FRESH_S + 1)]) == ()
    failed = fed("psu=157")
    failed.failure = "ended with status 1"
    assert watts_now([failed]) == ()
    assert not is_current(fed())
