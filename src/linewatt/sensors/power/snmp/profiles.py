# SPDX-License-Identifier: Apache-2.0
"""Where rack PDUs keep their readings of power and energy: data, from their makers' MIBs.

PowerNet-MIB (APC), PDU2-MIB (Raritan), Sentry3-MIB and Sentry4-MIB (Server Technology), EATON-EPDU-MIB. In an
object identifier ``{pdu}``, ``{inlet}``, ``{outlet}``, ``{phase}`` are numbers of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ProfileName = Literal[
    "apc-rpdu2", "apc-rpdu", "raritan-px", "servertech-sentry3", "servertech-sentry4", "eaton-epdu"
]

WH_J = 3600.0
TENTH_KWH_J = 360_000.0


@dataclass(frozen=True, slots=True)
class Column:
    """One reading: its object, its unit, and what the object's 1 is in that unit."""

    object_name: str
    oid: str
    unit: Literal["W", "J"]
    scale: float
    digits: str | None = None
    """object with the decimal digits of the reading"""


@dataclass(frozen=True, slots=True)
class Profile:
    """Readings of an outlet, of a phase, and of a whole PDU; power first."""

    pdu: tuple[Column, ...]
    outlet: tuple[Column, ...] = ()
    phase: tuple[Column, ...] = ()
    first_pdu: int = 1

    def columns(self, outlet: int | None, phase: int | None) -> tuple[str, str, tuple[Column, ...]]:
        """Name and scope of what is meant, and its readings."""
        if outlet is not None:
            return f"outlet{outlet}", f"wall:outlet{outlet}", self.outlet
        if phase is not None:
            return f"phase{phase}", f"wall:phase{phase}", self.phase
        return "pdu", "wall:pdu", self.pdu


_APC = "1.3.6.1.4.1.318.1.1"
_RARITAN = "1.3.6.1.4.1.13742.6"
_SENTRY3 = "1.3.6.1.4.1.1718.3.2"
_SENTRY4 = "1.3.6.1.4.1.1718.4.1"
_EATON = "1.3.6.1.4.1.534.6.6.7"


def _raritan(name: str, measured: str, configured: str, index: str) -> tuple[Column, ...]:
    """Sensor type 5 is active power in W, 8 active energy in Wh."""
    kinds: tuple[tuple[int, Literal["W", "J"], float], ...] = ((5, "W", 1.0), (8, "J", WH_J))
    return tuple(
        Column(
            f"measurements{name}SensorValue",
            f"{_RARITAN}.5.{measured}.1.4.{index}.{kind}",
            unit,
            scale,
            f"{_RARITAN}.3.{configured}.1.7.{index}.{kind}",
        )
        for kind, unit, scale in kinds
    )


PROFILES: Mapping[ProfileName, Profile] = {
    "apc-rpdu2": Profile(
        pdu=(
            Column("rPDU2DeviceStatusPower", f"{_APC}.26.4.3.1.5.{{pdu}}", "W", 10.0),
            Column("rPDU2DeviceStatusEnergy", f"{_APC}.26.4.3.1.9.{{pdu}}", "J", TENTH_KWH_J),
        ),
        outlet=(
            Column("rPDU2OutletMeteredStatusPower", f"{_APC}.26.9.4.3.1.7.{{outlet}}", "W", 1.0),
            Column("rPDU2OutletMeteredStatusEnergy", f"{_APC}.26.9.4.3.1.11.{{outlet}}", "J", TENTH_KWH_J),
        ),
        phase=(Column("rPDU2PhaseStatusPower", f"{_APC}.26.6.3.1.7.{{phase}}", "W", 10.0),),
    ),
    "apc-rpdu": Profile(pdu=(Column("rPDUIdentDevicePowerWatts", f"{_APC}.12.1.16.0", "W", 1.0),)),
    "raritan-px": Profile(
        pdu=_raritan("Inlet", "2.3", "3.4", "{pdu}.{inlet}"),
        outlet=_raritan("Outlet", "4.3", "5.4", "{pdu}.{outlet}"),
        phase=_raritan("InletPole", "2.4", "3.6", "{pdu}.{inlet}.{phase}"),
    ),
    "servertech-sentry3": Profile(
        pdu=(
            Column("towerActivePower", f"{_SENTRY3}.1.1.11.{{pdu}}", "W", 1.0),
            Column("towerEnergy", f"{_SENTRY3}.1.1.14.{{pdu}}", "J", TENTH_KWH_J),
        ),
        outlet=(
            Column("outletPower", f"{_SENTRY3}.3.1.14.{{pdu}}.{{inlet}}.{{outlet}}", "W", 1.0),
            Column("outletEnergy", f"{_SENTRY3}.3.1.18.{{pdu}}.{{inlet}}.{{outlet}}", "J", WH_J),
        ),
        phase=(
            Column("infeedPower", f"{_SENTRY3}.2.1.12.{{pdu}}.{{phase}}", "W", 1.0),
            Column("infeedEnergy", f"{_SENTRY3}.2.1.16.{{pdu}}.{{phase}}", "J", TENTH_KWH_J),
        ),
    ),
    "servertech-sentry4": Profile(
        pdu=(
            Column("st4InputCordActivePower", f"{_SENTRY4}.3.3.1.3.{{pdu}}.{{inlet}}", "W", 1.0),
            Column("st4InputCordEnergy", f"{_SENTRY4}.3.3.1.10.{{pdu}}.{{inlet}}", "J", TENTH_KWH_J),
        ),
        outlet=(
            Column("st4OutletActivePower", f"{_SENTRY4}.8.3.1.7.{{pdu}}.{{inlet}}.{{outlet}}", "W", 1.0),
            Column("st4OutletEnergy", f"{_SENTRY4}.8.3.1.14.{{pdu}}.{{inlet}}.{{outlet}}", "J", WH_J),
        ),
        phase=(
            Column("st4PhaseActivePower", f"{_SENTRY4}.5.3.1.8.{{pdu}}.{{inlet}}.{{phase}}", "W", 1.0),
            Column("st4PhaseEnergy", f"{_SENTRY4}.5.3.1.13.{{pdu}}.{{inlet}}.{{phase}}", "J", TENTH_KWH_J),
        ),
    ),
    "eaton-epdu": Profile(
        pdu=(
            Column("inputTotalWatts", f"{_EATON}.3.5.1.4.{{pdu}}.{{inlet}}", "W", 1.0),
            Column("inputTotalWh", f"{_EATON}.3.5.1.5.{{pdu}}.{{inlet}}", "J", WH_J),
        ),
        outlet=(
            Column("outletWatts", f"{_EATON}.6.5.1.3.{{pdu}}.{{outlet}}", "W", 1.0),
            Column("outletWh", f"{_EATON}.6.5.1.4.{{pdu}}.{{outlet}}", "J", WH_J),
        ),
        phase=(
            Column("inputWatts", f"{_EATON}.3.4.1.4.{{pdu}}.{{inlet}}.{{phase}}", "W", 1.0),
            Column("inputWh", f"{_EATON}.3.4.1.5.{{pdu}}.{{inlet}}.{{phase}}", "J", WH_J),
        ),
        first_pdu=0,
    ),
}
