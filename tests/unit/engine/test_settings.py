# SPDX-License-Identifier: Apache-2.0
"""Settings that follow the rounds: one entry in the journal each, layers put back in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.fake_batches import answered, is_batch

from linewatt.engine.undo import recent_values, restore
from linewatt.engine.undo.restore import undo_all
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError, InvalidInput, WaitTimeout
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.clock import Offset, now_s
from linewatt.hosts.journal.journal import Journal, journal_path
from linewatt.tuning.base import Change, Command


@dataclass(frozen=True)
class Fake:
    """A knob of a host made of a dictionary; values of more than three digits are out of range."""

    name: str

    def read(self, target: str) -> Command:
        return Command(("read", self.name, target))

    def parse(self, output: str) -> str:
        return output.strip()

    def wanted(self, before: str, value: str) -> str:
        if len(value) > 3:
            raise InvalidInput(f"{self.name}: {value} is out of range")
        return value

    def write(self, target: str, setting: str) -> Command:
        return Command(("write", self.name, target, setting))


class Word(Fake):
    """A knob that takes words."""

    def wanted(self, before: str, value: str) -> str:
        return value


NAMES = (
    *("channels", "rps_cpus", "sysctl", "mtu", "nmstate", "cpus_online"),
    *("irq_affinity", "irqbalance", "interrupts", "offload", "network"),
    *("tuned", "governor", "epp", "turbo", "min_perf_pct"),
)
KNOBS = {name: Fake(name) for name in NAMES}


@dataclass
class FakeHost:
    """Changing ``channels`` sets ``rps_cpus`` back to 0, as drivers do."""

    spec: HostSpec
    state: dict[tuple[str, str], str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    waits: list[tuple[str, ...]] = field(default_factory=list)
    looks: list[tuple[str, ...]] = field(default_factory=list)
    refuses: tuple[str, ...] = ()
    is_down: bool = False
    """whether its links are while they are looked at, and not waited for"""
    batches: int = 0
    lost: str | None = None
    clock: Offset = field(default_factory=lambda: Offset(0, 0))

    async def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
    ) -> Completed:
        if is_batch(argv):
            self.batches += 1
            return await answered(argv, lambda words, text: self.run(words, stdin=text, root=root))
        match argv:
            case ["bash", "-c", _, "linewatt", "40", *links]:
                self.waits.append(tuple(links))
            case ["bash", "-c", _, "linewatt", "0", *links]:
                self.looks.append(tuple(links))
                return Completed(tuple(argv), int(self.is_down), "", "")
            case ["read", knob, target]:
                if (knob, target) not in self.state:
                    return Completed(tuple(argv), 1, "", "no such device")
                return Completed(tuple(argv), 0, self.state[knob, target], "")
            case ["write", knob, target, value]:
                assert root, "a change is made as root"
                self.log.append(f"{knob}={value}")
                if value in self.refuses:
                    return Completed(tuple(argv), 1, "", "Operation not supported")
                self.state[knob, target] = value
                if knob == "channels":
                    self.state["rps_cpus", target] = "0"
                return Completed(tuple(argv), 0, "", "")
        return Completed(tuple(argv), 0, "", "")


FOUND = {
    ("channels", "eth0"): "4",
    ("rps_cpus", "eth0"): "0",
    ("sysctl", "a"): "1",
    ("mtu", "eth0"): "1500",
    ("nmstate", "eth0"): "{}",
}


@dataclass
class Rig:
    """Two hosts alike, a journal, and the settings upon them."""

    path: Path
    hosts: dict[str, FakeHost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("h1", "h2"):
            self.hosts[name] = FakeHost(HostSpec(name, "192.0.2.1", "eth0"), dict(FOUND))
        self.journal = Journal(journal_path(self.path, "run"), create=True)
        self.journal.begin([host.spec for host in self.hosts.values()])
        self.settings = Settings(self.hosts, KNOBS, self.journal)  # type: ignore[arg-type]

    def to(self, *changes: str, scope: Sequence[str] = ("h1",)) -> None:
        """Each change is ``host knob=value``."""
        asyncio.run(self.settings.to([made(text) for text in changes], scope))

    def undo(self) -> tuple[int, tuple[str, ...]]:
        return asyncio.run(undo_all(self.journal, self.hosts))  # type: ignore[arg-type]


def made(text: str) -> Change:
    host, _, rest = text.partition(" ")
    knob, _, value = rest.partition("=")
    return Change(host, knob, "a" if knob == "sysctl" else "eth0", value, "a test")


@pytest.fixture(autouse=True)
def _knobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "ALL_KNOBS", KNOBS)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_a_setting_that_is_changed_again_has_one_entry_with_what_was_found(rig: Rig) -> None:
    for value in ("2", "3", "2", "3"):
        rig.to(f"h1 sysctl={value}")
    (entry,) = rig.journal.read()[1]
    assert (entry.before, entry.wanted, entry.after) == ("1", "3", "3")
    assert rig.undo() == (1, ())
    assert rig.hosts["h1"].state == FOUND
    assert rig.hosts["h1"].log == ["sysctl=2", "sysctl=3", "sysctl=2", "sysctl=3", "sysctl=1"]


def test_what_the_next_round_does_not_ask_for_is_put_back(rig: Rig) -> None:
    rig.to("h1 sysctl=2", "h1 mtu=900")
    rig.to("h1 mtu=900")
    assert rig.hosts["h1"].state["sysctl", "a"] == "1"
    assert rig.settings.of("h1") == [("mtu", "eth0", "900")]
    assert rig.hosts["h1"].log.count("mtu=900") == 1, "what stays is not written again"


def test_a_host_is_asked_once_for_what_can_go_together(rig: Rig) -> None:
    changes = [made("h1 sysctl=2"), made("h1 rps_cpus=3"), made("h1 mtu=900")]
    asyncio.run(rig.settings.check(changes))
    assert rig.hosts["h1"].batches == 1
    asyncio.run(rig.settings.to(changes, ("h1",)))
    assert rig.hosts["h1"].batches == 3, "mtu is made with the others read anew behind it, then they are"
    assert rig.undo() == (3, ())
    assert rig.hosts["h1"].batches == 6, (
        "the others are read, put back with mtu read behind them, then mtu is"
    )
    assert rig.hosts["h1"].state == FOUND


def test_one_wait_for_the_disk_is_for_all_hosts(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[list[str]] = []
    monkeypatch.setattr("os.fsync", lambda _: synced.append(rig.hosts["h2"].log.copy()))
    rig.to("h1 sysctl=2", "h2 sysctl=2", "h1 rps_cpus=3", "h2 rps_cpus=3", scope=("h1", "h2"))
    assert synced == [[], ["sysctl=2", "rps_cpus=3"]], "before anything is made, and when all is"
    rig.undo()
    assert len(synced) == 3


def test_what_cannot_be_put_back_does_not_keep_what_went_with_it(rig: Rig) -> None:
    rig.to("h1 sysctl=2", "h1 rps_cpus=3")
    rig.hosts["h1"].refuses = ("1",)
    undone, problems = rig.undo()
    assert undone == 1
    assert problems == ("h1: cannot put back sysctl a: Operation not supported",)
    assert rig.hosts["h1"].state["rps_cpus", "eth0"] == "0"
    (left,) = rig.journal.read()[1]
    assert left.knob == "sysctl"


def test_a_batch_that_does_not_end_is_undone_one_by_one(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.to("h1 sysctl=2", "h1 rps_cpus=3")
    alone = rig.hosts["h1"].run

    async def hangs(argv: Sequence[str], **options: Any) -> Completed:
        if "sysctl" in argv:
            raise WaitTimeout("h1: sysctl did not end within 10 s")
        return await alone(argv, **options)

    monkeypatch.setattr(rig.hosts["h1"], "run", hangs)
    assert rig.undo() == (1, ("h1: sysctl did not end within 10 s",))
    assert rig.hosts["h1"].state["rps_cpus", "eth0"] == "0"


def test_other_hosts_come_to_their_end_before_one_that_fails_is_reported(rig: Rig) -> None:
    rig.to("h1 sysctl=2", "h2 sysctl=2", scope=("h1", "h2"))
    rig.hosts["h1"].refuses = ("1",)
    slow = rig.hosts["h2"].run

    async def later(argv: Sequence[str], **options: Any) -> Completed:
        for _ in range(20):
            await asyncio.sleep(0)
        return await slow(argv, **options)

    rig.hosts["h2"].run = later  # type: ignore[method-assign]
    with pytest.raises(ChangeError, match="h1: cannot put back sysctl a"):
        rig.to(scope=("h1", "h2"))
    assert rig.hosts["h2"].state == FOUND


def test_hosts_out_of_scope_stay_as_they_are(rig: Rig) -> None:
    rig.to("h1 sysctl=2", "h2 sysctl=2", scope=("h1", "h2"))
    rig.to("h1 sysctl=3", scope=("h1",))
    assert [rig.hosts[name].state["sysctl", "a"] for name in ("h1", "h2")] == ["3", "2"]


def test_what_stands_on_a_setting_is_put_back_before_it_changes_and_made_again_after(rig: Rig) -> None:
    rig.to("h1 channels=8", "h1 rps_cpus=3")
    assert rig.hosts["h1"].log == ["channels=8", "rps_cpus=3"]
    rig.to("h1 channels=2", "h1 rps_cpus=3")
    assert rig.hosts["h1"].log[2:] == ["rps_cpus=0", "channels=2", "rps_cpus=3"]
    rig.to()
    assert rig.hosts["h1"].state == FOUND
    rig.undo()
    assert rig.journal.read()[1] == ()


def test_what_queues_had_of_their_own_comes_back_when_their_number_was_changed(rig: Rig) -> None:
    by_hand = rig.hosts["h1"].state["rps_cpus", "eth0"] = "9"
    rig.to("h1 channels=8")
    assert rig.hosts["h1"].state["rps_cpus", "eth0"] == "0", "the driver has set it anew"
    assert rig.undo()[1] == ()
    assert rig.hosts["h1"].state["channels", "eth0"] == "4"
    assert rig.hosts["h1"].state["rps_cpus", "eth0"] == by_hand


def test_what_a_host_shows_already_is_no_change_and_moves_nothing_else(rig: Rig) -> None:
    rig.to("h1 channels=4", "h1 rps_cpus=3")
    rig.to("h1 channels=4", "h1 rps_cpus=3")
    assert rig.hosts["h1"].log == ["rps_cpus=3"]
    assert ("channels", "eth0", "4") in rig.settings.of("h1"), "it is read back all the same"


def test_all_that_will_be_asked_is_checked_before_anything_is_changed(rig: Rig) -> None:
    asyncio.run(rig.settings.check([made("h1 sysctl=2"), made("h2 mtu=900")]))
    with pytest.raises(ChangeError, match="h1: mtu eth0: mtu: 9000 is out of range"):
        asyncio.run(rig.settings.check([made("h1 sysctl=2"), made("h1 mtu=9000")]))
    with pytest.raises(ChangeError, match="h1: cannot read sysctl b: no such device"):
        asyncio.run(rig.settings.check([Change("h1", "sysctl", "b", "1", "a test")]))
    assert rig.hosts["h1"].log == []
    assert rig.journal.read()[1] == ()


def test_what_was_just_read_is_not_asked_for_again(rig: Rig) -> None:
    asyncio.run(rig.settings.check([made("h1 sysctl=1"), made("h1 rps_cpus=0")]))
    asked = rig.hosts["h1"].batches
    rig.to("h1 sysctl=1", "h1 rps_cpus=0")
    rig.to("h1 sysctl=1")
    assert rig.hosts["h1"].batches == asked == 1
    assert rig.settings.untouched


def test_what_was_read_a_while_ago_is_asked_for_again_because_others_may_change_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(rig.settings.check([made("h1 sysctl=1")]))
    rig.hosts["h1"].state["sysctl", "a"] = "5"
    later_s = now_s() + recent_values.HOLDS_S + 1.0
    monkeypatch.setattr(recent_values, "now_s", lambda: later_s)
    rig.to("h1 sysctl=1")
    assert rig.hosts["h1"].state["sysctl", "a"] == "1"
    assert [(entry.before, entry.wanted) for entry in rig.journal.read()[1]] == [("5", "1")]


def test_what_was_read_before_something_was_written_is_asked_for_again(rig: Rig) -> None:
    asyncio.run(rig.settings.check([made("h1 sysctl=1"), made("h1 mtu=900")]))
    rig.to("h1 mtu=900")
    assert not rig.settings.untouched
    rig.hosts["h1"].state["sysctl", "a"] = "5"
    rig.to("h1 mtu=900", "h1 sysctl=1")
    assert [one.before for one in rig.journal.read()[1] if one.knob == "sysctl"] == ["5"]


def test_what_was_read_before_something_was_put_back_is_asked_for_again(rig: Rig) -> None:
    rig.to("h1 mtu=900")
    asyncio.run(rig.settings.check([made("h1 sysctl=1")]))
    rig.to()
    rig.hosts["h1"].state["sysctl", "a"] = "5"
    rig.to("h1 sysctl=1")
    assert [one.before for one in rig.journal.read()[1] if one.knob == "sysctl"] == ["5"]


def test_a_refused_setting_says_so_and_all_before_it_can_be_undone(rig: Rig) -> None:
    rig.hosts["h1"].refuses = ("7",)
    with pytest.raises(ChangeError, match="h1: cannot set channels eth0: Operation not supported"):
        rig.to("h1 sysctl=2", "h1 channels=7")
    rig.to("h1 sysctl=2")
    assert rig.hosts["h1"].state["sysctl", "a"] == "2"
    rig.undo()
    assert rig.hosts["h1"].state == FOUND
    assert rig.journal.read()[1] == ()


def test_what_cannot_be_changed_once_it_is_made_is_put_back_and_made_anew(rig: Rig) -> None:
    """Two networks may have the same items: a tunnel of one name with another id."""
    rig.to("h1 nmstate=5")
    rig.to("h1 nmstate=6")
    rig.to("h1 nmstate=6")
    assert rig.hosts["h1"].log == ["nmstate=5", "nmstate={}", "nmstate=6"]
    assert rig.undo() == (1, ())
    assert rig.hosts["h1"].state == FOUND


def test_a_link_that_was_reset_by_putting_back_is_waited_for(rig: Rig) -> None:
    """The next round may be on the bare interface, whose link comes back only now."""
    host = rig.hosts["h1"]
    host.is_down = True
    rig.to("h1 mtu=900")
    assert host.waits == [("eth0",)]
    rig.to()
    rig.to()
    assert host.waits == [("eth0",), ("eth0",)]


def test_a_link_that_is_up_behind_the_last_change_needs_no_wait_of_its_own(rig: Rig) -> None:
    host = rig.hosts["h1"]
    rig.to("h1 mtu=900", "h1 sysctl=2")
    assert host.looks == [("eth0",), ("eth0",)], "also behind what comes after its reset"
    rig.to()
    assert host.looks == [("eth0",)] * 3, "behind the last that is put back"
    assert host.waits == []


def test_a_link_that_goes_down_behind_a_later_change_is_waited_for(rig: Rig) -> None:
    host = rig.hosts["h1"]
    run = host.run

    async def falls(argv: Sequence[str], **more: Any) -> Completed:
        done = await run(argv, **more)
        host.is_down = len(host.looks) == 1
        return done

    host.run = falls  # type: ignore[method-assign]
    rig.to("h1 mtu=900", "h1 sysctl=2")
    assert len(host.looks) == 2
    assert host.waits == [("eth0",)]


def test_what_stands_on_a_change_is_as_it_is_once_that_is_made(rig: Rig) -> None:
    """What was there before is what the driver made of it, also if it is read in the batch of the change."""
    host = rig.hosts["h1"]
    host.state["rps_cpus", "eth0"] = "7"
    rig.to("h1 channels=2", "h1 rps_cpus=3")
    assert {entry.knob: entry.before for entry in rig.journal.read()[1] if entry.wanted != entry.before} == {
        "channels": "4",
        "rps_cpus": "0",
    }


def test_a_resumed_campaign_knows_what_its_first_part_found(rig: Rig) -> None:
    rig.to("h1 sysctl=2", "h1 mtu=900")
    again = Settings(rig.hosts, KNOBS, rig.journal)  # type: ignore[arg-type]
    asyncio.run(again.to([made("h1 sysctl=3")], ("h1",)))
    assert rig.hosts["h1"].state["mtu", "eth0"] == "1500"
    assert rig.undo() == (1, ())
    assert rig.hosts["h1"].state == FOUND


_ROUND = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from("1234") for name in ("channels", "rps_cpus", "sysctl", "mtu")}
)


@given(rounds=st.lists(_ROUND, max_size=6), refused=st.sampled_from(["", "3"]))
@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=inputs(60), deadline=None
)
def test_whatever_rounds_ask_for_everything_is_as_it_was_found(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[dict[str, str]], refused: str
) -> None:
    rig = Rig(tmp_path_factory.mktemp("settings"))
    rig.hosts["h1"].refuses = (refused,)
    for wanted in rounds:
        try:
            rig.to(*(f"h1 {knob}={value}" for knob, value in wanted.items()))
        except ChangeError:
            continue
        for knob, value in wanted.items():
            assert rig.hosts["h1"].state[knob, "a" if knob == "sysctl" else "eth0"] == value
    rig.hosts["h1"].refuses = ()
    assert rig.undo()[1] == ()
    assert rig.hosts["h1"].state == FOUND


def test_cpus_go_before_all_else_and_interrupts_come_back_after_them(rig: Rig) -> None:
    """What the kernel moves when CPUs go is in the journal first, and undone once they are back."""
    host = rig.hosts["h1"]
    host.state |= {("cpus_online", "eth0"): "all", ("irq_affinity", "eth0"): "3"}
    rig.to("h1 rps_cpus=1", "h1 mtu=900", "h1 cpus_online=0-1")
    assert host.log == ["cpus_online=0-1", "mtu=900", "rps_cpus=1"]
    host.state["irq_affinity", "eth0"] = "0-1"
    assert rig.undo()[1] == ()
    assert host.log[3:] == ["rps_cpus=0", "mtu=1500", "cpus_online=all", "irq_affinity=3"]


def moves_interrupts(host: FakeHost) -> None:
    """As a kernel does: interrupts whose CPUs all go offline are on those that are left, for good."""
    run = host.run

    async def moving(argv: Sequence[str], **options: Any) -> Completed:
        done = await run(argv, **options)
        if tuple(argv[:2]) == ("write", "cpus_online") and argv[3] != "all":
            host.state["irq_affinity", "eth0"] = argv[3]
        return done

    host.run = moving  # type: ignore[method-assign]


@pytest.mark.parametrize("base", [(), ("h1 cpus_online=all",)])
def test_where_interrupts_go_is_as_found_whenever_all_cpus_are_back(rig: Rig, base: tuple[str, ...]) -> None:
    host = rig.hosts["h1"]
    host.state |= {("cpus_online", "eth0"): "all", ("irq_affinity", "eth0"): "3"}
    found = dict(host.state)
    moves_interrupts(host)
    for level in ("0-1", "0-2"):
        rig.to(f"h1 cpus_online={level}")
        assert host.state["irq_affinity", "eth0"] == level
        rig.to(*base)
        assert host.state == found
        assert rig.journal.read()[1] == ()
    rig.to("h1 cpus_online=0-1")
    rig.to("h1 cpus_online=0-2")
    assert host.log[-4:] == ["cpus_online=0-1", "cpus_online=all", "irq_affinity=3", "cpus_online=0-2"], (
        "each level begins from what was found"
    )
    again = Settings(rig.hosts, KNOBS, rig.journal)  # type: ignore[arg-type]
    asyncio.run(again.to([], ("h1",)))
    assert host.state == found, "a resumed campaign, too"
    assert rig.undo() == (0, ())


@pytest.mark.parametrize(("knob", "value"), [("cpus_online", "0-1"), ("irqbalance", "running")])
def test_where_all_interrupts_go_is_kept_before_what_moves_them(rig: Rig, knob: str, value: str) -> None:
    """A change of cpus_online by the kernel, one of irqbalance by itself."""
    host = rig.hosts["h1"]
    host.state |= {(knob, "eth0"): "was", ("interrupts", "host"): "a=3"}
    found = dict(host.state)
    knobs = {**KNOBS, "irqbalance": Word("irqbalance")}
    settings = Settings(rig.hosts, knobs, rig.journal)  # type: ignore[arg-type]
    asyncio.run(settings.to([made(f"h1 {knob}={value}")], ("h1",)))
    host.state["interrupts", "host"] = "a=0-1"
    journaled = [one.knob for one in rig.journal.read()[1]]
    assert journaled.index("interrupts") < journaled.index(knob)
    asyncio.run(settings.to([], ("h1",)))
    assert (host.state, rig.journal.read()[1]) == (found, ())
    asyncio.run(settings.to([made(f"h1 {knob}={value}")], ("h1",)))
    host.state["interrupts", "host"] = "a=0-1"
    assert rig.undo()[1] == ()
    assert host.state == found, "as restore puts it back after a kill, too"


def test_memory_that_the_kernel_keeps_free_for_huge_pages_comes_back_after_a_profile_of_tuned(
    rig: Rig,
) -> None:
    """A profile that has them off, and one that has them on again: the kernel raises it by itself."""
    host, free = rig.hosts["h1"], ("sysctl", "vm.min_free_kbytes")
    host.state |= {("tuned", "eth0"): "balanced", free: "35416"}
    found = dict(host.state)
    knobs = {**KNOBS, "tuned": Word("tuned")}
    settings = Settings(rig.hosts, knobs, rig.journal)  # type: ignore[arg-type]
    asyncio.run(settings.to([made("h1 tuned=latency")], ("h1",)))
    host.state[free] = "36000"
    assert [one.knob for one in rig.journal.read()[1]] == ["sysctl", "tuned"]
    asyncio.run(settings.to([], ("h1",)))
    assert (host.state, rig.journal.read()[1]) == (found, ())


@pytest.mark.parametrize(("knob", "beside"), [("governor", "epp"), ("turbo", "min_perf_pct")])
def test_what_a_driver_of_frequencies_moves_beside_a_switch_comes_back(
    rig: Rig, knob: str, beside: str
) -> None:
    """amd-pstate-epp prefers speed with the governor performance, intel_pstate lowers the least performance
    without turbo; neither goes back by itself."""
    host = rig.hosts["h1"]
    host.state |= {(knob, "eth0"): "1", (beside, "host"): "100"}
    found = dict(host.state)
    for undo in (lambda: rig.to(), lambda: rig.undo()):
        rig.to(f"h1 {knob}=2")
        host.state[beside, "host"] = "70"
        assert [one.knob for one in rig.journal.read()[1]] == [beside, knob]
        undo()
        assert (host.state, rig.journal.read()[1]) == (found, ())


def test_what_was_kept_under_a_profile_comes_back_before_the_profile_goes(rig: Rig) -> None:
    """A profile of TuneD sets preferences and the least performance, too, and takes them back itself."""
    host = rig.hosts["h1"]
    host.state |= {("tuned", "eth0"): "1", ("governor", "eth0"): "1", ("epp", "host"): "1"}
    found = dict(host.state)
    run = host.run

    async def moving(argv: Sequence[str], **options: Any) -> Completed:
        done = await run(argv, **options)
        if argv[0] == "write" and argv[1] in ("tuned", "governor"):
            host.state["epp", "host"] = argv[3]
        return done

    host.run = moving  # type: ignore[method-assign]
    rig.to("h1 tuned=2", "h1 governor=3")
    assert host.state["epp", "host"] == "3"
    rig.to("h1 tuned=2")
    assert host.state["epp", "host"] == "2"
    rig.to("h1 tuned=2", "h1 governor=3")
    rig.to()
    assert (host.state, rig.journal.read()[1]) == (found, ())


@pytest.mark.parametrize(
    ("knob", "target", "bases"),
    [
        ("network", "need:eth1 link:eth1.5 up:eth1.5", ["eth1"]),
        ("network", "need:eth0 need:eth1 link:bond0 master:eth0 master:eth1", ["eth0", "eth1"]),
        ("network", "need:eth1 address:eth1/198.18.9.1/24", []),
        ("nmstate", "eth0/vlan5", ["eth0"]),
        ("sysctl", "net.ipv4.ip_forward", ["eth0"]),
        ("sysctl", "net/ipv6/conf/all/forwarding", ["eth0"]),
        ("sysctl", "net.ipv4.tcp_rmem", []),
    ],
)
def test_lro_that_the_kernel_turns_off_below_a_network_and_for_forwarding_comes_back(
    rig: Rig, knob: str, target: str, bases: list[str]
) -> None:
    """Seen on vmxnet3, Linux 6.1: a VLAN turns it off, and it stays off when the VLAN is gone."""
    host = rig.hosts["h1"]
    host.state |= {(knob, target): "{}"}
    host.state |= {("offload", f"{name} large-receive-offload"): "lro=on" for name in ("eth0", "eth1")}
    found = dict(host.state)
    knobs = {**KNOBS, knob: Word(knob)}
    change = Change("h1", knob, target, '{"up:eth1":true}', "asked for")
    for undo in (lambda settings: asyncio.run(settings.to([], ("h1",))), lambda _: rig.undo()):
        settings = Settings(rig.hosts, knobs, rig.journal)  # type: ignore[arg-type]
        asyncio.run(settings.to([change], ("h1",)))
        kept = [one.target.split()[0] for one in rig.journal.read()[1] if one.knob == "offload"]
        assert kept == bases
        host.state |= {("offload", f"{name} large-receive-offload"): "lro=off" for name in bases}
        undo(settings)
        assert (host.state, rig.journal.read()[1]) == (found, ())


@pytest.mark.parametrize("found", ["0", "1"])
@pytest.mark.parametrize("key", ["net.ipv4.ip_forward", "net/ipv4/conf/all/forwarding"])
def test_what_the_kernel_sets_anew_with_forwarding_is_as_it_was_found(rig: Rig, key: str, found: str) -> None:
    """Also that a host takes no ICMP redirects, which one that is no router does by default."""
    host, redirects = rig.hosts["h1"], ("sysctl", "net.ipv4.conf.all.accept_redirects")
    own = [("sysctl", name) for name in ("net.ipv4.conf.default.forwarding", "net/ipv4/conf/eth0/forwarding")]
    host.state |= {("sysctl", key): found, redirects: "0", **dict.fromkeys(own, str(1 - int(found)))}
    before, run = dict(host.state), host.run

    async def forwarding(argv: Sequence[str], **options: Any) -> Completed:
        done = await run(argv, **options)
        if tuple(argv[:3]) == ("write", "sysctl", key):
            host.state |= {redirects: str(1 - int(argv[3])), **dict.fromkeys(own, argv[3])}
        return done

    host.run = forwarding  # type: ignore[method-assign]
    change = Change("h1", "sysctl", key, str(1 - int(found)), "asked for")
    for undo in (lambda: rig.to(), lambda: rig.undo()):
        asyncio.run(rig.settings.to([change], ("h1",)))
        assert host.state != before
        undo()
        assert (host.state, rig.journal.read()[1]) == (before, ())


def test_what_a_campaign_had_set_before_it_was_moved_comes_back_to_what_was_found(rig: Rig) -> None:
    """A setting of an earlier round, which a later one moves, and both go in one step."""
    host, redirects, key = rig.hosts["h1"], "net.ipv4.conf.all.accept_redirects", "net.ipv4.ip_forward"
    host.state |= {("sysctl", key): "0", ("sysctl", redirects): "1"}
    before, run = dict(host.state), host.run

    async def forwarding(argv: Sequence[str], **options: Any) -> Completed:
        done = await run(argv, **options)
        if tuple(argv[:3]) == ("write", "sysctl", key):
            host.state["sysctl", redirects] = str(1 - int(argv[3]))
        return done

    host.run = forwarding  # type: ignore[method-assign]
    taken, routes = (
        Change("h1", "sysctl", name, value, "asked for") for name, value in ((redirects, "0"), (key, "1"))
    )
    for undo in (lambda: rig.to(), lambda: rig.undo()):
        asyncio.run(rig.settings.to([taken], ("h1",)))
        asyncio.run(rig.settings.to([taken, routes], ("h1",)))
        undo()
        assert (host.state, rig.journal.read()[1]) == (before, ())


def test_lro_that_is_off_is_no_matter_of_a_network(rig: Rig) -> None:
    host, target = rig.hosts["h1"], "need:eth0 link:eth0.5"
    host.state |= {("network", target): "{}", ("offload", "eth0 large-receive-offload"): "lro=off[fixed]"}
    knobs = {**KNOBS, "network": Word("network")}
    settings = Settings(rig.hosts, knobs, rig.journal)  # type: ignore[arg-type]
    asyncio.run(settings.to([Change("h1", "network", target, '{"up:eth1":true}', "asked for")], ("h1",)))
    assert [one.knob for one in rig.journal.read()[1]] == ["network"]


def test_the_discipline_that_netem_replaced_is_made_again_by_the_mtu_that_was_found(rig: Rig) -> None:
    """The kernel's fq_codel has a quantum of one frame of the MTU that is there when it is made."""
    host = rig.hosts["h1"]
    host.state["netem", "eth0"] = "none 1500"
    found, run = dict(host.state), host.run

    async def made_by_mtu(argv: Sequence[str], **options: Any) -> Completed:
        done = await run(argv, **options)
        if tuple(argv[:2]) == ("write", "netem") and argv[3].startswith("none"):
            host.state["netem", "eth0"] = f"none {host.state['mtu', 'eth0']}"
        return done

    host.run = made_by_mtu  # type: ignore[method-assign]
    knobs = {**KNOBS, "netem": Word("netem")}
    settings = Settings(rig.hosts, knobs, rig.journal)  # type: ignore[arg-type]
    for wanted in (["mtu=900", "netem=delay"], ["mtu=900"], ["mtu=800", "netem=delay", "channels=8"], []):
        asyncio.run(settings.to([made(f"h1 {one}") for one in wanted], ("h1",)))
        assert host.state["netem", "eth0"] == ("delay" if "netem=delay" in wanted else "none 1500")
    assert (host.state, rig.journal.read()[1]) == (found, ())


def test_stopping_irqbalance_keeps_nothing(rig: Rig) -> None:
    rig.hosts["h1"].state |= {("irqbalance", "eth0"): "on", ("interrupts", "host"): "a=3"}
    rig.to("h1 irqbalance=off")
    assert [one.knob for one in rig.journal.read()[1]] == ["irqbalance"]


def test_what_queues_had_comes_back_with_their_number_within_a_run(rig: Rig) -> None:
    host = rig.hosts["h1"]
    host.state["rps_cpus", "eth0"] = "9"
    for _ in range(2):
        rig.to("h1 channels=8")
        assert host.state["rps_cpus", "eth0"] == "0"
        rig.to("h1 channels=4")
        assert host.state["rps_cpus", "eth0"] == "9"
    assert rig.undo() == (0, ())


def test_what_cpus_that_are_offline_do_not_take_waits_in_the_journal(rig: Rig) -> None:
    host = rig.hosts["h1"]
    host.state |= {("cpus_online", "eth0"): "all", ("irq_affinity", "eth0"): "3"}
    moves_interrupts(host)
    rig.to("h1 cpus_online=0-1", "h1 channels=8")
    host.refuses = ("3",)
    rig.to("h1 cpus_online=0-1")
    assert host.state["irq_affinity", "eth0"] == "0-1"
    assert [one.knob for one in rig.journal.read()[1]] == ["irq_affinity", "cpus_online"]
    with pytest.raises(ChangeError, match="cannot put back irq_affinity eth0"):
        rig.to()
    host.refuses = ()
    assert rig.undo() == (1, ())
    assert host.state["irq_affinity", "eth0"] == "3"


def test_a_host_that_comes_back_while_its_settings_are_put_back_is_left_as_it_was_found(rig: Rig) -> None:
    rig.to("h1 sysctl=2")
    host = rig.hosts["h1"]
    host.state["sysctl", "a"] = "1"  # it was started anew
    run = host.run
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(argv: Sequence[str], **more: Any) -> Completed:
        done = await run(argv, **more)
        if not asked.is_set():
            asked.set()
            await goes_on.wait()
        return done

    async def scene() -> None:
        host.run = slow  # type: ignore[method-assign]
        back = asyncio.create_task(rig.settings.reassert("h1"))
        await asked.wait()
        put_back = asyncio.create_task(rig.settings.to([], ["h1"]))
        for _ in range(20):  # as far as it gets
            await asyncio.sleep(0)
        goes_on.set()
        await asyncio.gather(back, put_back)

    asyncio.run(scene())
    assert host.state["sysctl", "a"] == "1"
    assert rig.journal.read()[1] == ()
