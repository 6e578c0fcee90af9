# SPDX-License-Identifier: Apache-2.0
"""``linewatt check`` on real hosts: a healthy lab is ready, and whatever is wrong is found and named."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests import forked
from tests.lab.test_campaign import (
    CHANGES,
    HANG_LIMIT_S,
    Bench,
    await_event,
    connection_pids,
    until,
)

from linewatt.sensors.power.base import CALL_LIMIT_S

pytestmark = pytest.mark.lab

Checks = list[dict[str, Any]]


class CheckBench(Bench):
    """A lab to be checked, with things to break on it that are mended when the test ends."""

    def __init__(self, lab: Any, tmp: Path) -> None:
        super().__init__(lab, tmp)
        self.broken = ExitStack()

    def check(self, file: Path, *words: str, status: int) -> subprocess.CompletedProcess[str]:
        done = forked.run(["check", str(file), *words], env=self.environment, timeout=HANG_LIMIT_S)
        assert "Traceback" not in done.stderr
        assert done.returncode == status, done.stderr + done.stdout
        return done

    def checks(self, file: Path, *words: str, status: int) -> Checks:
        document = json.loads(self.check(file, "--json", *words, status=status).stdout)
        assert document["schema_version"] == 1
        assert document["ready"] == (status == 0)
        found: Checks = document["checks"]
        return found

    def inventory(self, power: dict[str, Any] | None = None) -> Path:
        """The lab's inventory; ``power`` replaces the sources of h2, and h1 has none."""
        tree = YAML(typ="safe").load(self.lab.inventory)
        for name, host in _hosts(tree):
            host.pop("linewatt_power", None)
            if name == "h2" and power is not None:
                host["linewatt_power"] = power
        path = self.tmp / "inventory.yaml"
        path.write_text(json.dumps(tree))
        return path

    def campaign(self, **keys: object) -> Path:
        """Like a campaign's, without sources of power unless the inventory has some."""
        hosts = keys.pop("hosts", None) or str(self.inventory())
        return super().campaign(hosts=hosts, **keys)

    def variables(self, number: int) -> dict[str, Any]:
        tree = YAML(typ="safe").load(self.lab.inventory)
        return next(host for name, host in _hosts(tree) if name == f"h{number}")

    def changed(self, number: int, command: str, back: str) -> None:
        """Run a command on a host, and the other one when the test ends."""
        self.on_host(number, *command.split())
        self.broken.callback(self.on_host, number, *back.split())

    def switch(self, *argv: str) -> str:
        (namespace,) = (one for one in self.lab.namespaces if one.endswith("-sw"))
        done = subprocess.run(
            ["ip", "netns", "exec", namespace, *argv], capture_output=True, text=True, check=True
        )
        return done.stdout


def _hosts(tree: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for group in tree.values():
        yield from (group.get("hosts") or {}).items()
        yield from _hosts(group.get("children") or {})


def state(bench: Bench) -> list[str]:
    """What a check could have changed on the hosts: addresses, links, routes, kernel settings, sockets."""
    found = bench.settings("net.ipv4.tcp_rmem")
    for number in range(1, len(bench.lab.hosts) + 1):
        for argv in (
            ["ip", "-d", "address", "show", "data0"],
            ["ip", "route", "show", "table", "all"],
            ["sysctl", "-a", "--pattern", r"^net\.(core|ipv4\.tcp_[a-z]*mem|ipv4\.udp)"],
            ["ss", "-Hltun"],
            ["ethtool", "-k", "data0"],
        ):
            lines = bench.on_host(number, *argv).splitlines()
            found += [line for line in lines if "valid_lft" not in line and "fe80" not in line]
    return found


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[CheckBench]:
    one = CheckBench(lab2, tmp_path)
    with one.broken:
        yield one
    one.until_nothing_runs()


def failures(checks: Checks) -> list[dict[str, Any]]:
    return [check for check in checks if check["status"] == "fail"]


def the_failure(checks: Checks, host: str, name: str) -> str:
    """The one check that failed, in words."""
    assert [(check["host"], check["name"]) for check in failures(checks)] == [(host, name)], failures(checks)
    (one,) = failures(checks)
    assert one["advice"] or name in ("ssh",)
    return str(one["found"])


def test_a_healthy_lab_is_ready_and_nothing_on_it_is_changed(bench: CheckBench) -> None:
    before = state(bench)
    file = bench.campaign(
        hosts=str(bench.lab.inventory), tests=["tcp", "udp-1500"], families=["ipv4", "ipv6"]
    )
    checks = bench.checks(file, status=0)
    assert state(bench) == before
    assert not (bench.tmp / "state").exists()
    names = {(check["host"], check["name"]) for check in checks if check["status"] == "ok"}
    for host in ("h1", "h2"):
        well = {"ssh", "tools", "root", "clock", "cpus", "link", "pcie", "route", "mtu", "power", "undo"}
        assert {(host, name) for name in well} <= names
    (ports,) = (check for check in checks if check["name"] == "ports")
    assert ports["host"] == "h2"
    assert ports["found"].endswith("TCP and UDP from h1 on the first and the last")
    power = [check["found"] for check in checks if check["name"] == "power"]
    assert all("simulated" in found and "PSU1 Power In" in found for found in power)


def test_the_table_fits_a_terminal_and_ends_with_the_verdict(bench: CheckBench) -> None:
    bench.environment = {**bench.environment, "COLUMNS": "80"}
    done = bench.check(bench.campaign(), status=0)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("ok on every host: SSH, ")
    head = next(at for at, line in enumerate(lines) if line.startswith("host "))
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["h1", "h2"]
    assert lines[-1].startswith("t: ready")
    assert done.stderr == ""


def test_a_bad_file_is_refused_before_a_host_is_touched(bench: CheckBench) -> None:
    done = bench.check(bench.campaign(pairs=["h1 -> h9"]), status=2)
    assert "h9" in done.stderr
    assert done.stdout == ""


def test_a_taken_port_is_named_with_who_holds_it(bench: CheckBench) -> None:
    script = (
        "import socket, sys; s = socket.create_server(('', 5207)); print(1, flush=True); sys.stdin.read()"
    )
    argv = bench.inside(2, "python3", "-c", script)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        checks = bench.checks(bench.campaign(), status=1)
        holder.communicate(timeout=10)
    found = the_failure(checks, "h2", "ports")
    assert found.startswith("port 5207 is taken by python3 (")


def test_a_path_that_drops_replies_closes_the_ports_and_lets_other_checks_stand(bench: CheckBench) -> None:
    """What the server sends back to the client goes nowhere, as with a firewall that drops."""
    address = json.loads(bench.on_host(1, "ip", "-j", "-4", "address", "show", "data0"))
    client = address[0]["addr_info"][0]["local"]
    route = f"{client}/32"
    bench.changed(2, f"ip route add blackhole {route}", f"ip route del blackhole {route}")
    checks = bench.checks(bench.campaign(tests=["tcp", "udp-1500"]), status=1)
    assert {(check["host"], check["name"]) for check in failures(checks)} == {
        ("h2", "route"),
        ("h2", "ports"),
    }
    closed = [check["found"] for check in failures(checks) if check["name"] == "ports"]
    assert len(closed) == 2
    assert all(found.startswith("TCP port 52") and "from h1" in found for found in closed)
    (mtu,) = (check for check in checks if (check["host"], check["name"]) == ("h1", "mtu"))
    assert mtu["status"] == "unknown", "no answer to a ping is not a small packet size"


def test_data_that_takes_another_interface_is_found(bench: CheckBench) -> None:
    """The server's data address is reached over the management network."""
    route, via = f"{_data_address(bench, 2)}/32", bench.lab.hosts[1].address
    bench.changed(1, f"ip route add {route} via {via} dev mgmt0", f"ip route del {route}")
    checks = bench.checks(bench.campaign(), status=1)
    wrong = [check for check in failures(checks) if check["name"] == "route"]
    assert [check["host"] for check in wrong] == ["h1"]
    assert "goes over mgmt0, not over data0" in wrong[0]["found"]


def test_data_over_the_interface_of_ssh_is_a_warning_of_check_and_run(bench: CheckBench) -> None:
    tree = YAML(typ="safe").load(bench.inventory())
    reached = [host.address for host in bench.lab.hosts[:2]]
    for (_, host), address in zip(_hosts(tree), reached, strict=True):
        host.pop("linewatt_data_ipv6", None)
        host |= {"linewatt_data": "mgmt0", "linewatt_data_ipv4": address}
    path = bench.tmp / "shared.yaml"
    path.write_text(json.dumps(tree))
    file = bench.campaign(hosts=str(path), trials=1, rate="50M")
    shared = [check for check in bench.checks(file, status=0) if "linewatt's SSH" in check["found"]]
    assert [(check["host"], check["name"], check["status"]) for check in shared] == [
        ("h1", "link", "warn"),
        ("h2", "link", "warn"),
    ]
    done = bench.run("run", file)
    assert f"warning: h2: mgmt0 carries the load and also linewatt's SSH ({reached[1]})" in done.stderr


def _data_address(bench: Bench, number: int) -> str:
    address = json.loads(bench.on_host(number, "ip", "-j", "-4", "address", "show", "data0"))
    return str(address[0]["addr_info"][0]["local"])


def test_a_path_with_a_smaller_mtu_than_its_interfaces_is_measured(bench: CheckBench) -> None:
    """A switch port of MTU 1400 drops what is larger and says nothing; a veth adds room for a VLAN's tag."""
    port = _switch_port(bench, 2)
    bench.switch("ip", "link", "set", "dev", port, "mtu", "1400")
    bench.broken.callback(bench.switch, "ip", "link", "set", "dev", port, "mtu", "1500")
    checks = bench.checks(bench.campaign(families=["ipv4", "ipv6"]), status=1)
    found = {(check["host"], check["found"]) for check in failures(checks)}
    assert {check["name"] for check in failures(checks)} == {"mtu"}
    assert {host for host, _ in found} == {"h1", "h2"}
    assert len(found) == 4
    assert all("packets of 1500 bytes" in text and "1404 do" in text for _, text in found), found


def _switch_port(bench: CheckBench, number: int) -> str:
    """The switch's end of a host's data link, by its index."""
    peer = json.loads(bench.on_host(number, "ip", "-j", "link", "show", "data0"))[0]["link_index"]
    links = json.loads(bench.switch("ip", "-j", "link", "show"))
    (name,) = (link["ifname"] for link in links if link["ifindex"] == peer)
    return str(name)


def test_missing_tools_are_named_and_a_client_without_iperf3_leaves_the_ports_unknown(
    bench: CheckBench,
) -> None:
    """Nothing that can be run stands where they stood: iperf3 on h1, mpstat on h2."""
    empty = bench.tmp / "empty"
    empty.write_text("")
    for number, tool in ((1, "iperf3"), (2, "mpstat")):
        path = shutil.which(tool)
        assert path is not None
        bench.mount(number, empty, str(Path(path).resolve()), bench.broken)
    checks = bench.checks(bench.campaign(), status=1)
    failed = failures(checks)
    assert [(check["host"], check["name"]) for check in failed] == [("h1", "tools"), ("h2", "tools")]
    for check, tool in zip(failed, ("iperf3", "mpstat"), strict=True):
        assert tool in check["found"]
        assert check["advice"]
    assert [check["status"] for check in checks if check["name"] == "ports"] == ["unknown", "unknown"]


def test_a_slow_governor_is_fixed_and_a_run_goes_on_top_of_it_and_restore_takes_it_back(
    bench: CheckBench,
) -> None:
    """Files stand for the frequency driver that the machine of a lab may lack; all else is real."""
    policy = bench.tmp / "cpufreq" / "policy0"
    policy.mkdir(parents=True)
    for name, text in (
        ("scaling_governor", "powersave"),
        ("scaling_available_governors", "performance powersave"),
        ("scaling_driver", "acpi-cpufreq"),
    ):
        (policy / name).write_text(text + "\n")
    cpu0 = bench.tmp / "cpu0"
    cpu0.mkdir()
    (cpu0 / "cpufreq").symlink_to("../cpufreq/policy0")
    bench.mount(2, policy.parent, "/sys/devices/system/cpu/cpufreq", bench.broken)
    bench.mount(2, cpu0, "/sys/devices/system/cpu/cpu0", bench.broken)
    governor = policy / "scaling_governor"
    file = bench.campaign(trials=1, sensors={"cpufreq": False}, **CHANGES)

    assert "powersave holds the lowest" in the_failure(bench.checks(file, status=1), "h2", "freq")
    assert governor.read_text() == "powersave\n"
    offered = " ".join(bench.check(file, status=1).stdout.split())
    assert f"safe changes: governor performance on h2 do: linewatt check {file} --fix" in offered
    done = bench.check(file, "--fix", status=0)
    assert "safe changes" not in done.stdout
    assert "fixed: h2: governor host = performance@0" in done.stderr
    assert "linewatt restore" in done.stderr
    assert governor.read_text() == "performance\n"
    again = bench.check(file, "--fix", status=0)
    assert "fixed" not in again.stderr, "nothing is left to fix"
    assert len(list((bench.tmp / "state" / "journal").iterdir())) == 1

    before = bench.settings("net.ipv4.tcp_rmem")
    bench.run("run", file)
    assert bench.settings("net.ipv4.tcp_rmem") == before, "the run undid its own changes"
    assert governor.read_text() == "performance\n", "and not those of the check"
    assert "check-t-" in bench.restore()
    assert governor.read_text() == "powersave\n"
    assert "nothing to restore" in bench.restore()


@pytest.mark.full
def test_what_a_killed_run_set_on_top_of_a_fix_is_put_back_before_the_fix(bench: CheckBench) -> None:
    """Both change one setting of a real kernel: undone in the wrong order, the first change would stay."""
    key = "net.ipv4.tcp_rmem"
    before = bench.on_host(2, "sysctl", "-n", key)
    _fix(bench, key, "4096 131072 5242880")
    fixed = bench.on_host(2, "sysctl", "-n", key)
    assert fixed.split()[2] == "5242880"
    file = bench.campaign(trials=20, **CHANGES)
    process = bench.start("run", file)
    await_event(process, "trial_started", 1)
    assert bench.on_host(2, "sysctl", "-n", key).split()[2] == "7340032"
    busy = [check for check in bench.checks(file, status=1) if check["name"] == "undo"]
    assert [check["status"] for check in busy] == ["fail", "fail"]
    assert "at work" in busy[0]["found"]
    assert "left as it is until" in bench.restore(status=1)
    process.kill()
    process.communicate()
    bench.until_nothing_runs()
    left = [check for check in bench.checks(file, status=1) if check["name"] == "undo"]
    assert all("has not put" in check["found"] for check in left)
    bench.restore()
    assert bench.on_host(2, "sysctl", "-n", key) == before


def _fix(bench: Bench, key: str, value: str) -> None:
    """Make a change as ``check --fix`` does, of a setting that a lab host really has."""
    import asyncio

    from linewatt.campaign.reading.file import load_campaign
    from linewatt.engine.readiness.checkup_fix import apply_fixes
    from linewatt.hosts.connect import connect_to_host
    from linewatt.tuning.base import Change

    async def change() -> None:
        host = await connect_to_host(load_campaign(bench.campaign()).hosts["h2"])
        try:
            wish = Change("h2", "sysctl", key, value, "a test")
            fixes = await apply_fixes("t", {"h2": host}, [wish], bench.tmp / "state")
            (done,) = fixes.changes
            assert done.problem is None
            assert fixes.journal is not None
            fixes = await apply_fixes(
                "t", {"h2": host}, [Change("h2", "sysctl", "net.no_such", "1", "a test")], bench.tmp / "state"
            )
            (refused,) = fixes.changes
            assert refused.problem is not None
            assert fixes.journal is None, "nothing was changed, so that there is nothing to take back"
        finally:
            await host.close()

    asyncio.run(change())


def ipmi(bench: CheckBench, **more: Any) -> dict[str, Any]:
    """The source that the lab gives h2, with other settings."""
    (source,) = bench.variables(2)["linewatt_power"].values()
    return {"bmc": {**source, **more}}


@pytest.mark.skipif(shutil.which("ipmi_sim") is None, reason="needs ipmi_sim")
def test_a_wrong_bmc_password_is_found_and_never_shown(bench: CheckBench) -> None:
    secret = bench.tmp / "password"
    secret.write_text("canary-51c2\n")
    file = bench.campaign(hosts=str(bench.inventory(ipmi(bench, password_file=str(secret)))))
    done = bench.check(file, "--json", status=1)
    assert "canary-51c2" not in done.stdout + done.stderr
    found = the_failure(json.loads(done.stdout)["checks"], "h2", "power")
    assert found.startswith("bmc (ipmi, simulated): ")
    assert "password" in found


@pytest.mark.skipif(shutil.which("ipmi_sim") is None, reason="needs ipmi_sim")
def test_a_silent_bmc_fails_its_own_check_only_and_within_its_limit(bench: CheckBench) -> None:
    healthy = bench.checks(bench.campaign(), status=0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        source = ipmi(bench, address="127.0.0.1", port=port)
        checks = bench.checks(bench.campaign(hosts=str(bench.inventory(source))), status=1)
    found = the_failure(checks, "h2", "power")
    assert "127.0.0.1" in found
    waited_s = re.search(r"no answer to the IPMI login for ([\d.]+) s", found)
    assert waited_s
    assert float(waited_s[1]) <= CALL_LIMIT_S
    others, others_healthy = (
        {(one["host"], one["name"]) for one in run if one["name"] != "power"} for run in (checks, healthy)
    )
    assert others == others_healthy


def test_a_source_that_is_a_program_on_the_host_is_read_once(bench: CheckBench) -> None:
    script = 'while echo "{\\"channel\\": \\"wall\\", \\"value\\": 42}"; do sleep 1; done'
    argv, channels = ["bash", "-c", script], {"wall": {"scope": "wall", "unit": "W"}}
    shunt = {"driver": "command", "provenance": "measured", "argv": argv, "channels": channels}
    good = {"shunt": shunt}
    bad = {"shunt": {**shunt, "argv": ["bash", "-c", "echo no meter here >&2; exit 3"]}}
    file = bench.campaign(hosts=str(bench.inventory(good)))
    (refused,) = [check for check in bench.checks(file, status=0) if check["name"] == "power"]
    assert refused["status"] == "unknown"
    assert "--allow-commands" in refused["found"]
    checks = bench.checks(file, "--allow-commands", status=0)
    assert [check["found"] for check in checks if check["name"] == "power"] == [
        "shunt (command, simulated): wall"
    ], "whatever a lab measures is simulated"
    file = bench.campaign(hosts=str(bench.inventory(bad)))
    checks = bench.checks(file, "--allow-commands", status=1)
    assert "no meter here" in the_failure(checks, "h2", "power")


def test_a_host_that_is_down_leaves_the_checks_of_the_others(
    make_lab: Callable[..., Any], tmp_path: Path
) -> None:
    bench = CheckBench(make_lab(hosts=3, rate="1gbit"), tmp_path)
    os.kill(bench.sshd(2), signal.SIGKILL)
    checks = bench.checks(bench.campaign(pairs=["h1 -> h2", "h1 -> h3"]), status=1)
    found = the_failure(checks, "h2", "ssh")
    assert "connection refused: nothing listens there" in found
    assert [check["host"] for check in checks if check["name"] == "ports"] == ["h3"]
    (ports,) = (check for check in checks if check["name"] == "ports")
    assert ports["status"] == "ok"
    assert {check["name"] for check in checks if check["host"] == "h2"} == {"ssh", "undo"}


def test_an_unknown_host_key_and_a_refused_login_are_told_apart(bench: CheckBench) -> None:
    empty = bench.tmp / "known_hosts"
    empty.write_text("")
    inventory = str(bench.bad_inventory(known_hosts=str(empty)))
    checks = bench.checks(bench.campaign(hosts=inventory), status=1)
    assert all("host key" in check["found"] for check in failures(checks))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(bench.tmp / "key")], check=True)
    text = bench.lab.inventory.read_text()
    other = bench.tmp / "other-key.yaml"
    other.write_text(text.replace(str(bench.lab.inventory.parent / "id_ed25519"), str(bench.tmp / "key")))
    checks = bench.checks(bench.campaign(hosts=str(other)), status=1)
    assert {check["name"] for check in failures(checks)} == {"ssh"}
    assert all("login refused" in check["found"] for check in failures(checks))


def test_ctrl_c_ends_a_check_at_once_and_leaves_nothing_behind(bench: CheckBench) -> None:
    before = state(bench)
    process = forked.Forked(
        ["check", bench.campaign()],
        env=bench.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: bool(connection_pids(bench, 2)), 30, "the check to be connected")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in err
    bench.until_nothing_runs()
    assert state(bench) == before
