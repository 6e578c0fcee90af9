# SPDX-License-Identifier: Apache-2.0
"""``python -m bench [NAME…] [--quick] [--json FILE] [--markdown FILE]``: measure, print one table.

A report, never a gate.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import (
    campaign_edges,
    capacity,
    compare_1000,
    ftp_users,
    hosts96,
    list_1000,
    machine,
    own_cpu,
    place_512,
    placement_hosts96,
    power_sweeps,
    report_10000,
    serve_1000,
    soak_report,
    startup,
    storing,
    throughput_paired,
    trial_overhead,
    whole_run,
)
from bench.rows import Measurement, MeasurementFailed, Row, as_dict, markdown, table
from linewatt.errors import LinewattError

SCHEMA_VERSION = 1

MEASUREMENTS: dict[str, tuple[Callable[..., list[Row]], int]] = {
    module.__name__.removeprefix("bench."): (module.measure, module.ABOUT_S)
    for module in (
        startup,
        storing,
        place_512,
        compare_1000,
        list_1000,
        report_10000,
        serve_1000,
        soak_report,
        trial_overhead,
        campaign_edges,
        whole_run,
        own_cpu,
        capacity,
        power_sweeps,
        ftp_users,
        hosts96,
        placement_hosts96,
        throughput_paired,
    )
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; 0 even where a target is missed, 1 where a measurement failed."""
    chosen = _parse(arguments)
    if os.geteuid() != 0:
        _say("network namespaces need root; run it as root: make bench")
        return 1
    interrupt_once()
    found = machine.look()
    print(found.heading() + "\n")
    done: list[Measurement] = []
    try:
        for name in chosen.names or MEASUREMENTS:
            done.append(_measured(name, quick=chosen.quick))
    except KeyboardInterrupt:
        _say("interrupted; what was measured until now:")
    print("\n".join(table(done)))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(_document(found, done, quick=chosen.quick), indent=1) + "\n")
    if chosen.markdown is not None:
        chosen.markdown.write_text("\n".join(markdown(done)) + "\n")
    if len(done) < len(chosen.names or MEASUREMENTS):
        return 130
    return 1 if any(one.failure for one in done) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Speed and cost of linewatt itself.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of: {', '.join(MEASUREMENTS)}; none: all"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs: a look, no evidence")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value to this file as well")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the table to this file, as docs/bench.md has it"
    )
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement called {', '.join(unknown)}; there are: {', '.join(MEASUREMENTS)}")
    return chosen


def _measured(name: str, *, quick: bool) -> Measurement:
    """One measurement; that it failed is part of the answer."""
    measure, about_s = MEASUREMENTS[name]
    _say(f"{name}: about {about_s // 3 if quick else about_s} s")
    began_s = time.monotonic()
    rows: list[Row] = []
    failure = None
    try:
        with machine.beside_others("self") as others:
            rows = measure(quick=quick)
    except (MeasurementFailed, LinewattError, OSError, ValueError) as error:
        failure = f"{type(error).__name__}: {error}"
        _say(f"{name}: {failure}")
    return Measurement(name, tuple(rows), others.cores, time.monotonic() - began_s, failure)


def _document(found: machine.Machine, done: Sequence[Measurement], *, quick: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "machine": asdict(found),
        "quick": quick,
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
