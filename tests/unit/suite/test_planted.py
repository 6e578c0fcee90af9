# SPDX-License-Identifier: Apache-2.0
"""``make planted`` plants each of its faults, and says which one no test notices."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.planted import FAULTS, ROOT, Fault, NotPlanted, planted, report

SOURCE = """
def doubled(value: float) -> float:
    return 2 * value


def halved(value: float) -> float:
    return value / 2
"""
TEST = """
from pathlib import Path

from linewatt.ratios import doubled

STORED = Path(__file__).parents[1] / "results" / "stored"


def test_three_is_doubled() -> None:
    assert doubled(float(STORED.read_text())) == 6


def test_that_fails_in_every_copy() -> None:
    assert not Path(__file__).is_file()
"""
NOTICED = Fault("noticed", "ratios.py", "twice too much", "2 * value", "4 * value", ("unit/test_ratios.py",))
MISSED = Fault("missed", "ratios.py", "twice too little", "value / 2", "value / 4", ("unit/test_ratios.py",))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tiny tree: one module, and tests of half of it."""
    files = {
        "src/linewatt/__init__.py": "",
        "src/linewatt/ratios.py": SOURCE,
        "tests/unit/test_ratios.py": TEST,
        "tests/results/stored": "3",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_and_its_likely_tests_exist(fault: Fault) -> None:
    source = (ROOT / "src" / "linewatt" / fault.file).read_text()
    compile(fault.in_place(source), fault.file, "exec")
    assert fault.in_place(source) != source
    for name in fault.tests:
        file, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / "tests" / file).read_text() or not test


def test_names_of_faults_are_unique() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


def test_a_fault_that_no_test_notices_is_reported(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that fails without the fault notices nothing."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take most of the time of a small run
    assert report([NOTICED, MISSED], tree, jobs=1) == 1
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("noticed (ratios): found by tests/unit/test_ratios.py::test_three_is_doubled, ")
    assert second.startswith("missed (ratios): NOT FOUND: twice too little, ")
    assert last == "2 faults, 1 not found"
    assert report([NOTICED], tree, jobs=1) == 0
    assert (tree / "src/linewatt/ratios.py").read_text() == SOURCE


def test_a_text_that_is_not_there_exactly_once_is_refused_and_nothing_is_changed(tree: Path) -> None:
    for text in ("3 * value", "value"):
        fault = Fault("rotten", "ratios.py", "", text, "", ())
        with pytest.raises(NotPlanted, match="times, not once"), planted(fault, tree):
            pass
    assert (tree / "src/linewatt/ratios.py").read_text() == SOURCE
