# SPDX-License-Identifier: Apache-2.0
"""A host whose sshd allows few channels on a connection, as every sshd does unless told otherwise."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import LONG, Bench

from linewatt.features.lab.system import search_path

pytestmark = pytest.mark.lab
FEW = 4


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    """The lab's hosts on a second sshd each, that allows ``FEW`` channels."""
    one = Bench(lab2, tmp_path)
    servers = []
    try:
        for host in lab2.hosts:
            config = lab2.inventory.parent / f"{host.name}.conf"
            servers.append(_sshd(host.namespace, config, tmp_path / host.name))
        yield one
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)
    one.until_nothing_runs()


def _sshd(namespace: str, config: Path, base: Path) -> subprocess.Popen[bytes]:
    text = config.read_text().replace("MaxSessions 200", f"MaxSessions {FEW}")
    own = base.with_suffix(".conf")
    own.write_text(re.sub(r"^(ListenAddress \S+):22$", r"\1:2222", text, flags=re.MULTILINE))
    argv = ["ip", "netns", "exec", namespace, _which("sshd"), "-D", "-f", str(own), "-E", f"{base}.log"]
    server = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    _until(lambda: _listens(namespace), "the second sshd to listen")
    return server


def _which(program: str) -> str:
    found = shutil.which(program, path=search_path())
    assert found is not None
    return found


def _listens(namespace: str) -> bool:
    argv = ["ip", "netns", "exec", namespace, "ss", "-Hltn", "sport = :2222"]
    return bool(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def _until(condition: Callable[[], bool], awaited: str, limit_s: float = 60.0) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"waited {limit_s} s for {awaited}"
        time.sleep(0.02)


def test_more_processes_than_a_connection_may_have_channels(bench: Bench) -> None:
    inventory = bench.bad_inventory(port="2222")
    campaign = bench.campaign(hosts=str(inventory), instances=[8], rate="2M", trials=1, window=LONG)
    bench.run("run", campaign)
    trials = bench.trials()
    assert [(trial["status"], len(trial["instances"])) for trial in trials] == [("done", 8)]
    assert all(trial["start_skew_s"] < 0.5 for trial in trials)
