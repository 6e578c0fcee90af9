# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt report`` and ``show`` of 10,000 trials cost, beside json reading the same files.

And what it costs a browser to open that page, beside one of ten cases.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.compare_1000 import PARSE
from bench.compare_results import CASES, TRIALS, write_one
from bench.effort import Effort
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row, Target, of_a_part
from bench.soak_report import timed
from linewatt.errors import InvalidInput
from linewatt.report.printing.pdf import find_browser

ABOUT_S = 120


def measure(effort: Effort) -> list[Row]:
    """In turn; the files are in the page cache."""
    cases = effort.of(CASES, CASES // 10, 5)
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory)
        result = write_one(root / "20260101-000000-base", cases, TRIALS, seed=1)
        page = root / "report.html"
        of_it = [result.name, "--results", directory]
        commands: dict[str, Sequence[str]] = {
            "report": [*COMMAND, "report", *of_it, "-o", str(page)],
            "show": [*COMMAND, "show", *of_it, "--full"],
            "parse": [sys.executable, "-c", PARSE, str(result)],
        }
        environment = {**os.environ, "XDG_CACHE_HOME": directory}
        turns = [
            {name: timed(argv, environment) for name, argv in commands.items()}
            for _ in range(effort.of(3, 2, 1))
        ]
        size_mb = page.stat().st_size / 1e6
        few = write_one(root / "20260102-000000-few", 10, TRIALS, seed=2)
        opened = _opened(root, few, page, environment, turns=effort.of(7, 3, 1))
        shown = [*_shown(root, result, effort), *_shown(root, few, effort)]
    cpu = {name: tuple(turn[name][1] for turn in turns) for name in commands}
    memory = tuple(turn["report"][2] for turn in turns)
    peer = Peer("json.loads of the same files", cpu["parse"])
    what = f"{cases * TRIALS:,} trials of {cases:,} cases"
    note = f"a page of {size_mb:.1f} MB"
    rows = [
        Row(f"report of {what}, CPU", "s", cpu["report"], Target(at_most=6.0), peer, note),
        Row("– most memory of the process", "mib", memory, Target(at_most=286)),
        Row("– show --full of the same, CPU", "s", cpu["show"], Target(at_most=3.0)),
        *opened,
        *shown,
    ]
    return rows if effort is Effort.WHOLE else of_a_part(rows)


def _shown(root: Path, result: Path, effort: Effort) -> list[Row]:
    """``show`` of a result with nothing kept of it, and again, in turn."""
    argv = [*COMMAND, "show", result.name, "--results", str(root)]
    first_s, again_s = [], []
    for turn in range(effort.of(7, 3, 1)):
        environment = {**os.environ, "XDG_CACHE_HOME": str(root / f"cache-{result.name}-{turn}")}
        first_s.append(timed(argv, environment)[0])
        again_s.append(timed(argv, environment)[0])
    trials = len(list((result / "trials").iterdir()))
    target = Target(at_most=1.5 if trials > 1000 else 0.35)
    return [
        Row(f"show of {trials:,} trials, the first time", "s", tuple(first_s), target),
        Row("– again", "s", tuple(again_s), target),
    ]


def _opened(root: Path, few: Path, page: Path, environment: dict[str, str], *, turns: int) -> list[Row]:
    """In turn with the page of ten cases. Raises MeasurementFailed where there is no browser."""
    from playwright.sync_api import sync_playwright

    from bench.opening import opening

    small = root / "small.html"
    timed([*COMMAND, "report", few.name, "--results", str(root), "-o", str(small)], environment)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        found = [(opening(chromium, page), opening(chromium, small)) for _ in range(turns)]
        chromium.close()
    beside = Peer("a page of 10 cases", tuple(one.loaded_s for _, one in found))
    large = [one for one, _ in found]
    return [
        Row(
            "opening its page in Chromium",
            "s",
            tuple(one.loaded_s for one in large),
            Target(at_most=1.5),
            beside,
        ),
        Row("– until its answer is painted", "s", tuple(one.answer_s for one in large)),
        Row("– CPU of the page", "s", tuple(one.cpu_s for one in large), Target(at_most=1.5)),
    ]


def _chromium() -> str:
    try:
        return find_browser()
    except InvalidInput as error:
        raise MeasurementFailed(str(error).replace("--format pdf", "opening a page")) from None
