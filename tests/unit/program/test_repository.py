# SPDX-License-Identifier: Apache-2.0
"""The repository keeps its promises: headers, pins, make targets, and documents that say what is true."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from packaging.specifiers import SpecifierSet
from ruamel.yaml import YAML
from tests.doc_pages import DOCUMENTS, blocks, shell_lines
from tests.stream_helpers import cut_records

import linewatt
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import ParseError
from linewatt.features.soak.plan import plan_soak
from linewatt.hosts.base import HostSpec
from linewatt.sensors import base as sensors
from linewatt.sensors.base import Sensor

ROOT = Path(__file__).parents[3]
FOLDERS = (".ci", ".github", "bench", "docs", "examples", "requirements", "scripts", "share", "src", "tests")
GENERATED = {"__pycache__", "linewatt.egg-info", ".hypothesis"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def committed_files() -> Iterator[Path]:
    """Every file of the project; what tools left lying about is not part of it."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".coverage"))
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not GENERATED & set(path.parts):
                yield path


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return {_normal(match[1]): match[2] for match in PIN.finditer(text)}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


OLDEST_PYTHON = "3.11.2"
"""of Debian 12, the oldest that is supported"""


@pytest.mark.parametrize("name", ["core", "docs", "extras", "test", "lint", "uv"])
def test_what_is_pinned_can_be_installed_on_the_oldest_python(name: str) -> None:
    """As far as the pinned version is installed here, whose own metadata says which Python it needs."""
    installed = {_normal(one.name): one for one in importlib.metadata.distributions()}
    needs = {
        f"{pin}=={version}": _python_of(installed[pin])
        for pin, version in pins(name).items()
        if pin in installed and installed[pin].version == version
    }
    refused = {pin: need for pin, need in needs.items() if not SpecifierSet(need).contains(OLDEST_PYTHON)}
    assert refused == {}


def _python_of(installed: importlib.metadata.Distribution) -> str:
    return str((installed.metadata.get_all("Requires-Python") or [">=3"])[0])


def test_pins_are_held_below_what_the_oldest_python_cannot_install() -> None:
    held = re.findall(r"printf '([a-z-]+)<(\d+)\\n' >+", (ROOT / "scripts" / "pins.sh").read_text())
    assert {"soupsieve", "python-dateutil"} <= {pin for pin, _ in held}
    for pin, bound in held:
        files = map(pins, ("core", "docs", "extras", "test", "lint"))
        versions = {file_pins[pin] for file_pins in files if pin in file_pins}
        assert len(versions) == 1
        assert all(int(version.split(".")[0]) < int(bound) for version in versions)


def _wanted(requirements: list[str]) -> set[str]:
    return {_normal(re.split(r"[<>=!~\[; ]", requirement)[0]) for requirement in requirements}


def test_every_source_file_says_its_licence_in_its_first_lines() -> None:
    sources = [path for path in committed_files() if path.suffix in {".py", ".sh"}]
    sources += [ROOT / "Makefile", ROOT / ".ci" / "run"]
    captures = ROOT / "tests" / "captures"
    without = [
        str(path.relative_to(ROOT))
        for path in sources
        if captures not in path.parents
        and "SPDX-License-Identifier: Apache-2.0"
        not in "".join(path.read_text().splitlines(keepends=True)[:2])
    ]
    assert without == []


def test_the_licence_is_there_in_full() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("name", ["core", "docs", "extras", "test", "lint", "uv"])
def test_every_requirement_is_pinned_and_hashed_and_names_no_index(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    rest = "\n".join(
        line for line in PIN.sub("", text).splitlines() if not line.strip().startswith("#")
    ).strip()
    assert rest == "", "only pins with their hashes, and comments"
    assert "://" not in text
    assert "--index-url" not in text
    assert "--find-links" not in text


def test_requirements_cover_what_the_project_declares() -> None:
    project, extras = PROJECT["project"], PROJECT["project"]["optional-dependencies"]
    assert _wanted(project["dependencies"]) <= set(pins("core"))
    assert _wanted(PROJECT["build-system"]["requires"]) <= set(pins("core"))
    assert _wanted(extras["test"]) | _wanted(extras["meters"]) | _wanted(extras["users"]) <= set(pins("test"))
    assert _wanted(extras["remote"]) <= set(pins("test"))
    assert _wanted(extras["lint"]) <= set(pins("lint"))
    assert _wanted(extras["docs"]) <= set(pins("docs"))


def test_a_later_stage_holds_the_very_pins_of_the_one_before() -> None:
    every = [pins(name).items() for name in ("core", "docs", "test", "lint")]
    assert all(before <= after for before, after in pairwise(every))


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    index = re.compile(rb"https?://[^\s\"']*/sim" + rb"ple\b|--(?:extra-)?ind" + rb"ex-url[= ]\S*://")
    here = os.fsencode(str(ROOT)) + b"/"
    telling = [
        str(path.relative_to(ROOT))
        for path in committed_files()
        if index.search(data := path.read_bytes()) or here in data
    ]
    assert telling == []


def test_mypy_is_strict_about_every_python_file() -> None:
    checked = [ROOT / name for name in PROJECT["tool"]["mypy"]["files"]]
    files = [path for path in committed_files() if path.suffix == ".py"]
    assert PROJECT["tool"]["mypy"]["strict"] is True
    assert files
    assert [path for path in files if not any(path.is_relative_to(place) for place in checked)] == []


def test_mypy_is_loosened_for_modules_of_other_projects_alone() -> None:
    own = ("linewatt", "tests", "bench", "scripts", "examples", "docs")
    loosened = [
        (name, override.keys() - {"module"})
        for override in PROJECT["tool"]["mypy"]["overrides"]
        for name in ([override["module"]] if isinstance(override["module"], str) else override["module"])
        if name.split(".")[0] in (*own, "*")
    ]
    untyped_calls = {"disallow_untyped_calls", "disallow_untyped_decorators"}  # Locust's events have no types
    assert loosened == [("linewatt.features.users.worker.locustfile", untyped_calls)]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_make_alone_lists_every_target() -> None:
    done = subprocess.run(["make", "-s", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    listed = set(re.findall(r"^  make ([\w-]+)", done.stdout, re.MULTILINE))
    assert listed == make_targets()
    assert {"setup", "demo", "test", "lint", "bench"} <= listed


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_a_document_names_exists(document: str) -> None:
    named = set(re.findall(r"`(?:sudo )?make ([a-z-]+)", (ROOT / document).read_text()))
    named |= {words[1] for words in shell_lines(document) if words[0] == "make"}
    assert named <= make_targets()


def test_the_readme_begins_with_its_two_commands() -> None:
    first = [words for words in shell_lines("README.md") if words[0] == "make"]
    assert first[:2] == [["make", "demo"], ["make", "test"]]


def test_ci_runs_lint_and_the_test_command_of_the_readme_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -euo pipefail"
    assert lines[-2:] == ["make lint", "make test"]


def yaml_of(path: str) -> Any:
    return YAML(typ="safe").load(ROOT / path)


def make_commands(commands: list[str]) -> list[str]:
    """The targets of commands that must all be ``make TARGET``."""
    words = [command.split() for command in commands]
    assert [two[0] for two in words if len(two) != 2 or two[0] != "make"] == []
    return [target for _, target in words]


def test_the_workflow_tests_each_change_and_every_test_at_night() -> None:
    jobs = yaml_of(".github/workflows/ci.yml")["jobs"]
    targets: dict[str, list[str]] = {}
    for job in jobs.values():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        targets.setdefault(job["if"], []).extend(make_commands(commands))
    assert targets == {
        "github.event_name == 'push' || github.event_name == 'pull_request'": ["lint", "test"],
        "github.event_name == 'schedule' || github.event_name == 'workflow_dispatch'": ["test-all"],
    }
    assert {target for named in targets.values() for target in named} <= make_targets()


def test_the_workflow_may_only_read_ends_in_time_and_runs_actions_of_a_known_commit() -> None:
    workflow = yaml_of(".github/workflows/ci.yml")
    assert set(workflow["on"]) == {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["cancel-in-progress"] is True
    for job in workflow["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 240
        assert "permissions" not in job
        actions = [step["uses"] for step in job["steps"] if "uses" in step]
        assert actions
        assert [name for name in actions if not re.fullmatch(r"actions/checkout@[0-9a-f]{40}", name)] == []


def test_the_hook_of_commits_is_make_quick() -> None:
    ((hook,),) = (repository["hooks"] for repository in yaml_of(".pre-commit-config.yaml")["repos"])
    assert make_commands([hook["entry"]]) == ["quick"]
    assert "quick" in make_targets()
    assert (hook["language"], hook["pass_filenames"]) == ("system", False)


def test_editors_have_the_line_length_of_the_formatter() -> None:
    text = (ROOT / ".editorconfig").read_text()
    length = PROJECT["tool"]["ruff"]["line-length"]
    assert f"[*.py]\nmax_line_length = {length}\n" in text
    assert "[Makefile]\nindent_style = tab\n" in text


def test_the_campaigns_of_the_readme_and_of_soaks_can_be_planned(tmp_path: Path) -> None:
    (cases,) = blocks("README.md", "yaml")
    soak, *_ = blocks("docs/soak.md", "yaml")
    file = tmp_path / "campaign.yaml"
    file.write_text(cases)
    assert list(plan_campaign(load_campaign(file), seed=1).trials)
    file.write_text(soak)
    listed = {
        name: {"ansible_host": f"192.0.2.{at}", "linewatt_data": "eth0"}
        for at, name in enumerate(("dut", "c1", "c2", "c3", "c4"), 1)
    }
    (tmp_path / "inventory.yaml").write_text(json.dumps({"all": {"hosts": listed}}))
    planned = plan_soak(load_campaign(file)).users
    assert planned is not None
    assert planned.users == 300


def test_architecture_knows_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {path.parent.name for path in (ROOT / "src" / "linewatt").glob("*/__init__.py")}
    rooms |= {path.name for path in (ROOT / "src" / "linewatt").glob("[a-z]*.py")}
    assert [room for room in sorted(rooms) if room not in text] == []


def test_the_sensor_of_the_architecture_page_works() -> None:
    (code,) = re.findall(
        r"^   ```python\n(.*?)^   ```",
        (ROOT / "docs" / "architecture.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
    names = {**vars(sensors), "ClassVar": ClassVar, "ParseError": ParseError, "HostSpec": HostSpec}
    exec(textwrap.dedent(code), names)  # noqa: S102
    sensor: Sensor = names["Uptime"]()
    command = sensor.command(sensor.Config(interval_s=0.1), HostSpec("h", "local", "lo"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        (record,) = cut_records(sensor, [process.stdout.readline()])
        process.kill()
    (reading,) = sensor.parse(record).items()
    assert sensor.channel(reading[0]).unit == "s"
    assert reading[1] is not None
    assert reading[1] > 0
    with pytest.raises(ParseError):
        sensor.parse("no number")


def test_one_version_everywhere() -> None:
    assert PROJECT["project"]["version"] == linewatt.__version__
    assert f"## [{linewatt.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes nobody, which needs root")
def test_a_missing_privilege_is_one_clear_line() -> None:
    functions = (ROOT / "scripts" / "privileges.sh").read_text()
    done = subprocess.run(
        ["/bin/bash", "-c", f'top=/\n{functions}\nneed_root "the lab" demo'],
        capture_output=True,
        text=True,
        user=65534,
        cwd="/",
        env={"PATH": "/nowhere"},
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "linewatt: the lab needs root: run `sudo make demo`, or `make demo` as root\n"
