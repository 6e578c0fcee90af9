# SPDX-License-Identifier: Apache-2.0
"""The invented server of lab hosts: plausible, steady, and as docs/lab.md has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.features.lab import power_model as model
from linewatt.features.lab.bmc_recipe import SENSORS
from linewatt.features.lab.power_model import psu_input_w, rise, server_power

DOCUMENT = Path(__file__).parents[4] / "docs" / "lab.md"
ratios = st.floats(0, 1)


def efficiency(load: float) -> float:
    out_w = load * 800.0
    return out_w / psu_input_w(out_w)


def test_supplies_give_what_the_parts_draw() -> None:
    for busy in (0.0, 0.3, 1.0):
        power = server_power(busy)
        parts_w = power.cpu_w + power.memory_w + power.fans_w + model.REST_W
        assert model.PSUS * power.psu_out_w == pytest.approx(parts_w)


def test_a_server_draws_72_to_250_watts() -> None:
    idle, full = server_power(0.0), server_power(1.0)
    assert model.PSUS * idle.psu_out_w == pytest.approx(72, abs=0.5)
    assert model.PSUS * full.psu_in_w == pytest.approx(249.4, abs=0.5)


@given(ratios, ratios)
def test_more_use_is_more_of_everything(one: float, other: float) -> None:
    less, more = server_power(min(one, other)), server_power(max(one, other))
    for sensor in SENSORS:
        assert sensor.reading(less) <= sensor.reading(more) + 1e-9


@given(st.floats(-10, 10))
def test_no_use_at_all_is_beyond_the_server(busy: float) -> None:
    power = server_power(busy)
    assert model.CPU_IDLE_W - 1e-9 <= power.cpu_w <= model.CPU_MAX_W + 1e-9
    assert power.psu_out_w < power.psu_in_w


def test_a_cpu_takes_most_of_its_power_at_little_use_already() -> None:
    assert (rise(0.0), rise(1.0)) == (0.0, 1.0)
    assert rise(0.5) > 0.6


def test_supplies_are_good_from_a_fifth_of_their_rating_and_fall_off_below() -> None:
    """At least what 80 PLUS Platinum asks of a 230 V redundant supply at 20, 50 and 100 % load."""
    assert efficiency(0.2) > 0.90
    assert efficiency(0.5) > 0.94
    assert efficiency(1.0) > 0.91
    assert efficiency(0.05) < 0.82
    assert efficiency(0.05) < efficiency(0.1) < efficiency(0.2) - 0.03


def test_no_sensor_of_the_model_is_saturated_or_below_one_step() -> None:
    for power in (server_power(0.0), server_power(1.0)):
        for sensor in SENSORS:
            assert sensor.step <= sensor.reading(power) < 255 * sensor.step


def test_the_document_has_the_numbers_of_the_code() -> None:
    rows = re.findall(r"^\| (\d+) % ((?:\| [\d.]+ )+)\|$", DOCUMENT.read_text(), re.MULTILINE)
    assert len(rows) >= 4
    for busy, cells in rows:
        power = server_power(int(busy) / 100)
        out_w, in_w = model.PSUS * power.psu_out_w, model.PSUS * power.psu_in_w
        wanted = [power.cpu_w, power.memory_w, power.fans_w, model.REST_W, out_w, in_w, 100 * out_w / in_w]
        assert [float(cell) for cell in cells.split("|") if cell.strip()] == pytest.approx(wanted, abs=0.051)
