# SPDX-License-Identifier: Apache-2.0
"""``make fuzz`` ends in its time, and fails with a round that failed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scripts import fuzz

ROUND = "fuzz: stored: list: 40 inputs, 3 refused\n"


@pytest.mark.parametrize(("round_s", "rounds"), [(250.0, 2), (290.0, 2), (310.0, 1), (2000.0, 1)])
def test_a_round_that_would_not_end_in_time_is_not_begun(
    round_s: float, rounds: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock_s = [0.0]

    def fake_round(seed: int) -> tuple[int, str]:
        clock_s[0] += round_s
        return 0, ROUND

    monkeypatch.setattr(fuzz, "time", SimpleNamespace(monotonic=lambda: clock_s[0]))
    monkeypatch.setattr(fuzz, "round_of", fake_round)
    assert fuzz.main(10) == 0
    assert clock_s[0] == rounds * round_s
    assert f"stored: list: {40 * rounds} inputs, {3 * rounds} refused" in capsys.readouterr().out


def test_a_round_that_failed_is_printed_with_its_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "round_of", lambda seed: (1, ROUND))
    monkeypatch.setattr(fuzz, "secrets", SimpleNamespace(randbelow=lambda limit: 4711))
    assert fuzz.main(0) == 1
    assert "seed 4711:" in capsys.readouterr().out
