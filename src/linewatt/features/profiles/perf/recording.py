# SPDX-License-Identifier: Apache-2.0
"""How stacks are recorded on a host, so that nothing is left there: a constant script around perf(1).

perf writes to a file that has no name any more, in memory where there is room, and is killed or cut off
without a trace. Symbols and build ids are resolved on the host, where the binaries are, once the window is
over; stacks are folded there, so that what travels is each stack once and how often it was seen. Checked with
perf 6.1, with mawk, gawk and busybox's awk.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from linewatt.features.profiles.perf import memory
from linewatt.features.profiles.perf.counters import EVENTS
from linewatt.foreign import MIB
from linewatt.hosts.facts import format_cpulist

SOFTWARE_CLOCK = "cpu-clock"
HARDWARE_CLOCK = "cycles"
FREQUENCIES_HZ = (499, 199, 97, 47, 23, 11)
"""odd, so that they do not fall in step with the kernel's tick"""
MOST_SAMPLES = 60_000
"""of a host: enough for shares within a tenth of a percent"""
SAMPLE_BYTES = 1100
"""of one with a stack of 127 functions, which is what kernels keep (kernel.perf_event_max_stack)"""
MOST_STACKS = 20_000
"""that are told apart; of tens of thousands of samples most are seen more than once"""
MOST_BYTES = 48 * MIB
"""of what a host says: so many stacks as long as they can be"""
FEWEST_SLICES = 20
MOST_SLICES = 60
_START_S = 15.0
"""what perf may take to begin, to resolve symbols and to fold"""
MARK = "linewatt-profile 1"

# $1 event, $2 samples a second, $3 CPUs, $4 seconds, $5 seconds of a slice, $6 KiB that may be needed,
# $7 stacks at most, $8 what folds them, $9 what is counted beside it, then the CPUs of each place for that
SCRIPT = (
    r"""export LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
folder=
for one in /dev/shm /run /var/tmp /tmp; do
  [ -d "$one" ] && [ -w "$one" ] || continue
  free=$(df -Pk "$one" 2>/dev/null | awk 'END { print $4 }')
  case $free in ''|*[!0-9]*) continue ;; esac
  [ "$free" -ge "$6" ] && { folder=$one; break; }
done
[ "$folder" ] || { echo "no folder for temporary files has $6 KiB free" >&2; exit 3; }
name=$(mktemp "$folder/linewatt-profile.XXXXXX") || exit 3
exec 3<>"$name"; rm -f -- "$name"
"""
    + memory.PREPARE
    + r"""
counting=()
for cpus in "${@:10}"; do
  exec {number}< <(perf stat -x, -e "$9" -C "$cpus" -- sleep "$4" 2>&1 >/dev/null)
  counting+=("$number")
done
"""
    + memory.BEGIN
    + r"""
times=$(perf record -o /proc/self/fd/3 -N -e "$1" -F "$2" -g -C "$3" -- \
  sh -c 'date +%s.%N; sleep "$1"; date +%s.%N' sh "$4") || exit
"""
    + memory.AFTER
    + r"""
echo "linewatt-profile 1"
echo "times" $times
perf buildid-list -f -i /proc/self/fd/3 2>/dev/null | sed 's/^/build /'
perf script -f -i /proc/self/fd/3 --no-inline --show-lost-events -F comm,pid,cpu,time,ip,sym,dso |
awk -v slice_s="$5" -v most="$7" "$8"
status=${PIPESTATUS[*]}
for place in "${!counting[@]}"; do
  while IFS= read -r line; do printf 'N\t%s\t%s\n' "$place" "$line"; done <&"${counting[place]}"
done
"""
    + memory.END
    + r"""
echo "ended $status"
"""
)

# Input: what `perf script` prints. Output: functions (name, binary) from 0, stacks (process, its functions,
# the outermost first), counts (slice, CPU, stack, samples), totals (samples, lost, cut, not told apart)
FOLD = r"""
function number_of(what) {
  if (!(what in numbers)) { numbers[what] = functions++; print "F\t" what }
  return numbers[what]
}
function counted(   at, key) {
  if (!inside) return
  inside = 0
  if (pid > 0 && depth && whole[depth] == "[unknown]\t[unknown]") cut++
  while (depth > 1 && whole[depth] == "[unknown]\t[unknown]") depth--
  key = ""
  for (at = depth; at >= 1; at--) {
    key = key " " number_of(whole[at])
    if (nobody && whole[at] ~ /^(do_idle|cpu_startup_entry)\t/) nobody = 0
  }
  if (pid < 1) process = nobody ? "[outside]" : "swapper"
  key = process "\t" key
  if (!(key in stacks)) {
    if (stack >= most) { key = "[more]\t"; further++ }
    if (!(key in stacks)) { stacks[key] = stack++; print "S\t" key }
  }
  seen[slice " " cpu " " stacks[key]]++
  samples++
}
/^\t/ {
  if (!inside) next
  line = $0
  sub(/^\t *[0-9a-f]+ /, "", line)
  sub(/ \(deleted\)\)$/, ")", line)
  if (match(line, / \([^(]*\)$/)) {
    binary = substr(line, RSTART + 2, RLENGTH - 3)
    line = substr(line, 1, RSTART - 1)
  } else binary = "[unknown]"
  gsub(/\t/, " ", line)
  whole[++depth] = line "\t" binary
  next
}
/^$/ { counted(); next }
{
  counted()
  if (match($0, / lost [0-9]+/) && $0 ~ /PERF_RECORD_LOST/) {
    lost += substr($0, RSTART + 6, RLENGTH - 6)
    next
  }
  if (!match($0, / +-?[0-9]+ +\[[0-9]+\] +[0-9]+\.[0-9]+: *$/)) next
  process = substr($0, 1, RSTART - 1)
  rest = substr($0, RSTART, RLENGTH)
  gsub(/\t/, " ", process)
  gsub(/\[/, " ", rest)
  gsub(/\]/, " ", rest)
  gsub(/:/, " ", rest)
  split(rest, part, " ")
  pid = part[1] + 0
  nobody = pid < 1 && process !~ /^swapper/
  cpu = part[2] + 0
  if (first == "") first = part[3]
  slice = int((part[3] - first) / slice_s)
  if (slice < 0) slice = 0
  depth = 0
  inside = 1
}
END {
  counted()
  for (key in seen) { split(key, part, " "); print "C\t" part[1] "\t" part[2] "\t" part[3] "\t" seen[key] }
  printf "totals %d %d %d %d\n", samples, lost, cut, further
}
"""


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded on a host, for how long, and how it is divided for intervals."""

    cpus: tuple[int, ...]
    seconds: float
    event: str
    counted: tuple[tuple[int, ...], ...] = ()
    """the CPUs of each place whose counters are read beside it"""

    @property
    def frequency_hz(self) -> int:
        """Samples a second of each CPU: the most that keeps all of them within bounds."""
        most_hz = MOST_SAMPLES / (max(1, len(self.cpus)) * max(1.0, self.seconds))
        return next(
            (candidate_hz for candidate_hz in FREQUENCIES_HZ if candidate_hz <= most_hz), FREQUENCIES_HZ[-1]
        )

    @property
    def slices(self) -> int:
        """About a second each, but enough of them to tell how shares vary."""
        return min(MOST_SLICES, max(FEWEST_SLICES, math.floor(self.seconds)))

    @property
    def slice_s(self) -> float:
        return self.seconds / self.slices

    @property
    def room_kib(self) -> int:
        """What its file may need."""
        samples = self.frequency_hz * self.seconds * len(self.cpus)
        return math.ceil(samples * SAMPLE_BYTES / 1024) + 4096

    @property
    def limit_s(self) -> float:
        """When it has ended, if it ever does."""
        return self.seconds + _START_S + 2e-4 * self.frequency_hz * self.seconds * len(self.cpus)


def command(recording: Recording) -> list[str]:
    """The argument list; it begins to record when it is started."""
    words = (
        recording.event,
        recording.frequency_hz,
        format_cpulist(recording.cpus),
        f"{recording.seconds:g}",
        f"{recording.slice_s:.6f}",
        recording.room_kib,
        MOST_STACKS,
        FOLD,
        ",".join(EVENTS),
        *map(format_cpulist, recording.counted),
    )
    return ["bash", "-c", SCRIPT, "linewatt", *map(str, words)]


def one_each(*groups: Collection[int]) -> tuple[int, ...]:
    """The CPUs of several groups, each once."""
    return tuple(sorted({cpu for group in groups for cpu in group}))
