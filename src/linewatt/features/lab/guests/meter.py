# SPDX-License-Identifier: Apache-2.0
"""A guest's ACPI power meter: a table of firmware that asks the BMC for watts, as servers' firmware does.

The table defines a power meter (ACPI 6.5, 10.4) whose measurement is the BMC's power into both supplies,
read through an IPMI operation region (ACPI 6.5, 5.5.2.4.3). The guest's kernel carries that out by
``acpi_ipmi`` and shows the meter by ``acpi_power_meter``. So the feeder of the BMCs drives it, too.
Checked with iasl 20200925, QEMU 7.2 and Linux 6.1.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from linewatt.errors import LabError
from linewatt.features.lab.bmc_recipe import SENSORS
from linewatt.features.lab.system import tool_environment

SAMPLED_MS = 1000
"""Linux asks the firmware no more often than the meter says that it samples."""
ACCURACY_PERCENT = 95
"""of a supply's sensor"""
_SUPPLIES = ("PSU1 Power In", "PSU2 Power In")
_COMPILE_LIMIT_S = 30.0

# Get Sensor Reading is command 2Dh of network function 04h (IPMI 2.0, 35.14). An answer has the state of the
# transfer, its length, the completion code, the reading, and in bit 5 of the next byte whether it is none.
# What is not known is all ones (ACPI 6.5, 10.4.4).
_TABLE = """DefinitionBlock ("", "SSDT", 2, "LNWATT", "PWRMETER", 1)
{{
  Device (\\_SB.PMT0)
  {{
    Name (_HID, "ACPI000D")
    Name (_UID, 1)
    OperationRegion (SENS, IPMI, 0x0400, 0x0100)
    Field (SENS, BufferAcc, Lock, Preserve)
    {{
      AccessAs (BufferAcc, 0x01),
      Offset (0x2D),
      GSRD, 8
    }}
    Name (BUFF, Buffer (66) {{}})
    CreateByteField (BUFF, 0, STAT)
    CreateByteField (BUFF, 1, LENG)
    CreateByteField (BUFF, 2, CODE)
    CreateByteField (BUFF, 3, DATA)
    CreateByteField (BUFF, 4, FLAG)
    Method (WATT, 2, Serialized)
    {{
      LENG = 1
      CODE = Arg0
      BUFF = (GSRD = BUFF)
      If ((STAT != 0) || (LENG < 3) || (CODE != 0) || (FLAG & 0x20)) {{ Return (Ones) }}
      Return (DATA * Arg1)
    }}
    Name (_PMC, Package ()
    {{
      1, 0, 0, {accuracy}, {sampled_ms}, {sampled_ms}, {sampled_ms}, 0, 0, 0, 0,
      "simulated", "linewatt lab", ""
    }})
    Name (_PMD, Package () {{ \\_SB }})
    Name (_GAI, {sampled_ms})
    Method (_PMM, 0, Serialized)
    {{
      Local0 = 0
{sum}
      Return (Local0 * 1000)
    }}
  }}
}}
"""
_ADD = """      Local1 = WATT ({number}, {step})
      If (Local1 == Ones) {{ Return (0xFFFFFFFF) }}
      Local0 += Local1"""


def source() -> str:
    """The table in ACPI's source language."""
    numbered = {sensor.name: (at + 1, sensor) for at, sensor in enumerate(SENSORS)}
    supplies = [numbered[name] for name in _SUPPLIES]
    return _TABLE.format(
        accuracy=ACCURACY_PERCENT * 1000,
        sampled_ms=SAMPLED_MS,
        sum="\n".join(_ADD.format(number=number, step=sensor.step) for number, sensor in supplies),
    )


def write_table(directory: Path, iasl: str) -> Path:
    """The compiled table, in ``directory``. Raises LabError with what the compiler says."""
    path = directory / "meter.asl"
    path.write_text(source())
    table = path.with_suffix(".aml")
    done = subprocess.run(
        [iasl, "-p", str(path.with_suffix("")), str(path)],
        capture_output=True,
        text=True,
        env=tool_environment(),
        timeout=_COMPILE_LIMIT_S,
        check=False,
    )
    if done.returncode or not table.is_file():
        raise LabError(f"{path}: {iasl} cannot compile it: {' '.join((done.stdout + done.stderr).split())}")
    return table
