# SPDX-License-Identifier: Apache-2.0
"""What a driver does not take is told: host, interface, driver, what was asked, what reads, what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from tests.fake_batches import answered, is_batch

from linewatt.engine.undo.put_back import put_back
from linewatt.errors import HostLost
from linewatt.hosts.base import Completed, Host, HostSpec
from linewatt.hosts.journal.journal import Entry, Journal, journal_path
from linewatt.tuning import apply
from linewatt.tuning.registry import TUNING_KNOBS

SPEC = HostSpec("h1", "192.0.2.1", "data0")
UNSUPPORTED = "netlink error: Operation not supported\n"
PAUSE = "Pause parameters for data0:\nAutonegotiate:\ton\nRX:\t\t{rx}\nTX:\t\t{tx}\n"
FEATURES = "feature: {0}\nFeatures for data0:\ntx-checksumming: {tx}\ntcp-segmentation-offload: {tso}\n"


@dataclass
class FakeHost:
    """A host whose data0 has a driver; ``said`` is what its tools say, by their last words."""

    said: Callable[[Sequence[str]], tuple[int, str, str]]
    driver: str | None = "e1000e"
    spec: HostSpec = SPEC
    asked: list[Sequence[str]] = field(default_factory=list)

    async def run(self, argv: Sequence[str], *, stdin: str = "", **more: Any) -> Completed:
        if is_batch(argv):
            return await answered(argv, lambda words, text: self.run(words, stdin=text))
        self.asked.append(argv)
        if "device/driver" in argv[2]:
            if self.driver is None:
                raise HostLost("h1: gone")
            return Completed(tuple(argv), 0, f"data0 {self.driver}\n", "")
        return Completed(tuple(argv), *self.said(argv))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([SPEC])
    yield journal
    journal.close()


def asked_of(host: FakeHost, *settings: tuple[str, str]) -> list[str]:
    """What is said of settings that are read, knob and target each."""
    known = [(TUNING_KNOBS[knob], target) for knob, target in settings]
    return [
        one.text or str(one.problem) for one in asyncio.run(apply.look_at_settings(cast(Host, host), known))
    ]


def set_on(host: FakeHost, journal: Journal, *entries: Entry) -> list[apply.ChangeOutcome]:
    journal.intend(entries)
    return asyncio.run(apply.make(cast(Host, host), TUNING_KNOBS, entries, journal))


def entry(before: str, wanted: str, knob: str = "pause", target: str = "data0", at: int = 1) -> Entry:
    return Entry(at, "h1", knob, target, before, wanted)


@pytest.mark.parametrize(("driver", "who"), [("8139cp", "its driver (8139cp)"), (None, "its driver")])
def test_a_knob_that_a_driver_does_not_have_is_told_with_what_to_do(driver: str | None, who: str) -> None:
    (said,) = asked_of(FakeHost(lambda _: (1, "", UNSUPPORTED), driver), ("channels", "data0"))
    assert said == (
        f"h1: cannot read channels data0: {who} has no such setting (netlink error: Operation not "
        "supported); leave channels out for h1, or use an interface whose driver has it"
    )


def test_nobody_is_asked_for_a_driver_where_nothing_fails_or_no_interface_is_concerned() -> None:
    shows = FakeHost(lambda _: (0, PAUSE.format(rx="on", tx="on"), ""))
    assert asked_of(shows, ("pause", "data0")) == ["autoneg=on rx=on tx=on"]
    lacks = FakeHost(lambda _: (255, "", "sysctl: cannot stat /proc/sys/a/b\n"))
    assert asked_of(lacks, ("sysctl", "a.b")) == [
        "h1: cannot read sysctl a.b: sysctl: cannot stat /proc/sys/a/b"
    ]
    assert len(shows.asked) == len(lacks.asked) == 1


def test_a_driver_that_accepts_and_changes_nothing_is_told(journal: Journal) -> None:
    host = FakeHost(lambda argv: (0, "" if "-A" in argv else PAUSE.format(rx="on", tx="on"), ""))
    (said,) = set_on(host, journal, entry("autoneg=on rx=on tx=on", "autoneg=off rx=off tx=off"))
    assert str(said.problem) == (
        "h1: pause data0 was set to 'autoneg=off rx=off tx=off' without complaint but still reads "
        "'autoneg=on rx=on tx=on': its driver (e1000e) ignores it; leave pause out for h1, or use an "
        "interface whose driver has it"
    )


def test_a_driver_that_makes_another_value_of_it_is_told(journal: Journal) -> None:
    host = FakeHost(lambda argv: (0, "" if "-A" in argv else PAUSE.format(rx="off", tx="on"), ""))
    (said,) = set_on(host, journal, entry("autoneg=on rx=on tx=on", "autoneg=on rx=off tx=off"))
    assert str(said.problem) == (
        "h1: pause data0 was set to 'autoneg=on rx=off tx=off' but reads 'autoneg=on rx=off tx=on': its "
        "driver (e1000e) made another value of it; ask for one that it takes, such as this"
    )


@pytest.mark.parametrize(
    ("stderr", "says"),
    [
        (UNSUPPORTED, ": its driver (e1000e) cannot change it (netlink error: Operation not supported); it "
         "reads 'autoneg=on rx=on tx=on'; leave pause out for h1"),
        ("netlink error: Invalid argument\n", " to 'autoneg=on rx=off tx=on': its driver (e1000e) refuses it "
         "(netlink error: Invalid argument); it reads 'autoneg=on rx=on tx=on'; ask for another value"),
    ],
)  # fmt: skip
def test_a_driver_that_refuses_is_told_with_what_reads(journal: Journal, stderr: str, says: str) -> None:
    shows = PAUSE.format(rx="on", tx="on")
    host = FakeHost(lambda argv: (1, "", stderr) if "-A" in argv else (0, shows, ""))
    (said,) = set_on(host, journal, entry("autoneg=on rx=on tx=on", "autoneg=on rx=off tx=on"))
    assert str(said.problem).startswith(f"h1: cannot set pause data0{says}")
    journal.applied(1, "autoneg=on rx=off tx=on")
    host.said = lambda argv: (1, "", stderr) if "-A" in argv else (0, PAUSE.format(rx="off", tx="on"), "")
    (problem,) = asyncio.run(put_back(cast(Host, host), TUNING_KNOBS, journal.read()[1], journal))
    assert str(problem) == (
        f"h1: cannot put back pause data0 to 'autoneg=on rx=on tx=on': {stderr.strip()}; "
        "it reads 'autoneg=on rx=off tx=on'; set it by hand"
    )


class Dependent:
    """A device whose TSO needs its transmit checksums, as ethtool tells and the kernel has it."""

    def __init__(self) -> None:
        self.wanted = {"tx": "off", "tso": "off"}

    def say(self, argv: Sequence[str]) -> tuple[int, str, str]:
        shown = self.wanted | {"tso": self.wanted["tso"] if self.wanted["tx"] == "on" else "off"}
        if "exec ethtool -k" in argv[2]:
            return 0, FEATURES.format(argv[-1], **shown), ""
        name, state = argv[-2:]
        self.wanted[name] = state
        if state == "on" and name == "tso" and self.wanted["tx"] == "off":
            return 1, "", "Could not change any device features\n"
        return 0, "", ""


def test_a_feature_that_is_put_back_before_what_it_needs_is_back_with_it(journal: Journal) -> None:
    device = Dependent()
    entries = [
        entry("tx=on", "tx=off", "offload", "data0 tx", 1),
        entry("tso=on", "tso=off", "offload", "data0 tso", 2),
    ]
    journal.intend(entries)
    for one in entries:
        journal.applied(one.number, one.wanted)
    undone = list(reversed(journal.read()[1]))
    problems = asyncio.run(put_back(cast(Host, FakeHost(device.say)), TUNING_KNOBS, undone, journal))
    assert problems == [None, None]
    assert device.wanted == {"tx": "on", "tso": "on"}
    assert journal.read()[1] == ()


def test_a_feature_is_left_out_by_its_own_name(journal: Journal) -> None:
    features = FEATURES.format("tso", tx="off", tso="off")
    host = FakeHost(lambda argv: (0, features, "") if "exec ethtool -k" in argv[2] else (1, "", "no"))
    (said,) = set_on(host, journal, entry("tso=off", "tso=on", "offload", "data0 tso"))
    assert str(said.problem) == (
        "h1: cannot set offload data0 tso to 'tso=on': its driver (e1000e) refuses it (no); it reads "
        "'tso=off'; ask for another value, or leave tso out for h1"
    )


def test_what_the_kernel_itself_steers_is_not_laid_to_the_driver(journal: Journal) -> None:
    host = FakeHost(lambda argv: (0, "rx-0=0\n" if argv[-1] == "rps_cpus" else "", ""))
    (said,) = set_on(host, journal, entry("rx-0=0", "rx-0=2", "rps_cpus"))
    assert str(said.problem).endswith(
        "still reads 'rx-0=0': the kernel ignores it; leave rps_cpus out for h1"
    )


def test_fields_to_hash_that_a_driver_does_not_have_are_left_out_by_flow() -> None:
    said = "Cannot get RX network flow hashing options: Operation not supported\n"
    (told,) = asked_of(FakeHost(lambda _: (1, "", said)), ("rx_flow_hash", "data0 udp4"))
    assert "its driver (e1000e) has no such setting" in told
    assert "leave rx_flow_hash udp4 out for h1" in told
