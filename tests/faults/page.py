# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md: a row for each fault, of the newest run that had it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.faults.kinds import FAULTS
from tests.faults.moment import KINDS, Outcome

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
HEADER = """# Faults

Written by `make faults`; do not edit it. Each moment is a short campaign on two lab hosts (network
namespaces, real sshd, iperf3 and mpstat). The campaign changes a sysctl and the MTU throughout and an
offload as a factor. One fault occurs at a random time between its start and its end. Then `linewatt
restore` and `linewatt resume` run. Before and after, independent code reads the host state (addresses,
routes, queueing, offloads, rings, sysctls, steering) with `ip`, `tc`, `ethtool` and `sysctl`. A run that
ends before its first trial leaves no result to resume and counts no trials as done.

`tests/vm/test_killed.py` does this on [virtual machines](lab.md#virtual-machines) with real drivers, TuneD
and irqbalance: it kills a controller in a phase of an experiment, or a running `restore`.

The columns from `hosts changed` on count the moments with this problem:

- **hosts changed**: host state differed after `restore` or after `resume`, or `restore` did not exit with
  0.
- **processes left**: a process still ran on a host 2 s after its controller had ended.
- **trials lost**: a trial reported as stored was missing, or changed after `resume`; or trials were missing
  after `resume`.
- **trials doubled**: two trials had the same number.
- **falsely done**: a trial counted as done although its server received nothing, its raw output is cut, or
  its link was down in its window.
- **tracebacks**, **hung**: of any command. A command hangs if it does not end within four minutes.

"""
ANSWERS = """
## What linewatt did

Each row is a command of a fault, its exit status (or the signal that ended it), the last line of its
messages, and the number of moments with them. `N` stands for a number, `ID` for a result, `HOST` for a host,
`PATH` for a path.

"""


def written(before: str, outcomes: Sequence[Outcome]) -> str:
    """The page with the rows of these outcomes; rows of other faults stay as they are."""
    results_before, _, answers_before = before.partition(ANSWERS)
    results, answers = _rows(results_before), _rows(answers_before)
    for fault in FAULTS:
        of_fault = [outcome for outcome in outcomes if outcome.fault == fault.name]
        if of_fault:
            results[fault.name] = [_row(fault.name, of_fault)]
            answers[fault.name] = _answers(fault.name, of_fault)
    head = ("fault", "moments", "seed", "trials done", "trials failed", *KINDS)
    answers_head = ("fault", "command", "exit status", "moments", "last message")
    return HEADER + _table(head, results) + ANSWERS + _table(answers_head, answers)


def _table(head: Sequence[str], rows: dict[str, list[str]]) -> str:
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [line for fault in FAULTS for line in rows.get(fault.name, ())]
    return "\n".join(lines) + "\n"


def _rows(table: str) -> dict[str, list[str]]:
    """Fault → its rows as they stand."""
    rows: dict[str, list[str]] = {fault.name: [] for fault in FAULTS}
    for line in table.splitlines():
        name = line.strip("| ").partition(" | ")[0]
        if line.startswith("| ") and name in rows:
            rows[name].append(line)
    return rows


def _answers(name: str, outcomes: Sequence[Outcome]) -> list[str]:
    """A row for each way in which a command ended, in the order of commands, the most frequent first."""
    moments = Counter(answer for outcome in outcomes for answer in outcome.answers)
    commands = [*dict.fromkeys(answer.command for outcome in outcomes for answer in outcome.answers)]
    ordered = sorted(
        moments,
        key=lambda answer: (commands.index(answer.command), -moments[answer], answer.status, answer.sentence),
    )
    return [
        _line((name, f"`{row.command}`", row.status, moments[row], row.sentence.replace("|", "\\|")))
        for row in ordered
    ]


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    harmed = (sum(kind in one.harm for one in outcomes) for kind in KINDS)
    done, failed = sum(one.trials_done for one in outcomes), sum(one.trials_failed for one in outcomes)
    return _line([name, len(outcomes), outcomes[0].seed, done, failed, *harmed])


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
