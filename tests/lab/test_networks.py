# SPDX-License-Identifier: Apache-2.0
"""Campaigns on networks that linewatt makes: measured there, proven before, and nothing of them left over."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, await_event, connection_pids, end, until
from tests.lab.test_network_knob import steady
from tests.packed import texts

pytestmark = pytest.mark.lab

ROUTES = "route show table all"
LINKS = ("data0", "mgmt0")
SHORT = {"seconds": 0.5, "omit": 0.1, "tail": 0.4}


class Networks(Bench):
    """Hosts with everything of their interfaces, addresses and routes to compare."""

    def state(self) -> list[str]:
        """What `ip` shows of every host: an interface with its addresses, or a route, each."""
        shown = []
        for number in range(1, len(self.lab.hosts) + 1):
            for family, what in (("-4", "-d address"), ("-4", ROUTES), ("-6", "address"), ("-6", ROUTES)):
                items = self._ip(number, family, what)
                shown += sorted(f"h{number} {json.dumps(steady(item), sort_keys=True)}" for item in items)
        return shown

    def settled_state(self) -> list[str]:
        """The state once the kernel has put its own IPv6 addresses and their routes in place."""
        until(self._link_locals_are_in_place, 10, "link-local addresses and their routes on every host")
        return self.state()

    def _link_locals_are_in_place(self) -> bool:
        for number in range(1, len(self.lab.hosts) + 1):
            links = self._ip(number, "-6", "address show scope link")
            table = self._ip(number, "-6", ROUTES)
            own = {one["dst"] for one in table if one.get("type") == "local"}
            found = [one["local"] for link in links for one in link.get("addr_info", []) if one]
            if len(found) < len(LINKS) or not own.issuperset(found):
                return False
        return True

    def _ip(self, number: int, family: str, what: str) -> list[dict[str, Any]]:
        """What `ip` shows of a host: it goes there itself, with no program before it."""
        argv = ["ip", "-n", self.lab.hosts[number - 1].namespace, "-j", family, *what.split()]
        shown: list[dict[str, Any]] = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
        return shown

    def tunnel(self, own: int, peer: int, **keys: object) -> dict[str, Any]:
        """One end of a VXLAN between two hosts, as NMState writes it."""
        low, high = sorted((own, peer))
        return {
            "name": f"vx{peer}",
            "type": "vxlan",
            "state": "up",
            "mtu": 1450,
            "ipv4": {
                "enabled": True,
                "dhcp": False,
                "address": [{"ip": f"198.18.{200 + 10 * low + high}.{own}", "prefix-length": 24}],
            },
            "vxlan": {
                "base-iface": "data0",
                "id": 100 + 10 * low + high,
                "remote": self.lab.hosts[peer - 1].data_ipv4,
            },
            **keys,
        }

    def mesh(self) -> dict[str, Any]:
        """A VXLAN between any two hosts."""
        numbers = range(1, len(self.lab.hosts) + 1)
        return {
            f"h{own}": {"interfaces": [self.tunnel(own, peer) for peer in numbers if peer != own]}
            for own in numbers
        }

    def between(self, **keys: object) -> dict[str, Any]:
        """A VXLAN between the first two hosts."""
        return {
            "h1": {"interfaces": [self.tunnel(1, 2, **keys)]},
            "h2": {"interfaces": [self.tunnel(2, 1, **keys)]},
        }

    def on(self, hosts: dict[str, Any], **keys: object) -> Path:
        """A short campaign between two hosts on one network."""
        networks = [{"name": "vxlan", "hosts": hosts}]
        return self.campaign(**{"networks": networks, "window": SHORT, "trials": 1, "rate": "20M", **keys})

    def refused(self, file: Path) -> str:
        """The one line that a run ends with; nothing was measured, and nothing is left to restore."""
        before = self.state()
        done = self.run("run", file, status=1)
        assert "Traceback" not in done.stderr
        assert self.state() == before
        assert "nothing to restore" in self.restore()
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("linewatt: ")]
        return line


@pytest.fixture
def bench(lab3: Any, tmp_path: Path) -> Iterator[Networks]:
    one = Networks(lab3, tmp_path)
    before = one.settled_state()
    yield one
    one.until_nothing_runs()
    assert one.state() == before


def test_a_document_for_each_host_with_a_host_route_and_both_families(bench: Networks) -> None:
    """The form that NMState's own examples have: one file a host, static addresses, a route to the peer."""
    files = {}
    for own, peer in ((1, 2), (2, 1)):
        document = {
            "interfaces": [
                {
                    "name": "vxlan0",
                    "type": "vxlan",
                    "state": "up",
                    "mtu": 1450,
                    "vxlan": {
                        "base-iface": "data0",
                        "id": 42,
                        "remote": bench.lab.hosts[peer - 1].data_ipv4,
                        "destination-port": 4789,
                    },
                    "ipv4": {
                        "enabled": True,
                        "dhcp": False,
                        "address": [{"ip": f"198.18.250.{own}", "prefix-length": 32}],
                    },
                    "ipv6": {
                        "enabled": True,
                        "address": [{"ip": f"2001:2:0:fffa::{own}", "prefix-length": 64}],
                    },
                }
            ],
            "routes": {
                "config": [
                    {
                        "destination": f"198.18.250.{peer}/32",
                        "next-hop-interface": "vxlan0",
                    }
                ]
            },
        }
        files[f"h{own}"] = f"h{own}.yaml"
        (bench.tmp / f"h{own}.yaml").write_text(json.dumps(document))
    keys: dict[str, object] = {"networks": [{"name": "tunnel", "files": files}], "window": SHORT, "trials": 1}
    bench.run("run", bench.campaign(families=["ipv4", "ipv6"], tests=["udp-1500"], rate="20M", **keys))
    four, six = bench.trials()
    assert (four["status"], six["status"]) == ("done", "done"), four["reason"] or six["reason"]
    lengths = []
    for directory in ("00001", "00002"):
        argv = json.loads(texts(bench.result / "trials" / directory / "raw")["commands.json"])[0]["argv"]
        lengths.append(argv[argv.index("--length") + 1])
    assert lengths == ["1422", "1402"]


def test_a_remote_that_nobody_answers_at_ends_the_run_with_one_line(bench: Networks) -> None:
    hosts = bench.between()
    for host in hosts.values():  # both: one end would learn from the other where to send
        vxlan = host["interfaces"][0]["vxlan"]
        vxlan["remote"] = vxlan["remote"].rpartition(".")[0] + ".77"
    said = bench.refused(bench.on(hosts))
    assert "network vxlan: h" in said
    assert "does not answer through vx" in said
    assert list(bench.results.iterdir()) == [], "nothing was measured, so nothing is left"


@pytest.mark.full
def test_an_mtu_that_the_kernel_refuses_is_one_line(bench: Networks) -> None:
    said = bench.refused(bench.on(bench.between(mtu=1500)))
    assert "Invalid argument" in said
    assert "mtu 1500" in said


def test_a_full_packet_that_does_not_pass_is_found_before_the_first_trial(bench: Networks) -> None:
    """What carries the tunnel lets less through than the MTU of its interface promises."""
    switch = bench.lab.hosts[0].namespace.rpartition("-")[0] + "-sw"
    narrow = ["ip", "-n", switch, "link", "set", "p1", "mtu"]
    subprocess.run([*narrow, "1400"], check=True)
    try:
        said = bench.refused(bench.on(bench.between()))
    finally:
        subprocess.run([*narrow, "1500"], check=True)
    assert "a packet of 1450 bytes, the MTU of vx" in said
    assert "the largest that passes has 135" in said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"vxlan": {"base-iface": "nosuch0", "id": 1, "remote": "198.18.0.9"}}, "no interface nosuch0"),
        pytest.param(
            {"vxlan": {"base-iface": "lo", "id": 1, "remote": "198.18.0.9"}, "name": "data0"},
            "data0 already",
            marks=pytest.mark.full,
        ),
    ],
)
def test_what_a_host_cannot_show_is_one_line_before_anything_is_changed(
    bench: Networks, keys: dict[str, object], said: str
) -> None:
    assert said in bench.refused(bench.on(bench.between(**keys)))


# Bound over the `ip` of a host, whose own lies beside it: what makes a network stops after its first lines,
# and goes on once there is a file `on`.
HALF_WAY = r"""#!/bin/bash
here={folder}
[ "$*" = "-batch -" ] && [ ! -e "$here/on" ] || exec "$here/ip" "$@"
{{
  for ((i = 0; i < 9; i++)); do IFS= read -r line; printf '%s\n' "$line"; done
  for ((i = 0; i < 1200; i++)); do [ -e "$here/on" ] && break; sleep 0.05; done
  cat
}} | "$here/ip" -batch -
"""


def half_way(bench: Networks, number: int, back: ExitStack) -> Path:
    """Let a host make a network by half; the rest is made once the returned path exists."""
    own = shutil.which("ip")
    assert own is not None
    folder = bench.tmp / "half-way"
    folder.mkdir()
    shutil.copy(own, folder / "ip")
    (folder / "slow").write_text(HALF_WAY.format(folder=shlex.quote(str(folder))))
    (folder / "slow").chmod(0o755)
    bench.mount(number, folder / "slow", str(Path(own).resolve()), back)
    return folder / "on"


@pytest.fixture
def back() -> Iterator[ExitStack]:
    """What is to be put back when a test ends."""
    with ExitStack() as stack:
        yield stack


def test_a_peer_that_is_lost_half_way_through_comes_back_and_both_hosts_are_left_as_they_were(
    bench: Networks, back: ExitStack
) -> None:
    """The half that is still being made ends with its connection, or the undo waits for it."""
    count = 30
    hosts = bench.between()
    many = [
        {
            "name": f"mv{i}",
            "type": "mac-vlan",
            "state": "up",
            "mac-vlan": {"base-iface": "data0", "mode": "bridge"},
        }
        for i in range(count)
    ]
    hosts["h2"]["interfaces"] = many + hosts["h2"]["interfaces"]
    before = bench.state()
    on = half_way(bench, 2, back)
    running = bench.start("run", bench.on(hosts))

    def made() -> int:
        return bench.on_host(2, "ls", "/sys/class/net").count("mv")

    until(lambda: made() > 1, 60, "the first interfaces on h2")
    for pid in connection_pids(bench, 2):
        with suppress(ProcessLookupError):  # they end with the first of them
            os.kill(pid, signal.SIGKILL)
    assert 1 < made() < count
    on.touch()
    _, err = end(running, 0)
    assert "Traceback" not in err
    assert [trial["status"] for trial in bench.trials()] == ["done"]
    assert bench.state() == before
    assert "nothing to restore" in bench.restore()


def test_kill_dash_nine_on_a_bridge_with_stp_is_undone_by_restore_and_resumed(bench: Networks) -> None:
    """Each time the port of the bridge is waited for until it forwards."""
    before = bench.state()
    options = {"stp": {"enabled": True, "forward-delay": 2}}
    bridged = {
        f"h{number}": {
            "interfaces": [
                {
                    "name": "br0",
                    "type": "linux-bridge",
                    "bridge": {"options": options, "port": [{"name": "data0"}]},
                    "ipv4": {"address": [{"ip": f"198.18.249.{number}", "prefix-length": 24}]},
                }
            ]
        }
        for number in (1, 2)
    }
    networks = [{"name": "bridged", "hosts": bridged}]
    running = bench.start("run", bench.campaign(networks=networks, window=SHORT, trials=2, rate="20M"))
    await_event(running, "trial_started", 2)
    assert "br0" in bench.on_host(1, "ls", "/sys/class/net").split()
    running.kill()
    running.communicate()
    bench.until_nothing_runs()
    bench.restore()
    assert bench.state() == before
    bench.run("resume", "last")
    assert [trial["status"] for trial in bench.trials()] == ["done"] * 2
    assert {trial["case"]["network"] for trial in bench.trials()} == {"bridged"}


def test_a_tunnel_changed_by_hand_in_mid_campaign_is_flagged_and_left_to_the_user(bench: Networks) -> None:
    running = bench.start("run", bench.on(bench.between(), window={"seconds": 2, "omit": 0.2}))
    await_event(running, "trial_started", 1)
    subprocess.run(
        ["ip", "-n", bench.lab.hosts[1].namespace, "link", "set", "vx1", "mtu", "1400"], check=True
    )
    out, err = running.communicate(timeout=HANG_LIMIT_S)
    assert running.returncode == 1, "a host is left changed: " + err
    codes = {flag["code"] for trial in bench.trials() for flag in trial["flags"]}
    assert "setting-changed" in codes
    assert "left as it is, restore --force puts it back" in out
    done = forked.run(["restore", "--force"], env=bench.environment, timeout=HANG_LIMIT_S)
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_resume_puts_back_one_network_before_it_looks_at_hosts_for_another(bench: Networks) -> None:
    """Of a run that was killed on it: a tunnel of the same name is in the way of the second network's."""
    before = bench.state()
    other = bench.between()
    for host in other.values():
        host["interfaces"][0]["vxlan"]["id"] = 4711
        del host["interfaces"][0]["mtu"]
    networks = [{"name": "one", "hosts": bench.between()}, {"name": "two", "hosts": other}]
    running = bench.start("run", bench.campaign(networks=networks, window=SHORT, trials=1, rate="200M"))
    await_event(running, "trial_started", 1)
    running.kill()
    running.communicate()
    bench.until_nothing_runs()
    assert bench.state() != before
    bench.run("resume", "last")
    assert [trial["status"] for trial in bench.trials()] == ["done", "done"]
    assert "nothing to restore" in bench.restore()


def test_the_interface_that_a_host_is_reached_by_is_not_taken_away(bench: Networks) -> None:
    hosts = bench.between()
    port = {"name": "br0", "type": "linux-bridge", "bridge": {"port": [{"name": "mgmt0"}]}}
    hosts["h2"]["interfaces"].append(port)
    said = bench.refused(bench.on(hosts))
    assert "h2: network vxlan makes mgmt0 a port of br0" in said
