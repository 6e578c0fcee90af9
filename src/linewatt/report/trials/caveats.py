# SPDX-License-Identifier: Apache-2.0
"""What a reader of a result must know first, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from linewatt.model import ENDS, METHOD
from linewatt.records import Host
from linewatt.report.printing.screen import hosts_words
from linewatt.report.provenance import provenance_words as sources
from linewatt.report.series import OF_RING, plural
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.repeats import repeats_phrases


def progress(view: Digest) -> str:
    """``12 of 15 trials done, 1 failed, 2 not run``; of a table only how many it has."""
    if view.result.imported_table is not None:
        return f"{plural(len(view.result.trials), 'trial')} in the table"
    missing = view.planned - len(view.result.trials)
    parts = [f"{view.done} of {plural(view.planned, 'trial')} done"]
    if view.failed:
        parts.append(f"{len(view.failed)} failed")
    if missing > 0:
        parts.append(f"{missing} not run")
    parts += [plural(count, trials.noun) for trials, count in view.further]
    return ", ".join(parts)


def caveats(view: Digest) -> tuple[str, ...]:
    """What a reader must know before any number: lab hosts, shared CPUs, an unfinished run, failures."""
    sentences = []
    source = view.result.imported_from
    if source is not None:
        sentences.append(
            f"Imported from {source}: linewatt did not measure these figures, and knows of hosts and trials "
            f"only what {'that table says' if view.result.imported_table else 'its files say'}."
        )
    lab = [name for name, host in view.hosts.items() if host.lab]
    if lab:
        sentences.append(
            f"Lab: {_listed(lab)} {'is a simulated host' if len(lab) == 1 else 'are simulated hosts'} on one "
            "machine. The figures show how the method works, not how fast hardware is."
        )
    emulated = [name for name, host in view.hosts.items() if host.emulated]
    if emulated:
        sentences.append(f"QEMU without KVM translated every instruction of {_listed(emulated)}.")
    shared = sharing_hosts(view.hosts)
    if shared:
        sentences.append(
            f"{_listed(shared)} share CPUs: what one uses the other lacks, and the CPU use of each may "
            "contain work of the other. Do not read CPU and efficiency as those of separate hosts."
        )
    sentences += [f"{line}." for line in _of_users(view)]
    unmeasured = _unmeasured(view, _listed)
    if unmeasured:
        sentences.append(f"{unmeasured}: no hardware drew them. Each such figure is marked.")
    older = [trial for trial in view.result.trials if trial.method < METHOD]
    if older and source is None:
        sentences.append(
            f"Made by an older method: {plural(len(older), 'trial')} of {len(view.result.trials)}. "
            f"'linewatt rederive {view.result.id}' makes figures and findings again and lists what changes."
        )
    if not view.result.complete:
        then = (
            "Its hosts go with the command that ran it, so nothing continues it."
            if view.result.is_passing
            else f"'linewatt resume {view.result.id}' continues where it stopped."
        )
        sentences.append(f"Unfinished: {progress(view)}. {then}")
    if view.failed:
        sentences.append(
            f"{plural(len(view.failed), 'trial')} failed and {'is' if len(view.failed) == 1 else 'are'} "
            "left out of every number."
        )
    return tuple(sentences)


def short_caveats(view: Digest) -> tuple[str, ...]:
    """The same caveats in few words, for the first screen."""
    phrases = []
    result, source = view.result, view.result.imported_from
    if source is not None:
        phrases.append(f"Imported from {source}: not measured by linewatt")
    lab = [name for name, host in view.hosts.items() if host.lab]
    if lab:
        phrases.append(f"Lab: {hosts_words(lab)} simulated on one machine; no measure of hardware")
    emulated = [name for name, host in view.hosts.items() if host.emulated]
    if emulated:
        phrases.append(f"QEMU without KVM translated every instruction of {hosts_words(emulated)}")
    shared = sharing_hosts(view.hosts)
    if shared:
        phrases.append(f"{hosts_words(shared)} share CPUs: CPU of one may be work of the other")
    phrases += _of_users(view)
    if any(summary.case.is_ring for summary in view.summaries):
        phrases.append(f"Ring: {OF_RING}")
    unmeasured = _unmeasured(view, hosts_words)
    if unmeasured:
        phrases.append(unmeasured)
    older = sum(trial.method < METHOD for trial in result.trials)
    if older and source is None:
        count = f"{plural(older, 'trial')} of {len(result.trials)}"
        phrases.append(f"Made by an older method: {count}. 'linewatt rederive {result.id}' says what changes")
    if not result.complete:
        then = (
            "its hosts go with their command"
            if result.is_passing
            else f"'linewatt resume {result.id}' continues it"
        )
        phrases.append(f"Unfinished: {then}")
    phrases += repeats_phrases(result)[1:2]
    return tuple(phrases)


def _of_users(view: Digest) -> list[str]:
    """What figures of trials of users are of, whose data goes both ways."""
    if not any(summary.case.of_users for summary in view.summaries):
        return []
    return ["Users: throughput is both ways together; receiver: their server, sender: their client"]


def _unmeasured(view: Digest, named: Callable[[Sequence[str]], str]) -> str:
    """``Watts on h1 and h2 are simulated``; nothing where all were measured."""
    hosts: dict[str, list[str]] = {}
    for summary in view.summaries:
        for power in filter(None, map(summary.power, ENDS)):
            kinds = sources((power.system_provenance, power.cpu_provenance))
            if kinds and power.host not in hosts.setdefault(kinds, []):
                hosts[kinds].append(power.host)
    return "; ".join(f"Watts on {named(sorted(names))} are {kinds}" for kinds, names in hosts.items())


def sharing_hosts(hosts: Mapping[str, Host]) -> tuple[str, ...]:
    """Hosts of the result that run on CPUs of another host of it."""
    return tuple(
        name
        for name, host in hosts.items()
        if any(neighbour in hosts and neighbour != name for neighbour in host.shares_cpus_with)
    )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
