# SPDX-License-Identifier: Apache-2.0
"""Running the bash scripts of sensors that stream from the kernel's files, over trees of such files."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from linewatt.sensors.base import Sensor

NOBODY = 65534
MOST_UNCHANGED = 600
START_US = 1_000_000_000
READ_US = 100
END_LIMIT_S = 20.0
"""shorter than the interval of a script that is told to end while it waits"""
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@contextmanager
def streaming(argv: list[str], *, anybody: bool = False) -> Iterator[Iterator[str]]:
    """The lines of the running process; ``anybody``: not as root, also when the tests are."""
    who: dict[str, Any] = (
        {"user": NOBODY, "group": NOBODY, "extra_groups": []} if anybody and os.geteuid() == 0 else {}
    )
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **who
    ) as process:
        assert process.stdout is not None
        try:
            yield iter(process.stdout)
        finally:
            process.terminate()


def records(argv: list[str], count: int, *, anybody: bool = False) -> list[str]:
    """The first records of the streaming process, which is then terminated."""
    with streaming(argv, anybody=anybody) as lines:
        return [line for _, line in zip(range(count), lines, strict=False)]


def next_other(lines: Iterator[str], before: str, shows: Callable[[str], object]) -> str:
    """The first record that shows something else than ``before``; others may be from before a change."""
    for line in islice(lines, MOST_UNCHANGED):
        if shows(line) != shows(before):
            return line
    raise AssertionError(f"{MOST_UNCHANGED} records show nothing else than {before.rstrip()!r}")


def stamps_us(argv: list[str], late_us: Sequence[int], *, own_clock: bool) -> list[tuple[int, int]]:
    """When each record of a paced script began and ended, with ``time_us`` as its clock.

    That begins with START_US and moves while the script reads, READ_US a time, and while it waits: by what it
    asks for, and by so much as it is woken late. Nothing is waited for in truth. With the last wait it ends.
    """
    script = _TIME + (_OWN_CLOCK if own_clock else _DATE) + argv[2]
    words = [*argv[:2], script.replace("LATE_US", " ".join(map(str, late_us))), *argv[3:]]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    stamps = re.findall(r"^linewatt-\w+ 1 (\d+).*\|end (\d+)$", done.stdout, re.MULTILINE)
    return [(int(begun_us), int(ended_us)) for begun_us, ended_us in stamps]


_TIME = f"""
unset EPOCHREALTIME
time_us={START_US} late_us=(LATE_US) turn=0
pass() {{ time_us=$(( time_us + $1 )); told; }}
read() {{
  if [[ $2 != -t ]]; then pass {READ_US}; builtin read "$@"; return; fi
  (( turn < ${{#late_us[@]}} )) || exit 0
  pass $(( 10#${{3/./}} + late_us[turn++] ))
}}
"""
_OWN_CLOCK = r"""
told() { builtin printf -v EPOCHREALTIME '%d.%06d' $(( time_us / 1000000 )) $(( time_us % 1000000 )); }
told
"""
_DATE = r"""
told() { :; }
date() { echo "$time_us"; }
"""


def cost_to_read(argv: list[str], pause_s: float, files: Iterable[Path]) -> float:
    """CPU time of one record, as a multiple of what bash needs to read these files line by line.

    Both stream with such pauses, in turn, so that a slow or busy machine changes nothing; seconds are in the
    bench. The start is left out.
    """
    own = [*argv[:2], _COUNTED + argv[2], *argv[3:]]
    reading = ["bash", "-c", _COUNTED + _READING, "reading", f"{pause_s:g}", *map(str, files)]
    turns = [[_used_s(one, count) for one in (own, reading) for count in (1, 11)] for _ in range(3)]
    least_s: list[float] = [min(costs_s) for costs_s in zip(*turns, strict=True)]
    own_1_s, own_11_s, reading_1_s, reading_11_s = least_s
    return (own_11_s - own_1_s) / (reading_11_s - reading_1_s)


_COUNTED = r"""
printf() { builtin printf "$@" && if [[ $1 == *'|end '* ]]; then (( --COUNT )); fi; }
"""
"""a record that cannot be printed ends the script, and that is now the last one of so many"""
_READING = r"""
exec {never}<> <(:)
pause_s=$1; shift
while :; do
  for file; do while read -r line; do :; done <"$file"; done
  printf '%s|end %s\n' read "$pause_s" || exit
  read -r -t "$pause_s" -u "$never"
done
"""


def _used_s(argv: list[str], count: int) -> float:
    """CPU time of a script until so many records are out."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "COUNT": str(count)}
    done = subprocess.run(
        argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.count("|end ") == count
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def status_when_told(argv: list[str], sent: signal.Signals) -> int:
    """Exit status of a script that gets a signal while it waits, with no child that could outlive it."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            end_s = time.monotonic() + END_LIMIT_S
            left: list[int] = []
            while state(process.pid) != "S" or (left := children(process.pid)):
                assert time.monotonic() < end_s, f"waited {END_LIMIT_S:g} s for it to wait without {left}"
                time.sleep(0.01)
            process.send_signal(sent)
            return process.wait(END_LIMIT_S)
        finally:
            process.kill()


def children(pid: int) -> list[int]:
    """Those that run; one that has ended may be known until somebody asks for its status."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed if state(int(child)) not in ("Z", None)]


def state(pid: int) -> str | None:
    """R, S, Z … as in proc(5); None: it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return None


@contextmanager
def open_tree() -> Iterator[Path]:
    """A folder that anybody may look into, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


def replace(path: Path, text: str) -> None:
    """New contents at once, as the kernel's files change: nobody sees half of them."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.rename(path)


def cut_records(sensor: Sensor, lines: Iterable[str]) -> Iterator[str]:
    """The records of a stream of lines (without their newlines); an unfinished last one is left out."""
    record: list[str] = []
    for line in lines:
        record.append(line)
        if sensor.ends_record(line):
            yield "\n".join(record)
            record.clear()
