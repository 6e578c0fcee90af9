# SPDX-License-Identifier: Apache-2.0
"""Bonds of two NICs whose cables are pulled in mid-trial: what carries on, and what is said of it."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.faults.ground import Command, Ground
from tests.vm.cables import pulled
from tests.vm.machine import Machine, data_port
from tests.vm.moments import HOSTS, until
from tests.vm.test_networks import batch, left_as_found

from linewatt.features.lab import api as lab
from linewatt.sensors.registry import SENSORS

pytestmark = [pytest.mark.vm, pytest.mark.full]

TRIAL_LIMIT_S = 300.0
END_LIMIT_S = 600.0
EARLY_S = 2.5
"""by which a stated time may precede the event: a record has the time at which it was due, at most 1 s before
it is written; the clock of a guest is known to 0.3 s; and fractions of a second are cut off"""
AT = "h1"
"""where cables are pulled: the driver of the other guest's e1000e is not told of it by QEMU 7.2"""
PORTS = ("data0", "data1")
RATE_BPS = 5e6
OMIT_S = 3
PULLED_S = 8
"""of a load: within the window, more than ``EARLY_S`` after its start and long before its end"""
KEYS: dict[str, Any] = {
    "pairs": [f"h2 -> {AT}"],
    "trials": 2,
    "rate": f"{RATE_BPS / 1e6:g}M",
    "window": {"seconds": 20, "omit": OMIT_S, "tail": 2},
    "idle": {"seconds": 0},
    "settings": {},
    "factors": {},
    "sensors": {name: False for name in SENSORS if name not in ("mpstat", "netcounters", "link")},
}
DAY_S = 86400.0
SOME_BYTES = RATE_BPS / 8 * PULLED_S

# $1: bytes; then interfaces. Once all have taken so many together: how many each
_TAKEN = r"""wanted=$1; shift
exec 8<> <(:)
declare -A first
for (( tries = 0; tries < 1000; tries++ )); do
  sum=0 each=
  for net; do
    read -r count </sys/class/net/$net/statistics/rx_bytes
    : "${first[$net]:=$count}"
    (( own = count - first[$net], sum += own, 1 )); each+=" $own"
  done
  (( sum < wanted )) || { echo "$each"; exit 0; }
  read -r -t 0.1 -u 8
done
echo "bytes after 100 s:$each" >&2; exit 1"""
# $@: interfaces; until none has a carrier
_DEAD = r"""exec 8<> <(:)
for (( tries = 0; tries < 300; tries++ )); do
  live=
  for net; do read -r carrier </sys/class/net/$net/carrier; [[ $carrier == 0 ]] || live=$net; done
  [[ $live ]] || exit 0
  read -r -t 0.1 -u 8
done
echo "$live has a carrier after 30 s" >&2; exit 1"""


def bond(mode: str, number: int) -> dict[str, Any]:
    """Both NICs of a host as one."""
    own = {"mode": mode, "port": list(PORTS), "options": {"miimon": 100}}
    address = {"enabled": True, "address": [{"ip": f"198.18.210.{number}", "prefix-length": 24}]}
    one = {"name": "bond0", "type": "bond", "state": "up", "link-aggregation": own, "ipv4": address}
    return {"interfaces": [one]}


@dataclass(frozen=True)
class Pulled:
    """Which cables were pulled in a trial, when, and what became of the trial."""

    ports: Sequence[int]
    at_s: float
    trial: dict[str, Any]


@dataclass(frozen=True)
class Campaign:
    """One that runs over a bond of both guests."""

    guests: lab.Lab
    run: Command

    def pull(self, number: int, *, all_of_them: bool = False, until_stored: bool = False) -> Pulled:
        """In the window of a trial pull the cable that carries it, or both; until the guest has noticed, or
        the trial is over."""
        self._event("trial_started", number)
        peer = Machine.of(self.guests.inventory, AT)
        taken = peer.run(_command(_TAKEN, f"{SOME_BYTES:.0f}", *PORTS)).split()
        carries = max(range(len(PORTS)), key=lambda port: int(taken[port]))
        ports = range(len(PORTS)) if all_of_them else [carries]
        at_s = time.time()
        self._runs(number)
        with pulled(self.guests, AT, ports):
            peer.run(_command(_DEAD, *(PORTS[port] for port in ports)))
            self._runs(number)
            if until_stored:
                self._event("trial_stored", number)
        return Pulled(ports, at_s, self._event("trial_stored", number)["trial"])

    def _runs(self, number: int) -> None:
        assert not self._events("trial_stored", number), "the trial was over before its cables were out"

    def _events(self, kind: str, number: int) -> list[dict[str, Any]]:
        of_kind = [one for one in self.run.events if one["event"] == kind]
        return [one for one in of_kind if one.get("trial", one)["number"] == number]

    def _event(self, kind: str, number: int) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def come() -> bool:
            ended = self.run.process.poll() is not None
            found[:] = self._events(kind, number)
            assert found or not ended, self.run.err.read_text()[-2000:]
            return bool(found)

        until(come, TRIAL_LIMIT_S, f"waited {TRIAL_LIMIT_S:g} s for {kind} of trial {number}")
        return found[0]


def _command(script: str, *words: str) -> str:
    return shlex.join(("bash", "-c", script, "test", *words))


def without_ipv6(host: lab.HostLayout) -> str:
    """As ports of a bond are: what they would lose could not be put back."""
    return batch([f"address del {port.ipv6}/64 dev {port.interface}" for port in host.ports])


def with_ipv6(host: lab.HostLayout) -> str:
    return batch([f"address add {port.ipv6}/64 dev {port.interface} nodad" for port in host.ports])


@pytest.fixture
def ground(guests: lab.Lab, tmp_path: Path) -> Iterator[Ground]:
    """Guests that are found again as they were."""
    ground = Ground(guests, tmp_path)
    with left_as_found(guests, without_ipv6, with_ipv6):
        yield ground
        killed = [command.process.poll() is None for command in ground.commands]
        for command in ground.commands:
            command.process.kill()
            command.process.wait()
        if any(killed):  # of a test that has failed: those behind it find the guests as they were
            ground.start("restore").end()


def begun(ground: Ground, mode: str, **keys: Any) -> Campaign:
    hosts = str(data_port(ground.lab.inventory, ground.tmp, 0))
    networks = [{"name": mode, "hosts": {name: bond(mode, at) for at, name in enumerate(HOSTS, 1)}}]
    campaign = ground.campaign(**{**KEYS, "hosts": hosts, "networks": networks, **keys})
    return Campaign(ground.lab, ground.start("run", campaign, "--json"))


@pytest.mark.parametrize(
    "mode",
    [
        "active-backup",
        pytest.param("balance-xor", marks=pytest.mark.thorough),
    ],
)
def test_a_trial_outlives_a_port_of_its_bond_and_not_the_whole_bond(ground: Ground, mode: str) -> None:
    """Both are told with the ports, and when; the guests are as before.

    802.3ad and balance-rr are not among them: the switch speaks no LACP and takes its two ports for no group,
    so that it sends to a port that is no longer listened at, and TCP comes to a tenth of the rate.
    """
    campaign = begun(ground, mode)
    whole = campaign.pull(1, all_of_them=True)
    member = campaign.pull(2, until_stored=True)
    status = campaign.run.end(END_LIMIT_S)
    assert whole.trial["status"] == "failed"
    assert_says_why(whole.trial["reason"])
    assert_carried_on(member)
    assert status == 1, campaign.run.err.read_text()[-2000:]


@pytest.mark.thorough
def test_a_bond_that_stays_dead_is_the_reason_of_its_trial(ground: Ground) -> None:
    """iperf3 itself comes to no end then, and says nothing of cables."""
    campaign = begun(ground, "active-backup", trials=1)
    whole = campaign.pull(1, all_of_them=True, until_stored=True)
    assert campaign.run.end(END_LIMIT_S) == 1, campaign.run.err.read_text()[-2000:]
    assert whole.trial["status"] == "failed"
    assert_says_why(whole.trial["reason"], rest="")


def assert_carried_on(member: Pulled) -> None:
    trial = member.trial
    assert trial["status"] == "done", trial["reason"]
    (flag,) = [one for one in trial["flags"] if one["code"] == "bond-port-down"]
    (port,) = member.ports
    other = PORTS[1 - port]
    times = "(?: once)?"  # how often is known where the guest answered before the window, too
    lost = rf"{PORTS[port]} of bond0 lost its link{times} at ([\d:]+) UTC and is down"
    said = re.fullmatch(rf"{lost}; {other}( \(backup\))? carried on", flag["evidence"])
    assert flag["where"] == AT
    assert said is not None, flag["evidence"]
    assert in_order(clock_s(member.at_s) - EARLY_S, seconds_of(said[1]), clock_s(trial["window"]["end_s"]))
    assert trial["throughput_bps"] > 0


def clock_s(time_s: float) -> float:
    return time_s % DAY_S


def seconds_of(clock: str) -> float:
    hours, minutes, seconds = map(int, clock.split(":"))
    return 3600.0 * hours + 60 * minutes + seconds


def in_order(*times_s: float) -> bool:
    """Of clocks, also around midnight."""
    since_s = [(one - times_s[0]) % DAY_S for one in times_s]
    return since_s == sorted(since_s)


def assert_says_why(reason: str, rest: str = "; no other port was up throughout") -> None:
    said = (
        rf"{AT}: the carrier of its data interface data0 changed (?:once|\d+ times) in mid-trial "
        rf"\(carrier_changes\) \(([^)]+){rest}\); look at the cable"
    )
    told = re.match(said, reason)
    assert told is not None, reason
    assert sorted(one.partition(" lost its link")[0] for one in told[1].split("; ")) == [
        f"{port} of bond0" for port in PORTS
    ]
