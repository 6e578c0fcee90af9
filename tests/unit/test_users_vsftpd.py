# SPDX-License-Identifier: Apache-2.0
"""vsftpd's configuration and its transfer log, without a vsftpd."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from linewatt.errors import InvalidInput, ParseError
from linewatt.loads.users.server_vsftpd import LoggedTransfer, Vsftpd, configuration, transfers

AT = PurePosixPath("/run/x")
SERVER = Vsftpd("127.0.0.1", 2121, (20000, 20999), AT, AT / "e", AT / "p", AT / "t.log", AT / "s.log")

LOG = """\
Sat Nov 21 14:32:50 2026 2 127.0.0.1 3145728 /get/a b _ o a secret ftp 0 * i
Sat Nov 21 14:32:48 2026 1 ::ffff:127.0.0.1 1000 /put/x_y b _ i a secret ftp 0 * c
"""
"""as vsftpd 3.0.3 wrote it"""


def options(server: Vsftpd) -> dict[str, str]:
    return dict(line.split("=", 1) for line in configuration(server).splitlines())


def test_the_configuration_keeps_users_in_a_folder_they_cannot_write_to() -> None:
    found = options(SERVER)
    assert found["anon_root"] == "/run/x"
    assert found["local_enable"] == "NO"
    assert (found["pasv_min_port"], found["pasv_max_port"]) == ("20000", "20999")
    assert found["seccomp_sandbox"] == found["isolate"] == found["isolate_network"] == "NO"
    assert (found["listen"], found["listen_address"]) == ("YES", "127.0.0.1")


def test_an_ipv6_address_is_listened_on_as_such() -> None:
    found = options(replace(SERVER, address="::1"))
    assert (found["listen"], found["listen_ipv6"], found["listen_address6"]) == ("NO", "YES", "::1")
    assert "listen_address" not in found


@pytest.mark.parametrize("home", ["/run/x\nlocal_enable=YES", "/run/x "])
def test_a_path_cannot_become_an_option(home: str) -> None:
    with pytest.raises(InvalidInput, match="anon_root"):
        configuration(replace(SERVER, home=PurePosixPath(home)))


def test_passive_ports_must_be_a_range() -> None:
    with pytest.raises(InvalidInput, match="passive ports 900 to 800"):
        replace(SERVER, passive_ports=(900, 800))


def test_the_log_says_who_moved_how_much_and_whether_all() -> None:
    assert list(transfers(LOG)) == [
        LoggedTransfer("127.0.0.1", "/get/a", 3145728, "get", False),
        LoggedTransfer("::ffff:127.0.0.1", "/put/x_y", 1000, "put", True),
    ]


def test_a_line_still_being_written_is_left_out_and_another_shape_refused() -> None:
    assert len(list(transfers(LOG + "Sat Nov 21 14:3"))) == 2
    with pytest.raises(ParseError, match="is no line of xferlog"):
        list(transfers("Sat Nov 21 hello\n"))
