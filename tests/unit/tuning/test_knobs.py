# SPDX-License-Identifier: Apache-2.0
"""Queues and kernel parameters: what is read, how it is written, and that writing that back is the undo."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.hosts.facts.cpulist import format_cpulist
from linewatt.tuning.base import Command
from linewatt.tuning.steering.rfs import Rfs
from linewatt.tuning.steering.rps_cpus import RpsCpus
from linewatt.tuning.steering.xps_cpus import XpsCpus
from linewatt.tuning.sysctl import Sysctl

masks = st.lists(st.integers(0, 2**160), min_size=1, max_size=12)


def setting(queues: list[int]) -> str:
    return " ".join(f"rx-{number}={mask:x}" for number, mask in enumerate(queues))


def in_tree(command: Command, root: Path) -> subprocess.CompletedProcess[str]:
    """Runs a knob's constant script with ``root`` in place of /sys."""
    shell, option, script, *rest = command.argv
    rooted = script.replace("/sys/class/net", f"{root}/class/net")
    return subprocess.run([shell, option, rooted, *rest], capture_output=True, text=True, check=False)


@pytest.fixture
def interface(tmp_path: Path) -> Path:
    queues = tmp_path / "class" / "net" / "eth0" / "queues"
    for number in (0, 1, 10, 2):
        (queues / f"rx-{number}").mkdir(parents=True)
        (queues / f"rx-{number}" / "rps_cpus").write_text("00000000,00000000\n")
    (queues / "tx-0").mkdir()
    return tmp_path


def test_queues_are_read_in_order_with_plain_masks(interface: Path) -> None:
    done = in_tree(RpsCpus().read("eth0"), interface)
    assert done.returncode == 0
    assert RpsCpus().parse(done.stdout) == "rx-0=0 rx-1=0 rx-2=0 rx-10=0"


def test_what_was_written_is_read_back_and_what_was_read_undoes_it(interface: Path) -> None:
    knob = RpsCpus()
    before = knob.parse(in_tree(knob.read("eth0"), interface).stdout)
    wanted = knob.wanted(before, "0-1,40")
    assert wanted == "rx-0=10000000003 rx-1=10000000003 rx-2=10000000003 rx-10=10000000003"
    for text in (wanted, before):
        assert in_tree(knob.write("eth0", text), interface).returncode == 0
        assert knob.parse(in_tree(knob.read("eth0"), interface).stdout) == text


def test_masks_are_written_in_groups_of_32_bits_as_the_kernel_wants_them() -> None:
    assert RpsCpus().write("eth0", "rx-0=10000000003").argv[-1] == "rx-0=100,00000003"


def test_a_missing_interface_fails_and_prints_nothing(interface: Path) -> None:
    done = in_tree(RpsCpus().read("eth9"), interface)
    assert done.returncode != 0
    assert done.stdout == ""


def test_a_write_that_fails_says_so(interface: Path) -> None:
    assert in_tree(RpsCpus().write("eth0", "rx-0=1 rx-7=1"), interface).returncode != 0


def test_an_empty_cpu_list_turns_steering_off() -> None:
    assert RpsCpus().wanted("rx-0=3 rx-1=3", "") == "rx-0=0 rx-1=0"


@given(masks)
def test_canonical_text_is_read_as_itself(queues: list[int]) -> None:
    assert RpsCpus().parse(setting(queues)) == setting(queues)


@given(masks)
def test_kernel_and_canonical_spelling_are_the_same_setting(queues: list[int]) -> None:
    knob = RpsCpus()
    written = knob.write("eth0", setting(queues)).argv[6:]
    assert knob.parse("\n".join(reversed(written))) == setting(queues)


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_cpus_becomes_their_bits(cpus: set[int]) -> None:
    text = RpsCpus().wanted("rx-0=0", format_cpulist(cpus))
    assert int(text.removeprefix("rx-0="), 16) == sum(1 << cpu for cpu in cpus)


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "../../etc", "a b", "x" * 16, "eth0\n", "-e"])
def test_a_name_that_is_no_interface_reaches_no_command(name: str) -> None:
    with pytest.raises(ChangeError, match="not an interface name"):
        RpsCpus().read(name)
    with pytest.raises(ChangeError, match="not an interface name"):
        RpsCpus().write(name, "rx-0=1")


@pytest.mark.parametrize("name", ["eth0", "enp1s0f0np0", "$(id)", "eth0.100", "br-a:b"])
def test_a_strange_interface_name_stays_one_argument(name: str) -> None:
    assert RpsCpus().read(name).argv[4] == name


@pytest.mark.parametrize("text", ["", "rx-0=xyz", "tx-0=1", "rx-0=../../x", "rx-0", "rx-0=,", "rx-0= 1"])
def test_what_is_no_mask_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        RpsCpus().parse(text)


def test_a_value_that_is_no_cpu_list_is_refused() -> None:
    with pytest.raises(InvalidInput):
        RpsCpus().wanted("rx-0=0", "3-1")


def test_tabs_of_the_kernel_are_blanks_in_the_setting() -> None:
    knob = Sysctl()
    assert knob.parse("4096\t131072\t6291456\n") == "4096 131072 6291456"
    assert knob.wanted("4096 131072 6291456", " 4096  87380\t33554432 ") == "4096 87380 33554432"


def test_a_value_of_several_numbers_is_written_as_one_argument() -> None:
    command = Sysctl().write("net.ipv4.tcp_rmem", "4096 87380 33554432")
    assert command.argv[-4:] == ("sysctl", "-q", "-w", "net.ipv4.tcp_rmem=4096 87380 33554432")


@pytest.mark.parametrize("key", ["", "-a", "--system", "a=b", "a b", "a;b", ".x", "/x"])
def test_what_is_no_key_reaches_no_command(key: str) -> None:
    with pytest.raises(ChangeError, match="not a key"):
        Sysctl().read(key)
    with pytest.raises(ChangeError, match="not a key"):
        Sysctl().write(key, "1")


def test_a_key_may_name_an_interface_with_a_dot() -> None:
    assert Sysctl().read("net/ipv4/conf/eth0.100/rp_filter").argv[-1].endswith("eth0.100/rp_filter")


@pytest.mark.skipif(shutil.which("sysctl") is None, reason="sysctl (procps) is not installed")
def test_the_real_sysctl_is_read() -> None:
    done = subprocess.run(Sysctl().read("net.ipv4.tcp_rmem").argv, capture_output=True, text=True, check=True)
    assert len(Sysctl().parse(done.stdout).split(" ")) == 3


def test_a_number_may_stay_as_the_host_has_it() -> None:
    assert Sysctl().wanted("4096 131072 6291456", "* * 16777216") == "4096 131072 16777216"
    with pytest.raises(ChangeError, match="keeps some of 2 numbers"):
        Sysctl().wanted("4096 131072 6291456", "* 16777216")


# Stands for sysctl of procps 3.3: a setting needs a value (sysctl.c, WriteSetting)
SYSCTL = """#!/bin/bash
[[ $1 == -n ]] && exec cat "$STATE"
value=${3#*=}
[ -n "$value" ] || { echo "sysctl: malformed setting \\"$3\\"" >&2; exit 1; }
printf '%s\\n' "$value" >"$STATE"
"""


@pytest.mark.parametrize("found", ["", "5201-5204,8080"])
def test_a_parameter_that_was_empty_is_empty_again(found: str, tmp_path: Path) -> None:
    state, program, key = tmp_path / "state", tmp_path / "sysctl", "net.ipv4.ip_local_reserved_ports"
    program.write_text(SYSCTL)
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "STATE": str(state)}
    for setting in ("5201-5264", found):
        argv = Sysctl().write(key, setting).argv
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        Sysctl().read(key).argv, env=environment, capture_output=True, text=True, check=True
    )
    assert Sysctl().parse(done.stdout) == found


def test_a_parameter_set_to_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be set to nothing"):
        Sysctl().check(" ")


@pytest.mark.parametrize(
    ("cpus", "setting"),
    [
        ("0-3", "tx-0=5 tx-1=a"),
        ("2", "tx-0=4 tx-1=4"),
        ("0-2", "tx-0=5 tx-1=2"),
        ("off", "tx-0=0 tx-1=0"),
        ("", "tx-0=0 tx-1=0"),
    ],
)
def test_each_cpu_sends_through_one_queue_and_each_queue_has_a_cpu(cpus: str, setting: str) -> None:
    assert XpsCpus().wanted("tx-0=0 tx-1=0", cpus) == setting


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(1, 80))
def test_no_queue_and_no_cpu_is_left_out(cpus: set[int], queues: int) -> None:
    before = " ".join(f"tx-{number}=0" for number in range(queues))
    masks = [
        int(word.partition("=")[2], 16) for word in XpsCpus().wanted(before, format_cpulist(cpus)).split()
    ]
    assert all(masks)
    together = 0
    for mask in masks:
        together |= mask
    assert together == sum(1 << cpu for cpu in cpus)


def test_flows_are_shared_out_in_powers_of_two() -> None:
    three = "rx-0=0 rx-1=0 rx-2=0"
    assert Rfs().wanted(three, "32768") == "rx-0=8192 rx-1=8192 rx-2=8192"
    assert Rfs().wanted(three, "off") == three
    with pytest.raises(InvalidInput, match="write 16384 or 32768"):
        Rfs().wanted(three, "30000")
    with pytest.raises(ChangeError, match="too few for 3 receive queues"):
        Rfs().wanted(three, "2")
    with pytest.raises(InvalidInput, match="whole number from 0 to 536870912"):
        Rfs().check(str(1 << 30))


def test_flow_counts_are_decimal_and_masks_are_not() -> None:
    assert Rfs().parse("rx-0=10\n") == "rx-0=10"
    assert RpsCpus().parse("rx-0=10\n") == "rx-0=10"
    assert Rfs().write("eth0", "rx-0=10").argv[-1] == "rx-0=10"
    with pytest.raises(ParseError, match="is not a number"):
        Rfs().parse("rx-0=ff\n")
