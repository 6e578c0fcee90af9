# SPDX-License-Identifier: Apache-2.0
"""Damaged files that somebody measured by hand: a result that can be stored, or a line that says why not."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

from tests.fuzz.conftest import fuzz, survived
from tests.fuzz.mutate import CAPTURES, damaged, texts

from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.features.importing.captures.measured_folder import manifest_of, understand
from linewatt.features.importing.captures.options import Options
from linewatt.json_document import document_of

IMPORTS = CAPTURES / "imports"
CLIENT, SERVER = (IMPORTS / "watts" / name for name in ("gen/client.json", "dut/server.json"))
loads = damaged(
    texts(
        "imports/watts/*/*.json",
        "imports/more/gen/*.json",  # with --bidir
        "imports/more/dut/server*.json",
        "iperf3/3.5-*/*t.json",
        "iperf3/3.21-*/*t.json",
    )
)
words = damaged(texts("imports/text/*/*.txt"))
netperfs = damaged(texts("imports/netperf/*/*"))
flents = damaged([gzip.decompress((IMPORTS / "flent" / "tcp_1up_noping.flent.gz").read_bytes())])
readings = damaged(
    texts(
        "imports/watts/dut/mpstat.txt",
        "imports/two-hosts/gen/mpstat.json",
        "imports/more/dut/sa*",
        "imports/more-sysstat/*",
        "imports/watts/*.log",
        "imports/watts/dut/bmc.log",
        "imports/turbostat/dut/turbostat.txt",
    )
)


def _file(name: str, text: str) -> CaptureFile:
    return CaptureFile(name, text, len(text), "0" * 64)


def _as_it_is(path: Path) -> CaptureFile:
    return _file(path.relative_to(IMPORTS / "watts").as_posix(), path.read_text())


def _imported(*files: CaptureFile) -> None:
    whole = understand(files, Options())
    json.dumps(manifest_of(whole, "x", "x", Options()), allow_nan=False)
    for one in whole.trials:
        json.dumps(document_of(one.trial), allow_nan=False)
        samples = [sample for series in one.series for sample in series.samples]
        assert all(math.isfinite(sample.time_s) for sample in samples)
        assert all(sample.value is None or math.isfinite(sample.value) for sample in samples)


@fuzz(loads)
def test_a_load_of_anything_is_trials_or_refused(text: str) -> None:
    with survived("import: load"):
        _imported(_file("gen/load.json", text))


@fuzz(words, share=0.4)
def test_text_of_a_load_of_anything_is_trials_or_refused(text: str) -> None:
    with survived("import: text"):
        _imported(_file("gen/load.txt", text))


@fuzz(netperfs)
def test_what_netperf_printed_of_anything_is_trials_or_refused(text: str) -> None:
    with survived("import: netperf"):
        _imported(_file("gen/netperf.txt", text))


@fuzz(flents, share=0.4)
def test_a_file_of_flent_of_anything_is_trials_or_refused(text: str) -> None:
    with survived("import: flent"):
        _imported(_file("x.flent", text))


@fuzz(loads)
def test_a_load_of_anything_beside_its_other_end_is_trials_or_refused(text: str) -> None:
    with survived("import: ends"):
        _imported(_file("gen/load.json", text), _as_it_is(SERVER))


@fuzz(readings)
def test_readings_of_anything_beside_a_load_are_figures_or_refused(text: str) -> None:
    with survived("import: readings"):
        _imported(_as_it_is(CLIENT), _as_it_is(SERVER), _file("dut/readings", text))
