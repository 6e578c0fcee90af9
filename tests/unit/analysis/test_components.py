# SPDX-License-Identifier: Apache-2.0
"""Where the watts of a host go: parts that sum to the system, and nothing twice."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report_factories import end, scaling_trials, watts

from linewatt.analysis.power import totals as power
from linewatt.analysis.power.components import (
    EXCEEDS,
    Breakdown,
    MeasuredParts,
    breakdown,
    end_breakdown,
    measured_parts,
)
from linewatt.analysis.power.totals import Total
from linewatt.missing import Missing
from linewatt.model import PowerResult, Provenance, Trial
from linewatt.records import Component, ComponentKind

SHIPPED = Path(__file__).resolve().parents[3] / "docs" / "published"
BESIDE = Path(__file__).resolve().parents[3].parent / "shared" / "published"

DDR5 = Component("DDR5 module", 4, "datasheet", count=12, kind="memory")
NIC = Component("Network card", 20, "datasheet", kind="nic")
SSD = Component("Idle SSD", 2, "datasheet", kind="storage")
NOTHING_MEASURED = MeasuredParts({}, ())


def total(scope: str, power_w: float, provenance: Provenance = "measured", **more: float) -> Total:
    return Total(power_w, None, more.get("uncertainty_w"), scope, provenance, "bmc", (scope,))


def watts_of(found: Breakdown) -> dict[str, float]:
    return {part.name: part.power_w for part in found.parts}


@pytest.fixture(params=[SHIPPED, BESIDE], ids=["shipped", "beside-the-clone"])
def published(request: pytest.FixtureRequest) -> list[dict[str, str]]:
    folder: Path = request.param
    if not folder.is_dir():
        pytest.skip(f"no {folder.parent.name}/{folder.name} beside this clone; shipped tables are tested")
    with (folder / "x64_components.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_published_breakdown_sums_to_249_w_and_leaves_11_w(published: list[dict[str, str]]) -> None:
    *known, last = published
    kinds: tuple[ComponentKind, ...] = ("cpu", "memory", "nic", "storage", "fan")
    measured: dict[ComponentKind, Total] = {}
    declared = []
    for row, kind in zip(known, kinds, strict=True):
        power_w = float(row["power_w"])
        if row["provenance"] == "measured":
            measured[kind] = total(kind, power_w)
        else:
            declared.append(Component(row["component"], power_w, "datasheet", kind=kind))
    found = breakdown("dut", total("psu-out", 249), MeasuredParts(measured, ()), declared)
    assert sum(part.power_w for part in found.parts) == 249
    assert found.rest is not None
    assert found.rest.power_w == float(last["power_w"]) == 11
    assert (found.rest.provenance, last["provenance"]) == ("estimate", "estimate")
    assert found.flags == ()
    assert sorted((p.power_w, p.provenance) for p in found.parts[:-1]) == sorted(
        (float(row["power_w"]), row["provenance"]) for row in known
    )


def test_declared_watts_are_of_one_piece() -> None:
    found = breakdown("dut", total("psu-out", 100), NOTHING_MEASURED, [DDR5])
    assert watts_of(found) == {"12 × DDR5 module": 48, "Rest": 52}


def test_a_measured_kind_replaces_the_declared_one_and_says_so() -> None:
    measured = MeasuredParts({"memory": total("memory", 40)}, ())
    found = breakdown("dut", total("psu-out", 100), measured, [DDR5, NIC])
    assert watts_of(found) == {"Memory": 40, "Network card": 20, "Rest": 40}
    assert found.left_out == ("12 × DDR5 module (48 W, datasheet): memory is measured",)


def test_declared_parts_of_no_measured_kind_all_stay() -> None:
    other = Component("Riser", 3, "estimate")
    measured = MeasuredParts({"memory": total("memory", 40)}, ())
    found = breakdown("dut", total("psu-out", 100), measured, [other, replace(other, name="HBA")])
    assert watts_of(found) == {"Memory": 40, "Riser": 3, "HBA": 3, "Rest": 54}


def test_parts_that_exceed_the_system_are_a_flag_with_their_watts() -> None:
    measured = MeasuredParts({"cpu": total("cpu", 80, uncertainty_w=4)}, ())
    found = breakdown("dut", total("psu-out", 120, uncertainty_w=6), measured, [DDR5])
    assert found.rest is not None
    assert found.rest.power_w == -8
    (flag,) = found.flags
    assert (flag.code, flag.where) == (EXCEEDS, "dut")
    assert flag.evidence == (
        "CPU 80 W (measured) + 12 × DDR5 module 48 W (datasheet) is 8.0 W more than the system's 120 W "
        "(PSU DC out); the readings are good to ± 10.0 W"
    )
    assert "of one piece" in flag.advice


def test_parts_that_just_make_the_system_are_no_flag() -> None:
    parts = [Component(f"p{at}", 0.1, "estimate") for at in range(3)]
    found = breakdown("dut", total("psu-out", 0.3), NOTHING_MEASURED, parts)
    assert found.flags == ()


@pytest.mark.parametrize("scope", ["wall", "psu-in", "system"])
def test_the_rest_of_what_goes_into_the_supplies_holds_their_losses(scope: str) -> None:
    found = breakdown("dut", total(scope, 100), NOTHING_MEASURED, [SSD])
    assert found.rest is not None
    assert found.rest.name == "Rest and power supply losses"


def test_nothing_made_of_simulated_watts_looks_measured_or_estimated() -> None:
    simulated = MeasuredParts({"cpu": total("cpu", 80, "simulated")}, ())
    found = breakdown("dut", total("psu-out", 120), simulated, [SSD])
    assert [part.provenance for part in found.parts] == ["simulated", "datasheet", "simulated"]


def test_without_the_system_there_are_parts_and_no_rest() -> None:
    found = breakdown("dut", Missing("no source of system power is named"), NOTHING_MEASURED, [SSD])
    assert (found.system_w, found.rest, found.reason) == (None, None, "no source of system power is named")
    assert watts_of(found) == {"Idle SSD": 2}


def test_what_contains_or_repeats_another_reading_is_not_counted() -> None:
    results = [
        watts("cpu", 136.0),
        watts("package:0", 60.0, source="rapl"),
        watts("package:1", 61.0, source="rapl"),
        watts("core:0", 50.0, source="rapl"),
        watts("dram:0", 20.0, source="rapl"),
        watts("memory", 22.0),
        watts("gpu:0", 70.0),
        watts("gpu:0", 71.0, source="nvml"),
        watts("other", 9.0, channel="PCH"),
        watts("psu-out:PSU1", 249.0),
        watts("psys", 240.0, source="rapl"),
    ]
    found = measured_parts(results)
    assert {kind: one.power_w for kind, one in found.totals.items()} == {"cpu": 136, "memory": 22, "gpu": 70}
    assert found.left_out == (
        "rapl CPU package (RAPL): bmc CPU is taken",
        "rapl DRAM (RAPL): bmc memory is taken",
        "nvml GPU: bmc GPU is taken",
        "rapl core 0 (CPU cores (RAPL)): part of the CPU",
        "bmc PCH (other): what it covers is not known, so it may be in another part",
    )


def test_a_kind_that_could_not_be_read_gives_way_to_the_next_scope_and_then_to_what_is_declared() -> None:
    broken = watts("memory", None)
    assert measured_parts([broken, watts("dram:0", 20.0, source="rapl")]).totals["memory"].power_w == 20
    found = measured_parts([broken, watts("cpu", 136.0)])
    assert found.left_out == ("memory: bmc memory: no answer within 5 s",)
    assert watts_of(breakdown("dut", total("psu-out", 249), found, [DDR5]))["12 × DDR5 module"] == 48


def powered(trials: tuple[Trial, ...], each: list[list[PowerResult]]) -> list[Trial]:
    return [
        replace(trial, receiver=end("h2", "receiver", 1.0, 0.5, 0.5, power=tuple(results)))
        for trial, results in zip(trials, each, strict=True)
    ]


def test_a_case_is_the_mean_of_the_trials_that_have_all_parts() -> None:
    each = [
        [watts("psu-out:PSU1", 240.0), watts("cpu", 130.0)],
        [watts("psu-out:PSU1", 260.0), watts("cpu", 140.0)],
        [watts("psu-out:PSU1", 300.0), watts("cpu", None)],
        [watts("psu-out:PSU1", None), watts("cpu", 150.0)],
    ]
    trials = powered(scaling_trials((1,), 4), each)
    failed = replace(trials[0], status="failed")
    found = end_breakdown([*trials, failed], "receiver", [NIC])
    assert found is not None
    assert (found.host, found.trials, found.system_w) == ("h2", 2, 250)
    assert watts_of(found) == {"CPU": 135, "Network card": 20, "Rest": 95}


def test_a_case_never_mixes_trials_whose_system_power_is_of_two_scopes() -> None:
    each = [[watts("psu-out:PSU1", 240.0)], [watts("wall", 280.0)], [watts("psu-out:PSU1", 250.0)]]
    found = end_breakdown(powered(scaling_trials((1,), 3), each), "receiver", [NIC])
    assert found is not None
    assert (found.trials, found.system_scope, found.system_w) == (2, "psu-out", 245)


def test_a_case_without_a_whole_trial_has_a_reason_and_no_rest() -> None:
    each = [
        [watts("psu-out:PSU1", 240.0), watts("cpu", 130.0), watts("fan", None)],
        [watts("psu-out:PSU1", 240.0), watts("cpu", None), watts("fan", 30.0)],
    ]
    found = end_breakdown(powered(scaling_trials((1,), 2), each), "receiver", [])
    assert found is not None
    assert (found.system_w, found.rest, found.reason) == (None, None, "no trial has readings of all parts")
    lost = end_breakdown(powered(scaling_trials((1,), 1), [[watts("psu-out:PSU1", None)]]), "receiver", [])
    assert lost is not None
    assert lost.reason == "bmc psu-out PSU1: no answer within 5 s"


def test_an_end_without_sources_and_declarations_has_no_breakdown() -> None:
    trials = scaling_trials((1,), 1)
    assert end_breakdown(trials, "receiver", []) is None
    assert end_breakdown([replace(trials[0], receiver=None)], "receiver", [NIC]) is None
    declared = end_breakdown(trials, "receiver", [NIC])
    assert declared is not None
    assert declared.reason == "no source of system power is named"


components = st.builds(
    Component,
    st.text(min_size=1, max_size=5),
    st.floats(0.01, 500),
    st.sampled_from(["datasheet", "estimate"]),
    st.integers(1, 64),
    st.sampled_from(get_args(ComponentKind)),
)
readings = st.builds(
    watts,
    st.sampled_from(["cpu", "package:0", "dram:0", "memory", "fan", "gpu:0", "nic", "other", "core:0"]),
    st.one_of(st.none(), st.floats(0.01, 500)),
    source=st.sampled_from(["bmc", "rapl"]),
)


@given(st.floats(1, 2000), st.lists(readings, max_size=8), st.lists(components, max_size=8))
def test_parts_and_rest_always_sum_to_the_system_and_no_kind_is_both_measured_and_declared(
    system_w: float, results: list[PowerResult], declared: list[Component]
) -> None:
    found = breakdown("dut", total("psu-out", system_w), measured_parts(results), declared)
    assert sum(part.power_w for part in found.parts) == pytest.approx(system_w, rel=1e-9, abs=1e-6)
    assert found.rest is not None
    assert bool(found.flags) == (found.rest.power_w < -1e-9 * system_w)
    measured = [part.kind for part in found.parts if part.source is not None]
    assert len(measured) == len(set(measured))
    assert not set(measured) & {part.kind for part in found.parts[:-1] if part.source is None}


def test_every_scope_that_can_be_a_part_is_counted_or_explained() -> None:
    known = set(power.SCOPE_WORDS) - set(power.SYSTEM_SCOPES)
    for scope in known:
        found = measured_parts([watts(scope, 10.0)])
        assert bool(found.totals) != bool(found.left_out), scope
