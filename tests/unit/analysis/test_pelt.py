# SPDX-License-Identifier: Apache-2.0
"""PELT by ruptures' extension alone finds what ruptures finds, and imports neither ruptures nor scipy."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.analysis.statistics import pelt

STEP = np.r_[np.full(12, 10.0), np.full(9, 12.0)]
SERIES = {
    "a step": STEP,
    "two steps": np.r_[np.zeros(7), np.ones(8), np.full(6, -3.0)],
    "a constant": np.full(15, 3.0),
    "zeros": np.zeros(10),
    "a ramp": np.arange(60.0),
    "alternating": np.tile([1.0, 2.0], 20),
    "one far value": np.r_[np.zeros(9), 50.0, np.zeros(9)],
    "noise": np.random.default_rng(3).normal(size=900),
    "noise and a step": np.random.default_rng(4).normal(size=600) + 4 * (np.arange(600) > 411),
    "integers": np.r_[np.zeros(6, int), np.full(6, 5)],
    "the fewest": np.array([0.0, 0.0, 9.0, 9.0]),
}

levels = st.lists(st.tuples(st.integers(1, 40), st.floats(-1e3, 1e3)), min_size=1, max_size=6)
stepped = levels.map(lambda parts: np.concatenate([np.full(count, level) for count, level in parts]))
ties = st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=4, max_size=80).map(np.array)
anything = st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=120).map(np.array)


def by_ruptures(series: Any, penalty: float) -> list[int]:
    from ruptures import KernelCPD

    found: list[int] = KernelCPD(kernel="linear", min_size=2).fit(series).predict(pen=penalty)
    return found[:-1]


@pytest.fixture
def afresh() -> Iterator[None]:
    """With nothing loaded, before and after."""
    pelt.extension.cache_clear()
    yield
    pelt.extension.cache_clear()


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("penalty", [1e-3, 2.0, 2 * math.log(21), 1e4])
def test_changes_are_those_that_ruptures_finds(name: str, penalty: float) -> None:
    series = SERIES[name]
    found = pelt.mean_changes(series, penalty)
    assert found == by_ruptures(series, penalty)
    assert all(type(at) is int for at in found)


def test_a_step_is_found_where_it_is() -> None:
    assert pelt.mean_changes(STEP, 2.0) == [12]
    assert pelt.mean_changes(SERIES["two steps"], 2.0) == [7, 15]


@settings(deadline=None, max_examples=inputs(400))
@given(
    st.one_of(stepped.filter(lambda series: len(series) >= 4), ties, anything),
    st.integers(0, 5),
    st.floats(0.01, 50),
)
def test_whatever_the_series_changes_are_those_that_ruptures_finds(
    series: Any, seed: int, penalty: float
) -> None:
    noisy = series + np.random.default_rng(seed).normal(size=len(series)) * (seed > 0)
    assert pelt.mean_changes(noisy, penalty) == by_ruptures(noisy, penalty)


def test_too_few_values_for_two_segments_are_refused() -> None:
    with pytest.raises(ValueError, match="3 values"):
        pelt.mean_changes(np.zeros(3), 1.0)


def misplaced(folder: Path) -> None:
    """Another version of ruptures has its extension elsewhere."""


def unloadable(folder: Path) -> None:
    (folder / f"ekcpd{EXTENSION_SUFFIXES[0]}").write_bytes(b"no shared object")


def renamed(folder: Path) -> None:
    (folder / "ekcpd.py").write_text("def another_name(): ...\n")


@pytest.mark.usefixtures("afresh")
@pytest.mark.parametrize("version", [misplaced, unloadable, renamed])
def test_ruptures_itself_is_used_where_its_extension_is_not_as_expected(
    version: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "detection" / "_detection"
    folder.mkdir(parents=True)
    version(folder)
    package = ModuleSpec("ruptures", None, is_package=True)
    package.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(pelt, "find_spec", {"ruptures": package}.get)
    assert pelt.extension() is None
    for series in SERIES.values():
        found = pelt.mean_changes(series, 3.0)
        assert found == by_ruptures(series, 3.0)
        assert all(type(at) is int for at in found)


@pytest.mark.usefixtures("afresh")
def test_the_extension_of_the_ruptures_that_is_installed_is_loaded_also_beside_it() -> None:
    by_ruptures(STEP, 2.0)
    assert pelt.extension() is not None
    assert by_ruptures(STEP, 2.0) == pelt.mean_changes(STEP, 2.0) == [12]


def test_a_search_for_steps_imports_neither_ruptures_nor_scipy() -> None:
    script = (
        "import sys; from linewatt.analysis.statistics import steadiness;"
        "print(steadiness.step([10.0, 10.1] * 8 + [7.0, 7.1] * 8));"
        "print([name for name in sys.modules if name == 'ruptures' or name.split('.')[0] == 'scipy'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    step, imported = done.stdout.splitlines()
    assert step.startswith("SeriesStep(at=16,")
    assert imported == "[]"
