# SPDX-License-Identifier: Apache-2.0
"""A result under a name that others are held against."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.compare_factories import made, runs
from tests.report_factories import stored
from tests.unit.conftest import Run

from linewatt.cli.options import _ids, baseline_names
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.history import baselines

A, B = "20260101-000000-a", "20260102-000000-b"
ROOT = Path("results")


@pytest.fixture
def two(run: Run) -> None:
    del run  # is in a directory of its own
    stored(ROOT, made("a", runs()))
    stored(ROOT, made("b", runs(ratio=0.95, seed=2), day=2))


@pytest.mark.usefixtures("two")
def test_a_name_is_its_result_wherever_an_id_is_asked_for(run: Run) -> None:
    assert run("baseline", "set", "main", A[:8]) == (0, f"{A}\n", "")
    assert run("compare", "baseline:main", "last") == run("compare", A, B)
    assert run("compare", "baseline:main", "last")[0] == 3
    assert run("show", "baseline:main", "--json") == run("show", A, "--json")
    one = run("compare", "baseline:main:h1", "baseline:main:h2")
    assert one == run("compare", f"{A}:h1", f"{A}:h2")
    code, out, _ = run("baseline", "list")
    assert (code, out.split()[:2]) == (0, ["main", A])
    document = json.loads(run("baseline", "list", "--json")[1])
    assert [(one["name"], one["id"], one["is_there"]) for one in document["baselines"]] == [("main", A, True)]
    assert (_ids("base"), baseline_names("m")) == (["baseline:main"], ["main"])


@pytest.mark.usefixtures("two")
def test_last_is_the_result_that_was_the_newest_then(run: Run) -> None:
    run("baseline", "set", "main", "last")
    stored(ROOT, made("c", runs(), day=3))
    assert json.loads(run("show", "baseline:main", "--json")[1])["id"] == B


@pytest.mark.usefixtures("two")
def test_a_name_that_is_set_again_says_what_it_was(run: Run) -> None:
    run("baseline", "set", "main", A)
    assert run("baseline", "set", "main", B) == (0, f"{B}\n", f"main was {A}\n")
    (ROOT / "baselines/main.json").write_text("{")
    code, _, err = run("show", "baseline:main")
    assert (code, "'linewatt baseline set main ID' writes it anew" in err) == (1, True)
    assert run("baseline", "set", "main", A)[0] == 0
    assert run("baseline", "remove", "main")[0] == 0
    assert run("baseline", "remove", "main")[0] == 2
    assert run("show", A)[0] == 0, "its result stays"


@pytest.mark.usefixtures("two")
def test_a_result_that_was_deleted_is_said_and_no_other_is_taken(run: Run) -> None:
    run("baseline", "set", "main", A)
    shutil.rmtree(ROOT / A)
    code, out, err = run("compare", "baseline:main", "last")
    assert (code, out) == (2, "")
    assert f"baseline:main: is {A} since " in err
    assert "is not below results any more" in err
    code, out, _ = run("baseline", "list")
    assert (code, "is not there any more" in out) == (1, True)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("name", ["../x", "", ".x", "a/b", "a b", "a:b", "x" * 65])
def test_a_name_that_leads_elsewhere_is_refused(name: str, run: Run) -> None:
    assert run("baseline", "set", name, A)[0] == 2
    with pytest.raises(InvalidInput):
        baselines.find(ROOT, f"baseline:{name}")


@pytest.mark.usefixtures("two")
def test_what_stands_in_a_file_leads_nowhere_else(run: Run) -> None:
    run("baseline", "set", "main", A)
    shutil.copytree(ROOT / A, "elsewhere")
    for wrong in ("../elsewhere", "..", "", "/etc"):
        (ROOT / "baselines/main.json").write_text(
            json.dumps({"schema_version": 1, "id": wrong, "set_s": 1.0})
        )
        with pytest.raises(StoreError, match="not below"):
            baselines.find(ROOT, "baseline:main")
    code, _, err = run("baseline", "set", "main", "elsewhere")
    assert (code, "a baseline names a result beside it" in err) == (2, True)
    code, _, err = run("show", "baseline:other")
    assert (code, "there is no such baseline below results, but: main;" in err) == (2, True)
    code, _, err = run("show", "baseline:mian")
    assert (code, "below results, did you mean main? 'linewatt baseline set mian ID'" in err) == (2, True)


@pytest.mark.usefixtures("two")
def test_of_writers_at_once_each_name_is_there_and_whole() -> None:
    script = (
        "import sys; from pathlib import Path; from linewatt.features.history import baselines\n"
        "for at in range(20):\n"
        "    baselines.put(Path('results'), 'main', Path('results', sys.argv[1]), 1.0)\n"
        "    baselines.put(Path('results'), f'{sys.argv[2]}-{at}', Path('results', sys.argv[1]), 1.0)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, *each]) for each in ((A, "a"), (B, "b"))]
    while any(one.poll() is None for one in writers):
        found = baselines.get(ROOT, "main")
        assert found is None or found.id in (A, B)
    assert [one.wait(60) for one in writers] == [0, 0]
    assert len(list(baselines.names(ROOT))) == 41
    assert not list((ROOT / "baselines").glob(".*")), "nothing is left behind"
