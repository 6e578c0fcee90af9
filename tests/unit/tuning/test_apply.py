# SPDX-License-Identifier: Apache-2.0
"""Changes and their undo, on a host made of a dictionary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.fake_batches import answered, asks_for_processes, is_batch

from linewatt.engine.undo import host_lock as lock
from linewatt.engine.undo.restore import Undoer, undo_all
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError, HostError, HostLost, JournalError
from linewatt.hosts.base import Completed, HostSpec, Line, Process
from linewatt.hosts.batch import LOCK_S
from linewatt.hosts.clock import Offset
from linewatt.hosts.journal.journal import Entry, Journal, journal_path
from linewatt.hosts.limits import LimitsUsed
from linewatt.tuning.apply import read
from linewatt.tuning.base import Change, Command, Knob
from linewatt.tuning.registry import TUNING_KNOBS


@dataclass
class FakeHost:
    """A host that knows ``sysctl -n KEY`` and ``-q -w KEY=VALUE``; ``clamp`` is what its kernel takes."""

    spec: HostSpec
    settings: dict[str, str]
    clamp: Callable[[str], str] = str
    lost: str | None = None
    may_have_strays: bool = False
    writes: list[str] = field(default_factory=list)
    limits_s: list[float] = field(default_factory=list)
    on_write: Callable[[], None] = lambda: None
    clock: Offset = field(default_factory=lambda: Offset(0, 0))
    limits: LimitsUsed = field(default_factory=LimitsUsed)

    async def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
    ) -> Completed:
        if asks_for_processes(argv):
            return Completed(tuple(argv), 0, "", "")
        self.limits_s.append(timeout_s)
        if is_batch(argv):
            return await answered(argv, lambda words, text: self.run(words, stdin=text, root=root))
        if argv[-2] == "-n":
            if argv[-1] not in self.settings:
                return Completed(tuple(argv), 255, "", f"sysctl: cannot stat {argv[-1]}")
            return Completed(tuple(argv), 0, self.settings[argv[-1]] + "\n", "")
        key, _, value = argv[-1].partition("=")
        self.on_write()
        self.writes.append(argv[-1])
        self.settings[key] = self.clamp(value)
        return Completed(tuple(argv), 0, "", "")

    async def start(
        self,
        argv: Sequence[str],
        *,
        wrapper: Sequence[str] = (),
        held: bool = False,
        on_line: Callable[[Line], None] | None = None,
        root: bool = False,
    ) -> Process:
        raise HostError("not in this test")

    async def forward(self, port: int) -> int:
        raise NotImplementedError

    async def close(self) -> None: ...


SPEC = HostSpec("h1", "192.0.2.1", "eth0")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([SPEC])
    return journal


async def apply(
    hosts: dict[str, FakeHost], changes: Sequence[Change], knobs: Mapping[str, Knob], journal: Journal
) -> list[Entry]:
    """Make changes on one host; what became of them in the journal."""
    await Settings(hosts, knobs, journal).to(changes, hosts)
    return list(journal.read()[1])


def change(key: str, value: str) -> Change:
    return Change("h1", "sysctl", key, value, "a test")


def test_a_change_is_in_the_journal_before_it_is_on_the_host(journal: Journal) -> None:
    seen: list[int] = []
    host = FakeHost(SPEC, {"a.b": "1"}, on_write=lambda: seen.append(len(journal.read()[1])))
    asyncio.run(apply({"h1": host}, [change("a.b", "2")], TUNING_KNOBS, journal))
    assert seen == [1]
    assert host.settings == {"a.b": "2"}


def test_what_a_host_shows_already_is_no_change(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "4096\t87380\t6291456"})
    assert (
        asyncio.run(apply({"h1": host}, [change("a.b", "4096 87380 6291456")], TUNING_KNOBS, journal)) == []
    )
    assert host.writes == []


def test_undo_puts_everything_back_newest_first(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "1", "c.d": "x"})

    async def scene() -> tuple[int, tuple[str, ...]]:
        await apply({"h1": host}, [change("a.b", "2"), change("c.d", "y")], TUNING_KNOBS, journal)
        return await undo_all(journal, {"h1": host})

    assert asyncio.run(scene()) == (2, ())
    assert host.settings == {"a.b": "1", "c.d": "x"}
    assert host.writes[-2:] == ["c.d=x", "a.b=1"]
    assert journal.read()[1] == ()


def test_a_value_the_kernel_does_not_take_is_an_error_and_is_undone(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "1"}, clamp=lambda value: "5" if value == "9" else value)
    with pytest.raises(ChangeError, match="set to '9' but reads '5'"):
        asyncio.run(apply({"h1": host}, [change("a.b", "9")], TUNING_KNOBS, journal))
    assert asyncio.run(undo_all(journal, {"h1": host})) == (1, ())
    assert host.settings == {"a.b": "1"}


def test_a_crash_between_writing_and_reading_back_is_undone(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "1"}, clamp=lambda value: "5" if value == "9" else value)

    def crash() -> None:
        host.settings["a.b"] = "5"
        raise KeyboardInterrupt

    host.on_write = crash
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(apply({"h1": host}, [change("a.b", "9")], TUNING_KNOBS, journal))
    host.on_write = lambda: None
    assert asyncio.run(undo_all(journal, {"h1": host})) == (1, ())
    assert host.settings == {"a.b": "1"}


def test_what_somebody_else_changed_since_is_left_alone_unless_forced(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "1"})
    asyncio.run(apply({"h1": host}, [change("a.b", "2")], TUNING_KNOBS, journal))
    host.settings["a.b"] = "77"
    undone, problems = asyncio.run(undo_all(journal, {"h1": host}))
    assert undone == 0
    assert "reads '77', which linewatt did not set" in problems[0]
    assert host.settings["a.b"] == "77"
    assert asyncio.run(undo_all(journal, {"h1": host}, force=True)) == (1, ())
    assert host.settings["a.b"] == "1"


def test_a_setting_that_cannot_be_read_stops_before_anything_is_changed(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "1"})
    with pytest.raises(ChangeError, match=r"h1: cannot read sysctl no\.such: sysctl: cannot stat"):
        asyncio.run(apply({"h1": host}, [change("a.b", "2"), change("no.such", "1")], TUNING_KNOBS, journal))
    assert host.writes == []
    assert journal.read()[1] == ()


def test_what_a_knob_refuses_names_host_knob_and_target(journal: Journal) -> None:
    host = FakeHost(SPEC, {"a.b": "1 2 3"})
    with pytest.raises(ChangeError, match=r"h1: sysctl a\.b: .* keeps some of 2 numbers"):
        asyncio.run(apply({"h1": host}, [change("a.b", "* 5")], TUNING_KNOBS, journal))
    with pytest.raises(ChangeError, match="h1: sysctl -a: '-a' is not a key"):
        asyncio.run(apply({"h1": host}, [change("-a", "1")], TUNING_KNOBS, journal))
    assert host.writes == []
    assert journal.read()[1] == ()


def test_a_tools_words_are_kept_where_its_last_line_says_least() -> None:
    said = (
        "netlink error: requested channel count exceeds maximum (offset 32)\nnetlink error: Invalid argument"
    )
    host = FakeHost(SPEC, {})

    async def fails(argv: Sequence[str], **_: object) -> Completed:
        return Completed(tuple(argv), 1, "", said)

    host.run = fails  # type: ignore[method-assign]
    with pytest.raises(ChangeError, match=r"exceeds maximum .* Invalid argument"):
        asyncio.run(read(host, TUNING_KNOBS["sysctl"], "a.b"))


def test_a_write_of_many_lines_may_take_as_much_longer_and_its_undo_too(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred interfaces are one setting, and the kernel takes four seconds to take them away."""
    knob = type(TUNING_KNOBS["sysctl"])
    write = knob.write

    def in_many_lines(self: Knob, target: str, setting: str) -> Command:
        return Command(write(self, target, setting).argv, "a line\n" * 200)

    monkeypatch.setattr(knob, "write", in_many_lines)
    host = FakeHost(SPEC, {"a.b": "1"})
    asyncio.run(apply({"h1": host}, [change("a.b", "2")], TUNING_KNOBS, journal))
    made = len(host.limits_s)
    asyncio.run(undo_all(journal, {"h1": host}))
    assert host.settings == {"a.b": "1"}
    assert max(host.limits_s[:made]) == max(host.limits_s[made:]) == pytest.approx(10 + 200 * 0.1 + LOCK_S)
    assert min(host.limits_s) == 10, "reading is not writing"


def odd(host: FakeHost, what: object) -> None:
    """Reading answers what no parser thought of, or fails as nobody expects."""

    async def answers(argv: Sequence[str], **_: object) -> Completed:
        if isinstance(what, Exception):
            raise what
        return Completed(tuple(argv), 0, str(what), "")

    host.run = answers  # type: ignore[method-assign]


@pytest.mark.parametrize("what", [RecursionError("deep"), KeyError("features"), UnicodeError("no text")])
def test_a_host_that_fails_in_any_way_does_not_keep_the_others_from_being_put_back(
    tmp_path: Path, what: Exception
) -> None:
    hosts = {f"h{i}": FakeHost(HostSpec(f"h{i}", f"192.0.2.{i}", "eth0"), {"a.b": "1"}) for i in (1, 2, 3)}
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([host.spec for host in hosts.values()])
    changes = [Change(name, "sysctl", "a.b", "2", "a test") for name in hosts]
    asyncio.run(apply(hosts, changes, TUNING_KNOBS, journal))
    odd(hosts["h1"], what)
    undone, problems = asyncio.run(undo_all(journal, hosts))
    assert undone == 2
    assert [one.partition(":")[0] for one in problems] == ["h1"]
    assert type(what).__name__ in problems[0]
    assert [host.settings["a.b"] for host in hosts.values()] == ["2", "1", "1"]
    assert [entry.host for entry in journal.read()[1]] == ["h1"]


def test_a_setting_whose_answer_breaks_its_parser_does_not_keep_the_next_from_being_put_back(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = FakeHost(SPEC, {"a.b": "1", "c.d": "x"})
    asyncio.run(apply({"h1": host}, [change("a.b", "2"), change("c.d", "y")], TUNING_KNOBS, journal))
    parse = type(TUNING_KNOBS["sysctl"]).parse

    def breaks(self: Knob, output: str) -> str:
        if output.strip() == "y":
            raise IndexError("list index out of range")
        return parse(self, output)

    monkeypatch.setattr(type(TUNING_KNOBS["sysctl"]), "parse", breaks)
    undone, problems = asyncio.run(undo_all(journal, {"h1": host}))
    assert (undone, host.settings["a.b"]) == (1, "1")
    assert problems == ("h1: sysctl c.d: its answer cannot be read: IndexError: list index out of range",)


def test_a_journal_that_names_a_setting_this_version_does_not_know_has_the_others_put_back(
    journal: Journal,
) -> None:
    host = FakeHost(SPEC, {"a.b": "1"})
    asyncio.run(apply({"h1": host}, [change("a.b", "2")], TUNING_KNOBS, journal))
    journal.intend([Entry(journal.next_number(), "h1", "warp", "eth0", "1", "9")])
    undone, problems = asyncio.run(undo_all(journal, {"h1": host}))
    assert (undone, host.settings["a.b"]) == (1, "1")
    assert problems == ("h1: warp eth0 cannot be put back: KeyError: \"'warp'\"",)


@pytest.mark.parametrize(
    ("batch", "is_run"),
    [(1, False), (2, False), (2, True)],
    ids=["before it is read", "before it is written", "after it is written"],
)
def test_a_host_whose_connection_ends_while_it_is_put_back_is_connected_again_and_put_back(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, batch: int, is_run: bool
) -> None:
    """As on a machine so busy that a heartbeat comes late when all is over."""
    host = FakeHost(SPEC, {"a.b": "1", "c.d": "x"})
    again = FakeHost(SPEC, host.settings)
    asyncio.run(apply({"h1": host}, [change("a.b", "2"), change("c.d", "y")], TUNING_KNOBS, journal))
    run, batches = host.run, 0

    async def breaks(argv: Sequence[str], **more: Any) -> Completed:
        nonlocal batches
        batches += is_batch(argv)
        breaks_now = is_batch(argv) and batches >= batch
        if is_run or not breaks_now:
            done = await run(argv, **more)
        if not breaks_now:
            return done
        host.lost = "the SSH connection ended: no heartbeat was sent for 1.6 s"
        raise HostLost(f"h1: {host.lost}")

    async def connected(spec: HostSpec) -> FakeHost:
        return again

    async def taken(*_: Any, **__: Any) -> lock.Held:
        return lock.Held()

    host.run = breaks  # type: ignore[method-assign]
    monkeypatch.setattr("linewatt.engine.undo.restore.connect_to_host", connected)
    monkeypatch.setattr("linewatt.engine.undo.restore.take", taken)
    said: list[str] = []
    assert asyncio.run(undo_all(journal, {"h1": host}, Undoer(say=said.append))) == (2, ())
    assert again.settings == {"a.b": "1", "c.d": "x"}
    assert said == ["h1: its connection ended while settings were put back; connecting again"]
    assert journal.read()[1] == ()


def test_a_journal_that_cannot_be_read_again_keeps_no_other_host_from_being_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = {f"h{i}": FakeHost(HostSpec(f"h{i}", f"192.0.2.{i}", "eth0"), {"a.b": "1"}) for i in (1, 2)}
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([host.spec for host in hosts.values()])
    asyncio.run(
        apply(hosts, [Change(name, "sysctl", "a.b", "2", "a test") for name in hosts], TUNING_KNOBS, journal)
    )
    content, run = journal.content, hosts["h1"].run

    async def breaks(argv: Sequence[str], **more: Any) -> Completed:
        if not is_batch(argv):
            return await run(argv, **more)
        hosts["h1"].lost = "the SSH connection ended"
        monkeypatch.setattr(journal, "content", unreadable)
        raise HostLost("h1: the SSH connection ended")

    def unreadable() -> Any:
        monkeypatch.setattr(journal, "content", content)
        raise JournalError("it cannot be read")

    async def gone(spec: HostSpec) -> FakeHost:
        raise HostError(f"{spec.name}: no answer within 10 s")

    hosts["h1"].run = breaks  # type: ignore[method-assign]
    monkeypatch.setattr("linewatt.engine.undo.restore.connect_to_host", gone)
    undone, problems = asyncio.run(undo_all(journal, hosts))
    assert (undone, problems) == (1, ("h1: no answer within 10 s (1 settings are still to be put back)",))
    assert [host.settings["a.b"] for host in hosts.values()] == ["2", "1"]
