# SPDX-License-Identifier: Apache-2.0
"""A result made again from its raw files: a fresh one is the same, an older one says what changes."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.live_runs import CASE
from tests.report_factories import end
from tests.report_factories import trial as done
from tests.unit.conftest import Run
from tests.unit.program.test_wiring import HEALTHY, LIES
from tests.wiring import START_S, Change, counters, story, told

from linewatt.analysis.methods import why_figure_differs
from linewatt.engine.campaign import CampaignRun
from linewatt.engine.measuring import flags as registry
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.idle import host_values
from linewatt.engine.measuring.measure import measure
from linewatt.engine.measuring.window_power import Meters
from linewatt.engine.rederive import run as again
from linewatt.engine.rederive.differences import LEARNED, changes, of_meters
from linewatt.errors import InvalidInput, StoreError
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import METHOD, FlowResult, Window
from linewatt.records import Look
from linewatt.store import raw, read
from linewatt.store.write import write_idle, write_trial

OLD = Path(__file__).parents[2] / "captures" / "results" / "method-1"
"""of a demo as it was stored before trials had run.json: three trials, their samples left out"""
SOME = (HEALTHY["udp"], LIES["packets-dropped"], LIES["power-frozen: as idle"], LIES["cpu-missing"])


def fresh(root: Path, changes: Sequence[Change]) -> Path:
    """A result of trials as this linewatt stores them."""
    path = root / "20260101-000000-fresh"
    path.mkdir(parents=True)
    manifest = json.loads((OLD / "manifest.json").read_text())
    hosts = {name: asdict(spec) for name, spec in told().setup.hosts.items()}
    source = {"driver": "ipmi", "address": "192.0.2.9", "user": "admin", "password_file": "bmc"}
    meter = {"bmc": source}
    campaign = manifest["campaign"] | {"hosts": hosts, "power": {"h1": meter, "h2": meter}}
    manifest |= {"hosts": {name: {**host, "facts": {}} for name, host in hosts.items()}}
    manifest |= {"campaign": campaign, "trials_planned": len(changes), "id": path.name}
    (path / "manifest.json").write_text(json.dumps(manifest))
    for number, change in enumerate(changes, start=1):
        given = told(change)
        planned = replace(given.run.planned, number=number)
        made = measure(replace(given.run, planned=planned), given.readings, given.setup, Iperf3(), 0.05)
        write_trial(path, made.trial, (), made.raw)
    return path


def old(root: Path) -> Path:
    """A copy of the result that was stored before."""
    return Path(shutil.copytree(OLD, root / "results" / "20261122-031105-demo"))


def everything(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_a_fresh_result_made_again_is_the_same_to_the_byte(tmp_path: Path) -> None:
    path = fresh(tmp_path, SOME)
    before = everything(path)
    found = again.rederive(read.load_result(path))
    assert [(one.same, one.problem, one.changes, one.told) for one in found.trials] == [
        (True, None, (), ())
    ] * len(SOME)
    assert again.write_rederived(found) is None
    assert everything(path) == before


def with_idle(path: Path) -> Path:
    """An idle window of h1 beside it, of the readings of a trial, as campaigns store it."""
    given = told()
    window, look = (
        Window(START_S + 4, START_S + 20),
        Look(start_s=START_S + 1, end_s=START_S + 4, needed_s=3.0),
    )
    known: dict[str, Meters] = {"h1": {}}
    own = list(given.readings["h1"])
    document = {
        "schema_version": 1,
        "window": asdict(window),
        "hosts": {"h1": host_values(given.setup.hosts["h1"], own, window, look, known["h1"]).as_written()},
    }
    raw = {f"h1/{one.source}.jsonl": one.raw() for one in own}
    write_idle(
        path / "idle.json", document, raw | {run_record.NAME: run_record.idle_text({"h1": own}, known)}
    )
    return path


def test_an_idle_window_is_made_again_from_its_readings(tmp_path: Path) -> None:
    path = with_idle(fresh(tmp_path, [HEALTHY["tcp"]]))
    found = again.rederive(read.load_result(path))
    assert [(one.name, one.same, one.problem, one.changes) for one in found.idle] == [
        ("idle.json", True, None, ())
    ]
    assert not found.changed
    stored = json.loads((path / "idle.json").read_text())
    stored["hosts"]["h1"]["cpu_cores"] += 1.0
    (path / "idle.json").write_text(json.dumps(stored))
    (one,) = again.rederive(read.load_result(path)).idle
    assert [change.figure for change in one.changes] == ["hosts.h1.cpu_cores"]
    again.write_rederived(again.rederive(read.load_result(path)))
    again_before = read.load_result(path).idle_before
    assert again_before is not None
    assert again_before.hosts["h1"].cpu_cores == one.changes[0].after
    assert json.loads((path / "idle.json").read_text()) == stored, "the original is as it was"


def test_a_trial_that_failed_is_made_again_as_it_failed(tmp_path: Path) -> None:
    path = fresh(tmp_path, [story(run={"failure": "h2: the SSH connection ended"})])
    (one,) = again.rederive(read.load_result(path)).trials
    assert (one.same, one.problem) == (True, None)


def test_a_result_stored_before_lists_what_changes_and_why(tmp_path: Path, run: Run) -> None:
    path = old(tmp_path)
    code, out, err = run("rederive", "last", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert [(one["number"], one["method"], one["problem"]) for one in document["trials"]] == [
        (number, 1, None) for number in (1, 2, 4)
    ]
    figures = {change["figure"]: change for change in document["trials"][0]["changes"]}
    assert figures["instances[0].congestion"]["after"] == "bbr"
    assert figures["instances[0].congestion"]["why"] == "not made before"
    for name in ("throughput_bps", "sender.power[bmc PSU1 Power In].energy_j", "window.start_s"):
        assert name not in figures, "nothing made it another figure"
    updates = figures["sender.power[bmc PSU1 Power In].updates"]
    assert updates["before"] > updates["after"], "a value that was held and read again counted as an update"
    assert "what is an update" in updates["why"]
    assert "before and after" in figures["sender.power[bmc PSU1 Power In].idle_w"]["why"]
    gone = [one["code"] for one in document["trials"][2]["findings"] if not one["added"]]
    assert gone == ["packets-dropped"], "udp-loss says where it was lost: one event is told once"
    assert {one["problem"] for one in document["idle"]} == {
        "what was known of its sensors was not stored then; it stays as it is"
    }
    assert all(change["why"] for one in document["trials"] for change in one["changes"])
    assert not (path / "derived").exists()


def test_what_is_written_stands_beside_the_original_and_is_read_from_then_on(
    tmp_path: Path, run: Run
) -> None:
    path = old(tmp_path)
    before = everything(path)
    assert read.load_result(path).trials[0].method == 1
    code, _, err = run("rederive", "last", "--write")
    assert (code, "derived/0001" in err) == (0, True)
    after = everything(path)
    assert {name: after[name] for name in before} == before, "the original is as it was"
    assert sorted(set(after) - set(before)) == [
        "derived/0001/SHA256SUMS",
        "derived/0001/derived.json",
        *(f"derived/0001/trials/{number:05d}.json" for number in (1, 2, 4)),
    ]
    assert [trial.number for trial in read.load_result(path).trials] == [1, 2, 4]
    assert {trial.method for trial in read.load_result(path).trials} == {METHOD}
    assert read.load_result(path).trials[0].instances[0].congestion == "bbr"
    found = again.rederive(read.load_result(path))
    assert all(one.same for one in found.trials), "made again, it is what was written"
    assert again.write_rederived(found) is None


def test_show_and_report_say_when_a_result_is_of_an_older_method(tmp_path: Path, run: Run) -> None:
    old(tmp_path)
    words = "Made by an older method: 3 trials of 3. 'linewatt rederive 20261122-031105-demo'"
    assert words in run("show", "last")[1]
    assert json.loads(run("show", "last", "--json")[1])["method"] == 1
    run("report", "last")
    assert "Made by an older method" in Path("20261122-031105-demo.html").read_text()
    run("rederive", "last", "--write")
    assert "older method" not in run("show", "last")[1]
    assert json.loads(run("show", "last", "--json")[1])["method"] == METHOD


def test_a_mended_check_mends_a_result_that_is_stored(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = tuple(check for check in registry.CHECKS if not check.__module__.endswith(".network"))
    with monkeypatch.context() as patch:
        patch.setattr(registry, "CHECKS", without)
        fresh(tmp_path / "results", [counters("h2", "nic.rx_missed_errors", 500)])
    code, out, _ = run("rederive", "last")
    assert code == 0
    assert "+ packets-dropped, h2 (trials 1)" in out
    assert "nic.rx_missed_errors" in out
    monkeypatch.setattr(registry, "CHECKS", without)
    assert "1 trial of 1 as stored, to the byte" in run("rederive", "last")[1]


def judged_too_slow(root: Path) -> Path:
    """A load that began unevenly makes its meter look slow, of which the next ones show that it is quick."""
    path = fresh(root, [LIES["power-window-too-short"], HEALTHY["tcp"]])
    meter = {"host": "h2", "source": "bmc", "channel": "PSU1 Power In", "read_every_s": 1.0, "steps": 4}
    quick = {"refresh_s": 1.0, "averaging_s": 1.0, "delay_s": 0.0, "settle_s": 1.0}
    (path / "meters.json").write_text(json.dumps({"schema_version": 1, "meters": [meter | quick]}))
    return path


def test_power_that_a_meter_seemed_too_slow_for_is_made_once_later_loads_refute_it(
    tmp_path: Path, run: Run
) -> None:
    path = judged_too_slow(tmp_path / "results")
    slow, healthy = again.rederive(read.load_result(path)).trials
    assert healthy.same
    assert [(one.added, one.code) for one in slow.told] == [(False, "power-window-too-short")]
    figures = {one.figure: one for one in slow.changes}
    watts = figures["receiver.power[bmc PSU1 Power In].power_w"]
    assert (watts.before, watts.why) == (None, "later loads showed how its meter follows the power")
    assert watts.after == pytest.approx(healthy.after.receiver.power[0].power_w, rel=0.05)  # type: ignore[union-attr]
    code, _, _ = run("rederive", "last", "--write")
    assert code == 0
    assert again.rederive(read.load_result(path)).trials[0].changes == ()


def test_at_its_end_a_campaign_makes_the_power_that_its_later_loads_made_known(tmp_path: Path) -> None:
    path = judged_too_slow(tmp_path)
    before = everything(path)
    (wanted, _) = again.rederive(read.load_result(path)).trials
    assert again.settle(path) == (1,)
    assert read.load_result(path).trials[0] == wanted.after
    found = again.rederive(read.load_result(path))
    assert [one.same for one in found.trials] == [True, True]
    assert again.settle(path) == ()
    written = everything(path)
    assert sorted(set(written) - set(before)) == [
        "derived/0001/SHA256SUMS",
        "derived/0001/derived.json",
        "derived/0001/trials/00001.json",
    ]
    assert {name: written[name] for name in before} == before, "what was measured is as it was"


def test_what_a_part_before_had_made_again_stays_made(tmp_path: Path) -> None:
    """Readers take the last folder of these alone."""
    path = judged_too_slow(tmp_path)
    (first, _) = again.rederive(read.load_result(path)).trials
    assert again.settle(path) == (1,)
    given = told(LIES["power-window-too-short"])
    planned = replace(given.run.planned, number=3)
    made = measure(replace(given.run, planned=planned), given.readings, given.setup, Iperf3(), 0.05)
    write_trial(path, made.trial, (), made.raw)
    assert again.settle(path) == (3,)
    trials = read.load_result(path).trials
    assert trials[0] == first.after
    assert replace(trials[2], number=1) == replace(trials[0], number=1)


def test_a_campaign_at_its_end_settles_what_looked_too_short(tmp_path: Path) -> None:
    path = judged_too_slow(tmp_path)
    said: list[Any] = []
    ended = SimpleNamespace(record=lambda _: None, stored=set(), to_run=0)
    campaign_run = SimpleNamespace(_say=said.append, _tell=said.append)
    campaign_run._settled = lambda path: CampaignRun._settled(campaign_run, path)  # type: ignore[arg-type]
    asyncio.run(CampaignRun._ended(campaign_run, path, ended))  # type: ignore[arg-type]
    assert said[0] == "power made again in trial 1: later loads show its meter quick enough"
    (one, _) = read.load_result(path).trials
    assert one.receiver is not None
    assert one.receiver.power[0].power_w is not None


def test_a_campaign_whose_first_power_cannot_be_made_ends_as_it_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full: nothing that is stored is lost by it, and what to do is said."""
    path = judged_too_slow(tmp_path)

    def full(_: Path) -> None:
        raise StoreError("results: no space left on device")

    monkeypatch.setattr(again, "settle", full)
    said: list[Any] = []
    campaign_run = SimpleNamespace(_say=said.append, _tell=said.append)
    asyncio.run(CampaignRun._settled(campaign_run, path))  # type: ignore[arg-type]
    (warned,) = said
    assert warned.text == (
        "power of a first load is not made: results: no space left on device; rederive --write does it"
    )


def test_power_that_cannot_be_known_all_the_same_is_not_said_to_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = judged_too_slow(tmp_path)
    monkeypatch.setattr(again, "_with_meters", lambda found, _: found)
    assert again.settle(path) == ()


def test_what_was_learned_of_a_meter_explains_its_figures_at_every_end() -> None:
    """Of a group's trial, too: hosts that are in one pair have their figures below it."""
    trial = replace(
        done(1, CASE, 9.1e9, 0.5), flows=(FlowResult("h3", "h2", end=end("h3", "sender", 0.3, 0.5, 0.0)),)
    )
    assert (trial.sender and trial.sender.host, trial.receiver and trial.receiver.host) == ("h1", "h2")
    meters = [(host, "bmc", "PSU1") for host in ("h1", "h2", "h3", "elsewhere")]
    known = list(of_meters(trial, meters))
    assert known == [f"{at}.power[bmc PSU1]." for at in ("sender", "receiver", "flows[0].end")]
    watts = [
        {"source": "bmc", "channel": "PSU1", "power_w": 50.0},
        {"source": "bmc", "channel": "PSU2", "power_w": 50.0},
    ]
    flow = {"sender": "h3", "end": {"host": "h3", "power": watts}}
    unread = [{**one, "power_w": None} for one in watts]
    then = {"method": METHOD, "flows": [{**flow, "end": {"host": "h3", "power": unread}}]}
    found = {one.figure: one.why for one in changes(1, then, {"method": METHOD, "flows": [flow]}, known)}
    assert found == {
        "flows[0].end.power[bmc PSU1].power_w": LEARNED,
        "flows[0].end.power[bmc PSU2].power_w": why_figure_differs(
            "flows[0].end.power[bmc PSU2].power_w", METHOD, METHOD
        ),
    }


def test_a_figure_that_changes_is_told_with_both_values(tmp_path: Path, run: Run) -> None:
    path = fresh(tmp_path / "results", [HEALTHY["tcp"], HEALTHY["udp"]])
    for number in (1, 2):
        file = path / "trials" / f"{number:05d}" / "trial.json"
        stored = json.loads(file.read_text())
        stored["receiver"]["cpu_cores"] += 0.5
        file.write_text(json.dumps(stored | {"method": 1}, indent=1))
    out = run("rederive", "last")[1]
    (line,) = (line for line in out.splitlines() if line.startswith("receiver.cpu_cores"))
    assert "1 (of 2)" in line
    assert "1.6" in line
    assert "hypervisor" in line
    every = run("rederive", "last", "--trials")[1]
    assert sum(line.startswith("receiver.cpu_cores") for line in every.splitlines()) == 2


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"imported_from": "table.csv"}, "was imported from table.csv"),
        ({"campaign": {"soak": {"duration_s": 60, "interval_s": 10}}}, "is a soak"),
    ],
    ids=["imported", "a soak"],
)
def test_what_has_no_raw_trials_is_refused(tmp_path: Path, manifest: dict[str, Any], message: str) -> None:
    path = fresh(tmp_path, [])
    stored = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(stored | manifest))
    with pytest.raises(InvalidInput, match=message):
        again.rederive(read.load_result(path))


def test_a_trial_whose_raw_files_are_damaged_stays_as_it_is_and_the_others_do_not(tmp_path: Path) -> None:
    path = fresh(tmp_path, [HEALTHY["tcp"]] * 3)
    for number, name, text in ((1, run_record.NAME, "{"), (2, "h1/mpstat.jsonl", "{\n")):
        folder = path / "trials" / f"{number:05d}" / "raw"
        raw.raw_pack_of(folder).write_bytes(raw.pack_raw("raw", raw.raw_texts(folder) | {name: text}))
    found = again.rederive(read.load_result(path))
    assert [one.problem is not None for one in found.trials] == [True, True, False]
    assert "run.json cannot be read" in str(found.trials[0].problem)
    assert "mpstat.jsonl: damaged" in str(found.trials[1].problem)


def test_a_failed_trial_of_before_stays_as_it_is(tmp_path: Path) -> None:
    path = old(tmp_path)
    file = path / "trials" / "00001" / "trial.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"status": "failed", "reason": "lost"}))
    found = again.rederive(read.load_result(path))
    assert "it failed, and how it ran was not stored" in str(found.trials[0].problem)
    again.write_rederived(found)
    assert read.load_result(path).trials[0].status == "failed"


def test_a_figure_that_differs_within_one_method_is_not_put_down_to_the_method() -> None:
    assert (
        why_figure_differs("receiver.throughput_bps", METHOD, METHOD)
        == "another version of linewatt makes it otherwise"
    )
    assert "least left for the load" in why_figure_differs("receiver.hottest_irq.soft_ratio", 3, 4)
    assert "stood still for a part of the window" in why_figure_differs(
        "sender.power[pdu energy].power_w", 3, 4
    )
    assert why_figure_differs("sender.power[bmc out].power_w", 2, 3).startswith(
        "readings count once the stated meter"
    )
