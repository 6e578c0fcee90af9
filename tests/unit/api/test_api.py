# SPDX-License-Identifier: Apache-2.0
"""The Python API: its names, every block of its page, its notebook, and what it says of what is wrong."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tests import api_results
from tests.documents import valid
from tests.report_factories import demo_trials, failed, result, stored
from tests.soak_result import write as write_soak
from tests.unit.conftest import Run

import linewatt
from linewatt import events
from linewatt.api import runs
from linewatt.errors import ChangeError, HostError, InvalidInput, StoreError
from linewatt.extras import package_install_command
from linewatt.model import Case
from linewatt.report.columns import COLUMNS, MORE_COLUMNS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "api.md"
NOTEBOOK = ROOT / "examples" / "results.ipynb"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results and a campaign file."""
    root = tmp_path_factory.mktemp("nights")
    api_results.write(root)
    return root


@pytest.fixture
def results(nights: Path) -> linewatt.Results:
    return linewatt.open_results(nights / "results")


def test_these_are_its_names() -> None:
    assert sorted(linewatt.__all__) == [
        *("Campaign", "Case", "CaseResult", "Comparison", "Figure", "Finding", "LinewattError", "Plan"),
        *("Result", "Results", "Samples", "Trial", "Verdict"),
        *("compare", "events", "open_results", "plan", "run", "run_async"),
    ]
    assert set(linewatt.__all__) <= set(dir(linewatt))
    assert all(getattr(linewatt, name) is not None for name in linewatt.__all__)
    with pytest.raises(AttributeError):
        linewatt.nothing  # noqa: B018


def test_every_name_is_on_its_page() -> None:
    text = PAGE.read_text()
    assert [name for name in linewatt.__all__ if f"`{name}" not in text] == []


def test_importing_linewatt_imports_nothing_else() -> None:
    code = "import linewatt, sys; print([one for one in sys.modules if one.startswith('linewatt.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def as_if(checked: Any, root: Path, heard: Callable[[events.Event], None], *, wait: bool) -> Path:
    """What a run says, and where its result is, without hosts."""
    del checked, wait
    for event in (events.Warned("h2: went away"), events.TrialStored(demo_trials()[0], 15)):
        heard(event)
    return root / api_results.SECOND


def test_every_block_of_its_page_runs(
    nights: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(nights)
    monkeypatch.setattr(runs, "_run", as_if)
    monkeypatch.setattr(runs, "_to_run", lambda campaign, *_, **__: campaign)
    names: dict[str, Any] = {}
    assert len(BLOCKS) > 10
    for block in BLOCKS:
        exec(block, names)  # noqa: S102
    said = capsys.readouterr().out
    assert names["case"]["throughput_bps"].mean > 1e9
    assert names["watts_by_trial"][0] == (1, "h2", "PSU1 Power Out", 201.5)
    assert names["comparison"].worse
    assert f"{api_results.SECOND} " in said
    assert "20260931: no such result below results; there are: " in said
    assert "warning: h2: went away" in said
    assert asyncio.run(names["night_run"]()).id == api_results.SECOND


def test_the_nightly_example_ends_with_3_where_something_is_slower(
    nights: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make lint` holds its types."""
    monkeypatch.chdir(nights)
    monkeypatch.setattr(runs, "_run", as_if)
    monkeypatch.setattr(runs, "_to_run", lambda campaign, *_, **__: campaign)
    names = runpy.run_path(str(ROOT / "examples" / "nightly.py"))
    assert names["main"]("two-hosts.yaml") == 3
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["two-hosts: about 134 minutes", "warning: h2: went away", "1/15 tcp: 24.16 Gbps"]
    assert any("tcp throughput_bps slower by 10.0 %" in line for line in said)


def cells() -> Iterator[Any]:
    notebook: Any = nbformat.reads(NOTEBOOK.read_text(), as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    yield from (cell for cell in notebook.cells if cell.cell_type == "code")


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; what its last line is, if that is a value."""
    tree = ast.parse(source)
    last = tree.body[-1]
    value = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    tree.body = tree.body[:-1] if value else tree.body
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102
    return eval(compile(value, "cell", "eval"), names) if value else None  # noqa: S307


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    nights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells as a kernel runs them, without one: Jupyter's packages would be a hundred more."""
    monkeypatch.chdir(nights)
    names: dict[str, Any] = {}
    seen = {cell.id: shown(cell.source, names) for cell in cells()}
    assert [one[0] for one in seen["open"]] == [api_results.FIRST, api_results.SECOND]
    assert seen["table"][0][0] == "TCP, h1 → h2: 1 instance"
    assert "bit/s (" in seen["table"][0][1]
    assert seen["draw"]._repr_svg_().startswith("<svg")
    assert seen["sql"][0][:5] == ("h2", "bmc", "PSU1 Power Out", "W", 2 * len(names["newest"].trials()))
    assert any("slower by 10.0 %" in one[-1] for one in seen["verdicts"])


def test_the_notebook_holds_no_outputs() -> None:
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells())


def test_results_are_there_by_id_its_beginning_last_and_baseline(results: linewatt.Results) -> None:
    assert [one.id for one in results] == [api_results.FIRST, api_results.SECOND]
    assert len(results) == 2
    assert results["20260101"].id == results["baseline:night"].id == api_results.FIRST
    assert results["last"].id == results.last.id == api_results.SECOND


def test_a_figure_is_what_show_says(results: linewatt.Results) -> None:
    row = results.last.document()["cases"][0]
    case = results.last.cases()[0]
    for name, figure in case.figures.items():
        key = name if name in row else f"{name}_mean"
        assert figure.mean == row[key], name
        if figure.mean is None:
            assert figure.reason
        if f"{name}_ci95_low" in row and figure.ci95:
            assert figure.ci95 == (row[f"{name}_ci95_low"], row[f"{name}_ci95_high"])
        if f"{name}_provenance" in row:
            assert figure.provenance == row[f"{name}_provenance"]
    assert list(case) == list(case.means)


def test_every_metric_that_cases_of_its_test_have_is_a_figure(results: linewatt.Results) -> None:
    figures = {name for case in results.last.cases() for name in case}
    wanted = {
        one.si_key
        for one in COLUMNS + MORE_COLUMNS
        if not one.only_recorded and one.loads != "request-response"
    }
    assert wanted <= figures
    assert {"receiver_system_w", "sender_dynamic_energy_pj_per_bit"} <= figures


def test_a_figure_that_findings_make_doubtful_says_which(tmp_path: Path) -> None:
    stored(tmp_path, result(demo_trials()))
    (found,) = linewatt.open_results(tmp_path)
    case = found.cases()[0]
    assert case["receiver_cpu_cores"].doubts == ("cpu-accounting-disagrees", "hosts-share-cpus")
    assert case["receiver_cpu_cores"].is_doubtful
    assert not case["throughput_bps"].is_doubtful
    assert "cpu-accounting-disagrees" in [one.code for one in found.findings()]


def test_a_name_that_no_figure_has_says_which_there_are(results: linewatt.Results) -> None:
    with pytest.raises(InvalidInput, match="througput: no figure of this case; there are throughput_bps, "):
        results.last.cases()[0]["througput"]


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such directory"):
        linewatt.open_results(tmp_path / "nothing")


def test_a_damaged_result_is_told_once_it_is_read(tmp_path: Path) -> None:
    path = stored(tmp_path, result(demo_trials()))
    (path / "trials" / "00002" / "trial.json").write_text("{")
    (one,) = linewatt.open_results(tmp_path)
    assert one.name == "x64-scaling"
    with pytest.raises(StoreError, match=r"00002/trial\.json: damaged"):
        one.cases()


def test_a_soak_has_no_cases_but_a_document_and_samples(tmp_path: Path) -> None:
    write_soak(tmp_path)
    soak = linewatt.open_results(tmp_path).last
    assert soak.kind == "soak"
    with pytest.raises(InvalidInput, match="has no cases"):
        soak.cases()
    valid("show", soak.document())
    relation = soak.samples().duckdb()
    assert relation.filter("trial IS NOT NULL").fetchall() == []
    assert relation.aggregate("count(*)").fetchall()[0][0] > 1000


def test_samples_of_before_the_trial_was_stored_are_read_with_it(tmp_path: Path) -> None:
    import duckdb

    root = tmp_path / "trials" / "7"
    root.mkdir(parents=True)
    api_results.write(root)
    newest = linewatt.open_results(root / "results").last
    path = newest.path / "trials" / "00002" / "samples.parquet"
    old = path.with_name("old.parquet")
    duckdb.execute(f"COPY (SELECT * EXCLUDE (trial) FROM '{path}') TO '{old}' (FORMAT parquet)")  # noqa: S608
    old.replace(path)
    rows = newest.samples([1, 2]).duckdb().select("trial").distinct().order("trial").fetchall()
    assert rows == [(1,), (2,)]


def test_a_missing_reading_is_masked_and_says_why(results: linewatt.Results) -> None:
    columns = results.last.samples(1).numpy()
    assert columns["value"].mask.tolist() == [False, False, True]
    assert columns["reason"][2] == "no answer within 5 s"
    assert columns["trial"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("method", "package"), [("arrow", "pyarrow"), ("pandas", "pandas")])
def test_a_package_that_is_not_there_is_named(
    results: linewatt.Results, monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    command = package_install_command(package)
    with pytest.raises(
        linewatt.LinewattError, match=f"need {package}, which is not installed: {re.escape(command)};"
    ):
        getattr(results.last.samples(), method)()


def test_samples_that_are_not_stored_are_an_error(results: linewatt.Results) -> None:
    with pytest.raises(StoreError, match="no samples of these trials"):
        results.last.samples(999)


def test_verdicts_are_those_of_compare(results: linewatt.Results, nights: Path, run: Run) -> None:
    a, b = results
    found = linewatt.compare(a, b)
    _, out, _ = run("compare", a.id, b.id, "--results", str(nights / "results"), "--json")
    document = json.loads(out)
    assert json.loads(json.dumps(found.document(fail_on=["slower"]))) == document
    assert [(one.response, one.kind, one.words, one.a) for one in found.verdicts] == [
        (row["response"], row["kind"], row["verdict"], row["base_mean"]) for row in document["comparisons"]
    ]
    assert {one.case for one in found.worse} == {case.case for case in a.cases() if case.case.test == "tcp"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "moon"}, "by 'moon': must be one of direction, "),
        ({"metrics": ["speed"]}, "metrics 'speed': must be one of throughput, "),
        ({"allow": ["all"]}, "allow 'all': must be one of window, "),
    ],
)
def test_what_compare_does_not_know_is_refused(results: linewatt.Results, options: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        linewatt.compare(*results, **options)


def test_a_result_is_not_compared_with_itself(results: linewatt.Results) -> None:
    with pytest.raises(InvalidInput, match="is compared with itself"):
        linewatt.compare(results.last, results.last)


def test_a_plan_is_that_of_the_file_and_touches_no_host(nights: Path) -> None:
    planned = linewatt.plan(linewatt.Campaign.load(nights / "two-hosts.yaml"))
    assert planned.trials == 120
    assert {case.test for case in planned.cases} == {"tcp", "udp-1500", "udp-60"}
    assert planned.document()["duration_s"] == pytest.approx(planned.duration_s)
    valid("plan", planned.document())


def test_a_wrong_file_is_one_line_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("name: t\n")
    with pytest.raises(InvalidInput, match=r"c\.yaml:1:1: hosts: is missing; add it"):
        linewatt.Campaign.load(file)


def campaign(tmp_path: Path) -> linewatt.Campaign:
    file = tmp_path / "c.yaml"
    hosts = "  h1: {address: 192.0.2.1, data: eth0}\n  h2: {address: 192.0.2.2, data: eth0}\n"
    file.write_text(f"name: t\nhosts:\n{hosts}tests: [tcp]\n")
    return linewatt.Campaign.load(file)


def test_a_file_that_was_edited_since_it_was_loaded_is_not_run(tmp_path: Path) -> None:
    loaded = campaign(tmp_path)
    loaded.path.write_text(loaded.path.read_text().replace("tcp", "udp-60"))
    with pytest.raises(InvalidInput, match="was edited since it was loaded"):
        linewatt.run(loaded, results=tmp_path)


def test_results_that_cannot_be_written_are_refused_before_a_host_is_touched(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a directory"):
        linewatt.run(campaign(tmp_path), results=tmp_path / "c.yaml" / "results")


def test_run_beside_a_loop_says_what_to_do(tmp_path: Path) -> None:
    async def notebook() -> None:
        linewatt.run(campaign(tmp_path), results=tmp_path)

    with pytest.raises(InvalidInput, match="await run_async"):
        asyncio.run(notebook())


@pytest.mark.parametrize(
    ("ended_by", "said"),
    [
        (None, "the result is "),
        (HostError("h2: no route"), "and h2: no route"),
        (asyncio.CancelledError(), "and it was interrupted"),
    ],
)
def test_hosts_that_could_not_be_put_back_are_the_worse_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended_by: BaseException | None, said: str
) -> None:
    async def left_changed(_: Any, root: Path, heard: Callable[[events.Event], None], *, wait: bool) -> Path:
        del wait
        heard(events.LeftChanged(("h2: mtu is 9000",)))
        if ended_by is not None:
            raise ended_by
        return root / "id"

    monkeypatch.setattr(runs, "_run", left_changed)
    seen: list[events.Event] = []
    with pytest.raises(ChangeError, match=f"run linewatt restore: h2: mtu is 9000; {said}"):
        linewatt.run(campaign(tmp_path), results=tmp_path, on_event=seen.append)
    assert seen == [events.LeftChanged(("h2: mtu is 9000",))]


def test_trials_that_failed_are_in_the_result(tmp_path: Path) -> None:
    stored(tmp_path, result([failed(1, Case("tcp", "h1", "h2"), "h2: no route")], planned=1))
    (only,) = linewatt.open_results(tmp_path)
    assert [one.reason for one in only.trials()] == ["h2: no route"]
    assert only.cases()[0]["throughput_bps"].reason == "no trial of this case is done"


@pytest.mark.parametrize("wanted", ["..", "../nights0/results", "/etc", "", "20260101-000000-nightly/trials"])
def test_a_key_of_results_leads_nowhere_else(results: linewatt.Results, wanted: str) -> None:
    with pytest.raises(InvalidInput, match="is not the id of a result"):
        results[wanted]
