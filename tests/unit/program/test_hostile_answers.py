# SPDX-License-Identifier: Apache-2.0
"""Answers that broke linewatt once: each is a reason now, an unread fact, or a failed trial."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.clock import Stopwatch
from tests.wiring import told

from linewatt.engine.live import sockets
from linewatt.engine.live.feed import MOST_CHARACTERS, Feed
from linewatt.engine.live.meters import MeterFeed
from linewatt.engine.measuring import run_record
from linewatt.engine.readiness import checkup_probes as probes
from linewatt.errors import ChangeError, ParseError
from linewatt.foreign import STORED, read_json, understood
from linewatt.hosts import leash
from linewatt.hosts.base import Completed, Line
from linewatt.hosts.clock import now_s
from linewatt.hosts.facts import read as facts
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Channel
from linewatt.sensors.power.base import PowerConfig
from linewatt.sensors.registry import SENSORS
from linewatt.store.derived import text_of
from linewatt.tuning import apply
from linewatt.tuning.base import Change
from linewatt.tuning.registry import TUNING_KNOBS

LONG = "9" * 5000


@pytest.mark.parametrize("word", ["x", "nan", "inf", "1e999"])
def test_a_mark_without_a_time_is_the_commands_own_word(word: str) -> None:
    line = f"linewatt-leash: end {word} 0\n"
    assert leash.read_marks(line) == leash.Marks(None, None, line)


@pytest.mark.parametrize(
    ("sensor", "text", "said"),
    [
        ("qdisc", "[" * 3000, "nests values too deeply"),
        ("qdisc", f'[{{"root": true, "drops": {LONG}, "overlimits": 0, "requeues": 0}}]', "5000 digits"),
        ("qdisc", '[{"root": true, "drops": 1e999, "overlimits": 0, "requeues": 0}]', "too large"),
        ("netcounters", "linewatt-netcounters 1 1|nic EVIL=5|end 1", "no channel"),
        ("netcounters", f"linewatt-netcounters 1 1|nic rx_bytes={LONG}|end 1", "is not a number"),
        ("netcounters", f"linewatt-netcounters 1 1|nic rx_bytes={'9' * 40}|end 1", "too large"),
        ("mpstat", '"cpu-load": [\n{"cpu": "0", "usr": 1e999}\n\t\t\t\t\t]', "too large"),
        ("mpstat", '"cpu-load": [\n{"cpu": "\\ud800", "usr": 1}\n\t\t\t\t\t]', "half a character"),
    ],
)
def test_a_record_that_no_sensor_writes_is_a_problem_and_the_stream_goes_on(
    sensor: str, text: str, said: str
) -> None:
    feed = Feed("h1", SENSORS[sensor], SENSORS[sensor].Config())
    for line in text.split("\n"):
        feed.take(Line(1.0, line))
    (record,) = feed.latest(5)
    assert said in str(record.problem)
    assert record.values == {}


def test_a_record_that_never_ends_is_given_up_and_the_next_one_counts() -> None:
    feed = Feed("h1", SENSORS["mpstat"], SENSORS["mpstat"].Config())
    line = "x" * (1 << 18)
    for _ in range(MOST_CHARACTERS // len(line)):
        feed.take(Line(1.0, line))
    assert [one.problem for one in feed.latest(9)] == ["mpstat: a record is longer than 1 MiB"]
    for words in ('"cpu-load": [', '{"cpu": "0", "usr": 100}', "\t\t\t\t\t]"):
        feed.take(Line(2.0, words))
    assert feed.latest(1)[0].values == {"cpu0.usr_ratio": 1.0}


@pytest.mark.parametrize(
    ("knob", "text"),
    [
        ("irq_affinity", "interface eth0\nbus x\nirq 1 9-1 a\n"),
        ("irq_affinity", "bus x\nirq 1 1 a\n"),
        ("irq_affinity", f"interface eth0\nbus x\nirq 1 1 eth0-{LONG}\n"),
        ("ntuple", f"Total 1 rules\n\nFilter: {LONG}\n"),
        ("rings", f"Pre-set maximums:\nRX:\t\t{LONG}\nCurrent hardware settings:\nRX:\t\t{LONG}\n"),
        (
            "channels",
            f"Pre-set maximums:\nCombined:\t{LONG}\nCurrent hardware settings:\nCombined:\t{LONG}\n",
        ),
        ("mtu", f"{LONG} 68 9000\n"),
        ("rps_cpus", f"rx-{LONG}=3\n"),
    ],
)
def test_a_setting_that_cannot_be_read_is_a_reason_of_a_line(knob: str, text: str) -> None:
    with pytest.raises(ChangeError, match=f"^h1: {knob} eth0: ") as refused:
        apply.answer("h1", TUNING_KNOBS[knob], "eth0", Completed((), 0, text, ""))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1000


def test_a_setting_from_which_none_can_be_made_is_a_reason() -> None:
    with pytest.raises(ChangeError, match=r"^h1: rings eth0: "):
        apply.wanted_setting(
            TUNING_KNOBS["rings"], Change("h1", "rings", "eth0", "rx=1024", "why"), "nonsense"
        )


@pytest.mark.parametrize("clock", ["1.2.3", ".", "9" * 400])
def test_a_clock_that_is_none_in_a_models_name_leaves_the_other_facts(clock: str) -> None:
    lscpu = json.dumps({"lscpu": [{"field": "Model name:", "data": f"x @ {clock}GHz"}]})
    known = facts.parse_all(f"\n{facts.MARK} begin cpu.model\n{lscpu}\n\n{facts.MARK} end 0\n")
    assert known["cpu"]["base_frequency_hz"] is None
    assert known["cpu"]["model"] == f"x @ {clock}GHz"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("cpu.model", '{"lscpu": [{"field": "Model name:", "data": "\\ud800"}]}'),
        ("nic.mtu", '[{"mtu": "a lot"}]'),
        ("nic.mtu", '[{"mtu": 1e999}]'),
        ("nic.mtu", '[{"mtu": 1500, "addr_info": [{"family": "inet", "local": "$(id)"}]}]'),
        ("cpus.of_node", "/sys/devices/system/node/node0/cpulist\t0-99999999\n"),
    ],
)
def test_a_fact_that_cannot_be_is_not_known_and_says_why(key: str, text: str) -> None:
    section, name = key.split(".")
    known = facts.parse_all(f"\n{facts.MARK} begin {key}\n{text}\n\n{facts.MARK} end 0\n")
    assert known[section][name] is None
    assert known[facts.NOT_KNOWN][key]


def test_a_status_that_no_command_has_is_an_answer_without_an_end() -> None:
    """5000 digits are more than Python makes a number of."""
    known = facts.parse_all(f"\n{facts.MARK} begin nic.mtu\n[]\n\n{facts.MARK} end {'9' * 5000}\n")
    assert known["nic"]["mtu"] is None
    assert known[facts.NOT_KNOWN]["nic.mtu"] == "the host's answer ends before it"


@pytest.mark.parametrize("key", ["nic.rings", "nic.speed_bps", "kernel.command_line", "cpu.microcode"])
def test_a_fact_of_one_endless_line_takes_no_long_time(key: str) -> None:
    """A pattern that looks for a colon from each of 100,000 letters on took a minute."""
    watch = Stopwatch()
    facts.parse_all(f"\n{facts.MARK} begin {key}\n/x\t{'a' * 100_000}\n\n{facts.MARK} end 0\n")
    assert watch.took_s < 3


@pytest.mark.parametrize("text", ["null", "[]", "7", '"x"'])
def test_what_was_kept_of_a_trial_is_an_object_or_refused(text: str) -> None:
    for read in (lambda: run_record.read(text, {}, {}, Iperf3()), lambda: run_record.read_idle(text)):
        with pytest.raises(ParseError, match=r"run\.json cannot be read"):
            read()


def test_deep_json_of_a_load_is_a_reason() -> None:
    with pytest.raises(ParseError, match="nests values too deeply"):
        understood(lambda: Iperf3().parse('{"a":' * 3000), "iperf3")


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 3000, '{"start": null}', "[]", f'{{"start": {LONG}}}', '{"error": "\\ud800"}', "{}" * 9],
)
def test_output_that_trips_the_parser_is_a_failed_trial_that_is_stored(text: str) -> None:
    given = told()
    (output,) = given.run.outputs
    assert output.client is not None
    run = replace(given.run, outputs=(replace(output, client=replace(output.client, stdout=text)),))
    trial = replace(given, run=run).trial()
    assert trial.status == "failed"
    assert str(trial.reason)
    read_json(text_of(trial), "trial.json", STORED)


class _Session:
    """A meter that says impossible things."""

    channels: ClassVar[dict[str, Channel]] = {"w": Channel("w", "W", "gauge", "wall")}

    def __init__(self, value: Any, reason: str) -> None:
        self._value = value
        self.reasons = {"w": reason}

    def read(self, names: object = None) -> dict[str, float | None]:
        return {"w": self._value}

    def close(self) -> None: ...


class _Meter:
    name = "meter"

    def __init__(self, session: _Session) -> None:
        self._session = session

    def open(self, password: str | None) -> Any:
        return self._session


@pytest.mark.parametrize("value", [1e308, float("nan"), float("inf"), 10**400, None])
def test_a_meter_that_says_what_cannot_be_delivers_none_with_its_reason(value: Any) -> None:
    async def scene() -> None:
        meter: Any = _Meter(_Session(value, "\ud800\x1b[2J"))
        host: Any = None
        feed = MeterFeed("h1", "bmc", meter, PowerConfig(interval_s=0.1), None)
        await feed.start(host)
        await feed.wait_past(now_s(), 5)
        await feed.stop()
        reading = feed.whole()
        assert {value for _, value in reading.values("w")} == {None}
        assert not reading.problems
        assert all(sample.reason for sample in reading.samples("w"))
        for line in reading.raw().splitlines():
            read_json(line, "raw", STORED)

    asyncio.run(scene())


MANY = "9" * 5000
"""digits: more than Python makes a number of"""


@pytest.mark.parametrize(
    "text",
    [
        f"0 0 192.0.2.1:{MANY} 192.0.2.2:5201\n",
        f"0 0 192.0.2.1:40000 192.0.2.2:5201\n\t cubic rtt:../1 cwnd:{MANY} busy:..ms \n",
    ],
)
def test_connections_with_numbers_that_are_none_are_left_out_or_have_none(text: str) -> None:
    for connection in sockets.parse(text):
        assert (connection.rtt_s, connection.cwnd_packets, connection.busy_s) == (None, None, None)
        assert connection.congestion == "cubic"


@pytest.mark.parametrize("line", [f"before cpu0 {MANY} 1 1 1 1 1 1 1", f"before cpu{MANY} 1 1 1 1 1 1 1 1"])
def test_cpu_times_with_numbers_that_are_none_are_left_out(line: str) -> None:
    assert probes.parse_live(f"{line}\n{line.replace('before', 'after')}\n").idle is None
    assert probes.parse_taken(f"LISTEN 0 5 *:{MANY} *:*\n") == {}
