# SPDX-License-Identifier: Apache-2.0
"""What a sensor is: an argument list that streams records, and a pure parser of one record.

A sensor runs on its host through the whole campaign; the engine stamps every line on arrival, cuts the
stream into records where :meth:`Records.ends_record` says so, and turns each record into samples. Readings
of ``kind`` "mean" span the time since the record before.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.model import Channel

PACED = r"""
trap '' ALRM  # bash 5.2 can be killed by its own alarm just after a read with a limit
exec {never}<> <(:)  # a pipe nobody writes to: a read of it with a limit is a sleep without a process
if [[ ${EPOCHREALTIME-} ]]; then now() { now_us=${EPOCHREALTIME/[.,]/}; }
else now() { now_us=$(date +%s%6N); }; fi  # bash before 5.0
now; next_us=$now_us

pause() {  # for $1 µs
  local wait_s
  printf -v wait_s '%d.%06d' $(( $1 / 1000000 )) $(( $1 % 1000000 ))
  read -r -t "$wait_s" -u "$never"
}

emit() {  # print $record with its end, and wait until the next one is due
  local wait_us
  now; printf '%s|end %s\n' "$record" "$now_us" || exit
  next_us=$(( next_us + interval_us )) wait_us=$(( next_us - now_us ))
  # behind by a whole interval, or somebody set the clock: start over from here
  (( wait_us > 0 && wait_us <= interval_us )) || next_us=$(( now_us + interval_us )) wait_us=$interval_us
  pause "$wait_us"
}
"""
"""How a bash script begins that prints a record (one line) every ``interval_us`` with builtins only."""

_END = re.compile(r"end \d+", re.ASCII)


def parts_of_record(record: str, mark: str, behind: str = "") -> tuple[re.Match[str], list[str]]:
    """The head of a record of such a script, and its parts without the end.

    The head has the stamp in µs, and ``behind`` it what this pattern says. Raises ParseError for what is not
    a whole record.
    """
    head, *parts = record.strip().split("|")
    match = re.fullmatch(rf"{mark} 1 (\d{{1,20}}){behind}", head, re.ASCII)
    if match is None or not parts or not _END.fullmatch(parts[-1]):
        raise ParseError(f"{mark.removeprefix('linewatt-')}: {record[:60]!r} is not a whole record")
    return match, parts[:-1]


def sections_of_record(record: str, mark: str) -> dict[str, str]:
    """Section → its words. Raises ParseError."""
    _, parts = parts_of_record(record, mark)
    return {name: text for name, _, text in (part.partition(" ") for part in parts)}


class SensorConfig(BaseModel):
    """Settings that every sensor has; a plug-in's own ``Config`` extends it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    interval_s: float = 1.0


class PacedConfig(SensorConfig):
    """Settings of a sensor whose script is linewatt's own."""

    interval_s: float = Field(default=1.0, ge=0.1, le=3600)


class Records(Protocol):
    """A stream of records and the pure parser of one, whoever delivers it."""

    @property
    def name(self) -> str: ...

    def ends_record(self, line: str) -> bool:
        """Whether this line completes a record."""

    def parse(self, record: str) -> dict[str, float | None]:
        """Readings of one record, channel name → value in SI.

        Raises ParseError; NotReady for a record that says that readings are still to come; InvalidInput for
        one that says that the settings ask for what is not there: the message lists what there is.
        """

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings are None or absent, by channel or by the group of channels (the part before a dot)."""

    def channel(self, name: str) -> Channel:
        """Unit, kind, scope and provenance of a channel that was delivered."""


class Sensor(Records, Protocol):
    """One source of samples on a host."""

    name: ClassVar[str]
    Config: ClassVar[type[SensorConfig]]

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list of the streaming process (pure)."""

    def environment(self) -> dict[str, str]:
        """Environment the process needs, set with ``env`` in front of the command."""


class LineSensor:
    """What sensors have in common that write a line for each record; empty ones are passed over."""

    mark: ClassVar[str] = ""
    """how a record begins, where the script is linewatt's own"""

    def environment(self) -> dict[str, str]:
        return {"LC_ALL": "C"}

    def ends_record(self, line: str) -> bool:
        return bool(line.strip()) and line.startswith(self.mark)


@runtime_checkable
class Stamped(Protocol):
    """A sensor whose records say themselves when they were read."""

    def time_s(self, record: str) -> float | None:
        """When a record's values were read: Unix seconds on the host's clock; None: it does not say."""
