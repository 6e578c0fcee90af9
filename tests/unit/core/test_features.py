# SPDX-License-Identifier: Apache-2.0
"""Features: what is installed, what each adds, and what a broken one leads to."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from tests.compare_factories import made, runs
from tests.report_factories import stored
from tests.third_party import install, linewatt, linewatt_each

from linewatt.campaign.stored import campaign_from_dict
from linewatt.core import feature as feature_module
from linewatt.core.feature import Feature, FeatureCommand, feature_commands, installed_features
from linewatt.errors import InvalidInput, StoreError

FOLDERS = sorted(
    path.name
    for path in Path(import_module(feature_module.SHIPPED).__path__[0]).iterdir()
    if (path / "__init__.py").exists()
)

DOCS = Path(__file__).parents[3] / "docs"
CONTRACT = "features never import each other"
MOST_IMPORTS_BETWEEN_FEATURES = 15
CAMPAIGN = Path(__file__).parents[3] / "examples" / "two-hosts.yaml"


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    installed_features.cache_clear()
    yield
    installed_features.cache_clear()


def page_of(name: str) -> str:
    """The page of a feature: the first one that its docstring names."""
    docstring = import_module(f"{feature_module.SHIPPED}.{name}").__doc__ or ""
    return next(iter(re.findall(r"docs/([\w-]+\.md)", docstring)), "")


@pytest.mark.parametrize("name", FOLDERS)
def test_each_feature_has_a_page_of_its_own_that_its_docstring_and_the_architecture_name(name: str) -> None:
    page = page_of(name)
    assert page, f"name the page of features/{name} in its docstring: (docs/PAGE.md)"
    assert [other for other in FOLDERS if page_of(other) == page] == [name]
    assert (DOCS / page).is_file()
    (row,) = re.findall(rf"^\| `{name}/` \| .*", (DOCS / "architecture.md").read_text(), re.MULTILINE)
    assert f"]({page})" in row
    words = (DOCS / page).read_text()
    feature = next(item.feature for item in installed_features() if item.feature.name == name)
    for command in feature.commands:
        assert f"linewatt {command.word}" in words, f"{page} does not say what {command.word} is"


def imports_between_features() -> Iterator[str]:
    """Modules that modules of other features import names of, relative to the folder of features."""
    features = Path(feature_module.__file__).parents[1] / "features"
    prefix = f"{feature_module.SHIPPED}."
    for path in sorted(features.rglob("*.py")):
        feature = path.relative_to(features).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(prefix):
                continue
            imported = (node.module or "").removeprefix(prefix)
            if imported.partition(".")[0] != feature:
                folder = features / imported.replace(".", "/")
                for alias in node.names:
                    is_module = (folder / f"{alias.name}.py").is_file()
                    yield f"{imported}.{alias.name}" if is_module else imported


def imports_of_the_contract() -> list[str]:
    """``linewatt.features.A.MODULE -> linewatt.features.B.MODULE`` of features that may import others."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [item for item in settings["contracts"] if item["name"] == CONTRACT]
    imports: list[str] = contract["ignore_imports"]
    return imports


def test_features_import_each_other_by_few_modules_that_the_contract_names() -> None:
    doors = {line.rpartition(f"{feature_module.SHIPPED}.")[2] for line in imports_of_the_contract()}
    assert not [door for door in doors if "*" in door], "name each module"
    imports = list(imports_between_features())
    assert set(imports) == doors
    assert len(imports) <= MOST_IMPORTS_BETWEEN_FEATURES


GREETING = """
from linewatt.core.feature import Feature, FeatureCommand
FEATURE = Feature(
    name="greeting", summary="says hello", commands=(FeatureCommand("hello", "thirdparty:hello", "Tools"),)
)
def hello() -> None:
    "Say hello."
    print("hello from a package")
"""


def test_each_folder_of_features_is_a_feature_of_its_name() -> None:
    shipped = [item.feature.name for item in installed_features() if item.distribution == "linewatt"]
    assert shipped == FOLDERS
    assert shipped


@pytest.mark.parametrize("word", feature_commands())
def test_each_command_of_a_feature_can_be_loaded(word: str) -> None:
    assert callable(feature_commands()[word].load())


@pytest.mark.parametrize("name", FOLDERS)
def test_a_feature_is_read_without_importing_what_it_does(name: str) -> None:
    code = (
        f"import sys, linewatt.features.{name}\n"
        "print(*sorted(n for n in sys.modules if n.startswith('linewatt.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shared = {
        "linewatt.core",
        "linewatt.core.feature",
        "linewatt.core.third_party",
        "linewatt.errors",
        "linewatt.features",
    }
    assert set(done.stdout.split()) == {*shared, f"linewatt.features.{name}"}


def test_another_package_adds_a_command_and_is_listed_with_its_version(tmp_path: Path) -> None:
    install(tmp_path, {"linewatt.features": "greeting = thirdparty:FEATURE"}, GREETING)
    commands = (["hello"], ["--help"], ["features"], ["features", "--json"])
    greeting, help_text, listed_text, listed_json = (
        done.stdout for done in linewatt_each(*commands, path=tmp_path)
    )
    assert greeting == "hello from a package\n"
    assert ["hello", "Say", "hello."] in [line.split() for line in help_text.splitlines()]
    listed = listed_text.splitlines()
    assert listed[-1].split() == ["greeting", "thirdparty", "3.1", "says", "hello", "(hello)"]
    document = json.loads(listed_json)
    assert document["features"][-1] == {
        "name": "greeting",
        "summary": "says hello",
        "package": "thirdparty",
        "version": "3.1",
        "commands": ["hello"],
    }


@pytest.mark.parametrize(
    ("entry_point", "source", "message"),
    [
        (
            "broken = thirdparty:FEATURE",
            "import not_there",
            "cannot be imported (No module named 'not_there')",
        ),
        ("broken = thirdparty:FEATURE", "", "thirdparty:FEATURE cannot be imported"),
        (
            "broken = thirdparty:FEATURE",
            "raise RuntimeError('no\\ndriver')",
            "thirdparty:FEATURE cannot be imported (RuntimeError: no driver); mend or uninstall",
        ),
        ("broken = thirdparty:FEATURE", "raise SystemExit(3)", "cannot be imported (SystemExit: 3)"),
        ("broken = thirdparty:FEATURE", "FEATURE = (", "cannot be imported (SyntaxError: "),
        ("broken = thirdparty:FEATURE", "1 / 0", "cannot be imported (ZeroDivisionError: "),
        ("broken = thirdparty:FEATURE", "FEATURE = 1", "is not a linewatt.core.feature.Feature"),
        (
            "broken = thirdparty:FEATURE",
            GREETING.replace('"greeting"', f'"{FOLDERS[0]}"'),
            f"feature '{FOLDERS[0]}' is in two packages, linewatt and thirdparty",
        ),
        (
            "broken = thirdparty:FEATURE",
            GREETING.replace('"hello"', f'"{next(iter(feature_commands()))}"'),
            "is in two packages, linewatt and thirdparty; uninstall one of them",
        ),
    ],
)
def test_a_broken_package_is_one_line_and_core_commands_work(
    tmp_path: Path, entry_point: str, source: str, message: str
) -> None:
    install(tmp_path, {"linewatt.features": entry_point}, source)
    refused = linewatt("hello", path=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert linewatt("schema", "--help", path=tmp_path).returncode == 0


@pytest.fixture(scope="module")
def source_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, compiled files and their times included."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(Path(feature_module.__file__).parents[1], folder / "linewatt")
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_the_core_works_without_the_folder_of_a_feature(source_copy: Path, tmp_path: Path, name: str) -> None:
    features = source_copy / "linewatt" / "features"
    (features / name).rename(tmp_path / name)
    try:
        _check_core(source_copy, name)
    finally:
        (tmp_path / name).rename(features / name)


def _check_core(path: Path, name: str) -> None:
    words = [
        command.word
        for item in installed_features()
        for command in item.feature.commands
        if item.feature.name == name
    ]
    commands = [["--help"], ["plan", str(CAMPAIGN)], *([word] for word in words)]
    help_text, planned, *refusals = linewatt_each(*commands, path=path)
    assert help_text.returncode == 0
    shown = [
        line.split()[0] for line in help_text.stdout.splitlines() if line.startswith("  ") and line.strip()
    ]
    assert "run" in shown
    assert not set(words) & set(shown)
    assert (planned.returncode, planned.stderr) == (0, "")
    for word, refused in zip(words, refusals, strict=True):
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert refused.stderr.startswith(f"linewatt: No such command '{word}'")


CALIBRATED = ", power: {bmc: {driver: rapl, calibration: results/r}}"


@pytest.mark.parametrize(
    ("name", "more_of_host", "last_line", "where"),
    [
        ("calibration", CALIBRATED, "", "5:67: hosts.a.power.bmc.calibration"),
        ("profiles", "", "profile: true\n", "7:1: profile"),
        ("users", "", "users: {server: a, clients: [b], users: 1}\n", "7:1: users"),
        ("soak", "", "soak: 1h\n", "7:1: soak"),
    ],
)
def test_a_campaign_that_uses_a_feature_that_is_not_there_is_one_line(
    source_copy: Path, tmp_path: Path, name: str, more_of_host: str, last_line: str, where: str
) -> None:
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(
        "name: corrected\npairs: [a -> b]\ntests: [tcp]\nhosts:\n"
        f"  a: {{address: 192.0.2.1, data: eth0{more_of_host}}}\n"
        f"  b: {{address: 192.0.2.2, data: eth0}}\n{last_line}"
    )
    features = source_copy / "linewatt" / "features"
    (features / name).rename(tmp_path / name)
    try:
        refused = linewatt("plan", str(campaign), path=source_copy)
    finally:
        (tmp_path / name).rename(features / name)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert refused.stderr.startswith(f"linewatt: {campaign}:{where}: unknown key; ")


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("calibration", "'calibration' of power sources"),
        ("corrections", "'corrections' of show --json"),
        ("profile", "'profile' of campaign files"),
    ],
)
def test_two_features_never_add_one_key(tmp_path: Path, key: str, what: str) -> None:
    source = FEATURE_WITH_KEYS.replace("KEY", key)
    install(tmp_path, {"linewatt.features": "keys = thirdparty:FEATURE"}, source)
    refused = linewatt("hello", path=tmp_path)
    message = f"linewatt: key {what} is in two packages, linewatt and thirdparty; uninstall one of them\n"
    assert (refused.returncode, refused.stderr) == (2, message)


def test_a_feature_is_there_only_with_what_it_needs(tmp_path: Path) -> None:
    source = GREETING.replace('summary="says hello"', 'summary="says hello", needs=("absent",)')
    install(tmp_path, {"linewatt.features": "greeting = thirdparty:FEATURE"}, source)
    listed = linewatt("features", path=tmp_path)
    assert listed.returncode == 0
    assert "greeting" not in listed.stdout
    source = GREETING.replace('summary="says hello"', 'summary="says hello", needs=("history",)')
    (tmp_path / "other").mkdir()
    install(tmp_path / "other", {"linewatt.features": "greeting = thirdparty:FEATURE"}, source)
    assert "greeting" in linewatt("features", path=tmp_path / "other").stdout


def test_pairs_of_features_are_those_that_one_needs() -> None:
    """A feature that imports another names it under ``needs``, and import-linter's contract has the pair."""
    pairs = set(
        re.findall(r"features\.(\w+)\.\S+ -> linewatt\.features\.(\w+)", "\n".join(imports_of_the_contract()))
    )
    needed = [
        (item.feature.name, name)
        for item in installed_features()
        if item.distribution == "linewatt"
        for name in item.feature.needs
    ]
    assert sorted(pairs) == sorted(needed)


def test_a_command_whose_path_leads_nowhere_is_named() -> None:
    command = FeatureCommand("hello", "linewatt.features:hello", "Tools")
    with pytest.raises(InvalidInput, match=r"command 'hello': linewatt.features:hello cannot be imported"):
        command.load()


def test_a_feature_adds_nothing_that_it_does_not_name() -> None:
    assert Feature(name="x", summary="y").commands == ()


FEATURE_WITH_KEYS = """
from linewatt.core.feature import CampaignKey, Feature, PowerSourceKey, ResultKey
FEATURE = Feature(
    name="keys",
    summary="adds keys",
    power_source_keys=(
        PowerSourceKey(
            key="KEY", field_path="", problems_path="", read_path="", document_path="", correct_path=""
        ),
    ),
    result_keys=(ResultKey("KEY", "", ""),),
    campaign_keys=(CampaignKey(key="KEY", field_path="", problems_path=""),),
)
"""

NAMED = """
from linewatt.core.feature import Feature, FeatureDocument, ResultName
from linewatt.errors import StoreError
FEATURE = Feature(
    name="nights",
    summary="results by their night",
    documents=(FeatureDocument("night", "`night --json`", "A night.", 3, "thirdparty:schema"),),
    result_names=(ResultName("night", "thirdparty:find"),),
)
def schema():
    return {"type": "object", "properties": {}}
def find(root, name):
    raise StoreError(f"{name}: no such night below {root}")
"""


def test_another_package_adds_names_of_results_and_a_document(tmp_path: Path) -> None:
    install(tmp_path, {"linewatt.features": "nights = thirdparty:FEATURE"}, NAMED)
    shown = linewatt("show", "night:monday", path=tmp_path)
    assert (shown.returncode, shown.stderr) == (1, "linewatt: night:monday: no such night below results\n")
    schema = json.loads(linewatt("schema", "night", path=tmp_path).stdout)
    assert (schema["title"], schema["type"]) == ("linewatt night", "object")


KIND_OF_PLAN = """
from linewatt.core.feature import Feature
FEATURE = Feature(name="naps", summary="waits", plan_kind="thirdparty:KIND")
class Nap:
    headline, load_plan, changes = "a nap of 7 s", None, ()
    def lines(self):
        yield "nothing happens"
    def document(self):
        return {"nap_s": 7.0}
class Kind:
    noun = "a nap"
    def is_of(self, campaign):
        return "soak" not in campaign.feature_values
    def plan(self, campaign, sites=None):
        return Nap()
    def keys(self):
        return {"nap_s": {"type": "number"}}
KIND = Kind()
"""


def test_another_package_adds_what_campaigns_are_planned_into(tmp_path: Path) -> None:
    install(tmp_path, {"linewatt.features": "naps = thirdparty:FEATURE"}, KIND_OF_PLAN)
    commands = (["plan", str(CAMPAIGN)], ["plan", str(CAMPAIGN), "--json"], ["schema", "plan"])
    planned, document, schema_text = (done.stdout for done in linewatt_each(*commands, path=tmp_path))
    assert planned.splitlines()[:2] == ["two-hosts: a nap of 7 s", "nothing happens"]
    assert json.loads(document)["nap_s"] == 7.0
    schema = json.loads(schema_text)
    assert schema["oneOf"][-1]["description"] == "Of a nap."


LOAD_OF_TRIALS = """
import sys
from pathlib import Path
from pydantic import Field
from linewatt.campaign.messages import suggest
from linewatt.core.feature import CampaignKey, Feature, FeatureLoad
from linewatt.errors import InvalidInput, StoreError
from linewatt.model import Case
FEATURE = Feature(
    name="pages",
    summary="loads pages",
    campaign_keys=(
        CampaignKey(
            key="pages",
            field_path="thirdparty:FIELD",
            problems_path="thirdparty:problems",
            read_path="thirdparty:read",
            document_path="builtins:dict",
            hosts_path="thirdparty:hosts",
            brings_load=True,
        ),
    ),
    loads=(
        FeatureLoad(
            name="pages",
            test="pages",
            planning_path="thirdparty:PLANNING",
            trials_path="thirdparty:absent",
            measuring_path="thirdparty:absent",
        ),
    ),
    knobs=("thirdparty:KNOB",),
    password_files="thirdparty:password_files",
)
FIELD = (int | None, Field(default=None, description="How many."))
def problems(entry, names, hosts):
    if entry.pages > 9:
        yield ("pages",), "must be at most 9"
def read(entry, base):
    return {"pages": entry.pages}
def hosts(entry):
    return ("a", "b")
def password_files(campaign):
    yield "pages", Path(__file__)
class Knob:
    name = "page_folder"
KNOB = Knob()
class Planning:
    overhead_s = 1.0
    factor_names = ("pages.size",)
    def check_factor(self, name, text):
        if name not in self.factor_names:
            raise InvalidInput(f"pages have no {name!r}; {suggest(name, self.factor_names)}")
        return text
    def named_server(self, entry):
        return "a"
    def server(self, campaign):
        return "a"
    def count_cases(self, entry):
        return len(entry.families)
    def cases(self, campaign):
        yield Case("pages", "b", "a")
    def lines(self, campaign):
        yield f"{campaign.feature_values['pages']['pages']} pages"
    def notes(self, campaign):
        yield "pages are small"
PLANNING = Planning()
"""


def _pages(folder: Path, last_lines: str) -> Path:
    install(folder, {"linewatt.features": "pages = thirdparty:FEATURE"}, LOAD_OF_TRIALS)
    campaign = folder / "campaign.yaml"
    campaign.write_text(
        "name: p\nhosts:\n  a: {address: 192.0.2.1, data: eth0}\n  b: {address: 192.0.2.2, data: eth0}\n"
        f"trials: 2\n{last_lines}"
    )
    return campaign


def test_another_package_adds_a_load_of_trials_with_factors_of_its_own(tmp_path: Path) -> None:
    campaign = _pages(tmp_path, "pages: 3\nfactors: {pages.size: [1k, 2k], cpus_online: [all, 0-3]}\n")
    planned = linewatt("plan", campaign, path=tmp_path)
    lines = planned.stdout.splitlines()
    assert lines[0].startswith("p: 3 cases × 2 trials = 6, ")
    assert lines[1] == "3 pages"
    assert "varied on a: cpus_online" in lines, "CPUs go offline on the host of its server alone"
    assert lines[-1] == "note: pages are small"
    document = json.loads(linewatt("plan", campaign, "--json", path=tmp_path).stdout)
    assert {case["test"] for case in document["cases"]} == {"pages"}
    assert document["duration_s"] == pytest.approx(6 * (67 + 0.1 + 1.0) + 2 * 5)


@pytest.mark.parametrize(
    ("last_lines", "message"),
    [
        ("pages: 10\n", ":6:8: pages: must be at most 9"),
        ("tests: [tcp]\nfactors: {pages.size: [1k, 2k]}\n", "pages.size: is of pages, and this campaign has"),
        (
            "pages: 1\nfactors: {pages.sise: [1k, 2k]}\n",
            "pages have no 'pages.sise'; did you mean pages.size?",
        ),
    ],
)
def test_what_a_feature_refuses_of_its_key_and_its_factors_is_one_line(
    tmp_path: Path, last_lines: str, message: str
) -> None:
    refused = linewatt("plan", _pages(tmp_path, last_lines), path=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert message in refused.stderr


def test_a_campaign_stored_with_a_feature_is_read_with_it_and_refused_without(tmp_path: Path) -> None:
    campaign = _pages(tmp_path, "pages: 3\n")
    code = (
        "import json, pathlib, sys\n"
        "from linewatt.campaign import stored\nfrom linewatt.campaign.reading.file import load_campaign\n"
        "from linewatt.engine.live.secrets import notes_on_open_files\n"
        "from linewatt.engine.undo.knobs import ALL_KNOBS\n"
        "campaign = load_campaign(pathlib.Path(sys.argv[1]))\n"
        "written = json.loads(json.dumps(stored.campaign_as_dict(campaign)))\n"
        "assert stored.campaign_from_dict(written).feature_values == campaign.feature_values\n"
        "print(json.dumps([written, notes_on_open_files(campaign), 'page_folder' in ALL_KNOBS]))\n"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code, campaign], capture_output=True, text=True, check=True, env=environment
    )
    written, notes, has_knob = json.loads(done.stdout)
    assert written["pages"] == {"pages": 3}
    assert written["users"] is None
    assert [note.partition(":")[0] for note in notes] == ["pages.password_file"]
    assert has_knob
    with pytest.raises(StoreError, match="has pages, which is of a feature that is not installed"):
        campaign_from_dict(written)


def test_a_name_with_a_colon_that_no_feature_has_is_the_id_of_a_result(tmp_path: Path) -> None:
    assert feature_module.named_result(tmp_path, "a:b") is None
    assert feature_module.named_result(tmp_path, "baseline") is None


TALLY = """
from pydantic import Field
from linewatt.core.feature import CampaignKey, Feature, FeatureOption, FurtherTrials, HostCheck, ReportFormat
from linewatt.report.section import Section, text_lines
FEATURE = Feature(
    name="tally",
    summary="counts",
    campaign_keys=(
        CampaignKey(key="tally", field_path="thirdparty:FIELD", problems_path="thirdparty:problems"),
    ),
    further_trials=(
        FurtherTrials(
            name="tallies", noun="tally", campaign_key="tally", show_option="tally",
            plan_path="thirdparty:PLAN", run_path="",
        ),
    ),
    host_checks=(HostCheck(name="tally", title="tally", campaign_key="tally", path=""),),
    options=(FeatureOption(command="show", word="tally", help="Counted.", path="thirdparty:VIEW"),),
    report_formats=(ReportFormat(word="tally", help="counted", suffix="txt", path="thirdparty:tallied"),),
    page_sections="thirdparty:sections",
)
FIELD = (int, Field(default=0, description="How many cases."))
def problems(entry, *_):
    if entry.tally > 2:
        yield ("tally",), "must be 2 at most"
class PLAN:
    overhead_s = 1.0
    beside = "with a tally beside their load"
    cases = staticmethod(lambda campaign, cases: list(cases)[: campaign.feature_values["tally"]])
    notes = staticmethod(lambda campaign, cases: iter(["tallied"]))
class VIEW:
    key = "tallied"
    value = staticmethod(lambda view: view.done)
    terminal = staticmethod(lambda view, width: f"{view.done} counted")
    schema = staticmethod(lambda: {"type": "integer"})
def tallied(result):
    return f"{len(result.trials)} trials".encode()
def sections(view):
    yield Section("Tally", "tally", notes=(text_lines("Tally", ["counted here"]),))
"""


def test_another_package_adds_a_key_with_trials_of_its_own(tmp_path: Path) -> None:
    install(tmp_path, {"linewatt.features": "tally = thirdparty:FEATURE"}, TALLY)
    campaign = tmp_path / "campaign.yaml"
    text = CAMPAIGN.read_text()
    campaign.write_text(f"{text}tally: 2\n")
    planned = json.loads(linewatt("plan", str(campaign), "--json", path=tmp_path).stdout)
    assert planned["tallies"] == [{"number": 1, "case": 0}, {"number": 2, "case": 1}]
    assert "tallied" in planned["notes"]
    printed = " ".join(linewatt("plan", str(campaign), path=tmp_path).stdout.split())
    (line,) = re.findall(r"tallies: 2 more trials.*? their load", printed)
    assert line.endswith("part of no figure, with a tally beside their load")
    campaign.write_text(f"{text}tally: 3\n")
    refused = linewatt("plan", str(campaign), path=tmp_path)
    assert refused.stderr.startswith(f"linewatt: {campaign}:")
    assert refused.stderr.endswith(": tally: must be 2 at most\n")


def test_another_package_adds_an_option_a_format_and_a_section(tmp_path: Path) -> None:
    install(tmp_path, {"linewatt.features": "tally = thirdparty:FEATURE"}, TALLY)
    results, page = ("--results", str(tmp_path / "results")), tmp_path / "page"
    path = stored(tmp_path / "results", made("a", runs()))
    (path / "tallies" / "00001").mkdir(parents=True)
    shown = linewatt("show", path.name, "--tally", *results, path=tmp_path)
    assert (shown.stdout, shown.stderr) == ("10 counted\n", "")
    document = json.loads(linewatt("show", path.name, "--tally", "--json", *results, path=tmp_path).stdout)
    assert (document["tallied"], document["tallies_count"]) == (10, 1)
    assert f"linewatt show {path.name} --tally" in linewatt("show", path.name, *results, path=tmp_path).stdout
    assert linewatt("show", path.name, "--tally", "--profile", *results, path=tmp_path).returncode == 2
    linewatt("report", path.name, "--format", "tally", "-o", str(page), *results, path=tmp_path)
    assert page.read_bytes() == b"10 trials"
    linewatt("report", path.name, "-o", str(page), *results, path=tmp_path)
    assert "counted here" in page.read_text()


SENSOR = """
class Twice:
    name = "NAME"
    Config = command = parse = channel = open = order = check = read = wanted = write = tests = None
    client_command = server_command = is_default = soaks = None
OBJECT = Twice()
"""
CLASSES = ("linewatt.power_sources",)
"""groups of entry points that name a class"""
REGISTRIES = {
    "linewatt.sensors": "mpstat",
    "linewatt.power_sources": "ipmi",
    "linewatt.loads": "iperf3",
    "linewatt.knobs": "mtu",
}


def plugin(group: str, name: str) -> str:
    """The source of a package with an object of a group."""
    source = SENSOR.replace("NAME", name)
    return source.replace("Twice()", "Twice") if group in CLASSES else source


@pytest.mark.parametrize("group", REGISTRIES)
def test_a_name_that_linewatt_has_already_is_refused_in_one_line(tmp_path: Path, group: str) -> None:
    install(tmp_path, {group: "again = thirdparty:OBJECT"}, plugin(group, REGISTRIES[group]))
    refused = linewatt("schema", path=tmp_path)
    where = f"{group}: thirdparty:OBJECT of thirdparty 3.1"
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"linewatt: {where}: linewatt has a '{REGISTRIES[group]}' already; uninstall one of them\n"
    )


@pytest.mark.parametrize("group", REGISTRIES)
def test_an_object_that_lacks_what_its_kind_needs_is_refused_by_name(tmp_path: Path, group: str) -> None:
    install(tmp_path, {group: "bare = thirdparty:OBJECT"}, "class Bare: name = 'bare'\nOBJECT = Bare()")
    refused = linewatt("schema", path=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    where = f"linewatt: {group}: thirdparty:OBJECT of thirdparty 3.1 has no "
    assert re.fullmatch(re.escape(where) + r"[\w, ]+; mend or uninstall that package\n", refused.stderr)


@pytest.mark.parametrize("group", REGISTRIES)
def test_an_object_of_another_kind_or_without_a_name_is_refused_in_one_line(
    tmp_path: Path, group: str
) -> None:
    is_class = group in CLASSES
    other_kind = plugin("" if is_class else CLASSES[0], "again")
    kinds = "an instance, not a class" if is_class else "a class, not an instance"
    nameless = plugin(group, "again").replace('"again"', "['again']")
    for number, (source, problem) in enumerate(
        [(other_kind, f"is {kinds}"), (nameless, "has a name that is not text")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        install(folder, {group: "again = thirdparty:OBJECT"}, source)
        refused = linewatt("schema", path=folder)
        assert (refused.returncode, refused.stdout) == (2, "")
        where = f"{group}: thirdparty:OBJECT of thirdparty 3.1"
        assert refused.stderr == f"linewatt: {where} {problem}; mend or uninstall that package\n"


def test_architecture_shows_a_feature_that_works_and_each_field_of_one() -> None:
    text = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
    (code,) = re.findall(r"^```python\n(FEATURE = .*?)^```", text, re.DOTALL | re.MULTILINE)
    names = {"Feature": Feature, "FeatureCommand": FeatureCommand}
    exec(code, names)  # noqa: S102
    assert isinstance(names["FEATURE"], Feature)
    rows = re.findall(r"^\| `(\w+)` \|", text[text.index("| field |") : text.index("Another package")], re.M)
    assert rows == [field.name for field in fields(Feature) if field.name not in ("name", "summary")]
