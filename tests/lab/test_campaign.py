# SPDX-License-Identifier: Apache-2.0
"""Whole campaigns on real hosts: real sshd, real iperf3, real mpstat, real Parquet."""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests import forked, packed
from tests.documents import valid, valid_output

import linewatt
from linewatt import events
from linewatt.store import derived

pytestmark = pytest.mark.lab

LINEWATT = [sys.executable, "-c", "from linewatt.cli import program; program()"]
TOOLS = ("iperf3", "sockperf", "mpstat", "taskset", "linewatt")
LONG = {"seconds": 1, "omit": 0.5, "tail": 1.5}
"""a window that sensors of a reading a second cover"""

GONE_LIMIT_S = 60.0
"""for processes of a run to end, where how soon is not what is tested"""

HANG_LIMIT_S = 600.0
"""for a command to end that would not otherwise; how long it takes is not what is tested"""


class Impatient(forked.Forked):
    """A command that takes a host for gone sooner, where how soon is not what is tested."""

    before = "from linewatt.hosts import limits\nlimits.REACH_S = limits.LOGIN_S = 3.0"


class Bench:
    """A lab, a place for results and a place for state: what one test works with."""

    def __init__(self, lab: Any, tmp: Path) -> None:
        self.lab = lab
        self.tmp = tmp
        self.results = tmp / "results"
        self.environment = {**os.environ, "LINEWATT_STATE": str(tmp / "state"), "NO_COLOR": "1"}

    def campaign(self, **keys: object) -> Path:
        """A short campaign file on the lab's inventory; ``keys`` replace its values."""
        document = {
            "name": "t",
            "hosts": str(self.lab.inventory),
            "pairs": ["h1 -> h2"],
            "tests": ["tcp"],
            "trials": 2,
            "rate": "200M",
            "window": {"seconds": 1, "omit": 0.2, "tail": 0.8},
            "idle": {"seconds": 0},
            **keys,
        }
        path = self.tmp / "campaign.yaml"
        path.write_text(json.dumps(document))
        return path

    def words(self, *words: str | Path) -> list[str]:
        return [*map(str, words), "--results", str(self.results)]

    def command(self, *words: str | Path) -> list[str]:
        """For a process that Python starts for it, where that is looked at."""
        return [*LINEWATT, *self.words(*words)]

    def run(
        self, *words: str | Path, status: int = 0, limit_s: float = HANG_LIMIT_S
    ) -> subprocess.CompletedProcess[str]:
        done = forked.run(self.words(*words), env=self.environment, timeout=limit_s)
        assert done.returncode == status, done.stderr + done.stdout
        valid_output(words, done.stdout)
        return done

    def start(self, *words: str | Path, kind: type[forked.Forked] = forked.Forked) -> subprocess.Popen[str]:
        return kind(
            [*self.words(*words), "--json"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def restore(self, status: int = 0) -> str:
        done = forked.run(["restore"], env=self.environment, timeout=HANG_LIMIT_S)
        assert done.returncode == status, done.stderr
        return str(done.stderr)

    def own_cpus(self, name: str) -> set[str]:
        """CPUs of a host, as mpstat names them."""
        (host,) = (host for host in self.lab.hosts if host.name == name)
        return {str(cpu) for cpu in host.cpus}

    def with_default_limits(self, number: int) -> Path:
        """The lab's inventory without the patience that tests state for one of its hosts."""
        path = self.tmp / "default-limits.yaml"
        kept, host = [], ""
        for line in self.lab.inventory.read_text().splitlines():
            host = line.strip() if line.strip().endswith(":") else host
            if "linewatt_limits:" not in line or host != f"h{number}:":
                kept.append(line)
        path.write_text("\n".join(kept) + "\n")
        return path

    def bad_inventory(self, **values: str) -> Path:
        """The lab's inventory with some variables of every host replaced."""
        lines = []
        for line in self.lab.inventory.read_text().splitlines():
            key = line.strip().partition(":")[0].removeprefix("linewatt_")
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f'{indent}linewatt_{key}: "{values[key]}"' if key in values else line)
        path = self.tmp / "inventory.yaml"
        path.write_text("\n".join(lines))
        return path

    @property
    def result(self) -> Path:
        (only,) = self.results.iterdir()
        return only

    def trials(self) -> list[dict[str, Any]]:
        """As readers get them: what its end made again of a first trial counts."""
        folders = [path.parent.name for path in sorted(self.result.glob("trials/*/trial.json"))]
        found = [json.loads(Path(file).read_text()) for file in derived.derived_files(self.result, folders)]
        for trial in found:
            valid("trial", trial)
        return found

    def on_host(self, number: int, *argv: str) -> str:
        namespace = self.lab.hosts[number - 1].namespace
        done = subprocess.run(
            ["ip", "netns", "exec", namespace, *argv], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def settings(self, sysctl: str) -> list[str]:
        """What campaigns change on these hosts, as it is now."""
        rps = "/sys/class/net/data0/queues/rx-0/rps_cpus"
        return [
            self.on_host(number, *argv)
            for number in range(1, len(self.lab.hosts) + 1)
            for argv in (["sysctl", "-n", sysctl], ["cat", rps])
        ]

    def assert_put_back(self, sysctl: str, before: list[str]) -> None:
        """Where it is not, what restore says of it; and the lab is as it was for the tests to come."""
        now = self.settings(sysctl)
        if now != before:
            done = forked.run(["restore"], env=self.environment, timeout=HANG_LIMIT_S)
            raise AssertionError(f"{now} was left of {before}; restore said {done.stderr!r}")

    def processes(self) -> list[str]:
        """What linewatt or its tools run on any lab host."""
        found = []
        for host in self.lab.hosts:
            done = subprocess.run(
                ["ip", "netns", "pids", host.namespace], capture_output=True, text=True, check=True
            )
            found += [name for pid in done.stdout.split() if (name := ours(pid))]
        return found

    def sshd(self, number: int) -> int:
        """The process of a host's sshd that listens."""
        found = self.on_host(number, "ss", "-Hltnp", "( sport = :22 )")
        return int(found.partition("pid=")[2].partition(",")[0])

    def inside(self, number: int, *argv: str) -> list[str]:
        """A command that runs where the host's logins run."""
        return ["nsenter", "--mount", "--pid", "--net", "--target", str(self.sshd(number)), *argv]

    def mount(self, number: int, source: Path | str, target: str, back: ExitStack) -> None:
        """Bind a file or directory over another where the host's logins see it, and nobody else does."""
        subprocess.run(self.inside(number, "mount", "--bind", str(source), target), check=True)
        back.callback(subprocess.run, self.inside(number, "umount", target), check=True)

    def until_nothing_runs(self) -> None:
        """A connection's last process ends once sshd has closed it, which nobody waits for."""
        until(lambda: self.processes() == [], GONE_LIMIT_S, "every process on the hosts to end")


def ours(pid: str) -> str | None:
    """The command line of a process, unless it is sshd, the host's init, or gone."""
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return " ".join(words) if any(Path(word).name in TOOLS for word in words) else None


def until(condition: Callable[[], bool], limit_s: float, awaited: str) -> float:
    """Wait for a condition; the seconds it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + limit_s, f"waited {limit_s} s for {awaited}"
        time.sleep(0.02)
    return time.monotonic() - start


def await_event(process: subprocess.Popen[str], kind: str, number: int | None = None) -> dict[str, Any]:
    """Read a running command's events up to one; the process's own end bounds the wait."""
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == kind and number in (None, event.get("number")):
            return event
    raise AssertionError(f"the campaign ended without {kind}: {process.communicate()[1]}")


LEARNED = "its limits are now "
"""in a warning about a host that answered slowly: on a busy machine any may"""


def await_warning(process: subprocess.Popen[str]) -> str:
    """The next warning that is not about a slow answer."""
    while LEARNED in (said := str(await_event(process, "warned")["text"])):
        pass
    return said


def warnings(out: str) -> list[str]:
    """The warnings among the events that a command printed, those about slow answers not among them."""
    events = [json.loads(line) for line in out.splitlines()]
    told = [str(event["text"]) for event in events if event["event"] == "warned"]
    return [text for text in told if LEARNED not in text]


def end(
    process: subprocess.Popen[str], status: int, limit_s: float = HANG_LIMIT_S
) -> tuple[dict[str, Any], str]:
    """Wait for a running command's end: its last event, and what it said on stderr."""
    out, err = rest_of(process, limit_s)
    assert process.returncode == status, out[-2000:] + err
    valid_output(("run", "--json"), out)
    return json.loads(out.splitlines()[-1]), err


def rest_of(process: subprocess.Popen[str], limit_s: float) -> tuple[str, str]:
    """What a command says until it ends; ``communicate`` would lose what was read ahead of a line."""
    assert process.stdout is not None
    assert process.stderr is not None
    hangs = threading.Timer(limit_s, process.kill)
    hangs.start()
    try:
        with ThreadPoolExecutor(max_workers=1) as beside:
            err = beside.submit(process.stderr.read)
            out = process.stdout.read()
        process.wait()
    finally:
        hangs.cancel()
    return out, err.result()


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(plain_lab2, tmp_path)
    before = one.settings("net.ipv4.tcp_rmem")
    yield one
    one.until_nothing_runs()
    one.assert_put_back("net.ipv4.tcp_rmem", before)


CHANGES: Mapping[str, object] = {"settings": {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 7340032"}}}


def test_a_program_runs_a_campaign_hears_of_it_and_reads_its_samples(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    monkeypatch.setenv("LINEWATT_STATE", bench.environment["LINEWATT_STATE"])
    campaign = linewatt.Campaign.load(bench.campaign(trials=1, window=LONG, **CHANGES))
    heard: list[events.Event] = []
    result = linewatt.run(campaign, results=bench.results, on_event=heard.append)
    told = [json.loads(json.dumps(events.as_document(one))) for one in heard]
    for event in told:
        valid("events", event)
    kinds = [event["event"] for event in told if event["event"] not in ("phase", "throughput", "warned")]
    assert kinds == ["started", "trial_started", "trial_stored", "ended"]
    assert events.Ended(result.id, str(bench.result), 1, 0, 0) in heard
    assert heard[-1] == events.Phase("put back 2 settings")
    assert result.cases()[0]["throughput_bps"].mean == bench.trials()[0]["throughput_bps"]
    assert result.caveats
    files = str(bench.result / "trials/*/samples.parquet")
    sources = set(duckdb.read_parquet(files).select("host", "source", "trial").distinct().fetchall())
    assert sources == set(result.samples().duckdb().select("host", "source", "trial").distinct().fetchall())
    assert sources >= {
        (host, source, 1) for host in ("h1", "h2") for source in ("mpstat", "iperf3", "netcounters")
    }


REVERSE_IPV6 = {"directions": ["reverse"], "families": ["ipv6"], "tests": ["tcp", "udp-1500"], "rate": "100M"}


@pytest.mark.parametrize(
    "keys",
    [
        {**REVERSE_IPV6, "placement": "none"},
        *(
            pytest.param(keys, marks=pytest.mark.full)
            for keys in (
                {"directions": ["reverse"]},
                {"families": ["ipv6"]},
                {"tests": ["udp-1500"], "rate": "100M", "directions": ["reverse"]},
                {"tests": ["udp-1500"], "rate": "100M", "families": ["ipv6"]},
                {"placement": "none"},
            )
        ),
    ],
    ids=lambda keys: "-".join(f"{key}" for key in keys),
)
def test_each_direction_and_family_gives_a_number(bench: Bench, keys: dict[str, object]) -> None:
    window = {"seconds": 2, "omit": 0.5, "tail": 0.8}  # after a stall iperf3 sends faster for a moment
    bench.run("run", bench.campaign(trials=1, window=window, **{"rate": "200M", **keys}))
    for trial in bench.trials():
        assert_a_number(bench, trial, 200e6)
        assert trial["case"]["sender"] == ("h2" if "directions" in keys else "h1")
        for connected in connections(bench, trial):
            assert (":" in connected["remote_host"]) == ("families" in keys), "IPv6 where asked"


def assert_a_number(bench: Bench, trial: Mapping[str, Any], asked_bps: float) -> None:
    assert trial["status"] == "done", trial["reason"]
    assert 0.5e6 < trial["throughput_bps"] < 1.05 * asked_bps
    udp = trial["case"]["test"] != "tcp"
    assert (trial["lost_ratio"] is not None) == udp
    assert (trial["retransmits"] is not None) == (not udp)


def connections(bench: Bench, trial: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The connections of a trial's first instance, as its client has them."""
    texts = packed.texts(bench.result / f"trials/{trial['number']:05d}/raw")
    (client,) = (json.loads(text) for name, text in texts.items() if name.endswith("iperf3-client-0.json"))
    connected: list[dict[str, Any]] = client["start"]["connected"]
    return connected


def test_kill_dash_nine_leaves_no_process_and_restore_and_resume_finish_the_campaign(bench: Bench) -> None:
    before = bench.settings("net.ipv4.tcp_rmem")
    file = bench.campaign(window=LONG, **CHANGES)
    process = bench.start("run", file)
    await_event(process, "trial_started", 2)
    until(lambda: any("iperf3" in line for line in bench.processes()), 60, "iperf3 to run on a host")
    assert bench.settings("net.ipv4.tcp_rmem") != before
    process.kill()
    gone_s = until(lambda: bench.processes() == [], 2, "every process on the hosts to end")
    process.communicate()
    assert gone_s < 2

    assert bench.settings("net.ipv4.tcp_rmem") != before
    bench.run("run", file, status=1)
    assert "put back" in bench.restore()
    assert bench.settings("net.ipv4.tcp_rmem") == before
    assert "nothing to restore" in bench.restore()

    results = [path for path in bench.results.iterdir() if (path / "trials").is_dir()]
    assert len(results) == 1
    stored = {path: path.stat().st_mtime_ns for path in results[0].glob("trials/*/trial.json")}
    resumed = bench.run("resume", "last")
    assert "1 of 2 trials to run, about 3.10 s" in resumed.stderr
    assert [trial["number"] for trial in bench.trials()] == [1, 2]
    assert all(trial["status"] == "done" for trial in bench.trials())
    again = {path: path.stat().st_mtime_ns for path in results[0].glob("trials/*/trial.json")}
    assert stored.items() <= again.items()
    assert bench.settings("net.ipv4.tcp_rmem") == before
    assert "nothing to do" in bench.run("resume", "last").stderr


def test_resume_without_restore_still_puts_back_what_the_killed_run_found(bench: Bench) -> None:
    before = bench.settings("net.ipv4.tcp_rmem")
    process = bench.start("run", bench.campaign(trials=1, **CHANGES))
    await_event(process, "trial_started", 1)
    process.kill()
    process.communicate()
    bench.until_nothing_runs()
    bench.run("resume", "last")
    assert bench.settings("net.ipv4.tcp_rmem") == before
    assert "nothing to restore" in bench.restore()


def test_ctrl_c_undoes_everything_and_keeps_what_was_measured(bench: Bench) -> None:
    before = bench.settings("net.ipv4.tcp_rmem")
    process = bench.start("run", bench.campaign(trials=3, **CHANGES))
    await_event(process, "trial_started", 2)
    process.send_signal(signal.SIGINT)
    _, err = end(process, 130)
    assert "Traceback" not in err
    assert f"interrupted; 1 of 3 trials kept; continue with: linewatt resume {bench.result.name}" in err
    assert bench.settings("net.ipv4.tcp_rmem") == before
    bench.until_nothing_runs()
    assert [trial["number"] for trial in bench.trials()] == [1]
    assert "nothing to restore" in bench.restore()


def connection_pids(bench: Bench, number: int) -> list[int]:
    """The sshd processes that serve connections on a host; its listener is not among them."""
    done = bench.on_host(number, "ss", "-Htnp", "state", "established", "( sport = :22 )")
    words = done.replace(",", " ").replace(")", " ").split()
    return sorted({int(word.removeprefix("pid=")) for word in words if word.startswith("pid=")})


def test_a_host_whose_sshd_dies_in_mid_trial_fails_that_trial_and_the_others_go_on(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(window=LONG, **CHANGES))
    await_event(process, "trial_started", 1)
    until(lambda: any("iperf3" in line for line in bench.processes()), 60, "iperf3 to run on a host")
    for pid in connection_pids(bench, 2):
        os.kill(pid, signal.SIGKILL)
    end(process, 1)
    trials = bench.trials()
    assert [trial["status"] for trial in trials] == ["failed", "done"]
    assert "h2" in trials[0]["reason"]
    assert trials[0]["throughput_bps"] is None
    raw = {Path(name).name for name in packed.texts(bench.result / "trials/00001/raw")}
    assert "iperf3-client-0.json" in raw
    assert "mpstat.jsonl" in raw


def test_a_host_that_goes_silent_ends_its_processes_and_comes_back(bench: Bench) -> None:
    """The cable of the management network is pulled, and plugged in again."""
    hosts = str(bench.with_default_limits(2))
    process = bench.start("run", bench.campaign(hosts=hosts, window=LONG))
    await_event(process, "trial_started", 1)
    bench.on_host(2, "ip", "link", "set", "mgmt0", "down")
    try:
        receiver = bench.lab.hosts[1].namespace

        def quiet() -> bool:
            done = subprocess.run(
                ["ip", "netns", "pids", receiver], capture_output=True, text=True, check=True
            )
            return not any(ours(pid) for pid in done.stdout.split())

        until(quiet, 2.5, "every process on the silent host to end")
    finally:
        bench.on_host(2, "ip", "link", "set", "mgmt0", "up")
    end(process, 1)
    assert [trial["status"] for trial in bench.trials()] == ["failed", "done"]


def test_pairs_without_the_dead_host_go_on_and_the_rest_waits_for_resume(
    make_lab: Callable[..., Any], tmp_path: Path
) -> None:
    bench = Bench(make_lab(hosts=3, rate="1gbit", bmc=False), tmp_path)
    file = bench.campaign(pairs=["h1 -> h2", "h1 -> h3"], trials=2)
    process = bench.start("run", file)
    await_event(process, "trial_started", 2)
    namespace = bench.lab.hosts[2].namespace
    pids = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
    for pid in pids.stdout.split():
        with suppress(ProcessLookupError):  # they end with the first of them
            os.kill(int(pid), signal.SIGKILL)
    last, _ = end(process, 1)
    assert (last["event"], last["pending"]) == ("ended", 1)
    assert [(trial["number"], trial["status"]) for trial in bench.trials()] == [
        (1, "done"),
        (2, "failed"),
        (3, "done"),
    ]


def test_concurrent_pairs_start_at_one_barrier(make_lab: Callable[..., Any], tmp_path: Path) -> None:
    bench = Bench(make_lab(hosts=4, rate="1gbit", bmc=False), tmp_path)
    file = bench.campaign(
        pairs=["h1 -> h2", "h3 -> h4"], concurrent_pairs=True, trials=1, rate="100M", window=LONG
    )
    bench.run("run", file)
    trials = bench.trials()
    assert {(trial["case"]["sender"], trial["case"]["receiver"]) for trial in trials} == {
        ("h1", "h2"),
        ("h3", "h4"),
    }
    starts = [one["sender_start_s"] for trial in trials for one in trial["instances"]]
    assert max(starts) - min(starts) < 0.25
    assert any(flag["code"] == "hosts-share-cpus" for flag in trials[0]["flags"])


def test_names_of_one_machine_are_noticed_though_the_inventory_does_not_say_so(
    make_lab: Callable[..., Any], tmp_path: Path
) -> None:
    bench = Bench(make_lab(hosts=4, bmc=False), tmp_path)
    first = bench.lab.hosts[0]
    if not first.shares_cpus_with:
        pytest.skip("needs a machine with fewer than four cores: hosts of this lab have CPUs of their own")
    neighbour = first.shares_cpus_with[0]
    inventory = tmp_path / "no-sharing.yaml"
    lines = bench.lab.inventory.read_text().splitlines()
    inventory.write_text("\n".join(line for line in lines if "linewatt_shares_cpus_with" not in line))
    file = bench.campaign(hosts=str(inventory), pairs=[f"{first.name} -> {neighbour}"], trials=1)
    one_machine = f"{first.name} and {neighbour} are one machine (the same boot id) and share CPU"

    assert one_machine in " ".join(bench.run("check", file).stdout.split())
    assert one_machine in bench.run("run", file).stderr
    (trial,) = bench.trials()
    assert any(flag["code"] == "hosts-share-cpus" for flag in trial["flags"])
    (again,) = json.loads(bench.run("rederive", "last", "--json").stdout)["trials"]
    assert again["same"], "as made again from its raw files, which have no inventory"


def test_a_tool_that_is_missing_on_a_host_is_one_line_before_anything_is_changed(bench: Bench) -> None:
    done = bench.run("run", bench.campaign(hosts=str(bench.bad_inventory(data="nosuch0"))), status=2)
    assert done.stderr.splitlines()[-1].startswith("linewatt: h")
    assert "no interface nosuch0" in done.stderr
    assert not bench.results.exists()


def test_a_cpu_that_a_host_lacks_is_refused_before_anything_runs(bench: Bench) -> None:
    inventory = bench.bad_inventory(cpus="0-4095", app_cpus="4095")
    done = bench.run("run", bench.campaign(hosts=str(inventory)), status=2)
    assert "CPU" in done.stderr
    assert not bench.results.exists()


def test_an_unknown_host_key_is_refused(bench: Bench, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    done = bench.run("run", bench.campaign(hosts=str(bench.bad_inventory(known_hosts=str(empty)))), status=1)
    assert "host key" in done.stderr
    assert not bench.results.exists()


def enough(trials: Sequence[dict[str, Any]]) -> tuple[int, bool]:
    """How many of a case's trials the rule of these tests asks for, and whether their mean is sure then.

    Student's t · s / √n of 3 runs, computed here, is at most half of their mean; else there are 6.
    """
    values: list[float] = [trial["throughput_bps"] for trial in trials]

    def sure(count: int, student_t: float) -> bool:
        few = values[:count]
        reach_bps = student_t * statistics.stdev(few) / math.sqrt(count)
        return reach_bps <= 0.5 * statistics.fmean(few)

    return (3, True) if sure(3, 4.3027) else (6, sure(6, 2.5706))


UNTIL_SURE = {"min": 3, "max": 6, "until": "50%"}


def test_a_case_stops_when_its_mean_is_sure(bench: Bench) -> None:
    window = {"seconds": 0.5, "omit": 0.2, "tail": 0.3}
    # at a rate that a busy machine keeps up, too: what is tested is when cases stop
    bench.run("run", bench.campaign(trials=UNTIL_SURE, rate="50M", window=window))
    runs, met = enough(bench.trials())
    assert len(bench.trials()) == runs
    (case,) = json.loads((bench.result / "repeats.json").read_text())["cases"]
    assert (case["runs"], case["until_met"], case["trials_left_out"]) == (runs, met, 6 - runs)
    (listed,) = json.loads(bench.run("list", "--json").stdout)["results"]
    assert (listed["complete"], listed["trials_planned"]) == (True, runs)
    assert "nothing to do" in bench.run("resume", "last").stderr


@pytest.mark.full
def test_a_case_whose_mean_is_not_sure_goes_to_the_most(bench: Bench) -> None:
    window = {"seconds": 0.5, "omit": 0.2, "tail": 0.3}
    bench.run("run", bench.campaign(trials={**UNTIL_SURE, "until": "0.001%"}, rate=None, window=window))
    assert [trial["repetition"] for trial in bench.trials()] == [1, 2, 3, 4, 5, 6]
    (case,) = json.loads((bench.result / "repeats.json").read_text())["cases"]
    assert (case["runs"], case["until_met"], case["trials_left_out"]) == (6, False, 0)
    assert "± 0.001 % was not reached in 6 trials" in bench.run("show", "last").stdout


@pytest.mark.full
def test_resume_of_a_killed_campaign_stops_where_the_whole_one_would_have(bench: Bench) -> None:
    window = {"seconds": 0.5, "omit": 0.2, "tail": 0.3}
    file = bench.campaign(trials=UNTIL_SURE, tests=["tcp", "udp-1500"], rate="50M", window=window)
    process = bench.start("run", file)
    await_event(process, "trial_started", 5)
    process.kill()
    process.communicate(timeout=HANG_LIMIT_S)
    bench.until_nothing_runs()
    bench.restore()
    bench.run("resume", "last")
    own: dict[str, list[dict[str, Any]]] = {"tcp": [], "udp-1500": []}
    for trial in bench.trials():
        own[trial["case"]["test"]].append(trial)
        assert trial["repetition"] == (trial["number"] + 1) // 2
    runs = {test: enough(trials)[0] for test, trials in own.items()}
    assert {test: len(trials) for test, trials in own.items()} == runs
    left_out = json.loads((bench.result / "repeats.json").read_text())["trials_left_out"]
    assert left_out == 12 - sum(runs.values())
