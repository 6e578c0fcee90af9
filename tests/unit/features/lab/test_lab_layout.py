# SPDX-License-Identifier: Apache-2.0
"""What a lab consists of, before anything of it is made."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.errors import InvalidInput
from linewatt.features.lab.api import LabRequest
from linewatt.features.lab.layout import Cores, lay_out, parse_rate, split_cpus

TWO_CORES: Cores = ((0,), (1,))
FOUR_CORES_SMT: Cores = ((0, 4), (1, 5), (2, 6), (3, 7))

shapes = st.tuples(st.integers(1, 40), st.integers(1, 254), st.integers(1, 16), st.integers(1, 2))


def cores_of(count: int, threads: int) -> Cores:
    return tuple(tuple(core + count * thread for thread in range(threads)) for core in range(count))


def test_two_hosts_on_two_cores_have_one_each() -> None:
    first, second = lay_out(LabRequest(), 1, TWO_CORES).hosts
    assert (first.cpus, first.app_cpus, first.irq_cpus) == ((0,), (0,), (0,))
    assert (second.cpus, second.app_cpus, second.irq_cpus) == ((1,), (1,), (1,))
    assert first.shares_cpus_with == second.shares_cpus_with == ()


def test_a_host_with_several_cpus_keeps_one_half_for_interrupts() -> None:
    first, second = lay_out(LabRequest(), 1, cores_of(8, 1)).hosts
    assert (first.cpus, first.app_cpus, first.irq_cpus) == ((0, 1, 2, 3), (0, 1), (2, 3))
    assert (second.cpus, second.app_cpus, second.irq_cpus) == ((4, 5, 6, 7), (4, 5), (6, 7))


def test_hardware_threads_of_a_core_stay_on_one_host() -> None:
    first, second = lay_out(LabRequest(), 1, FOUR_CORES_SMT).hosts
    assert (first.cpus, second.cpus) == ((0, 4, 1, 5), (2, 6, 3, 7))
    assert (first.app_cpus, first.irq_cpus) == ((0, 4), (1, 5))
    assert first.shares_cpus_with == ()


def test_hosts_on_threads_of_one_core_say_that_they_share_it() -> None:
    hosts = lay_out(LabRequest(hosts=4), 1, ((0, 2), (1, 3))).hosts
    assert [host.cpus for host in hosts] == [(0,), (2,), (1,), (3,)]
    assert [host.shares_cpus_with for host in hosts] == [("h2",), ("h1",), ("h4",), ("h3",)]


def test_more_hosts_than_cpus_share_all_of_them_and_say_with_whom() -> None:
    hosts = lay_out(LabRequest(hosts=3), 1, TWO_CORES).hosts
    assert {host.cpus for host in hosts} == {(0, 1)}
    assert {host.app_cpus for host in hosts} == {host.irq_cpus for host in hosts} == {(0, 1)}
    assert hosts[1].shares_cpus_with == ("h1", "h3")


@settings(deadline=None, max_examples=inputs(40))
@given(shapes)
def test_a_cpu_belongs_to_one_host_or_its_hosts_say_so(shape: tuple[int, int, int, int]) -> None:
    hosts, index, count, threads = shape
    layout = lay_out(LabRequest(hosts=hosts), index, cores_of(count, threads))
    owners: dict[int, set[str]] = {}
    for host in layout.hosts:
        assert set(host.app_cpus) | set(host.irq_cpus) == set(host.cpus) != set()
        for cpu in host.cpus:
            owners.setdefault(cpu, set()).add(host.name)
    for host in layout.hosts:
        for cpu in host.cpus:
            assert owners[cpu] - {host.name} <= set(host.shares_cpus_with)


@settings(deadline=None, max_examples=inputs(40))
@given(shapes)
def test_names_fit_the_kernel_and_addresses_the_benchmarking_ranges(shape: tuple[int, int, int, int]) -> None:
    hosts, index, count, threads = shape
    layout = lay_out(LabRequest(hosts=hosts), index, cores_of(count, threads))
    assert all(len(link) <= 15 for link in layout.links)
    benchmarking = ipaddress.ip_network("198.18.0.0/15"), ipaddress.ip_network("2001:2::/48")
    v4 = [ipaddress.ip_address(a) for host in layout.hosts for a in (host.address, host.data_ipv4)]
    v6 = [ipaddress.ip_address(host.data_ipv6) for host in layout.hosts]
    assert all(address in benchmarking[0] for address in v4)
    assert all(address in benchmarking[1] for address in v6)
    assert len({*v4, *v6, ipaddress.ip_address(layout.controller_address)}) == 3 * hosts + 1
    assert len({*layout.namespaces, *layout.links}) == 2 * hosts + 2


def test_two_labs_have_no_name_or_address_in_common() -> None:
    first, second = (lay_out(LabRequest(hosts=250), index, TWO_CORES) for index in (1, 11))
    for one, other in zip(first.hosts, second.hosts, strict=True):
        assert not {one.address, one.data_ipv4, one.data_ipv6} & {
            other.address,
            other.data_ipv4,
            other.data_ipv6,
        }
    assert not {*first.namespaces, *first.links} & {*second.namespaces, *second.links}
    assert first.link_group != second.link_group


def test_every_host_has_a_core_when_there_are_more_cores_than_hosts() -> None:
    assert split_cpus(cores_of(5, 2), 2) == [(0, 5, 1, 6), (2, 7, 3, 8)]


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("10gbit", 10_000_000_000),
        ("2.5gbit", 2_500_000_000),
        ("100mbit", 100_000_000),
        ("5000kbit", 5_000_000),
        ("10G", 10_000_000_000),
        ("10 Gbit", 10_000_000_000),
        ("940 Mbit/s", 940_000_000),
        ("none", None),
    ],
)
def test_a_rate_is_what_it_says(text: str, rate_bps: int | None) -> None:
    assert parse_rate(text) == rate_bps


@pytest.mark.parametrize(
    "text",
    ["", "10", "10GByte", "-1gbit", "0gbit", "999kbit", "401gbit", "1e99", "nan", "10gbit;x"],
)
def test_a_rate_that_no_link_has_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="like 10gbit"):
        LabRequest(rate=text)


@pytest.mark.parametrize("name", ["", "A", "a_b", "a.b", "a/b", "..", "a" * 21, "a\n", "ä"])
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="a-z, 0-9 and -"):
        LabRequest(name=name)


@pytest.mark.parametrize(("hosts", "mtu"), [(0, 1500), (251, 1500), (-1, 1500), (2, 1279), (2, 9217)])
def test_numbers_out_of_range_are_refused_with_the_range(hosts: int, mtu: int) -> None:
    with pytest.raises(InvalidInput, match=r"must be \d+ to \d+, got"):
        LabRequest(hosts=hosts, mtu=mtu)


def test_each_data_port_has_a_subnet_of_its_own_and_one_port_is_as_ever() -> None:
    first, second = lay_out(LabRequest(ports=2), 3, TWO_CORES).hosts
    assert [(one.interface, one.switch_port, one.ipv4, one.ipv4_prefix) for one in second.ports] == [
        ("data0", "p2", "198.19.3.2", 26),
        ("data1", "p2-1", "198.19.3.66", 26),
    ]
    for one, other in zip(first.ports, second.ports, strict=True):
        assert ipaddress.ip_interface(f"{one.ipv4}/{one.ipv4_prefix}").network.overlaps(
            ipaddress.ip_interface(f"{other.ipv4}/{other.ipv4_prefix}").network
        )
    subnets = {ipaddress.ip_interface(f"{one.ipv4}/{one.ipv4_prefix}").network for one in first.ports}
    subnets_v6 = {ipaddress.ip_interface(f"{one.ipv6}/64").network for one in first.ports}
    assert len(subnets) == len(subnets_v6) == 2
    (alone,) = lay_out(LabRequest(), 3, TWO_CORES).hosts[1].ports
    assert (alone.ipv4, alone.ipv4_prefix, alone.ipv6) == ("198.19.3.2", 24, "2001:2:0:3::2")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"ports": 0}, "ports must be 1 to 4, got 0"),
        ({"ports": 5}, "ports must be 1 to 4, got 5"),
        ({"ports": 2, "hosts": 63}, "with several ports hosts must be 1 to 62, got 63"),
        ({"shared": "fast"}, "lab rate 'fast'"),
    ],
)
def test_ports_that_cannot_be_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        LabRequest(**asked)
