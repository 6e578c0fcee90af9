# SPDX-License-Identifier: Apache-2.0
"""A plain campaign runs and is shown although the folder of a feature, or of every feature, is deleted."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench
from tests.third_party import linewatt

from linewatt.core import feature

pytestmark = pytest.mark.lab

FEATURES = Path(import_module(feature.SHIPPED).__path__[0])
FOLDERS = sorted(path.parent.name for path in FEATURES.glob("*/__init__.py"))


@pytest.mark.parametrize(
    "deleted",
    [FOLDERS, *(pytest.param([name], marks=pytest.mark.full) for name in FOLDERS)],
    ids=["all", *FOLDERS],
)
def test_a_plain_campaign_needs_no_feature(lab2: Any, tmp_path: Path, deleted: list[str]) -> None:
    copy = tmp_path / "source"
    shutil.copytree(FEATURES.parent, copy / "linewatt")
    for name in deleted:
        shutil.rmtree(copy / "linewatt" / "features" / name)
    bench = Bench(lab2, tmp_path)
    campaign = bench.campaign(trials=1)
    environment = {"HOME": str(tmp_path), "LINEWATT_STATE": str(tmp_path / "state"), "NO_COLOR": "1"}

    def prints(*words: str | Path) -> str:
        done = linewatt(*words, path=copy, environment=environment, limit_s=120.0)
        assert done.returncode == 0, done.stderr
        return done.stdout

    results = ("--results", str(bench.results))
    assert "run" in prints("--help")
    assert prints("plan", campaign).startswith("t: ")
    assert "1 of 1 trial" in prints("run", campaign, *results)
    (stored,) = bench.results.glob("*/manifest.json")
    assert "reached its target rate" in prints("show", stored.parent.name, *results)
    (case,) = json.loads(prints("show", stored.parent.name, "--json", *results))["cases"]
    assert 150e6 < case["throughput_bps_mean"] < 250e6
