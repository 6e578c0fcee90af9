# SPDX-License-Identifier: Apache-2.0
"""``linewatt init`` on real hosts: from two names of ~/.ssh/config to a campaign that runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import forked
from tests.lab.test_campaign import HANG_LIMIT_S, Bench

from linewatt.features.lab import api as lab

pytestmark = pytest.mark.lab


def test_two_names_become_a_campaign_that_is_checked_and_can_be_planned(
    plain_lab2: lab.Lab, tmp_path: Path
) -> None:
    bench = Bench(plain_lab2, tmp_path)
    own, ssh = plain_lab2.inventory.parent, tmp_path / ".ssh"
    ssh.mkdir()
    (ssh / "config").write_text(
        "".join(f"Host {host.name}\n  HostName {host.address}\n" for host in plain_lab2.hosts)
        + f"Host *\n  User root\n  IdentityFile {own / 'id_ed25519'}\n"
        + f"  UserKnownHostsFile {own / 'known_hosts'}\n"
    )
    environment = {**bench.environment, "HOME": str(tmp_path)}
    file = tmp_path / "first.yaml"
    done = forked.run(["init", "h1", "h2", "-o", str(file)], env=environment, timeout=HANG_LIMIT_S)
    assert "Traceback" not in done.stderr, done.stderr
    assert f"{file}: h1 data0 → h2 data0 (198.19." in done.stdout, done.stdout + done.stderr
    planned = forked.run(["plan", str(file)], env=environment, timeout=HANG_LIMIT_S)
    assert planned.returncode == 0, planned.stderr
    assert "h1 → h2" in planned.stdout
    assert "h1" in done.stdout.partition("checking it")[2], "the hosts were checked"
    ready = done.returncode == 0
    assert ready == (f"next: linewatt run {file}" in done.stdout)
    assert ready != (f"then: linewatt check {file}" in done.stdout), "the way on is said in either case"
