# SPDX-License-Identifier: Apache-2.0
"""Sentences of limits and findings, and how each of their numbers is counted again from the raw files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, linear_regression
from typing import Any

import pytest
from tests.truth.raw import Raw

LINE_BPS = {"tcp": 10e9 * 1448 / 1514, "udp-1500": 10e9 * 1472 / 1514, "udp-60": 10e9 * 18 / 60}
"""goodput of the lab's shaped link: tbf counts frames without preamble, gap and checksum"""
ROUNDED_S = 0.006
"""moments are said to 10 ms"""
ENDS = ("sender", "receiver")
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
SCALE = {"Gbps": 1e9, "Mbps": 1e6, "kbps": 1e3}
Case = Mapping[str, Any]
Pairs = Iterator[tuple[str, float]]
"""a number as said, and what the raw files make of it, in the unit said"""


def _role(words: str) -> tuple[str, str]:
    """``sender's app CPU`` → ("sender", "app_cpu")."""
    end = "sender" if "sender" in words else "receiver"
    return end, "irq_cpu" if "IRQ" in words else "app_cpu"


def _busiest(raw: Raw, words: str) -> tuple[str, int]:
    """Host and number of the busiest CPU of a role."""
    end, role = _role(words)
    host = raw.trial[end]["host"]
    return host, max(raw.trial[end][role]["cpus"], key=lambda cpu: raw.busy(host, [cpu]))


def _of_role(words: str, raws: Sequence[Raw], *columns: str) -> float:
    """Mean over the trials, %, of the busiest CPU of a role; without columns: not idle, and not niced."""
    own = []
    for raw in raws:
        host, cpu = _busiest(raw, words)
        own.append(raw.share(host, [cpu], *columns) if columns else raw.full(host, [cpu]))
    return 100 * fmean(own)


_COLUMNS: dict[str, tuple[str, ...]] = {name: (name,) for name in ("usr", "sys", "soft", "irq")}
_COLUMNS["other"] = ("nice", "iowait", "steal", "guest", "gnice")


def _cpu(found: re.Match[str], case: Case, raws: Sequence[Raw]) -> Pairs:
    yield found["busy"], _of_role(found["role"] or _single(case), raws)
    yield found["most"], _of_role(found["role"] or _single(case), raws, *_COLUMNS[found["column"]])
    if found["taken"]:
        yield found["taken"], _of_role(found["role"] or _single(case), raws, "steal")
    if found["waited"]:
        end, _ = _role(found["role"] or _single(case))
        yield found["waited"], 100 * fmean(raw.waited(raw.trial[end]["host"]) for raw in raws)


def _single(case: Case) -> str:
    """The role that a sentence is about which names but one: it says so before its evidence."""
    return str(case.get("limited_by", ""))


def _next(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    yield found["busy"], _of_role(found["role"], raws)
    if found["full"]:
        shares = [_of_role(found["role"], [raw]) for raw in raws]
        yield found["full"], sum(share >= float(found["threshold"]) for share in shares)
        yield found["trials"], len(raws)


def _asked(case: Case) -> float:
    return float(case["rate_bps"] * case["instances"])


def _arrived(found: re.Match[str], case: Case, raws: Sequence[Raw]) -> Pairs:
    yield found["ratio"], 100 * fmean(one.rate_bps("receiver") for one in raws) / _asked(case)
    yield found["asked"], _asked(case) / SCALE[found["unit"]]


def _missed(found: re.Match[str], case: Case, raws: Sequence[Raw]) -> Pairs:
    yield found["got"], fmean(one.rate_bps("receiver") for one in raws) / SCALE[found["got_unit"]]
    yield from _arrived(found, case, raws)


def _line(found: re.Match[str], case: Case, raws: Sequence[Raw]) -> Pairs:
    yield found["ratio"], 100 * fmean(one.rate_bps("receiver") for one in raws) / LINE_BPS[case["test"]]


def _lost(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    yield found["ratio"], 100 * fmean(one.datagrams("lost_packets") / one.datagrams() for one in raws)


def _datagrams(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    (raw,) = raws
    yield found["lost"], raw.datagrams("lost_packets")
    yield found["sent"], raw.datagrams()
    yield found["ratio"], 100 * raw.datagrams("lost_packets") / raw.datagrams()


def _receive_buffer(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    (raw,) = raws
    yield found["count"], raw.counted(found["host"], "UdpRcvbufErrors")
    if found["least"]:
        least, most = raw.counted_within(found["host"], "UdpRcvbufErrors")
        yield found["least"], least
        yield found["most"], most


def _dropped_at(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    (raw,) = raws
    yield found["count"], raw.counted(found["host"], "UdpRcvbufErrors")


def _dropped(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    own = [one.counted(one.trial["case"]["receiver"], "UdpRcvbufErrors") for one in raws]
    yield found["count"], fmean(own)


def _step(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """Two levels of a window, and what its mean is off from the longer one."""
    (raw,) = raws
    at_s = float(found["at"])
    before, after = _rates(raw, 0.0, at_s)
    yield found["before"], before / SCALE[found["before_unit"]]
    yield found["after"], after / SCALE[found["unit"]]
    yield found["window"], raw.seconds
    mean_change = raw.rate_bps("receiver") / (before if at_s > raw.seconds / 2 else after) - 1
    for said, change in ((found["change"], after / before - 1), (found["effect"], mean_change)):
        assert float(said.replace("−", "-")) == pytest.approx(100 * change, abs=1.0), found[0]


def _rates(raw: Raw, start_s: float, end_s: float) -> tuple[float, float]:
    """Mean rate of the intervals from one said moment to another, and of the others. Each lies wholly on one
    side, but for what rounding takes from what is said."""
    inside: list[float] = []
    outside: list[float] = []
    for begins_s, ends_s, rate_bps in raw.whole_intervals():
        is_inside = start_s - ROUNDED_S <= begins_s and ends_s <= end_s + ROUNDED_S
        assert is_inside or ends_s <= start_s + ROUNDED_S or end_s - ROUNDED_S <= begins_s, (start_s, end_s)
        (inside if is_inside else outside).append(rate_bps)
    return fmean(inside), fmean(outside)


def _slope(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """A straight line through all intervals: its first and its last point."""
    (raw,) = raws
    rates_bps = [rate_bps for *_, rate_bps in raw.whole_intervals()]
    line = linear_regression(range(len(rates_bps)), rates_bps)
    first_bps, last_bps = line.intercept, line.intercept + line.slope * (len(rates_bps) - 1)
    yield found["first"], first_bps / SCALE[found["first_unit"]]
    yield found["last"], last_bps / SCALE[found["unit"]]
    yield found["window"], raw.seconds
    change = 100 * (last_bps / first_bps - 1)
    assert float(found["change"].replace("−", "-")) == pytest.approx(change, abs=1.0), found[0]


def _low(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """The lowest intervals, and where the first of them begins and the last one ends."""
    (raw,) = raws
    spans = sorted(raw.whole_intervals(), key=lambda span: span[2])
    count = int(found["lows"])
    lows, others = spans[:count], spans[count:]
    assert float(found["start"]) == pytest.approx(min(span[0] for span in lows), abs=ROUNDED_S), found[0]
    assert float(found["end"]) == pytest.approx(max(span[1] for span in lows), abs=ROUNDED_S), found[0]
    low_bps, others_bps = (fmean(span[2] for span in part) for part in (lows, others))
    yield found["low"], low_bps / SCALE[found["low_unit"]]
    yield found["others"], others_bps / SCALE[found["unit"]]
    yield found["count"], len(spans)
    mean_change = raw.rate_bps("receiver") / (low_bps if len(lows) > len(others) else others_bps) - 1
    assert float(found["effect"].replace("−", "-")) == pytest.approx(100 * mean_change, abs=0.5)


def _warm_up(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """The first intervals, which are slower than all later ones together."""
    (raw,) = raws
    spans, count = raw.whole_intervals(), int(found["firsts"])
    first_bps, later_bps = (fmean(span[2] for span in part) for part in (spans[:count], spans[count:]))
    assert first_bps < later_bps, found[0]
    yield found["first"], first_bps / SCALE[found["first_unit"]]
    yield found["later"], later_bps / SCALE[found["unit"]]
    yield found["count"], len(spans)
    yield found["seconds"], spans[count - 1][1] - spans[0][0]
    mean_change = raw.rate_bps("receiver") / later_bps - 1
    assert float(found["effect"].replace("−", "-")) == pytest.approx(100 * mean_change, abs=0.5), found[0]


def _segment(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """A time apart from what is before and after it."""
    (raw,) = raws
    inside, outside = _rates(raw, float(found["start"]), float(found["end"]))
    yield found["inside"], inside / SCALE[found["inside_unit"]]
    yield found["outside"], outside / SCALE[found["unit"]]
    yield found["window"], raw.seconds
    level = outside if float(found["end"]) - float(found["start"]) < raw.seconds / 2 else inside
    mean_change = raw.rate_bps("receiver") / level - 1
    assert float(found["effect"].replace("−", "-")) == pytest.approx(100 * mean_change, abs=1.0), found[0]


def _stolen(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """Cores of all CPUs that a host of the lab has."""
    (raw,) = raws
    (its,) = (raw.trial[end] for end in ENDS if raw.trial[end]["host"] == found["host"])
    cpus = sorted({cpu for role in ("app_cpu", "irq_cpu") for cpu in its[role]["cpus"]})
    yield found["taken"], len(cpus) * raw.share(found["host"], cpus, "steal")
    yield found["used"], len(cpus) * raw.busy(found["host"], cpus)


def _silence(found: re.Match[str], case: Case, raws: Sequence[Raw]) -> Pairs:
    """The sentence is about one of both ends, and does not say which: the one that was silent longest."""
    (raw,) = raws
    longest_s, usual_s = max(raw.silence(case[end]) for end in ENDS)
    yield found["silent"], longest_s
    yield found["usual"], usual_s


def _layout(found: re.Match[str], _: Case, raws: Sequence[Raw]) -> Pairs:
    """What stands in the plan: the CPUs of the trials, and how many instances they have."""
    known = {"CPU": {cpu for raw in raws for end in ENDS for cpu in raw.trial[end]["app_cpu"]["cpus"]}}
    known["instances"] = {len(raw.trial["instances"]) for raw in raws}
    for key, numbers in (("cpu", known["CPU"]), ("count", known["instances"])):
        if key in found.groupdict():
            assert int(found[key]) in numbers, found[0]
            yield found[key], float(found[key])


Claim = Callable[[re.Match[str], Case, Sequence[Raw]], Pairs]
_ROLE = r"(?P<role>(?:the )?(?:sender|receiver)'s (?:app|IRQ) CPU)"
_UNIT = r"(?P<unit>[GMk]bps)"
CLAIMS: tuple[tuple[str, Claim], ...] = (
    (
        rf"(?:{_ROLE} )?(?P<busy>{NUMBER}) % busy, (?P<most>{NUMBER}) % (?P<column>usr|sys|soft|irq|other)"
        rf"(?:; (?P<taken>{NUMBER}) % of its time taken by a hypervisor)?"
        rf"(?:; a thread of the load waited for a CPU (?P<waited>{NUMBER}) % of the time)?",
        _cpu,
    ),
    (
        rf"{_ROLE}, (?P<busy>{NUMBER}) %"
        r"(?:: (?P<threshold>\d+) % or more in (?P<full>\d+) of (?P<trials>\d+) trials)?",
        _next,
    ),
    (
        rf"(?P<got>{NUMBER}) (?P<got_unit>[GMk]bps) arrived of the requested (?P<asked>{NUMBER}) {_UNIT} "
        rf"\((?P<ratio>{NUMBER}) %\)",
        _missed,
    ),
    (rf"(?P<ratio>{NUMBER}) % of (?:the )?(?P<asked>{NUMBER}) {_UNIT}(?: asked for)? arrived", _arrived),
    (rf"(?P<ratio>{NUMBER}) % of the goodput that the line can carry", _line),
    (rf"shaper of the line, (?P<ratio>{NUMBER}) %", _line),
    (rf"(?P<ratio>{NUMBER}) % of what was sent did not arrive", _lost),
    (
        rf"(?P<lost>{NUMBER}) of (?P<sent>{NUMBER}) datagrams lost in the window "
        rf"\((?P<ratio>{NUMBER}) %\)",
        _datagrams,
    ),
    (
        rf"(?P<count>{NUMBER}) in the receive buffer of the UDP socket on (?P<host>h\d+)"
        r"(?:; counters are read every 1 s: "
        rf"(?P<least>{NUMBER}) to (?P<most>{NUMBER}) in the window)?",
        _receive_buffer,
    ),
    (
        rf"(?P<host>h\d+): dropped in the window: (?P<count>{NUMBER}) in the receive buffer of the UDP "
        r"socket \(nstat\.UdpRcvbufErrors\)",
        _dropped_at,
    ),
    (rf"receiver's UDP socket buffer \(?(?P<count>{NUMBER}) packets dropped per trial", _dropped),
    (
        rf"(?P<host>h\d+): the hypervisor took (?P<taken>{NUMBER}) cores \(steal\), "
        rf"(?P<used>{NUMBER}) cores were used",
        _stolen,
    ),
    (
        rf"throughput (?:rises|falls) at (?P<at>{NUMBER}) s, from (?P<before>{NUMBER}) "
        rf"(?P<before_unit>[GMk]bps) to (?P<after>{NUMBER}) {_UNIT} \((?P<change>[+−]{NUMBER}) %\) within "
        rf"the window of (?P<window>{NUMBER}) s; it changes the mean by (?P<effect>[+−]{NUMBER}) %",
        _step,
    ),
    (
        rf"throughput (?:rises|falls) steadily, from (?P<first>{NUMBER}) (?P<first_unit>[GMk]bps) to "
        rf"(?P<last>{NUMBER}) {_UNIT} \((?P<change>[+−]{NUMBER}) %\) within the window of "
        rf"(?P<window>{NUMBER}) s",
        _slope,
    ),
    (
        rf"throughput is (?P<low>{NUMBER}) (?P<low_unit>[GMk]bps) in (?P<lows>\d+) of (?P<count>\d+) "
        r"intervals "
        rf"\(within (?P<start>{NUMBER}) s to (?P<end>{NUMBER}) s\) and (?P<others>{NUMBER}) {_UNIT} in "
        rf"the others; it changes the mean by (?P<effect>[+−]{NUMBER}) %",
        _low,
    ),
    (
        rf"the first (?P<firsts>\d+) of (?P<count>\d+) intervals \((?P<seconds>{NUMBER}) s\) run at "
        rf"(?P<first>{NUMBER}) (?P<first_unit>[GMk]bps), the rest at (?P<later>{NUMBER}) {_UNIT}; it "
        rf"changes the mean by (?P<effect>[+−]{NUMBER}) %",
        _warm_up,
    ),
    (
        rf"throughput (?:rises|falls) from (?P<start>{NUMBER}) s to (?P<end>{NUMBER}) s, to "
        rf"(?P<inside>{NUMBER}) (?P<inside_unit>[GMk]bps) from (?P<outside>{NUMBER}) {_UNIT} before and "
        rf"after, within the window of (?P<window>{NUMBER}) s; it changes the mean by "
        rf"(?P<effect>[+−]{NUMBER}) %",
        _segment,
    ),
    (
        rf"no CPU reading for (?P<silent>{NUMBER}) s \(usually one every (?P<usual>{NUMBER}) s\)",
        _silence,
    ),
    (r"(?P<count>\d+) instances run on CPU (?P<cpu>\d+)", _layout),
    (r"CPU (?P<cpu>\d+) runs a load process and does the receive work", _layout),
)


def check_sentence(sentence: str, case: Case, raws: Sequence[Raw]) -> int:
    """Count again every number of a sentence; how many there were. One that no claim covers is an error."""
    checked, left = 0, sentence
    for pattern, claim in CLAIMS:
        for found in re.finditer(pattern, left):
            for said, counted in claim(found, case, raws):
                decimals = len(said.partition(".")[2])
                room = max(0.6 * 10**-decimals, 0.01 * counted)
                value = float(said.replace(",", ""))
                assert value == pytest.approx(counted, abs=room), f"{sentence}: {said} is {counted:.4g}"
                checked += 1
        left = re.sub(pattern, "", left)
    names = re.sub(r"\bh\d+\b|from \d+ % on", "", left)
    assert not re.search(r"\d", names), f"nobody counts again what is said here: {left!r} in {sentence!r}"
    return checked
