# SPDX-License-Identifier: Apache-2.0
"""Sensors of a host's own BMC, read in-band with ``ipmitool`` on the host (/dev/ipmi0).

It is for BMCs that the controller cannot reach; :mod:`linewatt.sensors.power.ipmi.sdr` reads the records and
answers of both drivers.

A BMC's LAN port (driver ``ipmi``) is to be preferred: in-band requests cost the host itself CPU time, above
all where its KCS interface has no interrupt and the kernel's kipmi0 thread polls, up to a core while a
request is under way. Beside that, a record of six sensors takes 4.2 ms of CPU (bash 3.1, ipmitool 1.1), 0.4 %
of a core at 1 Hz; an ``ipmitool sensor reading`` a second takes 45 ms, most of it to start. Measured by exact
accounting on a 2-CPU VM against OpenIPMI's ipmi_sim over loopback, with the encryption that this takes. So
temperatures are read only if ``sensors`` names them: the kernel knows that of its CPUs for less (cpufreq).

One ipmitool runs all the time (``ipmitool exec``) and is fed raw requests by bash: the sensor records once,
then one Get Sensor Reading a sensor. No file is written. ``set hostname`` prints its argument and does
nothing else here; it marks where the answer to a request ends. A record is one line: for each sensor its
record and its reading, in hexadecimal, so that a line can be read without the ones before it. Checked with
ipmitool 1.8.19; needs bash 4.4 or later and coreutils' stdbuf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Literal

from pydantic import Field

from linewatt.errors import InvalidInput, LinewattError, NotReady, ParseError
from linewatt.hosts import HostSpec
from linewatt.missing import Missing, value_or_none
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, parts_of_record
from linewatt.sensors.power.base import PowerConfig, as_configured
from linewatt.sensors.power.ipmi import sdr
from linewatt.sensors.power.ipmi.names import DCMI, SensorNames, patterns

MARK = "linewatt-ipmitool"

# $1 interval in µs, $2 dcmi (auto, true, false), $3-$5 patterns of default names in W, rpm and %, $6 how many
# words the tool's command has, then these words, then the sensors that are wanted (none: the default).
_SCRIPT = (
    r"""
trap '' PIPE
interval_us=$1 dcmi=$2 watts=$3 rpm=$4 percent=$5 words=$6; shift 6
tool=("${@:1:words}"); shift "$words"; wanted=("$@")
limit_us=3000000 retry_us=5000000 again_us=0 number=0 chunk=32 state=closed absent= settled=0
set -f
"""
    + PACED
    + r"""
begin() { now; begin_us=$now_us record="linewatt-ipmitool 1 $now_us"; }

# Put requests to the tool; their answers, a line each, are in answers. Status 1: it ended or hangs.
ask() {
  local text= answer= line left_s left_us status expected=$(( number + 1 )) until_us request
  for request; do text+=$request$'\nset hostname linewatt-'$(( ++number ))$'\n'; done
  answers=() said=
  printf '%s' "$text" >&"$in" || return
  now; until_us=$(( now_us + limit_us ))
  while (( expected <= number )); do
    now; left_us=$(( until_us - now_us ))
    (( left_us > 0 )) || { said='no answer in 3 s'; return 1; }
    printf -v left_s '%d.%06d' $(( left_us / 1000000 )) $(( left_us % 1000000 ))
    read -r -t "$left_s" -u "$out" line
    status=$?
    if (( status )); then
      if (( status > 128 )); then said='no answer in 3 s'; else said=${answer:-ipmitool ended}; fi
      return 1
    fi
    if [[ $line == *"linewatt-$expected" ]]; then answers+=("$answer") answer= expected=$(( expected + 1 ))
    else answer+=" $line"; fi
  done
} 2>/dev/null

shut() {
  [[ $state == closed ]] && return
  state=closed
  kill -9 "$pid"; exec {in}>&- {out}<&-; wait "$pid"
} 2>/dev/null

fail() {  # $1 why, $2 "invalid" where the settings ask for what is not there
  local words=${1//|/ }
  shut
  problem="${2-error} ${words:0:1000}"
  now; again_us=$(( now_us + retry_us ))
}

start() {
  coproc ipmi { exec stdbuf -oL "${tool[@]}" exec /dev/stdin 2>&1; }
  pid=$ipmi_PID state=open
  exec {in}>&"${ipmi[1]}" {out}<&"${ipmi[0]}"
  ask '#'  # what it says of itself at its start
} 2>/dev/null

# Say so, when reading the sensor records takes longer than an interval.
tick() {
  now
  (( now_us - begin_us > interval_us )) || return 0
  printf '%s|wait still reading the sensor records of the BMC|end %s\n' "$record" "$now_us" || exit
  begin
}

# One sensor record at $next: its number's follower becomes next, its bytes in hexadecimal sdr.
fetch() {
  local id="$(( next & 255 )) $(( next >> 8 ))" head body= more length size lost=0
  ask "raw $storage $get 0 0 $id 0 5" || return
  head=(${answers[0]})
  [[ ${#head[@]} == 7 && ${answers[0]} != *[!0-9a-f\ ]* ]] || { said=${answers[0]}; return 1; }
  sdr=${head[2]}${head[3]}${head[4]}${head[5]}${head[6]} length=$(( 16#${head[6]} ))
  following=$(( 16#${head[1]}${head[0]} ))
  if [[ ${head[5]} != 01 ]]; then next=$following; return; fi  # no full sensor record: no number
  while (( ${#body} < 2 * length )); do
    tick
    size=$(( length - ${#body} / 2 )); (( size <= chunk )) || size=$chunk
    ask "raw $storage $get ${reservation:-0 0} $id $(( 5 + ${#body} / 2 )) $size" || return
    if [[ ${answers[0]} != *[!0-9a-f\ ]* ]]; then
      head=(${answers[0]})
      (( ${#head[@]} > 2 )) || { said='a record ends early'; return 1; }
      printf -v more %s "${head[@]:2}"; body+=$more
    elif [[ ${answers[0]} == *rsp=0xc5* ]] && (( ++lost < 20 )); then
      ask "raw $storage 0x22" || return
      reservation="0x${answers[0]:1:2} 0x${answers[0]:4:2}" body=
    elif (( chunk > 8 )); then chunk=$(( chunk / 2 ))
    else said=${answers[0]}; return 1; fi
  done
  sdr+=$body next=$following
}

# Whether a record is of a sensor that is wanted.
is_wanted() {
  local hex=${1:96} length=$(( 16#${1:94:2} & 31 )) flags=$(( 16#${1:40:2} )) name= at want
  [[ ${#1} -gt 96 && ${1:10:2} == 20 && $(( 16#${1:12:2} & 3 )) == 0 ]] || return
  for (( at = 0; at < 2 * length; at += 2 )); do name+="\\x${hex:at:2}"; done
  printf -v name "$name"
  case ${1:42:2},$(( flags & 1 )) in 06,0|12,0|04,0|05,0|01,0|00,1) names+=", $name";; esac
  if (( ${#wanted[@]} == 0 )); then
    local plain=${name,,} pattern='^$'; plain=${plain//[_.-]/ }
    (( flags >> 6 != 3 && (16#${1:46:2} & 127) < 12 )) || return
    case ${1:42:2},$(( flags & 63 )) in
      06,0) pattern=$watts;; 12,0) pattern=$rpm;; 00,1) pattern=$percent;;
    esac
    [[ $plain =~ $pattern ]]
    return
  fi
  for at in "${!wanted[@]}"; do
    want=${wanted[at]}
    if [[ $name == "$want" || $name == $want || ${want,,} == "${1:14:2}h" ]]; then
      met[at]=1; return 0
    fi
  done
  return 1
}

# Leave out what is in the records and not in the machine, as an empty slot for a supply; once, because a
# sensor that goes away later is missing.
settle() {
  local at answer
  ask "${requests[@]}" || return
  for at in "${!answers[@]}"; do
    answer=(${answers[at]})
    case ${answers[at]} in
      *rsp=0xc[bcd]*) absent+="|${records[at]}";;
      *[!0-9a-f\ ]*) ;;
      *)  # not scanned, or FFh of a sensor without a sign
        (( ${#answer[@]} < 2 )) && continue
        (( 16#${answer[1]} & 64 && (16#${answer[0]} < 255 || 16#${records[at]:40:2} >> 6) )) \
          || absent+="|${records[at]}";;
    esac
  done
  settled=1
}

# The sensors to read are in records, the requests for their readings in requests.
open() {
  local at device
  records=() requests=() met=() names= next=0 reservation=
  start || { fail "$said"; return 1; }
  ask 'raw 0x06 0x01' || { fail "$said"; return 1; }
  device=(${answers[0]})
  storage=0x0a get=0x23
  if [[ ${#device[@]} -ge 6 && ${answers[0]} != *[!0-9a-f\ ]* ]] \
    && (( (16#${device[1]} & 128) && !(16#${device[5]} & 2) )); then storage=0x04 get=0x21; fi
  while (( next != 65535 )); do
    fetch || { fail "its sensor records cannot be read: $said"; return 1; }
    tick
    if [[ ${sdr:6:2} == 01 && $absent != *"$sdr"* ]] && is_wanted "$sdr"; then
      records+=("$sdr") requests+=("raw 0x04 0x2d 0x${sdr:14:2}")
    fi
  done
  if (( ${#wanted[@]} == 0 && ${#requests[@]} && !settled )); then
    settle || { fail "$said"; return 1; }
    for at in "${!records[@]}"; do
      [[ $absent != *"${records[at]}"* ]] || unset "records[at]" "requests[at]"
    done
    records=("${records[@]}") requests=("${requests[@]}")
  fi
  for at in "${!wanted[@]}"; do
    [[ ${met[at]-} ]] && continue
    fail "no sensor is called '${wanted[at]}'; there are ${names#, }" invalid; return 1
  done
  if [[ $dcmi != false ]]; then
    ask 'raw 0x2c 0x02 0xdc 0x01 0 0' || { fail "$said"; return 1; }
    if [[ $dcmi == auto && ${answers[0]} == ' dc 00 00'* ]]; then :  # it does not measure
    elif [[ ${answers[0]} == ' dc '* ]]; then requests+=('raw 0x2c 0x02 0xdc 0x01 0 0')
    elif [[ $dcmi == true ]]; then fail "no DCMI power here:${answers[0]}" invalid; return 1; fi
  fi
  (( ${#requests[@]} )) \
    || { fail "no sensor's name says that it measures power; there are ${names#, }" invalid; return 1; }
}

sweep() {
  local at
  ask "${requests[@]}" || { fail "$said"; return; }
  for at in "${!answers[@]}"; do record+="|${records[at]-dcmi} ${answers[at]//|/ }"; done
}

while :; do
  begin
  if [[ $state == closed ]] && (( now_us >= again_us )); then open; begin; fi
  [[ $state == closed ]] || sweep
  [[ $state == open ]] || record+="|$problem"
  emit
done
"""
)

_ADVICE = {
    "Could not open device": "load the kernel's ipmi_si and ipmi_devintf, or use the driver ipmi",
    "failed to run command": "install ipmitool",
    "stdbuf": "install coreutils",
}

_WORDS: Mapping[str, type[LinewattError]] = {"error": ParseError, "wait": NotReady, "invalid": InvalidInput}
"""what stands in a record in place of readings"""

_HEX = re.compile(r"(?: ?[0-9a-f]{2})+", re.ASCII)
_CODE = re.compile(r"rsp=0x([0-9a-f]{1,2})", re.ASCII)


class IpmitoolConfig(PowerConfig):
    """Which of the BMC's sensors."""

    interval_s: float = Field(default=1.0, ge=0.5, le=60.0, description="Seconds between readings.")
    device: int = Field(default=0, ge=0, le=99, description="N of /dev/ipmiN.")
    sensors: SensorNames | None = Field(
        default=None,
        description="Names of sensors, patterns such as `PSU* Power In`, or numbers such as `94h`; left out: "
        "power of supplies, system, CPUs and memory, and fans, as far as their names say so.",
    )
    dcmi: Literal["auto", True, False] = Field(
        default="auto", description="Whether DCMI power is read, too; auto: where the BMC has it."
    )


class Ipmitool(LineSensor):
    """A host's own BMC, read on the host with ipmitool; costs the host CPU time."""

    name: ClassVar[str] = "ipmitool"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[IpmitoolConfig]] = IpmitoolConfig
    needs_root: ClassVar[bool] = True

    def __init__(self, cfg: IpmitoolConfig) -> None:
        self._cfg = cfg
        self._channels: dict[str, Channel] = {}

    def command(self, cfg: IpmitoolConfig, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(cfg, ["ipmitool", "-I", "open", "-d", str(cfg.device)])

    def parse(self, record: str) -> dict[str, float | None]:
        """Readings by the sensors' own names; ``dcmi`` is DCMI's.

        Raises ParseError, NotReady or InvalidInput, also for a record that says why there are no readings.
        """
        return self._read(record)[0]

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings are None. Raises what :meth:`parse` raises."""
        return self._read(record)[1]

    def channel(self, name: str) -> Channel:
        """A channel of a record that was parsed before. Raises ParseError."""
        try:
            return as_configured(self._cfg, self._channels[name])
        except KeyError as error:
            raise ParseError(f"ipmitool: no record with a sensor {name!r} was read") from error

    def _read(self, record: str) -> tuple[dict[str, float | None], dict[str, str]]:
        parts = _parts(record)
        chosen = _chosen(tuple(record_or_dcmi for record_or_dcmi, _ in parts), self._cfg.sensors)
        if self._cfg.sensors is None and not any(record_or_dcmi == DCMI for record_or_dcmi, _ in parts):
            problem = sdr.no_power(
                list(chosen.values()), [chosen_sensor.sensor for chosen_sensor in chosen.values()]
            )
            if problem:
                raise InvalidInput(f"ipmitool: {problem}")
        values: dict[str, float | None] = {}
        reasons: dict[str, str] = {}
        for sensor_record, answer in parts:
            sensor = chosen.get(sensor_record)
            if sensor_record != DCMI and sensor is None:
                continue
            channel = sensor.channel if sensor else sdr.dcmi_channel()
            self._channels[channel.name] = channel
            value = _reading(sensor, answer)
            values[channel.name] = value_or_none(value)
            if isinstance(value, Missing):
                reasons[channel.name] = value.reason
        return values, reasons


def command(cfg: IpmitoolConfig, tool: Sequence[str]) -> list[str]:
    """The streaming process; ``tool`` is ipmitool and how it reaches the BMC."""
    interval_us = str(round(cfg.interval_s * 1e6))
    dcmi = cfg.dcmi if cfg.dcmi == "auto" else str(cfg.dcmi).lower()
    names = [patterns("W"), patterns("rpm"), patterns("ratio")]
    return [
        "bash",
        "-c",
        _SCRIPT,
        MARK,
        interval_us,
        dcmi,
        *names,
        str(len(tool)),
        *tool,
        *(cfg.sensors or ()),
    ]


def _parts(record: str) -> list[tuple[str, str]]:
    """(sensor record in hexadecimal or ``dcmi``, answer) of each reading. Raises what parse raises."""
    _, parts = parts_of_record(record, MARK)
    if not parts:
        raise ParseError(f"ipmitool: {record[:60]!r} is not a whole record")
    answers = [(key, answer.strip()) for key, _, answer in (part.partition(" ") for part in parts)]
    for key, answer in answers:
        if key in _WORDS:
            advice = next((f"; {advice}" for sign, advice in _ADVICE.items() if sign in answer), "")
            raise _WORDS[key](f"ipmitool: {answer}{advice}")
        if key != DCMI and not _HEX.fullmatch(key):
            raise ParseError(f"ipmitool: {key[:60]!r} is not a sensor record")
    return answers


@lru_cache(maxsize=256)
def _chosen(keys: tuple[str, ...], wanted_names: tuple[str, ...] | None) -> Mapping[str, sdr.Chosen]:
    """The sensors to show, by their records. Raises ParseError, InvalidInput."""
    sensors = {text: sdr.decode(bytes.fromhex(text)) for text in keys if text != DCMI}
    decoded = {text: sensor for text, sensor in sensors.items() if sensor is not None}
    if len(decoded) < len(sensors):
        raise ParseError("ipmitool: a sensor record is damaged")
    try:
        chosen = sdr.choose(list(decoded.values()), wanted_names, DCMI in keys, "the host's BMC")
    except InvalidInput as error:
        raise InvalidInput(f"ipmitool: {error}") from error
    texts = {id(sensor): text for text, sensor in decoded.items()}
    return {texts[id(chosen_sensor.sensor)]: chosen_sensor for chosen_sensor in chosen}


def _reading(chosen_sensor: sdr.Chosen | None, answer: str) -> float | Missing:
    """The value of a sensor, or of DCMI."""
    code = _CODE.search(answer)
    if code:
        return Missing(f"the BMC says: {sdr.said(int(code[1], 16))}")
    if not _HEX.fullmatch(answer):
        return Missing(f"ipmitool says: {answer[:200] or 'nothing'}")
    data = bytes.fromhex(answer)
    return sdr.reading(chosen_sensor.sensor, data) if chosen_sensor else sdr.dcmi_reading(data)


DRIVER = Ipmitool
