# SPDX-License-Identifier: Apache-2.0
"""vsftpd's configuration and its log, without a vsftpd."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.features.users.worker.server_vsftpd import LogTotals, VsftpdSettings, configuration

SETTINGS = VsftpdSettings(("127.0.0.1",), 1, passive_ports=(20000, 20999))

CAPTURES = sorted((Path(__file__).parents[3] / "captures" / "vsftpd").iterdir())
"""logs that vsftpd wrote: logins, transfers whole and cut, refusals, a full disk, strange names"""


def options(settings: VsftpdSettings) -> dict[str, str]:
    text = configuration(settings, PurePosixPath("/run/x"), "ftp")
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_configuration_keeps_users_in_a_folder_they_cannot_write_to() -> None:
    found = options(SETTINGS)
    assert found["anon_root"] == "/run/x/home"
    assert found["local_enable"] == "NO"
    assert (found["pasv_min_port"], found["pasv_max_port"]) == ("20000", "20999")
    assert found["seccomp_sandbox"] == found["isolate"] == found["isolate_network"] == "NO"
    assert (found["listen"], found["listen_address"]) == ("YES", "127.0.0.1")


def test_an_ipv6_address_is_listened_on_as_such() -> None:
    found = options(replace(SETTINGS, addresses=("::1",)))
    assert (found["listen"], found["listen_ipv6"], found["listen_address6"]) == ("NO", "YES", "::1")
    assert "listen_address" not in found


@pytest.mark.parametrize(
    ("folder", "user", "key"),
    [("/run/x\nlocal_enable=YES", "ftp", "anon_root"), ("/run/x", "ftp ", "ftp_username")],
)
def test_a_word_cannot_become_an_option(folder: str, user: str, key: str) -> None:
    with pytest.raises(InvalidInput, match=key):
        configuration(SETTINGS, PurePosixPath(folder), user)


def test_passive_ports_must_be_a_range() -> None:
    with pytest.raises(InvalidInput, match="passive ports 900 to 800"):
        replace(SETTINGS, passive_ports=(900, 800))


# --- its own log -------------------------------------------------------------------------------------------


def totals(*pieces: str) -> dict[str, Any]:
    found = LogTotals()
    for piece in pieces:
        found.take(piece)
    return {name: value for name, value in asdict(found).items() if not name.startswith("_")}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_what_it_logged_is_added_up(capture: Path) -> None:
    expected = json.loads((capture / "expected.json").read_text())
    assert totals((capture / "server.log").read_text()) == expected


@given(st.lists(st.integers(0, 3000), max_size=12))
def test_wherever_a_log_is_cut_into_pieces_each_line_counts_once(cuts: list[int]) -> None:
    log = (CAPTURES[0] / "server.log").read_text()
    pieces = [log[start:end] for start, end in pairwise([0, *sorted(cuts), len(log)])]
    assert totals(*pieces) == totals(log)


def test_a_line_still_being_written_counts_when_it_is_ended_and_not_before() -> None:
    log = (CAPTURES[0] / "server.log").read_text()
    before, line, _ = log.partition(next(one for one in log.splitlines() if "OK DOWNLOAD" in one))
    assert totals(before, line)["gets"] == totals(before)["gets"] == 0
    assert totals(before, line, "\n")["gets"] == 1


def test_lines_of_another_shape_count_for_nothing_and_are_counted() -> None:
    found = LogTotals()
    found.take("500 OOPS\n")
    found.take("Sat Nov 21 16:33:35 2026 [pid 28")
    found.cut()
    assert (found.unknown, found.logins) == (2, 0)
    found.take("")
    assert found.unknown == 2


# --- one log, one address or all --------------------------------------------------------------------


def test_one_log_alone_has_logins_and_transfers() -> None:
    found = options(SETTINGS)
    assert (found["xferlog_enable"], found["xferlog_std_format"]) == ("YES", "NO")
    assert "xferlog_file" not in found
    assert "dual_log_enable" not in found


@pytest.mark.parametrize(("address", "listen"), [("0.0.0.0", "listen"), ("::", "listen_ipv6")])  # noqa: S104
def test_every_address_is_listened_on_by_naming_none(address: str, listen: str) -> None:
    found = options(replace(SETTINGS, addresses=(address,)))
    assert found[listen] == "YES"
    assert not {"listen_address", "listen_address6"} & set(found)


def test_a_session_may_be_idle_for_longer_than_a_transfer_may_stall() -> None:
    found = options(replace(SETTINGS, idle_limit_s=3600))
    assert (found["idle_session_timeout"], found["data_connection_timeout"]) == ("3600", "300")
