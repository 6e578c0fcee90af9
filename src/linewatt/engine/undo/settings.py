# SPDX-License-Identifier: Apache-2.0
"""What is set on the hosts beyond how they were found, brought to what the next round asks for.

Every setting in force has one entry in the undo journal, with the value it was found with, however often it
is changed. Settings stand in layers: a queue count or a profile decides which others there are, so those of
the layers above are put back before one below changes, and made anew after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from linewatt.engine.undo.knobs import GROUND, LRO, TOP, apart, beside_forwarding, without_lro
from linewatt.engine.undo.knobs import layer as layer_of
from linewatt.engine.undo.put_back import put_back, put_back_in_turn
from linewatt.engine.undo.recent_values import Key, Shown
from linewatt.errors import ChangeError, HostError
from linewatt.hosts import Host, ShortCommand
from linewatt.hosts.journal import Entry, Journal
from linewatt.network import NETWORK_KNOB as NETWORK
from linewatt.network import interfaces_with_addresses
from linewatt.tuning import HOST_TARGET, INTERRUPTS, MIN_PERF, RAISED_BY_TUNED, Change, Knob, apply

LINK_LIMIT_S = 40
"""a port of a bridge with STP is 30 s on its way at the longest delay by default (IEEE 802.1D, 2 × 15 s)"""
_RESETS_LINK = {"mtu", "rings", "channels", "offload", "pause", "coalescing", "network", "nmstate"}
_MADE_ANEW = {"network", "nmstate", "cpus_online"}
"""what has parts that cannot be changed once they are made, such as the id of a tunnel; and CPUs, so that
where interrupts go does not depend on which were offline before"""
_BY_QUEUE = ("irq_affinity", "rps_cpus", "rfs", "xps_cpus")
"""what each queue has of its own: gone with a queue that ``channels`` takes away"""

# Looks, and looks again 20 ms later; says which is not up. $1: limit in seconds, then interfaces
_WAIT_LINK = """limit=$1; shift
for name; do
  until read -r carrier <"/sys/class/net/$name/carrier" && [ "$carrier" = 1 ]; do
    [ "$SECONDS" -ge "$limit" ] && { echo "$name"; exit 1; }
    sleep 0.02
  done
done 2>/dev/null"""

Link = tuple[str, str]
"""host, interface"""


class Settings:
    """The settings in force on the hosts of a campaign."""

    def __init__(self, hosts: Mapping[str, Host], knobs: Mapping[str, Knob], journal: Journal) -> None:
        self._hosts = hosts
        self._knobs = knobs
        self._journal = journal
        entries = journal.read()[1]
        self._in_force: dict[Key, Entry] = {
            _key(entry): entry for entry in entries if entry.wanted != entry.before
        }
        self._kept: dict[Key, Entry] = {
            _key(entry): entry for entry in entries if entry.wanted == entry.before
        }
        """what queues had of their own, and where interrupts went, before something else may move it"""
        self._found: dict[Key, str] = {}
        """what a host showed before anything was changed, as far as it was looked at"""
        self._asked: dict[str, dict[Key, str]] = {}
        """host → what it is to show now, changed for it or not"""
        self._values: dict[str, dict[Key, str]] = {}
        """host → the values that were asked of it and are in force"""
        self._one_by_one = asyncio.Lock()
        """of what changes hosts: in a soak a host may come back while the next segment's settings are made"""
        self._shown = Shown()
        self._seen_up: dict[str, frozenset[str]] = {}
        """host → links that were up behind the last changes that were made there"""

    def of(self, host: str) -> list[tuple[str, str, str]]:
        """Knob, target and text of everything that a host is to show now."""
        return [(knob, target, text) for (_, knob, target), text in self._asked.get(host, {}).items()]

    @property
    def untouched(self) -> bool:
        """Whether nothing was ever written, so that hosts are as they were found."""
        return self._shown.untouched and not self._in_force

    def made(self, change: Change) -> Entry | None:
        """The entry of a change that is in force; ``None``: its host showed it already."""
        return self._in_force.get(_key(change))

    async def check(self, changes: Iterable[Change]) -> None:
        """Whether all of these can be asked of their hosts; nothing is changed.

        Raises ChangeError, InvalidInput: a target that is not there, a value out of range.
        """
        unique = list(dict.fromkeys(changes))
        await self._look({_key(change) for change in unique})
        for change in unique:
            self._wanted(change)  # raises for one that its host cannot show

    async def to(self, changes: Sequence[Change], scope: Collection[str]) -> None:
        """Have exactly ``changes`` in force on the hosts of ``scope``; other hosts stay as they are.

        Raises ChangeError when a setting cannot be read or written, or does not read back as asked; what
        was changed until then is in the journal.
        """
        async with self._one_by_one:
            await self._to(changes, scope)

    async def _to(self, changes: Sequence[Change], scope: Collection[str]) -> None:
        change_by_key = {_key(change): change for change in changes if change.host in scope}
        for name in scope:
            self._values.pop(name, None)
        await self._look(set(change_by_key))
        self._seen_up.clear()
        stale = self._stale(change_by_key, scope)
        touched = self._links((entry, entry.before) for entry in stale)
        for entries in _ground_last(stale):
            await self._put_back(entries, touched)
            await self._put_kept_back(entries)
        for layer in range(TOP + 1):
            layer_changes = [change for change in change_by_key.values() if layer_of(change.knob) == layer]
            above = [change for change in change_by_key.values() if layer_of(change.knob) > layer]
            touched |= await self._make(layer_changes, above, touched)
        waited = {
            name: links for name, links in _by_host(touched).items() if self._seen_up.get(name) != links
        }
        await asyncio.gather(
            *(self._wait_links(name, sorted(links)) for name, links in sorted(waited.items()))
        )
        self._asked |= {name: {} for name in scope}
        self._values |= _values(change_by_key.values(), scope)
        for key, change in change_by_key.items():
            self._asked[change.host][key] = self._wanted(change)

    def shows(self, changes: Sequence[Change], scope: Collection[str]) -> bool:
        """Whether exactly ``changes`` are in force on the hosts of ``scope`` already."""
        target_values = _values(changes, scope)
        return all(self._values.get(name, {}) == target_values[name] for name in scope)

    def forget(self) -> None:
        """Look at everything anew: hosts may have been rebooted. Nothing may be in force."""
        self._found.clear()
        self._shown.forget()
        self._kept.clear()
        self._values.clear()
        self._asked.clear()

    async def reassert(self, name: str) -> None:
        """Make changes again that a host which was away no longer shows. Raises ChangeError."""
        async with self._one_by_one:
            host_entries = [entry for entry in self._in_force.values() if entry.host == name]
            self._shown.writes()
            await apply.reassert(self._hosts[name], host_entries, self._knobs)

    async def _look(self, keys: set[Key]) -> None:
        """Learn what hosts show, once; where a setting is in force its entry knows what was there before."""
        self._found |= {key: entry.before for key, entry in self._in_force.items() if key not in self._found}
        self._found |= await self._read_all(sorted(keys - self._found.keys()))

    async def _read_all(self, keys: Sequence[Key]) -> dict[Key, str]:
        """What hosts show now, all of them at once. Raises ChangeError, the first of them."""
        return {key: outcome.text_or_raise() for key, outcome in (await self._try_read_all(keys)).items()}

    async def _try_read_all(self, keys: Sequence[Key]) -> dict[Key, apply.ChangeOutcome]:
        by_host: dict[str, list[Key]] = {}
        for key in keys:
            by_host.setdefault(key[0], []).append(key)
        outcomes = await asyncio.gather(
            *(self._look_at(name, host_keys) for name, host_keys in by_host.items())
        )
        outcome_by_key = {key: outcome for of_host in outcomes for key, outcome in of_host.items()}
        self._shown.read(outcome_by_key)
        return {key: outcome_by_key[key] for key in keys}

    async def _look_at(self, name: str, keys: Sequence[Key]) -> dict[Key, apply.ChangeOutcome]:
        settings = [(self._knobs[knob], target) for _, knob, target in keys]
        return dict(zip(keys, await apply.look_at_settings(self._hosts[name], settings), strict=True))

    def _wanted(self, change: Change) -> str:
        return apply.wanted_setting(self._knobs[change.knob], change, self._found[_key(change)])

    def _stale(self, change_by_key: Mapping[Key, Change], scope: Collection[str]) -> list[Entry]:
        """What is put back first: what is no longer asked for, what did not take, what stands on either."""
        lowest = dict.fromkeys(scope, TOP)
        for key, change in change_by_key.items():
            entry = self._in_force.get(key)
            if self._wanted(change) != (entry.wanted if entry else self._found[key]):
                lowest[change.host] = min(lowest[change.host], layer_of(change.knob))
        scope_entries = [entry for entry in self._in_force.values() if entry.host in scope]
        gone = {
            _key(entry)
            for entry in scope_entries
            if _key(entry) not in change_by_key
            or entry.after != entry.wanted
            or (entry.knob in _MADE_ANEW and self._wanted(change_by_key[_key(entry)]) != entry.wanted)
            or (entry.knob == "channels" and self._wanted(change_by_key[_key(entry)]) == entry.before)
        }
        for host, knob, _ in gone:
            lowest[host] = min(lowest[host], layer_of(knob))
        return [
            entry
            for entry in scope_entries
            if _key(entry) in gone or layer_of(entry.knob) > lowest[entry.host]
        ]

    async def _put_back(self, entries: Sequence[Entry], touched: Collection[Link]) -> None:
        """Undo these, on each host the newest first."""
        if entries:
            self._shown.writes()
        by_host: dict[str, list[Entry]] = {}
        for entry in reversed(entries):
            by_host.setdefault(entry.host, []).append(entry)
        links = _by_host(touched)
        await self._each(
            self._put_back_on(name, host_entries, links.get(name, frozenset()))
            for name, host_entries in by_host.items()
        )

    async def _put_back_on(self, name: str, entries: Sequence[Entry], links: frozenset[str]) -> None:
        last = apply.Behind(further=_look_at_links(links))
        groups = list(apart(entries))
        outcomes = put_back_in_turn(self._hosts[name], self._knobs, groups, self._journal, last=last)
        async with aclosing(outcomes) as done:
            async for together, problems in done:
                for entry, problem in zip(together, problems, strict=True):
                    if problem is None:
                        self._in_force.pop(_key(entry))
                for problem in filter(None, problems):
                    raise problem
        self._see_links(name, links, last)

    async def _put_kept_back(self, gone: Iterable[Entry]) -> None:
        """What was kept before changes that may move it, once those are put back.

        What cannot be as it was while CPUs are still offline stays in the journal.
        """
        gone = tuple(gone)
        before_by_key = {
            _key(entry): entry.before for entry in gone
        }  # where what was kept was the campaign's own
        moved = {key for entry in gone for key in self._moved(entry)}
        standing = {key for entry in self._in_force.values() for key in self._moved(entry)}
        by_host: dict[str, list[Entry]] = {}
        for key, entry in self._kept.items():
            if key in moved:
                by_host.setdefault(entry.host, []).append(
                    replace(entry, before=before_by_key.get(key, entry.before))
                )
        if by_host:
            self._shown.writes()
        await self._each(
            self._put_kept_back_on(name, host_entries, standing) for name, host_entries in by_host.items()
        )

    async def _put_kept_back_on(self, name: str, entries: Sequence[Entry], standing: Collection[Key]) -> None:
        problems = await put_back(self._hosts[name], self._knobs, entries, self._journal)
        for entry, problem in zip(entries, problems, strict=True):
            if problem is None:
                del self._kept[_key(entry)]
        for entry, problem in zip(entries, problems, strict=True):
            if problem is not None and _key(entry) not in standing:
                raise problem

    async def _make(
        self, changes: Sequence[Change], above: Sequence[Change], touched: Collection[Link]
    ) -> set[Link]:
        """Change what does not show its value yet; returns the links that may have been reset by that.

        ``above`` are the changes of layers above: what those of the next one show is read behind these.
        ``touched`` are the links that may have been reset until now.
        """
        fresh = [_key(change) for change in changes if _key(change) not in self._in_force]
        shown_texts = self._shown.still(fresh)
        self._found |= shown_texts | await self._read_all([key for key in fresh if key not in shown_texts])
        entries = [entry for change in changes if (entry := self._entry(change)) is not None]
        await self._keep(entries)
        number = self._journal.next_number()
        entries = [replace(entry, number=number + i) for i, entry in enumerate(entries)]
        if entries:
            self._journal.intend(entries)
            self._shown.writes()
        by_host: dict[str, list[Entry]] = {}
        for entry in entries:
            by_host.setdefault(entry.host, []).append(entry)
        reset = self._links((entry, entry.wanted) for entry in entries)
        links, following = _by_host(reset.union(touched)), self._next_keys(above)
        await self._each(
            self._make_on(name, host_entries, following.get(name, ()), links.get(name, frozenset()))
            for name, host_entries in by_host.items()
        )
        return reset

    def _next_keys(self, above: Iterable[Change]) -> dict[str, list[Key]]:
        """Host → what of the next layer in which it has changes is to be read anew."""
        layers: dict[str, dict[int, list[Key]]] = {}
        for change in above:
            layers.setdefault(change.host, {}).setdefault(layer_of(change.knob), []).append(_key(change))
        lowest = {host: host_layers[min(host_layers)] for host, host_layers in layers.items()}
        return {host: [key for key in keys if key not in self._in_force] for host, keys in lowest.items()}

    def _links(self, texts: Iterable[tuple[Entry, str]]) -> set[Link]:
        """What has to be up again once these entries show these texts: data interfaces, those of networks."""
        links = set()
        for entry, text in texts:
            if entry.knob in _RESETS_LINK:
                links |= {(entry.host, name) for name in self._hosts[entry.host].spec.interfaces}
            if entry.knob == NETWORK:
                links |= {(entry.host, name) for name in interfaces_with_addresses(text)}
        return links

    async def _each(self, work: Iterable[Awaitable[None]]) -> None:
        """On all hosts at once; what became of it is on disk then.

        All come to their end before one is reported: nothing may still be writing when the undo begins.
        """
        outcomes = await asyncio.gather(*work, return_exceptions=True)
        if outcomes:
            self._journal.sync()
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _keep(self, entries: Iterable[Entry]) -> None:
        """Journal what these entries may move beside what they say, before they do: undone after them."""
        keys = sorted({key for entry in entries for key in self._moved(entry)} - self._kept.keys())
        outcomes = await self._try_read_all([key for key in keys if key[1] in self._knobs])
        number = self._journal.next_number()
        movable_texts = [
            (key, outcome.text)
            for key, outcome in outcomes.items()
            if outcome.text is not None and _may_move(key, outcome.text)
        ]
        preserved = [
            Entry(number + i, *key, before=text, wanted=text) for i, (key, text) in enumerate(movable_texts)
        ]
        if preserved:
            self._journal.intend(preserved)
        self._kept |= {_key(entry): entry for entry in preserved}

    def _moved(self, entry: Entry) -> Iterator[Key]:
        """What of a host an entry may move for good: what queues have, where interrupts go, memory, LRO,
        what CPUs prefer and the least they run at, what forwards."""
        if entry.knob == "channels":
            yield from ((entry.host, knob, entry.target) for knob in _BY_QUEUE)
        if entry.knob == "cpus_online":
            links = self._hosts[entry.host].spec.interfaces
            yield from ((entry.host, knob, name) for name in links for knob in _BY_QUEUE)
        if entry.knob == "cpus_online" or (entry.knob, entry.wanted) == ("irqbalance", "running"):
            yield entry.host, INTERRUPTS, HOST_TARGET
        if entry.knob == "tuned":
            yield entry.host, "sysctl", RAISED_BY_TUNED
        if entry.knob == "governor":
            yield entry.host, "epp", HOST_TARGET
        if entry.knob == "turbo":
            yield entry.host, MIN_PERF, HOST_TARGET
        interfaces = self._hosts[entry.host].spec.interfaces
        for name in without_lro(entry, interfaces):
            yield entry.host, "offload", f"{name} {LRO}"
        yield from ((entry.host, "sysctl", target) for target in beside_forwarding(entry, interfaces))

    def _entry(self, change: Change) -> Entry | None:
        """The change as a journal entry without its number; ``None`` where there is nothing to do."""
        entry_in_force = self._in_force.get(_key(change))
        target_text = self._wanted(change)
        if target_text == (entry_in_force.wanted if entry_in_force else self._found[_key(change)]):
            return None
        return Entry(0, change.host, change.knob, change.target, self._found[_key(change)], target_text)

    async def _make_on(
        self, name: str, entries: Sequence[Entry], following: Sequence[Key], links: frozenset[str]
    ) -> None:
        """Raises ChangeError, the first of them; all others are made by then."""
        old = {_key(entry): self._in_force.get(_key(entry)) for entry in entries}
        self._in_force |= {_key(entry): entry for entry in entries}
        settings = [(self._knobs[knob], target) for _, knob, target in following]
        behind = apply.Behind(settings, _look_at_links(links))
        outcomes = await apply.make(self._hosts[name], self._knobs, entries, self._journal, behind)
        self._shown.read(dict(zip(following, behind.shown or (), strict=False)))
        self._see_links(name, links, behind)
        for entry, outcome in zip(entries, outcomes, strict=True):
            if outcome.text is not None:
                self._in_force[_key(entry)] = replace(entry, after=outcome.text)
                before = old[_key(entry)]
                if before is not None:
                    self._journal.undone(before.number)
        for outcome in outcomes:
            outcome.text_or_raise()

    def _see_links(self, name: str, links: frozenset[str], behind: apply.Behind) -> None:
        """Learn whether all of a host's links were up behind its last changes."""
        self._seen_up.pop(name, None)
        if behind.done and all(result.status == 0 for result in behind.done):
            self._seen_up[name] = links

    async def _wait_links(self, name: str, links: Sequence[str]) -> None:
        """A setting that resets a link is made when the link is up again. Raises ChangeError."""
        argv = ["bash", "-c", _WAIT_LINK, "linewatt", str(LINK_LIMIT_S), *links]
        try:
            done = await self._hosts[name].run(argv, timeout_s=LINK_LIMIT_S + 2.0)
        except HostError as error:
            raise ChangeError(f"waiting for {' '.join(links)} to be up again: {error}", where=name) from error
        if done.status != 0:
            down = done.stdout.strip() or " ".join(links)
            raise ChangeError(
                f"waited {LINK_LIMIT_S} s for {down} to be up after its settings changed; "
                "the link partner may not take them",
                where=name,
            )


def _ground_last(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """What stands on the ground, then the ground: what was kept for the former was what the latter made."""
    by_ground: dict[bool, list[Entry]] = {False: [], True: []}
    for entry in entries:
        by_ground[layer_of(entry.knob) <= GROUND].append(entry)
    yield from filter(None, by_ground.values())


def _by_host(links: Iterable[Link]) -> dict[str, frozenset[str]]:
    """Host → its links of these."""
    links_by_host: dict[str, set[str]] = {}
    for host, link in links:
        links_by_host.setdefault(host, set()).add(link)
    return {host: frozenset(host_links) for host, host_links in links_by_host.items()}


def _look_at_links(links: Collection[str]) -> tuple[ShortCommand, ...]:
    """The question whether all of these are up now; none for none."""
    return (ShortCommand(("bash", "-c", _WAIT_LINK, "linewatt", "0", *sorted(links))),) if links else ()


def _values(changes: Iterable[Change], scope: Collection[str]) -> dict[str, dict[Key, str]]:
    """Each host of a scope → the values that are asked of it."""
    values_by_host: dict[str, dict[Key, str]] = {name: {} for name in scope}
    for change in changes:
        if change.host in values_by_host:
            values_by_host[change.host][_key(change)] = change.value
    return values_by_host


def _may_move(key: Key, text: str) -> bool:
    """Whether what a host shows can become something else: LRO that is off, or fixed, does not."""
    return key[1] != "offload" or text.endswith("=on")


def _key(setting: Entry | Change) -> Key:
    return setting.host, setting.knob, setting.target
