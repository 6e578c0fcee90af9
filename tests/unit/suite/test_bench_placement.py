# SPDX-License-Identifier: Apache-2.0
"""The bench of placement and settings: by hand is by hand, hosts are as they were, nothing runs on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench import placement_hosts96, settings_byhand
from bench.rows import MeasurementFailed

from linewatt.hosts.base import HostSpec

NOBODY = HostSpec("h1", "127.0.0.1", "data0", port=1, user="root", key_file="/none", known_hosts="/none")
KEY = ("h1", "mtu", "data0")


@pytest.mark.parametrize("after", [{KEY: "1400"}, {}], ids=["other", "gone"])
def test_a_host_that_is_not_as_it_was_found_is_no_result(after: dict[Any, str]) -> None:
    placement_hosts96.same({KEY: "1500"}, {KEY: "1500"}, "linewatt")
    with pytest.raises(
        MeasurementFailed, match=r"h1: mtu data0 shows .* after linewatt put it back; it was '1500'"
    ):
        placement_hosts96.same({KEY: "1500"}, after, "linewatt")


def test_a_setting_by_hand_is_a_line_and_its_value_a_word() -> None:
    values = ["3", "1400", "on", "4096 131072 15728640", "4096 65536 $(reboot)"]
    script = settings_byhand.put("data0", values)
    assert len(script.splitlines()) == 5
    assert "net.ipv4.tcp_wmem='4096 65536 $(reboot)'" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=20)
    with pytest.raises(ValueError, match="shorter"):
        settings_byhand.put("data0", values[:4])


def test_a_loop_by_hand_that_fails_is_no_comparison(tmp_path: Path) -> None:
    hand = settings_byhand.Hand([NOBODY], tmp_path, {"h1": ["3", "1400", "on", "1 2 3", "1 2 3"]})
    with pytest.raises(MeasurementFailed, match=r"h1, by hand: 0 lines instead of 10: .+"):
        hand.once(settings_byhand.Walls())


@pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh")
def test_a_host_that_cannot_be_reached_by_hand_says_so_and_leaves_no_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    master = settings_byhand._master

    def watched(*arguments: Any) -> subprocess.Popen[bytes]:
        started.append(master(*arguments))
        return started[-1]

    monkeypatch.setattr(settings_byhand, "_master", watched)
    with (
        pytest.raises(MeasurementFailed, match="h1, by hand: no ssh connection"),
        settings_byhand.connected([NOBODY], tmp_path, {}),
    ):
        pass
    (only,) = started
    assert only.returncode is not None
