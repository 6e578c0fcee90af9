# SPDX-License-Identifier: Apache-2.0
"""Watts corrected by a calibration on record: both figures are there, and how sure the corrected one is."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.staircase import CREATED_S, Meter, stored
from tests.unit.conftest import Run
from tests.unit.engine.test_rederive import fresh
from tests.unit.program.test_wiring import HEALTHY
from tests.wiring import told

from linewatt.analysis.power.totals import Total, power_of_system
from linewatt.campaign import stored as stored_campaign
from linewatt.campaign.campaign import Campaign, feature_values_of
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.rederive import run as again
from linewatt.engine.rounds import RoundRunner
from linewatt.errors import InvalidInput
from linewatt.features.calibration.correction import CODES, corrected
from linewatt.features.calibration.documents import (
    Bounded,
    Calibration,
    CalibrationUsed,
    ComparedMeter,
    ComparedStep,
)
from linewatt.features.calibration.stored import calibrations
from linewatt.features.calibration.trial_comparison import Pair, compared
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Case, EndResult, PowerResult, Trial
from linewatt.store import read
from linewatt.store.write import write_json

GAIN, OFFSET_W = 0.04, 6.0
POWERS_W = (72.0, 111.0, 150.0, 189.0, 228.0)
FOUND = Calibration(
    linewatt_version="0",
    host="h2",
    meter=ComparedMeter(source="bmc", channels=["watts"], scope="wall", provenance="measured"),
    reference=ComparedMeter(
        source="pdu", channels=["watts"], scope="wall", provenance="measured", tolerance_ratio=0.01
    ),
    measured_s=CREATED_S,
    tolerance_ratio=0.05,
    gain=Bounded(value=GAIN, low=GAIN - 0.005, high=GAIN + 0.005),
    offset_w=Bounded(value=OFFSET_W, low=5.2, high=6.8),
    low_w=72.0,
    high_w=228.0,
    windows=5,
    steps=[
        ComparedStep(trial=number, reference_w=one, meter_w=(1 + GAIN) * one + OFFSET_W)
        for number, one in enumerate(POWERS_W, 1)
    ],
)
READ = PowerResult(
    *("bmc", "watts", "wall", "measured", "as read", 162.0, 1620.0, 82.0),
    step_w=1.0,
    tolerance_ratio=0.05,
    idle_w=84.0,
    idle_uncertainty_w=4.3,
    idle_windows_w=(83.0, 85.0),
)


def calibrations_of(campaign: Campaign) -> dict[tuple[str, str], Any]:
    return {
        source: values["calibration"]
        for source, values in feature_values_of(campaign).items()
        if "calibration" in values
    }


def by(found: Calibration = FOUND) -> dict[tuple[str, str], CalibrationUsed]:
    return {("h2", "bmc"): CalibrationUsed(result="r", file="calibration.json", calibration=found)}


def trial(*power: PowerResult, started_s: float = CREATED_S) -> Trial:
    return Trial(
        *(1, 1, Case("tcp", "h1", "h2"), "k", "done", started_s),
        sender=EndResult("h1", "sender", 0.5, None, None, None, None),
        receiver=EndResult("h2", "receiver", 0.5, None, None, None, None, power=power),
    )


def powers(found: Trial) -> tuple[PowerResult, ...]:
    assert found.receiver is not None
    return found.receiver.power


def codes(found: Trial) -> list[str]:
    return [flag.code for flag in found.flags]


def test_the_corrected_figure_stands_beside_what_was_read() -> None:
    now = corrected(trial(READ), by())
    made, read_as_before = powers(now)
    assert read_as_before == READ
    assert made.is_corrected
    assert not READ.is_corrected
    assert made.provenance == "corrected"
    assert made.power_w == pytest.approx(150.0)
    assert made.energy_j == pytest.approx(1500.0)
    assert made.idle_w == pytest.approx(75.0)
    assert made.idle_windows_w == pytest.approx((77 / 1.04, 79 / 1.04))
    assert made.tolerance_ratio == 0.01
    assert made.method.startswith(
        "corrected: (reading − 6.0 W) / 1.0400, by r of 2026-01-01 00:00 UTC against pdu, stated "
        "tolerance 1.0 %"
    )
    assert isinstance(total := power_of_system(powers(now)), Total)
    assert total.power_w == pytest.approx(150.0)
    assert total.provenance == "corrected"
    assert codes(now) == ["power-corrected"]
    assert "150.0 W from a reading of 162.0 W" in now.flags[0].evidence


def test_its_bound_is_of_gain_and_offset_together_and_of_the_reference() -> None:
    made = powers(corrected(trial(READ), by()))[0]
    spread = math.sqrt(sum((one - 150.0) ** 2 for one in POWERS_W))
    line_w = 0.005 * spread * math.sqrt(1 + 1 / 5) / 1.04
    own_w = math.sqrt(82.0**2 - (0.05 * 1620) ** 2) / 10 / 1.04
    expected_w = math.hypot(own_w + line_w, 0.01 * 150)
    assert made.energy_uncertainty_j == pytest.approx(10 * expected_w)
    assert made.idle_uncertainty_w is not None
    idle_w = 0.005 * spread * math.sqrt(1 + 1 / 5 + (75 - 150) ** 2 / spread**2) / 1.04
    own_idle_w = math.sqrt(4.3**2 - (0.05 * 84) ** 2) / 1.04
    assert made.idle_uncertainty_w == pytest.approx(math.hypot(own_idle_w + idle_w, 0.75))


def test_a_reference_that_nobody_knows_leaves_no_bound() -> None:
    unknown = FOUND.model_copy(
        update={"reference": FOUND.reference.model_copy(update={"tolerance_ratio": None})}
    )
    made = powers(corrected(trial(READ), by(unknown)))[0]
    assert made.power_w == pytest.approx(150.0)
    assert (made.energy_uncertainty_j, made.idle_uncertainty_w) == (None, None)
    assert "tolerance not known" in made.method


def test_it_is_made_anew_from_what_was_read_each_time() -> None:
    once = corrected(trial(READ), by())
    assert corrected(once, by()) == once
    assert corrected(trial(READ), {}) == trial(READ)


def test_supplies_that_were_calibrated_together_are_corrected_together() -> None:
    meter = FOUND.meter.model_copy(update={"channels": ["in1", "in2"], "scope": "psu-in"})
    two = FOUND.model_copy(update={"meter": meter})
    ins = [
        replace(READ, channel=f"in{n}", scope=f"psu-in:PSU{n}", power_w=81.0, energy_j=810.0) for n in (1, 2)
    ]
    now = corrected(trial(*ins), by(two))
    assert powers(now)[0].scope == "psu-in"
    assert powers(now)[0].power_w == pytest.approx(150.0)
    assert isinstance(total := power_of_system(powers(now)), Total)
    assert total.power_w == pytest.approx(150.0)
    lacking = corrected(trial(ins[0]), by(two))
    assert powers(lacking) == (ins[0],)
    assert codes(lacking) == ["power-not-corrected"]
    assert "but the channels read are in1" in lacking.flags[0].evidence


def test_a_reading_that_is_missing_is_corrected_to_nothing() -> None:
    none = replace(READ, power_w=None, energy_j=None, energy_uncertainty_j=None, reason="it was silent")
    now = corrected(trial(none), by())
    assert (powers(now)[0].power_w, powers(now)[0].reason) == (None, "it was silent")
    assert codes(now) == []


def test_simulated_watts_stay_simulated() -> None:
    made = powers(corrected(trial(replace(READ, provenance="simulated")), by()))[0]
    assert made.is_corrected
    assert made.provenance == "simulated"


@pytest.mark.parametrize(("read_w", "told"), [(1.04 * 243 + 6, False), (1.04 * 245 + 6, True)])
def test_a_power_beyond_the_staircase_is_told(read_w: float, told: bool) -> None:
    now = corrected(trial(replace(READ, power_w=read_w, energy_j=10 * read_w)), by())
    assert ("calibration-extrapolated" in codes(now)) is told
    if told:
        assert "covers 72 to 228 W; the corrected power is 17 W outside" in now.flags[-1].evidence


@pytest.mark.parametrize(("days", "told"), [(364, False), (366, True)])
def test_a_calibration_of_last_year_is_told(days: int, told: bool) -> None:
    now = corrected(trial(READ, started_s=CREATED_S + days * 86_400), by())
    assert ("calibration-old" in codes(now)) is told


METERS: dict[str, Any] = {"driver": "estimate", "idle_w": 60, "max_w": 180}


def result_with_calibration(results: Path, host: str = "h2", address: str = "192.0.2.2") -> Path:
    """One of ``bmc`` of a host, 4 % and 6 W off."""
    path = stored(results, 1, Meter(gain=GAIN, offset_w=OFFSET_W))
    found = compared(read.load_result(path), Pair("h2", "bmc", "pdu"), 0.05)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["campaign"] = {"power": {host: {"bmc": METERS, "pdu": METERS}}}
    manifest["hosts"][host] = manifest["hosts"]["h2"] | {"address": address}
    (path / "manifest.json").write_text(json.dumps(manifest))
    write_json(path / "calibration.json", found.model_dump() | {"host": host})
    return path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result_with_calibration(tmp_path_factory.mktemp("results"))


@pytest.fixture
def calibrated(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "results" / template.name))


def campaign_file(tmp_path: Path, **changes: Any) -> Path:
    host = {
        "address": "192.0.2.2",
        "data": "eth0",
        "power": {"bmc": METERS | {"calibration": changes.pop("calibration", "none")}},
    }
    value = {
        "name": "t",
        "hosts": {"h1": {"address": "192.0.2.1", "data": "eth0"}, "h2": host | changes.pop("h2", {})},
        "pairs": ["h1 -> h2"],
        "tests": ["tcp"],
    }
    path = tmp_path / "campaign.yaml"
    path.write_text(json.dumps(value | changes))
    return path


def test_a_campaign_keeps_all_of_the_calibration_it_names(calibrated: Path, tmp_path: Path) -> None:
    campaign = load_campaign(campaign_file(tmp_path, calibration=f"results/{calibrated.name}"))
    used = calibrations_of(campaign)["h2", "bmc"]
    assert (used.result, used.file) == (calibrated.name, "calibration.json")
    assert used.calibration == calibrations(calibrated)[0]
    written = json.loads(json.dumps(stored_campaign.campaign_as_dict(campaign)))
    assert calibrations_of(stored_campaign.campaign_from_dict(written)) == calibrations_of(campaign)
    again = load_campaign(campaign_file(tmp_path, calibration=str(calibrated / "calibration.json")))
    assert calibrations_of(again) == calibrations_of(campaign)


@pytest.fixture
def using(calibrated: Path, tmp_path: Path) -> Path:
    """A result whose campaign names a calibration of its meter."""
    used = calibrations_of(load_campaign(campaign_file(tmp_path, calibration=str(calibrated))))["h2", "bmc"]
    path = Path(shutil.copytree(calibrated, calibrated.parent / "20260102-000000-using"))
    (path / "calibration.json").unlink()
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["campaign"]["power"]["h2"]["bmc"] = METERS | {"calibration": used.model_dump(mode="json")}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_a_stored_result_has_both_figures(using: Path, run: Run, tmp_path: Path) -> None:
    for one in read.load_result(using).trials:
        made, as_it_read, pdu = powers(one)
        assert (made.source, as_it_read.power_w, pdu.power_w) == ("bmc", 100.0, 100.0)
        assert made.power_w == pytest.approx(90.4, abs=0.5)
    code, out, err = run("show", str(using), "--full")
    assert code == 0, err
    flat = " ".join(out.split())
    assert "Power corrected" in flat
    assert "h2: bmc = (reading − " in flat
    assert "W, error not known; 100.0 W as read" in flat
    assert "cal: corrected by a calibration of its meter" in flat
    _, out, _ = run("show", str(using), "--json")
    (corrections,) = json.loads(out)["corrections"]
    assert (corrections["host"], corrections["source"]) == ("h2", "bmc")
    assert {one["as_read_w"] for one in corrections["cases"]} == {100.0}
    _, out, _ = run("show", str(using), "--csv", "--trials")
    (first, *_) = csv.DictReader(io.StringIO(out))
    assert (first["receiver_system_w_as_read"], first["receiver_system_w_provenance"]) == (
        "100.0",
        "corrected",
    )
    run("report", str(using), "-o", str(tmp_path / "report.html"))
    assert "100.0 W as read" in (tmp_path / "report.html").read_text()


def test_corrected_watts_are_not_compared_with_watts_as_read(calibrated: Path, using: Path, run: Run) -> None:
    code, out, err = run("compare", str(calibrated), str(using), "--json")
    assert code in (0, 4), err
    every = json.loads(out)["comparisons"]
    rows = [one for one in every if one["response"] == "receiver_system_bps_per_w" and one["load_level"]]
    assert rows
    for one in rows:
        assert one["verdict"].startswith("not comparable: watts measured in A, corrected in B"), one[
            "verdict"
        ]
        assert one["also_different"] == ["calibration of bmc"]


@pytest.mark.parametrize(
    ("break_it", "changes", "why"),
    [
        (None, {"calibration": "elsewhere"}, "elsewhere does not exist; name a result of linewatt calibrate"),
        (None, {"soak": "1h"}, "soak has no corrected figures"),
        (None, {"h2": {"address": "192.0.2.9"}}, "of another host: h2 was '192.0.2.2', and is '192.0.2.9'"),
        (lambda found: found.update(host="h3"), {}, "has no calibration of bmc of h2; it has: bmc of h3"),
        (lambda found: found["meter"].update(scope="psu-out"), {}, "compares psu-out with wall"),
        (
            lambda found: found.update(gain=None, withheld="too still"),
            {},
            "so it cannot correct readings: too still",
        ),
        (lambda found: found.update(measured_s=9e9), {}, "was made later than now"),
        (lambda found: found.update(steps=[]), {}, "do not come from linewatt calibrate"),
        (lambda found: found.update(gain="4 %"), {}, "is not a calibration of linewatt: gain"),
    ],
    ids=[
        "no file",
        "soak",
        "host moved",
        "other host",
        "AC for DC",
        "withheld",
        "in the future",
        "no steps",
        "words",
    ],
)
def test_what_cannot_correct_is_refused_in_one_line(
    break_it: Callable[[dict[str, Any]], None] | None,
    changes: dict[str, Any],
    why: str,
    calibrated: Path,
    tmp_path: Path,
    run: Run,
) -> None:
    file = calibrated / "calibration.json"
    if break_it is not None:
        found = json.loads(file.read_text())
        break_it(found)
        file.write_text(json.dumps(found))
    code, _, err = run("run", str(campaign_file(tmp_path, **{"calibration": str(calibrated)} | changes)))
    assert code == 2
    assert why in err
    assert err.count("\n") == 1, err


def test_another_meter_by_the_same_name_is_refused(calibrated: Path, tmp_path: Path) -> None:
    manifest = json.loads((calibrated / "manifest.json").read_text())
    manifest["campaign"]["power"]["h2"]["bmc"] = METERS | {"max_w": 200}
    (calibrated / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidInput, match=r"of another meter: max_w of bmc was 200\.0, and is 180\.0"):
        load_campaign(campaign_file(tmp_path, calibration=str(calibrated)))
    (calibrated / "manifest.json").unlink()
    with pytest.raises(InvalidInput, match="nothing tells which meter was calibrated"):
        load_campaign(campaign_file(tmp_path, calibration=str(calibrated)))


def test_codes_are_those_that_are_taken_back() -> None:
    now = corrected(trial(READ, started_s=CREATED_S + 9e8), by())
    assert set(codes(now)) <= set(CODES)


def with_calibration(path: Path) -> tuple[CalibrationUsed, Trial]:
    """The first trial of a stored result, whose manifest is made to name a calibration of its ``bmc``."""
    (first, *_) = read.load_result(path).trials
    end = next(one for one in first.ends if any(each.source == "bmc" for each in one.power))
    taken = next(one for one in end.power if one.source == "bmc" and one.power_w)
    meter = FOUND.meter.model_copy(
        update={"channels": [taken.channel], "scope": taken.scope.partition(":")[0]}
    )
    used = CalibrationUsed(
        result="r",
        file="calibration.json",
        calibration=FOUND.model_copy(update={"host": end.host, "meter": meter}),
    )
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["campaign"]["power"][end.host]["bmc"]["calibration"] = used.model_dump(mode="json")
    (path / "manifest.json").write_text(json.dumps(manifest))
    return used, first


def test_a_trial_made_again_is_corrected_by_the_calibration_in_its_result(tmp_path: Path) -> None:
    path = fresh(tmp_path, [HEALTHY["udp"]])
    used, _ = with_calibration(path)
    (made,) = again.rederive(read.load_result(path)).trials
    assert made.problem is None
    assert made.after is not None
    host = used.calibration.host
    (end,) = (one for one in made.after.ends if one.host == host)
    assert next(one for one in end.power if one.source == "bmc").is_corrected
    assert "power-corrected" in codes(made.after)


def test_a_trial_is_stored_with_both_figures(tmp_path: Path) -> None:
    path = fresh(tmp_path, [HEALTHY["udp"]])
    used, _ = with_calibration(path)
    campaign = stored_campaign.campaign_from_dict(read.load_result(path).manifest.asked.written)
    given = told(HEALTHY["udp"])
    stage = SimpleNamespace(
        meters=SimpleNamespace(
            take=lambda _: None,
            load=lambda *_: None,
            of=lambda _: {},
            has_course_to_come=lambda _: False,
        ),
        idle=SimpleNamespace(cores=lambda *_: {}, power=lambda *_: {}),
    )
    rounds = cast(Any, object.__new__(RoundRunner))
    for name, value in {
        "_stage": stage,
        "_setup": given.setup,
        "_session": SimpleNamespace(load=Iperf3()),
        "_campaign": campaign,
        "_result": path,
    }.items():
        setattr(rounds, name, value)
    run = replace(given.run, planned=replace(given.run.planned, number=7))
    trial = rounds._write(run, given.readings, (), 0.05)
    assert "power-corrected" in codes(trial)
    kept = read.read_trial(path / "trials" / "00007")
    (end,) = (one for one in kept.ends if one.host == used.calibration.host)
    assert {one.is_corrected for one in end.power if one.source == "bmc"} == {True, False}
