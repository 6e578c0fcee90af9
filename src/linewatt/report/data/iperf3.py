# SPDX-License-Identifier: Apache-2.0
"""A trial in the shape of the JSON of an iperf3 client, for tools that read that.

What the client of a single instance wrote is given as it is. The documents of several are added up, interval
by interval in their order, although their processes did not start at the same instant; what cannot be added
(round trips, window sizes of all) is left out. Where nothing that they wrote is stored, sums are of the
trial's figures in its window. The key ``linewatt``, which iperf3 has not, says which of these it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate
from statistics import fmean
from typing import Any

from linewatt.errors import ParseError, StoreError
from linewatt.loads import LOADS, json_after_warnings
from linewatt.model import Trial, Window, is_request_response, is_tcp
from linewatt.sizes import datagram_bytes
from linewatt.store import RAW_FOLDER, Result, raw_texts, trial_dir

SCHEMA_VERSION = 1
_IPERF3 = LOADS["iperf3"]
_ADDED = ("bytes", "bits_per_second", "retransmits", "packets", "lost_packets", "out_of_order")
_LARGEST = ("end", "seconds")
_ALIKE = ("omitted", "sender")
_JITTER = "jitter_ms"
"""of several streams the mean, as iperf3 itself has it"""


def why_no_iperf3_document(trial: Trial) -> str | None:
    """Why a trial has no such document; None: it has."""
    if trial.status != "done":
        return "failed"
    case = trial.case
    if case.of_users or is_request_response(case.test) or case.load not in (None, _IPERF3.name):
        return "no load of iperf3"
    if trial.window is None or trial.throughput_bps is None:
        return "no throughput"
    return None


def iperf3_document(result: Result, trial: Trial) -> dict[str, Any]:
    """That of a trial which :func:`why_no_iperf3_document` has nothing against.

    Raises StoreError for damaged output.
    """
    wrote = _clients(result, trial)
    if not wrote:
        note = "no output of its clients is stored: rates are those of its window"
        return _of_figures(trial) | _about(result, trial, "figures", note)
    if len(wrote) == 1:
        return wrote[0] | _about(result, trial, "client", "as its client wrote it, of the whole run")
    note = f"{len(wrote)} clients added up, each of its whole run; their intervals did not begin at once"
    return _added_up(wrote) | _about(result, trial, "added-up", note)


def _about(result: Result, trial: Trial, source: str, note: str) -> dict[str, Any]:
    about = {
        "schema_version": SCHEMA_VERSION,
        "source": source,
        "note": note,
        "result": result.id,
        "trial": trial.number,
        "case_key": trial.case_key,
        "instances": trial.case.processes,
        "window_throughput_bps": trial.throughput_bps,
    }
    return {"linewatt": about}


def _clients(result: Result, trial: Trial) -> list[dict[str, Any]]:
    """What the clients of its instances wrote; nothing unless all of it is there. Raises StoreError."""
    files = raw_texts(trial_dir(result.path, trial.number) / RAW_FOLDER)
    documents = []
    for instance in range(trial.case.processes):
        client = trial.case.pair_of(instance).client
        name = f"{client}/{_IPERF3.name}-client-{instance}.{_IPERF3.suffix}"
        if name not in files:
            return []
        try:
            document = json_after_warnings(files[name])
        except ParseError as error:
            raise StoreError(f"{result.path}: trial {trial.number}: {name}: {error}") from error
        if not _has_shape(document):
            raise StoreError(f"{result.path}: trial {trial.number}: {name}: has another shape than iperf3's")
        documents.append(document)
    return documents


def _has_shape(document: Mapping[str, Any]) -> bool:
    """Whether it has what is read of it here."""
    end, intervals = document.get("end"), document.get("intervals")
    return (
        isinstance(document.get("start"), dict)
        and isinstance(end, dict)
        and all(isinstance(section, dict) for section in end.values() if not isinstance(section, str | list))
        and isinstance(intervals, list)
        and all(isinstance(interval, dict) for interval in intervals)
        and all(
            isinstance(stream, dict) for section in (end, *intervals) for stream in section.get("streams", ())
        )
    )


def _added_up(wrote: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    documents = [_with_own_sockets(client_document, at) for at, client_document in enumerate(wrote)]
    ends = [client_document["end"] for client_document in documents]
    return {
        "start": _start([client_document["start"] for client_document in documents]),
        "intervals": [
            {
                "streams": [stream for interval in same for stream in interval.get("streams", ())],
                "sum": _sum([interval.get("sum", {}) for interval in same]),
            }
            for same in zip(*(client_document["intervals"] for client_document in documents), strict=False)
        ],
        "end": {"streams": [stream for end in ends for stream in end.get("streams", ())]} | _end(ends),
    }


def _start(starts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = min(starts, key=lambda start: start.get("timestamp", {}).get("timesecs", 0))
    tests = [start.get("test_start", {}) for start in starts]
    streams = [test.get("num_streams") for test in tests]
    test = {name: value for name, value in tests[0].items() if all(test.get(name) == value for test in tests)}
    if None not in streams:
        test["num_streams"] = sum(streams)
    connected = [connection for start in starts for connection in start.get("connected", ())]
    return {
        **{
            name: first[name]
            for name in ("version", "system_info", "timestamp", "connecting_to")
            if name in first
        },
        "connected": connected,
        "test_start": test,
    }


def _end(ends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    combined_end: dict[str, Any] = {}
    for name in ("sum", "sum_sent", "sum_received"):
        if all(name in end for end in ends):
            combined_end[name] = _sum([end[name] for end in ends])
    used = [end.get("cpu_utilization_percent", {}) for end in ends]
    if all(used):
        combined_end["cpu_utilization_percent"] = {
            name: sum(cpu_use[name] for cpu_use in used)
            for name in used[0]
            if all(name in cpu_use for cpu_use in used)
        }
    for name in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        words = {end.get(name) for end in ends}
        if len(words) == 1 and None not in words:
            combined_end[name] = words.pop()
    return combined_end


def _sum(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of values that all parts have: those that add up, and those that are the same in all."""
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    combined: dict[str, Any] = {}
    for name in shared:
        values = [part[name] for part in parts]
        if name in _ADDED:
            combined[name] = sum(values)
        elif name in _LARGEST:
            combined[name] = max(values)
        elif name == "start":
            combined[name] = min(values)
        elif name == _JITTER:
            combined[name] = fmean(values)
        elif name in _ALIKE and len(set(values)) == 1:
            combined[name] = values[0]
    if combined.get("packets") and "lost_packets" in combined:
        combined["lost_percent"] = 100 * combined["lost_packets"] / combined["packets"]
    return combined


def _with_own_sockets(document: Mapping[str, Any], at: int) -> dict[str, Any]:
    """The document of instance ``at``, its sockets numbered so that no other instance has the same."""

    def renumbered(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: 1000 * at + member
                if name == "socket" and isinstance(member, int)
                else renumbered(member)
                for name, member in value.items()
            }
        return [renumbered(item) for item in value] if isinstance(value, list) else value

    return {name: renumbered(value) for name, value in document.items()}


def _of_figures(trial: Trial) -> dict[str, Any]:
    """Rates in the window as one interval; nothing of what a client would say beside them."""
    window, case = trial.window or Window(0.0, 0.0), trial.case  # why_not() sees that there is one
    seconds = window.seconds
    start_s = window.start_s
    test: dict[str, Any] = {
        "protocol": "TCP" if is_tcp(case.test) else "UDP",
        "num_streams": case.processes * case.streams,
        "duration": seconds,
        "reverse": int(case.direction == "reverse"),
    }
    if not is_tcp(case.test):
        test["blksize"] = datagram_bytes(case.test, case.family)
    received = _figures(seconds, trial.throughput_bps, sender=False) | _lost(trial)
    sent = _figures(seconds, trial.offered_bps, sender=True)
    if trial.retransmits is not None:
        sent["retransmits"] = trial.retransmits
    return {
        "start": {
            "timestamp": {"time": formatdate(start_s, usegmt=True), "timesecs": int(start_s)},
            "test_start": test,
        },
        "intervals": [{"streams": [], "sum": received | {"omitted": False}}],
        "end": {
            "streams": list(_streams(trial, seconds)),
            **({"sum_sent": sent} if trial.offered_bps is not None else {}),
            "sum_received": received,
        },
    }


def _figures(seconds: float, bps: float | None, *, sender: bool) -> dict[str, Any]:
    if bps is None:
        return {}
    return {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": round(bps * seconds / 8),
        "bits_per_second": bps,
        "sender": sender,
    }


def _lost(trial: Trial) -> dict[str, Any]:
    if trial.packets is None or trial.lost_packets is None:
        return {}
    loss = {"packets": trial.packets, "lost_packets": trial.lost_packets}
    return loss | ({"lost_percent": 100 * trial.lost_packets / trial.packets} if trial.packets else {})


def _streams(trial: Trial, seconds: float) -> Iterator[dict[str, Any]]:
    """One of each instance, whose streams nobody told apart."""
    for instance in trial.instances:
        yield {
            "sender": _figures(seconds, instance.offered_bps, sender=True) | {"socket": instance.instance},
            "receiver": _figures(seconds, instance.throughput_bps, sender=False)
            | {"socket": instance.instance},
        }
