# SPDX-License-Identifier: Apache-2.0
"""``linewatt prepare`` on real hosts: what it puts there works, is found again, and goes without a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.lab.test_campaign import HANG_LIMIT_S

from linewatt.features.lab import api as lab
from linewatt.features.users.prepare_parcel import code_digest, requirements_path

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every pinned package as a wheel, from wherever this machine's pip has them."""
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--quiet", "download"]
    which = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(requirements_path())]
    try:
        done = subprocess.run(
            [*pip, *which, "-d", str(folder)], capture_output=True, text=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("pip downloaded no wheels within 120 s")
    if done.returncode:
        pytest.skip(f"pip downloads no wheels here: {done.stderr.strip().splitlines()[-1:]}")
    return folder


class Clients:
    """Two hosts of a lab as clients, with one home between them, and a third as the server."""

    def __init__(self, hosts: lab.Lab, tmp: Path) -> None:
        self.namespace = hosts.hosts[1].namespace
        homes = Path(hosts.inventory).parent / "home"
        self.home = homes / "h2"
        (homes / "h3").rmdir()
        (homes / "h3").symlink_to(self.home)
        self.file = tmp / "campaign.yaml"
        users = {"server": "h1", "clients": ["h2", "h3"], "users": 2}
        campaign = {"name": "t", "hosts": str(hosts.inventory), "soak": "1m", "users": users}
        self.file.write_text(json.dumps(campaign))

    def prepare(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = forked.run(["prepare", self.file, *words], timeout=HANG_LIMIT_S)
        assert "Traceback" not in done.stderr
        assert done.returncode == status, done.stderr + done.stdout
        return done

    def hosts(self, *words: str) -> dict[str, dict[str, Any]]:
        document = json.loads(self.prepare("--json", *words).stdout)
        assert document["schema_version"] == 1
        return {one["host"]: one for one in document["hosts"]}

    def kept(self) -> dict[Path, tuple[int, int]]:
        """Everything in the home of clients: which file it is, and when it was last written."""
        found = {path: path.lstat() for path in self.home.rglob("*")}
        return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}

    def python(self, environment: dict[str, str], code: str) -> str:
        """Run code on a client as a worker would be run: with nothing of linewatt but what was sent."""
        clean = ["env", "-i", "-C", "/", f"PYTHONPATH={environment['python_path']}"]
        done = subprocess.run(
            ["ip", "netns", "exec", self.namespace, *clean, environment["python"], "-c", code],
            capture_output=True,
            text=True,
            timeout=HANG_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def test_clients_whose_wheels_are_missing_are_named_and_left_empty(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    clients = Clients(make_lab(hosts=3, bmc=False), tmp_path)
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "another-1.0-py3-none-any.whl").touch()
    refused = clients.prepare("--wheelhouse", str(lacking), status=1)
    assert "locust==" in refused.stderr
    assert refused.stderr.startswith("h2, h3: ")
    assert refused.stderr.count("\n") == 1
    assert list(clients.home.iterdir()) == []
    assert clients.prepare("--remove").stdout.count("nothing was there") == 2


@pytest.mark.full
def test_clients_of_a_closed_network_get_what_users_need_once_and_lose_it_again(
    make_lab: Callable[..., lab.Lab], tmp_path: Path, wheels: Path
) -> None:
    clients = Clients(make_lab(hosts=3), tmp_path)
    some = tmp_path / "some"
    some.mkdir()
    for wheel in wheels.glob("*.whl"):
        if not wheel.name.startswith("gevent-"):
            (some / wheel.name).symlink_to(wheel)
    short = clients.prepare("--wheelhouse", str(some), status=1)
    assert "of gevent==" in short.stderr
    assert short.stderr.startswith("h2, h3: ")
    assert short.stderr.count("\n") == 1
    assert list(clients.home.iterdir()) == []

    first = clients.hosts("--wheelhouse", str(wheels))
    assert sorted(one["outcome"] for one in first.values()) == ["installed", "there"]
    environment = first["h2"]["environment"]
    assert environment["python_path"].endswith(f"users-code-{code_digest()}")
    module = "linewatt.features.users.worker.locustfile"
    what = f"import {module} as one, locust; print(one.__file__, locust.__file__)"
    ours, locust = clients.python(environment, what).split()
    assert ours.startswith(environment["python_path"])
    assert locust.startswith(environment["python"].removesuffix("bin/python"))
    assert [path.name for path in clients.home.iterdir()] == [".cache"]
    assert [path.name for path in (clients.home / ".cache").iterdir()] == ["linewatt"]  # not pip's

    before = clients.kept()
    second = clients.hosts()
    assert {one["outcome"] for one in second.values()} == {"there"}
    assert (
        second["h3"]["environment"]["python"].rpartition("/users-env-")[2]
        == (environment["python"].rpartition("/users-env-")[2])
    )
    assert clients.kept() == before, "nothing is made anew"
    assert max(one["took_s"] for one in second.values()) < max(one["took_s"] for one in first.values())

    assert "removed, " in clients.prepare("--remove").stdout
    assert list((clients.home / ".cache").iterdir()) == []
    assert clients.prepare("--remove").stdout.count("nothing was there") == 2
