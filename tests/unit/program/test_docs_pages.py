# SPDX-License-Identifier: Apache-2.0
"""Pages that are made of the code are current, and what others quote of it is there."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from scripts.reference import FOLDER, pages
from scripts.simulate import BEGIN, END
from tests.doc_pages import DOCUMENTS, ROOT, prose, text_of

from linewatt.cli import manual
from linewatt.findings.all_kinds import catalogue

PACKAGE = ROOT / "src" / "linewatt"
CODE = re.compile(r"`([\w/]+\.py)`((?:,? `\w+`(?!\.py))*)")


@pytest.mark.parametrize("name", pages())
def test_a_reference_page_is_made_of_what_the_code_declares_today(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "run `make reference`"


@pytest.mark.parametrize("name", manual.pages())
def test_the_man_page_and_completions_that_a_wheel_has_are_those_of_today(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == manual.pages()[name], "run `make reference`"


def test_no_other_page_is_in_the_folder_of_references() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(pages())


_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def functions_in(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for file, names in CODE.findall(text):
        yield file, tuple(re.findall(r"`(\w+)`", names))


def trails() -> str:
    """Of the architecture: where a reader is to look."""
    return text_of("docs/architecture.md").partition("\n## Where to look\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("text", "fewest"), [(text_of("docs/method.md"), 40), (trails(), 10)], ids=["method", "architecture"]
)
def test_every_function_that_a_page_names_is_where_it_says(text: str, fewest: int) -> None:
    named = list(functions_in(text))
    assert len(named) > fewest
    for file, names in named:
        tree = ast.parse((PACKAGE / file).read_text())
        defined = {node.name for node in tree.body if isinstance(node, _DEFINITION)}
        assert [name for name in names if name not in defined] == [], file


def promises() -> dict[str, list[str]]:
    """Promise of the security page → its tests, as ``path::name``."""
    tables = text_of("SECURITY.md").partition("\n## Promises and their tests\n")[2].partition("\n## ")[0]
    rows = (row.strip("| ").split(" | ") for row in tables.splitlines() if row.startswith("| "))
    heads = ("promise", "---")
    return {promise: re.findall(r"`([^`]+)`", tests) for promise, tests in rows if promise not in heads}


def test_each_promise_of_the_security_page_has_tests_that_exist() -> None:
    assert len(promises()) > 45
    assert [promise for promise, tests in promises().items() if not tests] == []
    for test in {test for tests in promises().values() for test in tests}:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, _DEFINITION)}, test


def test_each_file_that_the_security_page_names_exists() -> None:
    named = re.findall(r"`((?:tests|src|scripts)/[\w./-]+)(?:::\w+)?`", text_of("SECURITY.md"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_file_of_a_trail_names_the_next_one_where_it_begins() -> None:
    rows = [[file for file, _ in functions_in(row)] for row in trails().splitlines()]
    assert sorted(map(len, filter(None, rows))) == [2, 3, 3, 3, 3]
    for file, following in (pair for row in rows for pair in pairwise(row)):
        beginning = ast.get_docstring(ast.parse((PACKAGE / file).read_text())) or ""
        assert Path(following).name in beginning, f"{file} does not name {following}"


def test_the_method_states_no_number_that_could_be_behind_the_code() -> None:
    """But of years, RFCs, formulas and what is simulated; numbers are in pages where a test holds them."""
    text = prose("docs/method.md").partition("## Sources")[0]
    text = re.sub(rf"{BEGIN}.*{END}", "", text, flags=re.DOTALL)  # held by test_simulate.py
    bare = re.sub(
        r"\(https?://[^)]*\)|RFC [\d, ]+|IEEE 802\.3|§[\d.]+|`[^`]*`|80 PLUS|3 GHz|1[89]\d\d|20\d\d", "", text
    )
    bare = (
        bare.replace("÷ efficiency of 1:", "")
        .replace("T(1)", "")
        .replace("(1 − idle", "")
        .replace("never 0", "")
    )
    bare = re.sub(r"Biometrika 34|SPECpower_ssj|7323, 7348, 8926|\[[^]]*\]\([^)]*\)", "", bare)
    assert re.findall(r"\S*\d\S*", bare) == []


@cache
def said_by_the_code() -> frozenset[str]:
    """Every text of the program, ``…`` in place of what is put into it; behind where an error was, too."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (one.value if isinstance(one, ast.Constant) else "…" for one in node.values)
                found.add(" ".join("".join(map(str, parts)).split()))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(" ".join(node.value.split()))
    return frozenset([*found, *(f"…: {text}" for text in found)])


def symptoms() -> list[str]:
    """The messages in the first column of the tables of the page."""
    rows = re.findall(r"^\| (`+) ?(.+?) ?\1 \| ", text_of("docs/troubleshooting.md"), re.MULTILINE)
    return [message for _, message in rows]


def is_said(message: str) -> bool:
    parts = [part.strip() for part in message.split("…") if part.strip()]
    if message.removesuffix(": …") in said_by_the_code():
        return True
    return any(_in_turn(parts, text) for text in said_by_the_code() if parts[0] in text)


def _in_turn(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def test_every_message_that_troubleshooting_quotes_is_one_of_the_program() -> None:
    quoted = symptoms()
    assert len(quoted) > 40
    assert [message for message in quoted if not is_said(message)] == []
    assert not is_said("…: no such result beneath …; …"), "a message that is not there would be noticed"


def test_every_finding_that_a_page_links_to_is_one() -> None:
    linked = {
        code for document in DOCUMENTS for code in re.findall(r"findings\.md#([\w-]+)\)", text_of(document))
    }
    assert len(linked) > 20
    assert linked <= set(catalogue())


def test_each_tool_that_linewatt_is_compared_with_was_looked_at_on_a_day() -> None:
    rows = re.findall(
        r"^\| \[([\w -]+)\]\(https://github\.com/\S+\) \| .*`[0-9a-f]{7}`, (\d{4}-\d\d-\d\d) \|",
        text_of("docs/differs.md"),
        re.MULTILINE,
    )
    assert [name for name, _ in rows] == [
        "flent",
        "LNST",
        "Nepta",
        "crucible",
        "k8s-netperf",
        "Phoronix Test Suite",
    ]
    headings = re.findall(r"^## (.+)$", text_of("docs/differs.md"), re.MULTILINE)
    assert {name for name, _ in rows} <= set(headings)


def test_every_page_has_a_place_in_the_index() -> None:
    linked = {
        str((ROOT / "docs" / link).resolve().relative_to(ROOT))
        for link in re.findall(r"^- \[.+?\]\(([\w/.-]+\.md)\)", text_of("docs/index.md"), re.MULTILINE)
    }
    assert linked <= set(DOCUMENTS)
    without = set(DOCUMENTS) - linked - {"docs/index.md", "README.md"}
    assert not without, f"name these in docs/index.md: {sorted(without)}"


def test_pages_are_markdown_that_a_forge_shows_as_it_is() -> None:
    """No directives or roles of the generator, and no mathematics that needs a script."""
    marks = re.compile(r"^```\{|^:::|\{[\w:-]+\}`|^\$\$|^\(.*\)=$", re.MULTILINE)
    assert {name: found for name in DOCUMENTS if (found := marks.findall(text_of(name)))} == {}


def test_examples_that_pages_link_to_are_there() -> None:
    for document in DOCUMENTS:
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose(document)):
            assert (ROOT / Path(document).parent / link).exists(), f"{document}: {link}"


def anchors_of(text: str) -> set[str]:
    """Anchors of the headings that links can name, as GitHub makes them."""
    counted: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[(.+?)\]\(.*?\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        anchors.add(f"{anchor}-{counted[anchor]}" if counted[anchor] else anchor)
        counted[anchor] += 1
    return anchors


def test_every_link_to_a_heading_leads_to_one() -> None:
    links = [
        (document, link, anchor)
        for document in DOCUMENTS
        for link, anchor in re.findall(r"\]\(([^)#:\s]*\.md|)#([^)\s]+)\)", prose(document))
    ]
    assert len(links) > 200
    headings = {ROOT / document: anchors_of(prose(document)) for document in DOCUMENTS}
    for document, link, anchor in links:
        target = (ROOT / document).parent / link if link else ROOT / document
        assert anchor in headings[target.resolve()], f"{document}: {link}#{anchor}"


def test_headings_have_the_anchors_of_a_forge() -> None:
    text = "# Results for others: `linewatt export`\n## A [b](c.md), d\n## A b d\n"
    assert anchors_of(text) == {"results-for-others-linewatt-export", "a-b-d", "a-b-d-1"}
