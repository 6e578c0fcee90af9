# SPDX-License-Identifier: Apache-2.0
"""A BMC that can what ipmi_sim cannot, cipher suite 17 and DCMI, made of pyghmi's server; run as a process.

Arguments: port, cipher suite (3 or 17), file with sensor records in hexadecimal, a line each. Standard input:
the password of its one user, ``watch``. It is checked itself, by ``ipmitool``, in test_ipmi.py.
"""

from __future__ import annotations

import hashlib
import hmac
import sys
import types
from pathlib import Path
from typing import Any

from pyghmi.ipmi import bmc
from pyghmi.ipmi.private import constants, serversession
from pyghmi.ipmi.private.session import Session

PORT, SUITE = int(sys.argv[1]), int(sys.argv[2])
RECORDS = [bytes.fromhex(line) for line in Path(sys.argv[3]).read_text().split()]
READING = bytes([60, 0xC0, 0, 0])
DCMI = bytes.fromhex("dc f100 c800 2c01 e600 00000000 e8030000 40")  # 241 W, active
BAD_ALGORITHM = 0x04


class Sha256Session(serversession.ServerSession):  # type: ignore[misc]  # pyghmi has no types
    """The server's side of RAKP with HMAC-SHA256 and HMAC-SHA256-128 (IPMI 2.0, 13.28)."""

    def create_open_session_response(self, request: bytes) -> bytearray:
        self.currhashlen = 16
        if request[12] != 3:
            self.clientsessionid = self.managedsessionid = request[4:8]
            return bytearray([request[0], BAD_ALGORITHM, 0, 0]) + request[4:8]
        response: bytearray = super().create_open_session_response(request)
        response[16], response[24] = 3, 4
        return response

    def _send_rakp4(self, tag: int, status: int) -> None:
        proof = bytes(self.Rm) + bytes(self.managedsessionid) + bytes(self.uuiddata)
        code = hmac.new(self.sik, proof, hashlib.sha256).digest()[:16]
        payload = bytearray([tag, status, 0, 0]) + self.clientsessionid + code
        self.send_payload(payload, constants.payload_types["rakp4"], retry=False)
        self.confalgo, self.integrityalgo, self.sequencenumber = "aes", "sha256", 1
        self.sessionid = int.from_bytes(self.clientsessionid, "little")


class Bmc(bmc.Bmc):  # type: ignore[misc]
    """Sensors that all read 60, and DCMI."""

    def handle_raw_request(self, request: dict[str, Any], session: Any) -> None:
        data = request["data"]
        asked = request["netfn"], request["command"]
        if asked == (0x06, 0x01):
            session.send_ipmi_response(data=[0x20, 1, 2, 0, 2, 0x9F, 0x57, 1, 0, 1, 0, 0, 0, 0, 0])
        elif asked == (0x0A, 0x20):
            session.send_ipmi_response(data=[0x51, len(RECORDS), 0, *[0] * 11])
        elif asked == (0x0A, 0x22):
            session.send_ipmi_response(data=[1, 0])
        elif asked == (0x0A, 0x23):
            at, offset, size = data[2], data[4], data[5]
            following = [at + 1, 0] if at + 1 < len(RECORDS) else [0xFF, 0xFF]
            session.send_ipmi_response(data=[*following, *RECORDS[at][offset : offset + size]])
        elif asked == (0x04, 0x2D):
            session.send_ipmi_response(data=list(READING))
        elif asked == (0x2C, 0x02):
            session.send_ipmi_response(data=list(DCMI))
        else:
            session.send_ipmi_response(code=0xC1)


if SUITE == 17:
    serversession.ServerSession = Sha256Session
    serversession.hashlib = types.SimpleNamespace(sha1=hashlib.sha256)
Bmc({"watch": sys.stdin.readline().rstrip("\n")}, port=PORT, address="127.0.0.1")
print("ready", flush=True)  # noqa: T201  said to the test
while True:
    Session.wait_for_rsp(timeout=60)
