# SPDX-License-Identifier: Apache-2.0
"""What the raw files of a trial say, by plain arithmetic: nothing of linewatt is imported or copied here.

A trial says itself when its window was and when its loads began; all else is counted from what iperf3,
mpstat, the BMC and the kernel's counters wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tests.packed import texts

BMC_AVERAGES_S = 1.0


class Readings:
    """What readers wrote beside a window of a result."""

    def __init__(self, folder: Path, window: Mapping[str, float]) -> None:
        self.texts = texts(folder)
        self.start_s, self.end_s = window["start_s"], window["end_s"]

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s

    def inside(self, begins_s: float, ends_s: float) -> float:
        """Seconds of a stretch of time that lie in the window."""
        return max(0.0, min(ends_s, self.end_s) - max(begins_s, self.start_s))

    def share(self, host: str, cpus: Sequence[int], *columns: str) -> float:
        """Mean part of the window that CPUs spent on these columns of mpstat, over the CPUs."""
        total = weight = 0.0
        wanted = {str(cpu) for cpu in cpus}
        for record in self._records(host, "mpstat"):
            part = self.inside(record["received_s"] - record["span_s"], record["received_s"])
            rows = json.loads(record["text"].partition('"cpu-load": ')[2])
            own = [sum(row[column] for column in columns) / 100 for row in rows if row["cpu"] in wanted]
            total += part * fmean(own)
            weight += part
        assert weight > 0.9 * self.seconds
        return total / weight

    def busy(self, host: str, cpus: Sequence[int]) -> float:
        """1 − idle, waiting for disks and stolen time left out."""
        return 1 - self.share(host, cpus, "idle", "iowait", "steal")

    def full(self, host: str, cpus: Sequence[int]) -> float:
        """The part of CPUs that nobody else can have: what is niced would step back."""
        return 1 - self.share(host, cpus, "idle", "iowait", "nice")

    def watts(self, host: str, *sensors: str) -> float:
        """Mean over the window of the sum of these sensors, straight lines between readings.

        A lab's BMC shows its host's last second (docs/lab.md), which is half a second old on average.
        """
        points = []
        for record in self._records(host, "bmc"):
            read = json.loads(record["text"])
            watts = sum(read["values"][sensor] for sensor in sensors)
            points.append(((read["begin_s"] + read["end_s"]) / 2, watts))
        late_s = BMC_AVERAGES_S / 2
        return area(points, self.start_s + late_s, self.end_s + late_s) / self.seconds

    def silence(self, host: str) -> tuple[float, float]:
        """The longest span of a record of mpstat that touches the window, and the usual one, s."""
        spans = [(record["received_s"], record["span_s"]) for record in self._records(host, "mpstat")][1:]
        within = [span_s for received_s, span_s in spans if self.inside(received_s - span_s, received_s) > 0]
        return max(within), median(span_s for _, span_s in spans)

    def _records(self, host: str, source: str) -> Iterator[dict[str, Any]]:
        lines = self.texts[f"{host}/{source}.jsonl"].splitlines()
        yield from map(json.loads, lines)


def idle_windows(result: Path) -> tuple[Readings, Readings]:
    """Idle before the first trial, and after the last."""
    before, after = (
        Readings(result / "raw" / name, json.loads((result / f"{name}.json").read_text())["window"])
        for name in ("idle", "idle-end")
    )
    return before, after


class Raw(Readings):
    """One trial's folder."""

    def __init__(self, directory: Path) -> None:
        self.trial: dict[str, Any] = json.loads((directory / "trial.json").read_text())
        super().__init__(directory / "raw", self.trial["window"])

    def _intervals(self, role: str) -> Iterator[tuple[float, dict[str, Any]]]:
        """Each interval of every instance at one end, and how much of it lies in the window (0..1)."""
        case = self.trial["case"]
        host, program = (case["receiver"], "server") if role == "receiver" else (case["sender"], "client")
        for one in self.trial["instances"]:
            document = json.loads(self.texts[f"{host}/iperf3-{program}-{one['instance']}.json"])
            for interval in document["intervals"]:
                whole = interval["sum"]
                length = whole["end"] - whole["start"]
                begins = one[f"{role}_start_s"] + whole["start"]
                if length > 0:
                    yield self.inside(begins, begins + length) / length, whole

    def rate_bps(self, role: str) -> float:
        """Payload that an end counted in the window."""
        return sum(8 * part * float(one["bytes"]) for part, one in self._intervals(role)) / self.seconds

    def whole_intervals(self) -> list[tuple[float, float, float]]:
        """Begin and end in the window, and what all instances received together, bit/s: of those intervals
        that lie wholly inside, short ones left out. Instances begin at their own times: the means of these.
        """
        host, of_instances = self.trial["case"]["receiver"], []
        for one in self.trial["instances"]:
            document = json.loads(self.texts[f"{host}/iperf3-server-{one['instance']}.json"])
            sums = [interval["sum"] for interval in document["intervals"]]
            usual_s = median(each["end"] - each["start"] for each in sums)
            offset_s = one["receiver_start_s"] - self.start_s
            spans = [
                (offset_s + each["start"], offset_s + each["end"], each["bytes"])
                for each in sums
                if each["end"] - each["start"] > usual_s / 2
            ]
            of_instances.append([each for each in spans if each[0] >= 0 and each[1] <= self.seconds])
        return [
            (
                fmean(begins_s for begins_s, _, _ in same),
                fmean(ends_s for _, ends_s, _ in same),
                sum(8 * received / (ends_s - begins_s) for begins_s, ends_s, received in same),
            )
            for same in zip(*of_instances, strict=False)
        ]

    def datagrams(self, key: str = "packets") -> float:
        """``packets`` or ``lost_packets`` of the receiver in the window."""
        return sum(part * float(one.get(key, 0)) for part, one in self._intervals("receiver"))

    def counted(self, host: str, name: str) -> float:
        """What a counter of the data interface or of ``nstat`` rose by in the window."""
        points = self._counter(host, name)
        return height(points, self.end_s) - height(points, self.start_s)

    def counted_within(self, host: str, name: str) -> tuple[float, float]:
        """What it rose by from the first to the last reading in the window, and in all that touch it."""
        points = self._counter(host, name)
        inside = [value for time_s, value in points if self.start_s <= time_s <= self.end_s]
        before = [value for time_s, value in points if time_s <= self.start_s]
        after = [value for time_s, value in points if time_s >= self.end_s]
        return inside[-1] - inside[0], after[0] - before[-1]

    def waited(self, host: str) -> float:
        """The part of the time between both looks at threads that the one that waited most had no CPU."""
        late = json.loads(self.texts[f"{host}/readback.json"])
        early = {one["tid"]: one for one in late["before"]["threads"]}
        both = [(early[one["tid"]], one) for one in late["threads"] if one["tid"] in early]
        ratios = [(b["wait_s"] - a["wait_s"]) / (b["read_s"] - a["read_s"]) for a, b in both]
        return float(max(ratios))

    def _counter(self, host: str, name: str) -> list[tuple[float, float]]:
        points = []
        for record in self._records(host, "netcounters"):
            found = re.search(rf"[ |]{name}=(\d+)", record["text"])
            assert found, name
            points.append((record["received_s"], float(found[1])))
        return points


def height(points: Sequence[tuple[float, float]], at_s: float) -> float:
    """A straight line between two readings; the nearest reading beyond the first and the last."""
    for (before_s, before), (after_s, after) in pairwise(points):
        if before_s <= at_s <= after_s:
            return before + (after - before) * (at_s - before_s) / (after_s - before_s)
    return points[0][1] if at_s < points[0][0] else points[-1][1]


def area(points: Sequence[tuple[float, float]], start_s: float, end_s: float) -> float:
    """Below the lines between readings, from start to end."""
    inner = [(time_s, value) for time_s, value in points if start_s < time_s < end_s]
    line = [(start_s, height(points, start_s)), *inner, (end_s, height(points, end_s))]
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(line))
