# SPDX-License-Identifier: Apache-2.0
"""Hosts of two names that are one machine: noticed by boot id, said once, kept apart from labs."""

from __future__ import annotations

from typing import Any

import pytest

from linewatt.engine.live.shared_cpus import SharedCpus, find_shared_cpus, with_shared_cpus
from linewatt.engine.readiness.readiness import HostAnswer, Wants
from linewatt.engine.readiness.readiness_cpu import one_machine
from linewatt.hosts.base import HostSpec

A_BOOT, B_BOOT = "8d3a2f0e-51f1-4a7c-9f6e-0d2f6c1b7a11", "1c0f4c52-2f0b-4d53-8f53-7a4c6de0c0aa"


def facts(boot_id: str | None, allowed: list[int] | None, online: list[int] | None = None) -> dict[str, Any]:
    system = {} if boot_id is None else {"boot_id": boot_id}
    return {"system": system, "cpus": {"allowed": allowed, "online": online or [0, 1, 2, 3]}}


def spec(name: str, *neighbours: str, cpus: tuple[int, ...] | None = None) -> HostSpec:
    return HostSpec(name, "192.0.2.1", "eth0", shares_cpus_with=neighbours, cpus=cpus)


def found(
    *, a: dict[str, Any], b: dict[str, Any], specs: dict[str, HostSpec] | None = None
) -> list[SharedCpus]:
    return [*find_shared_cpus({"a": a, "b": b}, specs or {"a": spec("a"), "b": spec("b")})]


def test_one_boot_id_and_common_cpus_are_noticed() -> None:
    (one,) = found(a=facts(A_BOOT, [0, 1, 2]), b=facts(A_BOOT, [1, 2, 3]))
    assert one == SharedCpus(("a", "b"), frozenset({1, 2}))
    assert one.text == "a and b are one machine (the same boot id) and share CPUs 1-2"
    assert one.effect == "what one uses, the other lacks"
    (one,) = found(a=facts(A_BOOT, None, [0]), b=facts(A_BOOT, [0]))
    assert one.text.endswith("and share CPU 0")


def test_logins_kept_apart_on_one_machine_are_noticed_because_cpu_figures_count_all_of_it() -> None:
    (pair,) = found(a=facts(A_BOOT, [0, 1]), b=facts(A_BOOT, [2, 3]))
    assert pair == SharedCpus(("a", "b"), frozenset())
    assert pair.text == "a and b are one machine (the same boot id)"
    assert pair.effect == "CPU figures of each count the work of both"


def test_hosts_of_a_lab_whose_cpu_figures_count_their_own_cpus_only_are_not_said_to_share_any() -> None:
    specs = {"a": spec("a", cpus=(0, 1)), "b": spec("b", cpus=(2, 3))}
    assert found(a=facts(A_BOOT, [0, 1]), b=facts(A_BOOT, [2, 3]), specs=specs) == []
    specs["b"] = spec("b")
    (pair,) = found(a=facts(A_BOOT, [0, 1]), b=facts(A_BOOT, [2, 3]), specs=specs)
    assert pair.effect == "CPU figures of each count the work of both"


def test_hosts_are_named_in_the_order_of_the_campaign_whoever_answers_first() -> None:
    specs = {"b": spec("b"), "a": spec("a")}
    assert found(a=facts(A_BOOT, [0]), b=facts(A_BOOT, [0]), specs=specs)[0].hosts == ("b", "a")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (facts(A_BOOT, [0, 1]), facts(B_BOOT, [0, 1])),
        (facts(None, [0, 1]), facts(None, [0, 1])),
        (facts(A_BOOT, [0, 1]), facts(None, [0, 1])),
    ],
    ids=["two machines", "no boot id", "one boot id"],
)
def test_nothing_is_claimed_of_others(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert found(a=a, b=b) == []


@pytest.mark.parametrize("knows", ["a", "b"])
def test_what_the_inventory_says_is_not_said_again(knows: str) -> None:
    specs = {name: spec(name, *({"a", "b"} - {name} if name == knows else ())) for name in ("a", "b")}
    assert found(a=facts(A_BOOT, [0]), b=facts(A_BOOT, [0]), specs=specs) == []


def test_both_hosts_know_of_it_from_then_on() -> None:
    specs = {"a": spec("a", "lab"), "b": spec("b"), "c": spec("c")}
    known = with_shared_cpus(specs, [SharedCpus(("a", "b"), frozenset({0}))])
    assert [known[name].shares_cpus_with for name in specs] == [("lab", "b"), ("a",), ()]
    assert found(a=facts(A_BOOT, [0]), b=facts(A_BOOT, [0]), specs=known) == []


def test_check_warns_of_it_at_each_host() -> None:
    answers = [HostAnswer(Wants(spec(name)), facts(A_BOOT, [0, 1])) for name in ("a", "b")]
    for answer, peer in (answers, answers[::-1]):
        (check,) = one_machine(answer, [peer])
        assert (check.host, check.name, check.status) == (answer.name, "cpus", "warn")
        assert "one machine" in check.found
        assert "two machines" in check.advice
