# SPDX-License-Identifier: Apache-2.0
"""The address of a server that is there already: what it says, and that no password is repeated."""

from __future__ import annotations

import pytest

from linewatt.errors import InvalidInput
from linewatt.features.users.worker.url import ServerUrl, parse_url


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ftp://perf@192.0.2.10", ServerUrl("192.0.2.10", 21, "perf", "")),
        ("ftp://perf@nas.example.org:2121/pub/load/", ServerUrl("nas.example.org", 2121, "perf", "pub/load")),
        ("ftp://perf@[2001:db8::10]:2121/x", ServerUrl("2001:db8::10", 2121, "perf", "x")),
        ("FTP://anonymous@192.0.2.10/", ServerUrl("192.0.2.10", 21, "anonymous", "")),
    ],
)
def test_an_address_says_server_port_user_and_folder(text: str, found: ServerUrl) -> None:
    assert parse_url(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "ftp://perf:canary@192.0.2.10/",
        "FTP://perf:canary@192.0.2.10/",
        "ftp://perf:canary/1@192.0.2.10/",
        "ftp://perf:canary?1#2@192.0.2.10/",
        "ftp://perf:@192.0.2.10/",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidInput, match="password_env or password_file") as raised:
        parse_url(text)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "192.0.2.10",
        "http://perf@192.0.2.10/",
        "ftp://192.0.2.10/",
        "ftp://perf@/",
        "ftp://perf@192.0.2.10:canary/",
        "ftp://perf@192.0.2.10:99999/",
        "ftp://perf@[2001:db8::10/",
        "ftp://perf@192.0.2.10/?a=canary",
        "ftp://perf@192.0.2.10/a\r\nDELE b",
        "ftp://per f@192.0.2.10/",
    ],
)
def test_what_is_no_address_of_an_ftp_server_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_url(text)
    assert "\n" not in str(raised.value)
    assert "canary" not in str(raised.value)
