# SPDX-License-Identifier: Apache-2.0
"""Every command that a document shows: those that need no host are run, the others are parsed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from scripts.gallery.rows.campaigns import files_of, write_files
from tests.compare_factories import made, numbered, runs, with_facts
from tests.doc_pages import (
    DOCUMENTS,
    ROOT,
    Shown,
    blocks,
    commands,
    commands_of,
    fenced,
    mentioned,
    text_of,
)
from tests.effect_factories import experiment_trials
from tests.report_factories import host, powered, result, stored
from tests.soak_pairs import soak
from tests.unit.conftest import Run
from tests.unit.features.profiles.test_profiles import host as profiled
from tests.unit.features.profiles.test_profiles import recorded

from linewatt.cli.entry_point import whole
from linewatt.features.profiles import store
from linewatt.features.profiles.perf.model import Profile
from linewatt.model import Case

PROGRAM = typer.main.get_command(whole())
NEED_HOSTS = {
    "init",
    "run",
    "resume",
    "restore",
    "check",
    "rehearse",
    "prepare",
    "calibrate",
    "lab",
    "demo",
    "serve",
}
"""commands that log in somewhere, make hosts, or end when they are ended; all others are run"""
STATUS = {"compare": {0, 3, 4}, "history": {0, 3, 4}}
"""exit codes that are an answer, where 0 is not the only one"""
LAB_RESULT = "tests/captures/results/method-1"
STUDIES = [
    document
    for document in DOCUMENTS
    if document.startswith("docs/studies/") and not document.endswith("/rows.md")
]
MOST_COMMANDS, MOST_LINES = 6, 120
"""commands that a study takes, without hosts and on them, and lines of its page"""
GEN, A, B = "gen", "h2", "h3"
FROM_GEN = Case("tcp", GEN, A)


def resolved(words: tuple[str, ...]) -> tuple[Any, list[str]]:
    """The command that words call, and what is left for it. Raises KeyError where there is none."""
    command: Any = PROGRAM
    rest = list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        command = command.commands[rest.pop(0)]
    return command, rest


def options(command: Any) -> set[str]:
    every = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    return every | {"--help", "-h", "--version"}


ALL = [(document, shown) for document in DOCUMENTS for shown in commands(document)]
SHOWN = [(document, shown) for document in DOCUMENTS for shown in mentioned(document)]


def test_documents_show_commands_and_this_finds_them() -> None:
    assert len(ALL) > 50
    assert len(SHOWN) > 200
    called = {shown.words[0] for _, shown in (*ALL, *SHOWN)}
    assert called >= set(PROGRAM.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_and_option_that_a_document_mentions_exists(document: str) -> None:
    wrong = []
    for shown in mentioned(document):
        try:
            command, rest = resolved(shown.words)
        except KeyError as error:
            wrong.append(f"{shown.text}: no command {error}")
            continue
        named = {word.partition("=")[0].rstrip(".,:;)…") for word in rest if word.startswith("-")}
        wrong += [f"{shown.text}: no option {name}" for name in sorted(named - options(command) - {"-"})]
    assert wrong == []


@pytest.mark.parametrize(
    "words", [("show", "--no-such-option"), ("no-such-command",), ("advise", "fleet", "--for", "1")]
)
def test_a_command_that_does_not_exist_would_be_noticed(words: tuple[str, ...]) -> None:
    try:
        command, rest = resolved(words)
    except KeyError:
        return
    assert {word for word in rest if word.startswith("-")} - options(command)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that documents name, to be looked at only."""
    root = tmp_path_factory.mktemp("files")
    shutil.copytree(ROOT / "docs" / "published", root / "docs" / "published")
    for name in ("two-hosts", "campaign", "lab"):
        shutil.copy(ROOT / "examples" / "two-hosts.yaml", root / f"{name}.yaml")
    shutil.copy(ROOT / "examples" / "soak.yaml", root)
    write_files(root)
    captures = {word for _, shown in ALL for word in shown.words if word.startswith("tests/captures/")}
    for name in captures:
        shutil.copytree(ROOT / name, root / name, dirs_exist_ok=True)
    shutil.copy(ROOT / "tests/captures/topology/2.9.0-v2-devices/topology.xml", root)
    return root


@pytest.fixture
def place(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, in which commands are run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(
    ("document", "shown"), ALL, ids=lambda one: one.text if isinstance(one, Shown) else one
)
def test_every_command_that_is_to_be_typed_is_one_that_the_program_takes(
    document: str, shown: Shown, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    command, rest = resolved(shown.words)
    assert not hasattr(command, "commands"), f"{document}: {shown.text} is not whole"
    command.make_context(shown.words[0], rest)  # raises a usage error


def of_networks(name: str, day: int, slower: float = 1.0) -> Path:
    """A result of three hosts on two networks, with watts, whose newer ones are slower."""
    cases = [
        replace(FROM_GEN, receiver=receiver, network=network)
        for receiver in (A, B)
        for network in ("bare", "vxlan")
    ]
    trials = powered(
        numbered(
            *(
                runs(one, slower * (0.9 if one.network == "vxlan" else 1), n=4, seed=at)
                for at, one in enumerate(cases)
            )
        )
    )
    kernel = {"release": f"6.{day}.0"}
    hosts = {GEN: host(GEN), A: with_facts(A, kernel=kernel), B: with_facts(B, kernel=kernel)}
    return stored(Path("results"), made(name, trials, day=day, hosts=hosts, id=name))


def named_soak(name: str, day: int) -> Path:
    return soak(day, lambda manifest: manifest.update(id=name)).rename(Path("results") / name)


def with_profiles(name: str, day: int) -> None:
    """The same, each case with a profile of its receiver."""
    path = of_networks(name, day)
    end = profiled(slices=20, slice_s=0.1, start_s=1e9, end_s=1e9 + 2)
    for number, network in enumerate(("bare", "vxlan"), 1):
        case = replace(FROM_GEN, network=network)
        text = recorded({"tcp_recvmsg": 40 + 10 * number, "copy_to_user": 50})
        profile = Profile(1, number, case, case.key, 1e9, (replace(end, host=A),), 9.4e9)
        store.write_profile(path, profile, {f"{A}/{store.RECORDED}": text})


def results(run: Run) -> None:
    """What most documents ask about: `last` is the newest, `main` a baseline."""
    for day, name in (
        (1, "20260101-000000-a"),
        (60, "20260301-000000-b"),
        (61, "old"),
        (62, "new"),
        (63, "newest"),
    ):
        of_networks(name, day, 0.96 if day > 61 else 1.0)
    assert run("baseline", "set", "main", "old")[0] == 0


def of_soaks(run: Run) -> None:
    for day, name in enumerate(("SOAK_A", "SOAK_B"), 1):
        named_soak(name, day)


def of_compare(run: Run) -> None:
    results(run)
    for day, name in enumerate(("soak-1", "soak-2", *(f"s{at}" for at in range(1, 9))), 11):
        named_soak(name, day)
    for name in ("old", "new"):
        shutil.rmtree(Path("results") / name)
        with_profiles(name, 61 if name == "old" else 62)


def of_imports(_: Run) -> None:
    """Files of two hosts as somebody measured them by hand, and one of them alone."""
    kept = ROOT / "tests" / "captures" / "imports" / "two-hosts"
    shutil.copytree(kept, "DIR")
    shutil.copy(next((kept / "gen").glob("client-*.json")), "client.json")


def of_profiles(run: Run) -> None:
    for day, name in enumerate(("ID", "A", "B"), 1):
        with_profiles(name, day)


def first_hour(run: Run) -> None:
    """The two kernels of the first hour: by three trials of each, then by ten."""
    for day, trials, ratio, kernel, seed in (
        (5, 3, 1.0, "6.12.9", 1),
        (6, 3, 0.98, "6.18.1", 11),
        (7, 10, 1.0, "6.12.9", 21),
        (8, 10, 0.98, "6.18.1", 31),
    ):
        one, four = Case("tcp", "gen", "dut"), Case("tcp", "gen", "dut", instances=4)
        both = numbered(
            runs(one, 0.25 * ratio, n=trials, seed=seed), runs(four, ratio, n=trials, seed=seed + 1)
        )
        hosts = {"gen": host("gen"), "dut": with_facts("dut", kernel={"release": kernel})}
        stored(Path("results"), made("two-hosts", both, day=day, hosts=hosts))


WORLDS: dict[str, Callable[[Run], None]] = {
    "docs/compare.md": of_compare,
    "docs/first-hour.md": first_hour,
    "docs/history.md": of_compare,
    "docs/import.md": of_imports,
    "docs/profiles.md": of_profiles,
    "docs/soak.md": of_soaks,
}
"""document → what there is when its commands are typed; else ``results``"""

RUN = {
    document: asked
    for document in DOCUMENTS
    if (
        asked := [one for one in commands(document) if one.words[0] not in NEED_HOSTS and "<" not in one.text]
    )
}


def answers(document: str, run: Run) -> Iterator[tuple[Shown, int, str, str]]:
    WORLDS.get(document, results)(run)
    for block in blocks(document, "yaml"):  # a campaign that a reader saves under its name
        if name := re.match(r"name: (\S+)\n", block):
            Path(f"{name[1]}.yaml").write_text(block)
    for shown in RUN[document]:
        yield (shown, *run(*shown.words))
        if shown.words[:2] == ("baseline", "set"):
            of_networks("measured-later", 90)


@pytest.mark.parametrize("document", RUN)
def test_every_command_that_needs_no_host_is_run(document: str, place: Path, run: Run) -> None:
    for shown, code, _, err in answers(document, run):
        assert code in STATUS.get(shown.words[0], {0}), f"{shown.text}: {err}"


@pytest.fixture
def terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run`` on a terminal as wide as a column of the site, whose colours are left out."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "92")

    def call(*words: str) -> tuple[int, str, str]:
        code, out, err = run(*words)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
        return code, "".join(f"{line.rstrip()}\n" for line in lines), err

    return call


def test_the_first_hour_shows_what_is_printed_and_says_the_exit_code(place: Path, terminal: Run) -> None:
    printed = blocks("docs/first-hour.md", "")
    compared = [
        (out, code)
        for shown, code, out, _ in answers("docs/first-hour.md", terminal)
        if shown.words[0] == "compare"
    ]
    assert [out for out, _ in compared] == printed
    assert [code for _, code in compared] == [4, 3]
    assert "the exit code is 4" in (ROOT / "docs" / "first-hour.md").read_text()


def test_what_a_reader_is_shown_of_a_lab_result_is_what_is_printed_of_it(place: Path, terminal: Run) -> None:
    printed = "".join(terminal("show", LAB_RESULT, *more)[1] for more in ((), ("--full",)))
    shown = blocks("docs/read-a-report.md", "")
    assert len(shown) > 5
    assert [block for block in shown if block not in printed] == []


def test_there_is_a_page_for_each_study() -> None:
    assert len(STUDIES) == 5
    assert [name for name in STUDIES if len(text_of(name).splitlines()) > MOST_LINES] == []
    howto = text_of("docs/how-to.md")
    assert [name for name in STUDIES if f"({name.removeprefix('docs/')})" not in howto] == []


@pytest.mark.parametrize("document", STUDIES)
def test_a_study_page_shows_what_its_commands_print_of_the_published_table(
    document: str, place: Path, terminal: Run
) -> None:
    shown, printed = [], ""
    for language, text in fenced(document):
        if language == "sh":
            typed = [one for one in commands_of(text) if one.words[0] not in NEED_HOSTS]
            printed = "".join(terminal(*one.words)[1] for one in typed)
        elif language == "":
            shown.append(text)
            assert text in printed
    assert shown


@pytest.mark.parametrize("document", STUDIES)
def test_the_campaigns_of_a_study_page_are_planned_and_take_few_commands(
    document: str, place: Path, run: Run
) -> None:
    of_preliminary_tests()
    campaigns = [name for name in files_of(text_of(document)) if name.endswith(".yaml")]
    for name in campaigns:
        code, out, err = run("plan", name)
        assert (code, err) == (0, ""), name
        assert out.startswith(f"{name.removesuffix('.yaml')}: ")
    typed = commands(document)
    on_hosts = [shown for shown in typed if shown.words[0] in NEED_HOSTS]
    assert {name for shown in on_hosts for name in shown.words if name.endswith(".yaml")} == set(campaigns)
    assert len(typed) <= MOST_COMMANDS


def of_preliminary_tests() -> None:
    """The experiment whose best setting the soak of a study runs with."""
    factors = {"users.file_size": ("16M", "1M"), "users.vsftpd.use_sendfile": ("on", "off")}
    trials = experiment_trials(
        "full",
        factors=factors,
        test="ftp",
        trials=4,
        effect=lambda levels: 0.5 if "1M" in levels.values() else 1.0,
    )
    campaign = {"factors": {name: list(levels) for name, levels in factors.items()}, "design": "full"}
    result_id = "20260101-000000-ftp-settings"
    stored(Path("results"), result(trials, campaign=campaign, id=result_id, name="ftp-settings"))
