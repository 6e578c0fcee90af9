# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML: a test a verdict, so that a pipeline names the case that became slower.

A change for the worse that was asked about is a failure, a verdict that cannot be given is skipped with its
reason, and so is a case that only one side has. Elements and attributes are those of the schema of Jenkins
(xunit-plugin, junit-10.xsd).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # writes, and reads nothing
from collections.abc import Sequence

from linewatt.analysis.comparison import Comparison, Finding, responses_asked_for
from linewatt.foreign import one_line
from linewatt.report.comparison.remarks import difference_lines, heading, lab_words, names_of_cases
from linewatt.report.comparison.tables import Line, ResponseTable, tables
from linewatt.report.comparison.terminal import ENDING_BY_EXIT_CODE

UNMATCHED = "Unmatched"
_NO_SIGN_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(comparison: Comparison, verdict: Finding, fail_on: Sequence[str]) -> str:
    """The document. Nothing was timed for it, so that it has no times."""
    groups = responses_asked_for(fail_on)
    tests = [_test(table, line, groups) for table in tables(comparison) for line in table.lines]
    tests += _unmatched(comparison)
    if not tests:
        tests = [_skipped(_case("Comparison", "anything"), verdict.words or "nothing was compared")]
    title = f"linewatt compare {comparison.base.id}" + (
        "" if comparison.levels else f" {comparison.other.id}"
    )
    counts = {
        "tests": str(len(tests)),
        "failures": str(sum(test.find("failure") is not None for test in tests)),
        "errors": "0",
    }
    root = ET.Element("testsuites", {"name": "linewatt compare", **counts})
    skipped = str(sum(test.find("skipped") is not None for test in tests))
    suite = ET.SubElement(root, "testsuite", {"name": _clean(title), **counts, "skipped": skipped})
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("base", comparison.base.id),
        ("other", comparison.other.id),
        ("by", comparison.options.by or ""),
        ("fail-on", ",".join(fail_on) or "nothing"),
        ("exit-code", str(verdict.exit_code)),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(tests)
    ET.SubElement(suite, "system-out").text = _surroundings(comparison, verdict)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _test(table: ResponseTable, line: Line, groups: frozenset[str]) -> ET.Element:
    row, words = line.row, line.words
    test = _case(table.title, line.case)
    if row.outcome == "worse" and row.response.group in groups:
        failure = ET.SubElement(test, "failure", {"message": _clean(words), "type": row.response.worse})
        failure.text = _clean(f"{line.case}: {words}")
    elif row.outcome in ("undecided", "refused"):
        return _skipped(test, words)
    else:
        ET.SubElement(test, "system-out").text = _clean(words)
    return test


def _unmatched(comparison: Comparison) -> list[ET.Element]:
    names = names_of_cases([unmatched.case for unmatched in comparison.left_over])
    return [
        _skipped(
            _case(UNMATCHED, f"{name}, in {unmatched.side}"), f"only in {unmatched.side}: {unmatched.why}"
        )
        for unmatched, name in zip(comparison.left_over, names, strict=True)
    ]


def _case(group: str, name: str) -> ET.Element:
    """A full stop would make packages of it where tests are sorted by class."""
    return ET.Element("testcase", {"classname": _clean(f"linewatt.{group}"), "name": _clean(name)})


def _skipped(test: ET.Element, why: str) -> ET.Element:
    ET.SubElement(test, "skipped", {"message": _clean(why)})
    return test


def _surroundings(comparison: Comparison, verdict: Finding) -> str:
    sentences = [f"{ENDING_BY_EXIT_CODE[verdict.exit_code]}: {verdict.words}"] if verdict.words else []
    sentences += [*lab_words(comparison), *heading(comparison)]
    sentences += difference_lines(
        [difference for difference in comparison.differences if difference.rank is not None]
    )
    return "\n".join(map(_clean, sentences))


def _clean(text: str) -> str:
    """One line, without what XML 1.0 has no sign for."""
    return _NO_SIGN_OF_XML.sub("\ufffd", one_line(text))
