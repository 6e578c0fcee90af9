# SPDX-License-Identifier: Apache-2.0
"""``linewatt prepare`` as a command: what it refuses before any host is asked, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.inline import invoke

from linewatt.errors import InvalidInput
from linewatt.features.users.prepare import Environment, Prepared
from linewatt.features.users.prepare_action import document, lines, problems

USERS = {"server": "s", "clients": ["c1", "c2"], "users": 2}
INSTALLED = Prepared(
    "c1", "installed", 12.34, Environment("/h/venv/bin/python", "/h/code"), size_bytes=89_400_000
)
GIVEN = Prepared("c2", "there", 0.1, Environment("/opt/x/bin/python", None))
REMOVED = Prepared("c3", "removed", 0.5, removed=("/h/a", "/h/b"), size_bytes=1_000_000)
NOTHING = Prepared("c4", "nothing", 0.2)
FAILED = [Prepared(f"c{number}", "failed", 1.0, problem="no Python") for number in range(5, 11)]


def campaign(folder: Path, **keys: object) -> Path:
    hosts = {name: {"address": f"{name}.example", "data": "lo"} for name in ("s", "c1", "c2")}
    file = folder / "campaign.yaml"
    file.write_text(json.dumps({"name": "t", "hosts": hosts, **keys}))
    return file


def refused(*words: str) -> str:
    result = invoke(["prepare", *words])
    assert isinstance(result.exception, InvalidInput), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_a_campaign_without_users_is_refused(tmp_path: Path) -> None:
    file = campaign(tmp_path, pairs=["s -> c1"], tests=["tcp"])
    assert refused(str(file)).startswith(f"{file}: has no users")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--wheelhouse", "/nowhere"], "--wheelhouse /nowhere: "),
        (["--remove", "--wheelhouse", "/"], "--remove"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, words: list[str], said: str) -> None:
    assert said in refused(str(campaign(tmp_path, soak="1m", users=USERS)), *words)


def test_each_host_is_a_line_with_what_became_of_it() -> None:
    assert list(lines([INSTALLED, GIVEN, REMOVED, NOTHING, *FAILED])) == [
        "c1: installed, /h/venv/bin/python, 89 MB, 12.3 s",
        "c2: was there, /opt/x/bin/python, 0.1 s",
        "c3: removed, /h/a, /h/b, 1 MB, 0.5 s",
        "c4: nothing was there, 0.2 s",
    ]


def test_what_failed_alike_is_said_once() -> None:
    other = Prepared("c0", "failed", 1.0, problem="is not there")
    assert list(problems([INSTALLED, other, *FAILED])) == [
        "c0: is not there",
        "c5, c6, c7, 3 more: no Python",
    ]


def test_the_document_has_units_in_its_keys_and_null_for_what_is_missing() -> None:
    written = json.loads(json.dumps(document("t", [INSTALLED, NOTHING])))
    assert written["schema_version"] == 1
    first, second = written["hosts"]
    assert first["environment"] == {"python": "/h/venv/bin/python", "python_path": "/h/code"}
    assert (first["size_bytes"], first["took_s"]) == (89_400_000, 12.34)
    assert (second["outcome"], second["size_bytes"], second["environment"]) == ("nothing", None, None)
