# SPDX-License-Identifier: Apache-2.0
"""From a good campaign file to a Campaign: defaults, overrides, hosts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import asyncssh
import pytest

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import InvalidInput
from linewatt.sensors.registry import SENSORS

HOSTS = """
hosts:
  gen: {address: 192.0.2.11, data: eth0}
  dut: {address: 192.0.2.10, data: eth1}
"""
SMALLEST = f"name: small\n{HOSTS}\ntests: [tcp]\n"


def written(folder: Path, text: str) -> Campaign:
    path = folder / "campaign.yaml"
    path.write_text(text)
    return load_campaign(path)


def test_smallest_campaign_has_the_documented_defaults(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST)
    assert campaign.pairs == (("gen", "dut"),)
    assert (campaign.trials, campaign.order, campaign.seed) == (10, "interleaved", None)
    assert (campaign.window_s, campaign.omit_s, campaign.tail_s, campaign.idle_s) == (60, 5, 2, 5)
    assert (campaign.first_port, campaign.last_port) == (5201, 5264)
    assert campaign.placement == "auto"
    assert set(campaign.sensors) == set(SENSORS)
    assert campaign.text == SMALLEST
    assert campaign.load_s == 67


def test_times_are_seconds_or_have_a_unit(tmp_path: Path) -> None:
    text = f"{SMALLEST}window: {{seconds: 2m, omit: 500ms, tail: 1.5}}\nidle: {{seconds: 10s}}\n"
    campaign = written(tmp_path, text)
    assert (campaign.window_s, campaign.omit_s, campaign.tail_s, campaign.idle_s) == (120, 0.5, 1.5, 10)


def test_pairs_may_be_written_as_they_are_printed(tmp_path: Path) -> None:
    campaign = written(tmp_path, f'{SMALLEST}pairs: ["dut → gen"]\n')
    assert campaign.pairs == (("dut", "gen"),)


def test_campaign_is_frozen(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST)
    with pytest.raises(dataclasses.FrozenInstanceError):
        campaign.trials = 3  # type: ignore[misc]


def test_all_pairs_are_every_ordered_pair(tmp_path: Path) -> None:
    campaign = written(tmp_path, f"{SMALLEST}pairs: all\n")
    assert campaign.pairs == (("gen", "dut"), ("dut", "gen"))


def test_host_that_no_pair_names_is_left_out_and_remembered(tmp_path: Path) -> None:
    text = SMALLEST.replace("hosts:\n", "hosts:\n  aux: {address: 192.0.2.12, data: eth0}\n")
    campaign = written(tmp_path, f'{text}pairs: ["gen -> dut"]\n')
    assert list(campaign.hosts) == ["gen", "dut"]
    assert campaign.unused_hosts == ("aux",)


def of_hosts(count: int, keys: str) -> str:
    hosts = "".join(f"  h{number}: {{address: h{number}, data: eth0}}\n" for number in range(count))
    return f"name: many\nhosts:\n{hosts}tests: [tcp]\n{keys}"


def test_more_hosts_than_a_campaign_can_have_are_refused_with_how_many_those_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"hosts: has more than 1000 keys; at most 1000 are possible$"):
        written(tmp_path, of_hosts(1001, "pairs: [h1 -> h2]\n"))


def test_of_many_hosts_and_many_wrong_names_only_some_are_listed(tmp_path: Path) -> None:
    pairs = "".join(f"  - x{number} -> y{number}\n" for number in range(200))
    with pytest.raises(InvalidInput) as caught:
        written(tmp_path, of_hosts(200, f"pairs:\n{pairs}"))
    first, *_, last = str(caught.value).splitlines()
    assert "pairs[0]: there is no host x0; known here: h0, h1, h10, " in first
    assert first.endswith(" and 140 more")
    assert last == "and 395 more"


@pytest.mark.parametrize("cpus", ["0-3", "'0,1,2,3'", "[0, 1, 2, 3]", "[3, 1, 2, 0]"])
def test_cpu_sets_are_read_in_every_form(tmp_path: Path, cpus: str) -> None:
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", f"data: eth1, app_cpus: {cpus}"))
    assert campaign.hosts["dut"].app_cpus == (0, 1, 2, 3)


def test_one_cpu_may_be_a_number(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", "data: eth1, irq_cpus: 5"))
    assert campaign.hosts["dut"].irq_cpus == (5,)


def test_naming_cpus_turns_pinning_on(tmp_path: Path) -> None:
    assert written(tmp_path, SMALLEST.replace("eth1", "eth1, irq_cpus: 5")).placement == "pinned"


def test_placement_none_wins_over_named_cpus(tmp_path: Path) -> None:
    text = SMALLEST.replace("eth1", "eth1, irq_cpus: 5")
    assert written(tmp_path, f"{text}placement: none\n").placement == "none"


def test_tests_override_what_the_campaign_says(tmp_path: Path) -> None:
    text = SMALLEST.replace(
        "[tcp]", "[tcp, {test: udp-60, instances: 2, rate: 100M}, {test: udp-1500, rate: null}]"
    )
    tcp, udp_60, udp_1500 = written(tmp_path, f"{text}rate: 3.5G\ninstances: [1, 4]\n").tests
    assert (tcp.instances, tcp.rate_bps) == ((1, 4), 3.5e9)
    assert (udp_60.instances, udp_60.rate_bps) == ((2,), 100e6)
    assert (udp_1500.instances, udp_1500.rate_bps) == ((1, 4), None)


def test_zerocopy_of_the_campaign_applies_to_tcp_only(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST.replace("[tcp]", "[tcp, udp-60]") + "zerocopy: true\n")
    assert [test.zerocopy for test in campaign.tests] == [True, False]


@pytest.mark.parametrize(("ports", "last"), [("5201", 6224), ("65000", 65535), ("5201-5202", 5202)])
def test_a_single_port_is_the_first_of_1024(tmp_path: Path, ports: str, last: int) -> None:
    campaign = written(tmp_path, f"{SMALLEST}ports: {ports}\n")
    assert campaign.last_port == last
    assert campaign.ports == last - campaign.first_port + 1


def test_key_files_are_relative_to_the_campaign_file(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", "data: eth1, key_file: keys/id"))
    assert campaign.hosts["dut"].key_file == str(tmp_path / "keys" / "id")


def test_home_is_known_in_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/perf")
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", "data: eth1, known_hosts: ~/known"))
    assert campaign.hosts["dut"].known_hosts == "/home/perf/known"


def loaded_to_connect(folder: Path, host: str) -> Campaign:
    path = folder / "campaign.yaml"
    path.write_text(SMALLEST.replace("data: eth1", f"data: eth1, {host}"))
    return load_campaign(path, will_connect=True)


@pytest.mark.parametrize("key", ["key_file", "known_hosts"])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.symlink_to(path), "cannot be read: Too many levels of symbolic links"),
        (os.mkfifo, "is not a file"),
    ],
    ids=["missing", "directory", "link to itself", "named pipe"],
)
def test_ssh_files_that_cannot_be_read_are_refused_before_connecting(
    tmp_path: Path, key: str, make: Callable[[Path], None], message: str
) -> None:
    make(tmp_path / "file")
    with pytest.raises(InvalidInput) as caught:
        loaded_to_connect(tmp_path, f"{key}: file")
    assert f": hosts.dut.{key}: {tmp_path}/file {message}; name a " in str(caught.value)
    assert "more)" not in str(caught.value)
    assert written(tmp_path, (tmp_path / "campaign.yaml").read_text()).hosts["dut"]


def test_a_key_of_somebody_else_is_refused_before_connecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: Path, flags: int, real: Callable[..., int] = os.open) -> int:
        if Path(path).name == "file":
            raise PermissionError(13, "Permission denied")
        return real(path, flags)

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(InvalidInput, match="cannot be read by this user"):
        loaded_to_connect(tmp_path, "key_file: file")


def test_ssh_files_that_are_there_or_not_used_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "id").write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    (tmp_path / "known").touch()
    assert loaded_to_connect(tmp_path, "key_file: id, known_hosts: known").hosts["dut"].key_file
    text = SMALLEST.replace("192.0.2.10, data: eth1", "local, data: eth1, key_file: none")
    path = tmp_path / "campaign.yaml"
    path.write_text(text.replace("hosts:\n", "hosts:\n  aux: {address: a, data: e, key_file: none}\n"))
    path.write_text(f'{path.read_text()}pairs: ["gen -> dut"]\n')
    assert load_campaign(path, will_connect=True).unused_hosts == ("aux",)


def _public(key: asyncssh.SSHKey) -> bytes:
    return key.export_public_key()


def _encrypted(key: asyncssh.SSHKey) -> bytes:
    return key.export_private_key("pkcs8-pem", "secret")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("id.pub", _public, "is a public key; name the private one, {folder}/id"),
        (
            "id_enc",
            _encrypted,
            "is encrypted, and linewatt asks for no passphrase; give it to the agent "
            "(ssh-add {folder}/id_enc) and leave key_file out",
        ),
        ("notes", lambda key: b"hello\n", "is not a private key that linewatt can read"),
        ("empty", lambda key: b"", "is not a private key that linewatt can read"),
    ],
    ids=["public", "encrypted", "text", "empty"],
)
def test_a_key_file_that_is_no_key_to_log_in_with_says_what_it_is(
    tmp_path: Path, name: str, content: Callable[[asyncssh.SSHKey], bytes], expected: str
) -> None:
    key = asyncssh.generate_private_key("ssh-rsa", key_size=2048)
    (tmp_path / "id").write_bytes(key.export_private_key())
    (tmp_path / name).write_bytes(content(key))
    with pytest.raises(InvalidInput) as caught:
        loaded_to_connect(tmp_path, f"key_file: {name}")
    expected = expected.format(folder=tmp_path)
    assert f": hosts.dut.key_file: {tmp_path}/{name} {expected}" in str(caught.value)


@pytest.mark.parametrize(
    "jump", ["bastion", "perf@bastion.example:2222", "192.0.2.9,perf@[2001:db8::9]:22", "a, b"]
)
def test_jump_hosts_are_named_as_ssh_names_them(tmp_path: Path, jump: str) -> None:
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", f'data: eth1, jump: "{jump}"'))
    assert campaign.hosts["dut"].jump == jump


@pytest.mark.parametrize(
    "jump", ["", "-oProxyCommand=x", "$(x)", "a b", "a:0", "a:99999", "[nonsense]", "a,,b", "@b"]
)
def test_what_is_no_jump_host_is_refused(tmp_path: Path, jump: str) -> None:
    with pytest.raises(InvalidInput, match=r"hosts\.dut\.jump: must be jump hosts as ssh -J takes them"):
        written(tmp_path, SMALLEST.replace("data: eth1", f'data: eth1, jump: "{jump}"'))


def test_a_missing_file_that_many_hosts_name_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text(SMALLEST.replace("data: eth", "key_file: none, data: eth"))
    with pytest.raises(InvalidInput, match=r"hosts\.gen\.key_file") as caught:
        load_campaign(path, will_connect=True)
    assert "more)" not in str(caught.value)


def test_base_frequency_is_kept_in_hertz(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", "data: eth1, base_frequency_ghz: 2.6"))
    assert campaign.hosts["dut"].base_frequency_hz == 2.6e9


def test_addresses_are_written_the_usual_way(tmp_path: Path) -> None:
    campaign = written(tmp_path, SMALLEST.replace("data: eth1", "data: eth1, data_ipv6: '2001:DB8:0::1'"))
    assert campaign.hosts["dut"].data_ipv6 == "2001:db8::1"


@pytest.mark.parametrize(
    ("sensors", "on"),
    [("{mpstat: false}", False), ("{mpstat: true}", True), ("{mpstat: }", True), ("{}", True)],
)
def test_a_sensor_is_on_unless_it_is_switched_off(tmp_path: Path, sensors: str, on: bool) -> None:
    assert ("mpstat" in written(tmp_path, f"{SMALLEST}sensors: {sensors}\n").sensors) is on


def test_settings_of_a_sensor_reach_it(tmp_path: Path) -> None:
    campaign = written(tmp_path, f"{SMALLEST}sensors: {{mpstat: {{interval_s: 2}}}}\n")
    assert campaign.sensors["mpstat"].interval_s == 2
    assert isinstance(campaign.sensors["mpstat"], SENSORS["mpstat"].Config)


def test_sysctl_values_become_the_text_that_is_written(tmp_path: Path) -> None:
    settings = "settings: {sysctl: {net.core.rmem_max: 1000, net.ipv4.tcp_rmem: '1  2   3'}}\n"
    campaign = written(tmp_path, SMALLEST + settings)
    assert campaign.sysctl == {"net.core.rmem_max": "1000", "net.ipv4.tcp_rmem": "1 2 3"}


def test_each_problem_of_the_file_is_reported_on_its_own_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        written(tmp_path, f"{SMALLEST}trials: 0\nstreams: 0\n")
    trials, streams = str(raised.value).splitlines()
    assert trials.endswith(":8:9: trials: must be at least 1, got 0")
    assert ":9:10: streams: " in streams


def test_of_many_problems_the_first_five_are_reported_and_how_many_more_there_are(tmp_path: Path) -> None:
    unknown_keys = "".join(f"unknown{number}: 0\n" for number in range(7))
    with pytest.raises(InvalidInput) as raised:
        written(tmp_path, f"{SMALLEST}{unknown_keys}")
    *lines, more = str(raised.value).splitlines()
    assert [line.split(":")[3].strip() for line in lines] == [f"unknown{number}" for number in range(5)]
    assert more == "and 2 more"


# --- hosts from an inventory

INVENTORY = """
[lab]
gen ansible_host=192.0.2.11
dut ansible_host=192.0.2.10
[lab:vars]
linewatt_data=eth0
[other]
printer
"""


def test_inventory_may_hold_machines_that_no_pair_names(tmp_path: Path) -> None:
    (tmp_path / "inventory").write_text(INVENTORY)
    campaign = written(tmp_path, 'name: n\nhosts: inventory\npairs: ["dut -> gen"]\ntests: [tcp]\n')
    assert sorted(campaign.hosts) == ["dut", "gen"]
    assert campaign.inventory == tmp_path / "inventory"


def test_pairs_of_very_many_hosts_are_refused_before_they_are_made(tmp_path: Path) -> None:
    (tmp_path / "inventory").write_text("h[0:4095] linewatt_data=eth0\n")
    with pytest.raises(InvalidInput, match=r":3:8: pairs: all pairs of 4096 hosts are 16773120"):
        written(tmp_path, "name: n\nhosts: inventory\npairs: all\ntests: [tcp]\n")


def test_networks_may_describe_machines_of_an_inventory_that_no_pair_names(tmp_path: Path) -> None:
    """One file with the networks of a whole rack serves every campaign on some of it."""
    (tmp_path / "inventory").write_text(INVENTORY)
    shown = "".join(
        f"  {name}: {{interfaces: [{{name: eth0, type: ethernet, ipv4: {{address: [{{ip: 198.18.9.{number}, "
        "prefix-length: 24}]}}]}\n"
        for number, name in enumerate(("gen", "dut", "printer"), 1)
    )
    (tmp_path / "rack.yaml").write_text(f"hosts:\n{shown}")
    text = 'name: n\nhosts: inventory\npairs: ["dut -> gen"]\ntests: [tcp]\nnetworks: [rack.yaml]\n'
    assert set(written(tmp_path, text).described["rack"]) == {"dut", "gen"}
    (tmp_path / "rack.yaml").write_text(f"hosts:\n{shown}  scanner: {{}}\n")
    with pytest.raises(
        InvalidInput, match=r"no host scanner in the campaign; known here: dut, gen, printer$"
    ):
        written(tmp_path, text)


def test_group_of_an_inventory_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "inventory").write_text(INVENTORY)
    text = "name: n\nhosts: {inventory: inventory, group: lab}\npairs: all\ntests: [tcp]\n"
    assert list(written(tmp_path, text).hosts) == ["gen", "dut"]


def test_hosts_of_the_command_line_replace_those_of_the_file(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory"
    inventory.write_text(INVENTORY.partition("[other]")[0])
    path = tmp_path / "campaign.yaml"
    path.write_text("name: n\nhosts: no-such-file.yaml\ntests: [tcp]\n")
    campaign = load_campaign(path, inventory)
    assert campaign.pairs == (("gen", "dut"),)
    assert campaign.hosts["gen"].address == "192.0.2.11"
    assert campaign.inventory == inventory


def test_hosts_of_the_command_line_make_up_for_missing_ones(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory"
    inventory.write_text(INVENTORY.partition("[other]")[0])
    path = tmp_path / "campaign.yaml"
    path.write_text("name: n\ntests: [tcp]\n")
    assert list(load_campaign(path, inventory).hosts) == ["gen", "dut"]


def test_lab_hosts_say_that_they_share_cpus(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        "all:\n  hosts:\n"
        "    h1: {ansible_host: 198.18.0.2, linewatt_data: data0, linewatt_lab: lab,"
        " linewatt_shares_cpus_with: [h2]}\n"
        "    h2: {ansible_host: 198.18.0.3, linewatt_data: data0, linewatt_lab: lab,"
        " linewatt_shares_cpus_with: [h1]}\n"
    )
    campaign = written(tmp_path, "name: n\nhosts: lab.yaml\ntests: [tcp]\n")
    assert campaign.hosts["h1"].lab == "lab"
    assert campaign.hosts["h1"].shares_cpus_with == ("h2",)


def test_cpus_of_a_guest_may_go_offline_and_those_of_a_namespace_not(tmp_path: Path) -> None:
    """A guest has CPUs of its own; namespaces have parts of one machine's, which their inventory says."""
    tree = {"h1": "198.18.0.2", "h2": "198.18.0.3"}

    def made(own: str) -> Campaign:
        lines = (
            f"    {name}: {{ansible_host: {address}, linewatt_data: data0, linewatt_lab: lab{own}}}\n"
            for name, address in tree.items()
        )
        (tmp_path / "lab.yaml").write_text("all:\n  hosts:\n" + "".join(lines))
        text = "name: n\nhosts: lab.yaml\ntests: [tcp]\nsettings: {cpus_online: 0-1}\n"
        return written(tmp_path, text)

    assert made("").settings["cpus_online"] == "0-1"
    with pytest.raises(InvalidInput, match="h1 is a lab's, and a CPU that goes offline is gone from"):
        made(", linewatt_cpus: 0-3")
