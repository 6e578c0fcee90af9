# SPDX-License-Identifier: Apache-2.0
"""Redfish against a real HTTP(S) server that says what iDRAC, iLO, Supermicro and DMTF's mockup said."""

from __future__ import annotations

import copy
import logging
import socket
import time
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.amounts import inputs
from tests.certificates import Certificate, self_signed
from tests.clock import Stopwatch
from tests.http_server import send
from tests.redfish_server import RedfishServer, capture, redfish, refuse

from linewatt.errors import HostError, InvalidInput, LinewattError
from linewatt.missing import Missing
from linewatt.sensors.power.base import CALL_LIMIT_S, MeterRecord
from linewatt.sensors.power.redfish.meter import Redfish, RedfishConfig
from linewatt.sensors.power.redfish.readings import Enclosure, sources

CAPTURES = Path(__file__).parents[2] / "captures" / "redfish"
CASES = sorted(path.parent.name for path in CAPTURES.glob("*/expected.json"))
ILO = "ilo5-dl360"
POWER = "/redfish/v1/Chassis/1/Power"
PASSWORD = "correct horse"  # noqa: S105  the test server's


def config(server: RedfishServer | str, **more: Any) -> RedfishConfig:
    url = server if isinstance(server, str) else server.url
    return RedfishConfig(**{"url": url, "user": "admin", "password_env": "BMC_PASSWORD", **more})


@pytest.fixture
def ilo() -> Iterator[RedfishServer]:
    with redfish(capture(CAPTURES / ILO)) as server:
        yield server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return self_signed(tmp_path_factory.mktemp("tls"))


def test_every_channel_says_that_redfish_told_it(ilo: RedfishServer) -> None:
    session = Redfish(config(ilo)).open(PASSWORD)
    session.close()
    assert session.channels
    assert all(one.method.startswith("Redfish ") for one in session.channels.values())


def test_a_session_is_made_once_used_and_given_back(ilo: RedfishServer) -> None:
    session = Redfish(config(ilo)).open(PASSWORD)
    asked = len(ilo.asked)
    for _ in range(3):
        session.read()
    assert ilo.asked[asked:] == [f"GET {POWER}"] * 3, "one request a sweep: all readings are in one resource"
    assert (ilo.logins, ilo.logouts, len(ilo.tokens)) == (1, 0, 1)
    session.close()
    assert (ilo.logouts, ilo.tokens) == (1, {})


def test_only_the_resources_of_the_channels_asked_for_are_read() -> None:
    with redfish(capture(CAPTURES / "dsp2043-rackmount")) as server:
        session = Redfish(config(server)).open(PASSWORD)
        asked = len(server.asked)
        assert session.read(["system_w"]) == {"system_w": 374}
        assert server.asked[asked:] == ["GET /redfish/v1/Chassis/1U/EnvironmentMetrics"]
        session.close()


def test_a_service_without_sessions_is_asked_with_basic_authentication(ilo: RedfishServer) -> None:
    ilo.offers_sessions = False
    session = Redfish(config(ilo)).open(PASSWORD)
    assert session.read(["system_w"]) == {"system_w": 150}
    session.close()
    assert ilo.logins == 0


def test_a_service_without_login_needs_no_user(ilo: RedfishServer) -> None:
    ilo.needs_login = False
    session = Redfish(RedfishConfig(url=ilo.url)).open(None)
    assert session.read(["system_w"]) == {"system_w": 150}
    session.close()
    assert ilo.logins == 0


def test_a_wrong_password_is_one_line_and_a_later_open_works(ilo: RedfishServer) -> None:
    meter = Redfish(config(ilo))
    with pytest.raises(HostError, match=r"refuses user admin \(401\); check user and password$"):
        meter.open("wrong")
    session = meter.open(PASSWORD)
    assert session.read(["cpu_w"]) == {"cpu_w": 60}
    session.close()


def test_a_session_that_the_service_ended_is_an_error_and_a_later_open_works(ilo: RedfishServer) -> None:
    meter = Redfish(config(ilo))
    session = meter.open(PASSWORD)
    ilo.tokens.clear()
    with pytest.raises(HostError, match="has ended the session"):
        session.read()
    session.close()
    again = meter.open(PASSWORD)
    assert again.read(["system_w"]) == {"system_w": 150}
    again.close()


CHASSIS = {"@odata.id": "/redfish/v1/Chassis/1", "Id": "1"}


def power_of(consumed_w: Any, *supplies: dict[str, Any]) -> dict[str, Any]:
    """A Power resource of an enclosure that draws so much, with these supplies."""
    control = {"MemberId": "0", "PowerConsumedWatts": consumed_w}
    numbered = [{"MemberId": str(at), **one} for at, one in enumerate(supplies)]
    return {"@odata.id": POWER, "PowerControl": [control], "PowerSupplies": numbered}


def service_of(power: dict[str, Any] | None) -> dict[str, Any]:
    """A service with one system, its enclosure and that one's Power resource."""
    chassis: dict[str, Any] = {**CHASSIS}
    if power is not None:
        chassis["Power"] = {"@odata.id": POWER}
    system = {
        "@odata.id": "/redfish/v1/Systems/1",
        "Links": {"Chassis": [{"@odata.id": CHASSIS["@odata.id"]}]},
    }
    pages = {} if power is None else {POWER: {"@odata.id": POWER, **power}}
    return {system["@odata.id"]: system, CHASSIS["@odata.id"]: chassis, **pages}  # type: ignore[dict-item]


def test_a_session_of_an_open_that_failed_is_given_back() -> None:
    with redfish(capture(CAPTURES / "supermicro-x10-without-meter")) as server:
        with pytest.raises(InvalidInput, match="this server has no power meter"):
            Redfish(config(server)).open(PASSWORD)
        assert (server.logins, server.logouts) == (1, 1)


@pytest.mark.parametrize(
    "power",
    [
        power_of(0, {"Name": "HpServerPowerSupply", "LastPowerOutputWatts": 0}),  # iLO 4 of a DL320e
        power_of(0, {"PowerInputWatts": 0.0, "PowerOutputWatts": 0}, {"PowerInputWatts": 0}),
        power_of("0", {"LastPowerOutputWatts": "0"}),
        power_of(None, {"LastPowerOutputWatts": None}),
        {"@odata.id": POWER, "PowerControl": []},
        {
            "@odata.id": POWER,
            "Oem": {"ts_fujitsu": {"ChassisPowerConsumption": {"CurrentPowerConsumptionW": 0}}},
        },
        None,
    ],
)
def test_a_server_without_a_meter_is_refused(power: dict[str, Any] | None) -> None:
    with redfish(service_of(power)) as server, pytest.raises(InvalidInput) as caught:
        Redfish(config(server)).open(PASSWORD)
    assert "this server has no power meter: no re" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_service_that_is_busy_is_not_a_server_without_a_meter(ilo: RedfishServer) -> None:
    def busy(handler: BaseHTTPRequestHandler) -> bool:
        if handler.path != POWER:
            return False
        refuse(handler, 503, "The service is busy.")
        return True

    ilo.override = busy
    with pytest.raises(HostError, match=f"no reading of power: {POWER}: status 503"):
        Redfish(config(ilo)).open(PASSWORD)


def test_an_object_in_place_of_a_list_and_numbers_as_text_are_read() -> None:
    """Cisco's CIMC."""
    power = {
        "PowerControl": {"PhysicalContext": "PowerSupply", "PowerConsumedWatts": "210"},
        "PowerSupplies": [
            {"Name": "PSU1", "MemberID": 1, "Status": {"state": "Enabled"}, "LastPowerOutputWatts": "99.5"},
            {"Name": "PSU2", "MemberID": 2, "Status": {"state": "Absent"}, "LastPowerOutputWatts": "N/A"},
        ],
    }
    with redfish(service_of(power)) as server:
        session = Redfish(config(server)).open(PASSWORD)
        assert session.read() == {"system_w": 210, "PSU1_out_w": 99.5}
        assert session.channels["PSU1_out_w"].scope == "psu-out:PSU1"
        assert session.channels["system_w"].step == 1
        session.close()


@pytest.mark.parametrize("supplies", [list, lambda both: {"A": both[0], "B": both[1]}])
@pytest.mark.parametrize("maker", ["Huawei", "xFusion"])
def test_supplies_that_their_makers_part_tells_of_are_read(maker: str, supplies: Any) -> None:
    both = [
        {"MemberId": str(at), "Oem": {maker: {"PowerInputWatts": in_w, "PowerOutputWatts": out_w}}}
        for at, (in_w, out_w) in enumerate([(150, 137), (148, 135)])
    ]
    with redfish(service_of({"PowerSupplies": supplies(both)})) as server:
        session = Redfish(config(server)).open(PASSWORD)
        assert session.read() == {"PSU1_in_w": 150, "PSU2_in_w": 148, "PSU1_out_w": 137, "PSU2_out_w": 135}
        assert [one.scope for one in session.channels.values()] == [
            "psu-in:PSU1",
            "psu-in:PSU2",
            "psu-out:PSU1",
            "psu-out:PSU2",
        ]
        session.close()


def test_an_irmc_is_read() -> None:
    sensors = [
        {"Designation": "PSU1 Power", "EntityId": "Power Supply", "CurrentPowerConsumptionW": 90},
        {"Designation": "CPU1 Power", "EntityId": "Processor", "CurrentPowerConsumptionW": 41},
        {"Designation": "CPU2 Power", "EntityId": "Processor", "CurrentPowerConsumptionW": 39},
        {"Designation": "FAN1 PSU1", "EntityId": "Fan", "CurrentPowerConsumptionW": 7},
    ]
    own = {"ChassisPowerConsumption": {"CurrentPowerConsumptionW": 171}, "ChassisPowerSensors": sensors}
    with redfish(service_of({"Oem": {"ts_fujitsu": own}})) as server:
        session = Redfish(config(server)).open(PASSWORD)
        scopes = {name: one.scope for name, one in session.channels.items()}
        assert session.read() == {
            "system_w": 171,
            "PSU1_Power_w": 90,
            "CPU1_Power_w": 41,
            "CPU2_Power_w": 39,
            "FAN1_PSU1_w": 7,
        }
        assert scopes == {
            "system_w": "system:1",
            "PSU1_Power_w": "other:PSU1_Power",
            "CPU1_Power_w": "cpu:CPU1_Power",
            "CPU2_Power_w": "cpu:CPU2_Power",
            "FAN1_PSU1_w": "fan:FAN1_PSU1",
        }
        session.close()


def test_two_systems_behind_one_service_have_to_be_chosen() -> None:
    with redfish(capture(CAPTURES / "supermicro-gb-nvl-two-systems")) as server:
        with pytest.raises(InvalidInput) as caught:
            Redfish(config(server)).open(PASSWORD)
        session = Redfish(config(server, chassis="Chassis_0")).open(PASSWORD)
        assert list(session.channels) == ["system_w"]
        session.close()
    assert "serves 2 systems" in str(caught.value)
    assert "Chassis_0 (of System_0), HGX_Chassis_0 (of HGX_Baseboard_0)" in str(caught.value)


def test_a_chassis_that_is_not_there_is_refused_with_what_there_is(ilo: RedfishServer) -> None:
    with pytest.raises(InvalidInput, match="no chassis 'Blade7'; it has 1, DE00A000"):
        Redfish(config(ilo, chassis="Blade7")).open(PASSWORD)


def test_totals_of_energy_come_first_and_the_finer_one_of_two() -> None:
    resources = capture(CAPTURES / "dsp2043-rackmount")
    own = resources["/redfish/v1/Chassis/1U/EnvironmentMetrics"]
    own["EnergykWh"] = {"Reading": 2}
    with redfish(resources) as server:
        session = Redfish(config(server)).open(PASSWORD)
        assert session.channels["system_j"].kind == "counter"
        assert session.read(["system_j"]) == {"system_j": 7.2e6}
        assert list(session.channels)[-1] == "system_j", "whole kWh miss a trial, so watts count before them"
        session.close()
        own["EnergyJoules"] = {"Reading": 7_200_123.5}
        session = Redfish(config(server)).open(PASSWORD)
        assert session.read(["system_j"]) == {"system_j": 7_200_123.5}
        assert next(iter(session.channels)) == "system_j"
        session.close()


@pytest.mark.parametrize(
    ("kwh", "step_j"),
    [(2, 3.6e6), (1433.8, 3.6e5), (1433.89, 3.6e4), (1433.891, 3.6e3), (27.381609290516394, None)],
)
def test_kwh_of_few_decimals_have_a_step_and_come_behind_watts(kwh: float, step_j: float | None) -> None:
    """300 W are 0.01 kWh in 2 minutes: a window of one shows 600 W, or none."""
    own = {
        "@odata.id": "/redfish/v1/Chassis/1/EnvironmentMetrics",
        "EnergykWh": {"Reading": kwh},
        "PowerWatts": {"Reading": 300},
    }
    found = sources(Enclosure({"@odata.id": "/redfish/v1/Chassis/1"}, environment=own))
    total = next(one.channel for one in found if one.channel.unit == "J")
    assert total.step == (step_j and pytest.approx(step_j))
    assert found[0].channel.unit == ("J" if step_j is None else "W")


def by_another_maker(power: dict[str, Any]) -> None:
    """The same resource without what says that HPE made it."""
    for one in (power, *power["PowerSupplies"]):
        one.pop("Oem", None)
        one["Name"] = "Power supply"


def test_a_supply_without_a_reading_stays_so_that_no_sum_is_made_without_it(ilo: RedfishServer) -> None:
    by_another_maker(ilo.resources[POWER])
    second = ilo.resources[POWER]["PowerSupplies"][1]
    second["LastPowerOutputWatts"] = None
    session = Redfish(config(ilo)).open(PASSWORD)
    values = session.read(["PSU1_out_w", "PSU2_out_w"])
    assert values == {"PSU1_out_w": 75, "PSU2_out_w": None}
    assert session.channels["PSU2_out_w"].scope == "psu-out:PSU2"
    assert session.reasons == {"PSU2_out_w": f"{POWER}: no reading of PowerSupplies[1].LastPowerOutputWatts"}
    session.close()


@pytest.mark.parametrize("linked", [True, False])
def test_a_supply_without_metrics_stays_so_that_no_sum_is_made_without_it(linked: bool) -> None:
    """A BMC that starts may have a supply before its metrics."""
    bay = "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/Bay2"
    with redfish(capture(CAPTURES / "dsp2043-rackmount")) as server:
        server.resources[bay]["Status"] = {"State": "Enabled"}
        server.resources[f"{bay.removesuffix('2')}1/Metrics"]["InputPowerWatts"]["Reading"] = 390.5
        if linked:
            server.resources[bay]["Metrics"] = {"@odata.id": f"{bay}/Metrics"}
        session = Redfish(config(server)).open(PASSWORD)
        assert session.read(["Bay1_in_w", "Bay2_in_w"]) == {"Bay1_in_w": 390.5, "Bay2_in_w": None}
        assert bay in session.reasons["Bay2_in_w"]
        session.close()


def scopes_of(power: dict[str, Any]) -> dict[str, str]:
    """Channel and scope of what is read of it."""
    return {one.channel.name: one.channel.scope for one in sources(Enclosure(CHASSIS, power=power))}


@pytest.mark.parametrize("key", ["PowerInputWatts", "PowerOutputWatts", "LastPowerOutputWatts"])
@pytest.mark.parametrize(("consumed_w", "each_w"), [(894, 894), (894, 893.6), (880, 894), (60, 60)])
def test_supplies_that_each_repeat_the_total_are_in_no_sum(
    key: str, consumed_w: float, each_w: float
) -> None:
    """HPE XL675d: four supplies of 894 W each, of a chassis that draws 894 W. Their sum is 3,576 W."""
    power = power_of(consumed_w, *[{"Name": "Supply", key: each_w}] * 4)
    assert scopes_of(power) == {"system_w": "system:1"} | {f"PSU{n}_w": f"other:PSU{n}" for n in range(1, 5)}


def test_metrics_of_supplies_that_each_repeat_the_total_are_in_no_sum() -> None:
    """The same of PowerSubsystem, in place of Power."""
    bays = [
        (
            {"@odata.id": f"/bays/{n}", "Id": f"Bay{n}"},
            {"@odata.id": f"/bays/{n}/M", "InputPowerWatts": {"Reading": 501}},
        )
        for n in (1, 2)
    ]
    environment = {"@odata.id": "/environment", "PowerWatts": {"Reading": 500}}
    found = sources(Enclosure(CHASSIS, environment=environment, supplies=bays))
    assert [one.channel.scope for one in found] == ["system:1", "other:Bay1", "other:Bay2"]


def test_supplies_that_share_the_load_are_added_up() -> None:
    power = power_of(
        300,
        {"PowerInputWatts": 152, "PowerOutputWatts": 140},
        {"PowerInputWatts": 150, "PowerOutputWatts": 138},
    )
    assert list(scopes_of(power).values()) == [
        "system:1",
        "psu-in:PSU1",
        "psu-in:PSU2",
        "psu-out:PSU1",
        "psu-out:PSU2",
    ]


@pytest.mark.parametrize(
    ("rating", "input_w"),
    [
        ({"InputRanges": [{"InputType": "AC", "OutputWattage": 750}]}, 900),
        ({"InputRanges": [{"CapacityWatts": 495}]}, 598),
        ({"PowerCapacityWatts": 2000}, 2235),
        ({"PowerCapacityWatts": "2000"}, "2235"),
        ({"PowerCapacityWatts": 750}, 750),
        ({"Oem": {"Dell": {"DellPowerSupplyView": {"Range1MaxInputPowerWatts": 900}}}}, 900),
        ({"Oem": {"Maker": {"RatedInputWatts": 900}}}, 900),
        ({}, 900),  # far more than what the system consumes
    ],
)
@pytest.mark.parametrize("consumed_w", [135, 600])
def test_a_rating_is_no_input(rating: dict[str, Any], input_w: Any, consumed_w: int) -> None:
    """iDRAC7 of an R720: 900 W into each of two supplies of 750 W, while the system draws 135 W."""
    supply = {"LastPowerOutputWatts": None, "PowerInputWatts": input_w, **rating}
    scopes = scopes_of(power_of(consumed_w, supply, supply))
    assert [scope for scope in scopes.values() if scope.startswith("psu-")] == []
    assert scopes["system_w"] == "system:1"


@pytest.mark.parametrize("key", ["PowerOutputWatts", "LastPowerOutputWatts"])
def test_a_rating_is_no_output(key: str) -> None:
    scopes = scopes_of(power_of(900, {key: 800, "PowerCapacityWatts": 800}))
    assert scopes == {"system_w": "system:1"}


def test_metrics_that_are_a_rating_are_no_reading() -> None:
    supply = {"@odata.id": "/bays/1", "Id": "Bay1", "InputRanges": [{"CapacityWatts": 400}]}
    own = {
        "@odata.id": "/bays/1/M",
        "InputPowerWatts": {"Reading": 480},
        "OutputPowerWatts": {"Reading": 210},
    }
    found = sources(Enclosure(CHASSIS, supplies=[(supply, own)]))
    assert [one.channel.scope for one in found] == ["psu-out:Bay1"]


def test_a_supply_near_its_full_output_is_a_reading() -> None:
    """740 W of 750 W take in 800 W."""
    supply = {"PowerInputWatts": 800, "PowerOutputWatts": 740, "PowerCapacityWatts": 750}
    assert list(scopes_of(power_of(800, supply)).values()) == ["system:1", "psu-in:PSU1", "psu-out:PSU1"]


@pytest.mark.parametrize("name", ["HpeServerPowerSupply", "HpServerPowerSupply"])
@pytest.mark.parametrize(
    ("consumed_w", "supplies_w"),
    [(97, (51, 46)), (150, (75, 75)), (97, (80, 70)), (300, (51, 46)), (21, (20, 0)), (500, (190, 200))],
)
def test_an_ilo_has_the_same_scopes_at_any_load(
    name: str, consumed_w: int, supplies_w: tuple[int, int]
) -> None:
    """Its supplies add up to the total, but two readings may be of different moments."""
    supplies = [{"Name": name, "LastPowerOutputWatts": watts} for watts in supplies_w]
    assert scopes_of(power_of(consumed_w, *supplies)) == {
        "system_w": "system:1",
        "PSU1_w": "other:PSU1",
        "PSU2_w": "other:PSU2",
    }


@pytest.mark.parametrize(
    ("consumed_w", "supplies_w"), [(97, (51, 46)), (40, (20, 20)), (402, (200, 200)), (1010, (500, 500))]
)
def test_outputs_without_any_loss_are_other_at_any_load(consumed_w: int, supplies_w: tuple[int, int]) -> None:
    """Whoever made them; no supply loses less than 2 %."""
    power = power_of(consumed_w, *[{"Name": "S", "LastPowerOutputWatts": watts} for watts in supplies_w])
    assert list(scopes_of(power).values()) == ["system:1", "other:PSU1", "other:PSU2"]


def test_an_empty_bay_is_no_channel(ilo: RedfishServer) -> None:
    ilo.resources[POWER]["PowerSupplies"][1]["Status"] = {"State": "Absent"}
    session = Redfish(config(ilo)).open(PASSWORD)
    assert [name for name in session.channels if name.startswith("PSU")] == ["PSU1_w"]
    session.close()


def test_supplies_are_told_apart_when_the_list_is_shorter_than_it_was(ilo: RedfishServer) -> None:
    by_another_maker(ilo.resources[POWER])
    ilo.resources[POWER]["PowerSupplies"][0]["LastPowerOutputWatts"] = 10  # not their sum any more
    session = Redfish(config(ilo)).open(PASSWORD)
    del ilo.resources[POWER]["PowerSupplies"][0]
    assert session.read(["PSU1_out_w", "PSU2_out_w"]) == {"PSU1_out_w": None, "PSU2_out_w": 75}
    session.close()


@pytest.mark.parametrize("value", [None, "150 W", "N/A", "", "1e2", True, 0, "0", [], {}])
def test_what_is_no_reading_any_more_is_none_with_a_reason(ilo: RedfishServer, value: Any) -> None:
    session = Redfish(config(ilo)).open(PASSWORD)
    ilo.resources[POWER]["PowerControl"][0]["PowerConsumedWatts"] = value
    assert session.read() == {"system_w": None, "PSU1_w": 75, "PSU2_w": 75, "cpu_w": 60, "memory_w": 8}
    assert list(session.reasons) == ["system_w"]
    assert "PowerConsumedWatts" in session.reasons["system_w"]
    session.close()


def test_a_resource_that_fails_is_none_with_a_reason_and_comes_back(ilo: RedfishServer) -> None:
    session = Redfish(config(ilo)).open(PASSWORD)

    def busy(handler: BaseHTTPRequestHandler) -> bool:
        refuse(handler, 503, "The service is busy.")
        return True

    ilo.override = busy
    assert set(session.read().values()) == {None}
    assert session.reasons["system_w"] == f"{POWER}: status 503"
    ilo.override = None
    assert session.read(["system_w"]) == {"system_w": 150}
    assert session.reasons == {}
    session.close()


def test_readings_are_marked_as_configured(ilo: RedfishServer) -> None:
    session = Redfish(config(ilo, simulated=True, tolerance_percent=5)).open(PASSWORD)
    assert {one.provenance for one in session.channels.values()} == {"simulated"}
    assert {one.tolerance_ratio for one in session.channels.values()} == {0.05}
    assert session.channels["system_w"].step == 1, "whole watts"
    session.close()


# --- Services that fail ---------------------------------------------------------------------------------


def test_json_that_breaks_off_is_an_error_that_says_where(ilo: RedfishServer) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> bool:
        if not handler.path.startswith(POWER):
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", "4000")
        handler.end_headers()
        handler.wfile.write(b'{"PowerControl": [')
        handler.close_connection = True
        return True

    ilo.override = cut
    with pytest.raises(HostError, match=f"^redfish at {ilo.url}: peer closed connection"):
        Redfish(config(ilo)).open(PASSWORD)
    assert ilo.logouts == 1


def test_a_page_that_is_no_json_is_an_error_that_says_where(ilo: RedfishServer) -> None:
    def page(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "6")
        handler.end_headers()
        handler.wfile.write(b"<html>")
        return True

    ilo.override = page
    with pytest.raises(HostError, match="/redfish/v1/: is no JSON"):
        Redfish(config(ilo)).open(PASSWORD)


def test_a_service_that_accepts_and_never_answers_costs_five_seconds_at_most() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        meter = Redfish(config(f"http://127.0.0.1:{server.getsockname()[1]}"))
        watch = Stopwatch()
        with pytest.raises(HostError, match=r"/redfish/v1/: no answer within 4 s"):
            meter.open(PASSWORD)
    assert watch.took_s <= CALL_LIMIT_S


def test_a_service_that_hangs_or_drips_while_it_is_read_costs_five_seconds_at_most(
    ilo: RedfishServer,
) -> None:
    session = Redfish(config(ilo)).open(PASSWORD)

    def drip(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(80):
            try:
                handler.wfile.write(b" ")
            except OSError:
                break
            time.sleep(0.1)
        handler.close_connection = True
        return True

    ilo.override = drip
    watch = Stopwatch()
    with pytest.raises(HostError, match=f"{POWER}: no answer within 5 s"):
        session.read()
    assert watch.took_s <= CALL_LIMIT_S
    ilo.override = None
    session.close()


def test_what_a_slow_service_said_is_not_asked_again_by_the_next_open(ilo: RedfishServer) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> bool:
        if handler.path == "/redfish/v1/Chassis/1":
            time.sleep(CALL_LIMIT_S)
        return False

    meter = Redfish(config(ilo))
    ilo.override = slow
    with pytest.raises(HostError, match="/redfish/v1/Chassis/1: no answer"):
        meter.open(PASSWORD)
    ilo.override = None
    ilo.asked.clear()
    meter.open(PASSWORD).close()
    assert "GET /redfish/v1/Systems/1" not in ilo.asked
    assert "GET /redfish/v1/Chassis/1" in ilo.asked


def test_an_open_after_one_that_worked_sees_what_is_there_now(ilo: RedfishServer) -> None:
    meter = Redfish(config(ilo))
    meter.open(PASSWORD).close()
    del ilo.resources[POWER]["PowerSupplies"][1]
    session = meter.open(PASSWORD)
    assert [name for name in session.channels if name.startswith("PSU")] == ["PSU1_w"]
    session.close()


def test_no_proxy_of_the_environment_gets_the_password(
    ilo: RedfishServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    session = Redfish(config(ilo)).open(PASSWORD)
    assert session.read(["system_w"]) == {"system_w": 150}
    session.close()


def test_nothing_listens_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(HostError, match=rf"^redfish at {url}: .*[Cc]onnect"):
        Redfish(config(url)).open(PASSWORD)


def test_a_certificate_is_checked_unless_its_user_says_otherwise(certificate: Certificate) -> None:
    with redfish(capture(CAPTURES / ILO), certificate) as server:
        with pytest.raises(HostError) as caught:
            Redfish(config(server)).open(PASSWORD)
        for how in ({"ca_file": str(certificate.file)}, {"verify": False}):
            session = Redfish(config(server, **how)).open(PASSWORD)
            assert session.read(["system_w"]) == {"system_w": 150}
            session.close()
    assert "certificate is not trusted" in str(caught.value)
    assert "ca_file, or set verify: false" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_ca_file_that_is_none_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for file in (empty, tmp_path / "missing.pem"):
        with pytest.raises(InvalidInput, match=r"ca_file .*: holds no certificate"):
            Redfish(config("https://127.0.0.1:1", ca_file=str(file))).open(PASSWORD)


def test_it_never_follows_to_another_server(ilo: RedfishServer) -> None:
    def elsewhere(handler: BaseHTTPRequestHandler) -> bool:
        send(handler, 302, None, {"Location": "http://192.0.2.1/redfish/v1/"})
        return True

    ilo.override = elsewhere
    with pytest.raises(HostError, match=r"sends on to http://192\.0\.2\.1"):
        Redfish(config(ilo)).open(PASSWORD)
    ilo.override = None
    ilo.resources["/redfish/v1/Chassis/1"]["Power"]["@odata.id"] = "//192.0.2.1/redfish/v1/Chassis/1/Power"
    with pytest.raises((HostError, InvalidInput)):
        Redfish(config(ilo)).open(PASSWORD)


def test_without_its_library_the_meter_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, ilo: RedfishServer
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(
        InvalidInput, match=r"httpx is not installed here; .*python\S* -m pip install '.*\[meters\]'"
    ):
        Redfish(config(ilo)).open(PASSWORD)


# --- Secrets, settings, damage --------------------------------------------------------------------------


def test_no_message_record_log_or_address_holds_the_password(
    ilo: RedfishServer, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "c4nary-Zq"
    said = []

    def echo(handler: BaseHTTPRequestHandler) -> bool:
        if handler.command != "POST":
            return False
        refuse(handler, 400, f"admin and {canary} do not fit")
        return True

    with caplog.at_level(logging.DEBUG):
        ilo.password = canary
        session = Redfish(config(ilo)).open(canary)
        said += [
            repr(session),
            repr(session.channels),
            MeterRecord(0, 1, session.read(), session.reasons).line(),
        ]
        ilo.tokens.clear()
        with pytest.raises(HostError) as ended:
            session.read()
        session.close()
        ilo.override = echo
        with pytest.raises(HostError) as refused:
            Redfish(config(ilo)).open(canary)
    for caught in (ended, refused):
        said += traceback.format_exception(caught.value)
    said += ilo.asked
    assert "no session for admin: status 400: admin and … do not fit" in str(refused.value)
    assert [text for text in [*said, caplog.text] if canary in text] == []


@pytest.mark.parametrize(
    ("given_settings", "said"),
    [
        ({}, "needs url or address"),
        ({"url": "https://a", "address": "a"}, "needs url or address"),
        ({"url": "https://admin:secret@a"}, "has a user or password in it"),
        ({"url": "ftp://a"}, "pattern"),
        ({"url": "https://a/redfish"}, "pattern"),
        ({"url": "https://a", "port": 443}, "port beside url"),
        ({"address": "a", "user": "admin"}, "needs user and one of password_env"),
        ({"address": "a", "password_env": "X"}, "needs user and one of password_env"),
        ({"address": "a", "verify": False, "ca_file": "x"}, "leave one out"),
        ({"address": "a", "parts": ["fans"]}, "processors"),
        ({"address": "a", "pasword_env": "X"}, "Extra inputs"),
    ],
)
def test_settings_that_cannot_be_are_refused(given_settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RedfishConfig(**given_settings)


def test_an_address_becomes_an_https_url() -> None:
    assert RedfishConfig(address="192.0.2.1").base_url == "https://192.0.2.1"
    assert RedfishConfig(address="2001:db8::1", port=8443).base_url == "https://[2001:db8::1]:8443"
    assert RedfishConfig(url="http://192.0.2.1:8000/").base_url == "http://192.0.2.1:8000"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@settings(
    max_examples=inputs(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_damage_to_a_resource_becomes_anything_but_a_number_or_a_reason(data: st.DataObject) -> None:
    power = copy.deepcopy(capture(CAPTURES / ILO)[POWER])
    spot: Any = power
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            break
        spot = spot[key]
    spot[key] = data.draw(JSON)
    chassis = {"@odata.id": "/redfish/v1/Chassis/1"}
    document = {**power, "@odata.id": POWER} if isinstance(power, dict) else {"@odata.id": POWER}
    for source in sources(Enclosure(chassis, power=document)):
        value = source.reading(document)
        assert value.reason if isinstance(value, Missing) else isinstance(value, float)


def test_every_error_is_one_line() -> None:
    for case in CASES:
        with redfish(capture(CAPTURES / case)) as server:
            try:
                Redfish(config(server, chassis="[")).open(PASSWORD)
            except LinewattError as error:
                assert "\n" not in str(error)  # noqa: PT017
            else:
                pytest.fail("no chassis is called [")
