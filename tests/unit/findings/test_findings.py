# SPDX-License-Identifier: Apache-2.0
"""Every finding that the code can raise is declared, and the document is made of the declarations."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from linewatt.findings import Kind, kind_of
from linewatt.findings.all_kinds import catalogue, rooms
from linewatt.findings.lies import LIES
from linewatt.findings.page import page

ROOT = Path(__file__).parents[3]
RAISES = ("Flag", "case_flag")
SOURCES = sorted((ROOT / "src" / "linewatt").rglob("*.py"))


@cache
def raised() -> Sequence[tuple[str, Path]]:
    """The code of each ``Flag(…)`` and ``case_flag(…)`` in the sources."""
    return tuple(_raised())


def _raised() -> Iterator[tuple[str, Path]]:
    """Named constants are looked up in their own file."""
    for path in SOURCES:
        text = path.read_text()
        if "Flag(" not in text and "case_flag(" not in text:
            continue  # parsing takes long, and most files raise nothing
        tree = ast.parse(text)
        names = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in RAISES and call.args:
                for one in _choices(call.args[0]):
                    code = one.value if isinstance(one, ast.Constant) else names.get(getattr(one, "id", ""))
                    assert isinstance(code, str), f"{path}:{call.lineno}: a code that cannot be read here"
                    yield code, path


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from (*_choices(node.body), *_choices(node.orelse))
    else:
        yield node


def test_every_code_that_is_raised_is_declared_and_the_other_way_round() -> None:
    codes = {code for code, _ in raised()}
    assert sorted(codes - catalogue().keys()) == [], "declare them in src/linewatt/findings/"
    assert sorted(catalogue().keys() - codes) == [], "declared, and nothing raises them"


def test_each_code_is_declared_once() -> None:
    codes = [kind.code for kinds in rooms().values() for kind in kinds]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("kind", catalogue().values(), ids=list(catalogue()))
def test_a_declaration_is_whole_sentences_and_its_rank_fits_its_figures(kind: Kind) -> None:
    for text in (kind.means, kind.seen, kind.do):
        assert text.endswith(".")
        assert text[0].isupper() or not text[0].isalpha() or text.startswith("mpstat")
    assert bool(kind.figures) == (kind.rank != "note")


def test_the_document_is_made_of_the_declarations() -> None:
    assert (ROOT / "docs" / "findings.md").read_text() == page(), "run `make findings`"


def test_a_code_of_another_version_is_doubtful() -> None:
    assert kind_of("no-such-code").rank == "doubtful"


def test_each_lie_of_measurement_has_a_finding_or_is_kept_out_by_construction() -> None:
    lies = [one for room in LIES.values() for one in room]
    assert len(lies) >= 50
    assert [one.lie for one in lies if not one.codes and not one.how] == []
    assert sorted({code for one in lies for code in one.codes} - catalogue().keys()) == []
