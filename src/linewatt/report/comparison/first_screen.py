# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt compare`` prints, and its page begins with: the verdict, what differs, what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from linewatt.analysis.comparison import Comparison, Finding, Row
from linewatt.findings import kind_of
from linewatt.foreign import one_line
from linewatt.report.columns import change_figures, response_words
from linewatt.report.comparison.remarks import difference_lines, heading, lab_words, side_names
from linewatt.report.comparison.tables import Line as Told
from linewatt.report.comparison.tables import ResponseTable, names_of_pair, single_ratio, tables, tally
from linewatt.report.comparison.terminal import COLOUR_BY_EXIT_CODE, ENDING_BY_EXIT_CODE
from linewatt.report.findings import FIGURE_WORDS
from linewatt.report.printing.screen import Block, Entry, Line, Screen
from linewatt.report.series import plural
from linewatt.units import first_of


def first_screen_of_comparison(comparison: Comparison, verdict: Finding) -> Screen:
    """The tally of each response, what else differs, and the largest changes."""
    shown = tables(comparison)
    outcome = f"{ENDING_BY_EXIT_CODE[verdict.exit_code]}: {verdict.words}" if verdict.words else ""
    tallies = list(_tallies(comparison))
    first = (outcome or (tallies[0] if tallies else "Nothing was compared")).rstrip(".")
    run = comparison.base.single_run
    doubt = "" if run is None or _has_verdicts(comparison) else one_run(run.kind.name)
    title = heading(comparison, in_short=True)
    *sides, turn = title if not comparison.levels else [*title, ""]
    entries = tuple((Line("", prose=words),) for words in tallies)
    colour = COLOUR_BY_EXIT_CODE[verdict.exit_code] if verdict.words else ""
    base_name, compared_name = side_names(comparison)
    counted = f"{compared_name} against {base_name}" + ("" if _is_of_one_case(comparison) else _COUNTED)
    unsaid_entries = entries[1:]  # on a page, whose first sentence has the first of them
    blocks = (
        Block(
            "Verdict" if outcome else "Verdicts",
            entries,
            outcome or (counted if entries else ""),
            rest="response",
            least=2,
            style=f"bold {colour}".strip(),
        ),
        Block("Doubtful", tuple((Line("", prose=words),) for words in _doubts(comparison)), rest="finding"),
        Block("What differs", tuple(_differs(comparison)), _surely(comparison), rest="difference"),
        Block(
            "Largest changes", tuple(_changes(shown)), _changes_words(comparison), rest="comparison", least=2
        ),
        Block(
            "Without a verdict", tuple((Line("", prose=words),) for words in _open(comparison)), rest="reason"
        ),
    )
    return Screen(
        f"{compared_name} against {base_name}",
        tuple(line for line in sides if line),
        tuple(line for line in (*lab_words(comparison), turn, doubt) if line),
        f"{first}. {tallies[0] if outcome and tallies else ''}".strip(),
        "",
        blocks,
        (_command(comparison),),
        "compare --full",
        lists=(replace(blocks[0], entries=unsaid_entries, remark=""), *blocks[1:]),
    )


MOST_NAMED = 3
"""responses with the same tally"""


def one_run(name: str) -> str:
    """What to do where results of one run each have no verdict."""
    return f"One {name} is one trial: name several per side, compare A1,A2,A3,A4 B1,B2,B3,B4"


def _has_verdicts(comparison: Comparison) -> bool:
    return any(row.verdict.change is not None for row in comparison.rows)


_COUNTED = ", counted by quantity"


def _is_of_one_case(comparison: Comparison) -> bool:
    """Whether counts of its verdicts would say less than its verdicts do."""
    return len(comparison.pairs) == 1 and comparison.base.single_run is None


def _tallies(comparison: Comparison) -> Iterator[str]:
    """Verdicts counted by response, those whose counts are alike together; of a single case each verdict."""
    is_single = _is_of_one_case(comparison)
    alike: dict[str, list[str]] = {}
    for response in comparison.responses:
        rows = [*comparison.of(response)]
        alike.setdefault(_verdict_in_full(rows[0]) if is_single else tally(rows), []).append(response.title)
    for counted, titles in alike.items():
        suffix = " each" if len(titles) > 1 and not is_single else ""
        yield f"{first_of(titles, MOST_NAMED, between=', ')}: {counted}{suffix}"


def _verdict_in_full(row: Row) -> str:
    """``+3.5 % (−10.8 to +20.0): interval too wide; …``, ``−3.0 % (−3.4 to −2.6): slower``."""
    verdict = row.verdict
    if row.outcome in ("better", "worse"):
        words = f"{_word(row)}{verdict.details}"
    else:
        words = f"{verdict.brief}; {verdict.advice}" if verdict.advice else verdict.words
    figures = " ".join(_figures(row))
    return f"{figures}: {words}" if figures else words


def _command(comparison: Comparison) -> str:
    sides = [comparison.base] if comparison.levels else [comparison.base, comparison.other]
    names = " ".join(",".join(one_line(run.id) for run in side.runs) for side in sides)
    if comparison.hosts is not None:
        return f"linewatt compare {' '.join(f'{names}:{one_line(host)}' for host in comparison.hosts)} --full"
    by = f" --by {comparison.options.by}" if comparison.options.by else ""
    return f"linewatt compare {names}{by} --full"


def _surely(comparison: Comparison) -> str:
    if comparison.differences or comparison.levels or not comparison.pairs:
        return ""
    return "no other difference of the hosts is on record"


def _doubts(comparison: Comparison) -> Iterator[str]:
    """Findings that make figures doubtful whatever their size, and how many trials of each side have them."""
    trials_by_code: dict[str, Counter[str]] = {}
    for pair in comparison.pairs:
        sides = zip(names_of_pair(pair, comparison), (pair.base_flags, pair.other_flags), strict=True)
        for name, flags in sides:
            for flag in flags:
                trials_by_code.setdefault(flag.code, Counter())[name] += flag.trials
    for code, trials in trials_by_code.items():
        kind = kind_of(code)
        if kind.rank == "doubtful" and kind.weighed is None:
            figures = ", ".join(FIGURE_WORDS[figure] for figure in kind.figures)
            where = " and ".join(f"{plural(count, 'trial')} of {name}" for name, count in trials.items())
            yield f"{figures}: {kind.title} in {where}"


def _differs(comparison: Comparison) -> Iterator[Entry]:
    """What differs as asked, then what else matters, then how much more there is."""
    expected = [difference for difference in comparison.differences if difference.expected]
    matter = [
        difference
        for difference in comparison.differences
        if difference.rank is not None and not difference.expected
    ]
    others = len(comparison.differences) - len(matter) - len(expected)
    for line in difference_lines(expected):
        yield (Line("", prose=f"{line} (with {comparison.options.by})"),)
    for line in difference_lines(matter):
        yield (Line("", prose=line),)
    if others:
        yield (Line("", prose=f"and {plural(others, 'difference')} of less weight: compare --json"),)


def _changes_words(comparison: Comparison) -> str:
    base, compared = side_names(comparison)
    if not _has_verdicts(comparison):
        return (
            f"{compared} against {base}, none beyond doubt"
            if comparison.base.single_run is not None
            else "none can be told"
        )
    return f"{compared} against {base} (95 % CI), those with a verdict first"


def _changes(shown: tuple[ResponseTable, ...]) -> Iterator[Entry]:
    """A line a case with what changed most of it, those with a verdict first, the largest first."""
    cases: dict[object, list[tuple[Told, ResponseTable]]] = {}
    for table in shown:
        for line in table.lines:
            if line.row.verdict.change is not None or single_ratio(line.row) is not None:
                case_key = (line.row.match, line.row.pairs, line.row.response if table.of_task else None)
                cases.setdefault(case_key, []).append((line, table))
    for lines in sorted(
        cases.values(), key=lambda case_lines: max(_size(line) for line, _ in case_lines), reverse=True
    ):
        yield _change(lines)


def _size(line: Told) -> tuple[bool, bool, float]:
    change, alone = line.row.verdict.change, single_ratio(line.row)
    size = abs(change.value) if change else abs(alone - 1) if alone else 0.0
    return line.told, line.row.response.relative, size


def _change(lines: list[tuple[Told, ResponseTable]]) -> Entry:
    """The first response that counts, and the others that do; else the first, and why it does not."""
    changed = [line for line in lines if line[0].told]
    line, table = (changed or lines)[0]
    about = line.case if table.of_task else f"{table.subject}, {line.case}"
    alone = single_ratio(line.row)
    if line.row.verdict.change is None and alone is not None:
        return (Line(about, (f"{alone:.3f} × as much",), "no verdict"),)
    figures = (response_words(line.row.response), *_figures(line.row))
    if not changed:
        return (Line(about, figures, line.row.verdict.brief),)
    also = [
        f"{response_words(changed_line.row.response)} {_figures(changed_line.row)[0]}"
        for changed_line, _ in changed[1:]
    ]
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


def _open(comparison: Comparison) -> Iterator[str]:
    """What has no verdict, by reasons that are alike, and what had no partner."""
    reasons = Counter(row.verdict.words for row in comparison.rows if row.verdict.change is None)
    for words, count in reasons.items():
        yield f"{plural(count, 'comparison')}: {words}"
    sides = Counter((unmatched.side, unmatched.why) for unmatched in comparison.left_over)
    for (side, why), count in sides.items():
        yield f"{plural(count, 'case')} only in {side}: {why}"
