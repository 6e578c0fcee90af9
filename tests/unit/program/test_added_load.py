# SPDX-License-Identifier: Apache-2.0
"""A load that is added as one package, its captures and a section of the docs: to a copy, which is run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.programs import outputs_of, python

ROOT = Path(__file__).parents[3]
PATCH: Mapping[str, str] = {
    "src/linewatt/loads/toy/__init__.py": '''# SPDX-License-Identifier: Apache-2.0
"""A load that moves what bash reads from a port."""

from collections.abc import Sequence

from linewatt.errors import ParseError
from linewatt.loads.base import Exchange, Load, LoadEnd, LoadInterval, LoadJob, Version


class Toy(Load):
    name = "toy"
    package = "bash"
    tests = ("tcp",)

    def parse_version(self, text: str) -> Version:
        return (1, 0)

    def server_command(self, job: LoadJob, version: Version) -> list[str]:
        return ["toy", "--serve", str(job.port)]

    def client_command(self, job: LoadJob, version: Version) -> list[str]:
        return ["toy", "--send", job.server_address, str(job.port), f"{job.duration_s:g}"]

    def parse(self, text: str, argv: Sequence[str] = (), peer: str = "") -> LoadEnd:
        way, _, count = text.partition(" ")
        if way not in ("sent", "received") or not count.strip().isdecimal():
            raise ParseError(f"toy: {text[:80]!r} is not a count")
        whole = LoadInterval(0.0, 1.0, int(count))
        return LoadEnd(way == "sent", "1.0", (whole,), 1.0, None)

    def try_server(self, exchange: Exchange) -> list[str]:
        return ["toy", "--serve", str(exchange.port)]

    def try_client(self, exchange: Exchange) -> list[str]:
        return ["toy", "--send", exchange.server_address, str(exchange.port), "0"]

    def try_problem(self, stdout: str, stderr: str, status: int) -> str | None:
        return stderr or None


LOAD = Toy()
''',
    "tests/captures/toy/1.0-tcp/client.txt": "sent 1000\n",
    "tests/captures/toy/1.0-tcp/expected.json": '{"origin": "made up", "client": {"bytes": 1000}}\n',
}
SECTION = "\n## toy\n\nMoves what bash reads from a port.\n"
CAMPAIGN = """\
name: c
load: toy
hosts:
  gen: {address: 192.0.2.11, data: enp1s0}
  dut: {address: 192.0.2.10, data: enp1s0}
tests: [TESTS]
"""
RUN = "from linewatt.cli.entry_point import main; main()"
NOTHING_COMPILED = {"PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree with the patch in it."""
    root = tmp_path_factory.mktemp("tree")
    half_written = shutil.ignore_patterns("*.pyc.*")
    for name in ("src", "docs"):  # what was compiled of the sources holds for the copy, too
        shutil.copytree(ROOT / name, root / name, ignore=half_written)
    folder = root / "tests" / "unit" / "program"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "unit" / "program" / "test_plugins.py", folder)
    shutil.copytree(ROOT / "tests" / "captures", root / "tests" / "captures")
    for name, text in PATCH.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    with (root / "docs" / "loads.md").open("a") as page:
        page.write(SECTION)
    return root


def run(copy: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Its pytest needs no plug-ins, whose imports take longer than the tests."""
    quick = {**NOTHING_COMPILED, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return python(copy / "src", *words, cwd=copy, **quick)


def test_a_load_is_one_source_its_captures_and_its_section() -> None:
    assert sum(name.startswith("src/") for name in PATCH) == 1
    assert all("/toy/" in name for name in PATCH)


def test_a_campaign_may_name_it(copy: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(CAMPAIGN.replace("TESTS", "tcp"))
    commands = [["plan", str(file), "--json"], ["schema"]]
    plan, schema = map(json.loads, outputs_of(copy / "src", commands, cwd=copy, **NOTHING_COMPILED))
    (case,) = plan["cases"]
    assert case["test"] == "tcp"
    assert schema["properties"]["load"]["enum"] == ["iperf3", "sockperf", "toy"]


def test_what_it_cannot_do_is_refused_with_its_line(copy: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(CAMPAIGN.replace("TESTS", "tcp, udp-60"))
    done = run(copy, "-c", RUN, "plan", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linewatt: {file}:6:14: tests[1]: toy has no test udp-60; it has tcp\n"


def test_the_rules_for_plug_ins_hold_for_it(copy: Path) -> None:
    """The same tests that every plug-in of this tree is held to."""
    done = run(
        copy,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/unit/program/test_plugins.py",
        "-k",
        "toy",
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_a_section_that_is_missing_is_noticed(copy: Path) -> None:
    page = copy / "docs" / "loads.md"
    text = page.read_text()
    page.write_text(text.removesuffix(SECTION))
    try:
        done = run(
            copy,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/unit/program/test_plugins.py",
            "-k",
            "toy",
        )
        assert done.returncode == 1
        assert "has no section 'toy'" in done.stdout
    finally:
        page.write_text(text)
