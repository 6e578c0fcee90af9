# SPDX-License-Identifier: Apache-2.0
"""What names of sensors say, with the names of real boards as their BMCs print them (``ipmitool sdr``)."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.sensors.power.ipmi.names import TABLE, Row, patterns, scope_of_sensor, scopes_of_sensors

# Board and origin, then its sensors in W, rpm or %: (name, unit, scope).
BOARDS: dict[str, list[tuple[str, str, str | None]]] = {
    # ASRock Rack, AMI MegaRAC: sugarcraft/candy-top, tests/fixtures/ipmi/skynet2/sdr-elist.txt
    "asrock-rack": [
        ("PSU1 Power In", "W", "psu-in:PSU1"),
        ("PSU1 Power Out", "W", "psu-out:PSU1"),
        ("PSU4 Power In", "W", "psu-in:PSU4"),
        ("CPU_Power", "W", "cpu:CPU"),
        ("Memory_Power", "W", "memory:Memory"),
        ("SYS_FAN1", "rpm", "fan:SYS_FAN1"),
        ("GPU_FAN5", "rpm", "fan:GPU_FAN5"),
    ],
    # HPE ProLiant, iLO 4: sugarcraft/candy-top, tests/fixtures/ipmi/kvm521/sdr-elist.txt. "Power Supply 1"
    # says again what "PS 1 Output" says, and does not say which side it is.
    "hpe-ilo4": [
        ("Fan 1", "ratio", "fan:Fan 1"),
        ("Fan 1 DutyCycle", "ratio", None),
        ("Power Supply 1", "W", None),
        ("PS 1 Output", "W", "psu-out:PSU1"),
        ("Power Meter", "W", "system:Power Meter"),
        ("PwrMeter Output", "W", "system:PwrMeter Output"),
    ],
    # HPE ProLiant DL110 Gen10 (`ipmitool sensor` in public test reports of StarlingX hosts)
    "hpe-ilo5": [
        ("PS 2 Input", "W", "psu-in:PSU2"),
        ("PS 2 Output", "W", "psu-out:PSU2"),
        ("CPU Utilization", "ratio", None),
        ("PS_Volt_In_01", "V", None),
    ],
    # HP ProLiant DL360 G6/G7, iLO 2/3: CollegeBoreal/Laboratoires, 3202/proliant/IPMI/README.md
    "hp-ilo3": [("Fan Block 1", "ratio", "fan:Fan Block 1"), ("Fans", "ratio", None)],
    # Dell PowerEdge, iDRAC 7 to 9: ateodorescu/home-assistant-ipmi issue 13, and many others alike
    "dell-idrac": [
        ("Pwr Consumption", "W", "system:Pwr Consumption"),
        ("Fan1A", "rpm", "fan:Fan1A"),
        ("Fan1 RPM", "rpm", "fan:Fan1 RPM"),
        ("Current 1", "A", None),
        ("Voltage 1", "V", None),
        ("CPU Usage", "ratio", None),
        ("SYS Usage", "ratio", None),
    ],
    # Dell PowerEdge R710, iDRAC 6: the same issue
    "dell-idrac6": [
        ("System Level", "W", "system:System Level"),
        ("FAN MOD 1A RPM", "rpm", "fan:FAN MOD 1A RPM"),
    ],
    # IBM System x, IMM: the same issue
    "ibm-imm": [("PS1 Power In", "W", "psu-in:PSU1"), ("PS2 Power In", "W", "psu-in:PSU2")],
    # Intel S2600WTTR: ateodorescu/home-assistant-ipmi issue 27
    "intel": [
        ("PS1 Input Power", "W", "psu-in:PSU1"),
        ("PS2 Input Power", "W", "psu-in:PSU2"),
        ("PS1 Curr Out %", "ratio", None),
        ("System Fan 1", "rpm", "fan:System Fan 1"),
    ],
    # Lenovo ThinkSystem, XCC (names as exporters on GitHub match and read them)
    "lenovo-xcc": [
        ("Sys Power", "W", "system:Sys Power"),
        ("CPU Power", "W", "cpu:CPU"),
        ("Mem Power", "W", "memory:Memory"),
        ("GPU Board Power", "W", None),
        ("Riser 1 Power", "W", None),
        ("PSU 1 AC In Pwr", "W", "psu-in:PSU1"),
        ("PSU 2 DC Out Pwr", "W", "psu-out:PSU2"),
        ("Fan 1 Front Tach", "rpm", "fan:Fan 1 Front Tach"),
    ],
    # Inspur NF5280M5 and alike, AMI (a public ipmitool tutorial with the listing of such a server)
    "inspur": [
        ("Total_Power", "W", "system:Total_Power"),
        ("CPU_Power", "W", "cpu:CPU"),
        ("MEM_Power", "W", "memory:Memory"),
        ("FAN_Power", "W", "fan:fans"),
        ("HDD_Power", "W", None),
        ("PSU0_POUT", "W", "psu-out:PSU0"),
        ("PSU1_PIN", "W", "psu-in:PSU1"),
        ("CPU_Total_Power", "W", "cpu:CPU"),
        ("FAN0_F_Speed", "rpm", "fan:FAN0_F_Speed"),
    ],
    # IBM Power S822LC, OpenPOWER; psX_input_power, pX_power, pX_mem_power of a public cluster's documentation
    "ibm-power": [
        ("ps0_input_power", "W", "psu-in:PSU0"),
        ("total_power", "W", "system:total_power"),
        ("p0_power", "W", "cpu:CPU0"),
        ("p1_mem_power", "W", "memory:CPU1"),
        ("p0_io_power", "W", None),
        ("fan_disk_power", "W", None),
    ],
    # Supermicro X9SCM-iiF with a PMBus supply: thomas-krenn/check_ipmi_sensor_v3 issue 26
    "supermicro-x9": [("Current Power", "W", "system:Current Power")],
    # AMI MegaRAC SP: ateodorescu/home-assistant-ipmi issue 25; ASUS ESC4000A-E10 writes PMBPower1
    "ami-megarac": [
        ("PMB1Power", "W", "psu-in:PSU1"),
        ("PMB2Power", "W", "psu-in:PSU2"),
        ("PMBPower2", "W", "psu-in:PSU2"),
        ("PMB1Current", "A", None),
    ],
    # IBM POWER8, OpenPOWER firmware: public listings of `ipmitool sensor` and `ipmitool sdr entity 215`
    "power8": [
        ("System Power", "W", "system:System Power"),
        ("Proc0 Power", "W", "cpu:CPU0"),
        ("Proc1 Power", "W", "cpu:CPU1"),
        ("Mem Proc0 Pwr", "W", "memory:CPU0"),
        ("Mem Cache Power", "W", "memory:Cache"),
        ("GPU Power", "W", "gpu:GPU"),
        ("Fan Power", "W", "fan:fans"),
        ("Fan Power A", "W", "fan:Fan Power A"),
        ("PCIE Proc0 Pwr", "W", None),
    ],
    # Graphcore IPU-M2000, OpenBMC: docs.graphcore.ai, BMC user guide, sensor monitoring
    "openbmc-graphcore": [
        ("ps1_input_power", "W", "psu-in:PSU1"),
        ("ps1_output_power", "W", "psu-out:PSU1"),
        ("fan0_0", "rpm", "fan:fan0_0"),
    ],
    # OpenBMC's PSUSensor: names of entity-manager, cut to IPMI's 16 characters
    "openbmc": [
        ("PSU1 Input Power", "W", "psu-in:PSU1"),
        ("PSU1 Output Powe", "W", "psu-out:PSU1"),
        ("PSU0_Input_Power", "W", "psu-in:PSU0"),
        ("PSU0_Output_Powe", "W", "psu-out:PSU0"),
    ],
    # PMBus names on switches and boards: PSU1_pin, PSU1_pout (public `ipmitool sdr elist`)
    "pmbus": [("PSU1_pin", "W", "psu-in:PSU1"), ("PSU2_pout", "W", "psu-out:PSU2"), ("PSU1_iin", "A", None)],
    # Names by maker of the collector of Enos (IPMI), which reads one sensor of each for the whole server
    "by-maker": [
        ("HSC Input Power", "W", "system:HSC Input Power"),  # Nokia, Lenovo: a hot-swap controller
        ("Avg Power", "W", "system:Avg Power"),  # IBM
        ("POWER_USAGE", "W", "system:POWER_USAGE"),  # Cisco
        ("PwrMeter", "W", "system:PwrMeter"),
    ],
    # Wiwynn: names cut to 16 characters with a prefix (a public parser of its `ipmitool sdr`)
    "wiwynn": [("MB HSC In Power", "W", "system:MB HSC In Power")],
    # One supply, PMBus names without a number; and names that are cut earlier than at 16 characters
    "short": [
        ("PSU_PIN", "W", "psu-in:PSU"),
        ("PSU_POUT", "W", "psu-out:PSU"),
        ("PSU1 Input Pow", "W", "psu-in:PSU1"),
        ("PSU2 Output Pow", "W", "psu-out:PSU2"),
    ],
    # What looks alike and is part of something else: public listings of an AM5 server board
    "parts": [
        ("POWER_DDR5_A1", "W", None),
        ("Memory VRM Power", "W", None),
        ("PSU1 Fan", "W", None),
        ("CPU_Power_Limit", "W", None),
    ],
    # Temperatures. Supermicro X11: ateodorescu/home-assistant-ipmi issue 22; with AMD: smxi/inxi issue 138
    "supermicro-heat": [
        ("CPU1 Temp", "°C", "temperature:CPU1 Temp"),
        ("System Temp", "°C", "temperature:System Temp"),
        ("PCH Temp", "°C", None),
        ("Peripheral Temp", "°C", None),
        ("VRMCpu1 Temp", "°C", None),
        ("Vcpu1VRM Temp", "°C", None),
        ("P1-DIMMA1 Temp", "°C", None),
        ("MB_10G Temp", "°C", None),
    ],
    # HPE ProLiant DL360p G8: Meliox/PVE-mods issue 93
    "hpe-heat": [
        ("01-Inlet Ambient", "°C", "temperature:01-Inlet Ambient"),
        ("02-CPU 1", "°C", "temperature:02-CPU 1"),
        ("04-P1 DIMM 1-6", "°C", None),
        ("08-P1 Mem Zone", "°C", None),
    ],
    # Dell R730 and R630, and an Intel board: influxdata/telegraf issue 1547
    "dell-heat": [
        ("Inlet Temp", "°C", "temperature:Inlet Temp"),
        ("Exhaust Temp", "°C", "temperature:Exhaust Temp"),
        ("Temp", "°C", "temperature:Temp"),
    ],
    "intel-heat": [
        ("BB Inlet Temp", "°C", "temperature:BB Inlet Temp"),
        ("P1 Therm Margin", "°C", None),
        ("P1 DTS Therm Mgn", "°C", None),
        ("P1 VR Temp", "°C", None),
        ("LAN NIC Temp", "°C", None),
    ],
}
NAMES = [pytest.param(*row, id=f"{board}-{row[0]}") for board, rows in BOARDS.items() for row in rows]
UNITS = {row.unit for row in TABLE}
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.mark.parametrize(("name", "unit", "scope"), NAMES)
def test_a_real_name_means(name: str, unit: str, scope: str | None) -> None:
    assert scope_of_sensor(name, unit) == scope


@pytest.mark.parametrize("unit", ["V", "A", "degrees C", ""])
def test_only_power_and_fans_have_known_names(unit: str) -> None:
    assert scope_of_sensor("PSU1 Power In", unit) is None


def test_a_unit_is_part_of_what_a_name_means() -> None:
    assert scope_of_sensor("FAN1", "W") is None
    assert scope_of_sensor("CPU_Power", "rpm") == "fan:CPU_Power"  # nothing but a fan or a pump turns


def test_a_reading_of_the_whole_stands_for_its_parts() -> None:
    found = scopes_of_sensors([("CPU0_Power", "W"), ("CPU1_Power", "W"), ("CPU_Power", "W")], dcmi=False)
    assert found == ["other:CPU0_Power", "other:CPU1_Power", "cpu:CPU"]


def test_parts_stay_where_there_is_no_whole() -> None:
    assert scopes_of_sensors([("CPU0_Power", "W"), ("CPU1_Power", "W")], dcmi=False) == [
        "cpu:CPU0",
        "cpu:CPU1",
    ]


def test_the_system_is_counted_once() -> None:
    names = [("Power Meter", "W"), ("Pwr Consumption", "W"), ("PSU1 Power In", "W")]
    assert scopes_of_sensors(names, dcmi=False) == [
        "other:Power Meter",
        "system:Pwr Consumption",
        "psu-in:PSU1",
    ]
    assert scopes_of_sensors(names, dcmi=True) == [
        "other:Power Meter",
        "other:Pwr Consumption",
        "psu-in:PSU1",
    ]


def test_one_supply_read_twice_is_counted_once() -> None:
    assert scopes_of_sensors([("PSU1_PIN", "W"), ("PS1 Input Power", "W")], dcmi=False) == [
        "psu-in:PSU1",
        "other:PS1 Input Power",
    ]


@pytest.mark.parametrize("names", [("Chassis Power", "Node Power"), ("Node Power", "Chassis Power")])
def test_of_a_node_and_its_chassis_the_node_is_the_host(names: tuple[str, str]) -> None:
    """Whatever comes first in the BMC's records: a chassis may hold others."""
    found = dict(zip(names, scopes_of_sensors([(name, "W") for name in names], dcmi=False), strict=True))
    assert found == {"Node Power": "system:Node Power", "Chassis Power": "other:Chassis Power"}


def test_watts_of_fans_do_not_hide_their_speeds() -> None:
    assert scopes_of_sensors([("FAN_Power", "W"), ("FAN1", "rpm")], dcmi=False) == ["fan:fans", "fan:FAN1"]


@given(
    st.lists(st.tuples(st.sampled_from([row[0] for b in BOARDS.values() for row in b]), st.just("W"))),
    st.booleans(),
)
def test_no_scope_is_given_twice_and_no_whole_beside_its_parts(
    names: list[tuple[str, str]], dcmi: bool
) -> None:
    found = [scope for scope in scopes_of_sensors(names, dcmi) if not scope.startswith("other:")]
    assert len(set(found)) == len(found)
    kinds = [scope.partition(":")[0] for scope in found]
    assert kinds.count("system") <= (0 if dcmi else 1)
    assert not ("cpu:CPU" in found and kinds.count("cpu") > 1)


@needs_bash
def test_bash_chooses_the_same_names_as_python() -> None:
    """The patterns are put to the names on the host by bash, where there is no Python."""
    script = 'for n in "${@:2}"; do p=${n,,}; p=${p//[_.-]/ }; [[ $p =~ $1 ]] && echo "$n"; done; :'
    for unit in sorted(UNITS):
        names = [row[0] for rows in BOARDS.values() for row in rows]
        done = subprocess.run(
            ["bash", "-c", script, "x", patterns(unit), *names], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines() == [name for name in names if scope_of_sensor(name, unit)]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.scope}-{row.unit}")
def test_patterns_are_posix_extended(row: Row) -> None:
    """bash has no `\\d`, `(?:` or lazy repeats; and a name has no capitals or `_` when it is matched."""
    assert not re.search(r"\\|\(\?|[*+?]\?|[A-Z_]", row.pattern)
