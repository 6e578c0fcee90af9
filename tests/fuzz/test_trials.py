# SPDX-License-Identifier: Apache-2.0
"""Whole trials of damaged answers: done or failed with a reason, and stored so that they can be read."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.fuzz.conftest import check_reason, fuzz, refused, survived
from tests.fuzz.mutate import damaged, texts
from tests.wiring import START_S, Given, told

from linewatt.engine.live.feed import Feed, Reading
from linewatt.engine.live.trial_run import TrialRun
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.idle import host_values
from linewatt.engine.measuring.measure import measure
from linewatt.foreign import STORED, read_json
from linewatt.hosts import leash
from linewatt.hosts.base import Ended, Line
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Window
from linewatt.sensors.registry import SENSORS
from linewatt.store import raw
from linewatt.store.derived import text_of
from linewatt.store.read import read_trial, trial_dirs
from linewatt.store.write import write_trial

GIVEN = told()
_CLIENT, _SERVER = (
    ended.stdout.encode()
    for ended in (GIVEN.run.outputs[0].client, GIVEN.run.outputs[0].server)
    if ended is not None
)
STREAMS = {
    one.source: "\n".join(record.text for record in one.records).encode()
    for one in GIVEN.readings["h1"]
    if one.source in SENSORS
}


def check_stored(given: Given, what: str) -> None:
    """It is stored, read again the same, and whatever it holds is finite."""
    measured = measure(given.run, given.readings, given.setup, Iperf3(), 0.05)
    trial = measured.trial
    if trial.status == "failed":
        refused[what] += 1
        check_reason(str(trial.reason))
    else:
        assert trial.throughput_bps is not None
        assert 0 < trial.throughput_bps < math.inf
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        (Path(folder) / "trials").mkdir()
        write_trial(Path(folder), trial, measured.series, measured.raw)
        (directory,) = trial_dirs(Path(folder))
        assert text_of(read_trial(directory)) == text_of(trial)
        files = raw.raw_texts(directory / "raw")
        assert files == measured.raw
        run_record.read(files[run_record.NAME], files, given.setup.hosts, Iperf3())
        for name, text in files.items():
            for line in text.splitlines() if name.endswith(".jsonl") else ():
                read_json(line, name, STORED)


def with_output(run: TrialRun, client: str | None, server: str | None) -> TrialRun:
    (output,) = run.outputs
    texts = {"client": client, "server": server}
    ends: dict[str, Any] = {
        name: replace(end, stdout=text)
        for name, text in texts.items()
        if text is not None and isinstance(end := getattr(output, name), Ended)
    }
    return replace(run, outputs=(replace(output, **ends),))


iperf3 = texts("iperf3/*/client.json", "iperf3/*/server.json")


@fuzz(st.none() | damaged([_CLIENT] * 40 + iperf3), st.none() | damaged([_SERVER] * 40 + iperf3))
def test_a_trial_of_any_output_of_iperf3_is_done_or_failed(client: str | None, server: str | None) -> None:
    with survived("trial: iperf3") as what:
        check_stored(replace(GIVEN, run=with_output(GIVEN.run, client, server)), what)


def read_again(source: str, text: str) -> Reading:
    feed = Feed("h1", SENSORS[source], SENSORS[source].Config())
    lines = text.split("\n")
    for number, line in enumerate(lines):
        feed.take(Line(START_S - 1 + 26 * number / max(1, len(lines)), line))
    return feed.reading(START_S, START_S + 24)


def with_reading(given: Given, reading: Reading) -> Given:
    own = tuple(reading if one.source == reading.source else one for one in given.readings["h1"])
    readings: Mapping[str, tuple[Reading, ...]] = {**given.readings, "h1": own}
    return replace(given, readings=readings)


streams = st.one_of([st.tuples(st.just(name), damaged([text])) for name, text in STREAMS.items()])


@fuzz(streams)
def test_a_trial_beside_any_stream_of_a_sensor_is_done_or_failed(drawn: tuple[str, str]) -> None:
    with survived(f"trial: {drawn[0]}") as what:
        check_stored(with_reading(GIVEN, read_again(*drawn)), what)


@fuzz(streams)
def test_an_idle_window_of_any_stream_can_be_stored(drawn: tuple[str, str]) -> None:
    with survived(f"idle: {drawn[0]}"):
        spec, window = GIVEN.setup.hosts["h1"], Window(START_S + 2, START_S + 22)
        readings = with_reading(GIVEN, read_again(*drawn)).readings["h1"]
        json.dumps(host_values(spec, readings, window, None, {}).as_written(), allow_nan=False).encode()


_MARKS = f"""linewatt-leash: pid 1000
linewatt-leash: start {START_S}
linewatt-leash: end {START_S + 24.004} 0
""".encode()


@fuzz(damaged([_MARKS]), damaged(texts("sockets/*/output")))
def test_a_trial_of_any_marks_and_sockets_is_done_or_failed(marks: str, said: str) -> None:
    with survived("trial: marks") as what:
        (output,) = GIVEN.run.outputs
        assert output.client is not None
        found = leash.read_marks(marks)
        client = replace(output.client, started_s=found.started_s, ended_s=found.ended_s, stderr=found.stderr)
        readback = {name: replace(one, sockets=said) for name, one in GIVEN.run.readback.items()}
        run = replace(GIVEN.run, outputs=(replace(output, client=client),), readback=readback)
        check_stored(replace(GIVEN, run=run), what)


@fuzz(damaged([json.dumps({"schema_version": 1}).encode()]))
def test_raw_files_of_anything_are_read_or_refused(text: str) -> None:
    with survived("raw/run.json"):
        run_record.read(text, {}, GIVEN.setup.hosts, Iperf3())
