# SPDX-License-Identifier: Apache-2.0
"""Pages of running campaigns: true, bounded for slow browsers, and stopped by nobody but their own button."""

from __future__ import annotations

import asyncio
import http.client
import re
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.live_runs import CASE, WATTS, Fed, started
from tests.live_server import Served, serving
from tests.report_factories import end, failed, result, stored, trial

from linewatt.engine import events
from linewatt.features.serve import live_hub, live_words
from linewatt.features.serve.broadcast import sockets
from linewatt.features.serve.broadcast.client import NotRunning
from linewatt.features.serve.broadcast.telling import document_of_event
from linewatt.features.serve.broadcast.view import View
from linewatt.features.serve.live_hub import Hub, Listener
from linewatt.features.serve.settings import Settings
from linewatt.model import Case, Flag, FlowResult

ID, OTHER = "20260101T000000Z-demo", "20260101T000100Z-other"
BEGUN = events.Started(ID, f"results/{ID}", 3, 0, 33.0)
NOW = events.Throughput(9.01e9, 28.0, WATTS)
DONE = trial(1, CASE, 9.1e9, 0.5)
LIMIT_S = 60.0
TOKEN = "a-token-of-more-than-sixteen"  # noqa: S105


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path, Path]]:
    """A server for all tests of this file: it, its results and its state."""
    root = tmp_path_factory.mktemp("live")
    (root / "results").mkdir()
    with serving(Settings(root / "results", root / "state", token=TOKEN)) as served:
        yield served, root / "results", root / "state"


@pytest.fixture
def run(site: tuple[Served, Path, Path]) -> Iterator[Fed]:
    """A run that has begun its first trial."""
    _, results, state = site
    fed = Fed(state, results / ID)
    fed.say(BEGUN, started(), NOW)
    yield fed
    fed.close()


def token_of(page: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_the_list_has_all_runs_also_those_with_results_elsewhere(
    site: tuple[Served, Path, Path], run: Fed, tmp_path: Path
) -> None:
    served, _, state = site
    assert "Results elsewhere" not in served.ask("/live")[1]
    other = Fed(state, tmp_path / OTHER)
    try:
        status, page, _ = served.ask("/live")
    finally:
        other.close()
    assert status == 200
    assert f'<a href="/live/{ID}">' in page
    assert f'<a href="/live/{OTHER}">' in page
    assert page.count(str(tmp_path)) == 1
    assert "Results elsewhere" in page
    assert "0 of 3 trials stored" in page
    run.end()
    assert "No campaign runs now" in served.ask("/live")[1]


def test_a_result_whose_run_goes_on_has_the_way_there_in_the_list_and_on_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which goes with the run: also one that a kill -9 ended and left its socket."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    results, state = tmp_path / "results", tmp_path / "state"
    for name in (ID, OTHER):
        stored(results, result([DONE], id=name))
    with serving(Settings(results, state, token=TOKEN)) as served:
        fed = Fed(state, results / ID)
        left = sockets._new_socket()
        sockets._bind(left, state / sockets.FOLDER, f"{OTHER}{sockets.SUFFIX}")
        left.close()
        served.ask("/list.json")  # waits until all are read
        running = [served.ask(path)[1] for path in ("/", f"/results/{ID}")]
        assert sockets.path_of(state, OTHER).is_socket() is False, "nobody listened there"
        fed.end()
        over = [served.ask(path)[1] for path in ("/", f"/results/{ID}")]
    way = f'href="/live/{ID}"'
    assert [page.count(way) for page in running] == [1, 1]
    assert [page.count("/live/2026") for page in running] == [1, 1]
    assert [page.count("/live/2026") for page in over] == [0, 0]


def test_a_page_tells_case_throughput_cpu_by_role_and_watts_of_which_simulated_ones_are_marked(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    served = site[0]
    with served.events(f"/live/{ID}/events") as heard:
        next(heard)
        run.say(NOW)
        next(heard)
        page = served.ask(f"/live/{ID}")[1]
    assert "Trial 1 of 3: tcp, h1 → h2, 4 inst., repetition 1" in page
    assert '<strong id="throughput">9.01 Gbps</strong>' in page
    cells = '<td class="text">receiver</td><td>134 % of 400 %</td><td>97 %</td><td>41 %</td>'
    assert f'<th scope="row" class="text">h2</th>{cells}' in page
    assert 'h1: 228.9 W PSU DC out <span class="unmeasured">simulated</span>' in page
    assert "h2: 157.2 W PSU AC in</li>" in page


def test_a_page_whose_run_nobody_watched_has_no_empty_table_of_cpus(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    served = site[0]
    is_hidden = re.compile(r'<div id="cpu-table"[^>]* hidden>')
    assert is_hidden.search(served.ask(f"/live/{ID}")[1])
    with served.events(f"/live/{ID}/events") as heard:
        _, first = next(heard)
        assert [one["host"] for one in first["now"]["cpu"]] == ["h1", "h2"]
        run.say(NOW)
        next(heard)
        assert not is_hidden.search(served.ask(f"/live/{ID}")[1])


def test_no_page_has_a_script_or_a_style_of_its_own(site: tuple[Served, Path, Path], run: Fed) -> None:
    served = site[0]
    for path in ("/live", f"/live/{ID}", f"/live/{ID}/stop", "/live/nothing"):
        _, page, headers = served.ask(path)
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", page), path
        assert "script-src 'self'" in headers["content-security-policy"]


def test_names_and_words_of_a_run_are_text(site: tuple[Served, Path, Path], run: Fed) -> None:
    evil = "<script>alert(1)</script>"
    run.say(
        replace(started(2), case=replace(CASE, network=evil)),
        events.Warned(evil),
        events.LeftChanged((evil,)),
        events.TrialStored(failed(1, CASE, evil), 3),
    )
    page = site[0].ask(f"/live/{ID}")[1]
    assert page.count("&lt;script&gt;") >= 4
    assert evil not in page


def test_a_browser_gets_the_whole_and_then_what_happens_and_the_end(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    served, results, _ = site
    doubt = Flag("cpu-accounting-disagrees", "h1", "by 9 %", "look")
    with served.events(f"/live/{ID}/events") as heard:
        name, words = next(heard)
        assert (name, words["head"]["progress"], words["rows"]) == ("whole", "0 of 3 trials stored", [])
        assert [bps for _, bps in words["chart"]["points"]] == [9.01e9]
        assert (words["chart"]["top_bps"], words["chart"]["top"]) == (1e10, "10 Gbps")
        run.say(NOW)
        name, words = next(heard)
        assert (name, words["now"]["throughput"], words["point"]["bps"]) == ("change", "9.01 Gbps", 9.01e9)
        run.say(events.TrialStored(replace(DONE, flags=(doubt,)), 3))
        name, words = next(heard)
        assert words["row"]["throughput"] == "9.10 Gbps"
        assert words["row"]["findings"] == ["CPU accounting disagrees"]
        assert words["findings"][0]["text"].endswith("by 9 %")
        assert words["said"].startswith("Trial 1 of 3, tcp, h1 → h2, 4 inst.: 9.10 Gbps")
        run.say(events.Warned("h1: lost"))
        assert next(heard)[1]["findings"][0]["text"] == "h1: lost"
        (results / ID).mkdir()
        (results / ID / "manifest.json").write_text("{}")
        run.say(events.Ended(ID, "x", 1, 0, 2))
        assert next(heard)[1]["head"]["over"] is True
        run.end()
        *_, (name, words) = heard
    assert (name, words["how"], words["result"]) == ("closed", "Ended", f"/results/{ID}")
    assert words["text"] == "Ended. 1 of 3 trials are stored."
    with served.events(f"/live/{ID}/events") as heard:
        late = list(heard)
    assert late == [("closed", words)], "who was away meanwhile is told, too"
    status, page, _ = served.ask(f"/live/{ID}")
    assert status == 200
    assert f'<a href="/results/{ID}">' in page
    assert "Ended. 1 of 3 trials are stored." in page
    assert served.ask("/live/20260101T000000Z-never")[0] == 404


def test_whoever_only_asks_for_the_head_of_a_stream_is_not_kept_waiting(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    served, _, _ = site
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=LIMIT_S)) as connection:
        for method, path in (("HEAD", f"/live/{ID}/events"), ("GET", "/live")):
            connection.request(method, path, headers=served.authorization)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, "on one connection the second waits for the end of the first"


def test_a_run_that_goes_without_a_word_is_said_to_be_lost(
    site: tuple[Served, Path, Path], run: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, _, state = site
    monkeypatch.setattr(live_hub, "AGAIN_S", 0.0)
    with served.events(f"/live/{ID}/events") as heard:
        next(heard)
        (state / "live" / f"{ID}.sock").unlink()
        run._call(lambda: run.broadcast._give_up(OSError()))
        name, words = next(heard)
    assert (name, words["how"]) == ("closed", "Lost")
    assert "linewatt restore" in words["text"]


def test_the_button_stops_the_run_and_says_who_asked_and_asks_no_second_time(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    served = site[0]
    page = served.ask(f"/live/{ID}")[1]
    status, _, headers = served.ask(f"/live/{ID}/stop", {"token": token_of(page)})
    assert (status, headers["location"]) == (303, f"/live/{ID}")
    run.ended()
    assert isinstance(run.outcome, asyncio.CancelledError)
    said = [one.text for one in run.shown if isinstance(one, events.Phase)]
    assert len(said) == 1
    assert said[0].startswith("stopped by linewatt serve, for a browser at 127.0.0.1 (process ")
    assert served.ask(f"/live/{ID}/stop", {"token": token_of(page)})[0] == 409


def test_a_run_that_is_being_stopped_is_stopped_once_however_often_it_is_asked(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    served = site[0]
    form = {"token": token_of(served.ask(f"/live/{ID}")[1])}
    cancelled: list[int] = []

    class Task:
        def cancelling(self) -> int:
            return len(cancelled)

        def cancel(self) -> None:
            cancelled.append(1)

    run.broadcast._run = Task()  # type: ignore[assignment]
    assert [served.ask(f"/live/{ID}/stop", form)[0] for _ in range(3)] == [303, 303, 303]
    assert cancelled == [1]
    page = served.ask(f"/live/{ID}")[1]
    assert "Being stopped by linewatt serve" in page
    assert "stop-ask" not in page


def test_what_has_ended_cannot_be_stopped(site: tuple[Served, Path, Path], run: Fed) -> None:
    served = site[0]
    form = {"token": token_of(served.ask(f"/live/{ID}")[1])}
    run.say(events.Ended(ID, "x", 3, 0, 0))
    status, page, _ = served.ask(f"/live/{ID}/stop", form)
    assert status == 409
    assert "all of it was run already" in page
    run.end()
    assert run.outcome is None


def test_nobody_else_can_press_the_button(site: tuple[Served, Path, Path], run: Fed) -> None:
    served = site[0]
    form = {"token": token_of(served.ask(f"/live/{ID}")[1])}
    path = f"/live/{ID}/stop"
    assert served.ask(path, {})[0] == 403
    assert served.ask(path, {"token": "x" * 43})[0] == 403
    assert served.ask(path, {"token": "é"})[0] == 403
    assert served.ask(path, {**form, "more": "x" * 9000})[0] == 403
    assert served.ask(path, form, origin="https://example.org")[0] == 403
    assert served.ask(path, form, host="example.org")[0] == 421
    assert served.ask(path, form, authorization="")[0] == 401
    assert served.ask(path, form, authorization=f"Bearer {form['token']}")[0] == 401
    run.say(NOW)
    assert not run.is_over


def test_a_server_without_a_token_shows_runs_and_stops_none(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    """Also with the form token of this process, which a page of a server with a token has."""
    served, results, state = site
    form = {"token": token_of(served.ask(f"/live/{ID}")[1])}
    with serving(Settings(results, state)) as open_to_all:
        status, page, _ = open_to_all.ask(f"/live/{ID}")
        assert (status, "9.01 Gbps" in page) == (200, True)
        assert "stop-ask" not in page
        assert "form" not in page
        assert "This server has no token (--no-token), so it stops no run." in page
        for status, page, _ in (
            open_to_all.ask(f"/live/{ID}/stop"),
            open_to_all.ask(f"/live/{ID}/stop", form),
        ):
            assert status == 403
            assert "start linewatt serve without --no-token" in page
    run.say(NOW)
    assert not run.is_over


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\n",
        b"[]\n",
        b"\xff\n",
        b'{"event": "snapshot", "seq": 1, "rows": [{}]}\n',
        b'{"event": "snapshot", "seq": 1, "now": 5, "history": [[1, 2, 3]]}\n',
        b'{"event": "snapshot", "seq": "x", "began_s": "never", "at_s": []}\n',
        b'{"event": "refused", "text": "no"}\n',
    ],
)
def test_what_is_told_by_no_run_is_no_page_and_no_harm(
    site: tuple[Served, Path, Path], answer: bytes
) -> None:
    served, _, state = site
    listening = sockets.listen(state, OTHER)
    listening.setblocking(True)

    def answers() -> None:
        for _ in range(3):
            taken, _ = listening.accept()
            with taken:
                taken.recv(100)
                taken.sendall(answer)

    thread = threading.Thread(target=answers, name="no run", daemon=True)
    thread.start()
    try:
        status, page, _ = served.ask(f"/live/{OTHER}")
        assert (status, "Not running" in page) == (404, True)
        status, page, _ = served.ask("/live")
        assert (status, OTHER in page) == (200, True)
        with served.events(f"/live/{OTHER}/events") as heard:
            assert [name for name, _ in heard] == ["closed"]
        thread.join(LIMIT_S)
    finally:
        listening.close()
        sockets.path_of(state, OTHER).unlink(missing_ok=True)


def in_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LIMIT_S):
            await work()

    asyncio.run(bounded())


def test_a_slow_browser_gets_the_whole_in_place_of_what_it_missed() -> None:
    whole = {"n": 0}

    async def work() -> None:
        slow = Listener(lambda: dict(whole))
        assert await slow.next(1) == ("whole", {"n": 0})
        for number in range(1, 10_000):
            whole["n"] = number
            slow.put({"n": number})
            assert slow.waiting <= live_hub.MOST_QUEUED
        name, words = await slow.next(1) or ("", {})
        assert (name, words["n"]) == ("whole", 9_999 - slow.waiting)
        assert await slow.next(0) is None or slow.waiting == 0
        slow.put({"n": -1})
        slow.end({"how": "Ended"})
        assert await slow.next(1) == ("change", {"n": -1})
        assert await slow.next(1) == ("closed", {"how": "Ended"})

    in_loop(work)


def test_any_number_of_browsers_are_one_reader_of_the_run(site: tuple[Served, Path, Path], run: Fed) -> None:
    served = site[0]
    path = f"/live/{ID}/events"
    with served.events(path) as one, served.events(path) as two, served.events(path) as three:
        assert [next(heard)[0] for heard in (one, two, three)] == ["whole"] * 3
        assert len(run.broadcast._watching) == 1
        run.say(NOW)
        assert [next(heard)[0] for heard in (one, two, three)] == ["change"] * 3


def test_more_browsers_than_are_served_are_told_so(
    site: tuple[Served, Path, Path], run: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_hub, "MOST_BROWSERS", 1)
    served = site[0]
    path = f"/live/{ID}/events"
    with served.events(path) as one, served.events(path) as two:
        next(one)
        assert next(two) == ("refused", {"text": "1 pages are open already; close some"})


def test_when_the_last_browser_goes_nobody_watches_the_run(site: tuple[Served, Path, Path], run: Fed) -> None:
    state = site[2]

    async def work() -> None:
        hub = Hub(state)
        async with hub.listening(ID) as listener:
            assert (await listener.next(LIMIT_S) or ("",))[0] == "whole"
            assert hub.browsers == 1
        assert hub.browsers == 0
        while run.broadcast._watching:  # noqa: ASYNC110  the run notices it in its own loop
            await asyncio.sleep(0.001)
        with pytest.raises(NotRunning):
            async with hub.listening("nothing"):
                pass
        assert hub._watched == {}

    in_loop(work)


def view_of(*every: events.Event) -> View:
    view = View({"began_s": 0.0, "id": ID})
    for number, event in enumerate(every, 1):
        view.take({**document_of_event(event), "seq": number, "at_s": float(number)})
    return view


def test_what_is_not_known_is_shown_as_not_known() -> None:
    words = live_words.full_page(view_of(BEGUN, started(), events.Throughput(None, 28.0)))
    assert words["now"]["throughput"] == "–"
    assert (words["now"]["cpu"], words["now"]["watts"]) == ([], [])
    assert words["chart"]["points"] == [[0.0, None]]
    assert words["chart"]["top_bps"] is None
    end = {"host": "h1", "role": "sender", "cpus": 4, "cpu_cores": None, "app_busy_ratio": None}
    shown = live_words.cpu_end({**end, "irq_busy_ratio": None})
    assert (shown["cpu"], shown["app"], shown["irq"]) == ("–", "–", "–")


def test_time_left_is_not_guessed_beyond_what_was_said() -> None:
    view = view_of(BEGUN, started(), NOW)
    assert live_words.head(view)["left"] == "28 s"
    view.state["at_s"] = 40.0
    assert live_words.head(view)["left"] == "–"


def test_before_the_first_load_nothing_is_shown_as_of_now() -> None:
    assert live_words.now(view_of(BEGUN, started(), events.Phase("setting mtu=9000"))) is None


def test_once_a_load_has_ended_its_values_are_those_of_the_last_trial_until_the_next_load() -> None:
    told: list[events.Event] = [BEGUN, started(), NOW, events.TrialStored(DONE, 3)]
    for between in (events.Phase("setting mtu=9000"), started(2)):
        view = view_of(*told, between)
        shown = live_words.now(view)
        assert shown is not None
        assert (shown["throughput"], shown["last"]) == ("9.01 Gbps", "last trial (1 of 3)")
        assert [reading["mark"] for reading in shown["watts"]] == ["simulated", None]
        assert live_words.now(View(view.snapshot())) == shown, "as a browser that comes late sees it"
    again = live_words.now(view_of(*told, started(2), events.Throughput(8e9, 20.0)))
    assert again is not None
    assert (again["throughput"], again["last"]) == ("8.00 Gbps", None)
    assert live_words.head(view_of(*told, events.Phase("setting mtu=9000")))["what"] == "setting mtu=9000"


def test_the_last_value_of_a_trial_is_its_last_known_one_and_a_failed_trial_is_marked() -> None:
    gone = failed(1, CASE, "gone")
    view = view_of(BEGUN, started(), NOW, events.Throughput(None, 27.0), events.TrialStored(gone, 3))
    shown = live_words.now(view)
    assert shown is not None
    assert (shown["throughput"], shown["last"]) == ("9.01 Gbps", "last trial (1 of 3, failed)")


def test_a_page_loaded_between_trials_marks_the_values_of_the_last_trial(
    site: tuple[Served, Path, Path], run: Fed
) -> None:
    run.say(events.TrialStored(DONE, 3), started(2))
    page = site[0].ask(f"/live/{ID}")[1]
    assert '<strong id="throughput">9.01 Gbps</strong>' in page
    assert "No current values; these are from the last trial (1 of 3)." in page
    assert "CPU over one second of the last trial (1 of 3)" in page


def test_a_throughput_of_a_while_ago_is_not_shown_as_of_now() -> None:
    view = view_of(BEGUN, started(), NOW)
    assert live_words.now(view) is not None
    view.state["at_s"] += live_words.NOW_S + 0.1
    assert live_words.now(view) is None


def test_where_hosts_go_with_the_command_nobody_is_told_to_resume() -> None:
    view = view_of(BEGUN, events.TrialStored(DONE, 3))
    stopped = {"event": "closed", "how": "stopped", "reason": None, "seq": 9, "at_s": 9.0}
    view.take(stopped)
    assert live_words.closed(view)["text"].endswith(f"Go on with: linewatt resume {ID}")
    view.state["resumable"] = False
    assert live_words.closed(view)["text"] == "Stopped. 1 of 3 trials are stored."


def test_a_soak_shows_its_users_and_how_much_of_its_time_has_passed() -> None:
    view = view_of(events.Phase("x"), events.Soaking(388e6, 300, 900.0, 2700.0, WATTS))
    head, now = live_words.head(view), live_words.now(view)
    assert (head["ratio"], head["progress"]) == (0.25, "15 min 00 s run, 45 min 00 s left")
    assert now is not None
    assert (now["users"], now["throughput"]) == ("300 users", "388 Mbps")


def test_a_stored_trial_shows_the_cpus_of_each_role_as_far_as_they_are_known() -> None:
    sender = end("h1", "sender", 0.3, 0.5, 0.0, irq_cpu=None)
    done = replace(DONE, sender=sender, receiver=end("h2", "receiver", 0.5, 0.5, 0.75))
    row = live_words.row(document_of_event(events.TrialStored(done, 3))["row"])
    assert row["cpu"] == [
        "h1 (sender) 30 %, app CPUs 50 %",
        "h2 (receiver) 50 %, app CPUs 50 %, IRQ CPUs 75 %",
    ]


def test_of_many_hosts_the_first_ones_are_shown_and_how_many_more_there_are() -> None:
    senders = [end(f"c{number}", "sender", 0.3, 0.5, 0.0) for number in range(20)]
    flows = tuple(FlowResult(one.host, "h2", end=one) for one in senders)
    row = live_words.row(document_of_event(events.TrialStored(replace(DONE, flows=flows), 3))["row"])
    assert row["cpu"][-1] == "and 14 more hosts"
    assert len(row["cpu"]) == 9


def test_hosts_that_are_left_changed_are_all_named() -> None:
    view = view_of(events.LeftChanged(("h1: mtu",)), events.LeftChanged(("h2: rps", "h2: mtu")))
    assert live_words.head(view)["problems"] == ["h1: mtu", "h2: rps", "h2: mtu"]
    view.take({"event": "closed", "how": "done", "reason": None, "seq": 9, "at_s": 9.0})
    assert live_words.closed(view)["good"] is False


def test_a_failed_trial_shows_its_reason_and_no_number() -> None:
    row = live_words.row(
        document_of_event(events.TrialStored(failed(1, Case("tcp", "h1", "h2"), "no route"), 3))["row"]
    )
    assert (row["failed"], row["reason"], row["throughput"]) == (True, "no route", "–")
