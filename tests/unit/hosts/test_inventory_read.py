# SPDX-License-Identifier: Apache-2.0
"""Ansible inventories, INI and YAML, read as Ansible reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.document import Place
from linewatt.errors import InvalidInput
from linewatt.hosts.inventory.ini import expand_range, read_ini
from linewatt.hosts.inventory.read import InventoryHost, read_inventory

INI = """\
# a comment
mail.example.com

[web]
web[01:03].example.com:2222 linewatt_data="eth0"  # the first three
web-b ansible_host=192.0.2.9 ; another comment

[db]
db-[a:c] linewatt_app_cpus=0-3,8

[site:children]
web
db

[site:vars]
ansible_user=perf
linewatt_data=eth9

[db:vars]
ansible_user = dba
"""

YAML = """\
all:
  vars: {ansible_user: perf, linewatt_data: eth9}
  hosts:
    mail.example.com:
  children:
    site:
      children:
        web:
          hosts:
            web[01:03].example.com: {ansible_port: 2222, linewatt_data: eth0}
        db:
          vars: {ansible_user: dba, ansible_password: !vault "$ANSIBLE_VAULT;1.1"}
          hosts:
            db-[a:c]: {linewatt_app_cpus: "0-3,8"}
"""


def outcome(act: Callable[[], object]) -> str:
    """The one line of its error, or a line as good."""
    try:
        act()
    except InvalidInput as error:
        return str(error) if str(error).isprintable() else "several lines"
    return "inventory.ini: is fine"


def read(folder: Path, text: str, name: str = "inventory", group: str = "all") -> dict[str, InventoryHost]:
    path = folder / name
    path.write_text(text)
    return read_inventory(path, group)


def test_ini_hosts_come_in_the_order_of_the_file_with_ranges_expanded(tmp_path: Path) -> None:
    assert list(read(tmp_path, INI)) == [
        "mail.example.com",
        "web01.example.com",
        "web02.example.com",
        "web03.example.com",
        "web-b",
        "db-a",
        "db-b",
        "db-c",
    ]


def test_ini_variables_of_a_host_win_over_its_groups_and_inner_groups_over_outer_ones(tmp_path: Path) -> None:
    hosts = read(tmp_path, INI)
    assert hosts["web02.example.com"].values == {
        "address": "web02.example.com",
        "port": 2222,
        "user": "perf",
        "data": "eth0",
    }
    assert hosts["db-a"].values["user"] == "dba"
    assert hosts["db-a"].values["data"] == "eth9"
    assert hosts["web-b"].values["address"] == "192.0.2.9"
    assert hosts["mail.example.com"].values == {"address": "mail.example.com"}


def test_group_holds_the_hosts_of_its_children(tmp_path: Path) -> None:
    assert len(read(tmp_path, INI, group="site")) == 7
    assert list(read(tmp_path, INI, group="db")) == ["db-a", "db-b", "db-c"]
    assert list(read(tmp_path, INI, group="ungrouped")) == ["mail.example.com"]


def test_yaml_inventory_gives_the_same(tmp_path: Path) -> None:
    hosts = read(tmp_path, YAML, "inventory.yaml")
    assert hosts["web01.example.com"].values["port"] == 2222
    assert hosts["web01.example.com"].values["data"] == "eth0"
    assert hosts["db-c"].values["user"] == "dba"
    assert hosts["db-c"].values["app_cpus"] == "0-3,8"
    assert hosts["mail.example.com"].values["data"] == "eth9"


def test_yaml_is_recognised_without_its_suffix(tmp_path: Path) -> None:
    assert len(read(tmp_path, YAML, "hosts")) == 7


def test_json_as_ansible_prints_it_is_yaml_too(tmp_path: Path) -> None:
    text = '{"all": {"hosts": {"dut": {"ansible_host": "192.0.2.1"}}}}'
    assert read(tmp_path, text, "hosts.json")["dut"].values["address"] == "192.0.2.1"


def test_values_know_where_they_were_written(tmp_path: Path) -> None:
    host = read(tmp_path, INI)["db-b"]
    assert host.place == Place(str(tmp_path / "inventory"), 9, 1)
    cpus = host.sources["app_cpus"]
    assert (cpus.name, cpus.place.line, cpus.place.column) == ("linewatt_app_cpus", 9, 28)


@pytest.mark.parametrize(
    ("text", "value"), [("yes", True), ("True", True), ("no", False), ("maybe", "maybe")]
)
def test_become_is_sudo(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"dut ansible_become={text}\n")["dut"].values["sudo"] == value


def test_own_variables_win_over_those_of_ansible(tmp_path: Path) -> None:
    host = read(tmp_path, "dut linewatt_user=perf ansible_user=root linewatt_address=192.0.2.7\n")["dut"]
    assert (host.values["user"], host.values["address"]) == ("perf", "192.0.2.7")


def test_local_connection_is_this_machine(tmp_path: Path) -> None:
    assert read(tmp_path, "dut ansible_connection=local\n")["dut"].values["address"] == "local"


def test_passwords_are_never_read(tmp_path: Path) -> None:
    line = "dut ansible_password=secret ansible_ssh_pass=secret ansible_become_password=secret\n"
    assert "secret" not in repr(read(tmp_path, line)["dut"])


def test_lists_of_hosts_may_be_text(tmp_path: Path) -> None:
    host = read(tmp_path, "dut linewatt_shares_cpus_with='gen, aux' linewatt_base_frequency_ghz=2.6\n")["dut"]
    assert host.values["shares_cpus_with"] == ["gen", "aux"]
    assert host.values["base_frequency_ghz"] == 2.6


def test_group_in_a_circle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="contains itself"):
        read(tmp_path, "[a:children]\nb\n[b:children]\nc\n[c:children]\nb\n")


def test_group_reached_twice_is_no_circle(tmp_path: Path) -> None:
    text = "[a:children]\nc\n[b:children]\na\nc\n[c]\ndut\n[a:vars]\nx=1\n"
    assert list(read(tmp_path, text)) == ["dut"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("n[1:3]", ["n1", "n2", "n3"]),
        ("n[01:03]", ["n01", "n02", "n03"]),
        ("n[0:4:2]", ["n0", "n2", "n4"]),
        ("r[a:b]n[1:2]", ["ran1", "ran2", "rbn1", "rbn2"]),
        ("plain", ["plain"]),
    ],
)
def test_ranges_stand_for_their_names(pattern: str, names: list[str]) -> None:
    assert expand_range(pattern, Place("f")) == names


@pytest.mark.parametrize("pattern", ["n[3:1]", "n[b:a]", "n[1:9:0]", "n[a:9]"])
def test_empty_ranges_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="holds nothing"):
        expand_range(pattern, Place("f"))


@pytest.mark.parametrize("pattern", ["n[0:999999999]", "n[0:4000]x[0:4000]y[0:4000]"])
def test_enormous_ranges_are_refused_at_once(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="more than 4096 hosts"):
        expand_range(pattern, Place("f"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lab:hosts2]\n", r":1:1: \[lab:hosts2\] is not a section"),
        ("[lab\n", r":1:1: '\[lab' is not a section"),
        ("dut eth0\n", r":1:5: 'eth0' is not a variable; write name=value"),
        ("[lab:vars]\nlinewatt_data\n", r":2:1: 'linewatt_data' is not a variable"),
        ("dut x='y\n", r":1:7: a quote is opened here and never closed"),
        ("#!/bin/sh\n", r":1:1: is a program"),
        (
            "dut linewatt_dat=eth0\n",
            r":1:18: dut: 'linewatt_dat' is not a variable .* did you mean linewatt_data\?",
        ),
        ("dut linewatt_data='{{ nic }}'\n", r":1:19: dut: linewatt_data: templates are not read"),
    ],
)
def test_bad_ini_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- dut\n", r":1:1: is not an inventory"),
        ("all: {hots: {}}\n", r":1:7: all: 'hots' is unknown here"),
        ("all: {hosts: [dut]}\n", r":1:14: all.hosts: must be a mapping"),
        ("all: {hosts: {dut: eth0}}\n", r":1:20: all.hosts.dut: must be a mapping"),
    ],
)
def test_bad_yaml_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path, text, "inventory.yaml")


@pytest.mark.parametrize(
    ("arguments", "jump"),
    [
        ("-o ProxyJump=perf@bastion:2222", "perf@bastion:2222"),
        ("-oProxyJump=bastion -o StrictHostKeyChecking=no", "bastion"),
        ("-C -J a,b -o ControlMaster=auto", "a,b"),
        ("-Ja", "a"),
        ('-o "ProxyJump bastion"', "bastion"),
        ('-o ProxyCommand="ssh -W %h:%p -q perf@bastion"', "perf@bastion"),
        ('-o ProxyCommand="/usr/bin/ssh -q -p 2222 -W %h:%p bastion"', "bastion:2222"),
        ("-o ProxyJump=none", None),
        ("-o ControlPersist=60s -o UserKnownHostsFile=/dev/null", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("name", ["ansible_ssh_common_args", "ansible_ssh_extra_args"])
def test_jump_hosts_come_from_the_arguments_that_ansible_gives_ssh(
    tmp_path: Path, name: str, arguments: str, jump: str | None
) -> None:
    text = f"all: {{hosts: {{dut: {{{name}: '{arguments}'}}}}}}\n"
    assert read(tmp_path, text, "inventory.yaml")["dut"].values.get("jump") == jump


def test_a_jump_host_of_linewatts_own_wins(tmp_path: Path) -> None:
    text = "dut ansible_ssh_common_args='-J a' linewatt_jump=b\n"
    assert read(tmp_path, text)["dut"].values["jump"] == "b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "-o ProxyCommand=corkscrew",
            "ansible_ssh_common_args: has a ProxyCommand that is not run; name the jump",
        ),
        ("-p 2222", "ansible_ssh_common_args: -p is not read from ssh's arguments; write ansible_port"),
        ("-o HostName=other", "hostname is not read from ssh's arguments; write ansible_host"),
        ("-F ssh.config", "-F is not read"),
        ("-J $(x)", "must be jump hosts as ssh -J takes them"),
        ("-J 'x", "No closing quotation"),
    ],
)
def test_arguments_of_ssh_that_lead_elsewhere_are_refused(
    tmp_path: Path, arguments: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)) as caught:
        read(tmp_path, f'dut ansible_ssh_common_args="{arguments}"\n')
    assert f"{tmp_path}/inventory:1:" in str(caught.value)
    assert ": dut: " in str(caught.value)


@pytest.mark.parametrize("kind", ["docker", "community.docker.docker", "winrm", "network_cli", "chroot"])
def test_a_host_that_ansible_reaches_without_ssh_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(
        InvalidInput, match=f"1:24: dut: ansible_connection '{kind}' is not a way that linewatt has"
    ):
        read(tmp_path, f"dut ansible_connection={kind}\n")


@pytest.mark.parametrize("kind", ["ssh", "smart", "ansible.builtin.ssh", "paramiko_ssh"])
def test_a_host_that_ansible_reaches_by_ssh_is_one(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, f"dut ansible_connection={kind}\n")["dut"].values == {"address": "dut"}


def test_hosts_that_nothing_names_are_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "inventory"
    path.write_text("dut linewatt_data=eth0\nbox ansible_connection=docker linewatt_nonsense=1\n")
    found = read_inventory(path, wanted_names={"dut"})
    assert list(found) == ["dut", "box"]
    assert found["box"].values == {}


@given(st.text(alphabet="ab[][]:=#; \"'\n\t019_-{}", max_size=120))
def test_any_ini_text_gives_hosts_or_one_clear_line(text: str) -> None:
    assert outcome(lambda: read_ini(text, "inventory.ini")).startswith("inventory.ini:")


@pytest.mark.parametrize(
    "written",
    [
        "'-o ProxyCommand=\"ssh -W %h:%p perf@bastion\"'",
        '"-o ProxyCommand=\\"ssh -W %h:%p perf@bastion\\""',
        "\"-o ProxyCommand='ssh -W %h:%p perf@bastion'\"",
        '-o\\ ProxyCommand=\\"ssh\\ -W\\ %h:%p\\ perf@bastion\\"',
        "-o\" ProxyCommand='ssh -W %h:%p perf@bastion'\"",
    ],
)
def test_quotes_of_a_host_line_are_read_as_a_shell_reads_them(tmp_path: Path, written: str) -> None:
    hosts = read(tmp_path, f"dut ansible_ssh_common_args={written} linewatt_data=eth0  # gone\n")
    assert hosts["dut"].values == {"address": "dut", "jump": "perf@bastion", "data": "eth0"}


@pytest.mark.parametrize(
    "written",
    [
        "'-o ProxyCommand=\"ssh -W %h:%p perf@bastion\"'",
        '"-o ProxyCommand=\\"ssh -W %h:%p perf@bastion\\""  # through the bastion',
        "'-o ProxyCommand=\\'ssh -W %h:%p perf@bastion\\''",
        '-o ProxyCommand="ssh -W %h:%p perf@bastion"',
    ],
)
def test_quotes_of_group_variables_are_those_of_one_text(tmp_path: Path, written: str) -> None:
    hosts = read(tmp_path, f"[lab]\ndut\n[lab:vars]\nansible_ssh_common_args={written}\n")
    assert hosts["dut"].values["jump"] == "perf@bastion"


COMMON = "ansible_ssh_common_args="


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{COMMON}'-o ProxyCommand=\"nc -X 5 -x proxy %h %p\"'", "(its program is 'nc')"),
        (f"{COMMON}'-o ProxyCommand=\"sshpass -p hunter2 ssh x\"'", "(its program is 'sshpass')"),
        ("ansible_ssh_args='-o ProxyCommand=x'", "ansible_ssh_args: has a ProxyCommand that is not run"),
        (
            f'{COMMON}\'-o "ProxyCommand=\\\\"ssh x"\'',
            "cannot be read: No closing quotation, in its ProxyCommand",
        ),
        (f'{COMMON}"-o ProxyCommand=\\\\\\"ssh"', "has a ProxyCommand that cannot be read (No closing"),
        ("ansible_paramiko_proxy_command=x", "ansible_paramiko_proxy_command: has a ProxyCommand"),
    ],
)
def test_a_proxy_command_is_named_in_its_refusal_and_its_arguments_are_not(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, f"dut {line}\n")
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ssh_arguments_of_every_variable_may_name_the_jump_host(tmp_path: Path) -> None:
    text = "a ansible_ssh_args='-C -J b1'\nb ansible_paramiko_proxy_command='ssh -W %h:%p b2'\n"
    hosts = read(tmp_path, text)
    assert [hosts[name].values["jump"] for name in "ab"] == ["b1", "b2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[web]\na\n[site:children]\nweb\nwebb\n", ":5:1: there is no group 'webb'; did you mean web?"),
        ("[site:children]\n  racks ; all\n[web]\na\n", ":2:3: there is no group 'racks'; write [racks]"),
        ("[web]\na\n[wbe:vars]\nx=1\n", ":3:1: there is no group 'wbe'; did you mean web?"),
        ("[db:vars]\nx=1\n[site:children]\ndb\n", "there is no group 'db'; "),
    ],
)
def test_a_group_without_a_section_is_an_error_where_it_is_named(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)


def test_sections_may_follow_where_they_are_named_and_be_empty(tmp_path: Path) -> None:
    variables = "[all:vars]\nansible_user=perf\n[site:vars]\nlinewatt_data=eth1\n"
    text = f"{variables}[site:children]\nweb\nempty\n[web]\na\n[empty]\n"
    assert read(tmp_path, text)["a"].values == {"address": "a", "user": "perf", "data": "eth1"}
