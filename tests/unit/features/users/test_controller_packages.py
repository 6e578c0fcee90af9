# SPDX-License-Identifier: Apache-2.0
"""The packages that users need on the controller: found before any host is contacted."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from tests import inline

from linewatt.campaign.feature_keys import missing_packages
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.readiness.checkup import Checkup
from linewatt.errors import HostError
from linewatt.features.users import prepare
from linewatt.hosts.base import HostSpec

INSTALL = r"\S+ -m pip install \S+\[users\]'?"
PROBLEM = "locust and hdrhistogram are not installed"
KINDS = {"a soak": {"soak": "1m"}, "an experiment": {"factors": {"users.file_size": ["20k", "1M"]}}}


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller without the packages of the extra, on which nothing connects to a host."""
    find_spec = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in ("locust", "hdrh") else find_spec(name, package)

    async def connect(spec: HostSpec, *_: object) -> None:
        raise HostError("was contacted", where=spec.name)

    monkeypatch.setattr("importlib.util.find_spec", find)
    monkeypatch.setattr("linewatt.engine.live.session.connect_to_host", connect)


def campaign(folder: Path, **keys: Any) -> Path:
    hosts = {name: {"address": f"192.0.2.{at}", "data": "eth0"} for at, name in enumerate(("dut", "c1"), 1)}
    file = folder / "campaign.yaml"
    file.write_text(json.dumps({"name": "t", "hosts": hosts, **keys}))
    return file


def of_users(folder: Path, **keys: Any) -> Path:
    return campaign(folder, users={"server": "dut", "clients": ["c1"], "users": 2}, **keys)


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_a_plan_prints_the_command_that_installs_them_and_is_made(tmp_path: Path, keys: Any) -> None:
    for words in ([], ["--json"]):
        done = inline.run("plan", of_users(tmp_path, **keys), *words)
        assert done.returncode == 0
        line = rf"before a run: users: {PROBLEM} on the controller; run there: {INSTALL}\n"
        assert re.fullmatch(line, done.stderr), done.stderr
        assert done.stdout.startswith("{" if words else "t: ")


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_a_run_is_refused_in_one_line_before_a_host_is_contacted(tmp_path: Path, keys: Any) -> None:
    done = inline.run("run", of_users(tmp_path, **keys), "--results", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    line = rf"linewatt: users: {PROBLEM} on the controller; run there: {INSTALL}"
    *notes, refusal = done.stderr.splitlines()
    assert re.fullmatch(line, refusal), refusal
    assert all(note.startswith("note: ") for note in notes), "of the plan"


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_a_check_of_the_controller_fails(tmp_path: Path, keys: Any) -> None:
    async def checks() -> list[Any]:
        checkup = Checkup(load_campaign(of_users(tmp_path, **keys)), tmp_path, tmp_path)
        await checkup.open()
        return [check for check in await checkup.checks() if check.host == "controller"]

    (tools,) = (check for check in asyncio.run(checks()) if check.name == "tools")
    assert (tools.status, tools.found) == ("fail", f"{PROBLEM} (users)")
    assert re.fullmatch(f"run there: {INSTALL}", tools.advice)


@pytest.mark.usefixtures("lacking")
def test_prepare_counts_the_controller_among_the_hosts_that_are_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(specs: Sequence[HostSpec], *_: object) -> list[prepare.Prepared]:
        return [prepare.Prepared(spec.name, "there", 0.1) for spec in specs]

    monkeypatch.setattr(prepare, "prepare", act)
    monkeypatch.setattr(prepare, "remove", act)
    file = of_users(tmp_path, soak="1m")
    done = inline.run("prepare", file)
    assert (done.returncode, done.stdout) == (1, "c1: was there, 0.1 s\n")
    assert re.fullmatch(rf"controller: {PROBLEM}; run there: {INSTALL}\n", done.stderr), done.stderr
    removed = inline.run("prepare", file, "--remove")
    assert (removed.returncode, removed.stderr) == (0, "")


def test_only_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = load_campaign(of_users(tmp_path, soak="1m"))
    assert missing_packages(users) == ()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "hdrh" else object())
    (missing,) = missing_packages(users)
    assert missing.problem == "hdrhistogram is not installed"


@pytest.mark.usefixtures("lacking")
def test_a_campaign_without_users_needs_none_of_them(tmp_path: Path) -> None:
    file = campaign(tmp_path, pairs=["c1 -> dut"], tests=["tcp"])
    assert missing_packages(load_campaign(file)) == ()
    assert inline.run("plan", file).stderr == ""
