# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt compare`` prints, and its page begins with: the verdict, what differs, what changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linewatt.analysis.comparison.compare import Comparison, Finding
from linewatt.analysis.comparison.rows import Row
from linewatt.foreign import one_line
from linewatt.report.columns import change_figures, response_words
from linewatt.report.comparison.tables import Line as Told
from linewatt.report.comparison.tables import ResponseTable, single_ratio, tables, tally
from linewatt.report.comparison.terminal import COLOURS, ENDS
from linewatt.report.comparison.words import difference_lines, heading, lab_words, side_names
from linewatt.report.printing.screen import Block, Entry, Line, Screen
from linewatt.report.series import plural
from linewatt.units import first_of


def first_screen(found: Comparison, verdict: Finding) -> Screen:
    """The tally of each response, what else differs, and the largest changes."""
    shown = tables(found)
    outcome = f"{ENDS[verdict.exit_code]}: {verdict.words}" if verdict.words else ""
    tallies = list(_tallies(found))
    first = (outcome or (tallies[0] if tallies else "Nothing was compared")).rstrip(".")
    run = found.base.single_run
    doubt = "" if run is None or _has_verdicts(found) else one_run(run.kind.name)
    *sides, turn = heading(found) if not found.levels else [*heading(found), ""]
    entries = tuple((Line("", prose=one),) for one in tallies)
    colour = COLOURS[verdict.exit_code] if verdict.words else ""
    blocks = (
        Block("Verdict", entries, outcome, rest="response", least=2, style=f"bold {colour}".strip()),
        Block("What differs", tuple(_differs(found)), _surely(found), rest="difference"),
        Block("Largest changes", tuple(_changes(shown)), _changes_words(found), rest="comparison", least=2),
        Block("Without a verdict", tuple((Line("", prose=one),) for one in _open(found)), rest="reason"),
    )
    return Screen(
        " against ".join(reversed(side_names(found))),
        tuple(line for line in sides if line),
        tuple(line for line in (*lab_words(found), turn, doubt) if line),
        f"{first}. {tallies[0] if outcome and tallies else ''}".strip(),
        "",
        blocks,
        (_command(found),),
        "compare --full",
        lists=(replace(blocks[0], remark=""), *blocks[1:]),
    )


MOST_NAMED = 3
"""responses with the same tally"""


def one_run(name: str) -> str:
    """What to do where results of one run each have no verdict."""
    return f"One {name} is one run: name several per side, compare A1,A2,A3,A4 B1,B2,B3,B4"


def _has_verdicts(found: Comparison) -> bool:
    return any(row.verdict.change is not None for row in found.rows)


def _tallies(found: Comparison) -> Iterator[str]:
    """Verdicts counted by response; responses whose counts are alike together."""
    alike: dict[str, list[str]] = {}
    for one in found.responses:
        alike.setdefault(tally([*found.of(one)]), []).append(one.title)
    for counted, titles in alike.items():
        each = " each" if len(titles) > 1 else ""
        yield f"{first_of(titles, MOST_NAMED, between=', ')}: {counted}{each}"


def _command(found: Comparison) -> str:
    sides = [found.base] if found.levels else [found.base, found.other]
    names = " ".join(",".join(one_line(run.id) for run in side.runs) for side in sides)
    if found.hosts is not None:
        return f"linewatt compare {' '.join(f'{names}:{one_line(host)}' for host in found.hosts)} --full"
    by = f" --by {found.options.by}" if found.options.by else ""
    return f"linewatt compare {names}{by} --full"


def _surely(found: Comparison) -> str:
    if found.differences or found.levels or not found.pairs:
        return ""
    return "nothing else that is on record of the hosts"


def _differs(found: Comparison) -> Iterator[Entry]:
    """What differs as asked, then what else matters, then how much more there is."""
    expected = [one for one in found.differences if one.expected]
    matter = [one for one in found.differences if one.rank is not None and not one.expected]
    others = len(found.differences) - len(matter) - len(expected)
    for line in difference_lines(expected):
        yield (Line("", prose=f"{line} (with {found.options.by})"),)
    for line in difference_lines(matter):
        yield (Line("", prose=line),)
    if others:
        yield (Line("", prose=f"and {plural(others, 'difference')} of less weight: compare --json"),)


def _changes_words(found: Comparison) -> str:
    base, other = side_names(found)
    if not _has_verdicts(found):
        return (
            f"{other} against {base}, none beyond doubt"
            if found.base.single_run is not None
            else "none can be told"
        )
    return f"{other} against {base} (95 % CI), those that count first"


def _changes(shown: tuple[ResponseTable, ...]) -> Iterator[Entry]:
    """A line a case with what changed most of it, those that count first, the largest first."""
    cases: dict[object, list[tuple[Told, ResponseTable]]] = {}
    for table in shown:
        for line in table.lines:
            if line.row.verdict.change is not None or single_ratio(line.row) is not None:
                own = (line.row.match, line.row.pairs, line.row.response if table.of_task else None)
                cases.setdefault(own, []).append((line, table))
    for lines in sorted(cases.values(), key=lambda own: max(_size(line) for line, _ in own), reverse=True):
        yield _change(lines)


def _size(line: Told) -> tuple[bool, bool, float]:
    change, alone = line.row.verdict.change, single_ratio(line.row)
    size = abs(change.value) if change else abs(alone - 1) if alone else 0.0
    return line.told, line.row.response.relative, size


def _change(lines: list[tuple[Told, ResponseTable]]) -> Entry:
    """The first response that counts, and the others that do; else the first, and why it does not."""
    told = [one for one in lines if one[0].told]
    line, table = (told or lines)[0]
    test = "" if table.of_task else f"{table.title.rpartition(', ')[2]}, "
    about = line.case if table.of_task else f"{test}{line.case}"
    alone = single_ratio(line.row)
    if line.row.verdict.change is None and alone is not None:
        return (Line(about, (f"{alone:.3f} × as much",), "no verdict"),)
    figures = (response_words(line.row.response), *_figures(line.row))
    if not told:
        return (Line(about, figures, line.row.verdict.words.partition(":")[0].partition(",")[0]),)
    also = [f"{response_words(one.row.response)} {_figures(one.row)[0]}" for one, _ in told[1:]]
    word = _word(line.row)
    return Line(about, figures, f"{word}; also {', '.join(also)}" if also else word), Line(
        about, figures, word
    )


def _figures(row: Row) -> tuple[str, ...]:
    return change_figures(row.response, row.verdict, row.provenance)


def _word(row: Row) -> str:
    """``slower``, ``less loss``."""
    change = row.verdict.change
    grew = change is not None and change.value > 0
    return row.response.more if grew else row.response.less


def _open(found: Comparison) -> Iterator[str]:
    """What has no verdict, by reasons that are alike, and what had no partner."""
    counts: dict[str, int] = {}
    for row in found.rows:
        if row.verdict.change is None:
            counts[row.verdict.words] = counts.get(row.verdict.words, 0) + 1
    for words, count in counts.items():
        yield f"{plural(count, 'comparison')}: {words}"
    sides: dict[tuple[str, str], int] = {}
    for one in found.left_over:
        sides[one.side, one.why] = sides.get((one.side, one.why), 0) + 1
    for (side, why), count in sides.items():
        yield f"{plural(count, 'case')} only in {side}: {why}"
