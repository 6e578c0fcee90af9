# SPDX-License-Identifier: Apache-2.0
"""ipmi: how a BMC's records are read and its sensors asked, with a BMC in memory (real ones: tests/lab)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from linewatt.errors import HostError, InvalidInput
from linewatt.sensors.power.ipmi import link as ipmi_link
from linewatt.sensors.power.ipmi.lan import Ipmi, IpmiConfig, IpmiSession, Records

CAPTURE = Path(__file__).parents[2] / "captures" / "ipmi" / "openipmi-2.0.33-formats"
RECORDS = [bytes.fromhex(line) for line in (CAPTURE / "records").read_text().split()]
READINGS = {
    int(number, 16): bytes.fromhex(said)
    for number, said in (line.split(":", 1) for line in (CAPTURE / "readings").read_text().splitlines())
    if "rsp=" not in said
}
WHO: dict[str, Any] = {"user": "watch", "password_env": "BMC"}
CFG = IpmiConfig(address="bmc1", **WHO)
DEVICE = bytes.fromhex("2081020002bf574301000f0000000000")
DCMI = bytes.fromhex("dc f000 c800 2c01 e600 00000000 e8030000 40")


@dataclass
class Bmc:
    """A BMC that returns ``most`` bytes of a record at once; others reserve every ``rivals`` requests."""

    records: Sequence[bytes] = tuple(RECORDS)
    readings: dict[int, bytes] = field(default_factory=lambda: dict(READINGS))
    most: int = 255
    rivals: int = 0
    dcmi: bytes | None = None
    device: bytes = DEVICE
    stamp: bytes = b"\1\2\3\4\0\0\0\0"
    time_s: float = 1e9
    where: str = "bmc1:623"
    asked: list[tuple[int, int]] = field(default_factory=list)
    closed: bool = False
    reservation: int = 1

    @property
    def left_s(self) -> float:
        return self.time_s

    def limit(self, seconds: float) -> None:
        self.time_s = seconds

    def close(self) -> None:
        self.closed = True

    def request(self, netfn: int, command: int, data: Sequence[int] = (), lun: int = 0) -> tuple[int, bytes]:
        self.asked.append((netfn, command))
        self.time_s -= 0.05
        if self.rivals and len(self.asked) % self.rivals == 0:
            self.reservation += 1
        answer: Callable[[Sequence[int]], tuple[int, bytes]] = {
            (0x06, 0x01): lambda _: (0, self.device),
            (0x0A, 0x20): lambda _: (0, b"\x51\x0e\0\xff\xff" + self.stamp + b"\2"),
            (0x04, 0x20): lambda _: (0, b"\x0e\1"),
            (0x0A, 0x22): self._reserve,
            (0x04, 0x22): self._reserve,
            (0x0A, 0x23): self._record,
            (0x04, 0x21): self._record,
            (0x04, 0x2D): lambda data: (
                (0, self.readings[data[0]]) if data[0] in self.readings else (0xCB, b"")
            ),
            (0x2C, 0x02): lambda _: (0xC1, b"") if self.dcmi is None else (0, self.dcmi),
        }[netfn, command]
        return answer(data)

    def _reserve(self, data: Sequence[int]) -> tuple[int, bytes]:
        self.reservation += 1
        return 0, self.reservation.to_bytes(2, "little")

    def _record(self, data: Sequence[int]) -> tuple[int, bytes]:
        number, offset, size = data[2] | data[3] << 8, data[4], data[5]
        if offset and data[0] | data[1] << 8 != self.reservation:
            return 0xC5, b""
        record = self.records[number][offset : offset + size]
        if len(record) > self.most or (size != 0xFF and size > self.most):
            return 0xCA, b""
        following = number + 1 if number + 1 < len(self.records) else 0xFFFF
        return 0, following.to_bytes(2, "little") + record


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., IpmiSession]:
    """``opened(bmc, **settings)``: a session of the driver with it."""

    def open_it(bmc: Bmc, meter: Ipmi | None = None, **settings: object) -> IpmiSession:
        monkeypatch.setattr(ipmi_link, "connect", lambda *_: bmc)
        return (meter or Ipmi(CFG.model_copy(update=settings))).open("secret")

    return open_it


@pytest.mark.parametrize("most", [255, 64, 32, 20, 8])
def test_records_are_read_whole_or_in_parts(most: int) -> None:
    whole = Records().read(Bmc())
    assert Records().read(Bmc(most=most)) == whole
    assert len(whole) == len(RECORDS)


def test_a_reservation_that_others_take_is_taken_again() -> None:
    bmc = Bmc(most=32, rivals=7)
    assert len(Records().read(bmc)) == len(RECORDS)
    assert bmc.asked.count((0x0A, 0x22)) > 2


def test_a_bmc_that_refuses_small_parts_too_is_told_of() -> None:
    with pytest.raises(
        HostError, match=r"bmc1:623: sensor record 0 cannot be read: it cannot return so many"
    ):
        Records().read(Bmc(most=7))


def test_records_of_a_device_without_a_repository_are_read_from_the_device() -> None:
    device = bytearray(DEVICE)
    device[1], device[5] = 0x81, 0x01
    bmc = Bmc(device=bytes(device))
    assert len(Records().read(bmc)) == len(RECORDS)
    assert {netfn for netfn, _ in bmc.asked} == {0x04, 0x06}


def test_records_that_take_too_long_are_read_on_at_the_next_try() -> None:
    records = Records()
    bmc = Bmc(most=32, time_s=1.0)
    with pytest.raises(HostError, match=r"only \d+ sensor records could be read .* the next try goes on"):
        records.read(bmc)
    bmc.time_s = 1e9
    in_one_go = Bmc(most=32)
    assert records.read(bmc) == Records().read(in_one_go)
    assert bmc.asked.count((0x0A, 0x23)) == in_one_go.asked.count((0x0A, 0x23))
    asked = len(bmc.asked)
    records.read(bmc)
    assert bmc.asked[asked:] == [
        (0x06, 0x01),
        (0x0A, 0x20),
    ]  # who it is, and whether its records are the same


def test_other_records_are_read_anew() -> None:
    records = Records()
    records.read(Bmc())
    assert len(records.read(Bmc(records=RECORDS[:3], stamp=b"\x09\2\3\4\0\0\0\0"))) == 3


@pytest.mark.parametrize("circle", [[0, 0], [0, 1, 2, 1], [0, 1, 0]], ids=str)
def test_records_that_go_in_a_circle_end_the_reading_and_are_begun_anew(circle: list[int]) -> None:
    class Stuck(Bmc):
        is_mended = False

        def _record(self, data: Sequence[int]) -> tuple[int, bytes]:
            if self.is_mended:
                return super()._record(data)
            number = data[2] | data[3] << 8
            return 0, circle[circle.index(number) + 1].to_bytes(2, "little") + RECORDS[number]

    bmc, records = Stuck(time_s=30.0), Records()
    with pytest.raises(HostError, match=f"go in a circle: {circle[-1]} follows {circle[-2]}"):
        records.read(bmc)
    bmc.is_mended = True
    bmc.limit(30.0)
    assert records.read(bmc) == Records().read(Bmc())


def test_every_channel_is_one_request(opened: Callable[..., IpmiSession]) -> None:
    bmc = Bmc()
    session = opened(bmc)
    bmc.asked.clear()
    assert session.read(["PSU1 Power In", "FAN1"]) == {"PSU1 Power In": 240, "FAN1": 6200}
    assert bmc.asked == [(0x04, 0x2D)] * 2
    assert session.read() == {name: session.read([name])[name] for name in session.channels}


def test_an_empty_slot_is_left_out_by_default_and_kept_when_named(opened: Callable[..., IpmiSession]) -> None:
    """PSU2 is not scanned or not there; the power of the system is a sum over the supplies that are."""
    assert not any(name.startswith("PSU2") for name in opened(Bmc()).channels)
    session = opened(Bmc(), sensors=("PSU*",))
    values = session.read()
    assert [values["PSU2 Power In"], values["PSU2 Power Out"]] == [None, None]
    assert session.reasons["PSU2 Power In"] == "the BMC does not scan this sensor now"
    assert (
        session.reasons["PSU2 Power Out"]
        == "the BMC says: there is no such sensor or record (completion code 0xcb)"
    )


def test_a_slot_that_says_ffh_is_empty_and_one_that_does_so_later_has_no_reading(
    opened: Callable[..., IpmiSession],
) -> None:
    bmc = Bmc()
    assert bmc.readings[0x02] == bytes([0xFF, 0xC0, 0, 0])
    session = opened(bmc)
    assert "PSU1 Power Out" not in session.channels
    bmc.readings[0x01] = bytes([0xFF, 0xC0, 0, 0])
    assert session.read(["PSU1 Power In"]) == {"PSU1 Power In": None}
    assert session.reasons["PSU1 Power In"].startswith("the BMC returned FFh")


def test_a_sensor_that_goes_away_later_stays_wanted(opened: Callable[..., IpmiSession]) -> None:
    meter = Ipmi(CFG)
    before = opened(Bmc(), meter).channels
    bmc = Bmc()
    del bmc.readings[0x01]
    session = opened(bmc, meter)
    assert session.channels == before
    assert session.read()["PSU1 Power In"] is None


def test_a_reading_that_comes_back_has_no_reason_any_more(opened: Callable[..., IpmiSession]) -> None:
    bmc = Bmc()
    session = opened(bmc)
    good = bmc.readings[0x01]
    bmc.readings[0x01] = bytes([60, 0xE0])
    assert session.read()["PSU1 Power In"] is None
    assert "no reading" in session.reasons["PSU1 Power In"]
    bmc.readings[0x01] = good
    assert session.read()["PSU1 Power In"] == 240
    assert session.reasons == {}


def test_dcmi_is_read_where_it_is_there(opened: Callable[..., IpmiSession]) -> None:
    session = opened(Bmc(dcmi=DCMI))
    channel = session.channels["dcmi"]
    assert (channel.scope, channel.step, session.read()["dcmi"]) == ("system:DCMI", 1.0, 240.0)
    assert "Sys Power" not in session.channels
    assert "dcmi" not in opened(Bmc()).channels
    assert "dcmi" not in opened(Bmc(dcmi=DCMI), dcmi=False).channels


def test_dcmi_that_must_be_there_and_is_not_is_refused(opened: Callable[..., IpmiSession]) -> None:
    bmc = Bmc()
    with pytest.raises(InvalidInput, match=r"no DCMI power here .*it does not know this command"):
        opened(bmc, dcmi=True)
    assert bmc.closed


def test_a_bmc_with_nothing_of_power_says_what_it_has(opened: Callable[..., IpmiSession]) -> None:
    bmc = Bmc(records=[RECORDS[5], RECORDS[7]])
    with pytest.raises(InvalidInput, match="there is no DCMI; name some under sensors: there are 12V"):
        opened(bmc)
    assert bmc.closed


def test_a_bmc_of_which_only_fans_are_usable_says_so_in_one_line(opened: Callable[..., IpmiSession]) -> None:
    fans = [RECORDS[4], RECORDS[6]]
    with pytest.raises(InvalidInput) as caught:
        opened(Bmc(records=fans))
    assert str(caught.value) == (
        "bmc1:623: only fans are usable: the name of no sensor says that it measures power, and there is no "
        "DCMI; name some under sensors: there are FAN1, Fan 2"
    )
    assert list(opened(Bmc(records=fans), sensors=("FAN*",)).channels) == ["FAN1"], "who names fans gets them"
    assert "dcmi" in opened(Bmc(records=fans, dcmi=DCMI)).channels


def test_what_the_settings_say_of_accuracy_and_simulation_is_in_the_channels(
    opened: Callable[..., IpmiSession],
) -> None:
    session = opened(Bmc(dcmi=DCMI), simulated=True, tolerance_percent=5)
    assert {channel.provenance for channel in session.channels.values()} == {"simulated"}
    assert {channel.tolerance_ratio for channel in session.channels.values()} == {0.05}
    assert {channel.provenance for channel in opened(Bmc()).channels.values()} == {"measured"}


@pytest.mark.parametrize(
    "settings",
    [
        {"cipher_suite": 8},
        {"cipher_suite": "17"},
        {"privilege": "root"},
        {"sensors": []},
        {"sensors": "PSU1"},
        {"user": "a" * 17},
        {"port": 0},
        {"dcmi": "yes"},
        {"password": "canary"},
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IpmiConfig.model_validate({"address": "bmc1", "user": "watch", "password_env": "BMC", **settings})


def test_settings_may_name_sensors_in_a_list() -> None:
    cfg = IpmiConfig.model_validate(
        {"address": "bmc1", "user": "watch", "password_env": "BMC", "sensors": ["PSU*", "94h"], "dcmi": True}
    )
    assert cfg.sensors == ("PSU*", "94h")
    assert IpmiConfig.model_validate_json(cfg.model_dump_json(exclude_unset=True)) == cfg
