# SPDX-License-Identifier: Apache-2.0
"""Damaged campaign files and inventories: a plan, or a line that says what is wrong with them."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from tests.fuzz.commands import check_command
from tests.fuzz.conftest import fuzz, survived
from tests.fuzz.mutate import changed, replaced_word

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(path.name for path in (*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*.ini")))
READERS = {"inventory.ini": "matrix.yaml", "inventory.yaml": "demo.yaml"}
"""inventory → a campaign that reads it"""
HALVES = ("\\ud800", "\\udfff", "\\udc80 ", "x\\ud83d", "\\ude00\\ud83d", "\\U0000d800")
"""half a character each, as YAML and JSON write it"""

names, seeds, counts = st.sampled_from(FILES), st.integers(0, 2**48), st.sampled_from((1, 1, 2, 3))


def plan_with(name: str, content: bytes) -> None:
    """``plan`` of each campaign that reads the file."""
    with tempfile.TemporaryDirectory() as folder:
        examples = Path(shutil.copytree(EXAMPLES, Path(folder) / "examples"))
        (examples / name).write_bytes(content)
        campaign = READERS.get(name, name)
        check_command("plan", str(examples / campaign), "--json")
        check_command("plan", str(examples / campaign))


@fuzz(names, seeds, counts, share=0.2)
def test_a_damaged_campaign_is_planned_or_named_in_one_line(name: str, seed: int, count: int) -> None:
    with survived("campaign: plan"):
        content = changed((EXAMPLES / name).read_bytes(), random.Random(seed), count)  # noqa: S311
        plan_with(name, content)


@fuzz(names, seeds, st.sampled_from(HALVES), share=0.2)
def test_half_a_character_anywhere_in_a_campaign_is_named_in_one_line(
    name: str, seed: int, half: str
) -> None:
    with survived("campaign: half a character"):
        text = (EXAMPLES / name).read_bytes()
        plan_with(name, replaced_word(text, f'"{half}"'.encode(), random.Random(seed)))  # noqa: S311
