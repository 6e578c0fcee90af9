# SPDX-License-Identifier: Apache-2.0
"""What is written wrong on a first day costs one line that says where and what to do, before any host."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests import forked
from tests.mistakes import assert_one_line_each
from tests.report_factories import manifest_of
from tests.unit.conftest import Run

from linewatt.campaign import stored
from linewatt.campaign.reading.file import load_campaign
from linewatt.cli.output import print_csv
from linewatt.engine.live.secrets import read_passwords
from linewatt.engine.live.session import Session
from linewatt.engine.readiness.congestion import check_congestion
from linewatt.errors import HostError, InvalidInput, StoreError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.hosts.ssh.connection import Wire
from linewatt.report.campaign_text import campaign_text
from linewatt.tuning.base import Change

HOSTS = """hosts:
  gen: {address: 127.0.0.1, port: 1, data: eth0}
  dut: {address: 127.0.0.2, port: 1, data: eth1}
"""
CAMPAIGN = f"name: n\n{HOSTS}tests: [tcp]\n"
OF_DUT = "data: eth1"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A campaign file in an empty directory, which is the working one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path / "state"))

    def one(text: str) -> Path:
        (tmp_path / "c.yaml").write_text(text)
        return Path("c.yaml")

    return one


Write = Callable[[str], Path]


def refused(path: Path, *, will_connect: bool = False) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_campaign(path, will_connect=will_connect)
    text = str(caught.value)
    assert_one_line_each(text)
    return text


def with_power(settings: str) -> str:
    return CAMPAIGN.replace(OF_DUT, f"{OF_DUT}, power: {{b: {{{settings}}}}}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name: n\nhosts: inv.yaml\ntests: [tcp]\n",
            "c.yaml:2:8: hosts: the inventory inv.yaml does not exist",
        ),
        (
            "name: n\nhosts: {inventory: inv.ini}\ntests: [tcp]\n",
            "c.yaml:2:20: hosts.inventory: the inventory inv.ini does not exist",
        ),
        (f"{CAMPAIGN}networks: [bare, v.yaml]\n", "c.yaml:6:18: networks[1]: v.yaml does not exist"),
        (
            f"{CAMPAIGN}networks: [{{name: v, file: v.yaml}}]\n",
            "c.yaml:6:28: networks[0].file: v.yaml does not exist",
        ),
        (
            f"{CAMPAIGN}networks: [{{name: v, files: {{gen: g.yaml, dut: d.yaml}}}}]\n",
            "c.yaml:6:35: networks[0].files.gen: g.yaml does not exist",
        ),
        (
            CAMPAIGN.replace(OF_DUT, f"{OF_DUT}, topology: t.xml"),
            "c.yaml:4:60: hosts.dut.topology: t.xml does not exist; write it there with: lstopo --of xml",
        ),
    ],
)
def test_a_file_that_is_not_there_is_told_of_where_it_is_named(
    write: Write, text: str, expected: str
) -> None:
    assert refused(write(text)).startswith(expected)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            "driver: ipmi, address: a, user: u, password_file: pw",
            "hosts.dut.power.b.password_file: pw does not exist",
        ),
        (
            'driver: redfish, url: "https://a", user: u, password_env: P, ca_file: ca.pem',
            "hosts.dut.power.b.ca_file: ca.pem does not exist",
        ),
    ],
)
def test_files_that_only_a_run_opens_are_not_looked_for_by_a_plan(
    write: Write, settings: str, expected: str
) -> None:
    path = write(with_power(settings))
    assert re.match(r"c\.yaml:4:\d+: ", refused(path, will_connect=True))
    assert expected in refused(path, will_connect=True)
    assert load_campaign(path).power


def test_a_hook_that_is_no_program_is_refused_before_any_host(write: Write) -> None:
    path = write(f"{CAMPAIGN}factors: {{kernel: {{label: [a, b], hook: [./boot.sh, x]}}}}\n")
    assert refused(path, will_connect=True).startswith(
        "c.yaml:6:42: factors.kernel.hook[0]: './boot.sh' is not a program on this machine"
    )
    Path("boot.sh").write_text("#!/bin/sh\n")
    assert refused(path, will_connect=True)
    Path("boot.sh").chmod(0o755)
    assert load_campaign(path, will_connect=True).labels


def test_a_fact_that_there_is_not_is_found_in_the_file(write: Write) -> None:
    label = "factors: {kernel: {label: [a, b], fact: kernel.relase}}\n"
    assert refused(write(f"{CAMPAIGN}{label}")) == (
        "c.yaml:6:41: factors.kernel.fact: there is no fact kernel.relase; did you mean kernel.release?"
    )
    assert load_campaign(write(f"{CAMPAIGN}{label.replace('relase', 'release')}")).labels


@pytest.mark.parametrize(
    ("name", "text", "example"),
    [
        ("inv.ini", "gen\ndut\n", "`linewatt_data=enp1s0f0np0`"),
        ("inv", "gen\ndut\n", "`linewatt_data=enp1s0f0np0`"),
        ("inv.yaml", "all: {hosts: {gen: {}, dut: {}}}\n", "`linewatt_data: enp1s0f0np0`"),
        ("inv2", "all:\n  hosts: {gen: {}, dut: {}}\n", "`linewatt_data: enp1s0f0np0`"),
    ],
)
def test_an_inventory_is_told_of_the_variable_that_is_missing_as_it_is_written_there(
    write: Write, name: str, text: str, example: str
) -> None:
    path = write(f"name: n\nhosts: {name}\ntests: [tcp]\n")
    Path(name).write_text(text)
    assert f"gen: linewatt_data: is missing; add it, for example {example}" in refused(path)


@pytest.mark.parametrize("inline", [True, False])
def test_a_host_name_that_is_written_wrong_in_a_network_is_that_and_not_a_missing_host(
    write: Write, inline: bool
) -> None:
    Path("n.yaml").write_text("hosts:\n  gen: {}\n  dutt: {}\n")
    network = "{name: n, hosts: {gen: {}, dutt: {}}}" if inline else "n.yaml"
    text = refused(write(f"{CAMPAIGN}networks: [{network}]\n"))
    assert text.startswith("c.yaml:6:" if inline else "n.yaml:3:3: hosts.dutt: ")
    assert text.endswith("there is no host dutt in the campaign; did you mean dut?")


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        (OF_DUT, f"{OF_DUT}, ssh_key: id", "hosts.dut.ssh_key: unknown key; did you mean key_file?"),
        (OF_DUT, f"{OF_DUT}, interface: eth1", "hosts.dut.interface: unknown key; did you mean data?"),
        ("127.0.0.2", "perf@127.0.0.2", "user, port and jump are keys of their own, got 'perf@127.0.0.2'"),
        ("127.0.0.2", "127.0.0.2:22", "user, port and jump are keys of their own, got '127.0.0.2:22'"),
        ("[tcp]", "tcp", "tests: must be a list such as [tcp], got 'tcp'"),
        ("[tcp]", "[tcp]\ndescription: a: b", "a second colon in one line; quote the text that holds it"),
        (
            "[tcp]",
            '[tcp]\ndescription: "a" b',
            "look at its indentation, and put all of a text between quotes",
        ),
    ],
)
def test_what_people_write_in_place_of_the_right_is_met_with_it(
    write: Write, right: str, wrong: str, expected: str
) -> None:
    assert expected in refused(write(CAMPAIGN.replace(right, wrong)))


def test_an_empty_inventory_knows_no_host(write: Write) -> None:
    Path("inv.ini").write_text("")
    path = write('name: n\nhosts: inv.ini\npairs: ["gen -> dut"]\ntests: [tcp]\n')
    assert "there is no host gen; known here: none" in refused(path)


def change(value: str) -> Change:
    return Change("here", "sysctl", "net.ipv4.tcp_congestion_control", value, "settings")


def test_a_congestion_control_that_there_is_not_is_told_with_those_there_are() -> None:
    there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    host = LocalHost(HostSpec("here", "local", "lo"))
    asyncio.run(check_congestion([change(there[0])], {"here": host}))
    with pytest.raises(InvalidInput) as caught:
        asyncio.run(check_congestion([change(there[0]), change("bbr9")], {"here": host}))
    assert str(caught.value) == (
        f"here: there is no congestion control 'bbr9'; its kernel has {', '.join(there)}, "
        "and no module tcp_bbr9"
    )


def test_an_iperf3_that_is_too_old_is_named_with_its_host_when_it_connects(write: Write) -> None:
    session = Session(load_campaign(write(CAMPAIGN)), {})
    session.facts["dut"] = {
        "tools": {"iperf3": "iperf 3.1.3", "mpstat": "sysstat 12"},
        "cpus": {"online": [0]},
        "nic": {"mtu": 1500},
    }
    with pytest.raises(HostError, match=r"^dut: iperf3 3\.1\.3 is too old; 3\.2 or later is needed; install"):
        session._check("dut")


def test_a_program_that_does_not_start_ends_a_run_with_its_complaint(write: Write) -> None:
    session = Session(load_campaign(write(CAMPAIGN)), {})
    why = "iperf3 is there and cannot be run: Permission denied"
    session.facts["dut"] = {"tools": {"iperf3": None}, "not_known": {"tools.iperf3": why}}
    with pytest.raises(HostError, match=rf"^dut: {why}; mend it, or reinstall iperf3 there$"):
        session._check("dut")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("place", "t.xml", "--processes", "1", "--numa-node", "x"),
            "linewatt: Invalid value for '--numa-node': must be a whole number; see linewatt place -h\n",
        ),
        (
            ("place", "t.xml", "--numa-node", "0", "--processes", "1,x"),
            "linewatt: --processes: 'x' is not a whole number; write 4, or several: 1,2,4\n",
        ),
        (("plan",), "linewatt: Missing argument 'FILE'; see linewatt plan -h\n"),
        (("plan", "f", "--nope"), "linewatt: No such option: --nope; see linewatt plan -h\n"),
        (("plna",), "linewatt: No such command 'plna'. Did you mean 'plan', 'place'?; see linewatt -h\n"),
    ],
)
def test_wrong_use_is_one_line(run: Run, arguments: tuple[str, ...], expected: str) -> None:
    assert run(*arguments) == (2, "", expected)


def test_no_command_at_all_prints_what_there_is(run: Run) -> None:
    code, _, err = run()
    assert code == 2
    assert "Measure:" in err


MOVES_AWAY = (
    "a running irqbalance moves the interrupts that irq_affinity puts on CPUs; write stopped, or take "
    "irq_affinity out\n"
)


@pytest.mark.parametrize("command", ["plan", "check", "run"])
@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ("settings: {irqbalance: on, irq_affinity: 1}\n", "6:24: settings.irqbalance"),
        ("settings: {irq_affinity: 1}\nfactors: {irqbalance: [off, on]}\n", "7:29: factors.irqbalance[1]"),
        ("settings: {irqbalance: running}\nfactors: {irq_affinity: [1, 2]}\n", "6:24: settings.irqbalance"),
    ],
)
def test_interrupts_are_not_placed_where_irqbalance_is_to_run(
    write: Write, run: Run, command: str, keys: str, where: str
) -> None:
    path = write(CAMPAIGN + keys)
    assert run(command, str(path)) == (2, "", f"linewatt: {path}:{where}: {MOVES_AWAY}")


@pytest.mark.parametrize(
    "keys",
    [
        "settings: {irqbalance: off, irq_affinity: 1}\n",
        "settings: {irqbalance: on}\n",
        "factors: {irqbalance: [off, on], rps: [1, 2]}\n",
    ],
)
def test_irqbalance_alone_or_stopped_is_no_harm(write: Write, keys: str) -> None:
    load_campaign(write(CAMPAIGN + keys))


@pytest.mark.parametrize("command", [("list",), ("show",), ("report",), ("resume", "last")])
def test_a_directory_of_results_that_is_not_there_is_wrong_use(run: Run, command: tuple[str, ...]) -> None:
    code, out, err = run(*command, "--results", "/nope")
    assert (code, out) == (2, "")
    assert err == "linewatt: --results /nope: no such directory; name the one that results are stored in\n"


def test_no_results_yet_where_they_belong_is_no_error(run: Run) -> None:
    assert run("list")[0] == 0


@pytest.mark.parametrize("where", ["/dev/null", "/proc/results", "c.yaml/results"])
def test_a_run_that_could_store_nothing_touches_no_host(write: Write, run: Run, where: str) -> None:
    code, _, err = run("run", str(write(CAMPAIGN)), "--results", where)
    assert code == 2
    assert err.startswith(f"linewatt: --results {where}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("where", ["gone", "gone/results"])
def test_a_link_that_leads_nowhere_is_named_before_any_host(write: Write, run: Run, where: str) -> None:
    path = write(CAMPAIGN)
    Path("gone").symlink_to("/mnt/away")
    code, _, err = run("run", str(path), "--results", where)
    assert code == 2
    assert err == (
        f"linewatt: --results {where}: gone is a link to /mnt/away, which does not exist; make that "
        "directory, or name another place\n"
    )


def test_a_run_that_could_keep_no_journal_touches_no_host(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEWATT_STATE", "/proc/state")
    code, _, err = run("run", str(write(CAMPAIGN)))
    assert code == 2
    assert (
        err == "linewatt: LINEWATT_STATE /proc/state: nothing can be written in /proc; name another place\n"
    )


@pytest.mark.parametrize(
    "option", [("--campaign", "nope.yaml"), ("-o", "nope/x.html"), ("--results", "/dev/null")]
)
def test_a_demo_that_cannot_be_run_builds_no_lab(
    run: Run, option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.features.lab.api.up", lambda *_: pytest.fail("a lab was built"))
    code, _, err = run("demo", *option)
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("command", [("schema",), ("plan", "c.yaml"), ("list",)])
def test_a_full_disk_behind_standard_output_is_one_line(write: Write, command: tuple[str, ...]) -> None:
    write(CAMPAIGN)
    words = [*command, *(["--json"] * (command[0] == "list"))]
    with Path("/dev/full").open("w") as full:
        done = forked.Forked(words, stdout=full, stderr=subprocess.PIPE, text=True)
        _, said = done.communicate(timeout=60)
    assert (done.returncode, said) == (
        1,
        "linewatt: standard output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda values: values.pop("trials"),
        lambda values: values.update(trials={"a\nb": 1}, window_s="x", hosts=3),
        lambda values: values.update(sensors=[1]),
        lambda values: values.update(power={"dut": {"b": {"driver": "none"}}}),
    ],
)
def test_a_stored_campaign_that_cannot_be_read_is_one_line(
    write: Write, damage: Callable[[dict[str, Any]], None]
) -> None:
    values = json.loads(json.dumps(stored.campaign_as_dict(load_campaign(write(CAMPAIGN))), default=str))
    damage(values)
    with pytest.raises(StoreError) as caught:
        stored.campaign_from_dict(values)
    assert "\n" not in str(caught.value)
    assert "manifest.json" in str(caught.value)


METER = "driver: http, profile: tasmota, address: {address}, password_env: P{more}"


@pytest.mark.parametrize(
    ("address", "more", "fine"),
    [
        ("192.0.2.9", "", False),
        ("192.0.2.9", ", insecure: false", False),
        ("192.0.2.9", ", insecure: true", True),
        ("192.0.2.9", ", auth: digest", True),
        ("127.0.0.1", "", True),
        ("localhost", "", True),
    ],
)
def test_a_password_goes_over_a_wire_in_clear_only_where_the_file_says_so(
    write: Write, address: str, more: str, fine: bool
) -> None:
    path = write(with_power(METER.format(address=address, more=more)))
    if fine:
        assert load_campaign(path).power["dut"]
    else:
        text = refused(path)
        assert re.match(r"c\.yaml:4:\d+: hosts\.dut\.power\.b: would send the password unencrypted", text)
        assert "insecure: true" in text


def test_no_cell_of_a_csv_is_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    print_csv(
        ["name", "=a()"],
        [
            {"name": '=HYPERLINK("http://x")', "=a()": -1.5},
            {"name": "@x", "=a()": "-2.5e9"},
            {"name": "-x", "=a()": None},
            {"name": "+x", "=a()": "a=b", "more": 1},
        ],
    )
    assert capsys.readouterr().out.splitlines() == [
        "name,'=a()",
        '"\'=HYPERLINK(""http://x"")",-1.5',
        "'@x,-2.5e9",
        "'-x,",
        "'+x,a=b",
    ]


SECRETIVE = """name: n
hosts:
  gen: {address: 192.0.2.1, user: alice, port: 2222, data: eth0}
  dut:
    address: 192.0.2.2
    user: "bob # the builder"   # a comment
    key_file: ~/keys/a, b
    known_hosts: 'it''s here'
    jump: carol@bastion, dave@inner
    data: eth1
    power: {b: {driver: ipmi, address: 192.0.2.3, user: erin, password_env: BMC_PW}}
users: {server: {url: "ftp://frank@192.0.2.4/"}}
tests: [tcp]
"""


def test_a_report_shows_the_campaign_without_logins() -> None:
    shown = campaign_text(manifest_of(campaign_text=SECRETIVE))
    assert shown is not None
    for word in ("alice", "2222", "bob", "keys", "here", "carol", "dave", "erin", "BMC_PW", "frank"):
        assert word not in shown
    assert shown.count("(left out)") == 9
    for line in (
        "  gen: {address: 192.0.2.1, user: (left out), port: (left out), data: eth0}",
        "tests: [tcp]",
    ):
        assert line in shown.splitlines()
    assert "    user: (left out)   # a comment" in shown.splitlines()


def test_an_imported_table_is_shown_as_it_is() -> None:
    assert campaign_text(manifest_of(campaign_text="a,b\n", imported_from="t.csv")) == "a,b\n"
    assert campaign_text(manifest_of()) is None


def test_a_server_that_listens_everywhere_is_said_to(write: Write, run: Run) -> None:
    users = "name: n\nsoak: 10m\nhosts:\n" + "".join(
        f"  {name}: {{address: 192.0.2.{number}, data: eth0}}\n"
        for number, name in enumerate(("dut", "c1", "c2"), 1)
    )
    groups = "{a: {clients: [c1], server: eth0}, b: {clients: [c2], server: eth1}}"
    several = f"users: {{server: dut, users: 2, groups: {groups}}}\n"
    one = "users: {server: dut, users: 2, clients: [c1, c2]}\n"
    said = "it listens on every address of its host"
    assert said in run("plan", str(write(users + several)))[1]
    assert said not in run("plan", str(write(users + one)))[1]


@pytest.mark.parametrize(
    "command", [("plan",), ("derive",), ("place", "--numa-node", "0", "--processes", "1")]
)
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("linewatt.document.PIPE_LIMIT_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run(command[0], str(tmp_path / "pipe"), *command[1:])
    assert code == 2
    assert "nothing came from it within 0.05 s" in err


def test_a_pipe_that_somebody_writes_to_is_a_file_like_any_other(write: Write) -> None:
    path = write(CAMPAIGN)
    script = "from linewatt.cli.entry_point import main; main()"
    line = f'{sys.executable} -c "{script}" plan <(sleep 0.2; cat {path})'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("n: ")


@pytest.mark.parametrize(
    "command", [("plan",), ("derive",), ("place", "--numa-node", "0", "--processes", "1")]
)
def test_a_file_without_end_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("linewatt.cli.table_or_result.MOST_BYTES", 1 << 20)
    monkeypatch.setattr("linewatt.cli.actions.place.MOST_BYTES", 1 << 20)
    code, _, err = run(command[0], "/dev/zero", *command[1:])
    assert (code, err.count("\n")) == (2, 1)
    assert "larger than 1 MiB" in err


def test_a_password_file_without_end_is_refused(write: Write) -> None:
    campaign = load_campaign(write(with_power("driver: ipmi, address: a, user: u, password_file: /dev/zero")))
    with pytest.raises(InvalidInput, match="its first line is too long for a password"):
        read_passwords(campaign)


def test_the_host_of_a_jump_is_no_part_of_what_reports_and_comparisons_see() -> None:
    from linewatt.analysis.comparison.differences import CONNECTION

    assert {"user", "port", "key_file", "known_hosts", "jump"} <= CONNECTION & asdict(
        HostSpec("a", "b", "c")
    ).keys()


def refuse(_: bytes) -> None:
    raise BrokenPipeError("Channel not open for sending")


@pytest.mark.parametrize(
    ("is_closed", "told"),
    [
        (False, "logged in, but no command can be run: no shell here;"),
        (True, "the SSH connection ended right after the login"),
    ],
)
def test_a_login_that_ended_before_anything_was_sent_says_what_it_said(is_closed: bool, told: str) -> None:
    """A busy controller comes too late to a shell that prints one line and ends."""

    async def met() -> None:
        out, err = asyncio.StreamReader(), asyncio.StreamReader()
        err.feed_data(b"no shell here\n")
        for stream in (out, err):
            stream.feed_eof()
        anchor = SimpleNamespace(stdin=SimpleNamespace(write=refuse), stdout=out, stderr=err)
        wire = Wire("dut", cast("Any", SimpleNamespace(is_closed=lambda: is_closed)))
        await wire._greet(cast("Any", anchor), 10.0)

    with pytest.raises(HostError, match=re.escape(told)):
        asyncio.run(met())


@pytest.mark.parametrize(("between_s", "told"), [(0.3, False), (1.4, False), (1.6, True)])
def test_the_controller_is_named_only_where_it_sent_no_heartbeat_for_too_long(
    monkeypatch: pytest.MonkeyPatch, between_s: float, told: bool
) -> None:
    now = iter((100.0, 100.0 + between_s))
    monkeypatch.setattr("linewatt.hosts.ssh.connection.now_s", lambda: next(now))
    wire = Wire("dut", cast("Any", SimpleNamespace(is_closed=lambda: True)))
    lost = wire.lost
    assert lost is not None
    assert lost.startswith("the SSH connection ended")
    assert ("no heartbeat was sent for 1.6 s" in lost) == told
    assert told or lost == "the SSH connection ended"
