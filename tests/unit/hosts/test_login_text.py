# SPDX-License-Identifier: Apache-2.0
"""Why there is no connection, in words with a next step."""

from __future__ import annotations

import socket

from linewatt.hosts.ssh.login import _error_text


def test_a_host_name_without_an_ip_address_is_named() -> None:
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    text = _error_text(error, "nowhere.invalid")
    assert text.startswith(
        "no IP address is known for host name nowhere.invalid (Name or service not known); "
    )
