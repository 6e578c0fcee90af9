# SPDX-License-Identifier: Apache-2.0
"""A soak with the best setting of a stored experiment: what it becomes, and when there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.effect_factories import experiment_trials
from tests.report_factories import failed, result, stored
from tests.soak_pairs import soak as soak_result

from linewatt.campaign import stored as campaigns
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import InvalidInput
from linewatt.features.soak.best_setting_lookup import resolved
from linewatt.features.soak.model import best_of_in
from linewatt.features.soak.plan import as_dict, plan_soak, said
from linewatt.features.users.model import OwnServer, users_in
from linewatt.model import Flag, Trial

HOSTS = {name: {"address": f"192.0.2.{at}", "data": "eth0"} for at, name in enumerate(("dut", "c1"), 1)}
USERS = {"server": "dut", "clients": ["c1"], "users": 4, "get_share": "100%"}
SIZE, SENDFILE = "users.file_size", "users.vsftpd.use_sendfile"
FACTORS = {SIZE: ("20k", "1M"), SENDFILE: ("on", "off"), "gro": ("on", "off")}
EXPERIMENT = "20260101-000000-preliminary"
Effect = Callable[[Mapping[str, str]], float]


def large_is_faster(levels: Mapping[str, str]) -> float:
    return (4.0 if levels.get(SIZE) == "1M" else 1.0) * (0.8 if levels.get("gro") == "off" else 1.0)


def experiment(
    root: Path, effect: Effect, factors: Mapping[str, tuple[str, ...]] = FACTORS, **changes: Any
) -> None:
    values = {"trials": 4, "test": "ftp", **changes.pop("values", {})}
    trials = experiment_trials("full", factors=factors, effect=effect, **values)
    campaign = {
        "factors": {name: list(levels) for name, levels in factors.items()},
        "design": "full",
        **changes.pop("campaign", {}),
    }
    stored(root, result(trials, campaign=campaign, id=EXPERIMENT, name="preliminary", **changes))


def soak(tmp_path: Path, **keys: Any) -> Campaign:
    file = tmp_path / "soak.yaml"
    document = {"name": "s", "hosts": HOSTS, "soak": "1h", "best_of": EXPERIMENT, "users": USERS, **keys}
    file.write_text(json.dumps(document))
    return load_campaign(file)


def test_what_was_best_stands_in_place_of_what_the_file_says(tmp_path: Path) -> None:
    experiment(tmp_path / "r", large_is_faster)
    found = resolved(soak(tmp_path), tmp_path / "r")
    users = users_in(found)
    assert users is not None
    assert users.get.median_bytes == users.put.median_bytes == 1_000_000
    assert isinstance(users.server, OwnServer)
    assert dict(users.server.options).keys() == {"use_sendfile"}
    assert found.settings == {"gro": "on"}
    planned = plan_soak(found)
    assert {(one.host, one.knob, one.value) for one in planned.changes} == {
        ("dut", "offload", "on"),
        ("c1", "offload", "on"),
    }
    first = next(said(planned))
    assert first.startswith(f"best of {EXPERIMENT}: gro=on {SIZE}=1M {SENDFILE}=o")
    assert "(throughput faster by 300 % (CI" in first


def test_it_is_stored_and_needs_the_experiment_no_more(tmp_path: Path) -> None:
    experiment(tmp_path / "r", large_is_faster)
    found = resolved(soak(tmp_path), tmp_path / "r")
    written = json.loads(json.dumps(campaigns.campaign_as_dict(found)))
    again = campaigns.campaign_from_dict(written)
    assert json.loads(json.dumps(as_dict(plan_soak(again)))) == json.loads(
        json.dumps(as_dict(plan_soak(found)))
    )
    later = resolved(soak(tmp_path), tmp_path / "gone", written["best_of"])
    assert campaigns.differences_from_stored(written, later) == []


def test_a_base_that_all_others_are_slower_than_is_the_best(tmp_path: Path) -> None:
    factors = {SIZE: ("1M", "20k")}
    experiment(tmp_path / "r", large_is_faster, factors)
    found = resolved(soak(tmp_path), tmp_path / "r")
    best = best_of_in(found)
    assert best is not None
    assert best.setting == ((SIZE, "1M"),)
    assert best.words == "the base: the other setting is worse beyond doubt"


@pytest.mark.parametrize(
    ("effect", "changes", "why"),
    [
        (
            lambda _: 1.0,
            {"values": {"cv": 0.3, "trials": 3}},
            "other settings is better beyond doubt; take more trials, or name settings yourself",
        ),
        (large_is_faster, {"values": {"trials": 1}}, "not enough trials to compare settings with the base"),
        (large_is_faster, {"factors": {}}, "is not an experiment: its trials vary no factor"),
    ],
    ids=["too few to tell", "one trial of each", "no factors"],
)
def test_without_a_best_setting_a_soak_is_refused(
    effect: Effect, changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    experiment(tmp_path / "r", effect, **changes)
    with pytest.raises(InvalidInput) as refused:
        resolved(soak(tmp_path), tmp_path / "r")
    assert str(refused.value).startswith(f"best_of: {EXPERIMENT} ")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "factors", "why"),
    [
        ({"settings": {"gro": "off"}}, FACTORS, "gro=on, and settings have off; take gro out of settings"),
        ({}, {SIZE: ("20k", "1M"), "zerocopy": ("off", "on")}, "is of tests, and a soak sets it in none"),
        ({"users": None, "tests": ["tcp"], "pairs": ["c1 -> dut"]}, FACTORS, "is of users of a server, and"),
    ],
)
def test_levels_that_the_soak_cannot_have_are_one_line(
    keys: dict[str, Any], factors: dict[str, tuple[str, ...]], why: str, tmp_path: Path
) -> None:
    experiment(tmp_path / "r", large_is_faster, factors)
    with pytest.raises(InvalidInput, match=why):
        resolved(soak(tmp_path, **keys), tmp_path / "r")


def test_an_irqbalance_that_was_best_does_not_run_where_the_soak_places_interrupts(tmp_path: Path) -> None:
    def balanced_is_faster(levels: Mapping[str, str]) -> float:
        return 2.0 if levels.get("irqbalance") == "running" else 1.0

    experiment(tmp_path / "r", balanced_is_faster, {"irqbalance": ("stopped", "running")})
    with pytest.raises(InvalidInput, match=r"best_of: .*: a running irqbalance moves the interrupts that"):
        resolved(soak(tmp_path, settings={"irq_affinity": "1"}), tmp_path / "r")
    assert resolved(soak(tmp_path), tmp_path / "r").settings["irqbalance"] == "running"


def test_cpus_that_a_host_names_are_not_switched_off(tmp_path: Path) -> None:
    def few_are_faster(levels: Mapping[str, str]) -> float:
        return 2.0 if levels.get("cpus_online") == "0-1" else 1.0

    experiment(tmp_path / "r", few_are_faster, {"cpus_online": ("all", "0-1")})
    hosts = {**HOSTS, "dut": {**HOSTS["dut"], "irq_cpus": "2-3"}}
    with pytest.raises(InvalidInput, match="switches CPU 2 off, and dut names it"):
        resolved(soak(tmp_path, hosts=hosts), tmp_path / "r")
    hosts = {**HOSTS, "dut": {**HOSTS["dut"], "cpus": "2-3"}}
    with pytest.raises(InvalidInput, match=r"takes all CPUs of dut \(2-3\) offline"):
        resolved(soak(tmp_path, hosts=hosts), tmp_path / "r")
    base = soak(tmp_path)
    guest = replace(base.hosts["dut"], lab="lab")
    resolved(replace(base, hosts={**base.hosts, "dut": guest}), tmp_path / "r")
    namespace = replace(base, hosts={**base.hosts, "dut": replace(guest, cpus=(0, 1, 2, 3))})
    with pytest.raises(InvalidInput, match="would take CPUs from the machine of a lab"):
        resolved(namespace, tmp_path / "r")
    hosts = {**HOSTS, "c1": {**HOSTS["c1"], "irq_cpus": "2-3"}}
    found = resolved(soak(tmp_path, hosts=hosts), tmp_path / "r")
    assert {name: spec.cpus for name, spec in found.hosts.items()} == {"dut": (0, 1), "c1": None}
    online = [(one.host, one.value) for one in plan_soak(found).changes if one.knob == "cpus_online"]
    assert online == [("dut", "0-1")], "the server's alone, as in the experiment"


def test_what_is_not_as_in_the_experiment_is_said(tmp_path: Path) -> None:
    label = {"label": ["old", "new"], "fact": "kernel.release"}
    factors = {SIZE: ("20k", "1M"), "kernel": ("old", "new")}
    then = json.loads(json.dumps(campaigns.campaign_as_dict(soak(tmp_path, users={**USERS, "think": "2s"}))))[
        "users"
    ]
    experiment(
        tmp_path / "r",
        lambda levels: large_is_faster(levels) * (1.5 if levels.get("kernel") == "new" else 1.0),
        factors,
        campaign={"users": then, "labels": {"kernel": label}},
        planned=20,
    )
    found = resolved(soak(tmp_path), tmp_path / "r")
    best = best_of_in(found)
    assert best is not None
    assert "kernel" not in found.settings
    written = json.loads(json.dumps(campaigns.campaign_as_dict(found)))
    assert (
        campaigns.differences_from_stored(written, resolved(soak(tmp_path), tmp_path, written["best_of"]))
        == []
    )
    assert tuple(one for one in best.notes if " differs in hosts " not in one) == (
        "kernel=new is set by hand",
        f"{EXPERIMENT} is not complete: its best setting is that of the trials there are",
        "users differ in think from the experiment: 2s then, 0s now",
    )


def test_a_best_setting_whose_throughput_is_doubtful_says_so(tmp_path: Path) -> None:
    refused = (Flag("many-transfers-failed", "dut", "900 failed beside about 90 transfers", "mend it"),)
    experiment(tmp_path / "r", large_is_faster, values={"flags": refused})
    found = resolved(soak(tmp_path), tmp_path / "r")
    best = best_of_in(found)
    assert best is not None
    (note,) = [one for one in best.notes if "doubtful" in one]
    assert note.startswith("its throughput is doubtful: many-transfers-failed; ")


def test_a_throughput_that_no_line_carries_is_doubtful_though_no_single_trial_says_so(tmp_path: Path) -> None:
    values = {"test": "tcp", "line_goodput_bps": 18e9, "line_kind": "link"}
    experiment(tmp_path / "r", large_is_faster, {"gro": ("off", "on")}, values=values)
    file = {"users": None, "tests": ["tcp"], "pairs": ["c1 -> dut"]}
    found = resolved(soak(tmp_path, **file), tmp_path / "r")
    best = best_of_in(found)
    assert best is not None
    assert [one for one in best.notes if "doubtful" in one] == [
        f"its throughput is doubtful: above-line-rate; linewatt show {EXPERIMENT} has why",
    ]


def test_what_the_best_setting_was_compared_with_may_be_doubtful_too(tmp_path: Path) -> None:
    trials = experiment_trials(
        "full", factors={SIZE: ("20k", "1M")}, effect=large_is_faster, test="ftp", trials=4
    )
    refused = (Flag("many-transfers-failed", "dut", "900 failed beside about 90 transfers", "mend it"),)
    base = ((SIZE, "20k"),)
    stored_experiment(
        tmp_path, [replace(one, flags=refused) if one.case.factors == base else one for one in trials]
    )
    found = best_of_in(resolved(soak(tmp_path), tmp_path / "r"))
    assert found is not None
    assert dict(found.setting or ()) == {SIZE: "1M"}
    assert [one for one in found.notes if "doubtful" in one] == [
        "throughput of the other setting is doubtful: many-transfers-failed; "
        f"linewatt show {EXPERIMENT} has why"
    ]


def test_trials_of_the_best_setting_that_failed_are_told(tmp_path: Path) -> None:
    trials = experiment_trials(
        "full", factors={SIZE: ("20k", "1M")}, effect=large_is_faster, test="ftp", trials=4
    )
    ended = failed(len(trials), trials[-1].case, "dut: its server ended")
    stored_experiment(tmp_path, [*trials[:-1], ended])
    found = best_of_in(resolved(soak(tmp_path), tmp_path / "r"))
    assert found is not None
    assert "1 of its 4 trials failed: dut: its server ended" in found.notes


def stored_experiment(tmp_path: Path, trials: Sequence[Trial]) -> None:
    """Trials that vary the size of files."""
    written = {"factors": {SIZE: ["20k", "1M"]}, "design": "full"}
    stored(tmp_path / "r", result(trials, campaign=written, id=EXPERIMENT, name="preliminary"))


def test_the_last_experiment_is_meant_whatever_ran_since(tmp_path: Path) -> None:
    """Also the soak with its best setting, which is begun again from the same file."""
    experiment(tmp_path / "r", large_is_faster)
    soak_result(2, root=str(tmp_path / "r"))
    later = max(path.name for path in (tmp_path / "r").iterdir())
    assert later != EXPERIMENT
    found = best_of_in(resolved(soak(tmp_path, best_of="last"), tmp_path / "r"))
    assert found is not None
    assert found.result == EXPERIMENT


def test_without_an_experiment_last_is_one_line(tmp_path: Path) -> None:
    soak_result(1, root=str(tmp_path / "r"))
    with pytest.raises(InvalidInput, match=r"best_of: last: no result below .* is an experiment"):
        resolved(soak(tmp_path, best_of="last"), tmp_path / "r")


def test_a_run_says_what_it_begins_with_before_a_host_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What hands are to set, too: nobody need have looked at the plan."""
    monkeypatch.setenv("LINEWATT_STATE", str(tmp_path / "state"))
    label = {"label": ["old", "new"]}
    experiment(
        tmp_path / "r",
        lambda levels: large_is_faster(levels) * (1.5 if levels.get("kernel") == "new" else 1.0),
        {SIZE: ("20k", "1M"), "kernel": ("old", "new")},
        campaign={"labels": {"kernel": label}},
    )
    (tmp_path / "known_hosts").touch()
    nobody = {"address": "127.0.0.1", "known_hosts": str(tmp_path / "known_hosts")}
    hosts = {name: one | nobody | {"port": at} for at, (name, one) in enumerate(HOSTS.items(), start=1)}
    soak(tmp_path, hosts=hosts)
    done = forked.run(["run", str(tmp_path / "soak.yaml"), "--results", str(tmp_path / "r")], timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"note: best of {EXPERIMENT}: kernel=new {SIZE}=1M (throughput faster by")
    assert "note: kernel=new is set by hand\n" in done.stderr


def test_a_good_base_is_kept_and_what_is_not_told_from_it_is_named(tmp_path: Path) -> None:
    factors = {SIZE: ("1M", "20k"), SENDFILE: ("on", "off")}
    experiment(tmp_path / "r", large_is_faster, factors)
    found = best_of_in(resolved(soak(tmp_path), tmp_path / "r"))
    assert found is not None
    assert dict(found.setting or ()) == {SIZE: "1M", SENDFILE: "on"}
    assert found.words == "the base: none of 3 other settings is better beyond doubt"
    assert found.notes[0] == f"not told from {SENDFILE}=off"


def test_levels_that_never_ran_together_are_named_in_the_plan(tmp_path: Path) -> None:
    factors = {SIZE: ("20k", "1M"), "gro": ("off", "on")}
    trials = experiment_trials("one-at-a-time", factors=factors, effect=large_is_faster, test="ftp", trials=4)
    written = {"factors": {name: list(each) for name, each in factors.items()}, "design": "one-at-a-time"}
    stored(tmp_path / "r", result(trials, campaign=written, id=EXPERIMENT, name="preliminary"))
    planned = plan_soak(resolved(soak(tmp_path), tmp_path / "r"))
    assert f"never run: gro=on {SIZE}=1M together" in list(said(planned))


def test_what_else_separates_the_soak_from_its_experiment_is_said(tmp_path: Path) -> None:
    then = json.loads(
        json.dumps(campaigns.campaign_as_dict(soak(tmp_path, users={**USERS, "folder": "/srv/disk"})))
    )
    knob = "net.core.rmem_max"
    kept = {"users": then["users"], "settings": {"mtu": "9000"}, "sysctl": {knob: "1"}, "families": ["ipv6"]}
    experiment(tmp_path / "r", large_is_faster, campaign=kept)
    found = best_of_in(resolved(soak(tmp_path), tmp_path / "r"))
    assert found is not None
    apart = "\n".join(found.notes)
    for text in (
        "the soak differs in mtu from the experiment: 9000 then, not set now",
        f"the soak differs in sysctl {knob} from the experiment: 1 then, not set now",
        "the soak differs in families from the experiment: ipv6 then, ipv4 now",
        "the soak differs in hosts from the experiment: h1 (192.0.2.",
        " then, c1 (192.0.2.2, eth0), dut (192.0.2.1, eth0) now",
        "users differ in folder from the experiment: /srv/disk then, ",
        "h2 6.9.0-0.rc4; those of the soak are not known before it runs",
    ):
        assert text in apart


def test_an_experiment_of_tests_is_refused_for_a_soak_of_users(tmp_path: Path) -> None:
    experiment(tmp_path / "r", large_is_faster, {"gro": ("off", "on")}, values={"test": "tcp"})
    with pytest.raises(InvalidInput, match="is of tcp tests, and this soak is of users alone"):
        resolved(soak(tmp_path), tmp_path / "r")


def test_commands_refuse_and_print_it_without_touching_a_host(tmp_path: Path) -> None:
    soak(tmp_path)
    file = str(tmp_path / "soak.yaml")
    done = forked.run(["plan", file, "--results", str(tmp_path / "none")], timeout=60)
    assert done.returncode == 2
    assert f"best_of: {EXPERIMENT}: no such result below" in done.stderr
    assert done.stderr.count("\n") == 1
    experiment(tmp_path / "r", large_is_faster)
    done = forked.run(["plan", file, "--results", str(tmp_path / "r")], timeout=60)
    assert f"best of {EXPERIMENT}: gro=on {SIZE}=1M" in done.stdout, done.stderr
    assert "gets files of 1 MB" in done.stdout
    document = json.loads(
        forked.run(["plan", file, "--results", str(tmp_path / "r"), "--json"], timeout=60).stdout
    )
    assert document["best_of"]["result"] == EXPERIMENT


def test_a_soak_with_the_best_setting_is_read_and_says_whose_it_is(tmp_path: Path) -> None:
    experiment(tmp_path / "r", large_is_faster)
    found = resolved(soak(tmp_path, users={**USERS, "vsftpd": {"one_process_model": "on"}}), tmp_path / "r")
    written = json.loads(json.dumps(campaigns.campaign_as_dict(found)))

    def with_best(manifest: dict[str, Any]) -> None:
        manifest["campaign"] |= {"best_of": written["best_of"]}
        manifest["campaign"]["users"]["server"] = written["users"]["server"]

    made = str(soak_result(1, with_best, root=str(tmp_path / "soaks")))
    shown = forked.run(["show", made], timeout=60).stdout
    assert f"Best of {EXPERIMENT}" in shown
    assert f"{SIZE}=1M" in shown
    document = json.loads(forked.run(["show", made, "--json"], timeout=60).stdout)
    assert document["best_of"]["setting"][SIZE] == "1M"
    assert f"Best of {EXPERIMENT}" in forked.run(["show", made, "--full"], timeout=60).stdout
