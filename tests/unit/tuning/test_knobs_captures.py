# SPDX-License-Identifier: Apache-2.0
"""Every knob against what real hosts show: parsed, changed, written back, refused.

A case below ``tests/captures/<knob>/`` has the tool's ``output``, or what a script of the knob reads:
``files`` as path:content below ``root``, or ``interrupts`` as /proc/interrupts has them. ``expected.json``
says the setting or the error, what a value makes of it, and which values are refused with which words.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.errors import ChangeError, InvalidInput, LinewattError, ParseError
from linewatt.hosts.facts.interrupts import names_of_queues, queue_numbers
from linewatt.tuning.base import Command, ListedKnob
from linewatt.tuning.registry import TUNING_KNOBS

CAPTURES = Path(__file__).parents[2] / "captures"
CASES = [
    pytest.param(TUNING_KNOBS[knob], case.parent, id=f"{knob}-{case.parent.name}")
    for knob in TUNING_KNOBS
    for case in sorted((CAPTURES / knob).glob("*/expected.json"))
]


def expected(case: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((case / "expected.json").read_text())
    return found


def in_tree(command: Command, root: Path) -> subprocess.CompletedProcess[str]:
    """Runs a knob's constant script with ``root`` in place of the root directory."""
    shell, option, script, *rest = command.argv
    for path in ("/sys/", "/proc/", "/run/"):
        script = script.replace(path, f"{root}{path}")
    return subprocess.run(
        [shell, option, script, *rest],
        input=command.stdin,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def build(case: Path, root: Path) -> None:
    """The files of a host that a capture has."""
    says = expected(case)
    if (case / "files").exists():
        for line in (case / "files").read_text().splitlines():
            path, _, content = line.partition(":")
            file = root / says["root"] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content + "\n")
        return
    interrupts = (case / "interrupts").read_text()
    function = root / "sys" / "devices" / (says["bus"] or "none")
    device = function / says["device"] if "device" in says else function
    device.mkdir(parents=True)
    for number in says["msi"]:
        (function / "msi_irqs").mkdir(exist_ok=True)
        (function / "msi_irqs" / str(number)).write_text("msix\n")
    net = root / "sys" / "class" / "net" / says["target"]
    net.mkdir(parents=True)
    if says["bus"]:
        (net / "device").symlink_to(device)
    for line in interrupts.splitlines()[1:]:
        if (number := line.split(":")[0].strip()).isdecimal():
            (root / "proc" / "irq" / number).mkdir(parents=True)
            affinity = says.get("affinity", {}).get(number, says["default"])
            (root / "proc" / "irq" / number / "smp_affinity_list").write_text(affinity + "\n")
    (root / "proc" / "interrupts").write_text(interrupts)


def refusal(method: Callable[[str], str], text: str) -> str:
    """Why a text is refused; empty if it is not."""
    try:
        method(text)
    except LinewattError as error:
        return str(error)
    return ""


def shown(knob: ListedKnob, case: Path, root: Path) -> str:
    """What the knob reads of a capture."""
    if (case / "output").exists():
        return (case / "output").read_text()
    build(case, root)
    done = in_tree(knob.read(expected(case)["target"]), root)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("knob", "case"), CASES)
def test_a_capture_is_read_as_expected(knob: ListedKnob, case: Path, tmp_path: Path) -> None:
    says = expected(case)
    output = shown(knob, case, tmp_path)
    if "error" in says:
        with pytest.raises(ParseError, match=says["error"]):
            knob.parse(output)
        return
    assert knob.parse(output) == says["setting"]


@pytest.mark.parametrize(("knob", "case"), CASES)
def test_values_make_the_expected_settings_and_others_are_refused(knob: ListedKnob, case: Path) -> None:
    says = expected(case)
    for value, wanted in says.get("values", {}).items():
        assert knob.wanted(says["setting"], value) == wanted
        assert knob.wanted(says["setting"], knob.check(value)) == wanted
        assert knob.wanted(wanted, value) == wanted, "a host that shows it already needs no change"
    for value, words in says.get("refused", {}).items():
        with pytest.raises((ChangeError, InvalidInput)) as caught:
            knob.wanted(says["setting"], value)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("knob", "case"), [one for one in CASES if "root" in expected(Path(str(one.values[1])))]
)
def test_files_that_were_written_read_back_and_the_undo_restores_every_byte(
    knob: ListedKnob, case: Path, tmp_path: Path
) -> None:
    says = expected(case)
    build(case, tmp_path)
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    for wanted in says["values"].values():
        for text in (wanted, says["setting"]):
            done = in_tree(knob.write(says["target"], text), tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
            assert knob.parse(in_tree(knob.read(says["target"]), tmp_path).stdout) == text
    assert {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("knob", "case"), [one for one in CASES if "bus" in expected(Path(str(one.values[1])))]
)
def test_interrupts_go_where_they_are_sent_and_back(knob: ListedKnob, case: Path, tmp_path: Path) -> None:
    says = expected(case)
    build(case, tmp_path)
    for wanted in says["values"].values():
        for text in (wanted, says["setting"]):
            done = in_tree(knob.write(says["target"], text), tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
            assert knob.parse(in_tree(knob.read(says["target"]), tmp_path).stdout) == text


@pytest.mark.parametrize(
    ("knob", "case"), [one for one in CASES if (Path(str(one.values[1])) / "output").exists()]
)
def test_a_cut_off_output_is_never_more_than_an_error_in_one_line(knob: ListedKnob, case: Path) -> None:
    output = (case / "output").read_text()
    said = [refusal(knob.parse, output[:end]) for end in range(0, len(output), 7)]
    assert all("\n" not in text for text in said)
    assert said[0], "nothing at all is no setting"


@pytest.mark.parametrize("knob", TUNING_KNOBS.values(), ids=list(TUNING_KNOBS))
@settings(max_examples=inputs(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_noise_is_refused_in_one_line(knob: ListedKnob, text: str) -> None:
    assert "\n" not in refusal(knob.parse, text)
    assert "\n" not in refusal(knob.check, text)


@pytest.mark.parametrize("knob", TUNING_KNOBS)
def test_every_knob_has_captures(knob: str) -> None:
    made_by_hand = {"sysctl", "rps_cpus", "xps_cpus", "rfs"}  # tested on real queues and parameters
    assert knob in made_by_hand or list((CAPTURES / knob).glob("*/expected.json"))


def test_every_capture_says_where_it_is_from() -> None:
    for knob in TUNING_KNOBS:
        for case in (CAPTURES / knob).glob("*"):
            assert (case / "ORIGIN").read_text().strip(), case


def test_an_interrupt_that_the_kernel_manages_is_named(tmp_path: Path) -> None:
    """The kernel answers EIO, which no file of ours can: a directory in its place stands for the refusal."""
    case = CAPTURES / "irq_affinity" / "aarch64-virtio"
    build(case, tmp_path)
    file = tmp_path / "proc" / "irq" / "57" / "smp_affinity_list"
    file.unlink()
    file.mkdir()
    command = TUNING_KNOBS["irq_affinity"].write("eth1", "virtio2-input.0=1 virtio2-output.0=1")
    refused = in_tree(command, tmp_path)
    assert refused.returncode != 0
    assert "interrupt 57 (virtio2-input.0) cannot go to CPU 1: Is a directory" in refused.stderr
    script = command.argv[2].replace("*Input/output*", "*'Is a directory'*")
    managed = in_tree(Command((*command.argv[:2], script, *command.argv[3:]), command.stdin), tmp_path)
    assert "interrupt 57 (virtio2-input.0) cannot go to CPU 1: the kernel manages it" in managed.stderr


def test_an_interface_has_no_interrupts_of_one_whose_name_begins_like_its_own(tmp_path: Path) -> None:
    build(CAPTURES / "irq_affinity" / "aarch64-virtio", tmp_path)
    with (tmp_path / "proc" / "interrupts").open("a") as interrupts:
        interrupts.write("99: 1 1 PCI-MSIX 1-edge ice-eth10-TxRx-0\n")
    (tmp_path / "proc" / "irq" / "99").mkdir()
    (tmp_path / "proc" / "irq" / "99" / "smp_affinity_list").write_text("0\n")
    done = in_tree(TUNING_KNOBS["irq_affinity"].read("eth1"), tmp_path)
    assert "eth10" not in TUNING_KNOBS["irq_affinity"].parse(done.stdout)
    assert "virtio2-input.0=" in TUNING_KNOBS["irq_affinity"].parse(done.stdout)


def test_interrupts_of_another_device_with_the_same_names_are_left_alone(tmp_path: Path) -> None:
    build(CAPTURES / "irq_affinity" / "gve-before-1.4", tmp_path)
    with (tmp_path / "proc" / "interrupts").open("a") as interrupts:
        interrupts.write("99: 1 1 PCI-MSI 1-edge eth%d-ntfy-block.0\n")
    other = tmp_path / "proc" / "irq" / "99" / "smp_affinity_list"
    other.parent.mkdir()
    other.write_text("0-7\n")
    command = TUNING_KNOBS["irq_affinity"].write("ens4", "eth%d-ntfy-block.0=5")
    done = in_tree(command, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "proc" / "irq" / "30" / "smp_affinity_list").read_text() == "5\n"
    assert other.read_text() == "0-7\n"


@pytest.mark.parametrize(
    ("names", "queues"),
    [
        (
            ("gve-mgmnt@pci:0000:00:04.0", "gve-ntfy-blk0@pci:0000:00:04.0"),
            {"gve-ntfy-blk0@pci:0000:00:04.0"},
        ),
        (("hinic_aeq0", "hinic_ceq0", "hinic_rxq0", "hinic_txq0"), {"hinic_rxq0", "hinic_txq0"}),
        (("mana_hwc@pci:x", "mana_q0@pci:x", "mana_q1@pci:x"), {"mana_q0@pci:x", "mana_q1@pci:x"}),
        (("ena-mgmnt@pci:x", "eth9-Tx-Rx-0"), {"eth9-Tx-Rx-0"}),
        (("irdma-AEQ", "irdma-CEQ-1", "ice-eth9-TxRx-1"), {"ice-eth9-TxRx-1"}),
        (("eth9-0", "eth9-1"), {"eth9-0", "eth9-1"}),
        (("eth9[0]", "eth9[1]", "eth9-mailbox"), {"eth9[0]", "eth9[1]"}),
        (("eth9:slice-0", "eth9:slice-1"), {"eth9:slice-0", "eth9:slice-1"}),
        (("eth9-lsc", "eth9-err"), {"eth9-lsc", "eth9-err"}),
    ],
)
def test_names_that_carry_a_queue_are_told_from_those_that_do_not(
    names: tuple[str, ...], queues: set[str]
) -> None:
    assert names_of_queues(names, "ens5", "0000:00:04.0") == queues


@pytest.mark.parametrize(
    ("names", "expected_turns"),
    [
        (("mlx4-1@x", "mlx4-2@x", "mlx4-3@x"), (0, 1, 2)),
        (("eth0-tx-0", "eth0-rx-1", "eth0-rx-2"), (0, 0, 1)),
        (("eth0-TxRx-0", "eth0-TxRx-1", "eth0-tx-2", "eth0-rx-5"), (0, 1, 2, 2)),
        (("virtio1-input.0", "virtio1-output.0", "virtio1-input.1"), (0, 0, 1)),
        (("eth0-TxRx-10", "eth0-TxRx-9"), (1, 0)),
    ],
)
def test_the_turn_of_an_interrupt_is_its_queue_wherever_numbers_begin(
    names: tuple[str, ...], expected_turns: tuple[int, ...]
) -> None:
    assert tuple(queue_numbers(names).values()) == expected_turns


def test_an_interface_that_is_not_there_is_said(tmp_path: Path) -> None:
    for knob in ("irq_affinity", "rps_cpus", "xps_cpus", "rfs"):
        done = in_tree(TUNING_KNOBS[knob].read("eth9"), tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "there is no interface eth9\n"


def test_a_host_without_frequencies_or_idle_states_says_so(tmp_path: Path) -> None:
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    for knob, words in (
        ("governor", "there is no scaling_governor"),
        ("epp", "there is no energy_performance_preference"),
        ("c_states", "there are no idle states"),
        ("turbo", "there is neither intel_pstate/no_turbo nor cpufreq/boost"),
    ):
        done = in_tree(TUNING_KNOBS[knob].read("host"), tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(words)
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("knob", ["governor", "epp", "c_states", "turbo", "tuned", "irqbalance"])
def test_settings_of_the_whole_host_have_no_other_target(knob: str) -> None:
    with pytest.raises(ChangeError, match="the target is 'host'"):
        TUNING_KNOBS[knob].read("eth0")


@pytest.mark.parametrize("target", ["eth0", "eth0 ", "eth0 -k", "eth0 a b", "../x gro", "-i gro"])
def test_an_offload_needs_an_interface_and_a_feature(target: str) -> None:
    with pytest.raises(ChangeError):
        TUNING_KNOBS["offload"].read(target)


@given(
    st.dictionaries(st.sampled_from(["rx", "rx-mini", "rx-jumbo", "tx"]), st.integers(1, 16384), min_size=1),
)
def test_rings_asked_for_are_what_the_tool_would_show(numbers: dict[str, int]) -> None:
    knob = TUNING_KNOBS["rings"]
    labels = {"rx": "RX", "rx-mini": "RX Mini", "rx-jumbo": "RX Jumbo", "tx": "TX"}

    def table(values: dict[str, int]) -> str:
        largest = "".join(f"{label}:\t\t16384\n" for label in labels.values())
        now = "".join(f"{label}:\t\t{values.get(option, 256)}\n" for option, label in labels.items())
        return f"Ring parameters for eth0:\nPre-set maximums:\n{largest}Current hardware settings:\n{now}"

    asked = " ".join(f"{option}={number}" for option, number in numbers.items())
    wanted = knob.wanted(knob.parse(table({})), asked)
    assert wanted == knob.parse(table(numbers))
    words = list(knob.write("eth0", wanted).argv[-8:])
    assert dict(zip(words[::2], map(int, words[1::2]), strict=True)) == {
        option: numbers.get(option, 256) for option in labels
    }


rules = st.dictionaries(
    st.tuples(st.sampled_from(["tcp4", "udp4", "tcp6", "udp6"]), st.integers(1, 65535)),
    st.integers(0, 63),
    max_size=8,
)


@given(rules, rules, st.sets(st.integers(0, 1023), max_size=3))
def test_rules_asked_for_are_the_only_ones_and_those_of_others_stay(
    first: dict[tuple[str, int], int], then: dict[tuple[str, int], int], others: set[int]
) -> None:
    knob = TUNING_KNOBS["ntuple"]

    def value(asked: dict[tuple[str, int], int]) -> str:
        return " ".join(f"{way}:{port}={queue}" for (way, port), queue in asked.items()) or "none"

    setting = " ".join(f"other@{number}" for number in sorted(others)) or "none"
    for asked in (first, then):
        setting = knob.wanted(setting, value(asked))
        words = [] if setting == "none" else setting.split()
        ids = [word.rpartition("@")[2] for word in words]
        assert len(set(ids)) == len(ids)
        assert {int(word.rpartition("@")[2]) for word in words if word.startswith("other")} == others
        kept = {word.rpartition("@")[0] for word in words if not word.startswith("other")}
        assert kept == {f"{way}:{port}={queue}" for (way, port), queue in asked.items()}
        assert knob.wanted(setting, value(asked)) == setting


@given(
    st.lists(st.sampled_from(["POLL", "C1", "C1E", "C6"]), min_size=1, max_size=4, unique=True),
    st.integers(1, 40),
    st.data(),
)
def test_only_states_down_to_the_named_one_stay_on(names: list[str], cpus: int, data: st.DataObject) -> None:
    knob = TUNING_KNOBS["c_states"]
    lines = [
        f"cpu{cpu}/cpuidle/state{number} {name} {data.draw(st.sampled_from([0, 1, 2]))}"
        for cpu in range(cpus)
        for number, name in enumerate(names)
    ]
    before = knob.parse("\n".join(lines))
    deepest = data.draw(st.sampled_from(names))
    wanted = knob.wanted(before, deepest)
    everywhere = "0" if cpus == 1 else f"0-{cpus - 1}"
    assert wanted == " ".join(
        f"{number}.{name}={'on' if number <= names.index(deepest) else 'off'}@{everywhere}"
        for number, name in enumerate(names)
    )
    assert knob.write("host", wanted).stdin.count("\n") == cpus * len(names)
