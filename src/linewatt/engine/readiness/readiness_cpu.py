# SPDX-License-Identifier: Apache-2.0
"""Whether a host's CPUs are fit to be measured: accounting, who else uses them, frequency, sleep. Pure.

Sources: kernel, Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,cpuidle}.rst; TuneD's profiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linewatt.engine.live.shared_cpus import find_shared_cpus
from linewatt.engine.readiness.readiness import Check, HostAnswer, Status
from linewatt.hosts.facts import format_cpulist
from linewatt.tuning import Change

BUSY_RATIO = 0.05
"""of a CPU that somebody else uses; below it is the noise of a quiet system"""
SPOILT_RATIO = 0.5
PROFILE = "throughput-performance"
PROFILES = re.compile(r"throughput-performance|network-[\w-]+|accelerator-performance|cpu-partitioning[\w-]*")
"""those that hold frequency up and are made for throughput or networks"""
OWN_GOVERNORS = {"intel_pstate", "amd-pstate-epp"}
"""drivers whose ``powersave`` leaves the choice to the hardware and is not the lowest frequency"""
_SLEEPLESS = re.compile(r"(?:^|\s)(idle=\w+|(?:intel_idle|processor)\.max_cstate=[01])(?=\s|$)")


def cpu_checks(answer: HostAnswer) -> Iterator[Check]:
    """All of this page for one host."""
    yield tick(answer)
    yield cpus(answer)
    yield irqs(answer)
    yield tuned(answer)
    yield freq(answer)
    yield sleep(answer)
    yield load(answer)


def tick(answer: HostAnswer) -> Check:
    """How the kernel charges CPU time."""
    by_tick, hz = answer.fact("kernel", "tick_accounting"), answer.fact("kernel", "hz")
    if by_tick is None:
        return _unknown(answer, "tick", "kernel", "tick_accounting", "how the kernel accounts for CPU time")
    if not by_tick:
        return Check(answer.name, "tick", "ok", "CPU time is accounted for exactly")
    return Check(
        answer.name,
        "tick",
        "warn",
        f"CPU time is charged by the tick{f' (HZ={hz})' if hz else ''}: a load in step with it goes unseen",
        "nothing: linewatt compares with the load's own account, and paces loads out of step",
    )


def cpus(answer: HostAnswer) -> Check:
    """The CPUs that the campaign names: there, allowed, and kept free or not."""
    name, spec, app = answer.name, answer.wants.spec, set(answer.wants.app_cpus)
    online, isolated = answer.fact("cpus", "online"), answer.fact("cpus", "isolated")
    if online is None:
        return _unknown(answer, "cpus", "cpus", "online", "which CPUs there are")
    named = app | set(spec.cpus or ()) | set(spec.app_cpus or ()) | set(spec.irq_cpus or ())
    if absent := named - set(online):
        evidence = f"CPU {format_cpulist(absent)} is named and not online ({format_cpulist(online)} are)"
        return Check(name, "cpus", "fail", evidence, "name others, or bring them online")
    if isolated is None:
        return _unknown(answer, "cpus", "cpus", "isolated", "which CPUs are isolated")
    alone = set(isolated)
    allowed = answer.fact("cpus", "allowed")
    intended = set(spec.app_cpus or spec.cpus or online) - alone
    if allowed is not None and (kept_off := (app | intended) - alone - set(allowed)):
        evidence = (
            f"logins may use CPU {format_cpulist(allowed)} only, so no load process would run on "
            f"CPU {format_cpulist(kept_off)}"
        )
        advice = "widen CPUAffinity= and AllowedCPUs= of sshd's unit, or name the CPUs as cpus of the host"
        return Check(name, "cpus", "warn", evidence, advice)
    if alone and not app:
        evidence = f"CPUs {format_cpulist(alone)} are isolated, and no load process is put on any"
        return Check(
            name, "cpus", "warn", evidence, "name them as app_cpus: the system will not use them by itself"
        )
    if alone and app - alone:
        evidence = (
            f"isolated are {format_cpulist(alone)}, load processes also use {format_cpulist(app - alone)}"
        )
        return Check(name, "cpus", "warn", evidence, "put them on isolated CPUs, where nothing else runs")
    if alone:
        return Check(name, "cpus", "ok", f"load processes on isolated CPUs {format_cpulist(app)}")
    return Check(name, "cpus", "ok", f"{len(online)} online, none isolated: strangers on them are flagged")


def one_machine(answer: HostAnswer, peers: Sequence[HostAnswer]) -> Iterator[Check]:
    """Hosts that are one machine, of which the campaign does not say so; ``peers`` exchange data with it."""
    answers = {answer.name: answer} | {peer.name: peer for peer in peers}
    specs = {name: peer.wants.spec for name, peer in answers.items()}
    for pair in find_shared_cpus({name: peer.facts for name, peer in answers.items()}, specs):
        if answer.name in pair.hosts:
            advice = f"for figures on CPU cost take two machines: {pair.effect}"
            yield Check(answer.name, "cpus", "warn", pair.text, advice)


def irqs(answer: HostAnswer) -> Check:
    """irqbalance moves interrupts away from where they were put."""
    name, running, knobs = answer.name, answer.fact("kernel", "irqbalance_running"), answer.wants.knobs
    if running is None:
        return _unknown(answer, "irqs", "kernel", "irqbalance_running", "whether irqbalance runs")
    if not running:
        return Check(name, "irqs", "ok", "irqbalance does not run")
    stop = Change(name, "irqbalance", "host", "stopped", "it moves interrupts from CPU to CPU")
    if "irqbalance" in knobs:
        return Check(name, "irqs", "ok", "irqbalance runs; a run stops it and starts it again")
    if "irq_affinity" in knobs:
        evidence = "irqbalance runs and would undo the placement of interrupts"
        return Check(name, "irqs", "fail", evidence, "stop it: systemctl stop irqbalance", stop)
    evidence = "irqbalance runs: interrupts may move to another CPU in mid-trial"
    return Check(name, "irqs", "warn", evidence, "stop it: systemctl stop irqbalance", stop)


def tuned(answer: HostAnswer) -> Check:
    """The profile of TuneD, where it is installed. Its file keeps a name while TuneD does not run."""
    name, profile = answer.name, answer.fact("kernel", "tuned_profile")
    installed = answer.live.tools.get("tuned-adm")
    running = answer.fact("kernel", "tuned_running")
    if "tuned" in answer.wants.knobs:
        if installed and running is False:
            evidence = "the campaign sets its profile, and TuneD does not run"
            return Check(name, "tuned", "fail", evidence, "start it: systemctl start tuned")
        return Check(name, "tuned", "ok", "the campaign sets its profile")
    if installed is False:
        return Check(name, "tuned", "ok", "not installed: governor and sysctls are as the system has them")
    if installed is None:
        return _unknown(answer, "tuned", "kernel", "tuned_profile", "whether a profile of TuneD is active")
    if running is None:
        return _unknown(answer, "tuned", "kernel", "tuned_running", "whether TuneD runs")
    if not running:
        evidence = "installed, and does not run: governor and sysctls are as the system has them"
        return Check(name, "tuned", "ok", evidence)
    if profile and any(PROFILES.fullmatch(word) for word in str(profile).split()):
        return Check(name, "tuned", "ok", str(profile))
    evidence = f"profile {profile}" if profile else "TuneD is there and no profile is active"
    fix = Change(name, "tuned", "host", PROFILE, "the profile for throughput")
    return Check(name, "tuned", "warn", evidence, f"choose one: tuned-adm profile {PROFILE}", fix)


def freq(answer: HostAnswer) -> Check:
    """What chooses the CPUs' frequency: CPU used means little at a frequency that wanders."""
    name, driver = answer.name, answer.fact("cpu", "frequency_driver")
    governor = answer.fact("cpu", "governor")
    if "governor" in answer.wants.knobs:
        return Check(name, "freq", "ok", "the campaign sets the governor")
    if governor is None:
        return _unknown(answer, "freq", "cpu", "governor", "the governor; firmware or hypervisor may decide")
    names = {word.strip() for word in str(governor).split(",")}
    shown = f"governor {governor}{f' of {driver}' if driver else ''}"
    if names == {"performance"}:
        return Check(name, "freq", "ok", shown)
    status: Status = "warn"
    says = "frequency follows the load"
    if "powersave" in names and driver not in OWN_GOVERNORS:
        if driver is None:
            return _unknown(answer, "freq", "cpu", "frequency_driver", "what its powersave means: no driver")
        status, says = "fail", "powersave holds the lowest frequency"
    fix = Change(name, "governor", "host", "performance", "the same frequency in every trial")
    advice = "set it: cpupower frequency-set -g performance"
    return Check(name, "freq", status, f"{shown}: {says}", advice, fix)


def sleep(answer: HostAnswer) -> Check:
    """Idle states belong on: without them idle power rises, and with it what turbo has left."""
    name, states = answer.name, answer.fact("cpu", "c_states")
    options = answer.fact("kernel", "command_line")
    if "c_states" in answer.wants.knobs:
        return Check(name, "sleep", "ok", "the campaign sets them")
    if option := _SLEEPLESS.search(str(options or "")):
        return Check(name, "sleep", "warn", f"the kernel was booted with {option[1]}", _SLEEP_ADVICE)
    if not states:
        return _unknown(answer, "sleep", "cpu", "c_states", "the CPUs' idle states")
    if off := [state for state, setting in states.items() if setting != "on"]:
        return Check(name, "sleep", "warn", f"idle states {', '.join(off)} are off", _SLEEP_ADVICE)
    return Check(name, "sleep", "ok", f"{', '.join(states)} are on")


_SLEEP_ADVICE = "switch them on, unless that is what you measure: idle power is higher without them"


def load(answer: HostAnswer) -> Check:
    """Whether the CPUs that take part are free."""
    name, spec, idle = answer.name, answer.wants.spec, answer.live.idle
    named = set(answer.wants.app_cpus) | set(spec.app_cpus or ()) | set(spec.irq_cpus or ())
    checked_cpus = named or set(spec.cpus or ()) or set(idle or ())
    seen = {cpu: 1 - idle[cpu] for cpu in checked_cpus if cpu in idle} if idle else {}
    if not seen or len(seen) < len(checked_cpus):
        return Check(name, "load", "unknown", "how busy its CPUs are")
    busy = {cpu: ratio for cpu, ratio in seen.items() if ratio > BUSY_RATIO}
    if not busy:
        return Check(name, "load", "ok", f"{len(seen)} CPU{'' if len(seen) == 1 else 's'} idle")
    top = max(busy, key=lambda cpu: (busy[cpu], -cpu))
    evidence = f"CPU {format_cpulist(busy)} in use"
    evidence += (
        f" ({100 * busy[top]:.0f} %)" if len(busy) == 1 else f", CPU {top} most ({100 * busy[top]:.0f} %)"
    )
    shared = bool(spec.shares_cpus_with) or spec.lab is not None
    status: Status = "fail" if busy[top] > SPOILT_RATIO and named and not shared else "warn"
    advice = (
        "nothing, if only this lab runs: part of it is linewatt and the other hosts of this machine"
        if shared
        else "find with top on the host what uses it, and stop that"
    )
    return Check(name, "load", status, evidence, advice)


def _unknown(answer: HostAnswer, name: str, section: str, fact: str, what: str) -> Check:
    return Check(answer.name, name, "unknown", f"{what} ({answer.why_not(section, fact)})")
