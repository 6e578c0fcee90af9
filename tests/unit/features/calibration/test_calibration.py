# SPDX-License-Identifier: Apache-2.0
"""Two meters of one host over a staircase of load: what is planted is found, or it is said why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.documents import valid
from tests.staircase import Meter, Staircase, compared, stored
from tests.unit.conftest import Run

from linewatt.features.calibration.delay import Delay
from linewatt.features.calibration.line import Line
from linewatt.features.calibration.stored import calibrations
from linewatt.missing import Missing
from linewatt.store.verify import verify_result

PLANTED = Meter(gain=0.04, offset_w=6.0, delay_s=3.0, step_w=1.0)
GAIN, OFFSET_W, DELAY_S = 0.005, 1.0, 0.3
"""how far what is found may be off"""


def told(seed: int, meter: Meter, *others: object) -> tuple[Line, Delay]:
    found = compared(seed, meter, *others)  # type: ignore[arg-type]
    assert isinstance(found.line, Line), found.line
    assert found.delay is not None
    return found.line, found.delay


@pytest.mark.parametrize(
    ("meter", "reference"),
    [
        (PLANTED, Meter()),
        (Meter(0.04, 6.0, 0.0, averaging_s=10.0, step_w=1.0), Meter()),
        (PLANTED, Meter(averaging_s=10.0)),
    ],
    ids=["quick", "averages 10 s", "reference averages 10 s"],
)
def test_gain_offset_and_delay_that_are_planted_are_found(meter: Meter, reference: Meter) -> None:
    line, delay = told(1, meter, reference)
    assert line.gain is not None
    assert line.offset_w is not None
    assert line.gain.value == pytest.approx(meter.gain, abs=GAIN)
    assert line.offset_w.value == pytest.approx(meter.offset_w, abs=OFFSET_W)
    late_s = meter.delay_s + meter.averaging_s / 2 - reference.averaging_s / 2
    assert delay.value_s == pytest.approx(late_s, abs=max(DELAY_S, 0.1 * abs(late_s)))
    slower_s = meter.averaging_s - reference.averaging_s
    assert delay.averaging_s == pytest.approx(slower_s, abs=3.0)


@pytest.mark.parametrize(
    "slow",
    [Meter(0.04, 6.0, 3.0, refresh_s=5.0, step_w=1.0), Meter(-0.04, -6.0, 3.0, step_w=4.0)],
    ids=["refresh 5 s", "steps of 4 W"],
)
def test_of_a_meter_that_shows_little_the_intervals_say_how_little_is_known(slow: Meter) -> None:
    for seed in (1, 2, 3):
        line, delay = told(seed, slow)
        assert line.gain is not None
        assert line.gain.low < slow.gain < line.gain.high
        assert delay.low_s < slow.delay_s < delay.high_s


def test_intervals_hold_what_is_planted() -> None:
    held = {"gain": 0, "offset": 0, "delay": 0}
    runs = 10
    for seed in range(runs):
        line, delay = told(seed, PLANTED, None, Staircase(noise_w=4.0))
        assert line.gain is not None
        assert line.offset_w is not None
        held["gain"] += line.gain.low <= PLANTED.gain <= line.gain.high
        held["offset"] += line.offset_w.low <= PLANTED.offset_w <= line.offset_w.high
        held["delay"] += delay.low_s <= PLANTED.delay_s <= delay.high_s
    assert min(held.values()) >= runs - 1, held


def test_a_span_that_is_too_small_tells_no_gain_from_an_offset() -> None:
    line, _ = told(1, Meter(0.04, 6.0, step_w=4.0), Meter(step_w=4.0), Staircase(most_w=100.0))
    assert (line.gain, line.offset_w) == (None, None)
    assert "tell no gain from an offset" in (line.withheld or "")
    assert line.difference_w.low < 0.04 * 95 + 6 < line.difference_w.high


@pytest.mark.parametrize(
    ("meter", "reference", "stairs", "why"),
    [
        (
            Meter(step_w=1000.0, offset_w=1000.0),
            Meter(),
            Staircase(),
            "bmc stood still at 1000.0 W in all windows",
        ),
        (Meter(gain=-0.96, offset_w=150.0), Meter(), Staircase(), "bmc stood still: pdu went from 7"),
        (Meter(), Meter(gain=-0.98, offset_w=150.0), Staircase(), "pdu stood still: pdu went from 15"),
        (Meter(), Meter(), Staircase(most_w=74.0), "the power hardly moved: pdu went from 7"),
        (Meter(averaging_s=45.0), Meter(), Staircase(window_s=8.0), "windows are long enough: one meter"),
    ],
    ids=["all one value", "meter", "reference", "load", "short windows"],
)
def test_what_cannot_be_compared_is_said_in_words(
    meter: Meter, reference: Meter, stairs: Staircase, why: str
) -> None:
    found = compared(1, meter, reference, stairs)
    assert isinstance(found.line, Missing)
    assert why in found.line.reason
    assert found.delay is None


def test_a_meter_that_bends_is_told_from_one_that_does_not() -> None:
    bent, _ = told(1, Meter(bulge_w=4.0))
    straight, _ = told(1, Meter())
    assert bent.bulge_w == pytest.approx(4.0, abs=1.0)
    assert straight.bulge_w is None


def test_a_meter_that_reads_more_on_the_way_down_is_named() -> None:
    drifting, _ = told(1, Meter(drift_w=8.0))
    assert drifting.legs_w is not None
    assert drifting.legs_w.value == pytest.approx(4.0, abs=1.5)
    steady, _ = told(1, PLANTED)
    assert steady.legs_w is None


def test_a_meter_is_within_the_tolerance_where_gain_and_offset_make_it_so() -> None:
    """6 W are 5 % of 120 W, and 1 % more of what is read leaves 4 %: 150 W."""
    line, _ = told(1, Meter(gain=0.01, offset_w=6.0))
    ((first_w, last_w),) = line.within
    assert first_w == pytest.approx(153, abs=8)
    assert last_w == line.high_w
    assert told(1, Meter(offset_w=30.0))[0].within == ()


def test_windows_that_are_too_short_for_the_meters_are_counted(tmp_path: Path, run: Run) -> None:
    path = stored(tmp_path / "results", 1, Meter(averaging_s=30.0))
    status, out, err = run("calibrate", str(path), "--reference", "pdu")
    assert status in (0, 4), err
    assert "of 14 windows" in out


def words(run: Run, path: Path, *more: str, code: int = 0) -> str:
    status, out, err = run("calibrate", str(path), "--reference", "pdu", *more)
    assert status == code, err
    return out


def test_the_command_says_it_of_a_stored_result_and_keeps_it(tmp_path: Path, run: Run) -> None:
    path = stored(tmp_path / "results", 1, PLANTED)
    out = words(run, path)
    head = out.splitlines()[1]
    assert head.startswith("bmc reads 4.")
    assert " W (" in head
    assert "above pdu, 3." in head
    assert "s (" in head
    assert "later; nowhere surely within 5 % of pdu (" in head
    assert " W at most over 13 of 14 windows; the others are too short, or not read" in out, (
        "the last is late"
    )
    assert "how true pdu itself is is not known" in out
    kept = json.loads((path / "calibration.json").read_text())
    valid("calibration", kept)
    assert kept["gain"]["value"] == pytest.approx(0.04, abs=GAIN)
    assert verify_result(path).problems == ()
    words(run, path)
    assert not (path / "calibration-2.json").exists(), "the same is not stored again"
    words(run, path, "--tolerance", "20%")
    (calibration,) = calibrations(path)
    assert calibration.tolerance_ratio == 0.2


def test_a_calibration_is_part_of_whatever_shows_the_result(tmp_path: Path, run: Run) -> None:
    path = stored(tmp_path / "results", 1, PLANTED)
    head = words(run, path).splitlines()[1][:30]
    for options in ((), ("--full",), ("--md", "--full")):
        _, out, _ = run("show", str(path), *options)
        assert head in out.replace("\n", " ")
    _, out, _ = run("show", str(path), "--json")
    assert json.loads(out)["calibrations"][0]["meter"]["source"] == "bmc"
    run("report", str(path), "-o", str(tmp_path / "report.html"))
    assert head in (tmp_path / "report.html").read_text()


def test_json_has_units_in_its_keys(tmp_path: Path, run: Run) -> None:
    path = stored(tmp_path / "results", 1, PLANTED)
    document = json.loads(words(run, path, "--json"))
    assert document["id"] == path.name
    assert document["delay_s"]["value"] == pytest.approx(3.0, abs=DELAY_S)
    assert document["offset_w"]["value"] == pytest.approx(6.0, abs=OFFSET_W)
    assert (len(document["steps"]), document["windows"]) == (13, 14)


def test_what_is_not_told_has_an_exit_code_of_its_own(tmp_path: Path, run: Run) -> None:
    path = stored(tmp_path / "results", 1, Meter(step_w=1000.0, offset_w=1000.0))
    out = words(run, path, code=4)
    assert "bmc against pdu: no gain and offset: bmc stood still at 1000.0 W in all windows" in out


def test_watts_of_two_sides_of_a_supply_are_no_error_of_either(tmp_path: Path, run: Run) -> None:
    path = stored(tmp_path / "results", 1, Meter(gain=-0.1), bmc="psu-out")
    assert "bmc is PSU DC out and pdu is wall: the difference is not an error of either meter" in words(
        run, path
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "h2 has bmc, pdu; name the one that is trusted with --reference"),
        (
            ("--reference", "pdu", "--host", "h1"),
            "h1 has not two sources of power that are pdu; it has: none",
        ),
        (("--reference", "ups"), "no host has two such sources of power to compare (h1: none; h2: bmc, pdu)"),
        (("--reference", "pdu", "--meter", "pdu"), "--meter pdu: is the reference, too; name another one"),
        (("--reference", "pdu:psu-in"), "pdu:psu-in: pdu of h2 has no psu-in; there are wall"),
        (("--reference", "pdu", "--tolerance", "five"), "--tolerance 'five': must be a percentage above 0"),
    ],
    ids=str,
)
def test_wrong_use_is_one_line(tmp_path: Path, run: Run, options: tuple[str, ...], why: str) -> None:
    path = stored(tmp_path / "results", 1, PLANTED)
    code, out, err = run("calibrate", str(path), *options)
    assert (code, out) == (2, "")
    assert why in err
    assert len(err.strip().splitlines()) == 1
