# SPDX-License-Identifier: Apache-2.0
"""Facts of a host: one command, one answer, and None with a reason for what it does not tell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.engine.live.session import FACTS_LIMIT_S
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import parsers as parse
from linewatt.hosts.facts import read as facts

CAPTURES = Path(__file__).parents[2] / "captures" / "facts"
ASKED = facts.with_tool("iperf3", ("iperf3", "--version"))
CASES = sorted(path.name for path in CAPTURES.iterdir())
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def answer(key: str, text: str, status: int = 0) -> str:
    return f"\n{facts.MARK} begin {key}\n{text}\n\n{facts.MARK} end {status}\n"


@pytest.mark.parametrize("case", CASES)
def test_each_capture_gives_the_facts_it_shows(case: str) -> None:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    known = facts.parse_all((CAPTURES / case / "output").read_text(), ASKED)
    assert expected["origin"]
    for section, values in expected["facts"].items():
        assert {name: known[section][name] for name in values} == values
    reasons = known[facts.NOT_KNOWN]
    assert {name: reasons.get(name) for name in expected["reasons"]} == expected["reasons"]


@pytest.mark.parametrize("output", ["", *((CAPTURES / case / "output").read_text() for case in CASES)])
def test_whatever_is_not_known_has_a_reason_and_nothing_else_has(output: str) -> None:
    known = facts.parse_all(output)
    reasons = known.pop(facts.NOT_KNOWN)
    missing = {
        f"{section}.{name}" for section, values in known.items() for name in values if values[name] is None
    }
    assert set(reasons) == missing


def test_every_fact_is_told_or_missing_under_the_same_names() -> None:
    shapes = [
        {
            section: set(values)
            for section, values in facts.parse_all(output).items()
            if section != facts.NOT_KNOWN
        }
        for output in ("", *((CAPTURES / case / "output").read_text() for case in CASES))
    ]
    assert all(shape == shapes[0] for shape in shapes)
    assert set(shapes[0]) == {
        "system",
        "cpu",
        "cpus",
        "memory",
        "kernel",
        "nic",
        "bonds",
        "sysctl",
        "tools",
        "firewall",
    }


@given(st.text(), st.integers(0, 255))
def test_no_answer_stops_the_others(text: str, status: int) -> None:
    output = "".join(answer(fact.key, text, status) for fact in facts.FACTS)
    known = facts.parse_all(output)
    assert known["nic"]["mtu"] is None
    assert "nic.mtu" in known[facts.NOT_KNOWN]


def test_an_answer_that_was_cut_off_keeps_what_came_before() -> None:
    output = (CAPTURES / "composed-xeon" / "output").read_text()
    known = facts.parse_all(output[: output.index(f"{facts.MARK} begin kernel.hz")])
    assert known["cpu"]["sockets"] == 2
    assert known["kernel"]["hz"] is None
    assert known["kernel"]["tick_accounting"] is None
    assert known[facts.NOT_KNOWN]["kernel.hz"] == "the host's answer ends before it"


@pytest.mark.parametrize(
    ("options", "boot", "ticks"),
    [
        ("CONFIG_TICK_CPU_ACCOUNTING=y", "quiet", True),
        ("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y", "quiet", False),
        ("CONFIG_VIRT_CPU_ACCOUNTING_GEN=y", "quiet", True),
        ("CONFIG_VIRT_CPU_ACCOUNTING_GEN=y", "quiet nohz_full=2-7", False),
        ("CONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_TICK_CPU_ACCOUNTING=y", "quiet", True),
    ],
)
def test_tick_accounting_is_what_the_kernel_does_not_what_it_could_do(
    options: str, boot: str, ticks: bool
) -> None:
    output = answer("kernel.hz", f"CONFIG_HZ=250\n{options}")
    output += answer("kernel.command_line", f"/proc/cmdline\t{boot}")
    assert facts.parse_all(output)["kernel"]["tick_accounting"] is ticks


@pytest.mark.parametrize(
    ("cpufreq", "cppc", "model", "base_hz", "source"),
    [
        ("2600000", "2500", "Xeon @ 2.70GHz", 2.6e9, "cpufreq"),
        ("", "3000", "Neoverse-N1", 3.0e9, "ACPI CPPC"),
        ("", "0", "Intel(R) Xeon(R) CPU E5-2643 v3 @ 3.40GHz", 3.4e9, "model name"),
        ("", "", "AMD EPYC", None, None),
    ],
)
def test_the_base_clock_comes_with_its_source(
    cpufreq: str, cppc: str, model: str, base_hz: float | None, source: str | None
) -> None:
    output = answer("cpu.model", json.dumps({"lscpu": [{"field": "Model name:", "data": model}]}))
    output += answer("cpu.base_frequency_hz", f"/x\t{cpufreq}" if cpufreq else "")
    output += answer("cpu.nominal_frequency_hz", f"/x\t{cppc}" if cppc else "")
    cpu = facts.parse_all(output)["cpu"]
    assert (cpu["base_frequency_hz"], cpu["base_frequency_source"]) == (base_hz, source)


@pytest.mark.parametrize(
    ("name", "unit"), [("base_frequency_hz", 1_000_000), ("nominal_frequency_hz", 1_000)]
)
def test_cpus_of_two_kinds_have_no_base_clock_in_common(name: str, unit: int) -> None:
    """The base clock of performance cores is none that efficiency cores could be below."""

    def told(*ghz: float) -> tuple[dict[str, Any], dict[str, str]]:
        files = "\n".join(f"/sys/{number}\t{clock * unit:.0f}" for number, clock in enumerate(ghz))
        found = facts.parse_all(answer(f"cpu.{name}", files))
        return found["cpu"], found[facts.NOT_KNOWN]

    cpu, reasons = told(3.2, 3.2, 2.4, 2.4)
    assert (cpu["base_frequency_hz"], cpu["base_frequency_source"]) == (None, None)
    assert reasons["cpu.base_frequency_hz"].startswith("its CPUs differ in it, from 2.40 to 3.20 GHz (")
    cpu, reasons = told(2.6, 2.6, 2.55)
    assert cpu["base_frequency_hz"] == 2.6e9
    assert "cpu.base_frequency_hz" not in reasons


def test_what_needs_root_says_so() -> None:
    output = answer("memory.modules", "/sys/firmware/dmi/tables/DMI: Permission denied", 1)
    reason = facts.parse_all(output)[facts.NOT_KNOWN]["memory.modules"]
    assert reason == "needs root: /sys/firmware/dmi/tables/DMI: Permission denied"


def test_rules_of_a_firewall_are_their_number_and_a_digest() -> None:
    known = facts.parse_all(answer("firewall.rules", "12 8c17487c3ee6") + answer("firewall.conntrack", "on"))
    assert known["firewall"] == {"rules": 12, "digest": "8c17487c3ee6", "conntrack": "on"}
    reasons = facts.parse_all(answer("firewall.rules", "Operation not permitted", 1))[facts.NOT_KNOWN]
    assert reasons["firewall.rules"] == "needs root: Operation not permitted"


@needs_bash
def test_the_same_rules_with_other_counters_have_the_same_digest(tmp_path: Path) -> None:
    """The script's own function, with tools that print what they would."""
    found = []
    for packets in (0, 7):
        tool = tmp_path / str(packets)
        tool.mkdir()
        rules = (
            f"#!/bin/sh\necho '# at {packets}'\necho ':INPUT DROP [{packets}:{packets}]'\necho '-A INPUT'\n"
        )
        for name in ("iptables-save", "ip6tables-save"):
            (tool / name).write_text(rules)
            (tool / name).chmod(0o755)
        argv = facts.command("lo")[2:]
        argv[2] = argv[2].replace("PATH=$PATH:/usr/sbin:/sbin", f"PATH={tool}:/usr/bin:/bin")
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=FACTS_LIMIT_S)
        found.append(facts.parse_all(done.stdout)["firewall"])
    assert found[0] == found[1]
    assert found[0]["rules"] == 4


def test_serial_numbers_stay_on_the_host() -> None:
    known = facts.parse_all((CAPTURES / "composed-xeon" / "output").read_text())
    assert "12345678" not in json.dumps(known)
    assert "hunter2" not in json.dumps(known)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a b", "x" * 16, "*", "eth0/../lo", "$(id)", "eth[0]", "a\n"]
)
def test_what_is_no_interface_reaches_no_host(name: str) -> None:
    with pytest.raises(InvalidInput, match="not an interface name"):
        facts.command(name)


def test_the_script_is_the_same_for_every_interface() -> None:
    assert facts.command("eth0")[4] == facts.command("enp4s0f0np0")[4]


@needs_bash
def test_this_host_answers_all_at_once_in_bounded_time_and_size() -> None:
    argv = facts.command("lo")
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=FACTS_LIMIT_S)
    known = facts.parse_all(done.stdout)
    assert done.stderr == ""
    assert all("ends before it" not in reason for reason in known[facts.NOT_KNOWN].values())
    assert known["kernel"]["release"]
    assert known["cpus"]["online"]
    assert len(done.stdout) < 200_000


SSH_FACT = [fact for fact in ASKED if fact.section == facts.SSH]


@needs_bash
@pytest.mark.parametrize(
    ("connection", "address"),
    [
        ("203.0.113.9 50000 192.0.2.7 22", "192.0.2.7"),
        ("fe80::1%eth9 50000 fe80::7%eth0 22", "fe80::7"),
        ("2001:db8::1 5 2001:0db8::7 22", "2001:db8::7"),
        ("", None),
        ("a b c d", None),
    ],
)
@pytest.mark.parametrize("hidden", [False, True], ids=["by itself", "below sudo"])
def test_the_address_that_ssh_came_to_is_found_also_where_sudo_hides_it(
    connection: str, address: str | None, hidden: bool
) -> None:
    argv = facts.command("lo", SSH_FACT)
    if hidden:  # as sudo: the parent has it, and its command has not
        argv = ["bash", "-c", 'env -u SSH_CONNECTION "$@"; exit', "sudo", *argv]
    environment = {**os.environ, "SSH_CONNECTION": connection}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment, timeout=20)
    known = facts.parse_all(done.stdout, [*facts.FACTS, *SSH_FACT])
    assert (known[facts.SSH]["address"], done.stderr) == (address, "")
    kept = facts.without_ssh(known)
    assert facts.SSH not in kept
    assert not any(facts.SSH in name.split(".") for name in kept[facts.NOT_KNOWN])


@needs_bash
@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        ("", 0o644, "Permission denied"),
        ("\x7fELF", 0o755, "cannot execute binary file: Exec format error"),
        (
            "#!/bin/sh\necho iperf3: error while loading shared libraries: x.so: "
            "No such file or directory; exit 127\n",
            0o755,
            "error while loading shared libraries: x.so: No such file or directory",
        ),
    ],
    ids=["no program", "another machine's", "no library"],
)
def test_a_tool_that_does_not_start_is_not_called_missing_nor_its_complaint_a_version(
    tmp_path: Path, content: str, mode: int, why: str
) -> None:
    tool = tmp_path / "iperf3"
    tool.write_text(content)
    tool.chmod(mode)
    asked = [fact for fact in ASKED if fact.key == "tools.iperf3"]
    argv = facts.command("lo", asked)
    argv[4] = argv[4].replace("PATH=$PATH:/usr/sbin:/sbin", f"PATH={tmp_path}:/usr/bin:/bin")
    argv[4] = argv[4].replace(":/usr/bin:/bin", "") if mode == 0o644 else argv[4]
    bash = shutil.which("bash") or ""
    done = subprocess.run([bash, *argv[3:]], capture_output=True, text=True, check=True, timeout=20)
    known = facts.parse_all(done.stdout, [*facts.FACTS, *asked])
    assert known["tools"]["iperf3"] is None
    reason = known[facts.NOT_KNOWN]["tools.iperf3"]
    assert reason == f"iperf3 is there and cannot be run: {why}"
    assert facts.is_of_broken_tool(reason)
    assert not facts.is_of_missing_tool(reason)


@needs_bash
def test_a_host_without_any_of_the_tools_still_has_its_files(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    argv = [bash, *facts.command("lo", ASKED)[3:]]
    argv[2] = argv[2].replace("PATH=$PATH:/usr/sbin:/sbin", f"PATH={tmp_path}")
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
    known = facts.parse_all(done.stdout, ASKED)
    assert known["kernel"]["release"]
    assert known["tools"]["iperf3"] is None
    assert known[facts.NOT_KNOWN]["tools.iperf3"] == "iperf3 is not installed"
    assert known[facts.NOT_KNOWN]["kernel.irqbalance_running"] == "grep is not installed"


@needs_bash
def test_a_process_that_has_ended_and_was_not_waited_for_does_not_run(tmp_path: Path) -> None:
    name = "linewatt-ends"  # 15 bytes are what the kernel keeps of a name
    program = tmp_path / name
    program.write_text("#!/bin/sh\nread -r _\n")
    program.chmod(0o755)
    asked = [name if word == "irqbalance" else word for word in facts.command("lo", ASKED)]

    def seen() -> object:
        done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20)
        return facts.parse_all(done.stdout, ASKED)["kernel"]["irqbalance_running"]

    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        assert seen() is True
        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert seen() is False


@needs_bash
@pytest.mark.parametrize(
    ("status", "running"), [(0, True), (1, False), (2, False), (126, None)], ids=["yes", "no", "gone", "many"]
)
def test_a_grep_that_cannot_be_run_says_of_no_process_that_it_does_not_run(
    tmp_path: Path, status: int, running: bool | None
) -> None:
    grep = tmp_path / "grep"
    grep.write_text(f"#!/bin/sh\nexit {status}\n")
    grep.chmod(0o755)
    argv = facts.command("lo", ASKED)
    argv[4] = argv[4].replace("PATH=$PATH:", f"PATH={tmp_path}:$PATH:")
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
    known = facts.parse_all(done.stdout, ASKED)
    assert known["kernel"]["irqbalance_running"] is running
    assert ("kernel.irqbalance_running" in known[facts.NOT_KNOWN]) is (running is None)


def test_pause_frames_are_read_where_the_driver_counts_them() -> None:
    # as the kernel's documentation shows it (Documentation/networking/statistics.rst)
    said = (
        "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\ton\n"
        "Statistics:\n  tx_pause_frames: 1\n  rx_pause_frames: 52\n"
    )
    assert parse.pause_frames(said) == {"pause_frames_received": 52, "pause_frames_sent": 1}
    with pytest.raises(ValueError, match=r"."):
        parse.pause_frames("Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\ton\n")


def test_the_limit_of_a_package_is_that_of_packages_alone() -> None:
    tree = "/sys/class/powercap/intel-rapl"
    said = "".join(
        f"{tree}:{at}/{name}\t{value}\n"
        for at, zone, limit_uw in (
            (0, "package-0", 150_000_000),
            (1, "package-1", 120_000_000),
            (2, "psys", 9),
        )
        for name, value in (("name", zone), ("constraint_0_power_limit_uw", limit_uw))
    )
    assert parse.package_limit_w(said) == 120.0


@needs_bash
@pytest.mark.parametrize(("own", "node"), [(None, 1), ("-1", -1), ("0", 0)])
def test_a_device_without_a_node_of_its_own_has_that_of_what_it_is_part_of(
    tmp_path: Path, own: str | None, node: int
) -> None:
    device = tmp_path / "pci" / "virtio0"
    device.mkdir(parents=True)
    (tmp_path / "pci" / "numa_node").write_text("1\n")
    if own is not None:
        (device / "numa_node").write_text(own)
    (tmp_path / "net" / "eth0").mkdir(parents=True)
    (tmp_path / "net" / "eth0" / "device").symlink_to(device)
    (fact,) = (one for one in facts.FACTS if one.names == ("numa_node",))
    argv = [word.replace("/sys/class", str(tmp_path)) for word in facts.command("eth0", [fact])]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
    known, _ = facts._values_and_reasons(done.stdout, [fact])
    assert known["nic"]["numa_node"] == node


def test_lines_of_both_directions_are_two_settings_each() -> None:
    shown = (
        "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nstats-block-usecs:\tn/a\n\nrx-usecs:\t8\n"
        "rx-frame-low:\tn/a\n\nCQE mode RX: off  TX: on\n\ntx-aggr-time-usecs\t5\n"
    )
    assert parse.ethtool_settings(shown) == {
        "adaptive rx": "on",
        "adaptive tx": "off",
        "rx-usecs": 8,
        "cqe mode rx": "off",
        "cqe mode tx": "on",
        "tx-aggr-time-usecs": 5,
    }
    one_way = parse.ethtool_settings("Coalesce parameters for eth0:\nAdaptive RX: n/a  TX: on\n")
    assert one_way == {"adaptive tx": "on"}
    pause = parse.ethtool_settings("Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\n")
    assert pause == {"autonegotiate": "on", "rx": "off", "tx": "on"}


def lscpu_field(name: str, data: object, *children: dict[str, Any]) -> dict[str, Any]:
    return {"field": f"{name}:", "data": data, "children": list(children)}


def lscpu_kind(name: str, cores: int) -> dict[str, Any]:
    below = {"Thread(s) per core": 1, "Core(s) per socket": cores, "Socket(s)": 1}
    return lscpu_field("Model name", name, *(lscpu_field(key, value) for key, value in below.items()))


def of_lscpu(*fields: dict[str, Any]) -> dict[str, Any]:
    return parse.lscpu(json.dumps({"lscpu": list(fields)}))


def test_kinds_of_core_are_all_named_and_their_cores_counted_together() -> None:
    vendor = lscpu_field("Vendor ID", "ARM", lscpu_kind("Cortex-A55", 4), lscpu_kind("Cortex-A76", 2))
    cpu = of_lscpu(lscpu_field("Architecture", "aarch64"), vendor)
    assert cpu["model"] == "Cortex-A55, Cortex-A76"
    assert (cpu["sockets"], cpu["cores_per_socket"], cpu["threads_per_core"]) == (1, 6, 1)
    unknown = of_lscpu(lscpu_field("Vendor ID", "ARM", lscpu_kind("Cortex-A55", 4), lscpu_kind("-", 1)))
    assert (unknown["model"], unknown["cores_per_socket"]) == ("Cortex-A55", 5)
    assert of_lscpu(lscpu_kind("-", 1))["model"] is None


@pytest.mark.parametrize(
    ("sockets", "clusters", "cores", "found"),
    [
        ("-", 4, 12, (None, None)),
        ("-", 1, 80, (1, 80)),
        (1, 4, 12, (1, 48)),
        (2, 2, 48, (2, 48)),
        (2, 3, 5, (2, None)),
    ],
)
def test_cores_counted_by_cluster_are_those_of_sockets_where_these_are_known(
    sockets: object, clusters: int, cores: int, found: tuple[int | None, int | None]
) -> None:
    counts = {"Core(s) per cluster": cores, "Socket(s)": sockets, "Cluster(s)": clusters}
    cpu = of_lscpu(*(lscpu_field(name, value) for name, value in counts.items()))
    assert (cpu["sockets"], cpu["cores_per_socket"]) == found


def test_cores_of_different_kinds_or_clusters_that_have_one_number_are_not_threads_of_one() -> None:
    head = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n"
    kinds = parse.cpu_groups(head + "0,0,0,,,0,0,0,0\n1,1,0,,,1,1,0,0\n2,0,0,,,2,2,1,0\n3,1,0,,,3,3,2,0\n")
    assert kinds == {"cores": ["0", "1", "2", "3"], "packages": ["0-3"], "caches": ["0-3"]}
    clusters = parse.cpu_groups(
        "# CPU,Core,Socket,Node,,L1d,L1i,L2\n0,0,,0,,0,0,0\n1,1,,0,,1,1,0\n2,0,,1,,2,2,1\n3,1,,1,,3,3,1\n"
    )
    assert (clusters["cores"], clusters["caches"]) == (["0", "1", "2", "3"], ["0-1", "2-3"])
    threads = parse.cpu_groups(head + "0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n2,0,0,0,,0,0,0,0\n")
    assert threads["cores"] == ["0,2", "1"]
    power9 = parse.cpu_groups(head + "".join(f"{cpu},0,0,0,,{cpu % 2},{cpu % 2},0,0\n" for cpu in range(8)))
    assert power9["cores"] == ["0-7"], "half of the threads share an L1 cache, all of them the L2"


def test_without_caches_cores_of_one_thread_on_arm_are_each_cpu() -> None:
    table = "# CPU,Core,Socket,Node\n0,0,0,\n1,1,0,\n2,0,0,\n"
    kinds = (lscpu_kind("Cortex-A55", 2), lscpu_kind("Cortex-A76", 1))
    told = json.dumps({"lscpu": [lscpu_field("Architecture", "aarch64", *kinds)]})
    known = facts.parse_all(answer("cpu.model", told) + answer("cpus.cores", table))
    assert known["cpus"]["cores"] == ["0", "1", "2"]
    other = told.replace("aarch64", "x86_64")
    known = facts.parse_all(answer("cpu.model", other) + answer("cpus.cores", table))
    assert known["cpus"]["cores"] == ["0,2", "1"]


@pytest.mark.parametrize(
    ("architecture", "vendor", "names", "model", "base_hz"),
    [
        ("aarch64", "Ampere(R)", ("Neoverse-N1", "Ampere(R) Altra(R) Processor Q80-30 CPU @ 3.0GHz"), 1, 3e9),
        ("aarch64", "Ampere(R)", ("Neoverse-N1", "Ampere(R) Altra(R) Max Processor"), 1, None),
        ("aarch64", "AWS", ("Neoverse-V1", "AWS Graviton3 AWS Graviton3 CPU @ 2.6GHz"), 1, 2.6e9),
        (
            "aarch64",
            "Cavium",
            ("ThunderX2 99xx", "ThunderX2(R) CN9980 v2.2 @ 2.20GHz CPU @ 2.2GHz"),
            1,
            2.2e9,
        ),
        ("aarch64", "CN8890", ("ThunderX-88XX", "2.1"), 0, None),
        ("aarch64", "QEMU", ("Cortex-A72", "virt-7.2 CPU @ 2.0GHz"), 0, None),
        ("aarch64", "Red Hat", ("Neoverse-N1", "virt-rhel9.2.0 CPU @ 2.0GHz"), 0, None),
        ("aarch64", "X", ("Neoverse-N1", "Not Specified CPU @ 2.4GHz"), 0, None),
        ("aarch64", "X", ("Neoverse-N1", "CPU @ 2.4GHz"), 0, None),
        ("aarch64", "X", ("-", "Ampere(R) AmpereOne(R) Processor A192-32X CPU @ 3.2GHz"), 1, 3.2e9),
        ("x86_64", "AMD", ("AMD EPYC 7763", "AMD EPYC 7763 Unknown CPU @ 2.4GHz"), 0, None),
        ("x86_64", "Intel", ("Xeon @ 2.70GHz", "Xeon CPU @ 2.6GHz"), 0, 2.7e9),
    ],
)
def test_on_arm_the_model_is_the_processor_that_firmware_names(
    architecture: str, vendor: str, names: tuple[str, str], model: int, base_hz: float | None
) -> None:
    below = lscpu_field("Model name", names[0], lscpu_field("BIOS Model name", names[1]))
    fields = [lscpu_field("Architecture", architecture), lscpu_field("BIOS Vendor ID", vendor), below]
    cpu = facts.parse_all(answer("cpu.model", json.dumps({"lscpu": fields})))["cpu"]
    assert cpu["model"] == names[model]
    assert (cpu["base_frequency_hz"], cpu["base_frequency_source"] is None) == (base_hz, base_hz is None)


CODEL = "limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64"


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("qdisc tbf 8001: root refcnt 2 rate 10Gbit burst 1Mb", "tbf rate 10Gbit burst 1Mb"),
        ("qdisc noqueue 0: root refcnt 2 \nqdisc clsact ffff: parent ffff:fff1 ", "noqueue"),
        (
            f"qdisc mq 0: root \nqdisc fq_codel 0: parent :2 {CODEL} \nqdisc fq_codel 0: parent :1 {CODEL} ",
            f"mq: fq_codel {CODEL}",
        ),
        (
            "qdisc mq 1: root \nqdisc fq 8003: parent 1:2 limit 10000p \n"
            "qdisc fq 8002: parent 1:1 limit 10000p \n"
            "qdisc pfifo_fast 0: parent 1:3 bands 3\nqdisc ingress ffff: parent ffff:fff1 ---------------- ",
            "mq: 2 × fq limit 10000p, 1 × pfifo_fast bands 3",
        ),
        (
            "qdisc mqprio 8001: root tc 2 map 0 1 \n             queues:(0:1) (2:3)\n"
            "qdisc fq 0: parent 8001:1 limit 10000p",
            "mqprio: fq limit 10000p",
        ),
        ("qdisc mq 0: root ", "mq"),
        (
            "qdisc clsact ffff: parent ffff:fff1 \nqdisc mq 0: root \nqdisc fq 0: parent :1 limit 9p",
            "mq: fq limit 9p",
        ),
        ("qdisc htb 1: root refcnt 9 r2q 10\nqdisc fq 10: parent 1:10 limit 9p", "htb r2q 10"),
    ],
)
def test_the_queueing_of_several_transmit_queues_is_that_of_the_queues(shown: str, said: str) -> None:
    assert parse.queueing(shown) == said
