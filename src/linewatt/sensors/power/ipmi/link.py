# SPDX-License-Identifier: Apache-2.0
"""A session with a BMC: IPMI 2.0 over LAN (RMCP+), with pyghmi's protocol on a socket of its own.

pyghmi packs, encrypts, checks and logs in; what it does with sockets, threads and time is replaced. It shares
sockets, queues and the clock for repeats between all sessions of a process, whose threads handle each other's
packets: of 96 sessions that threads opened at once 83 broke (pyghmi 1.6.19), of 8 one or two, and a login at
a BMC that hangs took 5 s. Here a session has one connected UDP socket, one thread, and a deadline for every
call. A connected socket also learns at once, by ICMP, that a port is closed. pyghmi's reader of sensor
records is not used either: it shares them between BMCs of one firmware, and knows no sensor's largest value.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from pyghmi.ipmi.private.session import Session

from linewatt.errors import HostError
from linewatt.sensors.power.ipmi.sdr import said

CipherSuite = Literal["auto", 3, 17]
Privilege = Literal["user", "operator", "administrator"]

SILENCE_S = 3.0
"""A BMC that says nothing for so long is given up."""

FIRST_RETRY_S = 0.5
CLOSE_S = 0.3
PORT = 623
MAX_PASSWORD = 20  # IPMI 2.0, 22.30

_PRIVILEGE = {"user": 2, "operator": 3, "administrator": 4}  # IPMI 2.0, table 22-18
_SHA1, _SHA256, _SHA256_ONLY = 1, 256, 257  # pyghmi's names of suites 3 and 17; it goes from 256 to 1 itself
_APPLICATION, _SET_PRIVILEGE, _CLOSE = 0x06, 0x3B, 0x3C
_LARGEST = 3000

_SUITES = "set cipher_suite to one that the BMC allows, or auto"
_ADVICE = {
    "Incorrect password": "check the password",
    "Unauthorized name": "check user",
    "Invalid role": "set privilege to what the user has",
    "Unauthorized role": "set privilege to what the user has",
    "algorithm": _SUITES,
    "Cipher suite": _SUITES,
    "Insufficient resources": "too many sessions are open there; wait a minute, or end others",
}


class Link(Session):  # type: ignore[misc]  # pyghmi has no types
    """An open session. Used by one thread; after a HostError it is of no more use than to be closed."""

    attemptedhash: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Link:
        """pyghmi would give callers with the same credentials the same session."""
        link: Link = object.__new__(cls)
        return link

    def __init__(
        self,
        where: str,
        link: socket.socket,
        user: str,
        password: str,
        suite: CipherSuite,
        privilege: Privilege,
        limit_s: float,
    ) -> None:
        self.where = where
        self.forbidsock: tuple[socket.socket, ...] = ()
        self._link = link
        self._suite = suite
        self._failure: str | None = None
        self._open = False
        self._alive = True
        self.limit(limit_s)
        super().__init__(where, user, password, onlogon=self.onlogon, privlevel=_PRIVILEGE[privilege])
        self._await(lambda: self._open, "the IPMI login")
        code, _ = self.request(_APPLICATION, _SET_PRIVILEGE, [self.privlevel])
        if code:
            raise HostError(
                f"{where}: user {user!r} does not get privilege {privilege!r} ({said(code)}); "
                "set privilege to what the user has"
            )

    def limit(self, seconds: float) -> None:
        """From now on, all that is asked must be answered within so many seconds."""
        self._deadline_s = time.monotonic() + seconds

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self._deadline_s - time.monotonic()

    def request(self, netfn: int, command: int, data: Sequence[int] = (), lun: int = 0) -> tuple[int, bytes]:
        """Completion code and data of the answer. Raises HostError when there is none in time."""
        self.lastresponse = None
        self.ipmicallback = self._generic_callback
        self._send_ipmi_net_payload(netfn, command, data, retry=True, rslun=lun)
        self._await(lambda: self.lastresponse is not None, f"IPMI command {netfn:#04x} {command:#04x}")
        answer: Any = self.lastresponse
        return int(answer["code"]), bytes(answer["data"])

    def close(self) -> None:
        """End the session; never raises, and waits for a BMC that is not known to hang only."""
        try:
            if self._open and self._alive:
                self.limit(CLOSE_S)
                self.request(_APPLICATION, _CLOSE, list(struct.pack("<I", self.sessionid)))
        except HostError:
            pass
        finally:
            self._link.close()

    def _await(self, is_there: Callable[[], bool], what: str) -> None:
        """Take packets until it is there; ask again after 0.5 s, 1 s, 2 s. Raises HostError."""
        begin_s = time.monotonic()
        wait_s, retry_s = FIRST_RETRY_S, begin_s + FIRST_RETRY_S
        end_s = min(self._deadline_s, begin_s + SILENCE_S)
        while not is_there():
            now_s = time.monotonic()
            if now_s >= end_s:
                self._fail(
                    f"no answer to {what} for {now_s - begin_s:.1f} s; is the BMC up, with IPMI over LAN on?"
                )
            if now_s >= retry_s:
                wait_s *= 2
                retry_s = now_s + wait_s
                self._ask_again()
            self._take(min(end_s, retry_s) - now_s)
            if self._failure is not None:
                self._fail(self._failure)

    def _fail(self, why: str) -> None:
        self._alive = False
        raise HostError(f"{self.where}: {why}")

    def _take(self, wait_s: float) -> None:
        """Handle one packet, if one comes in time. A damaged one is as good as lost."""
        self._link.settimeout(max(wait_s, 0.001))
        try:
            packet = bytearray(self._link.recv(_LARGEST))
        except TimeoutError:
            return
        except OSError as error:
            self._refused(error)
            return
        if len(packet) < 16 or packet[0] != 6 or packet[2:4] != b"\xff\x07":
            return
        try:
            self._handle_ipmi_packet(packet, qent=(packet, None, None))
        except (IndexError, ValueError, struct.error):
            return

    def _refused(self, error: OSError) -> None:
        self._failure = (
            f"{(error.strerror or str(error)).lower()}; is it up, and is IPMI over LAN on at this port?"
        )

    def _ask_again(self) -> None:
        """Repeat what got no answer. A login is begun anew, since a BMC takes each of its steps once only."""
        if self.sessioncontext == "OPENSESSION":
            if self._suite == "auto":  # some BMCs do not answer to a suite that they do not have
                self.attemptedhash = _SHA1 if self.attemptedhash == _SHA256 else _SHA256
            self._open_rmcpplus_request()
        elif not self._open:
            self.login()
        elif self.lastpayload is None:
            self._failure = "its answer is damaged; restart the BMC"
        else:
            self.hasretried = 1
            self.send_payload()

    # What follows replaces methods of pyghmi, under its names.

    def _assignsocket(self, server: Any = None, forbiddensockets: Any = ()) -> socket.socket:
        return self._link

    def _initsession(self) -> None:
        super()._initsession()
        self.localsid = secrets.randbits(31)  # else a late answer to a login before is taken for this one's
        self.attemptedhash = {"auto": _SHA256, 3: _SHA1, 17: _SHA256_ONLY}[self._suite]

    def _xmit_packet(self, retry: bool = True, delay_xmit: Any = None, timeout: Any = None) -> None:
        if self.sequencenumber:
            self.sequencenumber += 1
        try:
            self._link.send(self.netpacket)
        except OSError as error:
            self._refused(error)

    def _got_rmcp_response(self, data: bytearray) -> Any:
        """pyghmi takes for granted that the BMC took the suite that was proposed."""
        accepted = len(data) >= 36 and data[0] == self.rmcptag and data[1] == 0
        if accepted and data[16] == 1 and self.attemptedhash != _SHA1:
            if self._suite == 17:
                return self.onlogon(
                    {"error": "the BMC wants another cipher suite (authentication algorithm)"}
                )
            self.attemptedhash = _SHA1
            return self._open_rmcpplus_request()
        return super()._got_rmcp_response(data)

    def _get_session_challenge(self) -> None:
        self.onlogon({"error": "it speaks IPMI 1.5 only, and 2.0 is needed; update its firmware"})

    def _req_priv_level(self) -> None:
        self._open = True
        self.logged, self.logging = 1, False

    def onlogon(self, parameter: dict[str, Any]) -> None:
        error = str(parameter.get("error", ""))
        if error:
            advice = next((f"; {advice}" for sign, advice in _ADVICE.items() if sign in error), "")
            self._failure = f"IPMI login as {self.userid.decode()!r} failed: {error}{advice}"


def connect(
    address: str,
    port: int,
    user: str,
    password: str,
    suite: CipherSuite,
    privilege: Privilege,
    limit_s: float,
) -> Link:
    """Log in within ``limit_s``. Raises HostError."""
    where = f"{address}:{port}" if ":" not in address else f"[{address}]:{port}"
    if len(password.encode()) > MAX_PASSWORD:
        raise HostError(f"{where}: the password has more than {MAX_PASSWORD} bytes, which IPMI does not take")
    begin_s = time.monotonic()
    family, target = _resolve(address, port, where, limit_s)
    link = socket.socket(family, socket.SOCK_DGRAM)
    try:
        link.connect(target)
        return Link(where, link, user, password, suite, privilege, limit_s - (time.monotonic() - begin_s))
    except OSError as error:
        link.close()
        raise HostError(
            f"{where}: {(error.strerror or str(error)).lower()}; check address and port"
        ) from error
    except HostError:
        link.close()
        raise


def _resolve(address: str, port: int, where: str, limit_s: float) -> tuple[int, Any]:
    """The family and the socket address of a host; a resolver that hangs is not waited for."""
    addresses: list[tuple[int, Any]] = []
    failure: list[str] = []

    def look_up() -> None:
        try:
            family, _, _, _, target = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
            addresses.append((family, target))
        except (OSError, UnicodeError) as error:
            failure.append(str(getattr(error, "strerror", None) or error))

    try:
        ipaddress.ip_address(address)
    except ValueError:
        resolver = threading.Thread(target=look_up, name=f"resolve {address}", daemon=True)
        resolver.start()
        resolver.join(limit_s)
    else:
        look_up()
    if not addresses:
        raise HostError(
            f"{where}: cannot be resolved: {failure[0] if failure else f'no answer in {limit_s:.1f} s'}"
        )
    return addresses[0]
