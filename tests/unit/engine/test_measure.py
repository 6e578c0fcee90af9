# SPDX-License-Identifier: Apache-2.0
"""From what a trial left behind to its numbers, with iperf3's real output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.wiring import Given, both, cpu, rates, readback, run, told

from linewatt.campaign.planning.plan import PlannedInstance, PlannedTrial
from linewatt.engine.case_text import outcome_of_trial
from linewatt.engine.live.feed import Feed, Reading
from linewatt.engine.live.line_rate import PortLine
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.cut import Setup
from linewatt.engine.measuring.ends import end_result
from linewatt.engine.measuring.measure import Measured, measure
from linewatt.hosts.base import Ended, HostSpec, Line
from linewatt.hosts.clock import Offset
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Case, Sample
from linewatt.sensors.registry import SENSORS

CAPTURES = Path(__file__).parents[2] / "captures" / "iperf3"
START_S = 1_700_000_000.0
HOST_CLOCKS = {"h1": Offset(100.0, 0.001), "h2": Offset(-7.0, 0.001)}
H1 = HostSpec("h1", "192.0.2.1", "eth0", cpus=(0,), irq_cpus=(0,))
H2 = HostSpec("h2", "192.0.2.2", "eth0", cpus=(1,), irq_cpus=(1,))
SETUP = Setup(
    omit_s=0.2,
    window_s=0.5,
    hosts={"h1": H1, "h2": H2},
    base_frequency_hz={"h1": 3e9, "h2": None},
    tick_accounting={"h1": False, "h2": False},
    idle_cores={},
)


def ended(host: str, text: str, duration_s: float, status: int = 0) -> Ended:
    """How the host's leash would tell it: stamps on the host's own clock."""
    began_s = START_S + HOST_CLOCKS[host].offset_s
    return Ended(status, text, "", began_s, began_s + duration_s + 0.004)


def run_of(case_name: str, case: Case, *, client: str | None = None, server: str | None = None) -> TrialRun:
    texts = {
        end: text if text is not None else (CAPTURES / case_name / f"{end}.json").read_text()
        for end, text in (("client", client), ("server", server))
    }
    planned = PlannedInstance(0, 5201, "0", "1")
    duration_s = max(
        (one["streams"][0]["end"] for one in json.loads(texts["client"]).get("intervals", [])), default=1.0
    )
    output = InstanceOutput(
        planned,
        {"client": ["iperf3", "--client"], "server": ["iperf3", "--server"]},
        ended(case.client, texts["client"], duration_s),
        ended(case.server, texts["server"], duration_s),
    )
    return TrialRun(
        PlannedTrial(3, 1, case, (planned,)), START_S, START_S + 1.0, 1.0, (output,), dict(HOST_CLOCKS)
    )


def mpstat(host: str, idle_percent: Sequence[float]) -> Reading:
    """Readings a quarter of a second apart, as mpstat would write them for the host's one CPU."""
    cpu = 0 if host == "h1" else 1
    rest = "".join(
        f', "{column}": 0.00'
        for column in ("nice", "iowait", "irq", "soft", "steal", "guest", "gnice", "usr")
    )
    feed = Feed(host, SENSORS["mpstat"], None)
    for number, idle in enumerate([100.0, *idle_percent]):  # the first one ends where the trial begins
        text = (
            '\t\t"timestamp": "22:13:20",\n\t\t\t"cpu-load": [\n'
            f'{{"cpu": "{cpu}", "sys": {100 - idle:.2f}{rest}, "idle": {idle:.2f}}}\n\t\t\t\t\t]'
        )
        for line in text.splitlines():
            feed.take(Line(START_S + 0.25 * number, line))
    return feed.reading(START_S, START_S + 0.25 * len(idle_percent))


def measured(run: TrialRun, readings: Mapping[str, Sequence[Reading]] | None = None) -> Measured:
    both = {"h1": [mpstat("h1", [50.0] * 4)], "h2": [mpstat("h2", [20.0] * 4)]}
    return measure(run, both if readings is None else readings, SETUP, Iperf3(), overhead_s=0.05)


TCP = Case("tcp", "h1", "h2", streams=8)


def test_throughput_is_the_receivers_and_offered_the_senders() -> None:
    trial = measured(run_of("3.12-tcp-forward-streams-8", TCP)).trial
    server = json.loads((CAPTURES / "3.12-tcp-forward-streams-8" / "server.json").read_text())
    received = server["end"]["sum_received"]["bits_per_second"]
    assert trial.status == "done"
    assert trial.throughput_bps == pytest.approx(received, rel=0.25)
    assert trial.throughput_bps != trial.offered_bps
    assert trial.receiver is not None
    assert trial.receiver.host == "h2"


def load_samples(made: Measured, channel: str) -> list[Sample]:
    return [sample for series in made.series for sample in series.samples if sample.channel == channel]


def test_rtt_is_stored_at_the_end_of_each_interval_of_the_sender() -> None:
    made = measured(run_of("3.12-tcp-forward-streams-8", TCP))
    rtts = load_samples(made, "instance0.sender.rtt_s")
    assert [sample.value for sample in rtts] == pytest.approx([508.75e-6, 486.25e-6])
    assert {sample.span_s for sample in rtts} == {0.0}, "a reading, and no mean of the interval"
    rates = load_samples(made, "instance0.sender.throughput_bps")
    assert [sample.time_s for sample in rtts] == [sample.time_s for sample in rates]
    (series,) = [series for series in made.series if "instance0.sender.rtt_s" in series.channels]
    channel = series.channels["instance0.sender.rtt_s"]
    assert (series.host, channel.unit, channel.kind, channel.scope) == ("h1", "s", "gauge", "instance:0")
    assert not any("instance0.receiver.rtt_s" in series.channels for series in made.series)


def test_a_missing_rtt_is_stored_with_its_reason_and_none_at_all_is_not_stored() -> None:
    document = json.loads((CAPTURES / "3.12-tcp-forward-streams-8" / "client.json").read_text())
    document["intervals"][0]["streams"][5]["rtt"] = 0
    made = measured(run_of("3.12-tcp-forward-streams-8", TCP, client=json.dumps(document)))
    first, second = load_samples(made, "instance0.sender.rtt_s")
    assert (first.value, first.reason) == (None, "the load did not report the RTT of all streams")
    assert second.value == pytest.approx(486.25e-6)
    assert second.reason is None
    for interval in document["intervals"]:
        interval["streams"][5]["rtt"] = 0
    made = measured(run_of("3.12-tcp-forward-streams-8", TCP, client=json.dumps(document)))
    assert made.trial.status == "done"
    assert load_samples(made, "instance0.sender.rtt_s") == []


def test_raw_files_read_again_give_the_same_rtt() -> None:
    made = measured(run_of("3.12-tcp-forward-streams-8", TCP))
    kept = run_record.read(made.raw[run_record.NAME], made.raw, SETUP.hosts, Iperf3())
    again = measured(kept.run)
    for channel in ("instance0.sender.rtt_s", "instance0.sender.throughput_bps"):
        assert load_samples(again, channel) == load_samples(made, channel) != []


def test_host_clocks_that_are_minutes_apart_do_not_move_the_window() -> None:
    trial = measured(run_of("3.12-tcp-forward-streams-8", TCP)).trial
    assert trial.window is not None
    assert trial.window.start_s == pytest.approx(START_S + 0.2, abs=0.01)
    assert trial.window.seconds == pytest.approx(0.5)


def test_in_reverse_the_client_is_the_receiver() -> None:
    case = Case("udp-1500", "h2", "h1", direction="reverse")
    assert (case.client, case.server) == ("h1", "h2")
    trial = measured(run_of("3.12-udp1500-reverse-streams-1", case)).trial
    assert trial.status == "done", trial.reason
    assert trial.sender is not None
    assert trial.sender.host == "h2"
    assert trial.packets is not None
    assert trial.lost_ratio is not None


def test_ends_the_wrong_way_round_are_refused() -> None:
    trial = measured(run_of("3.12-udp1500-reverse-streams-1", Case("udp-1500", "h1", "h2"))).trial
    assert trial.status == "failed"
    assert "are swapped" in str(trial.reason)


def test_cpu_is_the_hosts_own_over_the_window() -> None:
    trial = measured(run_of("3.12-tcp-forward-streams-8", TCP)).trial
    assert trial.sender is not None
    assert trial.receiver is not None
    assert trial.sender.cpu_cores == pytest.approx(0.5)
    assert trial.receiver.cpu_cores == pytest.approx(0.8)
    assert trial.receiver.app_cpu is not None
    assert trial.receiver.app_cpu.sys_ratio == pytest.approx(0.8)


def test_a_host_that_was_throttled_below_its_base_frequency_is_told() -> None:
    feed = Feed("h1", SENSORS["cpufreq"], None)
    for number in range(11):
        text = f"linewatt-cpufreq 1 1|frequency 0=1200000|core 0={number}|end 2"
        feed.take(Line(START_S + 0.1 * number, text))
    slow = feed.reading(START_S, START_S + 1)
    readings = {"h1": [mpstat("h1", [10.0] * 4), slow], "h2": [mpstat("h2", [10.0] * 4)]}
    trial = measured(run_of("3.12-tcp-forward-streams-8", TCP), readings).trial
    told = {flag.code: flag for flag in trial.flags if flag.code in ("cpu-throttled", "frequency-dropped")}
    assert "CPU 0: core 5 times" in told["cpu-throttled"].evidence
    assert "ran at 1.20 GHz, below the base frequency of 3.00 GHz" in told["frequency-dropped"].evidence
    assert trial.sender is not None
    assert trial.sender.busy_frequency_hz == pytest.approx(1.2e9)
    assert trial.receiver is not None
    assert trial.receiver.busy_frequency_hz is None
    assert trial.receiver.reasons["busy_frequency_hz"] == "the frequency of its CPUs was not read"


def test_cpu_that_mpstat_does_not_cover_is_none_with_a_reason_and_a_flag() -> None:
    readings = {"h1": [mpstat("h1", [50.0, 50.0])], "h2": []}
    trial = measured(run_of("3.12-tcp-forward-streams-8", TCP), readings).trial
    assert trial.throughput_bps is not None
    for end in (trial.sender, trial.receiver):
        assert end is not None
        assert end.cpu_cores is None
        assert end.reasons["cpu_cores"]
    assert [flag.where for flag in trial.flags if flag.code == "cpu-missing"] == ["h1", "h2"]


def _ended(one: Reading) -> Reading:
    return replace(one, records=one.records[:2], failure="ended with status 137")


def _damaged(one: Reading) -> Reading:
    problem = "mpstat: the CPU table cannot be read"
    return replace(one, records=tuple(replace(record, values={}, problem=problem) for record in one.records))


def _offline(one: Reading) -> Reading:
    records = (
        replace(record, values=dict.fromkeys(record.values), reasons={"cpu0": "cpu 0 went offline"})
        for record in one.records
    )
    return replace(one, records=tuple(records))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (_ended, "mpstat does not cover the window on CPU 0; it ended with status 137"),
        (_damaged, "mpstat does not cover the window on CPU 0; mpstat: the CPU table cannot be read"),
        (_offline, "mpstat does not cover the window on CPU 0; cpu 0 went offline"),
        (
            lambda one: replace(one, records=one.records[:2]),
            "mpstat does not cover the window on CPU 0; its last reading came 0.5 s before the window's end",
        ),
    ],
)
def test_why_the_cpu_use_of_an_end_is_not_known_is_said(
    change: Callable[[Reading], Reading], cause: str
) -> None:
    readings = {"h1": [change(mpstat("h1", [50.0] * 4))], "h2": [mpstat("h2", [20.0] * 4)]}
    trial = measured(run_of("3.12-tcp-forward-streams-8", TCP), readings).trial
    assert trial.sender is not None
    assert trial.sender.reasons["cpu_cores"] == cause
    assert f"sender CPU not measured ({cause})" in outcome_of_trial(trial)


@pytest.mark.parametrize(
    "capture", ["3.12-client-interrupted", "3.12-connection-refused", "3.12-server-terminated"]
)
def test_a_load_that_failed_makes_a_failed_trial_and_never_a_rate(capture: str) -> None:
    texts = {
        end: path.read_text() if (path := CAPTURES / capture / f"{end}.json").exists() else ""
        for end in ("client", "server")
    }
    case = Case("tcp", "h1", "h2")
    trial = measured(run_of(capture, case, client=texts["client"] or "{}", server=texts["server"])).trial
    assert trial.status == "failed"
    assert trial.throughput_bps is None
    assert trial.reason


def test_a_trial_that_failed_keeps_all_raw_output() -> None:
    run = replace(run_of("3.12-tcp-forward-streams-8", TCP), failure="h2: the SSH connection ended")
    result = measured(run)
    assert result.trial.reason == "h2: the SSH connection ended"
    assert set(result.raw) == {
        "h1/iperf3-client-0.json",
        "h2/iperf3-server-0.json",
        "h1/mpstat.jsonl",
        "h2/mpstat.jsonl",
        "commands.json",
        "run.json",
    }
    assert result.raw["h2/iperf3-server-0.json"].startswith("{")


def with_hosts_of_other_pairs(given: Given) -> Given:
    """As of a round with more pairs: two more hosts showed something, are known, and were idle."""
    setup = given.setup
    others = {"h3": "h1", "h4": "h2"}

    def more(known: Mapping[str, Any]) -> dict[str, Any]:
        return {**known, **{other: known[own] for other, own in others.items() if own in known}}

    shown = more(given.run.readback)
    for name in others:
        facts = {**shown[name].facts, "nic.state": "DOWN", "nic.mtu": "9000"}
        shown[name] = replace(shown[name], facts=facts)
    known: dict[str, Any] = {
        one.name: more(value)
        for one in fields(setup)
        if isinstance(value := getattr(setup, one.name), Mapping)
    }
    return replace(given, run=replace(given.run, readback=shown), setup=replace(setup, **known))


def test_a_trial_has_nothing_of_the_hosts_of_other_pairs_of_its_round() -> None:
    given = told()
    alone = measure(given.run, given.readings, given.setup, Iperf3(), overhead_s=0.05)
    many = with_hosts_of_other_pairs(given)
    beside = measure(many.run, many.readings, many.setup, Iperf3(), overhead_s=0.05)
    assert beside.trial == alone.trial
    assert beside.raw == alone.raw
    assert not any("h3" in text or "h4" in text for text in (*beside.raw, *beside.raw.values()))


def test_why_nothing_arrived_is_looked_for_at_the_ends_alone() -> None:
    nothing = both(rates(0.0), readback("h1", facts={"nic.mtu": "1500"}), readback("h2", facts={}))
    trial = with_hosts_of_other_pairs(told(nothing)).trial()
    assert trial.status == "failed"
    assert "h3" not in str(trial.reason)
    assert "h4" not in str(trial.reason)
    assert "whether full packets pass" in str(trial.reason)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("UP", "h1 (client) ended with status 1"),
        ("UNKNOWN", "h1 (client) ended with status 1"),
        (
            "DOWN",
            "h2: its data interface eth0 was DOWN when the load had failed; look at the cable, the switch's "
            "port and dmesg, and measure again (h1 (client) ended with status 1)",
        ),
    ],
)
def test_a_load_that_failed_over_a_link_that_is_out_names_the_link(state: str, reason: str) -> None:
    given = told(both(readback("h1", facts={"nic.state": "UP"}), readback("h2", facts={"nic.state": state})))
    failed = replace(given, run=replace(given.run, failure="h1 (client) ended with status 1"))
    assert failed.trial().reason == reason


def test_a_port_that_a_trial_does_not_use_may_be_without_a_link() -> None:
    shown = {"nic.state": "UP", "further_nics.eth5.state": "DOWN"}
    given = told(readback("h2", facts=shown))
    unused = replace(given.run, failure="refused")
    assert replace(given, run=unused).trial().reason == "refused"
    used = replace(unused, data_ports=(PortLine({"h1": "eth0", "h2": "eth5"}, None),))
    assert "h2: its data interface eth5 was DOWN" in str(replace(given, run=used).trial().reason)


def test_a_load_shorter_than_the_window_is_a_failed_trial() -> None:
    setup = replace(SETUP, window_s=30.0)
    run = run_of("3.12-tcp-forward-streams-8", TCP)
    trial = measure(run, {}, setup, Iperf3(), overhead_s=0.0).trial
    assert trial.status == "failed"
    assert "before the window" in str(trial.reason)


def test_datagrams_lost_and_out_of_order_are_kept() -> None:
    trial = measured(run_of("3.12-udp1500-loss-and-reorder", Case("udp-1500", "h1", "h2"))).trial
    assert trial.status == "done", trial.reason
    assert trial.packets is not None
    assert trial.lost_packets is not None
    assert trial.out_of_order_packets is not None
    assert trial.lost_ratio == pytest.approx(trial.lost_packets / trial.packets)


def test_the_busiest_cpu_of_each_role_stands_beside_its_mean() -> None:
    given = told(cpu("h2", 3, soft=0.95))
    host = replace(given.setup.hosts["h2"], cpus=(0, 1, 2, 3), irq_cpus=(1, 2, 3))
    window = given.trial().window
    assert window is not None
    found = end_result(host, "receiver", given.readings["h2"], window, [0, 1], 0.5, None)
    assert found.irq_cpu is not None
    assert found.hottest_irq is not None
    assert found.hottest_app is not None
    assert found.hottest_irq.cpus == (3,)
    assert found.hottest_irq.soft_ratio == pytest.approx(0.95, abs=0.02)
    assert found.irq_cpu.soft_ratio < 0.7
    assert found.hottest == found.hottest_irq
    assert found.hottest_app.cpus in ((0,), (1,))
    nobody = end_result(replace(host, irq_cpus=(1, 9)), "receiver", given.readings["h2"], window, [], 0, None)
    assert nobody.hottest_irq is None
    assert nobody.hottest_app is None


def test_a_niced_job_does_not_hide_which_cpu_is_full() -> None:
    """It leaves no CPU idle, and gives way to the load on each."""
    given = told(both(*(cpu("h2", number, soft=0.1, nice=0.9) for number in (1, 2)), cpu("h2", 3, soft=0.98)))
    host = replace(given.setup.hosts["h2"], irq_cpus=(1, 2, 3))
    window = given.trial().window
    assert window is not None
    found = end_result(host, "receiver", given.readings["h2"], window, [0], 0.5, None)
    assert found.hottest_irq is not None
    assert found.hottest is not None
    assert (found.hottest_irq.cpus, found.hottest.cpus) == ((3,), (3,))


def test_what_line_and_slot_carry_goes_with_the_trial() -> None:
    found = told(run(line_goodput_bps=9e9, line_kind="shaper", line_host="h1", pcie_goodput_bps={"h2": 5e10}))
    trial = found.trial()
    assert (trial.line_kind, trial.line_host) == ("shaper", "h1")
    assert trial.receiver is not None
    assert trial.receiver.pcie_goodput_bps == 5e10
