# SPDX-License-Identifier: Apache-2.0
"""``linewatt import DIR``: hosts are those that the files name; folders may be runs, dates or sizes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.conftest import Run
from tests.unit.features.importing.test_import_captures import ONE, TWO, document, imported, refusal

from linewatt.errors import InvalidInput
from linewatt.features.importing.captures.folder import read_files
from linewatt.features.importing.captures.formats import find_all
from linewatt.features.importing.captures.hosts import Hosts, assign

CLIENT = "192.0.2.1"


NAMED_OTHERWISE = "readings-named-otherwise"


def write_test(
    into: Path, *, node: str = "gen", server: str = "192.0.2.2", client: str = CLIENT, later_s: int = 0
) -> Path:
    """The file of a client, as a program of tests leaves it: a test a file, wherever it may lie."""
    found: dict[str, Any] = document(ONE)
    start = found["start"]
    start["system_info"] = f"Linux {node} 6.1.0-25-amd64 #1 SMP Debian x86_64"
    start["cookie"] = f"{node}-{server}-{later_s}"
    start["timestamp"]["timesecs"] += later_s
    start["connecting_to"]["host"] = server
    for one in start["connected"]:
        one |= {"local_host": client, "remote_host": server}
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text(json.dumps(found))
    return into


def ways(path: Path, **options: Any) -> list[tuple[str, str, int]]:
    """Sender, receiver and repetition of each trial."""
    trials = [one.trial for one in imported(path, **options).trials]
    return [(one.case.sender, one.case.receiver, one.repetition) for one in trials]


def test_folders_of_runs_are_trials_of_one_host_and_its_server_is_named_by_its_address(
    tmp_path: Path, run: Run
) -> None:
    for number in (1, 2):
        write_test(tmp_path / "in" / f"run{number}" / "client.json", later_s=20 * number)
    assert ways(tmp_path / "in") == [("gen", "192.0.2.2", 1), ("gen", "192.0.2.2", 2)]
    said = run("import", str(tmp_path / "in"))[2]
    assert said.startswith(
        "run1, run2: their files all name the machine gen, so they are one host, gen; --sender and "
        "--receiver name the ends of all tests, --host the host of a file\n"
    )
    stored = json.loads(run("import", str(tmp_path / "in"), "--json")[1])
    assert stored["notes"] == [said.splitlines()[0]]
    assert stored["hosts"] == ["192.0.2.2", "gen"]


def test_two_clients_of_a_server_without_a_file_send_to_it_and_not_to_each_other(tmp_path: Path) -> None:
    for number in (1, 2):
        own = tmp_path / f"c{number}" / "client.json"
        write_test(own, node=f"c{number}", client=f"192.0.2.2{number}", later_s=30 * number)
    assert ways(tmp_path) == [("c1", "192.0.2.2", 1), ("c2", "192.0.2.2", 1)]
    assert imported(tmp_path).hosts.notes == ()


def test_files_beside_a_folder_of_the_same_host_and_three_servers_are_three_cases(tmp_path: Path) -> None:
    write_test(tmp_path / "a.json", server="192.0.2.11")
    write_test(tmp_path / "b.json", server="192.0.2.12", later_s=20)
    write_test(tmp_path / "10k_file" / "c.json", server="192.0.2.13", later_s=40)
    write_test(tmp_path / "10k_file" / "d.json", server="192.0.2.11", later_s=60)
    servers = [("192.0.2.11", 1), ("192.0.2.12", 1), ("192.0.2.13", 1), ("192.0.2.11", 2)]
    assert ways(tmp_path) == [("gen", server, number) for server, number in servers]


def test_a_server_is_known_by_the_address_that_its_own_files_have(tmp_path: Path) -> None:
    write_test(tmp_path / "a" / "client.json", node="a", client="192.0.2.1", server="192.0.2.2")
    write_test(tmp_path / "b" / "client.json", node="b", client="192.0.2.2", server="192.0.2.3", later_s=20)
    write_test(tmp_path / "c" / "client.json", node="c", client="192.0.2.3", server="192.0.2.1", later_s=40)
    assert ways(tmp_path) == [("a", "b", 1), ("b", "c", 1), ("c", "a", 1)]


def test_both_ends_of_a_test_on_one_machine_stay_two_hosts() -> None:
    whole = imported(TWO)
    assert set(whole.host_names) == {"gen", "dut"}
    assert whole.hosts.notes == ()


def test_readings_of_the_only_host_whose_addresses_no_file_says_are_the_servers(tmp_path: Path) -> None:
    write_test(tmp_path / "gen" / "client.json")
    shutil.copy(TWO / "dut" / "mpstat.txt", tmp_path / "gen")  # of another node
    (named,) = [flag for flag in imported(tmp_path).trials[0].trial.flags if flag.code == NAMED_OTHERWISE]
    assert (named.where, named.evidence) == (
        "gen",
        "the readings name their host dut; gen/client.json names it gen",
    )
    (tmp_path / "dut").mkdir()
    (tmp_path / "gen" / "mpstat.txt").rename(tmp_path / "dut" / "mpstat.txt")
    assert ways(tmp_path) == [("gen", "dut", 1)]
    assert NAMED_OTHERWISE not in {flag.code for flag in imported(tmp_path).trials[0].trial.flags}


def test_ends_may_be_named_and_files_of_a_folder_of_that_name_are_theirs(tmp_path: Path) -> None:
    for number in (1, 2):
        write_test(
            tmp_path / f"run{number}" / "client.json", server=f"192.0.2.1{number}", later_s=20 * number
        )
    named = ways(tmp_path, sender="web", receiver="db")
    assert named == [("web", "db", 1), ("web", "db", 2)]
    assert ways(tmp_path, receiver="db") == [("gen", "db", 1), ("gen", "db", 2)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sender": "x", "receiver": "x"}, "x would be both ends of a test"),
        ({"receiver": "gen"}, "gen would be both ends of a test"),
    ],
)
def test_names_of_ends_that_cannot_be_are_refused(options: dict[str, str], said: str, tmp_path: Path) -> None:
    write_test(tmp_path / "gen" / "client.json")
    assert said in refusal(tmp_path, **options)


def test_a_host_that_sends_and_receives_has_one_name(tmp_path: Path) -> None:
    write_test(tmp_path / "a.json")
    write_test(tmp_path / "other" / "b.json", node="other", client="192.0.2.9", server=CLIENT, later_s=20)
    assert "gen sends in one of them and receives in the other" in refusal(tmp_path, sender="web")


SAR = """\
Linux 6.1.0 (WEB.EXAMPLE) \t11/25/26 \t_x86_64_\t(1 CPU)

10:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:00:02        all      2.00      0.00      3.00      0.00      0.00     95.00
10:00:03        all      2.00      0.00      3.00      0.00      0.00     95.00
"""


def assigned(path: Path) -> Hosts:
    return assign(find_all(read_files(path, ())), {})


def test_readings_that_call_their_host_otherwise_are_of_the_folder_they_are_in(tmp_path: Path) -> None:
    write_test(tmp_path / "gen" / "client.json")
    (tmp_path / "gen" / "a.txt").write_text(SAR)
    hosts = assigned(tmp_path)
    assert set(hosts.of_file.values()) == {"gen"}
    assert hosts.nodes == {"gen": "gen"}
    (note,) = hosts.notes
    assert note.startswith(
        "gen/a.txt names its host WEB.EXAMPLE, and gen/client.json gen; both are taken to be"
    )


def test_readings_of_two_machines_in_one_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "gen").mkdir()
    for name in ("WEB", "DB"):
        (tmp_path / "gen" / f"{name}.txt").write_text(SAR.replace("WEB", name))
    with pytest.raises(InvalidInput, match="both would be gen: keep a folder for each host"):
        assigned(tmp_path)


def test_a_plain_file_is_a_plain_result_and_no_experiment(tmp_path: Path, run: Run) -> None:
    old = document(write_test(tmp_path / "client.json"))
    for holds in (old["start"], old["start"]["test_start"]):
        holds.pop("target_bitrate", None)
    (tmp_path / "client.json").write_text(json.dumps(old))
    run("import", str(tmp_path / "client.json"))
    shown = run("show")[1]
    assert shown.splitlines()[2].startswith("RESULT")
    assert "asked-rate" not in shown
    assert "BEST SETTING" not in shown


def test_levels_that_all_cases_have_alike_make_no_experiment(tmp_path: Path, run: Run) -> None:
    for number in (1, 2):
        file = tmp_path / f"{number}.json"
        sized = document(write_test(file, later_s=20 * number))
        sized["start"]["test_start"] |= {"duration": 0, "bytes": 1_000_000}
        file.write_text(json.dumps(sized))
    run("import", str(tmp_path))
    assert "BEST SETTING" not in run("show")[1]
    (case,) = json.loads(run("show", "--json")[1])["cases"]
    assert "1000000 bytes" in str(case["factors"])
