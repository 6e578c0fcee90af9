# SPDX-License-Identifier: Apache-2.0
"""What a reader of a result must know first, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linewatt.model import ENDS, METHOD
from linewatt.report.printing.screen import hosts_words
from linewatt.report.provenance import provenance_words as sources
from linewatt.report.series import OF_RING, plural
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.repeats import repeats_phrases
from linewatt.report.trials.settings.failed_settings import failed_settings_lines


def progress(view: Digest) -> str:
    """``12 of 15 trials done, 1 failed, 2 not run``; of a table only how many it has."""
    if view.result.imported_table is not None:
        return f"{plural(len(view.result.trials), 'trial')} in the table"
    missing = view.result.trials_planned - len(view.result.trials)
    parts = [f"{view.done} of {plural(view.result.trials_planned, 'trial')} done"]
    if view.failed:
        parts.append(f"{len(view.failed)} failed")
    if missing > 0:
        parts.append(f"{missing} not run")
    parts += [plural(count, trials.noun) for trials, count in view.further]
    return ", ".join(parts)


def caveats(view: Digest) -> tuple[str, ...]:
    """What a reader must know before any number: lab hosts, shared CPUs, an unfinished run, failures."""
    return tuple(sentence for sentence, _ in _caveats(view) if sentence)


def short_caveats(view: Digest) -> tuple[str, ...]:
    """The same caveats in few words, for the first screen; that has failed settings in lines of their own."""
    return tuple(phrase for _, phrase in _caveats(view) if phrase)


def _caveats(view: Digest) -> Iterator[tuple[str, str]]:
    """Each caveat as a sentence and in few words; either is empty where it is told in other ways."""
    yield from ((f"{line}.", "") for line in failed_settings_lines(view.result.trials))
    result, source = view.result, view.result.imported_from
    if source is not None:
        yield (
            f"Imported from {source}: linewatt did not measure these figures, and knows of hosts and trials "
            f"only what {'that table says' if result.imported_table else 'its files say'}.",
            f"Imported from {source}: not measured by linewatt",
        )
    yield from _of_hosts(view)
    yield from _of_figures(view)
    older = sum(trial.method < METHOD for trial in result.trials)
    if older and source is None:
        sentence = f"Made by an older method: {plural(older, 'trial')} of {len(result.trials)}."
        rederive = f"'linewatt rederive {result.id}'"
        yield (
            f"{sentence} {rederive} makes figures and findings again and lists what changes.",
            f"{sentence} {rederive} says what changes",
        )
    if not result.complete and result.is_passing:
        yield (
            f"Unfinished: {progress(view)}. It cannot be continued: its lab was removed when "
            "its command ended.",
            "Unfinished: its lab is gone",
        )
    elif not result.complete:
        resume = f"'linewatt resume {result.id}' continues"
        yield f"Unfinished: {progress(view)}. {resume} where it stopped.", f"Unfinished: {resume} it"
    if view.failed:
        yield (
            f"{plural(len(view.failed), 'trial')} failed and {'is' if len(view.failed) == 1 else 'are'} "
            "left out of every number.",
            "",
        )
    yield from (("", phrase) for phrase in repeats_phrases(result)[1:2])


def _of_hosts(view: Digest) -> Iterator[tuple[str, str]]:
    """Where hosts are no machines of their own."""
    lab = [name for name, host in view.hosts.items() if host.lab]
    if lab:
        yield (
            f"Lab: {_listed(lab)} {'is a simulated host' if len(lab) == 1 else 'are simulated hosts'} on one "
            "machine. The figures show how the method works, not how fast hardware is.",
            f"Lab: {hosts_words(lab)} simulated on one machine; no measure of hardware",
        )
    emulated = [name for name, host in view.hosts.items() if host.emulated]
    if emulated:
        translated = "QEMU without KVM translated every instruction of"
        yield f"{translated} {_listed(emulated)}.", f"{translated} {hosts_words(emulated)}"
    shared = [
        name
        for name, host in view.hosts.items()
        if any(neighbour in view.hosts and neighbour != name for neighbour in host.shares_cpus_with)
    ]
    if shared:
        yield (
            f"{_listed(shared)} share CPUs: the CPU use of each may contain work of the other, and what "
            "one uses the other may lack. Do not read CPU and efficiency as those of separate hosts.",
            f"{hosts_words(shared)} share CPUs: CPU of one may be work of the other",
        )


def _of_figures(view: Digest) -> Iterator[tuple[str, str]]:
    """How throughput, CPU and watts are to be read."""
    if any(summary.case.of_users for summary in view.summaries):
        both_ways = "Users: throughput is both ways together; receiver: their server, sender: their client"
        yield f"{both_ways}.", both_ways
    if any(summary.case.is_ring for summary in view.summaries):
        yield "", f"Ring: {OF_RING}"
    unmeasured = _unmeasured(view, _listed)
    if unmeasured:
        yield (
            f"{unmeasured}: no hardware drew them. Each such figure is marked.",
            _unmeasured(view, hosts_words),
        )


def _unmeasured(view: Digest, named: Callable[[Sequence[str]], str]) -> str:
    """``Watts on h1 and h2 are simulated``; nothing where all were measured."""
    hosts: dict[str, list[str]] = {}
    for summary in view.summaries:
        for power in filter(None, map(summary.power, ENDS)):
            kinds = sources((power.system_provenance, power.cpu_provenance))
            if kinds and power.host not in hosts.setdefault(kinds, []):
                hosts[kinds].append(power.host)
    return "; ".join(f"Watts on {named(sorted(names))} are {kinds}" for kinds, names in hosts.items())


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
