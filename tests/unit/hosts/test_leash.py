# SPDX-License-Identifier: Apache-2.0
"""The leash, on this machine: real bash, real processes, real ends of file."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from linewatt.errors import WaitTimeout
from linewatt.hosts import leash
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.clock import Exchange, best_offset, now_s
from linewatt.hosts.local import LocalHost

HOST = LocalHost(HostSpec("here", "local", "lo"))


AS_FIRST = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]

# Argument: the anchor's command as JSON. The first process is called sshd, as in a container that runs
# nothing else; the process of a connection ends before or after the anchor has begun.
FIRST = """
import json, os, signal, sys
Path = __import__("pathlib").Path
argv, when = json.loads(sys.argv[1]), sys.argv[2]
Path("/proc/self/comm").write_text("sshd")
signal.signal(signal.SIGTERM, lambda *_: os._exit(15))
ended, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    beats, beat = os.pipe()
    os.set_inheritable(beats, True)
    if os.fork() == 0:
        os.close(beat)
        if when == "before":
            os.read(ended, 1)
        os.dup2(beats, 0)
        os.execvp(argv[0], argv)
    if when == "after":
        os.write(beat, b"1 1.5\\n")
        while Path("/proc/3/comm").read_text() != "bash\\n":
            pass
    os._exit(0)
os.wait()
os.close(end)
os.wait()
print("still here")
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool], limit_s: float, awaited: str) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"waited {limit_s} s for {awaited}"
        time.sleep(0.01)


def test_commands_on_this_machine_do_not_inherit_what_may_be_a_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`password_env` is in linewatt's own environment, and a local host's load must not carry it about."""
    monkeypatch.setenv("BMC_PASSWORD", "canary-1d0e")
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")

    async def scene() -> None:
        done = await HOST.run(["env"])
        assert "canary" not in done.stdout
        assert "LC_CTYPE=C.UTF-8" in done.stdout
        process = await HOST.start(["env"])
        assert "canary" not in (await process.wait(5, "env to end")).stdout

    asyncio.run(scene())


def test_a_command_gives_its_output_its_status_and_its_times() -> None:
    async def scene() -> None:
        before_s = now_s()
        process = await HOST.start(["sh", "-c", "echo out; echo err >&2; exit 7"])
        ended = await process.wait(5, "the command")
        assert (ended.status, ended.stdout, ended.stderr) == (7, "out\n", "err\n")
        assert ended.started_s is not None
        assert ended.ended_s is not None
        assert before_s - 0.1 <= ended.started_s <= ended.ended_s <= now_s() + 0.1

    asyncio.run(scene())


def test_a_held_command_starts_when_it_is_released_and_not_before(tmp_path: Path) -> None:
    async def scene() -> None:
        mark = tmp_path / "mark"
        process = await HOST.start(["touch", str(mark)], held=True)
        await process.ready()
        assert not mark.exists()
        process.release()
        await process.wait(5, "touch")
        assert mark.exists()

    asyncio.run(scene())


def test_a_held_command_is_on_its_cpus_before_it_is_released() -> None:
    async def scene() -> None:
        process = await HOST.start(
            ["sh", "-c", "nproc; echo $$ >&2"], wrapper=["taskset", "-c", "0"], held=True
        )
        await process.ready()
        assert process.so_far().started_s is None
        released_s = now_s()
        process.release()
        ended = await process.wait(5, "nproc")
        assert (ended.status, ended.stdout) == (0, "1\n")
        assert ended.started_s is not None
        assert released_s <= ended.started_s <= now_s()

    asyncio.run(scene())


def test_a_held_command_that_is_stopped_never_starts_and_leaves_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        mark = tmp_path / "mark"
        process = await HOST.start(["touch", str(mark)], wrapper=["env", f"IN={tmp_path}"], held=True)
        await process.ready()
        ended = await process.stop()
        assert ended.started_s is None
        assert ended.status != 0
        assert not mark.exists()

    asyncio.run(scene())
    held = f"IN={tmp_path}".encode()
    environments = (path for path in Path("/proc").glob("[0-9]*/environ"))
    assert not [path for path in environments if held in _bytes_of(path)]


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_stopping_interrupts_so_that_a_tool_can_finish_its_output() -> None:
    async def scene() -> None:
        script = "trap 'echo closed; exit 0' INT; echo up; sleep 9 & wait"
        lines: list[Line] = []
        up = asyncio.Event()

        def on_line(line: Line) -> None:
            lines.append(line)
            up.set()

        process = await HOST.start(["bash", "-c", script], on_line=on_line)
        await asyncio.wait_for(up.wait(), 5)
        ended = await process.stop()
        assert [line.text for line in lines] == ["up", "closed"]
        assert ended.status == 0

    asyncio.run(scene())


def test_a_command_that_ignores_the_interrupt_is_killed_with_its_children() -> None:
    async def scene() -> int:
        pids: list[str] = []
        up = asyncio.Event()

        def on_line(line: Line) -> None:
            pids.append(line.text)
            up.set()

        script = "trap '' INT; sh -c \"trap '' INT; while :; do sleep 5; done\" & echo $!; wait"
        process = await HOST.start(["bash", "-c", script], on_line=on_line)
        await asyncio.wait_for(up.wait(), 5)
        ended = await process.stop()
        assert ended.status == 128 + signal.SIGKILL
        return int(pids[0])

    child = asyncio.run(scene())
    until(lambda: not alive(child), 1, "the grandchild to be gone")


def test_everything_ends_within_two_seconds_of_a_killed_controller() -> None:
    argv = leash.leashed(["sh", "-c", "trap '' INT; echo $$; exec sleep 60"], held=False, root=False)
    controller = subprocess.Popen(
        [
            "python3",
            "-c",
            "import subprocess, sys, time\n"
            "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
            "time.sleep(60)",
            *argv,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert controller.stdout is not None
    child = int(controller.stdout.readline())
    assert alive(child)
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait(5)
    until(lambda: not alive(child), 2, "the leashed command to be gone")
    controller.stdout.close()


APART = "setsid bash -c \"trap '' INT; echo \\$\\$; exec sleep 60\" & wait"
"""what a wrapper around a load does that puts it into a session of its own"""


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_what_went_into_a_session_of_its_own_ends_with_its_leash(how: str) -> None:
    async def stopped() -> int:
        lines: asyncio.Queue[str] = asyncio.Queue()
        process = await HOST.start(["bash", "-c", APART], on_line=lambda line: lines.put_nowait(line.text))
        pid = int(await asyncio.wait_for(lines.get(), 5))
        await process.stop()
        return pid

    if how == "stopped":
        stray = asyncio.run(stopped())
    else:
        code = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE).wait()"
        argv = leash.leashed(["bash", "-c", APART], held=False, root=False)
        controller = subprocess.Popen([sys.executable, "-c", code, *argv], stdout=subprocess.PIPE, text=True)
        assert controller.stdout is not None
        stray = int(controller.stdout.readline())
        assert alive(stray)
        os.kill(controller.pid, signal.SIGKILL)
        controller.wait(5)
        controller.stdout.close()
    until(lambda: not alive(stray), 2, "the process in a session of its own to be gone")


def test_what_went_into_a_session_of_its_own_ends_with_a_load_that_ends_by_itself() -> None:
    async def ended() -> int:
        apart = "setsid bash -c 'echo $$; exec sleep 60 >/dev/null 2>&1' & read -r -t 0.2 <> <(:); exit 0"
        process = await HOST.start(["bash", "-c", apart])
        return int((await process.wait(10, "its end")).stdout)

    stray = asyncio.run(ended())
    until(lambda: not alive(stray), 2, "the process in a session of its own to be gone")


@pytest.mark.parametrize("streams", ["kept", "closed"])
def test_a_killed_leash_makes_its_host_suspect_and_a_stopped_process_does_not(streams: str) -> None:
    async def check() -> None:
        host, lines = LocalHost(HostSpec("here", "local", "lo")), asyncio.Queue[str]()
        closed = ">/dev/null 2>&1" if streams == "closed" else ""
        words = ["bash", "-c", f"echo $$ $PPID; exec sleep 60 {closed}"]
        stopped = await host.start(words)
        await stopped.ready()
        await stopped.stop()
        assert not host.may_have_strays
        process = await host.start(words, on_line=lambda line: lines.put_nowait(line.text))
        pid, leash_pid = map(int, (await asyncio.wait_for(lines.get(), 5)).split())
        os.kill(leash_pid, signal.SIGKILL)
        try:
            with suppress(WaitTimeout):
                await process.stop(0.2)
            assert host.may_have_strays
        finally:
            os.kill(pid, signal.SIGKILL)
            await host.close()

    asyncio.run(check())


def test_what_a_short_command_started_again_outlives_it(tmp_path: Path) -> None:
    """It may be a service of the host, which a setting had stopped."""
    mark = tmp_path / "pid"
    begins = f"setsid sh -c 'echo $$ >{mark}; exec sleep 60' </dev/null >/dev/null 2>&1 &"
    script = f"{begins} until [ -s {mark} ]; do sleep 0.01; done"
    asyncio.run(HOST.run(["bash", "-c", script]))
    service = int(mark.read_text())
    try:
        assert alive(service)
        assert "LINEWATT_LEASH" not in Path(f"/proc/{service}/environ").read_text()
    finally:
        os.kill(service, signal.SIGKILL)


def test_a_closed_host_has_nothing_running_and_leaves_no_stream_to_its_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stream that is open when its loop closes is told on stderr, once it is collected."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    async def leave_one() -> int | None:
        host = LocalHost(HostSpec("here", "local", "lo"))
        await host.run(["true"])
        process = await host.start(["sleep", "60"])
        await process.ready()
        await host.close()
        return process.pid

    pid = asyncio.run(leave_one())
    gc.collect()
    assert told == []
    assert pid is not None
    assert not alive(pid)


def test_a_wait_that_runs_out_says_what_was_awaited() -> None:
    async def scene() -> None:
        process = await HOST.start(["sleep", "30"])
        with pytest.raises(WaitTimeout, match=r"waited 0\.1 s for here: the nap"):
            await process.wait(0.1, "the nap")
        await process.stop()

    asyncio.run(scene())


@pytest.mark.parametrize("word", ["a b", "it's", '"', "$(id)", "`id`", "$HOME", "\\", "*", "; id", "\n", "é"])
def test_no_word_of_a_command_reaches_a_shell_unquoted(word: str) -> None:
    line = leash.shell_line(leash.leashed(["printf", "%s", word], held=False, root=False))
    with subprocess.Popen(["bash", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        assert shell.stdout.read().decode() == word


@pytest.mark.parametrize("word", ["it's", "a\nb", "!!", "$HOME `id` \\n %s", "é", ""])
def test_a_line_for_other_login_shells_has_only_what_they_do_not_act_on(word: str) -> None:
    line = leash.encoded_line(["printf", "%s", word])
    assert re.fullmatch(r"[ -~]+", line)
    assert "!" not in line
    assert subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout.decode() == word


def test_marks_are_separated_from_what_the_command_said() -> None:
    text = f"{leash.MARK} pid 4711\n{leash.MARK} start 12.5\noops\n{leash.MARK} end 13.5 1\n"
    marks = leash.read_marks(text)
    assert (marks.started_s, marks.ended_s, marks.stderr, marks.pid) == (12.5, 13.5, "oops\n", 4711)
    assert leash.read_marks(f"{leash.MARK} pid 47").pid is None, "the rest of the line has not arrived"


def said(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.parametrize("held", [False, True])
def test_a_leashed_command_is_known_by_its_process_id(held: bool) -> None:
    async def scene() -> None:
        process = await HOST.start(["sleep", "30"], wrapper=["taskset", "-c", "0"], held=held)
        await process.ready()
        process.release()
        async with asyncio.timeout(5):
            while process.pid is None or said(process.pid) != b"sleep\x0030\x00":  # noqa: ASYNC110  /proc only answers
                await asyncio.sleep(0.01)
        await process.stop()

    asyncio.run(scene())


@pytest.mark.parametrize("held", [False, True])
def test_a_command_that_was_put_on_its_cpus_tells_how_often_it_had_been_moved(held: bool) -> None:
    """From then on it is only moved by others: its count stays, also behind the exec."""

    async def scene() -> None:
        process = await HOST.start(["cat", "/proc/self/sched"], wrapper=["taskset", "-c", "0"], held=held)
        await process.ready()
        process.release()
        ended = await process.wait(5, "sched")
        (line,) = (line for line in ended.stdout.splitlines() if line.startswith("se.nr_migrations"))
        assert process.start_migrations == int(line.split()[-1])
        assert ended.stderr == ""

    asyncio.run(scene())


def test_the_clock_offset_comes_from_the_quickest_exchange() -> None:
    slow, quick = Exchange(0.0, 105.0, 4.0), Exchange(10.0, 110.06, 10.1)
    offset = best_offset([slow, quick])
    assert offset is not None
    assert offset.offset_s == pytest.approx(100.01)
    assert offset.uncertainty_s == pytest.approx(0.05)
    assert offset.to_controller(110.01) == pytest.approx(10.0)
    assert best_offset([]) is None


@pytest.mark.skipif(
    subprocess.run([*AS_FIRST, "true"], capture_output=True, check=False).returncode != 0,
    reason="no namespace of process ids for this user",
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_anchor_whose_connection_has_ended_does_not_end_the_first_process_of_the_host(when: str) -> None:
    argv = [*AS_FIRST, sys.executable, "-S", "-c", FIRST, json.dumps(leash.anchor(1.5)), when]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("still here\n")


STUBBORN = 'trap "" INT TERM; echo $$ >"$1"; while :; do sleep 5; done'
NESTED = f"""timeout 60 bash -c '{STUBBORN}' x "$1" & wait"""
BUSY_S = 1.0
"""what a busy machine may add"""


@pytest.mark.parametrize("script", [STUBBORN, NESTED], ids=["alone", "in a group of its own"])
@pytest.mark.parametrize("how", ["cancelled", "late", "stopped"])
def test_a_tool_that_ignores_being_asked_ends_within_two_seconds(
    tmp_path: Path, script: str, how: str
) -> None:
    mark = tmp_path / "pid"
    argv = ["bash", "-c", script, "x", str(mark)]

    async def up() -> None:
        async with asyncio.timeout(10):
            while not (mark.exists() and mark.read_text()):  # noqa: ASYNC110  a file only answers
                await asyncio.sleep(0.01)

    async def scene() -> float:
        if how == "stopped":
            process = await HOST.start(argv)
            await up()
            asked_s = time.monotonic()
            await process.stop()
            return asked_s
        task = asyncio.ensure_future(HOST.run(argv, timeout_s=1.0 if how == "late" else 60.0))
        await up()
        asked_s = time.monotonic()
        if how == "late":
            with pytest.raises(WaitTimeout, match=r"here: bash did not end within 1 s"):
                await task
            return asked_s + 1.0
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asked_s

    asked_s = asyncio.run(scene())
    assert time.monotonic() - asked_s < 2.0 + BUSY_S
    until(lambda: not alive(int(mark.read_text())), 2.0, "the tool to be gone")


def test_a_short_command_gets_its_input_and_its_end_of_file_and_keeps_its_own_words() -> None:
    async def scene() -> None:
        text = "é\n" * 40_000 + "no end of line"
        done = await HOST.run(["bash", "-c", "cat; printf 'no end' >&2; exit 3"], stdin=text)
        assert (done.status, done.stdout, done.stderr) == (3, text, "no end")
        assert (await HOST.run(["cat"])).stdout == ""
        assert (await HOST.run(["true"], stdin="x" * 200_000)).status == 0, "nobody has to read it"

    asyncio.run(scene())


def test_a_short_command_ends_within_two_seconds_of_a_killed_controller(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    words = leash.brief(["bash", "-c", STUBBORN, "x", str(mark)], limit_s=60, size=0, root=False)
    code = """import subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True)
time.sleep(60)"""
    controller = subprocess.Popen([sys.executable, "-c", code, *words])
    until(lambda: mark.exists() and mark.read_text() != "", 10, "the command to run")
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait(5)
    until(lambda: not alive(int(mark.read_text())), 2, "the command to be gone")
