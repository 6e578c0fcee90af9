# SPDX-License-Identifier: Apache-2.0
"""The list of results in a browser: found, filtered and sorted by its URL, and never waited for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.report_factories import powered, renumbered, result, scaling_trials, stored, trial
from tests.served import BROKEN, DEMO, FAILED, HOSTILE_ID, LAB, WATTS, client, results_in
from tests.soak_result import Shape
from tests.soak_result import write as write_soak
from tests.unit.conftest import Run

from linewatt.errors import InvalidInput, StoreError
from linewatt.features.serve.list_query import ListQuery, parse_query, select
from linewatt.features.serve.shelf import LINK, Shelf
from linewatt.features.serve.sparkline import sparkline
from linewatt.features.serve.unread_result import unread_result, with_manifests
from linewatt.model import Case
from linewatt.report import list_line, listing
from linewatt.report.glance import MOST_VALUES, Glance
from linewatt.report.listing import Listed
from linewatt.store import cache, read
from linewatt.store.each_result import Damaged

WHOLE_S = 60.0


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results_in(tmp_path_factory.mktemp("list") / "results")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(cache, "SETTLED_S", -1.0)
        yield


@pytest.fixture(scope="module")
def site(root: Path) -> TestClient:
    made = client(root)
    made.get("/list.json")  # waits until all are read
    return made


def ids(text: str) -> list[str]:
    """The results in a page, from above."""
    return re.findall(r'<th scope="row" class="text">(?:<a href="[^"]*">)?([^<]+)<', text)


def test_every_result_is_a_row_the_newest_above(site: TestClient) -> None:
    text = site.get("/").text
    assert set(ids(text)) == {DEMO, WATTS, LAB, FAILED, BROKEN, HOSTILE_ID}
    assert f'href="/results/{WATTS}"' in text
    assert "110 Gbps" in text
    assert '<span class="unmeasured">sim</span>' in text
    assert "manifest.json: damaged" in text
    assert str(site.app.state.settings.results) not in text  # type: ignore[attr-defined]
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=lab", [LAB]),
        ("q=TCP+watts", [WATTS]),
        ("q=%3Cscript%3E", [HOSTILE_ID]),
        ("state=damaged", [BROKEN]),
        ("state=unfinished&sort=id&order=asc", [FAILED]),
        ("findings=without&kind=trials", [FAILED]),
        ("kind=soak", []),
        ("sort=id&order=asc", [DEMO, WATTS, LAB, BROKEN, FAILED, HOSTILE_ID]),
    ],
)
def test_the_url_alone_says_which_and_in_which_order(site: TestClient, query: str, found: list[str]) -> None:
    assert ids(site.get(f"/?{query}").text) == found


def test_what_lacks_a_figure_is_last_whichever_way_round(site: TestClient) -> None:
    for order in ("asc", "desc"):
        found = ids(site.get(f"/?sort=per-watt&order={order}").text)
        assert set(found[:2]) == {WATTS, LAB}
    best = ids(site.get("/?sort=best").text)
    assert set(best[:2]) == {WATTS, LAB}
    assert set(best[-2:]) == {FAILED, BROKEN}


def test_a_column_leads_to_the_list_by_it_and_then_turned_round(site: TestClient) -> None:
    text = site.get("/?q=watts").text
    assert 'href="/?q=watts&amp;sort=best&amp;order=desc"' in text
    assert 'aria-sort="descending"><a href="/?q=watts&amp;sort=when&amp;order=asc">When</a>' in text
    assert 'href="/?q=watts&amp;sort=best&amp;order=asc"' in site.get("/?q=watts&sort=best").text


def test_a_list_can_be_sent_on() -> None:
    one = ListQuery("a b&c", "trials", "complete", "with", "best", down=False, page=3)
    query = dict(re.findall(r"(\w+)=([^&]*)", one.url().replace("%26", "\0")))
    assert (
        parse_query({name: value.replace("+", " ").replace("\0", "&") for name, value in query.items()})
        == one
    )
    assert ListQuery().url() == "/"
    assert parse_query({}) == ListQuery()


@pytest.mark.parametrize(
    "query", [{"sort": "x"}, {"page": "0"}, {"page": "1e9"}, {"q": "x" * 201}, {"order": "up"}, {"kind": "x"}]
)
def test_what_a_list_cannot_be_asked_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        parse_query(query)


def test_a_long_list_has_pages(site: TestClient) -> None:
    rows: list[tuple[Path, Listed | Damaged]] = [
        (Path(f"r/{at:04d}"), Damaged(f"{at:04d}", Path(f"r/{at:04d}"), "x")) for at in range(1000)
    ]
    found = select(rows, ListQuery(sort="id", down=False))
    assert [path.name for path, _ in found[:2]] == ["0000", "0001"]
    assert site.get("/?page=999999").status_code == 200
    with pytest.MonkeyPatch.context() as patch:
        from linewatt.features.serve import list_query as module

        patch.setattr(module, "ROWS", 2)
        text = site.get("/?sort=id&order=asc&page=2").text
        assert ids(text) == [LAB, BROKEN]
        assert 'rel="prev" href="/?sort=id&amp;order=asc"' in text
        assert 'rel="next" href="/?sort=id&amp;order=asc&amp;page=3"' in text
        assert "6 results" in text


def test_the_json_is_what_the_command_prints(site: TestClient, root: Path, run: Run) -> None:
    code, out, _ = run("list", "--json", "--results", str(root))
    assert code == 0
    assert site.get("/list.json").text.replace(f"{root}/", "") == out.replace(f"{root}/", "")


def test_an_empty_directory_says_how_results_come(tmp_path: Path) -> None:
    assert "linewatt demo" in client(tmp_path).get("/").text


# What is listed before results are read --------------------------------------------------------------------


@pytest.fixture
def unread_site(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[TestClient, threading.Event]]:
    """A server whose reading thread waits for an event before it reads the first result."""
    go, read_row = threading.Event(), listing.kept

    def waiting(path: Path) -> Listed:
        assert go.wait(WHOLE_S)
        return read_row(path)

    monkeypatch.setattr(listing, "kept", waiting)
    yield client(root), go
    go.set()


def row_of(text: str, result_id: str) -> str:
    """The cells of a result behind its id."""
    match = re.search(rf">{result_id}<.*?</tr>", text, re.DOTALL)
    assert match is not None
    return match[0]


def test_the_list_is_whole_while_no_result_is_read(unread_site: tuple[TestClient, threading.Event]) -> None:
    site, go = unread_site
    text = site.get("/").text
    assert ids(text) == [HOSTILE_ID, FAILED, BROKEN, LAB, WATTS, DEMO], "the newest first"
    assert "6 results; figures of 6 are still being read" in text
    assert 'data-unread="6"' in text
    row = row_of(text, WATTS)
    assert '<td class="text reading" colspan="6">being read</td>' in row
    assert '<td class="text">watts</td>' in row
    assert "UTC</td>" in row
    assert "–" not in row, "being read is not missing"
    go.set()
    site.get("/list.json")  # waits until all are read
    whole = site.get("/").text
    assert "110 Gbps" in row_of(whole, WATTS)
    assert "being read" not in whole
    assert set(ids(whole)) == set(ids(text))


@pytest.mark.parametrize(
    ("query", "listed_ids", "words"),
    [
        ("sort=best", 6, "figures of 6 are still being read; until then they come last"),
        ("sort=name", 6, "figures of 6 are still being read:"),
        ("q=watts", 1, "1 of 6 results; 6 results not read yet; more may match"),
        ("findings=with", 0, "0 of 6 results; 6 results not read yet; more may match"),
        ("state=damaged", 0, "No result matches so far"),
    ],
)
def test_a_list_says_how_many_results_it_cannot_place_yet(
    unread_site: tuple[TestClient, threading.Event], query: str, listed_ids: int, words: str
) -> None:
    text = unread_site[0].get(f"/?{query}").text
    assert len(ids(text)) == listed_ids
    assert words in text


def test_results_that_are_not_read_yet_can_be_chosen_to_compare(
    unread_site: tuple[TestClient, threading.Event],
) -> None:
    text = unread_site[0].get("/compare").text
    assert all(result_id in text for result_id in (DEMO, WATTS, BROKEN))


def test_unread_results_have_the_name_of_their_manifest_if_there_is_time(tmp_path: Path) -> None:
    stored(tmp_path, result(scaling_trials((1,), 1), id="20260102-030405-slug", name="Long name"))
    stored(tmp_path, result(scaling_trials((1,), 1), id="renamed", name="Moved"))
    (tmp_path / "20269999-030405-odd").mkdir()
    unread = [unread_result(path) for path in sorted(tmp_path.iterdir())]
    assert [(row.name, row.created_s) for row in unread] == [
        ("slug", 1_767_323_045.0),
        (None, None),
        (None, None),
    ]
    assert [row.name for row in with_manifests(unread)] == ["Long name", None, "Moved"]
    assert [row.name for row in with_manifests(unread, limit_s=0.0)] == ["slug", None, None]


def test_the_manifest_behind_a_link_is_not_read(tmp_path: Path) -> None:
    stored(tmp_path, result(scaling_trials((1,), 1), id="elsewhere", name="secret"))
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (row,) = with_manifests([unread_result(tmp_path / "link")])
    assert row.name is None


# What is known of results ----------------------------------------------------------------------------------


def test_a_page_does_not_wait_for_results_to_be_read(root: Path) -> None:
    go, reads = threading.Event(), list[str]()

    def reader(path: Path) -> str:
        reads.append(path.name)
        assert go.wait(WHOLE_S)
        return path.name

    shelf = Shelf(root, reader, name="test")
    first = shelf.now(0.01)
    assert (first.rows, first.unread, first.total) == ((), 6, 6)
    others = [threading.Thread(target=shelf.now, args=(WHOLE_S,)) for _ in range(4)]
    for one in others:
        one.start()
    go.set()
    for one in others:
        one.join(WHOLE_S)
    last = shelf.now(WHOLE_S)
    assert last.unread == 0
    assert sorted(reads) == sorted(path.name for path, _ in last.rows), "once each, however many asked"
    assert reads[0] == HOSTILE_ID, "the newest first"


def test_nobody_waits_for_more_results_than_can_be_read_in_time(root: Path) -> None:
    go = threading.Event()
    shelf = Shelf(root, lambda path: go.wait(WHOLE_S), name="test")
    assert shelf.now(WHOLE_S, most_unread=5).unread == 6
    go.set()
    assert shelf.now(WHOLE_S, most_unread=6).unread == 0


def test_only_what_changed_is_read_again_and_what_is_gone_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.features.serve.shelf.FRESH_S", -1.0)
    reads: list[str] = []
    for at in range(3):
        stored(tmp_path, result(scaling_trials((1,), 2), id=f"r{at}"))

    def reader(path: Path) -> int:
        reads.append(path.name)
        return len(read.trial_dirs(path))

    shelf = Shelf(tmp_path, reader, name="test")
    before = shelf.now(WHOLE_S)
    reads.clear()
    assert shelf.now(WHOLE_S).states == before.states
    assert reads == []
    (tmp_path / "r1" / "trials" / "00002" / "trial.json").unlink()
    (tmp_path / "r1" / "trials" / "00002").rmdir()
    (tmp_path / "r2" / "manifest.json").unlink()
    after = shelf.now(WHOLE_S)
    assert reads == ["r1"]
    assert [(path.name, row) for path, row in after.rows] == [("r0", 2), ("r1", 1)]
    assert after.states != before.states


def test_a_result_that_always_changes_is_not_read_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.features.serve.shelf.FRESH_S", -1.0)
    monkeypatch.setattr(cache, "SETTLED_S", 1e9)  # as if it had just been written
    monkeypatch.setattr("linewatt.features.serve.shelf._EASE", 1e9)
    stored(tmp_path, result(scaling_trials((1,), 1), id="r"))
    reads: list[str] = []
    shelf = Shelf(tmp_path, lambda path: reads.append(path.name), name="test")
    shelf.now(WHOLE_S)
    shelf.now(WHOLE_S)
    assert reads == ["r"]


def test_one_result_that_cannot_be_read_or_is_a_link_is_a_row(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        stored(tmp_path / "results", result(scaling_trials((1,), 1), id=name))
    stored(tmp_path, result(scaling_trials((1,), 1), id="elsewhere"))
    (tmp_path / "results" / "d").symlink_to(tmp_path / "elsewhere")

    def reader(path: Path) -> str:
        if path.name == "a":
            raise StoreError("a: damaged")
        if path.name == "b":
            raise ZeroDivisionError
        return "read"

    rows = dict(Shelf(tmp_path / "results", reader, name="test").now(WHOLE_S).rows)
    said = {path.name: row.reason if isinstance(row, Damaged) else row for path, row in rows.items()}
    assert said["a"] == "a: damaged"
    assert "ZeroDivisionError" in str(said["b"])
    assert said["c"] == "read"
    assert said["d"] == LINK


# At a glance -----------------------------------------------------------------------------------------------


def test_a_glance_is_over_instances_else_over_trials() -> None:
    many = list_line.listed(result(scaling_trials()))
    assert many.glance is not None
    assert (many.glance.over, many.glance.at) == ("instances", (1, 2, 4, 8, 16))
    assert many.glance.words == "1 to 16 instances: 24.3 Gbps to 110 Gbps"
    one = list_line.listed(result(scaling_trials((1,), 3)))
    assert one.glance is not None
    assert (one.glance.over, one.glance.at) == ("trials", (1, 2, 3))
    assert list_line.listed(result(scaling_trials((1,), 1))).glance is None


def test_none_that_stands_out_among_many_trials_is_left_out() -> None:
    case = Case("tcp", "h1", "h2")
    made = renumbered([trial(1, case, 1e9 + at, 1.0) for at in range(500)])
    made = tuple(replace(one, throughput_bps=3e9) if one.number == 77 else one for one in made)
    glance = list_line.listed(result(made)).glance
    assert glance is not None
    assert len(glance.values_bps) <= MOST_VALUES
    assert 77 in glance.at
    assert glance.at == tuple(sorted(glance.at))


def test_a_glance_of_a_soak_is_over_time(tmp_path: Path) -> None:
    write_soak(tmp_path, Shape(duration_s=60))
    (path,) = tmp_path.iterdir()
    glance = list_line.listed(read.load_result(path)).glance
    assert glance is not None
    assert glance.over == "time"


def test_a_line_begins_at_zero_and_a_gap_is_a_gap() -> None:
    svg = str(sparkline(Glance("trials", (10.0, 10.0, None, 5.0, 10.0), (1, 2, 3, 4, 5))))
    lines = re.findall(r'<polyline points="([^"]+)"/>', svg)
    assert [len(one.split()) for one in lines] == [2, 2]
    heights = [float(point.partition(",")[2]) for one in lines for point in one.split()]
    assert heights == [2.5, 2.5, 12.0, 2.5], "half of the most is half as high"
    assert re.search(r'role="img" aria-label="trials 1 to 5: [^"]+ to [^"]+"', svg)


def test_watts_have_their_words_where_they_are_missing(tmp_path: Path) -> None:
    stored(tmp_path, result(scaling_trials((1,), 2), id="r"))
    site = client(tmp_path)
    site.get("/list.json")
    assert 'title="no source of power was named"' in site.get("/").text


def test_a_list_of_a_hundred_is_light(tmp_path: Path) -> None:
    for at in range(100):
        stored(tmp_path, result(powered(scaling_trials((1, 2), 1)), id=f"20260101-{at:06d}-of-some-length"))
    site = client(tmp_path)
    site.get("/list.json")
    page = site.get("/")
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert len(ids(page.text)) == 100
    weight = len(page.content) + sum(len(site.get(url).content) for url in loaded)
    assert weight <= 300_000, f"{weight} bytes before they are packed"
