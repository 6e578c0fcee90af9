# SPDX-License-Identifier: Apache-2.0
"""What is said of a profile beside its numbers: what it is of, how it was taken, what it lacks."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.features.profiles.analysis.shares import PlaceProfile
from linewatt.features.profiles.perf.model import HostProfile, MemoryTraffic, Place, Profile
from linewatt.features.profiles.perf.recording import SOFTWARE_CLOCK
from linewatt.hosts.facts import format_cpulist
from linewatt.report import Note
from linewatt.units import format_percent, format_rate, format_significant

TITLE = "Where the CPUs spent their time"
_PLACES: dict[Place, str] = {
    "app": "app CPU",
    "irq": "IRQ CPU",
    "app + irq": "app and IRQ CPU",
    "host": "CPUs",
}
_MANY_UNRESOLVED = 0.05
_MANY_LOST = 0.01


def place_words(place_profile: PlaceProfile) -> str:
    """``receiver h2, IRQ CPU 3``."""
    host, cpus = place_profile.host, place_profile.host.cpus[place_profile.place]
    several = "s" if len(cpus) > 1 and place_profile.place != "host" else ""
    return f"{host.role} {host.host}, {_PLACES[place_profile.place]}{several} {format_cpulist(cpus)}"


def about(profile: Profile) -> str:
    """What was going on while it was taken."""
    if profile.throughput_bps is None:
        return f"its load came to nothing: {profile.reason or 'no number'}"
    return f"at {format_rate(profile.throughput_bps)}, in a trial that is part of no other figure"


def host_notes(host: HostProfile) -> Iterator[Note]:
    """How it was taken, and what of it is missing."""
    if host.reason is not None:
        yield Note("absence", f"no profile: {host.reason}", host.host)
        return
    clock = "the kernel's clock" if host.event == SOFTWARE_CLOCK else f"the hardware event {host.event}"
    seconds = host.slices * host.slice_s
    yield Note(
        "remark",
        f"{host.samples:,} samples in {seconds:g} s, {host.frequency_hz} a second of each CPU by {clock}",
        host.host,
    )
    for note in host.notes:
        yield Note("remark", note, host.host)
    if host.no_counters:
        yield Note("absence", f"no IPC, clock and cycles per packet: {host.no_counters}", host.host)
    if host.memory is not None:
        yield _memory(host.memory, host.host)
    if host.lost_samples > _MANY_LOST * host.samples:
        ratio = host.lost_samples / (host.samples + host.lost_samples)
        lost = f"{host.lost_samples:,} samples ({format_percent(ratio)}) were lost"
        text = f"{lost}: shares may lean to what was kept"
        yield Note("doubt", text, host.host)
    elif host.lost_samples:
        yield Note("remark", f"{host.lost_samples:,} samples were lost", host.host)
    if host.cut_samples > _MANY_UNRESOLVED * host.samples:
        text = (
            f"of {host.cut_samples:,} samples the callers in user space are not known: programs without "
            "frame pointers; functions themselves are"
        )
        yield Note("remark", text, host.host)
    if host.outside_samples:
        share = format_percent(host.outside_samples / host.samples)
        text = (
            f"{share} of its samples are of processes and kernel threads outside its PID namespace, as in a "
            "lab or a container: perf cannot know their names"
        )
        yield Note("remark", text, host.host)


def _memory(memory_traffic: MemoryTraffic, name: str) -> Note:
    """Of the whole host, whoever moved it."""
    if memory_traffic.reason is not None:
        by = f"{memory_traffic.counted}: " if memory_traffic.counted else ""
        return Note("absence", f"no memory bandwidth: {by}{memory_traffic.reason}", name)
    ways = {"read": memory_traffic.read_bytes_per_s, "written": memory_traffic.written_bytes_per_s}
    traffic_words = [f"{_bytes(value)} {way}" for way, value in ways.items() if value is not None]
    text = ", ".join(traffic_words or [f"{_bytes(memory_traffic.total_bytes_per_s or 0.0)} read and written"])
    return Note("remark", f"memory of the whole host, by {memory_traffic.counted}: {text}", name)


def _bytes(per_s: float) -> str:
    return f"{format_significant(per_s / 1e9)} GB/s"


def place_notes(place_profile: PlaceProfile) -> Iterator[Note]:
    """Why nothing is ranked, or how far it can be read."""
    if (why := place_profile.why_not_ranked) is not None:
        yield Note("absence", f"no ranking: {why}", place_words(place_profile))
    elif place_profile.unresolved > _MANY_UNRESOLVED * place_profile.busy:
        share = format_percent(place_profile.unresolved / place_profile.busy)
        text = f"{share} of busy samples are in functions without a name; are symbols stripped or hidden?"
        yield Note("doubt", text, place_words(place_profile))
