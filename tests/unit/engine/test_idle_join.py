# SPDX-License-Identifier: Apache-2.0
"""Idle windows joined into trials when a result is read, and what is told above idle, or why nothing is."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import idle_reading, result, result_of, stored, trial, watts

from linewatt.analysis.cases.detail import detail_blocks
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.power.summary import EndPower
from linewatt.model import Case, PowerResult, Trial
from linewatt.records import Idle, IdleHost, Times
from linewatt.report.trials.digest import digest_document, digest_of
from linewatt.report.trials.power.idle import idle_notes
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.store.idle import with_idle
from linewatt.store.read import load_result

TCP = Case("tcp", "h1", "h2")


def loaded(*watts_of_trials: float, case: Case = TCP, bps: float = 1e9, **changes: Any) -> list[Trial]:
    """Trials of one case whose receiver drew so many watts, each read to ± 2 %."""
    made = []
    for number, power_w in enumerate(watts_of_trials, start=1):
        one = trial(number, case, bps, 0.5)
        assert one.receiver is not None
        end = replace(one.receiver, power=(watts("system", power_w, **changes),))
        made.append(replace(one, receiver=end))
    return made


def window(*power_w: float, start_s: float = 0.0, after: bool = False, **setting: str) -> Idle:
    """An idle window of h2 with one channel of so many watts, or several."""
    scopes = ["system"] if len(power_w) == 1 else [f"psu-out:PSU{at}" for at in range(len(power_w))]
    power = [watts(scope, value) for scope, value in zip(scopes, power_w, strict=True)]
    return idle_window(*power, start_s=start_s, after=after, setting=setting)


def idle_window(*power: PowerResult, start_s: float = 0.0, **fields: Any) -> Idle:
    times = Times(start_s=start_s, end_s=start_s + 30)
    return Idle(window=times, hosts={"h2": IdleHost(cpu_cores=0.02, power=power)}, **fields)


def around(before_w: float, after_w: float) -> list[Idle]:
    return [window(before_w), window(after_w, start_s=900, after=True)]


def receiver(trials: Sequence[Trial]) -> EndPower:
    found = summary(trials).receiver_power
    assert found is not None
    return found


def summary(trials: Sequence[Trial]) -> CaseSummary:
    (one,) = summarise(trials)
    return one


def system(one: Trial) -> PowerResult:
    assert one.receiver is not None
    return one.receiver.power[0]


def codes(trials: Sequence[Trial]) -> dict[str, str]:
    return {flag.code: flag.evidence for flag in summary(trials).case_flags}


def test_idle_is_the_mean_of_its_windows_with_half_their_difference_in_its_bound() -> None:
    (one,) = with_idle(loaded(120.0), around(100.0, 102.0))
    assert system(one).idle_w == pytest.approx(101.0)
    assert system(one).idle_uncertainty_w == pytest.approx(math.hypot(1.0, 0.02 * 101.0))
    assert system(one).idle_windows_w == (100.0, 102.0)


def test_what_was_stored_with_a_trial_gives_way_to_its_windows() -> None:
    (one,) = with_idle(loaded(120.0, idle_w=110.8), around(100.0, 102.0))
    assert system(one).idle_w == pytest.approx(101.0)
    (alone,) = with_idle(loaded(120.0, idle_w=110.8), [])
    assert system(alone).idle_w == 110.8


def test_each_setting_has_its_own_idle() -> None:
    levels = [Case("tcp", "h1", "h2", factors=(("mtu", mtu), ("zerocopy", "on"))) for mtu in ("1500", "9000")]
    trials = [one for case in levels for one in loaded(150.0, case=case)]
    tunnel = loaded(150.0, case=Case("tcp", "h1", "h2", network="vxlan", factors=(("mtu", "1500"),)))
    windows = [window(80.0, mtu="1500"), window(95.0, mtu="9000"), window(99.0, network="vxlan", mtu="1500")]
    found = with_idle([*trials, *tunnel], windows)
    assert [system(one).idle_w for one in found] == [80.0, 95.0, 99.0]
    assert [one.mean for one in (receiver([one]).dynamic_w for one in found) if one] == [70.0, 55.0, 51.0]


def test_a_figure_above_idle_carries_the_bounds_of_load_and_idle() -> None:
    found = receiver(with_idle(loaded(120.0), around(100.0, 102.0)))
    idle_w = math.hypot(1.0, 0.02 * 101.0)
    bound_w = math.hypot(0.02 * 120.0, idle_w)
    assert found.dynamic_w is not None
    assert found.dynamic_w.mean == pytest.approx(19.0)
    assert found.dynamic_uncertainty_w is not None
    assert found.dynamic_uncertainty_w.mean == pytest.approx(bound_w)
    assert found.dynamic_uncertainty_w_per_bps is not None
    assert found.dynamic_uncertainty_w_per_bps.mean == pytest.approx(bound_w / 1e9)


def test_the_bound_stands_in_every_cell_above_idle_and_in_json() -> None:
    trials = with_idle(loaded(120.0), around(100.0, 102.0))
    (table,) = map(power_table, power_cases(digest_of(result(trials)).groups))
    texts = {head.key: cell.text for head, cell in zip(table.heads, table.rows[0].cells, strict=True)}
    assert texts["receiver_idle_w_mean"] == "101.0 ± 2.3"
    assert texts["receiver_dynamic_w_mean"] == "19.0 ± 3.3"
    assert texts["receiver_dynamic_w_per_gbps_mean"] == "19.00 ± 3.29"
    assert texts["receiver_dynamic_energy_pj_per_bit_mean"] == "19.00 ± 3.29"
    units = {head.key: head.unit for head in table.heads}
    assert units["receiver_dynamic_energy_pj_per_bit_mean"] == "nJ/bit"
    (row,) = digest_document(digest_of(result(trials)))["cases"]
    assert row["receiver_dynamic_w_per_gbps_uncertainty"] == pytest.approx(3.3, abs=0.05)
    assert row["receiver_idle_w_uncertainty"] == pytest.approx(2.25, abs=0.01)
    block = detail_blocks(trials)[0]
    assert block.values["dynamic_uncertainty_w_per_bps"] is not None


def test_trials_at_or_below_idle_stay_in_the_mean() -> None:
    """True 1 W with a spread of 5 W: without those below 0 the mean would be 4.4 W."""
    jitter = random.Random(3)  # noqa: S311
    trials = loaded(*(101.0 + jitter.gauss(0, 5) for _ in range(400)))
    found = receiver(with_idle(trials, around(100.0, 100.0)))
    assert found.dynamic_w is not None
    assert found.dynamic_w.n == 400
    assert found.dynamic_w.mean == pytest.approx(1.0, abs=0.6)


def test_a_mean_that_may_be_nothing_is_not_told_as_a_cost() -> None:
    found = receiver(with_idle(loaded(101.0), around(100.0, 100.0)))
    said = "not distinguishable from idle: 1.0 ± 2.8 W"
    assert found.dynamic_w_per_bps is None
    assert found.values["dynamic_energy_j_per_bit"] is None
    assert found.reasons["dynamic_w_per_bps"] == found.reasons["dynamic_energy_j_per_bit"] == said


def test_a_mean_whose_spread_reaches_idle_is_not_told_as_a_cost() -> None:
    sharp: dict[str, Any] = {"energy_uncertainty_j": 0.06}
    trials = loaded(90.0, 112.0, 95.0, 115.0, 94.0, 102.0, **sharp)
    idle = idle_window(watts("system", 100.0, **sharp))
    said = receiver(with_idle(trials, [idle])).reasons["dynamic_w_per_bps"]
    assert said.startswith("not distinguishable from idle: 1.3 W, 95 % CI −")
    steady = receiver(with_idle(loaded(*[104.0, 104.5, 103.5] * 2, **sharp), [idle]))
    assert steady.dynamic_w_per_bps is not None


@pytest.mark.parametrize(
    ("before_w", "after_w", "drifted"),
    [(110.8, 78.6, True), (78.6, 110.8, True), (100.0, 104.9, False), (100.0, 105.5, True)],
)
def test_nothing_is_told_above_an_idle_that_drifted(before_w: float, after_w: float, drifted: bool) -> None:
    trials = with_idle(loaded(150.0, 151.0), around(before_w, after_w))
    found = receiver(trials)
    said = f"idle was {before_w:.1f} W before and {after_w:.1f} W after"
    if drifted:
        for name in ("dynamic_w", "dynamic_w_per_bps", "dynamic_energy_j_per_bit"):
            assert found.values[name] is None
            assert found.reasons[name] == said
        assert codes(trials)["idle-drifted"] == f"{said}; watts above idle are withheld"
    else:
        assert found.dynamic_w is not None
        assert "idle-drifted" not in codes(trials)


def test_two_coarse_supplies_that_differ_by_a_step_did_not_drift() -> None:
    windows = [
        idle_window(*(watts(f"psu-out:PSU{at}", power_w, step_w=4.0) for at in (1, 2)))
        for power_w in (36.0, 39.0)
    ]
    one = loaded(1.0)[0]
    assert one.receiver is not None
    power = tuple(watts(f"psu-out:PSU{at}", 80.0, step_w=4.0) for at in (1, 2))
    trials = with_idle([replace(one, receiver=replace(one.receiver, power=power))], windows)
    found = receiver(trials)
    assert found.dynamic_w is not None
    assert found.dynamic_w.mean == pytest.approx(160.0 - 75.0)
    assert codes(trials) == {}


@pytest.mark.parametrize(("after_w", "drifted"), [(233.3, False), (186.7, False), (280.0, True)])
def test_a_total_that_may_be_off_by_an_update_in_each_window_did_not_drift(
    after_w: float, drifted: bool
) -> None:
    """EnergyJoules each 7 s and 200 W: 30 s hold four updates or five, and nothing says that idle changed."""
    total: dict[str, Any] = {"step_w": None, "tolerance_ratio": None, "idle_uncertainty_w": 46.7}
    windows = [idle_window(watts("system", power_w, **total)) for power_w in (186.7, after_w)]
    trials = with_idle(loaded(400.0, **total), windows)
    assert ("idle-drifted" in codes(trials)) is drifted
    before, after = ({"h2": idle_reading(*one.hosts["h2"].power)} for one in windows)
    (note,) = idle_notes(result_of({"idle": before, "idle_end": after}))
    assert ("watts above idle are withheld" in note.sentence) is drifted


def test_what_a_total_is_off_by_in_all_windows_alike_is_no_room_for_drift() -> None:
    total: dict[str, Any] = {"step_w": None, "tolerance_ratio": 0.05, "idle_uncertainty_w": 10.0}
    windows = [idle_window(watts("system", power_w, **total)) for power_w in (200.0, 213.0)]
    assert "idle-drifted" in codes(with_idle(loaded(400.0, **total), windows))


def test_drift_over_several_windows_names_the_lowest_and_the_highest() -> None:
    windows = [window(power_w, start_s=at) for at, power_w in enumerate((100.0, 120.0, 101.0))]
    found = receiver(with_idle(loaded(150.0), windows))
    assert found.reasons["dynamic_w"] == "idle was between 100.0 and 120.0 W in 3 windows"


def test_power_under_load_below_idle_beyond_the_bounds_is_told() -> None:
    below = with_idle(loaded(90.0, 91.0), around(100.0, 101.0))
    assert codes(below) == {
        "power-below-idle": "90.5 W under load, 100.5 W idle: 10.0 W less, with an uncertainty of ± 2.8 W"
    }
    assert receiver(below).reasons["dynamic_w_per_bps"] == "below idle: −10.0 ± 2.8 W"
    assert codes(with_idle(loaded(99.0, 99.5), around(100.0, 101.0))) == {}


def test_idle_that_had_not_settled_is_told_with_what_moved() -> None:
    values = IdleHost(power=(watts("system", 100.0),), moving="power still fell by 9 W")
    restless = Idle(hosts={"h2": values})
    trials = with_idle(loaded(150.0), [restless])
    assert codes(trials) == {"idle-not-settled": "when an idle window began, power still fell by 9 W"}
    assert receiver(trials).dynamic_w is not None


def on_disk(root: Path, **idle_w: float) -> Path:
    path = stored(root, result(loaded(150.0, 152.0)))
    for at, (name, power_w) in enumerate(idle_w.items()):
        document = {
            "schema_version": 1,
            "window": {"start_s": 1000.0 * at, "end_s": 1000.0 * at + 30},
            "hosts": {"h2": idle_reading(watts("system", power_w))},
        }
        (path / f"{name.replace('_', '-')}.json").write_text(json.dumps(document))
    return path


def test_who_reads_a_result_sees_the_joined_idle(tmp_path: Path) -> None:
    path = on_disk(tmp_path, idle=100.0, idle_end=102.0)
    assert [system(one).idle_w for one in load_result(path).trials] == [101.0, 101.0]


def test_windows_of_later_settings_and_parts_are_read_too(tmp_path: Path) -> None:
    path = on_disk(tmp_path, idle=100.0, idle_2=101.0, idle_end=102.0, idle_end_2=103.0)
    assert system(load_result(path).trials[0]).idle_windows_w == (100.0, 101.0, 102.0, 103.0)


def test_idle_is_told_in_one_line_a_host() -> None:
    hosts = {"h2": idle_reading(watts("system", 100.0), watts("cpu", 40.0))}
    after = {"h2": idle_reading(watts("system", 80.0), watts("cpu", 40.5))}
    (line,) = idle_notes(result_of({"idle": hosts, "idle_end": after}))
    assert line.kind == "doubt"
    assert line.sentence == (
        "h2, system: 100.0 W before the trials, 80.0 W after: 20.0 W less (20.0 %), so watts above "
        "idle are withheld; CPU: 40.0 W before the trials, 40.5 W after: 0.5 W more (1.2 %)"
    )
