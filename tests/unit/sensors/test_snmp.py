# SPDX-License-Identifier: Apache-2.0
"""SNMP against net-snmp's real agent, which says what real PDUs said."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.captured import channels_of
from tests.clock import Stopwatch

from linewatt.errors import HostError, InvalidInput
from linewatt.sensors.power.base import CALL_LIMIT_S, MeterRecord
from linewatt.sensors.power.snmp import agent as snmp_agent
from linewatt.sensors.power.snmp.meter import Snmp, SnmpConfig, items
from linewatt.sensors.power.snmp.profiles import PROFILES

TESTS = Path(__file__).parents[2]
CAPTURES = TESTS / "captures" / "snmp"
CASES = sorted(path.parent.name for path in CAPTURES.glob("*/expected.json"))
SNMPD = shutil.which("snmpd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
COMMUNITY = "c0mmunity-Zq"
AUTH, PRIVACY = "auth-phrase-Zq", "privacy-phrase-Zq"
START_LIMIT_S = 60
MAKERS = ("318", "534", "1718", "13742")

needs_snmpd = pytest.mark.skipif(SNMPD is None, reason="snmpd is not installed")


@dataclass
class Pdu:
    """A running agent; ``walk`` is what it answers with, and may be written anew."""

    port: int
    walk: Path

    def say(self, text: str) -> None:
        self.walk.write_text(text)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def pdu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pdu]:
    folder = tmp_path_factory.mktemp("snmpd")
    walk = folder / "walk"
    walk.write_text("1.3.6.1.4.1.318.1.1.12.1.16.0|2|1\n")
    port = free_port()
    helper = f"{sys.executable} {TESTS / 'snmp_pass.py'} {walk}"
    (folder / "snmpd.conf").write_text(
        f"agentAddress udp:127.0.0.1:{port}\n"
        f"rocommunity {COMMUNITY} 127.0.0.1\n"
        f"createUser monitor SHA {AUTH} AES {PRIVACY}\nrouser monitor priv\n"
        f"createUser single SHA-256 {AUTH} AES {AUTH}\nrouser single priv\n"
        f"createUser plain SHA {AUTH}\nrouser plain auth\n"
        + "".join(f"pass_persist .1.3.6.1.4.1.{maker} {helper}\n" for maker in MAKERS)
    )
    command = [str(SNMPD), "-f", "-C", "-c", str(folder / "snmpd.conf"), "-Lf", str(folder / "log"), "-r"]
    environment = {**os.environ, "SNMP_PERSISTENT_DIR": str(folder / "state"), "MIBS": ""}
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL) as agent:
        try:
            wait_for(port, folder / "log")
            yield Pdu(port, walk)
        finally:
            agent.terminate()


def wait_for(port: int, log: Path) -> None:
    """Until the agent answers."""
    meter = Snmp(SnmpConfig(address="127.0.0.1", port=port, profile="apc-rpdu"))
    end_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end_s:
        try:
            meter.open(COMMUNITY).close()
        except HostError:
            continue
        return
    pytest.fail(f"snmpd did not answer within {START_LIMIT_S} s: {log.read_text()[-500:]}")


def config(pdu: Pdu, **more: Any) -> SnmpConfig:
    return SnmpConfig(**{"address": "127.0.0.1", "port": pdu.port, "password_env": "X", **more})


@needs_snmpd
@pytest.mark.parametrize("version", ["1", "2c"])
@pytest.mark.parametrize("case", CASES)
def test_what_pdus_said_becomes_channels(pdu: Pdu, case: str, version: str) -> None:
    expected = json.loads((CAPTURES / case / "expected.json").read_text())
    (walk,) = (CAPTURES / case).glob("walk.*")
    pdu.say(walk.read_text())
    meter = Snmp(config(pdu, version=version, **expected["settings"]))
    if "error" in expected:
        with pytest.raises(InvalidInput) as caught:
            meter.open(COMMUNITY)
        assert expected["error"] in str(caught.value)
        return
    session = meter.open(COMMUNITY)
    found = channels_of(session)
    session.close()
    assert found == expected["channels"]
    assert session.reasons == expected.get("reasons", {})


@needs_snmpd
def test_readings_follow_the_meter_and_one_that_vanishes_is_none_with_a_reason(pdu: Pdu) -> None:
    row = "1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.1|2|{}\n"
    pdu.say(row.format(200))
    session = Snmp(config(pdu, profile="apc-rpdu2", outlet=1)).open(COMMUNITY)
    assert session.read() == {"outlet1_w": 200}
    pdu.say(row.format(210))
    assert session.read(["outlet1_w"]) == {"outlet1_w": 210}
    pdu.say("")
    assert session.read() == {"outlet1_w": None}
    assert session.reasons == {"outlet1_w": "1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.1: no such instance"}
    session.close()


@needs_snmpd
def test_a_counter_wraps_where_its_type_does(pdu: Pdu) -> None:
    pdu.say(
        "1.3.6.1.4.1.534.1.0|65|7\n1.3.6.1.4.1.534.2.0|70|8\n"
        "1.3.6.1.4.1.534.3.0|2|9\n1.3.6.1.4.1.534.4.0|66|9\n"
    )
    entry = {"unit": "J", "scale": 3600.0}
    channels = {f"e{n}": {"oid": f"1.3.6.1.4.1.534.{n}.0", "scope": f"wall:{n}", **entry} for n in (1, 2, 3)}
    watts = {"w": {"oid": "1.3.6.1.4.1.534.4.0", "scope": "wall"}}
    session = Snmp(config(pdu, channels={**channels, **watts})).open(COMMUNITY)
    wraps = {name: one.wraps_at for name, one in session.channels.items()}
    session.close()
    assert wraps == {"e1": 2**32 * 3600.0, "e2": 2**64 * 3600.0, "e3": None, "w": None}


@needs_snmpd
def test_the_meters_own_digits_scale_a_reading(pdu: Pdu) -> None:
    base = "1.3.6.1.4.1.13742.6"
    pdu.say(f"{base}.5.4.3.1.4.1.3.5|66|655\n{base}.3.5.4.1.7.1.3.5|66|1\n")
    session = Snmp(config(pdu, profile="raritan-px", outlet=3)).open(COMMUNITY)
    assert session.read() == {"outlet3_w": 65.5}
    assert session.channels["outlet3_w"].step == pytest.approx(0.1)
    session.close()


@needs_snmpd
def test_a_text_that_is_a_number_is_read_and_another_is_not(pdu: Pdu) -> None:
    pdu.say("1.3.6.1.4.1.534.1.0|4|12.5\n1.3.6.1.4.1.534.2.0|4|n/a\n")
    channels = {f"w{n}": {"oid": f".1.3.6.1.4.1.534.{n}.0", "scope": f"wall:{n}"} for n in (1, 2)}
    session = Snmp(config(pdu, channels=channels)).open(COMMUNITY)
    assert session.read() == {"w1": 12.5, "w2": None}
    assert session.reasons == {"w2": "1.3.6.1.4.1.534.2.0: is 'n/a', not a number"}
    session.close()


@needs_snmpd
def test_an_object_that_is_not_there_is_refused(pdu: Pdu) -> None:
    channels = {"w": {"oid": "1.3.6.1.4.1.534.9.0", "scope": "wall"}}
    for version in ("1", "2c"):
        with pytest.raises(InvalidInput, match=r"has no 1\.3\.6\.1\.4\.1\.534\.9\.0 \(w\); see snmpwalk"):
            Snmp(config(pdu, version=version, channels=channels)).open(COMMUNITY)


@needs_snmpd
@pytest.mark.parametrize(
    ("more", "password"),
    [
        ({"user": "monitor", "privacy_separator": "/"}, f"{AUTH}/{PRIVACY}"),
        ({"user": "single", "auth": "sha256"}, AUTH),
        ({"user": "plain", "privacy": "none"}, AUTH),
    ],
    ids=["two phrases", "one phrase for both", "without encryption"],
)
def test_version_3_reads_too(pdu: Pdu, more: dict[str, Any], password: str) -> None:
    pdu.say("1.3.6.1.4.1.318.1.1.12.1.16.0|2|1248\n")
    session = Snmp(config(pdu, version="3", profile="apc-rpdu", **more)).open(password)
    assert session.read() == {"pdu_w": 1248}
    session.close()


@needs_snmpd
def test_no_message_record_or_log_holds_a_community_or_passphrase(
    pdu: Pdu, caplog: pytest.LogCaptureFixture
) -> None:
    pdu.say("1.3.6.1.4.1.318.1.1.12.1.16.0|2|1248\n")
    canaries = ("canary-one-Zq", "canary-two-Zq", COMMUNITY)
    phrases = "/".join(canaries[:2])
    said = []
    with caplog.at_level(logging.DEBUG):
        session = Snmp(config(pdu, profile="apc-rpdu")).open(COMMUNITY)
        said += [repr(session), MeterRecord(0, 1, session.read(), session.reasons).line()]
        session.close()
        three = {"version": "3", "profile": "apc-rpdu", "privacy_separator": "/"}
        for user in ("monitor", "nobody"):
            with pytest.raises(HostError, match=r"check user, password, auth and privacy$") as caught:
                Snmp(config(pdu, user=user, **three)).open(phrases)
            said += traceback.format_exception(caught.value)
    assert [text for text in [*said, caplog.text] for canary in canaries if canary in text] == []


@needs_snmpd
def test_a_wrong_community_is_not_answered_and_says_so_in_time_and_a_later_open_works(
    pdu: Pdu, monkeypatch: pytest.MonkeyPatch
) -> None:
    pdu.say("1.3.6.1.4.1.318.1.1.12.1.16.0|2|1248\n")
    meter = Snmp(config(pdu, profile="apc-rpdu"))
    with monkeypatch.context() as quick:
        quick.setattr(snmp_agent, "WAIT_S", 0.3)  # so that it is over long before the limit of the call
        watch = Stopwatch()
        with pytest.raises(HostError, match=r"no answer within 0\.9 s; check address, port and community"):
            meter.open("wrong")
        assert watch.took_s <= CALL_LIMIT_S
    session = meter.open(COMMUNITY)
    assert session.read() == {"pdu_w": 1248}
    session.close()


def test_an_agent_that_hangs_while_it_is_read_costs_five_seconds_at_most() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        meter = Snmp(SnmpConfig(address="127.0.0.1", port=silent.getsockname()[1], profile="apc-rpdu"))
        watch = Stopwatch()
        with pytest.raises(HostError, match="no answer"):
            meter.open(None)
        assert watch.took_s <= CALL_LIMIT_S


def test_a_name_that_is_none_is_one_line() -> None:
    with pytest.raises(HostError, match=r"^snmp at no\.such\.host\.invalid:161: ") as caught:
        Snmp(SnmpConfig(address="no.such.host.invalid", profile="apc-rpdu")).open(None)
    assert "\n" not in str(caught.value)


def test_without_its_library_the_meter_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysnmp.hlapi.v3arch.asyncio", None)
    with pytest.raises(
        InvalidInput, match=r"pysnmp is not installed here; .*python\S* -m pip install '.*\[meters\]'"
    ):
        Snmp(SnmpConfig(address="127.0.0.1", profile="apc-rpdu")).open(None)


@pytest.mark.parametrize(
    ("phrases", "separator", "said"),
    [
        ("short", None, "has 8 characters or more"),
        ("long-enough-Zq/short", "/", "has 8 characters or more"),
        ("no-separator", "/", "the password has no '/' in it"),
    ],
)
def test_a_passphrase_that_cannot_be_is_refused_without_being_said(
    phrases: str, separator: str | None, said: str
) -> None:
    cfg = config(Pdu(161, Path()), version="3", user="u", profile="apc-rpdu", privacy_separator=separator)
    with pytest.raises(InvalidInput, match=said) as caught:
        Snmp(cfg).open(phrases)
    assert phrases not in str(caught.value)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("part", [{}, {"outlet": 3}, {"phase": 2}])
def test_every_profile_is_whole(profile: Any, part: dict[str, Any]) -> None:
    if not getattr(PROFILES[profile], next(iter(part), "pdu")):
        with pytest.raises(ValidationError, match=f"{profile} has no {next(iter(part))}s"):
            SnmpConfig(address="a", profile=profile, **part)
        return
    found = items(SnmpConfig(address="a", profile=profile, **part))
    assert found[0].channel.unit == "W"
    assert len({item.oid for item in found}) == len(found)
    for item in found:
        assert "{" not in item.oid
        assert item.channel.scope.startswith("wall:")
        if part.get("outlet"):
            assert item.channel.name.startswith("outlet3_")
            assert "3" in item.oid.split(".")[-3:]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs profile or channels"),
        ({"profile": "apc-rpdu", "channels": {"w": {"oid": "1.3", "scope": "wall"}}}, "profile or channels"),
        ({"profile": "apc"}, "apc-rpdu2"),
        ({"profile": "apc-rpdu2", "outlet": 1, "phase": 1}, "name one of them"),
        ({"outlet": 1, "channels": {"w": {"oid": "1.3", "scope": "wall"}}}, "without a profile"),
        ({"channels": {"w": {"oid": "sysDescr.0", "scope": "wall"}}}, "pattern"),
        ({"channels": {"w": {"oid": "1.3", "scope": "watts"}}}, "pattern"),
        ({"channels": {"w": {"oid": "1.3", "scope": "wall", "scale": 0}}}, "greater than 0"),
        ({"profile": "apc-rpdu", "user": "u"}, "only version 3"),
        ({"profile": "apc-rpdu", "version": "3"}, "version 3 needs user"),
        ({"profile": "apc-rpdu", "version": "3", "user": "u", "auth": "none"}, "cannot encrypt"),
        ({"profile": "apc-rpdu", "community": "public"}, "Extra inputs"),
    ],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SnmpConfig(address="192.0.2.1", **given)
