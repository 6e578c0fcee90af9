# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of ``iperf3 --bidir``: a trial for each way, and no figure of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_import_captures import MORE, document, folder, imported

CLIENT, SERVER = "gen/client-bidir.json", "dut/server-bidir.json"


def bytes_of(path: Path, *, sender: bool) -> int:
    """What an end counted of one way, added up from its streams."""
    streams = [one for interval in document(path)["intervals"] for one in interval["streams"]]
    return sum(one["bytes"] for one in streams if one["sender"] == sender)


@pytest.mark.parametrize("files", [(CLIENT, SERVER), (CLIENT,), (SERVER,)], ids=["both", "client", "server"])
def test_each_way_is_a_trial_that_goes_that_way(files: tuple[str, ...], tmp_path: Path) -> None:
    trials = [one.trial for one in imported(folder(tmp_path, *files)).trials]
    assert [one.case.direction for one in trials] == ["forward", "reverse"]
    assert trials[0].case.hosts == trials[1].case.hosts[::-1]
    assert trials[0].started_s == trials[1].started_s
    assert [one.status for one in trials] == ["done", "done"]
    for one in trials:
        assert dict(one.case.factors) == {"at-once": "both ways"}
        assert "other-way-at-once" in {flag.code for flag in one.flags}


def test_throughput_of_a_way_is_what_its_receiver_counted_of_it(tmp_path: Path) -> None:
    forward, reverse = (one.trial for one in imported(folder(tmp_path, CLIENT, SERVER)).trials)
    for trial, path in ((forward, MORE / SERVER), (reverse, MORE / CLIENT)):
        assert trial.window is not None
        assert trial.throughput_bps is not None
        counted_bps = 8 * bytes_of(path, sender=False) / document(path)["intervals"][-1]["sum"]["end"]
        assert trial.throughput_bps == pytest.approx(counted_bps, rel=0.03)
        assert trial.throughput_bps == pytest.approx(50e6, rel=0.1)


def test_of_a_client_alone_each_way_has_its_own_sums(tmp_path: Path) -> None:
    folder(tmp_path, CLIENT)
    path = tmp_path / CLIENT
    found: dict[str, Any] = document(path)
    found["end"]["sum_received"]["bytes"] = 1_250_000
    path.write_text(json.dumps(found))
    forward, reverse = (one.trial for one in imported(tmp_path).trials)
    seconds = found["end"]["sum_received"]["end"]
    assert forward.throughput_bps == pytest.approx(8 * 1_250_000 / seconds)
    assert reverse.throughput_bps == pytest.approx(50e6, rel=0.1)
    assert all(one.load_cpu_cores is None for one in (forward.sender, reverse.sender) if one is not None)


def test_a_process_that_says_so_where_it_says_what_was_asked_is_the_same(tmp_path: Path) -> None:
    folder(tmp_path, CLIENT)
    path = tmp_path / CLIENT
    found = document(path)
    found["start"]["test_start"]["bidir"] = 1
    path.write_text(json.dumps(found))
    assert len(imported(tmp_path).trials) == 2
