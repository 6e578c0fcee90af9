# SPDX-License-Identifier: Apache-2.0
"""What every command says of stored results, word for word as it was kept: who changes it, means to.

``LINEWATT_GOLDEN=keep`` writes the files anew; their difference belongs into the review.
"""

from __future__ import annotations

import difflib
import gzip
import json
import os
import re
from pathlib import Path

import pytest
from tests.documents import valid
from tests.fuzz.stored_results import CAMPAIGN, LEVELS, OLD, OTHER_SOAK, SOAK, results
from tests.unit.conftest import Run

KEPT = Path(__file__).parents[2] / "captures" / "golden"
TABLE = Path(__file__).parents[2] / "captures" / "derive"
KINDS = {"campaign": CAMPAIGN, "levels": LEVELS, "soak": SOAK, "method-1": OLD}

FLEET = ("--price-kwh", "0.2", "--redundancy", "n+1", "--series", "gro=on mtu=1500 rps=off")
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "list-json": ("list", "--json"),
    "history": ("history",),
    "history-json": ("history", "--json"),
    "compare-soaks": ("compare", SOAK, OTHER_SOAK, "--full"),
    "compare-soaks-first": ("compare", SOAK, OTHER_SOAK),
    "compare-soaks-json": ("compare", SOAK, OTHER_SOAK, "--json"),
    "compare-levels": ("compare", LEVELS, "--by", "gro", "--full"),
    "compare-levels-first": ("compare", LEVELS, "--by", "gro"),
    "compare-levels-json": ("compare", LEVELS, "--by", "gro", "--json"),
    "compare-levels-csv": ("compare", LEVELS, "--by", "gro", "--csv"),
    "compare-others-json": ("compare", OLD, CAMPAIGN, "--json"),
    **{f"show-{kind}": ("show", name, "--full") for kind, name in KINDS.items()},
    **{f"show-{kind}-first": ("show", name) for kind, name in KINDS.items()},
    **{f"show-{kind}-json": ("show", name, "--json") for kind, name in KINDS.items()},
    **{f"show-{kind}-csv": ("show", name, "--csv") for kind, name in KINDS.items()},
    **{f"show-{kind}-detail": ("show", name, "--detail") for kind, name in KINDS.items()},
    **{f"analyze-{kind}-json": ("analyze", name, "--json") for kind, name in KINDS.items()},
    **{f"verify-{kind}": ("verify", name) for kind, name in KINDS.items()},
    "fleet-campaign-json": ("advise", "fleet", "--target-gbps", "1000", "--from", CAMPAIGN, "--json"),
    "fleet-levels": (*("advise", "fleet", "--target-gbps", "1000", "--from", LEVELS), *FLEET),
    "rederive-method-1-json": ("rederive", OLD, "--json"),
}


@pytest.fixture(scope="module")
def root() -> Path:
    """Results of its own: those of the fuzz suite are damaged and mended again."""
    return results.__wrapped__()


def kept(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def lines(name: str, said: str) -> list[str]:
    """Of JSON in an order of its keys: objects have none."""
    head, out = said.split("--- out\n")
    text, end = out.split("--- err\n")
    if text.startswith("{"):
        said = f"{head}{json.dumps(json.loads(text), indent=1, sort_keys=True)}\n{end}"
    return said.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_of_a_stored_result_what_it_said(
    root: Path, run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100000")
    code, out, err = run(*COMMANDS[name], "--results", str(root))
    said = f"exit {code}\n--- out\n{out}--- err\n{err}".replace(str(root), "RESULTS")
    said = re.sub(r"linewatt-fuzz-\w+", "RESULTS", said)
    path = KEPT / f"{name}.txt.gz"
    if os.environ.get("LINEWATT_GOLDEN") == "keep":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(said.encode(), mtime=0))
    before, now = (lines(name, text) for text in (kept(path), said))
    change = difflib.unified_diff(before, now, "kept", "now", lineterm="", n=0)
    assert "\n".join(list(change)[:40]) == ""


def test_what_is_stored_beside_trials_is_valid(root: Path) -> None:
    for name in ("manifest", "idle", "meters", "repeats"):
        stored = sorted(root.glob(f"*/{name}.json"))
        assert stored, name
        for path in stored:
            valid(name, json.loads(path.read_text()))
