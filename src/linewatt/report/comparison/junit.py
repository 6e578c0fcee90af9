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

from linewatt.analysis.comparison.compare import Comparison, Finding, asked_for
from linewatt.foreign import one_line
from linewatt.report.comparison.tables import Line, ResponseTable, tables
from linewatt.report.comparison.terminal import ENDS
from linewatt.report.comparison.words import difference_lines, heading, lab_words, names_of

UNMATCHED = "Unmatched"
_NO_SIGN_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(found: Comparison, verdict: Finding, fail_on: Sequence[str]) -> str:
    """The document. Nothing was timed for it, so that it has no times."""
    groups = asked_for(fail_on)
    tests = [_test(table, line, groups) for table in tables(found) for line in table.lines]
    tests += _unmatched(found)
    if not tests:
        tests = [_skipped(_case("Comparison", "anything"), verdict.words or "nothing was compared")]
    title = f"linewatt compare {found.base.id}" + ("" if found.levels else f" {found.other.id}")
    counts = {
        "tests": str(len(tests)),
        "failures": str(sum(one.find("failure") is not None for one in tests)),
        "errors": "0",
    }
    root = ET.Element("testsuites", {"name": "linewatt compare", **counts})
    skipped = str(sum(one.find("skipped") is not None for one in tests))
    suite = ET.SubElement(root, "testsuite", {"name": _clean(title), **counts, "skipped": skipped})
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("base", found.base.id),
        ("other", found.other.id),
        ("by", found.options.by or ""),
        ("fail-on", ",".join(fail_on) or "nothing"),
        ("exit-code", str(verdict.exit_code)),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(tests)
    ET.SubElement(suite, "system-out").text = _surroundings(found, verdict)
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


def _unmatched(found: Comparison) -> list[ET.Element]:
    names = names_of([one.case for one in found.left_over])
    return [
        _skipped(_case(UNMATCHED, f"{name}, in {one.side}"), f"only in {one.side}: {one.why}")
        for one, name in zip(found.left_over, names, strict=True)
    ]


def _case(group: str, name: str) -> ET.Element:
    """A full stop would make packages of it where tests are sorted by class."""
    return ET.Element("testcase", {"classname": _clean(f"linewatt.{group}"), "name": _clean(name)})


def _skipped(test: ET.Element, why: str) -> ET.Element:
    ET.SubElement(test, "skipped", {"message": _clean(why)})
    return test


def _surroundings(found: Comparison, verdict: Finding) -> str:
    said = [f"{ENDS[verdict.exit_code]}: {verdict.words}"] if verdict.words else []
    said += [*lab_words(found), *heading(found)]
    said += difference_lines([one for one in found.differences if one.rank is not None])
    return "\n".join(map(_clean, said))


def _clean(text: str) -> str:
    """One line, without what XML 1.0 has no sign for."""
    return _NO_SIGN_OF_XML.sub("\ufffd", one_line(text))
