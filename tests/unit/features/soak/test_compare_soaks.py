# SPDX-License-Identifier: Apache-2.0
"""``linewatt compare`` of two soaks as a user meets it, on simulated results."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.compare_factories import made, runs
from tests.report_factories import HOSTILE, stored
from tests.soak_pairs import asked, soak
from tests.unit.conftest import Run

from linewatt.analysis.comparison.compare import FAIL_ON
from linewatt.analysis.comparison.matching import Match
from linewatt.analysis.comparison.rows import METRICS_OF_ROWS, Draft, Options, Row, judged, measure
from linewatt.features.soak.digest import digest
from linewatt.features.soak.document import as_json as shown
from linewatt.features.soak.job import ASKED, Job, job_of
from linewatt.features.soak.metrics import RESPONSES
from linewatt.store.read import load_manifest, load_result

PAIR = ("compare", "20260101", "20260102")


def document(run: Run, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*PAIR, "--json", *options)[1])
    return found


def rows(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["response"]: row for row in found["comparisons"]}


def test_two_soaks_are_one_run_each_and_the_verdict_is_not_enough_runs(run: Run) -> None:
    soak(1)
    soak(2, drift_per_s=0.02)
    code, out, err = run(*PAIR, "--full")
    assert (code, err) == (4, "")
    (rate,) = [line for line in out.splitlines() if line.startswith("Mean rate")]
    assert rate.endswith("not enough trials: 1 and 1; take 4 or more on each side")
    assert "One soak is one measurement" in out
    assert "with linewatt history" in out
    assert out.rstrip().endswith(
        "Not enough evidence: no verdict on slower in 3 of 3 comparisons: not enough trials; "
        "take 4 or more on each side."
    )
    assert all(row["kind"] == "undecided" for row in document(run)["comparisons"])
    assert all(row["base_n"] == row["other_n"] == 1 for row in document(run)["comparisons"])


def days(first: int) -> str:
    return ",".join(f"202601{day:02d}" for day in range(first, first + 4))


def test_several_soaks_a_side_are_as_many_runs_and_then_there_are_verdicts(run: Run) -> None:
    for day in range(1, 9):
        soak(day, seed=day, cpu_share=0.3 if day < 5 else 0.6)
    code, out, err = run("compare", days(1), days(5), "--json", "--fail-on", "less-efficient")
    assert (code, err) == (3, "")
    found = rows(json.loads(out))
    assert found["client_cpu_s_per_gbit"]["kind"] == "worse"
    assert found["client_cpu_s_per_gbit"]["ratio"] == pytest.approx(2, rel=0.1)
    assert found["client_cpu_s_per_gbit"]["base_n"] == 4
    assert found["throughput_bps"]["kind"] != "worse"
    assert [one["id"][:8] for one in json.loads(out)["other"]["soaks"]] == days(5).split(",")
    _, out, _ = run("compare", days(1), days(5), "--full", "-o", "page.html")
    (cpu,) = [line for line in out.splitlines() if line.startswith("Client CPU per Gbit")]
    assert "more CPU per Gbit by " in cpu
    assert out.count("a soak, ran 1 min 00 s, ledger balanced") == 8
    assert "<svg" in Path("page.html").read_text()


def test_runs_of_one_side_that_are_not_alike_are_refused_and_what_differs_of_their_hosts_is_told(
    run: Run,
) -> None:
    def newer(manifest: dict[str, Any]) -> None:
        manifest["hosts"]["dut"]["facts"]["kernel"]["release"] = "6.12.1"

    soak(1)
    soak(2, asked(users=8))
    soak(3, newer)
    soak(4)
    code, out, err = run("compare", "20260101,20260102", "20260104")
    assert (code, out) == (2, "")
    assert "are not runs of the same: users: 4 in 20260101-000000-soak, 8 in 20260102-000000-soak" in err
    assert run("compare", "20260101,20260102", "20260104", "--allow", "job")[0] == 4
    _, out, _ = run("compare", "20260101,20260103", "20260104", "--full")
    assert "A: its soaks differ in dut: kernel.release" in out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--fail-on", "nothing"], 0),
        (["--fail-on", "slower"], 4),
        (["--fail-on", "less-per-watt"], 4),
        (["--fail-on", "any"], 4),
        (["--metric", "loss"], 0),
        (["--metric", "loss", "--fail-on", "more-loss"], 4),
    ],
)
def test_the_exit_code_is_that_of_what_was_asked_for(run: Run, options: list[str], code: int) -> None:
    soak(1)
    soak(2)
    assert run(*PAIR, *options)[0] == code


def test_every_quantity_is_the_one_that_show_says(run: Run) -> None:
    paths = [soak(1), soak(2, cpu_share=0.5)]
    found = rows(document(run))
    for path, side in zip(paths, ("base", "other"), strict=True):
        said = shown(digest(load_result(path)))
        users, book = said["users"], {line["key"]: line for line in said["ledger"]}
        done = said["summary"]["transfers_count"]
        expected = {
            "throughput_bps": said["summary"]["rate_mean_bps"],
            "sustained_ratio": users["sustained_count"] / users["planned_count"],
            "transfers_hz": done / said["load_s"],
            "get_first_byte_p50_s": users["times"]["get.first_byte"]["percentiles_s"]["p50_s"],
            "put_total_p99_s": users["times"]["put.total"]["percentiles_s"]["p99_s"],
            "client_cpu_s_per_gbit": users["client_cpu_s_per_gbit"],
            "failed_ratio": book["gets_failed"]["clients_count"] / done,
            "unexplained_drops_count": said["balance"]["unexplained"],
            "server_energy_j_per_gb": said["power"][0]["energy_j_per_gb"],
        }
        assert {name: found[name][f"{side}_mean"] for name in expected} == pytest.approx(expected)
    # one of two CPUs' share × 2, drawn evenly between 0.8 and 1.2 of it
    assert found["server_cores"]["base_mean"] == pytest.approx(0.6, rel=0.05)
    assert found["server_cores"]["ratio"] == pytest.approx(0.5 / 0.3, rel=0.1)


def test_a_failed_transfer_is_in_the_share_and_a_flag_and_an_unbalanced_ledger_stand_beside(run: Run) -> None:
    soak(1)
    soak(2, server_dies_at=20, server_extra_bytes=70_000_000)
    found = document(run)
    failed = rows(found)["failed_ratio"]
    assert failed["base_mean"] == 0
    assert failed["other_mean"] == pytest.approx(2 / (60 * 2 * 3.5), rel=0.1)
    assert failed["ratio"] is None, "nothing is a multiple of 0"
    (base,), (other,) = found["base"]["soaks"], found["other"]["soaks"]
    assert (base["balance"], other["balance"]) == ("balanced", "off")
    assert "ledger-off" in {flag["code"] for flag in other["flags"]}
    _, out, _ = run(*PAIR, "--full")
    assert "ran 1 min 00 s, ledger balanced [" in out
    assert "ran 1 min 00 s, ledger off [" in out
    assert "B: the ledger does not balance: " in out
    assert "B: flags: ledger-off" in out


@pytest.mark.parametrize(
    ("other", "said", "code"),
    [
        (asked(users=8), "users: 4 in A, 8 in B", "job"),
        (asked(think_s=5.0), "think time: 0 s in A, 5.00 s in B", "job"),
        (asked(arrival_rate_hz=2.5), "arrival rate: a closed loop in A, 2.5/s in B", "job"),
        (asked(start="ramped"), "start: independent in A, ramped in B", "job"),
        (
            asked(get={"count": 16, "median_bytes": 1_000_000, "sigma": 0.0}),
            "size of gets: 16,000,000 B in A, 1,000,000 B in B",
            "job",
        ),
        (
            asked(groups=[{"name": "all", "clients": ["c1", "c2"]}]),
            "clients by group: 1 + 1 in A, 2 in B",
            "job",
        ),
        (
            asked(server={"host": "dut", "folder": "/srv"}),
            "folder of the server: /dev/shm in A, /srv in B",
            "server",
        ),
        (
            lambda manifest: manifest["campaign"]["soak"].update(duration_s=3600.0),
            "duration: 1 min 00 s in A, 1 h 00 min in B",
            "window",
        ),
        (
            lambda manifest: manifest["campaign"].update(networks=["vxlan"]),
            "bare in A, vxlan in B",
            "network",
        ),
        (
            lambda manifest: manifest["campaign"].update(settings={"gro": "off"}),
            "gro on in A, off in B",
            "offloads",
        ),
    ],
)
def test_what_was_asked_otherwise_is_not_comparable_by_name(
    run: Run, other: Any, said: str, code: str
) -> None:
    soak(1)
    soak(2, other)
    exit_code, out, _ = run(*PAIR, "--full")
    assert exit_code == 4
    (rate,) = [line for line in out.splitlines() if line.startswith("Mean rate")]
    assert "–  not comparable: " in rate
    assert rate.endswith(said)
    assert f"{said}: " in out[out.index("Not comparable") :]
    row = rows(document(run))["throughput_bps"]
    assert row["ratio"] is None
    assert row["verdict"].startswith("not comparable: ")
    assert said in row["verdict"]
    allowed = document(run, "--allow", code)
    assert rows(allowed)["throughput_bps"]["ratio"] == pytest.approx(1, abs=0.2)
    assert allowed["remarks"][0]["remarks"][0].startswith("differs, and was allowed: ")
    assert said in allowed["remarks"][0]["remarks"][0]
    assert allowed["remarks"][0]["remarks"][0].endswith(f"[{code}]"), "what was allowed is still told"


def test_what_only_one_quantity_hangs_on_refuses_no_other(run: Run) -> None:
    soak(1)
    soak(2, asked(sustained_bps=2e6))
    found = rows(document(run))
    assert found["sustained_ratio"]["kind"] == "refused"
    assert {row["kind"] for name, row in found.items() if name != "sustained_ratio"} == {"undecided"}
    _, out, _ = run(*PAIR, "--full")
    assert "not comparable: rate from which a user is sustained: 1.00 Mbps in A, 2.00 Mbps in B" in out


def test_a_soak_that_was_cut_off_is_not_compared_with_a_whole_one(run: Run) -> None:
    soak(1)
    soak(2, lambda manifest: manifest["campaign"]["soak"].update(duration_s=60.0), duration_s=30)
    _, out, _ = run(*PAIR, "--full")
    assert "not comparable: ran 1 min 00 s in A, 30 s in B" in out


def test_rates_of_tests_beside_a_soak_are_told_as_rates() -> None:
    show = next(one.show for one in ASKED if one.name == "iperf3")
    assert show([{"test": "tcp", "rate_bps": 1e9}, {"test": "udp", "rate_bps": None}]) == (
        "test=tcp rate=1.00 Gbps; test=udp rate=unlimited"
    )


def test_cpu_time_by_the_tick_refuses_only_what_is_made_of_it(run: Run) -> None:
    def ticks(exact: bool) -> Any:
        def edit(manifest: dict[str, Any]) -> None:
            manifest["hosts"]["dut"]["facts"]["kernel"]["tick_accounting"] = not exact

        return edit

    soak(1, ticks(exact=True))
    soak(2, ticks(exact=False))
    found = rows(document(run))
    words = found["server_cores"]["verdict"]
    assert words == "not comparable: CPU accounting of dut exact in A, by the tick in B"
    assert [name for name, row in found.items() if row["kind"] == "refused"] == ["server_cores"]


def test_simulated_and_measured_watts_are_never_compared_and_marked_at_every_number(run: Run) -> None:
    soak(1)
    soak(2, provenance="measured")
    _, out, _ = run(*PAIR, "--metric", "power", "--allow", "job", "--full")
    (energy,) = [line for line in out.splitlines() if line.startswith("Energy per GB, server")]
    assert " sim (1) " in energy
    assert energy.endswith("–  not comparable: watts simulated in A, measured in B")
    assert "simulated, not measured" in out
    soak(3)
    _, out, _ = run("compare", "20260101", "20260103", "--metric", "power", "--full")
    (energy,) = [line for line in out.splitlines() if line.startswith("Energy per GB, server")]
    assert energy.count(" sim ") == 2, "both values; without a change nothing is told of their ratio"


def test_what_differs_of_hosts_is_listed_the_same_of_many_in_one_line(run: Run) -> None:
    def newer(manifest: dict[str, Any]) -> None:
        for host in manifest["hosts"].values():
            host["facts"]["kernel"]["release"] = "6.12.1"
        manifest["hosts"]["dut"]["facts"]["nic"]["firmware"] = "2"
        manifest["campaign"]["users"]["seed"] = 9

    soak(1, lambda manifest: manifest["hosts"]["dut"]["facts"]["nic"].update(firmware="1"))
    soak(2, newer)
    code, out, _ = run(*PAIR, "--fail-on", "nothing", "--full")
    assert code == 0
    assert "3 hosts: kernel.release 6.1.0 → 6.12.1" in out
    assert "dut: nic.firmware 1 → 2" in out
    assert "campaign: campaign.users.seed 1 → 9" in out
    assert "Not comparable" not in out


def test_other_names_of_hosts_are_the_same_job_and_it_is_said_who_stands_for_whom(run: Run) -> None:
    soak(1)

    def renamed(manifest: dict[str, Any]) -> None:
        for group, name in zip(manifest["campaign"]["users"]["groups"], ("n7", "n8"), strict=True):
            group["clients"] = [name]
        hosts = manifest["hosts"]
        manifest["hosts"] = {"dut": hosts["dut"], "n7": hosts["c1"], "n8": hosts["c2"]}

    own = job_of(load_manifest(soak(2, renamed)).asked)
    assert own.hosts == ("dut", "n7", "n8")
    _, out, _ = run(*PAIR, "--full")
    assert "c1 in A is compared with n7 in B" in out
    assert out.count(f"[{own.key}]") == 2


@pytest.mark.parametrize(
    ("own", "theirs", "pairs"),
    [
        (("s", "a", "b"), ("s", "b", "a"), [("s", "s"), ("a", "a"), ("b", "b")]),
        (("s", "a", "b"), ("t", "c", "d"), [("s", "t"), ("a", "c"), ("b", "d")]),
        (("s", "a", "b"), ("s", "b"), [("s", "s"), ("b", "b")]),
    ],
)
def test_hosts_go_together_by_role_then_name_then_order(
    own: tuple[str, ...], theirs: tuple[str, ...], pairs: list[tuple[str, str]]
) -> None:
    assert Job({}, own[0], own).pairs_with(Job({}, theirs[0], theirs)) == tuple(pairs)


def test_csv_has_a_row_a_quantity(run: Run) -> None:
    soak(1)
    soak(2)
    code, out, _ = run(*PAIR, "--csv", "--metric", "throughput,power")
    found = list(csv.DictReader(io.StringIO(out)))
    assert code == 4
    assert found[0]["response"] == "throughput_bps"
    assert (found[0]["test"], found[0]["case_key"]) == ("soak", found[0]["other_case_key"])
    assert float(found[0]["ratio"]) == pytest.approx(
        float(found[0]["other_mean"]) / float(found[0]["base_mean"])
    )
    assert found[-1]["provenance"] == "simulated"


def test_what_no_soak_has_is_told_with_its_reason_and_asks_for_no_verdict(run: Run) -> None:
    soak(1)
    soak(2)
    assert "drift_ratio_per_day" not in rows(document(run))
    assert "Slow drift: no value on either side: less than 1 h 00 min of readings" in run(*PAIR, "--full")[1]


def test_the_page_holds_everything_and_loads_nothing(run: Run) -> None:
    soak(1)
    soak(2, lambda manifest: manifest["campaign"].update(networks=[HOSTILE]))
    code, _, err = run(*PAIR, "-o", "page.html")
    assert (code, err) == (4, "")
    page = Path("page.html").read_text()
    assert HOSTILE not in page
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert page.count("<tr>") == 1 + len(document(run)["comparisons"])
    assert "network: bare in A" in page
    assert "simulated, not measured" in page
    assert "Not enough evidence:" in page


def test_names_cannot_colour_the_table(run: Run) -> None:
    soak(1)
    soak(2, lambda manifest: manifest["campaign"].update(networks=[f"{HOSTILE}\x1b[31m\n"]))
    assert "\x1b" not in run(*PAIR, "--full")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["20260101", "20260102", "--by", "network"], "--by network: 20260101-000000-soak is a soak"),
        (["20260101", "--by", "network"], "one long load without cases or levels"),
        (["20260101", "20260103"], "is a soak and 20260103-000000-t has cases and trials"),
        (["20260103", "20260101"], "compare a soak with a soak"),
        (["20260101", "20260102", "--allow", "payload"], "--allow 'payload': must be one of job, server"),
        (["20260101", "20260102", "--base", "bare"], "of two, the first is the base"),
        (["20260103", "20260104", "--allow", "job"], "--allow 'job': must be one of window, offloads"),
        (["20260101"], "name a second result"),
    ],
)
def test_wrong_use_is_one_line_and_2(run: Run, arguments: list[str], said: str) -> None:
    soak(1)
    soak(2)
    stored(Path("results"), made("t", runs(), day=3))
    stored(Path("results"), made("t", runs(seed=2), day=4))
    code, out, err = run("compare", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_soak_that_never_began_is_one_line_and_1(run: Run) -> None:
    soak(1)
    path = soak(2) / "soak"
    path.rename(path.with_name("elsewhere"))
    code, out, err = run(*PAIR, "--full")
    assert (code, out) == (1, "")
    assert "the soak ended before its first part" in err


def test_each_figure_of_a_soak_is_asked_for_as_those_of_cases() -> None:
    assert {response.group for response in RESPONSES} == set(METRICS_OF_ROWS) == set(FAIL_ON.values())


LATENCY = [one for one in RESPONSES if one.group == "latency"]
ONE_JOB = Match(Job({}, "dut", ("dut",)), Job({}, "dut", ("dut",)))


def figures_of(draw: random.Random, runs: int, slower: float = 0.0) -> list[Draft]:
    """All times of as many soaks on either side, spread by 3 %; B's first is ``slower`` by so much."""
    drafts = []
    for one in LATENCY:
        base, other = ([draw.gauss(0.0, 0.03) for _ in range(runs)] for _ in range(2))
        more = slower if one is LATENCY[0] else 0.0
        drafts.append(Draft(ONE_JOB, one, base=base, other=[value + more for value in other]))
    return drafts


def rows_of(drafts: list[Draft]) -> tuple[Row, ...]:
    measure(drafts)
    return judged(drafts, Options())[0]


def test_of_many_figures_of_soaks_that_do_not_differ_seldom_one_is_said_to() -> None:
    draw = random.Random(5)  # noqa: S311
    found = [rows_of(figures_of(draw, 8)) for _ in range(100)]
    told = sum(any(row.outcome in ("better", "worse") for row in each) for each in found)
    assert told <= 11  # 5 are expected at most


def test_a_figure_of_soaks_is_judged_among_all_of_its_metric() -> None:
    alone, *_ = rows_of(figures_of(random.Random(5), 8, slower=0.12))  # noqa: S311
    assert alone.outcome == "worse"
    change = alone.verdict.change
    assert change is not None
    assert change.p_holm == pytest.approx(len(LATENCY) * change.p)
