# SPDX-License-Identifier: Apache-2.0
"""The folder of a users' server: made and removed by its own scripts, which touch nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.features.users.folder_knob import PREFIX, UsersFolder
from linewatt.tuning.base import Command

KNOB = UsersFolder()
NAME = f"{PREFIX}0123456789ab"


def run(command: Command) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command.argv, input=command.stdin, capture_output=True, text=True, timeout=30, check=False
    )


def shown(path: Path) -> str:
    done = run(KNOB.read(str(path)))
    assert done.returncode == 0, done.stderr
    return KNOB.parse(done.stdout)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/dev/shm",
        f"{NAME}",
        f"/dev/shm/{NAME}/",
        f"/dev/shm/{NAME}/..",
        f"/dev/shm/../{NAME}",
        f"/dev/./{NAME}",
        f"//{NAME}",
        f"/dev/shm/{NAME}\n",
        f"/dev/shm/{NAME}0",
        f"/dev/shm/{PREFIX}",
        f"/dev/shm/{PREFIX}*",
        f"/dev/shm/{PREFIX}0123456789AB",
        f"/dev/sh m/{NAME}",
        f"/dev/$(reboot)/{NAME}",
    ],
)
def test_a_path_that_is_not_linewatts_own_is_neither_read_nor_made_nor_removed(target: str) -> None:
    with pytest.raises(ChangeError, match="nothing there is touched"):
        KNOB.read(target)
    for setting in ("absent", "present"):
        with pytest.raises(ChangeError, match="nothing there is touched"):
            KNOB.write(target, setting)


@pytest.mark.parametrize("folder", ["", "/dev/shm", "/srv/..x/a.b", "/mnt/disk-1_2"])
def test_a_path_below_any_folder_is_its_own(folder: str) -> None:
    assert KNOB.read(f"{folder}/{NAME}").argv[-1] == f"{folder}/{NAME}"


def test_it_is_made_for_root_alone_and_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / NAME
    assert shown(path) == "absent"
    assert run(KNOB.write(str(path), "present")).returncode == 0
    assert shown(path) == "present"
    assert path.stat().st_mode & 0o777 == 0o700
    (path / "home" / "put").mkdir(parents=True)
    (path / "home" / "put" / "-rf").write_text("x")
    assert run(KNOB.write(str(path), "absent")).returncode == 0
    assert shown(path) == "absent"
    assert run(KNOB.write(str(path), "absent")).returncode == 0, "what is gone can be removed again"


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    path, precious = tmp_path / NAME, tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    path.mkdir(0o700)
    (path / "link").symlink_to(precious)
    assert run(KNOB.write(str(path), "absent")).returncode == 0
    assert not path.exists()
    assert (precious / "file").read_text() == "x"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_a_file_of_that_name_is_refused_and_stays(tmp_path: Path, kind: str) -> None:
    path, precious = tmp_path / NAME, tmp_path / "precious"
    precious.mkdir()
    if kind == "link":
        path.symlink_to(precious)
    else:
        path.write_text("x")
    with pytest.raises(ParseError, match="remove it by hand"):
        shown(path)
    done = run(KNOB.write(str(path), "absent"))
    assert (done.returncode, "by hand" in done.stderr) == (1, True)
    assert run(KNOB.write(str(path), "present")).returncode != 0
    assert os.path.lexists(path)
    assert precious.is_dir()


def test_behind_a_linked_folder_nothing_is_made_or_removed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / NAME).mkdir(parents=True, mode=0o700)
    (tmp_path / "link").symlink_to(real)
    assert run(KNOB.write(str(tmp_path / "link" / NAME), "absent")).returncode == 1
    assert (real / NAME).is_dir()
    other = tmp_path / "link" / f"{PREFIX}ba9876543210"
    done = run(KNOB.write(str(other), "present"))
    assert done.returncode == 1
    assert "symbolic link" in done.stderr
    assert not other.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="another owner needs root")
def test_a_folder_of_somebody_else_stays(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.mkdir(0o700)
    os.chown(path, 1, 1)
    done = run(KNOB.write(str(path), "absent"))
    assert (done.returncode, path.is_dir()) == (1, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to log in as somebody with less rights")
def test_where_a_login_may_not_look_it_does_not_say_absent(tmp_path: Path) -> None:
    closed = Path("/tmp") / f"linewatt-closed-{os.getpid()}"
    (closed / "in").mkdir(parents=True)
    try:
        closed.chmod(0o700)
        argv = KNOB.read(str(closed / "in" / NAME)).argv
        as_nobody = ["setpriv", "--reuid=65534", "--clear-groups", *argv]
        done = subprocess.run(as_nobody, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 1
        assert "may not look into" in done.stderr
    finally:
        (closed / "in").rmdir()
        closed.rmdir()


def test_a_folder_whose_parent_is_gone_is_absent(tmp_path: Path) -> None:
    assert shown(tmp_path / "a" / "b" / NAME) == "absent"


def test_one_that_is_there_already_is_not_taken_over() -> None:
    assert KNOB.wanted("absent", "present") == "present"
    assert KNOB.wanted("present", "absent") == "absent"
    with pytest.raises(ChangeError, match="there already"):
        KNOB.wanted("present", "present")
    with pytest.raises(InvalidInput):
        KNOB.wanted("absent", "gone")


def test_processes_of_its_server_end_before_it_goes_and_no_others(tmp_path: Path) -> None:
    """Told by the configuration they were started with, whatever became of their parents."""
    path = tmp_path / NAME
    path.mkdir(0o700)
    (tmp_path / "vsftpd").symlink_to("/bin/tail")
    for folder in (path, tmp_path):
        (folder / "vsftpd.conf").write_text("")
    program = str(tmp_path / "vsftpd")
    own = subprocess.Popen(["tail", "-f", "/dev/null"])
    ours = subprocess.Popen([program, str(path / "vsftpd.conf"), "-f"], start_new_session=True)
    other = subprocess.Popen([program, str(tmp_path / "vsftpd.conf"), "-f"])
    try:
        assert run(KNOB.write(str(path), "absent")).returncode == 0
        assert ours.wait(5) == -9
        assert (own.poll(), other.poll()) == (None, None)
        assert not path.exists()
    finally:
        for each in (own, ours, other):
            each.kill()
            each.wait(5)
