# SPDX-License-Identifier: Apache-2.0
"""Cases with a known truth: linewatt must say it first, and say the same wherever it is asked."""

from __future__ import annotations

import html
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import HANG_LIMIT_S, Bench
from tests.truth.claims import check_sentence
from tests.truth.hosts import Ground, until_quiet
from tests.truth.others import NOISE_CORES, Disturbance, Others, holds, stolen_s
from tests.truth.plants import HEADROOM, PLANTS, WINDOW, Plant
from tests.truth.raw import Raw

from linewatt.findings import cpu, steadiness

pytestmark = pytest.mark.lab


def marks(plant: Plant) -> list[pytest.MarkDecorator]:
    """A finding is looked for alone, as noise may be told of before it; a limit beside a few others."""
    if plant.idle_machine:
        return [pytest.mark.measures, pytest.mark.idle_machine]
    return [pytest.mark.measures]


CROWDED_CORES = 0.5
"""that others used: of two CPUs, both of which a load needs"""
CROWDED_LOOKS = 3
Document = Mapping[str, Any]


class Said:
    """What linewatt says of a result: in its document, on the terminal, in the report and in each trial."""

    def __init__(self, bench: Bench) -> None:
        self.document: Document = json.loads(bench.run("show", "--json").stdout)
        self.terminal = bench.run("show", "--full").stdout
        self.first_screen = bench.run("show").stdout
        page = bench.tmp / "report.html"
        bench.run("report", "-o", page)
        self.page = page.read_text()
        self.trials: Sequence[Document] = bench.trials()
        self.raws = [Raw(path) for path in sorted(bench.result.glob("trials/*"))]

    @property
    def cases(self) -> Sequence[Document]:
        found: Sequence[Document] = self.document["cases"]
        return found

    @property
    def findings(self) -> Sequence[Document]:
        found: Sequence[Document] = self.document["flags"]
        return found

    def grave(self) -> list[str]:
        """Findings that make a figure doubtful."""
        return [one["code"] for one in self.findings if one["rank"] != "note"]

    def true_courses(self) -> frozenset[str]:
        """Findings on how throughput ran, and on a host that stood still, where the raw files have every
        number that each of them says."""
        courses = [one for one in self.findings if one["code"] in COURSES | STALLS]
        return frozenset(one["code"] for one in courses if all(map(self._is_in_raw_files, one["evidence"])))

    def _is_in_raw_files(self, seen: Document) -> bool:
        raws = [raw for raw in self.raws if raw.trial["number"] in seen["trials"]]
        try:
            return check_sentence(seen["evidence"], raws[0].trial["case"], raws) > 0
        except AssertionError as error:
            logging.getLogger(__name__).info("not in the raw files: %s", error)
            return False

    def first(self) -> str:
        """The first limit of the first case."""
        kinds: str | list[str] = self.cases[0]["limited_by_kinds"]
        return (kinds.split() if isinstance(kinds, str) else kinds)[0]

    def text(self) -> str:
        """All sentences on limits and findings, for a failure's message."""
        limits = [f"{one['limited_by_kinds']}: {one['limited_by']}" for one in self.cases]
        seen = [
            f"{one['rank']} {one['code']}: {item['where']}: {item['evidence']}"
            for one in self.findings
            for item in one["evidence"][:2]
        ]
        return "\n".join([*limits, *seen])


def stands(
    plant: Plant, ground: Ground, tmp_path: Path, judge: Callable[[Said, frozenset[str]], None]
) -> None:
    """Plant a truth, run its campaign on it and judge what is said, with what others may raise.

    Again if it is wrong while a hypervisor took CPUs; and others, where the truth needs them idle. Where it
    does not, others that had half a CPU are a reason to look again and no excuse: the last look decides.
    """

    def once(place: Path) -> None:
        place.mkdir(parents=True)
        others, stolen_before_s = Others(), stolen_s()
        said = meet(plant, ground, place)
        noise_cores = others.cores()
        logging.getLogger(__name__).info("%s\nothers: %.3f cores", said.text(), noise_cores)
        noisy = noise_cores > NOISE_CORES and not plant.idle_machine
        foreign = FOREIGN - plant.findings if noisy else frozenset()
        judge(said, foreign | (STOLEN if stolen_s() > stolen_before_s else frozenset()))

    def met(attempt: int) -> None:
        looks = 1 if plant.idle_machine else CROWDED_LOOKS
        for look in range(1, looks + 1):
            others = Others()
            try:
                once(tmp_path / f"try-{attempt + 1}-{look}")
            except AssertionError:
                if look == looks or others.cores() < CROWDED_CORES:
                    raise
            else:
                return

    holds(met, Disturbance.begin if plant.idle_machine else Disturbance.begin_stolen)


def meet(plant: Plant, ground: Ground, tmp_path: Path) -> Said:
    """Plant a truth, run its campaign on it, take it back."""
    bench = Bench(ground.lab, tmp_path)
    inventory = ground.inventory(tmp_path / "inventory.yaml", plant.places(ground))
    base = {"hosts": str(inventory), "rate": None, "window": WINDOW, "trials": 1}
    if plant.idle_machine:
        until_quiet()
    with ExitStack() as back:
        more = back.enter_context(plant.planting(ground))
        process = bench.start("run", bench.campaign(**{**base, **plant.campaign, **more}))
        back.callback(process.wait, HANG_LIMIT_S)
        back.callback(process.terminate)
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "trial_started" and plant.during is not None:
                plant.during(ground)
        _, errors = process.communicate(timeout=HANG_LIMIT_S)
        assert process.returncode == 0, errors
    bench.until_nothing_runs()
    return Said(bench)


@pytest.mark.parametrize(
    "plant",
    [pytest.param(one, marks=marks(one), id=one.name) for one in PLANTS],
)
def test_a_planted_truth_is_said_first(plant: Plant, ground: Ground, tmp_path: Path) -> None:
    def judge(said: Said, others_say: frozenset[str]) -> None:
        told = said.text()
        if plant.limits:
            assert said.first() in plant.limits, told
            told = said.cases[0]["limited_by"]
        if plant.findings:
            besides = LAYOUT | UNTESTED | others_say | (said.true_courses() - plant.findings - plant.causes)
            codes = [one["code"] for one in said.findings if one["code"] not in besides]
            assert set(codes[: len(plant.causes)]) == plant.causes, told
            first = next((one for one in said.findings if one["code"] in codes[len(plant.causes) :]), None)
            assert first is not None, told
            assert first["code"] in plant.findings, told
            told = " ".join(f"{one['where']} {one['evidence']}" for one in first["evidence"])
        assert [word for word in plant.says if word not in told] == []
        agree(said)

    stands(plant, ground, tmp_path, judge)


MOST_WITH_EVIDENCE = 2
"""cases whose evidence is written out in one line; more have it in the document"""
FOREIGN = frozenset({"foreign-load"})
"""what processes of somebody else rightly raise beside any plant; where :class:`Others` saw them, too, it may
come before a truth that holds on a busy machine"""
STOLEN = frozenset({"cpu-stolen"})
"""what a hypervisor rightly raises, where the kernel counted that it took CPU time"""
COURSES = frozenset(kind.code for kind in steadiness.KINDS if kind.is_course)
UNTESTED = frozenset(kind.code for kind in cpu.KINDS if kind.untested)
"""what says that a check was not possible, and so claims nothing"""
STALLS = frozenset({"host-stood-still"})
"""what a virtual machine that loses time rightly raises, and receive work that takes all of a sensor's CPU"""
LAYOUT = {"app-irq-share-cpu", "instances-share-cpu", "streams-share-cpu", "hosts-share-cpus"}


@pytest.mark.measures
@pytest.mark.idle_machine
def test_cases_with_headroom_name_no_limit_and_raise_no_doubt(ground: Ground, tmp_path: Path) -> None:
    def judge(said: Said, others_say: frozenset[str]) -> None:
        assert len(said.cases) == 5
        kinds = {kind for case in said.cases for kind in case["limited_by_kinds"].split()}
        assert kinds <= {"paced", "not-found"}, said.text()
        assert set(said.grave()) <= others_say, said.text()
        agree(said)

    stands(Plant("headroom", "there is room everywhere", HEADROOM), ground, tmp_path, judge)


def agree(said: Said) -> None:
    """Terminal, document, report and the flags of trials say the same of limits and findings."""
    page = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", said.page)).split())
    terminal = " ".join(said.terminal.split())
    for case in said.cases:
        what, _, evidence = case["limited_by"].partition(" (")
        for text in (terminal, page):
            assert what.lower() in text.lower(), f"{what!r} is missing in {text}"
            if len(said.cases) <= MOST_WITH_EVIDENCE:
                assert evidence.removesuffix(")") in text, f"{evidence!r} is missing in {text}"
    if any("factors" in case for case in said.cases):  # too few runs to compare settings: the base is shown
        shown = said.cases[0]
    else:
        shown = max(said.cases, key=lambda case: case["throughput_bps_mean"] or 0)
    what = (
        shown["limited_by"]
        .partition(" (")[0]
        .replace("the rate that was asked for", "reached its target rate")
    )
    assert what.lower() in " ".join(said.first_screen.split()).lower()
    codes = [one["code"] for one in said.findings]
    assert re.findall(r"^\([a-z]+\) .* \[([a-z-]+)\]", said.terminal, re.MULTILINE) == codes
    assert re.findall(r"<article [^>]*id=\"finding-.*?<code>([a-z-]+)</code>", said.page, re.DOTALL) == codes
    seen = {
        (one["code"], item["where"], item["evidence"]) for one in said.findings for item in one["evidence"]
    }
    flags = {
        (flag["code"], flag["where"], flag["evidence"]) for trial in said.trials for flag in trial["flags"]
    }
    assert flags <= seen
