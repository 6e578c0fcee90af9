# SPDX-License-Identifier: Apache-2.0
"""The report: one file, nothing loaded, nothing unescaped, every flag in it, numbers as in JSON."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import (
    DISAGREE,
    HOSTILE,
    SHARED,
    demo_trials,
    end,
    failed,
    host,
    idle_reading,
    manifest_of,
    powered,
    renumbered,
    result,
    scaling_trials,
    watts,
)
from tests.saved_files import saved

from linewatt.errors import StoreError
from linewatt.model import Case, Provenance
from linewatt.report.charts.figure import inline_svg
from linewatt.report.printing import html
from linewatt.report.trials.caveats import short_caveats
from linewatt.report.trials.digest import digest_document, digest_of
from linewatt.store.read import Result

INLINE = {"a", "b", "code", "i", "span", "strong"}
LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "xlink:href", "manifest"}


@dataclass
class Page(HTMLParser):
    """What a test asks of a page: elements with attributes, and their text."""

    source: str
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: str = ""
    style: str = ""
    cells: list[tuple[dict[str, str], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self._keys: list[str] = []
        self._column = 0
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        self._open.append(tag)
        if tag == "table":
            self._keys = []
        elif tag == "tr":
            self._column = 0
        elif tag == "th" and attributes.get("scope") == "col":
            self._keys.append(attributes.get("data-key", ""))
        elif tag == "th":
            self._column += 1
        if tag == "td":
            key = next(iter(self._keys[self._column : self._column + 1]), "")
            self._column += 1
            if key:
                attributes["data-key"] = key
            self.cells.append((attributes, ""))

    def handle_endtag(self, tag: str) -> None:
        self.text += "" if tag in INLINE else " "
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            self.style += data
            return
        self.text += data
        if "td" in self._open:
            attributes, text = self.cells[-1]
            self.cells[-1] = (attributes, text + data)

    def tags(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def page(made: Result) -> Page:
    return Page(html.render_html(digest_of(made)))


def hostile_result() -> Result:
    case = Case("tcp", HOSTILE, f'h2" onload="{HOSTILE}', network=f"{HOSTILE}.yaml")
    bad = replace(
        DISAGREE, code=HOSTILE, where=HOSTILE, evidence=f"'\">{HOSTILE}", advice=f"</style>{HOSTILE}"
    )
    trials = scaling_trials((1, 2), 1, sender=case.sender, receiver=case.receiver, network=case.network)
    other = scaling_trials((1, 2), 1, sender="h1", receiver="h2")
    lost = end(case.receiver, "receiver", None, 0.5, 0.5, reasons={"cpu_cores": HOSTILE})
    every = renumbered(
        [replace(trials[0], flags=(bad,), receiver=lost), trials[1]], other, [failed(1, case, HOSTILE)]
    )
    facts = {HOSTILE: {HOSTILE: HOSTILE}}
    hosts = {name: host(name, facts=facts, lab=HOSTILE) for name in (case.sender, case.receiver)}
    return result(
        every, name=HOSTILE, campaign_text=f"name: {HOSTILE}</pre>{HOSTILE}", hosts=hosts, id=HOSTILE
    )


def power_result(provenance: Provenance = "measured") -> Result:
    idle = {"h2": idle_reading(watts("psu-out:PSU1", 180.0, provenance=provenance))}
    trials = powered(scaling_trials((1, 2)), provenance=provenance, ends=("receiver", "sender"))
    return result(trials, idle=idle, idle_end=idle)


def hostile_power() -> Result:
    lost = end("h2", "receiver", 1.0, 0.5, 0.5, power=(watts("wall", None, reason=HOSTILE, source=HOSTILE),))
    idle = {HOSTILE: idle_reading(watts("wall", None, reason=HOSTILE))}
    return result([replace(each, receiver=lost) for each in scaling_trials((1, 2))], idle=idle)


RESULTS: dict[str, Any] = {
    "demo": lambda: result(demo_trials()),
    "scaling": lambda: result(scaling_trials()),
    "failures only": lambda: result([failed(1, Case("tcp", "h1", "h2"), "no route to host")]),
    "nothing yet": lambda: result([], planned=3),
    "one trial": lambda: result(scaling_trials((1,), 1)),
    "no cpu": lambda: result([replace(t, sender=None, receiver=None) for t in scaling_trials((1, 2))]),
    "no hosts on record": lambda: result(scaling_trials((1,)), hosts={}),
    "many hosts": lambda: result(
        renumbered(*(scaling_trials((1, 2), 1, sender=f"g{n:02d}") for n in range(24)))
    ),
    "power": lambda: power_result("simulated"),
    "hostile power": hostile_power,
    "hostile": hostile_result,
}


@cache
def page_of(name: str) -> Page:
    return page(RESULTS[name]())


@pytest.mark.parametrize("name", RESULTS)
def test_a_report_loads_nothing_and_runs_nothing(name: str) -> None:
    made = page_of(name)
    for tag, attributes in made.elements:
        assert tag not in {"script", "link", "iframe", "object", "embed", "base", "form", "image"}, tag
        assert not LOADING & set(attributes), (tag, attributes)
        assert not [key for key in attributes if key.startswith("on")], (tag, attributes)
        if "download" in attributes:
            assert tag == "a"
            saved(attributes)
        else:
            assert attributes.get("href", "#").startswith("#"), attributes["href"]
    assert "@import" not in made.style
    assert "url(" not in made.style
    assert not re.search(r"https?://", made.source)


@pytest.mark.parametrize("name", RESULTS)
def test_a_report_forbids_the_browser_to_load_anything(name: str) -> None:
    [policy] = [each["content"] for each in page_of(name).tags("meta") if "http-equiv" in each]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


@pytest.mark.parametrize("name", RESULTS)
def test_links_lead_to_something_in_the_page_and_ids_are_unique(name: str) -> None:
    made = page_of(name)
    ids = [attributes["id"] for _, attributes in made.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {each["href"][1:] for each in made.tags("a") if "download" not in each} <= set(ids)
    for _, attributes in made.elements:
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)


@pytest.mark.parametrize("name", RESULTS)
def test_tables_and_charts_can_be_read_out(name: str) -> None:
    made = page_of(name)
    assert made.tags("html")[0]["lang"] == "en"
    assert all(each.get("scope") in {"col", "colgroup", "row", "rowgroup"} for each in made.tags("th"))
    assert len(made.tags("caption")) == len(made.tags("table"))
    svgs = made.tags("svg")
    assert len(svgs) == len(made.tags("figure"))
    assert all(each["role"] == "img" and each["aria-labelledby"] for each in svgs)
    assert made.source.count("<desc ") == len(svgs)


def test_power_is_marked_in_words_wherever_it_stands() -> None:
    made = page(power_result("simulated"))
    cells = [
        text.split()
        for cell, text in made.cells
        if cell.get("data-key", "").startswith("receiver_") and "sim" in text
    ]
    assert len(cells) == 22
    assert all("sim" in words for words in cells)
    watts_of_trials = re.findall(r"\d+\.\d W sim", made.words)
    assert len(watts_of_trials) == 12
    for text in (
        "power of the receiver h2 simulated",
        "sim: simulated, not measured",
        "are simulated: no hardware drew them. Each such figure is marked",
        "h2, PSU DC out (simulated): 180.0 W before the trials, 180.0 W after: the same",
        "System: PSU DC out (simulated)",
    ):
        assert text in made.words


def test_measured_power_has_no_mark() -> None:
    made = page(power_result())
    assert "PSU DC out" in made.words
    assert "simulated" not in made.words.split("How the numbers are defined")[0]
    assert not [each for _, each in made.elements if "unmeasured" in each.get("class", "")]


def test_every_flag_is_there_with_evidence_and_advice() -> None:
    more = [
        replace(each, flags=(replace(SHARED, evidence=f"evidence number {each.number}"),))
        for each in scaling_trials((1, 2, 4))
    ]
    made = page(result([replace(more[0], flags=(DISAGREE, SHARED)), *more[1:]]))
    for text in (DISAGREE.evidence, DISAGREE.advice, DISAGREE.code, SHARED.evidence, SHARED.advice):
        assert text in made.words
    for each in more[1:]:
        assert f"evidence number {each.number}" in made.words


def test_tables_point_at_their_flags() -> None:
    made = page(result(demo_trials()))
    marks = [each for each in made.tags("a") if each.get("class") == "mark"]
    assert {each["href"] for each in marks} == {"#finding-a", "#finding-b"}


def test_a_star_is_explained_only_where_a_finding_makes_a_figure_doubtful() -> None:
    first, *others = scaling_trials((1,))
    star = "A star marks a doubtful figure."
    note = replace(SHARED, code="app-irq-share-cpu", evidence="CPU 0 runs a load process and does the rest")
    of_note = page(result([replace(first, flags=(note,)), *others])).words
    assert note.evidence in of_note
    assert star not in of_note
    assert star in page(result([replace(first, flags=(SHARED, note)), *others])).words


def test_no_flag_says_so() -> None:
    assert "No findings" in page(result(scaling_trials())).words


def test_numbers_are_those_of_json() -> None:
    made = result(demo_trials())
    cases = digest_document(digest_of(made))["cases"]
    cells = [(cell, text.split()) for cell, text in page(made).cells if "data-key" in cell]
    throughputs = [cell["data-si"] for cell, _ in cells if cell["data-key"] == "throughput_bps_mean"]
    assert [float(value) for value in throughputs] == [case["throughput_bps_mean"] for case in cases]
    seen = {(cell["data-key"], cell["data-si"]) for cell, _ in cells}
    for case in cases:
        assert ("scaling_factor_ratio", repr(case["scaling_factor_ratio"])) in seen or case["test"] != "tcp"
    for cell, words in cells:
        if cell["data-key"].endswith("cpu_cores_mean"):
            assert words[0].rstrip("*") == f"{100 * float(cell['data-si']):,.1f}"


def test_missing_is_a_dash_with_its_reason_and_never_zero() -> None:
    lost = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    trials = scaling_trials((1, 2), 1)
    made = page(result([replace(trials[0], receiver=lost), trials[1]]))
    cells = [(cell, text) for cell, text in made.cells if cell.get("data-key") == "receiver_cpu_cores_mean"]
    assert (cells[0][0]["data-si"], cells[0][1].strip()) == ("", "–")
    assert "mpstat ended early" in made.words
    assert 'title="h2: mpstat ended early"' in made.source


def test_of_very_many_trials_a_page_lists_those_that_tell_most_and_says_where_the_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linewatt.report.trials.sections.MOST_TRIALS", 4)
    trials = scaling_trials((1, 2, 4))
    made = page(result([*trials[:-1], replace(trials[-1], flags=(DISAGREE,))]))
    listed = made.source.partition('<section id="trials"')[2].partition("</section>")[0]
    assert re.findall(r'<tr[^>]*><th scope="row">(\d+)</th>', listed) == ["1", "2", "3", "9"]
    assert "4 of 9 trials" in listed
    assert "--csv --trials&#39; has the other 5" in listed


def test_failed_trials_have_their_reason_and_no_number() -> None:
    made = page(result(renumbered(scaling_trials((1,)), [failed(1, Case("tcp", "h1", "h2"), "server died")])))
    assert "Trial 4 (TCP, h1 → h2: 1 instance): server died" in made.words
    assert "failed: server died" in made.words


def test_lab_is_marked_in_every_table_and_figure() -> None:
    hosts = {name: host(name, lab="demo", shares_cpus_with=["h1", "h2"]) for name in ("h1", "h2")}
    made = page(result(demo_trials(), hosts=hosts))
    badges = [each for each in made.tags("span") if each.get("class") == "badge lab"]
    numbers = [each for each in made.tags("table") if each["class"] == "numbers"]
    assert len(badges) >= len(numbers) + len(made.tags("figure"))
    assert "h1 and h2 share CPUs" in made.words
    assert "badge lab" not in page(result(demo_trials())).source.replace(".badge.lab", "")


def test_guests_whose_processor_was_translated_are_named() -> None:
    hosts = {name: host(name, lab="demo", emulated=name == "h2") for name in ("h1", "h2")}
    made = result(demo_trials(), hosts=hosts)
    said = "QEMU without KVM translated every instruction of h2"
    assert said in page(made).words
    assert said in short_caveats(digest_of(made))
    assert said not in page(result(demo_trials())).words


def test_differences_between_hosts_are_marked_by_more_than_colour() -> None:
    made = page(result(scaling_trials((1,))))
    assert "1 fact differs between the hosts" in made.words
    assert "release ≠ 5.14.0-427 6.9.0-0.rc4" in made.words


def test_hostile_text_stays_text() -> None:
    made = page(hostile_result())
    assert made.tags("script") == []
    assert HOSTILE in made.words
    assert len(made.tags("pre")) == 1


def test_an_unfinished_result_says_so() -> None:
    made = page(result(demo_trials(), planned=30))
    assert "unfinished" in made.words
    assert "15 of 30 trials done, 15 not run" in made.words


def test_the_page_holds_campaign_versions_and_definitions() -> None:
    made = page(result(scaling_trials((1,)), linewatt_version="0.0.7"))
    for text in (
        "name: x64-scaling",
        "linewatt 0.0.7",
        "divisor n − 1",
        "Σ over all CPUs",
        "iperf3 3.18 3.18",
    ):
        assert text in made.words


def test_a_manifest_of_the_least_is_enough() -> None:
    least = result(scaling_trials((1,)))
    manifest = manifest_of(id=least.id, trials_planned=least.manifest.trials_planned)
    assert "20260101-000000-x64-scaling" in page(replace(least, manifest=manifest)).words


def test_ids_inside_charts_do_not_collide() -> None:
    figure = type("F", (), {"name": "x", "title": "t", "description": "d"})()
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>'
    made = inline_svg(svg, figure, "figure-2")
    assert 'id="figure-2-clip0"' in made
    assert "url(#figure-2-clip0)" in made
    assert "xmlns" not in made


def test_write_replaces_the_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    html.write_page(target, "new")
    assert target.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_report_can_be_read_by_others(tmp_path: Path) -> None:
    html.write_page(tmp_path / "report.html", "new")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "report.html").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_write_that_fails_keeps_the_old_report_and_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        html.write_page(target, "new")
    assert target.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_suffices_in_both_colour_schemes(scheme: str) -> None:
    """WCAG 2 AA: 4.5 for text, 3 for what a chart draws."""
    css = (Path(html.__file__).parents[1] / "style.css").read_text()
    light, dark = css.split("prefers-color-scheme: dark", 1)
    colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", light if scheme == "light" else dark))
    for ink, ground in (
        *((ink, ground) for ink in ("ink", "soft-ink", "link") for ground in ("ground", "card")),
        *((f"{kind}-ink", f"{kind}-ground") for kind in ("warn", "bad", "lab")),
        ("ink", "diff-ground"),
        ("soft-ink", "diff-ground"),
        ("ink", "good-ground"),
        ("bad-edge", "ground"),
        ("chart-muted", "ground"),
    ):
        assert _contrast(colours[f"--{ink}"], colours[f"--{ground}"]) >= 4.5, (ink, ground)
    for name in ("receiver", "sender", "third", "fourth", "usr", "irq", "other"):
        assert _contrast(colours[f"--chart-{name}"], colours["--ground"]) >= 3, name


def test_fifty_trials_take_little_time() -> None:
    made = result(scaling_trials(trials=10))
    began = time.process_time()  # wall time is the neighbours’ business too
    html.render_html(digest_of(made))
    assert time.process_time() - began < 3
