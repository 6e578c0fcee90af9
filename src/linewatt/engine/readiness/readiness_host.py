# SPDX-License-Identifier: Apache-2.0
"""Whether a host can be worked on: login, tools, rights, clock, power, what earlier runs left. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from linewatt.analysis.power import PARTS, SCOPE_WORDS, refused_scopes
from linewatt.engine.readiness.readiness import CONTROLLER, Check, HostAnswer, PowerAnswer, Status
from linewatt.engine.undo.leftover import Leftover
from linewatt.errors import InvalidInput, ParseError
from linewatt.findings import CLOCK_UNCERTAINTY_S
from linewatt.hosts.facts import read as facts
from linewatt.loads import Load, LoadJob, Version, version_text

LEAST_DISK_BYTES = 200 * 10**6
ENOUGH_DISK_BYTES = 2 * 10**9
LEAST_MEMORY_BYTES = 100 * 10**6
ENOUGH_MEMORY_BYTES = 500 * 10**6
FAR_OFF_S = 60.0
"""a clock further off than this is not kept by anything"""
MPSTAT_MINIMUM = (11, 5, 1)
"""first whose JSON the sensor knows"""

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_ETHTOOL_KNOBS = {"channels", "rings", "coalescing", "offload", "pause", "ntuple"}


def host_checks(answer: HostAnswer, load: Load) -> Iterator[Check]:
    """All of this page for one host; only ``ssh`` where it cannot be reached."""
    name = answer.name
    if answer.problem is not None:
        yield Check(name, "ssh", "fail", answer.problem)
        return
    yield ssh(answer)
    yield from tools(answer, load)
    yield root(answer)
    yield clock(answer)


def ssh(answer: HostAnswer) -> Check:
    """Of a host that was logged in to: how slowly it answers, or that its session could not be raised."""
    if answer.slow:
        advice = (
            "nothing, if its line is long; otherwise find what keeps it busy (docs/slow-hosts.md has what it "
            "costs)"
        )
        return Check(answer.name, "ssh", "warn", answer.slow, advice)
    return Check(answer.name, "ssh", "ok", "host key and login accepted")


def tools(answer: HostAnswer, load: Load) -> Iterator[Check]:
    """What is missing or too old, or one line with the versions."""
    problems = [*_load(answer, load), *_mpstat(answer), *_other_tools(answer)]
    yield from problems
    if not any(check.status in ("fail", "unknown") for check in problems):
        shown = (load.name, "mpstat", "bash")
        versions = [_short(answer.fact("tools", name)) for name in shown]
        words = zip(shown, versions, strict=True)
        yield Check(answer.name, "tools", "ok", ", ".join(f"{tool} {version}" for tool, version in words))


def _load(answer: HostAnswer, load: Load) -> Iterator[Check]:
    text = answer.fact("tools", load.name)
    if text is None:
        yield _missing(answer, load.name, f"apt-get or dnf install {load.package}")
        return
    try:
        version = load.parse_version(str(text))
    except ParseError as error:
        advice = f"install {load.package} anew, or set its permissions"
        yield Check(answer.name, "tools", "fail", str(error), advice)
        return
    try:
        for job in _jobs(answer):
            load.server_command(job, version)
            load.client_command(job, version)
    except InvalidInput as error:
        yield Check(answer.name, "tools", "fail", str(error), "install a newer one, or change the campaign")
    if answer.wants.paced and load.busy_waits and load.busy_waits[0] <= version < load.busy_waits[1]:
        yield Check(
            answer.name,
            "tools",
            "warn",
            f"{load.name} {version_text(version)} keeps a whole CPU busy while a rate-limited load waits",
            f"install {version_text(load.busy_waits[1])} or later: the CPU used would be that of the waiting",
        )


def _jobs(answer: HostAnswer) -> set[LoadJob]:
    """One job for each kind of load that this host takes part in; addresses do not matter here."""
    return {
        LoadJob(
            case.test,
            server_address="::1" if case.family == "ipv6" else "127.0.0.1",
            port=5201,
            duration_s=1.0,
            family=case.family,
            streams=case.streams,
            rate_bps=case.rate_bps,
            reverse=case.direction == "reverse",
            zerocopy=bool(case.zerocopy),
        )
        for case in answer.wants.cases
    }


def _mpstat(answer: HostAnswer) -> Iterator[Check]:
    text = answer.fact("tools", "mpstat")
    version = _VERSION.search(str(text or ""))
    if text is None:
        yield _missing(answer, "mpstat", "apt-get or dnf install sysstat")
    elif version is None:
        yield Check(answer.name, "tools", "fail", f"mpstat says {str(text)[:60]!r}", "install sysstat anew")
    elif tuple(map(int, version[0].split("."))) < MPSTAT_MINIMUM:
        yield Check(
            answer.name,
            "tools",
            "fail",
            f"mpstat {version[0]} writes no JSON that linewatt knows",
            "install sysstat 11.5.1 or later",
        )


def _other_tools(answer: HostAnswer) -> Iterator[Check]:
    """Tools whose version does not matter."""
    wants = answer.wants
    several_nodes = len(answer.fact("cpus", "of_node") or ()) > 1
    for tool, package, spoils, without in (
        ("taskset", "util-linux", bool(wants.app_cpus), "no load process can be put on a CPU"),
        ("ss", "iproute2", True, "it cannot be seen when servers listen"),
        ("ip", "iproute2", True, "addresses and links are not known"),
        (
            "ethtool",
            "ethtool",
            bool(wants.knobs & _ETHTOOL_KNOBS),
            "link speed and offloads are not on record",
        ),
        ("ping", "iputils-ping or iputils", False, "the packet size of the way is not checked"),
        ("numactl", "numactl", False, "memory of load processes is not kept on their node"),
        ("lstopo", "hwloc", False, "a report has no picture of the machine"),
    ):
        is_installed = answer.live.tools.get(tool)
        if is_installed is None:
            yield Check(answer.name, "tools", "unknown", f"whether there is {tool}")
        elif not is_installed and (tool != "numactl" or several_nodes):
            status: Status = "fail" if spoils else "warn"
            yield Check(answer.name, "tools", status, f"no {tool}: {without}", f"install {package}")


def _missing(answer: HostAnswer, tool: str, advice: str) -> Check:
    why = answer.why_not("tools", tool)
    if facts.is_of_missing_tool(why):
        return Check(answer.name, "tools", "fail", f"no {tool}", advice)
    if facts.is_of_broken_tool(why):
        return Check(answer.name, "tools", "fail", why, f"mend it, or {advice}")
    return Check(answer.name, "tools", "unknown", f"{tool}: {why}")


def _short(text: object) -> str:
    version = _VERSION.search(str(text or ""))
    return version[0] if version else "?"


def alike(answers: Sequence[HostAnswer], load: Load) -> Iterator[Check]:
    """Ends that serve streams differently are compared at one's own risk."""
    first = load.threaded_from
    if first is None:
        return
    versions: dict[str, Version] = {}
    for answer in answers:
        try:
            versions[answer.name] = load.parse_version(str(answer.fact("tools", load.name) or ""))
        except ParseError:
            continue  # said by the check of that host
    threaded = sorted(name for name, version in versions.items() if version >= first)
    for answer in answers:
        version = versions.get(answer.name)
        several = any(case.streams > 1 for case in answer.wants.cases)
        if several and threaded and version is not None and version < first:
            yield Check(
                answer.name,
                "tools",
                "warn",
                f"{load.name} {version_text(version)} serves all streams in one thread, "
                f"{threaded[0]} each in its own",
                f"install one version on all hosts: {version_text(first)} changed this",
            )


def root(answer: HostAnswer) -> Check:
    """Rights to change settings, where a run needs them."""
    name, needed = answer.name, answer.wants.needs_root
    advice = "log in as root, or allow sudo without a password and set sudo: true"
    if answer.root.granted is None:
        return Check(name, "root", "unknown", answer.root.problem or "whether there are root's rights")
    if answer.root.granted:
        return Check(name, "root", "ok", "sudo works" if answer.wants.spec.sudo else "logged in as root")
    missing_rights = answer.root.problem or "not root, and the campaign does not say sudo: true"
    if needed:
        knobs = ", ".join(sorted(answer.wants.knobs)) or "a source of power"
        return Check(name, "root", "fail", f"{missing_rights}; needed for {knobs}", advice)
    return Check(
        name,
        "root",
        "warn",
        f"{missing_rights}; nothing of this campaign needs it, but some facts do",
        advice,
    )


def clock(answer: HostAnswer) -> Check:
    """The offset is converted, so that only its error matters; a clock far off is said all the same."""
    if answer.clock is None:
        return Check(answer.name, "clock", "unknown", "its offset could not be measured")
    offset_s, error_s = answer.clock.offset_s, answer.clock.uncertainty_s
    evidence = f"{1000 * offset_s:+.1f} ms, known to ±{1000 * error_s:.1f} ms"
    if error_s > CLOCK_UNCERTAINTY_S:
        limit_ms = 1000 * CLOCK_UNCERTAINTY_S
        advice = (
            f"find what makes the management network slow or busy: windows are aligned to ±{limit_ms:.0f} ms"
        )
        return Check(answer.name, "clock", "fail", evidence, advice)
    if abs(offset_s) > FAR_OFF_S:
        evidence = f"{offset_s:+.0f} s off"
        return Check(
            answer.name, "clock", "warn", evidence, "run NTP: linewatt converts times, the host's logs do not"
        )
    return Check(answer.name, "clock", "ok", evidence)


def power(answers: Iterable[PowerAnswer]) -> Iterator[Check]:
    """Every source of power, by what it delivered at once, and what of all of a host contradicts."""
    answers = list(answers)
    yield from _sources(answers)
    for host in dict.fromkeys(answer.host for answer in answers):
        shown = [reading for answer in answers if answer.host == host for reading in answer.shown]
        for refusal in refused_scopes(shown):
            what = refusal.scope if refusal.scope == PARTS else SCOPE_WORDS[refusal.scope]
            yield Check(
                host,
                "power",
                "fail",
                f"{refusal.source}: {what} refused: {refusal.evidence}",
                "find out which of them is wrong, and name only the sensors to use, or another source",
            )


def _sources(answers: Iterable[PowerAnswer]) -> Iterator[Check]:
    for answer in answers:
        what = f"{answer.source} ({answer.driver}{', simulated' if answer.simulated else ''})"
        if not answer.asked:
            yield Check(answer.host, "power", "unknown", f"{what}: {answer.problem}")
        elif answer.problem is not None:
            yield Check(
                answer.host,
                "power",
                "fail",
                f"{what}: {answer.problem}",
                "look at its address, login and settings; a run would go on without it",
            )
        elif not answer.channels:
            yield Check(answer.host, "power", "fail", f"{what}: delivers nothing", "look at its settings")
        else:
            yield Check(answer.host, "power", "ok", f"{what}: {', '.join(answer.channels)}")


def undo(hosts: Iterable[str], leftovers: Sequence[Leftover]) -> Iterator[Check]:
    """What earlier runs left, and whether one is at work."""
    for host in hosts:
        of_host = [leftover for leftover in leftovers if leftover.host == host]
        blocking = [
            leftover for leftover in of_host if leftover.running or leftover.damage or not leftover.own
        ]
        for leftover in blocking:
            if leftover.running:
                yield Check(host, "undo", "fail", f"{leftover.id} is at work on it", "wait for its end")
            elif leftover.damage:
                yield Check(host, "undo", "fail", f"{leftover.id} may have changed it", leftover.damage)
            else:
                evidence = f"{leftover.id} changed {_settings(leftover.settings)} and has not put them back"
                yield Check(host, "undo", "fail", evidence, "run linewatt restore (or resume it)")
        if not blocking:
            fixed = sum(leftover.settings for leftover in of_host)
            evidence = (
                f"{_settings(fixed)} made by check --fix; linewatt restore takes back" if fixed else "none"
            )
            yield Check(host, "undo", "ok", evidence)


def _settings(count: int) -> str:
    return f"{count} setting{'' if count == 1 else 's'}"


def controller(disk_bytes: int | None, memory_bytes: int | None, results: str) -> Iterator[Check]:
    """Room for results where linewatt runs."""
    for name, what, evidence, minimum, enough in (
        ("disk", f"for results in {results}", disk_bytes, LEAST_DISK_BYTES, ENOUGH_DISK_BYTES),
        ("memory", "of memory", memory_bytes, LEAST_MEMORY_BYTES, ENOUGH_MEMORY_BYTES),
    ):
        if evidence is None:
            yield Check(CONTROLLER, name, "unknown", f"how much is free {what}")
            continue
        status: Status = "fail" if evidence < minimum else "warn" if evidence < enough else "ok"
        advice = "" if status == "ok" else f"free some: {enough / 1e9:g} GB are enough"
        yield Check(CONTROLLER, name, status, f"{evidence / 1e9:.1f} GB free {what}", advice)
