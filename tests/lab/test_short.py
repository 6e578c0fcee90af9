# SPDX-License-Identifier: Apache-2.0
"""Each capability whose thorough test is in `make test-all` only, once and quickly, on real hosts."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ftp_server import why_not
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, await_event, end, until
from tests.lab.test_check import CheckBench, _switch_port
from tests.lab.test_networks import Networks
from tests.lab.test_placement import placed
from tests.lab.test_profiles import left, places_of
from tests.lab.test_rate_search import FRAME, QUEUE_S
from tests.lab.test_slow_meters import AVERAGE_S, Truth, assert_bounds_hold, values_of, withheld
from tests.lab.test_soak import memory  # noqa: F401  a fixture
from tests.lab.test_users_experiment import SIZE, UsersBench

from linewatt.features.calibration.stored import calibrations
from linewatt.features.lab import api as lab
from linewatt.features.lab.bmc_recipe import BUSY
from linewatt.features.lab.system import search_path
from linewatt.store import read

pytestmark = pytest.mark.lab

needs_bmc = pytest.mark.skipif(shutil.which("ipmi_sim", path=search_path()) is None, reason="needs ipmi_sim")

WINDOW = {"seconds": 1, "omit": 0.3, "tail": 0.5}


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(lab2, tmp_path)
    yield one
    one.until_nothing_runs()


def test_a_rate_search_claims_no_more_than_the_shaper_carries(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    shaper_bps = round(random.Random().uniform(3e6, 5e6))  # noqa: S311  a draw
    burst_bytes = 3000
    bench = CheckBench(make_lab(bmc=False), tmp_path)
    bucket = ("tbf", "rate", f"{shaper_bps}bit", "burst", f"{burst_bytes}")
    queue = ("limit", f"{round(QUEUE_S * shaper_bps / 8)}")
    bench.switch("tc", "qdisc", "replace", "dev", _switch_port(bench, 2), "root", *bucket, *queue)
    search = {"max_rate": "8M", "width": "20%", "loss": ["0%"], "runs": 1, "trials": 4}
    bench.run("run", bench.campaign(tests=["udp-1500"], rate="auto", search=search, window=WINDOW))

    document = json.loads(bench.run("show", "last", "--json").stdout)
    assert document["complete"]
    (found,) = document["searches"]
    trials = bench.trials()
    assert [one["status"] for one in trials] == ["done"] * len(trials)
    steps = {one["trial"]: one["rate_bps"] for one in found["steps"]}
    assert steps == {one["number"]: one["case"]["rate_bps"] for one in trials}
    assert len({one["case"]["rate_bps"] for one in trials}) > 1
    (ndr,) = found["goals"]
    assert ndr["upper"] is not None, "twice the shaper's rate loses datagrams"
    assert ndr["lower"] is not None or ndr["reason"], ndr
    if ndr["lower"] is not None:
        queued_bps = (QUEUE_S * shaper_bps + 8 * burst_bytes) / WINDOW["seconds"]
        assert ndr["lower"]["throughput_bps"] <= 1.02 * (shaper_bps + queued_bps) * FRAME
    assert "UDP 1500 NDR" in bench.run("show", "last").stdout
    bench.until_nothing_runs()


@needs_bmc
def test_an_energy_sweep_is_stored_with_idle_between_and_fitted_or_withheld(bench: Bench) -> None:
    path = bench.campaign(
        energy={"sizes": [60, 1500], "rates": ["500pps", "1kpps"], "idle_share": "25%"},
        trials=1,
        window={"seconds": 2, "omit": 0.2, "tail": 0.3},
        idle={"seconds": 2},
    )
    keys = json.loads(path.read_text())
    del keys["tests"], keys["rate"]
    path.write_text(json.dumps(keys))
    planned = json.loads(bench.run("plan", path, "--json").stdout)["idle"]
    bench.run("run", path)
    assert (planned["windows"], planned["between_windows"]) == (3, 1)
    assert len(list(bench.result.glob("idle*.json"))) == planned["windows"]
    assert [one["status"] for one in bench.trials()] == ["done"] * 4
    sweep = {(one["case"]["test"], one["case"]["rate_bps"]) for one in bench.trials()}
    assert len(sweep) == 4
    fits = json.loads(bench.run("fit", "energy", "last", "--json").stdout)["fits"]
    assert {one["host"] for one in fits} == {"h1", "h2"}
    for fit in fits:
        for figure in ("e_bit_pj", "e_pkt_nj"):
            assert (fit[figure] is None) == bool(fit["reasons"].get(figure)), fit


@needs_bmc
def test_a_calibration_climbs_its_staircase_and_withholds_what_few_windows_do_not_carry(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    bench = Bench(make_lab(rate="20mbit", plug=True), tmp_path)
    file = bench.campaign(rate=None, window=WINDOW)
    asked = ("calibrate", file, "--reference", "plug", "--meter", "bmc", "--host", "h2")
    refused = bench.run(*asked, status=2)
    assert "--allow-commands" in refused.stderr

    climbing = bench.start(*asked, "--allow-commands")
    until(
        lambda: climbing.poll() is not None or len(list(bench.results.glob("*/trials/*/trial.json"))) > 2,
        HANG_LIMIT_S,
        "three trials to be stored",
    )
    climbing.send_signal(signal.SIGINT)
    _, said = climbing.communicate(timeout=HANG_LIMIT_S)
    assert climbing.returncode == 130, said
    assert "bmc against plug of h2: 14 trials of 1.80 s, up and down 6 levels of tcp" in said
    assert [one["case"]["load_level"] for one in bench.trials()][:3] == [None, None, 0]
    planned = json.loads((bench.result / "manifest.json").read_text())["campaign"]
    assert planned["load_levels"] == [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]

    done = bench.run("calibrate", "last", "--reference", "plug", "--host", "h2", "--json", status=4)
    found = json.loads(done.stdout)
    assert found["gain"] is None
    assert found["withheld"]
    (stored,) = calibrations(bench.result)
    assert (stored.meter.source, stored.reference.source) == ("bmc", "plug")
    assert stored.withheld == found["withheld"]
    assert found["withheld"] in bench.run("show").stdout
    bench.until_nothing_runs()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.skipif(shutil.which("perf") is None, reason="needs perf")
def test_a_profile_is_no_trial_and_names_the_work_of_the_receiver(bench: Bench) -> None:
    before = left()
    keys = {"tests": ["udp-1500"], "rate": "100M", "trials": 1, "profile": True}
    bench.run("run", placed(bench, **keys, window={"seconds": 2, "omit": 0.3, "tail": 0.5}))
    document = json.loads(bench.run("show", "last", "--profile", "--json").stdout)
    assert (document["trials_done"], document["profiles_count"]) == (1, 1)
    assert [one["measured"] for one in document["profiles"]] == [False]
    app = places_of(document, "h2")["app"]
    assert app["busy_samples"] > 0
    assert app["work"]
    assert sum(one["ratio"] for one in app["work"]) == pytest.approx(1, abs=0.01)
    folded = bench.tmp / "stacks"
    bench.run("report", "last", "--format", "folded", "-o", folded)
    lines = folded.read_text().splitlines()
    assert [one for one in lines if "receiver h2, app CPU" in one and "iperf3" in one]
    assert not left() - before, "nothing is left on a host"


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_an_experiment_on_users_has_effects_and_is_refused_as_best_setting_for_few_runs(
    lab2: Any,
    tmp_path: Path,
    memory: Path,  # noqa: F811
) -> None:
    bench = UsersBench(lab2, tmp_path, memory)
    file = bench.experiment(
        factors={SIZE: ["20k", "200k"]},
        trials=1,
        users={"users": 3},
        window={"seconds": 1, "omit": 0.5, "tail": 0.3},
    )
    bench.run("run", file)
    trials = bench.trials()
    assert [one["status"] for one in trials] == ["done"] * 2, [one["reason"] for one in trials]
    measured_bps = {dict(one["case"]["factors"])[SIZE]: one["throughput_bps"] for one in trials}
    assert measured_bps["20k"] < measured_bps["200k"]
    assert bench.folders() == [], "the server's folder is removed"
    document = json.loads(bench.run("show", "last", "--json").stdout)
    (group,) = document["effects"]["groups"]
    throughput = next(one for one in group["responses"] if one["response"] == "throughput_bps")
    assert [row["factor"] for row in throughput["main_effects"]] == [SIZE]
    assert throughput["best"]["setting"] is None
    soak = bench.soak("5s", best_of="last", users={"clients": ["h2"], "get_share": "100%"})
    refused = bench.run("plan", soak, status=2).stderr
    assert f"best_of: {bench.result.name} has no best setting: " in refused
    assert "not enough trials to compare settings" in refused
    assert len(bench.experiments) == 1, "a plan stores nothing"
    until(lambda: not bench.processes() and not bench.server_processes(), 60, "all processes to end")


def test_one_campaign_on_two_networks_compares_them_and_leaves_the_hosts_as_they_were(
    lab2: Any, tmp_path: Path
) -> None:
    bench = Networks(lab2, tmp_path)
    before = bench.settled_state()
    file = bench.campaign(
        tests=["udp-1500"],
        networks=["bare", {"name": "vxlan", "hosts": bench.between()}],
        trials=1,
        rate="2M",
        window={"seconds": 0.5, "omit": 0.1, "tail": 0.4},
    )
    bench.run("run", file)
    assert bench.state() == before
    trials = bench.trials()
    assert [one["status"] for one in trials] == ["done"] * 2, [one["reason"] for one in trials]
    assert {one["case"]["network"] for one in trials} == {"bare", "vxlan"}
    document = json.loads(bench.run("compare", "last", "--by", "network", "--json").stdout)
    rows = [row for row in document["comparisons"] if row["response"] == "throughput_bps"]
    assert [(row["sender"], row["receiver"], row["test"]) for row in rows] == [("h1", "h2", "udp-1500")]
    shown = bench.run("compare", "last", "--by", "network", "--full").stdout
    assert "vxlan ÷ bare" in shown
    detail = bench.run("show", "last", "--detail").stdout
    assert detail.count("srv(rcv)") >= 2
    assert "vxlan" in detail
    bench.until_nothing_runs()


@needs_bmc
def test_a_bmc_that_averages_over_more_than_the_window_gives_no_wrong_watts(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    """Servers become fully busy with the load, whatever else runs on this machine."""
    built = make_lab(bmc_average_s=AVERAGE_S)
    bench = Bench(built, tmp_path)
    truth = Truth(values_of(built))

    def busy(level: float) -> None:
        for host in built.hosts:
            (values_of(built) / "next").write_text(f"{level:.4f}")
            (values_of(built) / "next").replace(values_of(built) / f"{host.name}{BUSY}")

    busy(0.0)
    file = bench.campaign(
        trials=1, rate="5M", window={"seconds": 5, "omit": 1, "tail": 0.5}, idle={"seconds": 2}
    )
    with truth.watched():
        process = bench.start("run", file)
        await_event(process, "trial_started")
        busy(1.0)
        end(process, 0)
    result = read.load_result(bench.result)
    assert withheld(result), "it had not settled before half of the window was over"
    assert_bounds_hold(result, truth)
    bench.until_nothing_runs()
