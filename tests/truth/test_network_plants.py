# SPDX-License-Identifier: Apache-2.0
"""Planted truths about networks and loads that need no lab: what happened is known, and what must be said.

Each is a story of two hosts (tests/wiring.py) that goes through ``measure()`` and the limit finder. The table
"network and loads" of docs/truth.md has a row for each, with its sentence.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.truth.cut_files import got
from tests.wiring import (
    APP,
    DATAGRAM,
    FACTS,
    GOODPUT_BPS,
    IRQ,
    SECONDS,
    WINDOW_S,
    Change,
    Given,
    Story,
    afterwards,
    both,
    case,
    counters,
    cpu,
    early,
    of_users,
    rates,
    readback,
    run,
    segments,
    story,
    told,
)

from linewatt.analysis.cases.rate_search import Goal, find_rate_searches, next_rate_step
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.engine.live.trial_run import InstanceOutput
from linewatt.model import Case, Trial, Window
from linewatt.network.framing import BARE, Framing
from linewatt.records import RateRule
from linewatt.report.trials.searches.searches import bound_words

DOCS = Path(__file__).parents[2] / "docs"
UDP = story(udp=True)
TWO = story(placed=(("0", "0"), ("2", "2")))


@dataclass(frozen=True)
class Plant:
    """A truth as a change of a healthy trial, and what linewatt must say of it.

    ``sentence`` is in what limits the case, in the evidence of a finding or in the reason of a failed trial.
    ``findings`` are all that are raised; ``limits`` the kinds of the limit, ``unknown`` of a failed trial.
    """

    change: Change
    sentence: str
    findings: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ("not-found",)


def edited(instance: int, change: Mapping[str, Any]) -> Change:
    """What one instance left behind: fields of its output, or other text of its ends."""

    def outputs(given: Given) -> Given:
        kept = list(given.run.outputs)
        kept[instance] = replace(kept[instance], **change)
        return replace(given, run=replace(given.run, outputs=tuple(kept)))

    return afterwards(outputs)


def output_of(change: Any) -> Change:
    """The output of the first instance, by a function from output to output."""

    def outputs(given: Given) -> Given:
        first, *others = given.run.outputs
        return replace(given, run=replace(given.run, outputs=(change(first), *others)))

    return afterwards(outputs)


def _of_server(output: InstanceOutput, change: Any) -> InstanceOutput:
    """Its server's JSON, by a function from document to document."""
    assert output.server is not None
    document = change(json.loads(output.server.stdout))
    return replace(output, server=replace(output.server, stdout=json.dumps(document)))


def _nobody_came(document: dict[str, Any]) -> dict[str, Any]:
    """As iperf3 3.12 writes when it is ended before any client came."""
    start = {"connected": [], "version": document["start"]["version"]}
    return {"start": start, "intervals": [], "end": {}, "error": "interrupt - the server has terminated"}


def _counted_twice(document: dict[str, Any]) -> dict[str, Any]:
    """One datagram in twenty comes twice: its bytes are counted again, and it is out of order."""
    for interval in document["intervals"]:
        for stream in interval["streams"]:
            stream["bytes"] = round(stream["bytes"] * 1.05)
    packets = sum(stream["packets"] for one in document["intervals"] for stream in one["streams"])
    document["end"]["streams"][0]["udp"]["out_of_order"] = packets // 20
    return document


def _not_released(output: InstanceOutput) -> InstanceOutput:
    assert output.client is not None
    return replace(output, client=replace(output.client, started_s=None, stdout=""))


def _without_the_second(given: Given) -> Given:
    return replace(given, run=replace(given.run, outputs=given.run.outputs[:1]))


def neighbour(rate_bps: float) -> Change:
    """Somebody else's TCP between the same two interfaces, all the time."""
    carried = rate_bps / 8 * WINDOW_S * 1.046  # with headers
    return both(counters("h1", "nic.tx_bytes", carried), counters("h2", "nic.rx_bytes", carried))


def cut_files(ends: Literal["completes", "closes"], *, says_size: bool) -> Change:
    """Users of a server that cuts one file of three; each second they do what one really did with it."""

    def change(told: Story) -> Story:
        files = got(12, 3, ends, says_size=says_size)
        (kind,) = files.failures
        users = of_users(
            received_bytes=files.received_bytes, gets=files.gets, puts=0, failures=files.failures
        )
        complaints = run(complaints=(f"{kind}: {files.line}",))
        return both(users, complaints)(told)

    return change


def offloads(host: str, **features: str) -> Change:
    """What ethtool -k shows at one end; all else is on at both."""
    names = ("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload")
    on = {**FACTS, **{f"nic.offloads.{name}": "on" for name in names}}
    off = {f"nic.offloads.{name.replace('_', '-')}": value for name, value in features.items()}
    facts = {name: {**on, **(off if name == host else {})} for name in ("h1", "h2")}
    return both(*(change(name, facts=facts[name]) for name in facts for change in (early, readback)))


SAWTOOTH = [2e9 + 0.25e9 * (second % 6) for second in range(SECONDS)]
HALF_BPS = GOODPUT_BPS / 2
SENT_BYTES = GOODPUT_BPS / 8 * WINDOW_S
TWICE_BPS = 5e9
RING = counters("h2", "nic.rx_missed_errors", 0.1 * GOODPUT_BPS / 8 / DATAGRAM * WINDOW_S)

PLANTS: dict[str, Plant] = {
    "a policer on the way": Plant(
        both(rates(SAWTOOTH), story(again=0.02)),
        "the sender dropped none, the receiver none: lost or reordered on the path",
        frozenset({"tcp-retransmits"}),
        ("retransmits",),
    ),
    "a policer that UDP does not heed": Plant(
        both(UDP, case(rate_bps=5e9), rates(5e9), story(lost=0.6)),
        "no counter of either host recorded them, so check the path between the hosts",
        frozenset({"udp-loss", "rate-not-reached"}),
    ),
    "loss of TCP in the receiver's ring": Plant(
        both(rates(3e9), story(again=0.02), counters("h2", "nic.rx_missed_errors", 95_000)),
        "packets a trial, most of them in the receive ring (missed)",
        frozenset({"tcp-retransmits", "packets-dropped"}),
        ("retransmits",),
    ),
    "loss of UDP in the receiver's ring": Plant(
        both(UDP, story(lost=0.1), RING),
        "the receiver's NIC ring",
        frozenset({"udp-loss"}),
        ("receiver-ring",),
    ),
    "two campaigns between the same interfaces": Plant(
        both(rates(HALF_BPS), neighbour(HALF_BPS)),
        "Gbps of other traffic",
        frozenset({"neighbour-traffic"}),
    ),
    "a neighbour behind the bridge, which ends in mid-window": Plant(
        rates([HALF_BPS] * 12 + [GOODPUT_BPS * 0.99] * 12),
        "throughput rises at 10 s",
        frozenset({"throughput-drifts"}),
    ),
    "ends of different MTU": Plant(
        both(segments(1448), run(framings={"h1": Framing(9000), "h2": BARE})),
        "the MTU of h1 (9,000 bytes) has room for 8,948 bytes: the MTU of h2 is 1,500 bytes",
        frozenset({"segments-small"}),
        ("line-rate",),
    ),
    "an MSS that is clamped on the way": Plant(
        both(segments(1448), run(framings=dict.fromkeys(("h1", "h2"), Framing(9000)))),
        "has room for 8,948 bytes: the path allows less",
        frozenset({"segments-small"}),
        ("line-rate",),
    ),
    "traffic on another interface than planned": Plant(
        both(
            counters("h2", "nic.rx_bytes", -SENT_BYTES), counters("h2", "nic.rx_packets", -SENT_BYTES / 1448)
        ),
        "total: the load took another interface",
        frozenset({"load-not-on-interface"}),
    ),
    "datagrams that come twice": Plant(
        both(
            UDP,
            rates(TWICE_BPS),
            output_of(lambda output: _of_server(output, _counted_twice)),
            counters("h2", "nic.rx_bytes", 0.05 * TWICE_BPS / 8 * WINDOW_S * 1.03),
        ),
        "; only 5.00 Gbps of payload were sent, so datagrams arrived twice and were counted twice",
        frozenset({"goodput-above-interface", "udp-out-of-order"}),
    ),
    "a link that came up slower in mid-window": Plant(
        both(
            early("h1", facts={"nic.speed_bps": "10000000000"}),
            readback("h1", facts={"nic.speed_bps": "1000000000"}),
            rates([GOODPUT_BPS * 0.99] * 12 + [GOODPUT_BPS * 0.1] * 12),
        ),
        "speed_bps was 10000000000 before the window and 1000000000 after it",
        frozenset({"configuration-changed", "throughput-drifts"}),
    ),
    "GRO is off at the receiver alone": Plant(
        both(
            rates(4e9),
            offloads("h2", generic_receive_offload="off"),
            cpu("h2", IRQ, soft=0.98),
        ),
        "generic-receive-offload on at h1, off at h2",
        frozenset({"offloads-differ"}),
        ("receiver-irq-cpu",),
    ),
    "TSO and GSO are off at the sender alone": Plant(
        both(
            rates(5e9),
            offloads("h1", tcp_segmentation_offload="off", generic_segmentation_offload="off"),
            cpu("h1", APP, usr=0.02, sys=0.96),
            story(load_cores={"h1": 0.98, "h2": 0.6}),
        ),
        "tcp-segmentation-offload off at h1, on at h2; generic-segmentation-offload off at h1, on at h2",
        frozenset({"offloads-differ", "test-bed-is-the-limit"}),
        ("sender-app-cpu",),
    ),
    "a clock that is set ahead": Plant(
        story(clock_steps={"h1": (12, 3.0)}),
        "h1: its clock was set by +3.000 s in mid-trial",
        limits=("unknown",),
    ),
    "a clock that is set back": Plant(
        story(clock_steps={"h1": (12, -3.0)}),
        "h1: its clock was set by -3.000 s in mid-trial",
        limits=("unknown",),
    ),
    "a client's clock that is set while users work": Plant(
        both(of_users(), story(clock_steps={"h1": (12, -3.0)})),
        "h1: its clock was set by -3.000 s in mid-trial",
        limits=("unknown",),
    ),
    "a file server that cuts files short": Plant(
        cut_files("completes", says_size=True),
        "get file-short: 127.0.0.1:",
        frozenset({"many-transfers-failed"}),
    ),
    "a file server that closes early": Plant(
        cut_files("closes", says_size=True),
        "get connection-lost: 127.0.0.1:",
        frozenset({"many-transfers-failed"}),
    ),
    "a file server that cuts files and says no size": Plant(
        cut_files("completes", says_size=False),
        "16384 bytes of 65536 came; so many came when it was first got",
        frozenset({"many-transfers-failed"}),
    ),
    "another server answers at the port": Plant(
        output_of(lambda output: _of_server(output, _nobody_came)),
        "another server answered at its address and port 5201",
        limits=("unknown",),
    ),
    "an instance that never started": Plant(
        both(TWO, afterwards(lambda given: _second(given, _not_released))),
        "instance 1: its client never started",
        limits=("unknown",),
    ),
    "an instance whose server left nothing": Plant(
        both(TWO, edited(1, {"server": None})), "instance 1 left no output", limits=("unknown",)
    ),
    "the results of an instance are lost": Plant(
        both(TWO, afterwards(_without_the_second)),
        "results of 1 of 2 instances: instance 1 left no output",
        limits=("unknown",),
    ),
}
"""truth → how it is planted and what must be said"""


def _second(given: Given, change: Any) -> Given:
    first, second = given.run.outputs
    return replace(given, run=replace(given.run, outputs=(first, change(second))))


def sentences(trial: Trial, summary: CaseSummary) -> list[str]:
    """All that is said of a trial: of what limits it, its findings, and why it failed."""
    flags = [*trial.flags, *summary.case_flags]
    return [summary.limit.words, *(flag.evidence for flag in flags), *filter(None, [trial.reason])]


@pytest.mark.parametrize("truth", PLANTS)
def test_a_planted_truth_is_told(truth: str) -> None:
    plant = PLANTS[truth]
    trial = told(plant.change).trial()
    (summary,) = summarise([trial])
    found = sentences(trial, summary)
    assert any(plant.sentence in one for one in found), found
    assert {flag.code for flag in (*trial.flags, *summary.case_flags)} == plant.findings, found
    assert summary.limit.kinds == plant.limits, summary.limit.words
    assert (trial.status == "failed") == (plant.limits == ("unknown",)), trial.reason


def test_a_path_with_a_fifth_of_the_rate_one_way_is_told_with_both_figures() -> None:
    ways = [
        told(both(case(sender=sender, receiver=receiver), rates(rate_bps))).trial()
        for sender, receiver, rate_bps in (("h1", "h2", 9e9), ("h2", "h1", 1.8e9))
    ]
    slower = next(one for one in summarise(ways) if one.case.sender == "h2")
    (evidence,) = [flag.evidence for flag in slower.case_flags if flag.code == "directions-differ"]
    assert evidence.startswith("1.80 Gbps; h1 → h2 has 9.00 Gbps, 5.0 times as much")


# --- searches of a rate ---------------------------------------------------------------------------------

SEARCH = Case("udp-1500", "h1", "h2", search="rate")
OMITTED_S, SEARCHED_S = 2.0, 10.0
SENDER_BPS = 5e9
CARRIED_BPS = 2e9
Lost = Callable[[float, int], tuple[float, int]]
"""rate that is offered in bit/s, and its datagrams → rate that arrives, and datagrams that are lost"""


def step(number: int, rate_bps: float | None, lost: Lost) -> Trial:
    """One trial of a search over a device."""
    offered_bps = min(rate_bps or SENDER_BPS, SENDER_BPS)
    packets = round(offered_bps * SEARCHED_S / 8 / DATAGRAM)
    arrived_bps, lost_packets = lost(offered_bps, packets)
    wanted = replace(SEARCH, rate_bps=rate_bps)
    return Trial(
        number,
        1,
        wanted,
        wanted.key,
        "done",
        70.0 * number,
        window=Window(70.0 * number, 70.0 * number + SEARCHED_S),
        throughput_bps=arrived_bps,
        offered_bps=offered_bps,
        packets=packets,
        lost_packets=lost_packets,
        lost_ratio=lost_packets / packets,
    )


def goal_of(lost: Lost) -> tuple[Goal, str]:
    """The rate without loss that a search finds, and what is said of it."""
    rule = RateRule(loss_ratios=(0.0,), width_ratio=0.005, runs=1, trials=40)
    trials = list[Trial]()
    while (wanted := next_rate_step(rule, trials)).ended is None:
        trials.append(step(len(trials) + 1, wanted.rate_bps, lost))
    (search,) = find_rate_searches(trials, rule)
    return search.goals[0], bound_words(search.goals[0], search)


def queue(seconds: float) -> Lost:
    """A queue that holds so much of what the line behind it carries; what is more is lost once it is full."""

    def lost(offered_bps: float, packets: int) -> tuple[float, int]:
        above_bps = max(0.0, offered_bps - CARRIED_BPS)
        full_s = seconds * CARRIED_BPS / above_bps if above_bps else math.inf
        lost_s = max(0.0, OMITTED_S + SEARCHED_S - max(OMITTED_S, full_s))
        return min(offered_bps, CARRIED_BPS), round(above_bps * lost_s / 8 / DATAGRAM)

    return lost


def random_loss(ratio: float, seed: int) -> Lost:
    """A line that loses one datagram in so many at any rate, and all that is more than it carries."""
    drawn = random.Random(seed)  # noqa: S311  loss, no secret

    def lost(offered_bps: float, packets: int) -> tuple[float, int]:
        excess = round(packets * max(0.0, 1 - CARRIED_BPS / offered_bps))
        some, waited = 0, drawn.expovariate(ratio)
        while waited < packets - excess:
            some, waited = some + 1, waited + drawn.expovariate(ratio)
        return offered_bps * (1 - (some + excess) / packets), some + excess

    return lost


@pytest.mark.parametrize("seconds", [0.0, 1.0, 5.0])
def test_a_rate_that_a_queue_takes_for_a_while_is_not_the_one_that_is_carried(seconds: float) -> None:
    goal, words = goal_of(queue(seconds))
    assert goal.rate_bps == pytest.approx(CARRIED_BPS, rel=0.0105), words
    if seconds:
        assert "not arrived when the window ended (a queue filled up)" in words


@pytest.mark.parametrize("seed", range(5))
def test_a_rate_that_lost_nothing_by_chance_is_none(seed: int) -> None:
    goal, words = goal_of(random_loss(1e-5, seed))
    assert goal.rate_bps is None, words
    assert "chance decided, not the rate" in words
    assert "to 1.9" in words or "to 2.0" in words, "up to where the line is full"


def test_a_loss_that_no_trial_can_see_leaves_the_rate_that_is_carried() -> None:
    goal, words = goal_of(random_loss(1e-8, 0))
    assert goal.rate_bps == pytest.approx(CARRIED_BPS, rel=0.01), words
    assert goal.state == "found"


# --- their document ---------------------------------------------------------------------------------------


def test_every_truth_has_its_row_with_the_verdict() -> None:
    _, _, text = (DOCS / "truth.md").read_text().partition("### Network and loads")
    rows = [line.strip("| ").split(" | ") for line in text.partition("\n### ")[0].splitlines() if "|" in line]
    verdicts = {row[0]: row[3] for row in rows}
    for truth, plant in PLANTS.items():
        assert truth in verdicts
        limits = {f"limit `{kind}`" for kind in plant.limits} - {
            "limit `not-found`",
            "limit `unknown`",
            "limit `line-rate`",
        }
        assert all(one in verdicts[truth] for one in limits), truth
        assert all(f"`{code}`" in verdicts[truth] for code in plant.findings), truth
        assert (verdicts[truth] == "failed") == (plant.limits == ("unknown",)), truth
