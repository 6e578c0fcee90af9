# SPDX-License-Identifier: Apache-2.0
"""``python -m bench [NAME…] [--quick | --smoke] [--json FILE] [--markdown FILE]``: measure, print one table.

A report, never a gate.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import (
    campaign_edges,
    capacity,
    compare_1000,
    ftp_users,
    growth,
    hosts96,
    list_1000,
    machine,
    own_cpu,
    place_512,
    placement_hosts96,
    power_sweeps,
    report_10000,
    serve_1000,
    serve_silent,
    soak_report,
    startup,
    storing,
    throughput_paired,
    trial_overhead,
    whole_run,
)
from bench.effort import Effort
from bench.rows import Measurement, MeasurementFailed, Row, as_dict, markdown, of_a_part, table
from linewatt.errors import LinewattError

SCHEMA_VERSION = 1

_WAITS = (
    startup,
    storing,
    list_1000,
    compare_1000,
    report_10000,
    trial_overhead,
    campaign_edges,
    whole_run,
    own_cpu,
    hosts96,
)
"""of what a user waits for, and what hosts bear: 20 minutes together"""
_OTHERS = (
    place_512,
    serve_1000,
    serve_silent,
    soak_report,
    capacity,
    power_sweeps,
    ftp_users,
    placement_hosts96,
    throughput_paired,
    growth,
)
ALL = "all"


def _by_name(modules: Iterable[ModuleType]) -> dict[str, tuple[Callable[[Effort], list[Row]], int]]:
    return {one.__name__.removeprefix("bench."): (one.measure, one.ABOUT_S) for one in modules}


USUAL = tuple(_by_name(_WAITS))
USUAL_SMOKE = ("storing", "list_1000", "compare_1000", "campaign_edges")
"""half a minute, with each kind of rig: a lab at a terminal, made results, files"""
MEASUREMENTS = _by_name((*_WAITS, *_OTHERS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; 0 even where a target is missed, 1 where a measurement failed."""
    chosen = _parse(arguments)
    if os.geteuid() != 0:
        _say("network namespaces need root; run it as root: make bench")
        return 1
    interrupt_once()
    found = machine.look()
    print(found.heading() + "\n")
    names = _chosen(chosen.names, chosen.effort)
    done: list[Measurement] = []
    try:
        for name in names:
            done.append(_measured(name, chosen.effort))
    except KeyboardInterrupt:
        _say("interrupted; what was measured until now:")
    print("\n".join(table(done)))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(_document(found, done, chosen.effort), indent=1) + "\n")
    if chosen.markdown is not None:
        chosen.markdown.write_text("\n".join(markdown(done)) + "\n")
    if len(done) < len(names):
        return 130
    return 1 if any(one.failure for one in done) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Speed and cost of linewatt itself.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"one of: {', '.join(MEASUREMENTS)}, or {ALL}; none: {', '.join(USUAL)}; "
        f"with --smoke: {', '.join(USUAL_SMOKE)}",
    )
    efforts = parser.add_mutually_exclusive_group()
    for effort, what in (
        (Effort.QUICK, "fewer and shorter runs: a look, no evidence"),
        (Effort.SMOKE, "as little as possible: whether it still runs; nothing is compared with a target"),
    ):
        efforts.add_argument(
            f"--{effort.value}", dest="effort", action="store_const", const=effort, help=what
        )
    parser.set_defaults(effort=Effort.WHOLE)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value to this file as well")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the table to this file, as docs/bench.md has it"
    )
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in {*MEASUREMENTS, ALL}]
    if unknown:
        parser.error(f"no measurement called {', '.join(unknown)}; there are: {', '.join(MEASUREMENTS)}")
    return chosen


def _chosen(names: Sequence[str], effort: Effort) -> Sequence[str]:
    if ALL in names:
        return tuple(MEASUREMENTS)
    return names or (USUAL_SMOKE if effort is Effort.SMOKE else USUAL)


def _measured(name: str, effort: Effort) -> Measurement:
    """One measurement; that it failed is part of the answer."""
    measure, about_s = MEASUREMENTS[name]
    _say(f"{name}: about {effort.of(about_s, about_s // 3, 3)} s")
    began_s = time.monotonic()
    rows: list[Row] = []
    failure = None
    try:
        with machine.beside_others("self") as others:
            rows = measure(effort)
    except (MeasurementFailed, LinewattError, OSError, ValueError) as error:
        failure = f"{type(error).__name__}: {error}"
        _say(f"{name}: {failure}")
    if effort is Effort.SMOKE:
        rows = of_a_part(rows)
    return Measurement(name, tuple(rows), others.cores, time.monotonic() - began_s, failure)


def _document(found: machine.Machine, done: Sequence[Measurement], effort: Effort) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "machine": asdict(found),
        "effort": effort.value,
        "measurements": [as_dict(one) for one in done],
    }


def interrupt_once() -> None:
    """The first Ctrl-C, TERM or HUP ends the measuring; further ones wait until labs and groups are gone."""

    def interrupt(number: int, frame: object) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in _SIGNALS:
        signal.signal(each, interrupt)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _say(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
