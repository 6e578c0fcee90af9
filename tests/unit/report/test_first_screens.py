# SPDX-License-Identifier: Apache-2.0
"""The first screen of every kind of result: short, never broken in a figure, and true to its data.

``LINEWATT_GOLDEN=keep`` writes the screens below ``tests/captures/first-screens`` anew; their difference
belongs into the review.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.first_screens import KINDS, command
from tests.report_factories import powered, renumbered, result, scaling_trials, trial
from tests.unit.conftest import Run

from linewatt.cli import output
from linewatt.findings import kind_of
from linewatt.findings.all_kinds import catalogue
from linewatt.model import Case, Flag, Trial
from linewatt.report.findings import letter_ranges
from linewatt.report.printing.screen import MOST_LINES, fitted
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import digest_of
from linewatt.store.read import Result

KEPT = Path(__file__).parents[2] / "captures" / "first-screens"
WIDTHS = (80, 120)
EVERY = [(kind, width) for kind in KINDS for width in WIDTHS]

NUMBER = r"[+−]?\d[\d,]*(?:\.\d+)?"
UNITS: dict[str, float] = {
    "Gbps": 1e-9,
    "Mbps": 1e-6,
    "% per Gbps": 1e11,
    "%": 100,
    "Mbps/core": 1e-6,
    "Mbps/W": 1e-6,
    "cores": 1,
    "W": 1,
    "J/GB": 1,
    "GB": 1e-9,
    "TB": 1e-12,
    "CPU-s/Gbit": 1,
    "ms": 1e3,
    "instances": 1,
    "instance": 1,
    "trials": 1,
    "trial": 1,
    "packets": 1,
    "transfers": 1,
    "slices": 1,
    "users": 1,
    "per million": 1e6,
}
UNIT = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
FIGURE = re.compile(rf"(?<![\w.])({NUMBER}) ({UNIT})(?![\w/])")
SPAN = re.compile(rf"\((?:CI )?({NUMBER}) to ({NUMBER})(?: %)?\)")


@dataclass(frozen=True)
class Claim:
    """A figure of a screen: in which section, about what, how it is written, and in which unit."""

    section: str
    subject: str
    text: str
    unit: str
    before: str = ""
    """what stands on its line before it"""

    def moved(self, steps: int) -> Claim:
        """The same, off by some units of its last digit."""
        decimals = len(self.text.partition(".")[2])
        value = self.value + steps * 10**-decimals
        return replace(self, text=f"{value:.{decimals}f}")

    @property
    def value(self) -> float:
        return float(self.text.replace(",", "").replace("−", "-").replace("+", ""))

    def is_among(self, facts: Iterator[Fact]) -> bool:
        """Whether one of them, rounded as it is written, is it."""
        step = 10 ** -len(self.text.partition(".")[2])
        return any(
            abs(one.value * UNITS[self.unit] - self.value) <= 0.5001 * step
            for one in facts
            if one.kind == KIND_OF.get(self.unit, self.unit)
        )


@dataclass(frozen=True)
class Fact:
    """A value of the document, SI: rate, share, cores, per-core, W, per-W or count."""

    kind: str
    value: float


KIND_OF = {
    "Gbps": "rate",
    "Mbps": "rate",
    "Mbps/core": "rate",
    "Mbps/W": "rate",
    "%": "share",
    "% per Gbps": "per-rate",
    "GB": "bytes",
    "TB": "bytes",
    "ms": "s",
    "per million": "share",
    **dict.fromkeys(
        ("instances", "instance", "trials", "trial", "packets", "transfers", "slices", "users"), "count"
    ),
}


@dataclass(frozen=True)
class Printed:
    """The screens of a kind by their width, and its document."""

    screens: Mapping[int, str]
    document: str


@pytest.fixture(scope="module")
def printed() -> dict[str, Printed]:
    """Kind → its screens, of those that were printed."""
    return {}


@pytest.fixture
def screen(run: Run, monkeypatch: pytest.MonkeyPatch, printed: dict[str, Printed]) -> Any:
    """The lines that a command prints in a terminal of so many columns, and its document."""

    def asked(kind: str, width: int) -> tuple[list[str], dict[str, Any]]:
        if kind not in printed:
            printed[kind] = made(kind)
        return printed[kind].screens[width].split("\n"), json.loads(printed[kind].document)

    def made(kind: str) -> Printed:
        paths = KINDS[kind]()
        words = command(kind, paths)
        document = json.loads(run(*words, "--json")[1])
        if kind == "vxlan":
            document["toll"] = json.loads(run("compare", paths[0].name, "--by", "network", "--json")[1])[
                "comparisons"
            ]
        if kind == "soak":
            document["slices_bps"] = slices_bps(paths[0])
        screens = {width: printed_in(width, words) for width in WIDTHS}
        return Printed(screens, json.dumps(document))

    def printed_in(width: int, words: Sequence[str]) -> str:
        with monkeypatch.context() as patch:
            for module in ("show", "compare"):
                name = f"linewatt.cli.actions.{module}.print_rich"
                patch.setattr(name, lambda render, **_: output.put(render(width).plain))
            return run(*words)[1].removesuffix("\n")

    return asked


@pytest.mark.parametrize(("kind", "width"), EVERY)
def test_a_first_screen_is_as_it_was_kept_and_no_longer_than_a_terminal(
    screen: Any, kind: str, width: int
) -> None:
    lines, _ = screen(kind, width)
    path = KEPT / f"{kind}-{width}.txt"
    if os.environ.get("LINEWATT_GOLDEN") == "keep":
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    assert lines == path.read_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") or "…" in line for line in lines)


@pytest.mark.parametrize(("kind", "width"), EVERY)
def test_no_line_ends_inside_a_figure(kind: str, width: int) -> None:
    """A number at the end of a line has no unit to come, nor one at its beginning a number before it."""
    lines = (KEPT / f"{kind}-{width}.txt").read_text().splitlines()
    for line, following in pairwise(lines):
        if following.startswith("    ") and re.search(rf"(?<![\w.:=-]){NUMBER}$", line):
            assert not re.match(rf"\s*(?:{UNIT})\b", following), (line, following)
        assert not re.search(r"[±(]$", line)
        assert not re.match(r"\s*%", following)


@pytest.mark.parametrize(("kind", "width"), EVERY)
def test_every_figure_of_a_first_screen_is_that_of_its_data(screen: Any, kind: str, width: int) -> None:
    lines, document = screen(kind, width)
    found = list(claims(lines))
    assert len(found) >= FEWEST[kind]
    wrong = [one for one in found if not one.is_among(FACTS[kind](document, one))]
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_that_is_off_by_a_few_of_its_last_digit_is_noticed(screen: Any, kind: str) -> None:
    """Or the test above could not fail."""
    lines, document = screen(kind, 120)
    found = [one.moved(steps) for one in claims(lines) for steps in (3, -3)]
    taken = [one for one in found if one.is_among(FACTS[kind](document, one))]
    assert len(taken) <= 0.1 * len(found), taken


def slices_bps(path: Path) -> list[float]:
    """Payload a second of each slice, from the samples of users, whose counters are read at its ends."""
    rows = duckdb.execute(
        "SELECT time_s, sum(value) FROM read_parquet(?) WHERE source = 'users' AND channel IN "
        "('users.received_bytes', 'users.sent_bytes') GROUP BY time_s ORDER BY time_s",
        [f"{path}/soak/*/*.parquet"],
    ).fetchall()
    return [8 * (b - a) / (end - start) for (start, a), (end, b) in pairwise(rows)]


def claims(lines: list[str]) -> Iterator[Claim]:
    """Every number with a unit; ends of an interval have the unit of the figure before them."""
    section = subject = ""
    for line in lines:
        if not line.startswith(" "):
            section = line.partition("  ")[0] if re.match(r"[A-Z]{4}", line) else "HEAD"
            subject = line
        elif re.match(r"  \S", line):
            subject = line.strip()
        unit = ""
        for found in re.finditer(rf"{FIGURE.pattern}|{SPAN.pattern}", line):
            text, own, low, high = found.groups()
            if own:
                unit = own
                if not re.search(r"\d s$", line[: found.end()]):
                    yield Claim(section, subject, text, own, line[: found.start()])
            elif unit:
                yield Claim(section, subject, low, unit, line[: found.start()])
                yield Claim(section, subject, high, unit, line[: found.start()])


def rates(one: dict[str, Any], *keys: str) -> Iterator[Fact]:
    for key in keys:
        for name in (f"{key}_mean", f"{key}_ci95_low", f"{key}_ci95_high"):
            if one.get(name) is not None:
                yield Fact("rate", one[name])


def of_case(one: dict[str, Any]) -> Iterator[Fact]:
    """What a case reached, how full its candidates are, and what it is."""
    yield from rates(one, "throughput_bps")
    for key in ("line_rate_ratio_mean", "lost_ratio_mean"):
        if one.get(key) is not None:
            yield Fact("share", one[key])
    for each in one["limit"]["candidates"]:
        yield Fact("share", min(1.0, each["share_mean"]))
    yield Fact("count", one["instances"])
    yield Fact("count", one["trials_done"])


def of_cost(one: dict[str, Any], role: str) -> Iterator[Fact]:
    """What one end of a case took."""
    yield from rates(one, f"efficiency_{role}_bps_per_core")
    yield Fact("cores", one[f"{role}_cpu_cores_mean"])
    for key in (f"{role}_system_w_mean", f"{role}_dynamic_w_mean"):
        if one.get(key) is not None:
            yield Fact("W", one[key])
    if one.get(f"{role}_system_mbps_per_w_mean") is not None:
        yield Fact("rate", one[f"{role}_system_mbps_per_w_mean"] * 1e6)


def of_change(one: dict[str, Any]) -> Iterator[Fact]:
    """A change and the ends of its interval: relative, or of shares; also without its sign."""
    for key in ("ratio", "ratio_low", "ratio_high"):
        if one.get(key) is not None:
            yield Fact("share", one[key] - 1)
            yield Fact("share", 1 - one[key])
    for key in ("difference", "difference_low", "difference_high"):
        if one.get(key) is not None:
            yield Fact("share", one[key])


def fastest(cases: list[dict[str, Any]]) -> dict[str, Any]:
    full = [one for one in cases if one.get("load_level") is None]
    return max(full, key=lambda one: one["throughput_bps_mean"] or 0)


def head(document: dict[str, Any]) -> Iterator[Fact]:
    yield Fact("count", document["trials_planned"])
    yield Fact("count", document["trials_done"])


TESTS = {"UDP 1500": "udp-1500", "UDP 60": "udp-60", "TCP": "tcp"}


def cases_of_test(claim: Claim, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    test = next((code for name, code in TESTS.items() if claim.subject.startswith(name)), None)
    return [one for one in cases if test is None or one["test"] == test]


def in_campaign(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    cases = document["cases"]
    if claim.section == "HEAD":
        yield from head(document)
    elif claim.section.startswith("COST"):
        yield from of_cost(fastest(cases), claim.subject.partition(" ")[0])
    elif claim.section == "RESULT":
        yield Fact("share", 0.95)
        yield from of_case(fastest(cases_of_test(claim, cases)))


def in_ports(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    yield from in_campaign(document, claim)
    if claim.section == "RESULT":
        last = fastest(document["cases"])
        told = re.search(rf"brought ({NUMBER}) % \(({NUMBER}) % to ({NUMBER}) %\)", last["regime_why"])
        assert told is not None
        yield from (Fact("share", float(one.replace("−", "-")) / 100) for one in told.groups())


def in_experiment(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    [group] = document["effects"]["groups"]
    responses = {one["response"]: one for one in group["responses"]}
    speed = responses["throughput_bps"]
    best = next(one for one in document["cases"] if one["factors"] == speed["best"]["setting"])
    if claim.section == "HEAD":
        yield from head(document)
    elif claim.section == "BEST SETTING":
        yield Fact("share", 0.95)
        yield from of_case(best)
        yield from of_change(speed["best"])
    elif claim.section.startswith("COST"):
        yield from of_cost(best, claim.subject.partition(" ")[0])
    elif claim.section == "EFFECTS ON COST AND LOSS":
        end = "receiver" if "receiver" in claim.subject else "sender"
        name = f"{end}_system_bps_per_w" if "/W" in claim.subject else f"efficiency_{end}_bps_per_core"
        largest = max(responses[name]["main_effects"], key=lambda one: abs(one["ratio"] - 1))
        yield from of_change(largest)
    else:
        yield Fact("share", 0.95)
        for one in speed["main_effects"]:
            if claim.subject.startswith(f"{one['factor']} {one['base']} → {one['level']} "):
                yield from of_change(one)


def in_matrix(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    cases = cases_of_test(claim, document["cases"])
    pair = re.search(r"(h\d) → (h\d)", claim.subject)
    if claim.section == "HEAD":
        yield from head(document)
    elif claim.section.startswith("COST"):
        yield from of_cost(fastest(document["cases"]), claim.subject.partition(" ")[0])
    elif claim.section == "PAIRS OF HOSTS":
        yield Fact("share", 0.95)
        for one in cases:
            if pair is None or (one["sender"], one["receiver"]) == pair.groups():
                yield from of_case(one)


def in_groups(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    """All pairs together, and each by itself; what limits all is told of each."""
    cases = document["cases"]
    way = re.search(r", (.+?) → (\w+)", claim.subject)
    if claim.section == "HEAD":
        yield from head(document)
    elif claim.section.startswith("COST"):
        role, host, *_ = claim.subject.split()
        for one in cases:
            if one[role] == host and one[f"{role}_cpu_cores_mean"] is not None and one.get("shape"):
                yield from of_cost(one, role)
    elif claim.section == "RESULT":
        yield Fact("share", 0.95)
        yield Fact("share", 0.90)
        for one in cases:
            if way is None or (one["sender"], one["receiver"]) == way.groups():
                yield from of_case(one)


def in_levels(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    curves = {one["role"]: one for one in document["load_levels"]}
    levels = {100 * one["load_level"]: one for one in curves["receiver"]["levels"]}
    if claim.section == "HEAD":
        yield from head(document)
    elif claim.section.startswith("COST"):
        yield from of_cost(fastest(document["cases"]), claim.subject.partition(" ")[0])
    elif claim.section == "OVERALL SCORE":
        own = curves["receiver" if "receiver" in claim.subject else "sender"]
        yield Fact("rate", 1e6 * own["overall_score_mbps_per_w"])
    elif claim.section.startswith("CURVE"):
        if claim.subject.startswith("CURVE"):
            yield Fact("count", curves["receiver"]["instances"])
            return
        part = 0.0 if claim.subject.startswith("active idle") else float(claim.subject.partition(" ")[0])
        one = levels[part]
        yield Fact("share", one["load_level"])
        yield from rates(one, "throughput_bps")
        yield Fact("cores", one["cpu_cores_mean"])
        yield Fact("W", one["system_w_mean"])
        if one["system_mbps_per_w_mean"] is not None:
            yield Fact("rate", 1e6 * one["system_mbps_per_w_mean"])


def in_vxlan(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    networks = {one["network"]: one for one in document["cases"] if one["instances"] == 4}
    if claim.section == "HEAD":
        yield from head(document)
    elif claim.section.startswith("COST"):
        yield from of_cost(networks["bare"], claim.subject.partition(" ")[0])
    elif claim.section == "RESULT":
        yield Fact("share", 0.95)
        for name, one in networks.items():
            if claim.subject.startswith((name, "RESULT")):
                yield from of_case(one)
    elif claim.section == "TOLL":
        yield Fact("share", 0.95)
        for row in document["toll"]:
            if row["instances"] == 4 and claim.subject.partition(": ")[2].startswith(
                SAID.get(row["response"], "nothing")
            ):
                yield from of_change(row)


SAID = {
    "throughput_bps": "throughput",
    "efficiency_receiver_bps_per_core": "Mbps/core of receiver",
    "efficiency_sender_bps_per_core": "Mbps/core of sender",
    "receiver_system_bps_per_w": "Mbps/W of receiver",
    "sender_system_bps_per_w": "Mbps/W of sender",
    "lost_ratio": "loss",
}


def in_soak(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    summary = document["summary"]
    if claim.section == "RATE":
        yield Fact("rate", summary["rate_mean_bps"])
        yield Fact("rate", summary["rate_peak_bps"])
        yield from (Fact("rate", value) for value in summary["rate_percentiles_bps"].values())
        slices = document["slices_bps"]
        yield Fact("count", len(slices))
        yield Fact("rate", min(slices))
        yield Fact("rate", max((a + b) / 2 for a, b in zip(slices[::2], slices[1::2], strict=True)))
    elif claim.section == "LEDGER":
        yield Fact("bytes", summary["total_bytes"])
        yield Fact("count", summary["transfers_count"])
        yield Fact("count", summary["packets_count"])
        yield Fact("count", summary["dropped_count"])
        yield Fact("share", summary["dropped_ratio"])
    elif claim.section == "USERS":
        users = document["users"]
        yield Fact("CPU-s/Gbit", users["client_cpu_s_per_gbit"])
        yield Fact("rate", users["sustained_at_bps"])
        for one in users["times"].values():
            yield Fact("s", one["max_s"])
            yield from (Fact("s", value) for value in one["percentiles_s"].values())
    elif claim.section == "COST":
        [power] = document["power"]
        yield Fact("W", power["power_w"])
        yield Fact("J/GB", power["energy_j_per_gb"])


def in_comparison(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    yield Fact("share", 0.95)
    if claim.section != "LARGEST CHANGES":
        return
    test = next((code for name, code in TESTS.items() if claim.subject.startswith(name)), None)
    count = re.search(r"(\d+) instance", claim.subject)
    for row in document["comparisons"]:
        if row["test"] == test and count and row["instances"] == int(count[1]):
            yield Fact("count", row["instances"])
            names = [name for name, words in SAID.items() if words in claim.before]
            if row["response"] == max(names, key=lambda name: claim.before.rindex(SAID[name]), default=None):
                yield from of_change(row)


def in_users(document: dict[str, Any], claim: Claim) -> Iterator[Fact]:
    """On the screen the server is what documents call the receiver, and the client the sender."""
    subject = claim.subject.replace("server", "receiver").replace("client", "sender")
    yield from in_experiment(document, replace(claim, subject=subject))


FACTS: dict[str, Any] = {
    "campaign": in_campaign,
    "ports": in_ports,
    "experiment": in_experiment,
    "users": in_users,
    "matrix": in_matrix,
    "groups": in_groups,
    "levels": in_levels,
    "vxlan": in_vxlan,
    "soak": in_soak,
    "comparison": in_comparison,
}
FEWEST = {
    "campaign": 25,
    "experiment": 20,
    "users": 20,
    "matrix": 15,
    "groups": 25,
    "levels": 15,
    "vxlan": 20,
    "soak": 12,
    "comparison": 15,
    "ports": 10,
}


HOSTS = [f"receiver-host-with-a-rather-long-name-{number}.example.org" for number in range(4)]
GRAVE = [one.code for one in catalogue().values() if one.rank != "note"][:12]
FLAGS = tuple(
    Flag(code, "h1, h2", "evidence that takes a sentence " * 6, "what to do about it " * 5) for code in GRAVE
)
BOTH = {"mtu": ("1500", "9000"), "net.ipv4.tcp_rmem": ("4096 131072", "9")}
WORLDS: dict[str, dict[str, Any]] = {
    "series": {"hosts": HOSTS[:2], "tests": ("tcp", "udp-1500", "udp-60"), "counts": (1, 2)},
    "matrix": {"hosts": HOSTS, "tests": ("tcp", "udp-1500"), "counts": (1, 2)},
    "networks": {
        "hosts": HOSTS[:3],
        "networks": ("bare", "vxlan-with-a-long-name", "geneve"),
        "counts": (4,),
    },
    "factors": {
        "hosts": HOSTS[:2],
        "factors": {"mtu": ("1500", "9000"), "net.ipv4.tcp_rmem": ("4096 131072", "9")},
    },
    "everything": {"hosts": HOSTS[:3], "networks": ("bare", "gre"), "factors": {"mtu": ("1500", "9000")}},
}


def world(
    hosts: Sequence[str],
    tests: Sequence[str] = ("tcp",),
    networks: Sequence[str] = ("bare",),
    counts: Sequence[int] = (1,),
    factors: Mapping[str, Sequence[str]] | None = None,
) -> Result:
    """A campaign of much of everything, with long names, every trial with a dozen grave findings."""
    levels = [tuple(zip(factors or {}, each, strict=True)) for each in product(*(factors or {}).values())]
    trials: list[Trial] = []
    for (sender, receiver), test, network, count, setting in product(
        permutations(hosts, 2), tests, networks, counts, levels
    ):
        case = Case(test, sender, receiver, instances=count, network=network, factors=setting)
        rate = 40e9 + 1e9 * (len(trials) % 37)
        trials += [trial(1, case, rate + 1e8 * at, 3.2, repetition=at + 1, flags=FLAGS) for at in range(3)]
    asked = {"factors": {name: list(own) for name, own in (factors or {}).items()}, "design": "full"}
    return result(powered(renumbered(trials), provenance="simulated"), campaign=asked)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", WORLDS)
def test_much_of_everything_with_long_names_is_still_one_screen(name: str, width: int) -> None:
    screen = first_screen_of_trials(digest_of(world(**WORLDS[name])))
    assert screen is not None
    lines = [line for line, _ in fitted(screen, width)]
    assert len(lines) <= MOST_LINES, "\n".join(lines)
    assert max(map(len, lines)) <= width, "\n".join(lines)
    assert any(" more " in line and "show --full" in line for line in lines)
    assert any(line.startswith("CAN I TRUST IT") for line in lines)
    assert any(re.match(r"  \(a\)", line) for line in lines)


def letters_of(ranges: str) -> Iterator[str]:
    """``a, c–e`` → a, c, d, e."""
    for part in ranges.split(", "):
        first, _, last = part.partition("–")
        yield from map(chr, range(ord(first), ord(last or first) + 1))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["series", "factors", "everything"])
def test_each_letter_on_a_full_screen_is_explained_there(name: str, width: int) -> None:
    screen = first_screen_of_trials(digest_of(world(**WORLDS[name])))
    assert screen is not None
    text = " ".join(line.strip() for line, _ in fitted(screen, width))
    ranges = re.findall(r"\(((?:[a-z](?:–[a-z])?(?:, )?)+)\)", text)
    printed = {letter for one in ranges for letter in letters_of(one)}
    explained = set(re.findall(r"\(([a-z])\) +[A-Z]\w+ \w+", text))
    assert len(printed) == len(GRAVE)
    assert printed == explained, text
    assert "+" not in "".join(ranges)


def test_findings_without_a_line_are_named_with_their_letters_and_notes_are_counted() -> None:
    grave = Flag(GRAVE[0], "h1", "seen", "look")
    notes = [Flag(code, "h1", "seen", "look") for code in ("udp-loss", "process-moved")]
    trials = [replace(one, flags=(grave, *notes)) for one in scaling_trials((1,), 3)]
    screen = first_screen_of_trials(digest_of(result(trials)))
    assert screen is not None
    trust = screen.blocks[-1]
    assert trust.briefs == (f"(a) {kind_of(GRAVE[0]).title}", "(b) Process moved", "1 other finding")
    assert len(trust.briefs) == len(trust.entries)


@pytest.mark.parametrize(
    ("letters", "text"),
    [("", ""), ("a", "a"), ("ab", "a, b"), ("abc", "a–c"), ("abdefh", "a, b, d–f, h")],
)
def test_neighbouring_letters_are_a_range(letters: str, text: str) -> None:
    assert letter_ranges([*letters]) == text
    assert letter_ranges(["y", "z", "aa", "ab"]) == "y, z, aa, ab"


def test_names_cannot_colour_or_move_anything() -> None:
    evil = "h\x1b[31m\r\n\u202eevil"
    trials = [replace(one, case=replace(one.case, receiver=evil)) for one in world(["h1", "h2"]).trials]
    screen = first_screen_of_trials(digest_of(result(trials, name=evil)))
    assert screen is not None
    for width in WIDTHS:
        lines = [line for line, _ in fitted(screen, width)]
        assert not any(sign in line for line in lines for sign in "\x1b\r\n\u202e")
        assert len(lines) <= MOST_LINES
