# SPDX-License-Identifier: Apache-2.0
"""The texts a lab is made of."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from linewatt.campaign.reading.file import load_campaign
from linewatt.features.lab import recipe
from linewatt.features.lab.api import LabRequest
from linewatt.features.lab.layout import lay_out
from linewatt.hosts.inventory.read import read_inventory

LAYOUT = lay_out(LabRequest(name="one", hosts=2, mtu=9000), 7, ((0,), (1,)))
PLACE = Path("/run/linewatt/lab/one")


def test_nothing_is_routed_out_of_a_host() -> None:
    for host in LAYOUT.hosts:
        assert "route" not in recipe.host_batch(host)
        assert "default" not in recipe.host_batch(host)


def test_data_and_management_links_are_in_different_bridges() -> None:
    management, data = recipe.root_batch(LAYOUT), recipe.switch_batch(LAYOUT)
    assert "mgmt0" in management
    assert "mgmt0" not in data
    assert "data0" in data
    assert "data0" not in management
    assert data.count("mtu 9000") == 5  # the bridge and both ends of two links


def test_an_unshaped_link_gets_no_queueing_discipline() -> None:
    assert recipe.shape_batch(None) == ""


@pytest.mark.parametrize("rate_bps", [1_000_000, 100_000_000, 10_000_000_000, 400_000_000_000])
def test_a_bucket_holds_whole_tcp_segments_and_at_most_a_millisecond_more(rate_bps: int) -> None:
    words = recipe.shape_batch(rate_bps).split()
    burst, limit = int(words[words.index("burst") + 1]), int(words[words.index("limit") + 1])
    assert 2 * 65536 <= burst <= max(2 * 65536, rate_bps / 8 / 1000)
    assert limit > burst
    assert f"rate {rate_bps}bit" in recipe.shape_batch(rate_bps)


def test_sshd_listens_on_the_management_address_only_and_takes_keys_only() -> None:
    config = recipe.sshd_config(LAYOUT.hosts[0], PLACE, source_penalties=False)
    assert [line for line in config.splitlines() if line.startswith("Listen")] == [
        "ListenAddress 198.18.7.1:22"
    ]
    assert "PasswordAuthentication no" in config
    assert "KbdInteractiveAuthentication no" in config
    assert 'SetEnv "HOME=/run/linewatt/lab/one/home/h1"' in config
    assert "PerSourcePenalties" not in config


def test_an_sshd_that_bans_callers_is_told_not_to() -> None:
    config = recipe.sshd_config(LAYOUT.hosts[0], PLACE, source_penalties=True)
    assert "PerSourcePenalties no" in config


def test_the_start_script_is_constant_and_takes_what_differs_as_arguments() -> None:
    hostile = lay_out(LabRequest(name="x-"), 7, ((0,), (1,)))
    arguments = recipe.start_arguments(hostile, hostile.hosts[0], "/usr/sbin/sshd", Path("/tmp/a $(b) 'c"))
    assert len(arguments) == 8
    assert "{" not in recipe.START_HOST.replace("${", "")
    assert arguments[-1] == "/tmp/a $(b) 'c/h1.conf"


def test_known_hosts_has_each_host_by_its_address() -> None:
    text = recipe.known_hosts(LAYOUT, {"h1": "ssh-ed25519 AAAA1", "h2": "ssh-ed25519 AAAA2"})
    assert text == "198.18.7.1 ssh-ed25519 AAAA1\n198.18.7.2 ssh-ed25519 AAAA2\n"


def test_the_inventory_is_yaml_that_ansible_would_read() -> None:
    place = Path("/tmp/with space")
    document = YAML(typ="safe").load(recipe.inventory(LAYOUT, place))
    first = document["all"]["hosts"]["h1"]
    assert first["ansible_host"] == "198.18.7.1"
    assert first["ansible_user"] == "root"
    assert shlex.split(first["ansible_ssh_common_args"]) == [
        "-o",
        "UserKnownHostsFile=/tmp/with space/known_hosts",
    ]
    assert first["linewatt_data_ipv6"] == "2001:2:0:7::1"
    assert first["linewatt_lab"] == "one"


def test_the_inventory_is_what_the_inventory_reader_reads(tmp_path: Path) -> None:
    crowded = lay_out(LabRequest(name="one", hosts=3), 7, ((0,), (1,)))
    path = tmp_path / "inventory.yaml"
    path.write_text(recipe.inventory(crowded, PLACE))
    hosts = {name: host.values for name, host in read_inventory(path).items()}
    assert sorted(hosts) == ["h1", "h2", "h3"]
    assert hosts["h2"]["address"] == "198.18.7.2"
    assert hosts["h2"]["data"] == "data0"
    assert hosts["h2"]["known_hosts"] == str(PLACE / "known_hosts")


def test_the_inventory_names_bmcs_as_a_campaign_wants_them(tmp_path: Path) -> None:
    path = tmp_path / "inventory.yaml"
    path.write_text(recipe.inventory(LAYOUT, PLACE, PLACE / "bmc.password"))
    (tmp_path / "c.yaml").write_text('name: n\nhosts: inventory.yaml\npairs: ["h1 -> h2"]\ntests: [tcp]\n')
    campaign = load_campaign(tmp_path / "c.yaml")
    source = campaign.power["h2"]["bmc"]
    assert source.driver == "ipmi"
    assert source.cfg.simulated
    assert source.cfg.model_dump()["address"] == "198.18.7.2"
    assert source.cfg.model_dump()["password_file"] == str(PLACE / "bmc.password")
    path.write_text(recipe.inventory(LAYOUT, PLACE))
    assert load_campaign(tmp_path / "c.yaml").power["h2"] == {}
