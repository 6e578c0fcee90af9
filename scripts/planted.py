# SPDX-License-Identifier: Apache-2.0
"""Whether ``make test`` notices faults planted by hand, each of which would do users harm.

``make planted`` copies the tree. For each fault in turn it changes one text of a source file in the copy and
runs tests of ``make test``: first the files that are likely to notice, then the other unit tests. The first
test that fails counts if, run alone, it fails with the fault and passes without it. A fault that no test
notices is NOT FOUND.

    python scripts/planted.py [--only NAME…] [--jobs N] [--list]

``scripts/mutants.py`` changes every check by rule. These faults are elsewhere; many need real hosts to show.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]
TIER = "not measures and not full and not thorough"
"""what `make test` runs, as in tests/__main__.py"""
NOT_COPIED = {".git", ".venv", "build", "dist", "results", ".hypothesis", "__pycache__"}
"""of the top of the tree; the last anywhere"""
TEXT_TESTS = ("test_planted", "test_mutants", "test_repository")
"""unit tests that read sources as text: they would notice every change"""
PASSED, FAILED, INTERRUPTED = 0, 1, 2
"""exit codes of pytest; the last also where a test file cannot be imported"""


class NotPlanted(Exception):
    """A fault whose text is not in its file exactly once, or a copy whose source is not used."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: in ``file`` below src/linewatt ``text`` becomes ``planted``.

    ``harm`` is what users would see. ``tests`` are files below tests, or tests in them, the likeliest
    to notice first.
    """

    name: str
    file: str
    harm: str
    text: str
    planted: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        return str(Path(self.file).parent if "/" in self.file else Path(self.file).stem)

    def in_place(self, source: str) -> str:
        """The source with the fault in it. Raises NotPlanted."""
        if source.count(self.text) != 1:
            raise NotPlanted(
                f"{self.name}: {self.file} has its text {source.count(self.text)} times, not once"
            )
        return source.replace(self.text, self.planted)


FAULTS = (
    Fault(
        "wait-ignored",
        "cli/execution.py",
        "run --wait fails at once where another controller works on a host",
        "CampaignRun(campaign, planned, places, heard, ask, waits=wait, later=later)",
        "CampaignRun(campaign, planned, places, heard, ask, waits=False, later=later)",
        ("lab/test_slow_writes.py::test_run_and_restore_wait_for_a_host_in_use_only_where_asked_to",),
    ),
    Fault(
        "no-token-needed",
        "features/serve/guard.py",
        "whoever sends no token reads every result of a server that asks for one",
        "if not hmac.compare_digest(sent_token, token):",
        "if sent_token and not hmac.compare_digest(sent_token, token):",
        ("unit/features/serve/test_serve.py",),
    ),
    Fault(
        "left-changed-untold",
        "api/runs.py",
        "a program is not told that hosts could not be put back",
        "    if heard.problems:\n"
        '        raise ChangeError(f"{heard.words}; the result is {path}")\n'
        "    return",
        "    return",
        ("unit/api/test_api.py",),
    ),
    Fault(
        "no-schema-of-soaks",
        "schemas/__init__.py",
        "show --json of a soak does not match its own schema",
        '_any_of(_beside("report.trials.schema"), *(kind.schema() for kind in result_kinds()))',
        '_any_of(_beside("report.trials.schema"))',
        ("unit/program/test_schemas.py",),
    ),
    Fault(
        "unescaped-cell",
        "report/printing/page_rows.py",
        "a name with HTML in it runs a script in a report",
        "    text = escape(cell.text)\n",
        "    text = Markup(cell.text)\n",
        ("unit/report/test_report_html.py",),
    ),
    Fault(
        "hanging-sensor-kept",
        "engine/live/sensing.py",
        "a sensor that hangs is not started again: every later trial lacks its readings",
        "            feed.notice_silence()\n",
        "            pass\n",
        ("unit/sensors/test_feed.py", "lab/test_lost.py"),
    ),
    Fault(
        "secret-inherited",
        "engine/live/secrets.py",
        "every process that linewatt starts has the BMC's password in its environment",
        "    os.environ.pop(name, None)\n",
        "",
        ("unit/program/test_secrets.py", "lab/test_power.py"),
    ),
    Fault(
        "other-family",
        "engine/live/session.py",
        "a trial over IPv6 goes to the IPv4 address of a host whose addresses no file names",
        'nic.get(f"{family}_addresses")',
        'nic.get("ipv4_addresses")',
        ("unit/engine/test_proof.py", "lab/test_campaign.py"),
    ),
    Fault(
        "trials-lost",
        "engine/campaign.py",
        "of pairs that run at once all are skipped because one host has a problem",
        "return [trial for trials in ready for trial in trials]",
        "return ready[-1]",
        ("unit/engine/test_many_hosts.py", "lab/test_garbage.py", "lab/test_campaign.py"),
    ),
    Fault(
        "restore-without-lock",
        "engine/undo/restore.py",
        "restore changes hosts on which another campaign is measuring",
        "            held = await take(host, by.holder, by.say if by.waits else None, again=True)\n"
        "            if held.note is not None:\n"
        "                by.say(held.note)\n",
        "",
        (
            "unit/hosts/test_journal.py",
            "lab/test_slow_writes.py::test_run_and_restore_wait_for_a_host_in_use_only_where_asked_to",
        ),
    ),
    Fault(
        "server-log-cut",
        "features/users/soaks.py",
        "a soak whose server's connection ends at the last moment lacks the last transfers of its log",
        "                await self._session.connect_again(name)\n",
        "                raise\n",
        ("unit/features/users/test_users_server.py", "lab/test_soak.py"),
    ),
    Fault(
        "inventory-stays",
        "features/lab/build.py",
        "lab down leaves an inventory of hosts that are gone",
        "        remove_copy(Path(copy), state.request.name)\n",
        "        pass\n",
        ("lab/test_lab.py::test_the_command_prints_the_inventory_alone_on_stdout",),
    ),
    Fault(
        "barrier-of-one-client",
        "features/users/worker/locust_master.py",
        "users that are to start in step begin while those of other clients still log in",
        "self._ready.total() >= user_count",
        "self._ready.total() > 0",
        (
            "lab/test_users_fleet.py::test_users_of_all_clients_start_in_step_each_at_the_address_of_its_client",
        ),
    ),
    Fault(
        "one-server-address",
        "features/users/worker/locust_master.py",
        "users of every group load the address of the first group",
        "as_dict(replace(self._job, target=place.target))",
        "as_dict(self._job)",
        (
            "lab/test_users_fleet.py::test_users_of_all_clients_start_in_step_each_at_the_address_of_its_client",
        ),
    ),
    Fault(
        "more-is-better",
        "analysis/comparison/verdicts.py",
        "compare calls more loss and more latency better, and exits 0",
        "better = (change.value > 0) == self.response.higher_is_better",
        "better = change.value > 0",
        ("unit/analysis/test_compare.py",),
    ),
    Fault(
        "not-on-disk",
        "durable.py",
        "a power cut leaves empty files of trials that were said to be stored",
        "        file.flush()\n        os.fsync(file.fileno())\n",
        "        file.flush()\n",
        ("unit/store/test_store.py",),
    ),
    Fault(
        "first-port-only",
        "campaign/planning/layout.py",
        "of several data ports only the first gets the campaign's MTU, rings and offloads",
        "        for port in self._at_ports(campaign.hosts[host]):\n",
        "        for port in [campaign.hosts[host]]:\n",
        ("unit/engine/test_data_ports.py",),
    ),
    Fault(
        "route-stays",
        "network/host_route.py",
        "routes that a run made for data ports stay on the hosts",
        '|| exec ip "$family" route del "$address"\n',
        "|| true\n",
        (
            "unit/engine/test_host_route.py",
            "lab/test_data_ports.py::test_ports_of_one_subnet_each_carry_their_own_data",
        ),
    ),
    Fault(
        "wrap-ignored",
        "sensors/counters.py",
        "watts of an energy counter that wraps in a window are too low",
        "return after - before if after >= before else after + wraps_at - before",
        "return max(0.0, after - before)",
        ("unit/sensors/test_counters.py",),
    ),
    Fault(
        "interrupts-on-process-cpus",
        "placement/policy.py",
        "interrupts and processes share CPUs though others are free",
        "process_cpus, interrupts = cores[:processes], cores[processes : 2 * processes]",
        "process_cpus, interrupts = cores[:processes], cores[:processes]",
        ("unit/placement/test_policy.py",),
    ),
    Fault(
        "delay-a-thousandth",
        "tuning/nic/netem.py",
        "a delay of 10 ms is made and shown as 10 µs",
        '_US = {"us": 1, "ms": 1_000, "s": 1_000_000}',
        '_US = {"us": 1, "ms": 1, "s": 1_000_000}',
        ("unit/tuning/test_netem.py", "unit/tuning/test_knobs_captures.py"),
    ),
    Fault(
        "host-key-unchecked",
        "hosts/ssh/login.py",
        "linewatt logs in to whoever answers at a host's address",
        "        self.offered = key\n        return False\n",
        "        self.offered = key\n        return True\n",
        ("lab/test_login.py",),
    ),
    Fault(
        "silent-host-keeps-loading",
        "hosts/leash.py",
        "a host whose cable was pulled goes on sending for ever",
        'case $name in sshd*) kill -TERM "$parent";; esac',
        "case $name in sshd*) ;; esac",
        (
            "unit/hosts/test_leash.py",
            "lab/test_campaign.py::test_a_host_that_goes_silent_ends_its_processes_and_comes_back",
        ),
    ),
    Fault(
        "loss-unflagged",
        "engine/measuring/checks/load.py",
        "lost datagrams are in no finding",
        "if is_lossy(instances) and not case.search:",
        "if is_lossy(instances) and case.search:",
        ("unit/program/test_wiring.py",),
    ),
)


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """A copy of the tree with a .venv in which its source stands before the original. Raises NotPlanted."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = Path(folder).resolve() / "tree"
        shutil.copytree(root, tree, symlinks=True, ignore=partial(_not_copied, str(root)))
        venv.create(tree / ".venv", symlinks=True)
        (own,) = (tree / ".venv" / "lib").glob("python*/site-packages")
        packages = "; ".join(f"site.addsitedir({one!r})" for one in site.getsitepackages())
        (own / "planted.pth").write_text(f"{tree / 'src'}\nimport site; {packages}\n")
        argv = [python(tree), "-c", "import linewatt; print(linewatt.__file__)"]
        used = Path(subprocess.run(argv, cwd="/", capture_output=True, text=True, check=True).stdout.strip())
        if not used.is_relative_to(tree):
            raise NotPlanted(f"{used} is imported, and not the source of {tree}")
        yield tree


def _not_copied(root: str, folder: str, names: list[str]) -> set[str]:
    return (NOT_COPIED if folder == root else {"__pycache__"}).intersection(names)


def python(tree: Path) -> str:
    return str(tree / ".venv" / "bin" / "python")


@contextmanager
def planted(fault: Fault, tree: Path) -> Iterator[None]:
    """The fault is in the tree within. Raises NotPlanted."""
    path = tree / "src" / "linewatt" / fault.file
    source = path.read_text()
    path.write_text(fault.in_place(source))
    try:
        yield
    finally:
        path.write_text(source)


def first_failure(tree: Path, words: Sequence[str]) -> str | None:
    """The first test that fails of those that pytest is asked for; ``None``: all pass."""
    argv = [python(tree), "-m", "pytest", "-x", "-q", "--tb=no", "-m", TIER, *words]
    # a fault of the same length planted within the second of the last import would run as kept bytecode
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, cwd=tree, env=env, capture_output=True, text=True, check=False)
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode in (FAILED, INTERRUPTED) and failed:
        return failed[1]
    if done.returncode != PASSED:
        raise NotPlanted(
            f"pytest {' '.join(words)} ends with {done.returncode}: {done.stdout[-2000:]}{done.stderr}"
        )
    return None


def found_by(fault: Fault, tree: Path, jobs: int) -> str | None:
    """The test that notices the fault: alone it fails with the fault and passes without it."""
    likely = [f"tests/{name}" for name in fault.tests]
    left_out = [f"--ignore-glob=*/{name}.py" for name in TEXT_TESTS]
    rest = ["tests/unit", *left_out, *(["-n", str(jobs)] if jobs > 1 else [])]
    for words in (*([one] for one in likely), rest):
        while True:
            with planted(fault, tree):
                failed = first_failure(tree, [*words, *left_out])
            if failed is None:
                break
            with planted(fault, tree):
                again = first_failure(tree, [failed])
            if again is not None and first_failure(tree, [failed]) is None:
                return failed
            left_out.append(f"--deselect={failed}")
    return None


def report(faults: Sequence[Fault], root: Path, jobs: int) -> int:
    """Print for each fault by which test it is found; 1 if any is not, else 0. Raises NotPlanted."""
    missed = 0
    with copied(root) as tree:
        for fault in faults:
            began_s = monotonic()
            found = found_by(fault, tree, jobs)
            missed += found is None
            said = f"found by {found}" if found else f"NOT FOUND: {fault.harm}"
            print(f"{fault.name} ({fault.room}): {said}, {monotonic() - began_s:.0f} s", flush=True)
    print(f"{len(faults)} faults, {missed} not found")
    return min(1, missed)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="faults by name")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes for all unit tests; default 1"
    )
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    asked = parser.parse_args(arguments)
    faults = [fault for fault in FAULTS if not asked.only or fault.name in asked.only]
    if unknown := set(asked.only or ()) - {fault.name for fault in faults}:
        parser.error(f"unknown fault: {', '.join(sorted(unknown))}")
    if asked.list:
        for fault in faults:
            print(f"{fault.name} ({fault.file}): {fault.harm}")
        return 0
    try:
        return report(faults, ROOT, asked.jobs)
    except NotPlanted as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
