# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md: a row for each fault, of the newest run that had it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.faults.kinds import FAULTS
from tests.faults.moment import KINDS, Outcome

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
HEADER = """# Faults

Written by `make faults`; do not edit it. Each moment is a short campaign on two lab hosts (network
namespaces, real sshd, iperf3 and mpstat) that changes a sysctl and the MTU for all of it and an offload
as factors, and one fault at a random time between its start and its end. Then `linewatt restore` and
`linewatt resume`. What the hosts show (addresses, routes, queueing, offloads, rings, sysctls, steering) is
read before and after by `ip`, `tc`, `ethtool` and `sysctl` alone, by code that shares nothing with
linewatt. A run that ends before its first trial leaves no result to resume: it has no trials done.

`tests/vm/test_killed.py` is of [virtual machines](lab.md#virtual-machines) with real drivers, TuneD and
irqbalance: it kills a controller in a phase of an experiment, or a `restore` of it on its way.

The numbers below `hosts changed` and behind it are moments in which that was seen:

- **hosts changed**: something was not as before, after `restore` or after `resume`; or `restore` did not
  end with 0.
- **processes left**: something ran on a host 2 s after its controller had ended.
- **trials lost**: what was said to be stored was not there, or was another after `resume`, or some were
  missing then.
- **trials doubled**: two with one number.
- **falsely done**: done, and its server got nothing, its raw output is cut, or its link was down in its
  window.
- **tracebacks**, **hung**: of any command; one hangs that does not end in four minutes.

"""


def written(before: str, outcomes: Sequence[Outcome]) -> str:
    """The page with the rows of these outcomes; rows of other faults stay as they are."""
    rows = dict(_rows(before))
    for fault in FAULTS:
        own = [one for one in outcomes if one.fault == fault.name]
        if own:
            rows[fault.name] = _row(fault.name, own)
    head = ("fault", "moments", "seed", "trials done", "trials failed", *KINDS)
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [rows[fault.name] for fault in FAULTS if fault.name in rows]
    return HEADER + "\n".join(lines) + "\n"


def _rows(page: str) -> Iterator[tuple[str, str]]:
    """Fault → its row as it stands."""
    names = {fault.name for fault in FAULTS}
    for line in page.splitlines():
        name = line.strip("| ").partition(" | ")[0]
        if line.startswith("| ") and name in names:
            yield name, line


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    harmed = (sum(kind in one.harm for one in outcomes) for kind in KINDS)
    done, failed = sum(one.trials_done for one in outcomes), sum(one.trials_failed for one in outcomes)
    return _line([name, len(outcomes), outcomes[0].seed, done, failed, *harmed])


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
