# SPDX-License-Identifier: Apache-2.0
"""The undo journal: on disk first, read back whole after any crash."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from linewatt.engine.restore import forget, refuse_leftovers
from linewatt.errors import ChangeError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.journal import Entry, Journal, journal_path, journals, parse

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
    text = journal.path.read_text()
    cut = text + json.dumps({"event": "undone", "number": 0})[:-4]
    assert parse(cut)[1] == parse(text)[1]
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
    monkeypatch.setattr("os.fsync", lambda _: synced.append(journal.path.read_text()))
    journal.begin([HOST])
    journal.intend([entry(0), entry(1)])
    assert [text.count("intend") for text in synced] == [0, 2]
    for number in (0, 1):
        journal.applied(number, "2")
        journal.undone(number)
    assert len(synced) == 2
    assert journal.read()[1] == (), "what is not synced is there all the same while the machine is"
    journal.sync()
    assert synced[-1].count("undone") == 2
    journal.close()


def test_a_journal_that_is_being_written_cannot_be_opened_by_another(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    with pytest.raises(ChangeError, match="still running"):
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
        forget(tmp_path, "other")
    assert forget(tmp_path, "gone") == 1
    assert journals(tmp_path) == []


def test_the_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
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
            ChangeError, match=r"run\.jsonl: the undo journal cannot be written: No space left"
        ):
            journal.undone(0)
    assert journal.path.read_bytes() == before
    journal.undone(0)
    assert journal.read()[1] == ()
    journal.close()
