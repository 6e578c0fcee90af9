# SPDX-License-Identifier: Apache-2.0
"""What a trial costs on a disk: time, bytes and files, of one that a lab has measured, stored many times.

Beside it stands what anybody would do with the same texts: a file each, written and synced.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from bench.effort import Effort
from bench.rig import lab_of, rig
from bench.rows import Peer, Row, Target
from linewatt.campaign import stored
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.measure import Measured
from linewatt.engine.measuring.measure import measure as measured_of
from linewatt.engine.rederive.idle import readings_of
from linewatt.loads.registry import LOADS
from linewatt.store import raw, read, write

ABOUT_S = 25
_WINDOW = {"omit": 1, "tail": 1}


def _rows(again: Callable[[], Measured], directory: Path, times: int) -> list[Row]:
    """In turn, so that both see the same disk. Samples are made while they are stored, once: ``again``."""
    result = write.new_result(directory, "storing", 0.0, {"schema_version": 1, "trials_planned": times})
    stored_s, by_hand_s = [], []
    for number in range(1, times + 1):
        measured = again()
        began_s = time.perf_counter()
        path = write.write_trial(
            result, replace(measured.trial, number=number), measured.series, measured.raw
        )
        stored_s.append(time.perf_counter() - began_s)
        by_hand_s.append(_files_s(directory / f"by-hand-{number}", measured.raw))
    sizes = [one.stat().st_size for one in path.rglob("*") if one.is_file()]
    raw_kb = sum(len(text.encode()) for text in measured.raw.values()) / 1e3
    files = Peer("a file each", (len(measured.raw),))
    return [
        Row(
            "storing a trial",
            "s",
            tuple(stored_s),
            Target(at_most=0.005),
            Peer("its raw texts, a file each", tuple(by_hand_s)),
        ),
        Row("– kB on disk", "ratio", (sum(sizes) / 1e3,), Target(at_most=40), Peer("raw texts", (raw_kb,))),
        Row("– files", "count", (len(sizes),), Target(at_most=4), files),
    ]


def _again(result: Path) -> Measured:
    """The first trial of a result with all that is stored beside it."""
    texts = raw.raw_texts(write.trial_dir(result, 1) / write.RAW_FOLDER)
    campaign = stored.campaign_from_dict(read.load_manifest(result).asked.written)
    known = run_record.read(texts[run_record.NAME], texts, campaign.hosts, LOADS[campaign.load])
    readings = readings_of(known.sources, texts, campaign, known.run.clocks)
    return measured_of(known.run, readings, known.setup, LOADS[campaign.load], known.overhead_s)


def measure(effort: Effort) -> list[Row]:
    """A campaign of one trial in a lab, and what it stored again."""
    with rig() as own, lab_of(2, "2gbit") as lab:
        finished = own.run(
            own.campaign(lab.inventory, trials=1, window={**_WINDOW, "seconds": effort.of(10, 10, 1)})
        )
        return _rows(lambda: _again(finished.path), own.directory, effort.of(60, 10, 3))


def _files_s(folder: Path, texts: Mapping[str, str]) -> float:
    began_s = time.perf_counter()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    return time.perf_counter() - began_s
