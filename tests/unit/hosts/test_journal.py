# SPDX-License-Identifier: Apache-2.0
"""The undo journal: on disk first, read back whole after any crash."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import pwd
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests import inline
from tests.inline import invoke

from linewatt.engine.undo.host_lock import Holder
from linewatt.engine.undo.leftover import leftovers, refuse_leftovers
from linewatt.engine.undo.restore import Undoer, forget_journal, restore_hosts
from linewatt.engine.undo.restore_lock import restore_lock
from linewatt.errors import ChangeError, JournalError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.journal.journal import Entry, Journal, journal_path, journals
from linewatt.hosts.journal.lines import encoded, parse

NOBODY = 65534
HOST = HostSpec("h1", "192.0.2.1", "eth0", cpus=(0, 1), shares_cpus_with=("h2",))


def entry(number: int) -> Entry:
    return Entry(number, "h1", "sysctl", f"net.core.key{number}", before="1", wanted="2")


def test_what_was_intended_is_read_back_until_it_is_undone(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    journal.intend([entry(0), entry(1)])
    journal.applied(1, "2")
    journal.undone(0)
    hosts, entries = journal.read()
    assert hosts == {"h1": HOST}
    assert [(one.number, one.after) for one in entries] == [(1, "2")]
    journal.discard()
    assert journals(tmp_path) == []


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    journal.intend([entry(0)])
    data = journal.path.read_bytes()
    cut = data + json.dumps({"event": "undone", "number": 0}).encode()[:-4]
    assert parse(cut) == parse(data)
    assert parse(cut).damage == ()
    journal.close()


@pytest.mark.parametrize("left", [b'{"event": "undone", "num', bytes(40)], ids=["cut off", "never written"])
def test_what_a_resumed_campaign_intends_is_not_lost_with_a_line_that_a_crash_cut_off(
    tmp_path: Path, left: bytes
) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    journal.intend([entry(0)])
    journal.close()
    with journal.path.open("ab") as file:
        file.write(left)
    again = Journal(journal.path, create=True)
    second = entry(again.next_number())
    again.intend([second])
    assert again.read()[1] == (entry(0), second)
    again.close()


def test_what_is_intended_is_synced_before_it_is_made_and_the_rest_with_one_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    synced: list[str] = []
    journal.begin([HOST])
    monkeypatch.setattr("os.fsync", lambda _: synced.append(journal.path.read_text()))
    journal.intend([entry(0), entry(1)])
    assert [text.count("intend") for text in synced] == [2]
    for number in (0, 1):
        journal.applied(number, "2")
        journal.undone(number)
    assert len(synced) == 1
    assert journal.read()[1] == (), "what is not synced is there all the same while the machine is"
    journal.sync()
    assert synced[-1].count("undone") == 2
    journal.close()


def test_a_journal_that_is_being_written_cannot_be_opened_by_another(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    with pytest.raises(ChangeError, match="still running or being restored; wait for its end"):
        Journal(journal.path, create=False)
    journal.close()
    Journal(journal.path, create=False).close()


def test_numbers_are_never_used_twice_when_a_campaign_goes_on(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    journal.intend([entry(journal.next_number())])
    first = journal.read()[1][0].number
    journal.close()
    again = Journal(journal_path(tmp_path, "run"), create=True)
    assert again.next_number() > first
    again.close()


def test_a_run_on_hosts_that_a_killed_one_left_changed_is_refused(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "killed"), create=True)
    journal.begin([HOST])
    journal.intend([entry(0)])
    journal.close()
    same_host = HostSpec("other-name", "192.0.2.1", "eth1")
    with pytest.raises(ChangeError, match="linewatt restore"):
        refuse_leftovers(tmp_path, [same_host], resumed=None)
    refuse_leftovers(tmp_path, [same_host], resumed="killed")
    refuse_leftovers(tmp_path, [HostSpec("h9", "192.0.2.9", "eth0")], resumed=None)


def test_a_journal_of_hosts_that_are_no_more_can_be_dropped(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "gone"), create=True)
    journal.begin([HOST])
    journal.intend([entry(0)])
    journal.close()
    with pytest.raises(ChangeError, match="there are: gone"):
        forget_journal(tmp_path, "other")
    assert forget_journal(tmp_path, "gone") == 1
    assert journals(tmp_path) == []


def test_the_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    assert journal.path.stat().st_mode & 0o077 == 0
    journal.close()


def test_a_journal_that_cannot_be_written_says_so_and_holds_what_it_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    journal.intend([entry(0)])
    before, write = journal.path.read_bytes(), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))  # as on a disk that is nearly full
        with pytest.raises(
            JournalError, match=r"run\.jsonl: the undo journal cannot be written: No space left"
        ):
            journal.undone(0)
    assert journal.path.read_bytes() == before
    journal.undone(0)
    assert journal.read()[1] == ()
    journal.close()


def killed(root: Path, *, undone: int = 0) -> Path:
    """A journal of two hosts with three changes, whose controller was killed."""
    journal = Journal(journal_path(root, "killed"), create=True)
    journal.begin([HOST, HostSpec("h2", "192.0.2.2", "eth0")])
    for number in range(3):
        journal.intend([entry(number)])
        journal.applied(number, "2")
    for number in range(undone):
        journal.undone(number)
    journal.close()
    return journal.path


def changed(number: int, old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [
        line.replace(old, new) if at == number else line for at, line in enumerate(lines, start=1)
    ]


DAMAGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "a value is another": (changed(2, b'"before": "1"', b'"before": "7"'), "line 2: its checksum"),
    "a byte is another": (changed(4, b'"knob"', b'"knoc"'), "line 4: its checksum"),
    "a line is cut": (lambda lines: [*lines[:2], lines[2][:20] + b"\n", *lines[3:]], "line 3: is no JSON"),
    "a line is gone": (lambda lines: [*lines[:1], *lines[2:]], "line 2: is line 3 where line 2 belongs"),
    "a line is there twice": (lambda lines: [*lines[:2], *lines[1:]], "line 3: is line 2 where line 3"),
    "lines are swapped": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 2: is line 3"),
    "a line is empty": (lambda lines: [*lines[:1], b"\n", *lines[2:]], "line 2: is empty"),
    "zeros": (lambda lines: [*lines[:1], bytes(40) + b"\n", *lines[2:]], "line 2: is no JSON"),
    "another language": (lambda lines: [*lines[:1], b"[1]\n", *lines[2:]], "line 2: is no JSON object"),
    "no text": (lambda lines: [*lines[:1], b"\xff\xfe\n", *lines[2:]], "line 2: is no JSON"),
    "deep": (lambda lines: [*lines[:1], b"[" * 100_000 + b"\n", *lines[2:]], "line 2: is no JSON"),
    "a later version": (changed(1, b'"schema_version": 2', b'"schema_version": 3'), "line 1: its checksum"),
    "no checksum": (lambda lines: [*lines[:1], b'{"event": "undone", "number": 0}\n'], "has no checksum"),
    "the hosts are gone": (lambda lines: lines[1:], "line 1: is line 2 where line 1 belongs"),
    "nothing is left": (lambda _: [], "line 1: is empty"),
    "its beginning only": (lambda lines: [lines[0][:50]], "line 1: is no JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_a_journal_is_named_with_its_line_and_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path))
    monkeypatch.setattr("linewatt.engine.undo.restore._undo_host", _nothing_to_reach)
    path = killed(tmp_path, undone=3)
    edit, why = DAMAGES[damage]
    path.write_bytes(b"".join(edit(path.read_bytes().splitlines(keepends=True))))
    for _ in range(2):
        done = invoke(["restore"])
        assert done.exit_code == 1
        assert isinstance(done.exception, SystemExit), "no traceback"
        assert f"{path}: damaged: " in done.output
        assert why in done.output
        assert "linewatt restore --forget killed" in done.output
        assert path.exists()
    assert invoke(["restore", "--forget", "killed"]).exit_code == 0
    assert not path.exists()


async def _nothing_to_reach(*_: object, **__: object) -> list[str]:
    return []


def test_what_a_damaged_journal_still_says_is_known(tmp_path: Path) -> None:
    path = killed(tmp_path, undone=1)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"x" * 60 + b"\n", *lines[4:]]))
    content = parse(path.read_bytes())
    assert [one.number for one in content.entries] == [2], "0 is put back, 1 is what was damaged"
    assert content.damage == ("line 4: is no JSON", "line 5: change 1 is not there")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_blocks_its_own_hosts_only_as_far_as_it_tells(tmp_path: Path, damage: str) -> None:
    path = killed(tmp_path)
    path.write_bytes(b"".join(DAMAGES[damage][0](path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(JournalError, match=r"^dut: .*killed\.jsonl: damaged: "):
        refuse_leftovers(tmp_path, [HostSpec("dut", "192.0.2.1", "eth0")], resumed=None)
    other = HostSpec("other", "192.0.2.9", "eth0")
    unknown = ("nothing is left", "its beginning only")
    if damage in unknown:
        with pytest.raises(JournalError, match="damaged"):
            refuse_leftovers(tmp_path, [other], resumed=None)
    else:
        refuse_leftovers(tmp_path, [other], resumed=None)


def test_check_names_a_damaged_journal(tmp_path: Path) -> None:
    path = killed(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"sysctl", b"sysctx"))
    (left,) = leftovers(tmp_path, [HostSpec("dut", "192.0.2.1", "eth0")])
    assert left.host == "dut"
    assert left.damage is not None
    assert f"{path}: damaged: line 2: " in left.damage


def test_a_journal_of_a_later_version_is_left_to_that_version() -> None:
    hosts = encoded({"event": "hosts", "schema_version": 3, "hosts": [{"elsewhere": 1}]}, 1)
    content = parse(hosts + encoded({"event": "intend", "number": 1}, 2))
    assert content.damage == ("line 1: schema_version 3; this linewatt reads 2",)
    assert content.places is None


def test_a_new_journal_is_there_with_its_hosts_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    assert journals(tmp_path) == [], "an empty journal would say nothing about its hosts"

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(JournalError, match="No space left on device"):
            journal.begin([HOST])
    assert list((tmp_path / "journal").iterdir()) == []


def test_the_folder_of_a_new_journal_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr("os.fsync", noted)
    journal = Journal(journal_path(tmp_path / "state", "run"), create=True)
    journal.begin([HOST])
    folder = journal.path.parent
    assert {str(tmp_path), str(folder.parent), str(folder)} <= set(synced)
    assert synced[-1] == str(folder), "once the journal has its name"
    journal.close()


def test_nothing_is_changed_any_more_once_the_state_directory_is_gone(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([HOST])
    journal.intend([entry(1)])
    journal.path.rename(tmp_path / "elsewhere")
    with pytest.raises(JournalError, match="was removed while its campaign runs"):
        journal.intend([entry(2)])
    assert [one.number for one in journal.read()[1]] == [1, 2], "what was changed before can be put back"
    journal.discard()
    assert (tmp_path / "elsewhere").exists()


def test_a_journal_that_is_removed_between_its_opening_and_its_lock_is_no_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = killed(tmp_path)
    lock = fcntl.flock

    def late(handle: int, how: int) -> None:
        path.unlink(missing_ok=True)
        lock(handle, how)

    monkeypatch.setattr("fcntl.flock", late)
    with pytest.raises(FileNotFoundError):
        Journal(path, create=False)
    again = Journal(path, create=True)
    again.begin([HOST])
    assert path.exists(), "what is written has a name"
    again.close()


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "", "sub/killed"])
def test_forget_takes_only_names_of_its_own_journals(tmp_path: Path, name: str) -> None:
    killed(tmp_path)
    outside = tmp_path / "outside.jsonl"
    outside.write_text("mine\n")
    with pytest.raises(ChangeError, match="no such journal; there are: killed"):
        forget_journal(tmp_path, name)
    assert outside.exists()


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_in_place_of_a_journal_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path))
    path = journal_path(tmp_path, "odd")
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/etc/hostname")
    else:
        os.mkfifo(path)
    done = invoke(["restore"])
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert str(path) in done.output


@contextmanager
def as_another_user() -> Iterator[None]:
    """Without the rights of root, if the tests have them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_journals_in_a_folder_that_this_user_cannot_read_are_not_nothing(mode: int) -> None:
    with tempfile.TemporaryDirectory() as name:  # folders of pytest are hidden from other users
        state = Path(name)
        state.chmod(0o755)
        folder = killed(state, undone=3).parent
        folder.chmod(mode)
        try:
            with as_another_user(), pytest.raises(JournalError) as refused:
                asyncio.run(restore_hosts(state))
        finally:
            folder.chmod(0o700)
    why = "the undo journal cannot be opened: Permission denied"
    assert str(refused.value) == f"{folder}: {why}; run as {pwd.getpwuid(os.getuid()).pw_name}, its owner"


def test_a_journal_that_this_user_cannot_read_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path))
    path = killed(tmp_path, undone=3)
    open_file = os.open

    def refused(name: str | Path, *how: int) -> int:
        if name == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_file(name, *how)

    monkeypatch.setattr("os.open", refused)
    done = invoke(["restore"])
    assert done.exit_code == 1
    assert "the undo journal cannot be opened: Permission denied; run as " in done.output
    assert "nothing to restore" not in done.output


@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_what_is_no_folder_in_place_of_that_of_journals_is_not_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path))
    folder = tmp_path / "journal"
    if kind == "file":
        folder.write_text("")
    elif kind == "link":
        folder.symlink_to(tmp_path / "nowhere")
    else:
        os.mkfifo(folder)
    done = inline.run("restore")
    assert done.returncode == 1
    assert done.stderr.startswith(f"linewatt: {folder}: the undo journal cannot be opened: ")
    assert done.stderr.count("\n") == 1


def test_where_there_is_no_journal_nothing_is_to_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path / "state"))
    done = inline.run("restore")
    assert (done.returncode, done.stderr) == (0, f"nothing to restore in {tmp_path / 'state'}\n")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("words", [["restore"], ["restore", "--forget", "killed"]])
def test_of_two_restores_the_second_names_the_first_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path))
    path = killed(tmp_path, undone=3)
    first = Holder("restore", user="someone", controller="here", since="2026-01-01 00:00:00 UTC")
    with restore_lock(tmp_path, first):
        done = inline.run(*words)
    assert (done.returncode, done.stderr) == (
        1,
        f"linewatt: {tmp_path}: another restore is at work (process {os.getpid()} of someone@here, since "
        "2026-01-01 00:00:00 UTC); wait for its end, or use --wait\n",
    )
    assert path.exists()
    assert inline.run(*words).returncode == 0
    assert [one.name for one in tmp_path.iterdir()] == ["journal"], "the lock leaves no file"
    assert not path.exists()


def test_a_restore_that_waits_begins_when_the_first_has_ended(tmp_path: Path) -> None:
    path = killed(tmp_path, undone=3)
    with ExitStack() as stack:
        stack.enter_context(restore_lock(tmp_path, Holder("restore")))
        heard: list[str] = []

        def say(text: str) -> None:
            assert path.exists(), "it waits"
            heard.append(text)
            stack.close()

        restored = asyncio.run(restore_hosts(tmp_path, Undoer(say=say, waits=True)))
    assert [(one.id, one.problems) for one in restored] == [("killed", ())]
    assert len(heard) == 1
    assert heard[0].startswith(f"waiting for another restore (process {os.getpid()} of ")


def test_a_restore_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    killed(tmp_path, undone=3)
    (tmp_path / "restore.lock").write_text("process 1 of someone@here, since 2026-01-01 00:00:00 UTC\n")
    assert [one.id for one in asyncio.run(restore_hosts(tmp_path))] == ["killed"]
